//! Arrays, and the operations at every first-order or vector type.

use super::types::{first_order, has_rows};
use super::Generator;
use crate::support::{array, index, int, int2, length, mul, prim, real, slice, update};
use diffeo_calculus::prim::{IntOp, Prim};
use diffeo_calculus::term::{Build, Term, TermKind};
use diffeo_calculus::typing::is_vector;
use diffeo_calculus::Ty;

impl Generator<'_> {
    /// An array of elements of this type.
    pub fn array(&mut self, element: &Ty, size: usize) -> Term {
        let ty = Ty::array(element.clone());
        let mut kinds = vec!["literal", "build", "build", "map", "map", "map"];
        kinds.extend(["slice", "append", "update", "flatten"]);
        if self.features.polytypic {
            kinds.extend(["polytypic"; 3]);
        }
        if *element == Ty::Real && self.features.polytypic {
            kinds.extend(["ravel", "elements"]);
        }
        if *element == Ty::Int {
            kinds.push("argsort");
        }
        if self.features.partial && is_vector(element) {
            kinds.push("any sizes");
        }
        match self.choices.pick(&kinds) {
            "build" => {
                let count = match self.features.partial && self.choices.below(8) == 7 {
                    true => self.term(&Ty::Int, size / 4),
                    false => self.count(size / 4),
                };
                self.build_of(element, count, size - size / 4)
            }
            "map" => self.map(element, size),
            "slice" => {
                let xs = self.term(&ty, size / 2);
                let i = self.count(size / 4);
                self.bind(&ty, xs, false, |g, xs| {
                    let n = length(element.clone(), xs.clone());
                    let i = match g.features.partial {
                        true => i,
                        false => int2(IntOp::Min, i, n.clone()),
                    };
                    let (lo, hi) = if g.choices.flag() { (int(0), i) } else { (i, n) };
                    slice(element.clone(), xs, lo, hi)
                })
            }
            "append" => {
                let xs = self.term(&ty, size / 2);
                prim(Prim::Append(element.clone()), vec![xs, self.term(&ty, size / 2)])
            }
            "update" => {
                // One more element in front, so that there is one.
                let first = self.element(element, size / 4);
                let first = array(element.clone(), vec![first]);
                let xs = self.term(&ty, size / 2);
                let xs = prim(Prim::Append(element.clone()), vec![first, xs]);
                update(ty, xs, int(0), self.element(element, size / 4))
            }
            "flatten" => {
                let rows = self.term(&Ty::array(ty), size);
                prim(Prim::Flatten(element.clone()), vec![rows])
            }
            "polytypic" => match self.polytypic(&ty, size) {
                Some(term) => term,
                None => self.map(element, size),
            },
            "ravel" => {
                let of = self.first_order_type(1);
                prim(Prim::Ravel(of.clone()), vec![self.term(&of, size)])
            }
            "elements" => {
                let xs = self.term(&ty, size / 2);
                self.bind(&ty, xs, false, |g, xs| {
                    if g.choices.flag() {
                        // Divisors are 1.5 + x².
                        let n = length(Ty::Real, xs.clone());
                        let ys = g.build_with(&Ty::Real, n, |g, _| {
                            let x = g.term(&Ty::Real, size / 2);
                            g.bind(&Ty::Real, x, true, |_, x| {
                                crate::support::add(real(1.5), mul(x.clone(), x))
                            })
                        });
                        return prim(Prim::DivElements(ty.clone()), vec![xs, ys]);
                    }
                    let other = g.like(&ty, &xs, size / 2);
                    prim(Prim::MulElements(ty.clone()), vec![xs, other])
                })
            }
            "argsort" => prim(Prim::ArgSort(Ty::Real), vec![self.term(&Ty::array(Ty::Real), size)]),
            "any sizes" => {
                let xs = self.term(&ty, size / 2);
                prim(Prim::Add(ty.clone()), vec![xs, self.term(&ty, size / 2)])
            }
            _ => {
                let count = self.choices.pick(&[2, 3, 1]);
                let mut items = Vec::new();
                for _ in 0..count {
                    let regular = !self.features.partial || self.choices.below(4) > 0;
                    items.push(match regular {
                        true => self.element(element, size / count),
                        false => self.term(element, size / count),
                    });
                }
                array(element.clone(), items)
            }
        }
    }

    /// `build count (λi. M)`, with the index in scope.
    pub fn build_of(&mut self, element: &Ty, count: Term, size: usize) -> Term {
        self.build_with(element, count, |g, _| g.element(element, size))
    }

    fn build_with(
        &mut self,
        element: &Ty,
        count: Term,
        body: impl FnOnce(&mut Self, Term) -> Term,
    ) -> Term {
        let (index, i) = self.binder(&Ty::Int);
        let body = self.repeated(3, |g| g.with(&Ty::Int, &i, true, |g| body(g, i.clone())));
        term_of_build(Build { count, index, body, element: element.clone() })
    }

    /// `build (length xs) (λi. M(xs[i]))`
    fn map(&mut self, element: &Ty, size: usize) -> Term {
        let from = match self.type_in_scope(|ty| matches!(ty, Ty::Array(_))) {
            Some(Ty::Array(element)) => (*element).clone(),
            _ => self.bound_type(),
        };
        let all = Ty::array(from.clone());
        let xs = self.term(&all, size / 2);
        self.bind(&all, xs, false, |g, xs| {
            let n = length(from.clone(), xs.clone());
            g.build_with(element, n, |g, i| {
                let x = index(from.clone(), xs, i);
                let regular = has_rows(&from);
                g.bind(&from, x, regular, |g, _| g.element(element, size / 2))
            })
        })
    }

    /// An operation at any first-order or vector type, if there is one.
    pub fn polytypic(&mut self, ty: &Ty, size: usize) -> Option<Term> {
        let often = matches!(ty, Ty::Array(_)) || is_vector(ty);
        let chosen = self.choices.below(4) > if often { 1 } else { 2 };
        if !self.features.polytypic || !first_order(ty) || !chosen {
            return None;
        }
        let mut kinds = vec!["add", "scale", "add", "scale", "add", "scale", "zero"];
        kinds.extend(self.features.arrays.then_some("unravel"));
        if is_vector(ty) {
            kinds.extend(["sub", "sub", "neg", "neg", "unscale"]);
            kinds.extend(self.features.arrays.then_some("sum"));
        }
        let kind = self.choices.pick(&kinds);
        let (t, all) = (|| ty.clone(), Ty::array(ty.clone()));
        if kind == "scale" {
            let factor = self.term(&Ty::Real, size / 2);
            return Some(prim(Prim::Scale(t()), vec![factor, self.term(ty, size / 2)]));
        }
        if kind == "sum" {
            return Some(prim(Prim::Sum(t()), vec![self.term(&all, size)]));
        }
        let value = self.term(ty, size / 2);
        Some(match kind {
            "neg" => prim(Prim::Neg(t()), vec![value]),
            "zero" => prim(Prim::ZeroOf(t()), vec![value]),
            "unscale" => {
                let by = self.choices.pick(&[2.0, 0.5, -4.0]);
                prim(Prim::Unscale(t()), vec![value, real(by)])
            }
            kind => self.bind(ty, value, false, |g, x| {
                let other = g.like(ty, &x, size / 2);
                match kind {
                    "sub" => prim(Prim::Sub(t()), vec![x, other]),
                    "unravel" => {
                        let reals = prim(Prim::Ravel(t()), vec![other]);
                        prim(Prim::Unravel(t()), vec![x, reals])
                    }
                    _ => prim(Prim::Add(t()), vec![x, other]),
                }
            }),
        })
    }
}

fn term_of_build(build: Build) -> Term {
    crate::support::term(TermKind::Build(Box::new(build)))
}
