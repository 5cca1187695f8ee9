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
        .fails(1, &["standard input:1:", "`-:csv:skip=1`"]);
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
        .with("x.txt", "1\n");
    for (place, message) in [
        ("x.csv:skip=x", "`:skip=x` is no option of a CSV file"),
        ("x.csv:foo=1", "`:foo=1` is no option of a CSV file"),
        ("-:xml", "`xml` is no format"),
        ("x.txt:xml", "`xml` is no format"),
        ("x.txt", "the name `x.txt` tells no format"),
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
    run("o.txt").fails(2, &["`--out o.txt` ends in none of", "`o.txt:csv`"]);
    run("o.txt:json").prints("");
    let text = std::fs::read_to_string(folder.0.join("o.txt")).expect("the result");
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
