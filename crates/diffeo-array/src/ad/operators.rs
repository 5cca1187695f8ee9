//! The derivative operators of programs: functions that take and give tangents as values of the types of what they
//! are tangents of.

use super::{differentiable, forward, from_tangent, to_tangent, zero, Deriver, Unsupported};
use crate::build::Builder;
use crate::ir::{Atom, FunctionId, Module, Op, SiteId};
use crate::typing::param_types;

/// Makes the body of a declared function: of the parameters of another one (so many of which it captured, and which
/// do not vary) and tangents of the rest, it gives the results and tangents of all of them. What is no Real in a
/// tangent is that of the value.
///
/// # Errors
/// What cannot be derived. The module is then not complete.
pub fn jvp(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    captured: usize,
    declared: FunctionId,
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
    let mut results = values.clone();
    for (value, varies) in values.iter().zip(&derived.results) {
        let dot = if *varies { tangents.next() } else { None };
        let dot = match dot {
            Some(dot) => dot,
            None => zero(&mut b, module, cache, value, 1).pop().unwrap_or(value.clone()),
        };
        results.push(from_tangent(&mut b, module, cache, value, &dot));
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
