//! The tutorial of the book, done as a reader does it: in a folder with the data, by a shell.
//!
//! A block `diffeo NAME` is the file NAME. A block `sh` is given to `sh`; the block `text` behind it is what it writes to
//! standard output and standard error, and without one it writes nothing. Of a session (`diffeo repl`) the lines behind
//! `> ` are typed, and the others are the answers. In an expected line `…` stands for anything, and a line `…` for any
//! lines. Numbers agree to 1e-6, since the last digits differ among processors; behind `diffeo sample` to a quarter, as
//! its draws follow the last digits.
//!
//! A picture `pictures/NAME.svg` of the page is the file NAME.svg that a command wrote. With `DIFFEO_PICTURES=1` the
//! pictures are written instead.

use crate::common::{c_compiler, Folder};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a page: what stands behind the fence, and the text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    fenced.map(|block| block.split_once('\n').unwrap_or((block, ""))).collect()
}

/// What a command writes, to either stream.
fn shell(folder: &Folder, command: &str, input: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_diffeo"));
    let here = program.parent().expect("a folder").display().to_string();
    let path = format!("{here}:{}", std::env::var("PATH").unwrap_or_default());
    let mut child = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(&folder.0)
        .env("PATH", path)
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .env("DIFFEO_CACHE", "")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    // A command that reads nothing closes the pipe.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("its end");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The numbers of a text, and the text without them.
fn numbers(text: &str) -> (Vec<f64>, String) {
    let (mut found, mut rest) = (Vec::new(), String::new());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < text.len() {
        let within = rest.ends_with(|c: char| c.is_alphanumeric() || "_-.".contains(c));
        if within || !bytes[at].is_ascii_digit() {
            let c = text[at..].chars().next().unwrap_or(' ');
            rest.push(c);
            at += c.len_utf8();
            continue;
        }
        let is_part = |i: &usize| {
            let sign = bytes[*i] == b'-' && bytes[i - 1] == b'e';
            bytes[*i].is_ascii_digit() || b".e".contains(&bytes[*i]) || sign
        };
        let end = (at..text.len()).take_while(is_part).last().unwrap_or(at) + 1;
        match text[at..end].parse() {
            Ok(number) => {
                found.push(number);
                rest.push('#');
            }
            Err(_) => rest.push_str(&text[at..end]),
        }
        at = end;
    }
    (found, rest)
}

/// Whether two texts are the same but for numbers, which agree to this tolerance.
fn near(expected: &str, found: &str, tolerance: f64) -> bool {
    let words = |text: String| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let ((xs, x), (ys, y)) = (numbers(expected), numbers(found));
    let agree = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * a.abs().max(b.abs());
    // Columns are as wide as their numbers, which may be others.
    let same = if tolerance < 0.01 { x == y } else { words(x) == words(y) };
    same && xs.iter().zip(&ys).all(agree)
}

/// Whether a line is this one.
fn fits(pattern: &str, line: &str, tolerance: f64) -> bool {
    if !pattern.contains('…') {
        return near(pattern, line, tolerance);
    }
    let mut parts = pattern.split('…');
    let mut rest = line.strip_prefix(parts.next().unwrap_or(""));
    for part in parts {
        rest = rest.and_then(|rest| Some(&rest[rest.find(part)? + part.len()..]));
    }
    rest.is_some_and(|rest| rest.is_empty() || pattern.ends_with('…'))
}

/// Whether the lines of a text are these.
fn matches(expected: &str, found: &str, tolerance: f64) -> bool {
    let mut rest: Vec<&str> = found.trim_end().lines().collect();
    let mut anywhere = false;
    for line in expected.trim_end().lines() {
        if line == "…" {
            anywhere = true;
            continue;
        }
        match rest.iter().position(|found| fits(line, found, tolerance)) {
            Some(n) if n == 0 || anywhere => drop(rest.drain(..=n)),
            Some(_) | None => return false,
        }
        anywhere = false;
    }
    anywhere || rest.is_empty()
}

#[test]
fn a_week_goes_as_the_page_says() {
    let book = root().join("docs/book");
    let page = std::fs::read_to_string(book.join("tutorial.md")).expect("the page");
    let data = std::fs::read(book.join("data/enzyme.csv")).expect("the data");
    let folder = Folder::new().with("enzyme.csv", data);
    let all = blocks(&page);
    let mut failures = Vec::new();
    let (mut run, mut tolerance) = (0, 1e-6);
    for (i, (info, text)) in all.iter().enumerate() {
        if let Some(name) = info.strip_prefix("diffeo ") {
            std::fs::write(folder.0.join(name), text).expect("a file");
            continue;
        }
        assert!(["sh", "text", "console", "python"].contains(info), "an unknown block: {info}");
        if *info != "sh" || text.contains("diffeo build") && !c_compiler() {
            continue;
        }
        let shown = all.get(i + 1).filter(|(info, _)| *info == "text").map_or("", |(_, text)| text);
        let (typed, answers): (Vec<&str>, Vec<&str>) = match text.starts_with("diffeo repl") {
            true => shown.lines().partition(|line| line.starts_with("> ")),
            false => (Vec::new(), shown.lines().collect()),
        };
        let input: String = typed.iter().map(|line| format!("{}\n", &line[2..])).collect();
        let found = shell(&folder, text, &input);
        if text.contains("diffeo sample") {
            tolerance = 0.25;
        }
        if !matches(&answers.join("\n"), &found, tolerance) {
            failures.push(format!("{text}\nwrites\n{found}"));
        }
        run += 1;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(run >= 20, "the page has {run} commands");
    let mut pictures = 0;
    for name in page.split("](pictures/").skip(1).filter_map(|rest| rest.split(')').next()) {
        pictures += 1;
        let kept = book.join("pictures").join(name);
        let drawn = std::fs::read_to_string(folder.0.join(name)).expect("a command draws it");
        if std::env::var_os("DIFFEO_PICTURES").is_some() {
            std::fs::write(&kept, &drawn).expect("a picture");
        }
        let kept = std::fs::read_to_string(kept).unwrap_or_default();
        let same = match page.find("diffeo sample") < page.find(&format!("/{name}")) {
            true => kept.split_whitespace().count() == drawn.split_whitespace().count(),
            false => kept == drawn,
        };
        assert!(same, "run with DIFFEO_PICTURES=1 and look at {name}");
    }
    assert!(pictures >= 3);
}

#[test]
fn texts_are_compared() {
    assert!(matches("a 1.5\n…\nc", "a 1.5\nb\nb\nc\n", 1e-6));
    assert!(matches("x = 1.0000000001, y", "x = 1.0, y", 1e-6));
    assert!(!matches("x = 1.001, y", "x = 1.0, y", 1e-6));
    assert!(!matches("x = 1.0, y", "x = 1.0, z", 1e-6));
    assert!(!matches("x = 1.0", "x = -1.0", 1e-6));
    assert!(!matches("a\nb", "a", 1e-6) && !matches("a", "a\nb", 1e-6) && !matches("", "a", 1e-6));
    assert!(matches("took … s", "took 3 s", 0.0) && !matches("took … s", "took 3 min", 0.0));
    assert!(matches("k   0.05  1.0e-3", "k  0.051  1.1e-3", 0.25));
}
