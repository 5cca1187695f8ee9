//! Tests of the operators with functions written in Rust.

mod operators;
mod table;

use super::{derivative, pull_back, Caller};
use crate::array::Array;
use crate::eval::error::{ErrorKind, RuntimeError};
use crate::eval::event::Events;
use crate::eval::reals::{primal, Kinks, Reals};
use crate::prim::{DiffOp, RealOp};
use crate::value::{FunctionValue, Value};
use diffeo_base::{FileId, Span};
use std::rc::Rc;

type Res = Result<Value, RuntimeError>;
type Body = Rc<dyn Fn(&mut Eval, &[Value], Value) -> Res>;
type Fun = Rc<dyn Fn(&mut Eval, Value) -> Res>;

/// An evaluator whose functions are closures of Rust, by code number.
struct Eval {
    reals: Reals,
    functions: Vec<Body>,
    calls: usize,
}

impl Caller for Eval {
    fn check_limits(&mut self, _: Span) -> Result<(), RuntimeError> {
        Ok(())
    }

    fn call(&mut self, f: &Value, arg: Value) -> Res {
        self.calls += 1;
        let Value::Function(function) = f else { panic!("a call of {f:?}") };
        match &**function {
            FunctionValue::Closure { code, captured } => {
                let body = self.functions[*code as usize].clone();
                body(self, captured, arg)
            }
            FunctionValue::Pullback(p) => pull_back(self, p, arg, site(0)),
        }
    }

    fn reals(&mut self) -> &mut Reals {
        &mut self.reals
    }

    fn swap_events(&mut self, _: &mut Events) {}

    fn error(&mut self, kind: ErrorKind, span: Span) -> RuntimeError {
        RuntimeError { kind, function: None, span, trace: Vec::new() }
    }
}

/// A place, by a number.
fn site(n: usize) -> Span {
    Span::new(FileId(0), n, n + 1)
}

impl Eval {
    fn new(kinks: Kinks) -> Eval {
        Eval { reals: Reals::new(kinks), functions: Vec::new(), calls: 0 }
    }

    fn closure(
        &mut self,
        captured: Vec<Value>,
        body: impl Fn(&mut Eval, &[Value], Value) -> Res + 'static,
    ) -> Value {
        self.functions.push(Rc::new(body));
        let code = self.functions.len() as u32 - 1;
        Value::Function(Rc::new(FunctionValue::Closure { code, captured: captured.into() }))
    }

    fn function(&mut self, body: impl Fn(&mut Eval, Value) -> Res + 'static) -> Value {
        self.closure(vec![], move |t, _, x| body(t, x))
    }

    fn at(&mut self, op: RealOp, a: &Value, b: &Value, n: usize) -> Res {
        let y = self.reals.apply(op, a, b, site(n));
        y.map_err(|kind| self.error(kind, site(n)))
    }

    fn un(&mut self, op: RealOp, a: &Value) -> Res {
        self.at(op, a, &Value::Unit, 0)
    }

    fn bin(&mut self, op: RealOp, a: &Value, b: &Value) -> Res {
        self.at(op, a, b, 0)
    }

    fn pow(&mut self, x: &Value, n: i64) -> Res {
        let y = self.reals.pow_int(x, n, site(0));
        y.map_err(|kind| self.error(kind, site(0)))
    }

    fn diff(&mut self, op: DiffOp, args: impl IntoIterator<Item = Value>) -> Res {
        let depth = self.reals.depth();
        let y = derivative(self, &op, args.into_iter().collect(), site(0));
        assert_eq!(self.reals.depth(), depth, "levels stay open");
        y
    }
}

/// The derivative of a function of one number, forwards.
fn forward(f: Fun) -> Fun {
    Rc::new(move |t, x| {
        let f = f.clone();
        let f = t.function(move |t, x| f(t, x));
        Ok(t.diff(DiffOp::Jvp, [f, x, real(1.0)])?.fields()[1].clone())
    })
}

/// The derivative of a function of one number, backwards.
fn backward(f: Fun) -> Fun {
    Rc::new(move |t, x| {
        let f = f.clone();
        let f = t.function(move |t, x| f(t, x));
        t.diff(DiffOp::Rd, [f, x, real(1.0)])
    })
}

/// Value and derivatives up to order r of a function of one number.
fn derivatives(t: &mut Eval, f: &Fun, r: u32, x: f64) -> Vec<f64> {
    let f = f.clone();
    let f = t.function(move |t, x| f(t, x));
    let mut seed = vec![0.0; r as usize + 1];
    seed[0] = x;
    if r > 0 {
        seed[1] = 1.0;
    }
    let y = t.diff(DiffOp::Jet { k: 1, r }, [f, reals(&seed)]).unwrap();
    numbers(&y)
}

fn real(x: f64) -> Value {
    Value::Real(x)
}

fn reals(xs: &[f64]) -> Value {
    Value::array(Array::from_reals(xs.to_vec()))
}

fn numbers(v: &Value) -> Vec<f64> {
    let mut out = Vec::new();
    crate::leaves::each_leaf::<()>(v, &mut |x| {
        assert!(matches!(x, Value::Real(_)), "{x:?} is left in a result");
        out.push(primal(x));
        Ok(())
    })
    .unwrap();
    out
}

fn number(v: Res) -> f64 {
    match v.unwrap() {
        Value::Real(x) => x,
        other => panic!("{other:?} is not a plain number"),
    }
}

/// Equal to within a tolerance relative to the larger, or both nan, or equal.
fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b
        || (a.is_nan() && b.is_nan())
        || (a - b).is_finite() && (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

fn assert_close(what: &str, a: f64, b: f64, tolerance: f64) {
    assert!(close(a, b, tolerance), "{what}: {a} and {b}");
}
