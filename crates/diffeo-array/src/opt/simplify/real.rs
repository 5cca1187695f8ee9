//! Rules for operations on Reals: those that hold for every value, nan, infinities and both zeros included.

use super::{New, Simplifier};
use crate::ir::walk::same;
use crate::ir::{Atom, FlatTy, Op, SiteId, Stmt};
use diffeo_calculus::prim::{real, RealOp};

/// Whether dividing by a number is the same as multiplying by its reciprocal: both are rounded from the same
/// number if the reciprocal is exact, as it is for powers of two that are not too large or small.
fn exact_reciprocal(x: f64) -> Option<f64> {
    const FRACTION: u64 = (1 << 52) - 1;
    let y = 1.0 / x;
    let power = |x: f64| x.is_normal() && x.to_bits() & FRACTION == 0;
    (power(x) && power(y)).then_some(y)
}

impl Simplifier {
    pub(super) fn real(
        &mut self,
        op: RealOp,
        args: &[Atom],
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> Option<New> {
        let number = |a: Option<&Atom>| match a {
            Some(Atom::Real(x)) => Some(*x),
            Some(Atom::Var(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_)) | None => None,
        };
        let (a, b) = (args.first()?, args.get(1));
        if let (Some(x), Some(y)) = (number(Some(a)), b.map_or(Some(0.0), |_| number(b))) {
            return Some(Atom::Real(real::eval(op, x, y)).into());
        }
        let negated = |of: &Atom| match self.def(of) {
            Some(Op::Real(RealOp::Neg, x)) => x.first().cloned(),
            _ => None,
        };
        let is = |x: Option<f64>, y: f64| x.is_some_and(|x| x.to_bits() == y.to_bits());
        let (x, y) = (number(Some(a)), number(b));
        let two = |op, a: &Atom, b: &Atom| Some(Op::Real(op, vec![a.clone(), b.clone()]).into());
        let neg = |a: &Atom| Some(Op::Real(RealOp::Neg, vec![a.clone()]).into());
        match (op, b) {
            // x + -0 is x; x + 0 is only where x is not -0: -0 + 0 = 0.
            (RealOp::Add, Some(_)) if is(y, -0.0) => Some(a.clone().into()),
            (RealOp::Add, Some(b)) if is(x, -0.0) => Some(b.clone().into()),
            (RealOp::Add, Some(_)) if is(y, 0.0) && self.is_not_minus_zero(a) => {
                Some(a.clone().into())
            }
            (RealOp::Add, Some(b)) if is(x, 0.0) && self.is_not_minus_zero(b) => {
                Some(b.clone().into())
            }
            (RealOp::Add, Some(b)) => match (negated(a), negated(b)) {
                (_, Some(b)) => two(RealOp::Sub, a, &b),
                (Some(a), None) => two(RealOp::Sub, b, &a),
                (None, None) => None,
            },
            (RealOp::Sub, Some(_)) if is(y, 0.0) => Some(a.clone().into()),
            (RealOp::Sub, Some(b)) if is(x, -0.0) => neg(b),
            (RealOp::Sub, Some(b)) => negated(b).and_then(|b| two(RealOp::Add, a, &b)),
            (RealOp::Mul | RealOp::Div, Some(_)) if is(y, 1.0) => Some(a.clone().into()),
            (RealOp::Mul | RealOp::Div, Some(_)) if is(y, -1.0) => neg(a),
            (RealOp::Mul, Some(b)) if is(x, 1.0) => Some(b.clone().into()),
            (RealOp::Mul, Some(b)) if is(x, -1.0) => neg(b),
            (RealOp::Mul | RealOp::Div, Some(b)) => match (negated(a), negated(b), y) {
                (Some(a), Some(b), _) => two(op, &a, &b),
                (Some(a), None, Some(y)) => two(op, &a, &Atom::Real(-y)),
                (_, _, Some(y)) if op == RealOp::Div => {
                    two(RealOp::Mul, a, &Atom::Real(exact_reciprocal(y)?))
                }
                // Signs go to the end, where sums take them up, and equal products are seen to be.
                (Some(a), None, None) => {
                    let product = Op::Real(op, vec![a, b.clone()]);
                    neg(&self.emit(product, FlatTy::Real, site, out))
                }
                (None, Some(b), _) => {
                    if let Some(x) = x {
                        return two(op, &Atom::Real(-x), &b);
                    }
                    let product = Op::Real(op, vec![a.clone(), b]);
                    neg(&self.emit(product, FlatTy::Real, site, out))
                }
                (None, None, _) if op == RealOp::Mul => {
                    let (a, negative) = match (self.by_negative(a), self.by_negative(b)) {
                        (Some(by), _) => (b, by),
                        (None, Some(by)) => (a, by),
                        (None, None) => return None,
                    };
                    let by = self.emit(negative, FlatTy::Real, site, out);
                    let product = Op::Real(op, vec![a.clone(), by]);
                    neg(&self.emit(product, FlatTy::Real, site, out))
                }
                (None, None, _) => None,
            },
            (RealOp::Neg, _) => match self.def(a)? {
                Op::Real(RealOp::Neg, x) => Some(x.first()?.clone().into()),
                _ => None,
            },
            (RealOp::Abs, _) => match self.def(a)? {
                Op::Real(RealOp::Neg, x) => Some(Op::Real(RealOp::Abs, x.clone()).into()),
                Op::Real(RealOp::Abs | RealOp::Sqrt | RealOp::Exp | RealOp::Cosh, _) => {
                    // Not for the square root of -0, which is -0.
                    let sqrt = matches!(self.def(a), Some(Op::Real(RealOp::Sqrt, _)));
                    (!sqrt).then(|| a.clone().into())
                }
                _ => None,
            },
            (RealOp::Min | RealOp::Max, Some(b)) if same(a, b) => Some(a.clone().into()),
            (_, _) => None,
        }
    }

    /// Of a product with a negative number, what the same with the positive one is.
    fn by_negative(&self, product: &Atom) -> Option<Op> {
        let Some(Op::Real(RealOp::Mul, factors)) = self.def(product) else { return None };
        let positive = |x: &Atom| match x {
            Atom::Real(x) if *x < 0.0 => Some(Atom::Real(-x)),
            _ => None,
        };
        let (a, b) = (factors.first()?, factors.get(1)?);
        let of = match (positive(a), positive(b)) {
            (Some(a), _) => vec![a, b.clone()],
            (None, Some(b)) => vec![a.clone(), b],
            (None, None) => return None,
        };
        Some(Op::Real(RealOp::Mul, of))
    }

    /// Whether a number, or all elements of an array, are certainly not -0.
    fn is_not_minus_zero(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Var(v) => self.not_minus_zero[v.0 as usize],
            Atom::Real(x) => x.to_bits() != (-0.0f64).to_bits(),
            Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => false,
        }
    }

    /// The same for the result of an operation. A sum is -0 only if both numbers are; so accumulators, which begin
    /// with 0, never hold it.
    pub(super) fn gives_no_minus_zero(&self, op: &Op) -> bool {
        let not = |x: Option<&Atom>| x.is_some_and(|x| self.is_not_minus_zero(x));
        match op {
            Op::Real(RealOp::Add, xs) => xs.iter().any(|x| not(Some(x))),
            Op::Real(RealOp::Sub | RealOp::Sqrt, xs) => not(xs.first()),
            Op::Real(RealOp::Mul, xs) => {
                matches!(&xs[..], [a, b] if same(a, b))
            }
            Op::Real(RealOp::Abs | RealOp::Exp | RealOp::Cosh, _) | Op::ToReal(_) => true,
            Op::Get(array, _) => not(Some(array)),
            Op::Select(_, a, b) => not(Some(a)) && not(Some(b)),
            Op::AccRead(..) | Op::AccTake(..) | Op::AccGet(_) => true,
            _ => false,
        }
    }

    /// A power with a small constant exponent: the multiplications that [`real::power`] makes, in its order.
    pub(super) fn pow_int(
        &mut self,
        x: &Atom,
        n: &Atom,
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> Option<New> {
        let Atom::Int(n) = n else { return None };
        if let Atom::Real(x) = x {
            return Some(Atom::Real(real::power(*x, *n)).into());
        }
        let mut exponent = n.unsigned_abs();
        // Differentiating `1 / y` gives 0 * inf where y overflows, and the derivative of the power does not.
        if exponent > 64 || self.early && *n < 0 {
            return None;
        }
        let mut multiply = |this: &mut Self, a: &Atom, b: &Atom| {
            this.emit(Op::Real(RealOp::Mul, vec![a.clone(), b.clone()]), FlatTy::Real, site, out)
        };
        let (mut base, mut result) = (x.clone(), Atom::Real(1.0));
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = multiply(self, &result, &base);
            }
            exponent >>= 1;
            if exponent > 0 {
                base = multiply(self, &base, &base);
            }
        }
        if *n < 0 {
            return Some(Op::Real(RealOp::Div, vec![Atom::Real(1.0), result]).into());
        }
        Some(result.into())
    }
}
