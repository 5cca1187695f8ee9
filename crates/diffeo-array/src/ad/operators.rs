//! The derivative operators of programs: functions that take and give tangents as values of the types of what they
//! are tangents of.

use super::forward::forward_along;
use super::orders::Indices;
use super::shadow::{from_shadow, to_shadow, Out, ADJOINT};
use super::watch::watch;
use super::{
    differentiable, forward, reverse, to_tangent, zero, Deriver, Forward, Orders, Reverse,
    Unsupported,
};
use crate::build::Builder;
use crate::ir::{Atom, BoxId, Elem, FunctionId, Module, Op, SiteId, Ty, Variant};
use crate::typing::param_types;
use diffeo_base::Name;
use diffeo_calculus::prim::RealOp;

/// Makes the body of a declared function: of the parameters of another one (so many of which it captured, and which
/// do not vary) and tangents of the rest, it gives the results and tangents of all of them. What is no Real in a
/// tangent is that of the value. If it is to be watched, the program stops where there is a nan in the tangents.
///
/// # Errors
/// What cannot be derived. The module is then not complete.
pub fn jvp(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    captured: usize,
    declared: FunctionId,
    watched: bool,
) -> Result<(), Unsupported> {
    let types = param_types(&module.functions[function.0 as usize]);
    let varies = |(i, ty)| i >= captured && differentiable(module, ty);
    let active: Vec<bool> = types.iter().enumerate().map(varies).collect();
    let derived = forward(module, cache, function, &active, 1)?;
    let wrapper = &module.functions[declared.0 as usize];
    let mut b = Builder::resume(wrapper, SiteId(0));
    let params: Vec<Atom> = wrapper.params.iter().map(|v| Atom::Var(*v)).collect();
    let mut args = params[..types.len()].to_vec();
    for (dot, active) in params[types.len()..].iter().zip(&active[captured..]) {
        if *active {
            args.extend(to_tangent(&mut b, module, cache, dot));
        }
    }
    let mut values = b.emit(module, Op::Call(derived.function, args));
    let mut tangents = values.split_off(derived.results.len().min(values.len())).into_iter();
    let (mut results, mut dots) = (values.clone(), Vec::new());
    for (value, varies) in values.iter().zip(&derived.results) {
        let dot = if *varies { tangents.next() } else { None };
        let varies = dot.is_some();
        let dot = match dot {
            Some(dot) => dot,
            None => zero(&mut b, module, cache, value, 1).pop().unwrap_or(value.clone()),
        };
        let out = Out { order: 1, watched: watched && varies };
        let dot = from_shadow((&mut b, module, cache), (value, &dot), out);
        results.push(dot.clone());
        dots.extend(Some(dot).filter(|_| varies));
    }
    if watched {
        watch(&mut b, module, &dots);
    }
    put_body(module, declared, b, results)
}

/// A function in reverse mode, and what it takes and gives.
struct Backwards {
    parts: Reverse,
    /// The types of its parameters; how many of them it captured.
    params: Vec<Ty>,
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
                Ty::Array(Elem::Real, rank) => {
                    let acc = accumulator(b, module, value, rank);
                    b.emit(module, Op::AccAddArray(acc.clone(), bar.clone()));
                    acc
                }
                Ty::Real
                | Ty::Int
                | Ty::Bool
                | Ty::Text
                | Ty::Array(..)
                | Ty::Box(_)
                | Ty::Acc(_)
                | Ty::Stack(_) => {
                    to_shadow(b, module, cache, bar, ADJOINT).unwrap_or_else(|| bar.clone())
                }
            });
        }
        let types = &self.params[self.captured..];
        let mut accs = Vec::new();
        for (atom, ty) in point.iter().zip(types) {
            if let Ty::Array(Elem::Real, rank) = ty {
                accs.push(accumulator(b, module, atom, *rank));
            }
        }
        args.extend(accs.iter().cloned());
        let mut reals = b.emit(module, Op::Call(self.parts.back, args)).into_iter();
        let mut accs = accs.into_iter();
        let (mut gradient, mut bars) = (Vec::new(), Vec::new());
        for (atom, ty) in point.iter().zip(types) {
            let bar = match ty {
                Ty::Real => reals.next(),
                Ty::Array(Elem::Real, _) => accs.next().map(|acc| b.one(module, Op::AccGet(acc))),
                Ty::Box(_) | Ty::Array(Elem::Box(_), _) if differentiable(module, ty) => {
                    let out = Out { order: ADJOINT, watched: self.watched };
                    reals.next().map(|bar| from_shadow((b, module, cache), (atom, &bar), out))
                }
                Ty::Int
                | Ty::Bool
                | Ty::Text
                | Ty::Array(..)
                | Ty::Box(_)
                | Ty::Acc(_)
                | Ty::Stack(_) => None,
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
/// What cannot be derived. The module is then not complete.
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
/// What cannot be derived. The module is then not complete.
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

/// Makes the body of a declared function: of the parameters of another one, where those that it did not capture have in
/// the place of each Real an array of the value and its derivatives in so many variables up to an order, it gives the
/// same of its results. `variable` says that there is one such Real, which is the one variable: its derivatives are 1,
/// 0, …. If it is to be watched, the program stops where there is a nan in the derivatives.
///
/// # Errors
/// What cannot be derived. The module is then not complete.
pub fn jet(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    captured: usize,
    declared: FunctionId,
    (orders, variable): (Orders, bool),
    watched: bool,
) -> Result<(), Unsupported> {
    let indices = cache.indices(orders);
    let width = indices.width();
    let types = param_types(&module.functions[function.0 as usize]);
    let varies = |(i, ty)| i >= captured && differentiable(module, ty);
    let active: Vec<bool> = types.iter().enumerate().map(varies).collect();
    for (ty, _) in types.iter().zip(&active).filter(|(_, active)| **active) {
        if !matches!(ty, Ty::Real | Ty::Array(Elem::Real, _)) {
            return Err(Unsupported("Taylor coefficients of what lies in boxes".to_string()));
        }
    }
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
    let (mut args, mut tangents) = (Vec::new(), Vec::new());
    for ((param, ty), active) in params.iter().zip(&types).zip(&active) {
        if !active {
            args.push(param.clone());
            continue;
        }
        args.push(read(&mut b, module, param, ty, (0, 1.0)));
        if variable {
            tangents.push(Atom::Real(1.0));
            continue;
        }
        for i in 1..=width {
            tangents.push(read(&mut b, module, param, ty, (i, indices.factorial(i))));
        }
    }
    args.extend(tangents);
    let mut values = b.emit(module, Op::Call(derived.function, args));
    let mut tangents = values.split_off(derived.results.len().min(values.len())).into_iter();
    let (mut results, mut dots) = (Vec::new(), Vec::new());
    for (value, varies) in values.iter().zip(&derived.results) {
        let ty = b.ty(value);
        if !differentiable(module, &ty) {
            results.push(value.clone());
            continue;
        }
        let mut all = vec![value.clone()];
        if *varies {
            all.extend(tangents.by_ref().take(width));
            dots.extend_from_slice(&all[1..]);
        } else if width > 0 {
            all.extend(zero(&mut b, module, cache, value, width));
        }
        results.push(together(&mut b, module, &all, &indices, &ty)?);
    }
    if watched {
        watch(&mut b, module, &dots);
    }
    put_body(module, declared, b, results)
}

/// The Taylor coefficients in this place, with this factorial, of a value of a type, from its derivatives.
fn read(
    b: &mut Builder,
    module: &Module,
    derivatives: &Atom,
    ty: &Ty,
    (place, factorial): (usize, f64),
) -> Atom {
    if let Ty::Array(elem, rank) = ty {
        let count = b.one(module, Op::Dim(derivatives.clone(), 0));
        let index = b.var(Ty::Int, None);
        b.open();
        let row = b.one(module, Op::Get(derivatives.clone(), vec![Atom::Var(index)]));
        let element = read(b, module, &row, &Ty::array(*elem, rank - 1), (place, factorial));
        let body = b.close(vec![element]);
        return b.one(module, Op::Build { count, index, body });
    }
    let x = b.one(module, Op::Get(derivatives.clone(), vec![Atom::Int(place as i64)]));
    if factorial == 1.0 {
        return x;
    }
    b.one(module, Op::Real(RealOp::Div, vec![x, Atom::Real(factorial)]))
}

/// The derivatives of a value of a type, from its Taylor coefficients.
fn together(
    b: &mut Builder,
    module: &Module,
    coefficients: &[Atom],
    indices: &Indices,
    ty: &Ty,
) -> Result<Atom, Unsupported> {
    match ty {
        Ty::Real => {
            let mut derivatives = Vec::new();
            for (i, x) in coefficients.iter().enumerate() {
                let factorial = indices.factorial(i);
                derivatives.push(if factorial == 1.0 {
                    x.clone()
                } else {
                    b.one(module, Op::Real(RealOp::Mul, vec![Atom::Real(factorial), x.clone()]))
                });
            }
            Ok(b.one(module, Op::Elements(Elem::Real, derivatives)))
        }
        Ty::Array(Elem::Real, rank) => {
            let count = b.one(module, Op::Dim(coefficients[0].clone(), 0));
            let index = b.var(Ty::Int, None);
            b.open();
            let mut rows = Vec::new();
            for array in coefficients {
                rows.push(b.one(module, Op::Get(array.clone(), vec![Atom::Var(index)])));
            }
            let element = together(b, module, &rows, indices, &Ty::array(Elem::Real, rank - 1))?;
            let body = b.close(vec![element]);
            Ok(b.one(module, Op::Build { count, index, body }))
        }
        Ty::Int | Ty::Bool | Ty::Text | Ty::Array(..) | Ty::Box(_) | Ty::Acc(_) | Ty::Stack(_) => {
            Err(Unsupported("Taylor coefficients of what lies in boxes".to_string()))
        }
    }
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
