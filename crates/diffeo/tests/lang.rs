//! Every case of `tests/lang`: values, messages, and derivatives in every mode.

mod support;

use diffeo::{Kinks, Options, Session};
use diffeo_calculus::eval::Machine;
use diffeo_calculus::leaves;
use diffeo_calculus::value::Value;
use support::{corpus, judge, run, Case};

#[test]
fn the_corpus_gives_what_it_says() {
    let cases = corpus();
    let mut failures = Vec::new();
    for case in &cases {
        let (session, _, outcome) = run(&case.text, case.kinks.unwrap_or(Kinks::Ignore));
        for wrong in judge(case, &session, &outcome) {
            failures.push(format!("{}:{} {}: {wrong}", case.file.display(), case.line, case.name));
        }
    }
    println!("{} cases", cases.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(cases.len() >= 300, "the corpus has only {} cases", cases.len());
}

/// The derivatives of a function at a point, along `v` and weighted by `w`, in every mode.
const MODES: &str = "
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
const SECOND: &str = "
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

/// The values on the line that differences are taken of.
const LINE: &str = "
(fn (x, v, w, t) -> let f = FUNCTION in inner(w, f(add(x, scale(t, v)))))";

const GRADIENT: &str = "(fn (x, w) -> let (y, pullback) = vjp(FUNCTION, x) in pullback(w))";

struct Function {
    machine: Machine,
    value: Value,
}

impl Function {
    fn call(&mut self, args: impl IntoIterator<Item = Value>) -> Result<Value, String> {
        let args: Vec<Value> = args.into_iter().collect();
        let arg = if args.len() == 1 { args[0].clone() } else { Value::tuple(args) };
        self.machine.apply(&self.value, arg).map_err(|e| format!("{:?}", e.kind))
    }
}

fn function(case: &Case, text: &str) -> Result<Function, String> {
    let mut session = Session::new();
    let module = session.load_text("case.deo", &case.text);
    session.check();
    let it = session.expression(Some(module), text);
    let Some(it) = it else { return Err(format!("{text}: {:?}", session.diagnostics())) };
    let entry = session.function(it, "it").ok_or("no entry")?;
    let mut machine = Machine::new(entry.program.clone(), Options::default());
    let value = machine.eval_global(entry.global).map_err(|e| format!("{:?}", e.kind))?;
    Ok(Function { machine, value })
}

/// The value with pseudo-random Real leaves.
fn direction(value: &Value, seed: &mut u64) -> Value {
    leaves::map_leaves(value, &mut |_| {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let unit = (*seed >> 11) as f64 / (1u64 << 53) as f64;
        Ok::<_, String>(Value::Real(2.0 * unit - 1.0))
    })
    .expect("no step fails")
}

fn size(value: &Value) -> u64 {
    let mut n = 0;
    let _ = leaves::each_leaf(value, &mut |_| {
        n += 1;
        Ok::<_, String>(())
    });
    n
}

fn numbers(value: &Value) -> Vec<f64> {
    let mut out = Vec::new();
    let _ = leaves::each_leaf(value, &mut |leaf| {
        if let Value::Real(x) = leaf {
            out.push(*x);
        }
        Ok::<_, String>(())
    });
    out
}

/// Central differences of `line` at 0, extrapolated twice (Richardson).
fn differences(line: &mut dyn FnMut(f64) -> Result<f64, String>) -> Result<(f64, f64), String> {
    let mut best = (f64::NAN, f64::INFINITY);
    let mut scale = 0.0f64;
    for start in [1e-1, 1e-2, 1e-3] {
        let mut rows: Vec<f64> = Vec::new();
        for k in 0..4 {
            let h = start / 2f64.powi(k);
            let (a, b) = (line(h)?, line(-h)?);
            scale = scale.max(a.abs()).max(b.abs());
            rows.push((a - b) / (2.0 * h));
        }
        let mut order = 4.0;
        while rows.len() > 1 {
            let next: Vec<f64> =
                rows.windows(2).map(|w| (order * w[1] - w[0]) / (order - 1.0)).collect();
            let error = (next[next.len() - 1] - rows[rows.len() - 1]).abs();
            if error < best.1 {
                best = (next[next.len() - 1], error);
            }
            rows = next;
            order *= 4.0;
        }
    }
    Ok((best.0, scale))
}

/// Whether two numbers are that near; nan is near nothing.
fn within(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}

fn check(case: &Case, f: &str, at: &str, first_only: bool) -> Result<f64, String> {
    let put = |template: &str| template.replace("FUNCTION", &format!("({f})"));
    let mut point = function(case, &format!("(fn () -> {at})"))?;
    let x = point.call([Value::Unit])?;
    let mut primal = function(case, &format!("({f})"))?;
    let y = primal.call([x.clone()])?;
    let operations = primal.machine.operations();
    let mut seed = 42;
    // Reverse mode costs a constant times the program, plus the sizes of point and value.
    let w = direction(&y, &mut seed);
    let mut gradient = function(case, &put(GRADIENT))?;
    gradient.call([x.clone(), w])?;
    let allowed = operations + size(&x) + size(&y) + 20;
    let ratio = gradient.machine.operations() as f64 / allowed as f64;
    if ratio > 25.0 {
        return Err(format!(
            "reverse mode takes {} operations, the program {operations}",
            gradient.machine.operations()
        ));
    }
    for _ in 0..2 {
        let (v, w) = (direction(&x, &mut seed), direction(&y, &mut seed));
        let result = function(case, &put(MODES))?.call([x.clone(), v.clone(), w.clone()])?;
        let all = numbers(&result);
        let (modes, values) = all.split_at(6);
        let largest = all.iter().fold(1e-30f64, |m, x| m.max(x.abs()));
        for (i, d) in modes.iter().enumerate() {
            if !within(*d, modes[0], 1e-9 * largest) {
                return Err(format!("first derivatives: mode {i} differs in {modes:?}"));
            }
        }
        if values[0] != values[1] {
            return Err(format!("the values differ: {values:?}"));
        }
        let mut line = function(case, &put(LINE))?;
        let (difference, scale) = differences(&mut |t| {
            let args = [x.clone(), v.clone(), w.clone(), Value::Real(t)];
            Ok(numbers(&line.call(args)?)[0])
        })?;
        if !within(difference, modes[0], 1e-6 * largest.max(scale).max(1.0)) {
            return Err(format!("differences give {difference}, the modes {modes:?}"));
        }
        if first_only {
            continue;
        }
        let second = numbers(&function(case, &put(SECOND))?.call([x.clone(), v, w])?);
        let largest = second.iter().fold(largest, |m, x| m.max(x.abs()));
        for (i, d) in second.iter().enumerate() {
            if !within(*d, second[0], 1e-8 * largest) {
                return Err(format!("second derivatives: mode {i} differs in {second:?}"));
            }
        }
    }
    Ok(ratio)
}

#[test]
fn derivatives_agree_in_every_mode_and_with_differences() {
    let mut failures = Vec::new();
    let mut checked = 0;
    let mut worst = (0.0, String::new());
    for case in corpus() {
        for (f, x, first_only) in &case.derivatives {
            checked += 1;
            match check(&case, f, x, *first_only) {
                Ok(ratio) if ratio > worst.0 => worst = (ratio, format!("{}: {f}", case.name)),
                Ok(_) => {}
                Err(wrong) => failures.push(format!(
                    "{}:{} {}: {f} at {x}: {wrong}",
                    case.file.display(),
                    case.line,
                    case.name
                )),
            }
        }
    }
    println!(
        "{checked} functions; operations of value and gradient at most {:.1} times those of the \
         program and the sizes of point and value ({})",
        worst.0, worst.1
    );
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
