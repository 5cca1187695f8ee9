//! Paths of the Reals in a value.
//!
//! What comes in: a value of a first-order type, with the type. What goes out: the path of each Real leaf, in
//! the order in which `ravel` gives them. A path is written as an access is: `offset`, `layers[0].w[2]`, `.0`
//! for a component of a tuple; field i of a constructor is `Name.i`, and the elements of a list are numbered as
//! those of an array. A Real alone has the empty path. The depth of the value costs no stack.

use crate::ty::{DataDecl, Ty, WellKnown};
use crate::value::Value;
use diffeo_base::field_name;

/// The path of each Real leaf of a value of this type.
pub fn labels(value: &Value, ty: &Ty, datas: &[DataDecl]) -> Vec<String> {
    let mut out = Vec::new();
    // A stack of parts to visit, the next one on top.
    let mut pending = vec![(String::new(), value.clone(), ty.clone())];
    while let Some((path, value, ty)) = pending.pop() {
        let from = pending.len();
        let named = |name: &str| match path.is_empty() {
            true => name.to_string(),
            false => format!("{path}.{name}"),
        };
        match &ty {
            Ty::Real => out.push(path),
            Ty::Tuple(types) => {
                for (i, (value, ty)) in value.fields().iter().zip(types.iter()).enumerate() {
                    pending.push((format!("{path}.{i}"), value.clone(), ty.clone()));
                }
            }
            Ty::Record(fields) => {
                for (value, (name, ty)) in value.fields().iter().zip(fields.iter()) {
                    pending.push((named(&field_name(name)), value.clone(), ty.clone()));
                }
            }
            Ty::Array(element) => {
                if let Value::Array(array) = &value {
                    for i in 0..array.len() {
                        pending.push((format!("{path}[{i}]"), array.get(i), Ty::clone(element)));
                    }
                }
            }
            Ty::Data(data, args) => {
                let decl = &datas[data.0 as usize];
                if decl.is(WellKnown::List) {
                    let mut rest = value;
                    while let [head, tail] = rest.fields() {
                        let i = pending.len() - from;
                        pending.push((format!("{path}[{i}]"), head.clone(), args[0].clone()));
                        rest = tail.clone();
                    }
                } else if let Value::Data(data) = &value {
                    let name = &decl.constructors[data.tag as usize].name;
                    let types = decl.fields(data.tag, args);
                    for (i, (value, ty)) in data.fields.iter().zip(types).enumerate() {
                        pending.push((named(&format!("{name}.{i}")), value.clone(), ty));
                    }
                }
            }
            Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => {}
        }
        pending[from..].reverse();
    }
    out
}
