//! Plots in values of Core: where they are, and what they are as data.
//!
//! What comes in: a value of the evaluator with its type. What goes out: each [`Plot`] with the way to it. A
//! program's own type `Plot` is none.

use diffeo_base::deep;
use diffeo_calculus::show::show_with;
use diffeo_calculus::ty::{DataDecl, Ty, WellKnown};
use diffeo_calculus::value::Value as Core;
use diffeo_plot::{read, summary, Plot, PlotSource};

/// Whether this is the type of plots.
pub fn is_plot(ty: &Ty, datas: &[DataDecl]) -> bool {
    let Ty::Data(id, _) = ty else { return false };
    datas.get(id.0 as usize).is_some_and(|decl| decl.is(WellKnown::Plot))
}

/// The plot that a value is.
pub fn of(value: &Core, ty: &Ty, datas: &[DataDecl]) -> Option<Plot> {
    if !is_plot(ty, datas) {
        return None;
    }
    read(&Typed { value: value.clone(), ty: ty.clone(), datas })
}

/// A value with its type, to be read.
struct Typed<'t> {
    value: Core,
    ty: Ty,
    datas: &'t [DataDecl],
}

impl Typed<'_> {
    fn part(&self, value: &Core, ty: &Ty) -> Self {
        Typed { value: value.clone(), ty: ty.clone(), datas: self.datas }
    }
}

impl PlotSource for Typed<'_> {
    fn variant(&self) -> Option<(String, Vec<Self>)> {
        let (Core::Data(data), Ty::Data(id, args)) = (&self.value, &self.ty) else { return None };
        let decl = self.datas.get(id.0 as usize)?;
        let name = decl.constructors.get(data.tag as usize)?.name.to_string();
        let types = decl.fields(data.tag, args);
        let parts = data.fields.iter().zip(&types).map(|(field, ty)| self.part(field, ty));
        Some((name, parts.collect()))
    }

    fn field(&self, name: &str) -> Option<Self> {
        let Ty::Record(fields) = &self.ty else { return None };
        let place = fields.iter().position(|(n, _)| n.as_str() == name)?;
        Some(self.part(self.value.fields().get(place)?, &fields[place].1))
    }

    fn elements(&self) -> Option<Vec<Self>> {
        let (Core::Array(array), Ty::Array(of)) = (&self.value, &self.ty) else { return None };
        Some(array.iter().map(|element| self.part(&element, of)).collect())
    }

    fn reals(&self) -> Option<Vec<f64>> {
        let (Core::Array(array), Ty::Array(of)) = (&self.value, &self.ty) else { return None };
        match (array.reals(), &**of) {
            (Some(reals), Ty::Real) => Some(reals.to_vec()),
            (None, Ty::Real) => array.iter().map(|x| self.part(&x, of).real()).collect(),
            _ => None,
        }
    }

    fn real(&self) -> Option<f64> {
        match self.value {
            Core::Real(x) => Some(x),
            _ => None,
        }
    }

    fn int(&self) -> Option<i64> {
        match self.value {
            Core::Int(n) => Some(n),
            _ => None,
        }
    }

    fn bool(&self) -> Option<bool> {
        match self.value {
            Core::Bool(b) => Some(b),
            _ => None,
        }
    }

    fn text(&self) -> Option<String> {
        match &self.value {
            Core::String(text) => Some(text.to_string()),
            _ => None,
        }
    }
}

/// A value as Diffeo writes it, but each plot in it as a few words.
pub fn show(value: &Core, ty: &Ty, datas: &[DataDecl]) -> String {
    show_with(value, ty, datas, &|value, ty| Some(summary(&of(value, ty, datas)?)))
}

/// The plots in a value, each with the way to it: names of fields, numbers of components or elements, and constructors but
/// `Just`, with points between; the empty one where the value itself is a plot.
pub fn find(value: &Core, ty: &Ty, datas: &[DataDecl]) -> Vec<(String, Plot)> {
    let mut out = Vec::new();
    collect(value, ty, datas, String::new(), &mut out);
    out
}

/// Whether values of a type may hold plots where [`find`] looks for them.
pub fn may_hold(ty: &Ty, datas: &[DataDecl]) -> bool {
    holds(ty, datas, &mut Vec::new())
}

/// The same within variants of these types, which hold no plot that is not found elsewhere.
fn holds(ty: &Ty, datas: &[DataDecl], within: &mut Vec<Ty>) -> bool {
    match ty {
        Ty::Record(fields) => fields.iter().any(|(_, ty)| holds(ty, datas, within)),
        Ty::Tuple(types) => types.iter().any(|ty| holds(ty, datas, within)),
        Ty::Array(of) => holds(of, datas, within),
        Ty::Data(..) if is_plot(ty, datas) => true,
        Ty::Data(id, args) => {
            // A type may come back to itself, also at arguments that grow.
            if within.contains(ty) || within.len() == LEVELS {
                return false;
            }
            let Some(decl) = datas.get(id.0 as usize) else { return false };
            within.push(ty.clone());
            let tags = 0..decl.constructors.len() as u32;
            let mut fields = tags.flat_map(|tag| decl.fields(tag, args));
            let found = fields.any(|ty| holds(&ty, datas, within));
            within.pop();
            found
        }
        Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => false,
    }
}

/// How deep variant types are searched within one another.
const LEVELS: usize = 10;

fn collect(value: &Core, ty: &Ty, datas: &[DataDecl], path: String, out: &mut Vec<(String, Plot)>) {
    deep(|| collect_within(value, ty, datas, path, out));
}

fn collect_within(
    value: &Core,
    ty: &Ty,
    datas: &[DataDecl],
    path: String,
    out: &mut Vec<(String, Plot)>,
) {
    let below =
        |name: &str| if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
    if !may_hold(ty, datas) {
        return;
    }
    match (value, ty) {
        (_, Ty::Record(fields)) => {
            for ((name, ty), field) in fields.iter().zip(value.fields()) {
                collect(field, ty, datas, below(name), out);
            }
        }
        (_, Ty::Tuple(types)) => {
            for (i, (ty, field)) in types.iter().zip(value.fields()).enumerate() {
                collect(field, ty, datas, below(&i.to_string()), out);
            }
        }
        (Core::Array(array), Ty::Array(of)) => {
            for (i, element) in array.iter().enumerate() {
                collect(&element, of, datas, below(&i.to_string()), out);
            }
        }
        (_, Ty::Data(..)) if is_plot(ty, datas) => {
            out.extend(of(value, ty, datas).map(|plot| (path, plot)));
        }
        (Core::Data(data), Ty::Data(id, args)) => {
            let decl = &datas[id.0 as usize];
            if decl.is(WellKnown::List) {
                let (mut rest, mut i) = (value.clone(), 0);
                while let [head, tail] = rest.fields() {
                    collect(head, &args[0], datas, below(&i.to_string()), out);
                    (rest, i) = (tail.clone(), i + 1);
                }
                return;
            }
            let name = decl.constructors[data.tag as usize].name.as_str();
            let path = if decl.is(WellKnown::Maybe) { path } else { below(name) };
            let types = decl.fields(data.tag, args);
            match (&types[..], &data.fields[..]) {
                ([ty], [field]) => collect(field, ty, datas, path, out),
                (types, fields) => {
                    for (i, (ty, field)) in types.iter().zip(fields).enumerate() {
                        collect(field, ty, datas, format!("{path}.{i}"), out);
                    }
                }
            }
        }
        _ => {}
    }
}
