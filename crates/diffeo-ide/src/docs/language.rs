//! The words and signs of the language, which no module defines.

/// A form of the language.
pub struct Form {
    /// The words and signs that it is looked up by; the first one is its name.
    pub names: &'static [&'static str],
    /// How it is written.
    pub written: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Expressions and their values.
    pub examples: &'static [(&'static str, &'static str)],
}

/// The form that a word or a sign belongs to.
pub fn form(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.names.contains(&name))
}

/// All of them.
pub const FORMS: &[Form] = &[
    Form {
        names: &["def"],
        written: "def name = e, def f(p: T, q: U) -> V = e",
        about: "A definition of the whole file. It may refer to itself and to all others, wherever they stand. Types may be left out where they are inferred.",
        examples: &[],
    },
    Form {
        names: &["type"],
        written: "type Name = T, type Name[a] = A | B(T, U)",
        about: "A name for a type, or a type of variants: values made by constructors, which `case` takes apart.",
        examples: &[("Just(2.0)", "Just(2.0)")],
    },
    Form {
        names: &["import"],
        written: "import m, import m (a, B)",
        about: "Another file beside this one, or a module of the library: its names as `m.a`, or those in parentheses without the module.",
        examples: &[],
    },
    Form {
        names: &["let", "in", "rec"],
        written: "let p = e in e, let f(p) = e in e, let rec f(p: T) -> U = e in e",
        about: "Names a value, the parts of one, or a function within an expression. Several may follow each other with one `in`. A function that calls itself is a `let rec`.",
        examples: &[
            ("let x = 3.0 let y = x + 1.0 in x * y", "12.0"),
            ("let (a, b) = (1, 2) in a + b", "3"),
            ("let rec f(n: Int) -> Int = if n == 0 then 1 else n * f(n - 1) in f(5)", "120"),
        ],
    },
    Form {
        names: &["fn", "->"],
        written: "fn p -> e",
        about: "A function without a name. The parameter is a pattern, `fn (x, y) -> e`. In types `A -> B` is a function from A to B.",
        examples: &[("map(fn x -> 2.0 * x, [1.0, 2.0])", "[2.0, 4.0]")],
    },
    Form {
        names: &["if", "then", "else"],
        written: "if c then e else e",
        about: "One of two values. The derivative is that of the branch taken.",
        examples: &[("if 1 < 2 then \"less\" else \"more\"", "\"less\"")],
    },
    Form {
        names: &["case", "of", "|"],
        written: "case e of { P -> e | P -> e }",
        about: "The value for the first pattern that fits. The patterns must cover every value.",
        examples: &[("case Just(2) of { Just(n) -> n + 1 | Nothing -> 0 }", "3")],
    },
    Form {
        names: &["loop", "do"],
        written: "loop p = e for i < n do e, loop p = e for x in xs do e, loop p = e while c do e",
        about: "A state that starts as e and becomes the value of the body again and again: n times, for each element, or while the condition holds. The value is the last state.",
        examples: &[
            ("loop s = 0 for i < 5 do s + i", "10"),
            ("loop s = 0.0 for x in [1.0, 2.0] do s + x", "3.0"),
            ("loop (a, n) = (1, 0) while a < 100 do (2 * a, n + 1)", "(128, 7)"),
        ],
    },
    Form {
        names: &["for"],
        written: "[e for i < n], [e for x in xs if c], loop p = e for i < n do e",
        about: "In an array: an element for each i from 0 to n - 1, or for each x of an array, only where the condition holds. In a `loop`: how often it goes on.",
        examples: &[("[i * i for i < 4]", "[0, 1, 4, 9]"), ("[x for x in [1, -2, 3] if x > 0]", "[1, 3]")],
    },
    Form {
        names: &["while"],
        written: "loop p = e while c do e",
        about: "How long a `loop` goes on.",
        examples: &[("loop n = 1 while n < 100 do 2 * n", "128")],
    },
    Form {
        names: &["with"],
        written: "xs with [i] = e, {r with x = e}",
        about: "A copy of an array with another element, or of a record with another field.",
        examples: &[("[1, 2, 3] with [0] = 9", "[9, 2, 3]"), ("{{a = 1, b = 2} with b = 5}", "{a = 1, b = 5}")],
    },
    Form {
        names: &["derivatives"],
        written: "derivatives(R, f)",
        about: "The function from x to the value of f at x and its derivatives 1 to R, in one pass: (R, Real -> Real) -> Real -> [R+1]Real. R is an integer literal, and it must be applied to both.",
        examples: &[("derivatives(4, fn x -> x ^ 3)(2.0)", "[8.0, 12.0, 12.0, 6.0, 0.0]")],
    },
    Form {
        names: &["jet"],
        written: "jet(k, R, f)",
        about: "All partial derivatives of f by k variables up to the order R, in one pass: (k, R, S -> T) -> J(S) -> J(T). J has in the place of each Real an array of the derivatives for each multi-index, in lexicographic order from (0, …, 0) to (R, 0, …, 0); the first one is the value. k and R are integer literals, and it must be applied to all three.",
        examples: &[("jet(1, 2, fn x -> x ^ 3)([2.0, 1.0, 0.0])", "[8.0, 12.0, 12.0]")],
    },
    Form {
        names: &["arguments"],
        written: "def main({table}: {table: []{x: Real, y: Real}}) = e",
        about: "Arguments and data files: the parameters of `main` are a record, and `diffeo run FILE --arg table=data.csv` gives one. A value is JSON or the name of a file (.csv, .tsv, .json, .xlsx, .parquet, .arrow, .npy); a table with columns is an array of records.",
        examples: &[],
    },
    Form {
        names: &["Real"],
        written: "Real",
        about: "The type of 64-bit floating point numbers, with `inf`, `-inf` and `nan`. Literals have digits on both sides of the point; where a Real is asked for, `3` will do. `real(n)` makes one of an Int.",
        examples: &[("real(3) / 2.0", "1.5")],
    },
    Form {
        names: &["Int"],
        written: "Int",
        about: "The type of integers from -2^63 to 2^63 - 1; an overflow is an error. `floor`, `round` and `trunc` make one of a Real.",
        examples: &[("7 / 2", "3")],
    },
    Form {
        names: &["Bool", "true", "false"],
        written: "Bool, true, false",
        about: "The type of truth values.",
        examples: &[("not true or 1 < 2", "true")],
    },
    Form {
        names: &["String", "\""],
        written: "String, \"text\"",
        about: "The type of texts. `++` joins two, `show(x)` makes one of any value; the module `text` has more.",
        examples: &[("\"x = \" ++ show(1.5)", "\"x = 1.5\"")],
    },
    Form {
        names: &["array", "[]", "[", "]", ".."],
        written: "[e, e], [e for i < n], xs[i], xs[a..b], [n]T",
        about: "Arrays, whose elements have one type. Indices begin at 0; `xs[a..b]` are the elements from a to b - 1. The type names the length, `[3]Real`, `[n]Real`, or leaves it open, `[]Real`.",
        examples: &[("[1.0, 2.0, 3.0][1]", "2.0"), ("[1, 2, 3, 4][1..3]", "[2, 3]")],
    },
    Form {
        names: &["record", "{}", "{", "}"],
        written: "{x = e, y = e}, r.x, {r with x = e}, {x: T, y: U}",
        about: "Records: values by name. The order of the fields does not matter.",
        examples: &[("{x = 1.0, y = 2.0}.y", "2.0")],
    },
    Form {
        names: &["tuple", "()", "(", ")", "."],
        written: "(e, e), t.0, (T, U)",
        about: "Tuples of two values and more; `()` is the only value of its type. A function of several arguments takes a tuple.",
        examples: &[("(1, 2.5).1", "2.5")],
    },
    Form {
        names: &["list", "::"],
        written: "list[e, e], e :: e, List[T]",
        about: "A list, and a list with one more element before the others. Arrays are better for numbers.",
        examples: &[("1 :: list[2, 3]", "list[1, 2, 3]")],
    },
    Form {
        names: &["+", "-"],
        written: "a + b, a - b, -a",
        about: "Sum and difference of Ints, of Reals, and, component by component, of equal arrays, tuples and records of Reals.",
        examples: &[("[1.0, 2.0] + [0.5, 0.5]", "[1.5, 2.5]")],
    },
    Form {
        names: &["*", "/"],
        written: "a * b, a / b",
        about: "Product and quotient. Of two arrays of Reals they go by element; a Real times an array, tuple or record scales it. `/` of two Ints is truncated towards zero.",
        examples: &[("2.0 * [1.0, 2.0]", "[2.0, 4.0]"), ("7 / 2", "3")],
    },
    Form {
        names: &["%"],
        written: "a % b",
        about: "The remainder of Ints or Reals, with the sign of a.",
        examples: &[("-7 % 3", "-1")],
    },
    Form {
        names: &["^"],
        written: "x ^ n, x ^ y",
        about: "A power. With an Int n it is repeated multiplication.",
        examples: &[("2.0 ^ 10", "1024.0")],
    },
    Form {
        names: &["==", "!="],
        written: "a == b, a != b",
        about: "Whether two values are equal, part by part.",
        examples: &[("[1, 2] == [1, 2]", "true")],
    },
    Form {
        names: &["<", "<=", ">", ">="],
        written: "a < b, a <= b, a > b, a >= b",
        about: "Whether a is less, at most, greater, at least: of Ints, Reals and Strings. `a < b < c` is an error.",
        examples: &[("\"a\" < \"b\"", "true")],
    },
    Form {
        names: &["and", "or", "not"],
        written: "a and b, a or b, not a",
        about: "Logic. The second operand is not evaluated where the first one decides.",
        examples: &[("1 > 2 or not false", "true")],
    },
    Form {
        names: &["++"],
        written: "a ++ b",
        about: "Two arrays, lists or strings joined.",
        examples: &[("[1] ++ [2, 3]", "[1, 2, 3]")],
    },
    Form {
        names: &["|>"],
        written: "x |> f",
        about: "The function on the right of the value on the left: `f(x)`.",
        examples: &[("4.0 |> sqrt", "2.0")],
    },
    Form {
        names: &["#", "##"],
        written: "# comment, ## documentation",
        about: "Text to the end of the line that is not read. Lines with `##` before a definition are its documentation; a line `> e` there and its value on the next one are an example, which `diffeo test` runs.",
        examples: &[],
    },
];
