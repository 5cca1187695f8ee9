//! `diffeo grad`: gradients, Taylor coefficients and checks of derivatives, with good and bad points.

use crate::common;
use crate::common::Folder;
use std::path::Path;
use std::process::Command;

const MODEL: &str = "\
def loss(p: {w: [n]Real, table: [m](Real, Int)}) = sum([sq(w * x) * real(k) for w in p.w, (x, k) in p.table] |> flatten)
def loss_at = {w = [1.0, 2.0], table = [(3.0, 1)]}
def f(x: Real, y: Real) = (x * y, [x ^ 2])
def cube(x: Real) = x ^ 3
def kink(x: Real) = abs(x)
def root(x: Real) = sqrt(x)
def unscaled(x: Real, y: Real) =
  with_derivative(fn (a, b) -> a * b, fn ((a, b), (da, db)) -> (a * b, 2.0 * a * db + b * da))(x, y)
def apply(g: Real -> Real) = g(1.0)
def count(n: Int) = real(n)
def same(x: a) = x
def total(xs: List[Real]) = fold_left_list(fn (s, x) -> s + x, 0.0, xs)
def lengths(x: [n]Real, y: [n]Real) = dot(x, y)
def stops(x: Real) = if x > 1.0 then fail(\"too large\") else x
def traced(x: Real) = trace(\"x\", x) * x
";

fn folder() -> Folder {
    Folder::new()
        .with("m.deo", MODEL)
        .with("points.csv", "made up\n3,1\n")
        .with("w.json", "[1, 2]\n")
        .with("whole.json", "{\"w\": [1, 2], \"table\": [[3, 1]]}\n")
}

#[test]
fn gradients_have_the_shape_of_the_point() {
    let folder = folder();
    let gradient = r#"{"table":[[30.0,1]],"w":[18.0,36.0]}"#;
    let expected = format!(r#"{{"value":45.0,"gradient":{gradient}}}"#);
    for at in [
        &[][..],
        &["--at", "whole.json"],
        &["--at", r#"{"w": [1, 2], "table": [[3, 1]]}"#],
        &["--at", "w=[1, 2]", "--at", "table=points.csv:skip=1"],
        &["--at", "w=w.json", "--at", "table=[[3, 1]]"],
    ] {
        folder.run(&[&["grad", "m.deo", "loss", "--json"], at].concat()).prints(&expected);
    }
    folder
        .run(&["grad", "m.deo", "loss"])
        .prints("value     45.0\ngradient  {table = [(30.0, 1)], w = [18.0, 36.0]}");
    folder.run(&["grad", "m.deo", "cube", "--at", "-2"]).prints("value     -8.0\ngradient  12.0");
}

#[test]
fn a_value_of_several_reals_has_a_gradient_for_each() {
    let folder = folder();
    folder.run(&["grad", "m.deo", "f", "--at", "[2.0, 3.0]"]).prints(
        "value              (6.0, [4.0])\ngradient of .0     (3.0, 2.0)\ngradient of .1[0]  (4.0, 0.0)",
    );
    folder.run(&["grad", "m.deo", "f", "--at", "[2.0, 3.0]", "--json"]).prints(
        r#"{"value":[6.0,[4.0]],"jacobian":[{"of":".0","gradient":[3.0,2.0]},{"of":".1[0]","gradient":[4.0,0.0]}]}"#,
    );
}

#[test]
fn taylor_coefficients_have_their_multi_indices() {
    let folder = folder();
    folder.run(&["grad", "m.deo", "cube", "--at", "2", "--jet", "1,4"]).prints(
        "value      8.0\nvariables  the argument\n(0)  8.0\n(1)  12.0\n(2)  12.0\n(3)  6.0\n(4)  0.0",
    );
    folder.run(&["grad", "m.deo", "f", "--at", "[2, 3]", "--jet", "2,1", "--json"]).prints(concat!(
        r#"{"value":[6.0,[4.0]],"variables":[".0",".1"],"results":["#,
        r#"{"of":".0","derivatives":[{"index":[0,0],"value":6.0},{"index":[0,1],"value":2.0},{"index":[1,0],"value":3.0}]},"#,
        r#"{"of":".1[0]","derivatives":[{"index":[0,0],"value":4.0},{"index":[0,1],"value":0.0},{"index":[1,0],"value":4.0}]}]}"#,
    ));
    folder
        .run(&["grad", "m.deo", "f", "--at", "[2, 3]", "--jet", "3,1"])
        .fails(2, &["3 variables", "2 Reals"]);
    for jet in ["30,10", "64,64", "20,8"] {
        folder
            .run(&["grad", "m.deo", "f", "--at", "[2, 3]", "--jet", jet])
            .fails(2, &[&format!("--jet {jet}"), "more than a million coefficients for each Real"]);
    }
    let zeros = format!("{:?}", vec![0.0; 100]);
    folder
        .run(&["grad", "m.deo", "lengths", "--at", &format!("[{zeros}, {zeros}]"), "--jet", "64,4"])
        .fails(2, &["814385 coefficients", "200 Reals"]);
    for jet in ["2", "0,1", "1,65", "65,1", "a,b", "1,-1"] {
        let done = folder.run(&["grad", "m.deo", "f", "--at", "[2, 3]", "--jet", jet]);
        assert_eq!((done.status, &*done.out), (2, ""), "{jet}: {done:?}");
    }
}

#[test]
fn points_that_do_not_fit_are_errors() {
    let folder = folder();
    let grad = |args: &[&str]| folder.run(&[&["grad", "m.deo"], args].concat());
    grad(&["cube"]).fails(2, &["m.deo:4:5", "no point", "--at", "def cube_at = …", "Real"]);
    grad(&["cub", "--at", "1"]).fails(1, &["`cub`", "did you mean `cube`?"]);
    grad(&["cube", "--at", "[1]"]).fails(1, &["--at: Real", "expected `Real`"]);
    grad(&["cube", "--at", "x=1"]).fails(2, &["x=1", "no record", "Real"]);
    grad(&["cube", "--at", "1", "--at", "2"]).fails(2, &["more than once"]);
    grad(&["loss", "--at", "w=[1]", "--at", "w=[2]"]).fails(2, &["`--at w`", "more than once"]);
    grad(&["loss", "--at", "w=[1]"]).fails(2, &["`table: [m](Real, Int)`", "--at table=…"]);
    grad(&["loss", "--at", "w=[1]", "--at", "tables=[]"]).fails(2, &["did you mean `table`?"]);
    grad(&["loss", "--at", "w=[1]", "--at", "{}"]).fails(2, &["NAME=VALUE"]);
    grad(&["loss", "--at", "w=[1]", "--at", "table=none.csv"]).fails(1, &["none.csv"]);
    grad(&["lengths", "--at", "[[1, 2], [3]]"]).fails(1, &["m.deo:13:", "2", "1"]);
    grad(&["stops", "--at", "2"]).fails(1, &["m.deo:14:", "too large"]);
    grad(&["stops", "--at", "2", "--check"]).fails(1, &["m.deo:14:", "too large"]);
    grad(&["apply", "--at", "1"]).fails(1, &["`apply`", "takes a function"]);
    grad(&["count", "--at", "1"]).fails(1, &["`count`", "no Real", "Int"]);
    grad(&["same", "--at", "1"]).fails(1, &["`same`", "nothing determines"]);
    grad(&["loss_at", "--at", "1"]).fails(1, &["`loss_at`", "no function"]);
    grad(&["cube", "--at", "1", "--check", "--jet", "1,1"]).fails(2, &["--jet", "--check"]);
    let folder = Folder::new().with("m.deo", "def f(x: Real) = x\ndef f_at = (1, 2)\n");
    folder
        .run(&["grad", "m.deo", "f"])
        .fails(1, &["m.deo:2:5", "`f_at` is no point for `f`", "(Int, Int)", "def f_at: Real = …"]);
    for (point, kind) in [("sin", "not a function"), ("\"x\"", "define a Real")] {
        let folder =
            Folder::new().with("m.deo", format!("def f(x: Real) = x\ndef f_at = {point}\n"));
        let done = folder.run(&["grad", "m.deo", "f"]);
        assert!(done.err.contains(kind) && !done.err.contains("literals"), "{done:?}");
    }
}

#[test]
fn derivatives_that_agree_have_status_0() {
    let folder = folder();
    let done = folder.run(&["grad", "m.deo", "loss", "--check"]);
    assert_eq!((done.status, &*done.err), (0, ""), "{done:?}");
    for part in ["all 3", "first derivatives: ", "second derivatives: ", "modes agree to"] {
        assert!(done.out.contains(part), "no {part:?} in {}", done.out);
    }
    let done = folder.run(&["grad", "m.deo", "traced", "--at", "1", "--check"]);
    assert_eq!((done.status, &*done.err), (0, ""), "a check does not trace: {done:?}");
}

/// The report of a check as JSON, and what else it gave.
fn checked(folder: &Folder, args: &[&str]) -> (serde_json::Value, common::Done) {
    let done = folder.run(&[&["grad", "m.deo"], args, &["--check", "--json"]].concat());
    (serde_json::from_str(&done.out).expect("JSON"), done)
}

#[test]
fn what_disagrees_is_named_with_status_1() {
    let folder = folder();
    let (report, done) = checked(&folder, &["unscaled", "--at", "[2, 3]"]);
    assert_eq!(done.status, 1, "{done:?}");
    let first = &report["first"];
    assert_eq!(
        (&report["agrees"], &first["agreement"]["disagreements"]),
        (&false.into(), &0.into())
    );
    let worst = &first["differences"]["worst"];
    assert_eq!(worst["by"], serde_json::json!([".1"]));
    assert_eq!(
        (&worst["values"]["reverse"], &worst["values"]["forward"]),
        (&4.0.into(), &4.0.into())
    );
    let left = worst["differences"]["left"].as_f64().expect("a number");
    assert!((left - 2.0).abs() < 1e-9, "{worst}");
    for part in [
        "m.deo:7:5",
        "the modes agree",
        "`unscaled` by .1",
        "differences do not",
        "a kink or rounding",
    ] {
        assert!(done.err.contains(part), "no {part:?} in {}", done.err);
    }
}

#[test]
fn kinks_and_infinite_derivatives_are_reported() {
    let folder = folder();
    let (report, done) = checked(&folder, &["kink", "--at", "0"]);
    assert_eq!(done.status, 1, "{done:?}");
    for part in
        ["m.deo:5:21: warning[kink]: abs(0.0)", "from the left: -1.0", "from the right: 1.0"]
    {
        assert!(done.err.contains(part), "no {part:?} in {}", done.err);
    }
    assert!(report["warnings"][0].as_str().is_some_and(|w| w.contains("abs(0.0)")), "{report}");
    let (_, done) = checked(&folder, &["kink", "--at", "1e-3"]);
    assert_eq!((done.status, &*done.err), (0, ""), "{done:?}");
    let (report, done) = checked(&folder, &["root", "--at", "0"]);
    assert!(done.status == 1 && done.err.contains("is not finite"), "{done:?}");
    assert_eq!(report["first"]["not_finite"][0]["values"]["reverse"], "inf");
    folder
        .run(&["grad", "m.deo", "kink", "--at", "0", "--check", "--kinks", "error"])
        .fails(1, &["error[kink]"]);
    let warned = folder.run(&["grad", "m.deo", "kink", "--at", "0", "--kinks", "warn"]);
    assert!(warned.status == 0 && warned.err.contains("warning[kink]"), "{warned:?}");
    let exact = |more: &[&str]| {
        folder.run(&[&["grad", "m.deo", "kink", "--at", "0", "--kinks", "exact"], more].concat())
    };
    for engine in ["jit", "interp"] {
        let done = exact(&["--engine", engine]);
        assert!(done.status == 0 && done.out.ends_with("gradient  1.0\n"), "{done:?}");
        let done = exact(&["--engine", engine, "--jet", "1,2"]);
        assert!(done.status == 0 && done.out.contains("(1)  1.0\n"), "{done:?}");
    }
    // The modes agree on the side that the direction takes.
    let done = exact(&["--check"]);
    assert!(done.out.contains("modes agree to 0\n") && !done.err.contains("[kink]"), "{done:?}");
    // The account names kinks that are not to be warned of.
    let told =
        folder.run(&["grad", "m.deo", "kink", "--at", "0", "--verbose", "--engine", "interp"]);
    assert!(told.status == 0 && !told.err.contains("warning"), "{told:?}");
    assert!(told.err.contains("operations: ") && told.err.contains("abs(0.0)"), "{told:?}");
    let (_, done) = checked(&folder, &["total", "--at", "[]"]);
    assert!(done.status == 1 && done.err.contains("no Real in the point"), "{done:?}");
    let done = folder.run(&["grad", "m.deo", "total", "--at", "[]", "--check"]);
    assert!(done.out.contains("nothing was compared") && !done.out.contains("agree"), "{done:?}");
}

#[test]
fn a_check_keeps_to_the_bounds() {
    let folder = Folder::new().with(
        "m.deo",
        "def f(x: Real) = loop y = x for _ < 200000 do sin(y) + x\ndef f_at = 0.5\n",
    );
    folder
        .run(&["grad", "m.deo", "f", "--check", "--timeout", "0.3"])
        .fails(1, &["error[timeout]"]);
}

/// Every example whose program has a point for one of its functions.
#[test]
fn derivatives_of_the_examples_agree() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut examples = 0;
    for file in std::fs::read_dir(root.join("examples")).expect("the examples").flatten() {
        let path = file.path();
        if path.extension().is_none_or(|ending| ending != "deo") {
            continue;
        }
        examples += 1;
        let text = std::fs::read_to_string(&path).expect("a readable example");
        let entries: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("def "))
            .filter_map(|rest| rest.split([' ', ':', '(', '=']).next()?.strip_suffix("_at"))
            .collect();
        assert!(!entries.is_empty(), "{} has no definition NAME_at", path.display());
        for entry in entries {
            let output = Command::new(env!("CARGO_BIN_EXE_diffeo"))
                .current_dir(&root)
                .arg("grad")
                .arg(&path)
                .args([entry, "--check"])
                .output()
                .expect("the program starts");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert!(
                output.status.success(),
                "{} {entry}:\n{}{}",
                path.display(),
                text(&output.stdout),
                text(&output.stderr)
            );
        }
    }
    assert!(examples >= 7, "{examples} examples");
}
