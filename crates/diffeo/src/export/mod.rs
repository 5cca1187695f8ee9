//! Functions of a program as a library for C: what `diffeo build` writes.
//!
//! What comes in: entry points. What goes out: the library, with the parameters and results named by the source:
//! a parameter `p` that is a record `{x: Real, ys: []Real}` is `p_x` and `p_ys`; components of tuples are numbered.
//! Derivatives are functions of their own, named after the function and the parameters: `f_gradient` gives `p_bar_x`.

use crate::lower::{self, Nan};
use crate::pipeline::{self, Backend, Step, Timing};
use crate::SourceMap;
use diffeo_base::Diagnostic;
use diffeo_calculus::outside::asked;
use diffeo_calculus::print::print_type;
use diffeo_calculus::term::Kind;
use diffeo_calculus::typing::jet_type;
use diffeo_calculus::Ty;
use diffeo_codegen::c::library::{library, Export, Value};
use diffeo_front::Entry;

pub use diffeo_calculus::outside::Asked;
pub use diffeo_codegen::c::compiler::{Compiler, Error, Options};
pub use diffeo_codegen::c::library::Library;
pub use diffeo_codegen::engine::Cpu;

/// The library with this name, of these functions, each followed by such derivatives of it.
///
/// # Errors
/// What cannot be a function of C, and why.
pub fn export(
    name: &str,
    entries: &[Entry],
    derivatives: &[Asked],
    files: &SourceMap,
    times: &mut Vec<Timing>,
) -> Result<Library, Vec<Diagnostic>> {
    let mut exports = Vec::new();
    let mut refused = Vec::new();
    for entry in entries {
        let asked = derivatives.iter().copied().map(Some);
        for what in std::iter::once(None).chain(asked) {
            match one(entry, what, times) {
                Ok(export) => exports.push(export),
                Err(diagnostic) => {
                    refused.push(*diagnostic);
                    break;
                }
            }
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let span = entries.first().map_or(diffeo_base::Span::NONE, |entry| entry.span);
    library(name, &exports, files)
        .map_err(|why| vec![Diagnostic::error("not-for-c", span, why.to_string())])
}

/// Parameters or results by name.
type Named = Vec<(String, Ty)>;

fn one(
    entry: &Entry,
    what: Option<Asked>,
    times: &mut Vec<Timing>,
) -> Result<Export, Box<Diagnostic>> {
    let refused = |what: String| {
        let message = format!("`{}` cannot be called from C: {what}", entry.name);
        Diagnostic::error("not-for-c", entry.span, message).help(
            "numbers, truth values, texts, arrays, and records and tuples of these can be given and taken",
        )
    };
    let (from, to) = match &entry.ty {
        Ty::Fun(fun) => (parameters(entry, &fun.0), fun.1.clone()),
        ty => (Vec::new(), ty.clone()),
    };
    let (name, program, global, params, results) = match what {
        None => {
            let results = vec![("result".to_string(), to)];
            (entry.name.to_string(), entry.program.clone(), entry.global, from, results)
        }
        Some(what) => {
            let without = || {
                let ty = print_type(&entry.ty, &entry.program);
                let message = format!("`{}` has no {}: it is {ty}", entry.name, told(what));
                Diagnostic::error("not-for-c", entry.span, message).help(match what {
                    Asked::Gradient => "gradients are of functions to Real: ask for `vjp`",
                    Asked::Gradients | Asked::Pullback | Asked::Pushforward | Asked::Jet { .. } => {
                        "derivatives are of functions"
                    }
                })
            };
            let (program, global) =
                asked(&entry.program, entry.global, what, None).ok_or_else(without)?;
            let (params, results) = sides(what, from, to);
            (format!("{}_{}", entry.name, suffix(what)), program.into(), global, params, results)
        }
    };
    let values = |named: &Named| {
        let mut leaves = Leaves::default();
        for (name, ty) in named {
            leaves.add(name, ty, 0).map_err(refused)?;
        }
        Ok::<Vec<Value>, Box<Diagnostic>>(leaves.values)
    };
    let (params, results) = (values(&params)?, values(&results)?);
    let mut see = |step: &Step<'_>| times.push(step.timing(true));
    // A derivative that is nan is given to the caller.
    let options = lower::Options { nan: Nan::Given, ..lower::Options::default() };
    let lowered = pipeline::flat_with(&program, global, options, &mut see)
        .map_err(|unsupported| unsupported.to_diagnostic(entry.span))?;
    let ty = print_type(&program.globals[global.0 as usize].ty, &program);
    Ok(Export {
        about: format!("{name} : {ty}"),
        name,
        module: pipeline::timed_low(lowered.module, Backend::C.lowering(), times),
        params,
        results,
    })
}

/// What the name of a derivative ends in.
fn suffix(what: Asked) -> String {
    match what {
        Asked::Gradient => "gradient".to_string(),
        Asked::Gradients => "gradients".to_string(),
        Asked::Pullback => "vjp".to_string(),
        Asked::Pushforward => "jvp".to_string(),
        Asked::Jet { k, r } => format!("jet_{k}_{r}"),
    }
}

/// A derivative in words.
fn told(what: Asked) -> &'static str {
    match what {
        Asked::Gradient => "gradient",
        Asked::Gradients | Asked::Pullback | Asked::Pushforward => "derivative",
        Asked::Jet { .. } => "jets",
    }
}

/// What a derivative of a function with these parameters and this result takes and gives.
fn sides(what: Asked, from: Named, to: Ty) -> (Named, Named) {
    let ending = |with: &str| -> Named {
        from.iter().map(|(name, ty)| (format!("{name}_{with}"), ty.clone())).collect()
    };
    let result = |name: &str| (name.to_string(), to.clone());
    match what {
        Asked::Gradient | Asked::Gradients => {
            let each = |ty: Ty| if what == Asked::Gradient { ty } else { Ty::array(ty) };
            let mut results = vec![result("result")];
            results.extend(ending("bar").into_iter().map(|(name, ty)| (name, each(ty))));
            (from, results)
        }
        Asked::Pullback => {
            let mut results = vec![result("result")];
            results.extend(ending("bar"));
            let mut params = from;
            params.push(result("result_bar"));
            (params, results)
        }
        Asked::Pushforward => {
            let dots = ending("dot");
            let mut params = from;
            params.extend(dots);
            (params, vec![result("result"), result("result_dot")])
        }
        Asked::Jet { .. } => {
            let jets = |(name, ty): (String, Ty)| (name, jet_type(&ty));
            (from.into_iter().map(jets).collect(), vec![jets(result("result"))])
        }
    }
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
