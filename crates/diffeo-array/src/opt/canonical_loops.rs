//! Loop canonicalisation: a `while` loop that counts up to a bound becomes a counted loop, which other passes
//! understand.
//!
//! What it needs: `simplify` before, so that conditions are comparisons and steps are additions. Where it applies: the
//! condition says that a carried Int is below (or at most) one that does not change, such as `length(xs) - 1`; the body
//! adds 1 to it whatever happens; its first value is not negative. Why it is right: the condition holds as many times
//! as the difference says; the sum is at most the bound, so it fits, and the steps see the same values. The bound is
//! computed first and once: if that fails, it fails at the first step, before all else.

use crate::ir::walk::{deep, has_regions, operands, regions_mut, same, var};
use crate::ir::{Atom, Block, Carried, FlatTy, Module, Op, Scalar, Stmt, Var, VarInfo};
use diffeo_calculus::prim::{Comparison, IntOp};

/// Loop canonicalisation: see the head of the file.
pub fn canonical_loops(mut module: Module) -> Module {
    for function in &mut module.functions {
        let mut body = std::mem::take(&mut function.body);
        block(&mut body, &mut function.vars);
        function.body = body;
    }
    module
}

fn block(block: &mut Block, vars: &mut Vec<VarInfo>) {
    let mut out = Vec::with_capacity(block.stmts.len());
    for mut stmt in std::mem::take(&mut block.stmts) {
        if has_regions(&stmt.op) {
            deep(|| regions_mut(&mut stmt.op, |r| self::block(r, vars)));
        }
        match found(&stmt) {
            Some(counter) => counted(stmt, &counter, vars, &mut out),
            None => out.push(stmt),
        }
    }
    block.stmts = out;
}

/// What a `while` counts.
struct LoopCounter {
    /// Which carried variable.
    position: usize,
    /// The first value, not negative.
    first: i64,
    bound: Atom,
    /// Whether it stops behind the bound.
    inclusive: bool,
}

fn found(stmt: &Stmt) -> Option<LoopCounter> {
    let Op::While { carried, cond, body } = &stmt.op else { return None };
    let (last, bound) = cond.stmts.split_last()?;
    let Stmt { results, op: Op::Compare(comparison, Scalar::Int, a, b), .. } = last else {
        return None;
    };
    let changes = |v: Var| carried.iter().any(|c| c.param == v);
    let fixed = |stmt: &Stmt| {
        let mut fixed = matches!(stmt.op, Op::Dim(..) | Op::Int(..) | Op::IntFits(..));
        operands(&stmt.op, |a| fixed &= !var(a).is_some_and(changes));
        fixed
    };
    if !bound.iter().all(fixed) {
        return None;
    }
    if !matches!((&results[..], &cond.results[..]), ([v], [Atom::Var(w)]) if v == w) {
        return None;
    }
    let (counter, bound, inclusive) = match comparison {
        Comparison::Lt => (a, b, false),
        Comparison::Gt => (b, a, false),
        Comparison::Le => (a, b, true),
        Comparison::Ge => (b, a, true),
        Comparison::Eq | Comparison::Ne => return None,
    };
    let counter = var(counter)?;
    let position = carried.iter().position(|c| c.param == counter)?;
    // A bound that is the largest Int is never passed.
    let fixed = match bound {
        Atom::Int(n) => *n < i64::MAX,
        bound => !inclusive && !changes(var(bound)?),
    };
    let Atom::Int(first @ 0..) = carried[position].init else { return None };
    let next = var(&body.results[position])?;
    let steps = body.stmts.iter().any(|stmt| match (&stmt.op, &stmt.results[..]) {
        (Op::Int(IntOp::Add, xs) | Op::IntFits(IntOp::Add, xs), [v]) if *v == next => {
            let (param, one) = (Atom::Var(counter), Atom::Int(1));
            matches!(&xs[..], [a, b] if same(a, &param) && same(b, &one) || same(a, &one) && same(b, &param))
        }
        (_, _) => false,
    });
    (fixed && steps).then(|| LoopCounter { position, first, bound: bound.clone(), inclusive })
}

fn counted(stmt: Stmt, counter: &LoopCounter, vars: &mut Vec<VarInfo>, out: &mut Vec<Stmt>) {
    let Stmt { mut results, op, site } = stmt;
    let Op::While { mut carried, mut cond, mut body } = op else { return };
    // The statements before the comparison compute the bound: they go before the loop.
    cond.stmts.pop();
    out.append(&mut cond.stmts);
    let mut fresh = || {
        vars.push(VarInfo { ty: FlatTy::Int, name: None });
        Var(vars.len() as u32 - 1)
    };
    let first = Atom::Int(counter.first);
    // The first value for which the condition does not hold: at least the first of all.
    let bound = match (&counter.bound, counter.inclusive) {
        (Atom::Int(n), true) => Atom::Int(n + 1),
        (bound, _) => bound.clone(),
    };
    let result = results.remove(counter.position);
    let max = Op::Int(IntOp::Max, vec![bound, first.clone()]);
    out.push(Stmt { results: vec![result], op: max, site });
    let count = fresh();
    let steps = Op::IntFits(IntOp::Sub, vec![Atom::Var(result), first]);
    out.push(Stmt { results: vec![count], op: steps, site });
    let Carried { param, .. } = carried.remove(counter.position);
    body.results.remove(counter.position);
    let index = fresh();
    let sum = Op::IntFits(IntOp::Add, vec![Atom::Var(index), Atom::Int(counter.first)]);
    body.stmts.insert(0, Stmt { results: vec![param], op: sum, site });
    out.push(Stmt { results, op: Op::For { count: Atom::Var(count), index, carried, body }, site });
}
