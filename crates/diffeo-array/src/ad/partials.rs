//! The partial derivatives of operations on Reals, as operations of Flat.
//!
//! What comes in: an operation of the table ([`mod@diffeo_calculus::prim::real`]), its operands and its result. What
//! goes out: for each operand, the factor of its tangent, or of the adjoint of the result. Subterms that the partial
//! derivatives share are computed once. All of it is ordinary arithmetic, which can be derived again.

use crate::build::Builder;
use crate::ir::{Atom, Module, Op, Scalar};
use diffeo_calculus::prim::real::{
    eval, next_polygamma, row, Condition, DerivativeRule, Partial, BELL_END,
};
use diffeo_calculus::prim::{Comparison, IntOp, RealOp};

/// What a tangent is multiplied with.
#[derive(Clone, Debug)]
pub enum Slope {
    /// 0, whatever the tangent is.
    Zero,
    /// 1
    One,
    /// -1
    MinusOne,
    /// A Real.
    Factor(Atom),
    /// 1 where this holds, else 0, whatever the tangent is.
    Where(Atom),
    /// -1 where the first holds, else 1 where the second holds, else 0, whatever the tangent is.
    Sign(Atom, Atom),
}

impl Slope {
    /// The product with a tangent or adjoint; none where that is 0.
    pub fn times(&self, b: &mut Builder, module: &Module, by: Atom) -> Option<Atom> {
        Some(match self {
            Slope::Zero => return None,
            Slope::One => by,
            Slope::MinusOne => b.one(module, Op::Real(RealOp::Neg, vec![by])),
            Slope::Factor(factor) => b.one(module, Op::Real(RealOp::Mul, vec![factor.clone(), by])),
            Slope::Where(holds) => b.one(module, Op::Select(holds.clone(), by, Atom::Real(0.0))),
            Slope::Sign(negative, positive) => {
                let minus = b.one(module, Op::Real(RealOp::Neg, vec![by.clone()]));
                let rest = b.one(module, Op::Select(positive.clone(), by, Atom::Real(0.0)));
                b.one(module, Op::Select(negative.clone(), minus, rest))
            }
        })
    }
}

/// The slopes of an operation ([`Op::Real`], [`Op::PowInt`]) with this result by those of its operands that are
/// wanted; [`Slope::Zero`] by the others.
pub fn slopes(
    b: &mut Builder,
    module: &Module,
    op: &Op,
    result: &Atom,
    wanted: &[bool],
) -> Vec<Slope> {
    let (op, args) = match op {
        Op::Real(op, args) => (*op, args),
        Op::PowInt(x, n) => {
            let slope = power(b, module, x, n);
            return vec![
                if wanted.first() == Some(&true) { slope } else { Slope::Zero },
                Slope::Zero,
            ];
        }
        _ => return vec![Slope::Zero; wanted.len()],
    };
    match row(op).derivative {
        DerivativeRule::Select => (0..args.len())
            .map(|i| match wanted.get(i) {
                Some(true) => select(b, module, op, args, i),
                Some(false) | None => Slope::Zero,
            })
            .collect(),
        DerivativeRule::Partials(partials) => {
            let mut terms = Terms { b, module, op, args, result, known: Vec::new() };
            let slope = |(i, partial): (usize, &'static Partial)| match wanted.get(i) {
                Some(true) => terms.slope(partial),
                Some(false) | None => Slope::Zero,
            };
            partials.iter().enumerate().map(slope).collect()
        }
    }
}

/// The sum of the slopes times what operands vary by; none if it is 0 whatever the program does.
pub(super) fn along(
    b: &mut Builder,
    module: &Module,
    slopes: &[Slope],
    dots: &[Option<Atom>],
) -> Option<Atom> {
    let mut sum: Option<Atom> = None;
    for (slope, dot) in slopes.iter().zip(dots) {
        let Some(dot) = dot else { continue };
        let Some(term) = slope.times(b, module, dot.clone()) else { continue };
        sum = Some(match sum {
            None => term,
            Some(sum) => b.one(module, Op::Real(RealOp::Add, vec![sum, term])),
        });
    }
    sum
}

fn compare(b: &mut Builder, module: &Module, c: Comparison, x: &Atom, y: Atom) -> Atom {
    b.one(module, Op::Compare(c, Scalar::Real, x.clone(), y))
}

/// [`Condition::Vanishes`]
pub(super) fn vanishes(b: &mut Builder, module: &Module, x: Atom) -> Atom {
    let size = b.one(module, Op::Real(RealOp::Abs, vec![x]));
    compare(b, module, Comparison::Gt, &size, Atom::Real(BELL_END))
}

/// An operation that is one of its operands.
fn select(b: &mut Builder, module: &Module, op: RealOp, args: &[Atom], i: usize) -> Slope {
    let first = |b: &mut Builder, c: Comparison| {
        let before = compare(b, module, c, &args[0], args[1].clone());
        let nan = b.one(module, Op::IsNan(args[0].clone()));
        b.one(module, Op::Or(before, nan))
    };
    let zero = Atom::Real(0.0);
    let chosen = if op == RealOp::Abs {
        let negative = compare(b, module, Comparison::Lt, &args[0], zero.clone());
        return Slope::Sign(negative, compare(b, module, Comparison::Ne, &args[0], zero));
    } else if op == RealOp::Min {
        first(b, Comparison::Le)
    } else if op == RealOp::Max {
        first(b, Comparison::Ge)
    } else {
        return Slope::Zero;
    };
    Slope::Where(if i == 0 { chosen } else { b.one(module, Op::Not(chosen)) })
}

/// `n x^(n-1)`, and 0 for n = 0.
fn power(b: &mut Builder, module: &Module, x: &Atom, n: &Atom) -> Slope {
    let factor = match n {
        Atom::Int(0) => return Slope::Zero,
        Atom::Int(1) => return Slope::One,
        Atom::Int(n) => Atom::Real(*n as f64),
        n => b.one(module, Op::ToReal(n.clone())),
    };
    let power = match exponent_less(b, module, n) {
        Atom::Int(1) => x.clone(),
        less => b.one(module, Op::PowInt(x.clone(), less)),
    };
    Slope::Factor(b.one(module, Op::Real(RealOp::Mul, vec![factor, power])))
}

/// The exponent of the derivative of `x^n`: `n-1`, but 0 for n = 0, where another power might be infinite, and 0 times
/// that nan.
pub(super) fn exponent_less(b: &mut Builder, module: &Module, n: &Atom) -> Atom {
    if let Atom::Int(n) = n {
        return Atom::Int(if *n == 0 { 0 } else { n.saturating_sub(1) });
    }
    let constant = b.one(module, Op::Compare(Comparison::Eq, Scalar::Int, n.clone(), Atom::Int(0)));
    let least = Atom::Int(i64::MIN + 1);
    let bounded = b.one(module, Op::IntFits(IntOp::Max, vec![n.clone(), least]));
    let less = b.one(module, Op::IntFits(IntOp::Sub, vec![bounded, Atom::Int(1)]));
    b.one(module, Op::Select(constant, Atom::Int(0), less))
}

/// The terms of the partial derivatives of an operation.
struct Terms<'a> {
    b: &'a mut Builder,
    module: &'a Module,
    op: RealOp,
    args: &'a [Atom],
    result: &'a Atom,
    /// What has been computed.
    known: Vec<(Partial, Atom)>,
}

impl Terms<'_> {
    fn slope(&mut self, term: &Partial) -> Slope {
        let by_exponent = matches!(term, Partial::ZeroWhere(Condition::ZeroExponent, _));
        if by_exponent && self.operand(1) == Atom::Real(0.0) {
            return Slope::Zero;
        }
        // A factor that happens to be 0 makes nan of an infinite tangent.
        match self.term(term) {
            Atom::Real(1.0) => Slope::One,
            Atom::Real(-1.0) => Slope::MinusOne,
            factor => Slope::Factor(factor),
        }
    }

    fn operand(&self, i: usize) -> Atom {
        self.args.get(i).cloned().unwrap_or(Atom::Real(0.0))
    }

    fn real(&mut self, op: RealOp, args: Vec<Atom>) -> Atom {
        let number = |atom: Option<&Atom>| match atom {
            Some(Atom::Real(x)) => Some(*x),
            None => Some(0.0),
            Some(_) => None,
        };
        if let (Some(x), Some(y)) = (number(args.first()), number(args.get(1))) {
            return Atom::Real(eval(op, x, y));
        }
        match (op, args.as_slice()) {
            (RealOp::Mul, [Atom::Real(one), x] | [x, Atom::Real(one)]) if *one == 1.0 => x.clone(),
            _ => self.b.one(self.module, Op::Real(op, args)),
        }
    }

    fn holds(&mut self, comparison: Comparison, i: usize) -> Atom {
        let operand = self.operand(i);
        compare(self.b, self.module, comparison, &operand, Atom::Real(0.0))
    }

    fn term(&mut self, term: &Partial) -> Atom {
        if let Some((_, atom)) = self.known.iter().find(|(known, _)| known == term) {
            return atom.clone();
        }
        let atom = self.make(term);
        self.known.push((*term, atom.clone()));
        atom
    }

    fn make(&mut self, term: &Partial) -> Atom {
        match term {
            Partial::A => self.operand(0),
            Partial::B => self.operand(1),
            Partial::Y => self.result.clone(),
            Partial::Num(x) => Atom::Real(*x),
            Partial::Un(op, t) => {
                let t = self.term(t);
                self.real(*op, vec![t])
            }
            Partial::Bin(op, s, t) => {
                let s = self.term(s);
                let t = self.term(t);
                self.real(*op, vec![s, t])
            }
            Partial::NextPolygamma => {
                let a = self.operand(0);
                self.real(next_polygamma(self.op), vec![a])
            }
            // (a - a % b) / b, whose derivative is 0.
            Partial::TruncatedQuotient => {
                let (a, b) = (self.operand(0), self.operand(1));
                let multiple = self.real(RealOp::Sub, vec![a, self.result.clone()]);
                self.real(RealOp::Div, vec![multiple, b])
            }
            Partial::ZeroWhere(condition, t) => {
                let zero = match (condition, self.operand(1)) {
                    (Condition::Vanishes, _) => {
                        let a = self.operand(0);
                        vanishes(self.b, self.module, a)
                    }
                    (Condition::ZeroBase, Atom::Real(b)) if b > 0.0 => {
                        self.holds(Comparison::Eq, 0)
                    }
                    (Condition::ZeroExponent | Condition::ZeroBase, Atom::Real(_)) => {
                        return self.term(t);
                    }
                    // An exponent that may vary elsewhere: 0 is multiplied, unless the base is 0, too.
                    (Condition::ZeroExponent, _) => {
                        let base = self.holds(Comparison::Eq, 0);
                        let exponent = self.holds(Comparison::Eq, 1);
                        self.b.one(self.module, Op::And(base, exponent))
                    }
                    (Condition::ZeroBase, _) => {
                        let base = self.holds(Comparison::Eq, 0);
                        let exponent = self.holds(Comparison::Gt, 1);
                        self.b.one(self.module, Op::And(base, exponent))
                    }
                };
                let factor = self.term(t);
                self.b.one(self.module, Op::Select(zero, Atom::Real(0.0), factor))
            }
        }
    }
}
