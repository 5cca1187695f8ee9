//! Reals, Ints and texts. Operations get operands away from the ends of their domains, so that values and
//! derivatives are finite, and Ints stay small.

use super::types::MAYBE;
use super::Generator;
use crate::support::{
    add, if_, ilt, index, int, int2, length, mul, prim, real, real1, real2, sizes, sum,
};
use diffeo_base::Name;
use diffeo_calculus::prim::{IntOp, Prim, RealOp, Rounding, SizePattern, SizeRef, SizeShape};
use diffeo_calculus::term::Term;
use diffeo_calculus::Ty;

/// What is done with an operand x.
#[derive(Clone, Copy)]
enum Domain {
    /// Nothing.
    All,
    /// `sin(x)`
    Bounded,
    /// `0.9 * sin(x)`
    Inside,
    /// `1.5 + x²`
    Positive,
}

const BASIC: [(RealOp, Domain); 5] = [
    (RealOp::Neg, Domain::All),
    (RealOp::Sin, Domain::All),
    (RealOp::Cos, Domain::All),
    (RealOp::Exp, Domain::Bounded),
    (RealOp::Log, Domain::Positive),
];

const SPECIAL: [(RealOp, Domain); 23] = [
    (RealOp::Sqrt, Domain::Positive),
    (RealOp::Tanh, Domain::All),
    (RealOp::Sigmoid, Domain::All),
    (RealOp::Atan, Domain::All),
    (RealOp::Asinh, Domain::All),
    (RealOp::Softplus, Domain::All),
    (RealOp::Erf, Domain::All),
    (RealOp::Erfc, Domain::All),
    (RealOp::Sinh, Domain::Bounded),
    (RealOp::Cosh, Domain::Bounded),
    (RealOp::Tan, Domain::Bounded),
    (RealOp::Expm1, Domain::Bounded),
    (RealOp::Log1p, Domain::Positive),
    (RealOp::Cbrt, Domain::Positive),
    (RealOp::Acosh, Domain::Positive),
    (RealOp::Lgamma, Domain::Positive),
    (RealOp::Polygamma(0), Domain::Positive),
    (RealOp::Polygamma(1), Domain::Positive),
    (RealOp::Asin, Domain::Inside),
    (RealOp::Acos, Domain::Inside),
    (RealOp::Atanh, Domain::Inside),
    (RealOp::Exp, Domain::Bounded),
    (RealOp::Sqrt, Domain::Positive),
];

impl Generator<'_> {
    /// An operation that gives a Real.
    pub fn real(&mut self, size: usize) -> Term {
        let f = self.features;
        let mut kinds = vec!["binary", "binary", "binary", "binary", "unary", "unary"];
        kinds.extend(f.leaves.then_some(["power", "int"]).into_iter().flatten());
        kinds.extend(f.arrays.then_some(["index", "index", "sum"]).into_iter().flatten());
        kinds.extend(f.polytypic.then_some("inner"));
        kinds.extend(f.kinky.then_some("kinky"));
        kinds.extend(f.variants.then_some("maybe"));
        match self.choices.pick(&kinds) {
            "binary" => self.binary(size),
            "unary" => {
                let basic = self.choices.flag() || !f.special;
                let (op, domain) = match basic {
                    true => self.choices.pick(&BASIC),
                    false => self.choices.pick(&SPECIAL),
                };
                let x = self.term(&Ty::Real, size);
                let x = self.inside(domain, x);
                real1(op, x)
            }
            "power" => {
                let exponent = self.choices.pick(&[2, 3, 1, 0]);
                prim(Prim::PowInt, vec![self.term(&Ty::Real, size), int(exponent)])
            }
            "int" => prim(Prim::ToReal, vec![self.term(&Ty::Int, size)]),
            "index" => self.element_of(&Ty::Real, size),
            "sum" => sum(Ty::Real, self.term(&Ty::array(Ty::Real), size)),
            "inner" => {
                let ty = self.first_order_type(2);
                let value = self.term(&ty, size / 2);
                self.bind(&ty, value, false, |g, x| {
                    let other = g.like(&ty, &x, size / 2);
                    prim(Prim::Inner(ty.clone()), vec![x, other])
                })
            }
            "kinky" => self.kinky(size),
            _ => {
                // `case m of Nothing -> r | Just(x) -> M` over a Maybe in scope is what programs do most.
                let maybe = Ty::Data(MAYBE, std::rc::Rc::new([Ty::Real]));
                let scrutinee = self.term(&maybe, size / 3);
                let none = self.leaf(&Ty::Real);
                let (binder, x) = self.binder(&Ty::Real);
                let some = self.with(&Ty::Real, &x, true, |g| g.term(&Ty::Real, size / 2));
                super::functions::case_maybe(scrutinee, none, binder, some)
            }
        }
    }

    /// `x` brought into a domain.
    fn inside(&mut self, domain: Domain, x: Term) -> Term {
        match domain {
            Domain::All => x,
            Domain::Bounded => real1(RealOp::Sin, x),
            Domain::Inside => mul(real(0.9), real1(RealOp::Sin, x)),
            Domain::Positive => {
                self.bind(&Ty::Real, x, true, |_, x| add(real(1.5), mul(x.clone(), x)))
            }
        }
    }

    fn binary(&mut self, size: usize) -> Term {
        let mut ops = vec![RealOp::Mul, RealOp::Add, RealOp::Mul, RealOp::Sub, RealOp::Mul];
        ops.push(RealOp::Div);
        if self.features.special {
            ops.extend([RealOp::Pow, RealOp::Atan2, RealOp::Hypot]);
        }
        let op = self.choices.pick(&ops);
        let a = self.term(&Ty::Real, size / 2);
        let b = self.term(&Ty::Real, size - size / 2);
        let bounded = |b: Term| real1(RealOp::Sin, b);
        match op {
            // Half of the products do not grow.
            RealOp::Mul if self.choices.flag() => mul(a, bounded(b)),
            RealOp::Div | RealOp::Hypot => {
                let b = self.inside(Domain::Positive, b);
                real2(op, a, b)
            }
            RealOp::Pow => {
                let a = self.inside(Domain::Positive, a);
                real2(op, a, bounded(b))
            }
            RealOp::Atan2 => real2(op, a, add(real(2.0), bounded(b))),
            _ => real2(op, a, b),
        }
    }

    fn kinky(&mut self, size: usize) -> Term {
        let ops = [RealOp::Max, RealOp::Abs, RealOp::Min, RealOp::Sign, RealOp::Rem];
        let op = self.choices.pick(&ops);
        if op.arity() == 1 {
            return real1(op, self.term(&Ty::Real, size));
        }
        let a = self.term(&Ty::Real, size / 2);
        let b = self.term(&Ty::Real, size / 2);
        match op {
            RealOp::Rem => {
                let b = self.inside(Domain::Positive, b);
                real2(op, a, b)
            }
            _ => real2(op, a, b),
        }
    }

    /// An operation that gives an Int, which is small.
    pub fn int(&mut self, size: usize) -> Term {
        let small = |n: Term| int2(IntOp::Rem, n, int(10));
        let mut kinds = vec!["binary", "binary", "binary"];
        if self.features.leaves {
            kinds.extend(["unary", "round"]);
        }
        if self.features.arrays {
            kinds.extend(["length", "sizes", "sum", "index"]);
        }
        match self.choices.pick(&kinds) {
            "binary" => {
                let ops = [
                    IntOp::Add,
                    IntOp::Sub,
                    IntOp::Mul,
                    IntOp::Max,
                    IntOp::Min,
                    IntOp::Div,
                    IntOp::Rem,
                    IntOp::Pow,
                    IntOp::BitAnd,
                    IntOp::BitXor,
                    IntOp::BitOr,
                    IntOp::ShiftLeft,
                    IntOp::ShiftRight,
                    IntOp::WrappingMul,
                    IntOp::WrappingAdd,
                ];
                let op = self.choices.pick(&ops);
                let a = self.term(&Ty::Int, size / 2);
                let b = match op {
                    IntOp::Div | IntOp::Rem if self.features.partial => {
                        self.term(&Ty::Int, size / 2)
                    }
                    IntOp::Div | IntOp::Rem => int(self.choices.pick(&[2, 3, -2])),
                    IntOp::Pow | IntOp::ShiftLeft | IntOp::ShiftRight => {
                        int(self.choices.pick(&[1, 2, 0]))
                    }
                    _ => self.term(&Ty::Int, size / 2),
                };
                match op {
                    IntOp::ShiftRight => {
                        let a = int2(IntOp::BitAnd, a, int(15));
                        int2(op, a, b)
                    }
                    _ => small(int2(op, a, b)),
                }
            }
            "unary" => {
                let op = self.choices.pick(&[IntOp::Neg, IntOp::Abs, IntOp::Sign]);
                prim(Prim::Int(op), vec![self.term(&Ty::Int, size)])
            }
            "round" => {
                let roundings = [Rounding::Round, Rounding::Floor, Rounding::Ceil, Rounding::Trunc];
                let rounding = self.choices.pick(&roundings);
                let x = self.term(&Ty::Real, size);
                prim(Prim::Round(rounding), vec![mul(real(3.0), real1(RealOp::Tanh, x))])
            }
            "length" => {
                let element = self.ty(1);
                length(element.clone(), self.term(&Ty::array(element), size))
            }
            "sizes" => {
                let pattern = SizePattern {
                    names: vec![Name::new("n")],
                    given: 0,
                    parts: Vec::new(),
                    shape: SizeShape::Array(SizeRef::Name(0), Box::new(SizeShape::Any)),
                };
                let ty = Ty::array(self.ty(1));
                let value = self.term(&ty, size);
                sizes(pattern, ty, value, Vec::new())
            }
            "sum" => small(sum(Ty::Int, self.term(&Ty::array(Ty::Int), size))),
            _ => self.element_of(&Ty::Int, size),
        }
    }

    /// An Int from 0 to 3.
    pub fn count(&mut self, size: usize) -> Term {
        if size == 0 || !self.features.leaves || self.choices.flag() {
            return int(self.choices.pick(&[2, 1, 3, 0]));
        }
        let n = self.term(&Ty::Int, size);
        int2(IntOp::Rem, prim(Prim::Int(IntOp::Abs), vec![n]), int(4))
    }

    /// A text.
    pub fn string(&mut self, size: usize) -> Term {
        match self.choices.below(3) {
            0 => self.leaf(&Ty::String),
            1 => {
                let a = self.term(&Ty::String, size / 2);
                prim(Prim::AppendStrings, vec![a, self.term(&Ty::String, size / 2)])
            }
            _ => {
                let ty = self.first_order_type(1);
                prim(Prim::Show(ty.clone()), vec![self.term(&ty, size)])
            }
        }
    }

    /// An element of an array of this element type.
    pub fn element_of(&mut self, ty: &Ty, size: usize) -> Term {
        let xs = self.term(&Ty::array(ty.clone()), size / 2);
        let i = self.term(&Ty::Int, size / 4);
        if self.features.partial && self.choices.flag() {
            return index(ty.clone(), xs, i);
        }
        let all = Ty::array(ty.clone());
        self.bind(&all, xs, false, |g, xs| {
            let n = length(ty.clone(), xs.clone());
            let i = prim(Prim::Int(IntOp::Abs), vec![int2(IntOp::Rem, i, n.clone())]);
            let otherwise = g.element(ty, size / 4);
            if_(ilt(int(0), n), index(ty.clone(), xs, i), otherwise)
        })
    }
}
