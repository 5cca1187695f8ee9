//! Runs that would not end: bounds on time and memory, Ctrl-C; and messages as JSON, the account of a run.

use crate::common;
use crate::common::Folder;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

const ENDLESS_RECURSION: &str = "def down(x: Real) -> Real = 1 + down(x - 1)\ndef main = down(0)\n";
const ENDLESS_LOOP: &str = "def main =\n  loop x = 0.0 while trace(\"x\", x) >= 0 do\n    loop y = x for i < 1000 do y + 1\n";
const QUIET: &str = "def main =
  let begun = trace(\"begun\", 1.0) in
  begun + (loop x = 1.0 for i < 10000000000000 do sin(x) + 1)\n";
const ENDLESS_LIST: &str = "def grow(xs: List[Real], n: Int) -> List[Real] =
  if n < 0 then xs else grow(1.0 :: xs, n + 1)
def main = grow(Nil, 0)\n";
const DOUBLING: &str = "def main = sum(loop (xs: []Real) = [1.0] while true do xs ++ xs)\n";
const HUGE: &str = "def main = [real(i) for i < 10000000000]\n";
/// Engines that are there everywhere.
const ENGINES: [&str; 4] = ["auto", "interp", "flat", "jit"];
const TAPE: &str = "def main =\n  grad(fn x -> loop y = x while y > 0 do sin(y) + 2)(1.0)\n";

#[test]
fn time_is_bounded() {
    let folder = Folder::new()
        .with("rec.deo", ENDLESS_RECURSION)
        .with("loop.deo", ENDLESS_LOOP)
        .with("tape.deo", TAPE);
    for (file, place) in [("rec.deo", "rec.deo:1:"), ("loop.deo", "loop.deo:"), ("tape.deo", ":2:")]
    {
        for engine in ENGINES {
            // Some engines are through with 1 GiB of open calls before that.
            if file == "rec.deo" && engine != "interp" {
                continue;
            }
            let limits = ["--timeout", "0.1", "--max-memory", "8G", "--engine", engine];
            let done = folder.run(&[&["run", file][..], &limits].concat());
            done.fails(1, &["error[timeout]", "the run was allowed 0.1 s", place]);
        }
    }
}

#[test]
fn memory_is_bounded() {
    let folder = Folder::new()
        .with("rec.deo", ENDLESS_RECURSION)
        .with("list.deo", ENDLESS_LIST)
        .with("doubling.deo", DOUBLING)
        .with("huge.deo", HUGE)
        .with("tape.deo", TAPE);
    for file in ["rec.deo", "list.deo", "doubling.deo", "huge.deo", "tape.deo"] {
        for engine in ENGINES {
            // Compiled loops keep checkpoints instead.
            if file == "tape.deo" && engine != "interp" {
                continue;
            }
            let done = folder.run(&["run", file, "--max-memory", "50M", "--engine", engine]);
            done.fails(1, &["error[out-of-memory]", "the run was allowed 50 MB", file]);
        }
    }
    // Without a bound of the user's, calls may take 1 GiB.
    for engine in ENGINES {
        let done = folder.run(&["run", "rec.deo", "--engine", engine]);
        done.fails(1, &["error[too-deep]", "rec.deo:1:"]);
    }
}

/// Gradients of loops of 10^7 steps, counted and conditional: in reverse, steps keep 8 bytes.
const BACKWARDS: &str = "\
def counted(x: Real) = loop y = x for i < 10000000 do sin(y) + x
def conditional(x: Real) =
  let (y, n) = loop (y, n) = (x, 0) while n < 10000000 do (sin(y) + x, n + 1) in y
def main = (grad(counted)(0.5), grad(conditional)(0.5))
";

#[test]
fn loops_keep_checkpoints_where_memory_is_bounded() {
    let folder = Folder::new().with("a.deo", BACKWARDS);
    for engine in ["auto", "jit"] {
        let run = |bound: &[&str]| {
            let done = folder.run(&[&["run", "a.deo", "--engine", engine], bound].concat());
            assert_eq!(done.status, 0, "{done:?}");
            let numbers = done.out.trim().trim_matches(['(', ')']).split(", ");
            numbers.map(|x| x.parse().unwrap()).collect::<Vec<f64>>()
        };
        let (whole, bounded) = (run(&[]), run(&["--max-memory", "100M"]));
        assert_eq!((whole.len(), bounded.len()), (2, 2));
        for (a, b) in whole.iter().zip(&bounded) {
            assert!((a - b).abs() <= 1e-12 * a.abs(), "{whole:?} {bounded:?}");
        }
    }
    // Errors are where they were.
    let text = "def main = grad(fn x ->\n  loop y = x for i < 3000000 do\n    \
                if i == 2999999 then fail(\"late\") else sin(y) * x)(0.5)\n";
    let folder = Folder::new().with("a.deo", text);
    for bound in ["8G", "100M"] {
        let done = folder.run(&["run", "a.deo", "--engine", "jit", "--max-memory", bound]);
        done.fails(1, &["error[fail]: late", "a.deo:3:26"]);
    }
}

#[test]
fn wrong_bounds_are_refused() {
    let folder = Folder::new().with("a.deo", "def main = 1\n");
    for args in [
        ["--timeout", "0"],
        ["--timeout", "soon"],
        ["--max-memory", "much"],
        ["--max-memory", "-1"],
    ] {
        let done = folder.run(&[&["run", "a.deo"][..], &args].concat());
        assert_eq!(done.status, 2, "{done:?}");
    }
    for size in ["1000000000", "500M", "2g", "2GiB", "1.5GB"] {
        folder.run(&["run", "a.deo", "--max-memory", size]).prints("1");
    }
}

/// Runs a program, and sends it so many interruptions when it has printed a line: that line, and what follows it.
#[cfg(unix)]
fn interrupted(folder: &Folder, args: &[&str], times: usize) -> (String, String) {
    let mut child = folder
        .command(&[&["run"][..], args].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut err = BufReader::new(child.stderr.take().expect("its messages"));
    let mut line = String::new();
    err.read_line(&mut line).expect("a line of trace");
    let pid = child.id().to_string();
    for _ in 0..times {
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    }
    let mut rest = String::new();
    err.read_to_string(&mut rest).expect("the rest of the messages");
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{args:?}");
    (line, rest)
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_where_it_was() {
    let folder = Folder::new().with("loop.deo", ENDLESS_LOOP);
    for engine in ENGINES {
        let (line, rest) = interrupted(&folder, &["loop.deo", "--engine", engine], 1);
        assert_eq!(line, "x: 0.0\n");
        assert!(rest.contains("error[interrupted]") && rest.contains("loop.deo:"), "{rest}");
    }
}

#[cfg(unix)]
#[test]
fn loops_that_do_nothing_else_are_interrupted() {
    let folder = Folder::new().with("quiet.deo", QUIET);
    // The others are there on some machines only; where they are not, `auto` is `jit`.
    for engine in ENGINES.into_iter().chain(common::c_compiler().then_some("c")) {
        let (line, rest) = interrupted(&folder, &["quiet.deo", "--engine", engine], 1);
        assert_eq!(line, "begun: 1.0\n");
        assert!(rest.contains("error[interrupted]"), "{engine}: {rest}");
        // The second one ends it in any case.
        let (line, _) = interrupted(&folder, &["quiet.deo", "--engine", engine], 2);
        assert_eq!(line, "begun: 1.0\n");
    }
}

/// Whatever ends a run that is writing, the old file stays, and no other is left.
#[cfg(unix)]
#[test]
fn writing_leaves_nothing_behind() {
    let folder =
        Folder::new().with("a.deo", "def main = [[sin(real(i * j)) for j < 3000] for i < 3000]\n");
    for name in ["a.json", "a.csv.gz"] {
        for (signal, limit) in [("-INT", "9"), ("-TERM", "9"), ("", "0.4")] {
            let out = folder.0.join("out");
            std::fs::create_dir_all(&out).expect("a folder");
            std::fs::write(out.join(name), "old").expect("a file");
            let path = format!("out/{name}");
            let args = ["run", "a.deo", "--out", &path, "--timeout", limit];
            let mut child = folder.command(&args);
            let mut child =
                child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
            let files = || std::fs::read_dir(&out).expect("the folder").count();
            while !signal.is_empty() && files() == 1 {
                assert!(child.try_wait().expect("it is ours").is_none(), "{name} {signal}");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            if !signal.is_empty() {
                let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
                assert!(sent.is_ok_and(|status| status.success()));
            }
            let done = common::Done::new(&child.wait_with_output().expect("it ends"));
            let code = if signal.is_empty() { "error[timeout]" } else { "error[interrupted]" };
            done.fails(1, &[code]);
            assert_eq!(files(), 1, "{name} {signal}");
            assert_eq!(std::fs::read_to_string(out.join(name)).expect("the file"), "old");
        }
        std::fs::remove_dir_all(folder.0.join("out")).expect("the folder");
    }
}

fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn messages_can_be_json() {
    let folder = Folder::new()
        .with("a.deo", "def f(x: Int) -> Real = x\ndef g = zero +\n")
        .with("b.deo", "def main = trace(\"x\", 1.5) / log(2 - 1) + real([1, 2][2])\n");
    let done = folder.run(&["check", "a.deo", "--message-format", "json"]);
    assert_eq!(done.status, 1);
    let lines = json_lines(&done.err);
    assert_eq!(lines.len(), 2, "{lines:?}");
    let first = &lines[0];
    assert_eq!(first["severity"], "error");
    assert_eq!(first["place"]["file"], "a.deo");
    assert_eq!(first["place"]["line"], 1);
    assert!(first["code"].is_string() && first["labels"].is_array() && first["notes"].is_array());
    let done = folder.run(&["run", "b.deo", "--message-format", "json", "-v"]);
    let lines = json_lines(&done.err);
    assert_eq!(lines[0]["trace"], "x: 1.5");
    assert_eq!(lines[1]["code"], "index-out-of-bounds");
    assert_eq!(lines[2]["summary"]["engine"], "jit");
}

#[test]
fn an_account_of_the_run_is_given() {
    let folder = Folder::new().with(
        "a.deo",
        "def f(x: Real) -> Real = max(x, 1.0) + abs(x - 1)\ndef main = grad(f)(1.0)\n",
    );
    let done = folder.run(&["run", "a.deo", "--verbose", "--engine", "interp"]);
    assert_eq!((done.status, done.out.as_str()), (0, "1.0\n"));
    for part in [
        "engine: interp",
        "time: check",
        "memory: ",
        "operations: ",
        "kinks: 2 met",
        "a.deo:1:26: max(1.0, 1.0)",
    ] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
    // It does not change what is a warning.
    assert!(!done.err.contains("warning"), "{}", done.err);
    let done = folder.run(&["run", "a.deo", "-v", "--kinks", "error"]);
    done.fails(1, &["error[kink]", "engine: interp"]);
}

#[test]
fn progress_is_silent_where_nobody_watches() {
    let folder = Folder::new()
        .with("a.deo", "def main = loop x = 0.0 for i < 100 do progress(\"work\", i, x, x + 1)\n");
    let done = folder.run(&["run", "a.deo"]);
    assert_eq!((done.status, done.out.as_str(), done.err.as_str()), (0, "100.0\n", ""));
}

#[test]
fn completions_and_man_pages_are_generated() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = folder.run(&["completions", shell]);
        assert!(done.status == 0 && done.out.contains("max-memory"), "{shell}: {done:?}");
    }
    let page = folder.run(&["man"]);
    assert!(
        page.status == 0 && page.out.contains(".TH") && page.out.contains("diffeo"),
        "{page:?}"
    );
    std::fs::create_dir(folder.0.join("man1")).expect("a folder");
    assert_eq!(folder.run(&["man", "--dir", "man1"]).status, 0);
    for name in ["diffeo.1", "diffeo-run.1", "diffeo-check.1"] {
        assert!(folder.0.join("man1").join(name).exists(), "{name}");
    }
    folder.run(&["man", "--dir", "nowhere"]).fails(1, &["error[output]", "nowhere"]);
}

#[test]
fn wrong_usage_is_json_too() {
    let folder = Folder::new().with("a.deo", "def main = 1\n");
    for args in [
        &["run"][..],
        &["run", "a.deo", "--bogus"],
        &["bogus"],
        &["run", "a.deo", "--timeout", "x"],
    ] {
        let done = folder.run(&[args, &["--message-format", "json"]].concat());
        assert_eq!(done.status, 2, "{done:?}");
        let lines = json_lines(&done.err);
        assert!(lines.len() == 1 && lines[0]["code"] == "usage", "{lines:?}");
    }
    let done = folder.run(&["check", "a.deo", "-v"]);
    assert!(done.status == 0 && done.err.contains("time: check"), "{done:?}");
}
