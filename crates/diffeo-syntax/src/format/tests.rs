//! Every program of the repository, and the same programs with comments and line breaks between any two
//! tokens: formatting keeps the tokens, the comments and the tree, and at once comes to rest.

use super::{format, once, SourceText, WIDTH};
use crate::lexer::lex;
use crate::token::TokenKind;
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
        let is_program = |info: &str| info == "diffeo" || info.ends_with(".deo");
        let programs_of_page = blocks.filter_map(|block| block.split_once('\n'));
        let programs_of_page = programs_of_page.filter(|(info, _)| is_program(info));
        programs.extend(programs_of_page.map(|(_, text)| text.to_owned()));
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
    let first = once(&original, &SourceText::new(text), width);
    let (module, diagnostics) = parse(FILE, &first);
    assert!(!diagnostics.iter().any(Diagnostic::is_error), "{diagnostics:?}\n{text}\n{first}");
    assert_eq!(print(&module), print(&original), "{text}\n{first}");
    let source = SourceText::new(&first);
    assert!(source.says_the_same(&SourceText::new(text)), "{text}\n{first}");
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
struct RandomChoices(u64);

impl RandomChoices {
    fn next(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.next(all.len())]
    }

    /// One to `most` of these, with commas between them and perhaps behind.
    fn several(&mut self, most: usize, mut one: impl FnMut(&mut Self) -> String) -> String {
        let count = 1 + self.next(most);
        let parts: Vec<String> = (0..count).map(|_| one(self)).collect();
        parts.join(", ") + self.one_of(&["", "", "", ","])
    }

    fn name(&mut self) -> String {
        let name =
            self.one_of(&["x", "xs", "rate", "a_longer_name", "the_longest_of_all_the_names"]);
        name.to_string()
    }

    fn ty(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.one_of(&["Real", "Int", "a", "()", "m.Shape"]).to_string();
        }
        let d = depth - 1;
        match self.next(7) {
            0 => format!("({})", self.several(3, |c| c.ty(d))),
            1 => format!("{{{}}}", self.several(3, |c| format!("{}: {}", c.field(), c.ty(d)))),
            2 => format!("[{}]{}", self.one_of(&["", "n", "3"]), self.ty(0)),
            3 => format!("List[{}]", self.several(2, |c| c.ty(d))),
            4 => format!("({} -> {}) -> {}", self.ty(d), self.ty(d), self.ty(d)),
            _ => self.ty(0),
        }
    }

    fn pat(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .one_of(&["x", "_", "-1", "2.5e3", "true", "\"s\"", "()", "Nil", "m.One"])
                .into();
        }
        let d = depth - 1;
        match self.next(7) {
            0 => format!("({})", self.several(3, |c| c.pat(d))),
            1 => format!("({}: {})", self.pat(d), self.ty(d)),
            2 => format!("Just({})", self.several(3, |c| c.pat(d))),
            3 => format!("({} :: {})", self.pat(d), self.pat(d)),
            4 => format!("{{x, {} = {}}}", self.field(), self.pat(d)),
            _ => self.pat(0),
        }
    }

    fn operand(&mut self, depth: usize) -> String {
        if depth == 0 {
            let leaves = ["1", "1e-3", "0.5", "\"a\\n\"", "()", "Nil", "m.One", "[]", "true"];
            return if self.next(2) == 0 { self.name() } else { self.one_of(&leaves).into() };
        }
        let d = depth - 1;
        match self.next(16) {
            0 => format!("({})", self.several(3, |c| c.expr(d))),
            1 => format!("({})", self.expr(d)),
            2 => format!("{{{}}}", self.several(3, |c| c.field_value(d))),
            3 => format!("{{{} with {}}}", self.name(), self.field_value(d)),
            4 => format!("[{}]", self.several(4, |c| c.expr(d))),
            5 => format!("list[{}]", self.several(30, |c| c.operand(0))),
            6 => format!("[{} for {}]", self.expr(d), self.several(2, |c| c.guarded(d))),
            7 => format!("{}[{}]", self.operand(d), self.several(2, |c| c.expr(d)))
                .replace(",]", "]"),
            8 => format!("{}[{}..{}]", self.name(), self.expr(d), self.expr(d)),
            9 if self.next(2) == 0 => format!("{}.{}", self.operand(d), self.field()),
            9 => format!("{}.{}", self.operand(d), self.one_of(&["0", "1"])),
            10 => format!("{}(_, {})", self.name(), self.expr(d)),
            11 => format!("(fn {} -> {})({})", self.pat(d), self.expr(d), self.expr(d)),
            _ => format!("{}({})", self.name(), self.several(3, |c| c.expr(d))),
        }
    }

    fn field(&mut self) -> &'static str {
        ["x", "field", "Age", "type", "in", "\"Dose (µM)\"", "\"\""][self.next(7)]
    }

    fn field_value(&mut self, depth: usize) -> String {
        match self.next(4) {
            0 => self.name(),
            _ => format!("{} = {}", self.field(), self.expr(depth)),
        }
    }

    fn guarded(&mut self, depth: usize) -> String {
        let clause = self.clause(depth);
        match self.next(3) {
            0 => format!("{clause} if {}", self.expr(depth)),
            _ => clause,
        }
    }

    fn clause(&mut self, depth: usize) -> String {
        format!("{} {} {}", self.pat(depth), self.one_of(&["<", "in"]), self.expr(depth))
    }

    fn expr(&mut self, depth: usize) -> String {
        let Some(d) = depth.checked_sub(1) else { return self.operand(0) };
        match self.next(16) {
            0 => format!("if {} then {} else {}", self.expr(d), self.expr(d), self.expr(d)),
            1 => {
                let arms: Vec<String> = (0..1 + self.next(3))
                    .map(|_| format!("{} -> {}", self.pat(d), self.expr(d)))
                    .collect();
                let (open, close) = (self.one_of(&["{", "{|"]), self.one_of(&["}", "|}"]));
                format!("case {} of {open} {} {close}", self.expr(d), arms.join(" | "))
            }
            2 => format!("let {} = {} in {}", self.pat(d), self.expr(d), self.expr(d)),
            3 => format!(
                "let f({}) = {} {} let rec g(x, y) -> {} = {} in {}",
                self.several(2, |c| c.pat(d)),
                self.expr(d),
                self.one_of(&["", "in"]),
                self.ty(d),
                self.expr(d),
                self.expr(d)
            ),
            4 => format!("fn {} -> {}", self.pat(d), self.expr(d)),
            5 => format!(
                "loop {} = {} for {} do {}",
                self.pat(d),
                self.expr(d),
                self.clause(d),
                self.expr(d)
            ),
            6 => format!(
                "loop {} = {} while {} do {}",
                self.pat(d),
                self.expr(d),
                self.expr(d),
                self.expr(d)
            ),
            7 => format!(
                "{} with [{}] = {}",
                self.operand(d),
                self.several(2, |c| c.expr(d)),
                self.expr(d)
            ),
            8 => {
                let steps: String =
                    (0..1 + self.next(3)).map(|_| format!(" |> {}", self.operand(d))).collect();
                format!("{}{steps}", self.operand(d))
            }
            9 => {
                let operators = [
                    " + ",
                    " - ",
                    " * ",
                    " / ",
                    " % ",
                    " ^ ",
                    " ^ -",
                    " ++ ",
                    " :: ",
                    " and ",
                    " or ",
                    " and not ",
                ];
                let more: String = (0..1 + self.next(5))
                    .map(|_| format!("{}{}", self.one_of(&operators), self.operand(d)))
                    .collect();
                format!("{}{}{more}", self.one_of(&["", "-", "not "]), self.operand(d))
            }
            10 => format!(
                "{} {} {}",
                self.operand(d),
                self.one_of(&["==", "<", ">="]),
                self.operand(d)
            ),
            _ => self.operand(d),
        }
    }

    /// A program without sense.
    fn program(&mut self) -> String {
        let constructors = |c: &mut Self| {
            let all: Vec<String> = (0..1 + c.next(4)).map(|_| format!("A({})", c.ty(2))).collect();
            all.join(" | ")
        };
        let mut text = String::new();
        for _ in 0..3 {
            text += &match self.next(5) {
                0 => format!("type T[a, b] ={} {}\n", self.one_of(&["", " |"]), constructors(self)),
                1 => {
                    format!("type T = {}\nimport m ({})\n", self.ty(3), self.several(3, Self::name))
                }
                2 => format!("def c: {} = {}\n", self.ty(3), self.expr(4)),
                _ => format!(
                    "def f({}) -> {} = {}\n",
                    self.several(3, |c| format!("{}: {}", c.pat(1), c.ty(3))),
                    self.ty(3),
                    self.expr(4)
                ),
            };
        }
        text
    }
}

/// The text with something else between some of its tokens: one in `rarity` gaps.
fn mutated(text: &str, choices: &mut RandomChoices, rarity: usize) -> String {
    let tokens = lex(FILE, text).tokens;
    let mut out = String::new();
    let mut end = 0;
    let mut previous = TokenKind::Eof;
    for (i, token) in tokens.iter().enumerate() {
        let gap = &text[end..token.start as usize];
        // `p.0.1` depends on the digits standing at the point.
        let free = previous != TokenKind::Dot && choices.next(rarity) == 0;
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
    let mut choices = RandomChoices(7);
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

#[test]
fn random_programs() {
    let mut choices = RandomChoices(3);
    let mut parsed = 0;
    for _ in 0..1500 {
        let program = choices.program();
        // An operator may stand where it needs parentheses, a comma where none may.
        if parse(FILE, &program).1.iter().any(Diagnostic::is_error) {
            continue;
        }
        parsed += 1;
        for width in [WIDTH, 60, 30, 1] {
            check(&program, width);
            check(&mutated(&program, &mut choices, 10), width);
        }
    }
    assert!(parsed > 900, "only {parsed} of the programs can be read");
}
