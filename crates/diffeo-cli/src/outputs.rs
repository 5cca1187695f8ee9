//! From `--out FILE` and `--out NAME=FILE` to places: for the whole result, and for fields of it.

use diffeo::data::{Output, Place, Target};
use diffeo_base::{closest, Diagnostic, Span};
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use std::path::{Path, PathBuf};

/// What goes where.
#[derive(Debug)]
pub struct OutputPlace {
    /// The field of the result, by position; none for the whole.
    field: Option<usize>,
    /// Where it goes.
    pub place: Place,
}

impl OutputPlace {
    /// The type of what is written.
    pub fn ty<'t>(&self, result: &'t Ty) -> &'t Ty {
        match (self.field, result) {
            (Some(i), Ty::Record(fields)) => fields.get(i).map_or(result, |(_, ty)| ty),
            _ => result,
        }
    }

    /// The part of the result that is written.
    pub fn output<'a>(&'a self, result: &'a Value, ty: &'a Ty) -> Output<'a> {
        let value = self.field.and_then(|i| result.fields().get(i)).unwrap_or(result);
        Output { place: &self.place, value, ty: self.ty(ty) }
    }
}

/// What the options ask for, of the result of this definition.
pub fn outputs(
    texts: &[String],
    name: &str,
    result: &Ty,
) -> Result<Vec<OutputPlace>, Vec<Diagnostic>> {
    let (mut outputs, mut wrong) = (Vec::new(), Vec::new());
    for text in texts {
        match output(text, name, result) {
            Ok(output) => outputs.push((text, output)),
            Err(diagnostic) => wrong.push(*diagnostic),
        }
    }
    for (i, (text, output)) in outputs.iter().enumerate() {
        let same = |(_, other): &&(&String, OutputPlace)| is_same(&other.place, &output.place);
        if let Some((other, _)) = outputs[..i].iter().find(same) {
            let message = format!("`--out {other}` and `--out {text}` write to the same place");
            wrong.push(usage(message));
        }
    }
    match wrong.is_empty() {
        true => Ok(outputs.into_iter().map(|(_, output)| output).collect()),
        false => Err(wrong),
    }
}

fn usage(message: String) -> Diagnostic {
    Diagnostic::error("argument", Span::NONE, message)
}

fn output(text: &str, name: &str, result: &Ty) -> Result<OutputPlace, Box<Diagnostic>> {
    let fields = match result {
        Ty::Record(fields) => &fields[..],
        _ => &[],
    };
    let of_field = fields.iter().enumerate().find_map(|(i, (field, _))| {
        Some((i, text.strip_prefix(field.as_str())?.strip_prefix('=')?))
    });
    let (field, file) = match (of_field, text.split_once('=')) {
        (Some((i, file)), _) => (Some(i), file),
        (None, Some((field, file))) if !field.contains(['/', '\\', ':', '.']) => {
            let message = match fields {
                [] => format!(
                    "the result of `{name}` is no record, but `--out {text}` asks for its field `{field}`"
                ),
                _ => format!("the result of `{name}` has no field `{field}`"),
            };
            let mut diagnostic = usage(message);
            let names = || fields.iter().map(|(field, _)| field.as_str());
            if !fields.is_empty() {
                let names: Vec<String> = names().map(|name| format!("`{name}`")).collect();
                diagnostic = diagnostic.note(format!("its fields are {}", names.join(", ")));
            }
            let help = match closest(field, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("`--out {file}` writes the whole result; a file whose name has a `=` is given with its folder, as in `./{text}`"),
            };
            return Err(Box::new(diagnostic.help(help)));
        }
        (None, _) => (None, text),
    };
    match Place::of(file) {
        Some(place) => Ok(OutputPlace { field, place }),
        None => {
            let endings = ".json, .csv, .tsv, .txt, .dat, .npy, .npz";
            let message = format!("`--out {text}` ends in none of {endings}");
            let is_picture = [".svg", ".png"].iter().any(|ending| file.ends_with(ending));
            let help = match is_picture {
                true => format!("a plot is drawn by `--plot {text}`"),
                false => format!("write the format after it, as in `--out {text}:csv`"),
            };
            Err(Box::new(usage(message).help(help)))
        }
    }
}

/// Refuses to write what a program gives over the program.
pub fn spare(program: &Path, targets: &[&Target]) -> Result<(), Box<Diagnostic>> {
    let is_program = |target: &&Target| match target {
        Target::File(path) => absolute(path) == absolute(program),
        Target::Standard => false,
    };
    match targets.iter().any(is_program) {
        true => {
            let message = format!("what is written would take the place of {}", program.display());
            Err(Box::new(usage(message).help("this is the program: name another file")))
        }
        false => Ok(()),
    }
}

/// Whether two places are one.
fn is_same(a: &Place, b: &Place) -> bool {
    match (&a.target, &b.target) {
        (Target::Standard, Target::Standard) => true,
        (Target::File(first), Target::File(second)) => {
            a.is_replaced() && b.is_replaced() && absolute(first) == absolute(second)
        }
        (Target::Standard, Target::File(_)) | (Target::File(_), Target::Standard) => false,
    }
}

/// The path of a file that may not be there yet, through the links of its folder.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        match (folder, path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => path.to_path_buf(),
        }
    })
}
