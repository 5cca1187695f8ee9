//! A plot as a specification of Vega-Lite 6, which notebooks draw.
//!
//! Each layer has its data in it, as rows of named numbers; a number that is nan or infinite is `null`, which leaves
//! a gap. Names in the legend are data of the colour's scale.

use crate::color::Color;
use crate::layout::{drawable, Layout};
use crate::model::{Axis, Figure, Mark, Plot};
use serde_json::{json, Map, Value};

/// The schema that a specification names.
const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

/// The specification of a plot.
pub fn vega_lite(plot: &Plot) -> Value {
    let mut spec = Map::new();
    spec.insert("$schema".to_string(), json!(SCHEMA));
    match plot {
        Plot::Plot(figure) => {
            spec.insert("autosize".to_string(), json!({"type": "fit", "contains": "padding"}));
            spec.extend(unit(figure, (640, 400)));
        }
        Plot::Grid { .. } => spec.extend(part(plot)),
    }
    Value::Object(spec)
}

/// A plot within a grid.
fn part(plot: &Plot) -> Map<String, Value> {
    match plot {
        Plot::Plot(figure) => unit(figure, (300, 210)),
        Plot::Grid { title, columns, plots } => {
            let plots: Vec<Value> = plots.iter().map(|plot| Value::Object(part(plot))).collect();
            let mut spec = Map::new();
            titled(&mut spec, title);
            spec.insert("columns".to_string(), json!(columns));
            spec.insert("concat".to_string(), json!(plots));
            spec.insert("resolve".to_string(), json!({"scale": {"color": "independent"}}));
            spec
        }
    }
}

fn titled(spec: &mut Map<String, Value>, title: &str) {
    if !title.is_empty() {
        spec.insert("title".to_string(), json!(title));
    }
}

fn unit(figure: &Figure, usual: (usize, usize)) -> Map<String, Value> {
    let layout = Layout::new(figure);
    let size = |own: usize, usual: usize| if own == 0 { usual } else { own };
    let mut spec = Map::new();
    titled(&mut spec, &figure.title);
    spec.insert("width".to_string(), json!(size(figure.width, usual.0)));
    spec.insert("height".to_string(), json!(size(figure.height, usual.1)));
    let axes = Axes::new(&layout);
    let layers: Vec<Value> = layout
        .layers
        .iter()
        .map(|(color, layer, _)| axes.layer(&layer.mark, *color, &layer.name, layer.dashed))
        .collect();
    let cells = figure.layers.iter().any(|layer| matches!(layer.mark, Mark::Cells(..)));
    spec.insert("layer".to_string(), json!(layers));
    if cells {
        spec.insert("resolve".to_string(), json!({"scale": {"color": "independent"}}));
    }
    spec
}

/// What all layers of a figure share.
struct Axes<'a> {
    figure: &'a Figure,
    /// The names of the legend and their colours.
    names: Vec<&'a str>,
    colors: Vec<String>,
    /// Whether the y axis begins at 0.
    based: bool,
    /// Whether the axes end where the data does, as those of a heat map.
    exact: bool,
}

/// A number, or `null` where it has no place.
fn number(v: f64, log: bool) -> Value {
    if drawable(v, log) {
        json!(v)
    } else {
        Value::Null
    }
}

impl<'a> Axes<'a> {
    fn new(layout: &Layout<'a>) -> Axes<'a> {
        let (mut names, mut colors) = (Vec::new(), Vec::new());
        for (name, color, _) in layout.legend() {
            if !names.contains(&name) {
                names.push(name);
                colors.push(color.hex());
            }
        }
        let stands = |mark: &Mark| matches!(mark, Mark::Bars(..) | Mark::Boxes(..));
        let based = layout.figure.layers.iter().any(|layer| stands(&layer.mark));
        let exact = layout.values.is_some();
        Axes { figure: layout.figure, names, colors, based, exact }
    }

    /// The scale and title of an axis, for an encoding.
    fn axis(&self, axis: &Axis, based: bool) -> Map<String, Value> {
        let mut scale = Map::new();
        if self.exact {
            scale.insert("nice".to_string(), json!(false));
        }
        match axis.log {
            true => scale.insert("type".to_string(), json!("log")),
            false => scale.insert("zero".to_string(), json!(based)),
        };
        for (name, end) in [("domainMin", axis.low), ("domainMax", axis.high)] {
            if drawable(end, axis.log) {
                scale.insert(name.to_string(), json!(end));
            }
        }
        if axis.backwards {
            scale.insert("reverse".to_string(), json!(true));
        }
        let title = if axis.label.is_empty() { Value::Null } else { json!(axis.label) };
        let mut out = Map::new();
        out.insert("type".to_string(), json!("quantitative"));
        out.insert("scale".to_string(), json!(scale));
        out.insert("title".to_string(), title);
        out
    }

    /// The encoding of an axis by a field of the data, or by one number for all.
    fn channel(&self, on_x: bool, key: &str, of: Value) -> Value {
        let mut out = match on_x {
            true => self.axis(&self.figure.x, false),
            false => self.axis(&self.figure.y, self.based),
        };
        out.insert(key.to_string(), of);
        Value::Object(out)
    }

    fn x(&self, field: &str) -> Value {
        self.channel(true, "field", json!(field))
    }

    fn y(&self, field: &str) -> Value {
        self.channel(false, "field", json!(field))
    }

    /// What bars stand on: 0, or the lower edge.
    fn base(&self) -> Value {
        match self.figure.y.log {
            true => json!({"value": "height"}),
            false => json!({"datum": 0}),
        }
    }

    /// Rows of columns with these names; whether each is on x.
    fn rows(&self, columns: &[(&str, bool, &[f64])]) -> Value {
        let count = columns.iter().map(|(_, _, values)| values.len()).min().unwrap_or(0);
        let log = |on_x: bool| if on_x { self.figure.x.log } else { self.figure.y.log };
        let row = |i: usize| -> Value {
            let cells = columns
                .iter()
                .map(|(name, on_x, values)| ((*name).to_string(), number(values[i], log(*on_x))));
            Value::Object(cells.collect())
        };
        json!({"values": (0..count).map(row).collect::<Vec<Value>>()})
    }

    fn layer(&self, mark: &Mark, color: Color, name: &str, dashed: bool) -> Value {
        let hex = color.hex();
        let mut look = Map::new();
        if name.is_empty() {
            look.insert("color".to_string(), json!(hex));
        }
        if dashed {
            look.insert("strokeDash".to_string(), json!([6, 4]));
        }
        let with = |kind: &str, more: Value| {
            let mut all = Map::new();
            all.insert("type".to_string(), json!(kind));
            all.extend(look.clone());
            if let Value::Object(more) = more {
                all.extend(more);
            }
            Value::Object(all)
        };
        let colored = |mut encoding: Value| {
            if let (false, Value::Object(encoding)) = (name.is_empty(), &mut encoding) {
                encoding.insert(
                    "color".to_string(),
                    json!({
                        "datum": name,
                        "type": "nominal",
                        "scale": {"domain": self.names, "range": self.colors},
                        "title": null
                    }),
                );
            }
            encoding
        };
        // A line goes from point to point in the order in which they come.
        let ordered = json!({"value": null});
        match mark {
            Mark::Line(xs, ys) => json!({
                "data": self.rows(&[("x", true, xs), ("y", false, ys)]),
                "mark": with("line", json!({"clip": true, "invalid": "break-paths-filter-domains"})),
                "encoding": colored(json!({"x": self.x("x"), "y": self.y("y"), "order": ordered}))
            }),
            Mark::Points(xs, ys) => json!({
                "data": self.rows(&[("x", true, xs), ("y", false, ys)]),
                "mark": with("point", json!({"filled": true, "size": 40, "opacity": 1, "clip": true})),
                "encoding": colored(json!({"x": self.x("x"), "y": self.y("y")}))
            }),
            Mark::Bars(names, heights) => {
                let rows: Vec<Value> = names
                    .iter()
                    .zip(heights)
                    .map(|(name, h)| json!({"x": name, "y": number(*h, self.figure.y.log)}))
                    .collect();
                let title = match self.figure.x.label.as_str() {
                    "" => Value::Null,
                    label => json!(label),
                };
                let mut encoding = json!({
                    "x": {"field": "x", "type": "nominal", "sort": null, "title": title},
                    "y": self.y("y")
                });
                let all = |layer: &&crate::model::Layer| matches!(layer.mark, Mark::Bars(..));
                if self.figure.layers.iter().filter(all).count() > 1 {
                    let side = if name.is_empty() { hex.as_str() } else { name };
                    encoding["xOffset"] = json!({"datum": side, "type": "nominal"});
                }
                json!({
                    "data": {"values": rows},
                    "mark": with("bar", json!({"clip": true})),
                    "encoding": colored(encoding)
                })
            }
            Mark::Band(xs, lows, highs) => json!({
                "data": self.rows(&[("x", true, xs), ("y", false, lows), ("y2", false, highs)]),
                "mark": with("area", json!({"opacity": 0.22, "clip": true})),
                "encoding": colored(json!({"x": self.x("x"), "y": self.y("y"), "y2": {"field": "y2"}}))
            }),
            Mark::ErrorBars(xs, ys, lows, highs) => json!({
                "data": self.rows(&[
                    ("x", true, xs), ("y", false, ys), ("low", false, lows), ("high", false, highs)
                ]),
                "layer": [
                    {
                        "mark": with("rule", json!({"clip": true})),
                        "encoding": colored(json!({
                            "x": self.x("x"), "y": self.y("low"), "y2": {"field": "high"}
                        }))
                    },
                    {
                        "mark": with("point", json!({"filled": true, "size": 40, "opacity": 1, "clip": true})),
                        "encoding": colored(json!({"x": self.x("x"), "y": self.y("y")}))
                    }
                ]
            }),
            Mark::Boxes(lefts, rights, heights) => json!({
                "data": self.rows(&[("x", true, lefts), ("x2", true, rights), ("y", false, heights)]),
                "mark": with("bar", json!({"clip": true, "binSpacing": 1})),
                "encoding": colored(json!({
                    "x": self.x("x"), "x2": {"field": "x2"}, "y": self.y("y"), "y2": self.base()
                }))
            }),
            Mark::Cells(xs, ys, values) => self.cells(xs, ys, values),
            Mark::Texts(xs, ys, texts) => {
                let row = |((x, y), text): ((&f64, &f64), &String)| {
                    let (x, y) = (number(*x, self.figure.x.log), number(*y, self.figure.y.log));
                    json!({"x": x, "y": y, "text": text})
                };
                let rows: Vec<Value> = xs.iter().zip(ys).zip(texts).map(row).collect();
                json!({
                    "data": {"values": rows},
                    "mark": {"type": "text", "align": "left", "dx": 6, "color": hex, "clip": true},
                    "encoding": {"x": self.x("x"), "y": self.y("y"), "text": {"field": "text", "type": "nominal"}}
                })
            }
            Mark::Horizontal(v) => self.rule(false, *v, &with("rule", json!({})), &colored),
            Mark::Vertical(v) => self.rule(true, *v, &with("rule", json!({})), &colored),
        }
    }

    /// A line across the plot.
    fn rule(&self, on_x: bool, at: f64, mark: &Value, colored: &dyn Fn(Value) -> Value) -> Value {
        let log = if on_x { self.figure.x.log } else { self.figure.y.log };
        let name = if on_x { "x" } else { "y" };
        let encoding =
            Map::from_iter([(name.to_string(), self.channel(on_x, "field", json!("at")))]);
        json!({
            "data": {"values": [{"at": number(at, log)}]},
            "mark": mark,
            "encoding": colored(Value::Object(encoding))
        })
    }

    fn cells(&self, xs: &[f64], ys: &[f64], values: &[f64]) -> Value {
        let edges = |positions: &[f64], log: bool| crate::layout::edges(positions, log);
        let (columns, rows) = (edges(xs, self.figure.x.log), edges(ys, self.figure.y.log));
        let mut out = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            for (j, column) in columns.iter().enumerate() {
                let v = values.get(i * xs.len() + j).copied().unwrap_or(f64::NAN);
                if let (Some((y, y2)), Some((x, x2)), true) = (row, column, drawable(v, false)) {
                    out.push(json!({"x": x, "x2": x2, "y": y, "y2": y2, "v": v}));
                }
            }
        }
        json!({
            "data": {"values": out},
            "mark": {"type": "rect", "clip": true},
            "encoding": {
                "x": self.x("x"), "x2": {"field": "x2"},
                "y": self.y("y"), "y2": {"field": "y2"},
                "color": {"field": "v", "type": "quantitative", "scale": {"scheme": "viridis"}, "title": null}
            }
        })
    }
}
