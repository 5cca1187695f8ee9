//! Checkpoints of loops: reverse mode in bounded memory.
//!
//! A counted loop of n steps becomes a loop over segments of as many steps each, a function that keeps its arguments, what
//! the loop carries, and is computed again in the backward part ([`Deriver::checkpoints`]). With a numbers that the loop
//! carries and about b numbers that a step would keep, segments of √(n a / b) steps take the least memory: 2 √(n a b)
//! numbers, in place of n b. Each step is done once more, in the backward part: Griewank & Walther's schedule for one
//! repetition (*Evaluating Derivatives*, 2008, section 12.3), but for a factor √2 of memory. A conditional loop, whose number
//! of steps nobody knows, has segments of c, 2 c, 3 c … steps, with c = a / b: √2 times as much memory.
//!
//! What comes in: functions that are still to be derived. What always holds of them: their values, errors and places.

use super::prepare::added;
use super::scope::free;
use super::{complete, declare};
use crate::ad::{Deriver, Residuals};
use crate::build::Builder;
use crate::ir::walk::{deep, regions, regions_mut, statements};
use crate::ir::{
    Atom, Block, Carried, FlatTy, Function, FunctionId, Module, Op, Scalar, Stmt, Var, VarInfo,
};
use diffeo_base::{Name, Span};
use diffeo_calculus::prim::{Comparison, IntOp, RealOp, Rounding};
use std::collections::BTreeSet;

/// The number of steps up to which a loop is not cut: its residuals are few.
const FEW: i64 = 1000;
/// The number of steps that a loop is taken to have whose number is not known before.
const STEPS: f64 = 8.0;
/// The numbers that a box, or a call, is taken to keep.
const BOX: f64 = 4.0;
const CALL: f64 = 16.0;

/// Cuts the loops of a function, and of all that it leads to, into segments, each function once.
pub(super) fn segment(module: &mut Module, cache: &mut Deriver, root: FunctionId) {
    if cache.residuals != Residuals::Checkpoints {
        return;
    }
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        if !cache.segmented.insert(id) {
            continue;
        }
        let function = &mut module.functions[id.0 as usize];
        statements(&function.body, &mut |stmt| {
            if let Op::Call(callee, _) = &stmt.op {
                pending.push(*callee);
            }
        });
        let (mut vars, mut body) = (function.vars.clone(), std::mem::take(&mut function.body));
        let mut cutter = Cutter { module, vars: &mut vars, source: id, made: Vec::new() };
        cutter.block(&mut body);
        let made = std::mem::take(&mut cutter.made);
        let function = &mut module.functions[id.0 as usize];
        (function.vars, function.body) = (vars, body);
        if !made.is_empty() {
            cache.activities.retain(|key, _| key.0 != id);
        }
        cache.segmented.extend(&made);
        cache.checkpoints.extend(made);
    }
}

struct Cutter<'m> {
    module: &'m mut Module,
    vars: &'m mut Vec<VarInfo>,
    source: FunctionId,
    /// The segments.
    made: Vec<FunctionId>,
}

impl Cutter<'_> {
    fn block(&mut self, at: &mut Block) {
        for mut stmt in std::mem::take(&mut at.stmts) {
            match &mut stmt.op {
                Op::For { .. } | Op::While { .. } => match self.free_of(&stmt.op) {
                    Some(free) => self.cut(stmt, &free, &mut at.stmts),
                    None => at.stmts.push(stmt),
                },
                op => {
                    if matches!(op, Op::If { .. } | Op::Switch { .. }) {
                        deep(|| regions_mut(op, |region| self.block(region)));
                    }
                    at.stmts.push(stmt);
                }
            }
        }
    }

    /// The variables that the steps of a loop use from outside, if the loop may be cut.
    fn free_of(&self, op: &Op) -> Option<BTreeSet<Var>> {
        let mut steps = op.clone();
        if let Op::For { count, .. } = &mut steps {
            if matches!(count, Atom::Int(..=FEW)) {
                return None;
            }
            *count = Atom::Int(0);
        }
        let (Op::For { carried, .. } | Op::While { carried, .. }) = &mut steps else { return None };
        carried.iter_mut().for_each(|c| c.init = Atom::Int(0));
        let mut params: Vec<Var> = carried.iter().map(|c| c.param).collect();
        if params.is_empty() {
            return None;
        }
        let free = free(&steps);
        params.extend(&free);
        let ty = |v: &Var| &self.vars[v.0 as usize].ty;
        params.iter().all(|v| !matches!(ty(v), FlatTy::Acc(_) | FlatTy::Stack(_))).then_some(free)
    }

    /// Adds a loop over segments in the place of a loop.
    fn cut(&mut self, stmt: Stmt, free: &BTreeSet<Var>, out: &mut Vec<Stmt>) {
        let Stmt { results, op, site } = stmt;
        let (Op::For { carried, body, .. } | Op::While { carried, body, .. }) = &op else { return };
        let inits: Vec<Atom> = carried.iter().map(|c| c.init.clone()).collect();
        let infos: Vec<VarInfo> =
            carried.iter().map(|c| self.vars[c.param.0 as usize].clone()).collect();
        let kept = body.clone();
        let count = match &op {
            Op::For { count, .. } => Some(count.clone()),
            _ => None,
        };
        let segment = self.steps(Stmt { results: results.clone(), op, site }, free);
        self.made.push(segment);
        let module = &*self.module;
        let (stmts, (op, more)) = added(self.vars, site, |b| {
            let fits = |b: &mut Builder, op, x: &Atom, y: &Atom| {
                b.one(module, Op::IntFits(op, vec![x.clone(), y.clone()]))
            };
            let real = |b: &mut Builder, op, args| b.one(module, Op::Real(op, args));
            let one = Atom::Int(1);
            let state = sum(b, module, inits.iter().map(|init| Part::Value(init.clone())));
            let step = numbers(b, module, &kept, free);
            let ratio = real(b, RealOp::Div, vec![state, step]);
            let counted = count.map(|count| {
                let steps = b.one(module, Op::Int(IntOp::Max, vec![count, Atom::Int(0)]));
                let all = b.one(module, Op::ToReal(steps.clone()));
                (steps, real(b, RealOp::Mul, vec![all, ratio.clone()]))
            });
            let length = match &counted {
                Some((_, square)) => real(b, RealOp::Sqrt, vec![square.clone()]),
                None => ratio,
            };
            let length = b.one(module, Op::RoundFits(Rounding::Ceil, length));
            let length = fits(b, IntOp::Max, &length, &one);
            let at = b.var(FlatTy::Int, Some("segment".into()));
            let params: Vec<Var> =
                infos.iter().map(|info| b.var(info.ty.clone(), info.name.clone())).collect();
            let carried = params.iter().zip(inits);
            let mut carried: Vec<Carried> =
                carried.map(|(param, init)| Carried { param: *param, init }).collect();
            let passed = |first: Vec<Atom>| {
                let passed = params.iter().chain(free).map(|v| Atom::Var(*v));
                Op::Call(segment, first.into_iter().chain(passed).collect())
            };
            let Some((steps, _)) = counted else {
                let go_on = b.var(FlatTy::Bool, None);
                b.open();
                let next = fits(b, IntOp::Add, &Atom::Var(at), &one);
                let most = fits(b, IntOp::Mul, &next, &length);
                let mut results = b.emit(module, passed(vec![most]));
                results.push(next);
                let body = b.close(results);
                carried.push(Carried { param: go_on, init: Atom::Bool(true) });
                carried.push(Carried { param: at, init: Atom::Int(0) });
                let cond = Block { stmts: Vec::new(), results: vec![Atom::Var(go_on)] };
                let more = [FlatTy::Bool, FlatTy::Int].map(|ty| b.var(ty, None));
                return (Op::While { carried, cond, body }, more.to_vec());
            };
            let more = fits(b, IntOp::Add, &steps, &length);
            let more = fits(b, IntOp::Sub, &more, &one);
            let segments = fits(b, IntOp::Div, &more, &length);
            b.open();
            let first = fits(b, IntOp::Mul, &Atom::Var(at), &length);
            let left = fits(b, IntOp::Sub, &steps, &first);
            let count = fits(b, IntOp::Min, &left, &length);
            let results = b.emit(module, passed(vec![first, count]));
            let body = b.close(results);
            (Op::For { count: segments, index: at, carried, body }, Vec::new())
        });
        out.extend(stmts);
        out.push(Stmt { results: results.into_iter().chain(more).collect(), op, site });
    }

    /// The function of a segment: of the first step and the number of steps, or the most, of what the loop carries, and what
    /// it uses. Of a conditional loop it says, too, whether there may be more steps.
    fn steps(&mut self, stmt: Stmt, free: &BTreeSet<Var>) -> FunctionId {
        let source = self.module.functions[self.source.0 as usize].clone();
        let id = declare(self.module, &source, "segment");
        let mut vars = self.vars.clone();
        let mut var = |ty: FlatTy, name: Option<Name>| {
            vars.push(VarInfo { ty, name });
            Var(vars.len() as u32 - 1)
        };
        let Stmt { mut results, mut op, site } = stmt;
        let mut types: Vec<FlatTy> =
            results.iter().map(|v| self.vars[v.0 as usize].ty.clone()).collect();
        let mut given: Vec<Atom> = results.iter().map(|v| Atom::Var(*v)).collect();
        let [first, count, step] = [(); 3].map(|()| var(FlatTy::Int, None));
        let mut params = vec![count];
        if let Op::For { carried, .. } | Op::While { carried, .. } = &mut op {
            for c in carried {
                let info = self.vars[c.param.0 as usize].clone();
                let init = var(info.ty, info.name);
                params.push(init);
                c.init = Atom::Var(init);
            }
        }
        params.extend(free);
        let mut after = Vec::new();
        match &mut op {
            Op::For { count: steps, index, body, .. } => {
                *steps = Atom::Var(count);
                let index = std::mem::replace(index, step);
                let op = Op::IntFits(IntOp::Add, vec![Atom::Var(first), Atom::Var(step)]);
                body.stmts.insert(0, Stmt { results: vec![index], op, site });
                params.insert(0, first);
            }
            Op::While { carried, cond, body } => {
                let ints = [(); 2].map(|()| var(FlatTy::Int, None));
                let [some, goes, more] = [(); 3].map(|()| var(FlatTy::Bool, None));
                let [next, done] = ints;
                let left = |result, done| {
                    let op =
                        Op::Compare(Comparison::Lt, Scalar::Int, Atom::Var(done), Atom::Var(count));
                    Stmt { results: vec![result], op, site }
                };
                // The condition prints once a step.
                let then = std::mem::take(cond);
                let otherwise = Block { stmts: Vec::new(), results: vec![Atom::Bool(false)] };
                let op = Op::If { cond: Atom::Var(some), then, otherwise };
                cond.stmts = vec![left(some, step), Stmt { results: vec![goes], op, site }];
                cond.results = vec![Atom::Var(goes)];
                carried.push(Carried { param: step, init: Atom::Int(0) });
                let op = Op::IntFits(IntOp::Add, vec![Atom::Var(step), Atom::Int(1)]);
                body.stmts.push(Stmt { results: vec![next], op, site });
                body.results.push(Atom::Var(next));
                results.push(done);
                let ended = var(FlatTy::Bool, None);
                after.push(left(ended, done));
                after.push(Stmt { results: vec![more], op: Op::Not(Atom::Var(ended)), site });
                types.push(FlatTy::Bool);
                given.push(Atom::Var(more));
            }
            _ => {}
        }
        let mut stmts = vec![Stmt { results, op, site }];
        stmts.extend(after);
        let name = Name::from("");
        let made = Function {
            name: name.clone(),
            shown: name,
            library: source.library,
            span: Span::NONE,
            vars,
            params,
            results: types,
            body: Block { stmts, results: given },
        };
        complete(self.module, id, made);
        id
    }
}

/// A part of a sum of numbers that are kept.
enum Part {
    Number(f64),
    /// The room that a value takes.
    Value(Atom),
    /// A number for each of so many steps.
    Times(Atom, Atom),
}

fn sum(b: &mut Builder, module: &Module, parts: impl Iterator<Item = Part>) -> Atom {
    let (mut known, mut others) = (0.0, Vec::new());
    let real = |b: &mut Builder, n: Atom| b.one(module, Op::ToReal(n));
    for part in parts {
        match part {
            Part::Number(x) => known += x,
            Part::Value(value) => match b.ty(&value) {
                FlatTy::Array(_, rank) => {
                    let mut product = Atom::Real(1.0);
                    for k in 0..rank {
                        let size = b.one(module, Op::Dim(value.clone(), k));
                        let size = real(b, size);
                        product = b.one(module, Op::Real(RealOp::Mul, vec![product, size]));
                    }
                    others.push(product);
                }
                FlatTy::Text | FlatTy::Box(_) | FlatTy::Acc(_) | FlatTy::Stack(_) => known += BOX,
                FlatTy::Real | FlatTy::Int | FlatTy::Bool => known += 1.0,
            },
            Part::Times(count, each) => {
                let count = real(b, count);
                others.push(b.one(module, Op::Real(RealOp::Mul, vec![count, each])));
            }
        }
    }
    let first = Atom::Real(known);
    others.into_iter().fold(first, |a, x| b.one(module, Op::Real(RealOp::Add, vec![a, x])))
}

/// About how many numbers a step may keep, at least 1: the results of its operations, those of inner loops for each of
/// their steps.
fn numbers(b: &mut Builder, module: &Module, block: &Block, free: &BTreeSet<Var>) -> Atom {
    let mut parts = vec![Part::Number(1.0)];
    for stmt in &block.stmts {
        match &stmt.op {
            Op::For { count, body, .. }
            | Op::Build { count, body, .. }
            | Op::Reduce { count, body, .. } => {
                let each = deep(|| numbers(b, module, body, free));
                let known = match count {
                    Atom::Var(v) => free.contains(v),
                    _ => true,
                };
                let times = if known { count.clone() } else { Atom::Int(STEPS as i64) };
                parts.push(Part::Times(times, each));
            }
            op => {
                regions(op, |region| {
                    let inner = deep(|| numbers(b, module, region, free));
                    parts.push(Part::Times(Atom::Int(1), inner));
                });
                let each = match op {
                    Op::Call(..) => CALL,
                    _ => stmt.results.len() as f64,
                };
                parts.push(Part::Number(each));
            }
        }
    }
    sum(b, module, parts.into_iter())
}
