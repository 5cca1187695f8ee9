//! The ways of a program from Core: every list of passes on one page.
//!
//! ```text
//! Core ──lower──▶ Flat ──passes──▶ Flat ──▶ the evaluator of Flat
//! ```
//!
//! A pass is a function from modules to modules that cannot fail. In debug builds every module is checked.

use crate::lower::{lower, Lowered, Unsupported};
use diffeo_array::ir::Module;
use diffeo_array::lint::lint;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::Program;
use std::time::{Duration, Instant};

/// The passes over Flat, in order, by name.
const PASSES: &[(&str, fn(&mut Module))] = &[];

/// A pass that is done.
pub struct Step<'m> {
    /// Its name.
    pub pass: &'static str,
    /// What it gave.
    pub module: &'m Module,
    /// How long it took.
    pub time: Duration,
}

/// The names of the passes to Flat and over it.
pub fn passes() -> impl Iterator<Item = &'static str> {
    std::iter::once("lower").chain(PASSES.iter().map(|(name, _)| *name))
}

/// The program of Flat for a definition; `see` is shown the module after each pass.
///
/// # Errors
/// What there is no Flat for.
pub fn flat(
    program: &Program,
    entry: GlobalId,
    see: &mut dyn FnMut(&Step<'_>),
) -> Result<Lowered, Unsupported> {
    let start = Instant::now();
    let mut lowered = lower(program, entry)?;
    done("lower", &lowered.module, start, see);
    for (name, pass) in PASSES {
        let start = Instant::now();
        pass(&mut lowered.module);
        done(name, &lowered.module, start, see);
    }
    Ok(lowered)
}

fn done(pass: &'static str, module: &Module, start: Instant, see: &mut dyn FnMut(&Step<'_>)) {
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
    see(&Step { pass, module, time });
}
