//! Data in, data out: values are compared as the JSON that is written for them.

mod advice;
#[cfg(feature = "binary-tables")]
mod binary;
mod csv;
#[cfg(feature = "binary-tables")]
mod damage;
#[cfg(feature = "binary-tables")]
mod excel;
mod json;
mod numpy;
mod options;
mod output;
mod parts;
mod streams;

use diffeo_base::{Name, Spelling};
use diffeo_calculus::ty::{ConstructorDecl, DataDecl, DataId, Ty, WellKnown};
use diffeo_data::{check_writable, read_argument, to_json, write_results, Field, Output, Place};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `Maybe`, `List` and a type of trees.
fn datas() -> Vec<DataDecl> {
    let constructor = |name: &str, fields| ConstructorDecl { name: Name::new(name), fields };
    let param = Ty::Param(0);
    let of = |id| Ty::Data(DataId(id), [Ty::Param(0)].into());
    let decl = |name: &str, constructors| {
        let known = WellKnown::ALL.into_iter().find(|known| format!("{known:?}") == name);
        DataDecl { name: Name::new(name), known, params: 1, constructors }
    };
    vec![
        decl(
            "Maybe",
            vec![constructor("Nothing", vec![]), constructor("Just", vec![param.clone()])],
        ),
        decl(
            "List",
            vec![constructor("Nil", vec![]), constructor("Cons", vec![param.clone(), of(1)])],
        ),
        decl(
            "Tree",
            vec![constructor("Leaf", vec![param]), constructor("Node", vec![of(2), of(2)])],
        ),
    ]
}

fn maybe(ty: Ty) -> Ty {
    Ty::Data(DataId(0), [ty].into())
}

fn list(ty: Ty) -> Ty {
    Ty::Data(DataId(1), [ty].into())
}

fn tree(ty: Ty) -> Ty {
    Ty::Data(DataId(2), [ty].into())
}

fn record<const N: usize>(fields: [(&str, Ty); N]) -> Ty {
    Ty::Record(fields.into_iter().map(|(name, ty)| (Name::new(name), ty)).collect())
}

fn pair(a: Ty, b: Ty) -> Ty {
    Ty::tuple(vec![a, b])
}

/// The JSON of what is read, or the message without the part that all messages have.
fn read(text: &str, ty: &Ty) -> String {
    let datas = datas();
    match read_argument(
        text,
        &Field { name: "x", ty, written: None, interface: None },
        &datas,
        &|| Ok(()),
    ) {
        Ok(value) => {
            let mut out = Vec::new();
            to_json(&mut out, &value, ty, &datas).expect("writing to memory");
            String::from_utf8(out).expect("JSON is UTF-8")
        }
        Err(error) => {
            let message = error.to_diagnostic(&datas).message;
            let (_, rest) = message.split_once(" from ").expect("where from");
            rest.to_string()
        }
    }
}

fn help(text: &str, ty: &Ty) -> Option<String> {
    let datas = datas();
    let read = read_argument(
        text,
        &Field { name: "x", ty, written: None, interface: None },
        &datas,
        &|| Ok(()),
    );
    let help = read.err().and_then(|error| error.to_diagnostic(&datas).help);
    help.map(|help| help.written(Spelling::CommandLine))
}

/// Writes what a JSON text holds to a place; the message of a failure.
fn write(place: &str, text: &str, ty: &Ty) -> Result<(), String> {
    let datas = datas();
    let field = Field { name: "x", ty, written: None, interface: None };
    let value = read_argument(text, &field, &datas, &|| Ok(())).expect("sound JSON");
    let place = Place::of(place).expect("a name with a format");
    let output = Output { place: &place, part: "", value: &value, ty, interface: None };
    write_results(&[output], &datas, &|| Ok(()))
        .map_err(|error| error.to_diagnostic(&datas).message)
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("diffeo-data-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        Folder(folder)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a file for the test");
        path.display().to_string()
    }

    /// What is read from a file with these bytes, `FILE` standing for its name in a message.
    fn read(&self, name: &str, bytes: impl AsRef<[u8]>, ty: &Ty) -> String {
        let path = self.file(name, bytes);
        read(&path, ty).replace(&path, "FILE")
    }
}

impl Folder {
    /// The name of a file here with what a JSON text holds.
    fn write(&self, name: &str, text: &str, ty: &Ty) -> Result<String, String> {
        let path = self.0.join(name).display().to_string();
        write(&path, text, ty).map(|()| path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
