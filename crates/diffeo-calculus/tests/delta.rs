//! The reverse-mode systems of Krawiec et al.: they lint, they agree with each other and with the evaluator's
//! derivatives, and they cost what the paper says.

mod support;

use diffeo_calculus::ad::delta::{naive, wrapper};
use diffeo_calculus::ad::{Delta, Workspace};
use diffeo_calculus::eval::{Machine, Options, RuntimeError};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::value::Value;
use diffeo_calculus::{lint, parse, Program};
use std::rc::Rc;

const DEFAULT: Delta = Delta { arrays: false, split: false };
const ARRAYS: Delta = Delta { arrays: true, split: false };

fn program(text: &str) -> Program {
    let program = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(lint(&program), Vec::<String>::new(), "{text}");
    program
}

fn find(program: &Program, name: &str) -> GlobalId {
    let at = program.globals.iter().position(|g| &*g.name == name);
    GlobalId(at.unwrap_or_else(|| panic!("{name}")) as u32)
}

fn machine(program: &Rc<Program>) -> Machine {
    Machine::new(program.clone(), Options::default())
}

/// The numbers of a value, and its other leaves as text.
fn leaves(value: &Value, numbers: &mut Vec<f64>, rest: &mut String) {
    match value {
        Value::Real(x) => numbers.push(*x),
        Value::Tuple(_) | Value::Data(_) => {
            if let Value::Data(data) = value {
                *rest += &format!("{}(", data.tag);
            }
            value.fields().iter().for_each(|v| leaves(v, numbers, rest));
            *rest += ")";
        }
        Value::Array(array) => {
            *rest += &format!("{}[", array.len());
            array.iter().for_each(|v| leaves(&v, numbers, rest));
        }
        other => *rest += &format!("{other:?},"),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    let mut found = Vec::new();
    leaves(value, &mut found, &mut String::new());
    found
}

fn assert_agree(what: &str, a: &Value, b: &Value) {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    let (mut p, mut q) = (String::new(), String::new());
    leaves(a, &mut xs, &mut p);
    leaves(b, &mut ys, &mut q);
    assert_eq!(p, q, "{what}");
    assert_eq!(xs.len(), ys.len(), "{what}");
    let scale = xs.iter().chain(&ys).filter(|x| x.is_finite()).fold(1.0, |m: f64, x| m.max(x.abs()));
    for (x, y) in xs.iter().zip(&ys) {
        let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-9 * scale;
        assert!(same, "{what}: {xs:?} and {ys:?}");
    }
}

/// What the definition makes of the pair of the constants `s` and `dt`.
fn applied(program: &Rc<Program>, f: GlobalId) -> Result<Value, RuntimeError> {
    let mut m = machine(program);
    let s = m.eval_global(find(program, "s"))?;
    let dt = m.eval_global(find(program, "dt"))?;
    let f = m.eval_global(f)?;
    m.apply(&f, Value::tuple([s, dt]))
}

fn rd(program: &Rc<Program>) -> Result<Value, RuntimeError> {
    let mut m = machine(program);
    let s = m.eval_global(find(program, "s"))?;
    let dt = m.eval_global(find(program, "dt"))?;
    let e = m.eval_global(find(program, "e"))?;
    m.derivative(DiffOp::Rd, vec![e, s, dt])
}

type Wrapper = fn(&mut Workspace, GlobalId) -> GlobalId;

const SYSTEMS: &[(&str, Wrapper)] = &[
    ("R", |w, e| wrapper::r(w, e, DEFAULT)),
    ("R with arrays", |w, e| wrapper::r(w, e, ARRAYS)),
    ("R²", naive::r2),
    ("R¹", naive::r1),
];

/// All systems give the evaluator's derivative of `e` at `s` with `dt`.
fn agree(text: &str) {
    let source = program(text);
    let expected = rd(&Rc::new(source.clone()));
    let expected = expected.unwrap_or_else(|e| panic!("{}\n{text}", e.kind.message()));
    for (name, make) in SYSTEMS {
        let mut w = Workspace::new(&source);
        let f = make(&mut w, find(&source, "e"));
        let translated = w.program();
        assert_eq!(lint(&translated), Vec::<String>::new(), "{name} of {text}");
        assert!(w.refusals().is_empty());
        match applied(&translated, f) {
            Ok(value) => assert_agree(&format!("{name} of {text}"), &expected, &value),
            Err(e) => panic!("{name}: {}\n{text}", e.kind.message()),
        }
    }
}

#[test]
fn small() {
    agree("def e : Real -> Real = fn (x : Real) -> #real.mul(x, x) def s : Real = 3.0 def dt : Real = 2.0");
    agree(
        "def e : (Real, Real) -> Real = fn (p : (Real, Real)) ->
           let x : Real = proj[(Real, Real), 0](p); y : Real = proj[(Real, Real), 1](p) in
           #real.sub(#real.mul(x, #real.sin(y)), #real.div(y, x))
         def s : (Real, Real) = tuple[(Real, Real)](1.5, -2.0)
         def dt : Real = 0.5",
    );
}
