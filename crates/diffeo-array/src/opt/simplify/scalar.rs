//! Rules for Ints and truth values. An operation on Ints that can fail is dropped only where it cannot fail.

use super::{New, Simplifier};
use crate::ir::walk::same;
use crate::ir::{Atom, Op, Scalar};
use crate::opt::effects::int_can_fail;
use diffeo_calculus::prim::{int, Comparison, IntOp, Rounding};

impl Simplifier {
    pub(super) fn scalar(&mut self, op: &Op) -> Option<New> {
        match op {
            Op::Int(op, args) => self.int(*op, args),
            Op::IntFits(op, args) => self.int_fits(*op, args),
            Op::Compare(comparison, scalar, a, b) => self.compare(*comparison, *scalar, a, b),
            Op::Not(Atom::Bool(b)) => Some(Atom::Bool(!b).into()),
            Op::Not(a) => match self.def(a)? {
                Op::Not(b) => Some(b.clone().into()),
                Op::Compare(comparison, scalar, x, y) => {
                    let comparison = negation(*comparison, *scalar)?;
                    Some(Op::Compare(comparison, *scalar, x.clone(), y.clone()).into())
                }
                _ => None,
            },
            Op::And(a, b) => match (a, b) {
                (Atom::Bool(false), _) | (_, Atom::Bool(false)) => Some(Atom::Bool(false).into()),
                (Atom::Bool(true), x) | (x, Atom::Bool(true)) => Some(x.clone().into()),
                (a, b) => same(a, b).then(|| a.clone().into()),
            },
            Op::Or(a, b) => match (a, b) {
                (Atom::Bool(true), _) | (_, Atom::Bool(true)) => Some(Atom::Bool(true).into()),
                (Atom::Bool(false), x) | (x, Atom::Bool(false)) => Some(x.clone().into()),
                (a, b) => same(a, b).then(|| a.clone().into()),
            },
            Op::Select(c, a, b) => self.select(c, a, b),
            Op::ToReal(Atom::Int(n)) => Some(Atom::Real(*n as f64).into()),
            Op::Round(rounding, Atom::Real(x)) | Op::RoundFits(rounding, Atom::Real(x)) => {
                round(*rounding, *x).map(|n| Atom::Int(n).into())
            }
            // Small Ints are Reals exactly, but this one may be large: then it is a Real that is an Int.
            Op::IsNan(Atom::Real(x)) => Some(Atom::Bool(x.is_nan()).into()),
            Op::IsNan(a) => match self.def(a)? {
                Op::ToReal(_) => Some(Atom::Bool(false).into()),
                _ => None,
            },
            _ => None,
        }
    }

    fn int(&mut self, op: IntOp, args: &[Atom]) -> Option<New> {
        if let Some(value) = fold(op, args) {
            return Some(Atom::Int(value).into());
        }
        let (a, b) = (args.first()?, args.get(1));
        let new = match (op, a, b) {
            (IntOp::Add, x, Some(Atom::Int(0))) | (IntOp::Add, Atom::Int(0), Some(x)) => x.clone(),
            (IntOp::Sub, x, Some(Atom::Int(0))) => x.clone(),
            (IntOp::Sub, x, Some(y)) if same(x, y) => Atom::Int(0),
            (IntOp::Mul, x, Some(Atom::Int(1))) | (IntOp::Mul, Atom::Int(1), Some(x)) => x.clone(),
            (IntOp::Mul, _, Some(Atom::Int(0))) | (IntOp::Mul, Atom::Int(0), _) => Atom::Int(0),
            (IntOp::Div, x, Some(Atom::Int(1))) => x.clone(),
            (IntOp::Rem, _, Some(Atom::Int(1 | -1))) => Atom::Int(0),
            (IntOp::Pow, x, Some(Atom::Int(1))) => x.clone(),
            (IntOp::Pow, _, Some(Atom::Int(0))) => Atom::Int(1),
            (IntOp::Min | IntOp::Max | IntOp::BitAnd | IntOp::BitOr, x, Some(y)) if same(x, y) => {
                x.clone()
            }
            (IntOp::BitXor, x, Some(y)) if same(x, y) => Atom::Int(0),
            (IntOp::BitAnd, _, Some(Atom::Int(0))) | (IntOp::BitAnd, Atom::Int(0), _) => {
                Atom::Int(0)
            }
            (IntOp::BitOr | IntOp::BitXor, x, Some(Atom::Int(0)))
            | (IntOp::BitOr | IntOp::BitXor, Atom::Int(0), Some(x))
            | (IntOp::ShiftLeft | IntOp::ShiftRight, x, Some(Atom::Int(0))) => x.clone(),
            (IntOp::Div | IntOp::Rem, ..) if !int_can_fail(op, args) => {
                return Some(Op::IntFits(op, args.to_vec()).into());
            }
            (_, _, _) => return None,
        };
        Some(new.into())
    }

    /// Sums that fit: constants are gathered, and what is added and subtracted goes away. The partial sums
    /// need not fit, which is why they wrap.
    fn int_fits(&mut self, op: IntOp, args: &[Atom]) -> Option<New> {
        if let Some(New::Atom(atom)) = self.int(op, args) {
            return Some(atom.into());
        }
        let fits =
            |op, a: &Atom, b: &Atom| Some(Op::IntFits(op, vec![a.clone(), b.clone()]).into());
        let sum = |of: &Atom| match self.def(of) {
            Some(
                Op::Int(op @ (IntOp::Add | IntOp::Sub), xs)
                | Op::IntFits(op @ (IntOp::Add | IntOp::Sub), xs),
            ) => Some((*op, xs[0].clone(), xs[1].clone())),
            _ => None,
        };
        match (op, args) {
            (IntOp::Sub, [a, b]) => {
                if let Atom::Int(n) = b {
                    return fits(IntOp::Add, a, &Atom::Int(n.checked_neg()?));
                }
                match (sum(a), sum(b)) {
                    // (x + y) - x, (x + y) - y, (x - y) - x has no shorter form
                    (Some((IntOp::Add, x, y)), _) if same(&x, b) => Some(y.into()),
                    (Some((IntOp::Add, x, y)), _) if same(&y, b) => Some(x.into()),
                    // (x + y) - (x + z) = y - z
                    (Some((IntOp::Add, x, y)), Some((IntOp::Add, v, w))) if same(&x, &v) => {
                        fits(IntOp::Sub, &y, &w)
                    }
                    // a - (a - y) = y
                    (_, Some((IntOp::Sub, x, y))) if same(a, &x) => Some(y.into()),
                    (_, _) => None,
                }
            }
            (IntOp::Add, [n @ Atom::Int(_), x @ Atom::Var(_)]) => fits(IntOp::Add, x, n),
            (IntOp::Add, [a, b @ Atom::Int(n)]) => match sum(a)? {
                (IntOp::Add, x, Atom::Int(m)) => {
                    fits(IntOp::Add, &x, &Atom::Int(m.checked_add(*n)?))
                }
                (IntOp::Sub, x, Atom::Int(m)) => {
                    fits(IntOp::Add, &x, &Atom::Int(n.checked_sub(m)?))
                }
                (_, _, _) => {
                    let _ = b;
                    None
                }
            },
            (IntOp::Add, [a, b]) => match (sum(a), sum(b)) {
                // (x - y) + y
                (Some((IntOp::Sub, x, y)), _) if same(&y, b) => Some(x.into()),
                (_, Some((IntOp::Sub, x, y))) if same(&y, a) => Some(x.into()),
                (_, _) => None,
            },
            (_, _) => None,
        }
    }

    fn compare(
        &mut self,
        comparison: Comparison,
        scalar: Scalar,
        a: &Atom,
        b: &Atom,
    ) -> Option<New> {
        let value = match (a, b) {
            (Atom::Int(x), Atom::Int(y)) => Some(holds(comparison, x.cmp(y))),
            (Atom::Bool(x), Atom::Bool(y)) => Some(holds(comparison, x.cmp(y))),
            (Atom::Real(x), Atom::Real(y)) => Some(match x.partial_cmp(y) {
                Some(order) => holds(comparison, order),
                None => comparison == Comparison::Ne,
            }),
            // A Real may be nan.
            (a, b) if same(a, b) && scalar != Scalar::Real => {
                Some(holds(comparison, std::cmp::Ordering::Equal))
            }
            (_, _) => None,
        };
        if let Some(value) = value {
            return Some(Atom::Bool(value).into());
        }
        match (scalar, a, b) {
            // Constants stand on the right.
            (Scalar::Real, Atom::Real(_), Atom::Var(_))
            | (Scalar::Int, Atom::Int(_), Atom::Var(_))
            | (Scalar::Bool, Atom::Bool(_), Atom::Var(_)) => {
                Some(Op::Compare(mirrored(comparison), scalar, b.clone(), a.clone()).into())
            }
            (Scalar::Bool, x, Atom::Bool(value)) => {
                if *value == (comparison == Comparison::Eq) {
                    Some(x.clone().into())
                } else {
                    Some(Op::Not(x.clone()).into())
                }
            }
            // Of a number that is one of two.
            (Scalar::Int, x, Atom::Int(n)) => match self.def(x)? {
                Op::Select(c, Atom::Int(p), Atom::Int(q)) => {
                    let (p, q) = (holds(comparison, p.cmp(n)), holds(comparison, q.cmp(n)));
                    Some(Op::Select(c.clone(), Atom::Bool(p), Atom::Bool(q)).into())
                }
                _ => None,
            },
            (_, _, _) => None,
        }
    }

    fn select(&mut self, c: &Atom, a: &Atom, b: &Atom) -> Option<New> {
        match (c, a, b) {
            (Atom::Bool(c), a, b) => Some(if *c { a.clone() } else { b.clone() }.into()),
            (_, x, Atom::Unused(_)) | (_, Atom::Unused(_), x) => Some(x.clone().into()),
            (_, a, b) if same(a, b) => Some(a.clone().into()),
            (c, Atom::Bool(true), Atom::Bool(false)) => Some(c.clone().into()),
            (c, Atom::Bool(false), Atom::Bool(true)) => Some(Op::Not(c.clone()).into()),
            (c, a, Atom::Bool(false)) => Some(Op::And(c.clone(), a.clone()).into()),
            (c, Atom::Bool(true), b) => Some(Op::Or(c.clone(), b.clone()).into()),
            (c, a, b) => match self.def(c)? {
                Op::Not(c) => Some(Op::Select(c.clone(), b.clone(), a.clone()).into()),
                _ => None,
            },
        }
    }
}

/// The value on constants, if there is one.
fn fold(op: IntOp, args: &[Atom]) -> Option<i64> {
    let (a, b) = match args {
        [Atom::Int(a)] => (*a, 0),
        [Atom::Int(a), Atom::Int(b)] => (*a, *b),
        _ => return None,
    };
    int::apply(op, a, b).ok()
}

/// A rounding, where the result is an Int: -2^63 is one and exact, 2^63 is not.
fn round(rounding: Rounding, x: f64) -> Option<i64> {
    let y = match rounding {
        Rounding::Floor => x.floor(),
        Rounding::Ceil => x.ceil(),
        Rounding::Round => x.round(),
        Rounding::Trunc => x.trunc(),
    };
    let limit = -(i64::MIN as f64);
    (-limit..limit).contains(&y).then_some(y as i64)
}

fn holds(comparison: Comparison, order: std::cmp::Ordering) -> bool {
    match comparison {
        Comparison::Eq => order.is_eq(),
        Comparison::Ne => order.is_ne(),
        Comparison::Lt => order.is_lt(),
        Comparison::Le => order.is_le(),
        Comparison::Gt => order.is_gt(),
        Comparison::Ge => order.is_ge(),
    }
}

/// The comparison with its operands exchanged.
fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Eq => Comparison::Eq,
        Comparison::Ne => Comparison::Ne,
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
    }
}

/// The comparison that holds where this one does not. Of Reals, the order has none, because of nan.
fn negation(comparison: Comparison, scalar: Scalar) -> Option<Comparison> {
    let ordered = match scalar {
        Scalar::Real => false,
        Scalar::Int | Scalar::Bool | Scalar::Text => true,
    };
    match comparison {
        Comparison::Eq => Some(Comparison::Ne),
        Comparison::Ne => Some(Comparison::Eq),
        Comparison::Lt => ordered.then_some(Comparison::Ge),
        Comparison::Le => ordered.then_some(Comparison::Gt),
        Comparison::Gt => ordered.then_some(Comparison::Le),
        Comparison::Ge => ordered.then_some(Comparison::Lt),
    }
}
