//! A plot as a specification of Vega-Lite 6, which notebooks draw.
//!
//! Each layer has its data in it, as rows of named numbers; a number that is nan or infinite is `null`, which leaves
//! a gap. Names in the legend are data of the colour's scale. The axes reach over what [`Layout`] says, and the names
//! of bars are the domain of theirs, so that the picture is that of the other ways to draw.

use crate::color::Color;
use crate::draw::{beyond, clip, line_width, opacity};
use crate::font;
use crate::layout::{drawable, edges, shown_names, Layout, MarkForm, Scale};
use crate::model::{Axis, Figure, Layer, Mark, Plot};
use crate::scene::dashes;
use serde_json::{json, Map, Value};

/// The size of a title, and how many lines it has at most.
const TITLE: f64 = 13.0;
const LINES: usize = 4;

/// Around the frame of a figure with equal axes, and how large its legend is within it, about.
const AROUND: f64 = 60.0;
const INSIDE: (f64, f64) = (0.25, 0.25);

/// The schema that a specification names.
const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

/// The specification of a plot.
pub fn vega_lite(plot: &Plot) -> Value {
    let mut spec = Map::new();
    spec.insert("$schema".to_string(), json!(SCHEMA));
    match plot {
        Plot::Plot(figure) => {
            if !figure.equal {
                spec.insert("autosize".to_string(), json!({"type": "fit", "contains": "padding"}));
            }
            spec.extend(unit(figure, (640, 400)));
            if figure.height == 0 && !figure.equal {
                let height = crate::draw::height(&Layout::new(figure), (width(figure), 400.0));
                spec.insert("height".to_string(), json!(height as usize));
            }
        }
        Plot::Grid { .. } => spec.extend(part(plot)),
    }
    Value::Object(spec)
}

/// The width of a figure alone.
fn width(figure: &Figure) -> f64 {
    if figure.width == 0 {
        640.0
    } else {
        figure.width as f64
    }
}

/// A plot within a grid.
fn part(plot: &Plot) -> Map<String, Value> {
    match plot {
        Plot::Plot(figure) => unit(figure, (300, 210)),
        Plot::Grid { title, columns, plots } => {
            let plots: Vec<Value> = plots.iter().map(|plot| Value::Object(part(plot))).collect();
            let mut spec = Map::new();
            titled(&mut spec, title, 300 * columns.min(&plots.len()));
            spec.insert("columns".to_string(), json!(columns));
            spec.insert("concat".to_string(), json!(plots));
            let apart =
                json!({"color": "independent", "fill": "independent", "xOffset": "independent"});
            spec.insert("resolve".to_string(), json!({"scale": apart}));
            spec
        }
    }
}

/// A title, in lines where it is wider than so many pixels.
fn titled(spec: &mut Map<String, Value>, title: &str, width: usize) {
    if title.is_empty() {
        return;
    }
    let title = match &font::wrapped(title, TITLE, 0.9 * width as f64, LINES)[..] {
        [_] => json!(title),
        lines => json!(lines),
    };
    spec.insert("title".to_string(), title);
}

fn unit(figure: &Figure, usual: (usize, usize)) -> Map<String, Value> {
    let layout = Layout::new(figure);
    let size = |own: usize, usual: usize| if own == 0 { usual } else { own };
    let mut size = (size(figure.width, usual.0), size(figure.height, usual.1));
    if let Some(aspect) = layout.aspect() {
        // The frame alone has this size, without what is around it.
        let (wide, high) = ((size.0 as f64 - AROUND).max(50.0), (size.1 as f64 - AROUND).max(50.0));
        size =
            (wide.min(aspect * high).max(1.0) as usize, high.min(wide / aspect).max(1.0) as usize);
    }
    let mut spec = Map::new();
    titled(&mut spec, &figure.title, size.0);
    spec.insert("width".to_string(), json!(size.0));
    spec.insert("height".to_string(), json!(size.1));
    let axes = Axes::new(&layout, size);
    let mut layers: Vec<Value> = (0..layout.layers.len()).map(|i| axes.layer(i)).collect();
    layers.extend(crate::draw::notice(&layout).map(|text| axes.notice(text)));
    spec.insert("layer".to_string(), json!(layers));
    spec
}

/// What all layers of a figure share.
struct Axes<'a> {
    layout: &'a Layout<'a>,
    /// In pixels.
    size: (usize, usize),
    /// The entries of the legend: name, colour, and the name by which the scale of colours knows it.
    entries: Vec<(&'a str, Color, String)>,
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
    fn new(layout: &'a Layout<'a>, size: (usize, usize)) -> Axes<'a> {
        let mut entries: Vec<(&str, Color, String)> = Vec::new();
        for (name, color, _) in layout.legend() {
            // One name in two colours is two entries; blanks at the end, which nobody sees, tell them apart.
            let mut key = name.to_string();
            while entries.iter().any(|(.., known)| *known == key) {
                key.push(' ');
            }
            entries.push((name, color, key));
        }
        Axes { layout, size, entries }
    }

    /// How the legend writes names that it would cut: in lines.
    fn long_names(&self) -> Option<Value> {
        let mut lines = Map::new();
        for (name, _, key) in &self.entries {
            lines.insert(key.clone(), json!(crate::draw::lines_of_name(name, self.size.0 as f64)));
        }
        let long = lines.values().any(|lines| lines.as_array().is_some_and(|all| all.len() > 1));
        long.then(
            || json!({"labelExpr": format!("({})[datum.label]", json!(lines)), "labelLimit": 0}),
        )
    }

    fn axis_of(&self, on_x: bool) -> (&'a Axis, &'a Scale) {
        match on_x {
            true => (&self.layout.figure.x, &self.layout.x),
            false => (&self.layout.figure.y, &self.layout.y),
        }
    }

    /// The encoding of an axis by a field of the data, or by one number for all: its scale and title.
    fn channel(&self, on_x: bool, key: &str, of: Value) -> Value {
        let (axis, scale) = self.axis_of(on_x);
        let (low, high) = self.ends(on_x);
        let mut all = json!({"domain": [low, high], "nice": false});
        match (axis.log, scale.dates) {
            (true, _) => all["type"] = json!("log"),
            (false, true) => {
                all["type"] = json!("utc");
                // Numbers would be dates to one channel of the axis and numbers to the other.
                all["domain"] = json!({"expr": format!("[{low}, {high}]")});
            }
            (false, false) => all["zero"] = json!(false),
        }
        if axis.backwards {
            all["reverse"] = json!(true);
        }
        let ticks = match on_x {
            true => (self.size.0 / 80).clamp(2, 12),
            false => (self.size.1 / 48).clamp(2, 10),
        };
        // The title of a number for all is that of the axis alone.
        let mut look = json!({"tickCount": ticks, "title": label(axis)});
        let format = date_format(1e-3 * (high - low) / ticks as f64);
        if let (true, Some(format)) = (scale.dates, format) {
            look["format"] = json!(format);
        }
        self.name_ticks(on_x, ticks, &mut look);
        json!({
            "type": if scale.dates { "temporal" } else { "quantitative" },
            "scale": all, "title": label(axis), "axis": look, key: of
        })
    }

    /// Gives ticks their texts where these are no numbers that Vega would write so: names, and what large numbers are
    /// beyond the first.
    fn name_ticks(&self, on_x: bool, wanted: usize, look: &mut Value) {
        let (axis, scale) = self.axis_of(on_x);
        let ticks: Vec<(f64, String)> = match axis.names.is_empty() {
            false => {
                let shown = shown_names(axis, axis.names.len());
                shown.map(|i| (i as f64, axis.names[i].clone())).collect()
            }
            true => match scale.offset_ticks(wanted) {
                Some(ticks) => ticks,
                None => return,
            },
        };
        let (places, texts): (Vec<f64>, Vec<String>) = ticks.into_iter().unzip();
        look["labelExpr"] =
            json!(format!("{}[indexof({}, datum.value)]", json!(texts), json!(places)));
        look["values"] = json!(places);
        if !axis.names.is_empty() {
            look["labelLimit"] = json!(1.25 * crate::draw::LONGEST);
            let widest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
            if on_x && widest * texts.len() * 7 > self.size.0 {
                look["labelAngle"] = json!(-35);
            }
        }
    }

    /// A number as the specification has it: times in milliseconds.
    fn told(&self, on_x: bool, v: f64) -> f64 {
        if self.axis_of(on_x).1.dates {
            1e3 * v
        } else {
            v
        }
    }

    /// The ends of an axis.
    fn ends(&self, on_x: bool) -> (f64, f64) {
        let (low, high) = self.axis_of(on_x).1.ends();
        (self.told(on_x, low), self.told(on_x, high))
    }

    fn x(&self, field: &str) -> Value {
        self.channel(true, "field", json!(field))
    }

    fn y(&self, field: &str) -> Value {
        self.channel(false, "field", json!(field))
    }

    /// What bars stand on: 0, or the lower end.
    fn base(&self) -> Value {
        json!({"datum": if self.layout.figure.y.log { self.ends(false).0 } else { 0.0 }})
    }

    /// A number of an axis, or `null`.
    fn place(&self, on_x: bool, v: f64) -> Value {
        number(self.told(on_x, v), self.axis_of(on_x).0.log)
    }

    /// Rows of columns with these names; whether each is on x.
    fn rows(&self, columns: &[(&str, bool, &[f64])]) -> Value {
        let count = columns.iter().map(|(_, _, values)| values.len()).min().unwrap_or(0);
        let row = |i: usize| -> Value {
            let cells = columns
                .iter()
                .map(|(name, on_x, values)| ((*name).to_string(), self.place(*on_x, values[i])));
            Value::Object(cells.collect())
        };
        json!({"values": (0..count).map(row).collect::<Vec<Value>>()})
    }

    /// The layer of this number.
    fn layer(&self, i: usize) -> Value {
        let (color, layer, _) = &self.layout.layers[i];
        let Layer { mark, name, dashed, .. } = *layer;
        let hex = color.hex();
        let mut look = json!({"clip": true});
        if name.is_empty() {
            look["color"] = json!(hex);
        }
        let (opacity, width) = (opacity(layer), line_width(layer));
        if layer.opacity.is_some() {
            look["opacity"] = json!(opacity);
        }
        let is_line = matches!(mark, Mark::Line(..) | Mark::Horizontal(_) | Mark::Vertical(_));
        if layer.line_width.is_some() && is_line {
            look["strokeWidth"] = json!(width);
        }
        // Only lines are dashed.
        if *dashed && is_line {
            look["strokeDash"] = json!(dashes(width));
        }
        let with = |kind: &str, more: Value| {
            let mut all = look.clone();
            all["type"] = json!(kind);
            if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
                all.extend(more);
            }
            all
        };
        let disc =
            |size: f64| with("point", json!({"filled": true, "size": size, "opacity": opacity}));
        let colored = |mut encoding: Value| {
            let entry = self.entries.iter().find(|(n, c, _)| n == name && c == color);
            if let Some((.., key)) = entry {
                let keys: Vec<&String> = self.entries.iter().map(|(.., key)| key).collect();
                let colors: Vec<String> = self.entries.iter().map(|(_, c, _)| c.hex()).collect();
                encoding["color"] = json!({
                    "datum": key,
                    "type": "nominal",
                    "scale": {"domain": keys, "range": colors},
                    "title": null
                });
                if let Some(legend) = self.long_names() {
                    encoding["color"]["legend"] = legend;
                }
                if self.layout.figure.inside {
                    let [right, up] = crate::draw::corner(self.layout, INSIDE);
                    let (side, end) =
                        (if right { "right" } else { "left" }, if up { "top" } else { "bottom" });
                    encoding["color"]["legend"]["orient"] = json!(format!("{end}-{side}"));
                }
            }
            encoding
        };
        // A line goes from point to point in the order in which they come.
        let ordered = json!({"value": null});
        match mark {
            Mark::Line(xs, ys) => {
                let data = self.rows(&[("x", true, xs), ("y", false, ys)]);
                let line = with("line", json!({"invalid": "break-paths-filter-domains"}));
                let mut encoding = colored(json!({"x": self.x("x"), "y": self.y("y")}));
                let lone = self.lone(xs, ys);
                if lone.is_empty() {
                    encoding["order"] = ordered;
                    json!({"data": data, "mark": line, "encoding": encoding})
                } else {
                    // A point between gaps is seen, too.
                    json!({
                        "data": data,
                        "encoding": encoding,
                        "layer": [
                            {"mark": line, "encoding": {"order": ordered}},
                            {"data": {"values": lone}, "mark": disc(3.0 * width * width)}
                        ]
                    })
                }
            }
            Mark::Points(xs, ys) => json!({
                "data": self.rows(&[("x", true, xs), ("y", false, ys)]),
                "mark": disc(40.0),
                "encoding": colored(json!({"x": self.x("x"), "y": self.y("y")}))
            }),
            Mark::Bars(names, heights) => {
                let rows: Vec<Value> = names
                    .iter()
                    .zip(heights)
                    .filter(|(name, _)| self.layout.categories.contains(&name.as_str()))
                    .map(|(name, h)| json!({"x": name, "y": self.place(false, *h)}))
                    .collect();
                let mut encoding = json!({
                    "x": self.names(),
                    "y": self.y("y"),
                    "y2": self.base()
                });
                // Bars of several layers stand side by side.
                let stands = |(.., layer, _): &&(Color, &Layer, MarkForm<'_>)| {
                    matches!(layer.mark, Mark::Bars(..))
                };
                let all = self.layout.layers.iter().filter(stands).count();
                let before = self.layout.layers[..i].iter().filter(stands).count();
                if all > 1 {
                    let domain: Vec<String> = (1..=all).map(|n| n.to_string()).collect();
                    encoding["xOffset"] = json!({
                        "datum": domain[before],
                        "type": "nominal",
                        "scale": {"domain": domain, "paddingInner": 0, "paddingOuter": 0}
                    });
                }
                json!({
                    "data": {"values": rows},
                    "mark": with("bar", json!({"orient": "vertical"})),
                    "encoding": colored(encoding)
                })
            }
            Mark::Band(xs, lows, highs) => json!({
                "data": self.rows(&[("x", true, xs), ("y", false, lows), ("y2", false, highs)]),
                "mark": with("area", json!({"opacity": opacity, "invalid": "break-paths-filter-domains"})),
                "encoding": colored(json!({
                    "x": self.x("x"), "y": self.y("y"), "y2": {"field": "y2"}, "order": ordered
                }))
            }),
            Mark::ErrorBars(xs, ys, lows, highs) => {
                // A bar to a place that a logarithmic axis lacks goes to its end.
                let log = self.layout.figure.y.log;
                let least = self.layout.y.ends().0;
                let lows: Vec<f64> =
                    lows.iter().map(|v| if log && *v <= 0.0 { least } else { *v }).collect();
                let bars = json!([{"filter": "isValid(datum.low) && isValid(datum.high)"}]);
                let end = |field: &str| {
                    json!({
                        "transform": bars,
                        "mark": with("tick", json!({
                            "orient": "horizontal", "size": 6, "thickness": width, "opacity": opacity
                        })),
                        "encoding": colored(json!({"x": self.x("x"), "y": self.y(field)}))
                    })
                };
                json!({
                    "data": self.rows(&[
                        ("x", true, xs), ("y", false, ys), ("low", false, &lows), ("high", false, highs)
                    ]),
                    "layer": [
                        {
                            "transform": bars,
                            "mark": with("rule", json!({"strokeWidth": width})),
                            "encoding": colored(json!({
                                "x": self.x("x"), "y": self.y("low"), "y2": {"field": "high"}
                            }))
                        },
                        end("low"),
                        end("high"),
                        {
                            "mark": disc(40.0),
                            "encoding": colored(json!({"x": self.x("x"), "y": self.y("y")}))
                        }
                    ]
                })
            }
            Mark::Boxes(lefts, rights, heights) => {
                let placed = Mark::placed(lefts, rights);
                json!({
                    "data": self.rows(&[
                        ("x", true, &lefts[..placed]), ("x2", true, rights), ("y", false, heights)
                    ]),
                    "mark": with("bar", json!({"orient": "vertical", "binSpacing": 1})),
                    "encoding": colored(json!({
                        "x": self.x("x"), "x2": {"field": "x2"}, "y": self.y("y"), "y2": self.base()
                    }))
                })
            }
            Mark::Cells(xs, ys, values) => self.cells(xs, ys, values, opacity),
            Mark::Texts(xs, ys, texts) => {
                let wide = self.size.0 as f64 - 60.0;
                // Those within the frame, whole: to the left where they would end beyond it.
                let row = |((x, y), text): ((&f64, &f64), &String)| {
                    let at = (self.layout.x.at(*x)?, self.layout.y.at(*y)?);
                    let side = if beyond(text, at.0 * wide, wide) { "right" } else { "left" };
                    let (x, y) = (self.place(true, *x), self.place(false, *y));
                    clip::holds(at).then(|| json!({"x": x, "y": y, "text": text, "side": side}))
                };
                let rows: Vec<Value> = xs.iter().zip(ys).zip(texts).filter_map(row).collect();
                json!({
                    "data": {"values": rows},
                    "mark": with("text", json!({
                        "clip": false,
                        "align": {"expr": "datum.side"},
                        "dx": {"expr": "datum.side == 'left' ? 6 : -6"}
                    })),
                    "encoding": colored(json!({
                        "x": self.x("x"), "y": self.y("y"), "text": {"field": "text", "type": "nominal"}
                    }))
                })
            }
            Mark::Horizontal(v) => {
                let mut encoding = json!({"y": self.y("at")});
                if !self.has_names() {
                    self.across(true, &mut encoding);
                }
                json!({
                    "data": {"values": [{"at": self.place(false, *v)}]},
                    "mark": with("rule", json!({})),
                    "encoding": colored(encoding)
                })
            }
            Mark::Vertical(v) => {
                let mut encoding = json!({"x": self.x("at")});
                self.across(false, &mut encoding);
                json!({
                    "data": {"values": [{"at": self.place(true, *v)}]},
                    "mark": with("rule", json!({})),
                    "encoding": colored(encoding)
                })
            }
        }
    }

    /// The points of a line between gaps, as rows.
    fn lone(&self, xs: &[f64], ys: &[f64]) -> Vec<Value> {
        let has = |i: usize| {
            let point = xs.get(i).zip(ys.get(i));
            point.is_some_and(|(x, y)| {
                self.layout.x.at(*x).is_some() && self.layout.y.at(*y).is_some()
            })
        };
        (0..xs.len())
            .filter(|i| {
                has(*i) && !has(i + 1) && i.checked_sub(1).is_none_or(|before| !has(before))
            })
            .map(|i| json!({"x": self.place(true, xs[i]), "y": self.place(false, ys[i])}))
            .collect()
    }

    /// From one end of an axis to the other.
    fn across(&self, on_x: bool, encoding: &mut Value) {
        let (low, high) = self.ends(on_x);
        let (from, to) = if on_x { ("x", "x2") } else { ("y", "y2") };
        encoding[from] = self.channel(on_x, "datum", json!(low));
        encoding[to] = json!({"datum": high});
    }

    /// Whether the x axis has names, also if there are none.
    fn has_names(&self) -> bool {
        self.layout.figure.layers.iter().any(|layer| matches!(layer.mark, Mark::Bars(..)))
    }

    /// The names of bars, as wide as the other ways draw them.
    fn names(&self) -> Value {
        let angle = crate::draw::angle_of_names(self.layout, self.size.0 as f64 - 60.0);
        json!({
            "field": "x",
            "type": "nominal",
            "title": label(&self.layout.figure.x),
            "scale": {"domain": self.layout.categories, "paddingInner": 0.2, "paddingOuter": 0.1},
            "axis": {"labelAngle": angle, "labelLimit": 1.25 * crate::draw::LONGEST}
        })
    }

    /// A text in the middle of the axes.
    fn notice(&self, text: &str) -> Value {
        let middle = |on_x: bool| {
            let (low, high) = self.ends(on_x);
            match self.axis_of(on_x).0.log {
                true => low.sqrt() * high.sqrt(),
                false => 0.5 * low + 0.5 * high,
            }
        };
        let x = match self.has_names() {
            true => json!({"value": {"expr": "width / 2"}}),
            false => self.channel(true, "datum", json!(middle(true))),
        };
        json!({
            "data": {"values": [{}]},
            "mark": {"type": "text", "text": text},
            "encoding": {"x": x, "y": self.channel(false, "datum", json!(middle(false)))}
        })
    }

    fn cells(&self, xs: &[f64], ys: &[f64], values: &[f64], opacity: f64) -> Value {
        let figure = self.layout.figure;
        let (columns, rows) = (edges(xs, figure.x.log), edges(ys, figure.y.log));
        let mut out = Vec::new();
        let both =
            |on_x: bool, edges: (f64, f64)| (self.told(on_x, edges.0), self.told(on_x, edges.1));
        for (i, row) in rows {
            let (y, y2) = both(false, row);
            for (j, column) in &columns {
                let (x, x2) = both(true, *column);
                let v = values.get(i * xs.len() + j).copied().unwrap_or(f64::NAN);
                if drawable(v, false) {
                    out.push(json!({"x": x, "x2": x2, "y": y, "y2": y2, "v": v}));
                }
            }
        }
        let mut fill = json!({
            "field": "v", "type": "quantitative", "scale": {"scheme": "viridis"}, "title": null
        });
        match self.layout.values {
            // One value has the colour in the middle.
            Some((low, high)) if low == high => {
                let around = if low == 0.0 { 1.0 } else { 0.5 * low.abs() };
                fill["scale"]["domain"] = json!([low - around, low + around]);
                fill["legend"] = json!({"values": [low]});
            }
            Some((low, high)) => fill["scale"]["domain"] = json!([low, high]),
            None => {}
        }
        if figure.without_bar {
            fill["legend"] = Value::Null;
        }
        json!({
            "data": {"values": out},
            "mark": {"type": "rect", "clip": true, "opacity": opacity},
            "encoding": {
                "x": self.x("x"), "x2": {"field": "x2"},
                "y": self.y("y"), "y2": {"field": "y2"},
                // Not the colour, whose scale has the names of the legend.
                "fill": fill
            }
        })
    }
}

/// How dates are written that are so many seconds apart; the parts of days as Vega does.
fn date_format(apart: f64) -> Option<&'static str> {
    // Where Vega goes over from one step to the next
    const DAY: f64 = 86_400.0;
    match apart {
        _ if apart > 181.0 * DAY => Some("%Y"),
        _ if apart > 14.5 * DAY => Some("%Y-%m"),
        _ if apart > 0.7 * DAY => Some("%Y-%m-%d"),
        _ => None,
    }
}

fn label(axis: &Axis) -> Value {
    match axis.label.as_str() {
        "" => Value::Null,
        label => json!(label),
    }
}
