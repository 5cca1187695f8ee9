//! The elementary and special functions and their derivatives of order 1 to 4, in every mode and on every engine,
//! against values of 50 digits and more: `tests/accuracy/values.txt`, made by the script beside it.
//!
//! What is measured is the difference relative to the right number, or to 1e-305 if that is more: numbers next to the
//! smallest ones have fewer digits. Where a relative change of the operand makes a change in the number that is more than
//! a hundred times as large, the bound grows with that.

use crate::support;
use diffeo::{Engine, Kinks};
use diffeo_codegen::c::compiler::Compiler;
use diffeo_codegen::llvm;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A function, how a program writes it, and how far its numbers may be off.
struct TestedFunction {
    name: &'static str,
    /// Of `u` and of the other number `p`.
    text: &'static str,
    bound: f64,
}

const fn function(name: &'static str, text: &'static str) -> TestedFunction {
    TestedFunction { name, text, bound: 5e-15 }
}

const fn within(name: &'static str, text: &'static str, bound: f64) -> TestedFunction {
    TestedFunction { name, text, bound }
}

const FUNCTIONS: &[TestedFunction] = &[
    function("exp", "exp(u)"),
    function("log", "log(u)"),
    function("sqrt", "sqrt(u)"),
    function("cbrt", "cbrt(u)"),
    function("sin", "sin(u)"),
    function("cos", "cos(u)"),
    function("tan", "tan(u)"),
    function("asin", "asin(u)"),
    function("acos", "acos(u)"),
    function("atan", "atan(u)"),
    function("sinh", "sinh(u)"),
    function("cosh", "cosh(u)"),
    function("tanh", "tanh(u)"),
    // Next to zeros of the third and fourth derivative.
    within("asinh", "asinh(u)", 2e-14),
    function("acosh", "acosh(u)"),
    function("atanh", "atanh(u)"),
    function("expm1", "expm1(u)"),
    function("log1p", "log1p(u)"),
    // The same; 1.3 is next to log(2 + √3).
    within("sigmoid", "sigmoid(u)", 5e-14),
    within("softplus", "softplus(u)", 5e-14),
    function("erf", "erf(u)"),
    function("erfc", "erfc(u)"),
    function("lgamma", "lgamma(u)"),
    function("digamma", "digamma(u)"),
    function("hypot", "hypot(u, p)"),
    function("atan2.first", "atan2(u, p)"),
    function("atan2.second", "atan2(p, u)"),
    // The exponents p-1, p-2 … are rounded, and multiplied with logarithms up to 700.
    within("pow", "pow(u, p)", 1e-13),
    function("pow.exponent", "pow(p, u)"),
    function("power", "u ^ p"),
    // With the exponent in the program, other code is made.
    function(
        "power.literal",
        "if p == 2 then u ^ 2 else if p == 3 then u ^ 3 else if p == 8 then u ^ 8 else if p == -1 then u ^ -1 else \
         if p == -2 then u ^ -2 else if p == -4 then u ^ -4 else u ^ -5",
    ),
    function("divided", "u / p"),
    function("divisor", "p / u"),
    function("hypot.mixed", "hypot(u, p)"),
    function("atan2.mixed", "atan2(u, p)"),
    within("pow.mixed", "pow(u, p)", 1e-13),
    function("quotient.mixed", "u / p"),
];

/// Tails of distributions, which are long programs: left to engines that compile them quickly.
const TAILS: &[TestedFunction] = &[
    // Of shape 0.01 the upper tail is 1 minus nearly 1; that of shape 2000 is exp of a sum of thousands.
    within("gamma_logsf", "stats.gamma_logsf(u, p, 1.5)", 7e-14),
    within("gamma_logcdf", "stats.gamma_logcdf(u, p, 1.5)", 1e-14),
    function("gamma_sf.large", "stats.gamma_sf(u, p, 1.0)"),
    function("gamma_sf.shape", "stats.gamma_sf(p, u, 1.0)"),
    function("beta_cdf.large", "stats.beta_cdf(u, p, p)"),
    function("half_cauchy_logsf.scale", "stats.half_cauchy_logsf(p, u)"),
    function("half_cauchy_logcdf.scale", "stats.half_cauchy_logcdf(p, u)"),
    function("cauchy_logcdf", "stats.cauchy_logcdf(u, 0.0, p)"),
    // Up to 1,000 degrees of freedom its derivatives by them are differences of larger ones.
    within("student_t_cdf.df", "stats.student_t_cdf(p, u, 0.0, 1.0)", 3e-13),
    // 1e-276 is exp of a number of hundreds.
    within("student_t_cdf.scale", "stats.student_t_cdf(p, 2.75, 0.0, u)", 2.5e-13),
];

/// A number that should come out, and by how much the bound is larger for its condition.
#[derive(Clone, Copy)]
struct ExpectedNumber {
    value: f64,
    factor: f64,
}

struct Point {
    x: f64,
    p: Option<String>,
    wanted: Vec<ExpectedNumber>,
}

fn wanted(word: &str) -> ExpectedNumber {
    let (value, digits) = word.split_once('~').unwrap_or((word, "1"));
    let digits: i32 = digits.parse().expect("an exponent");
    ExpectedNumber { value: value.parse().expect("a number"), factor: 10f64.powi(digits - 1) }
}

fn table() -> BTreeMap<String, Vec<Point>> {
    let file = support::root().join("tests/accuracy/values.txt");
    let text = std::fs::read_to_string(file).expect("the table");
    let mut table: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(next) = line.strip_prefix("= ") {
            name = next.to_string();
            continue;
        }
        let (operands, values) = line.split_once('|').expect("operands | values");
        let mut operands = operands.split_whitespace();
        let x = operands.next().and_then(|x| x.parse().ok()).expect("an operand");
        let p = operands.next().map(str::to_string);
        let wanted = values.split_whitespace().map(wanted).collect();
        table.entry(name.clone()).or_default().push(Point { x, p, wanted });
    }
    table
}

/// By which way each number of a result was found, and the order of the derivative.
const WAYS: &[(&str, usize)] = &[
    ("value", 0),
    ("forward", 1),
    ("forward", 2),
    ("forward", 3),
    ("forward", 4),
    ("reverse", 1),
    ("reverse", 2),
    ("reverse", 3),
    ("reverse", 4),
    ("mixed", 2),
    ("mixed", 2),
    ("mixed", 3),
    ("mixed", 4),
    ("Taylor", 0),
    ("Taylor", 1),
    ("Taylor", 2),
    ("Taylor", 3),
    ("Taylor", 4),
];

/// The same of derivatives by both operands.
const MIXED_WAYS: &[(&str, usize)] = &[("forward", 0), ("reverse", 0), ("mixed", 0), ("mixed", 0)];

/// Its points and values.
fn points<'t>(table: &'t BTreeMap<String, Vec<Point>>, function: &TestedFunction) -> &'t [Point] {
    &table[function.name.trim_end_matches(".literal")]
}

fn is_mixed(function: &TestedFunction) -> bool {
    function.name.ends_with(".mixed")
}

fn ways(function: &TestedFunction) -> &'static [(&'static str, usize)] {
    if is_mixed(function) {
        MIXED_WAYS
    } else {
        WAYS
    }
}

/// The definition with this number: of a function at all its points.
fn definition(out: &mut String, i: usize, function: &TestedFunction, points: &[Point]) {
    let int = function.name.starts_with("power");
    let p = if int { "Int" } else { "Real" };
    let text = function.text;
    if is_mixed(function) {
        let _ = write!(
            out,
            "def at_{i}(x: Real, q: Real) =
  (slope(fn p -> slope(fn u -> {text}, x), q), grad(fn p -> grad(fn u -> {text})(x))(q),
   slope(fn p -> grad(fn u -> {text})(x), q), grad(fn p -> slope(fn u -> {text}, x))(q))
"
        );
    } else {
        let _ = write!(
            out,
            "def at_{i}(x: Real, p: {p}) =
  let f0(u: Real) = {text} in
  let f1(u: Real) = slope(f0, u) in
  let f2(u: Real) = slope(f1, u) in
  let f3(u: Real) = slope(f2, u) in
  let r1(u: Real) = grad(f0)(u) in
  let r2(u: Real) = grad(r1)(u) in
  let r3(u: Real) = grad(r2)(u) in
  let m2(u: Real) = slope(r1, u) in
  let m3(u: Real) = grad(m2)(u) in
  ([f0(x), f1(x), f2(x), f3(x), slope(f3, x)], [r1(x), r2(x), r3(x), grad(r3)(x)],
   [grad(f1)(x), m2(x), m3(x), slope(m3, x)], derivatives(4, f0)(x))
"
        );
    }
    let pairs: Vec<String> = points
        .iter()
        .map(|point| {
            let other = match &point.p {
                Some(p) if int => p.clone(),
                Some(p) => format!("{:?}", p.parse::<f64>().expect("a number")),
                None => "0.0".to_string(),
            };
            format!("({:?}, {other})", point.x)
        })
        .collect();
    let _ = writeln!(
        out,
        "def values_{i} = [let (x, p) = pair in at_{i}(x, p) for pair in [{}]]",
        pairs.join(", ")
    );
}

/// The numbers in a printed value.
fn numbers(text: &str) -> Vec<f64> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// Runs some of the functions as one program.
fn run(
    functions: &[&TestedFunction],
    table: &BTreeMap<String, Vec<Point>>,
    engine: Engine,
) -> Vec<f64> {
    let mut text =
        "import stats\ndef slope(g: Real -> Real, x: Real) = let (_, d) = jvp(g, x, 1.0) in d\n"
            .to_string();
    let mut names = Vec::new();
    for (i, function) in functions.iter().enumerate() {
        definition(&mut text, i, function, points(table, function));
        names.push(format!("values_{i}"));
    }
    let _ = writeln!(text, "def main = ({}, ())", names.join(", "));
    let (_, _, outcome) = support::run_on(&text, Kinks::Ignore, engine);
    assert!(outcome.unsupported.is_none(), "{:?}", outcome.unsupported);
    let messages: Vec<_> =
        outcome.diagnostics.iter().filter(|d| d.is_error()).map(|d| &d.message).collect();
    let Some(value) = outcome.value else { panic!("{engine:?}: {messages:?}\n{text}") };
    numbers(&value)
}

fn difference(found: f64, right: f64) -> f64 {
    if found == right || found.is_nan() && right.is_nan() {
        return 0.0;
    }
    let difference = (found - right).abs() / right.abs().max(1e-305);
    if difference.is_nan() || right.is_infinite() {
        f64::INFINITY
    } else {
        difference
    }
}

/// Compares functions, so many of them in a program.
fn compare(engine: Engine, functions: &[&[TestedFunction]], together: usize) {
    let table = table();
    let mut failures = Vec::new();
    let only = std::env::var("DIFFEO_FUNCTION").ok();
    let chosen: Vec<&TestedFunction> = functions
        .iter()
        .copied()
        .flatten()
        .filter(|function| only.as_ref().is_none_or(|name| name == function.name))
        .collect();
    for group in chosen.chunks(together) {
        let mut found = run(group, &table, engine).into_iter();
        for function in group {
            let mut worst: BTreeMap<&str, (f64, f64, usize)> = BTreeMap::new();
            for point in points(&table, function) {
                for &(way, order) in ways(function) {
                    let found = found.next().expect("a number for each point and way");
                    let ExpectedNumber { value, factor } = point.wanted[order];
                    let difference = difference(found, value) / factor;
                    let worst = worst.entry(way).or_insert((0.0, point.x, order));
                    if difference > worst.0 {
                        *worst = (difference, point.x, order);
                    }
                    if difference > function.bound {
                        let (x, p) = (point.x, &point.p);
                        failures.push(format!(
                            "{engine:?} {} at {x:e} {p:?}, order {order}, {way}: {found:e}, not \
                             {value:e}: {difference:.1e}",
                            function.name
                        ));
                    }
                }
            }
            let worst: Vec<String> = worst
                .iter()
                .map(|(way, (d, x, order))| format!("{way} {d:.1e} (order {order} at {x:e})"))
                .collect();
            println!("{:25} {}", function.name, worst.join(", "));
        }
        assert!(found.next().is_none(), "no more numbers than expected");
    }
    assert!(failures.is_empty(), "{}\n{} failures", failures.join("\n"), failures.len());
}

#[test]
fn evaluator() {
    compare(Engine::Reference, &[FUNCTIONS, TAILS], 1);
}

#[test]
fn flat() {
    compare(Engine::Flat, &[FUNCTIONS], 1);
}

#[test]
fn jit() {
    compare(Engine::JIT, &[FUNCTIONS, TAILS], 1);
}

#[test]
fn llvm() {
    match llvm::library() {
        Ok(_) => compare(Engine::LLVM, &[FUNCTIONS], 9),
        Err(missing) => eprintln!("skipped: {missing}"),
    }
}

#[test]
fn c() {
    match Compiler::find().path() {
        Some(_) => compare(Engine::C, &[FUNCTIONS], 9),
        None => eprintln!("skipped: there is no C compiler"),
    }
}

/// Sums are added up in blocks: one after the other, the last of a million terms lose 1.3e-11.
#[test]
fn sums_of_many_terms() {
    let mut engines = vec![(Engine::Reference, 1e-14), (Engine::Flat, 1e-14), (Engine::JIT, 1e-13)];
    if llvm::library().is_ok() {
        engines.push((Engine::LLVM, 5e-12));
    }
    if Compiler::find().path().is_some() {
        engines.push((Engine::C, 5e-12));
    }
    for (engine, bound) in engines {
        let text =
            "def xs = [0.1 for _ < 1000000]\ndef main = (sum(xs), sum([x + x for x in xs]) / 2.0)";
        let (_, _, outcome) = support::run_on(text, Kinks::Ignore, engine);
        for found in numbers(&outcome.value.expect("a value")) {
            let difference = difference(found, 1e5);
            println!("{engine:?}: {difference:e}");
            assert!(difference < bound, "{engine:?}: {found} differs by {difference:e}");
        }
    }
}
