//! Functions of a program as a library for C: what `diffeo build` writes.
//!
//! What comes in: entry points. What goes out: the library, with the parameters and results named by the source:
//! a parameter `p` that is a record `{x: Real, ys: []Real}` is `p_x` and `p_ys`; components of tuples are numbered.

use crate::pipeline::{self, Backend, Step, Timing};
use crate::session::Entry;
use crate::SourceMap;
use diffeo_base::Diagnostic;
use diffeo_calculus::print::print_type;
use diffeo_calculus::term::Kind;
use diffeo_calculus::Ty;
use diffeo_codegen::c::library::{library, Export, Value};

pub use diffeo_codegen::c::compiler::{Compiler, Options};
pub use diffeo_codegen::c::library::Library;
pub use diffeo_codegen::engine::Cpu;

/// The library with this name, of these functions.
///
/// # Errors
/// What cannot be a function of C, and why.
pub fn export(
    name: &str,
    entries: &[Entry],
    files: &SourceMap,
    times: &mut Vec<Timing>,
) -> Result<Library, Vec<Diagnostic>> {
    let mut exports = Vec::new();
    let mut refused = Vec::new();
    for entry in entries {
        match one(entry, times) {
            Ok(export) => exports.push(export),
            Err(diagnostic) => refused.push(*diagnostic),
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let span = entries.first().map_or(diffeo_base::Span::NONE, |entry| entry.span);
    library(name, &exports, files)
        .map_err(|why| vec![Diagnostic::error("not-for-c", span, why.to_string())])
}

fn one(entry: &Entry, times: &mut Vec<Timing>) -> Result<Export, Box<Diagnostic>> {
    let refused = |what: String| {
        let message = format!("`{}` cannot be called from C: {what}", entry.name);
        Diagnostic::error("not-for-c", entry.span, message).help(
            "numbers, truth values, texts, arrays, and records and tuples of these can be given and taken",
        )
    };
    let (mut params, mut results) = (Leaves::default(), Leaves::default());
    let result = match &entry.ty {
        Ty::Fun(fun) => {
            for (name, ty) in parameters(entry, &fun.0) {
                params.add(&name, &ty, 0).map_err(refused)?;
            }
            fun.1.clone()
        }
        ty => ty.clone(),
    };
    results.add("result", &result, 0).map_err(refused)?;
    let mut see = |step: &Step<'_>| times.push(step.timing(true));
    let lowered = pipeline::flat(&entry.program, entry.global, &mut see)
        .map_err(|unsupported| unsupported.to_diagnostic(entry.span))?;
    let ty = print_type(&entry.ty, &entry.program);
    Ok(Export {
        name: entry.name.to_string(),
        about: format!("{} : {ty}", entry.name),
        module: pipeline::timed_low(lowered.module, Backend::C.lowering(), times),
        params: params.values,
        results: results.values,
    })
}

/// The parameters by name. Several are one tuple, which the function takes apart first.
fn parameters(entry: &Entry, from: &Ty) -> Vec<(String, Ty)> {
    let body = &entry.program.globals[entry.global.0 as usize].body;
    let Kind::Lam(binder, body) = &body.kind else { return vec![("x".to_string(), from.clone())] };
    let written = |name: &str| {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        plain && name.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    if let (Ty::Tuple(parts), Kind::Let(bindings, _)) = (from, &body.kind) {
        let names: Vec<String> = bindings
            .iter()
            .take(parts.len())
            .enumerate()
            .map_while(|(i, (bound, term))| match &term.kind {
                Kind::Proj(_, at, of) if *at == i => match &of.kind {
                    Kind::Var(var) if *var == binder.var => Some(bound.var.name.to_string()),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        if names.len() == parts.len() && names.iter().all(|name| written(name)) {
            return names.into_iter().zip(parts.iter().cloned()).collect();
        }
    }
    let name = binder.var.name.as_str();
    vec![(if written(name) { name } else { "x" }.to_string(), from.clone())]
}

/// The values that values of types consist of, in the order of Flat.
#[derive(Default)]
struct Leaves {
    values: Vec<Value>,
    /// How many arrays have both the last value and the next one in them.
    shared: usize,
}

impl Leaves {
    /// The values of a type, below so many arrays.
    fn add(&mut self, name: &str, ty: &Ty, rank: usize) -> Result<(), String> {
        self.shared = self.shared.min(rank);
        match ty {
            Ty::Unit if rank == 0 => {}
            Ty::String if rank > 0 => return Err(format!("`{name}` is an array of texts")),
            Ty::Real | Ty::Int | Ty::Bool | Ty::Unit | Ty::String => {
                self.values.push(Value { name: name.to_string(), shared: self.shared });
                self.shared = rank;
            }
            Ty::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.add(&format!("{name}_{i}"), part, rank)?;
                }
            }
            Ty::Record(fields) => {
                for (field, ty) in fields.iter() {
                    self.add(&format!("{name}_{field}"), ty, rank)?;
                }
            }
            Ty::Array(element) => self.add(name, element, rank + 1)?,
            Ty::Data(..) => return Err(format!("`{name}` is a variant")),
            Ty::Fun(_) => return Err(format!("`{name}` is a function")),
            Ty::Param(_) => return Err(format!("the type of `{name}` is not known")),
        }
        Ok(())
    }
}
