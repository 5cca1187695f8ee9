//! The derivative operators of programs: functions that take and give tangents as values of the program's types.

use super::forward::{forward_along, forward_sets};
use super::nan_guard::watch;
use super::series::{from_tangent, make, to_tangent, Recipe, ScaledCoefficient, TangentForm};
use super::shadow::{from_adjoint, to_adjoint};
use super::{
    differentiable, forward, reverse, zero, Deriver, Forward, Orders, Reverse, Unsupported,
};
use crate::build::Builder;
use crate::ir::{Atom, BoxId, Elem, FlatTy, FunctionId, Module, Op, SiteId, Variant};
use crate::typing::param_types;
use diffeo_base::Name;

/// A function in reverse mode, and what it takes and gives.
struct Backwards {
    parts: Reverse,
    /// The types of its parameters; how many of them it captured.
    params: Vec<FlatTy>,
    captured: usize,
    /// How many results it has.
    results: usize,
    /// Whether the program stops if there is a nan in a gradient.
    watched: bool,
}

impl Backwards {
    fn new(
        module: &mut Module,
        cache: &mut Deriver,
        function: FunctionId,
        captured: usize,
        watched: bool,
    ) -> Result<Backwards, Unsupported> {
        let source = &module.functions[function.0 as usize];
        let (params, results) = (param_types(source), source.results.clone());
        let varies = |(i, ty)| i >= captured && differentiable(module, ty);
        let active: Vec<bool> = params.iter().enumerate().map(varies).collect();
        let parts = reverse(module, cache, function, &active)?;
        Ok(Backwards { parts, params, captured, results: results.len(), watched })
    }

    /// The gradient at a point, of residuals, for the cotangent of a value.
    fn gradient(
        &self,
        (b, module, cache): (&mut Builder, &mut Module, &mut Deriver),
        residuals: &[Atom],
        point: &[Atom],
        (values, cotangent): (&[Atom], &[Atom]),
    ) -> Vec<Atom> {
        let mut args = residuals.to_vec();
        for ((value, bar), varies) in values.iter().zip(cotangent).zip(&self.parts.active) {
            if !varies {
                continue;
            }
            args.push(match b.ty(value) {
                FlatTy::Array(Elem::Real, rank) => {
                    let acc = accumulator(b, module, value, rank);
                    b.emit(module, Op::AccAddArray(acc.clone(), bar.clone()));
                    acc
                }
                FlatTy::Real
                | FlatTy::Int
                | FlatTy::Bool
                | FlatTy::Text
                | FlatTy::Array(..)
                | FlatTy::Box(_)
                | FlatTy::Acc(_)
                | FlatTy::Stack(_) => {
                    to_adjoint(b, module, cache, bar).unwrap_or_else(|| bar.clone())
                }
            });
        }
        let types = &self.params[self.captured..];
        let mut accs = Vec::new();
        for (atom, ty) in point.iter().zip(types) {
            if let FlatTy::Array(Elem::Real, rank) = ty {
                accs.push(accumulator(b, module, atom, *rank));
            }
        }
        args.extend(accs.iter().cloned());
        let mut reals = b.emit(module, Op::Call(self.parts.back, args)).into_iter();
        let mut accs = accs.into_iter();
        let (mut gradient, mut bars) = (Vec::new(), Vec::new());
        for (atom, ty) in point.iter().zip(types) {
            let bar = match ty {
                FlatTy::Real => reals.next(),
                FlatTy::Array(Elem::Real, _) => {
                    accs.next().map(|acc| b.one(module, Op::AccGet(acc)))
                }
                FlatTy::Box(_) | FlatTy::Array(Elem::Box(_), _) if differentiable(module, ty) => {
                    let bar = reals.next();
                    bar.map(|bar| from_adjoint((b, module, cache), (atom, &bar), self.watched))
                }
                FlatTy::Int
                | FlatTy::Bool
                | FlatTy::Text
                | FlatTy::Array(..)
                | FlatTy::Box(_)
                | FlatTy::Acc(_)
                | FlatTy::Stack(_) => None,
            };
            bars.extend(bar.clone());
            gradient.push(bar.unwrap_or(atom.clone()));
        }
        if self.watched {
            watch(b, module, &bars);
        }
        gradient
    }
}

/// An accumulator of the sizes of an array.
fn accumulator(b: &mut Builder, module: &Module, array: &Atom, rank: u8) -> Atom {
    let sizes = (0..rank).map(|dim| b.one(module, Op::Dim(array.clone(), dim))).collect();
    b.one(module, Op::AccNew(sizes))
}

/// Makes the body of a declared function: of the parameters of another one (so many of which it captured) and a
/// cotangent of its results, it gives the gradient by the other parameters. What is no Real in it is that of the
/// point. If it is to be watched, the program stops where there is a nan in the gradient.
///
/// # Errors
/// [`Unsupported`] where a derivative is not made. The module is then not complete.
pub fn rd(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    captured: usize,
    declared: FunctionId,
    watched: bool,
) -> Result<(), Unsupported> {
    let backwards = Backwards::new(module, cache, function, captured, watched)?;
    let wrapper = &module.functions[declared.0 as usize];
    let mut b = Builder::resume(wrapper, SiteId(0));
    let params: Vec<Atom> = wrapper.params.iter().map(|v| Atom::Var(*v)).collect();
    let (args, cotangent) = params.split_at(backwards.params.len());
    let values = b.emit(module, Op::Call(backwards.parts.forward, args.to_vec()));
    let (values, residuals) = values.split_at(backwards.results.min(values.len()));
    let point = &args[captured..];
    let gradient =
        backwards.gradient((&mut b, module, cache), residuals, point, (values, cotangent));
    put_body(module, declared, b, gradient)
}

/// Makes the bodies of two declared functions. Of the parameters of another one (so many of which it captured) the
/// first gives its results and a box, of this type, of what the second takes: the box, the results, the other
/// parameters and a cotangent. It gives the gradient by those parameters, as [`rd`] does.
///
/// # Errors
/// [`Unsupported`] where a derivative is not made. The module is then not complete.
pub fn vjp(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    captured: usize,
    (value, pull): (FunctionId, FunctionId),
    residuals: BoxId,
    watched: bool,
) -> Result<(), Unsupported> {
    let backwards = Backwards::new(module, cache, function, captured, watched)?;
    let fields = backwards.parts.residuals.clone();
    let variant = Variant { name: Name::new("Residuals"), fields: fields.clone() };
    module.boxes[residuals.0 as usize].variants = vec![variant];

    let wrapper = &module.functions[value.0 as usize];
    let mut b = Builder::resume(wrapper, SiteId(0));
    let params = wrapper.params.iter().map(|v| Atom::Var(*v)).collect();
    let mut results = b.emit(module, Op::Call(backwards.parts.forward, params));
    let kept = results.split_off(backwards.results.min(results.len()));
    results.push(b.one(module, Op::New(residuals, 0, kept)));
    put_body(module, value, b, results)?;

    let wrapper = &module.functions[pull.0 as usize];
    let mut b = Builder::resume(wrapper, SiteId(0));
    let params: Vec<Atom> = wrapper.params.iter().map(|v| Atom::Var(*v)).collect();
    let Some((object, rest)) = params.split_first() else { return Ok(()) };
    let (values, rest) = rest.split_at(backwards.results);
    let (point, cotangent) = rest.split_at(backwards.params.len() - captured);
    let mut kept = Vec::new();
    for index in 0..fields.len() as u32 {
        kept.push(b.one(module, Op::Field { object: object.clone(), tag: 0, index }));
    }
    let gradient = backwards.gradient((&mut b, module, cache), &kept, point, (values, cotangent));
    put_body(module, pull, b, gradient)
}

/// Makes the body of a declared function: of the parameters of another one (so many of which it captured, and which do
/// not vary) and their Taylor coefficients in so many variables up to an order, it gives the results and theirs. They
/// come one after the other, each as a value of the type; what is no Real in it is that of the value. `variable` says
/// that there is one parameter that varies, a Real, which is the one variable: its coefficients are 1, 0, …, and not
/// given. If it is to be watched, the program stops where there is a nan in the coefficients.
///
/// # Errors
/// [`Unsupported`] where a derivative is not made. The module is then not complete.
pub fn jet(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    captured: usize,
    declared: FunctionId,
    (orders, variable): (Orders, bool),
    watched: bool,
) -> Result<(), Unsupported> {
    let width = cache.indices(orders).width();
    let types = param_types(&module.functions[function.0 as usize]);
    let varies = |(i, ty)| i >= captured && differentiable(module, ty);
    let active: Vec<bool> = types.iter().enumerate().map(varies).collect();
    let derived = match width {
        // There is nothing but the value.
        0 => {
            let results = &module.functions[function.0 as usize].results;
            Forward {
                function,
                params: active.clone().into(),
                results: vec![false; results.len()].into(),
            }
        }
        _ if variable => forward_along(module, cache, function, &active, orders)?,
        _ => forward(module, cache, function, &active, orders)?,
    };
    let wrapper = &module.functions[declared.0 as usize];
    let mut b = Builder::resume(wrapper, SiteId(0));
    let params: Vec<Atom> = wrapper.params.iter().map(|v| Atom::Var(*v)).collect();
    let (args, given) = params.split_at(types.len());
    let mut args = args.to_vec();
    let point = args[captured..].to_vec();
    let every = (0..width).map(|of| ScaledCoefficient { of, ..ScaledCoefficient::at(0) }).collect();
    let recipe = Recipe::new(vec![TangentForm::Value; width], TangentForm::Tangents(width), every);
    for ((i, x), active) in point.iter().enumerate().zip(&active[captured..]) {
        if !active || width == 0 {
            continue;
        }
        if variable {
            args.push(Atom::Real(1.0));
            continue;
        }
        let all: Vec<_> =
            given.iter().skip(i).step_by(point.len()).map(|x| vec![x.clone()]).collect();
        args.extend(make((&mut b, module, cache), x, &all, &recipe));
    }
    let mut values = b.emit(module, Op::Call(derived.function, args));
    let mut tangents = values.split_off(derived.results.len().min(values.len())).into_iter();
    let mut series = Vec::new();
    for (value, varies) in values.iter().zip(&derived.results) {
        let ty = b.ty(value);
        series.push(match *varies {
            true => {
                tangents.by_ref().take(super::tangents(module, cache, &ty, width).len()).collect()
            }
            false if width > 0 => zero(&mut b, module, cache, value, width),
            false => Vec::new(),
        });
    }
    let (mut results, mut dots) = (values.clone(), Vec::new());
    for place in 0..width {
        let from = vec![ScaledCoefficient::at(place)];
        let mut recipe = Recipe::new(vec![TangentForm::Tangents(width)], TangentForm::Value, from);
        for ((value, series), varies) in values.iter().zip(&series).zip(&derived.results) {
            recipe.watched = watched && *varies;
            let given = std::slice::from_ref(series);
            let dot = make((&mut b, module, cache), value, given, &recipe);
            results.extend(dot.clone());
            dots.extend(dot.into_iter().filter(|_| *varies));
        }
    }
    if watched {
        watch(&mut b, module, &dots);
    }
    put_body(module, declared, b, results)
}

/// Makes the body of a declared function: of the parameters of another one (so many of which it captured) and a set for
/// each Real of the others, it gives the results with, in the place of each Real, the set of what it depends on.
///
/// # Errors
/// [`Unsupported`] where a derivative is not made. The module is then not complete.
pub fn dependence(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    captured: usize,
    declared: FunctionId,
) -> Result<(), Unsupported> {
    let types = param_types(&module.functions[function.0 as usize]);
    let varies = |(i, ty)| i >= captured && differentiable(module, ty);
    let active: Vec<bool> = types.iter().enumerate().map(varies).collect();
    let derived = forward_sets(module, cache, function, &active)?;
    let wrapper = &module.functions[declared.0 as usize];
    let mut b = Builder::resume(wrapper, SiteId(0));
    let params: Vec<Atom> = wrapper.params.iter().map(|v| Atom::Var(*v)).collect();
    let (args, given) = params.split_at(types.len());
    let mut args = args.to_vec();
    for (sets, _) in given.iter().zip(&active[captured..]).filter(|(_, active)| **active) {
        args.extend(to_tangent((&mut b, module, cache), sets));
    }
    let mut values = b.emit(module, Op::Call(derived.function, args));
    let mut sets = values.split_off(derived.results.len().min(values.len())).into_iter();
    let mut results = Vec::new();
    for (value, varies) in values.iter().zip(&derived.results) {
        let ty = b.ty(value);
        let set = match *varies {
            true => sets.next(),
            false if differentiable(module, &ty) => zero(&mut b, module, cache, value, 1).pop(),
            false => None,
        };
        results.push(match set {
            Some(set) => from_tangent((&mut b, module, cache), value, &set),
            None => value.clone(),
        });
    }
    put_body(module, declared, b, results)
}

/// Ends the body of a declared function.
pub(super) fn put_body(
    module: &mut Module,
    declared: FunctionId,
    b: Builder,
    results: Vec<Atom>,
) -> Result<(), Unsupported> {
    let declared = &mut module.functions[declared.0 as usize];
    match b.finish(declared.name.clone(), results) {
        Ok(made) if made.results == declared.results => {
            (declared.vars, declared.body) = (made.vars, made.body);
            Ok(())
        }
        Ok(made) => Err(Unsupported(format!("a bug of Diffeo: the results of {}", made.name))),
        Err(error) => Err(Unsupported(format!("a bug of Diffeo: {error}"))),
    }
}
