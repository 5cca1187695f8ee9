//! Every case of `tests/lang` on Flat: the same values, messages, places and traces as on the evaluator.

mod support;

use diffeo::lower::Unsupported;
use diffeo::pipeline::{self, Step};
use diffeo::{Engine, Kinks, Options, Session};
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use support::{corpus, judge, run_on};

/// At least so many cases take no derivatives and run on Flat.
const LEAST: usize = 1000;

#[test]
fn the_corpus_gives_what_it_says() {
    let mut failures = Vec::new();
    let (mut count, mut derivatives, mut bugs) = (0, 0, 0);
    let only = std::env::var("DIFFEO_CASE").ok();
    for case in corpus() {
        if case.kinks.is_some() || only.as_ref().is_some_and(|name| !case.name.contains(name)) {
            continue;
        }
        count += 1;
        let place = format!("{}:{} {}", case.file.display(), case.line, case.name);
        let ran = std::panic::catch_unwind(|| run_on(&case.text, Kinks::Ignore, Engine::Flat));
        let Ok((mut session, module, outcome)) = ran else {
            failures.push(format!("{place}: panic"));
            continue;
        };
        match &outcome.unsupported {
            None => {}
            Some(Unsupported::Kinks) => failures.push(format!("{place}: kinks are ignored")),
            Some(Unsupported::Derivative(_)) => derivatives += 1,
            Some(Unsupported::Entry) => failures.push(format!("{place}: an entry of functions")),
            Some(Unsupported::Engine(why)) => failures.push(format!("{place}: {why}")),
            Some(Unsupported::Bug(what)) => {
                bugs += 1;
                failures.push(format!("{place}: {what}"));
            }
        }
        if !session.has_errors() && session.definitions(module).iter().any(|d| *d == "main") {
            if let Some(entry) = session.entry(module, "main") {
                let mut see = |step: &Step<'_>| {
                    let wrong = diffeo_array::lint::lint(step.module);
                    let wrong = wrong.into_iter().map(|w| format!("{place}: {}: {w}", step.pass));
                    failures.extend(wrong);
                };
                // What is not supported was counted above.
                let _ = pipeline::flat(&entry.program, entry.global, &mut see);
            }
        }
        for wrong in judge(&case, &session, &outcome) {
            failures.push(format!("{place}: {wrong}"));
        }
    }
    println!(
        "{count} cases, {derivatives} of them on the evaluator because of derivatives, {bugs} bugs"
    );
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(
        only.is_some() || count - derivatives >= LEAST,
        "{} cases on Flat",
        count - derivatives
    );
}

/// Runs `main` of a program with an argument on Flat and on the evaluator; gives the value as it is shown.
fn both(text: &str, arg: Option<Value>) -> String {
    let mut session = Session::new();
    let module = session.load_text("case.deo", text);
    session.check();
    let entry =
        session.entry(module, "main").unwrap_or_else(|| panic!("{:?}", session.diagnostics()));
    let run = |engine| {
        let run = session.run_on(&entry, arg.clone(), Options::default(), engine);
        assert!(run.unsupported.is_none(), "{:?}", run.unsupported);
        let ty = match &entry.ty {
            Ty::Fun(fun) => &fun.1,
            ty => ty,
        };
        let value = run.result.unwrap_or_else(|error| panic!("{engine:?}: {error:?}"));
        diffeo_calculus::show::show(&value, ty, &entry.program.datas)
    };
    let (expected, found) = (run(Engine::Evaluator), run(Engine::Flat));
    assert!(expected == found, "{expected:.2000}\n{found:.2000}");
    found
}

/// What Flat is made of the `main` of a program before it is optimised.
fn lowered(text: &str) -> String {
    let mut session = Session::new();
    let module = session.load_text("case.deo", text);
    session.check();
    let entry = session.entry(module, "main").expect("an entry");
    session
        .show_flat(&entry, Some("lower"), &mut Vec::new())
        .expect("a program without derivatives")
}

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
        ("[]{a: Int, b: Rose}", "[{a = 1, b = Rose(1.0, [])}]"),
    ];
    for (ty, value) in fields {
        let given = format!("{types}def main: {ty} = {value}\n");
        let mut session = Session::new();
        let module = session.load_text("given.deo", &given);
        session.check();
        let entry =
            session.entry(module, "main").unwrap_or_else(|| panic!("{:?}", session.diagnostics()));
        let value = session.run(&entry, None, Kinks::Ignore).result.expect("a value");
        let shown = both(&given, None);
        // A record of one field is the tuple of one.
        let text = format!("{types}def main(r: {{x: {ty}, y: Int}}) = (r.x, r)\n");
        let arg = Value::tuple([value, Value::Int(3)]);
        assert_eq!(both(&text, Some(arg)), format!("({shown}, {{x = {shown}, y = 3}})"));
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
    both(&text, None);
}

#[test]
fn long_lists_and_arrays_go_in_and_out() {
    let mut list = Value::data(0, []);
    for i in 0..200_000 {
        list = Value::data(1, [Value::Int(i), list]);
    }
    let text = "def main(r: {xs: List[Int]}) = let n = length_list(r.xs) in (n, map_list(fn x -> x + n, r.xs))\n";
    assert!(both(text, Some(Value::tuple([list]))).starts_with("(200000, list["));
    let elements: Vec<String> = (0..100_000).map(|i| format!("{i}.5")).collect();
    both(&format!("def main = [{}]\n", elements.join(", ")), None);
    both("def main = show(to_list([i * i for i < 20000]))\n", None);
}

#[test]
fn large_programs_are_lowered() {
    let mut text = "def d0(x: Real) -> Real = x + 1.0\n".to_string();
    for i in 1..10_000 {
        text += &format!("def d{i}(x: Real) -> Real = d{}(x * 1.0001) + {i}.0\n", i - 1);
    }
    text += "def main = d9999(1.0)\n";
    both(&text, None);
    let lets: Vec<String> =
        (1..20_000).map(|i| format!("let a{i} = a{} * 0.5 + x in ", i - 1)).collect();
    both(
        &format!("def f(x: Real) = let a0 = x in {}a19999\ndef main = f(2.0)\n", lets.concat()),
        None,
    );
}

#[test]
fn functions_that_grow_in_a_recursion_have_few_instances() {
    let text = "def grow(n: Int, k: Real -> Real) -> Real -> Real = \
                if n <= 0 then k else if n > 3 then grow(n - 1, fn x -> k(x) + 1.0) else grow(n - 2, fn x -> k(k(x)))\n\
                def main = grow(20, sin)(1.0)\n";
    let functions = lowered(text).matches("\nfn ").count();
    assert!(functions < 40, "{functions} functions");
    both(text, None);
    // Twice as many calls for each definition, but not twice as much code.
    let mut text =
        "def twice(f: Real -> Real) -> Real -> Real = fn x -> f(f(x))\ndef f0(x: Real) = x + 1.0\n"
            .to_string();
    for i in 1..16 {
        text += &format!("def f{i} = twice(f{})\n", i - 1);
    }
    text += "def main = f15(0.0)\n";
    let functions = lowered(&text).matches("\nfn ").count();
    assert!(functions < 100, "{functions} functions");
    assert_eq!(both(&text, None), "32768.0");
}

#[test]
fn what_is_known_costs_nothing() {
    // A function that is used once is part of the loop; the sum of a comprehension makes no array.
    let text = lowered("def main = sum([x * 2.0 for x in map(fn y -> y + 1.0, [1.0, 2.0])])\n");
    assert_eq!(text.matches("build").count(), 1, "{text}");
    assert!(!text.contains("call `fn`") && text.contains("reduce[add]"), "{text}");
    // A case of a known constructor is no branch, and a variant that is not stored is no box.
    let text = lowered(
        "type S = A(Real) | B(Int, Int)\n\
         def size(s: S) -> Real = case s of { A(x) -> x | B(i, j) -> real(i * j) }\n\
         def main = (fn b -> size(if b then A(1.0) else B(2, 3)))(1 < 2) + (case A(2.0) of { A(x) -> x | B(_, _) -> 0.0 })\n",
    );
    assert_eq!(text.matches("switch").count(), 1, "{text}");
    assert!(!text.contains("new "), "{text}");
}

#[test]
fn calls_at_the_end_of_functions_take_no_memory() {
    let text = "def even(n: Int) -> Bool = if n == 0 then true else odd(n - 1)\n\
                def odd(n: Int) -> Bool = if n == 0 then false else even(n - 1)\n\
                def count(n: Int, a: Int) -> Int = if n == 0 then a else count(n - 1, a + 1)\n\
                def through(n: Int, k: Int -> Int) -> Int = if n == 0 then k(0) else through(n - 1, fn x -> k(x + 1))\n\
                def walk(fs: List[Int -> Int], n: Int) -> Int = case fs of { Nil -> n | f :: rest -> walk(rest, f(n)) }\n\
                def main = (even(1000000), count(1000000, 0), through(1000, fn x -> x), walk(list[fn x -> x + 1, fn x -> 2 * x], 1))\n";
    let mut session = Session::new();
    let module = session.load_text("case.deo", text);
    session.check();
    let entry = session.entry(module, "main").expect("an entry");
    let options = Options { max_stack: 1 << 20, ..Options::default() };
    let run = session.run_on(&entry, None, options, Engine::Flat);
    let value = run.result.unwrap_or_else(|error| panic!("{error:?}"));
    let shown = diffeo_calculus::show::show(&value, &entry.ty, &entry.program.datas);
    assert_eq!(shown, "(true, 1000000, 1000, 4)");
    both(text, None);
}
