//! The commands of the book's page on the papers, and what `diffeo show` says to what it cannot show.

use crate::common::{Done, Folder};
use std::path::PathBuf;
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program with these arguments, in the root of the repository.
fn diffeo(args: &[&str]) -> Done {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diffeo"));
    Done::new(&command.args(args).current_dir(root()).output().expect("the program starts"))
}

/// Words as a shell reads them: spaces between them, perhaps in single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("a word").push(c),
        }
    }
    words
}

/// The commands of a page: lines of their own, and in backquotes.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in page.lines() {
        let whole = line.starts_with("diffeo ").then_some(line);
        let parts = line.split('`').skip(1).step_by(2).filter(|part| part.starts_with("diffeo "));
        let example = |part: &&str| part.contains("examples/");
        found.extend(whole.into_iter().chain(parts).filter(example).map(str::to_string));
    }
    found
}

#[test]
fn the_commands_of_the_book_run() {
    let page = std::fs::read_to_string(root().join("docs/book/papers.md")).expect("the page");
    let commands = commands(&page);
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        let words = words(&command);
        let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let done = diffeo(&args);
        assert_eq!((done.status, &*done.err), (0, ""), "{command}");
        assert!(!done.out.is_empty(), "{command}");
    }
}

#[test]
fn the_inner_product_is_that_of_the_paper() {
    for (name, form) in
        [("inner_product_1_1", "taylor:1,1"), ("inner_product_2_2", "taylor:2,2-mixed")]
    {
        let done = diffeo(&["show", "examples/papers.deo", "inner_product", "--as", form]);
        assert_eq!((done.status, &*done.err), (0, ""));
        insta::assert_snapshot!(name, done.out);
    }
}

#[test]
fn programs_are_shown_as_the_papers_show_them() {
    for (name, entry, form) in [
        ("product_forward", "product", "forward"),
        ("product_delta_naive", "product", "delta-naive"),
        ("product_delta", "product", "delta"),
        ("relu_trace", "relu", "trace"),
        ("product_vector", "product", "vector"),
        ("squares_delta_array", "squares", "delta-array"),
        ("squares_delta_split", "squares", "delta-split"),
        ("doubled_trace_linear", "doubled", "trace-linear"),
    ] {
        let done = diffeo(&["show", "examples/papers.deo", entry, "--as", form]);
        assert_eq!((done.status, &*done.err), (0, ""), "{name}");
        insta::assert_snapshot!(name, done.out);
    }
}

const POINT: &str = r#"[{"x": 1.1, "y": 2.2, "z": 3.3, "w": 4.4}, {"x": 5.5, "y": 6.6, "z": 7.7}]"#;

#[test]
fn figure_12() {
    let show = ["show", "examples/quaternion.deo", "rotated_x", "--as", "delta", "--at", POINT];
    let done = diffeo(&show);
    assert_eq!((done.status, &*done.err), (0, ""));
    insta::assert_snapshot!("figure_12", done.out);
    let done = diffeo(&[&show[..], &["--json"]].concat());
    assert_eq!((done.status, &*done.err), (0, ""));
    let shown: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let bindings = shown["bindings"].as_array().expect("bindings");
    assert_eq!((bindings.len(), shown["inputs"].as_array().map(Vec::len)), (38, Some(7)));
    // The Delta, evaluated here: what comes to a binding goes on to what it stands for, the last one first.
    let mut sums = std::collections::HashMap::new();
    eval(&shown["result"]["delta"], 1.0, &mut sums);
    for binding in bindings.iter().rev() {
        let name = binding["name"].as_str().expect("a name");
        let x = sums.remove(name).unwrap_or(0.0);
        eval(&binding["delta"], x, &mut sums);
    }
    let gradient = shown["gradient"].as_object().expect("a gradient");
    // By hand, as in the test of the example.
    let expected = [
        ("q.x", 91.96),
        ("q.y", 58.08),
        ("q.z", -77.44),
        ("q.w", 38.72),
        ("v.x", 4.84),
        ("v.y", -24.2),
        ("v.z", 26.62),
    ];
    assert_eq!(gradient.len(), expected.len());
    for (name, x) in expected {
        assert!((gradient[name].as_f64().expect("a number") - x).abs() < 1e-9, "{name}");
        assert!((sums[name] - x).abs() < 1e-9, "{name}: {sums:?}");
    }
}

/// Adds what a Delta says, `x` times.
fn eval(delta: &serde_json::Value, x: f64, sums: &mut std::collections::HashMap<String, f64>) {
    let (kind, parts) = delta.as_object().and_then(|d| d.iter().next()).expect("a Delta");
    match kind.as_str() {
        "zero" => {}
        "var" => *sums.entry(parts.as_str().expect("a name").to_string()).or_default() += x,
        "scale" => eval(&parts[1], x * parts[0].as_f64().expect("a factor"), sums),
        "add" => {
            eval(&parts[0], x, sums);
            eval(&parts[1], x, sums);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn what_cannot_be_shown_is_refused_with_what_to_do() {
    let text = "def f(x: Real) = x * x\ndef k = 2.0\ndef n(i: Int) = i\ndef h(g: Real -> Real) = g(1.0)
def deep(x: Real) = grad(fn y -> grad(fn z -> x * y * z)(y))(x)
def large(x: Real) = let a = x + x let b = a + a let c = b + b let d = c + c let e = d + d
  let f = e + e let g = f + f let h = g + g let i = h + h let j = i + i let k = j + j let l = k + k in l + l
def vector(x: Real) = [x, x * x]
def chosen(x: Real) = grad(if x > 0.0 then sin else cos)(x)
";
    let folder = Folder::new().with("a.deo", text);
    let show = |args: &[&str]| folder.run(&[&["show", "a.deo"], args].concat());
    // The command line.
    show(&["--as", "forward"]).fails(2, &["`--as forward`", "ENTRY"]);
    show(&["f", "--as", "taylor"]).fails(2, &["taylor:1,1"]);
    show(&["f", "--as", "taylor:x"]).fails(2, &["taylor:x", "K,R"]);
    show(&["f", "--as", "taylor:9,9"]).fails(2, &["taylor:9,9", "components"]);
    show(&["f", "--as", "dleta"]).fails(2, &["dleta", "delta-naive"]);
    show(&["f", "--as", "core", "--at", "1"]).fails(2, &["--at"]);
    show(&["f", "--as", "forward", "--json"]).fails(2, &["--json"]);
    show(&["f", "--as", "trace"]).fails(2, &["no point", "f_at", "--at"]);
    // The program.
    show(&["g", "--as", "forward"]).fails(1, &["no definition `g`"]);
    show(&["h", "--as", "forward"]).fails(1, &["`h`", "takes a function"]);
    show(&["k", "--as", "delta", "--at", "1.0"]).fails(1, &["`k`", "no function"]);
    show(&["f", "--as", "delta", "--at", "\"a\""]).fails(1, &["Real"]);
    show(&["f", "--as", "delta", "--at", "x=1"]).fails(2, &["no record"]);
    show(&["large", "--as", "delta-naive", "--at", "1.0"])
        .fails(1, &["without sharing", "--as delta"]);
    for form in ["forward", "taylor:1,1", "vector", "delta", "delta-naive"] {
        let done = show(&["deep", "--as", form]);
        assert_eq!((done.status, &*done.err), (0, ""), "{form}");
        show(&["chosen", "--as", form]).fails(1, &["a.deo:9:", "`chosen`", "--engine", "`def`"]);
    }
    // What is no function, or has no Real in it, is translated all the same.
    for (entry, form) in [("k", "taylor:1,1"), ("n", "forward"), ("n", "delta")] {
        let done = show(&[entry, "--as", form]);
        assert_eq!((done.status, &*done.err), (0, ""), "{entry} {form}");
    }
    // Each number of a result has its derivatives; those within are taken when the program runs.
    let done = show(&["vector", "--as", "delta", "--at", "3.0", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!(shown["results"][1]["gradient"]["x"], 6.0, "{shown}");
    let done = show(&["deep", "--as", "delta", "--at", "3.0", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!(shown["gradient"]["x"], 1.0, "{shown}");
}

#[test]
fn recursion_unfolds_as_often_as_it_may() {
    let folder = Folder::new()
        .with("a.deo", "def f(n: Int) -> Real = if n == 0 then 1.0 else 2.0 * f(n - 1)\n");
    let run = |n: &str, rest: &[&str]| {
        folder.run(&[&["eval", "f(5)", "--in", "a.deo", "--unfold", n], rest].concat())
    };
    let done = run("6", &["--engine", "trace"]);
    assert_eq!((done.status, &*done.out), (0, "32.0\n"), "{done:?}");
    run("5", &["--engine", "trace"]).fails(1, &["unfold more than 5 times", "`--unfold`"]);
    run("6", &["--engine", "dual"]).fails(2, &["`--engine dual` has no `--unfold`"]);
}

#[test]
fn engines_that_report_no_kinks_say_so() {
    let run = |args: &[&str]| {
        diffeo(&[&["eval", "grad(fn x -> abs(x))(0.0)", "--engine"], args].concat())
    };
    for engine in ["dual", "delta", "taylor"] {
        for kinks in ["warn", "error"] {
            let message = format!("`--engine {engine}` has no `--kinks {kinks}`");
            run(&[engine, "--kinks", kinks]).fails(2, &[&message, "`--engine interp`"]);
        }
        let done = run(&[engine, "-v"]);
        assert_eq!((done.status, &*done.out), (0, "0.0\n"));
        assert!(done.err.contains("kinks: not looked for"), "{done:?}");
    }
    run(&["trace", "--kinks", "warn"]).fails(2, &["`--engine trace` has no `--kinks warn`"]);
    run(&["trace", "--kinks", "error"]).fails(1, &["abs(0.0) has no derivative there"]);
}
