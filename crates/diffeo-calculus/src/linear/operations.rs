//! The analysis of operations and derivative operators.

use super::number::{Constant, Dependence, Number};
use super::value::{Closure, Value};
use super::{Rules, Why};
use crate::names::{prim_name, Named};
use crate::prim::{Comparison, DiffOp, Prim, RealOp};
use crate::term::{Term, TermKind};
use crate::typing::mentions_real;
use diffeo_base::{Name, Span};
use std::rc::Rc;

impl<'p> Rules<'p> {
    /// The result of an operation.
    pub(super) fn operation(
        &mut self,
        prim: &Prim,
        terms: &[Term],
        args: &[Value<'p>],
        span: Span,
    ) -> Value<'p> {
        let plain = || args.iter().fold(Dependence::Free, |on, arg| on.and(&arg.plain()));
        match (prim, args) {
            (Prim::Real(RealOp::Mul), [a, _]) if same_variable(terms) => {
                Value::Any(a.real().squared(span))
            }
            (Prim::Real(op), args) => {
                let numbers: Vec<Number> = args.iter().map(Value::real).collect();
                Value::Any(Number::of(*op, &numbers, span))
            }
            (Prim::PowInt, [base, exponent]) => {
                let (base, on) = (base.real(), exponent.plain());
                let power = match exponent {
                    Value::Plain(Some(n), _) => base.power(&Number::exactly(*n as f64), span),
                    _ => base.power(&Number::FREE, span),
                };
                Value::Any(power).chosen(&on)
            }
            (Prim::Int(_) | Prim::AppendStrings, _) => Value::Plain(None, plain()),
            (Prim::Not, [Value::Plain(Some(b), on)]) => Value::Plain(Some(1 - b), on.clone()),
            (Prim::Not, _) => Value::Plain(None, plain()),
            (Prim::Compare(comparison, ty), [a, b]) => {
                let on = |v: &Value| v.dependence(mentions_real(ty, self.program));
                let both = on(a).and(&on(b));
                let on = match self.perhaps_free(*comparison, [a, b], span) {
                    true => both.perhaps(Why::Comparison, span),
                    false => both.broken(Why::Comparison, span),
                };
                let known = match (comparison, a, b) {
                    (Comparison::Eq, Value::Plain(Some(a), _), Value::Plain(Some(b), _)) => {
                        Some(i64::from(a == b))
                    }
                    _ => None,
                };
                Value::Plain(known, on)
            }
            (Prim::ToReal, [Value::Plain(Some(n), on)]) => {
                Value::Any(Number::exactly(*n as f64)).chosen(on)
            }
            (Prim::ToReal, _) => Value::Any(Number::FREE).chosen(&plain()),
            (Prim::Round(_), [x]) => Value::Plain(None, x.real().on.broken(operation(prim), span)),
            (Prim::IsNan, [x]) => match x.real().on {
                // No nan is assumed: where the number is nan, so are its derivatives.
                Dependence::Free => Value::Plain(Some(0), Dependence::Free),
                on => Value::Plain(None, on.perhaps(Why::Comparison, span)),
            },

            (Prim::Add(_), [a, b]) => a.zip(b, &mut |a, b| a.plus(b)),
            (Prim::Sub(_), [a, b]) => a.zip(b, &mut |a, b| a.plus(&b.negated())),
            (Prim::Neg(_), [a]) => a.numbers(&mut Number::negated),
            (Prim::Scale(_), [r, x]) => {
                let r = r.real();
                x.numbers(&mut |x| r.times(x, span))
            }
            (Prim::Unscale(_), [x, r]) => {
                let r = r.real();
                x.numbers(&mut |x| x.over(&r, span))
            }
            (Prim::MulElements(_), [a, b]) => a.zip(b, &mut |a, b| a.times(b, span)),
            (Prim::DivElements(_), [a, b]) => a.zip(b, &mut |a, b| a.over(b, span)),
            (Prim::ZeroOf(_), [x]) => x.numbers(&mut |_| Number::ZERO),
            (Prim::Inner(_), [a, b]) => {
                let mut sum = Number::ZERO;
                let products = a.zip(b, &mut |a, b| a.times(b, span));
                let mut add = |n: &Number| sum = sum.plus(&n.summed());
                products.leaves(&mut add, &mut |_| {}, &mut |_| {});
                Value::Any(sum).chosen(&products.dependence(false))
            }
            (Prim::Ravel(_), [x]) => {
                Value::Array(Rc::new(Value::Any(x.real())), x.dependence(false))
            }
            (Prim::Unravel(_), [x, reals]) => {
                let n = reals.real();
                x.numbers(&mut |_| n.clone())
            }

            (Prim::Length(_), [xs]) => Value::Plain(None, length(xs)),
            (Prim::Index(ty), [xs, i]) => element(xs).typed(ty, self.program).chosen(&i.plain()),
            (Prim::Slice(_), [xs, lo, hi]) => {
                let on = length(xs).and(&lo.plain()).and(&hi.plain());
                Value::Array(Rc::new(element(xs)), on)
            }
            (Prim::Update(_), [xs, indices @ .., new]) => {
                let on = indices.iter().fold(Dependence::Free, |on, i| on.and(&i.plain()));
                self.updated(xs, indices.len(), new).chosen(&on)
            }
            (Prim::Append(_), [xs, ys]) => {
                let element = element(xs).with(&element(ys), &self.lost);
                Value::Array(Rc::new(element), length(xs).and(&length(ys)))
            }
            (Prim::Flatten(_), [rows]) => {
                let row = element(rows);
                Value::Array(Rc::new(element(&row)), length(rows).and(&length(&row)))
            }
            (Prim::Sum(_), [xs]) => match element(xs) {
                Value::Never => Value::Any(Number::ZERO),
                one => one.numbers(&mut Number::summed).chosen(&length(xs)),
            },
            (Prim::ArgSort(ty), [xs]) => {
                let on = xs.dependence(mentions_real(ty, self.program));
                let index = Value::Plain(None, on.broken(operation(prim), span));
                Value::Array(Rc::new(index), length(xs))
            }

            (Prim::Labels(_) | Prim::Sizes(..), args) => {
                let on = args.iter().fold(Dependence::Free, |on, x| on.and(&x.dependence(false)));
                Value::Any(Number::FREE).chosen(&on)
            }
            (Prim::Text(_) | Prim::Show(_), args) => {
                let reals = !matches!(prim, Prim::Show(ty) if !mentions_real(ty, self.program));
                let on = args.iter().fold(Dependence::Free, |on, x| on.and(&x.dependence(reals)));
                Value::Any(Number::FREE).chosen(&on.broken(operation(prim), span))
            }
            (Prim::Fail(_), _) => Value::Never,
            (Prim::Trace(_) | Prim::Progress(_), [.., x]) => x.clone(),

            (Prim::Warn, _) => Value::PLAIN,

            // The papers' systems make it: no program that is analysed has it. The others have as many operands as
            // stand above.
            (
                Prim::Lift(_)
                | Prim::PowInt
                | Prim::Compare(..)
                | Prim::Round(_)
                | Prim::IsNan
                | Prim::Add(_)
                | Prim::Sub(_)
                | Prim::Neg(_)
                | Prim::Scale(_)
                | Prim::Unscale(_)
                | Prim::MulElements(_)
                | Prim::DivElements(_)
                | Prim::ZeroOf(_)
                | Prim::Inner(_)
                | Prim::Ravel(_)
                | Prim::Unravel(_)
                | Prim::Length(_)
                | Prim::Index(_)
                | Prim::Slice(_)
                | Prim::Update(_)
                | Prim::Append(_)
                | Prim::Flatten(_)
                | Prim::Sum(_)
                | Prim::ArgSort(_)
                | Prim::Trace(_)
                | Prim::Progress(_),
                _,
            ) => Value::Never,
        }
    }

    /// Whether a comparison of what is made of the tangent may come out the same for all tangents. Whether a number is
    /// finite is so where the number is linear; and that two are equal may matter in the library, but at points where it
    /// decides between results that agree.
    fn perhaps_free(&self, comparison: Comparison, of: [&Value<'p>; 2], span: Span) -> bool {
        let infinite = |v: &Value| matches!(v, Value::Any(n) if n.constant == Constant::Infinite);
        let equality = matches!(comparison, Comparison::Eq | Comparison::Ne);
        of.into_iter().any(infinite) || (equality && self.in_library(span))
    }

    /// An array with an element replaced, so many indices deep.
    fn updated(&self, xs: &Value<'p>, indices: usize, new: &Value<'p>) -> Value<'p> {
        match (xs, indices) {
            (xs, 0) => xs.with(new, &self.lost),
            (Value::Array(element, on), _) => {
                Value::Array(Rc::new(self.updated(element, indices - 1, new)), on.clone())
            }
            (other, _) => Value::Any(other.real().or(&new.real(), true)),
        }
    }

    /// The result of a derivative operator.
    pub(super) fn derivative(&mut self, op: DiffOp, args: &[Value<'p>], span: Span) -> Value<'p> {
        match (op, args) {
            (DiffOp::StopGradient, [x]) => x.numbers(&mut |n| match n.on {
                Dependence::Free => n.clone(),
                _ => {
                    let stopped = Why::Operation("stop_gradient".into());
                    Number::new(n.constant, n.on.broken(stopped, span))
                }
            }),
            (DiffOp::Checkpoint | DiffOp::AllPaths, [f, x]) => self.apply(f, x, span),
            (DiffOp::Deciding, [f, _, x]) => self.apply(f, x, span),
            (DiffOp::Decisions | DiffOp::Enclose | DiffOp::Dependence, _) => Value::PLAIN,
            (DiffOp::WithExactDerivative, [f, _, x]) => self.apply(f, x, span),
            (DiffOp::WithDerivative, [f, _, x]) => {
                // How the value varies, the rule says, which may say anything.
                self.apply(f, x, span).numbers(&mut |n| {
                    let on = match n.on {
                        Dependence::Free => Dependence::Free,
                        _ => n.on.hidden(Why::Rule, span),
                    };
                    Number { on, ..Number::FREE }
                })
            }
            (DiffOp::Jvp, [f, x, change]) => {
                let (y, _) = self.function(f, x, span);
                let change = change.real();
                let dy = y.numbers(&mut |n| n.along(&change, span));
                Value::tuple([y, dy])
            }
            (DiffOp::Rd, [f, x, change]) | (DiffOp::RdAlong, [f, _, x, change]) => {
                let (_, of) = self.function(f, x, span);
                let change = of.along(&change.real(), span);
                x.numbers(&mut |_| change.clone())
            }
            (DiffOp::Vjp, [f, x]) => {
                let (y, of) = self.function(f, x, span);
                let pullback = Closure::Pullback(Rc::new((x.clone(), of)));
                Value::tuple([y, Value::function(pullback)])
            }
            (DiffOp::Jet { .. }, [f, x]) => {
                let (y, of) = self.function(f, x, span);
                if y == Value::Never {
                    return y;
                }
                let on = y.dependence(false);
                Value::Any(of.along(&Number::FREE, span)).chosen(&on)
            }
            (
                DiffOp::StopGradient
                | DiffOp::Checkpoint
                | DiffOp::WithExactDerivative
                | DiffOp::WithDerivative
                | DiffOp::AllPaths
                | DiffOp::Jvp
                | DiffOp::Rd
                | DiffOp::RdAlong
                | DiffOp::Vjp
                | DiffOp::Jet { .. }
                | DiffOp::Deciding,
                _,
            ) => Value::Never,
        }
    }

    /// What a function that is differentiated gives at a point, and a number that all Reals in it are whatever Reals the
    /// point has.
    fn function(&mut self, f: &Value<'p>, x: &Value<'p>, span: Span) -> (Value<'p>, Number) {
        let on = x.dependence(true).hidden(Why::Derivative, span);
        let x = x.numbers(&mut |_| Number { on: on.clone(), ..Number::FREE });
        let y = self.apply(f, &x, span);
        let of = y.total().map_or(Number::FREE, |of| Number { on: of.on.and(&on), ..of });
        (y, of)
    }
}

/// An array's element.
fn element<'p>(xs: &Value<'p>) -> Value<'p> {
    match xs {
        Value::Array(element, _) => (**element).clone(),
        other => other.clone(),
    }
}

/// How an array's length depends on the tangent.
fn length(xs: &Value) -> Dependence {
    match xs {
        Value::Array(_, on) => on.clone(),
        other => other.dependence(false),
    }
}

/// Whether both operands are one variable.
fn same_variable(terms: &[Term]) -> bool {
    match terms {
        [a, b] => match (&a.kind, &b.kind) {
            (TermKind::Var(a), TermKind::Var(b)) => a.id == b.id,
            _ => false,
        },
        _ => false,
    }
}

/// An operation by the name that users know.
fn operation(prim: &Prim) -> Why {
    let name = match prim {
        Prim::Round(rounding) => rounding.name().to_string(),
        prim => prim_name(prim).0,
    };
    Why::Operation(Name::new(name.trim_start_matches("text.")))
}
