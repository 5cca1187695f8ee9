//! Check hoisting: a loop that can stop the program becomes a loop that only checks, followed by one that cannot fail.
//!
//! `build i < n { check_index(i, m); body }` becomes
//! ```text
//! ok = le[Int](n, m)
//! if ok {} else { for i < n { check_index(i, m) } }
//! build i < n { body }
//! ```
//! The first loop has all checks of the second one, in their order and with their places, and what they depend on;
//! where no step needs the index, it is a branch on the count. So the program stops where it did. The second loop has
//! no effects: its steps can be done in any order, several at once.
//!
//! A loop whose checks cannot be separated from its steps, because they depend on each other or call functions, is cut
//! at the first step in which a comparison of its index could fail: the steps before that do without these checks.
//!
//! Separating pays where the checks depend on few of the loops around them (then they happen once, and not in every
//! step), where they follow from a comparison of sizes, or where they cost little beside the rest. It does not pay, and
//! is left alone, where the checks depend on expensive results.

use super::effects::{int_can_fail, speculative_cost, Effect, Effects};
use super::shapes::Shapes;
use crate::ir::walk::{
    binders, deep, operands, regions, regions_mut, same, size, statements, var, Copier,
};
use crate::ir::{
    Atom, Block, Check, FlatTy, Module, Op, Reduction, Scalar, SiteId, Stmt, Var, VarInfo,
};
use diffeo_calculus::prim::{Comparison, IntOp};
use hashbrown::{HashMap, HashSet};

/// Assumed number of steps of a loop.
const STEPS: u64 = 16;

/// The checking loop has to cost less than the original one by this factor, unless comparisons replace it.
const CHEAPER: u64 = 3;

/// Maximum number of statements of the body of a loop that is cut.
const SHORT: usize = 60;

/// Check hoisting: see the head of the file.
pub fn hoist_checks(mut module: Module) -> Module {
    let effects = Effects::of(&module);
    for function in &mut module.functions {
        let shapes = Shapes::of_rows(function);
        let vars = std::mem::take(&mut function.vars);
        let mut cx = CheckHoisting { effects: &effects, shapes, vars };
        let mut body = std::mem::take(&mut function.body);
        cx.block(&mut body);
        function.body = body;
        function.vars = cx.vars;
    }
    module
}

struct CheckHoisting<'a> {
    effects: &'a Effects,
    shapes: Shapes,
    vars: Vec<VarInfo>,
}

impl CheckHoisting<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            let split = match &stmt.op {
                Op::Build { .. } | Op::Reduce { .. } | Op::For { .. } => {
                    deep(|| self.checks_of(&stmt))
                }
                _ => None,
            };
            if let Some(checks) = split {
                self.place(&checks, &stmt, &mut out);
                deep(|| remove_checks(&mut stmt));
            } else {
                deep(|| regions_mut(&mut stmt.op, |r| self.block(r)));
                stmt = self.cut(stmt, &mut out);
            }
            out.push(stmt);
        }
        block.stmts = out;
    }

    /// What a loop has to check, if that is to stand before it.
    fn checks_of(&self, stmt: &Stmt) -> Option<Stmt> {
        if self.effects.stmt(stmt, &self.shapes, &self.vars) != Effect::STOPS {
            return None;
        }
        let checks = self.sliced(stmt, &mut HashSet::new())?;
        let cheap = cost(&checks).saturating_mul(CHEAPER) <= cost(stmt);
        (cheap || conditions_of(&checks).is_some()).then_some(checks)
    }

    /// Cuts a loop where its index could fail a comparison. Gives the second part, or what it got.
    fn cut(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) -> Stmt {
        let Op::For { count, index, carried, body } = &stmt.op else { return stmt };
        if size(body, SHORT) > SHORT {
            return stmt;
        }
        let mut bounds = Vec::new();
        let mut own = HashSet::from([*index]);
        own.extend(carried.iter().map(|c| c.param));
        statements(body, &mut |stmt| {
            own.extend(stmt.results.iter().copied());
            binders(&stmt.op, |v| _ = own.insert(v));
        });
        bounds_of(body, *index, &own, &mut bounds);
        if bounds.is_empty() {
            return stmt;
        }
        let site = stmt.site;
        let int = |cx: &mut Self, op, a: &Atom, b: &Atom, out: &mut Vec<Stmt>| {
            cx.define(FlatTy::Int, Op::Int(op, vec![a.clone(), b.clone()]), site, out)
        };
        let mut end = int(self, IntOp::Max, count, &Atom::Int(0), out);
        for bound in &bounds {
            end = int(self, IntOp::Min, &end, bound, out);
        }
        let end = int(self, IntOp::Max, &end, &Atom::Int(0), out);
        let left = Op::IntFits(IntOp::Sub, vec![count.clone(), end.clone()]);
        let left = self.define(FlatTy::Int, left, site, out);
        // The first part, with variables of its own.
        let mut within = stmt.clone();
        if let Op::For { count, body, .. } = &mut within.op {
            *count = end.clone();
            remove_bounded(body, *index, &own);
        }
        let copy = |site: SiteId| site;
        let map = HashMap::new();
        let first = Copier { source: None, vars: &mut self.vars, map, site: copy }.stmt(&within);
        let results = first.results.clone();
        out.push(first);
        let mut rest = stmt;
        if let Op::For { count, index, carried, body } = &mut rest.op {
            *count = left;
            let step = Var(self.vars.len() as u32);
            self.vars.push(self.vars[index.0 as usize].clone());
            let at = Op::IntFits(IntOp::Add, vec![Atom::Var(step), end]);
            body.stmts.insert(0, Stmt { results: vec![*index], op: at, site });
            *index = step;
            for (c, v) in carried.iter_mut().zip(results) {
                c.init = Atom::Var(v);
            }
        }
        rest
    }

    /// The statements of a block that can stop the program, and those that these depend on. `needed` gets
    /// what is defined outside.
    fn slice(&self, block: &Block, needed: &mut HashSet<Var>) -> Option<Block> {
        let mut kept = Vec::new();
        for stmt in block.stmts.iter().rev() {
            let is_needed = stmt.results.iter().any(|v| needed.contains(v));
            let effect = self.effects.stmt(stmt, &self.shapes, &self.vars);
            if effect.any() {
                if matches!(stmt.op, Op::Check(_) | Op::Int(..)) {
                    operands(&stmt.op, |a| needed.extend(var(a)));
                    kept.push(stmt.clone());
                } else if is_needed {
                    return None;
                } else {
                    kept.push(deep(|| self.sliced(stmt, needed))?);
                }
            } else if is_needed {
                let cheap = matches!(stmt.op, Op::Get(..) | Op::Tag(_) | Op::Field { .. })
                    || matches!(stmt.op, Op::IntFits(..))
                    || speculative_cost(&stmt.op).is_some_and(|cost| cost <= 4);
                if !cheap {
                    return None;
                }
                operands(&stmt.op, |a| needed.extend(var(a)));
                kept.push(stmt.clone());
            }
        }
        kept.reverse();
        Some(Block { stmts: kept, results: Vec::new() })
    }

    /// A statement with regions without what cannot stop the program.
    fn sliced(&self, stmt: &Stmt, needed: &mut HashSet<Var>) -> Option<Stmt> {
        let op = match &stmt.op {
            Op::If { cond, then, otherwise } => {
                let then = self.slice(then, needed)?;
                let otherwise = self.slice(otherwise, needed)?;
                needed.extend(var(cond));
                Op::If { cond: cond.clone(), then, otherwise }
            }
            Op::Build { count, index, body } => {
                // Rows of different sizes.
                if self.effects.own(stmt, &self.shapes, &self.vars).any() {
                    return None;
                }
                self.sliced_loop(count, *index, body, needed)?
            }
            Op::Reduce { count, index, body, .. } => {
                self.sliced_loop(count, *index, body, needed)?
            }
            Op::For { count, index, carried, body } => {
                let op = self.sliced_loop(count, *index, body, needed)?;
                if carried.iter().any(|c| needed.contains(&c.param)) {
                    return None;
                }
                op
            }
            _ => return None,
        };
        Some(Stmt { results: Vec::new(), op, site: stmt.site })
    }

    fn sliced_loop(
        &self,
        count: &Atom,
        index: Var,
        body: &Block,
        needed: &mut HashSet<Var>,
    ) -> Option<Op> {
        let body = self.slice(body, needed)?;
        needed.extend(var(count));
        Some(Op::For { count: count.clone(), index, carried: Vec::new(), body })
    }

    /// Puts the checks there, as far as they do not hold by comparisons.
    fn place(&mut self, checks: &Stmt, of: &Stmt, out: &mut Vec<Stmt>) {
        let ok = if let Some(conditions) = conditions_of(checks) {
            Some(self.all(&conditions, of.site, out))
        } else {
            self.counted(checks, of.site, out)
        };
        let site = |site| site;
        let map = HashMap::new();
        let mut copier = Copier { source: None, vars: &mut self.vars, map, site };
        let mut copy = copier.stmt(checks);
        self.simplify(&mut copy);
        let mut stmts = Vec::new();
        self.flat(copy, &mut stmts);
        match ok {
            None => out.extend(stmts),
            Some(cond) => {
                let otherwise = Block { stmts, results: Vec::new() };
                let op = Op::If { cond, then: Block::default(), otherwise };
                out.push(Stmt { results: Vec::new(), op, site: of.site });
            }
        }
    }

    /// Loops of which no step needs the index make one, if any: within the statement.
    fn simplify(&mut self, stmt: &mut Stmt) {
        regions_mut(&mut stmt.op, |r| {
            let mut out = Vec::with_capacity(r.stmts.len());
            for mut stmt in std::mem::take(&mut r.stmts) {
                deep(|| self.simplify(&mut stmt));
                self.flat(stmt, &mut out);
            }
            r.stmts = out;
        });
    }

    /// The same of the statement itself.
    fn flat(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        match stmt.op {
            Op::For { count, index, carried, body }
                if carried.is_empty() && !reads(&body, index) =>
            {
                let positive = Op::Compare(Comparison::Gt, Scalar::Int, count, Atom::Int(0));
                let cond = self.bool(positive, stmt.site, out);
                let op = Op::If { cond, then: body, otherwise: Block::default() };
                out.push(Stmt { results: Vec::new(), op, site: stmt.site });
            }
            op => out.push(Stmt { op, ..stmt }),
        }
    }

    fn define(&mut self, ty: FlatTy, op: Op, site: SiteId, out: &mut Vec<Stmt>) -> Atom {
        let result = Var(self.vars.len() as u32);
        self.vars.push(VarInfo { ty, name: None });
        out.push(Stmt { results: vec![result], op, site });
        Atom::Var(result)
    }

    fn bool(&mut self, op: Op, site: SiteId, out: &mut Vec<Stmt>) -> Atom {
        self.define(FlatTy::Bool, op, site, out)
    }

    /// Whether all of these hold.
    fn all(&mut self, conditions: &[Condition], site: SiteId, out: &mut Vec<Stmt>) -> Atom {
        let mut all = Atom::Bool(true);
        for (comparison, a, b) in conditions {
            let op = Op::Compare(*comparison, Scalar::Int, a.clone(), b.clone());
            let holds = self.bool(op, site, out);
            all = match all {
                Atom::Bool(_) => holds,
                all => self.bool(Op::And(all, holds), site, out),
            };
        }
        all
    }

    /// Of a single loop with nothing but checks of numbers that it reads: whether all of them hold, by counting
    /// those that do not, which several steps at once can do.
    fn counted(&mut self, checks: &Stmt, site: SiteId, out: &mut Vec<Stmt>) -> Option<Atom> {
        let Op::For { count, index, body, .. } = &checks.op else { return None };
        if !reads(body, *index) {
            return None;
        }
        let mut inner = Vec::new();
        let mut map: HashMap<Var, Atom> = HashMap::new();
        let new = Var(self.vars.len() as u32);
        self.vars.push(self.vars[index.0 as usize].clone());
        map.insert(*index, Atom::Var(new));
        let mut conditions = Vec::new();
        for stmt in &body.stmts {
            match &stmt.op {
                Op::Check(check) => conditions.extend(conditions_of_check(check)?),
                // Behind a check they may be right only where it passes.
                Op::Get(..) | Op::IntFits(..) if conditions.is_empty() => inner.push(stmt.clone()),
                Op::Dim(..) => inner.push(stmt.clone()),
                _ => return None,
            }
        }
        let site_of = |site| site;
        let block = Block { stmts: inner, results: Vec::new() };
        let mut copier = Copier { source: None, vars: &mut self.vars, map, site: site_of };
        let mut copy = copier.block(&block);
        for (_, a, b) in &mut conditions {
            *a = copier.atom(a);
            *b = copier.atom(b);
        }
        let all = self.all(&conditions, site, &mut copy.stmts);
        let bad = Op::Select(all, Atom::Real(0.0), Atom::Real(1.0));
        let bad = self.define(FlatTy::Real, bad, site, &mut copy.stmts);
        copy.results = vec![bad];
        let how = vec![Reduction::Add];
        let op = Op::Reduce { how, count: count.clone(), index: new, body: copy };
        let sum = self.define(FlatTy::Real, op, site, out);
        let none = Op::Compare(Comparison::Eq, Scalar::Real, sum, Atom::Real(0.0));
        Some(self.bool(none, site, out))
    }
}

/// A comparison of Ints.
type Condition = (Comparison, Atom, Atom);

/// When a check passes.
fn conditions_of_check(check: &Check) -> Option<Vec<Condition>> {
    Some(match check {
        Check::Index { index, length } => {
            let least = (Comparison::Le, Atom::Int(0), index.clone());
            let most = (Comparison::Lt, index.clone(), length.clone());
            if matches!(index, Atom::Int(n) if *n >= 0) {
                vec![most]
            } else {
                vec![least, most]
            }
        }
        Check::Size { expected, found, .. } => {
            vec![(Comparison::Eq, expected.clone(), found.clone())]
        }
        Check::Slice { .. } | Check::Count(_) | Check::Rows { .. } => return None,
    })
}

/// Comparisons of what is known before a statement, which are enough for its checks to pass.
fn conditions_of(stmt: &Stmt) -> Option<Vec<Condition>> {
    let mut inner = HashMap::new();
    let mut out = Vec::new();
    enough(stmt, &mut inner, &mut out).then_some(out)
}

/// Goes over a statement: `inner` has the variables that it defines, and of the indices of loops the count.
fn enough(stmt: &Stmt, inner: &mut HashMap<Var, Option<Atom>>, out: &mut Vec<Condition>) -> bool {
    let mut known = match &stmt.op {
        Op::Check(check) => {
            let outer = |a: &Atom| var(a).is_none_or(|v| !inner.contains_key(&v));
            let index = |a: &Atom| var(a).and_then(|v| inner.get(&v).cloned().flatten());
            let conditions = match check {
                Check::Index { index: i, length } if outer(length) => match index(i) {
                    Some(count) => Some(vec![(Comparison::Le, count, length.clone())]),
                    None => conditions_of_check(check),
                },
                _ => conditions_of_check(check),
            };
            let Some(conditions) = conditions else { return false };
            for (comparison, a, b) in conditions {
                if !outer(&a) || !outer(&b) {
                    return false;
                }
                if !out.iter().any(|(c, x, y)| *c == comparison && same(x, &a) && same(y, &b)) {
                    out.push((comparison, a, b));
                }
            }
            true
        }
        Op::Int(op, args) => !int_can_fail(*op, args),
        Op::For { count, index, .. } => {
            let outer = var(count).is_none_or(|v| !inner.contains_key(&v));
            inner.insert(*index, outer.then(|| count.clone()));
            true
        }
        _ => true,
    };
    regions(&stmt.op, |r| known = known && r.stmts.iter().all(|s| enough(s, inner, out)));
    inner.extend(stmt.results.iter().map(|v| (*v, None)));
    known
}

/// The rough cost of a statement.
pub(super) fn cost(stmt: &Stmt) -> u64 {
    let mut inner: u64 = 0;
    deep(|| {
        regions(&stmt.op, |r| {
            inner = r.stmts.iter().fold(inner, |sum, stmt| sum.saturating_add(cost(stmt)));
        });
    });
    match &stmt.op {
        // A loop that does not look at its index, as it will be; others have the count they have.
        Op::For { index, body, carried, .. } if carried.is_empty() && !reads(body, *index) => inner,
        Op::For { count, .. } | Op::Build { count, .. } | Op::Reduce { count, .. } => {
            let steps = match count {
                Atom::Int(n) => u64::try_from(*n).unwrap_or(0),
                _ => STEPS,
            };
            inner.saturating_mul(steps).saturating_add(1)
        }
        Op::While { .. } => inner.saturating_mul(STEPS),
        Op::Call(..) => 24,
        op => inner.saturating_add(u64::from(speculative_cost(op).unwrap_or(1))),
    }
}

/// Whether a block reads a variable.
fn reads(block: &Block, v: Var) -> bool {
    let mut found = block.results.iter().any(|a| var(a) == Some(v));
    statements(block, &mut |stmt| {
        operands(&stmt.op, |a| found |= var(a) == Some(v));
        regions(&stmt.op, |r| found |= r.results.iter().any(|a| var(a) == Some(v)));
    });
    found
}

/// What the index of a loop has to be below for a statement not to fail, as far as that is known before the loop,
/// which defines `own`.
fn bound(stmt: &Stmt, loop_index: Var, own: &HashSet<Var>) -> Option<Atom> {
    let is_index = |a: &Atom| var(a) == Some(loop_index);
    match &stmt.op {
        Op::Check(Check::Index { index, length }) if is_index(index) => {
            Some(length.clone()).filter(|a| var(a).is_none_or(|v| !own.contains(&v)))
        }
        Op::Int(IntOp::ShiftLeft | IntOp::ShiftRight, args) if is_index(&args[1]) => {
            Some(Atom::Int(64))
        }
        _ => None,
    }
}

/// The bounds of the statements of a block, nested loops aside.
fn bounds_of(block: &Block, index: Var, own: &HashSet<Var>, out: &mut Vec<Atom>) {
    for stmt in &block.stmts {
        if let Some(found) = bound(stmt, index, own).filter(|a| !out.iter().any(|b| same(a, b))) {
            out.push(found);
        }
        if matches!(stmt.op, Op::If { .. } | Op::Switch { .. }) {
            deep(|| regions(&stmt.op, |r| bounds_of(r, index, own, out)));
        }
    }
}

/// Leaves out what has such bounds.
fn remove_bounded(block: &mut Block, index: Var, own: &HashSet<Var>) {
    block
        .stmts
        .retain(|stmt| !matches!(stmt.op, Op::Check(_)) || bound(stmt, index, own).is_none());
    for stmt in &mut block.stmts {
        if bound(stmt, index, own).is_some() {
            if let Op::Int(op, args) = &mut stmt.op {
                stmt.op = Op::IntFits(*op, std::mem::take(args));
            }
        }
        if matches!(stmt.op, Op::If { .. } | Op::Switch { .. }) {
            deep(|| regions_mut(&mut stmt.op, |r| remove_bounded(r, index, own)));
        }
    }
}

/// Leaves out the checks of a statement, which certainly pass.
fn remove_checks(stmt: &mut Stmt) {
    match &mut stmt.op {
        Op::Int(op, args) if int_can_fail(*op, args) => {
            stmt.op = Op::IntFits(*op, std::mem::take(args));
        }
        _ => {}
    }
    regions_mut(&mut stmt.op, |r| {
        r.stmts.retain(|stmt| !matches!(stmt.op, Op::Check(_)));
        r.stmts.iter_mut().for_each(|stmt| deep(|| remove_checks(stmt)));
    });
}
