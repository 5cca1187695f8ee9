//! Rules for branches and loops: branches that are decided or as cheap as a selection, loops that run once or never,
//! results and carried variables that are the same each time.

use super::super::effects::{has_bounded_partials, speculative_cost};
use super::{New, Simplifier};
use crate::ir::walk::same;
use crate::ir::{Atom, Block, Carried, FlatTy, Op, Reduction, Scalar, SiteId, Stmt, Var};
use diffeo_calculus::prim::Comparison;

/// Maximum cost of a branch, in additions, to be computed always.
const SPECULATION: u32 = 8;

impl Simplifier {
    /// Simplifies a statement with regions, whose operands are resolved already. Gives whether what stands
    /// behind it is never reached.
    pub(super) fn control(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) -> bool {
        let Stmt { results, op, site } = stmt;
        match op {
            Op::If { cond, then, otherwise } => {
                self.branch(results, cond, [then, otherwise], site, out)
            }
            Op::Switch { on, arms, default } => self.switch(results, on, arms, default, site, out),
            Op::For { count, index, carried, body } => {
                self.counted(results, count, index, carried, body, site, out)
            }
            Op::While { carried, cond, body } => {
                self.repeated(results, carried, cond, body, site, out)
            }
            Op::Build { count, index, body } => self.build(results, count, index, body, site, out),
            Op::Reduce { how, count, index, body } => {
                if matches!(count, Atom::Int(n) if n <= 0) {
                    let none = how.iter().map(|how| neutral(*how)).collect();
                    self.replace(&results, none);
                    return false;
                }
                let body = self.block(body).0;
                self.push(Stmt { results, op: Op::Reduce { how, count, index, body }, site }, out);
                false
            }
            _ => {
                self.push(Stmt { results, op, site }, out);
                false
            }
        }
    }

    /// Puts atoms in the place of variables.
    fn replace(&mut self, results: &[Var], atoms: Vec<Atom>) {
        for (v, atom) in results.iter().zip(atoms) {
            self.subst[v.0 as usize] = Some(atom);
        }
    }

    /// The block in the place of the statement with these results.
    fn inline(&mut self, results: &[Var], block: Block, out: &mut Vec<Stmt>) -> bool {
        let (atoms, ends) = self.splice(block, out);
        self.replace(results, atoms);
        ends
    }

    /// Notes what is known where a condition has this value; gives the variables to be forgotten.
    fn assume(&mut self, cond: &Atom, value: bool, known: &mut Vec<Var>) {
        let Atom::Var(v) = cond else { return };
        if self.subst[v.0 as usize].is_some() {
            return;
        }
        self.subst[v.0 as usize] = Some(Atom::Bool(value));
        known.push(*v);
        match self.defs[v.0 as usize].clone() {
            Some(Op::Not(a)) => self.assume(&a, !value, known),
            Some(Op::And(a, b)) if value => {
                self.assume(&a, true, known);
                self.assume(&b, true, known);
            }
            Some(Op::Or(a, b)) if !value => {
                self.assume(&a, false, known);
                self.assume(&b, false, known);
            }
            Some(_) | None => {}
        }
    }

    pub(super) fn forget(&mut self, known: Vec<Var>) {
        for v in known {
            self.subst[v.0 as usize] = None;
        }
    }

    fn branch(
        &mut self,
        results: Vec<Var>,
        cond: Atom,
        [then, otherwise]: [Block; 2],
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> bool {
        if let Atom::Bool(value) = cond {
            return self.inline(&results, if value { then } else { otherwise }, out);
        }
        if let Some(Op::Not(c)) = self.def(&cond) {
            let c = c.clone();
            return self.branch(results, c, [otherwise, then], site, out);
        }
        let time = self.now;
        let mut known = Vec::new();
        self.assume(&cond, true, &mut known);
        let (then, then_ends) = self.block(then);
        self.forget(std::mem::take(&mut known));
        self.assume(&cond, false, &mut known);
        let (otherwise, otherwise_ends) = self.block(otherwise);
        self.forget(known);
        if then_ends != otherwise_ends {
            let (stops, goes_on) = if then_ends { (then, otherwise) } else { (otherwise, then) };
            return self.behind_a_stop(&results, (cond, then_ends), stops, goes_on, site, out);
        }
        let cheap = self.cheap(&results, [&then, &otherwise]);
        let (mut kept, mut a, mut b) = (Vec::new(), Vec::new(), Vec::new());
        let mut blocks = [then, otherwise];
        if cheap {
            blocks.iter_mut().for_each(|block| out.append(&mut block.stmts));
        }
        let [then, otherwise] = blocks;
        for ((v, x), y) in results.into_iter().zip(then.results).zip(otherwise.results) {
            // An array that is named where nothing looks at it lives longer, and is not updated in its place.
            let counted = |ty: &FlatTy| !matches!(ty, FlatTy::Real | FlatTy::Int | FlatTy::Bool);
            let free = |atom: &Atom, ends: bool| match atom {
                Atom::Unused(ty) => ends || !counted(ty),
                Atom::Var(_) | Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) => ends,
            };
            let one = match (&x, &y) {
                _ if same(&x, &y) => Some(x.clone()),
                (x, y) if free(x, then_ends) && self.was_there(y, time) => Some(y.clone()),
                (x, y) if free(y, otherwise_ends) && self.was_there(x, time) => Some(x.clone()),
                _ => None,
            };
            if let Some(atom) = one {
                self.subst[v.0 as usize] = Some(atom);
            } else if cheap {
                let op = Op::Select(cond.clone(), x, y);
                match self.leaf(op, site, out) {
                    New::Atom(atom) => self.subst[v.0 as usize] = Some(atom),
                    New::Op(op) => self.push(Stmt { results: vec![v], op, site }, out),
                }
            } else {
                kept.push(v);
                a.push(x);
                b.push(y);
            }
        }
        let nothing = kept.is_empty() && then.stmts.is_empty() && otherwise.stmts.is_empty();
        if !cheap && !nothing {
            let then = Block { stmts: then.stmts, results: a };
            let otherwise = Block { stmts: otherwise.stmts, results: b };
            let op = Op::If { cond, then, otherwise };
            self.push(Stmt { results: kept, op, site }, out);
        }
        then_ends && otherwise_ends
    }

    /// A branch of which one side stops the program: the other one stands behind it, where passes see that it is
    /// what happens. From there to the end of the block the condition is known.
    fn behind_a_stop(
        &mut self,
        results: &[Var],
        (cond, stops_if): (Atom, bool),
        mut stops: Block,
        goes_on: Block,
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> bool {
        stops.results.clear();
        let nothing = Block::default();
        let (then, otherwise) = if stops_if { (stops, nothing) } else { (nothing, stops) };
        let op = Op::If { cond: cond.clone(), then, otherwise };
        self.push(Stmt { results: Vec::new(), op, site }, out);
        out.extend(goes_on.stmts);
        self.replace(results, goes_on.results);
        let mut known = std::mem::take(&mut self.scope.known);
        self.assume(&cond, !stops_if, &mut known);
        self.scope.known = known;
        false
    }

    /// Whether both branches may be computed, and their results selected.
    fn cheap(&self, results: &[Var], blocks: [&Block; 2]) -> bool {
        let selectable = |(i, v): (usize, &Var)| {
            matches!(self.vars[v.0 as usize].ty, FlatTy::Real | FlatTy::Int | FlatTy::Bool)
                || same(&blocks[0].results[i], &blocks[1].results[i])
        };
        let mut cost = results.len() as u32;
        if cost > SPECULATION || !results.iter().enumerate().all(selectable) {
            return false;
        }
        for stmt in blocks.iter().flat_map(|block| &block.stmts) {
            if self.early && !has_bounded_partials(&stmt.op) {
                return false;
            }
            match speculative_cost(&stmt.op) {
                Some(more) if cost + more <= SPECULATION => cost += more,
                Some(_) | None => return false,
            }
        }
        true
    }

    fn switch(
        &mut self,
        results: Vec<Var>,
        on: Atom,
        mut arms: Vec<(i64, Block)>,
        mut default: Option<Block>,
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> bool {
        if let Atom::Int(n) = on {
            let arm = arms.iter().position(|(value, _)| *value == n).map(|i| arms.swap_remove(i).1);
            // The arms cover the values, so this can only be where nothing ever comes.
            let Some(block) = arm.or(default) else { return false };
            return self.inline(&results, block, out);
        }
        if default.is_none() {
            default = arms.pop().map(|(_, block)| block);
        }
        let Some(default) = default else { return false };
        if arms.len() < 2 {
            let Some((value, arm)) = arms.pop() else {
                return self.inline(&results, default, out);
            };
            let cond = Op::Compare(Comparison::Eq, Scalar::Int, on, Atom::Int(value));
            let cond = self.emit(cond, FlatTy::Bool, site, out);
            return self.branch(results, cond, [arm, default], site, out);
        }
        let mut ends = true;
        let mut new = Vec::with_capacity(arms.len());
        for (value, arm) in arms {
            let known = match &on {
                Atom::Var(v) if self.subst[v.0 as usize].is_none() => {
                    self.subst[v.0 as usize] = Some(Atom::Int(value));
                    vec![*v]
                }
                Atom::Var(_) | Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => {
                    Vec::new()
                }
            };
            let (arm, arm_ends) = self.block(arm);
            self.forget(known);
            ends &= arm_ends;
            new.push((value, arm));
        }
        let (default, default_ends) = self.block(default);
        let op = Op::Switch { on, arms: new, default: Some(default) };
        self.push(Stmt { results, op, site }, out);
        ends && default_ends
    }

    /// Drops the carried variables that never change, putting their first values in their places. Mutable ones stay.
    fn constant_carried(
        &mut self,
        results: &mut Vec<Var>,
        carried: &mut Vec<Carried>,
        last: &mut Vec<Atom>,
    ) {
        let mut changes = Vec::with_capacity(carried.len());
        for (c, last) in carried.iter().zip(last.iter()) {
            let last = self.resolve(last);
            changes.push(!same(&last, &Atom::Var(c.param)) && !same(&last, &c.init));
        }
        let mut changes_of = changes.iter().copied();
        for (i, c) in carried.iter().enumerate() {
            if !changes[i] {
                self.subst[c.param.0 as usize] = Some(c.init.clone());
                self.subst[results[i].0 as usize] = Some(c.init.clone());
            }
        }
        carried.retain(|_| changes_of.next().unwrap_or(true));
        let mut changes_of = changes.iter().copied();
        results.retain(|_| changes_of.next().unwrap_or(true));
        let mut changes_of = changes.iter().copied();
        last.retain(|_| changes_of.next().unwrap_or(true));
    }

    /// Arrays that keep their sizes through a loop have them before it.
    fn sizes_before(&mut self, carried: &[Carried], site: SiteId, out: &mut Vec<Stmt>) {
        for c in carried {
            let (FlatTy::Array(_, rank), Atom::Var(init)) = (self.ty(&Atom::Var(c.param)), &c.init)
            else {
                continue;
            };
            for k in 0..rank {
                if self.size_key(c.param, k) == self.size_key(*init, k) {
                    self.emit(Op::Dim(c.init.clone(), k), FlatTy::Int, site, out);
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn counted(
        &mut self,
        mut results: Vec<Var>,
        count: Atom,
        index: Var,
        mut carried: Vec<Carried>,
        mut body: Block,
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> bool {
        let steps = match count {
            Atom::Int(n) => Some(n),
            Atom::Var(_) | Atom::Real(_) | Atom::Bool(_) | Atom::Unused(_) => None,
        };
        if steps.is_some_and(|n| n <= 0) {
            self.replace(&results, carried.into_iter().map(|c| c.init).collect());
            return false;
        }
        if steps == Some(1) {
            self.subst[index.0 as usize] = Some(Atom::Int(0));
            for c in carried {
                self.subst[c.param.0 as usize] = Some(c.init);
            }
            return self.inline(&results, body, out);
        }
        self.constant_carried(&mut results, &mut carried, &mut body.results);
        self.sizes_before(&carried, site, out);
        let body = self.block(body).0;
        if !(carried.is_empty() && body.stmts.is_empty()) {
            let op = Op::For { count, index, carried, body };
            self.push(Stmt { results, op, site }, out);
        }
        false
    }

    fn repeated(
        &mut self,
        mut results: Vec<Var>,
        mut carried: Vec<Carried>,
        cond: Block,
        mut body: Block,
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> bool {
        self.constant_carried(&mut results, &mut carried, &mut body.results);
        self.sizes_before(&carried, site, out);
        let (cond, cond_ends) = self.block(cond);
        if cond_ends || matches!(cond.results[..], [Atom::Bool(false)]) {
            // The condition is evaluated once.
            for c in &carried {
                self.subst[c.param.0 as usize] = Some(c.init.clone());
            }
            let ends = self.splice(cond, out).1;
            self.replace(&results, carried.into_iter().map(|c| c.init).collect());
            return ends;
        }
        let body = self.block(body).0;
        self.push(Stmt { results, op: Op::While { carried, cond, body }, site }, out);
        false
    }

    fn build(
        &mut self,
        results: Vec<Var>,
        count: Atom,
        index: Var,
        body: Block,
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> bool {
        if matches!(count, Atom::Int(n) if n <= 0) {
            for v in results {
                if let FlatTy::Array(elem, rank) = self.vars[v.0 as usize].ty {
                    self.push(Stmt { results: vec![v], op: Op::Empty(elem, rank), site }, out);
                }
            }
            return false;
        }
        let time = self.now;
        let mut body = self.block(body).0;
        // Every element of an array as it is. Of rank 1 only: without elements, the array knows the sizes of its
        // rows, and the comprehension does not.
        let mut kept = Vec::new();
        let mut last = Vec::new();
        for (v, atom) in results.into_iter().zip(body.results) {
            let copied = match self.def(&atom) {
                Some(Op::Get(array, indices))
                    if matches!(indices[..], [Atom::Var(i)] if i == index)
                        && matches!(self.ty(array), FlatTy::Array(_, 1))
                        && self.was_there(array, time)
                        && self.is_size(&count, array) =>
                {
                    Some(array.clone())
                }
                Some(_) | None => None,
            };
            match copied {
                Some(array) => self.subst[v.0 as usize] = Some(array),
                None => {
                    kept.push(v);
                    last.push(atom);
                }
            }
        }
        body.results = last;
        if !(kept.is_empty() && body.stmts.is_empty()) {
            self.push(Stmt { results: kept, op: Op::Build { count, index, body }, site }, out);
        }
        false
    }
}

/// What a reduction of nothing gives; one of something begins with the first value.
pub(crate) fn neutral(how: Reduction) -> Atom {
    Atom::Real(match how {
        Reduction::Add => 0.0,
        Reduction::Max => f64::NEG_INFINITY,
        Reduction::Min => f64::INFINITY,
    })
}
