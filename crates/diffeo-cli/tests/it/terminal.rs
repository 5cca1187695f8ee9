//! What is written to terminals: no escape sequences of others, no floods, no failure to write without a word.

use crate::common::{Done, Folder};
use std::fmt::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Whether a text has a character that a terminal acts on.
fn disturbs(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}')
}

#[test]
fn texts_of_programs_are_shown_without_escape_sequences() {
    let name = "a\u{1b}[31m\u{7}.deo";
    let program = "def label = trace(\"l\\u{1b}[2J\\u{9b}\\u{202e}\", \"v\\u{1b}\")
def failing: Real = fail(\"f\\u{1b}]0;x\\u{7}\")
def steps = loop x = 0.0 for i < 3 do progress(\"p\\u{1b}[1m\", i, x, x + 1.0)
def total({xs}: {xs: []Real}) = sum(xs)
";
    let folder = Folder::new().with(name, program).with("b\u{1b}.csv", "1,\u{1b}[31mx\n");
    let data = format!("xs={}", "b\u{1b}.csv");
    let fails = Folder::new().with("c\u{1b}.deo", "def main = 1 +\n# \u{1b}[31m\n");
    let commands: [&[&str]; 8] = [
        &["run", name, "--entry", "label"],
        &["run", name, "--entry", "label", "--engine", "interp"],
        &["run", name, "--entry", "label", "--engine", "trace"],
        &["run", name, "--entry", "failing"],
        &["run", name, "--entry", "steps", "-v"],
        &["check", "\u{1b}[31m.deo"],
        &["check", "--\u{1b}[31m"],
        &["run", name, "--entry", "total", "--arg", &data],
    ];
    for args in commands {
        for format in ["human", "json"] {
            let done = folder.run(&[args, &["--message-format", format]].concat());
            assert!(!disturbs(&done.err) && !done.err.is_empty(), "{args:?}: {:?}", done.err);
            assert!(!disturbs(&done.out), "{args:?}: {:?}", done.out);
        }
    }
    // Results are texts of programs, too.
    let text = "\"\\u{1b}\\u{7f}\\u{9b}\\u{202e}\"";
    folder.run(&["eval", text]).prints(text);
    folder.run(&["eval", text, "--json"]).prints("\"\\u001b\\u007f\\u009b\\u202e\"");
    for form in ["core", "flat", "low", "c", "trace", "delta"] {
        let done = folder.run(&["show", name, "--entry", "label", "--as", form]);
        assert!(!disturbs(&done.out) && !disturbs(&done.err), "{form}: {done:?}");
    }
    let done = folder.run(commands[0]);
    assert!(done.err.contains("l\\u{1b}[2J\\u{9b}\\u{202e}: \"v\\u{1b}\""), "{done:?}");
    let done = fails.run(&["check", "c\u{1b}.deo"]);
    assert!(!disturbs(&done.err) && done.err.contains("c\\u{1b}.deo:"), "{done:?}");
}

#[test]
fn a_flood_of_messages_is_cut_short() {
    let twice = "def a = 1\n".repeat(20_000);
    let mut warned = String::new();
    for i in 0..200 {
        writeln!(warned, "def a{i} = 1 / 2").expect("memory");
    }
    let mut unknown = String::new();
    for i in 0..20_000 {
        writeln!(unknown, "def name{i} = nome{i}").expect("memory");
    }
    let folder = Folder::new().with("twice.deo", twice).with("warned.deo", warned);
    let folder = folder.with("unknown.deo", unknown);
    let done = folder.run(&["check", "twice.deo"]);
    done.fails(1, &["error[more]: and 19949 more errors\n"]);
    assert_eq!(done.err.matches("error[").count(), 51);
    let done = folder.run(&["check", "twice.deo", "--message-format", "json"]);
    assert_eq!((done.status, done.err.lines().count()), (1, 51));
    let done = folder.run(&["check", "warned.deo"]);
    assert_eq!((done.status, done.err.matches("warning[").count()), (0, 51), "{}", done.err);
    assert!(done.err.contains("and 150 more warnings"), "{}", done.err);
    // Names that may have been meant are looked for as long as they are shown.
    let done = folder.run(&["check", "unknown.deo", "--timeout", "10"]);
    done.fails(1, &["did you mean `name0`?", "error[more]: and 19950 more errors\n"]);
}

#[cfg(unix)]
#[test]
fn a_run_ends_even_if_nobody_reads_its_messages() {
    let flood = "def main = loop x = 0.0 while x >= 0.0 do trace(\"x\", x + 1.0)\n";
    let folder =
        Folder::new().with("flood.deo", flood).with("many.deo", "def a = 1\n".repeat(9000));
    for args in [
        &["run", "flood.deo", "--engine", "interp"][..],
        &["run", "flood.deo", "--engine", "jit"],
        &["check", "many.deo", "many.deo", "many.deo", "many.deo", "many.deo", "many.deo"],
    ] {
        let start = Instant::now();
        let child =
            folder.command(&[args, &["--timeout", "1"]].concat()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let unread = child.stderr.take();
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(1), "{args:?}");
        assert!(start.elapsed() < Duration::from_secs(3), "{args:?}: {:?}", start.elapsed());
        drop(unread);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let folder = Folder::new().with("a.deo", "def main = trace(\"a\", 1)\n");
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("a full device");
    for args in [
        &["--help"][..],
        &["--version"],
        &["help", "run"],
        &["run", "--help"],
        &["run", "a.deo"],
        &["show", "a.deo", "--as", "ast"],
        &["eval", "1", "--json"],
        &["fmt", "-"],
        &["completions", "bash"],
        &["man"],
    ] {
        let mut command = folder.command(args);
        let input = std::fs::File::open(folder.0.join("a.deo")).expect("the program");
        let done = Done::new(&command.stdin(input).stdout(full()).output().expect("it starts"));
        assert_eq!(done.status, 1, "{args:?}: {done:?}");
        assert!(done.err.contains("error[output]"), "{args:?}: {done:?}");
    }
    // What is said on standard error is wanted, too.
    for args in [&["run", "a.deo"][..], &["eval", "1", "-v"], &["eval", "1", "--verbose"]] {
        let done = folder.command(args).stderr(full()).output().expect("it starts");
        assert_eq!(done.status.code(), Some(1), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded_while_a_program_is_checked() {
    let folder =
        Folder::new().with("a.deo", format!("def main = [{}]\n", "1.5, ".repeat(3_000_000)));
    for megabytes in [50, 100, 300] {
        let bound = format!("{megabytes}M");
        let mut command = folder.command(&["check", "a.deo", "--max-memory", &bound]);
        let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
        let mut peak = 0;
        while child.try_wait().expect("it is ours").is_none() {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
            let status = status.unwrap_or_default();
            let now = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let now =
                now.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
            peak = peak.max(now.unwrap_or(0));
        }
        assert_eq!(child.wait().expect("it has ended").code(), Some(1));
        // Up to a tenth more: each thread counts in steps.
        let kilobytes = megabytes * 1_000_000 / 1024;
        assert!((kilobytes / 2..kilobytes * 11 / 10).contains(&peak), "{bound}: {peak} kB");
    }
}
