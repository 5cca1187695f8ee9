//! Every construct of the grammar, read without a message and shown by the printer.

use diffeo_base::FileId;
use diffeo_syntax::{ast, parse, parse_expression, print};

/// The dump of an expression that must be right.
fn expr(text: &str) -> String {
    let (module, diagnostics) = parse_expression(FileId(0), text);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    let dump = print(&module);
    // Long dumps are broken over lines.
    let flat = dump.split_whitespace().collect::<Vec<_>>().join(" ");
    flat.strip_prefix("(def it ")
        .and_then(|d| d.strip_suffix(')'))
        .expect("one definition")
        .to_owned()
}

/// The dump of a file that must be right.
fn file(text: &str) -> String {
    let (module, diagnostics) = parse(FileId(0), text);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    print(&module)
}

#[track_caller]
fn same(cases: &[(&str, &str)]) {
    for (text, dump) in cases {
        assert_eq!(expr(text), *dump, "{text}");
    }
}

#[test]
fn operators_bind_as_listed() {
    same(&[
        ("a |> f |> g", "(|> (|> a f) g)"),
        ("a or b |> f", "(|> (or a b) f)"),
        ("a or b and c or d", "(or (or a (and b c)) d)"),
        ("not a == b and not c", "(and (not (== a b)) (not c))"),
        ("not not a", "(not (not a))"),
        ("a or not b", "(or a (not b))"),
        ("a :: b :: c == d", "(== (:: a (:: b c)) d)"),
        ("a ++ b ++ c :: d", "(:: (++ (++ a b) c) d)"),
        ("a + b ++ c - d", "(++ (+ a b) (- c d))"),
        ("a - b + c * d / e % f", "(+ (- a b) (% (/ (* c d) e) f))"),
        ("-a * -b", "(* (neg a) (neg b))"),
        ("a - -b", "(- a (neg b))"),
        ("a--b", "(- a (neg b))"),
        ("-1 ^ 2", "(neg (^ 1 2))"),
        ("2 ^ -1", "(^ 2 (neg 1))"),
        ("2 ^ -1 ^ 2", "(^ 2 (neg (^ 1 2)))"),
        ("a ^ b ^ c * d", "(* (^ a (^ b c)) d)"),
        ("-f(x)[i].y.0 ^ 2", "(neg (^ (component (field (index (call f x) i) y) 0) 2))"),
        ("x<-1", "(< x (neg 1))"),
        (
            "a < b and b <= c and c != d and d > e and e >= f",
            "(and (and (and (and (< a b) (<= b c)) (!= c d)) (> d e)) (>= e f))",
        ),
        ("(a < b) == (c < d)", "(== (< a b) (< c d))"),
    ]);
}

#[test]
fn literals_names_and_brackets() {
    same(&[
        ("18446744073709551615", "18446744073709551615"),
        ("(3, 3.0, 1e-3, 1.5e3, 1E2)", "(tuple 3 3.0 0.001 1500.0 100.0)"),
        (
            "(true, false, (), \"a\\n\\t\\\"\\\\\\u{3b4}\")",
            "(tuple true false () \"a\\n\\t\\\"\\\\δ\")",
        ),
        ("(x', _y, δ, Δ, a_1)", "(tuple x' _y δ Δ a_1)"),
        ("((a))", "a"),
        ("(a, b,)", "(tuple a b)"),
        ("{x = 1, y = {z = 2},}", "(record (x 1) (y (record (z 2))))"),
        (
            "{f(r).s with x = e, y = xs with [0] = 1}",
            "(record-with (field (call f r) s) (x e) (y (update xs (at 0) 1)))",
        ),
        ("{x, y = 1, z}", "(record (x x) (y 1) (z z))"),
        ("{r with x, type = 1}", "(record-with r (x x) (type 1))"),
        (
            "{\"Dose (µM)\" = 1, \"x\" = 2, Age = 3, if = 4, \"\\\"\" = 5}",
            "(record (\"Dose (µM)\" 1) (x 2) (Age 3) (if 4) (\"\\\"\" 5))",
        ),
        ("[x for x in xs if x > 0.0]", "(comprehension x (in x xs) (if (> x 0.0)))"),
        (
            "[i for i < if a then b else c if i > 1 and d, j < n, k < m if not e]",
            "(comprehension i (count i (if a b c)) (if (and (> i 1) d)) (count j n) (count k m) (if (not e)))",
        ),
        ("[]", "(array)"),
        ("[a, b + c, fn x -> x,]", "(array a (+ b c) (fn x x))"),
        ("list[]", "(list)"),
        ("list[1, if a then b else c] ++ list[2]", "(++ (list 1 (if a b c)) (list 2))"),
    ]);
}

#[test]
fn application_index_slice_and_fields() {
    same(&[
        ("f()", "(call f ())"),
        ("f(x)(y, z,)", "(call (call f x) (tuple y z))"),
        ("f((x, y))", "(call f (tuple x y))"),
        ("f(a, _) |> g(_)", "(|> (call f (tuple a _)) (call g _))"),
        ("Just(x)", "(call Just x)"),
        ("shapes.Circle(r)", "(call (field shapes Circle) r)"),
        ("linalg.solve(a, b)", "(call (field linalg solve) (tuple a b))"),
        ("p.0.1", "(component (component p 0) 1)"),
        ("r.\"a b\".x", "(field (field r \"a b\") x)"),
        ("r.Age.type.\"2010\".0", "(component (field (field (field r Age) type) \"2010\") 0)"),
        ("p.0.x.12", "(component (field (component p 0) x) 12)"),
        ("a[i, j][k]", "(index (index a i j) k)"),
        ("xs[0..h]", "(slice xs 0 h)"),
        ("xs[a + 1..length(xs) - 1]", "(slice xs (+ a 1) (- (call length xs) 1))"),
        ("p.0[1..2]", "(slice (component p 0) 1 2)"),
    ]);
}

#[test]
fn comprehensions() {
    same(&[
        ("[x[i] for i < n]", "(comprehension (index x i) (count i n))"),
        ("[f(a, b) for (a, {x = b}) in zip(xs, ys)]", "(comprehension (call f (tuple a b)) (in (tuple a (record (x b))) (call zip (tuple xs ys))))"),
        ("[1 for i < n + 1, x in xs[i], _ < 2]", "(comprehension 1 (count i (+ n 1)) (in x (index xs i)) (count _ 2))"),
        ("[let a = x in a for x in if c then xs else ys]", "(comprehension (let (= a x) a) (in x (if c xs ys)))"),
    ]);
}

#[test]
fn forms_extend_to_the_right() {
    same(&[
        ("let x = 1 in x + 1", "(let (= x 1) (+ x 1))"),
        ("let x = 1 let (y, _) = 2 in let z = 3 in x", "(let (= x 1) (= (tuple y _) 2) (= z 3) x)"),
        ("let x = 1 in (let y = 2 in y)", "(let (= x 1) (let (= y 2) y))"),
        ("let x = let y = 1 in y in x", "(let (= x (let (= y 1) y)) x)"),
        (
            "let f(x) = x in let rec g(x: Real, y) -> Real = g(y, x) in f",
            "(let (fun f x x) (rec g (tuple (: x Real) y) (: Real) (call g (tuple y x))) f)",
        ),
        ("let f() = 1 in f()", "(let (fun f () 1) (call f ()))"),
        ("let (x: Real) = 1 in x", "(let (= (: x Real) 1) x)"),
        ("let Just(x) = m in x", "(let (= (Just x) m) x)"),
        ("fn x -> fn (y, z) -> x |> y", "(fn x (fn (tuple y z) (|> x y)))"),
        ("if a then b else if c then d else e + 1", "(if a b (if c d (+ e 1)))"),
        (
            "case e of { A -> 1 | B(x, y) -> fn z -> z | _ -> 2 }",
            "(case e (arm A 1) (arm (B (tuple x y)) (fn z z)) (arm _ 2))",
        ),
        (
            "case e of { | A -> case b of { x -> x } | B -> 2, }",
            "(case e (arm A (case b (arm x x))) (arm B 2))",
        ),
        ("loop y = x for i < n do y + y", "(loop y x (count i n) (+ y y))"),
        (
            "loop (a, b) = (0, 1) while a < 10 do (b, a + b)",
            "(loop (tuple a b) (tuple 0 1) (while (< a 10)) (tuple b (+ a b)))",
        ),
        (
            "loop (acc: []Real) = [] for x in xs do acc ++ [x]",
            "(loop (: acc (array _ Real)) (array) (in x xs) (++ acc (array x)))",
        ),
        ("f(x) with [i] = a + b", "(update (call f x) (at i) (+ a b))"),
        ("xs with [i, j + 1] = ys with [k] = 2", "(update xs (at i (+ j 1)) (update ys (at k) 2))"),
        ("(xs with [i] = 1) with [j] = 2", "(update (update xs (at i) 1) (at j) 2)"),
        (
            "f(fn x -> x, let y = 1 in y, xs with [0] = 1)",
            "(call f (tuple (fn x x) (let (= y 1) y) (update xs (at 0) 1)))",
        ),
    ]);
}

#[test]
fn patterns() {
    same(&[
        ("fn {x, y = (a, _), z = {w}} -> a", "(fn (record (x x) (y (tuple a _)) (z (record (w w)))) a)"),
        (
            "fn {\"a b\" = x, Age = A, type = (a, _)} -> a",
            "(fn (record (\"a b\" x) (Age A) (type (tuple a _))) a)",
        ),
        ("fn x :: y :: _ -> x", "(fn (:: x (:: y _)) x)"),
        ("fn ((x: Int), y: [3]Real) -> x", "(fn (tuple (: x Int) (: y (array 3 Real))) x)"),
        ("fn () -> 1", "(fn () 1)"),
        ("case e of { -3 -> 1 | -2.5 -> 2 | \"a\" -> 3 | true -> 4 | () -> 5 | m.Nil -> 6 | m.C(x :: _) -> 7 | -9223372036854775808 -> 8 }",
         "(case e (arm -3 1) (arm -2.5 2) (arm \"a\" 3) (arm true 4) (arm () 5) (arm m.Nil 6) (arm (m.C (:: x _)) 7) (arm -9223372036854775808 8))"),
    ]);
}

#[test]
fn types() {
    let ty = |text: &str| {
        let dump = file(&format!("def f: {text} = 1"));
        dump.trim_end()
            .strip_prefix("(def f (: ")
            .and_then(|d| d.strip_suffix(") 1)"))
            .expect("a type")
            .to_owned()
    };
    assert_eq!(ty("A -> b -> ()"), "(-> A (-> b ()))");
    assert_eq!(ty("(A -> B) -> C"), "(-> (-> A B) C)");
    assert_eq!(ty("[n][3][]Real -> Real"), "(-> (array n (array 3 (array _ Real))) Real)");
    assert_eq!(ty("List[[k]Maybe[(a, b)]]"), "(List (array k (Maybe (tuple a b))))");
    assert_eq!(ty("{x: Real, f: (A, B) -> C,}"), "(record (x Real) (f (-> (tuple A B) C)))");
    assert_eq!(
        ty("{\"Dose (µM)\": Real, Age: Int, type: A}"),
        "(record (\"Dose (µM)\" Real) (Age Int) (type A))"
    );
    assert_eq!(ty("shapes.Tree[shapes.Shape, a]"), "(shapes.Tree shapes.Shape a)");
    assert_eq!(ty("[n](A, B)"), "(array n (tuple A B))");
}

#[test]
fn items_and_their_docs() {
    let text = "\
## not of an import
import linalg
import linalg (solve, Shape,)

#### a ruler
## A tree,
##
##   with leaves. \r
# a plain comment
type Tree[a, b] = Leaf(a) | Node(Tree[a, b], Tree[a, b])
type Maybe[a] = | Nothing | Just(a)
type Pair = Pair(Real, Real)
type One = Two
type Vec3 = {x: Real, y: Real, z: Real}
## Its sum.
def f(x: Real, (y, {z}): (Real, V)) -> Real = # inner
  ## of nothing
  x + y
def c: Int = 1
def u() = ()
def g({x}) = x
";
    let dump = "\
(import linalg)
(import linalg solve Shape)
(type Tree
  (doc \"A tree,\" \"\" \"  with leaves.\")
  (params a b)
  (variants (Leaf a) (Node (Tree a b) (Tree a b))))
(type Maybe (params a) (variants (Nothing) (Just a)))
(type Pair (variants (Pair Real Real)))
(type One (alias Two))
(type Vec3 (alias (record (x Real) (y Real) (z Real))))
(def f
  (doc \"Its sum.\")
  (tuple (: x Real) (: (tuple y (record (z z))) (tuple Real V)))
  (: Real)
  (+ x y))
(def c (: Int) 1)
(def u () ())
(def g (record (x x)) x)
";
    assert_eq!(file(text), dump);
    assert_eq!(file("\u{feff}def a = 1"), "(def a 1)\n");
    assert_eq!(file(""), "");
}

#[test]
fn spans_cover_what_was_written() {
    let text = "def f(x: Real, y) = (x + 1) * g(x, y)";
    let (module, _) = parse(FileId(0), text);
    let slice = |span: diffeo_base::Span| &text[span.start as usize..span.end as usize];
    let ast::Item::Def(def) = &module.items[0] else { panic!("a definition") };
    assert_eq!(slice(def.span), text);
    assert_eq!(slice(module.pats[def.param.expect("parameters")].span), "(x: Real, y)");
    let body = &module.exprs[def.body];
    assert_eq!(slice(body.span), "(x + 1) * g(x, y)");
    let ast::ExprKind::Binary { lhs, rhs, op_span, .. } = &body.kind else { panic!("a product") };
    assert_eq!((slice(module.exprs[*lhs].span), slice(*op_span)), ("x + 1", "*"));
    let ast::ExprKind::Apply { arg, .. } = &module.exprs[*rhs].kind else { panic!("a call") };
    assert_eq!(slice(module.exprs[*arg].span), "(x, y)");
}

#[test]
fn a_long_chain_of_lets_is_one_node() {
    for binding in ["let x = f(x) ", "let x = f(x) in "] {
        let text = format!(
            "{}{} x",
            binding.repeat(50_000),
            if binding.ends_with("in ") { "" } else { "in" }
        );
        let (module, diagnostics) = parse_expression(FileId(0), &text);
        assert!(diagnostics.is_empty());
        let ast::Item::Def(def) = &module.items[0] else { panic!("a definition") };
        let ast::ExprKind::Let { bindings, .. } = &module.exprs[def.body].kind else {
            panic!("a let")
        };
        assert_eq!(bindings.len(), 50_000);
    }
}

#[test]
fn long_dumps_are_broken_and_indented() {
    let text = format!("def f = g({}, h(y))", ["some_long_name"; 8].join(", "));
    let dump = file(&text);
    assert!(dump.lines().count() > 5 && dump.lines().all(|l| l.len() <= 100), "{dump}");
    assert!(
        dump.starts_with("(def f\n  (call g\n    (tuple some_long_name\n      some_long_name\n"),
        "{dump}"
    );
}
