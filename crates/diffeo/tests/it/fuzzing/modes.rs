//! Derivatives in every mode: the terms whose numbers have to agree, and how they are evaluated.

use diffeo::{Options, Session};
use diffeo_calculus::eval::Machine;
use diffeo_calculus::leaves;
use diffeo_calculus::value::Value;

thread_local! {
    static NEW: Session = Session::new();
}

/// The derivatives of a function at a point, along `v` and weighted by `w`, in every mode.
pub const MODES: &str = "
(fn (x, v, w) ->
  let f = FUNCTION
  let g(z) = inner(w, f(z))
  let line(t: Real) = g(add(x, scale(t, v)))
  let forward = inner(w, fd(f, x, v))
  let reverse = inner(rd(f, x, w), v)
  let gradient = inner(grad(g)(x), v)
  let taylor = derivatives(2, line)(0.0) in
  ([forward, reverse, gradient, taylor[1], fd(line, 0.0, 1.0), rd(line, 0.0, 1.0)], line(0.0), taylor[0]))";

/// Second derivatives along `v`, every nesting of two modes.
pub const SECOND: &str = "
(fn (x, v, w) ->
  let f = FUNCTION
  let g(z) = inner(w, f(z))
  let line(t: Real) = g(add(x, scale(t, v))) in
  [inner(v, snd(jvp(grad(g), x, v))),
   inner(v, grad(fn z -> inner(v, grad(g)(z)))(x)),
   inner(v, grad(fn z -> fd(g, z, v))(x)),
   fd(fn z -> fd(g, z, v), x, v),
   fd(fn z -> inner(w, fd(f, z, v)), x, v),
   derivatives(2, line)(0.0)[2],
   derivatives(3, line)(0.0)[2],
   derivatives(1, fn t -> grad(line)(t))(0.0)[1]])";

/// A function value with the machine that runs it.
pub struct EvaluatedFunction {
    /// Counts the operations of all calls.
    pub machine: Machine,
    value: Value,
}

impl EvaluatedFunction {
    /// Calls it with its arguments.
    pub fn call(&mut self, args: impl IntoIterator<Item = Value>) -> Result<Value, String> {
        let args: Vec<Value> = args.into_iter().collect();
        let arg = if args.len() == 1 { args[0].clone() } else { Value::tuple(args) };
        self.machine.apply(&self.value, arg).map_err(|e| format!("{:?}", e.kind))
    }
}

/// The function that is the value of an expression in the scope of a program.
pub fn function(program: &str, text: &str, options: Options) -> Result<EvaluatedFunction, String> {
    let mut session = NEW.with(Session::clone);
    let module = session.load_text("case.deo", program);
    session.check();
    let it = session.expression(Some(module), text);
    let Some(it) = it else { return Err(format!("{text}: {:?}", session.diagnostics())) };
    let entry = session.function(it, "it").ok_or("no entry")?;
    let mut machine = Machine::new(entry.program.clone(), options);
    let value = machine.eval_global(entry.global).map_err(|e| format!("{:?}", e.kind))?;
    Ok(EvaluatedFunction { machine, value })
}

/// The value with pseudo-random Real leaves.
pub fn direction(value: &Value, seed: &mut u64) -> Value {
    leaves::map_leaves(value, &mut |_| {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let unit = (*seed >> 11) as f64 / (1u64 << 53) as f64;
        Ok::<_, String>(Value::Real(2.0 * unit - 1.0))
    })
    .expect("no step fails")
}

/// The Reals of a value, from left to right.
pub fn numbers(value: &Value) -> Vec<f64> {
    let mut out = Vec::new();
    let _ = leaves::each_leaf(value, &mut |leaf| {
        if let Value::Real(x) = leaf {
            out.push(*x);
        }
        Ok::<_, String>(())
    });
    out
}

/// Whether two numbers are that near; nan is near nothing.
pub fn within(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}
