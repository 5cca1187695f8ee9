//! Scalars, texts, and what stops or prints.

use super::ModuleGenerator;
use diffeo_array::ir::{Atom, Check, FlatTy, Op, Scalar, Stop};
use diffeo_calculus::names::Named;
use diffeo_calculus::prim::text::{self, TextType};
use diffeo_calculus::prim::{int, real, Comparison, IntOp, RealOp, Rounding, TextOp};

/// Operations that give dyadic numbers for dyadic numbers.
const EXACT: &[RealOp] =
    &[RealOp::Add, RealOp::Sub, RealOp::Neg, RealOp::Abs, RealOp::Sign, RealOp::Min, RealOp::Max];

const SCALARS: &[Scalar] = &[Scalar::Real, Scalar::Int, Scalar::Bool, Scalar::Text];

impl ModuleGenerator<'_> {
    pub(super) fn scalar(&mut self) {
        match self.below(11) {
            0..=2 => self.real_operation(),
            3 | 4 => self.int_operation(),
            5 => {
                let scalar = self.pick(SCALARS);
                let comparison = match scalar {
                    Scalar::Bool => self.pick(&[Comparison::Eq, Comparison::Ne]),
                    Scalar::Real | Scalar::Int | Scalar::Text => self.pick(Comparison::ALL),
                };
                let (a, b) = (self.atom(&scalar.ty()), self.atom(&scalar.ty()));
                self.emit(Op::Compare(comparison, scalar, a, b));
            }
            6 => {
                let (a, b) = (self.atom(&FlatTy::Bool), self.atom(&FlatTy::Bool));
                let op =
                    self.pick(&[Op::Not(a.clone()), Op::And(a.clone(), b.clone()), Op::Or(a, b)]);
                self.emit(op);
            }
            7 => {
                let ty = self.pick(&[FlatTy::Real, FlatTy::Int, FlatTy::Bool]);
                let cond = self.atom(&FlatTy::Bool);
                let (a, b) = (self.atom(&ty), self.atom(&ty));
                self.emit(Op::Select(cond, a, b));
            }
            8 => {
                let mut n = self.atom(&FlatTy::Int);
                if !self.features.inexact {
                    n = self.one(Op::Int(IntOp::BitAnd, vec![n, Atom::Int(255)]));
                }
                self.emit(Op::ToReal(n));
            }
            9 => {
                let x = self.atom(&FlatTy::Real);
                let rounding = self.pick(Rounding::ALL);
                self.emit(Op::Round(rounding, x));
                // Half of any Int fits.
                let n = self.atom(&FlatTy::Int);
                let x = self.one(Op::ToReal(n));
                let half = self.one(Op::Real(RealOp::Mul, vec![x, Atom::Real(0.5)]));
                self.emit(Op::RoundFits(rounding, half));
            }
            _ => {
                let x = self.atom(&FlatTy::Real);
                self.emit(Op::IsNan(x));
            }
        }
    }

    fn real_operation(&mut self) {
        if self.features.inexact && self.below(8) == 0 {
            let (x, n) = (self.atom(&FlatTy::Real), self.atom(&FlatTy::Int));
            self.emit(Op::PowInt(x, n));
            return;
        }
        let op = match self.below(3) {
            2 if self.features.inexact => {
                let all: Vec<RealOp> =
                    RealOp::ALL.iter().copied().chain([RealOp::Polygamma(2)]).collect();
                self.pick(&all)
            }
            _ => self.pick(EXACT),
        };
        let args = (0..real::row(op).arity).map(|_| self.atom(&FlatTy::Real)).collect();
        self.emit(Op::Real(op, args));
    }

    fn int_operation(&mut self) {
        let op = match self.below(3) {
            0 => self.pick(&[IntOp::Add, IntOp::Sub, IntOp::Mul]),
            _ => self.pick(IntOp::ALL),
        };
        let mut args: Vec<Atom> = (0..int::arity(op)).map(|_| self.atom(&FlatTy::Int)).collect();
        // Most of the time there is a value.
        let last = args.len() - 1;
        match op {
            IntOp::Div | IntOp::Rem if self.below(8) > 0 => args[last] = Atom::Int(3),
            IntOp::Pow | IntOp::ShiftLeft | IntOp::ShiftRight if self.below(8) > 0 => {
                args[last] = Atom::Int(2);
            }
            IntOp::Add
            | IntOp::Sub
            | IntOp::Mul
            | IntOp::Div
            | IntOp::Rem
            | IntOp::Neg
            | IntOp::Pow
            | IntOp::Abs
            | IntOp::Sign
            | IntOp::Min
            | IntOp::Max
            | IntOp::BitAnd
            | IntOp::BitOr
            | IntOp::BitXor
            | IntOp::ShiftLeft
            | IntOp::ShiftRight
            | IntOp::WrappingAdd
            | IntOp::WrappingMul => {}
        }
        match op {
            IntOp::Min | IntOp::Max | IntOp::Sign | IntOp::BitAnd => {
                self.emit(Op::IntFits(op, args))
            }
            IntOp::Add
            | IntOp::Sub
            | IntOp::Mul
            | IntOp::Div
            | IntOp::Rem
            | IntOp::Neg
            | IntOp::Pow
            | IntOp::Abs
            | IntOp::BitOr
            | IntOp::BitXor
            | IntOp::ShiftLeft
            | IntOp::ShiftRight
            | IntOp::WrappingAdd
            | IntOp::WrappingMul => self.emit(Op::Int(op, args)),
        };
    }

    pub(super) fn text(&mut self) {
        if self.below(3) == 0 {
            let op = self.pick(TextOp::ALL);
            let leaves = text::signature(op).0.iter();
            let operands = leaves.map(|leaf| match leaf {
                TextType::Int => self.atom(&FlatTy::Int),
                TextType::Real => self.atom(&FlatTy::Real),
                TextType::Text => self.atom(&FlatTy::Text),
            });
            let operands = operands.collect();
            self.emit(Op::TextOp(op, operands));
            return;
        }
        if self.below(2) == 0 {
            // The second is short, so that texts do not double in loops.
            let text = self.atom(&FlatTy::Text);
            let short = self.one(Op::Text(".".into()));
            self.emit(Op::AppendText(text, short));
            return;
        }
        let scalar = self.pick(SCALARS);
        // A text that is shown again and again grows by its escapes.
        let atom = match scalar {
            Scalar::Text => self.one(Op::Text("\"".into())),
            Scalar::Real | Scalar::Int | Scalar::Bool => self.atom(&scalar.ty()),
        };
        self.emit(Op::Show(scalar, atom));
    }

    /// What prints or stops.
    pub(super) fn effect(&mut self) {
        let text = self.atom(&FlatTy::Text);
        match self.below(10) {
            0..=2 => {
                let value = self.atom(&FlatTy::Text);
                self.emit(Op::Trace(text, value));
            }
            3 => {
                let (step, value) = (self.atom(&FlatTy::Int), self.atom(&FlatTy::Real));
                self.emit(Op::Progress(text, step, value));
            }
            4 => {
                let (message, help) = (self.atom(&FlatTy::Text), self.atom(&FlatTy::Text));
                self.emit(Op::Warn(text, message, help, Atom::Int(-1)));
            }
            5 if self.features.stops => {
                let (a, b) = (self.atom(&FlatTy::Int), self.atom(&FlatTy::Int));
                let c = self.atom(&FlatTy::Int);
                let check = self.pick(&[
                    Check::Index { index: a.clone(), length: Atom::Int(8) },
                    Check::Slice { lo: a.clone(), hi: b.clone(), length: Atom::Int(8) },
                    Check::Count(c),
                    Check::Size { what: "n".into(), expected: a.clone(), found: a.clone() },
                    Check::Rows { expected: Atom::Int(-1), found: b },
                ]);
                self.emit(Op::Check(check));
            }
            6 if self.features.stops => {
                let cond = self.atom(&FlatTy::Bool);
                let ty = self.ty();
                let stops = self.region(&[], |_| {});
                let stop = self.pick(&[
                    Stop::Fail(text.clone()),
                    Stop::Nan,
                    Stop::Order,
                    Stop::Shape { what: "+".into(), difference: text.clone() },
                ]);
                self.b.reopen(stops);
                self.place();
                let results = self.b.stop(stop, vec![ty.clone()]);
                let then = self.b.close(results);
                let otherwise = self.region(&[ty], |_| {});
                self.emit(Op::If { cond, then, otherwise });
            }
            _ => {
                self.emit(Op::Show(Scalar::Text, text));
            }
        }
    }

    /// Whether an Int is above 0.
    pub(super) fn positive(&mut self, n: &Atom) -> Atom {
        self.one(Op::Compare(Comparison::Gt, Scalar::Int, n.clone(), Atom::Int(0)))
    }

    /// One less.
    pub(super) fn less(&mut self, n: &Atom) -> Atom {
        self.one(Op::Int(IntOp::Sub, vec![n.clone(), Atom::Int(1)]))
    }
}
