//! Sets of arguments in the place of tangents: on which the numbers of a function depend.
//!
//! What comes in: a function, whose parameters that vary have a set for each Real: a whole number below 2^53, whose bits are
//! elements. What goes out: the same for its results. Forward mode with another arithmetic ([`super::forward`]): where a
//! tangent would be a sum of products, the set is the union of those of the operands, but of those by which the derivative
//! is 0 everywhere. So arrays, boxes, accumulators, loops and calls are as there.

use super::forward::{declare, Derive, ForwardKey};
use super::shadow::zero;
use super::sum::{merge, Merge};
use super::{differentiable, Rule};
use crate::build::Builder;
use crate::ir::{Atom, FlatTy, Module, Op, Scalar, Stmt};
use diffeo_calculus::prim::{Comparison, IntOp, RealOp, Rounding};

/// The union of two sets.
pub(super) fn union(b: &mut Builder, module: &Module, x: Atom, y: Atom) -> Atom {
    let none = |atom: &Atom| matches!(atom, Atom::Real(x) if *x == 0.0);
    if none(&x) || x == y {
        return y;
    }
    if none(&y) {
        return x;
    }
    let [x, y] = [x, y].map(|set| b.one(module, Op::RoundFits(Rounding::Trunc, set)));
    let both = b.one(module, Op::IntFits(IntOp::BitOr, vec![x, y]));
    b.one(module, Op::ToReal(both))
}

impl Derive<'_> {
    fn union(&mut self, x: Atom, y: Atom) -> Atom {
        union(&mut self.b, self.module, x, y)
    }

    /// The set of the result of an operation on Reals whose operands have these.
    pub(super) fn union_of_operands(&mut self, op: &Op, sets: &[Option<Vec<Atom>>]) -> Atom {
        let none = Atom::Real(0.0);
        let set = |i: usize| sets.get(i).cloned().flatten().and_then(|mut sets| sets.pop());
        let [x, y] = [0, 1].map(|i| set(i).unwrap_or(none.clone()));
        match op {
            Op::Real(RealOp::Sign, _) => none,
            // The one that is chosen, the first if it is nan.
            Op::Real(op @ (RealOp::Min | RealOp::Max), args) => {
                let order = if *op == RealOp::Min { Comparison::Le } else { Comparison::Ge };
                let (a, b) = (args[0].clone(), args[1].clone());
                let before = self.one(Op::Compare(order, Scalar::Real, a.clone(), b));
                let nan = self.one(Op::IsNan(a));
                let first = self.one(Op::Or(before, nan));
                self.one(Op::Select(first, x, y))
            }
            Op::PowInt(_, n) => {
                let constant = Op::Compare(Comparison::Eq, Scalar::Int, n.clone(), Atom::Int(0));
                let constant = self.one(constant);
                self.one(Op::Select(constant, none, x))
            }
            _ => self.union(x, y),
        }
    }

    /// Joins the sets of an accumulator with those that are added, as a sum depends on all its terms.
    pub(super) fn put_set(&mut self, op: &Op) {
        let (acc, indices, value) = match op {
            Op::AccAdd(acc, indices, value) => (acc, &indices[..], value),
            Op::AccAddArray(acc, array) => (acc, &[][..], array),
            _ => return,
        };
        let acc = self.dots(acc).pop();
        let set = self.known(value).and_then(|mut sets| sets.pop());
        if let (Some(acc), Some(set)) = (acc, set) {
            self.join(acc, indices.to_vec(), set);
        }
    }

    /// Joins a set, or those of an array, to what an accumulator has at these indices.
    fn join(&mut self, acc: Atom, indices: Vec<Atom>, set: Atom) {
        let FlatTy::Array(..) = self.b.ty(&set) else {
            let before = self.one(Op::AccTake(acc.clone(), indices.clone()));
            let all = self.union(before, set);
            self.b.emit(self.module, Op::AccAdd(acc, indices, all));
            return;
        };
        let count = self.one(Op::Dim(set.clone(), 0));
        let index = self.b.var(FlatTy::Int, None);
        self.b.open();
        let row = self.one(Op::Get(set, vec![Atom::Var(index)]));
        let all = indices.into_iter().chain([Atom::Var(index)]).collect();
        self.join(acc, all, row);
        let body = self.b.close(Vec::new());
        self.b.emit(self.module, Op::For { count, index, carried: Vec::new(), body });
    }

    /// A call of a function with a rule: its results depend on what the rule's do, which is given the sets of the point
    /// as those of a tangent.
    pub(super) fn rule_of_sets(&mut self, stmt: &Stmt, rule: &Rule, args: &[Atom]) {
        let mut all = args.to_vec();
        let mut varying: Vec<bool> = args.iter().map(|arg| self.varies(arg)).collect();
        varying[rule.point..].fill(false);
        let mut sets = Vec::new();
        for (arg, _) in args.iter().zip(&varying).filter(|(_, varies)| **varies) {
            sets.extend(self.dots(arg));
        }
        for arg in &args[rule.point..] {
            let ty = self.b.ty(arg);
            if differentiable(self.module, &ty) {
                // The tangent is any value of the type.
                all.push(arg.clone());
                varying.push(self.varies(arg));
                if self.varies(arg) {
                    sets.extend(self.dots(arg));
                }
            }
        }
        let derived =
            declare(self.module, self.cache, &ForwardKey::sets((rule.function, varying.into())));
        all.extend(sets);
        let types = self.module.functions[derived.function.0 as usize].results.clone();
        let mut vars = stmt.results.clone();
        for ty in types.into_iter().skip(vars.len()) {
            vars.push(self.b.var(ty, None));
        }
        let op = Op::Call(derived.function, all);
        self.b.push_stmt(Stmt { results: vars.clone(), op, site: stmt.site });
        // The results, what is linear in the tangent, then the sets of both.
        let mut sets = vars[derived.results.len().min(vars.len())..].iter();
        let sets: Vec<Option<Atom>> = derived
            .results
            .iter()
            .map(|varies| if *varies { sets.next().map(|v| Atom::Var(*v)) } else { None })
            .collect();
        let (own, linear) = sets.split_at(stmt.results.len().min(sets.len()));
        let mut linear = linear.iter();
        for (var, own) in stmt.results.iter().zip(own) {
            let atom = Atom::Var(*var);
            let ty = self.b.ty(&atom);
            if !differentiable(self.module, &ty) {
                continue;
            }
            let set = match (own.clone(), linear.next().cloned().flatten()) {
                (Some(x), Some(y)) => {
                    vec![merge(&mut self.b, self.module, self.cache, Merge::Union, [x, y])]
                }
                (Some(set), None) | (None, Some(set)) => vec![set],
                (None, None) => zero(&mut self.b, self.module, self.cache, &atom, 1),
            };
            self.set(*var, set);
        }
    }
}
