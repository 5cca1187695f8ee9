//! Translation of blocks: which statement takes over a reference, and where references are released.

use super::borrows::Holder;
use super::function::Lower;
use super::scan::BlockNumber;
use super::uses::{regions, uses, var, Use};
use crate::low::Operand;
use diffeo_array::ir::ops::row;
use diffeo_array::ir::{Atom, Block, Op, Stmt, Var};
use diffeo_base::deep;
use hashbrown::HashMap;

/// The outcome of a translated block: the words of its results, and the variables to release after the results have
/// been read.
pub(super) struct Left {
    /// The results.
    pub results: Vec<Operand>,
    /// Of each result that was kept, whether nothing else refers to its block.
    pub unshared: Vec<bool>,
    /// Variables to release.
    pub pending: Vec<Var>,
}

/// How an operand is passed to an operation.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Given {
    /// With a reference that is not needed any more, so that the operation may take it over.
    pub own: bool,
    /// Whether that reference is the only one.
    pub only: bool,
}

impl<'a> Lower<'_, 'a> {
    /// Translates a block whose results are used as `how` says; `None` if its end is not reached. It moves or releases
    /// the references of `owned`; the caller releases those that are pending in the end.
    pub fn block(
        &mut self,
        block: &'a Block,
        owned: Vec<Var>,
        how: impl Fn(&Self, usize) -> Use,
    ) -> Option<Left> {
        let number = self.scan.number(block);
        let mut dying: HashMap<usize, Vec<Var>> = HashMap::new();
        for v in owned {
            self.schedule(number, v, &mut dying);
        }
        for (i, stmt) in block.stmts.iter().enumerate() {
            self.site = stmt.site;
            let here = dying.remove(&i).unwrap_or_default();
            if !deep(|| self.stmt(stmt, here)) {
                return None;
            }
            for v in &stmt.results {
                if self.owners.owns(*v) && !self.placed.contains_key(v) {
                    self.schedule(number, *v, &mut dying);
                }
            }
        }
        let mut here = dying.remove(&block.stmts.len()).unwrap_or_default();
        let kept: Vec<(&Atom, Use)> =
            block.results.iter().enumerate().map(|(i, atom)| (atom, how(self, i))).collect();
        let moved = self.hand_over(&kept, &[], &mut here);
        let only = |(moved, atom): (bool, &Atom)| moved && self.is_unshared(atom);
        let unshared = moved.into_iter().zip(&block.results).map(only).collect();
        Some(Left { results: self.all_words(&block.results), unshared, pending: here })
    }

    /// Notes where the reference of a variable is given up; gives it up now if nothing uses it.
    fn schedule(&mut self, block: BlockNumber, v: Var, dying: &mut HashMap<usize, Vec<Var>>) {
        match self.owners.last(block, v) {
            Some(at) => dying.entry(at).or_default().push(v),
            None => self.release_all(vec![v]),
        }
    }

    /// Releases the references of variables.
    pub fn release_all(&mut self, vars: Vec<Var>) {
        for v in vars {
            let block = self.word(&Atom::Var(v));
            self.release(block);
        }
    }

    /// Lets references go over to a statement: those of variables that die with it, as far as nothing else looks
    /// at them meanwhile, else additional ones. Gives for each use whether the variable's own reference goes over.
    fn hand_over(
        &mut self,
        uses: &[(&Atom, Use)],
        inside: &[Var],
        dying: &mut Vec<Var>,
    ) -> Vec<bool> {
        let mut read: Vec<Var> = inside.to_vec();
        for (atom, how) in uses {
            if let (Use::Read, Holder::Var { var, .. }) = (how, self.owners.of(atom)) {
                read.push(var);
            }
        }
        let mut moved = Vec::with_capacity(uses.len());
        for (atom, how) in uses {
            let held = match self.owners.of(atom) {
                Holder::Var { var, same: true } if !read.contains(&var) => {
                    dying.iter().position(|v| *v == var)
                }
                Holder::Var { .. } | Holder::Outside => None,
            };
            moved.push(match (how, held) {
                (Use::Keep | Use::Change, Some(i)) => {
                    dying.swap_remove(i);
                    true
                }
                (Use::Keep, None) => {
                    self.share(atom);
                    let counted = var(atom).is_some_and(|v| super::uses::is_reference(self.ty(v)));
                    if counted {
                        let block = self.word(atom);
                        self.retain(block);
                    }
                    false
                }
                (Use::Read, _) | (Use::Change, None) => false,
            });
        }
        moved
    }

    /// Whether nothing refers to the block of an array but the variable that holds it.
    pub fn is_unshared(&self, atom: &Atom) -> bool {
        match self.owners.of(atom) {
            Holder::Var { var, same: true } => self.unshared.contains(&var),
            Holder::Var { .. } | Holder::Outside => false,
        }
    }

    /// Notes that something else may refer to what a variable lives by.
    fn share(&mut self, atom: &Atom) {
        if let Holder::Var { var, .. } = self.owners.of(atom) {
            self.unshared.remove(&var);
        }
    }

    /// Translates a statement with which the references of `dying` are given away or up. False if what follows
    /// is not reached.
    fn stmt(&mut self, stmt: &'a Stmt, mut dying: Vec<Var>) -> bool {
        let Stmt { results, op, site } = stmt;
        // The branches of a choice each give them up.
        if let Op::If { cond, then, otherwise } = op {
            return self.branch(results, cond, [then, otherwise], dying);
        }
        if let Op::Switch { on, arms, default } = op {
            return self.switch(results, on, arms, default.as_ref(), dying);
        }
        let (vars, cx) = (&self.source.vars, &self.cx);
        let mut handed = Vec::new();
        uses(
            vars,
            op,
            |f, i| cx.signatures.keeps(f, i),
            |atom, how| handed.push((atom.clone(), how)),
        );
        if let Op::For { carried, .. } | Op::While { carried, .. } = op {
            // What walks only borrows what it begins with.
            for ((_, how), carried) in handed.iter_mut().zip(carried) {
                if self.scan.walks[carried.param.0 as usize] {
                    *how = Use::Read;
                }
            }
        }
        let mut inside = Vec::new();
        regions(op, |region| {
            let number = self.scan.number(region);
            inside.extend(dying.iter().filter(|v| self.owners.last(number, **v).is_some()));
        });
        let handed: Vec<(&Atom, Use)> = handed.iter().map(|(atom, how)| (atom, *how)).collect();
        let moved = self.hand_over(&handed, &inside, &mut dying);
        if let Op::Call(..) | Op::For { .. } | Op::While { .. } = op {
            // Whoever walks along something may keep parts of it.
            handed
                .iter()
                .filter(|(_, how)| *how == Use::Read)
                .for_each(|(atom, _)| self.share(atom));
        }
        let given = |(own, (atom, _)): (bool, &(&Atom, Use))| Given {
            own,
            only: own && self.is_unshared(atom),
        };
        let given: Vec<Given> = moved.into_iter().zip(&handed).map(given).collect();
        let goes_on = self.op(results, op, &given);
        self.fresh_results(results, op);
        self.site = *site;
        if goes_on {
            self.release_all(dying);
        }
        goes_on
    }

    /// Notes which results are the only reference to their blocks.
    fn fresh_results(&mut self, results: &[Var], op: &Op) {
        if row(op).fresh {
            self.unshared.extend(results);
        } else if let Op::Call(callee, _) = op {
            let unshared = &self.cx.unshared[callee.0 as usize];
            let only = results.iter().zip(unshared).filter(|(_, only)| **only);
            self.unshared.extend(only.map(|(v, _)| *v));
        }
    }

    /// Translates an operation without choice. `given` says how the operands with uses are given to it.
    fn op(&mut self, results: &[Var], op: &'a Op, given: &[Given]) -> bool {
        let first = given.first().copied().unwrap_or_default();
        let values = match op {
            Op::Real(op, args) => vec![self.real(*op, args)],
            Op::PowInt(x, n) => vec![self.pow_int(x, n)],
            Op::Int(op, args) => vec![self.int(*op, args)],
            Op::IntFits(op, args) => vec![self.int_fits(*op, args)],
            Op::Compare(comparison, scalar, a, b) => {
                vec![self.comparison(*comparison, *scalar, a, b)]
            }
            Op::Not(a) => vec![self.not(a)],
            Op::And(a, b) => vec![self.both(crate::low::Binary::And, a, b)],
            Op::Or(a, b) => vec![self.both(crate::low::Binary::Or, a, b)],
            Op::Select(c, a, b) => vec![self.choose(c, a, b)],
            Op::ToReal(a) => vec![self.real_of(a)],
            Op::Round(rounding, a) => vec![self.round(*rounding, a)],
            Op::RoundFits(rounding, a) => vec![self.round_fits(*rounding, a)],
            Op::IsNan(a) => vec![self.is_nan(a)],
            Op::Text(text) => vec![self.cx.text(text)],
            Op::AppendText(a, b) => vec![self.append_text(a, b)],
            Op::TextOp(op, args) => vec![self.text_operation(*op, args)],
            Op::Show(scalar, a) => vec![self.show(*scalar, a)],
            Op::Check(check) => {
                self.check_holds(check);
                Vec::new()
            }
            Op::Stop(stop) => {
                self.stop(stop);
                return false;
            }
            Op::Trace(label, value) => {
                self.print(crate::low::Runtime::Trace, &[label, value]);
                Vec::new()
            }
            Op::Progress(label, step, value) => {
                self.print(crate::low::Runtime::Progress, &[label, step, value]);
                Vec::new()
            }
            Op::Warn(code, message, help, place) => {
                self.print(crate::low::Runtime::Warn, &[code, message, help, place]);
                Vec::new()
            }
            Op::Dim(array, dim) => vec![self.array(array).sizes[usize::from(*dim)]],
            Op::Get(array, indices) => self.get(results, array, indices),
            Op::Slice { array, lo, hi } => self.slice(array, lo, hi),
            Op::Update { array, indices, value } => {
                self.update(results, array, indices, value, first)
            }
            Op::Elements(elem, atoms) => {
                self.place_rows(results);
                self.elements(results, *elem, atoms)
            }
            Op::Rows(rows) => self.rows(rows),
            Op::Empty(_, rank) => super::array::empty(usize::from(*rank)),
            Op::Append(a, b) => self.append(a, b, first.own),
            Op::Reshape(array, sizes) => self.reshape(array, sizes),
            Op::ArgSort(array) => self.arg_sort(array),
            Op::New(id, tag, fields) => vec![self.new_box(*id, *tag, fields)],
            Op::Tag(object) => vec![self.tag(object)],
            Op::Field { object, tag, index } => self.field(results, object, *tag, *index),
            Op::If { .. } | Op::Switch { .. } => Vec::new(),
            Op::For { count, index, carried, body } => {
                self.counted(results, count, *index, carried, body, given);
                carried.iter().flat_map(|c| self.words(&Atom::Var(c.param))).collect()
            }
            Op::While { carried, cond, body } => {
                if !self.conditional(results, carried, [cond, body], given) {
                    return false;
                }
                carried.iter().flat_map(|c| self.words(&Atom::Var(c.param))).collect()
            }
            Op::Build { .. } => {
                self.place_rows(results);
                self.build(results, op);
                return true;
            }
            Op::Reduce { how, count, index, body } => self.reduce(how, count, *index, body),
            Op::Call(callee, args) => self.call_function(*callee, args),
            Op::Constant(id) => self.constant(*id),
            Op::AccNew(sizes) => self.acc_new(sizes),
            Op::AccAdd(acc, indices, value) => {
                self.acc_add(acc, indices, value);
                Vec::new()
            }
            Op::AccAddArray(acc, array) => {
                self.acc_add_array(acc, array);
                Vec::new()
            }
            Op::AccRead(acc, indices) => vec![self.acc_read(acc, indices)],
            Op::AccTake(acc, indices) => vec![self.acc_take(acc, indices)],
            Op::AccView(acc, indices) => self.rows_at(acc, indices, 8),
            Op::AccSlice { acc, lo, hi } => self.slice_of(acc, lo, hi, 8),
            Op::AccReshape(acc, sizes) => self.reshape(acc, sizes),
            Op::AccGet(acc) => self.acc_get(acc, first),
            Op::StackNew(elems) => vec![self.stack_new(elems)],
            Op::Push(stack, atoms) => {
                self.stack_push(stack, atoms);
                Vec::new()
            }
            Op::StackLen(stack) => vec![self.stack_length(stack)],
            Op::StackGet(stack, position) => self.stack_get(results, stack, position),
        };
        self.define_all(results, values);
        true
    }

    /// Defines variables as words, one after the other.
    pub fn define_all(&mut self, results: &[Var], values: Vec<Operand>) {
        let mut values = values.into_iter();
        for v in results {
            let count = super::words(self.ty(*v)).len();
            let words = values.by_ref().take(count).collect();
            self.define(*v, words);
        }
    }
}
