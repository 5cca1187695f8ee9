//! Statements without regions: their forward and backward parts.
//!
//! The adjoint of an accumulator, that is of its contents at a point of the program, is an accumulator of the same
//! sizes. It may be added to at any time, so every operation on an accumulator that varies has a backward part.

use super::{unsupported, Reverser};
use crate::ad::{activity, slopes, Unsupported};
use crate::ir::ops::{self, Group};
use crate::ir::walk::{operands, regions, statements};
use crate::ir::{Atom, FlatTy, Op, Stmt, Var};
use diffeo_calculus::prim::real::{row, DerivativeRule, Partial};
use diffeo_calculus::prim::{IntOp, RealOp};

impl<'s> Reverser<'_, 's> {
    /// Adds the backward part of a statement; gives what it is in the forward part.
    pub fn statement(&mut self, stmt: &'s Stmt) -> Result<Vec<Stmt>, Unsupported> {
        let same = Ok(vec![stmt.clone()]);
        let varies = stmt.results.iter().any(|v| self.varies(&Atom::Var(*v)));
        if let Op::Call(callee, args) = &stmt.op {
            if !self.acts(stmt) && (!varies || !self.is_wanted(&stmt.results)) {
                let by_rule = self.call_value(stmt, *callee, args)?;
                return Ok(by_rule.unwrap_or_else(|| vec![stmt.clone()]));
            }
            return self.call(stmt, *callee, args);
        }
        if self.acts(stmt) {
            self.accumulate(stmt);
            return same;
        }
        let Some(result) = stmt.results.first().copied().filter(|_| varies) else {
            return same;
        };
        if !self.is_wanted(&stmt.results) {
            return same;
        }
        match &stmt.op {
            Op::Real(..) | Op::PowInt(..) => {
                if let Some(bar) = self.take_bar(result) {
                    self.real(&stmt.op, result, bar);
                }
            }
            Op::Select(cond, then, otherwise) => {
                if let Some(bar) = self.take_bar(result) {
                    let cond = self.primal(cond);
                    let zero = Atom::Real(0.0);
                    if self.varies(then) {
                        let part = Op::Select(cond.clone(), bar.clone(), zero.clone());
                        let part = self.one(part);
                        self.add_bar(then, part);
                    }
                    if self.varies(otherwise) {
                        let part = self.one(Op::Select(cond, zero, bar));
                        self.add_bar(otherwise, part);
                    }
                }
            }
            Op::Get(Atom::Var(array), _)
            | Op::Slice { array: Atom::Var(array), .. }
            | Op::Reshape(Atom::Var(array), _)
            | Op::Update { array: Atom::Var(array), .. }
            | Op::Append(Atom::Var(array), _)
                if self.has_bar(*array) =>
            {
                self.of_bag(&stmt.op, result, *array);
            }
            Op::Elements(_, parts) | Op::Rows(parts) if self.has_bar(result) => {
                self.made_of_parts(result, parts);
            }
            Op::Get(Atom::Var(array), indices) => {
                if let Some(bar) = self.take_bar(result) {
                    let indices = self.primals(indices);
                    let acc = self.acc(*array);
                    self.effect(Op::AccAdd(acc, indices, bar));
                    self.touch(*array);
                }
            }
            // Its accumulator is a view, or is made where it is first needed.
            Op::Get(..) | Op::Slice { .. } | Op::Reshape(..) | Op::AccNew(_) => {}
            Op::Update { array, indices, value } => self.update(result, array, indices, value),
            Op::Elements(_, elements) => {
                let acc = self.acc(result);
                for (i, element) in elements.iter().enumerate() {
                    if self.varies(element) {
                        let bar = self.read(Op::AccRead(acc.clone(), vec![Atom::Int(i as i64)]));
                        self.add_bar(element, bar);
                    }
                }
            }
            Op::Rows(rows) => {
                let acc = self.acc(result);
                for (i, row) in rows.iter().enumerate() {
                    if self.varies(row) {
                        let at = vec![Atom::Int(i as i64)];
                        let part = self.one(Op::AccView(acc.clone(), at));
                        self.add_all(row, part);
                    }
                }
            }
            Op::New(id, tag, fields) => {
                self.new_box(result, (*id, *tag), fields);
            }
            Op::Field { object, tag, index } => {
                if let Some(bar) = self.take_bar(result) {
                    self.read_field(object, (*tag, *index), bar);
                }
            }
            Op::Append(first, second) => self.append(result, first, second),
            op => return unsupported(format!("reverse mode of {}", name(op))),
        }
        same
    }

    /// Whether a statement does something with an accumulator that varies.
    pub fn acts(&self, stmt: &Stmt) -> bool {
        let mut acts = false;
        if self.accumulates {
            within(stmt, &mut |stmt| {
                operands(&stmt.op, |atom| {
                    if let Atom::Var(v) = atom {
                        let accumulator = matches!(self.vars[v.0 as usize].ty, FlatTy::Acc(_));
                        acts |= accumulator && self.varies(atom);
                    }
                });
            });
        }
        acts
    }

    /// Whether a rule has a say in the values that a statement with regions gives.
    pub fn is_ruled(&mut self, stmt: &Stmt) -> bool {
        let mut ruled = false;
        if self.activity.ruled {
            let (module, cache, varied) = (&*self.module, &mut *self.cache, &self.activity);
            within(stmt, &mut |stmt| {
                let Op::Call(callee, args) = &stmt.op else { return };
                let active: Vec<bool> = args.iter().map(|arg| varied.varies(arg)).collect();
                ruled |= active.contains(&true)
                    && !cache.detached.contains(callee)
                    && (cache.rule(module, *callee, &active).is_some()
                        || activity(module, cache, *callee, &active).ruled);
            });
        }
        ruled
    }

    /// The backward part of an operation on an accumulator that varies, which is linear in what is in it.
    fn accumulate(&mut self, stmt: &Stmt) {
        let result = stmt.results.first().copied();
        match (&stmt.op, result) {
            (Op::AccAdd(Atom::Var(acc), indices, value), _) => {
                if self.varies(value) {
                    let (acc, indices) = (self.acc(*acc), self.primals(indices));
                    let bar = self.read(Op::AccRead(acc, indices));
                    self.add_bar(value, bar);
                }
            }
            (Op::AccAddArray(Atom::Var(acc), array), _) => {
                if self.varies(array) {
                    let acc = self.acc(*acc);
                    self.add_all(array, acc);
                }
            }
            (Op::AccRead(Atom::Var(acc), indices), Some(result)) => {
                if let Some(bar) = self.take_bar(result) {
                    let (acc, indices) = (self.acc(*acc), self.primals(indices));
                    self.effect(Op::AccAdd(acc, indices, bar));
                }
            }
            (Op::AccTake(Atom::Var(acc), indices), Some(result)) => {
                // What is there afterwards is 0, whatever was there before.
                let (acc, indices) = (self.acc(*acc), self.primals(indices));
                self.read(Op::AccTake(acc.clone(), indices.clone()));
                if let Some(bar) = self.take_bar(result) {
                    self.effect(Op::AccAdd(acc, indices, bar));
                }
            }
            (Op::AccGet(Atom::Var(acc)), Some(result)) => {
                let acc = self.acc(*acc);
                if let Some(bar) = self.take_bar(result) {
                    self.effect(Op::AccAdd(acc, Vec::new(), bar));
                } else if self.is_touched(result) {
                    let bar = self.acc(result);
                    let bar = self.read(Op::AccGet(bar));
                    self.effect(Op::AccAddArray(acc, bar));
                }
            }
            // Views have views.
            (_, _) => {}
        }
    }

    /// Adds an operation that reads an accumulator.
    pub fn read(&mut self, op: Op) -> Atom {
        self.top().effects = true;
        self.one(op)
    }

    fn real(&mut self, op: &Op, result: Var, bar: Atom) {
        let args: Vec<&Atom> = match op {
            Op::Real(_, args) => args.iter().collect(),
            Op::PowInt(x, n) => vec![x, n],
            _ => return,
        };
        let wanted: Vec<bool> = args.iter().map(|arg| self.varies(arg)).collect();
        let needed = needed(op, &wanted);
        let depth = self.scopes.len() - 1;
        let mut operands = Vec::with_capacity(args.len());
        for (i, arg) in args.iter().enumerate() {
            let needs = needed[i] || !matches!(arg, Atom::Var(_));
            operands.push(if needs {
                self.primal_at(arg, depth)
            } else {
                Atom::Unused(FlatTy::Real)
            });
        }
        let value = if needed[2] {
            self.primal_at(&Atom::Var(result), depth)
        } else {
            Atom::Unused(FlatTy::Real)
        };
        let mapped = match op {
            Op::Real(op, _) => Op::Real(*op, operands),
            _ => Op::PowInt(operands[0].clone(), operands[1].clone()),
        };
        let slopes = slopes(&mut self.back, self.module, &mapped, &value, &wanted);
        for (arg, slope) in args.into_iter().zip(slopes) {
            if let Some(part) = slope.times(&mut self.back, self.module, bar.clone()) {
                self.add_bar(arg, part);
            }
        }
    }

    fn update(&mut self, result: Var, array: &Atom, indices: &[Atom], value: &Atom) {
        let acc = self.acc(result);
        let indices = self.primals(indices);
        let FlatTy::Array(_, rank) = self.vars[result.0 as usize].ty else { return };
        // What was there before has no influence: its adjoint is 0 from here on.
        if usize::from(rank) == indices.len() {
            let bar = self.read(Op::AccTake(acc, indices));
            self.add_bar(value, bar);
        } else {
            let row = self.read(Op::AccView(acc, indices.clone()));
            let mut count = Atom::Int(1);
            let mut sizes = Vec::new();
            for dim in indices.len() as u8..rank {
                let size = self.size(self.plan.root(result), dim);
                count = self.one(Op::IntFits(IntOp::Mul, vec![count, size.clone()]));
                sizes.push(size);
            }
            let flat = self.one(Op::AccReshape(row, vec![count.clone()]));
            let index = self.back.var(FlatTy::Int, Some("i".into()));
            self.back.open();
            let taken = self.read(Op::AccTake(flat, vec![Atom::Var(index)]));
            let body = self.back.close(vec![taken]);
            let taken = self.one(Op::Build { count, index, body });
            let taken = self.one(Op::Reshape(taken, sizes));
            self.add_array(value, taken);
        }
        if self.plan.is_apart(result) {
            let acc = self.acc(result);
            self.add_all(array, acc);
        }
    }

    fn append(&mut self, result: Var, first: &Atom, second: &Atom) {
        let acc = self.acc(result);
        let middle = match first {
            Atom::Var(first) => self.size(*first, 0),
            _ => Atom::Int(0),
        };
        if self.varies(second) {
            let hi = self.size(result, 0);
            let part = Op::AccSlice { acc: acc.clone(), lo: middle.clone(), hi };
            let part = self.one(part);
            self.add_all(second, part);
        }
        if self.plan.is_apart(result) && self.varies(first) {
            let part = self.one(Op::AccSlice { acc, lo: Atom::Int(0), hi: middle });
            self.add_all(first, part);
        }
    }
}

/// Whether the wanted slopes of an operation need its first operand, its second, and its result.
fn needed(op: &Op, wanted: &[bool]) -> [bool; 3] {
    let mut needs = [false; 3];
    match op {
        Op::Real(op, _) => match row(*op).derivative {
            DerivativeRule::Select => needs = [true, true, false],
            DerivativeRule::Partials(partials) => {
                for (partial, _) in partials.iter().zip(wanted).filter(|(_, wanted)| **wanted) {
                    term(partial, &mut needs);
                }
            }
        },
        _ => needs = [true, true, false],
    }
    needs
}

fn term(partial: &Partial, needs: &mut [bool; 3]) {
    match partial {
        Partial::A | Partial::NextPolygamma => needs[0] = true,
        Partial::B => needs[1] = true,
        Partial::Y => needs[2] = true,
        Partial::Num(_) => {}
        Partial::Un(_, a) => term(a, needs),
        Partial::Bin(_, a, b) => {
            term(a, needs);
            term(b, needs);
        }
        Partial::TruncatedQuotient => *needs = [true; 3],
        Partial::ZeroWhere(_, a) => {
            needs[0] = true;
            needs[1] = true;
            term(a, needs);
        }
    }
}

/// Goes over a statement and all within it.
fn within<'a>(stmt: &'a Stmt, see: &mut dyn FnMut(&'a Stmt)) {
    see(stmt);
    regions(&stmt.op, |region| statements(region, see));
}

/// The name of an operation in messages.
fn name(op: &Op) -> &'static str {
    match (ops::row(op).group, op) {
        (Group::Accumulator, _) => "accumulators",
        (Group::Stack, _) => "stacks",
        (_, Op::Real(RealOp::Sign, _)) => "signs",
        _ => "an operation",
    }
}
