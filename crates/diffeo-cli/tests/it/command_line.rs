//! The command line itself: help, wrong usage, files that cannot be read, where output goes.

use crate::common::Folder;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn every_command_explains_itself() {
    let folder = Folder::new();
    for command in [
        "",
        "run",
        "eval",
        "grad",
        "sample",
        "check",
        "fmt",
        "show",
        "build",
        "jupyter",
        "completions",
        "man",
    ] {
        let args: Vec<&str> = [command, "--help"].into_iter().filter(|a| !a.is_empty()).collect();
        let done = folder.run(&args);
        assert_eq!((done.status, &*done.err), (0, ""));
        assert!(done.out.contains("Example"), "{command} has examples");
        let name = if command.is_empty() { "help" } else { command };
        insta::assert_snapshot!(name, done.out);
    }
}

#[test]
fn the_version_is_printed() {
    Folder::new().run(&["--version"]).prints(concat!("diffeo ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_has_status_2() {
    let folder = Folder::new().with("a.deo", "def main = 1\n");
    for args in [
        &[][..],
        &["run"],
        &["rum", "a.deo"],
        &["run", "a.deo", "--frobnicate"],
        &["run", "a.deo", "--arg", "x"],
        &["run", "a.deo", "--arg", "=1"],
        &["run", "a.deo", "--kinks", "never"],
        &["run", "a.deo", "--out", "a.log"],
        &["run", "a.deo", "--out", "a.gz"],
        &["run", "a.deo", "--color", "blue"],
        &["grad", "a.deo"],
        &["check"],
        &["fmt"],
        &["show", "a.deo", "--as", "flat:none"],
        &["eval"],
    ] {
        let done = folder.run(args);
        assert_eq!((done.status, &*done.out), (2, ""), "{args:?}: {done:?}");
        assert!(!done.err.is_empty(), "{args:?}");
    }
}

#[test]
fn parameters_and_words_of_other_programs_are_understood() {
    let folder = Folder::new().with("a.deo", "def main({xs}: {xs: []Real}) = sum(xs)\n");
    let arg = "`--arg 'xs=[1]'` gives the parameter `xs`";
    for (args, help) in [
        (&["run", "a.deo", "--xs=[1]"][..], arg),
        (&["run", "a.deo", "--xs", "[1]"], arg),
        (&["run", "a.deo", "xs=[1]"], arg),
        (&["run", "a.deo", "--arg", "xs", "[1]"], arg),
        (&["sample", "a.deo", "--xs=[1]"], arg),
        (&["plot", "a.deo"], "`diffeo run FILE --plot PLOT.svg` draws plots"),
        (&["a.deo"], "`diffeo run a.deo` runs a program"),
        (&["run", "a.deo", "--plott", "a.svg"], "a similar argument exists: '--plot'"),
        (&["run", "a.deo", "--frobnicate"], "unexpected argument '--frobnicate'"),
    ] {
        let done = folder.run(args);
        assert!(done.status == 2 && done.err.contains(help), "{args:?}: {done:?}");
        assert!(!help.starts_with('`') || !done.err.contains("tip:"), "{args:?}: {done:?}");
    }
}

#[test]
fn programs_that_cannot_be_read_have_status_1() {
    let folder = Folder::new().with("latin.deo", b"def main = \"\xe4\"\n");
    std::fs::create_dir(folder.0.join("folder.deo")).expect("a folder");
    for (file, reason) in
        [("none.deo", "such file"), ("folder.deo", "directory"), ("latin.deo", "UTF-8")]
    {
        for command in ["run", "check", "show"] {
            folder.run(&[command, file]).fails(1, &["error[", file, reason]);
        }
        folder.run(&["grad", file, "f"]).fails(1, &["error[", file, reason]);
    }
}

#[test]
fn results_go_to_standard_output_and_messages_to_standard_error() {
    let folder = Folder::new()
        .with("good.deo", "def main = 1 + 1\n")
        .with("bad.deo", "def main = 1 + true\n");
    folder.run(&["run", "good.deo"]).prints("2");
    folder.run(&["run", "bad.deo"]).fails(1, &["bad.deo:1:", ": error[", "def main = 1 + true"]);
    folder.run(&["check", "good.deo"]).prints("");
    folder.run(&["check", "good.deo", "bad.deo"]).fails(1, &["bad.deo:1:"]);
}

#[test]
fn messages_are_coloured_only_when_asked_for() {
    let folder = Folder::new().with("bad.deo", "def main = 1 + true\n");
    let plain = folder.run(&["check", "bad.deo"]);
    assert!(!plain.err.contains('\u{1b}'), "{}", plain.err);
    let colored = folder.run(&["check", "bad.deo", "--color", "always"]);
    assert!(colored.err.contains('\u{1b}'), "{}", colored.err);
    let stripped: String = {
        let mut parts = colored.err.split('\u{1b}');
        let first = parts.next().unwrap_or("").to_string();
        parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
    };
    let lines = |text: &str| text.lines().map(|l| l.trim_end().to_string()).collect::<Vec<_>>();
    assert_eq!(lines(&stripped), lines(&plain.err));
}

#[test]
fn a_reader_that_stops_early_is_no_failure() {
    let folder = Folder::new().with("many.deo", "def main = [i for i < 300000]\n");
    let mut child = folder
        .command(&["run", "many.deo", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The pipe is closed after a few bytes of many.
    let mut out = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
    assert!(out.fill_buf().expect("some output").starts_with(b"[0,1,"));
    drop(out);
    let done = child.wait_with_output().expect("the program ends");
    assert_eq!((done.status.code(), String::from_utf8_lossy(&done.stderr)), (Some(0), "".into()));
}

#[test]
fn a_very_long_line_is_shown_in_part() {
    let text = format!("def main = [{}true]\n", "1.5, ".repeat(200_000));
    let folder = Folder::new().with("long.deo", text);
    let done = folder.run(&["check", "long.deo"]);
    done.fails(1, &["long.deo:1:", "true"]);
    assert!(done.err.lines().all(|line| line.chars().count() < 400), "{}", done.err.len());
}

#[test]
fn columns_count_characters() {
    let folder = Folder::new().with("a.deo", "# αβγ\ndef main = (\"αβγ\", unknown)\n");
    let done = folder.run(&["check", "a.deo"]);
    done.fails(1, &["a.deo:2:20: error["]);
    let lines: Vec<&str> = done.err.lines().collect();
    let source = lines.iter().find(|l| l.contains("def main")).expect("the source line");
    let carets = lines.iter().find(|l| l.contains("^^^^^^^")).expect("the carets");
    let column = |line: &str, part: &str| line.split(part).next().map(|l| l.chars().count());
    assert_eq!(column(source, "unknown"), column(carets, "^"));
}

#[test]
fn programs_are_shown_in_three_forms() {
    let folder = Folder::new().with("a.deo", "def twice(x: Real) = x + x\ndef main = twice(2.0)\n");
    for form in ["ast", "types", "core"] {
        let done = folder.run(&["show", "a.deo", "--as", form]);
        assert_eq!((done.status, &*done.err), (0, ""), "{form}: {done:?}");
        assert!(done.out.contains("twice"), "{form}: {}", done.out);
    }
    assert!(folder.run(&["show", "a.deo"]).out.contains("Real -> Real"));
    let one = folder.run(&["show", "a.deo", "twice", "--as", "core"]);
    assert!(one.status == 0 && one.out.contains("twice"), "{one:?}");
    folder.run(&["show", "a.deo", "thrice", "--as", "core"]).fails(1, &["thrice"]);
}

#[test]
fn a_form_of_one_definition_asks_for_its_name() {
    let folder = Folder::new().with("a.deo", "def loss(x: Real) = x * x\n");
    for form in ["flat", "low", "clif", "llvm", "c", "trace", "forward", "delta"] {
        let done = folder.run(&["show", "a.deo", "--as", form]);
        done.fails(
            2,
            &["name it behind the file", &format!("`diffeo show FILE ENTRY --as {form}`")],
        );
        assert!(!done.err.contains("--entry"), "{}", done.err);
    }
    folder.run(&["grad", "a.deo", "los"]).fails(1, &["did you mean `loss`?"]);
    folder.run(&["grad", "a.deo", "area"]).fails(1, &["the file defines `loss`"]);
    folder.run(&["run", "a.deo"]).fails(1, &["the file defines `loss`", "`--entry NAME`"]);
}

#[test]
fn the_help_of_show_names_every_form() {
    let folder = Folder::new();
    let help = folder.run(&["show", "--help"]).out;
    assert!(!help.contains("possible values: ]"), "{help}");
    let all = folder.run(&["show", "a.deo", "--as", "no-form"]).err;
    let (_, forms) = all.split_once("the forms are ").expect("a list of forms");
    let forms: Vec<&str> = forms.split_whitespace().map(|f| f.trim_end_matches(',')).collect();
    let forms = forms.iter().take_while(|f| !f.contains("For")).collect::<Vec<_>>();
    assert!(forms.len() > 10, "{all}");
    let described = help.split_once("What to show").expect("the option").1;
    for form in forms {
        assert!(described.contains(form), "`show --help` leaves out {form}");
    }
}

#[test]
fn types_are_shown_by_the_names_that_the_program_gives_them() {
    let program = "type Layer = {w: []Real, b: Real}\ntype Net = {layers: []Layer, offset: Real}\n\
        type Both[a] = {left: a, right: a}\n\
        def loss(net: Net) = net.offset\ndef swap(b: Both[Layer]) = {left = b.right, right = b.left}\n";
    let shown = Folder::new().with("a.deo", program).run(&["show", "a.deo"]).out;
    assert!(shown.contains("loss : Net -> Real"), "{shown}");
    assert!(shown.contains("swap : Both[Layer] -> Both[Layer]"), "{shown}");
}
