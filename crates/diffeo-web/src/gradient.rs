//! The value and the derivative of a function at a point, each number beside a difference.
//!
//! What comes in: a function with a point of its program, or with one that is made up from its type. What goes out: the
//! derivative of each Real of the value by each Real of the point, by reverse mode; how far forward mode and central
//! differences agree with it.

use diffeo_base::Span;
use diffeo_calculus::array::Array;
use diffeo_calculus::eval::derivative::derivative;
use diffeo_calculus::eval::reals::primal;
use diffeo_calculus::eval::{Machine, RuntimeError};
use diffeo_calculus::labels::labels;
use diffeo_calculus::leaves::{each_leaf, map_leaves};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;
use diffeo_front::Differentiable;
use diffeo_plot_values::show;
use serde_json::{json, Value as Json};
use std::convert::Infallible;
use std::rc::Rc;

/// The most Reals of a point and of a value that are compared.
const MOST: (usize, usize) = (24, 4);
/// The length of an array in a point that is made up.
const ELEMENTS: usize = 3;
/// The step of differences, for a number of about 1. Its fourth power is what extrapolation leaves as an error.
const STEP: f64 = 1e-3;
/// Up to which part of the largest derivative modes, and differences, agree.
const CLOSE: (f64, f64) = (1e-9, 1e-6);

/// The gradient as the page shows it.
pub(crate) fn gradient(
    machine: &mut Machine,
    of: &Differentiable,
    given: Option<Value>,
) -> Result<Option<Json>, RuntimeError> {
    let datas = &of.entry.program.datas;
    let own = given.is_some();
    let Some(x) = given.or_else(|| made_up(&of.from)) else { return Ok(None) };
    let f = machine.eval_global(of.entry.global)?;
    let op = |machine: &mut Machine, op: DiffOp, args: Vec<Value>| {
        derivative(machine, &op, args, Span::NONE)
    };
    let pair = op(machine, DiffOp::Vjp, vec![f.clone(), x.clone()])?;
    let (y, pullback) = (pair.fields()[0].clone(), pair.fields()[1].clone());
    let (inputs, outputs) = (numbers(&x), numbers(&y));
    let (shown, wide) = (inputs.len().min(MOST.0), outputs.len().min(MOST.1));
    let mut reverse = Vec::new();
    for j in 0..wide {
        reverse.push(numbers(&machine.apply(&pullback, unit(&y, j))?));
    }
    let (mut modes, mut largest) = (0.0, 0.0);
    let mut differences: Option<f64> = Some(0.0);
    let (names, mut rows) = (named(of, labels(&x, &of.from, datas)), Vec::new());
    for i in 0..shown {
        let tangent = op(machine, DiffOp::Jvp, vec![f.clone(), x.clone(), unit(&x, i)])?;
        let forward = numbers(&tangent.fields()[1]);
        let beside = difference(machine, &f, &x, i, inputs[i], outputs.len());
        let mut row = (Vec::new(), Vec::new());
        for (j, bars) in reverse.iter().enumerate() {
            largest = f64::max(largest, bars[i].abs());
            modes = worst(modes, bars[i] - forward[j]);
            match &beside {
                Some(beside) => {
                    differences = differences.map(|far| worst(far, bars[i] - beside[j]));
                    row.1.push(number(beside[j]));
                }
                None => {
                    differences = None;
                    row.1.push(json!("none"));
                }
            }
            row.0.push(number(bars[i]));
        }
        rows.push(json!({
            "name": names.get(i).map_or("", String::as_str), "at": number(inputs[i]),
            "derivatives": row.0, "differences": row.1,
        }));
    }
    // Of derivatives that are all 0, what is apart counts as it is.
    let part = |far: f64| if largest > 0.0 { far / largest } else { far };
    let (modes, differences) = (part(modes), differences.map(part));
    let agrees = modes <= CLOSE.0 && differences.is_none_or(|far| far <= CLOSE.1);
    let mut outputs = labels(&y, &of.to, datas);
    outputs.truncate(wide);
    Ok(Some(json!({
        "point": show(&x, &of.from, datas), "own": own, "value": show(&y, &of.to, datas),
        "outputs": outputs, "rows": rows, "count": inputs.len(),
        "modes": number(modes), "differences": differences.map(number), "agrees": agrees,
    })))
}

/// The paths of the Reals of a point, as they begin with the names of the parameters.
fn named(of: &Differentiable, paths: Vec<String>) -> Vec<String> {
    let parameters = &of.entry.interface.parameters;
    let with_name = |path: String| match (&parameters[..], path.strip_prefix('.')) {
        ([Some(only)], None) if path.is_empty() || path.starts_with('[') => format!("{only}{path}"),
        ([_, _, ..], Some(rest)) => {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let number: Option<usize> = rest[..end].parse().ok();
            match number.and_then(|i| parameters.get(i)) {
                Some(Some(name)) => format!("{name}{}", &rest[end..]),
                _ => path,
            }
        }
        _ => path,
    };
    paths.into_iter().map(with_name).collect()
}

/// The larger of two distances; nan if one is.
fn worst(far: f64, apart: f64) -> f64 {
    match apart.is_nan() || apart.abs() > far {
        true => apart.abs(),
        false => far,
    }
}

/// A number as JSON, which has none that is not finite.
fn number(x: f64) -> Json {
    match x.is_finite() {
        true => json!(x),
        false => json!(x.to_string()),
    }
}

/// The derivatives by one Real, from central differences of two steps (Richardson's extrapolation); none where the
/// program stops beside the point.
fn difference(
    machine: &mut Machine,
    f: &Value,
    x: &Value,
    i: usize,
    at: f64,
    count: usize,
) -> Option<Vec<f64>> {
    let h = STEP * at.abs().max(1.0);
    let mut central = |h: f64| {
        let mut side = |h: f64| {
            let moved = with_numbers(x, &mut |k, x| if k == i { x + h } else { x });
            machine.apply(f, moved).ok().map(|y| numbers(&y)).filter(|y| y.len() == count)
        };
        let (up, down) = (side(h)?, side(-h)?);
        Some(up.iter().zip(&down).map(|(a, b)| (a - b) / (2.0 * h)).collect::<Vec<f64>>())
    };
    let (wide, narrow) = (central(h)?, central(0.5 * h)?);
    Some(wide.iter().zip(&narrow).map(|(wide, narrow)| (4.0 * narrow - wide) / 3.0).collect())
}

/// A point of a type: Reals from 1.0 up, arrays of three elements. None for types with variants.
fn made_up(ty: &Ty) -> Option<Value> {
    fn of(ty: &Ty, next: &mut f64) -> Option<Value> {
        Some(match ty {
            Ty::Real => {
                *next += 0.5;
                Value::Real(*next)
            }
            Ty::Int => Value::Int(1),
            Ty::Bool => Value::Bool(true),
            Ty::String => Value::String(Rc::new("".into())),
            Ty::Unit => Value::Unit,
            Ty::Tuple(types) => {
                Value::tuple(types.iter().map(|ty| of(ty, next)).collect::<Option<Vec<_>>>()?)
            }
            Ty::Record(fields) => {
                Value::tuple(fields.iter().map(|(_, ty)| of(ty, next)).collect::<Option<Vec<_>>>()?)
            }
            Ty::Array(element) => {
                let elements = (0..ELEMENTS).map(|_| of(element, next));
                Value::array(Array::from_values(elements.collect::<Option<Vec<_>>>()?).ok()?)
            }
            Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => return None,
        })
    }
    of(ty, &mut 0.5)
}

/// The numbers in a value, in order.
fn numbers(value: &Value) -> Vec<f64> {
    let mut all = Vec::new();
    let Ok(()) = each_leaf::<Infallible>(value, &mut |leaf| {
        all.push(primal(leaf));
        Ok(())
    });
    all
}

/// The value with its numbers replaced, by position and number.
fn with_numbers(like: &Value, f: &mut dyn FnMut(usize, f64) -> f64) -> Value {
    let mut i = 0;
    let Ok(mapped) = map_leaves::<Infallible>(like, &mut |leaf| {
        i += 1;
        Ok(Value::Real(f(i - 1, primal(leaf))))
    });
    mapped
}

/// The value with 1 for one of its numbers and 0 for the others.
fn unit(like: &Value, place: usize) -> Value {
    with_numbers(like, &mut |i, _| if i == place { 1.0 } else { 0.0 })
}
