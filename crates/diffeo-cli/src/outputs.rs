//! From `--out FILE` and `--out NAME=FILE` to places: for the whole result, and for fields of it.

use diffeo::data::{Output, Place, Target};
use diffeo::Type;
use diffeo_base::{closest, Diagnostic, Help, Span};
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use std::path::{Path, PathBuf};

/// What goes where.
#[derive(Debug)]
pub struct OutputPlace {
    /// The field of the result, and the field of that, by positions; none for the whole.
    path: Vec<usize>,
    /// The same by names, as the option has them; the empty text for the whole.
    pub part: String,
    /// Where it goes.
    pub place: Place,
}

impl OutputPlace {
    /// The type of what is written.
    pub fn ty<'t>(&self, result: &'t Ty) -> &'t Ty {
        self.path.iter().fold(result, |ty, i| match ty {
            Ty::Record(fields) => fields.get(*i).map_or(ty, |(_, ty)| ty),
            _ => ty,
        })
    }

    /// The part of the result that is written, which is of this type, in Core and in the interface.
    pub fn output<'a>(&'a self, result: &'a Value, ty: &'a Ty, interface: &'a Type) -> Output<'a> {
        let part = |value: &'a Value, i: &usize| value.fields().get(*i).unwrap_or(value);
        let value = self.path.iter().fold(result, part);
        let field = |ty: &'a Type, i: &usize| match ty {
            Type::Record(fields) => fields.get(*i).map_or(ty, |(_, ty)| ty),
            _ => ty,
        };
        let interface = Some(self.path.iter().fold(interface, field));
        Output { place: &self.place, part: &self.part, value, ty: self.ty(ty), interface }
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

/// The field before `=`, as a path from a result of this type, and the file.
fn field_and_file<'a>(text: &'a str, ty: &Ty) -> Option<(Vec<usize>, &'a str)> {
    let Ty::Record(fields) = ty else { return None };
    fields.iter().enumerate().find_map(|(i, (field, ty))| {
        let rest = text.strip_prefix(field.as_str())?;
        match rest.strip_prefix('=') {
            Some(file) => Some((vec![i], file)),
            None => {
                let (mut path, file) = field_and_file(rest.strip_prefix('.')?, ty)?;
                path.insert(0, i);
                Some((path, file))
            }
        }
    })
}

fn output(text: &str, name: &str, result: &Ty) -> Result<OutputPlace, Box<Diagnostic>> {
    let fields = match result {
        Ty::Record(fields) => &fields[..],
        _ => &[],
    };
    // `fit.curve` is a field of a field, `fit.csv` a file.
    let is_field = |name: &str| match name.split_once('.') {
        Some((first, _)) => fields.iter().any(|(field, _)| field == first),
        None => !name.contains(['/', '\\', ':']),
    };
    let (path, file) = match (field_and_file(text, result), text.split_once('=')) {
        (Some((path, file)), _) => (path, file),
        (None, Some((field, file))) if is_field(field) => {
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
                Some(near) => Help::did_you_mean(near),
                None => Help::from(format!("`--out {file}` writes the whole result; a file whose name has a `=` is given with its folder, as in `./{text}`")),
            };
            return Err(Box::new(diagnostic.help(help)));
        }
        (None, _) => (Vec::new(), text),
    };
    match Place::of(file) {
        Some(place) => {
            let part = text.strip_suffix(file).and_then(|field| field.strip_suffix('='));
            Ok(OutputPlace { path, part: part.unwrap_or_default().to_string(), place })
        }
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
