//! Plots in values: what has the type `Plot` of the module `plot` of the library, as data that is drawn.
//!
//! What comes in: a value with its type, or a [`Value`] of a host. What goes out: [`Plot`], which the functions here
//! draw or turn into Vega-Lite. The type is known by its constructors, so a program's own type `Plot` is none.
//!
//! ```
//! use diffeo::{plot, Program, Value};
//!
//! let text = "import plot\ndef picture = plot.line([0.0, 1.0], [2.0, 3.0])";
//! let value: Value = Program::from_text("p.deo", text)?.value("picture")?;
//! let picture = plot::from_host(&value).expect("a plot");
//! assert_eq!(plot::summary(&picture), "<plot: line of 2 points>");
//! assert!(plot::svg(&picture).starts_with("<svg "));
//! # Ok::<(), diffeo::Error>(())
//! ```

pub use diffeo_plot::{
    check, notes, png, summary, svg, terminal, vega_lite, Plot, Problem, Style, TooLarge,
};

use crate::host::{from_core, Value};
use diffeo_base::deep;
use diffeo_calculus::show::{is_list, show_with};
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value as Core;
use diffeo_plot::{Axis, Figure, Layer, Mark};

/// Whether this is the type of plots.
pub fn is_plot(ty: &Ty, datas: &[DataDecl]) -> bool {
    let Ty::Data(id, _) = ty else { return false };
    let Some(decl) = datas.get(id.0 as usize) else { return false };
    let [plot, grid] = &decl.constructors[..] else { return false };
    let figure = |ty: &Ty| match ty {
        Ty::Record(fields) => {
            let names = fields.iter().map(|(name, _)| name.as_str());
            names.eq(["height", "layers", "title", "width", "x", "y"])
        }
        _ => false,
    };
    plot.name == "Plot"
        && grid.name == "Grid"
        && matches!(&plot.fields[..], [ty] if figure(ty))
        && matches!(&grid.fields[..], [Ty::String, Ty::Int, Ty::Array(of)] if **of == *ty)
}

/// The plot that a value is.
pub fn of(value: &Core, ty: &Ty, datas: &[DataDecl]) -> Option<Plot> {
    if !is_plot(ty, datas) {
        return None;
    }
    from_host(&from_core(value, ty, datas))
}

/// The plot that a value of a host is.
pub fn from_host(value: &Value<'_>) -> Option<Plot> {
    let Value::Variant(name, fields) = value else { return None };
    match (&**name, &fields[..]) {
        ("Plot", [figure]) => Some(Plot::Plot(Figure {
            layers: items(figure.field("layers")?)?.iter().map(layer).collect::<Option<_>>()?,
            title: text(figure.field("title")?)?,
            x: axis(figure.field("x")?)?,
            y: axis(figure.field("y")?)?,
            width: size(figure.field("width")?)?,
            height: size(figure.field("height")?)?,
        })),
        ("Grid", [title, Value::Int(columns), plots]) => Some(Plot::Grid {
            title: text(title)?,
            columns: usize::try_from(*columns).unwrap_or(1).max(1),
            plots: items(plots)?.iter().map(from_host).collect::<Option<_>>()?,
        }),
        _ => None,
    }
}

fn items<'v>(value: &'v Value<'v>) -> Option<&'v [Value<'v>]> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn text(value: &Value<'_>) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    }
}

fn bool(value: &Value<'_>) -> Option<bool> {
    match value {
        Value::Bool(b) => Some(*b),
        _ => None,
    }
}

/// The end of an axis; nan where it is that of the data.
fn end(value: &Value<'_>) -> Option<f64> {
    let Value::Variant(_, fields) = value else { return None };
    match &fields[..] {
        [] => Some(f64::NAN),
        [Value::Real(x)] => Some(*x),
        _ => None,
    }
}

/// A number of pixels; a negative one is as wrong as one that is too small.
fn size(value: &Value<'_>) -> Option<usize> {
    match value {
        Value::Int(n) => Some(usize::try_from(*n).unwrap_or(1)),
        _ => None,
    }
}

/// The numbers of an array, row by row.
fn reals(value: &Value<'_>) -> Option<Vec<f64>> {
    match value {
        Value::Reals(array) => Some(array.data.to_vec()),
        Value::Array(items) => {
            let rows: Option<Vec<Vec<f64>>> = items.iter().map(reals).collect();
            Some(rows?.concat())
        }
        _ => None,
    }
}

fn texts(value: &Value<'_>) -> Option<Vec<String>> {
    items(value)?.iter().map(text).collect()
}

fn axis(value: &Value<'_>) -> Option<Axis> {
    Some(Axis {
        label: text(value.field("label")?)?,
        log: bool(value.field("log")?)?,
        low: end(value.field("low")?)?,
        high: end(value.field("high")?)?,
        backwards: bool(value.field("backwards")?)?,
    })
}

fn layer(value: &Value<'_>) -> Option<Layer> {
    Some(Layer {
        mark: mark(value.field("mark")?)?,
        name: text(value.field("name")?)?,
        color: text(value.field("color")?)?,
        dashed: bool(value.field("dashed")?)?,
    })
}

fn mark(value: &Value<'_>) -> Option<Mark> {
    let Value::Variant(name, fields) = value else { return None };
    Some(match (&**name, &fields[..]) {
        ("Line", [xs, ys]) => Mark::Line(reals(xs)?, reals(ys)?),
        ("Points", [xs, ys]) => Mark::Points(reals(xs)?, reals(ys)?),
        ("Bars", [names, ys]) => Mark::Bars(texts(names)?, reals(ys)?),
        ("Band", [xs, lows, highs]) => Mark::Band(reals(xs)?, reals(lows)?, reals(highs)?),
        ("ErrorBars", [xs, ys, lows, highs]) => {
            Mark::ErrorBars(reals(xs)?, reals(ys)?, reals(lows)?, reals(highs)?)
        }
        ("Boxes", [lefts, rights, ys]) => Mark::Boxes(reals(lefts)?, reals(rights)?, reals(ys)?),
        ("Cells", [xs, ys, values]) => Mark::Cells(reals(xs)?, reals(ys)?, reals(values)?),
        ("Texts", [xs, ys, words]) => Mark::Texts(reals(xs)?, reals(ys)?, texts(words)?),
        ("Horizontal", [Value::Real(y)]) => Mark::Horizontal(*y),
        ("Vertical", [Value::Real(x)]) => Mark::Vertical(*x),
        _ => return None,
    })
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
            if is_list(decl) {
                let (mut rest, mut i) = (value.clone(), 0);
                while let [head, tail] = rest.fields() {
                    collect(head, &args[0], datas, below(&i.to_string()), out);
                    (rest, i) = (tail.clone(), i + 1);
                }
                return;
            }
            let name = decl.constructors[data.tag as usize].name.as_str();
            let path = if name == "Just" { path } else { below(name) };
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
