//! Programs run with arguments and data files, good ones and bad ones.

use crate::common::Folder;

/// A program with a parameter of each kind.
const PARAMETERS: &str = "\
type Shape = Dot | Circle(Real) | Box(Real, Real)
def main(p: {rate: Real, count: Int, flag: Bool, name: String, shape: Shape, rows: [n]{x: Real, y: Maybe[Int]}}) = p
";

#[test]
fn results_print_as_diffeo_or_as_json() {
    let folder = Folder::new()
        .with("a.deo", "def main = ((1, 2.5), {b = true, a = \"x\"}, Just([nan, inf]), list[1])\n");
    folder
        .run(&["run", "a.deo", "--json"])
        .prints(r#"[[1,2.5],{"a":"x","b":true},{"Just":["nan","inf"]},[1]]"#);
    let done = folder.run(&["run", "a.deo"]);
    assert!(done.status == 0 && done.out.contains("Just([nan, inf])"), "{done:?}");
}

#[test]
fn expressions_are_evaluated() {
    let folder = Folder::new().with("a.deo", "def cube(x: Real) = x ^ 3\n");
    folder.run(&["eval", "1 + 1"]).prints("2");
    folder.run(&["eval", "-1"]).prints("-1");
    folder.run(&["eval", "grad(cube)(2.0)", "--in", "a.deo", "--json"]).prints("12.0");
    folder.run(&["eval", "1 +"]).fails(1, &["error["]);
    folder.run(&["eval", "cube(1.0)"]).fails(1, &["error[", "cube"]);
    folder.run(&["eval", "1", "--in", "none.deo"]).fails(1, &["none.deo"]);
}

#[test]
fn arguments_fill_the_fields_of_the_record() {
    let folder = Folder::new()
        .with("a.deo", PARAMETERS)
        .with("rows.csv", "made up\ny,more,x\n1,,0.5\n,,2\n")
        .with("shape.json", "{\"Box\": [1, 2]}\n");
    let expected = r#"{"count":3,"flag":true,"name":"hello","rate":0.1,"rows":[{"x":0.5,"y":{"Just":1}},{"x":2.0,"y":{"Nothing":null}}],"shape":{"Box":[1.0,2.0]}}"#;
    let args = [
        "run",
        "a.deo",
        "--json",
        "--arg",
        "rate=0.1",
        "--arg",
        "count=3",
        "--arg",
        "flag=true",
        "--arg",
        "name=hello",
        "--arg",
        "shape=shape.json",
        "--arg",
        "rows=rows.csv:skip=1",
    ];
    folder.run(&args).prints(expected);
}

#[test]
fn parameters_and_arguments_must_agree() {
    let folder = Folder::new()
        .with("a.deo", "def main({rate, rows}: {rate: Real, rows: [n]Int}) = rate\n")
        .with("b.deo", "def main = 1\ndef f(x: Real) = x\ndef g() = 2\ndef h(f: Real -> Real) = f(1.0)\ndef k = fn x -> x + 1.0\n");
    folder
        .run(&["run", "a.deo", "--arg", "rate=1", "--arg", "row=[1]"])
        .fails(2, &["`row`", "did you mean `rows`?", "rate: Real", "`rows"]);
    folder.run(&["run", "a.deo", "--arg", "rate=1"]).fails(2, &["`rows", "missing"]);
    folder
        .run(&["run", "a.deo", "--arg", "rate=1", "--arg", "rate=2", "--arg", "rows=[]"])
        .fails(2, &["`--arg rate` is given more than once"]);
    folder
        .run(&["run", "b.deo", "--arg", "x=1"])
        .fails(2, &["`main` has no parameters", "--arg x"]);
    folder.run(&["run", "b.deo", "--entry", "g"]).prints("2");
    folder
        .run(&["run", "b.deo", "--entry", "f", "--arg", "x=1"])
        .fails(1, &["`f`", "Real", "record"]);
    folder.run(&["run", "b.deo", "--entry", "h"]).fails(1, &["error["]);
    folder.run(&["run", "b.deo", "--entry", "k"]).fails(1, &["error["]);
    folder.run(&["run", "b.deo", "--entry", "mian"]).fails(1, &["mian", "main"]);
}

#[test]
fn values_that_do_not_fit_name_the_field_the_place_and_the_type() {
    let folder = Folder::new()
        .with("a.deo", "def main({x}: {x: [n]{a: Real, b: Int}}) = length(x)\n")
        .with("one.deo", "def main({x}: {x: Int}) = x\n")
        .with("matrix.deo", "def main({x}: {x: [n][m]Real}) = x\n")
        .with("cell.csv", "b,a\n1,2\n3,oops\n")
        .with("short.csv", "b,a\n1\n")
        .with("column.csv", "bb,a\n1,2\n")
        .with("empty.csv", "")
        .with("ragged.csv", "1,2\n3,4\n5\n")
        .with("latin.csv", b"a,b\n1,\xff\n")
        .with("lines.json", "[\n {\"a\": 1, \"b\": 2},\n {\"a\": 1, \"b\": 2.5}]\n")
        .with("broken.json", "[{\"a\": 1, \"b\"")
        .with("junk.npy", "1 2 3")
        .with("junk.npz", "1 2 3");
    for (program, x, parts) in [
        ("a.deo", "cell.csv", &["`x: ", "a: Real", "cell.csv:3", "column 2 (`a`)", "`oops`"][..]),
        ("a.deo", "short.csv", &["short.csv:2", "expected 2 fields"]),
        ("a.deo", "column.csv", &["column.csv:1", "no column `b`", "`bb`"]),
        ("a.deo", "empty.csv", &["empty.csv", "nothing in it"]),
        ("a.deo", "latin.csv", &["latin.csv:2", "(`b`)", "not UTF-8"]),
        ("a.deo", "none.csv", &["none.csv", "no such file"]),
        ("a.deo", "lines.json", &["lines.json:3:", "`x[1].b`", "`Int`", "2.5"]),
        ("a.deo", "broken.json", &["broken.json:1:", "not JSON"]),
        ("a.deo", "junk.npy", &["junk.npy", "NPY"]),
        ("a.deo", "[{\"a\": 1}]", &["field `b`", "missing"]),
        ("one.deo", "1.0", &["`x: Int`", "`Int`", "1.0", "without a point: `1`"]),
        ("matrix.deo", "1,2,3", &["found the number 1", "in brackets: `[1, 2, 3]`"]),
        ("one.deo", "9223372036854775808", &["`Int`", "9223372036854775808"]),
        ("one.deo", "", &["`x: Int`", "nothing"]),
        ("one.deo", "data.xyz", &["not JSON", ".csv"]),
        ("one.deo", "data.txt", &["a text file cannot hold", "`Int`"]),
        ("matrix.deo", "ragged.csv", &["ragged.csv:3", "expected 2 fields", "found 1"]),
        ("matrix.deo", "[[1, 2], [3]]", &["`x[1]`", "same length"]),
        ("matrix.deo", "junk.npz", &["junk.npz", "NPZ"]),
    ] {
        let mut all = vec!["error[data]"];
        all.extend(parts);
        folder.run(&["run", program, "--arg", &format!("x={x}")]).fails(1, &all);
    }
}

#[test]
fn sizes_of_arguments_are_checked() {
    let folder =
        Folder::new().with("a.deo", "def main({x, y}: {x: [n]Real, y: [n]Real}) = dot(x, y)\n");
    folder.run(&["run", "a.deo", "--arg", "x=[1,2]", "--arg", "y=[3,4]", "--json"]).prints("11.0");
    folder.run(&["run", "a.deo", "--arg", "x=[1,2]", "--arg", "y=[3]"]).fails(
        1,
        &[
            "a.deo:1:",
            "error[size-mismatch]: the sizes 2 and 1 differ",
            "note: `main` takes `x: [n]Real`, `y: [n]Real`",
            "note: the sizes given are `x` [2], `y` [1]",
        ],
    );
}

#[test]
fn results_are_written_to_files() {
    let folder = Folder::new()
        .with("rows.deo", "def main = [{i = i, half = real(i) / 2} for i < 3]\n")
        .with("matrix.deo", "def main({x}: {x: [n][m]Real}) = x\n")
        .with("fail.deo", "def main = [1, fail(\"stopped\")]\n")
        .with("old.json", "old\n");
    folder.run(&["run", "rows.deo", "--out", "o.csv"]).prints("");
    let text = std::fs::read_to_string(folder.0.join("o.csv")).expect("the result");
    // As the record is written.
    assert_eq!(text, "i,half\n0,0.0\n1,0.5\n2,1.0\n");
    folder.run(&["run", "matrix.deo", "--arg", "x=[[1,2,3],[4,5,6]]", "--out", "o.npy"]).prints("");
    folder
        .run(&["run", "matrix.deo", "--arg", "x=o.npy", "--json"])
        .prints("[[1.0,2.0,3.0],[4.0,5.0,6.0]]");
    folder.run(&["run", "rows.deo", "--out", "o.npy"]).fails(1, &["o.npy", "half: Real", ".json"]);
    folder
        .run(&["run", "rows.deo", "--out", "none/o.csv"])
        .fails(1, &["none/o.csv", "no such folder"]);
    folder.run(&["run", "fail.deo", "--out", "old.json"]).fails(1, &["fail.deo:1:", "stopped"]);
    let old = std::fs::read_to_string(folder.0.join("old.json")).expect("the old file");
    assert_eq!(old, "old\n");
    let names = std::fs::read_dir(&folder.0)
        .expect("the folder")
        .map(|entry| entry.expect("a file").file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().ends_with("tmp")));
}

#[test]
fn kinks_are_reported_when_asked_for() {
    let folder = Folder::new().with("a.deo", "def main = grad(abs)(0.0)\n");
    folder.run(&["run", "a.deo", "--json"]).prints("0.0");
    let warned = folder.run(&["run", "a.deo", "--json", "--kinks", "warn"]);
    assert_eq!((warned.status, warned.out.trim_end()), (0, "0.0"), "{warned:?}");
    assert!(warned.err.contains("warning["), "{}", warned.err);
    folder.run(&["run", "a.deo", "--kinks", "error"]).fails(1, &["a.deo:1:", "error["]);
}

#[test]
fn kinks_are_decided_by_directions_when_asked_for() {
    let folder = Folder::new()
        .with("a.deo", "def main = grad(fn x -> relu(x) - relu(-x))(0.0)\n")
        .with("smooth.deo", "def main = grad(fn x -> x * x)(3.0)\n")
        .with("jump.deo", "def main = grad(fn x -> if x < 0.0 then 0.0 else 1.0)(0.0)\n");
    folder.run(&["run", "a.deo"]).prints("0.0");
    for engine in ["auto", "jit", "flat", "interp"] {
        let done = folder.run(&["run", "a.deo", "--kinks", "exact", "--engine", engine, "-v"]);
        assert_eq!((done.status, &*done.out), (0, "1.0\n"), "{done:?}");
        for part in ["engine: interp\n", "kinks: decided by directions"] {
            assert!(done.err.contains(part), "{done:?}");
        }
        let met = done.err.contains("reason: a kink, an operand outside a domain or a nan was met");
        assert_eq!(met, engine != "interp", "{done:?}");
        folder.run(&["run", "jump.deo", "--kinks", "exact", "--engine", engine]).fails(
            1,
            &[
                "jump.deo:1:28: error[jump]: the function jumps where 0.0 < 0.0 is decided: from 1.0 to 0.0",
                "make the step smooth",
            ],
        );
    }
    let done = folder.run(&["run", "smooth.deo", "--kinks", "exact", "-v"]);
    assert!(done.err.contains("engine: jit\n"), "{done:?}");
    let expression = "grad(fn (x, y) -> max(x, y) + min(x, y))(1.0, 1.0)";
    folder.run(&["eval", expression, "--kinks", "exact"]).prints("(1.0, 1.0)");
}

#[test]
fn intervals_contain_exact_values_and_derivatives() {
    let folder = Folder::new()
        .with(
            "a.deo",
            "def main({x, ys}: {x: Real, ys: []Real}) = (x * x, map(fn y -> 2.0 * y, ys))\n\
             def cube(x: Real) = x ^ 3\ndef branch(x: Real) = if x < 1.0 then x else 2.0\n",
        )
        .with("ys.json", "[1, \"2.0..3.0\"]");
    let run = |args: &[&str]| folder.run(&[&["run", "a.deo"], args].concat());
    run(&["--enclose", "--arg", "x=1.0..2.0", "--arg", "ys=[1, \"0.5+-0.25\"]"])
        .prints("(1.0..4.0, [2.0, 0.5..1.5])");
    run(&["--enclose", "--json", "--arg", "x=-1.0..2.0", "--arg", "ys=ys.json"])
        .prints(r#"["0.0..4.0",[2.0,"4.0..6.0"]]"#);
    for none in ["x=2.0..1.0", "x=nan..1.0", "x=1.0+--0.5", "x=0.5.."] {
        run(&["--enclose", "--arg", "ys=[]", "--arg", none])
            .fails(1, &["is no interval", "LOWER..UPPER"]);
    }
    folder.run(&["eval", "0.5 + 0.25", "--enclose"]).prints("0.75");
    folder
        .run(&["eval", "1.0 / 3.0", "--enclose"])
        .prints("0.3333333333333333..0.3333333333333334");
    let grad =
        |args: &[&str]| folder.run(&[&["grad", "a.deo", "cube", "--enclose"], args].concat());
    grad(&["--at", "1.0..2.0"]).prints("value     1.0..8.0\ngradient  3.0..12.0");
    grad(&["--at", "1.0..2.0", "--json"]).prints(r#"{"value":"1.0..8.0","gradient":"3.0..12.0"}"#);
    grad(&["--at", "1.0..2.0", "--jet", "1,2"]).prints(
        "value      1.0..8.0\nvariables  the argument\n(0)  1.0..8.0\n(1)  3.0..12.0\n(2)  6.0..12.0",
    );
    folder.run(&["grad", "a.deo", "branch", "--enclose", "--at", "0.5..1.5"]).fails(
        1,
        &["a.deo:3:26: error[undecided]: 0.5..1.5 < 1.0 is not decided", "narrower intervals"],
    );
    folder
        .run(&["grad", "a.deo", "branch", "--enclose", "--at", "1"])
        .fails(1, &["error[kink]: 1.0 < 1.0 may have no derivative"]);
    run(&["--arg", "x=1.0..2.0", "--arg", "ys=[]"]).fails(1, &["is an interval", "--enclose"]);
    folder.run(&["grad", "a.deo", "cube", "--at", "1..2"]).fails(2, &["is an interval"]);
    grad(&["--at", "1..2", "--check"]).fails(2, &["--check", "--enclose"]);
    run(&["--enclose", "--kinks", "warn"]).fails(2, &["--kinks", "--enclose"]);
    run(&["--enclose", "--engine", "jit"]).fails(2, &["`--engine jit` has no `--enclose`"]);
    run(&["--enclose", "--arg", "x=2.0..1.0", "--arg", "ys=[]"]).fails(1, &["x: Real"]);
}

#[test]
fn a_parameter_of_a_maybe_type_may_be_left_out() {
    let folder = Folder::new().with(
        "a.deo",
        "def main({a, m}: {a: Real, m: Maybe[Real]}) = (a, m)\n\
         def f({a, m}: {a: Real, m: Maybe[Real]}) = a * from_maybe(3.0, m)\n",
    );
    folder.run(&["run", "a.deo", "--arg", "a=1"]).prints("(1.0, Nothing)");
    folder.run(&["run", "a.deo", "--arg", "a=1", "--arg", "m=2"]).prints("(1.0, Just(2.0))");
    folder.run(&["run", "a.deo", "--arg", "m=2"]).fails(2, &["`a: Real` of `main` is missing"]);
    folder.run(&["run", "a.deo", "--arg", "a=1", "--arg", "n=2"]).fails(2, &["no parameter `n`"]);
    folder
        .run(&["grad", "a.deo", "f", "--at", "a=2", "--json"])
        .prints(r#"{"value":6.0,"gradient":{"a":3.0,"m":{"Nothing":null}}}"#);
}
