//! Branches and loops: where several symbolic values meet and become one.

use super::shape::Shape;
use super::sym::Sym;
use super::Lower;
use diffeo_array::ir::{Atom, Block, Carried, Check, FlatTy, Op, SiteId};
use diffeo_calculus::term::{Binder, Build, Case, Control, Loop, Term};

/// How often a loop is lowered again because what was known of its state did not stay so; after that nothing
/// is taken to be known.
const MOST_TRIES: usize = 3;

impl<'p> Lower<'p> {
    /// Closes blocks with values of one shape.
    fn merge(&mut self, arms: Vec<(Block, Sym)>, at: SiteId) -> (Vec<Block>, Shape) {
        let mut shape = Shape::Never;
        for (_, value) in &arms {
            let other = self.shape_of(value);
            shape = self.meet(&shape, &other);
        }
        let blocks = arms
            .into_iter()
            .map(|(block, value)| {
                self.f.builder.reopen(block);
                let atoms = self.store(&value, &shape, at);
                self.f.builder.close(atoms)
            })
            .collect();
        (blocks, shape)
    }

    fn arm(&mut self, lower: impl FnOnce(&mut Self) -> Sym) -> (Block, Sym) {
        self.f.builder.open();
        let value = lower(self);
        (self.f.builder.close(Vec::new()), value)
    }

    pub(super) fn if_(
        &mut self,
        condition: &'p Term,
        yes: &'p Term,
        no: &'p Term,
        at: SiteId,
    ) -> Sym {
        let Some(cond) = self.scalar(condition) else { return Sym::Never };
        match cond {
            Atom::Bool(true) => return self.term(yes),
            Atom::Bool(false) => return self.term(no),
            Atom::Var(_) | Atom::Real(_) | Atom::Int(_) | Atom::Unused(_) => {}
        }
        let arms = vec![self.arm(|cx| cx.term(yes)), self.arm(|cx| cx.term(no))];
        let (mut blocks, shape) = self.merge(arms, at);
        let otherwise = blocks.pop().unwrap_or_default();
        let then = blocks.pop().unwrap_or_default();
        let atoms = self.ops(at, Op::If { cond, then, otherwise });
        self.load(&shape, &mut atoms.into_iter())
    }

    pub(super) fn case(&mut self, case: &'p Case, at: SiteId) -> Sym {
        let variant = self.term(&case.scrutinee);
        if variant.is_never() {
            return Sym::Never;
        }
        let on = match self.tag(&variant, at) {
            Ok(tag) => match case.arms.iter().find(|arm| arm.tag == tag) {
                Some(arm) => {
                    self.bind_fields(&variant, tag, &arm.binders, at);
                    return self.term(&arm.body);
                }
                None => {
                    return case.default.as_ref().map_or(Sym::Never, |default| self.term(default))
                }
            },
            Err(on) => on,
        };
        if let ([], Some(default)) = (case.arms.as_slice(), &case.default) {
            return self.term(default);
        }
        let mut arms = Vec::new();
        for arm in &case.arms {
            arms.push(self.arm(|cx| {
                cx.bind_fields(&variant, arm.tag, &arm.binders, at);
                cx.term(&arm.body)
            }));
        }
        let tags: Vec<i64> = case.arms.iter().map(|arm| i64::from(arm.tag)).collect();
        let covered = tags.len() as u32 == self.constructors(&variant);
        let default = case.default.as_ref().filter(|_| !covered);
        if let Some(default) = default {
            arms.push(self.arm(|cx| cx.term(default)));
        }
        let (mut blocks, shape) = self.merge(arms, at);
        let default = default.and_then(|_| blocks.pop());
        let arms = tags.into_iter().zip(blocks).collect();
        let atoms = self.ops(at, Op::Switch { on, arms, default });
        self.load(&shape, &mut atoms.into_iter())
    }

    fn bind_fields(&mut self, variant: &Sym, tag: u32, binders: &'p [Binder], at: SiteId) {
        if binders.iter().all(|binder| !self.uses.contains_key(&binder.var.id)) {
            return;
        }
        let fields = self.fields(variant, tag, at);
        for (binder, value) in binders.iter().zip(fields) {
            self.bind(binder, value);
        }
    }

    // Loops

    /// New variables for a value of a shape, with the first values.
    fn carry(&mut self, shape: &Shape, init: Vec<Atom>) -> (Vec<Carried>, Sym) {
        let carried: Vec<Carried> = self
            .types(shape)
            .into_iter()
            .zip(init)
            .map(|(ty, init)| Carried { param: self.f.builder.var(ty, None), init })
            .collect();
        let state = self.load(shape, &mut carried.iter().map(|c| Atom::Var(c.param)));
        (carried, state)
    }

    pub(super) fn loop_(&mut self, l: &'p Loop, at: SiteId) -> Sym {
        let init = self.term(&l.init);
        if init.is_never() {
            return Sym::Never;
        }
        let count = match &l.control {
            Control::Count { count, .. } => match self.scalar(count) {
                Some(count) => Some(count),
                None => return Sym::Never,
            },
            Control::While(_) => None,
        };
        let plain = self.plain(&l.state.ty);
        let known = self.shape_of(&init);
        let mut shape = self.knowledge(&known, &plain);
        for attempt in 0.. {
            if attempt == MOST_TRIES {
                shape = plain.clone();
            }
            let first = self.store(&init, &shape, at);
            let (carried, state) = self.carry(&shape, first);
            let cond = match &l.control {
                Control::While(condition) => {
                    self.f.builder.open();
                    self.bind(&l.state, state.clone());
                    let cond = self.scalar(condition).unwrap_or(Atom::Bool(false));
                    Some(self.f.builder.close(vec![cond]))
                }
                Control::Count { .. } => None,
            };
            self.f.builder.open();
            self.bind(&l.state, state);
            let index = match &l.control {
                Control::Count { index, .. } => {
                    let var = self.f.builder.var(FlatTy::Int, None);
                    self.bind(index, Sym::Leaf(Atom::Var(var)));
                    Some(var)
                }
                Control::While(_) => None,
            };
            let next = self.term(&l.body);
            let known = self.shape_of(&next);
            let known = self.knowledge(&known, &plain);
            let meet = if next.is_never() { shape.clone() } else { self.meet(&shape, &known) };
            if meet != shape && attempt < MOST_TRIES {
                self.f.builder.close(Vec::new());
                shape = meet;
                continue;
            }
            let results = self.store(&next, &shape, at);
            let body = self.f.builder.close(results);
            let op = match (count.clone(), index, cond) {
                (Some(count), Some(index), _) => Op::For { count, index, carried, body },
                (_, _, Some(cond)) => Op::While { carried, cond, body },
                (_, _, None) => break,
            };
            let atoms = self.ops(at, op);
            return self.load(&shape, &mut atoms.into_iter());
        }
        Sym::Never
    }

    /// The count of a comprehension, checked.
    pub(super) fn count(&mut self, build: &'p Build, at: SiteId) -> Option<Atom> {
        let count = self.scalar(&build.count)?;
        if !matches!(count, Atom::Int(0..=0xffff)) {
            self.ops(at, Op::Check(Check::Count(count.clone())));
        }
        Some(count)
    }

    pub(super) fn build(&mut self, build: &'p Build, at: SiteId) -> Sym {
        let Some(count) = self.count(build, at) else { return Sym::Never };
        let shape = self.plain(&build.element);
        let index = self.f.builder.var(FlatTy::Int, None);
        self.f.builder.open();
        self.bind(&build.index, Sym::Leaf(Atom::Var(index)));
        let value = self.term(&build.body);
        // Rows that differ in length are found when an element is there.
        let end = self.site(build.body.span);
        let results = self.element(&value, &shape, end);
        let body = self.f.builder.close(results);
        let arrays = self.ops(end, Op::Build { count, index, body });
        Sym::Array(arrays.into())
    }
}
