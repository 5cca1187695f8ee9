//! The standard library, embedded in the program: its texts, and where a name is that is not imported.

use diffeo_base::{closest, FileId, Help};
use diffeo_calculus::ty::WellKnown;
use diffeo_syntax::ast::{Item, TypeBody};
use std::sync::OnceLock;

pub use diffeo_std::MODULES;

/// Names of modules that need no import: as the prelude's, but their modules are read only where a program has them.
pub const ON_DEMAND: &[(&str, &[&str])] =
    &[("special", &["gamma_inc", "beta_inc", "bessel_j", "bessel_y", "bessel_i", "bessel_k"])];

/// Which type of the library this one, of a module of it, is to those outside of programs.
pub fn well_known(module: &str, name: &str) -> Option<WellKnown> {
    match (module, name) {
        ("prelude", "List") => Some(WellKnown::List),
        ("prelude", "Maybe") => Some(WellKnown::Maybe),
        ("plot", "Plot") => Some(WellKnown::Plot),
        ("random", "Key") => Some(WellKnown::Key),
        ("bayes", "Parameter") => Some(WellKnown::Parameter),
        _ => None,
    }
}

/// The text of a module of the standard library.
pub fn source(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// The documented names of the modules that have to be imported: values, types, constructors, each with its module.
fn public() -> &'static [(String, &'static str)] {
    static PUBLIC: OnceLock<Vec<(String, &'static str)>> = OnceLock::new();
    PUBLIC.get_or_init(|| {
        let mut names = Vec::new();
        for (module, text) in MODULES.iter().filter(|(module, _)| *module != "prelude") {
            let (ast, _) = diffeo_syntax::parse(FileId(0), text);
            for item in &ast.items {
                let (doc, name, constructors) = match item {
                    Item::Import(_) => continue,
                    Item::Def(def) => (&def.doc, &def.name, None),
                    Item::Type(ty) => match &ty.body {
                        TypeBody::Variants(constructors) => (&ty.doc, &ty.name, Some(constructors)),
                        TypeBody::Alias(_) => (&ty.doc, &ty.name, None),
                    },
                };
                if doc.is_empty() {
                    continue;
                }
                names.push((name.name.to_string(), *module));
                for constructor in constructors.into_iter().flatten() {
                    if constructor.name.name != name.name {
                        names.push((constructor.name.name.to_string(), *module));
                    }
                }
            }
        }
        names.sort();
        names
    })
}

/// What to do about a name that is a module of the library, or that modules of the library have.
pub fn import_of(name: &str) -> Option<Help> {
    if name != "prelude" && source(name).is_some() {
        let line = format!("import {name}");
        let text =
            format!("`{name}` is a module of the library: put `{line}` at the start of the file");
        return Some(Help::import(line, text));
    }
    let having: Vec<&str> = public().iter().filter(|(n, _)| n == name).map(|(_, m)| *m).collect();
    let (module, others) = having.split_first()?;
    let line = format!("import {module} ({name})");
    let text = match others {
        [] => format!(
            "it is in the module `{module}` of the library: put `{line}` at the start of the file"
        ),
        others => format!(
            "modules of the library have one: put `{line}` at the start of the file, or take that of {}",
            others.iter().map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    Some(Help::import(line, text))
}

/// What to do about a name that is nearly one of a module of the library.
pub fn nearly(name: &str) -> Option<Help> {
    let near = closest(name, public().iter().map(|(n, _)| n.as_str()))?;
    let (_, module) = public().iter().find(|(n, _)| n == near)?;
    let help = Help::did_you_mean(format!("{module}.{near}"));
    Some(help.text(format!(" It needs `import {module}` at the start of the file")))
}
