//! Plots of all marks, of strange numbers and of strange sizes, drawn in every way.

mod looks;
mod vega;

use diffeo_plot::{
    check, notes, summary, svg, terminal, vega_lite, Axis, Figure, Layer, Mark, Plot, Problem,
    Style,
};

fn layer(mark: Mark) -> Layer {
    let (name, color) = (String::new(), String::new());
    Layer { mark, name, color, dashed: false, opacity: None, line_width: None }
}

fn figure(marks: Vec<Mark>) -> Figure {
    Figure { layers: marks.into_iter().map(layer).collect(), ..Figure::default() }
}

fn plot(marks: Vec<Mark>) -> Plot {
    Plot::Plot(figure(marks))
}

/// The same numbers in every mark.
fn marks(xs: &[f64], ys: &[f64]) -> Vec<Mark> {
    let (x, y) = (xs.to_vec(), ys.to_vec());
    let names: Vec<String> = ys.iter().map(|y| format!("<{y}>&\u{7}")).collect();
    let cells: Vec<f64> = xs.iter().flat_map(|_| ys.to_vec()).collect();
    vec![
        Mark::Line(x.clone(), y.clone()),
        Mark::Points(x.clone(), y.clone()),
        Mark::Bars(names.clone(), y.clone()),
        Mark::Band(x.clone(), y.clone(), x.clone()),
        Mark::ErrorBars(x.clone(), y.clone(), x.clone(), y.clone()),
        Mark::Boxes(x.clone(), y.clone(), x.clone()),
        Mark::Cells(y.clone(), x.clone(), cells),
        Mark::Texts(x.clone(), y.clone(), names),
        Mark::Horizontal(y.first().copied().unwrap_or(f64::NAN)),
        Mark::Vertical(x.first().copied().unwrap_or(f64::NAN)),
    ]
}

#[test]
fn all_numbers_are_drawn_or_left_out() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let (max, min) = (f64::MAX, f64::MIN_POSITIVE);
    let all: &[&[f64]] = &[
        &[],
        &[nan],
        &[nan, nan, nan],
        &[inf, -inf, inf],
        &[0.0],
        &[-0.0, 0.0],
        &[3.0, 3.0, 3.0],
        &[1e300, 1e300, 1e300],
        &[max, -max, 0.0],
        &[min, 5e-324, 0.0, -min],
        &[1e-300, 2e-300],
        &[1.0, 1.0 + f64::EPSILON, 1.0],
        &[1e15, 1e15 + 1.0, 1e15 + 2.0],
        &[-1e300, 1e-300, 1e300],
        &[1.0, nan, 2.0, inf, 3.0, -1.0],
    ];
    let ends = [(nan, nan), (0.5, nan), (nan, 2.0), (1e-9, 2e-9), (-1e308, 1e308), (1e299, 1e300)];
    for (k, xs) in all.iter().enumerate() {
        for (l, ys) in all.iter().enumerate() {
            for mark in marks(xs, ys) {
                // Each pair with two of them, all in turn
                for i in [(k + l) % ends.len(), (k + 2 * l + 3) % ends.len()] {
                    let (low, high) = ends[i];
                    let mut figure = figure(vec![mark.clone()]);
                    let axis = Axis {
                        log: i % 2 == 1,
                        backwards: i % 3 == 1,
                        dates: (k + l) % 2 == 1,
                        low,
                        high,
                        ..Axis::default()
                    };
                    (figure.x, figure.y) = (axis.clone(), axis);
                    good(&Plot::Plot(figure));
                }
            }
        }
    }
}

/// Draws a plot in every way and looks at what comes out.
fn good(plot: &Plot) {
    let text = svg(plot);
    let numbers = text.replace("&lt;NaN&gt;", "").replace("inf&gt;", "");
    assert!(!numbers.contains("NaN") && !numbers.contains("inf"), "{plot:?}\n{text}");
    for tag in ["path", "text"] {
        let open = text.matches(&format!("<{tag} ")).count();
        let closed = match tag {
            "text" => text.matches("</text>").count(),
            _ => text
                .lines()
                .filter(|line| line.starts_with("<path") && line.ends_with("/>"))
                .count(),
        };
        assert_eq!(open, closed, "{text}");
    }
    assert!(!text.contains('\u{7}'));
    for color in [false, true] {
        let drawn = terminal(plot, Style { width: 60, color });
        assert!(drawn.lines().count() < 80, "{drawn}");
        if !color {
            let widest = drawn.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(61), "{drawn}");
        }
    }
    let _ = (vega_lite(plot), notes(plot), summary(plot));
}

#[test]
fn any_size_and_any_text_is_drawn() {
    for size in [50, 51, 120, 640, 3000] {
        let mut figure = figure(marks(&[1.0, 2.0, 3.0], &[2.0, 4.0, 3.0]));
        let long = "a text that is much longer than a picture is wide, and more so if it is small"
            .repeat(3);
        (figure.width, figure.height) = (size, size);
        figure.title.clone_from(&long);
        (figure.x.label, figure.y.label) = (long.clone(), long.clone());
        figure.layers.iter_mut().for_each(|layer| layer.name.clone_from(&long));
        let plot = Plot::Plot(figure);
        good(&Plot::Grid {
            title: long.clone(),
            columns: 3,
            plots: vec![plot.clone(), plot.clone()],
        });
        good(&plot);
    }
    good(&Plot::Grid { title: String::new(), columns: 2, plots: Vec::new() });
}

/// The pixels of a figure of 100 by 80, by column and row.
#[cfg(feature = "png")]
fn pixels(mut figure: Figure) -> impl Fn(usize, usize) -> [u8; 3] {
    (figure.width, figure.height) = (100, 80);
    let bytes = diffeo_plot::png(&Plot::Plot(figure)).expect("a small picture");
    let number =
        |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    assert_eq!((&bytes[12..16], number(16), number(20)), (&b"IHDR"[..], 200, 160));
    assert_eq!(&bytes[37..41], b"IDAT");
    let packed = &bytes[41..41 + number(33) as usize];
    let mut rows = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(packed), &mut rows)
        .expect("data");
    assert_eq!(rows.len(), 160 * (1 + 3 * 200));
    move |x, y| rows[y * 601 + 1 + 3 * x..][..3].try_into().expect("a pixel")
}

#[cfg(feature = "png")]
#[test]
fn pixels_are_where_the_marks_are() {
    let mut figure = figure(vec![Mark::Boxes(vec![0.0], vec![1.0], vec![1.0])]);
    figure.layers[0].color = "#ff0000".to_string();
    let pixel = pixels(figure);
    assert_eq!(pixel(110, 70), [255, 0, 0]);
    assert_eq!(pixel(1, 1), [255, 255, 255]);
    let large = Figure { width: 10_000, height: 10_000, ..Figure::default() };
    let grid =
        Plot::Grid { title: String::new(), columns: 20, plots: vec![Plot::Plot(large); 400] };
    assert_eq!(diffeo_plot::png(&grid), Err(diffeo_plot::TooLarge));
}

#[test]
fn what_the_user_should_change_is_named() {
    let mut wrong = figure(vec![Mark::Horizontal(1.0)]);
    wrong.layers[0].color = "blau".to_string();
    let said = check(&Plot::Plot(wrong)).expect_err("no colour").to_string();
    assert!(
        said.starts_with(
            "layer 1 (horizontal line) has the colour \"blau\", which is none of blue,"
        ),
        "{said}"
    );
    let mut strange = figure(vec![Mark::Horizontal(1.0)]);
    for (opacity, width, said) in [
        (f64::NAN, 1.0, "the opacity NaN: an opacity is from 0, invisible, to 1"),
        (-0.1, 1.0, "the opacity -0.1: an opacity is from 0, invisible, to 1"),
        (1.0, 0.0, "lines of the width 0: a width is above 0 and at most 1000 pixels"),
        (1.0, f64::NAN, "lines of the width NaN: a width is above 0 and at most 1000 pixels"),
    ] {
        let layer = &mut strange.layers[0];
        (layer.opacity, layer.line_width) = (Some(opacity), Some(width));
        let strange = Plot::Plot(strange.clone());
        let expected = format!("layer 1 (horizontal line) has {said}");
        assert_eq!(check(&strange).map_err(|said| said.to_string()), Err(expected));
        // Whoever draws it without a check has a picture.
        good(&strange);
    }
    let mixed =
        plot(vec![Mark::Bars(vec!["a".into()], vec![1.0]), Mark::Line(vec![0.0], vec![1.0])]);
    assert!(
        matches!(check(&mixed), Err(Problem::NamesAndNumbers(layer)) if layer == "layer 2 (line)")
    );
    let mut range = figure(Vec::new());
    (range.x.low, range.x.high) = (2.0, 1.0);
    assert_eq!(check(&Plot::Plot(range.clone())), Err(Problem::Range("x", 2.0, 1.0)));
    (range.x.low, range.x.log) = (0.0, true);
    assert_eq!(check(&Plot::Plot(range.clone())), Err(Problem::LogRange("x", 0.0)));
    (range.x.log, range.width) = (false, 20);
    assert_eq!(check(&Plot::Plot(range)), Err(Problem::Size(20)));
}

#[test]
fn cells_lie_where_their_positions_are() {
    let sorted = Mark::Cells(vec![1.0, 2.0, 4.0], vec![0.0], vec![5.0, 6.0, 7.0]);
    let shuffled = Mark::Cells(vec![4.0, 1.0, 2.0], vec![0.0], vec![7.0, 5.0, 6.0]);
    let (sorted, shuffled) = (plot(vec![sorted]), plot(vec![shuffled]));
    assert_eq!(svg(&sorted), svg(&shuffled));
    assert_eq!(vega_lite(&sorted), vega_lite(&shuffled));
    let twice = Mark::Cells(vec![1.0, 2.0, 1.0], vec![0.0], vec![5.0, 6.0, 7.0]);
    let said = check(&plot(vec![twice])).expect_err("two columns at one place").to_string();
    assert_eq!(
        said,
        "layer 1 (heat map) has two columns at x = 1: the columns of a heat map have places of their own"
    );
    let twice = Mark::Cells(vec![1.0], vec![-0.0, 0.0], vec![5.0, 6.0]);
    assert!(matches!(check(&plot(vec![twice])), Err(Problem::Repeated(_, "rows", "y", _))));
}

#[test]
fn what_is_left_out_is_told() {
    let mut left =
        figure(vec![Mark::Line(vec![1.0, 2.0, 3.0, 4.0], vec![-1.0, 0.0, f64::NAN, 1.0])]);
    left.y.log = true;
    left.layers[0].name = "loss".to_string();
    let told = notes(&Plot::Plot(left));
    let expected = "layer 1 (line, \"loss\"): 2 of 8 numbers left out, a logarithmic axis has no place for 0 and below";
    assert_eq!(told, [expected]);
    let empty = notes(&plot(vec![Mark::Points(vec![f64::NAN], vec![1.0])]));
    assert_eq!(empty, ["nothing has a place: the picture is empty"]);
    assert!(notes(&plot(vec![Mark::Points(vec![1.0, f64::NAN], vec![1.0, 1.0])])).is_empty());
}

#[test]
fn points_outside_of_a_range_are_counted() {
    let (x, y) = (vec![1.0, 2.0, 3.0, f64::NAN], vec![1.0, 4.0, 90.0, 2.0]);
    let words: Vec<String> = y.iter().map(ToString::to_string).collect();
    let line = Mark::Line(x.clone(), y.clone());
    let told = |mark: Mark, low: f64, high: f64| {
        let mut some = figure(vec![line.clone(), mark]);
        (some.y.low, some.y.high) = (low, high);
        notes(&Plot::Plot(some))
    };
    for (mark, what) in [
        (Mark::Points(x.clone(), y.clone()), "points"),
        (Mark::ErrorBars(x.clone(), y.clone(), y.clone(), y.clone()), "error bars"),
        (Mark::Texts(x.clone(), y.clone(), words), "texts"),
    ] {
        let expected = format!(
            "layer 2 ({what}): 2 of 3 points left out, outside of the range, which is 2 to 80 of y, where the data \
             is from 1 to 90"
        );
        assert_eq!(told(mark.clone(), 2.0, 80.0), [expected]);
        // Points on the ends are in the range, and an end that is not asked for leaves nothing out.
        assert!(told(mark.clone(), 1.0, 90.0).is_empty());
        assert!(told(mark.clone(), 1.0, f64::NAN).is_empty());
        assert!(told(mark, f64::NAN, f64::NAN).is_empty());
    }
    assert!(told(line.clone(), 2.0, 80.0).is_empty(), "a line is seen to go on");
}

#[test]
fn a_range_without_data_is_told() {
    let (x, y) = (vec![1.0, 2.0, 3.0], vec![1.0, 4.0, 9.0]);
    let names: Vec<String> = y.iter().map(ToString::to_string).collect();
    for mark in [
        Mark::Line(x.clone(), y.clone()),
        Mark::Points(x.clone(), y.clone()),
        Mark::Band(x.clone(), x.clone(), y.clone()),
        Mark::ErrorBars(x.clone(), y.clone(), x.clone(), y.clone()),
        Mark::Boxes(x.clone(), y.clone(), x.clone()),
        Mark::Cells(x.clone(), vec![0.0], y.clone()),
        Mark::Texts(x.clone(), y.clone(), names),
    ] {
        // A line across has no place on the other axis.
        let mut out = figure(vec![mark, Mark::Horizontal(2.0)]);
        (out.x.low, out.x.high) = (20.0, 30.0);
        let out = Plot::Plot(out);
        let told = notes(&out);
        let start = "nothing is in the range, which is 20 to 30 of x, where the data is from ";
        assert!(matches!(&told[..], [note] if note.starts_with(start)), "{told:?}");
        for drawn in [
            svg(&out),
            terminal(&out, Style { width: 60, color: false }),
            vega_lite(&out).to_string(),
        ] {
            assert!(drawn.contains("no data in this range"), "{drawn}");
        }
    }
    let mut through = figure(vec![Mark::Line(vec![0.0, 10.0], vec![0.0, 10.0])]);
    (through.x.low, through.x.high) = (4.0, 5.0);
    assert!(notes(&Plot::Plot(through.clone())).is_empty());
    (through.y.low, through.y.high) = (5.5, f64::NAN);
    let told = notes(&Plot::Plot(through));
    let expected = "nothing is in the range, which is 4 to 5 of x, where the data is from 0 to 10, and which is \
                    5.5 to 10.18 of y, where the data is from 0 to 10: the picture is empty";
    assert_eq!(told, [expected]);
    let mut rule = figure(vec![Mark::Horizontal(2.0)]);
    (rule.y.low, rule.y.high) = (3.0, 4.0);
    assert_eq!(notes(&Plot::Plot(rule)).len(), 1);
}

#[test]
fn an_axis_of_dates_has_dates() {
    let day = 86_400.0;
    let days: Vec<f64> = (0..28).map(|i| 1_708_905_600.0 + day * f64::from(i)).collect();
    let mut level = figure(vec![Mark::Line(days.clone(), days.clone()), Mark::Vertical(days[1])]);
    level.x.dates = true;
    let drawn = Plot::Plot(level.clone());
    for picture in [svg(&drawn), terminal(&drawn, Style { width: 80, color: false })] {
        assert!(picture.contains("2024-03-04") && picture.contains("2024-03-11"), "{picture}");
    }
    // Vega counts milliseconds.
    let spec = vega_lite(&drawn);
    let x = &spec["layer"][0]["encoding"]["x"];
    assert_eq!((&x["type"], &x["scale"]["type"]), (&"temporal".into(), &"utc".into()));
    let rows = &spec["layer"][0]["data"]["values"];
    assert_eq!(
        (&rows[0]["x"], &rows[0]["y"]),
        (&1_708_905_600_000.0.into(), &1_708_905_600.0.into())
    );
    assert_eq!(spec["layer"][1]["data"]["values"][0]["at"], 1_708_992_000_000.0);
    assert_eq!(x["axis"]["format"], "%Y-%m-%d");
    let domain = x["scale"]["domain"]["expr"].as_str().expect("an expression");
    let ends: Vec<f64> = serde_json::from_str(domain).expect("two numbers");
    assert!((1_708_000_000_000.0..=1_708_905_600_000.0).contains(&ends[0]), "{domain}");
    // A time within the range, and others
    (level.x.low, level.x.high) = (days[0] + 1.0, days[0] + 5401.0);
    let picture = svg(&Plot::Plot(level.clone()));
    assert!(picture.contains(">2024-02-26 00:15<") && picture.contains(">01:15<"), "{picture}");
    (level.x.low, level.x.high) = (0.0, day);
    let told = notes(&Plot::Plot(level.clone()));
    let expected =
        "nothing is in the range, which is 1970-01-01 to 1970-01-02 of x, where the data is from \
                    2024-02-26 to 2024-03-24: the picture is empty";
    assert_eq!(told, [expected]);
    (level.x.low, level.x.high) = (day, 0.0);
    let said = check(&Plot::Plot(level.clone())).expect_err("a range").to_string();
    let expected =
        "the x axis is to reach from 1970-01-02 to 1970-01-01: the first time must be before the second";
    assert_eq!(said, expected);
    level.x.log = true;
    assert!(matches!(check(&Plot::Plot(level)), Err(Problem::Dates("x", _))));
    let mut bars = figure(vec![Mark::Bars(vec!["a".into()], vec![1.0])]);
    bars.x.dates = true;
    let said = check(&Plot::Plot(bars)).expect_err("names").to_string();
    assert_eq!(said, "the x axis is to have dates, but has the names of bars");
}

#[test]
fn long_names_are_whole() {
    let long =
        |i: usize| format!("the measurements of group {i}, without those that were repeated later");
    let words = |i: usize| long(i).split(' ').map(ToString::to_string).collect::<Vec<_>>();
    let mut lines =
        figure((0..30).map(|i| Mark::Line(vec![0.0, 1.0], vec![0.0, i as f64])).collect());
    for (i, layer) in lines.layers.iter_mut().enumerate() {
        layer.name = long(i);
    }
    lines.title = long(0).repeat(3);
    let drawn = svg(&Plot::Plot(lines.clone()));
    let texts = |drawn: &str| -> Vec<String> {
        let texts = drawn.split("<text ").skip(1).filter_map(|rest| rest.split(['>', '<']).nth(1));
        texts.flat_map(|text| text.split(' ').map(ToString::to_string)).collect()
    };
    let all = texts(&drawn);
    let have = |words: &[String]| all.windows(words.len()).any(|part| part == words);
    assert!((0..30).all(|i| have(&words(i))) && !drawn.contains('…'), "{drawn}");
    let height = |drawn: &str| -> f64 {
        let text = drawn.split("height=\"").nth(1).and_then(|rest| rest.split('"').next());
        text.and_then(|text| text.parse().ok()).expect("a height")
    };
    assert!(height(&drawn) > 1500.0, "{}", height(&drawn));
    // Where the height is given, what does not fit is counted.
    lines.height = 300;
    let drawn = svg(&Plot::Plot(lines));
    assert!(drawn.contains(">+ 26 more<"), "{drawn}");
    assert_eq!(height(&drawn), 300.0);
    let names: Vec<String> =
        (0..6).map(|i| format!("Gesellschaft für Angewandte Mathematik {i}")).collect();
    let bars = plot(vec![Mark::Bars(names.clone(), vec![1.0; 6])]);
    let drawn = svg(&bars);
    assert!(names.iter().all(|name| drawn.contains(&format!(">{name}<"))), "{drawn}");
    assert!(height(&drawn) > 400.0);
}

#[cfg(feature = "png")]
#[test]
fn letters_that_are_boxes_are_known() {
    let mut two = figure(vec![Mark::Horizontal(1.0), Mark::Horizontal(2.0)]);
    two.title = "Größe α ≤ 10⁻³ μm".to_string();
    assert_eq!(diffeo_plot::letters_without_form(&Plot::Plot(two.clone())), "");
    (two.layers[0].name, two.layers[1].name) = ("東京".to_string(), "京都".to_string());
    assert_eq!(diffeo_plot::letters_without_form(&Plot::Plot(two)), "東京都");
}

#[test]
fn a_million_points_and_cells_are_a_small_picture() {
    let n = 1_000_000;
    let xs: Vec<f64> = (0..n).map(f64::from).collect();
    let ys: Vec<f64> = xs.iter().map(|x| (x * 0.37).sin()).collect();
    for mark in [Mark::Line(xs.clone(), ys.clone()), Mark::Points(xs[..1000].to_vec(), ys.clone())]
    {
        let text = svg(&plot(vec![mark]));
        assert!(text.len() < 100_000, "{}", text.len());
    }
    let map = Mark::Cells(xs[..1000].to_vec(), xs[..1000].to_vec(), ys);
    let text = svg(&plot(vec![map]));
    assert!(text.len() < 3_000_000, "{}", text.len());
}

#[test]
fn characters_show_the_marks() {
    let mut bars = figure(vec![Mark::Bars(vec!["a".into(), "b".into()], vec![4.0, -2.0])]);
    bars.title = "Two bars".to_string();
    let expected = "             Two bars
 4 ┤ ▆▆▆▆▆▆▆▆▆▆
   │ ██████████
 2 ┤ ██████████
   │ ██████████
   │ ██████████
 0 ┤               ██████████
   │               ██████████
−2 ┤               ██████████
   └──────┬─────────────┬──────
          a             b
";
    let drawn = terminal(&Plot::Plot(bars), Style { width: 32, color: false });
    assert_eq!(drawn, expected, "{drawn}");
}

#[test]
fn names_of_bars_are_whole() {
    let drawn = |names: &[&str], width: usize| {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let heights = vec![1.0; names.len()];
        terminal(&plot(vec![Mark::Bars(names, heights)]), Style { width, color: false })
    };
    let tail = |text: &str| text.split_once('└').expect("an axis").1.to_string();
    let names = ["control", "treatment A", "treatment A and B", "withdrawn"];
    let below = tail(&drawn(&names, 60));
    assert!(names.iter().all(|name| below.contains(name)), "{below}");
    // A wide letter takes two columns.
    let below = tail(&drawn(&["東京", "a"], 32));
    let line = below.lines().nth(1).expect("names");
    let (before, after) = line.split_once("東京").expect("a name");
    let of_axis =
        |sign: char| below.lines().next().map(|axis| axis.chars().filter(|c| *c == sign).count());
    assert_eq!(of_axis('┬'), Some(2));
    let column = below.lines().next().and_then(|axis| axis.chars().position(|c| c == '┬'));
    let start = before.chars().count() - 5;
    assert!(column.is_some_and(|column| (start..start + 4).contains(&column)), "{below}");
    assert_eq!(after.trim(), "a");
    // Of very many, some are left out.
    let many: Vec<String> = (0..200).map(|i| format!("name {i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let below = tail(&drawn(&many, 60));
    assert!(below.contains("name 0 ") && below.lines().count() == 2, "{below}");
}

#[test]
fn texts_at_the_right_end_are_whole() {
    let words = vec!["the beginning".to_string(), "the end of the line".to_string()];
    let texts = plot(vec![Mark::Texts(vec![0.0, 1.0], vec![0.0, 1.0], words)]);
    let drawn = svg(&texts);
    let line = |text: &str| drawn.lines().find(|line| line.contains(text)).expect("the text");
    assert!(!line("the beginning").contains("text-anchor"));
    assert!(line("the end of the line").contains("text-anchor=\"end\""));
    assert!(terminal(&texts, Style { width: 60, color: false }).contains("the end of the line"));
    let spec = vega_lite(&texts);
    let rows = &spec["layer"][0]["data"]["values"];
    assert_eq!((&rows[0]["side"], &rows[1]["side"]), (&"left".into(), &"right".into()));
}
