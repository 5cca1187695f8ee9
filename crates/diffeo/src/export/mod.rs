//! Functions of a program as a library for C: what `diffeo build` writes.
//!
//! What comes in: entry points. What goes out: the library, with the parameters and results named by the source:
//! a parameter `p` that is a record `{x: Real, ys: []Real}` is `p_x` and `p_ys`; components of tuples are numbered; a
//! record that the program takes apart is a parameter for each field. Derivatives are functions of their own, named after
//! the function and the parameters: `f_gradient` gives `p_bar_x`.

mod interfaces;
mod lists;
mod values;

use crate::pipeline::{self, Backend, PassRun, Timing};
use crate::session::Session;
use crate::xla::{GivenShapes, Precision, Shapes};
use crate::SourceMap;
use diffeo_base::{closest, Diagnostic, Help, Span};
use diffeo_calculus::outside::{asked, derivative_by};
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::typing::mentions_real;
use diffeo_calculus::{Program, Ty};
use diffeo_codegen::c::library::library;
use diffeo_front::Entry;
use diffeo_lower::{LowerOptions, Nan};
use std::rc::Rc;
use values::{values, Sides};

pub(crate) use values::ExportedValue;

pub use diffeo_calculus::outside::{Asked, By};
pub use diffeo_codegen::c::compiler::{COptions, Compiler, Error};
pub use diffeo_codegen::c::interface::KnownSizes;
pub use diffeo_codegen::c::library::{CLibrary, Export};
pub use diffeo_codegen::engine::Cpu;
pub use interfaces::Client;

/// A function for a library, or a derivative of one.
pub struct ExportRequest {
    /// The function.
    pub entry: Entry,
    /// The derivative of it, if that is what is wanted.
    pub derivative: Option<Derivative>,
}

/// A derivative of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Derivative {
    /// By all parameters.
    All(Asked),
    /// By those of these names.
    By(By, Vec<String>),
}

/// The library with this name, of these functions, each function itself followed by such derivatives of it.
///
/// # Errors
/// An entry point that cannot be a function of C, and why.
pub fn export(
    name: &str,
    wanted: &[ExportRequest],
    derivatives: &[Asked],
    clients: &[Client],
    sizes: &KnownSizes,
    files: &SourceMap,
    times: &mut Vec<Timing>,
) -> Result<CLibrary, Vec<Diagnostic>> {
    let mut exports = Exports { exports: Vec::new(), spans: Vec::new(), times };
    let mut refused = Vec::new();
    // The functions themselves, and where they are among those of the library.
    let mut plain = Vec::new();
    for wanted in wanted {
        let made = match &wanted.derivative {
            Some(derivative) => exports.derived(wanted, derivative),
            None => {
                let place = exports.add(&LibraryFunction::of(&wanted.entry), wanted);
                let all = derivatives.iter().map(|what| Derivative::All(*what));
                place.and_then(|place| {
                    plain.push((wanted, place));
                    all.map(|what| exports.derived(wanted, &what))
                        .try_for_each(|made| made.map(|_| ()))?;
                    Ok(place)
                })
            }
        };
        if let Err(diagnostic) = made {
            refused.push(*diagnostic);
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let interfaces = clients.iter().map(|client| client.interface(&mut exports, &plain, sizes));
    let interfaces = interfaces.collect::<Result<Vec<_>, _>>().map_err(|refused| vec![*refused])?;
    library(name, &exports.exports, &interfaces, files).map_err(|why| {
        let of = exports.spans.get(why.function().unwrap_or(0)).copied();
        let [name, result] = of.unwrap_or([Span::NONE; 2]);
        let span = if why.in_result() && !result.is_none() { result } else { name };
        vec![Diagnostic::error("not-for-c", span, why.to_string())]
    })
}

/// A function on its way into a library: a definition of a program.
#[derive(Clone)]
pub(crate) struct LibraryFunction {
    pub(crate) name: String,
    pub(crate) program: Rc<Program>,
    pub(crate) global: GlobalId,
    pub(crate) sides: Sides,
}

impl LibraryFunction {
    pub(crate) fn of(entry: &Entry) -> LibraryFunction {
        let Entry { program, global, name, .. } = entry;
        LibraryFunction {
            name: name.to_string(),
            program: program.clone(),
            global: *global,
            sides: Sides::new(entry),
        }
    }

    /// A derivative by all parameters, if the function has one.
    fn derivative(&self, what: Asked) -> Option<LibraryFunction> {
        let (program, global) = asked(&self.program, self.global, what, None)?;
        let name = format!("{}_{}", self.name, suffix(what));
        Some(LibraryFunction {
            name,
            program: program.into(),
            global,
            sides: self.sides.derivative(what),
        })
    }

    /// A derivative by some parameters, if the function has one.
    fn derivative_by(&self, what: By, arguments: &[usize]) -> Option<LibraryFunction> {
        let (program, global) = match &self.program.globals[self.global.0 as usize].ty {
            // The one parameter is a tuple: all of its components.
            Ty::Fun(types) if self.sides.counts.len() == 1 => {
                let parts = if let Ty::Tuple(parts) = &types.0 { parts.len() } else { 1 };
                let all: Vec<usize> = (0..parts).collect();
                derivative_by(&self.program, self.global, what, &all)?
            }
            _ => derivative_by(&self.program, self.global, what, arguments)?,
        };
        let sides = self.sides.derivative_by(what, arguments);
        let name = format!("{}_{}", self.name, ending(what));
        Some(LibraryFunction { name, program: program.into(), global, sides })
    }
}

/// The functions of a library so far.
struct Exports<'t> {
    exports: Vec<Export>,
    /// The function that each is, or is a derivative of: the places of its name and of the type of its result.
    spans: Vec<[Span; 2]>,
    times: &'t mut Vec<Timing>,
}

impl Exports<'_> {
    /// Adds a function; gives where it is.
    fn add(
        &mut self,
        function: &LibraryFunction,
        wanted: &ExportRequest,
    ) -> Result<usize, Box<Diagnostic>> {
        let LibraryFunction { name, sides, .. } = function;
        let span = wanted.entry.span;
        let refused = |what: String| {
            let message = format!("`{}` cannot be called from C: {what}", wanted.entry.name);
            Diagnostic::error("not-for-c", span, message).help(
                "numbers, truth values, texts, arrays and lists, and records and tuples of these can be given and taken",
            )
        };
        let params = values(&sides.takes).map_err(refused)?;
        let results = values(&sides.gives).map_err(refused)?;
        let mut see = |step: &PassRun<'_>| self.times.push(Timing::of(step, true));
        // A derivative that is nan is given to the caller.
        let options = LowerOptions { nan: Nan::Given, ..LowerOptions::default() };
        let (program, global) = lists::with_arrays(&function.program, function.global);
        let lowered = pipeline::flat_with(&program, global, options, &mut see)
            .map_err(|unsupported| unsupported.to_diagnostic(span))?;
        let mut about = vec![if *name == *wanted.entry.name.as_str() {
            format!("{name} : {}", wanted.entry.interface.text)
        } else {
            format!(
                "{name}, a derivative of {} : {}",
                wanted.entry.name, wanted.entry.interface.text
            )
        }];
        if !wanted.entry.interface.doc.is_empty() {
            about.push(String::new());
            about.extend(wanted.entry.interface.doc.iter().map(|line| line.trim().to_string()));
        }
        let module = pipeline::timed_low(lowered.module, Backend::C.lowering(), self.times);
        self.exports.push(Export { about, name: name.clone(), module, params, results });
        self.spans.push([span, wanted.entry.interface.result]);
        Ok(self.exports.len() - 1)
    }

    /// Adds a derivative of a function; gives where it is.
    fn derived(
        &mut self,
        wanted: &ExportRequest,
        what: &Derivative,
    ) -> Result<usize, Box<Diagnostic>> {
        self.add(&derived(wanted, what)?, wanted)
    }
}

/// A derivative of a function.
fn derived(wanted: &ExportRequest, what: &Derivative) -> Result<LibraryFunction, Box<Diagnostic>> {
    let function = LibraryFunction::of(&wanted.entry);
    match what {
        Derivative::All(what) => {
            let derivative = function.derivative(*what).ok_or_else(|| without(wanted, *what))?;
            has_reals(wanted, told(*what), &[])?;
            Ok(derivative)
        }
        Derivative::By(what, names) => {
            let places = places(wanted, names)?;
            has_reals(wanted, "derivative", &places)?;
            let all = match what {
                By::Gradient | By::ValueAndGradient => Asked::Gradient,
                By::Vjp => Asked::Pullback,
                By::Jvp => Asked::Pushforward,
            };
            let made = function.derivative_by(*what, &places);
            let named = |made: LibraryFunction| LibraryFunction {
                name: format!("{}_{}", made.name, names.join("_")),
                ..made
            };
            made.map(named).ok_or_else(|| without(wanted, all))
        }
    }
}

/// Each function, followed by such derivatives of it, as a text of StableHLO for arrays of these sizes: names and texts.
///
/// # Errors
/// A form that XLA lacks, with its place; a size that is missing or contradicts the type.
pub fn stablehlo(
    session: &Session,
    wanted: &[ExportRequest],
    derivatives: &[Asked],
    shapes: &Shapes,
    precision: Precision,
) -> Result<Vec<(String, String)>, Box<Diagnostic>> {
    let (mut files, mut all_given) = (Vec::new(), Vec::new());
    for wanted in wanted {
        let mut given = GivenShapes::new(&wanted.entry, shapes)?;
        let functions = match &wanted.derivative {
            Some(derivative) => vec![derived(wanted, derivative)?],
            None => {
                let all = derivatives.iter().map(|what| derived(wanted, &Derivative::All(*what)));
                let own = Ok(LibraryFunction::of(&wanted.entry));
                std::iter::once(own).chain(all).collect::<Result<_, _>>()?
            }
        };
        for function in functions {
            let text = session.stablehlo_file(&function, &wanted.entry, &mut given, precision)?;
            files.push((function.name, text));
        }
        all_given.push(given);
    }
    GivenShapes::all_used_by(&all_given)?;
    Ok(files)
}

/// The positions of parameters of these names among those of a function.
fn places(wanted: &ExportRequest, names: &[String]) -> Result<Vec<usize>, Box<Diagnostic>> {
    let known: Vec<&str> =
        wanted.entry.interface.parameters.iter().flatten().map(|name| name.as_str()).collect();
    let place = |name: &String| {
        let found = wanted
            .entry
            .interface
            .parameters
            .iter()
            .position(|known| known.as_ref().is_some_and(|known| *known == name.as_str()));
        found.ok_or_else(|| {
            let message = format!("`{}` has no parameter `{name}`", wanted.entry.name);
            let d = Diagnostic::error("argument", wanted.entry.span, message);
            Box::new(match closest(name, known.iter().copied()) {
                Some(near) => d.help(Help::did_you_mean(near)),
                None if known.is_empty() => d.help("none of its parameters has a name"),
                None => d.help(format!("its parameters are {}", known.join(", "))),
            })
        })
    };
    names.iter().map(place).collect()
}

/// Refuses a derivative where there is no Real: in what a function gives, or takes, by these of its parameters alone if
/// there are any.
fn has_reals(wanted: &ExportRequest, what: &str, places: &[usize]) -> Result<(), Box<Diagnostic>> {
    let Entry { name, interface, span, ty, program, .. } = &wanted.entry;
    let Ty::Fun(sides) = ty else { return Ok(()) };
    let differentiable = |ty: &Ty| mentions_real(ty, program);
    let lacks = |place: &&usize| match &sides.0 {
        Ty::Tuple(parts) if interface.parameters.len() > 1 => {
            !parts.get(**place).is_some_and(differentiable)
        }
        one => !differentiable(one),
    };
    let parameter = |place: &usize| interface.parameters.get(*place).cloned().flatten();
    let lacking = if !differentiable(&sides.1) {
        "what it gives".to_string()
    } else if !differentiable(&sides.0) {
        "what it takes".to_string()
    } else if let Some(name) = places.iter().find(lacks).and_then(parameter) {
        format!("its parameter `{name}`")
    } else {
        return Ok(());
    };
    let message = format!("`{name}` has no {what}: there is no Real in {lacking}");
    Err(Box::new(
        Diagnostic::error("not-for-c", *span, message).note(format!("it is {}", interface.text)),
    ))
}

fn without(wanted: &ExportRequest, what: Asked) -> Box<Diagnostic> {
    let Entry { name, interface, span, .. } = &wanted.entry;
    let message = format!("`{name}` has no {}: it is {}", told(what), interface.text);
    Box::new(Diagnostic::error("not-for-c", *span, message).help(match what {
        Asked::Gradient if matches!(wanted.entry.ty, Ty::Fun(_)) => {
            "gradients are of functions to Real: ask for `vjp`"
        }
        Asked::Gradient
        | Asked::Gradients
        | Asked::Pullback
        | Asked::Pushforward
        | Asked::Jet { .. } => "derivatives are of functions",
    }))
}

/// The end of the name of a derivative.
fn suffix(what: Asked) -> String {
    match what {
        Asked::Gradient => "gradient".to_string(),
        Asked::Gradients => "gradients".to_string(),
        Asked::Pullback => "vjp".to_string(),
        Asked::Pushforward => "jvp".to_string(),
        Asked::Jet { k, r } => format!("jet_{k}_{r}"),
    }
}

/// The words before the parameters in the name of a derivative by some of them.
fn ending(what: By) -> &'static str {
    match what {
        By::Gradient | By::ValueAndGradient => "gradient",
        By::Vjp => "vjp",
        By::Jvp => "jvp",
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
