//! Any text gives a tree: prefixes of a program, soups of tokens, and nestings of every kind.

use diffeo_base::{Diagnostic, FileId, Span};
use diffeo_syntax::{ast::Module, parse, parse_expression, print, MAX_DEPTH, MAX_ERRORS};
use std::time::{Duration, Instant};

const SAMPLE: &str = r#"
## A tree.
type Tree[a] = Leaf(a) | Node(Tree[a], Tree[a])
import linalg (solve, Shape)
def neuron(x: [n]Real, (w, b): ([3]Real, {s: Real}) -> List[()]) -> Real = sigmoid(dot(x, w) + b.0.1)
def f(t) = case t of { | m.Leaf(-1.5) -> "s\u{3b4}\n" ++ "é" | x :: {y, z = _} -> { r with x = f(a, _) } }
def g: Int = let rec h(x: Real) -> Real = if x <= 1e-9 then -x ^ 2 else h(x - 1) let (y: []Real) = xs in
  loop (a, b) = (0, true) for i < n do (xs with [i, 0] = 3 |> k, not a == b and c or list[1, 2])
def h = [fn (x, ()) -> x[1..2] for i < n, {x = q} in xs[i]] # end
def k = loop x = {a = 1} while x % 2 != 3 do q.r(x)[0]
"#;

/// Parses and checks what holds for every text.
fn check(text: &str) -> (Module, Vec<Diagnostic>) {
    let results = [parse_expression(FileId(7), text), parse(FileId(7), text)];
    for (module, diagnostics) in &results {
        let right = |span: Span| {
            span.file == FileId(7)
                && span.start <= span.end
                && text.is_char_boundary(span.start as usize)
                && text.is_char_boundary(span.end as usize)
        };
        assert!(module.exprs.iter().all(|(_, e)| right(e.span)), "{text}");
        assert!(module.pats.iter().all(|(_, p)| right(p.span)), "{text}");
        assert!(module.types.iter().all(|(_, t)| right(t.span)), "{text}");
        assert!(
            diagnostics
                .iter()
                .all(|d| right(d.primary.span) && d.labels.iter().all(|l| right(l.span))),
            "{text}"
        );
        assert!(diagnostics.len() <= MAX_ERRORS + 1);
        // Where something could not be read, it is said.
        assert!(!print(module).contains("<error>") || !diagnostics.is_empty(), "{text}");
    }
    let [_, result] = results;
    result
}

#[test]
fn prefixes_and_suffixes_of_a_program() {
    assert_eq!(check(SAMPLE).1, []);
    for (i, _) in SAMPLE.char_indices() {
        check(&SAMPLE[..i]);
        check(&SAMPLE[i..]);
    }
}

#[test]
fn programs_without_one_token() {
    let words: Vec<&str> =
        SAMPLE.split_inclusive([' ', '(', ')', ',', '[', ']', '{', '}', '\n', '.']).collect();
    for left_out in 0..words.len() {
        let text: String =
            words.iter().enumerate().filter(|(i, _)| *i != left_out).map(|(_, w)| *w).collect();
        check(&text);
    }
}

#[test]
fn soups_of_tokens() {
    const TOKENS: &[&str] = &[
        "def ",
        "type ",
        "import ",
        "let ",
        "rec ",
        "in ",
        "fn ",
        "if ",
        "then ",
        "else ",
        "case ",
        "of ",
        "loop ",
        "for ",
        "while ",
        "do ",
        "with ",
        "and ",
        "or ",
        "not ",
        "list",
        "true ",
        "false ",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        "..",
        ":",
        "::",
        "=",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "+",
        "++",
        "-",
        "->",
        "*",
        "/",
        "%",
        "^",
        "|",
        "|>",
        ":=",
        "!",
        "=>",
        "**",
        "||",
        "&&",
        ";",
        "\\",
        "x ",
        "f",
        "T ",
        "A",
        "_ ",
        "1 ",
        "2.5 ",
        "\"s\" ",
        "\"",
        "@",
        "≤",
        "\n",
        "## doc\n",
        "x = ",
        "f(",
        "x: ",
        "let x = ",
        "case x of { ",
        "lambda ",
        "elif ",
        "\u{feff}",
        "//",
        "\u{0}",
        "é",
    ];
    let mut state = 1u64;
    let mut next = move |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for round in 0..6000 {
        let length = 1 + next(40);
        let soup: String = (0..length).map(|_| TOKENS[next(TOKENS.len())]).collect();
        check(&soup);
        if round % 2 == 0 {
            check(&format!("def f(x) = {soup}\ndef g = 1"));
        }
    }
}

/// Parses within a few seconds, even on a slow machine.
#[track_caller]
fn fast(text: &str) -> (Module, Vec<Diagnostic>) {
    let start = Instant::now();
    let result = parse(FileId(0), text);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{} …",
        text.chars().take(40).collect::<String>()
    );
    result
}

#[test]
fn deep_nestings_give_one_message() {
    const N: usize = 100_000;
    for (open, end) in [
        ("(", ""),
        ("[", ""),
        ("{", ""),
        ("([{", ""),
        ("{x = ", ""),
        ("list[", ""),
        ("f(", ""),
        ("f(a, ", ""),
        ("a[", ""),
        ("fn x -> ", "x"),
        ("if ", ""),
        ("if a then ", "b"),
        ("if a then b else ", "c"),
        ("- ", "x"),
        ("not ", "x"),
        ("a :: ", "x"),
        ("a ^ ", "x"),
        ("a + ", "x"),
        ("(a + ", "x"),
        ("a |> ", "f"),
        ("case ", ""),
        ("case a of { x -> ", ""),
        ("loop x = ", ""),
        ("loop x = a while b do ", ""),
        ("let f(x) = ", ""),
        ("let x = ", ""),
        ("xs with [i] = ", "x"),
        ("{r with x = ", ""),
        ("[a for i < ", ""),
        ("fn (x: ", ""),
        ("let f(x) = x in (", ""),
    ] {
        let text = format!("def f = {}{end}\ndef g = 1", open.repeat(N));
        let (module, diagnostics) = fast(&text);
        let codes: Vec<&str> = diagnostics.iter().map(|d| d.code).collect();
        if open == "fn (x: " {
            assert_eq!(codes, ["syntax"], "{open}");
            continue;
        }
        assert_eq!(codes, ["too-deep"], "{open}");
        assert_eq!(
            diagnostics[0].message,
            format!("this expression is nested more than {MAX_DEPTH} levels deep"),
            "{open}"
        );
        assert!(print(&module).ends_with("(def g 1)\n"), "{open}");
    }
    for chain in ["(x)", ".x", "[0]", " + x", " |> f", " and x"] {
        let (module, diagnostics) = fast(&format!("def f = a{}\ndef g = 1", chain.repeat(N)));
        assert_eq!(diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), ["too-deep"], "{chain}");
        assert_eq!(print(&module), "(def f <error>)\n(def g 1)\n");
    }
    for (before, open, what) in [
        ("def f(", "(", "pattern"),
        ("def f(", "a :: ", "pattern"),
        ("def f(", "S(", "pattern"),
        ("def f(", "S(a, ", "pattern"),
        ("def f(", "{x = ", "pattern"),
        ("def f: ", "(", "type"),
        ("def f: ", "A -> ", "type"),
        ("def f: ", "[n]", "type"),
        ("def f: ", "L[", "type"),
        ("def f: ", "{x: ", "type"),
        ("type T = ", "L[", "type"),
        ("type T = A(", "[]", "type"),
    ] {
        let (module, diagnostics) = fast(&format!("{before}{}\ndef g = 1", open.repeat(N)));
        assert_eq!(diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), ["too-deep"], "{open}");
        assert!(diagnostics[0].message.starts_with(&format!("this {what} is nested")), "{open}");
        assert!(print(&module).ends_with("(def g 1)\n"), "{open}");
    }
}

#[test]
fn nestings_within_the_limit_are_read() {
    let n = MAX_DEPTH - 1;
    for text in [
        format!("{}x{}", "(".repeat(n), ")".repeat(n)),
        format!("{}x", "-".repeat(n)),
        format!("{}x{}", "f(".repeat(n), ")".repeat(n)),
        format!("x{}", " + x".repeat(n)),
        format!("{}x", "if a then b else ".repeat(n)),
        format!("{}x", "a :: ".repeat(n)),
        format!("let {}x{} = y in x", "(".repeat(n - 1), ")".repeat(n - 1)),
    ] {
        let (module, diagnostics) = parse_expression(FileId(0), &text);
        assert_eq!(diagnostics, [], "{}", text.chars().take(20).collect::<String>());
        assert!(!print(&module).contains("<error>"));
    }
}

#[test]
fn long_lines_take_linear_time() {
    const N: usize = 1_000_000;
    for text in [
        "@ ".repeat(N),
        format!("def f = [{}]", "1,".repeat(N)),
        format!("def f = {}", "x".repeat(N)),
        format!("def f = \"{}", "\\u{".repeat(N)),
        "(".repeat(N),
        "/*\n".repeat(N),
        "def f = (\n".repeat(N / 10),
        format!("def f = {} x", "let x = f\n(a) y ".repeat(N / 10)),
        format!("def f = ({}", ")".repeat(N)),
    ] {
        fast(&text);
    }
}
