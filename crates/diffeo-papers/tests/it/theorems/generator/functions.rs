//! Functions, recursion, folds, loops and further definitions. All of them end: a recursion counts down from
//! three at most whatever it is called with, or goes down a list.

use super::types::{LIST, MAYBE};
use super::Generator;
use crate::support::{
    add, app, global, iadd, if_, ilt, imul, int, isub, list_ty, lt, mul, proj, real, sub, term,
};
use diffeo_calculus::term::{Arm, Binder, Case, Control, Loop, Term, TermKind};
use diffeo_calculus::Ty;
use std::rc::Rc;

impl Generator<'_> {
    /// `λx:from. body(x)`, with `x` in scope of the body.
    pub fn lam(&mut self, from: &Ty, body: impl FnOnce(&mut Self, Term) -> Term) -> Term {
        let (binder, x) = self.binder(from);
        self.lambdas += 1;
        let body = self.with(from, &x, false, |g| body(g, x.clone()));
        self.lambdas -= 1;
        term(TermKind::Lam(binder, Box::new(body)))
    }

    /// A function: a λ, or one made from others.
    pub fn function(&mut self, from: &Ty, to: &Ty, size: usize) -> Term {
        let fun = Ty::fun(from.clone(), to.clone());
        match self.choices.below(5) {
            // One that calls another.
            3 => {
                let middle = self.ty(1);
                let first = Ty::fun(from.clone(), middle.clone());
                let second = Ty::fun(middle.clone(), to.clone());
                let f = self.term(&first, size / 2);
                self.bind(&first, f, false, |g, f| {
                    let h = g.term(&second, size / 2);
                    g.bind(&second, h, false, |g, h| g.lam(from, |_, x| app(h, app(f, x))))
                })
            }
            // One that a function gives.
            4 => {
                let first = self.ty(1);
                let curried = Ty::fun(first.clone(), fun);
                app(self.term(&curried, size / 2), self.term(&first, size / 2))
            }
            _ => self.lam(from, |g, _| g.term(to, size)),
        }
    }

    /// The argument of a derivative term. Without functions as values, a λ.
    pub fn operand(&mut self, from: &Ty, to: &Ty, size: usize) -> Term {
        match self.features.functions {
            true => self.term(&Ty::fun(from.clone(), to.clone()), size),
            false => self.lam(from, |g, _| g.term(to, size)),
        }
    }

    /// What recursion counts: Int where there are Ints.
    fn counter(&mut self) -> Ty {
        match self.features.leaves && !self.choices.flag() {
            true => Ty::Int,
            false => Ty::Real,
        }
    }

    /// The body of a recursive function of `(counter, a)`: `if (n - 2)² is too large then M else N` where N
    /// calls `again` with n - 1. It recurs for n near 1, 2 and 3 alone.
    fn counting(&mut self, pair: &Ty, to: &Ty, again: &Term, p: Term, size: usize) -> Term {
        let types = pair.components().unwrap_or_default();
        let (counter, state) = (&types[0], &types[1]);
        let n = proj(pair, 0, p.clone());
        let done = match counter {
            Ty::Int => {
                let m = isub(n.clone(), int(2));
                ilt(int(1), imul(m.clone(), m))
            }
            _ => {
                let m = sub(n.clone(), real(2.0));
                lt(real(2.25), mul(m.clone(), m))
            }
        };
        let base = self.term(to, size / 4);
        let calls = self.choices.pick(&[1, 1, 2, 0]);
        let rest = self.repeated(3, |g| {
            let next = |g: &mut Self, size| {
                let less = match counter {
                    Ty::Int => isub(n.clone(), int(1)),
                    _ => sub(n.clone(), real(1.0)),
                };
                let state = g.term(state, size);
                app(again.clone(), term(TermKind::Tuple(pair.clone(), vec![less, state])))
            };
            match calls {
                0 => g.term(to, size / 2),
                1 if g.choices.below(3) == 0 => next(g, size / 2),
                1 => {
                    let result = next(g, size / 4);
                    g.bind(to, result, false, |g, _| g.term(to, size / 2))
                }
                _ => {
                    let first = next(g, size / 8);
                    g.bind(to, first, false, |g, _| {
                        let second = next(g, size / 8);
                        g.bind(to, second, false, |g, _| g.term(to, size / 2))
                    })
                }
            }
        });
        if_(done, base, rest)
    }

    /// A call of a counting function.
    fn start(&mut self, pair: &Ty, function: Term, size: usize) -> Term {
        let types = pair.components().unwrap_or_default();
        let count = match types[0] {
            Ty::Int => self.count(size / 2),
            _ if self.choices.below(3) == 2 => self.term(&Ty::Real, size / 2),
            _ => real(self.choices.pick(&[2.0, 1.0, 3.0])),
        };
        let state = self.term(&types[1], size / 2);
        app(function, term(TermKind::Tuple(pair.clone(), vec![count, state])))
    }

    /// `letrec go = λp. … in N` with a call of `go` in N, and `go` in its scope.
    pub fn recursion(&mut self, ty: &Ty, size: usize) -> Term {
        let pair = Ty::tuple(vec![self.counter(), self.bound_type()]);
        let to = match self.choices.flag() {
            false => ty.clone(),
            true => self.bound_type(),
        };
        let fun = Ty::fun(pair.clone(), to.clone());
        let (binder, go) = self.binder(&fun);
        let body = self.closed(|g| {
            g.lam(&pair, |g, p| {
                if g.features.partial && g.choices.below(4) == 3 {
                    return g.perhaps_endless(&pair, &to, &go, p, size / 2);
                }
                g.counting(&pair, &to, &go, p, size / 2)
            })
        });
        let rest = self.with(&fun, &go, false, |g| {
            if to == *ty && !g.choices.flag() {
                return g.start(&pair, go.clone(), size / 2);
            }
            let first = g.start(&pair, go.clone(), size / 4);
            g.bind(&to, first, false, |g, _| g.term(ty, size / 4))
        });
        term(TermKind::LetRec(binder, Box::new(body), Box::new(rest)))
    }

    /// `if c then M else go(p')`, which need not end.
    fn perhaps_endless(&mut self, pair: &Ty, to: &Ty, go: &Term, p: Term, size: usize) -> Term {
        let condition = self.condition(size / 4);
        let base = self.term(to, size / 2);
        let types = pair.components().unwrap_or_default();
        let n = proj(pair, 0, p);
        let next = match types[0] {
            Ty::Int => iadd(n, int(1)),
            _ => mul(n, real(2.0)),
        };
        let state = self.term(&types[1], size / 4);
        let again = app(go.clone(), term(TermKind::Tuple(pair.clone(), vec![next, state])));
        if_(condition, base, again)
    }

    /// `letrec go = λl. case l of Nil -> M | Cons(h, t) -> let r = go t in N in go L`: `foldr`.
    pub fn fold(&mut self, ty: &Ty, size: usize) -> Term {
        let element = match self.type_in_scope(|ty| matches!(ty, Ty::Data(LIST, _))) {
            Some(Ty::Data(_, args)) => args[0].clone(),
            _ => self.bound_type(),
        };
        let list = list_ty(element.clone());
        let to = ty.clone();
        let (binder, go) = self.binder(&Ty::fun(list.clone(), to.clone()));
        let body = self.closed(|g| {
            g.lam(&list, |g, l| {
                let empty = g.term(&to, size / 6);
                let (head, h) = g.binder(&element);
                let (tail, t) = g.binder(&list);
                let more = g.repeated(3, |g| {
                    g.with(&element, &h, false, |g| {
                        g.with(&list, &t, false, |g| {
                            let rest = app(go.clone(), t.clone());
                            g.bind(&to, rest, false, |g, _| g.term(&to, size / 3))
                        })
                    })
                });
                let arms = vec![
                    Arm { tag: 0, binders: vec![], body: empty },
                    Arm { tag: 1, binders: vec![head, tail], body: more },
                ];
                let data = (LIST, Rc::new([element.clone()]) as Rc<[Ty]>);
                let case = Case { scrutinee: l, data, arms, default: None };
                term(TermKind::Case(Box::new(case)))
            })
        });
        let list = self.term(&list, size / 3);
        term(TermKind::LetRec(binder, Box::new(body), Box::new(app(go, list))))
    }

    /// A loop whose state has this type; a conditional one counts, too.
    pub fn loop_form(&mut self, ty: &Ty, size: usize) -> Term {
        if self.choices.flag() {
            return self.while_form(ty, size);
        }
        let init = self.term(ty, size / 3);
        let count = self.count(size / 6);
        let (state, s) = self.binder(ty);
        let (index, i) = self.binder(&Ty::Int);
        let body = self.repeated(3, |g| {
            g.with(&Ty::Int, &i, true, |g| g.with(ty, &s, false, |g| g.term(ty, size / 2)))
        });
        let control = Control::Count { index, count };
        term(TermKind::Loop(Box::new(Loop { state, init, control, body })))
    }

    /// `loop (n, s) while n < 3 and c do (n + 1, M)`
    fn while_form(&mut self, ty: &Ty, size: usize) -> Term {
        let counter = self.counter();
        let pair = Ty::tuple(vec![counter.clone(), ty.clone()]);
        let zero = if counter == Ty::Int { int(0) } else { real(0.0) };
        let init = self.term(ty, size / 3);
        let init = Generator::pair([&counter, ty], [zero, init]);
        let (state, s) = self.binder(&pair);
        let n = proj(&pair, 0, s.clone());
        let (goes_on, next) = match counter {
            Ty::Int => (ilt(n.clone(), int(3)), iadd(n, int(1))),
            _ => (lt(n.clone(), real(2.5)), add(n, real(1.0))),
        };
        let (condition, body) = self.repeated(3, |g| {
            g.with(&pair, &s, false, |g| {
                let condition = match g.features.conditionals && g.features.leaves {
                    true if g.choices.flag() => {
                        let more = g.condition(size / 6);
                        if_(goes_on, more, crate::support::boolean(false))
                    }
                    _ => goes_on,
                };
                (condition, g.term(ty, size / 2))
            })
        });
        let body = Generator::pair([&counter, ty], [next, body]);
        let control = Control::While(condition);
        let result = term(TermKind::Loop(Box::new(Loop { state, init, control, body })));
        proj(&pair, 1, result)
    }

    /// A further definition: a constant, a function, or two functions that call each other.
    pub fn helper(&mut self, size: usize) {
        let number = self.globals.len();
        let outer = self.features;
        match self.choices.below(if outer.recursion { 4 } else { 2 }) {
            0 => {
                let (from, to) = (self.bound_type(), self.bound_type());
                let body = self.lam(&from, |g, _| g.term(&to, size));
                self.define(&format!("f{number}"), Ty::fun(from, to), body);
            }
            1 => {
                let ty = self.bound_type();
                let body = self.term(&ty, size / 2);
                self.define(&format!("c{number}"), ty, body);
            }
            _ => {
                let pair = Ty::tuple(vec![self.counter(), self.bound_type()]);
                let to = self.bound_type();
                let fun = Ty::fun(pair.clone(), to.clone());
                let ids = [number as u32 + 1, number as u32];
                let bodies = ids.map(|other| {
                    self.lam(&pair, |g, p| g.counting(&pair, &to, &global(other), p, size / 2))
                });
                for (i, body) in bodies.into_iter().enumerate() {
                    self.define(&format!("g{}", number + i), fun.clone(), body);
                }
            }
        }
    }
}

/// `case m of Nothing -> none | Just(x) -> some` for a Maybe of Reals.
pub fn case_maybe(scrutinee: Term, none: Term, x: Binder, some: Term) -> Term {
    let arms = vec![
        Arm { tag: 0, binders: vec![], body: none },
        Arm { tag: 1, binders: vec![x], body: some },
    ];
    let data = (MAYBE, Rc::new([Ty::Real]) as Rc<[Ty]>);
    term(TermKind::Case(Box::new(Case { scrutinee, data, arms, default: None })))
}
