//! `--plot`, and the pictures of the book: each is what the example gives now.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn diffeo(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_diffeo"))
        .current_dir(root())
        .env("COLUMNS", "60")
        .args(args)
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A program in a folder of its own.
fn program(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.deo");
    std::fs::write(&path, text).expect("a file");
    let path = path.to_string_lossy().into_owned();
    (folder, path)
}

const TWO: &str = "
import plot
def main = {
  n = 3.0,
  left = plot.line([0.0, 1.0], [2.0, 3.0]) |> plot.title(\"Left\", _),
  both = [plot.hline(1.0), plot.vline(2.0)]
}
";

/// With `DIFFEO_PICTURES=1` the pictures are written instead.
#[test]
fn the_pictures_of_the_book_are_current() {
    let iris = ["--arg", "table=examples/data/iris.csv:skip=1"];
    let all: &[(&str, &[&str])] = &[
        ("descend", &[]),
        ("digits", &["--arg", "table=examples/data/digits.csv.gz"]),
        ("gaussian_process", &[]),
        ("iris", &iris),
        ("lotka_volterra", &[]),
        ("mgh17", &[]),
        ("missing_data", &[]),
        ("misra1a", &[]),
        ("network", &[]),
        ("option", &[]),
        ("papers", &[]),
        ("pendulum", &[]),
        ("quaternion", &[]),
        ("tree", &[]),
    ];
    let page = std::fs::read_to_string(root().join("docs/book/plot.md")).expect("the page");
    let start = page.find("```diffeo\n").expect("a program") + 10;
    let end = start + page[start..].find("```").expect("its end");
    let (_folder, walk) = program(&page[start..end]);
    let mut runs: Vec<(&str, Vec<String>)> = vec![("walk", vec![walk.clone()])];
    for (name, args) in all {
        let mut words = vec![format!("examples/{name}.deo"), "--entry".into(), "picture".into()];
        words.extend(args.iter().map(ToString::to_string));
        runs.push((name, words));
    }
    let examples = std::fs::read_dir(root().join("examples")).expect("the examples").flatten();
    let examples = examples.filter(|entry| entry.path().extension().is_some_and(|e| e == "deo"));
    assert_eq!(runs.len(), examples.count() + 1, "each example has a picture");
    let mut failures = Vec::new();
    for (name, words) in runs {
        let mut args = vec!["run"];
        args.extend(words.iter().map(String::as_str));
        args.push("--plot=-:svg");
        let output = diffeo(&args);
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{name}: {}",
            text(&output.stderr)
        );
        let file = root().join("docs/book/pictures").join(format!("{name}.svg"));
        if std::env::var_os("DIFFEO_PICTURES").is_some() {
            std::fs::write(&file, &output.stdout).expect("a picture");
        }
        assert!(output.stdout.len() < 70_000, "{name}: {} bytes", output.stdout.len());
        if std::fs::read(&file).ok() != Some(output.stdout) {
            failures.push(name);
        }
    }
    assert!(
        failures.is_empty(),
        "run with DIFFEO_PICTURES=1 and look at the pictures: {failures:?}"
    );
    let drawn = diffeo(&["run", &walk, "--plot"]);
    let shown: String =
        text(&drawn.stdout).lines().skip(1).map(|line| format!("{line}\n")).collect();
    assert!(page.contains(&shown), "the page does not show\n{shown}");
}

#[test]
fn files_and_fields() {
    let (folder, path) = program(TWO);
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (svg, png, json) = (at("a.svg"), at("b.png"), at("c.json"));
    let output = diffeo(&[
        "run",
        &path,
        "--plot",
        &format!("left={svg}"),
        "--plot",
        &format!("both.1={png}"),
        "--plot",
        &format!("left={json}"),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(
        text(&output.stdout),
        "{both = [<plot: horizontal line>, <plot: vertical line>], \
         left = <plot \"Left\": line of 2 points>, n = 3.0}\n"
    );
    assert!(std::fs::read_to_string(svg).is_ok_and(|svg| svg.starts_with("<svg ")));
    assert!(std::fs::read(png).is_ok_and(|png| png.starts_with(b"\x89PNG")));
    let json = std::fs::read(json).expect("a file");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["title"], "Left");
    let output = diffeo(&["run", &path, "--json"]);
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(all["left"], json);
    assert_eq!(all["n"], 3.0);
}

#[test]
fn plots_in_lists_and_variants() {
    let (folder, path) = program(
        "
import plot
type Report = Plain(String) | Illustrated(String, plot.Plot)
type Tree = Leaf(Maybe[plot.Plot]) | Node(Tree, Tree)
def at(y: Real) = plot.hline(y)
def main = {
  all = list[at(1.0), at(2.0)],
  maybe = Just(at(3.0)),
  none = list[Nothing, Just([at(4.0)])],
  report = [Plain(\"a\"), Illustrated(\"b\", at(5.0))],
  tree = Node(Leaf(Nothing), Node(Leaf(Just(at(6.0))), Leaf(Nothing)))
}
def nothing: Maybe[plot.Plot] = Nothing
def plain = list[Just(1.0)]
",
    );
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    for (field, y) in [
        ("all.0", 1.0),
        ("all.1", 2.0),
        ("maybe", 3.0),
        ("none.1.0", 4.0),
        ("report.1.Illustrated.1", 5.0),
        ("tree.Node.1.Node.0.Leaf", 6.0),
    ] {
        let json = at("p.json");
        let output = diffeo(&["run", &path, "--plot", &format!("{field}={json}")]);
        assert!(output.status.success(), "{field}: {}", text(&output.stderr));
        let json = std::fs::read(&json).expect("a file");
        let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        assert_eq!(json["layer"][0]["data"]["values"][0]["at"], y, "{field}");
    }
    let output = diffeo(&["run", &path, "--plot", "a.svg"]);
    let said = text(&output.stderr);
    assert!(said.contains("the result has 6 plots") && said.contains("`all.0`"), "{said}");
    let output = diffeo(&["run", &path, "--entry", "nothing", "--plot"]);
    assert!(text(&output.stderr).contains("the result has no plot this time"));
    let output = diffeo(&["run", &path, "--entry", "plain", "--plot"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_is_empty_says_so() {
    for plot in [
        "line([], [])",
        "bars([], [])",
        "histogram(5, [])",
        "heatmap([[]])",
        "layers([])",
        "points([nan], [1.0])",
        "grid(2, [])",
    ] {
        let (_folder, path) = program(&format!("import plot\ndef main = plot.{plot}"));
        let output = diffeo(&["run", &path, "--plot"]);
        let said = text(&output.stderr);
        assert!(output.status.success() && said.contains("the picture is empty"), "{plot}: {said}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let (_folder, path) = program(TWO);
    let wrong = |args: &[&str], status: i32, expected: &str| {
        let mut all = vec!["run", &path];
        all.extend(args);
        let output = diffeo(&all);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
    };
    wrong(&["--plot", "a.svg"], 2, "the result has 3 plots, and `--plot` one file for them");
    wrong(&["--plot", "c=a.svg"], 2, "the result has no plot `c`");
    wrong(&["--plot", "a.gif"], 2, "a picture is a .svg, .png or .json file");
    wrong(&["--plot", "b.deo"], 2, "this is the program");
    wrong(&["--plot", &format!("left={path}:svg")], 2, "this is the program: name another file");
    wrong(&["--out", &format!("{path}:json")], 2, "this is the program: name another file");
    assert!(std::fs::read_to_string(&path).is_ok_and(|text| text == TWO), "it is still there");
    wrong(&["--out", "left=a.svg"], 2, "a plot is drawn by `--plot left=a.svg`");
    wrong(&["--json", "--plot"], 2, "`--plot` draws among the JSON of `--json`");
    wrong(&["--plot", "left=/no/such/folder/a.svg"], 1, "there is no such folder");
    let (_folder, number) = program("def main = 3.0");
    let output = diffeo(&["run", &number, "--plot"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("the result has no plot to draw"));
    let (_folder, color) =
        program("import plot\ndef main = plot.hline(1.0) |> plot.color(\"blau\", _)");
    let output = diffeo(&["run", &color, "--plot"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("has the colour \"blau\""), "{}", text(&output.stderr));
    let (_folder, log) =
        program("import plot\ndef main = plot.line([1.0, 2.0], [0.0, 1.0]) |> plot.log_y");
    let output = diffeo(&["run", &log, "--plot=-:json"]);
    assert!(output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.contains("warning[plot]: in the plot, layer 1 (line): 1 of 4 numbers left out"),
        "{said}"
    );
}

#[test]
fn a_type_of_the_program_is_no_plot() {
    let (_folder, path) = program("type Plot = Plot(Real) | Grid(Int)\ndef main = Plot(1.0)");
    assert_eq!(text(&diffeo(&["run", &path]).stdout), "Plot(1.0)\n");
    assert_eq!(diffeo(&["run", &path, "--plot"]).status.code(), Some(2));
}

#[test]
fn letters_that_a_png_lacks_are_told() {
    let (folder, path) =
        program("import plot\ndef main = {a = plot.hline(1.0) |> plot.title(\"東京\", _)}");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let output = diffeo(&["run", &path, "--plot", &at("a.png")]);
    let said = text(&output.stderr);
    assert!(output.status.success());
    assert!(said.contains("warning[plot]: in the plot `a`, the letters 東京 are boxes"), "{said}");
    assert!(diffeo(&["run", &path, "--plot", &at("a.svg")]).stderr.is_empty());
}
