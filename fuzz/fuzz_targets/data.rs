//! Any bytes as data. The first byte is the format, the second the type that they are read into, the others
//! are the file (or the text of an argument). What can be read is written in every format that holds it, and
//! read again.
#![no_main]

use diffeo::data::{check_writable, read_argument, to_json, write_results, Field, Format, Output, Place};
use diffeo::Session;
use diffeo_calculus::show::show;
use diffeo_calculus::ty::DataDecl;
use diffeo_calculus::value::Value;
use diffeo_calculus::{Program, Ty};
use libfuzzer_sys::fuzz_target;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The types, by the second byte; `Tree` is declared.
const TYPES: [&str; 18] = [
    "Real",
    "[]Real",
    "[][]Real",
    "[]Int",
    "[]{a: Real, b: Int}",
    "[](Int, String)",
    "[]{a: Maybe[Real], b: Maybe[String]}",
    "[]Maybe[Real]",
    "Tree[Real]",
    "{x: Real, w: []Int}",
    "Int",
    "Bool",
    "String",
    "[][2][]Bool",
    "List[(Int, Bool)]",
    "(Real, ())",
    "[]{c: Bool, a: Real}",
    "Maybe[List[[]Real]]",
];

/// The names of the files by the first byte; the first stands for no file.
const FILES: [&str; 18] = [
    "", "x.csv", "x.npy", "x.npz", "x.json", "x.tsv", "x.csv:skip=1", "x.npz:w", "x.csv.gz", "x.npy.gz",
    "x.json.gz", "x.tsv:skip=2", "x.txt", "x.csv:sep=;:decimal=comma:thousands=point:comment=#", "x.dat:encoding=latin-1",
    "x.xlsx", "x.parquet", "x.arrow",
];

thread_local! {
    static TYPED: Vec<(Ty, Rc<Program>)> = typed();
    static FOLDER: PathBuf = folder();
}

fn typed() -> Vec<(Ty, Rc<Program>)> {
    let mut text = String::from("type Tree[a] = Leaf(a) | Node(Tree[a], Tree[a])\n");
    for (i, ty) in TYPES.iter().enumerate() {
        text.push_str(&format!("def f{i}(x: {ty}) = ()\n"));
    }
    let mut session = Session::new();
    let module = session.load_text("types.deo", &text);
    session.check();
    let ty = |i| {
        let entry = session.function(module, &format!("f{i}")).expect("a function");
        let Ty::Fun(function) = &entry.ty else { unreachable!("of one parameter") };
        (function.0.clone(), entry.program.clone())
    };
    (0..TYPES.len()).map(ty).collect()
}

/// A folder of this process, in memory where that is possible.
fn folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let folder = parent.join(format!("diffeo-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the files");
    folder
}

fn read(text: &str, ty: &Ty, datas: &[DataDecl]) -> Option<Value> {
    let field = Field { name: "w", ty, written: None, interface: None };
    match read_argument(text, &field, datas, &|| Ok(())) {
        Ok(value) => Some(value),
        Err(error) => {
            let message = error.to_diagnostic(datas);
            assert!(!message.message.is_empty(), "{error:?}");
            None
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [file, ty, rest @ ..] = bytes else { return };
    let digit = |byte: &u8, n: usize| usize::from(byte.wrapping_sub(b'0')) % n;
    let (file, ty) = (FILES[digit(file, FILES.len())], digit(ty, TYPES.len()));
    let (ty, program) = TYPED.with(|all| all[ty].clone());
    let datas = &program.datas;
    let folder = FOLDER.with(PathBuf::clone);
    let value = if file.is_empty() {
        // Not the names of files, which are looked for.
        let text = String::from_utf8_lossy(rest);
        match Place::of(&text) {
            None => read(&text, &ty, datas),
            Some(_) => None,
        }
    } else {
        let name = file.split(':').next().unwrap_or(file);
        std::fs::write(folder.join(name), rest).expect("a file");
        read(&folder.join(file).to_string_lossy(), &ty, datas)
    };
    let Some(value) = value else { return };
    let shown = show(&value, &ty, datas);
    let mut json = Vec::new();
    to_json(&mut json, &value, &ty, datas).expect("writing to memory");
    let json = String::from_utf8(json).expect("JSON is UTF-8");
    let back = read(&json, &ty, datas).unwrap_or_else(|| panic!("not read: {json}"));
    assert_eq!(show(&back, &ty, datas), shown, "read back from {json}");
    if ty == Ty::String {
        // The name of a file is a text, too.
        return;
    }
    for name in ["y.csv", "y.tsv", "y.txt", "y.npy", "y.npz", "y.json.gz"] {
        let path = folder.join(name).to_string_lossy().into_owned();
        let place = Place::of(&path).expect("a place");
        if check_writable(&place, &ty, datas).is_err() {
            continue;
        }
        let output = Output { place: &place, value: &value, ty: &ty, interface: None };
        write_results(&[output], datas, &|| Ok(())).expect("a writable place");
        let table = matches!(place.format, Format::Csv | Format::Tsv | Format::Text);
        if table && shown.contains("[]") {
            // Without rows and without a header it is an empty file, which is refused; rows without columns
            // are empty lines, which are left out.
            continue;
        }
        let back = read(&path, &ty, datas).unwrap_or_else(|| panic!("{name} of {shown} is not read"));
        // A nan is missing where a cell of a table may be.
        let as_read = |shown: &str| match table {
            true => shown.replace("Just(nan)", "Nothing"),
            false => shown.to_string(),
        };
        assert_eq!(as_read(&show(&back, &ty, datas)), as_read(&shown), "read back from {name}");
    }
});
