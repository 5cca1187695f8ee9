//! Frames of figures: equal axes, legends, bars of colours, names on axes, ticks of large numbers.

use super::{figure, plot};
use diffeo_plot::{check, svg, terminal, vega_lite, Axis, Figure, Mark, Plot, Style};

/// The texts of a picture.
fn texts(drawn: &str) -> Vec<String> {
    let texts = drawn.split("<text ").skip(1).filter_map(|rest| rest.split(['>', '<']).nth(1));
    texts.map(ToString::to_string).collect()
}

fn drawn(figure: &Figure) -> String {
    svg(&Plot::Plot(figure.clone()))
}

/// The size of a picture.
fn size(drawn: &str) -> (f64, f64) {
    let of = |name: &str| {
        let text =
            drawn.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        text.and_then(|text| text.parse().ok()).expect("a size")
    };
    (of("width"), of("height"))
}

fn line() -> Mark {
    Mark::Line(vec![0.0, 1.0], vec![0.0, 1.0])
}

/// The axes with their ticks: the left end, the right, the upper and the lower one.
fn frame(drawn: &str) -> [f64; 4] {
    let axes = drawn.lines().filter(|l| l.starts_with("<path") && l.contains("stroke=\"#888"));
    let mut ends = [f64::INFINITY, 0.0, f64::INFINITY, 0.0];
    for path in axes.filter_map(|l| l.split("d=\"").nth(1).and_then(|d| d.split('"').next())) {
        // `M` begins with a place, the others are steps.
        for line in path.split('M').skip(1) {
            let apart = line.replace('-', " -").replace('l', " ");
            let numbers: Vec<f64> = apart.split_whitespace().flat_map(str::parse).collect();
            let mut at = (0.0, 0.0);
            for step in numbers.chunks_exact(2) {
                at = (at.0 + step[0], at.1 + step[1]);
                ends[0] = ends[0].min(at.0);
                ends[1] = ends[1].max(at.0);
                ends[2] = ends[2].min(at.1);
                ends[3] = ends[3].max(at.1);
            }
        }
    }
    ends
}

#[test]
fn equal_axes_have_equal_units() {
    for (width, height) in [(0, 0), (500, 500), (800, 200), (300, 700)] {
        let mut square = figure(vec![line()]);
        (square.equal, square.width, square.height) = (true, width, height);
        let drawn = drawn(&square);
        let [left, right, top, bottom] = frame(&drawn);
        // The ticks are outside of the frame by 4 pixels.
        let (wide, high) = (right - left - 4.0, bottom - top - 4.0);
        assert!((wide - high).abs() < 1.0 && wide > 50.0, "{wide} by {high}\n{drawn}");
        let spec = vega_lite(&Plot::Plot(square));
        assert_eq!(spec["width"], spec["height"]);
        assert_eq!(spec["autosize"], serde_json::Value::Null);
    }
    // A figure four times as wide as high is less high than others.
    let mut flat = figure(vec![Mark::Line(vec![0.0, 4.0], vec![0.0, 1.0])]);
    flat.equal = true;
    let [left, right, top, bottom] = frame(&drawn(&flat));
    let ratio = (right - left - 4.0) / (bottom - top - 4.0);
    assert!((ratio - 4.0).abs() < 0.1, "{ratio}");
    assert!(size(&drawn(&flat)).1 < 250.0);
    let text = terminal(&Plot::Plot(flat.clone()), Style { width: 60, color: false });
    assert!(text.lines().count() < 12, "{text}");
    flat.y.log = true;
    let said = check(&Plot::Plot(flat)).expect_err("one axis").to_string();
    assert_eq!(
        said,
        "a unit is to be as long on one axis as on the other, but one of them is logarithmic"
    );
}

#[test]
fn opacity_and_width_are_those_of_the_layer() {
    let (x, y) = (vec![0.0, 1.0, 2.0], vec![1.0, 2.0, 3.0]);
    let names = vec!["a".to_string(), "b".to_string(), "c".to_string()];
    // A point between gaps, and a run of two
    let gaps = vec![1.0, f64::NAN, 2.0, 3.0];
    let all = [
        (Mark::Line(vec![0.0, 1.0, 2.0, 3.0], gaps), "stroke-opacity", true),
        (Mark::Points(x.clone(), y.clone()), "stroke-opacity", false),
        (Mark::Bars(names.clone(), y.clone()), "fill-opacity", false),
        (Mark::Band(x.clone(), x.clone(), y.clone()), "fill-opacity", false),
        (Mark::ErrorBars(x.clone(), y.clone(), x.clone(), y.clone()), "stroke-opacity", true),
        (Mark::Boxes(x.clone(), y.clone(), y.clone()), "fill-opacity", false),
        (Mark::Cells(x.clone(), vec![0.0], y.clone()), "fill-opacity", false),
        (Mark::Texts(x.clone(), y.clone(), names), "fill-opacity", false),
        (Mark::Horizontal(1.0), "stroke-opacity", true),
        (Mark::Vertical(1.0), "stroke-opacity", true),
    ];
    for (mark, attribute, lines) in all {
        let mut one = figure(vec![mark]);
        one.layers[0].name = "it".to_string();
        let plain = (drawn(&one), vega_lite(&Plot::Plot(one.clone())).to_string());
        let dense = format!("{attribute}=\"0.375\"");
        assert!(!plain.0.contains(&dense) && !plain.1.contains("0.375"));
        (one.layers[0].opacity, one.layers[0].line_width) = (Some(0.375), Some(3.25));
        let (picture, spec) = (drawn(&one), vega_lite(&Plot::Plot(one.clone())).to_string());
        assert!(
            picture.contains(&dense) && spec.contains("\"opacity\":0.375"),
            "{picture}\n{spec}"
        );
        let wide =
            (picture.contains("stroke-width=\"3.25\""), spec.contains("\"strokeWidth\":3.25"));
        assert_eq!(wide, (lines, lines), "{picture}\n{spec}");
        // An opaque layer has no opacity anywhere: marks and samples in the legend lose their usual one, such as a band's.
        one.layers[0].opacity = Some(1.0);
        let opaque = drawn(&one);
        assert!(!opaque.contains("opacity="), "{opaque}");
        // Characters have neither.
        let style = Style { width: 60, color: true };
        let characters = terminal(&Plot::Plot(one.clone()), style);
        (one.layers[0].opacity, one.layers[0].line_width) = (None, None);
        assert_eq!(terminal(&Plot::Plot(one), style), characters);
    }
}

#[test]
fn dashes_are_longer_on_wide_lines() {
    let mut dashed = figure(vec![Mark::Horizontal(1.0)]);
    dashed.layers[0].dashed = true;
    for (width, dashes) in [(None, "6 4"), (Some(0.5), "6 4"), (Some(5.0), "15 10")] {
        dashed.layers[0].line_width = width;
        let text = drawn(&dashed);
        assert!(text.contains(&format!("stroke-dasharray=\"{dashes}\"")), "{text}");
    }
}

#[test]
fn points_of_one_place_are_as_dense_as_they_are_together() {
    let mut points = figure(vec![Mark::Points(vec![0.0, 1.0, 1.0, 2.0], vec![0.0, 1.0, 1.0, 2.0])]);
    points.layers[0].opacity = Some(0.5);
    let text = drawn(&points);
    let discs = |opacity: &str| {
        let group = text.split(&format!("stroke-opacity=\"{opacity}\">")).nth(1).expect("a group");
        group.split("</g>").next().map(|within| within.matches("<path").count())
    };
    // 1 − 0.5² of the two
    assert_eq!((discs("0.5"), discs("0.75")), (Some(2), Some(1)), "{text}");
}

#[cfg(feature = "png")]
#[test]
fn what_is_below_is_seen() {
    let boxes = || Mark::Boxes(vec![0.0], vec![1.0], vec![1.0]);
    let mut two = figure(vec![boxes(), boxes()]);
    (two.layers[0].color, two.layers[1].color) = ("#ff0000".to_string(), "#0000ff".to_string());
    assert_eq!(super::pixels(two.clone())(110, 70), [0, 0, 255]);
    two.layers[1].opacity = Some(0.2);
    let [r, g, b] = super::pixels(two.clone())(110, 70);
    assert!(r.abs_diff(204) <= 1 && g == 0 && b.abs_diff(51) <= 1, "{r} {g} {b}");
    // A line as wide as the picture, of a red that is half of it
    let mut wide = figure(vec![Mark::Horizontal(1.0)]);
    (wide.layers[0].color, wide.layers[0].line_width) = ("#ff0000".to_string(), Some(100.0));
    wide.layers[0].opacity = Some(0.5);
    let [r, g, b] = super::pixels(wide)(120, 20);
    assert!(r == 255 && g.abs_diff(127) <= 1 && b.abs_diff(127) <= 1, "{r} {g} {b}");
}

#[test]
fn a_legend_within_the_axes_is_where_nothing_is() {
    let named = |mark: Mark| {
        let mut figure = figure(vec![mark]);
        figure.layers[0].name = "a curve".to_string();
        figure
    };
    let place = |figure: &Figure| {
        let drawn = drawn(figure);
        let line = drawn.lines().find(|l| l.contains(">a curve<")).expect("the name").to_string();
        let of = |name: &str| {
            let text = line.split(&format!(" {name}=\"")).nth(1).and_then(|r| r.split('"').next());
            text.and_then(|text| text.parse::<f64>().ok()).expect("a place")
        };
        ((of("x"), of("y")), frame(&drawn))
    };
    let beside = place(&named(line()));
    assert!(beside.0 .0 > beside.1[1], "{beside:?}");
    // A line that rises leaves the upper left corner, one that falls the upper right one.
    for (ys, right) in [([0.0, 1.0], false), ([1.0, 0.0], true)] {
        let mut within = named(Mark::Line(vec![0.0, 1.0], ys.to_vec()));
        within.inside = true;
        let ((x, y), [left, end, top, bottom]) = place(&within);
        assert!(x > left && x < end && y < 0.5 * (top + bottom), "{x}, {y}");
        assert_eq!(x > 0.5 * (left + end), right, "{x}");
        // The axes take the room.
        assert!(end > beside.1[1] + 50.0);
        let spec = vega_lite(&Plot::Plot(within));
        let orient = &spec["layer"][0]["encoding"]["color"]["legend"]["orient"];
        assert_eq!(orient, if right { "top-right" } else { "top-left" });
    }
}

/// The frames of the figures of a grid, in their order: left, right, top, bottom.
fn frames(drawn: &str) -> Vec<[f64; 4]> {
    // The axes themselves are the first two lines of this colour, from where they meet.
    let mut out: Vec<[f64; 4]> = Vec::new();
    let lines: Vec<&str> = drawn
        .lines()
        .filter(|l| l.starts_with("<path") && l.contains("stroke=\"#888"))
        .filter_map(|l| l.split("d=\"M").nth(1).and_then(|d| d.split('"').next()))
        .collect();
    let numbers = |line: &str| -> Vec<f64> {
        let apart = line.replace('-', " -").replace('l', " ");
        apart.split_whitespace().flat_map(str::parse).collect()
    };
    for pair in lines.windows(2) {
        let (across, up) = (numbers(pair[0]), numbers(pair[1]));
        if across[2] > 8.0 && across[3] == 0.0 && up[2] == 0.0 && up[3] < -8.0 {
            out.push([across[0], across[0] + across[2], across[1] + up[3], across[1]]);
        }
    }
    out
}

/// A figure whose numbers on the y axis are this large.
fn of_height(y: f64) -> Figure {
    figure(vec![Mark::Line(vec![0.0, 1.0, 2.0], vec![0.0, y, 0.5 * y])])
}

fn grid(columns: usize, figures: &[Figure]) -> Plot {
    let plots = figures.iter().cloned().map(Plot::Plot).collect();
    Plot::Grid { title: String::new(), columns, plots }
}

#[test]
fn frames_of_a_column_begin_and_end_together() {
    let mut all = [of_height(1.0), of_height(31_000.0), of_height(2e-9), of_height(5.0)];
    all[0].y.label = "a label".to_string();
    all[2].layers[0].name = "a legend".to_string();
    let frames = frames(&svg(&grid(1, &all)));
    assert_eq!(frames.len(), 4);
    for other in &frames[1..] {
        assert_eq!((other[0], other[1]), (frames[0][0], frames[0][1]), "{frames:?}");
    }
    // Each by itself, they do not.
    let alone: Vec<f64> = all.iter().map(|figure| self::frames(&drawn(figure))[0][0]).collect();
    assert!(alone.iter().all(|left| *left <= frames[0][0]) && alone[3] + 20.0 < alone[2]);
    // In characters they begin together.
    let text = terminal(&grid(1, &all), Style { width: 60, color: false });
    let axes: Vec<usize> =
        text.lines().filter_map(|line| line.chars().position(|c| c == '└')).collect();
    assert!(axes.len() == 4 && axes.iter().all(|at| *at == axes[0]), "{text}");
}

#[test]
fn frames_of_a_row_begin_and_end_together() {
    let mut all = [of_height(1.0), of_height(1e4), of_height(2.0), of_height(3e7), of_height(4.0)];
    all[0].title = "a title".to_string();
    all[1].x.label = "a label".to_string();
    let names: Vec<String> = (0..3).map(|i| format!("a very long name of a place {i}")).collect();
    all[1].x.names = names;
    // A legend that makes the picture higher
    all[4].layers = (0..40).map(|_| all[2].layers[0].clone()).collect();
    for (i, layer) in all[4].layers.iter_mut().enumerate() {
        layer.name = i.to_string();
    }
    let frames = frames(&svg(&grid(3, &all)));
    assert_eq!(frames.len(), 5);
    for (a, b) in [(0, 1), (1, 2), (3, 4)] {
        assert_eq!((frames[a][2], frames[a][3]), (frames[b][2], frames[b][3]), "{frames:?}");
    }
    for (a, b) in [(0, 3), (1, 4)] {
        assert_eq!((frames[a][0], frames[a][1]), (frames[b][0], frames[b][1]), "{frames:?}");
    }
    assert!(frames[4][3] - frames[4][2] > 600.0, "{frames:?}");
}

#[test]
fn figures_of_their_own_sizes_are_not_aligned_with_others() {
    let mut all = [of_height(1.0), of_height(31_000.0), of_height(2.0)];
    (all[1].width, all[1].height) = (300, 200);
    let aligned = frames(&svg(&grid(1, &all)));
    assert_eq!(aligned[0][0], aligned[2][0], "{aligned:?}");
    assert!(aligned[1][0] > aligned[0][0] + 10.0, "{aligned:?}");
    // Names that leave no room for what stands beside the others
    let mut narrow = [of_height(1.0), of_height(2.0)];
    narrow.iter_mut().for_each(|figure| (figure.width, figure.height) = (300, 200));
    narrow[0].y.names = vec!["a name that is long enough to take the half".to_string(); 2];
    narrow[1].layers[0].name = "a name in a legend that takes several lines".to_string();
    let apart = frames(&svg(&grid(1, &narrow)));
    assert!(apart.iter().all(|frame| frame[1] - frame[0] > 90.0), "{apart:?}");
}

#[test]
fn layers_of_one_name_have_one_colour_and_one_entry() {
    let mut both = figure(vec![
        Mark::Points(vec![0.0], vec![0.0]),
        Mark::Points(vec![1.0], vec![0.0]),
        line(),
        line(),
    ]);
    for (layer, name) in both.layers.iter_mut().zip(["a", "b", "a", ""]) {
        layer.name = name.to_string();
    }
    let text = drawn(&both);
    assert_eq!(texts(&text).iter().filter(|t| *t == "a").count(), 1, "{text}");
    let spec = vega_lite(&Plot::Plot(both.clone()));
    let color = |i: usize| spec["layer"][i]["encoding"]["color"]["datum"].clone();
    assert_eq!((color(0), color(2)), ("a".into(), "a".into()));
    assert_eq!(
        spec["layer"][0]["encoding"]["color"]["scale"]["domain"],
        serde_json::json!(["a", "b"])
    );
    // A colour of its own makes another entry.
    both.layers[2].color = "red".to_string();
    let text = drawn(&both);
    assert_eq!(texts(&text).iter().filter(|t| *t == "a").count(), 2, "{text}");
}

#[test]
fn a_bar_of_colours_may_be_left_out() {
    let cells = Mark::Cells(vec![0.0, 1.0], vec![0.0], vec![100.0, 900.0]);
    let mut map = figure(vec![cells]);
    assert!(texts(&drawn(&map)).contains(&"600".to_string()));
    map.without_bar = true;
    assert!(!texts(&drawn(&map)).iter().any(|text| text == "600"));
    let spec = vega_lite(&Plot::Plot(map));
    assert_eq!(spec["layer"][0]["encoding"]["fill"].get("legend"), Some(&serde_json::Value::Null));
}

#[test]
fn a_range_chooses_among_names() {
    let names: Vec<String> = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
    let mut bars = figure(vec![Mark::Bars(names.clone(), vec![1.0, 2.0, 3.0, 4.0, 5.0])]);
    (bars.x.low, bars.x.high) = (1.0, 2.5);
    let shown = |text: &str| -> Vec<String> {
        texts(text).into_iter().filter(|text| names.contains(text)).collect()
    };
    assert_eq!(shown(&drawn(&bars)), ["b", "c"]);
    let [left, right, ..] = frame(&drawn(&bars));
    assert!(left > 0.0 && right <= 640.0);
    let spec = vega_lite(&Plot::Plot(bars.clone()));
    assert_eq!(spec["layer"][0]["encoding"]["x"]["scale"]["domain"], serde_json::json!(["b", "c"]));
    assert_eq!(spec["layer"][0]["data"]["values"].as_array().map(Vec::len), Some(2));
    let text = terminal(&Plot::Plot(bars.clone()), Style { width: 40, color: false });
    assert!(text.contains(" b ") && !text.contains(" d"), "{text}");
    (bars.x.low, bars.x.high) = (7.0, 9.0);
    let said = check(&Plot::Plot(bars)).expect_err("no name").to_string();
    assert_eq!(said, "the x axis is to reach from 7 to 9, but has 5 names, which count from 0");
}

#[test]
fn names_stand_in_place_of_numbers() {
    let names: Vec<String> = (0..30).map(|i| format!("a study of the year {}", 1990 + i)).collect();
    let rows: Vec<f64> = (0..30).map(f64::from).collect();
    let mut forest = figure(vec![Mark::Points(rows.clone(), rows)]);
    forest.y = Axis { names: names.clone(), backwards: true, ..Axis::default() };
    let text = drawn(&forest);
    let shown = texts(&text);
    assert!(names.iter().all(|name| shown.contains(name)), "{text}");
    assert!(size(&text).1 > 500.0);
    let spec = vega_lite(&Plot::Plot(forest.clone()));
    let axis = &spec["layer"][0]["encoding"]["y"]["axis"];
    assert_eq!(axis["values"].as_array().map(Vec::len), Some(30));
    assert!(axis["labelExpr"].as_str().is_some_and(|e| e.contains("\"a study of the year 1990\"")));
    let text = terminal(&Plot::Plot(forest.clone()), Style { width: 80, color: false });
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
    // In a small picture long names are cut and some are left out, and nothing is beyond its edge.
    (forest.width, forest.height) = (300, 200);
    forest.y.names.iter_mut().for_each(|name| *name = name.repeat(4));
    let shown = texts(&drawn(&forest));
    let of = shown.iter().filter(|text| text.contains("study")).count();
    assert!(of > 3 && of < 12, "{shown:?}");
    assert!(shown.iter().filter(|t| t.contains("study")).all(|t| t.ends_with('…')), "{shown:?}");
}

#[test]
fn names_longer_than_the_picture_are_shortened() {
    let names: Vec<String> =
        (0..4).map(|i| format!("{i} {}", "a long name of a bar ".repeat(6))).collect();
    for (width, height) in [(0, 0), (300, 0), (300, 200), (400, 400)] {
        let mut bars = figure(vec![Mark::Bars(names.clone(), vec![1.0; 4])]);
        (bars.width, bars.height) = (width, height);
        let text = drawn(&bars);
        let shown: Vec<String> =
            texts(&text).into_iter().filter(|t| t.contains("a long")).collect();
        assert!(shown.len() == 4 && shown.iter().all(|t| t.ends_with('…')), "{shown:?}");
        let [left, right, top, bottom] = frame(&text);
        let (wide, high) = size(&text);
        assert!(right - left > 0.25 * wide && bottom - top > 0.25 * high.min(400.0), "{text}");
    }
}

#[test]
fn large_numbers_close_together_are_told_apart() {
    let (low, high) = (1e15, 1e15 + 1.0);
    let text = drawn(&figure(vec![Mark::Line(vec![low, high], vec![0.0, 1.0])]));
    let shown = texts(&text);
    assert!(shown.contains(&"10¹⁵".to_string()), "{shown:?}");
    assert!(
        shown.contains(&"+0.5".to_string()) && shown.contains(&"+1.0".to_string()),
        "{shown:?}"
    );
    let text = terminal(
        &plot(vec![Mark::Line(vec![0.0, 1.0], vec![1e9, 1e9 + 2.0])]),
        Style { width: 60, color: false },
    );
    assert!(text.contains("10⁹ ┤") && text.contains("+2"), "{text}");
    let spec = vega_lite(&plot(vec![Mark::Line(vec![0.0, 1.0], vec![1e9, 1e9 + 2.0])]));
    let axis = &spec["layer"][0]["encoding"]["y"]["axis"];
    assert!(
        axis["labelExpr"].as_str().is_some_and(|e| e.starts_with("[\"10⁹\",\"+0.2\"")),
        "{axis}"
    );
}
