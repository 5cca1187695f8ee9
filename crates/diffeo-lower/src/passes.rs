//! The way from Core to Flat: lowering with `opt::EARLY` in it (before derivatives), then `opt::PASSES`.
//!
//! A pass is a function from modules to modules that cannot fail. In debug builds every module is linted.

use crate::{lower, LowerOptions, Lowered, Refusal};
use diffeo_array::ir::Module;
use diffeo_array::lint::lint;
use diffeo_array::opt::{Pass, EARLY, PASSES};
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::Program;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A pass that is done.
pub struct PassRun<'m> {
    /// Its name.
    pub pass: &'static str,
    /// The module after it.
    pub module: &'m Module,
    /// How long it took.
    pub time: Duration,
}

/// The names of the passes to Flat and over it. Those before derivatives are taken run where a program takes some, once
/// for each order.
pub fn passes() -> impl Iterator<Item = &'static str> {
    let early = EARLY.iter().map(|pass| pass.name);
    early.chain(["lower"]).chain(PASSES.iter().map(|pass| pass.name))
}

/// The program of Flat for a definition; `see` is shown the module after each pass.
///
/// # Errors
/// A [`Refusal`]: the evaluator runs the program.
pub fn flat(
    program: &Program,
    entry: GlobalId,
    see: &mut dyn FnMut(&PassRun<'_>),
) -> Result<Lowered, Refusal> {
    flat_with(program, entry, LowerOptions::default(), see)
}

/// As [`flat`], with these options.
///
/// # Errors
/// As for [`flat`].
pub fn flat_with(
    program: &Program,
    entry: GlobalId,
    options: LowerOptions,
    see: &mut dyn FnMut(&PassRun<'_>),
) -> Result<Lowered, Refusal> {
    let mut start = Instant::now();
    let mut early = |step: &PassRun<'_>| {
        start += step.time;
        see(step);
    };
    let mut lowered = lower(program, entry, options, &mut early)?;
    done("lower", &lowered.module, start, see);
    let is_out = |pass: &Pass| {
        options.regular && pass.data_decide_sizes || left_out().iter().any(|name| name == pass.name)
    };
    for pass in PASSES.iter().filter(|pass| !is_out(pass)) {
        let start = Instant::now();
        lowered.module = (pass.run)(lowered.module);
        done(pass.name, &lowered.module, start, see);
    }
    Ok(lowered)
}

/// The passes that the environment variable `DIFFEO_WITHOUT` leaves out, to see what each is worth or which is wrong.
pub fn left_out() -> &'static [String] {
    static LEFT_OUT: OnceLock<Vec<String>> = OnceLock::new();
    LEFT_OUT.get_or_init(|| {
        let names = std::env::var("DIFFEO_WITHOUT").unwrap_or_default();
        names.split(',').filter(|name| !name.is_empty()).map(String::from).collect()
    })
}

fn done(pass: &'static str, module: &Module, start: Instant, see: &mut dyn FnMut(&PassRun<'_>)) {
    let time = start.elapsed();
    if cfg!(debug_assertions) {
        let violations = lint(module);
        assert!(
            violations.is_empty(),
            "`{pass}` made a module of Flat that does not lint:\n{}\n{}",
            violations.join("\n"),
            diffeo_array::print::print(module)
        );
    }
    see(&PassRun { pass, module, time });
}
