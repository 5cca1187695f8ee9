//! The evaluator on programs written as text: values of every operation, and what stops them.

use diffeo_array::ir::Module;
use diffeo_array::value::Value;
use diffeo_array::{lint, parse, print, Evaluator};
use diffeo_calculus::eval::{Options, RuntimeError};
use std::sync::Arc;

/// A module that lints and reads back.
fn module(text: &str) -> Arc<Module> {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(lint(&module), Vec::<String>::new());
    let printed = print(&module);
    assert_eq!(parse(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}")), module, "{printed}");
    Arc::new(module)
}

fn run(text: &str, args: Vec<Value>) -> Result<Vec<Value>, RuntimeError> {
    Evaluator::new(module(text), Options::default()).run(args)
}

/// The results of a function `main` with this head and body.
fn results(head: &str, body: &str, args: Vec<Value>) -> Vec<Value> {
    let text = format!("entry main fn main{head} {{ {body} }}");
    run(&text, args).unwrap_or_else(|e| panic!("{:?}\n{text}", e.kind))
}

#[test]
fn scalars() {
    let body = "a: Real = real.add(x, 2.0)
        b: Real = real.sqrt(a)
        c: Real = pow_int(b, 3)
        m: Int = int.mul(n, 7)
        f: Int = fits.add(9223372036854775807, n)
        p: Bool = lt[Real](x, nan)
        q: Bool = ge[Int](m, n)
        r: Bool = and(p, q)
        s: Bool = or(p, q)
        t: Bool = not(r)
        u: Int = select(t, m, 0)
        v: Real = to_real(n)
        w: Int = floor(-2.5)
        y: Bool = is_nan(nan)
        z: Real = real.polygamma[1](1.0)
        e: Bool = eq[Bool](true, y)
        return c, m, f, p, q, r, s, t, u, v, w, y, z, e";
    let head = "(x: Real, n: Int) ->
        (Real, Int, Int, Bool, Bool, Bool, Bool, Bool, Int, Real, Int, Bool, Real, Bool)";
    let found = results(head, body, vec![Value::Real(2.0), Value::Int(3)]);
    let expected = [
        Value::Real(8.0),
        Value::Int(21),
        Value::Int(i64::MIN + 2),
        Value::Bool(false),
        Value::Bool(true),
        Value::Bool(false),
        Value::Bool(true),
        Value::Bool(true),
        Value::Int(21),
        Value::Real(3.0),
        Value::Int(-3),
        Value::Bool(true),
        Value::Real(diffeo_calculus::prim::special::polygamma(1, 1.0)),
        Value::Bool(true),
    ];
    assert_eq!(found, expected);
}
