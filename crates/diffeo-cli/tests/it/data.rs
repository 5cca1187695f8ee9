//! Data through files, pipes and the standard streams.

use crate::common::Folder;
use std::io::Write;
use std::process::Stdio;

const SUM: &str = "def main({x}: {x: [n]Real}) = (n, sum(x))\n";
const SAME: &str = "def main({x}: {x: [n]{a: Int, b: Maybe[Real]}}) = x\n";

#[test]
fn standard_input_is_read_in_the_format_that_is_named() {
    let folder = Folder::new()
        .with("sum.deo", SUM)
        .with("two.deo", "def main({x, y, name}: {x: Real, y: Real, name: String}) = x + y\n");
    for (text, input) in [
        ("-:csv", "1\n2\n"),
        ("-:csv:skip=1", "x\n1\n2\n"),
        ("-:json", "[1, 2]"),
        ("/dev/stdin:json", "[1, 2]"),
        ("./standard-input:tsv", "1\n2\n"),
    ] {
        folder
            .run_with(&["run", "sum.deo", "--arg", &format!("x={text}")], input)
            .prints("(2, 3.0)");
    }
    folder
        .run_with(&["run", "sum.deo", "--arg", "x=-:csv"], "1\nx\n")
        .fails(1, &["error[data]", "standard input:2: column 1 must be of type `Real`, found `x`"]);
    folder
        .run_with(&["run", "sum.deo", "--arg", "x=-:csv"], "a\n1\n")
        .fails(1, &["standard input:1:", "`-:csv:header=yes`"]);
    folder
        .run_with(&["run", "sum.deo", "--arg", "x=-"], "1\n")
        .fails(2, &["the name `-` tells no format", "`-:csv`"]);
    let both = ["run", "two.deo", "--arg", "x=-:json", "--arg", "y=-:json", "--arg", "name=-:json"];
    folder.run_with(&both, "1").fails(2, &["`x` and `y` are both to be read from standard input"]);
}

#[test]
fn an_unknown_format_or_option_is_wrong_usage() {
    let folder = Folder::new()
        .with("sum.deo", SUM)
        .with("f.deo", "def f(x: [n]Real) = sum(x)\n")
        .with("x.csv", "1\n")
        .with("x.log", "1\n");
    for (place, message) in [
        ("x.csv:skip=x", "`:skip=x` is no value of the option `skip`"),
        ("x.csv:decimal=comma", "the comma is the separator and the decimal sign at once"),
        ("x.csv:skip=0:skip=0", "the option `skip` is given twice"),
        ("x.csv:foo=1", "`:foo=1` is no option of a CSV file"),
        ("-:xml", "`xml` is no format"),
        ("x.log:xml", "`xml` is no format"),
        ("x.log", "the name `x.log` tells no format"),
    ] {
        let arg = format!("x={place}");
        folder.run(&["run", "sum.deo", "--arg", &arg]).fails(2, &["error[data]", message]);
        folder.run(&["grad", "f.deo", "f", "--at", place]).fails(2, &["error[data]", message]);
    }
    folder
        .run(&["run", "sum.deo", "--arg", "x=x.csv", "--out", "-:csv:skip=1"])
        .fails(2, &["`:skip=1` has no meaning for a result"]);
}

#[test]
fn input_through_a_pipe_is_read_to_its_end() {
    let folder = Folder::new().with("sum.deo", SUM);
    let mut child = folder
        .command(&["run", "sum.deo", "--arg", "x=-:csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    for _ in 0..100 {
        // In pieces that end within a line.
        input.write_all(b"1\n2\n3").and_then(|()| input.flush()).expect("it is read");
        input.write_all(b".5\n").expect("it is read");
    }
    drop(input);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "(300, 650.0)\n");
}

#[test]
fn reading_keeps_to_the_bounds() {
    let folder = Folder::new().with("sum.deo", SUM).with("x.csv", "1\n".repeat(8_000_000));
    folder
        .run(&["run", "sum.deo", "--arg", "x=x.csv", "--max-memory", "40M"])
        .fails(1, &["error[out-of-memory]", "was allowed 40 MB, while reading `x`"]);
    let mut child = folder
        .command(&["run", "sum.deo", "--arg", "x=-:csv", "--timeout", "0.2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    // Without an end, in steps that let the program wait.
    while input.write_all(b"1\n").is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let output = child.wait_with_output().expect("the program ends");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("error[timeout]") && message.contains("reading"), "{message}");
}

#[test]
fn results_go_where_they_are_wanted() {
    let folder = Folder::new().with("same.deo", SAME).with("t.csv", "a,b\n1,\n2,0.5\n");
    let run = |out: &str| folder.run(&["run", "same.deo", "--arg", "x=t.csv", "--out", out]);
    run("-:csv").prints("a,b\n1,\n2,0.5");
    run("-:tsv").prints("a\tb\n1\t\n2\t0.5");
    run("o.csv.gz").prints("");
    let again = ["run", "same.deo", "--arg", "x=o.csv.gz", "--json"];
    folder.run(&again).prints(r#"[{"a":1,"b":{"Nothing":null}},{"a":2,"b":{"Just":0.5}}]"#);
    run("o.log").fails(2, &["`--out o.log` ends in none of", "`--out o.log:csv`"]);
    run("o.log:json").prints("");
    let text = std::fs::read_to_string(folder.0.join("o.log")).expect("the result");
    assert_eq!(text, "[{\"a\":1,\"b\":{\"Nothing\":null}},{\"a\":2,\"b\":{\"Just\":0.5}}]\n");
    run("o.npz").fails(1, &["an NPZ file cannot hold a value of type"]);
    // The same file may be read and replaced.
    run("t.csv").prints("");
    let text = std::fs::read_to_string(folder.0.join("t.csv")).expect("the result");
    assert_eq!(text, "a,b\n1,\n2,0.5\n");
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_to_and_failures_have_status_1() {
    let folder = Folder::new().with("a.deo", "def main = [i for i < 100000]\n");
    let done = folder.run(&["run", "a.deo", "--out", "/dev/stdout:csv"]);
    assert_eq!((done.status, done.out.lines().count()), (0, 100_000));
    folder
        .run(&["run", "a.deo", "--out", "/dev/full:csv"])
        .fails(1, &["error[data]: cannot write /dev/full: there is no space left\n"]);
    for args in [&["run", "a.deo", "--json"][..], &["run", "a.deo", "--out", "-:json"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("the device");
        let output = folder.command(args).stdout(full).output().expect("the program starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("there is no space left"), "{message}");
    }
}

#[test]
fn a_reader_of_the_result_may_stop_early() {
    let folder = Folder::new().with("a.deo", "def main = [i for i < 1000000]\n");
    let mut child = folder
        .command(&["run", "a.deo", "--out", "-:csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_record_of_arrays_is_a_file_of_arrays() {
    let folder = Folder::new().with(
        "a.deo",
        "def main({m}: {m: {w: [n][k]Real, b: [n]Real}}) = {b = 2.0 * m.b, rows = n, w = m.w}\n",
    );
    let json = r#"m={"w": [[1, 2], [3, 4]], "b": [0.5, 1]}"#;
    folder.run(&["run", "a.deo", "--arg", json, "--out", "m.npz"]).prints("");
    folder
        .run(&["run", "a.deo", "--arg", "m=m.npz", "--json"])
        .prints(r#"{"b":[2.0,4.0],"rows":2,"w":[[1.0,2.0],[3.0,4.0]]}"#);
}

#[test]
fn fields_of_any_name_are_read_and_written() {
    let program = r#"type Row = {"Dose (µM)": Real, type: Int}
type Given = {"Dose (µM)": Real, "a=b": Real, Rows: []Row}
def main({"Dose (µM)" = d, "a=b" = e, Rows = rows}: Given) = {"sum of" = d + e, Rows = rows}
"#;
    let f = r#"def f({"Dose (µM)" = d, Age = a}: {"Dose (µM)": Real, Age: Real}) = d * a
"#;
    let folder = Folder::new()
        .with("any.deo", program)
        .with("rows.csv", "type,Dose (µM)\n1,0.5\n2,1.5\n")
        .with("f.deo", f);
    let arguments =
        ["run", "any.deo", "--arg", "Dose (µM)=3", "--arg", r#""a=b"=1"#, "--arg", "Rows=rows.csv"];
    folder.run(&arguments).prints(
        r#"{Rows = [{"Dose (µM)" = 0.5, type = 1}, {"Dose (µM)" = 1.5, type = 2}], "sum of" = 4.0}"#,
    );
    folder
        .run(&[&arguments[..], &["--json"]].concat())
        .prints(r#"{"Rows":[{"Dose (µM)":0.5,"type":1},{"Dose (µM)":1.5,"type":2}],"sum of":4.0}"#);
    folder.run(&["run", "any.deo", "--arg", "Rows=[]", "--arg", r#""a=b"=1"#]).fails(
        2,
        &[r#"the parameter `"Dose (µM)": Real` of `main` is missing"#, "`--arg 'Dose (µM)'=…`"],
    );
    folder
        .run(&["run", "any.deo", "--arg", "Rows=[]", "--arg", "Dose (µM)=1"])
        .fails(2, &[r#"`--arg '"a=b"'=…`"#]);
    let done = folder.run(&["grad", "f.deo", "f", "--at", "Dose (µM)=3", "--at", "Age=2"]);
    assert!(done.status == 0 && done.out.contains(r#""Dose (µM)""#), "{} {}", done.out, done.err);
}

const FIT: &str = "\
type Point = {time: Real, level: Real}
def curve(k: Real) -> [3]Point = [{level = exp(-k * t), time = t} for t in [0.0, 1.0, 2.0]]
def main({k}: {k: Real}) = {curve = curve(k), fit = {rate = k, name = \"decay\"}, report = \"k = \" ++ show(k) ++ \"\\n\"}
";

#[test]
fn fields_of_a_result_go_to_files_of_their_own() {
    let folder = Folder::new().with("fit.deo", FIT);
    let text = |name: &str| std::fs::read_to_string(folder.0.join(name)).expect("a file");
    let run = |outs: &[&str]| {
        let mut args = vec!["run", "fit.deo", "--arg", "k=0"];
        outs.iter().for_each(|out| args.extend(["--out", out]));
        folder.run(&args)
    };
    run(&["curve=curve.csv", "fit=fit.json", "report=report.txt", "all.json"]).prints("");
    // As the type is declared, not by name.
    assert_eq!(text("curve.csv"), "time,level\n0.0,1.0\n1.0,1.0\n2.0,1.0\n");
    assert_eq!(text("fit.json"), "{\"name\":\"decay\",\"rate\":0.0}\n");
    assert_eq!(text("report.txt"), "k = 0.0\n");
    assert!(text("all.json").starts_with("{\"curve\":[{\"level\":1.0"));
    run(&["report=-:txt"]).prints("k = 0.0");
    run(&["fit.rate=-:json"]).prints("0.0");
    let files = || std::fs::read_dir(&folder.0).expect("the folder").count();
    let before = files();
    for (outs, status, words) in [
        (
            &["curv=c.csv"][..],
            2,
            &["has no field `curv`", "`curve`, `fit`, `report`", "did you mean `curve`?"][..],
        ),
        (
            &["curve=c.csv", "fit=c.csv:json"],
            2,
            &["`--out curve=c.csv` and `--out fit=c.csv:json` write to the same place"],
        ),
        (&["curve=c.csv", "./c.csv:json"], 2, &["write to the same place"]),
        (&["fit.rat=r.json"], 2, &["the result of `main` has no field `fit.rat`"]),
        (&["curve=c.xyz"], 2, &["ends in none of"]),
        (&["curve=c.xlsx"], 2, &["an Excel file can be read, but not written"]),
        (&["curve=c.csv:sep=tab"], 2, &["`:sep=tab` has no meaning for a result"]),
        (&["c.csv:sep=tab"], 2, &["`:sep=tab` has no meaning for a result"]),
        (&["curve=c.csv", "fit=fit.npy"], 1, &["an NPY file cannot hold"]),
        (&["curve=c.csv", "fit=none/fit.json"], 1, &["there is no such folder"]),
    ] {
        run(outs).fails(status, words);
        assert_eq!(files(), before, "{outs:?}");
    }
    folder.with("one.deo", "def main = 1.5\n").run(&["run", "one.deo", "--out", "x=x.json"]).fails(
        2,
        &["the result of `main` is no record, but `--out x=x.json` asks for its field `x`"],
    );
}

#[test]
fn columns_stand_as_the_program_declares_them() {
    for (program, header) in [
        ("def main = [{b = 1, a = 2}]\n", "b,a"),
        ("type T = {b: Int, c: Int, a: Int}\ndef main = [{a = 1, b = 2, c = 3}]\n", "b,c,a"),
        // The type that the definition names comes before others with the same fields.
        (
            "type T = {a: Int, b: Int}\ntype U = {b: Int, a: Int}\ndef main() -> [1]U = [{a = 1, b = 2}]\n",
            "b,a",
        ),
        ("def main() -> {b: [1]Int, a: [1]Int} = {a = [1], b = [2]}\n", "b,a"),
        ("def row(x: Int) = {b = x, a = x}\ndef main = map(row, [1])\n", "b,a"),
    ] {
        let folder = Folder::new().with("a.deo", program);
        let printed = folder.run(&["run", "a.deo", "--out", "-:csv"]).out;
        assert_eq!(printed.lines().next(), Some(header), "{program}");
    }
    let program = "type Row = {dose: Real, count: Int}\ndef main({t}: {t: [n]Row}) = t[0].dose\n";
    let folder = Folder::new().with("a.deo", program).with("t.csv", "1.5,2\n");
    folder.run(&["run", "a.deo", "--arg", "t=t.csv:header=no"]).prints("1.5");
}

#[test]
fn types_with_the_same_fields_keep_their_own_orders() {
    let types = "type A = {x: Int, y: Int}\ntype B = {y: Int, x: Int}\n\
                 def a(n: Int) -> [n]A = [{x = 1, y = 2} for i < n]\n\
                 def b(n: Int) -> [n]B = [{x = 1, y = 2} for i < n]\n";
    for main in [
        "def main: {a: [1]A, b: [1]B} = {a = a(1), b = b(1)}",
        "type Both = {a: [1]A, b: [1]B}\ndef main: Both = {a = a(1), b = b(1)}",
        "def main = {a = a(1), b = b(1)}",
        "def main = let (x: [1]A, y: [1]B) = (a(1), b(1)) in let c = b(1) in {a = a(1), b = c}",
        "def main = {a = [{x = 1, y = 2}], b = [{y = 2, x = 1}]}",
    ] {
        let folder = Folder::new().with("a.deo", format!("{types}{main}\n"));
        folder.run(&["run", "a.deo", "--out", "a=a.csv", "--out", "b=b.csv"]).prints("");
        let read = |name: &str| std::fs::read_to_string(folder.0.join(name)).expect("a file");
        assert_eq!((&*read("a.csv"), &*read("b.csv")), ("x,y\n1,2\n", "y,x\n2,1\n"), "{main}");
    }
    let main = "def main({a, b}: {a: [n]A, b: [n]B}) = (a[0].x, b[0].x)\n";
    let folder = Folder::new().with("a.deo", format!("{types}{main}")).with("t.csv", "1,2\n");
    folder
        .run(&["run", "a.deo", "--arg", "a=t.csv:header=no", "--arg", "b=t.csv:header=no"])
        .prints("(1, 2)");
}

#[test]
fn the_type_of_a_table_says_its_order_not_another_of_the_same_fields() {
    let types = "type A = {x: Real, y: Real}\ntype B = {y: Real, x: Real}\n";
    for (main, value, written) in [
        ("def use(t: [n]B) = t[0].x\ndef main({table}) = use(table)", "2.0", None),
        ("def use(t: [n]A) = t[0].x\ndef main({table}) = use(table)", "1.0", None),
        ("def use(t: [n]{y: Real, x: Real}) = t[0].x\ndef main({table}) = use(table)", "2.0", None),
        (
            "def main({table}: {table: Maybe[[n]B]}) = case table of { Just(t) -> t[0].x | Nothing -> 0.0 }",
            "2.0",
            None,
        ),
        (
            "def same(t: [n]B) = t\ndef main({table}) = {t = same(table)}",
            "",
            Some("y,x\n1.0,2.0\n"),
        ),
        (
            "def same(t: [n]A) = t\ndef main({table}) = {t = same(table)}",
            "",
            Some("x,y\n1.0,2.0\n"),
        ),
        ("def main({table}: {table: [n]A}) = {t = let (s: [n]B) = table in s}", "", Some("y,x\n2.0,1.0\n")),
    ] {
        let folder = Folder::new().with("a.deo", format!("{types}{main}\n")).with("t.csv", "1,2\n");
        let out: &[&str] = if written.is_some() { &["--out", "t=o.csv"] } else { &[] };
        let args = [&["run", "a.deo", "--arg", "table=t.csv:header=no"], out].concat();
        folder.run(&args).prints(value);
        if let Some(written) = written {
            let found = std::fs::read_to_string(folder.0.join("o.csv")).expect("a file");
            assert_eq!(found, written, "{main}");
        }
    }
}

#[test]
fn tables_of_the_book_are_read_by_the_program() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/data");
    let folder = Folder::new()
        .with("n.deo", "def main({t}: {t: [n]{dose_um: Real}}) = [r.dose_um for r in t]\n");
    let read = |place: &str| folder.run(&["run", "n.deo", "--arg", &format!("t={data}/{place}")]);
    read("doses.csv:sep=semicolon:decimal=comma:encoding=latin-1")
        .prints("[0.1, 0.3, 1.0, 3.0, 10.0]");
    read("lab.xlsx:skip=2").prints("[0.5, 1.0, 2.0, 4.0]");
    read("doses.csv").fails(1, &["column 1 is not UTF-8", "doses.csv:encoding=latin-1`"]);
    read("doses.csv:encoding=latin-1")
        .fails(1, &["separated by semicolons", "doses.csv:encoding=latin-1:sep=semicolon`"]);
    read("doses.csv:sep=;:encoding=latin-1")
        .fails(1, &["doses.csv:2: column 1 (`Dose (µM)`)", "found `0,1`", ":decimal=comma'`"]);
    std::fs::write(folder.0.join("nd.csv"), "dose_um\nn.d.\n").expect("a file");
    let done = folder.run(&["run", "n.deo", "--arg", "t=nd.csv"]);
    done.fails(
        1,
        &[
            "found `n.d.`",
            "missing are an empty cell",
            "nd.csv:na=n.d.`, and `Maybe[Real]` as the type",
        ],
    );
    read("sensor.parquet").fails(1, &["no column `dose_um`", "`time`"]);
}
