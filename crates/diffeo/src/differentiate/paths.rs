//! The Reals in a value by their places, as the user would write them: `w[2].slope`, `.0[3]`.
//!
//! In: a value with its type. Out: for each Real the way to it. What always holds: the order is that of
//! `leaves`; a long list costs no stack.

use diffeo_base::{deep, field_name};
use diffeo_calculus::eval::reals::primal;
use diffeo_calculus::ty::{DataDecl, Ty, WellKnown};
use diffeo_calculus::value::Value;
use diffeo_data::PathStep;

/// Shows every Real with the way to it.
pub fn each_path(
    value: &Value,
    ty: &Ty,
    datas: &[DataDecl],
    see: &mut dyn FnMut(&[PathStep], f64),
) {
    PathWalk { datas, path: Vec::new(), see }.walk(value, ty);
}

/// The way as the user would write it; empty for the value itself.
pub fn path_text(path: &[PathStep]) -> String {
    let mut text = String::new();
    for (i, step) in path.iter().enumerate() {
        match step {
            PathStep::Field(name) if i == 0 => text.push_str(&field_name(name)),
            PathStep::Field(name) => text.push_str(&format!(".{}", field_name(name))),
            PathStep::Constructor(name) => text.push_str(&format!(".{name}")),
            PathStep::Component(i) => text.push_str(&format!(".{i}")),
            PathStep::Index(i) => text.push_str(&format!("[{i}]")),
        }
    }
    text
}

struct PathWalk<'a> {
    datas: &'a [DataDecl],
    path: Vec<PathStep>,
    see: &'a mut dyn FnMut(&[PathStep], f64),
}

impl PathWalk<'_> {
    fn walk(&mut self, value: &Value, ty: &Ty) {
        deep(|| self.visit(value, ty));
    }

    fn visit(&mut self, value: &Value, ty: &Ty) {
        match (ty, value) {
            (Ty::Real, leaf) => (self.see)(&self.path, primal(leaf)),
            (Ty::Tuple(types), value) => {
                for (i, (ty, component)) in types.iter().zip(value.fields()).enumerate() {
                    self.step(PathStep::Component(i), component, ty);
                }
            }
            (Ty::Record(fields), value) => {
                for ((name, ty), component) in fields.iter().zip(value.fields()) {
                    self.step(PathStep::Field(name.clone()), component, ty);
                }
            }
            (Ty::Array(element), Value::Array(array)) => {
                if !matches!(**element, Ty::Int | Ty::Bool | Ty::String | Ty::Unit) {
                    for (i, value) in array.iter().enumerate() {
                        self.step(PathStep::Index(i), &value, element);
                    }
                }
            }
            (Ty::Data(id, args), Value::Data(data)) => {
                let decl = &self.datas[id.0 as usize];
                if decl.is(WellKnown::List) {
                    let (mut rest, mut i) = (value.clone(), 0);
                    while let [head, tail] = rest.fields() {
                        self.step(PathStep::Index(i), head, &args[0]);
                        (rest, i) = (tail.clone(), i + 1);
                    }
                    return;
                }
                let types = decl.fields(data.tag, args);
                let constructor = &decl.constructors[data.tag as usize].name;
                self.path.push(PathStep::Constructor(constructor.clone()));
                match (types.as_slice(), value.fields()) {
                    ([ty], [field]) => self.walk(field, ty),
                    (types, fields) => {
                        for (i, (ty, field)) in types.iter().zip(fields).enumerate() {
                            self.step(PathStep::Component(i), field, ty);
                        }
                    }
                }
                self.path.pop();
            }
            (
                Ty::Int
                | Ty::Bool
                | Ty::String
                | Ty::Unit
                | Ty::Array(_)
                | Ty::Data(..)
                | Ty::Fun(_)
                | Ty::Param(_),
                _,
            ) => {}
        }
    }

    fn step(&mut self, step: PathStep, value: &Value, ty: &Ty) {
        self.path.push(step);
        self.walk(value, ty);
        self.path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::{each_path, path_text};
    use diffeo_data::PathStep;

    #[test]
    fn ways_are_written_as_in_programs() {
        let way =
            [PathStep::Field("w".into()), PathStep::Index(2), PathStep::Field("slope".into())];
        assert_eq!(path_text(&way), "w[2].slope");
        let way =
            [PathStep::Component(0), PathStep::Index(3), PathStep::Constructor("Just".into())];
        assert_eq!(path_text(&way), ".0[3].Just");
        assert_eq!(path_text(&[]), "");
    }

    #[test]
    fn a_single_number_is_the_whole_value() {
        use diffeo_calculus::{value::Value, Ty};
        let mut seen = Vec::new();
        each_path(&Value::Real(2.0), &Ty::Real, &[], &mut |path, x| seen.push((path.len(), x)));
        assert_eq!(seen, [(0, 2.0)]);
    }
}
