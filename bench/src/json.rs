//! Between JSON and values of Diffeo: objects are records, arrays are arrays or tuples. What a type does not ask for is
//! ignored.

use crate::case::OwnedValue;
use diffeo::{Array, Type};
use serde_json::{json, Value as Json};

/// The value of a type that JSON text stands for.
///
/// # Errors
/// What does not fit, with the way to it.
pub fn read(json: &Json, ty: &Type) -> Result<OwnedValue, String> {
    let misfit = || Err(format!("{ty} is wanted, not {}", kind(json)));
    match (ty, json) {
        (Type::Unit, _) => Ok(OwnedValue::Unit),
        (Type::Real, Json::Number(_)) => real(json).map(OwnedValue::Real),
        (Type::Int, Json::Number(_)) => int(json).map(OwnedValue::Int),
        (Type::Bool, Json::Bool(b)) => Ok(OwnedValue::Bool(*b)),
        (Type::String, Json::String(text)) => Ok(text.clone().into()),
        (Type::Array(_, element), Json::Array(_)) => array(json, element),
        (Type::Tuple(types), Json::Array(items)) if types.len() == items.len() => {
            let parts = items.iter().zip(types.iter()).enumerate();
            let parts = parts.map(|(i, (item, ty))| read(item, ty).map_err(|e| at(&i, &e)));
            Ok(OwnedValue::Tuple(parts.collect::<Result<_, _>>()?))
        }
        (Type::Record(fields), Json::Object(given)) => {
            let mut record = Vec::new();
            for (name, ty) in fields.iter() {
                let field = given.get(&**name).ok_or_else(|| format!("`{name}` is missing"))?;
                record.push((name.to_string().into(), read(field, ty).map_err(|e| at(name, &e))?));
            }
            Ok(OwnedValue::Record(record))
        }
        _ => misfit(),
    }
}

fn at(step: &dyn std::fmt::Display, error: &str) -> String {
    format!("{step}: {error}")
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a Bool",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

fn real(json: &Json) -> Result<f64, String> {
    json.as_f64().ok_or_else(|| format!("a number is wanted, not {}", kind(json)))
}

fn int(json: &Json) -> Result<i64, String> {
    json.as_i64().ok_or_else(|| format!("a whole number is wanted, not {json}"))
}

fn bool(json: &Json) -> Result<bool, String> {
    json.as_bool().ok_or_else(|| format!("true or false is wanted, not {}", kind(json)))
}

/// Arrays of numbers lie flat.
fn array(json: &Json, element: &Type) -> Result<OwnedValue, String> {
    let (mut leaf, mut depth) = (element, 1);
    while let Type::Array(_, inner) = leaf {
        (leaf, depth) = (inner, depth + 1);
    }
    match leaf {
        Type::Real => flat(json, depth, real).map(OwnedValue::Reals),
        Type::Int => flat(json, depth, int).map(OwnedValue::Ints),
        Type::Bool => flat(json, depth, bool).map(OwnedValue::Bools),
        _ => {
            let items = json.as_array().into_iter().flatten().enumerate();
            let items = items.map(|(i, item)| read(item, element).map_err(|e| at(&i, &e)));
            Ok(OwnedValue::Array(items.collect::<Result<_, _>>()?))
        }
    }
}

/// All elements by rows. An array without elements has no rows that would tell their sizes.
fn flat<T: Clone + 'static>(
    json: &Json,
    depth: usize,
    one: fn(&Json) -> Result<T, String>,
) -> Result<Array<'static, T>, String> {
    fn fill<T>(
        json: &Json,
        sizes: &[usize],
        one: fn(&Json) -> Result<T, String>,
        out: &mut Vec<T>,
    ) -> Result<(), String> {
        let Some((size, inner)) = sizes.split_first() else {
            out.push(one(json)?);
            return Ok(());
        };
        let items =
            json.as_array().ok_or_else(|| format!("an array is wanted, not {}", kind(json)))?;
        if items.len() != *size {
            return Err(format!("rows of {size} and of {}", items.len()));
        }
        items
            .iter()
            .enumerate()
            .try_for_each(|(i, x)| fill(x, inner, one, out).map_err(|e| at(&i, &e)))
    }
    let (mut sizes, mut first) = (Vec::new(), Some(json));
    for _ in 0..depth {
        let items = first.and_then(Json::as_array);
        sizes.push(items.map_or(0, Vec::len));
        first = items.and_then(|items| items.first());
    }
    let mut data = Vec::new();
    fill(json, &sizes, one, &mut data)?;
    Ok(Array { data: data.into(), sizes })
}

/// A value as JSON.
///
/// # Errors
/// A number is not finite, or the value has a constructor: JSON has neither.
pub fn write(value: &OwnedValue) -> Result<Json, String> {
    fn finite(x: &f64) -> Result<Json, String> {
        if x.is_finite() {
            Ok(json!(x))
        } else {
            Err(format!("the result has the number {x}"))
        }
    }
    let all =
        |values: &[OwnedValue]| values.iter().map(write).collect::<Result<Vec<Json>, String>>();
    match value {
        OwnedValue::Unit => Ok(Json::Null),
        OwnedValue::Real(x) => finite(x),
        OwnedValue::Interval(lo, hi) => Err(format!("the result has the interval {lo:?}..{hi:?}")),
        OwnedValue::Int(n) => Ok(json!(n)),
        OwnedValue::Bool(b) => Ok(json!(b)),
        OwnedValue::String(text) => Ok(json!(text)),
        OwnedValue::Tuple(values) | OwnedValue::Array(values) => Ok(Json::Array(all(values)?)),
        OwnedValue::Reals(array) => nested(&array.data, &array.sizes, &finite),
        OwnedValue::Ints(array) => nested(&array.data, &array.sizes, &|n| Ok(json!(n))),
        OwnedValue::Bools(array) => nested(&array.data, &array.sizes, &|b| Ok(json!(b))),
        OwnedValue::Record(fields) => {
            let fields = fields.iter().map(|(name, field)| Ok((name.to_string(), write(field)?)));
            Ok(Json::Object(fields.collect::<Result<_, String>>()?))
        }
        OwnedValue::Variant(name, _) => Err(format!("the result has the constructor {name}")),
    }
}

/// The rows of an array, of a single one the elements.
fn nested<T>(
    data: &[T],
    sizes: &[usize],
    one: &dyn Fn(&T) -> Result<Json, String>,
) -> Result<Json, String> {
    let Some((size, inner)) = sizes.split_first() else { return one(&data[0]) };
    let width: usize = inner.iter().product();
    let rows = (0..*size).map(|i| nested(&data[i * width..(i + 1) * width], inner, one));
    Ok(Json::Array(rows.collect::<Result<_, String>>()?))
}
