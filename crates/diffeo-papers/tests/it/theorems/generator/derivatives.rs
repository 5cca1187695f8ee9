//! Derivative terms, nested twice at most.

use super::types::{first_order, one_shape};
use super::Generator;
use crate::support::{app, array, diff, index, int, prim, proj, real, reals_ty};
use diffeo_calculus::prim::{DiffOp, Prim};
use diffeo_calculus::term::Term;
use diffeo_calculus::Ty;

/// How deep derivative terms are nested.
const DEEPEST: usize = 2;

impl Generator<'_> {
    /// A derivative term of this type, if it has one here.
    pub fn derivative(&mut self, ty: &Ty, size: usize) -> Option<Term> {
        let f = self.features;
        if f.stop_gradient && (!f.rd && !f.derivatives || self.choices.below(8) == 7) {
            let args = vec![self.term(ty, size)];
            return Some(diff(DiffOp::StopGradient, ty.clone(), ty.clone(), args));
        }
        if self.derivatives == DEEPEST || !first_order(ty) || !(f.rd || f.derivatives) {
            return None;
        }
        let mut kinds = Vec::new();
        kinds.extend(f.rd.then_some(["rd"; 3]).into_iter().flatten());
        if f.derivatives {
            kinds.extend(["jvp", "jvp", "vjp", "vjp", "checkpoint", "rule"]);
        }
        if f.derivatives && *ty == Ty::Real {
            kinds.push("jet");
        }
        self.derivatives += 1;
        let term = match self.choices.pick(&kinds) {
            "jvp" => self.jvp(ty, size),
            "vjp" => self.vjp(ty, size),
            "checkpoint" => {
                let from = self.first_order_type(1);
                let f = self.operand(&from, ty, size / 2);
                let x = self.term(&from, size / 2);
                diff(DiffOp::Checkpoint, from, ty.clone(), vec![f, x])
            }
            "rule" => self.with_derivative(ty, size),
            "jet" => self.jet(size),
            _ => self.rd(ty, size),
        };
        self.derivatives -= 1;
        Some(term)
    }

    /// `rd(f, x, w)`
    fn rd(&mut self, ty: &Ty, size: usize) -> Term {
        if !one_shape(ty) || self.features.functions && self.choices.below(4) == 3 {
            return self.rd_of_any_shape(ty, size);
        }
        let to = self.one_shape_type();
        let f = self.operand(ty, &to, size / 2);
        let x = self.term(ty, size / 4);
        let w = self.term(&to, size / 4);
        diff(DiffOp::Rd, ty.clone(), to, vec![f, x, w])
    }

    /// `let f = …; x = … in let y = f x in rd(f, x, w)` with `w` of the shape of y.
    fn rd_of_any_shape(&mut self, ty: &Ty, size: usize) -> Term {
        let to = if self.features.functions { self.first_order_type(1) } else { Ty::Real };
        if !self.features.functions {
            let f = self.operand(ty, &to, size / 2);
            let x = self.term(ty, size / 4);
            return diff(DiffOp::Rd, ty.clone(), to, vec![f, x, real(1.0)]);
        }
        let fun = Ty::fun(ty.clone(), to.clone());
        let f = self.term(&fun, size / 2);
        self.bind(&fun, f, false, |g, f| {
            let x = g.term(ty, size / 4);
            g.bind(ty, x, false, |g, x| {
                g.bind(&to, app(f.clone(), x.clone()), false, |g, y| {
                    let w = g.like(&to, &y, size / 4);
                    diff(DiffOp::Rd, ty.clone(), to.clone(), vec![f, x, w])
                })
            })
        })
    }

    /// `let x = … in jvp(f, x, v)`, of which it takes the value or the tangent.
    fn jvp(&mut self, ty: &Ty, size: usize) -> Term {
        let from = self.first_order_type(1);
        let x = self.term(&from, size / 4);
        let place = 1 - self.choices.below(5) / 4;
        self.bind(&from, x, false, |g, x| {
            let f = g.operand(&from, ty, size / 2);
            let v = g.like(&from, &x, size / 4);
            let both = diff(DiffOp::Jvp, from.clone(), ty.clone(), vec![f, x, v]);
            proj(&Ty::tuple(vec![ty.clone(), ty.clone()]), place, both)
        })
    }

    /// `let p = vjp(f, x) in …`, with calls of the pullback.
    fn vjp(&mut self, ty: &Ty, size: usize) -> Term {
        let to = self.one_shape_type();
        let f = self.operand(ty, &to, size / 2);
        let x = self.term(ty, size / 4);
        let pair = Ty::tuple(vec![to.clone(), Ty::fun(to.clone(), ty.clone())]);
        let both = diff(DiffOp::Vjp, ty.clone(), to.clone(), vec![f, x]);
        self.bind(&pair, both, false, |g, p| {
            if g.features.functions && g.choices.flag() {
                // The pullback is a function in scope.
                return g.term(ty, size / 2);
            }
            let w = g.term(&to, size / 4);
            let gradient = app(proj(&pair, 1, p.clone()), w);
            if !g.choices.flag() {
                return gradient;
            }
            let w = g.term(&to, size / 4);
            g.bind(ty, gradient, false, |_, first| {
                let second = app(proj(&pair, 1, p), w);
                prim(Prim::Add(ty.clone()), vec![first, second])
            })
        })
    }

    /// `let f = … in with_derivative(f, λ(x, v). jvp(f, x, v), M)`
    fn with_derivative(&mut self, ty: &Ty, size: usize) -> Term {
        let from = self.first_order_type(1);
        let fun = Ty::fun(from.clone(), ty.clone());
        let f = self.operand(&from, ty, size / 2);
        self.bind(&fun, f, false, |g, f| {
            let pair = Ty::tuple(vec![from.clone(), from.clone()]);
            let rule = g.lam(&pair, |_, p| {
                let (x, v) = (proj(&pair, 0, p.clone()), proj(&pair, 1, p));
                diff(DiffOp::Jvp, from.clone(), ty.clone(), vec![f.clone(), x, v])
            });
            let x = g.term(&from, size / 2);
            diff(DiffOp::WithDerivative, from, ty.clone(), vec![f, rule, x])
        })
    }

    /// A derivative in `jet(k, r, f, x)` of a function of a Real or of two.
    fn jet(&mut self, size: usize) -> Term {
        let ((k, r), count) =
            self.choices.pick(&[((1, 1), 2), ((1, 2), 3), ((2, 1), 3), ((2, 2), 6)]);
        let reals = self.choices.pick(&[1, 2]);
        let from = Ty::tuple(vec![Ty::Real; reals]);
        let f = self.operand(&from, &Ty::Real, size / 2);
        let mut items = Vec::new();
        for _ in 0..reals {
            let derivatives =
                (0..count).map(|_| self.term(&Ty::Real, size / (2 * count))).collect();
            items.push(array(Ty::Real, derivatives));
        }
        let point = match items.len() {
            1 => items.remove(0),
            _ => crate::support::tuple(&vec![reals_ty(); reals], items),
        };
        let all = diff(DiffOp::Jet { k, r }, from, Ty::Real, vec![f, point]);
        index(Ty::Real, all, int(self.choices.below(count) as i64))
    }
}
