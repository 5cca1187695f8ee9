//! Detection of kinks and of operands outside domains, where they are to be reported.
//!
//! The evaluator knows of each number whether it varies in this run; compiled code does not. So compiled code stops
//! before an operation that is outside its domain, or that, in a program that takes derivatives, would be at a kink if
//! its operands varied. The evaluator then runs the program and reports what there is to report. A program that does
//! not stop has met neither.

mod table;

use super::Lower;
use diffeo_array::ir::{Atom, Elem, Op, Scalar, SiteId, Stop};
use diffeo_calculus::prim::{Comparison, IntOp, RealOp, Rounding};
use table::{tests, Test};

impl Lower<'_> {
    /// Stops the program before an operation that the evaluator may have something to say of.
    pub(super) fn look(&mut self, op: &Op, at: SiteId) {
        if let Op::Real(op, args) = op {
            // With a whole number for an exponent there is no kink, and 0 is the only pole.
            let (outside, kink) = match (op, args.get(1).and_then(Atom::whole)) {
                (RealOp::Pow, Some(n)) => {
                    ((n < 0.0).then_some(Test::First(Comparison::Eq, 0.0)), None)
                }
                (op, _) => tests(*op),
            };
            let kink = kink.filter(|_| self.differentiates);
            for test in outside.into_iter().chain(kink) {
                self.doubt(test, args, at);
            }
        } else if let Op::PowInt(x, n) = op {
            if matches!(n, Atom::Int(n) if *n >= 0) {
                return;
            }
            let zero = Op::Compare(Comparison::Eq, Scalar::Real, x.clone(), Atom::Real(0.0));
            let zero = self.emit(at, zero);
            let less = Op::Compare(Comparison::Lt, Scalar::Int, n.clone(), Atom::Int(0));
            let less = self.emit(at, less);
            let both = self.emit(at, Op::And(zero, less));
            self.stop_where(both, at);
        }
        if !self.differentiates {
            return;
        }
        if let Op::Compare(_, Scalar::Real, a, b) = op {
            self.doubt(Test::Equal, &[a.clone(), b.clone()], at);
        } else if let Op::Round(rounding, x) = op {
            let rest = Op::Real(RealOp::Rem, vec![x.clone(), Atom::Real(1.0)]);
            let rest = self.emit(at, rest);
            let jump = match rounding {
                Rounding::Floor | Rounding::Ceil | Rounding::Trunc => 0.0,
                Rounding::Round => 0.5,
            };
            self.doubt(Test::Size(Comparison::Eq, jump), &[rest], at);
        }
    }

    /// Stops the program where numbers that were sorted are equal: the array, and the permutation.
    pub(super) fn look_at_order(&mut self, array: &Atom, order: &Atom, at: SiteId) {
        let real = matches!(self.f.builder.ty(array).elements(), Some((Elem::Real, _)));
        if !real || !self.options.kinks || !self.differentiates {
            return;
        }
        let count = self.emit(at, Op::Dim(array.clone(), 0));
        let pairs = self.emit(at, Op::IntFits(IntOp::Sub, vec![count, Atom::Int(1)]));
        let pairs = self.emit(at, Op::IntFits(IntOp::Max, vec![pairs, Atom::Int(0)]));
        self.for_each(pairs, Vec::new(), at, &mut |cx, i, _| {
            let next = cx.emit(at, Op::IntFits(IntOp::Add, vec![i.clone(), Atom::Int(1)]));
            let mut sorted = Vec::new();
            for i in [i, next] {
                let place = cx.emit(at, Op::Get(order.clone(), vec![i]));
                sorted.push(cx.emit(at, Op::Get(array.clone(), vec![place])));
            }
            cx.doubt(Test::Equal, &sorted, at);
            Vec::new()
        });
    }

    fn emit(&mut self, at: SiteId, op: Op) -> Atom {
        self.f.builder.set_site(at);
        self.f.builder.one(&self.module, op)
    }

    fn doubt(&mut self, test: Test, args: &[Atom], at: SiteId) {
        let compare = |cx: &mut Self, c, x: &Atom, y: Atom| {
            cx.emit(at, Op::Compare(c, Scalar::Real, x.clone(), y))
        };
        let (first, second) = (&args[0], args.last().unwrap_or(&args[0]));
        let found = match test {
            Test::First(c, x) => compare(self, c, first, Atom::Real(x)),
            Test::Second(c, x) => compare(self, c, second, Atom::Real(x)),
            Test::Size(c, x) => {
                let size = self.emit(at, Op::Real(RealOp::Abs, vec![first.clone()]));
                compare(self, c, &size, Atom::Real(x))
            }
            Test::Zeros => {
                let first = compare(self, Comparison::Eq, first, Atom::Real(0.0));
                let second = compare(self, Comparison::Eq, second, Atom::Real(0.0));
                self.emit(at, Op::And(first, second))
            }
            Test::Equal => compare(self, Comparison::Eq, first, second.clone()),
            Test::Divides => {
                let rest = self.emit(at, Op::Real(RealOp::Rem, args.to_vec()));
                compare(self, Comparison::Eq, &rest, Atom::Real(0.0))
            }
        };
        self.stop_where(found, at);
    }

    /// Leaves the program to the evaluator where this holds.
    pub(super) fn stop_where(&mut self, cond: Atom, at: SiteId) {
        self.f.builder.set_site(at);
        self.f.builder.open();
        self.stop(Stop::Nan, at);
        let then = self.f.builder.close(Vec::new());
        self.ops(at, Op::If { cond, then, otherwise: Default::default() });
    }
}
