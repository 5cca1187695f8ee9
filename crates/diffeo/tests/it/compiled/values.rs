//! Arguments and results of every type.

use crate::compiled::agree::{check, on, prepared, ALL};
use crate::compiled::lowering::lowered;
use diffeo::{Engine, Kinks, Options, Session};
use diffeo_calculus::value::Value;

#[test]
fn values_of_every_type_go_in_and_out() {
    let types = "type T = A(Int) | B([]Real, String) | C\n\
                 type Rose = Rose(Real, []Rose)\n\
                 type One = One(Int, Real)\n\
                 type Flag = Up | Down | Left(Bool)\n";
    let fields = [
        ("Real", "1.5"),
        ("Int", "7"),
        ("Bool", "true"),
        ("String", "\"a\""),
        ("()", "()"),
        ("(Int, (Real, Bool))", "(1, (2.0, false))"),
        ("[]Real", "[1.0, 2.0]"),
        ("[][]Int", "[[1, 2], [3, 4]]"),
        ("[][](Int, String)", "[[(1, \"x\")], [(2, \"y\")]]"),
        ("[]()", "[(), ()]"),
        ("[](Real, []Bool)", "[(1.0, [true]), (2.0, [false])]"),
        ("[][]Real", "[[1.0]][0..0]"),
        ("[]String", "[\"a\", \"b\"]"),
        ("T", "B([1.0], \"b\")"),
        ("[]T", "[A(1), B([1.0], \"b\"), C]"),
        ("[]Flag", "[Up, Left(true), Down]"),
        ("[]One", "[One(1, 2.0), One(3, 4.0)]"),
        ("[][]Flag", "[[Up, Left(true)], [Down, Down]]"),
        ("List[T]", "list[A(1), C]"),
        ("Maybe[Maybe[Real]]", "Just(Just(1.0))"),
        ("Rose", "Rose(1.0, [Rose(2.0, []), Rose(3.0, [Rose(4.0, [])])])"),
        ("[]List[Int]", "[list[1], list[2, 3]]"),
        ("List[Maybe[([]Real, String)]]", "list[Nothing, Just(([1.0], \"a\"))]"),
        ("[]Maybe[[][]Int]", "[Just([[1]]), Nothing]"),
        ("[]{a: Int, b: Rose}", "[{a = 1, b = Rose(1.0, [])}]"),
    ];
    let mut programs = Vec::new();
    for (ty, value) in fields {
        let given = format!("{types}def main: {ty} = {value}\n");
        let mut session = Session::new();
        let module = session.load_text("given.deo", &given);
        session.check();
        let entry =
            session.entry(module, "main").unwrap_or_else(|| panic!("{:?}", session.diagnostics()));
        let value = session.run(&entry, None, Kinks::Ignore).result.expect("a value");
        programs.push(prepared(&given, None));
        // A record of one field is the tuple of one.
        let text = format!("{types}def main(r: {{x: {ty}, y: Int}}) = (r.x, r)\n");
        let arg = Value::tuple([value, Value::Int(3)]);
        programs.push(prepared(&text, Some(arg)));
    }
    check(&ALL, &programs);
    for pair in programs.chunks(2) {
        let [shown, both] = [0, 1].map(|i| pair[i].expected.result.clone().expect("a value"));
        assert_eq!(both, format!("({shown}, {{x = {shown}, y = 3}})"));
    }
}

#[test]
fn large_tuples_lie_in_boxes() {
    let ty = format!("({})", vec!["(Real, Int)"; 20].join(", "));
    let value = (0..20).map(|i| format!("({i}.0, {i})")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "def swap(t: {ty}, b: Bool) = if b then t else ({value})\n\
         def main = let t = swap(({value}), 1 < 2) in (t, [t, t][1], list[t], t == t, (fn x -> x.3)(t))\n"
    );
    assert!(lowered(&text).contains("box Tuple"));
    on(&ALL, &text, None);
}

#[test]
fn long_lists_and_arrays_go_in_and_out() {
    let mut list = Value::data(0, []);
    for i in 0..200_000 {
        list = Value::data(1, [Value::Int(i), list]);
    }
    let text = "def main(r: {xs: List[Int]}) = let n = length_list(r.xs) in (n, map_list(fn x -> x + n, r.xs))\n";
    assert!(on(&ALL, text, Some(Value::tuple([list]))).starts_with("(200000, list["));
    let elements: Vec<String> = (0..100_000).map(|i| format!("{i}.5")).collect();
    on(&["flat", "jit"], &format!("def main = [{}]\n", elements.join(", ")), None);
    on(&ALL, "def main = show(to_list([i * i for i < 20000]))\n", None);
}

#[test]
fn what_is_shared_stays_shared() {
    // As a tree without sharing it would not fit into any memory.
    let text = "type Tree = Leaf(Real) | Node(Tree, Tree)\n\
                def doubled(t: Tree, n: Int) -> Tree = if n == 0 then t else doubled(Node(t, t), n - 1)\n\
                def main(r: {t: Tree}) = doubled(r.t, 50)\n";
    let mut tree = Value::data(0, [Value::Real(1.0)]);
    for _ in 0..50 {
        tree = Value::data(1, [tree.clone(), tree]);
    }
    let mut session = Session::new();
    let module = session.load_text("case.deo", text);
    session.check();
    let entry = session.entry(module, "main").expect("an entry");
    for engine in [Engine::Flat, Engine::JIT] {
        let argument = Some(Value::tuple([tree.clone()]));
        let run = session.run_on(&entry, argument, Options::default(), engine);
        let mut value = run.result.unwrap_or_else(|error| panic!("{error:?}"));
        let mut depth = 0;
        while let [left, _] = value.fields() {
            value = left.clone();
            depth += 1;
        }
        assert_eq!(depth, 100);
        assert!(matches!(value.fields(), [Value::Real(x)] if *x == 1.0));
    }
}
