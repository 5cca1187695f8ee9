//! Interfaces of the programs that load functions: the derivatives that each needs, and how they belong together.

use super::{Asked, By, ExportRequest, Exports, KnownSizes, LibraryFunction};
use diffeo_base::Diagnostic;
use diffeo_calculus::Ty;
use diffeo_codegen::c::interface::{Bridgestan, Casadi, Companions, Interface};

/// A program that loads functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Client {
    /// XLA, and so JAX, by its foreign function interface.
    XlaFfi,
    /// The clients of BridgeStan, and nutpie.
    Bridgestan,
    /// CasADi.
    Casadi,
}

impl Client {
    /// All of them.
    pub const ALL: [Client; 3] = [Client::XlaFfi, Client::Bridgestan, Client::Casadi];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Client::XlaFfi => "xla-ffi",
            Client::Bridgestan => "bridgestan",
            Client::Casadi => "casadi",
        }
    }

    /// Its interface to functions of the program that are in the library, where others may be added.
    pub(super) fn interface(
        self,
        exports: &mut Exports<'_>,
        functions: &[(&ExportRequest, usize)],
        sizes: &KnownSizes,
    ) -> Result<Interface, Box<Diagnostic>> {
        match self {
            Client::XlaFfi => Ok(Interface::XlaFfi),
            Client::Casadi => casadi(exports, functions, sizes).map(Interface::Casadi),
            Client::Bridgestan => bridgestan(exports, functions, sizes).map(Interface::Bridgestan),
        }
    }
}

fn casadi(
    exports: &mut Exports<'_>,
    functions: &[(&ExportRequest, usize)],
    sizes: &KnownSizes,
) -> Result<Casadi, Box<Diagnostic>> {
    let with_derivatives: Vec<usize> = functions.iter().map(|(_, place)| *place).collect();
    let others = (0..exports.exports.len()).filter(|i| !with_derivatives.contains(i));
    let mut all: Vec<(usize, Option<Companions>)> = others.map(|i| (i, None)).collect();
    for (wanted, place) in functions {
        let function = LibraryFunction::of(&wanted.entry);
        let mut companion = |of: &LibraryFunction, what: Asked| {
            of.derivative(what).map(|made| exports.add(&made, wanted).map(|place| (made, place)))
        };
        let forward = companion(&function, Asked::Pushforward).transpose()?;
        let reverse = companion(&function, Asked::Pullback).transpose()?;
        let (Some((_, forward)), Some((made, reverse))) = (forward, reverse) else {
            // Constants have no derivatives.
            all.push((*place, None));
            continue;
        };
        let twice = companion(&made, Asked::Pushforward).transpose()?;
        let companions =
            twice.map(|(_, forward_reverse)| Companions { forward, reverse, forward_reverse });
        all.push((*place, companions));
    }
    Ok(Casadi { functions: all, sizes: sizes.clone() })
}

fn bridgestan(
    exports: &mut Exports<'_>,
    functions: &[(&ExportRequest, usize)],
    sizes: &KnownSizes,
) -> Result<Bridgestan, Box<Diagnostic>> {
    let refused = |wanted: Option<&ExportRequest>, message: String, help: &'static str| {
        let span = wanted.map_or(diffeo_base::Span::NONE, |wanted| wanted.entry.span);
        Box::new(Diagnostic::error("not-for-bridgestan", span, message).help(help))
    };
    let help = "a model is `def log_density(p: {mu: Real, …}, y: [n]Real, …) -> Real`: the parameters first, then data";
    let (density, reported) = match functions {
        [density] => (density, None),
        [density, reported] => (density, Some(reported)),
        _ => {
            let message = format!(
                "a model of BridgeStan is made of a log density, and perhaps of what is reported of a draw: {} functions \
                 are given by `--entry`",
                functions.len()
            );
            return Err(refused(None, message, "for several models, build several libraries"));
        }
    };
    let (wanted, place) = *density;
    let (name, written) = (&wanted.entry.name, &wanted.entry.interface.text);
    let first = match &wanted.entry.ty {
        Ty::Fun(sides) if sides.1 == Ty::Real => first_parameter(wanted),
        _ => None,
    };
    let function = LibraryFunction::of(&wanted.entry);
    let not = || {
        let message =
            format!("`{name}` is no log density, which is a function to Real: it is {written}");
        refused(Some(wanted), message, help)
    };
    first.ok_or_else(not)?;
    let gradient = function.derivative_by(By::ValueAndGradient, &[0]).ok_or_else(not)?;
    let product = gradient.derivative_by(By::Jvp, &[0]).ok_or_else(not)?;
    let own = function.sides.counts.first().copied().unwrap_or(0);
    let parameters = super::values::values(&function.sides.takes[..own]).map_or(0, |all| all.len());
    let reported = match reported {
        None => None,
        Some((other, place)) => {
            let takes = |of: &ExportRequest| match &of.entry.ty {
                Ty::Fun(sides) => Some(sides.0.clone()),
                _ => None,
            };
            let all = takes(other).is_some() && takes(other) == takes(wanted);
            if !all && takes(other) != first_parameter(wanted) {
                let message = format!(
                    "`{}` cannot report what `{name}` takes: it is {}, and `{name}` is {written}",
                    other.entry.name, other.entry.interface.text
                );
                let help = "it takes the parameters of the log density, and its data or none";
                return Err(refused(Some(other), message, help));
            }
            Some((*place, all))
        }
    };
    Ok(Bridgestan {
        density: place,
        gradient: exports.add(&gradient, wanted)?,
        product: exports.add(&product, wanted)?,
        reported,
        parameters,
        sizes: sizes.clone(),
    })
}

/// The type of the first parameter of a function.
fn first_parameter(wanted: &ExportRequest) -> Option<Ty> {
    let Ty::Fun(sides) = &wanted.entry.ty else { return None };
    let count = wanted.entry.interface.parameters.len();
    match &sides.0 {
        Ty::Tuple(parts) if parts.len() == count => parts.first().cloned(),
        Ty::Unit => None,
        ty => Some(ty.clone()),
    }
}
