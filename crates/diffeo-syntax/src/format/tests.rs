//! Every program of the repository, and the same programs with comments and line breaks between any two
//! tokens: formatting keeps the tokens, the comments and the tree, and at once comes to rest.

use super::{format, once, Source, WIDTH};
use crate::lexer::lex;
use crate::token::Kind;
use crate::{parse, print};
use diffeo_base::{Diagnostic, FileId};
use std::path::{Path, PathBuf};

const FILE: FileId = FileId(0);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below a folder that end with `ending`, in order.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the repository").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a readable file")).collect()
}

/// All programs of the repository without syntax errors: the library, the examples, the cases of the
/// corpus, the programs in the book.
fn programs() -> Vec<String> {
    let mut programs = files("std", ".deo");
    programs.extend(files("examples", ".deo"));
    for file in files("tests/lang", ".deo") {
        programs.extend(file.split("\n#: ").map(|case| format!("#: {case}\n")));
    }
    for page in files("docs/book", ".md") {
        let blocks = page.split("\n```").skip(1).step_by(2);
        programs.extend(blocks.filter_map(|b| b.strip_prefix("diffeo\n")).map(str::to_owned));
    }
    let is_right = |text: &String| !parse(FILE, text).1.iter().any(Diagnostic::is_error);
    programs.retain(is_right);
    assert!(programs.len() > 500, "only {} programs are found", programs.len());
    programs
}

/// Formats a text for lines of this width and checks what holds for every result.
#[track_caller]
fn check(text: &str, width: usize) -> String {
    let (original, diagnostics) = parse(FILE, text);
    assert!(!diagnostics.iter().any(Diagnostic::is_error), "{diagnostics:?}\n{text}");
    let first = once(&original, &Source::new(text), width);
    let (module, diagnostics) = parse(FILE, &first);
    assert!(!diagnostics.iter().any(Diagnostic::is_error), "{diagnostics:?}\n{text}\n{first}");
    assert_eq!(print(&module), print(&original), "{text}\n{first}");
    let source = Source::new(&first);
    assert!(source.says_the_same(&Source::new(text)), "{text}\n{first}");
    let second = once(&module, &source, width);
    assert_eq!(second, first, "not at rest with {width}:\n{text}\n-->\n{first}\n-->\n{second}");
    assert!(first.lines().all(|line| line.trim_end() == line), "{first}");
    assert!(first.is_empty() || first.ends_with('\n') && !first.ends_with("\n\n"), "{first}");
    assert!(!first.contains("\n\n\n"), "{first}");
    first
}

#[test]
fn every_program_of_the_repository() {
    for program in programs() {
        for width in [WIDTH, 60, 30, 1] {
            check(&program, width);
        }
        assert_eq!(format(FILE, &program), Ok(check(&program, WIDTH)));
    }
}

/// Numbers for choices, always the same.
struct Choices(u64);

impl Choices {
    fn next(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// The text with something else between some of its tokens: one in `rarity` gaps.
fn mutated(text: &str, choices: &mut Choices, rarity: usize) -> String {
    let tokens = lex(FILE, text).tokens;
    let mut out = String::new();
    let mut end = 0;
    let mut previous = Kind::Eof;
    for (i, token) in tokens.iter().enumerate() {
        let gap = &text[end..token.start as usize];
        // `p.0.1` depends on the digits standing at the point.
        let free = previous != Kind::Dot && choices.next(rarity) == 0;
        match choices.next(if free { 14 } else { 1 }) {
            0 | 1 => out.push_str(gap),
            2 if !gap.contains('#') => out.push(' '),
            2 | 3 => out.push_str(&format!("{gap}\n")),
            4 => out.push_str(&format!("\n\n\n{gap}")),
            5 | 6 => out.push_str(&format!(" # trailing {i}\n{gap}")),
            7 | 8 => out.push_str(&format!("{gap}\n# own {i}\n")),
            9 => out.push_str(&format!("{gap}\n\n## own {i}\n\n")),
            10 => out.push_str(&format!("#both {i}\n   # own {i}\n{gap}\n")),
            11 => {
                let line = out.rfind('\n').map_or(0, |at| at + 1);
                let column = out[line..].chars().count();
                out.push_str(&format!("# first {i}\n{}# second {i}\n{gap}", " ".repeat(column)));
            }
            12 => out.push_str(&format!("{gap} \t\r\n")),
            _ => out.push_str(&format!("\n  #\n{gap}\n  #   \n\n")),
        }
        out.push_str(&text[token.range()]);
        end = token.end as usize;
        previous = token.kind;
    }
    out
}

#[test]
fn comments_and_line_breaks_between_any_two_tokens() {
    let mut choices = Choices(7);
    for program in programs() {
        // Files of the library are long: their definitions one by one.
        let parts: Vec<&str> = program.split_inclusive("\n\n").collect();
        for part in parts.chunks(4).map(|chunk| chunk.concat()) {
            if parse(FILE, &part).1.iter().any(Diagnostic::is_error) {
                continue;
            }
            for rarity in [1, 3, 10, 30] {
                let text = mutated(&part, &mut choices, rarity);
                for width in [WIDTH, 60, 30, 1] {
                    check(&text, width);
                }
            }
        }
    }
}
