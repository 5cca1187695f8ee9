//! Sessions: from a pipe, and on a pseudo-terminal.

use crate::common::Folder;

const MODEL: &str =
    "## The square of a distance.\n##   > gap(3.0)\n##   4.0\ndef gap(x: Real) = sq(x - 1.0)\n";

#[test]
fn a_piped_session_evaluates_and_defines() {
    let folder = Folder::new().with("model.deo", MODEL);
    let input = "\
# A comment, then an expression on two lines.
1 +
  2
let k = 3.0
f(x: Real) = k * x ^ 2
f(2.0)
it + 1.0
def k = 100.0
f(2.0)
k
type Shape = Round(Real) | Flat
Round(1.5)
fn x -> x * 2.0
linalg.det([[2.0, 0.0], [0.0, 3.0]])
:type map
:grad f at 2.0
:grad f(3.0)
:load model.deo
gap(3.0)
:doc gap
:doc cumsum
k + 1.0
import text (upper)
upper(\"done\")
";
    let done = folder.run_with(&["repl"], input);
    assert_eq!((done.status, done.err.as_str()), (0, ""), "{done:?}");
    let expected = "\
3
k : Real
f : Real -> Real
12.0
13.0
k : Real
12.0
100.0
Round(1.5)
a function: Real -> Real
6.0
(a -> b, [n]a) -> [n]b
value     12.0
gradient  12.0
value     27.0
gradient  18.0
gap : Real -> Real
4.0
gap : Real -> Real
  The square of a distance.
  > gap(3.0)
  4.0
cumsum(xs: [n]vec) -> [n]vec
";
    let lines: Vec<&str> = done.out.lines().collect();
    let head: Vec<&str> = expected.lines().collect();
    assert_eq!(lines[..head.len()], head[..], "{}", done.out);
    assert_eq!(lines[lines.len() - 2..], ["101.0", "\"DONE\""], "{}", done.out);
}

#[test]
fn errors_leave_the_session_as_it_was() {
    let folder = Folder::new().with("bad.deo", "def broken = 1 + true\n");
    let input = "\
let x = 2.0
let x = true + 1
y
[1, 2][7]
:load bad.deo
:load none.deo
:nonsense
:grad x
:type
let y =

x * 10.0
";
    let done = folder.run_with(&["repl"], input);
    assert_eq!((done.status, done.out.as_str()), (1, "x : Real\n20.0\n"), "{done:?}");
    for part in [
        "<input>:1:14: error[type-mismatch]",
        "there is no `y` here",
        "error[index-out-of-bounds]",
        "bad.deo:1:",
        "none.deo",
        "there is no `:nonsense`",
        "`:grad` needs a function and a point",
        "`:type` needs EXPR",
    ] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
}

#[test]
fn a_file_is_read_anew() {
    let folder = Folder::new().with("a.deo", "def a = 1\n");
    let done = folder.run_with(&["repl", "a.deo"], "a\n:quit\nnot reached\n");
    assert_eq!((done.status, done.out.as_str()), (0, "a : Int\n1\n"), "{done:?}");
}

#[test]
fn a_run_has_a_time() {
    let folder = Folder::new();
    let input = "loop x = 0.0 while x >= 0.0 do x + 1.0\n1 + 1\n";
    let done = folder.run_with(&["repl", "--timeout", "0.3"], input);
    assert_eq!((done.status, done.out.as_str()), (1, "2\n"), "{done:?}");
    assert!(done.err.contains("error[timeout]"), "{}", done.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_session_edits_completes_and_is_interrupted() {
    let folder = Folder::new();
    let start = || {
        let mut command = folder.command(&["repl"]);
        command.stdin(std::process::Stdio::inherit());
        command.env("HOME", &folder.0).env("XDG_STATE_HOME", "").env("TERM", "xterm");
        rexpect::session::spawn_command(command, Some(20_000)).expect("a terminal")
    };
    let typed = |p: &mut rexpect::session::PtySession, keys: &str| {
        p.send(keys).and_then(|_| p.flush()).expect("it is taken");
    };
    let mut p = start();
    let mut said = |text: &str, answer: &str| {
        p.send_line(text).expect("it is taken");
        p.exp_string(answer).unwrap_or_else(|e| panic!("{text}: {e}"));
    };
    said("20 + 22", "42");
    // Several lines are one input.
    said("let area(r: Real) =", "");
    said("  pi * r ^ 2", "area : Real -> Real");
    said("area(10.0)", "314.1592653589793");
    // What is wrong is said, and the session goes on.
    said("aera(10.0)", "did you mean `area`");
    // A run is interrupted, and the session goes on.
    said("loop x = 0.0 while x >= 0.0 do x + 1.0", "\n");
    std::thread::sleep(std::time::Duration::from_millis(400));
    p.send_control('c').expect("it is taken");
    p.exp_string("error[interrupted]").expect("the run ends");
    p.send_line("6.0 * 7.5").expect("it is taken");
    p.exp_string("45.0").expect("the session goes on");
    // Ctrl-C leaves a line alone. What is typed before the prompt may be lost.
    p.exp_string("> ").expect("the prompt");
    typed(&mut p, "1 + 1");
    p.exp_string("1 + 1").expect("the echo");
    p.send_control('c').expect("it is taken");
    p.exp_string("> ").expect("the prompt");
    // A name is completed.
    typed(&mut p, "text.form\t(1, 2.25)\n");
    p.exp_string("\"2.2\"").expect("the completed name");
    p.exp_string("> ").expect("the prompt");
    typed(&mut p, ":doc linalg.sol\x15:time 30.0 * 3.5\n");
    p.exp_string("105.0").expect("the value");
    p.exp_string(" to compile and run").expect("the time");
    p.exp_string("> ").expect("the prompt");
    p.send_control('d').expect("it is taken");
    p.exp_eof().expect("Ctrl-D ends the session");
    // The next session remembers.
    let mut p = start();
    p.exp_string("> ").expect("the prompt");
    for _ in 0..2 {
        typed(&mut p, "\x1b[A");
    }
    typed(&mut p, "\n");
    p.exp_string("\"2.2\"").expect("the remembered line");
    p.send_control('d').expect("it is taken");
    p.exp_eof().expect("it ends");
}
