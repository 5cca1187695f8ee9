//! Check elimination: removes checks that certainly hold, and makes operations that certainly fit unchecked: those on
//! Ints, and rounding.
//!
//! What it needs: nothing; it finds more after `inline` and `cse`. How it works: it walks through a function and keeps
//! facts on Ints that hold at the current place: the index of a loop is at least 0 and below the count, a check before
//! has passed, the branch says so, sizes are not negative, a carried variable moves by so much in each step. Where Int
//! operations do not fail, they are the operations on integers, so each result has an exact linear form. [`prove`] says
//! how facts lead to proofs. Why it is right: what is removed would not have failed, whatever the program does.

mod linear;
mod prove;
mod reals;

use super::shapes::{Shapes, Size, SizeExtent};
use crate::ir::walk::{binders, deep, operands_mut, var};
use crate::ir::{Atom, Block, Carried, Check, FlatTy, Module, Op, Scalar, Stmt, Var, VarInfo};
use diffeo_calculus::prim::{IntOp, RealOp};
use hashbrown::HashMap;
use linear::Linear;
use prove::{Facts, Says};

/// No array has more elements in a dimension, because no comprehension makes more.
const MOST: i64 = diffeo_calculus::eval::MOST_ELEMENTS;

/// Check elimination: see the head of the file.
pub fn ranges(mut module: Module) -> Module {
    let variants: Vec<usize> = module.boxes.iter().map(|b| b.variants.len()).collect();
    for function in &mut module.functions {
        let shapes = Shapes::of(function);
        let mut cx = Ranges {
            facts: Facts::new(function.vars.len()),
            subst: vec![None; function.vars.len()],
            dims: HashMap::new(),
            open: Vec::new(),
            variants: &variants,
            shapes,
            vars: &function.vars,
        };
        function.params.iter().for_each(|p| cx.facts.define(*p));
        function.body = cx.block(std::mem::take(&mut function.body)).0;
    }
    module
}

/// A size of which more is known where there are rows.
#[derive(Clone, Copy)]
enum OpenSize {
    /// The size of an array in a dimension but the first.
    Rows { size: Var, array: Var, dim: u8 },
    /// An Int that is one of two.
    Choice(Var),
}

/// How many open sizes are kept.
const MOST_OPEN: usize = 32;

struct Ranges<'a> {
    facts: Facts,
    subst: Vec<Option<Atom>>,
    /// The variables that are sizes of arrays.
    dims: HashMap<(Var, u8), Var>,
    /// The latest sizes of rows that may be those of no rows, and the latest choices between sizes.
    open: Vec<OpenSize>,
    variants: &'a [usize],
    shapes: Shapes,
    vars: &'a [VarInfo],
}

impl Ranges<'_> {
    fn resolve(&self, atom: &Atom) -> Atom {
        let mut atom = atom;
        while let Some(new) = var(atom).and_then(|v| self.subst[v.0 as usize].as_ref()) {
            atom = new;
        }
        atom.clone()
    }

    /// A block, and whether its end is never reached. What is found in it holds only there.
    fn scope(&mut self, block: Block) -> (Block, bool) {
        let mark = self.facts.mark();
        let result = self.block(block);
        self.facts.reset(&mark);
        result
    }

    /// A block; the facts stay.
    fn block(&mut self, block: Block) -> (Block, bool) {
        let mut out = Vec::with_capacity(block.stmts.len());
        let mut ends = false;
        for stmt in block.stmts {
            ends |= self.stmt(stmt, &mut out);
        }
        let results = block.results.iter().map(|a| self.resolve(a)).collect();
        (Block { stmts: out, results }, ends)
    }

    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) -> bool {
        operands_mut(&mut stmt.op, |a| *a = self.resolve(a));
        if let Op::Check(check) = &stmt.op {
            if !self.holds(check) {
                self.passed(check);
                out.push(stmt);
            } else {
                self.passed(check);
            }
            return false;
        }
        binders(&stmt.op, |v| self.facts.define(v));
        stmt.results.iter().for_each(|v| self.facts.define(*v));
        let mut ends = matches!(stmt.op, Op::Stop(_));
        match stmt.op {
            Op::If { cond, then, otherwise } => {
                let ((then, a), (otherwise, b)) = deep(|| {
                    let mark = self.facts.mark();
                    self.facts.assume_truth(&cond, true);
                    let then = self.block(then);
                    self.facts.reset(&mark);
                    self.facts.assume_truth(&cond, false);
                    let otherwise = self.block(otherwise);
                    self.facts.reset(&mark);
                    (then, otherwise)
                });
                ends |= a && b;
                if let (&[v], [x], [y]) =
                    (&stmt.results[..], &then.results[..], &otherwise.results[..])
                {
                    self.chosen(v, &cond, x, y);
                    // `cond and x`
                    if *y == Atom::Bool(false) {
                        self.facts.set_says(v, Says::And(cond.clone(), x.clone()));
                    }
                }
                // Behind a branch that stops, the other one was taken.
                if a != b {
                    self.facts.assume_truth(&cond, b);
                    for (v, atom) in
                        stmt.results.iter().zip(if a { &otherwise } else { &then }.results.iter())
                    {
                        if self.is_int(*v) {
                            let form = self.facts.form(atom);
                            self.facts.set_form(*v, form);
                        }
                    }
                }
                stmt.op = Op::If { cond, then, otherwise };
            }
            Op::Switch { on, arms, default } => {
                let mut all = true;
                let form = self.facts.form(&on);
                let (arms, default) = deep(|| {
                    let arms: Vec<(i64, Block)> = arms
                        .into_iter()
                        .map(|(value, arm)| {
                            let mark = self.facts.mark();
                            let is = Linear::constant(value);
                            self.facts.assume_at_most(&form, &is, 0);
                            self.facts.assume_at_most(&is, &form, 0);
                            let (arm, ends) = self.block(arm);
                            self.facts.reset(&mark);
                            all &= ends;
                            (value, arm)
                        })
                        .collect();
                    let default = default.map(|block| {
                        let (block, ends) = self.scope(block);
                        all &= ends;
                        block
                    });
                    (arms, default)
                });
                ends |= all;
                stmt.op = Op::Switch { on, arms, default };
            }
            Op::For { count, index, carried, body } => {
                let mark = self.facts.mark();
                self.index(index, &count);
                self.induction(&carried, &body, Some(index));
                let body = deep(|| self.block(body).0);
                self.facts.reset(&mark);
                stmt.op = Op::For { count, index, carried, body };
            }
            Op::While { carried, cond, body } => {
                let mark = self.facts.mark();
                self.induction(&carried, &body, None);
                let (cond, body) = deep(|| {
                    // What the condition checks and says holds in the body.
                    let cond = self.block(cond).0;
                    if let [holds] = &cond.results[..] {
                        self.facts.assume_truth(holds, true);
                    }
                    (cond, self.block(body).0)
                });
                self.facts.reset(&mark);
                stmt.op = Op::While { carried, cond, body };
            }
            Op::Build { count, index, body } => {
                // There is a check that the count is not negative, or a proof.
                self.facts.assume(&self.facts.form(&count));
                let mark = self.facts.mark();
                self.index(index, &count);
                let body = deep(|| self.block(body).0);
                self.facts.reset(&mark);
                stmt.op = Op::Build { count, index, body };
            }
            Op::Reduce { how, count, index, body } => {
                let mark = self.facts.mark();
                self.index(index, &count);
                let body = deep(|| self.block(body).0);
                self.facts.reset(&mark);
                stmt.op = Op::Reduce { how, count, index, body };
            }
            _ => {
                let [v] = stmt.results[..] else {
                    out.push(stmt);
                    return ends;
                };
                if let Some(atom) = self.leaf(v, &mut stmt.op) {
                    self.subst[v.0 as usize] = Some(atom);
                    return ends;
                }
            }
        }
        out.push(stmt);
        ends
    }

    fn is_int(&self, v: Var) -> bool {
        self.vars[v.0 as usize].ty == FlatTy::Int
    }

    /// Within a loop, the index is in its range.
    fn index(&mut self, index: Var, count: &Atom) {
        let (index, count) = (Linear::var(index), self.facts.form(count));
        self.facts.assume(&index);
        self.facts.assume_at_most(&index, &count, -1);
        self.facts.assume_at_most(&Linear::constant(1), &count, 0);
        self.facts.decide_choices(&count);
        self.rows_are_there();
    }

    /// In a loop over the rows of arrays, the sizes of rows are determined, and so is what is chosen by them.
    fn rows_are_there(&mut self) {
        let mut found = false;
        for open in self.open.clone() {
            match open {
                OpenSize::Rows { size, array, dim } => {
                    let form = Linear::var(size);
                    if !self.facts.prove(&form) && self.has_rows(array, dim) {
                        self.facts.assume(&form);
                        found = true;
                    }
                }
                OpenSize::Choice(v) if found => self.facts.decide_choice(v),
                OpenSize::Choice(_) => {}
            }
        }
    }

    fn note_open(&mut self, open: OpenSize) {
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(open);
    }

    /// Whether no size of an array before a dimension is 0.
    fn has_rows(&mut self, array: Var, dim: u8) -> bool {
        (0..dim).all(|j| {
            self.size(array, j).is_some_and(|size| {
                let form = self.facts.form(&size);
                self.facts.at_least(&form, 1)
            })
        })
    }

    /// What carried Ints are, or at least or at most, if each step adds a constant.
    fn induction(&mut self, carried: &[Carried], body: &Block, index: Option<Var>) {
        let stepping: HashMap<Var, i64> = body
            .stmts
            .iter()
            .filter_map(|stmt| {
                let (Op::Int(op, xs) | Op::IntFits(op, xs), [v]) = (&stmt.op, &stmt.results[..])
                else {
                    return None;
                };
                let (param, step) = match (op, &xs[..]) {
                    (IntOp::Add, [Atom::Var(p), Atom::Int(n)] | [Atom::Int(n), Atom::Var(p)]) => {
                        (p, *n)
                    }
                    (IntOp::Sub, [Atom::Var(p), Atom::Int(n)]) => (p, n.checked_neg()?),
                    (_, _) => return None,
                };
                let i = carried.iter().position(|c| c.param == *param)?;
                (body.results.get(i) == Some(&Atom::Var(*v))).then_some((*param, step))
            })
            .collect();
        for c in carried {
            let Some(step) = stepping.get(&c.param) else { continue };
            let init = self.facts.form(&c.init);
            let form = index.and_then(|i| init.plus(*step, &Linear::var(i)));
            if let Some(form) = form {
                self.facts.set_form(c.param, form);
                continue;
            }
            let param = Linear::var(c.param);
            if *step >= 0 {
                self.facts.assume_at_most(&init, &param, 0);
            } else {
                self.facts.assume_at_most(&param, &init, 0);
            }
        }
    }

    /// Whether a check certainly holds.
    fn holds(&mut self, check: &Check) -> bool {
        let form = |this: &Self, a: &Atom| this.facts.form(a);
        match check {
            Check::Index { index, length } => {
                let (index, length) = (form(self, index), form(self, length));
                self.facts.prove(&index) && self.facts.at_most(&index, &length, -1)
            }
            Check::Slice { lo, hi, length } => {
                let (lo, hi, length) = (form(self, lo), form(self, hi), form(self, length));
                self.facts.prove(&lo)
                    && self.facts.at_most(&lo, &hi, 0)
                    && self.facts.at_most(&hi, &length, 0)
            }
            // Where there is an array of as many elements, there can be another one.
            Check::Count(n) => {
                let n = form(self, n);
                self.facts.prove(&n) && self.facts.at_most(&n, &Linear::constant(MOST), 0)
            }
            Check::Size { expected, found, .. } | Check::Rows { expected, found } => {
                let (a, b) = (form(self, expected), form(self, found));
                a == b || self.facts.at_most(&a, &b, 0) && self.facts.at_most(&b, &a, 0)
            }
        }
    }

    /// What holds behind a check.
    fn passed(&mut self, check: &Check) {
        let form = |this: &Self, a: &Atom| this.facts.form(a);
        match check {
            Check::Index { index, length } => {
                let (index, length) = (form(self, index), form(self, length));
                self.facts.assume(&index);
                self.facts.assume_at_most(&index, &length, -1);
                self.facts.assume_at_most(&Linear::constant(1), &length, 0);
            }
            Check::Slice { lo, hi, length } => {
                let (lo, hi, length) = (form(self, lo), form(self, hi), form(self, length));
                self.facts.assume(&lo);
                self.facts.assume_at_most(&lo, &hi, 0);
                self.facts.assume_at_most(&hi, &length, 0);
            }
            Check::Count(n) => {
                let n = form(self, n);
                self.facts.assume(&n);
                self.facts.assume_at_most(&n, &Linear::constant(MOST), 0);
            }
            Check::Size { expected, found, .. } => {
                let (a, b) = (form(self, expected), form(self, found));
                self.facts.equate(&a, &b);
            }
            // -1 fits everything.
            Check::Rows { .. } => {}
        }
    }

    /// Notes what the result of an operation is; gives an atom that it equals, or makes the operation unchecked.
    fn leaf(&mut self, v: Var, op: &mut Op) -> Option<Atom> {
        match op {
            Op::Int(int, xs) | Op::IntFits(int, xs) => {
                let (int, xs) = (*int, xs.clone());
                let checked = matches!(op, Op::Int(..));
                let fits = self.int(v, int, &xs);
                if let Some(simple) = fits.then(|| self.by_bits(int, &xs)).flatten() {
                    *op = simple;
                } else if checked && fits {
                    *op = Op::IntFits(int, xs);
                }
            }
            Op::Compare(comparison, Scalar::Int, a, b) => {
                if let Some(value) = self.facts.decide(*comparison, a, b) {
                    return Some(Atom::Bool(value));
                }
                self.facts.set_says(v, Says::Compare(*comparison, a.clone(), b.clone()));
            }
            Op::Compare(comparison, Scalar::Real, a, b) => {
                self.facts.set_says(v, Says::Reals(*comparison, a.clone(), b.clone()));
            }
            Op::Round(rounding, x) if self.facts.real_interval(x).is_some_and(reals::has_int) => {
                *op = Op::RoundFits(*rounding, x.clone());
            }
            Op::ToReal(_) | Op::Real(..) => {
                if let Op::Real(RealOp::Abs, xs) = op {
                    self.facts.set_absolute(v, var(&xs[0]));
                }
                if let Some(interval) = self.facts.result_interval(op) {
                    self.facts.narrow(v, interval);
                }
            }
            Op::Not(a) => self.facts.set_says(v, Says::Not(a.clone())),
            Op::And(a, b) => self.facts.set_says(v, Says::And(a.clone(), b.clone())),
            Op::Or(a, b) => self.facts.set_says(v, Says::Or(a.clone(), b.clone())),
            Op::Select(c, a, b) => {
                let (c, a, b) = (c.clone(), a.clone(), b.clone());
                self.chosen(v, &c, &a, &b);
            }
            Op::Dim(Atom::Var(array), k) => return self.dim(v, *array, *k),
            Op::Tag(Atom::Var(object)) => {
                if let FlatTy::Box(id) = self.vars[object.0 as usize].ty {
                    let most = self.variants[id.0 as usize] as i64 - 1;
                    self.between(v, 0, most);
                }
            }
            Op::StackLen(_) => self.between(v, 0, MOST),
            // An element is there only where no size before is 0.
            Op::Get(Atom::Var(array), indices) => {
                for k in 0..indices.len() {
                    if let Some(dim) = self.size(*array, k as u8) {
                        let form = self.facts.form(&dim);
                        self.facts.assume_at_most(&Linear::constant(1), &form, 0);
                    }
                }
            }
            _ => {}
        }
        None
    }

    fn between(&mut self, v: Var, least: i64, most: i64) {
        let form = self.facts.form(&Atom::Var(v));
        self.facts.assume_at_most(&Linear::constant(least), &form, 0);
        self.facts.assume_at_most(&form, &Linear::constant(most), 0);
    }

    /// An Int that is one of two.
    fn chosen(&mut self, v: Var, cond: &Atom, a: &Atom, b: &Atom) {
        if self.is_int(v) {
            self.facts.set_choice(v, var(cond), a.clone(), b.clone());
            self.note_open(OpenSize::Choice(v));
            let (x, y) = (self.facts.form(a), self.facts.form(b));
            if self.facts.prove(&x) && self.facts.prove(&y) {
                self.facts.assume(&Linear::var(v));
            }
        }
    }

    /// The size of an array, if it is known or some variable is it.
    fn size(&self, array: Var, k: u8) -> Option<Atom> {
        match self.shapes.extent(array, k)?.size {
            Size::Is(atom) => Some(self.resolve(&atom)),
            Size::Of(w, j) => self.dims.get(&(w, j)).map(|v| Atom::Var(*v)),
        }
    }

    fn dim(&mut self, v: Var, array: Var, k: u8) -> Option<Atom> {
        let Some(SizeExtent { size, always }) = self.shapes.extent(array, k) else {
            self.between(v, if k == 0 { 0 } else { -1 }, MOST);
            return None;
        };
        // Where there are rows, their size is determined.
        let rows = self.has_rows(array, k);
        match size {
            Size::Is(atom) if always || rows => Some(self.resolve(&atom)),
            size => {
                self.between(v, if rows { 0 } else { -1 }, MOST);
                if !rows {
                    self.note_open(OpenSize::Rows { size: v, array, dim: k });
                }
                if let (Size::Of(w, j), true) = (size, always || rows) {
                    self.dims.entry((w, j)).or_insert(v);
                }
                None
            }
        }
    }

    /// Notes what an Int operation gives, and whether it certainly does not fail.
    fn int(&mut self, v: Var, op: IntOp, xs: &[Atom]) -> bool {
        let forms: Vec<Linear> = xs.iter().map(|x| self.facts.form(x)).collect();
        let result = Linear::var(v);
        match (op, &forms[..]) {
            (IntOp::Add, [a, b]) => self.exact(v, a.plus(1, b)),
            (IntOp::Sub, [a, b]) => self.exact(v, a.plus(-1, b)),
            (IntOp::Mul, [a, b]) => self.exact(v, a.product(b)),
            (IntOp::Neg, [a]) => self.exact(v, a.times(-1)),
            (IntOp::Abs, [a]) => {
                let fits = self.facts.at_least(a, i64::MIN + 1);
                self.facts.assume(&result);
                if self.facts.prove(a) {
                    self.facts.set_form(v, a.clone());
                }
                fits
            }
            (IntOp::Div, [a, b]) => {
                if self.facts.prove(a) && self.facts.at_least(b, 1) {
                    self.facts.assume(&result);
                    self.facts.assume_at_most(&result, a, 0);
                    return true;
                }
                false
            }
            (IntOp::Rem, [a, b]) => {
                let positive = self.facts.at_least(b, 1);
                if positive {
                    self.facts.assume_at_most(&result, b, -1);
                    if self.facts.prove(a) {
                        self.facts.assume(&result);
                        self.facts.assume_at_most(&result, a, 0);
                    } else if let Some(least) = b.times(-1) {
                        self.facts.assume_at_most(&least, &result, -1);
                    }
                }
                positive
            }
            (IntOp::Min, [a, b]) => {
                self.facts.assume_at_most(&result, a, 0);
                self.facts.assume_at_most(&result, b, 0);
                self.facts.set_choice(v, None, xs[0].clone(), xs[1].clone());
                false
            }
            (IntOp::Max, [a, b]) => {
                self.facts.assume_at_most(a, &result, 0);
                self.facts.assume_at_most(b, &result, 0);
                self.facts.set_choice(v, None, xs[0].clone(), xs[1].clone());
                false
            }
            (IntOp::BitAnd, [a, b]) => {
                for x in [a, b] {
                    if self.facts.prove(x) {
                        self.facts.assume(&result);
                        self.facts.assume_at_most(&result, x, 0);
                    }
                }
                false
            }
            (IntOp::ShiftLeft | IntOp::ShiftRight, [a, b]) => {
                if op == IntOp::ShiftRight && self.facts.prove(a) {
                    self.facts.assume(&result);
                    self.facts.assume_at_most(&result, a, 0);
                }
                self.facts.prove(b) && self.facts.at_most(b, &Linear::constant(63), 0)
            }
            (IntOp::Sign, _) => {
                self.between(v, -1, 1);
                false
            }
            (_, _) => false,
        }
    }

    /// A quotient or remainder by a power of two, of a number that is not negative, by its bits.
    fn by_bits(&mut self, op: IntOp, xs: &[Atom]) -> Option<Op> {
        let [x, Atom::Int(n @ 1..)] = xs else { return None };
        let form = self.facts.form(x);
        if n.count_ones() != 1 || !self.facts.prove(&form) {
            return None;
        }
        let (op, by) = match op {
            IntOp::Div => (IntOp::ShiftRight, i64::from(n.trailing_zeros())),
            IntOp::Rem => (IntOp::BitAnd, n - 1),
            _ => return None,
        };
        Some(Op::IntFits(op, vec![x.clone(), Atom::Int(by)]))
    }

    /// Where an operation does not fail, its result is that of integers.
    fn exact(&mut self, v: Var, form: Option<Linear>) -> bool {
        let Some(form) = form else { return false };
        let fits = self.facts.fits(&form);
        self.facts.set_form(v, form);
        fits
    }
}
