//! `jet(k, R, f)` by the (k,R)-Taylor macro: J(T), where every Real is the array of its derivatives, is
//! canonically isomorphic to D_(k,R)(T), where it is the tuple of them, at first-order types T (Huot, Staton
//! & Vákár, section 6, Theorem 8).

use super::super::workspace::Refusal;
use super::super::{homomorphism, numbers, System, Workspace};
use diffeo_base::Span;
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{Comparison, Prim};
use diffeo_calculus::term::{Arm, Case, GlobalId, Term, TermKind};
use diffeo_calculus::ty::{DataId, Ty};
use diffeo_calculus::typing::{declares_real, jet_type};

/// From which of the two to the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    /// J(T) → D(T)
    Tuples,
    /// D(T) → J(T)
    Arrays,
}

/// The isomorphism at one (k,R), in one direction.
struct Isomorphism {
    system: System,
    k: u32,
    r: u32,
    direction: Direction,
}

/// `J(S) → J(T)` of a definition `e : S → T` by its translation: `λx. T ∘ D{e} ∘ S⁻¹`.
pub fn wrapper(w: &mut Workspace, e: GlobalId, k: u32, r: u32) -> GlobalId {
    let source = w.global(e).clone();
    let Ty::Fun(f) = &source.ty else { return e };
    let (s, t) = (f.0.clone(), f.1.clone());
    let system = System::Taylor { k, r };
    let translated = w.translated(&system, e);
    let ty = Ty::fun(jet_type(&s), jet_type(&t));
    w.made(&format!("J({k},{r}){{{}}}", source.name), ty, |w| {
        let x = w.binder("x", jet_type(&s));
        let arg = tuples(w, (k, r), &s, var(&x));
        let result = homomorphism::ty(w, &system, &t);
        let y = w.binder("y", result);
        let body = arrays(w, (k, r), &t, var(&y));
        lam(x, bind(y, app(global(translated), arg), body))
    })
}

/// `J(T) → D(T)`. An array of another length than c stops the program.
pub(crate) fn tuples(w: &mut Workspace, (k, r): (u32, u32), ty: &Ty, x: Term) -> Term {
    let system = System::Taylor { k, r };
    Isomorphism { system, k, r, direction: Direction::Tuples }.apply(w, ty, x)
}

/// `D(T) → J(T)`
pub(crate) fn arrays(w: &mut Workspace, (k, r): (u32, u32), ty: &Ty, x: Term) -> Term {
    let system = System::Taylor { k, r };
    Isomorphism { system, k, r, direction: Direction::Arrays }.apply(w, ty, x)
}

impl Isomorphism {
    /// From which type to which.
    fn types(&self, w: &mut Workspace, ty: &Ty) -> (Ty, Ty) {
        let (tuples, arrays) = (homomorphism::ty(w, &self.system, ty), jet_type(ty));
        match self.direction {
            Direction::Tuples => (arrays, tuples),
            Direction::Arrays => (tuples, arrays),
        }
    }

    /// The function at a type, applied.
    fn apply(&self, w: &mut Workspace, ty: &Ty, x: Term) -> Term {
        if homomorphism::inert(w, ty) {
            return x;
        }
        let (from, to) = self.types(w, ty);
        let name = match self.direction {
            Direction::Tuples => "tuples",
            Direction::Arrays => "arrays",
        };
        let key = format!("{name}[{}; {}]", w.type_text(ty), self.system.symbol());
        let function = w.made(&key, Ty::fun(from.clone(), to), |w| {
            let x = w.binder("x", from);
            let body = self.at_type(w, ty, var(&x));
            lam(x, body)
        });
        app(global(function), x)
    }

    fn at_type(&self, w: &mut Workspace, ty: &Ty, x: Term) -> Term {
        match ty {
            Ty::Real => self.number(w, x),
            Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Param(_) => x,
            Ty::Tuple(_) | Ty::Record(_) => {
                let (from, to) = self.types(w, ty);
                let mut components = Vec::new();
                for (i, t) in ty.components().unwrap_or_default().iter().enumerate() {
                    components.push(self.apply(w, t, proj(&from, i, x.clone())));
                }
                term(TermKind::Tuple(to, components))
            }
            Ty::Array(element) => {
                let (from, to) = self.types(w, element);
                let i = w.binder("i", Ty::Int);
                let body = self.apply(w, element, index(&from, x.clone(), var(&i)));
                build(length(&from, x), i, to, body)
            }
            Ty::Data(id, args) if !declares_real(ty, &w.declarations()) => {
                self.data(w, *id, args, x)
            }
            Ty::Data(..) | Ty::Fun(_) => {
                w.refuse(Refusal {
                    what: "`jet`",
                    reason:
                        "there is no type of its jets for a function, nor for a variant type that \
                             has Reals beside those of its arguments",
                    span: Span::NONE,
                });
                let (_, to) = self.types(w, ty);
                prim(Prim::Fail(to), vec![text("not translated")])
            }
        }
    }

    fn number(&self, w: &mut Workspace, x: Term) -> Term {
        let number = homomorphism::ty(w, &self.system, &Ty::Real);
        let types = number.components().unwrap_or_else(|| vec![Ty::Real]);
        match self.direction {
            Direction::Tuples => {
                let component = |i: i64| index(&Ty::Real, x.clone(), int(i));
                let mut components = vec![component(0)];
                components
                    .extend((1..types.len() as i64).map(|i| numbers::sparse(w, component(i))));
                let count = int(types.len() as i64);
                let fits = compare(Comparison::Eq, Ty::Int, length(&Ty::Real, x), count);
                let message = format!(
                    "`jet({}, {}, …)` takes {} derivatives of a Real",
                    self.k,
                    self.r,
                    types.len()
                );
                let fail = prim(Prim::Fail(number), vec![text(&message)]);
                if_(fits, tuple(types, components), fail)
            }
            Direction::Arrays => {
                let component = |i| numbers::settled(w, part(&types, i, x.clone()));
                term(TermKind::Array(Ty::Real, (0..types.len()).map(component).collect()))
            }
        }
    }

    fn data(&self, w: &mut Workspace, id: DataId, args: &[Ty], x: Term) -> Term {
        let mut froms = Vec::new();
        let mut tos = Vec::new();
        for arg in args {
            let (from, to) = self.types(w, arg);
            froms.push(from);
            tos.push(to);
        }
        // J keeps the declaration, D translates it if functions are in it.
        let translated = w.data(&self.system, id);
        let (from_id, to_id) = match self.direction {
            Direction::Tuples => (id, translated),
            Direction::Arrays => (translated, id),
        };
        let mut arms = Vec::new();
        for tag in 0..w.datas[id.0 as usize].constructors.len() as u32 {
            let mut binders = Vec::new();
            let mut values = Vec::new();
            for field in w.datas[id.0 as usize].fields(tag, args) {
                let (from, _) = self.types(w, &field);
                let binder = w.binder("x", from);
                values.push(self.apply(w, &field, var(&binder)));
                binders.push(binder);
            }
            let body = term(TermKind::Con(to_id, tos.clone().into(), tag, values));
            arms.push(Arm { tag, binders, body });
        }
        let data = (from_id, froms.into());
        term(TermKind::Case(Box::new(Case { scrutinee: x, data, arms, default: None })))
    }
}
