//! The table of forms and systems is complete and true: for every form there is a program of a number, which every
//! system translates and differentiates, or refuses as the table says.

use crate::support::translated::named;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Machine, Options};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::{GlobalId, Program, TermKind};
use diffeo_calculus::value::Value;
use diffeo_calculus::{lint, parse};
use diffeo_papers::coverage::{
    in_term, of, operations, table, Coverage, CoverageRow, FORMS, SYSTEMS,
};
use diffeo_papers::delta::{naive, wrapper};
use diffeo_papers::engine::{machine as engine, TranslatingEngine};
use diffeo_papers::trace::{TraceEvaluator, TraceOptions, TraceStop};
use diffeo_papers::{dual, Delta, System, Workspace};
use std::rc::Rc;

const DATA: &str = "data Maybe[$0] = Nothing | Just($0)\n\n";

/// The names of the rows and the programs, `def e : Real -> Real = fn (x : Real) -> …`.
const PROGRAMS: &[(&str, &str)] = &[
    ("variable", "x"),
    ("constant", "2.5"),
    ("tuple", "proj[(Real, Real), 1](tuple[(Real, Real)](1.0, #real.sin(x)))"),
    ("projection", "proj[(Real, Real), 0](tuple[(Real, Real)](#real.sin(x), x))"),
    ("let", "let y : Real = #real.sin(x) in #real.mul(y, y)"),
    ("if", "if #lt[Real](x, 1.0) then #real.sin(x) else x"),
    ("definition", "@half (@half x)"),
    (
        "letrec",
        "letrec f : Real -> Real = fn (y : Real) -> if #lt[Real](y, 2.0) then f #real.mul(y, y) else y
         in f #real.add(x, 1.0)",
    ),
    ("λ", "(fn (g : Real -> Real) -> g (g x)) (fn (y : Real) -> #real.mul(x, #real.sin(y)))"),
    ("application", "(fn (y : Real) -> #real.sin(y)) x"),
    ("constructor", "case con Maybe[Real].Just(x) of Maybe[Real] { | Nothing() -> 0.0 | Just(y : Real) -> #real.exp(y) }"),
    ("case", "case con Maybe[Real].Nothing() of Maybe[Real] { | Nothing() -> #real.exp(x) | Just(y : Real) -> y }"),
    ("array", "#index[Real](array[Real](1.0, #real.sin(x)), 1)"),
    ("build", "#sum[Real](build[Real] i : Int < 3 do #real.mul(x, #to_real(i)))"),
    ("loop", "loop s : Real = x for i : Int < 3 do #real.mul(s, #real.sin(x))"),
    ("real.…", "#real.div(#real.sin(x), #real.exp(x))"),
    ("int.…", "#real.mul(x, #to_real(#int.add(1, 2)))"),
    (
        "text.…",
        "#real.mul(x, #real.add(#text.number(\"3.5\"), #real.add(#text.number(#text.digits(2, x)),
           #to_real(#text.size(#text.slice(#text.upper(\"abc\"), 1, #text.find(\"C\", #text.upper(\"abc\"), 0)))))))",
    ),
    ("floor, ceil, round, trunc", "#real.mul(x, #to_real(#ceil(x)))"),
    ("eq, ne, lt, le, gt, ge", "if #ge[Real](x, 1.0) then x else #real.cos(x)"),
    ("pow_int", "#pow_int(x, 3)"),
    ("not", "if #not(#lt[Real](x, 1.0)) then x else #real.cos(x)"),
    ("to_real", "#real.mul(x, #to_real(3))"),
    ("is_nan", "if #is_nan(x) then 1.0 else #real.cos(x)"),
    ("append_strings", "if #eq[String](#append_strings(\"a\", \"b\"), \"ab\") then #real.cos(x) else x"),
    ("add", "#index[Real](#add[[]Real](array[Real](x, 1.0), array[Real](#real.sin(x), x)), 0)"),
    ("sub", "#index[Real](#sub[[]Real](array[Real](x, 1.0), array[Real](#real.sin(x), x)), 0)"),
    ("neg", "#index[Real](#neg[[]Real](array[Real](x, 1.0)), 0)"),
    ("scale", "#index[Real](#scale[[]Real](x, array[Real](x, 1.0)), 0)"),
    ("unscale", "#index[Real](#unscale[[]Real](array[Real](1.0, 2.0), x), 1)"),
    ("mul_elements", "#index[Real](#mul_elements[[]Real](array[Real](x), array[Real](#real.sin(x))), 0)"),
    ("div_elements", "#index[Real](#div_elements[[]Real](array[Real](1.0), array[Real](x)), 0)"),
    ("zero_of", "#real.add(x, #index[Real](#zero_of[[]Real](array[Real](x, x)), 1))"),
    ("inner", "#inner[[]Real](array[Real](x, x), array[Real](#real.sin(x), 2.0))"),
    ("ravel", "#index[Real](#ravel[(Real, Int, Real)](tuple[(Real, Int, Real)](1.0, 2, #real.mul(x, x))), 1)"),
    ("unravel", "proj[(Real, Int), 0](#unravel[(Real, Int)](tuple[(Real, Int)](1.0, 2), array[Real](#real.mul(x, x))))"),
    ("length", "#real.mul(x, #to_real(#length[Real](array[Real](x, x))))"),
    ("index", "#index[Real](array[Real](x, #real.mul(x, x)), 1)"),
    ("slice", "#sum[Real](#slice[Real](array[Real](x, #real.mul(x, x), 3.0), 0, 2))"),
    ("update", "#sum[Real](#update[[]Real](array[Real](x, #real.mul(x, x), 3.0), 0, #real.sin(x)))"),
    ("append", "#sum[Real](#append[Real](array[Real](x), array[Real](#real.mul(x, x))))"),
    ("flatten", "#sum[Real](#flatten[Real](array[[]Real](array[Real](x, 1.0), array[Real](#real.mul(x, x), 2.0))))"),
    ("sum", "#sum[Real](array[Real](x, #real.mul(x, x)))"),
    ("arg_sort", "let xs : []Real = array[Real](#real.mul(x, x), x) in
         #index[Real](xs, #index[Int](#arg_sort[Real](xs), 0))"),
    ("sizes", "#real.mul(x, #to_real(#sizes[{n}, 0, [n]_, []Real](array[Real](x, x))))"),
    ("show", "if #eq[String](#show[Real](x), \"0.4\") then #real.mul(x, x) else x"),
    ("labels", "#real.mul(x, #to_real(#length[String](#labels[(Real, []Real)](tuple[(Real, []Real)](x, array[Real](x, 1.0))))))"),
    ("fail", "if #lt[Real](x, 1.0) then #real.mul(x, x) else #fail[Real](\"no\")"),
    ("trace", "#trace[Real](\"x\", #real.mul(x, x))"),
    ("warn", "let w : () = #warn(\"c\", \"m\", \"h\") in #real.mul(x, x)"),
    ("progress", "#progress[Real](\"x\", 1, x, #real.mul(x, x))"),
    ("rd", "#real.mul(x, #rd[Real, Real](fn (y : Real) -> #real.mul(y, #real.mul(y, x)), x, 1.0))"),
    ("vjp", "proj[(Real, Real -> Real), 1](#vjp[Real, Real](fn (y : Real) -> #real.mul(y, #real.mul(y, x)), x)) x"),
    ("jvp", "proj[(Real, Real), 1](#jvp[Real, Real](fn (y : Real) -> #real.mul(y, #real.mul(y, x)), x, 1.0))"),
    ("jet", "#index[Real](#jet[1, 1, Real, Real](fn (y : Real) -> #real.mul(y, #real.mul(y, x)), array[Real](x, 1.0)), 1)"),
    ("stop_gradient", "#real.mul(x, #stop_gradient[Real, Real](x))"),
    ("checkpoint", "#checkpoint[Real, Real](fn (y : Real) -> #real.mul(y, y), x)"),
    (
        "with_derivative",
        "#with_derivative[Real, Real](fn (y : Real) -> #real.mul(y, y), fn (p : (Real, Real)) ->
           tuple[(Real, Real)](#real.mul(proj[(Real, Real), 0](p), proj[(Real, Real), 0](p)),
             #real.mul(5.0, proj[(Real, Real), 1](p))), x)",
    ),
    (
        "with_exact_derivative",
        "#with_exact_derivative[Real, Real](fn (y : Real) -> #real.mul(y, y), fn (p : (Real, Real)) ->
           tuple[(Real, Real)](#real.mul(proj[(Real, Real), 0](p), proj[(Real, Real), 0](p)),
             #real.mul(#real.mul(2.0, proj[(Real, Real), 0](p)), proj[(Real, Real), 1](p))), x)",
    ),
    (
        "rd_along",
        "#rd_along[Real, Real](fn (y : Real) -> #real.abs(y), array[Real](1.0), x, #real.mul(x, x))",
    ),
    (
        "decisions",
        "let u : []Real = #decisions[Real, Real](fn (y : Real) -> #real.sign(y), -1.0, \"no\") in #real.mul(x, x)",
    ),
    ("deciding", "#deciding[Real, Real](fn (y : Real) -> #real.mul(y, y), fn (u : ()) -> array[Real](), x)"),
    (
        "enclose",
        "#real.mul(x, #index[Real](proj[([]Real, String), 0](
           #enclose[Real, Real](fn (y : Real) -> #real.mul(y, y), 1.0, 2.0)), 0))",
    ),
    ("dependence", "#real.mul(x, #dependence[Real, Real](fn (y : Real) -> #real.mul(y, y), 1.0, 4.0))"),
    ("all_paths", "#real.mul(x, #all_paths[Real, Real](fn (y : Real) -> #real.mul(y, y), x))"),
    // What a function value was made from is known only when the program runs: with an engine.
    ("lift", "#rd[Real, Real](if #lt[Real](x, 1.0) then @half else @double, x, x)"),
];

const X: f64 = 0.4;

fn program(name: &str, body: &str) -> Rc<Program> {
    let text = format!(
        "{DATA}def half : Real -> Real = fn (y : Real) -> #real.div(#real.sin(y), 2.0)\n
def double : Real -> Real = fn (y : Real) -> #real.mul(y, 2.0)\n
def e : Real -> Real = fn (x : Real) -> {body}\n"
    );
    let program = parse(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
    assert_eq!(lint(&program), Vec::<String>::new(), "{name}");
    Rc::new(program)
}

fn rows() -> Vec<CoverageRow> {
    PROGRAMS.iter().map(|(name, body)| row(name, &program(name, body))).collect()
}

fn row(name: &str, program: &Program) -> CoverageRow {
    if name == "lift" {
        let lift = diffeo_calculus::prim::Lift {
            what: diffeo_calculus::prim::Lifting::Lift,
            systems: vec![System::Forward],
            from: diffeo_calculus::Ty::Real,
            to: diffeo_calculus::Ty::Real,
        };
        return of(&TermKind::Prim(diffeo_calculus::Prim::Lift(Rc::new(lift)), Vec::new()));
    }
    let body = &program.globals[named(program, "e").0 as usize].body;
    let found = in_term(body).into_iter().find(|row| row.form == name);
    found.unwrap_or_else(|| panic!("the program of {name} has no {name}"))
}

fn run(mut machine: Machine, f: GlobalId, x: Value) -> Result<Value, String> {
    let f = machine.eval_global(f).map_err(|e| e.kind.message())?;
    machine.apply(&f, x).map_err(|e| e.kind.message())
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Real(x) => *x,
        other => panic!("{other:?}"),
    }
}

/// The derivative by a system; none if it refused.
fn differentiated(program: &Rc<Program>, system: usize) -> Result<Option<f64>, String> {
    let e = named(program, "e");
    let pair = |a, b| Value::tuple(vec![Value::Real(a), Value::Real(b)]);
    let mut w = Workspace::new(program);
    if system == 0 {
        let mut evaluator = TraceEvaluator::new(program.clone(), TraceOptions::default());
        let (trace, _) = match evaluator.trace(e, Value::Real(X)) {
            // The evaluator alone has this operator.
            Err(TraceStop::Error(error)) if matches!(error.kind, ErrorKind::NanDerivative) => {
                return Ok(None)
            }
            traced => traced.map_err(|stop| format!("{stop:?}"))?,
        };
        let reverse = trace.reverse(Value::Real(1.0)).map_err(|kind| kind.message())?;
        let value = reverse.evaluate(&[Value::Real(X), Value::Real(1.0)]);
        return Ok(Some(number(&value.map_err(|kind| kind.message())?)));
    }
    let (made, argument) = match system {
        1 => (dual::wrapper(&mut w, e), pair(X, 1.0)),
        2 => (w.translated(&System::Taylor { k: 1, r: 1 }, e), pair(X, 1.0)),
        3 => {
            let components = [X, 1.0, 0.0, 0.0].map(Value::Real);
            (w.translated(&System::Mixed, e), Value::tuple(components.to_vec()))
        }
        4 => (naive::r1(&mut w, e), pair(X, 1.0)),
        5 => (naive::r2(&mut w, e), pair(X, 1.0)),
        _ => (wrapper::r(&mut w, e, Delta::default()), pair(X, 1.0)),
    };
    let translated = w.program();
    if !w.refusals().is_empty() {
        return Ok(None);
    }
    assert_eq!(lint(&translated), Vec::<String>::new());
    let value = run(Machine::translating(Box::new(w), Options::default()), made, argument)?;
    Ok(Some(match &value {
        Value::Real(x) => *x,
        components => number(&components.fields()[1]),
    }))
}

fn expected(program: &Rc<Program>) -> f64 {
    let mut machine = Machine::new(program.clone(), Options::default());
    let e = machine.eval_global(named(program, "e")).expect("a function");
    let args = vec![e, Value::Real(X), Value::Real(1.0)];
    number(&machine.derivative(DiffOp::Rd, args).expect("a derivative"))
}

#[test]
fn every_cell_is_true() {
    let mut wrong = Vec::new();
    for (name, body) in PROGRAMS.iter().filter(|(name, _)| *name != "lift") {
        let program = program(name, body);
        let row = row(name, &program);
        let expected = expected(&program);
        for (i, cell) in row.cells.iter().enumerate() {
            let what = format!("{name} by {}", SYSTEMS[i]);
            match (cell, differentiated(&program, i)) {
                (Coverage::Refused(_), Ok(None)) => {}
                (Coverage::Paper(_) | Coverage::Ours, Ok(Some(x))) => {
                    if (x - expected).abs() > 1e-12 {
                        wrong.push(format!("{what}: {x} is not {expected}"));
                    }
                }
                (cell, found) => wrong.push(format!("{what}: {cell:?}, but {found:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn function_values_are_translated_when_the_program_runs() {
    let (name, body) = PROGRAMS[PROGRAMS.len() - 1];
    let program = program(name, body);
    let plain = Machine::new(program.clone(), Options::default());
    let expected = number(&run(plain, named(&program, "e"), Value::Real(X)).expect("a value"));
    for system in [
        TranslatingEngine::Dual,
        TranslatingEngine::Taylor,
        TranslatingEngine::Delta(Delta::default()),
    ] {
        let machine = engine(&program, system, Options::default());
        let value = run(machine, named(&program, "e"), Value::Real(X)).expect("a value");
        assert!((number(&value) - expected).abs() < 1e-12, "{system:?}");
    }
}

#[test]
fn every_form_has_a_row() {
    let rows = rows();
    let names: Vec<&str> = rows.iter().map(|row| row.form.as_str()).collect();
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len());
    for form in FORMS {
        assert!(names.contains(&form), "no program for {form}");
    }
    for row in operations() {
        assert!(names.contains(&row.form.as_str()), "no program for {}", row.form);
    }
}

#[test]
fn the_book_has_the_table() {
    let path = format!("{}/../../docs/book/papers.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once("<!-- coverage -->\n").expect("the beginning");
    let (shown, after) = rest.split_once("<!-- end of coverage -->").expect("the end");
    let expected = format!("\n{}\n", table(&rows()));
    if std::env::var_os("UPDATE").is_some() {
        let page = format!("{before}<!-- coverage -->\n{expected}<!-- end of coverage -->{after}");
        std::fs::write(&path, page).expect("the page can be written");
    } else {
        assert_eq!(shown, expected, "run this test with UPDATE=1 to renew the table");
    }
}
