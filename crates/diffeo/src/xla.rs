//! Entries as StableHLO, for XLA.
//!
//! Sizes go by the names of parameters, and of fields: `xs`, `model.weights`. An Int may be given in the place of a size:
//! the module is made for it, so that sizes may depend on it.

// A message is made once, when there is nothing more to do.
#![allow(clippy::result_large_err)]

use crate::pipeline;
use crate::session::Session;
use diffeo_array::ir::Module;
use diffeo_base::{closest, Diagnostic, Help, Name, Span};
use diffeo_calculus::Ty;
use diffeo_front::Entry;
use diffeo_lower::{LowerOptions, Nan};

pub use diffeo_xla::{Check, Input, Piece, StableHlo};

/// The sizes of arrays by the names of what they are given for; an Int that is fixed has one.
pub type Shapes = [(String, Vec<i64>)];

impl Session {
    /// The module of StableHLO for an entry whose arrays have these sizes.
    ///
    /// # Errors
    /// A form that XLA lacks, with its place; a missing size; a size of a parameter that the entry has not.
    pub fn stablehlo(&self, entry: &Entry, shapes: &Shapes) -> Result<StableHlo, Box<Diagnostic>> {
        let inputs = self.inputs(entry, shapes)?;
        self.lower_to_stablehlo(entry, &inputs, &[]).map(|(_, made)| made)
    }

    /// The module for these inputs, all with the sizes of a batch in front; and the module of Flat, for errors of checks.
    pub(crate) fn lower_to_stablehlo(
        &self,
        entry: &Entry,
        inputs: &[Input],
        batch: &[i64],
    ) -> Result<(Module, StableHlo), Box<Diagnostic>> {
        // A derivative that is nan is one on a device.
        let options = LowerOptions { nan: Nan::Given, ..LowerOptions::default() };
        let lowered = pipeline::flat_with(&entry.program, entry.global, options, &mut |_| {})
            .map_err(|refusal| Box::new(refusal.to_diagnostic(entry.span)))?;
        let made = diffeo_xla::stablehlo(&lowered.module, inputs, batch).map_err(|refusal| {
            let module = &lowered.module;
            let span = module.sites.get(refusal.site.0 as usize).map_or(entry.span, |site| {
                // An error within the library stands at the user's call that led there.
                let mut site = site;
                while let (true, Some(inlined)) =
                    (module.library.contains(&site.span.file), &site.inlined)
                {
                    site = &module.sites[inlined.at.0 as usize];
                }
                if site.span.is_none() {
                    entry.span
                } else {
                    site.span
                }
            });
            let diagnostic = Diagnostic::error("no-form-in-xla", span, refusal.reason.text());
            Box::new(diagnostic.help("the engines `jit`, `llvm` and `interp` run it"))
        })?;
        Ok((lowered.module, made))
    }

    fn inputs(&self, entry: &Entry, shapes: &Shapes) -> Result<Vec<Input>, Diagnostic> {
        let mut walk =
            Walk { shapes, used: vec![false; shapes.len()], names: Vec::new(), inputs: Vec::new() };
        if let Ty::Fun(sides) = &entry.ty {
            let names = &entry.interface.parameters;
            let named = |i: usize| match names.get(i) {
                Some(Some(name)) => name.to_string(),
                _ => (i + 1).to_string(),
            };
            match &sides.0 {
                Ty::Tuple(parts) if names.len() == parts.len() => {
                    for (i, part) in parts.iter().enumerate() {
                        walk.parameter(&named(i), part, entry.span)?;
                    }
                }
                Ty::Record(fields) => walk.fields("", fields, entry.span)?,
                ty => walk.parameter(&named(0), ty, entry.span)?,
            }
        }
        match walk.used.iter().position(|used| !used) {
            None => Ok(walk.inputs),
            Some(at) => {
                let name = &shapes[at].0;
                let message = format!("`{}` has no array or Int `{name}`", entry.name);
                let near = closest(name, walk.names.iter().map(String::as_str));
                let help = match near {
                    Some(near) => Help::did_you_mean(near),
                    None => format!("it has {}", walk.names.join(", ")).into(),
                };
                Err(Diagnostic::error("argument", Span::NONE, message).help(help))
            }
        }
    }
}

struct Walk<'s> {
    shapes: &'s Shapes,
    used: Vec<bool>,
    /// The names of arrays and Ints, for messages.
    names: Vec<String>,
    inputs: Vec<Input>,
}

impl Walk<'_> {
    fn fields(&mut self, path: &str, fields: &[(Name, Ty)], at: Span) -> Result<(), Diagnostic> {
        for (name, ty) in fields {
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            self.parameter(&path, ty, at)?;
        }
        Ok(())
    }

    fn given(&mut self, path: &str) -> Option<Vec<i64>> {
        self.names.push(path.to_string());
        let at = self.shapes.iter().position(|(name, _)| name == path)?;
        self.used[at] = true;
        Some(self.shapes[at].1.clone())
    }

    fn parameter(&mut self, path: &str, ty: &Ty, at: Span) -> Result<(), Diagnostic> {
        match ty {
            Ty::Unit => {}
            Ty::Real | Ty::Bool => self.inputs.push(Input::Scalar),
            Ty::Int => {
                let input = match self.given(path).as_deref() {
                    Some([n]) => Input::Fixed(*n),
                    _ => Input::Scalar,
                };
                self.inputs.push(input);
            }
            Ty::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.parameter(&format!("{path}.{}", i + 1), part, at)?;
                }
            }
            Ty::Record(fields) => self.fields(path, fields, at)?,
            Ty::Array(of) => {
                let (mut of, mut rank) = (of, 1);
                while let Ty::Array(inner) = &**of {
                    (of, rank) = (inner, rank + 1);
                }
                let sizes = self.given(path).unwrap_or_default();
                if sizes.len() != rank {
                    let example = vec!["10"; rank].join("x");
                    let message = match sizes.is_empty() {
                        true => format!("which sizes has `{path}`? XLA needs all of them"),
                        false if rank == 1 => format!("`{path}` has one size, not {}", sizes.len()),
                        false => format!("`{path}` has {rank} sizes, not {}", sizes.len()),
                    };
                    let help = format!("give them: `--shape {path}={example}`");
                    return Err(Diagnostic::error("shape", at, message).help(help));
                }
                for _ in 0..leaves(of) {
                    self.inputs.push(Input::Array(sizes.clone()));
                }
            }
            Ty::String | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => {
                let message =
                    format!("`{path}` is neither numbers nor arrays of numbers, which XLA takes");
                return Err(Diagnostic::error("no-form-in-xla", at, message));
            }
        }
        Ok(())
    }
}

/// How many arrays an array of this type is.
fn leaves(ty: &Ty) -> usize {
    match ty {
        Ty::Tuple(parts) => parts.iter().map(leaves).sum(),
        Ty::Record(fields) => fields.iter().map(|(_, ty)| leaves(ty)).sum(),
        _ => 1,
    }
}
