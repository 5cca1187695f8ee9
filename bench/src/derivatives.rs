//! What derivatives cost in time, on each engine: of higher orders beside their function, gradients beside the kernels.

use crate::case::OwnedValue;
use crate::case::{Kernel, KernelCase};
use crate::compare::compare;
use crate::engines::{BenchEngine, CheckedProgram};
use crate::measure::{interleaved, Times};
use crate::random::Random;
use crate::run::Runner;
use std::time::{Duration, Instant};

/// The functions of `programs/orders.deo`.
const FUNCTIONS: [&str; 4] = ["functions", "products", "quotients", "steps"];

/// The highest order.
const ORDERS: usize = 10;

/// The highest order by nested first derivatives, whose costs grow by a factor with each.
const NESTED: usize = 4;

/// What derivatives of a function take, beside the function.
pub struct DerivativeCosts {
    /// The function.
    pub name: String,
    /// The engine.
    pub engine: &'static str,
    /// By derivative, how many times as long as the function it takes.
    pub ratios: Vec<(String, f64)>,
    /// How long the last derivative took to compile.
    pub compile: Duration,
}

/// Measures programs, given by their texts and entries, in turn at one argument. The first is the function. `equal` are
/// those that give the same results.
fn costs(
    name: String,
    programs: Vec<(String, CheckedProgram)>,
    (engine, argument, budget): (&dyn BenchEngine, &OwnedValue, Duration),
    equal: &[(usize, usize)],
) -> Result<DerivativeCosts, String> {
    let (mut runners, mut first): (Vec<Runner>, Vec<Duration>) = (Vec::new(), Vec::new());
    let mut names = Vec::new();
    for (name, program) in programs {
        names.push(name);
        let mut runner = program.prepare(engine, argument, true)?;
        let start = Instant::now();
        runner.prepared.call()?;
        first.push(start.elapsed());
        runners.push(runner);
    }
    for (a, b) in equal {
        compare(&runners[*a].prepared.result(), &runners[*b].prepared.result())?;
    }
    let compile = runners.last().map_or(Duration::ZERO, |runner| runner.compile);
    let times = interleaved(&mut runners, &first, budget)?;
    let ratio = |time: &Times| time.median() / times[0].median();
    let ratios = names.into_iter().zip(times.iter().map(ratio)).skip(1).collect();
    Ok(DerivativeCosts { name, engine: engine.name(), ratios, compile })
}

/// Derivatives up to order 10 by `derivatives`, and up to order 4 by nested forward derivatives, at many points.
///
/// # Errors
/// Why something cannot be run, or what came out wrong.
pub fn orders(
    engine: &dyn BenchEngine,
    quick: bool,
    budget: Duration,
) -> Result<Vec<DerivativeCosts>, String> {
    let points = Random::new(1).between(0.5, 1.5, if quick { 10 } else { 2000 });
    let argument = OwnedValue::record([("points", OwnedValue::from(points))]);
    let functions = include_str!("../programs/orders.deo");
    let mut all = Vec::new();
    for f in FUNCTIONS {
        let program = |name: String, value: &str| {
            let nested = |i| format!("def nested{i}(x: Real) = fd(nested{}, x, 1.0)", i - 1);
            let nested: Vec<String> = (1..=NESTED).map(nested).collect();
            let nested = nested.join("\n");
            let main = format!("sum([{value} for x in points])");
            let text = format!(
                "{functions}\ndef nested0(x: Real) = {f}(x)\n{nested}\n\
                 def main({{points}}: {{points: [n]Real}}) -> Real = {main}"
            );
            CheckedProgram::text(&text).map(|program| (name, program))
        };
        let mut programs = vec![program(String::new(), &format!("{f}(x)"))?];
        for r in 1..=ORDERS {
            programs.push(program(r.to_string(), &format!("derivatives({r}, {f})(x)[{r}]"))?);
        }
        for r in 1..=NESTED {
            programs.push(program(format!("nested {r}"), &format!("nested{r}(x)"))?);
        }
        let equal: Vec<(usize, usize)> = (1..=NESTED).map(|r| (r, ORDERS + r)).collect();
        all.push(costs(f.to_string(), programs, (engine, &argument, budget), &equal)?);
    }
    Ok(all)
}

/// The value of a kernel together with the pullback of the value to its parameters.
///
/// # Errors
/// Why it cannot be run.
pub fn gradient(
    kernel: &Kernel,
    case: &KernelCase,
    engine: &dyn BenchEngine,
    budget: Duration,
) -> Result<DerivativeCosts, String> {
    let programs = vec![
        ("value".to_string(), CheckedProgram::load(kernel)?),
        ("gradient".to_string(), CheckedProgram::pullback(kernel)?),
    ];
    let name = format!("{} {}", kernel.name, case.label);
    costs(name, programs, (engine, &(kernel.argument)(case), budget), &[])
}
