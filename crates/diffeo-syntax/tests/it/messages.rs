//! What is said about programs that are wrong: one message for each slip, at its place, and the parts
//! that are right are read all the same.

use diffeo_base::{Diagnostic, FileId, Spelling};
use diffeo_syntax::{parse, parse_expression, print, MAX_ERRORS};

/// A message as one line: code, the text it points at, the message.
fn line(text: &str, d: &Diagnostic) -> String {
    let span = d.primary.span;
    format!("{} `{}`: {}", d.code, &text[span.start as usize..span.end as usize], d.message)
}

/// The messages about a file, which must be as listed, and what was read of it.
#[track_caller]
fn file(text: &str, expected: &[&str]) -> String {
    let (module, diagnostics) = parse(FileId(0), text);
    let lines: Vec<String> = diagnostics.iter().map(|d| line(text, d)).collect();
    assert_eq!(lines, expected, "{text}");
    print(&module).trim_end().to_owned()
}

/// The one message about a file.
#[track_caller]
fn only(text: &str) -> Diagnostic {
    let (_, mut diagnostics) = parse(FileId(0), text);
    assert_eq!(diagnostics.len(), 1, "{text}: {diagnostics:?}");
    diagnostics.remove(0)
}

/// The help of the one message about a file.
#[track_caller]
fn help(text: &str) -> String {
    only(text).help.unwrap_or_default().written(Spelling::CommandLine)
}

#[test]
fn several_errors_in_one_run() {
    let dump = file(
        "def f = 1 +\ndef g(x) = (x\ndef h = 2\ntype T = A |\ndef i = [1, ;]",
        &[
            "syntax ``: expected an expression, found the keyword `def`",
            "syntax ``: expected `,` or `)`, found the keyword `def`",
            "syntax ``: expected a constructor, found the keyword `def`",
            "syntax `;`: expected an expression, found `;`",
        ],
    );
    assert_eq!(dump, "(def f (+ 1 <error>))\n(def g x x)\n(def h 2)\n(type T (variants (A)))\n(def i (array 1 <error>))");
}

#[test]
fn a_forgotten_in() {
    for text in [
        "def f = let x = g\n  (a + b)",
        "def f = let x = g\n(a + b)\ndef h = 1",
        "def f = (let x = g\n [0])",
    ] {
        let d = only(text);
        assert!(
            d.message.starts_with("expected `in` after the value of this `let`, found"),
            "{}",
            d.message
        );
        let label = d.labels.iter().find(|l| l.message.contains("continues")).expect("a label");
        assert_eq!(
            label.message,
            "this line continues the expression above: is an `in` missing before it?"
        );
        assert_eq!(
            label.span.start as usize,
            text.find("g\n").expect("g")
                + text[text.find("g\n").expect("g")..].find(['(', '[']).expect("a bracket")
        );
    }
    let d = only("def f = let xs = g\n[y for y in ys]");
    assert_eq!(d.message, "expected `,` or `]`, found the keyword `for`");
    assert!(d.labels[0].message.contains("is an `in` missing"));
    // A call on a later line inside brackets that are closed is no continuation of the value.
    assert!(only("def f = let x = h(g\n(a))\ndef g = 1")
        .labels
        .iter()
        .all(|l| !l.message.contains("continues")));

    assert_eq!(
        file(
            "def f = let x = 1\n  x + 2",
            &["syntax ``: expected `in` after the value of this `let`, found `x`"]
        ),
        "(def f (let (= x 1) (+ x 2)))"
    );
    assert_eq!(
        file(
            "def f = let x = 1\n  y = 2 in x + y",
            &["syntax ``: expected `in` after the value of this `let`, found `y`"]
        ),
        "(def f (let (= x 1) (= y 2) (+ x y)))"
    );
    assert!(help("def f = let x = 1").contains("given by `def`"));
}

#[test]
fn habits_from_other_languages() {
    for (text, said, dump) in [
        ("if a = 1 then 2 else 3", "`=` does not compare", "(if (== a 1) 2 3)"),
        ("a && b", "write `and`", "(and a b)"),
        ("a || b", "write `or`", "(or a b)"),
        ("!a", "write `not`", "(not a)"),
        ("a ** b", "write `^`", "(^ a b)"),
        ("+1", "leave out the `+`", "1"),
        ("let x := 3 in x", "bound with `=`", "(let (= x 3) x)"),
        ("let x = 3; x", "no semicolons", "(let (= x 3) x)"),
        ("\\x -> x", "`fn x -> e`", "(fn x x)"),
        ("lambda x: x", "`fn x -> e`", "(fn x x)"),
        ("fun x -> x", "`fn x -> e`", "(fn x x)"),
        ("fn x => x", "the arrow is written `->`", "(fn x x)"),
        ("fn x y -> x", "takes a tuple", "(fn (tuple x y) x)"),
        ("fn x: Real -> x", "`fn (x: T)`", "(fn (: x Real) x)"),
        ("let x: Real = 1 in x", "`let (x: T)`", "(let (= (: x Real) 1) x)"),
        ("let f x = 1 in f", "parameters stand in parentheses", "(let (fun f x 1) f)"),
        ("let rec x = 1 in x", "defines only functions", "(let (= x 1) x)"),
        ("if a then b elif c then d else e", "write `else if`", "(if a b (if c d e))"),
        ("{x: 1, y = 2}", "write `x = …`", "(record (x 1) (y 2))"),
        ("{\"x\"}", "write `x = e`", "(record (x <error>))"),
        ("{Age, y}", "write `Age = e`", "(record (Age <error>) (y y))"),
        ("{\"a b\": 1}", "follows `=`", "(record (\"a b\" 1))"),
        ("{r with 2010 = 1}", "stands in quotes", "(record-with r)"),
        ("{}", "the value without parts is `()`", "<error>"),
        ("r with x = 1", "{r with x = e}", "(record-with r (x 1))"),
        ("f x", "applied with parentheses", "f"),
        ("2 x", "written with `*`", "2"),
        ("1_000", "without `_`", "1"),
        ("3.", "3.0", "<error>"),
        (".5", "0.5", "<error>"),
        (
            "case e of A -> 1 | B -> 2",
            "`case e of { P -> e | P -> e }`",
            "(case e (arm A 1) (arm B 2))",
        ),
        ("case e { A -> 1 }", "expected `of`", "(case e (arm A 1))"),
        ("case e of { A -> 1, B -> 2 }", "separated by `|`", "(case e (arm A 1) (arm B 2))"),
        ("[i for i in 0..n]", "`for i < n` counts", "(comprehension i (in i 0))"),
        (
            "[i for i < n for j < m]",
            "has only one `for`",
            "(comprehension i (count i n) (count j m))",
        ),
        ("[i for i < n if a if b]", "join them with `and`", "(comprehension i (count i n) (if a))"),
        (
            "[i for i < n if a then 1 else 2]",
            "stands before `for`",
            "(comprehension i (count i n) (if a))",
        ),
        ("loop a = 1 for i < n if c do a", "stands in the body", "(loop a 1 (count i n) a)"),
        ("xs[1..]", "both ends of a slice", "(slice xs 1 <error>)"),
        ("xs[..1]", "both ends of a slice", "(slice xs <error> 1)"),
        ("xs[]", "expected an index", "<error>"),
        ("let [a, b] = c in a", "arrays have no patterns", "(let (= <error> c) a)"),
        ("if a then b", "every `if` has an `else`", "(if a b <error>)"),
        ("loop x = 1 do x", "expected `for` or `while`", "(loop x 1 (while <error>) x)"),
        ("list(1)", "a list is written", "(call <error> 1)"),
        ("1 )", "this `)` closes nothing", "1"),
        ("a in b", "this `in` belongs to no `let`", "a"),
        ("a b c", "the end of the expression", "a"),
    ] {
        let (module, diagnostics) = parse_expression(FileId(0), text);
        assert_eq!(diagnostics.len(), 1, "{text}: {diagnostics:?}");
        assert!(format!("{:?}", diagnostics[0]).contains(said), "{text}: {diagnostics:?}");
        assert_eq!(print(&module).trim_end(), format!("(def it {dump})"), "{text}");
    }
}

#[test]
fn habits_in_items() {
    assert_eq!(
        file("def f x y = x", &["syntax `x`: parameters stand in parentheses"]),
        "(def f (tuple x y) x)"
    );
    assert_eq!(
        file("def f(x): Int = x", &["syntax `:`: the result type follows `->`, not `:`"]),
        "(def f x (: Int) x)"
    );
    assert!(help("def a -> Int = 3").contains("`def a: T = e`"));
    assert!(help("def F = 3").contains("lower-case"));
    assert!(help("type t = A").contains("upper-case"));
    assert!(help("type T(a) = A(a)").contains("in brackets"));
    assert!(help("type T = A | b").contains("constructors start with an upper-case letter"));
    assert!(help("type T = A()").contains("written `A`"));
    assert!(help("def f(x: [n, m]Real) = x").contains("[n][m]Real"));
    assert!(help("def f(x: [Real]) = x").contains("`[n]Real`"));
    assert!(help("def f(x: list[Real]) = x").contains("`List[T]`"));
    assert!(help("def f(x: {a = Real}) = x").contains("`{x: T, y: T}`"));
    assert!(help("let x = 3\ndef f = 1").contains("`def name = e`"));
    assert!(help("def f = 1\ng = 2").contains("start with `def`"));
    assert!(help("import Foo").contains("lower-case"));
    file("import m (1, b)", &["syntax `1`: expected a name to import, found `1`"]);
    file(
        "def f = 1 // the end\n/* and\nmore */ def g = 2",
        &[
            "syntax `//`: `//` does not start a comment",
            "syntax `/*`: `/*` does not start a comment",
        ],
    );
}

#[test]
fn keywords_are_no_names() {
    for text in [
        "def type = 1",
        "def loop(x) = x",
        "def f(in) = 1",
        "def f = let of = 1 in 2",
        "def f = let rec with(x) = 1 in 2",
        "def f = g(import)",
    ] {
        assert!(help(text).contains("is a keyword of the language and cannot be a name"), "{text}");
    }
}

#[test]
fn keywords_may_be_fields() {
    for text in [
        "def f = {do = 1, type = 2, in = 3}",
        "def f = a.type.of.in + r.\n\"x y\"",
        "type R = {\n  type: Real,\n  def: Int,\n  import: Int\n}\ndef g = 1",
        "def f({type, \n}) = 1\ndef g = 1",
        "def f({type = t, \n def = d}) = {\n  def = t,\n  with = d\n}",
    ] {
        let (module, diagnostics) = parse(FileId(0), text);
        let shorthand = text.contains("{type,");
        assert_eq!(diagnostics.len(), usize::from(shorthand), "{text}: {diagnostics:?}");
        assert_eq!(module.items.len(), 1 + usize::from(text.contains("def g")), "{text}");
    }
    assert!(help("def f({type}: {type: Int}) = 1").contains("write `type = x`"));
    // A line that begins with a keyword still ends an access without a name.
    assert_eq!(parse(FileId(0), "def f = a.\ndef g = 1").0.items.len(), 2);
}

#[test]
fn brackets_that_do_not_match() {
    let d = only("def f = g(a, [b, c)\ndef h = 1");
    assert_eq!(
        (d.message.as_str(), d.labels[0].message.as_str(), d.labels[0].span.start),
        ("expected `,` or `]`, found `)`", "opened here", 13)
    );
    assert_eq!(
        file("def f = (1] + 2", &["syntax `]`: expected `,` or `)`, found `]`"]),
        "(def f (+ 1 2))"
    );
    assert_eq!(
        file("def f = g(a b, c) + 1", &["syntax `b`: expected `,` or `)`, found `b`"]),
        "(def f (+ (call g (tuple a c)) 1))"
    );
    assert_eq!(
        file(
            "def f = let x = (1 + 2 in x",
            &["syntax `in`: expected `,` or `)`, found the keyword `in`"]
        ),
        "(def f (let (= x (+ 1 2)) x))"
    );
    assert_eq!(
        file("def f(a b) = 1", &["syntax `b`: expected `,` or `)`, found `b`"]),
        "(def f a 1)"
    );
}

#[test]
fn comparisons_are_not_chained() {
    let d = only("def f = a < b <= c");
    assert_eq!(
        (d.code, d.message.as_str(), d.primary.span.start, d.labels[0].span.start),
        ("chained-comparison", "comparisons cannot be chained", 14, 10)
    );
    file(
        "def f = a == b == c == d",
        &[
            "chained-comparison `==`: comparisons cannot be chained",
            "chained-comparison `==`: comparisons cannot be chained",
        ],
    );
}

#[test]
fn forms_as_operands_need_parentheses() {
    for (text, word, dump) in [
        ("1 + if a then b else c", "if", "(+ 1 (if a b c))"),
        ("xs |> fn x -> x", "fn", "(|> xs (fn x x))"),
        ("1 + let x = 2 in x + 3", "let", "(+ 1 (let (= x 2) (+ x 3)))"),
        ("- case a of { b -> 1 }", "case", "(neg (case a (arm b 1)))"),
        ("a and loop x = 1 while c do x", "loop", "(and a (loop x 1 (while c) x))"),
        ("a + xs with [i] = 3 + 4", "with", "(+ a (update xs (at i) (+ 3 4)))"),
        ("a == not b", "not", "(== a (not b))"),
        ("case a of { b -> 1 } + 2", "case", "(+ (case a (arm b 1)) 2)"),
    ] {
        let (module, diagnostics) = parse_expression(FileId(0), text);
        assert_eq!(diagnostics.len(), 1, "{text}: {diagnostics:?}");
        assert_eq!(diagnostics[0].code, "needs-parentheses");
        assert_eq!(diagnostics[0].message, format!("`{word}` needs parentheses as an operand"));
        assert_eq!(print(&module).trim_end(), format!("(def it {dump})"));
    }
}

#[test]
fn holes() {
    assert_eq!(
        file("def f = g(_, _)", &["misplaced-hole `_`: a call takes only one `_`"]),
        "(def f (call g (tuple _ <error>)))"
    );
    for text in ["def f = _", "def f = g((_, 1))", "def f = g(_ + 1)", "def f = [_]"] {
        file(text, &["misplaced-hole `_`: `_` can stand only for a whole argument of a call"]);
    }
}

#[test]
fn characters_strings_and_literals() {
    file("def f = \"abc\ndef g = 1", &["unterminated-string `\"abc`: this string has no end"]);
    file("def f = g(\"abc", &["unterminated-string `\"abc`: this string has no end"]);
    file(r#"def f = "a\qb\u{110000}\u12""#, &[
        "bad-escape `\\q`: unknown escape `\\q`",
        "bad-escape `\\u`: `\\u` needs the code point of a character in braces, as in `\\u{3b4}`",
        "bad-escape `\\u`: `\\u` needs the code point of a character in braces, as in `\\u{3b4}`",
    ]);
    file(
        "def f = a @ b\ndef g = @\ndef h = ≤≥",
        &[
            "stray-character `@`: stray character `@` (U+0040)",
            "stray-character `@`: stray character `@` (U+0040)",
            "stray-character `≤`: stray character `≤` (U+2264)",
        ],
    );
    assert!(help("def f =\u{a0}1").contains("plain space"));
    // Beyond every Int it is a Real.
    file("def f = 18446744073709551616", &[]);
    file("def f = 1e999", &["literal-too-large `1e999`: this literal is too large for a Real"]);
    file(
        "def f(9223372036854775808) = p.99999999999999999999",
        &[
            "literal-too-large `9223372036854775808`: this literal is too large for an Int",
            "literal-too-large `99999999999999999999`: this component number is too large",
        ],
    );
}

#[test]
fn the_number_of_messages_is_bounded() {
    for text in [
        "@ ".repeat(10_000),
        "def f = (\n".repeat(10_000),
        format!("def f = ({})", ",".repeat(10_000)),
    ] {
        let (_, diagnostics) = parse(FileId(0), &text);
        assert_eq!(diagnostics.len(), MAX_ERRORS + 1);
        assert_eq!(diagnostics[MAX_ERRORS].message, "too many errors");
    }
}

#[test]
fn an_expression_stands_alone() {
    let (module, diagnostics) = parse_expression(FileId(0), "1 + 2 def f = 3");
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(
        diagnostics[0].message,
        "expected an operator or the end of the expression, found the keyword `def`"
    );
    assert_eq!(print(&module), "(def it (+ 1 2))\n");
    assert_eq!(
        parse_expression(FileId(0), " # nothing").1[0].message,
        "expected an expression, found the end of the input"
    );
}
