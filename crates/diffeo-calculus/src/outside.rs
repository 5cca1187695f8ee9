//! Derivatives that are asked for from outside a program, as definitions in it.
//!
//! What comes in: a program and a definition, a function `f : S → T` between first-order types. What goes out: the
//! program with one more definition, which takes and gives data alone, so that whatever runs programs can run it. It
//! has no name: messages name the functions that it calls.

use crate::build::*;
use crate::prim::{Comparison, Diff, DiffOp, Prim};
use crate::term::next_variable;
use crate::term::{Binder, Global, GlobalId, Program, Term, TermKind, Var};
use crate::ty::Ty;
use crate::typing::{declares_real, jet_type};
use diffeo_base::{Name, Span};
use std::rc::Rc;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Asked {
    /// `S → (Real, S)`, of a function to Real: value and gradient.
    Gradient,
    /// `S → (T, []S)`: the value, and the gradient of each Real in it.
    Gradients,
    /// `(S, T) → (T, S)`: the value, and what the pullback makes of a cotangent.
    Pullback,
    /// `(S, S) → (T, T)`: the value, and the derivative along a tangent.
    Pushforward,
    /// `J(S) → J(T)`: the derivatives in `k` variables up to order `r`.
    Jet {
        /// The number of variables.
        k: u32,
        /// The order.
        r: u32,
    },
}

/// The program with such a derivative of a definition, and where it is; at a point that is a definition as well, it is
/// the pair of the point and the derivative there. None if the definition is no function to Real for
/// [`Asked::Gradient`], or there is no type for the jets of its types.
pub fn asked(
    program: &Program,
    f: GlobalId,
    what: Asked,
    point: Option<GlobalId>,
) -> Option<(Program, GlobalId)> {
    let Ty::Fun(types) = &program.globals[f.0 as usize].ty else { return None };
    let (s, t) = (types.0.clone(), types.1.clone());
    let (from, to) = match what {
        Asked::Gradient if t != Ty::Real => return None,
        Asked::Gradient => (s.clone(), pair(&t, &s)),
        Asked::Gradients => (s.clone(), pair(&t, &Ty::array(s.clone()))),
        Asked::Pullback => (pair(&s, &t), pair(&t, &s)),
        Asked::Pushforward => (pair(&s, &s), pair(&t, &t)),
        Asked::Jet { .. } if declares_real(&s, program) || declares_real(&t, program) => {
            return None;
        }
        Asked::Jet { .. } => (jet_type(&s), jet_type(&t)),
    };
    let mut made = program.clone();
    let mut new = Maker { next: next_variable(&made.globals), f: global(f), s, t };
    let x = new.binder("x", from.clone());
    let body = new.derivative(what, &x);
    let mut id = add(&mut made, Ty::fun(from.clone(), to.clone()), lam(x, body));
    if let Some(point) = point {
        let x = new.binder("x", from.clone());
        let there = tuple(vec![from.clone(), to.clone()], vec![var(&x), app(global(id), var(&x))]);
        id = add(&mut made, pair(&from, &to), bind(x, global(point), there));
    }
    Some((made, id))
}

/// A derivative by some of the arguments of a function `f : (S₁, …, Sₙ) → T`. The arguments by which it is taken make up
/// `W`: the type of one, or the tuple of several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum By {
    /// `S → W`, of a function to Real.
    Gradient,
    /// `S → (Real, W)`, of a function to Real.
    ValueAndGradient,
    /// `(S, T) → (T, W)`: the value, and what the pullback makes of a cotangent.
    Vjp,
    /// `(S, W) → (T, T)`: the value, and the derivative along a tangent.
    Jvp,
}

/// The program with such a derivative of a definition, and where it is. None if the definition is no function, has no
/// such arguments, or is no function to Real where one is needed.
pub fn derivative_by(
    program: &Program,
    f: GlobalId,
    what: By,
    arguments: &[usize],
) -> Option<(Program, GlobalId)> {
    let Ty::Fun(types) = &program.globals[f.0 as usize].ty else { return None };
    let (s, t) = (types.0.clone(), types.1.clone());
    if matches!(what, By::Gradient | By::ValueAndGradient) && t != Ty::Real {
        return None;
    }
    let all = match &s {
        Ty::Tuple(parts) => parts.to_vec(),
        ty => vec![ty.clone()],
    };
    let chosen: Option<Vec<Ty>> = arguments.iter().map(|i| all.get(*i).cloned()).collect();
    let chosen = chosen.filter(|chosen| !chosen.is_empty())?;
    let w = Ty::tuple(chosen.clone());
    let from = match what {
        By::Gradient | By::ValueAndGradient => s.clone(),
        By::Vjp => pair(&s, &t),
        By::Jvp => pair(&s, &w),
    };
    let to = match what {
        By::Gradient => w.clone(),
        By::ValueAndGradient | By::Vjp => pair(&t, &w),
        By::Jvp => pair(&t, &t),
    };
    let mut made = program.clone();
    let mut next = next_variable(&made.globals);
    let (x, at) = (binder(&mut next, "x", from.clone()), binder(&mut next, "at", s.clone()));
    let z = binder(&mut next, "z", w.clone());
    // The function of the chosen arguments, and where they are.
    let moved = all.iter().enumerate().map(|(i, _)| match arguments.iter().position(|a| *a == i) {
        Some(place) => part(&chosen, place, var(&z)),
        None => part(&all, i, var(&at)),
    });
    let function = lam(z.clone(), app(global(f), tuple(all.clone(), moved.collect())));
    let here = tuple(chosen.clone(), arguments.iter().map(|i| part(&all, *i, var(&at))).collect());
    // The point, and the cotangent or tangent.
    let (point, along) = match what {
        By::Gradient | By::ValueAndGradient => (var(&x), real(1.0)),
        By::Vjp => (part(&[s.clone(), t.clone()], 0, var(&x)), part(&[s, t.clone()], 1, var(&x))),
        By::Jvp => (part(&[s.clone(), w.clone()], 0, var(&x)), part(&[s, w.clone()], 1, var(&x))),
    };
    let mut new = Maker { next, f: function, s: w.clone(), t };
    let body = match what {
        By::Gradient => new.diff(DiffOp::Rd, vec![here, along]),
        By::ValueAndGradient | By::Vjp => new.pulled(here, |_, _, pull| (w, app(pull, along))),
        By::Jvp => new.diff(DiffOp::Jvp, vec![here, along]),
    };
    let body = lam(x, bind(at, point, body));
    let id = add(&mut made, Ty::fun(from, to), body);
    Some((made, id))
}

fn pair(a: &Ty, b: &Ty) -> Ty {
    Ty::tuple(vec![a.clone(), b.clone()])
}

fn add(program: &mut Program, ty: Ty, body: Term) -> GlobalId {
    program.globals.push(Rc::new(Global { name: Name::new(""), ty, body, span: Span::NONE }));
    GlobalId(program.globals.len() as u32 - 1)
}

fn binder(next: &mut u32, name: &str, ty: Ty) -> Binder {
    *next += 1;
    Binder { var: Var { name: Name::new(name), id: *next - 1 }, ty }
}

/// Makes derivatives of a function `f : s → t`.
struct Maker {
    next: u32,
    f: Term,
    s: Ty,
    t: Ty,
}

impl Maker {
    fn binder(&mut self, name: &str, ty: Ty) -> Binder {
        binder(&mut self.next, name, ty)
    }

    fn diff(&self, op: DiffOp, mut args: Vec<Term>) -> Term {
        args.insert(0, self.f.clone());
        term(TermKind::Diff(Diff { op, from: self.s.clone(), to: self.t.clone() }, args))
    }

    fn derivative(&mut self, what: Asked, x: &Binder) -> Term {
        let (s, t) = (self.s.clone(), self.t.clone());
        match what {
            Asked::Gradient => self.pulled(var(x), |_, _, pull| (s, app(pull, real(1.0)))),
            Asked::Gradients => self.pulled(var(x), |new, y, pull| {
                let n = new.binder("n", Ty::Int);
                let (i, j) = (new.binder("i", Ty::Int), new.binder("j", Ty::Int));
                let count = length(&Ty::Real, prim(Prim::Ravel(t.clone()), vec![y.clone()]));
                let here = compare(Comparison::Eq, Ty::Int, var(&i), var(&j));
                let unit = build(var(&n), j, Ty::Real, if_(here, real(1.0), real(0.0)));
                let cotangent = prim(Prim::Unravel(t), vec![y, unit]);
                let rows = build(var(&n), i, s.clone(), app(pull, cotangent));
                (Ty::array(s), bind(n, count, rows))
            }),
            Asked::Pullback => {
                let given = [s.clone(), t];
                let cotangent = part(&given, 1, var(x));
                self.pulled(part(&given, 0, var(x)), |_, _, pull| (s, app(pull, cotangent)))
            }
            Asked::Pushforward => {
                let given = [s.clone(), s];
                self.diff(DiffOp::Jvp, vec![part(&given, 0, var(x)), part(&given, 1, var(x))])
            }
            Asked::Jet { k, r } => self.diff(DiffOp::Jet { k, r }, vec![var(x)]),
        }
    }

    /// The pair of the value at a point, and of what is made of the value and the pullback; with its type.
    fn pulled(&mut self, x: Term, made: impl FnOnce(&mut Self, Term, Term) -> (Ty, Term)) -> Term {
        let types = [self.t.clone(), Ty::fun(self.t.clone(), self.s.clone())];
        let both = self.binder("pulled", Ty::tuple(types.to_vec()));
        let y = self.binder("y", self.t.clone());
        let pull = self.binder("pull", types[1].clone());
        let (ty, more) = made(self, var(&y), var(&pull));
        let bindings = vec![
            (both.clone(), self.diff(DiffOp::Vjp, vec![x])),
            (y.clone(), part(&types, 0, var(&both))),
            (pull, part(&types, 1, var(&both))),
        ];
        bind_all(bindings, tuple(vec![self.t.clone(), ty], vec![var(&y), more]))
    }
}
