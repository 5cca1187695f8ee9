//! Specifications of Vega-Lite: that they say what the other ways to draw show.

use super::{figure, layer, plot};
use diffeo_plot::{vega_lite, Figure, Mark, Plot};
use serde_json::json;

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

#[test]
fn vega_lite_has_the_data() {
    let mut line =
        figure(vec![Mark::Line(vec![1.0, 2.0], vec![f64::NAN, 4.0]), Mark::Horizontal(3.0)]);
    line.layers[0].name = "fit".to_string();
    line.y.log = true;
    let spec = vega_lite(&Plot::Plot(line));
    assert_eq!(spec["$schema"], "https://vega.github.io/schema/vega-lite/v6.json");
    let layer = &spec["layer"][0];
    assert_eq!(layer["data"]["values"].to_string(), r#"[{"x":1.0,"y":null},{"x":2.0,"y":4.0}]"#);
    assert_eq!(layer["encoding"]["color"]["datum"], "fit");
    assert_eq!(layer["encoding"]["y"]["scale"]["type"], "log");
    assert_eq!(spec["layer"][1]["data"]["values"][0]["at"], 3.0);
}

#[test]
fn bars_on_a_logarithmic_axis_stand_on_its_end() {
    for mark in [
        Mark::Bars(names(&["a", "b"]), vec![1.0, 100.0]),
        Mark::Boxes(vec![0.0, 1.0], vec![1.0, 2.0], vec![1.0, 100.0]),
    ] {
        let mut bars = figure(vec![mark]);
        let y = |bars: &Figure| {
            let spec = vega_lite(&Plot::Plot(bars.clone()));
            let encoding = &spec["layer"][0]["encoding"];
            let domain = &encoding["y"]["scale"]["domain"];
            let ends = [0, 1].map(|i| domain[i].as_f64().expect("an end"));
            (ends, encoding["y2"]["datum"].as_f64().expect("a base"))
        };
        assert_eq!(y(&bars).1, 0.0);
        bars.y.log = true;
        let ([low, high], base) = y(&bars);
        assert!(low > 0.5 && low < 1.0 && high > 100.0, "{low} {high}");
        assert_eq!(base, low);
    }
}

#[test]
fn bars_of_layers_stand_side_by_side_and_those_of_one_over_one_another() {
    let nan = f64::NAN;
    let mut bars = figure(vec![
        Mark::Bars(names(&["a", "b", "a"]), vec![1.0, nan, 2.0]),
        Mark::Bars(names(&["b", "c"]), vec![nan, 3.0]),
    ]);
    // Neither a name nor a colour tells the layers apart.
    bars.layers.iter_mut().for_each(|layer| layer.color = "red".to_string());
    let spec = vega_lite(&Plot::Plot(bars));
    let offset = |i: usize| spec["layer"][i]["encoding"]["xOffset"]["datum"].clone();
    assert_ne!(offset(0), offset(1));
    for i in [0, 1] {
        let encoding = &spec["layer"][i]["encoding"];
        // A name whose heights are all missing has its place.
        assert_eq!(encoding["x"]["scale"]["domain"], json!(["a", "b", "c"]));
        // A bar from here to there is not put upon another.
        assert_eq!(encoding["y2"], json!({"datum": 0.0}));
    }
}

#[test]
fn bars_of_errors_are_there_without_a_point() {
    let nan = f64::NAN;
    let errors = Mark::ErrorBars(
        vec![1.0, 2.0, 3.0],
        vec![nan, 2.0, 3.0],
        vec![0.5, -1.0, nan],
        vec![1.5, 3.0, 4.0],
    );
    let mut errors = figure(vec![errors, Mark::Cells(vec![1.0], vec![1.0], vec![2.0])]);
    errors.y.log = true;
    errors.layers[0].name = "measured".to_string();
    let spec = vega_lite(&Plot::Plot(errors));
    let rows = &spec["layer"][0]["data"]["values"];
    let low = spec["layer"][1]["encoding"]["y"]["scale"]["domain"][0].clone();
    assert_eq!(rows[0], json!({"x": 1.0, "y": null, "low": 0.5, "high": 1.5}));
    assert_eq!(rows[1], json!({"x": 2.0, "y": 2.0, "low": low, "high": 3.0}));
    assert_eq!(rows[2], json!({"x": 3.0, "y": 3.0, "low": null, "high": 4.0}));
    // Their colour is one of the legend's, that of cells a number's.
    let parts = spec["layer"][0]["layer"].as_array().expect("the bars and the points");
    assert!(parts.iter().all(|part| part["encoding"]["color"]["datum"] == "measured"));
    assert_eq!(spec["layer"][1]["encoding"]["fill"]["field"], "v");
    assert_eq!(spec["layer"][1]["encoding"]["color"], json!(null));
}

#[test]
fn a_figure_without_data_is_drawn() {
    for (plot, text) in [
        (plot(Vec::new()), "nothing to draw"),
        (plot(vec![Mark::Line(vec![f64::NAN], vec![1.0])]), "no data to draw"),
        (plot(vec![Mark::Bars(names(&["a"]), vec![f64::NAN])]), "no data to draw"),
        (plot(vec![Mark::Bars(Vec::new(), Vec::new())]), "no data to draw"),
    ] {
        let spec = vega_lite(&plot);
        let last = spec["layer"].as_array().and_then(|layers| layers.last()).expect("a layer");
        assert_eq!(last["mark"]["text"], text, "{spec}");
    }
}

#[test]
fn one_name_in_two_colours_is_two_entries() {
    let mut two = figure(vec![Mark::Horizontal(1.0), Mark::Line(vec![0.0, 1.0], vec![1.0, 2.0])]);
    two.layers.iter_mut().for_each(|layer| layer.name = "fit".to_string());
    let spec = vega_lite(&Plot::Plot(two));
    let color = |i: usize| &spec["layer"][i]["encoding"]["color"];
    assert_eq!(color(0)["scale"]["domain"].as_array().map(Vec::len), Some(2));
    assert_ne!(color(0)["datum"], color(1)["datum"]);
    assert_eq!(color(0)["scale"], color(1)["scale"]);
}

#[test]
fn a_point_between_gaps_is_seen() {
    let nan = f64::NAN;
    let line = Mark::Line(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![1.0, nan, 2.0, 3.0, nan, 4.0]);
    let mut line = Figure { layers: vec![layer(line)], ..Figure::default() };
    line.layers[0].name = "loss".to_string();
    let spec = vega_lite(&Plot::Plot(line));
    let lone = &spec["layer"][0]["layer"][1]["data"]["values"];
    assert_eq!(*lone, json!([{"x": 1.0, "y": 1.0}, {"x": 6.0, "y": 4.0}]));
}

#[test]
fn lines_across_end_at_the_frame() {
    let mut lines = figure(vec![Mark::Horizontal(5.0), Mark::Vertical(2.0)]);
    (lines.x.low, lines.x.high, lines.y.low, lines.y.high) = (0.0, 1.0, 0.0, 1.0);
    lines.x.label = "speed (m/s)".to_string();
    let spec = vega_lite(&Plot::Plot(lines));
    for i in [0, 1] {
        assert_eq!(spec["layer"][i]["mark"]["clip"], true);
    }
    let x = &spec["layer"][0]["encoding"]["x"];
    assert_eq!(x["scale"]["domain"], json!([0.0, 1.0]));
    assert_eq!(x["axis"]["title"], "speed (m/s)");
}

#[test]
fn long_names_of_a_legend_are_in_lines() {
    let mut line = figure(vec![Mark::Line(vec![0.0, 1.0], vec![0.0, 1.0])]);
    line.layers[0].name = "short".to_string();
    let legend = |line: &Figure| {
        let spec = vega_lite(&Plot::Plot(line.clone()));
        spec["layer"][0]["encoding"]["color"]["legend"].clone()
    };
    assert_eq!(legend(&line), json!(null));
    line.layers[0].name = "a name that is \"longer\" than the legend of a plot is wide".to_string();
    let written = legend(&line)["labelExpr"].as_str().expect("an expression").to_string();
    assert!(written.contains(r#"["a name that is \"longer\" than"#), "{written}");
}
