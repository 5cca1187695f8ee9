//! Deferred checks: loops look for nan behind their steps, so that the steps cannot stop the program.
//!
//! Where each step of a comprehension or a sum takes a derivative, the step stops the program if that is nan. Instead,
//! a sum counts the steps that found one, a comprehension keeps the number beside its elements, and a check behind the
//! loop stops the program if there was one:
//! ```text
//! s = reduce[add] i < n { …; if is_nan(d) { fail_nan() }; yield x }
//! ```
//! becomes
//! ```text
//! s, found = reduce[add, add] i < n { …; yield x, select(is_nan(d), 1.0, 0.0) }
//! if gt(found, 0.0) { fail_nan() }
//! ```
//! Why it is right: the steps do not depend on each other, and what stands behind the check in its own step has no
//! effect. A later step may now stop the program for another reason first. On the evaluator, to which a nan leads, it
//! would have done so, too.

use super::effects::Effects;
use super::shapes::Shapes;
use crate::ir::walk::{deep, has_regions, regions_mut, same, statements};
use crate::ir::{
    Atom, Block, Elem, FlatTy, Module, Op, Reduction, Scalar, SiteId, Stmt, Stop, Var, VarInfo,
};
use diffeo_calculus::prim::Comparison;

/// Deferred checks: see the head of the file.
pub fn defer_checks(mut module: Module) -> Module {
    if !module.functions.iter().any(|function| looks_for_nan(&function.body)) {
        return module;
    }
    let effects = Effects::of(&module);
    for function in &mut module.functions {
        if looks_for_nan(&function.body) {
            let shapes = Shapes::of_rows(function);
            let vars = std::mem::take(&mut function.vars);
            let mut cx = Defer { effects: &effects, shapes, vars };
            cx.block(&mut function.body);
            function.vars = cx.vars;
        }
    }
    module
}

fn looks_for_nan(block: &Block) -> bool {
    let mut found = false;
    statements(block, &mut |stmt| found |= matches!(stmt.op, Op::Stop(Stop::Nan)));
    found
}

struct Defer<'a> {
    effects: &'a Effects,
    shapes: Shapes,
    vars: Vec<VarInfo>,
}

impl Defer<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |r| self.block(r)));
            }
            let checks = self.taken_out(&mut stmt);
            out.push(stmt);
            out.extend(checks);
        }
        block.stmts = out;
    }

    /// Takes what looks for nan out of a loop. Gives what is to stand behind it.
    fn taken_out(&mut self, stmt: &mut Stmt) -> Vec<Stmt> {
        let mut behind = Vec::new();
        while let Some((cond, site)) = self.last_look(&mut stmt.op) {
            let Stmt { results, op, .. } = stmt;
            let found = if let Op::Reduce { how, body, .. } = op {
                let found = self.choice(&cond, 1.0, site, &mut body.stmts);
                how.push(Reduction::Add);
                body.results.push(Atom::Var(found));
                results.push(self.fresh(FlatTy::Real));
                results[results.len() - 1]
            } else if let Op::Build { count, body, .. } = op {
                let number = match number_of(body, &cond) {
                    Some(number) => number,
                    None => Atom::Var(self.choice(&cond, f64::NAN, site, &mut body.stmts)),
                };
                let known = body.results.iter().position(|result| same(result, &number));
                let place = known.unwrap_or(results.len());
                if known.is_none() {
                    body.results.push(number);
                    results.push(self.fresh(FlatTy::array(Elem::Real, 1)));
                }
                self.nans(results[place], count, site, &mut behind)
            } else {
                break;
            };
            let some = self.fresh(FlatTy::Bool);
            let op = Op::Compare(Comparison::Gt, Scalar::Real, Atom::Var(found), Atom::Real(0.0));
            behind.push(Stmt { results: vec![some], op, site });
            let stop = Stmt { results: Vec::new(), op: Op::Stop(Stop::Nan), site };
            let then = Block { stmts: vec![stop], results: Vec::new() };
            let op = Op::If { cond: Atom::Var(some), then, otherwise: Block::default() };
            behind.push(Stmt { results: Vec::new(), op, site });
        }
        behind
    }

    /// Removes the last statement of a step that stops the program, if it looks for nan. Gives its condition.
    fn last_look(&self, op: &mut Op) -> Option<(Atom, SiteId)> {
        let (Op::Build { body, .. } | Op::Reduce { body, .. }) = op else { return None };
        let acts = |stmt: &Stmt| self.effects.stmt(stmt, &self.shapes, &self.vars).any();
        let place = body.stmts.iter().rposition(acts)?;
        let Op::If { cond, then, otherwise } = &body.stmts[place].op else { return None };
        let stops = matches!(then.stmts[..], [Stmt { op: Op::Stop(Stop::Nan), .. }]);
        if !stops || !then.results.is_empty() || !otherwise.stmts.is_empty() {
            return None;
        }
        let (cond, site) = (cond.clone(), then.stmts[0].site);
        body.stmts.remove(place);
        Some((cond, site))
    }

    /// This number where the condition holds, else 0.
    fn choice(&mut self, cond: &Atom, number: f64, site: SiteId, out: &mut Vec<Stmt>) -> Var {
        let result = self.fresh(FlatTy::Real);
        let op = Op::Select(cond.clone(), Atom::Real(number), Atom::Real(0.0));
        out.push(Stmt { results: vec![result], op, site });
        result
    }

    /// How many numbers of an array are nan.
    fn nans(&mut self, array: Var, count: &Atom, site: SiteId, out: &mut Vec<Stmt>) -> Var {
        let (index, number) = (self.fresh(FlatTy::Int), self.fresh(FlatTy::Real));
        let (nan, found) = (self.fresh(FlatTy::Bool), self.fresh(FlatTy::Real));
        let element = Op::Get(Atom::Var(array), vec![Atom::Var(index)]);
        let mut body = Block::default();
        body.stmts.push(Stmt { results: vec![number], op: element, site });
        body.stmts.push(Stmt { results: vec![nan], op: Op::IsNan(Atom::Var(number)), site });
        let one = self.choice(&Atom::Var(nan), 1.0, site, &mut body.stmts);
        body.results.push(Atom::Var(one));
        let op = Op::Reduce { how: vec![Reduction::Add], count: count.clone(), index, body };
        out.push(Stmt { results: vec![found], op, site });
        found
    }

    fn fresh(&mut self, ty: FlatTy) -> Var {
        self.vars.push(VarInfo { ty, name: None });
        Var(self.vars.len() as u32 - 1)
    }
}

/// The number of which the condition says that it is nan.
fn number_of(body: &Block, cond: &Atom) -> Option<Atom> {
    let made =
        body.stmts.iter().find(|stmt| stmt.results.iter().any(|v| same(&Atom::Var(*v), cond)));
    let Op::IsNan(number) = &made?.op else { return None };
    Some(number.clone())
}
