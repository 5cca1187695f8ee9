//! Functions as StableHLO, for XLA.
//!
//! Sizes go by the names of parameters, and of fields: `xs`, `model.weights`. Where the type of the function says that two
//! sizes are equal, one of them is enough. An Int may be given in the place of a size: the module is made for it, so that
//! sizes may depend on it.

// A message is made once, when there is nothing more to do.
#![allow(clippy::result_large_err)]

use crate::export::{ExportedValue, LibraryFunction};
use crate::pipeline;
use crate::session::Session;
use diffeo_array::ir::{FlatTy, Module};
use diffeo_base::{closest, Diagnostic, Help, Name, Span};
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::Program;
use diffeo_front::interface::Type;
use diffeo_front::Entry;
use diffeo_lower::{LowerOptions, Nan};
use std::collections::BTreeMap;
use std::fmt::Write;

pub use diffeo_xla::{Check, Input, Piece, Precision, StableHlo};

/// The sizes of arrays by the names of what they are given for; an Int that is fixed has one.
pub type Shapes = [(String, Vec<i64>)];

impl Session {
    /// The module of StableHLO for an entry whose arrays have these sizes.
    ///
    /// # Errors
    /// A form that XLA lacks, with its place; a missing size; a size of a parameter that the entry has not.
    pub fn stablehlo(
        &self,
        entry: &Entry,
        shapes: &Shapes,
        precision: Precision,
    ) -> Result<StableHlo, Box<Diagnostic>> {
        let function = LibraryFunction::of(entry);
        let mut given = GivenShapes::new(entry, shapes)?;
        let (_, made, _) = lowered(&function, entry.span, &mut given, precision)?;
        given.all_used(&function.name)?;
        Ok(made)
    }

    /// The text of a module for a function that is an entry or a derivative of it, headed by how it is called.
    pub(crate) fn stablehlo_file(
        &self,
        function: &LibraryFunction,
        entry: &Entry,
        given: &mut GivenShapes<'_>,
        precision: Precision,
    ) -> Result<String, Box<Diagnostic>> {
        let (module, made, inputs) = lowered(function, entry.span, given, precision)?;
        let mut text = format!("// {}", function.name);
        if function.name != *entry.name.as_str() {
            let _ = write!(text, ", a derivative of {}", entry.name);
        }
        let _ = writeln!(text, " : {}", entry.interface.text);
        for (name, input) in &inputs {
            let _ = match input {
                Input::Fixed(n) => writeln!(text, "// {name} is {n}"),
                _ => writeln!(text, "// takes {name}"),
            };
        }
        text += "// gives the result, the number of the first check that failed, or -1, and its operands\n";
        for number in 0..made.checks.len() {
            let Some(error) = made.error(&module, number as i64, &[0; 4]) else { continue };
            let file = self.sources().name(error.span.file);
            let at = self.sources().line_column(error.span);
            let (code, line) = (error.kind.code(), at.line);
            let _ = writeln!(text, "// check {number}: {code} at {file}:{line}:{}", at.column);
        }
        Ok(text + &made.text)
    }
}

/// A function as a module of Flat and one of StableHLO, with its inputs by name.
type Lowered = (Module, StableHlo, Vec<(String, Input)>);

fn lowered(
    function: &LibraryFunction,
    at: Span,
    given: &mut GivenShapes<'_>,
    precision: Precision,
) -> Result<Lowered, Box<Diagnostic>> {
    let LibraryFunction { program, global, sides, .. } = function;
    let inputs = inputs(&sides.takes, given, at)?;
    let given: Vec<Input> = inputs.iter().map(|(_, input)| input.clone()).collect();
    let (module, made) = lower_to_stablehlo(program, *global, at, &given, &[], precision)?;
    Ok((module, made, inputs))
}

/// The module of a function for these inputs, all with the sizes of a batch in front; and the module of Flat, for errors of
/// checks.
pub(crate) fn lower_to_stablehlo(
    program: &Program,
    global: GlobalId,
    at: Span,
    inputs: &[Input],
    batch: &[i64],
    precision: Precision,
) -> Result<(Module, StableHlo), Box<Diagnostic>> {
    // A derivative that is nan is one on a device.
    let options = LowerOptions { nan: Nan::Given, regular: true, ..LowerOptions::default() };
    let lowered = pipeline::flat_with(program, global, options, &mut |_| {})
        .map_err(|refusal| Box::new(refusal.to_diagnostic(at)))?;
    let module = lowered.module;
    check_inputs(&module, inputs, at)?;
    let made = diffeo_xla::stablehlo(&module, inputs, batch, precision).map_err(|refusal| {
        let span = module.sites.get(refusal.site.0 as usize).map_or(at, |site| {
            // An error within the library stands at the user's call that led there.
            let mut site = site;
            while let (true, Some(inlined)) =
                (module.library.contains(&site.span.file), &site.inlined)
            {
                site = &module.sites[inlined.at.0 as usize];
            }
            if site.span.is_none() {
                at
            } else {
                site.span
            }
        });
        let diagnostic = Diagnostic::error("no-form-in-xla", span, refusal.reason.text());
        Box::new(diagnostic.help("the engines `jit`, `llvm` and `interp` run it"))
    })?;
    Ok((module, made))
}

/// Checks that inputs are those of the entry.
///
/// # Errors
/// The first that is not.
fn check_inputs(module: &Module, inputs: &[Input], at: Span) -> Result<(), Box<Diagnostic>> {
    let entry = &module.functions[module.entry.0 as usize];
    let wrong = |message: String| Err(Box::new(Diagnostic::error("argument", at, message)));
    if entry.params.len() != inputs.len() {
        let (takes, given) = (entry.params.len(), inputs.len());
        return wrong(format!("it takes {takes} numbers and arrays, {given} are given"));
    }
    for (i, (param, input)) in entry.params.iter().zip(inputs).enumerate() {
        let ty = &entry.vars[param.0 as usize].ty;
        match (ty, input) {
            (FlatTy::Array(_, rank), Input::Array(sizes))
                if sizes.len() == usize::from(*rank) && sizes.iter().all(|n| *n >= 0) => {}
            (FlatTy::Array(_, rank), _) => {
                return wrong(format!(
                    "input {i} is an array with {rank} sizes, {input:?} is given"
                ))
            }
            (FlatTy::Int, Input::Fixed(_)) | (_, Input::Scalar) => {}
            _ => return wrong(format!("input {i} is a number, {input:?} is given")),
        }
    }
    Ok(())
}

/// The shapes that are given for an entry and its derivatives, and which of them were asked for.
pub(crate) struct GivenShapes<'s> {
    shapes: &'s Shapes,
    used: Vec<bool>,
    /// The names of arrays and Ints, for messages.
    names: Vec<String>,
    /// The record that is all that the entry takes: its fields go by their own names, as the arguments of a run do.
    record: Option<String>,
}

impl<'s> GivenShapes<'s> {
    /// The shapes that are given for an entry, none asked for yet.
    ///
    /// # Errors
    /// A name with two shapes.
    pub fn new(entry: &Entry, shapes: &'s Shapes) -> Result<Self, Box<Diagnostic>> {
        let twice = shapes
            .iter()
            .enumerate()
            .find(|(i, (name, _))| shapes[..*i].iter().any(|(other, _)| other == name));
        if let Some((_, (name, _))) = twice {
            let message = format!("the shape of `{name}` is given twice");
            return Err(Box::new(Diagnostic::error("argument", Span::NONE, message)));
        }
        let takes = LibraryFunction::of(entry).sides.takes;
        let record = match &takes[..] {
            [only] if matches!(only.ty, Type::Record(_)) => Some(only.name.clone()),
            _ => None,
        };
        let used = vec![false; shapes.len()];
        Ok(GivenShapes { shapes, used, names: Vec::new(), record })
    }

    fn of(&mut self, path: &str) -> Option<Vec<i64>> {
        if !self.names.iter().any(|name| name == path) {
            self.names.push(path.to_string());
        }
        let at = self.shapes.iter().position(|(name, _)| name == path)?;
        self.used[at] = true;
        Some(self.shapes[at].1.clone())
    }

    /// Checks that each shape was asked for, by the function of this name or a derivative of it.
    ///
    /// # Errors
    /// A shape that was not.
    pub fn all_used(&self, function: &str) -> Result<(), Box<Diagnostic>> {
        let Some(given) = self.used.iter().position(|used| !used) else { return Ok(()) };
        Err(self.unknown(given, &format!("`{function}` has no")))
    }

    fn unknown(&self, given: usize, who: &str) -> Box<Diagnostic> {
        let name = &self.shapes[given].0;
        let message = format!("{who} array or Int `{name}`");
        let near = closest(name, self.names.iter().map(String::as_str));
        let help = match near {
            Some(near) => Help::did_you_mean(near),
            None => format!("it has {}", self.names.join(", ")).into(),
        };
        Box::new(Diagnostic::error("argument", Span::NONE, message).help(help))
    }

    /// Checks that each shape was asked for by one of several functions.
    ///
    /// # Errors
    /// A shape that none did.
    pub fn all_used_by(all: &[GivenShapes<'_>]) -> Result<(), Box<Diagnostic>> {
        let Some((first, rest)) = all.split_first() else { return Ok(()) };
        let used = |i: usize| first.used[i] || rest.iter().any(|given| given.used[i]);
        match (0..first.used.len()).find(|i| !used(*i)) {
            Some(given) => Err(first.unknown(given, "none of the functions has an")),
            None => Ok(()),
        }
    }
}

/// The inputs of a function, by name, in the order of Flat.
fn inputs(
    takes: &[ExportedValue],
    given: &mut GivenShapes<'_>,
    at: Span,
) -> Result<Vec<(String, Input)>, Box<Diagnostic>> {
    let record = given.record.clone();
    let mut walk = Walk { given, known: BTreeMap::new(), binds: true, inputs: Vec::new(), at };
    for binds in [true, false] {
        walk.binds = binds;
        for value in takes {
            match &value.ty {
                Type::Record(fields) if record.as_ref() == Some(&value.name) => {
                    for (name, ty) in fields.iter() {
                        walk.value(name, ty, &[])?;
                    }
                }
                ty => walk.value(&value.name, ty, &[])?,
            }
        }
    }
    Ok(walk.inputs)
}

/// The walk over parameters, done twice: sizes that are given bind the names of the type, then all sizes are known.
struct Walk<'w, 's> {
    given: &'w mut GivenShapes<'s>,
    /// Sizes that the type names, and the array that says so.
    known: BTreeMap<Name, (i64, String)>,
    binds: bool,
    inputs: Vec<(String, Input)>,
    at: Span,
}

impl Walk<'_, '_> {
    fn input(&mut self, path: &str, input: Input) {
        if !self.binds {
            self.inputs.push((path.to_string(), input));
        }
    }

    /// A value within arrays of these sizes.
    fn value(&mut self, path: &str, ty: &Type, outer: &[i64]) -> Result<(), Box<Diagnostic>> {
        match ty {
            Type::Unit => {}
            Type::Int if outer.is_empty() => {
                let input = match self.given.of(path).as_deref() {
                    Some([n]) => Input::Fixed(*n),
                    Some(_) => {
                        let message = format!("`{path}` is an Int, which has one number");
                        let help = format!("give it: `--shape {path}=10`");
                        let wrong = Diagnostic::error("shape", self.at, message);
                        return Err(Box::new(wrong.help(help)));
                    }
                    None => Input::Scalar,
                };
                self.input(path, input);
            }
            Type::Real | Type::Int | Type::Bool => {
                let scalar = outer.is_empty();
                let input = if scalar { Input::Scalar } else { Input::Array(outer.to_vec()) };
                self.input(path, input);
            }
            Type::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.value(&format!("{path}.{}", i + 1), part, outer)?;
                }
            }
            Type::Record(fields) => {
                for (name, ty) in fields.iter() {
                    self.value(&format!("{path}.{name}"), ty, outer)?;
                }
            }
            Type::Array(..) => {
                let (mut of, mut names) = (ty, Vec::new());
                while let Type::Array(name, inner) = of {
                    names.push(name.clone());
                    of = inner;
                }
                let sizes = self.sizes(path, &names)?;
                self.value(path, of, &[outer, &sizes].concat())?;
            }
            Type::String | Type::Variant(..) | Type::Function(_) | Type::Parameter(_) => {
                let message =
                    format!("`{path}` is neither numbers nor arrays of numbers, which XLA takes");
                return Err(Box::new(Diagnostic::error("no-form-in-xla", self.at, message)));
            }
        }
        Ok(())
    }

    /// The sizes of an array whose type calls them so.
    fn sizes(&mut self, path: &str, names: &[Name]) -> Result<Vec<i64>, Box<Diagnostic>> {
        let rank = names.len();
        let example = vec!["10"; rank].join("x");
        let at = self.at;
        let wrong = |message: String| {
            let help = format!("give them: `--shape {path}={example}`");
            Box::new(Diagnostic::error("shape", at, message).help(help))
        };
        let Some(sizes) = self.given.of(path) else {
            // A tangent has the sizes of its parameter.
            let primal = path.replacen("_dot", "", 1);
            let primal = self.given.shapes.iter().find(|(name, _)| *name == primal);
            if let Some((_, sizes)) = primal.filter(|(_, sizes)| sizes.len() == rank) {
                return Ok(sizes.clone());
            }
            let known = |name: &Name| {
                name.parse().ok().or_else(|| self.known.get(name).map(|(size, _)| *size))
            };
            let inferred: Option<Vec<i64>> = names.iter().map(known).collect();
            return match inferred {
                Some(sizes) => Ok(sizes),
                // Another array may tell.
                None if self.binds => Ok(vec![0; rank]),
                None => {
                    Err(wrong(format!("the sizes of `{path}` are missing: XLA needs all of them")))
                }
            };
        };
        if sizes.len() != rank {
            let has = if rank == 1 { "one size".to_string() } else { format!("{rank} sizes") };
            return Err(wrong(format!("`{path}` has {has}, not {}", sizes.len())));
        }
        for (name, size) in names.iter().zip(&sizes) {
            let literal = name.parse().ok().map(|n: i64| (n, "its type".to_string()));
            let other = literal.or_else(|| self.known.get(name).cloned());
            match other {
                Some((known, by)) if known != *size => {
                    let message = format!("`{path}` has size {size} where {by} says {known}");
                    return Err(wrong(message));
                }
                _ if name.is_empty() => {}
                _ => {
                    self.known.insert(name.clone(), (*size, format!("`{path}`")));
                }
            }
        }
        Ok(sizes)
    }
}
