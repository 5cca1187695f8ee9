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

const DAYS: &str = "day,t,rain,n,wet,with blank\n\
a,1.5,,3,yes,1\nb,2.5,0.5,4,no,2\nb,-4,1.5,5,no,3\nc,1e7,NA,6,yes,4\nd,0,2,7,no,5\ne,3,0,8,no,6\n";

#[test]
fn data_are_constants_of_a_session() {
    let folder = Folder::new().with("days.csv", DAYS);
    let input = "\
:data days = days.csv
sum([day.t for day in days])
let wet = [day for day in days if day.wet]
length(wet)
:look days
:data only: []{t: Real} = days.csv
only[1]
:data days = days.csv:na=1.5
days[2].rain
:data xs = [1, 2.5]
let old = fn () -> xs[0]
:data xs = [3, 2.5]
(xs, old())
";
    let done = folder.run_with(&["repl"], input);
    assert_eq!((done.status, done.err.as_str()), (0, ""), "{done:?}");
    let ty = "{day: String, n: Int, rain: Maybe[Real], t: Real, wet: Bool, \"with blank\": Int}";
    let expected = format!(
        "\
days : []{ty}
10000003.0
wet : []{ty}
2
6 rows

column      type         missing  min          25 %   median  75 %   max
day         String       0        5 different
t           Real         0        -4           0.375  2       2.875  10000000
rain        Maybe[Real]  2        0            0.375  1       1.625  2
n           Int          0        3            4.25   5.5     6.75   8
wet         Bool         0        2 true
with blank  Int          0        1            2.25   3.5     4.75   6

day  t         rain  n  wet    with blank
a    1.5       ·     3  true   1
b    2.5       0.5   4  false  2
b    -4        1.5   5  false  3
c    10000000  ·     6  true   4
d    0         2     7  false  5
…
only : []{{t: Real}}
{{t = 2.5}}
days : []{}
Nothing
xs : []Real
old : () -> Real
xs : []Real
([3.0, 2.5], 1.0)
",
        ty.replace("t: Real", "t: Maybe[Real]")
    );
    assert_eq!(done.out, expected);
}

#[test]
fn a_parameter_of_main_gives_data_its_type() {
    let model = "type Day = {t: Real, n: Real}\n\
        def main({days}: {days: [n]Day}) = sum([day.n for day in days])\n";
    let folder = Folder::new().with("days.csv", DAYS).with("m.deo", model);
    let args = ["repl", "m.deo", "--arg", "days=days.csv", "--arg", "rate=0.5"];
    let done = folder.run_with(&args, "main({days = days}) + rate\n");
    assert_eq!((done.status, done.err.as_str()), (0, ""), "{done:?}");
    let tail = "days : [n]Day\nrate : Real\n33.5\n";
    assert!(done.out.ends_with(tail), "{}", done.out);
}

#[test]
fn data_that_are_not_read_are_told() {
    let folder = Folder::new().with("days.csv", DAYS);
    for (input, said) in [
        (":data x = none.csv", "cannot read `x: []{…}` from none.csv: there is no such file"),
        (":data x = hello", "help: say the type, as in `:data x: []{x: Real} = hello`"),
        (
            ":data x: []{rain: Real} = days.csv",
            "column 3 (`rain`) must be of type `Real`, but it is empty",
        ),
        (":data days.csv", "write `:data table = points.csv`"),
        (":data x: []Reel = days.csv", "Reel"),
        (":look [1.0]", "`:look` needs a table, and this is []Real"),
    ] {
        let done = folder.run_with(&["repl"], &format!("{input}\n1 + 1\n"));
        assert!(done.status == 1 && done.err.contains(said), "{input}: {done:?}");
        assert_eq!(done.out, "2\n", "{input}");
    }
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

#[test]
fn a_constant_is_computed_once() {
    let input = "\
let data = trace(\"computed\", [sin(real(i)) for i < 5])
data[1] == sin(1.0)
sum(data) - data[2]
let scaled = {by = trace(\"scaled\", 2.0), data = data}
scaled.by * scaled.data[1]
grad(fn x -> x * scaled.data[1])(1.0)
:grad fn x -> x * scaled.by at 3.0
trace(\"shown\", (Just(1.5), list[true], \"a\"))
(it, data[0])
it
let data = trace(\"anew\", 7)
data + data
scaled.data[0]
let none = trace(\"none\", Nothing)
from_maybe(1, none) + 1
from_maybe(1.5, none)
from_maybe(2, none)
let empty = trace(\"empty\", [[1.0]][0..0])
length(empty)
length(empty) + 1
let long = iota(200000 + trace(\"long\", 0))[7..200000]
let other = [real(i + trace(\"other\", 1) - 1) for i in long[0..1]] ++ [real(i) for i in long[1..length(long)]]
def at(i: Int) = real(long[i]) + other[i]
map(at, [0, 1])
def back(n: Int) -> Real = if n == 0 then other[0] else back(n - 1)
grad(fn x -> x * back(3))(1.0)
(length(long), other[2], length(empty))
:grad fn x -> x * other[1] at 3.0
def held = let first = long[0] in fn x -> x * real(first)
held(2.0)
other[1]
";
    let done = Folder::new().run_with(&["repl"], input);
    assert_eq!(done.status, 0, "{done:?}");
    let lines: Vec<&str> = done.err.lines().collect();
    let labels: Vec<&str> = lines.iter().filter_map(|line| line.split(':').next()).collect();
    // A polymorphic constant has a value for each type.
    let once =
        ["computed", "scaled", "shown", "anew", "none", "none", "empty", "long", "other", "long"];
    assert_eq!(labels, once, "{}", done.err);
    for part in [
        "value     6.0\ngradient  2.0",
        "((Just(1.5), list[true], \"a\"), 0.0)\n",
        "\n14\n",
        "\n[14.0, 16.0]\n",
        "\n7.0\n(199993, 9.0, 0)\n",
        "value     24.0\ngradient  8.0",
        "held : Real -> Real\n14.0\n8.0\n",
    ] {
        assert!(done.out.contains(part), "{part}: {}", done.out);
    }
}

#[test]
fn what_let_binds_without_in_stays() {
    let input = "\
let x = 1.0
let x = x + 1.0
x
let rec fact(n: Int) -> Int = if n == 0 then 1 else n * fact(n - 1)
fact(5)
5
let (p, {q, r = _}) = trace(\"once\", (1, {q = \"a\", r = 2}))
(p, q)
it
let x(y: Real) = x * y
x(3.0)
let a = 2 let b = a + 1
a * b
let (u, v) =
  (1, 2)
u + v
let _ = 3
";
    let done = Folder::new().run_with(&["repl"], input);
    let said = "\
x : Real
x : Real
2.0
fact : Int -> Int
120
5
p : Int
q : String
(1, \"a\")
(1, \"a\")
x : Real -> Real
6.0
a : Int
b : Int
6
u : Int
v : Int
3
()
";
    assert_eq!((done.status, &*done.out), (0, said), "{done:?}");
    assert_eq!(done.err.matches("once").count(), 1, "{}", done.err);
}

#[test]
fn a_constant_that_fails_is_told_where_it_is_needed() {
    let input = "\
let bad = [1.0][3]
let long = iota(200000)
if length(long) > 3 then 1.0 else bad
bad
long[5]
1 + 1
";
    let done = Folder::new().run_with(&["repl"], input);
    let said = "bad : Real\nlong : []Int\n1.0\n5\n2\n";
    assert_eq!(done.out.replace("[200000]", "[]"), said, "{done:?}");
    assert_eq!(done.err.matches("index-out-of-bounds").count(), 1, "{}", done.err);
}

#[test]
fn plots_are_drawn_and_words_of_other_sessions_answered() {
    let input = "\
plot.line([0.0, 1.0], [2.0, 3.0])
{a = plot.hline(1.0)}
it.a
";
    let done = Folder::new().run_with(&["repl"], input);
    assert_eq!((done.status, &*done.err), (0, ""), "{done:?}");
    assert!(done.out.contains("2.0 ┤") && done.out.contains("{a = <plot: horizontal line>}"));
    let input = "it\nquit\nhelp()\na = 3; b = 4\nlet quit = 2\nquit\n";
    let done = Folder::new().run_with(&["repl"], input);
    assert_eq!((done.status, &*done.out), (1, "quit : Int\n2\n"), "{done:?}");
    for part in ["there is no `it` here", "`:quit`", "`:help`", "there are no semicolons"] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_session_has_colours_unless_there_are_to_be_none() {
    let folder = Folder::new();
    let shown = |variable: Option<(&str, &str)>, color: &str| {
        let mut command = folder.command(&["repl", "--color", color]);
        command.stdin(std::process::Stdio::inherit());
        command.env("HOME", &folder.0).env("XDG_STATE_HOME", "").env("TERM", "xterm");
        command.envs(variable);
        let mut p = rexpect::session::spawn_command(command, Some(20_000)).expect("a terminal");
        p.exp_string("> ").expect("the prompt");
        p.send_line("let x = Just(2.5) in \"text\"").expect("it is taken");
        let shown = p.exp_string("\r\n").expect("the line");
        // Before the prompt the terminal takes Ctrl-D for itself.
        p.exp_string("> ").expect("the next prompt");
        p.send_control('d').expect("it is taken");
        p.exp_eof().expect("it ends");
        shown
    };
    let plain = shown(Some(("NO_COLOR", "1")), "auto");
    assert!(!plain.contains("\x1b[34m") && plain.contains("let x = Just(2.5)"), "{plain:?}");
    assert!(!shown(None, "never").contains("\x1b[34m"));
    let colored = shown(None, "auto");
    for part in ["\x1b[34mlet", "\x1b[33mJust", "\x1b[36m2.5", "\x1b[32m\"text\""] {
        assert!(colored.contains(part), "{part:?}: {colored:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_session_edits_completes_and_is_interrupted() {
    let folder = Folder::new();
    let start = || {
        let mut command = folder.command(&["repl"]);
        command.stdin(std::process::Stdio::inherit());
        command.env("HOME", &folder.0).env("XDG_STATE_HOME", "").env("TERM", "xterm");
        command.env("NO_COLOR", "1");
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
    p.exp_string("> ").expect("the prompt");
    p.send_control('d').expect("it is taken");
    p.exp_eof().expect("it ends");
}
