//! The backward sweep over a closed tape.
//!
//! What comes in: a tape and adjoints of some entries. What goes out: the adjoints of its inputs. What
//! always holds: an adjoint is untouched ([`Value::Zero`]) or a number, and untouched entries are passed
//! over, so what does not influence the result contributes no nan; the tape stays as it is, so it can be
//! swept any number of times; the arithmetic is recorded by whatever levels are open at the time.

use super::environment::map_active;
use super::jet::Culprit;
use super::level::{below, detached, entry, level_of, taped, Level};
use super::tape::{Checkpoint, Operation, Tape};
use super::Caller;
use crate::eval::error::{ErrorKind, RuntimeError};
use crate::eval::reals::{primal, Reals};
use crate::leaves::each_leaf;
use crate::prim::real::{row, DerivativeRule, Partial};
use crate::value::Value;
use diffeo_base::deep;
use diffeo_base::Span;
use std::mem;

/// After how many steps the limits are checked again.
const CHECK: usize = 1 << 12;

/// Looks for the operation that made a nan, in a sweep over primals alone.
#[derive(Debug, Default)]
pub struct Watch {
    /// The first whose adjoint was finite and whose contribution was not.
    not_finite: Option<Culprit>,
    /// The first whose adjoint was a number and whose contribution was nan.
    nan: Option<Culprit>,
}

impl Watch {
    /// What was found.
    pub fn culprit(self) -> Option<Culprit> {
        self.not_finite.or(self.nan)
    }

    /// Notes what an operation made of an adjoint.
    pub fn see(&mut self, bar: f64, contribution: f64, culprit: impl Fn() -> Culprit) {
        if bar.is_finite() && !contribution.is_finite() && self.not_finite.is_none() {
            self.not_finite = Some(culprit());
        }
        if !bar.is_nan() && contribution.is_nan() && self.nan.is_none() {
            self.nan = Some(culprit());
        }
    }
}

/// The adjoints of a tape's entries while they grow.
struct Adjoints<'a>(&'a mut [Value]);

impl Adjoints<'_> {
    /// Adds a contribution to the adjoint of an entry.
    fn add(
        &mut self,
        reals: &mut Reals,
        entry: u32,
        contribution: &Value,
        site: Span,
    ) -> Result<(), ErrorKind> {
        let adjoint = &mut self.0[entry as usize];
        *adjoint = reals.add(adjoint, contribution, site)?;
        Ok(())
    }

    /// The adjoint of an entry, which has none any more.
    fn take(&mut self, entry: usize) -> Value {
        mem::replace(&mut self.0[entry], Value::Zero)
    }
}

/// Adds the adjoints of all entries to those of the inputs. `adjoints` is indexed by entry, and only
/// those of inputs remain in it.
pub(crate) fn sweep(
    cx: &mut dyn Caller,
    tape: &Tape,
    adjoints: &mut [Value],
    mut watch: Option<&mut Watch>,
) -> Result<(), RuntimeError> {
    let mut adjoints = Adjoints(adjoints);
    let mut id = tape.entries as usize;
    let mut operands = tape.operands.backwards();
    for (step, n) in tape.steps.backwards().zip(1..) {
        if n % CHECK == 0 {
            cx.check_limits(step.site)?;
        }
        if let Operation::Block(i) = step.operation {
            let block = &tape.blocks[i as usize];
            id -= block.outputs as usize;
            let first = id + 1;
            let outputs: Vec<Value> =
                (first..first + block.outputs as usize).map(|i| adjoints.take(i)).collect();
            if outputs.iter().any(|a| !matches!(a, Value::Zero)) {
                let (own, adjoints) = (detached(tape.level), &mut adjoints);
                deep(|| again(cx, block, own, step.site, outputs, adjoints, watch.as_deref_mut()))?;
            }
            continue;
        }
        let operands = if step.operation.keeps_operands() { operands.next() } else { None };
        let bar = adjoints.take(id);
        id -= 1;
        if matches!(bar, Value::Zero) {
            continue;
        }
        let reals = cx.reals();
        reals.operations += 1;
        let visit = Visit { step_site: step.site, operation: step.operation, operands };
        if let Err(kind) = visit.contribute(reals, &bar, step.parents, &mut adjoints, &mut watch) {
            return Err(cx.error(kind, step.site));
        }
    }
    Ok(())
}

/// A step that the sweep visits.
struct Visit<'a> {
    step_site: Span,
    operation: Operation,
    operands: Option<&'a [Value; 2]>,
}

impl Visit<'_> {
    /// Adds what the adjoint `bar` of the step contributes to its parents.
    fn contribute(
        &self,
        reals: &mut Reals,
        bar: &Value,
        parents: [u32; 2],
        adjoints: &mut Adjoints<'_>,
        watch: &mut Option<&mut Watch>,
    ) -> Result<(), ErrorKind> {
        let site = self.step_site;
        let mut result = None;
        for (i, parent) in parents.into_iter().enumerate().filter(|(_, p)| *p != 0) {
            let contribution = self.contribution(reals, i, bar, watch.is_some(), &mut result)?;
            if let Some(watch) = watch {
                watch.see(primal(bar), primal(&contribution), || self.culprit());
            }
            adjoints.add(reals, parent, &contribution, site)?;
        }
        Ok(())
    }

    /// The adjoint times the partial derivative by operand `i`. `result` keeps the step's result.
    fn contribution(
        &self,
        reals: &mut Reals,
        i: usize,
        bar: &Value,
        primals: bool,
        result: &mut Option<Value>,
    ) -> Result<Value, ErrorKind> {
        let site = self.step_site;
        let op = match self.operation {
            Operation::Sum | Operation::Block(_) => return Ok(bar.clone()),
            Operation::Power => {
                let Some([x, Value::Int(n)]) = self.operands else { return Err(no_operands()) };
                let x = if primals { Value::Real(primal(x)) } else { x.clone() };
                let slope = reals.power_slope(&x, *n, site)?;
                return reals.mul(bar, &slope, site);
            }
            Operation::Real(op) => op,
        };
        let DerivativeRule::Partials(partials) = row(op).derivative else { return Ok(Value::Zero) };
        let term = &partials[i];
        if let Partial::Num(x) = term {
            return if *x == -1.0 { reals.negate(bar, site) } else { reals.times(*x, bar, site) };
        }
        let Some([first, second]) = self.operands else { return Err(no_operands()) };
        let seen = |v: &Value| if primals { Value::Real(primal(v)) } else { v.clone() };
        let slope = if partials.len() == 1 {
            *result = Some(seen(second));
            reals.partial(i, op, &seen(first), &Value::Zero, result, site)?
        } else {
            reals.partial(i, op, &seen(first), &seen(second), result, site)?
        };
        reals.mul(bar, &slope, site)
    }

    /// The step as the reader of a warning should see it.
    fn culprit(&self) -> Culprit {
        let (op, arity) = match self.operation {
            Operation::Real(op) => (row(op).name, row(op).arity),
            Operation::Power => ("^", 2),
            Operation::Sum | Operation::Block(_) => ("+", 2),
        };
        let number = |v: &Value| if let Value::Int(n) = v { *n as f64 } else { primal(v) };
        let operands = self.operands.map_or(&[][..], |o| &o[..arity]).iter().map(number).collect();
        Culprit { op, operands, site: self.step_site }
    }
}

#[cold]
fn no_operands() -> ErrorKind {
    ErrorKind::Internal { message: "a step of a tape without its operands".into() }
}

/// Runs a block again on a tape of its own, sweeps that from the adjoints of the block's outputs, and
/// adds the adjoints of its inputs.
fn again(
    cx: &mut dyn Caller,
    block: &Checkpoint,
    own: u16,
    site: Span,
    outputs: Vec<Value>,
    adjoints: &mut Adjoints<'_>,
    watch: Option<&mut Watch>,
) -> Result<(), RuntimeError> {
    let primals = watch.is_some();
    let opened = cx.reals().open_tape();
    let level = opened.map_err(|kind| cx.error(kind, site))?;
    // The entry in the outer tape of each input of the new one.
    let mut entries: Vec<u32> = Vec::new();
    let reals = cx.reals();
    let mut lift = |v: &Value| {
        let lower = below(v, own);
        let lower = if primals { Value::Real(primal(&lower)) } else { lower };
        if level_of(v) != own {
            return Ok(lower);
        }
        let outer = entry(v, own);
        let id = if outer == 0 { 0 } else { reals.tape(level)?.input()? };
        if outer != 0 {
            entries.push(outer);
        }
        Ok(taped(level, id, lower))
    };
    let lifted = map_active(&block.function, &mut lift)
        .and_then(|function| Ok((function, map_active(&block.argument, &mut lift)?)));
    let result = match lifted {
        Ok((function, argument)) => cx.call(&function, argument),
        Err(kind) => Err(cx.error(kind, site)),
    };
    let closed = cx.reals().close(level);
    let result = result?;
    let Some(Level::Tape(tape)) = closed else { return Ok(()) };
    let mut inner = vec![Value::Zero; tape.entries as usize + 1];
    let mut seeds = outputs.into_iter();
    let reals = cx.reals();
    let seeded = each_leaf(&result, &mut |leaf| {
        let bar = seeds.next().unwrap_or(Value::Zero);
        match entry(leaf, level) as usize {
            0 => Ok(()),
            id => reals.add(&inner[id], &bar, site).map(|sum| inner[id] = sum),
        }
    });
    seeded.map_err(|kind| cx.error(kind, site))?;
    sweep(cx, &tape, &mut inner, watch)?;
    for (outer, bar) in entries.into_iter().zip(&inner[1..]) {
        adjoints.add(cx.reals(), outer, bar, site).map_err(|kind| cx.error(kind, site))?;
    }
    Ok(())
}
