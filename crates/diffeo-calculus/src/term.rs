//! The terms of Core.
//!
//! Invariants (checked by `lint`): every binder has its type and an id that no other binder of the
//! program has; no inference variables; `Case` arms have distinct tags in rising order and cover the
//! type unless there is a default; the bound term of `LetRec` is a `Lam`.
//! Evaluation is strict and left to right in the order in which the fields of a form are listed.

use crate::prim::{Diff, DiffOp, Prim};
use crate::ty::{DataDecl, DataId, Ty};
use diffeo_base::deep;
use diffeo_base::{FileId, Name, Span};
use serde::{Serialize, Serializer};
use std::rc::Rc;

/// A whole program: what is reachable from its entry points.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Program {
    /// The variant types.
    pub datas: Vec<DataDecl>,
    /// The definitions, in any order, mutually recursive.
    pub globals: Vec<Rc<Global>>,
    /// The files of the standard library. What happens in them is reported at the call that led there.
    pub library: Vec<FileId>,
}

impl Program {
    /// Whether a function has a rule for its derivative that may say anything.
    #[must_use]
    pub fn has_inexact_rules(&self) -> bool {
        let mut pending: Vec<&Term> = self.globals.iter().map(|global| &global.body).collect();
        while let Some(term) = pending.pop() {
            if matches!(&term.kind, TermKind::Diff(diff, _) if diff.op == DiffOp::WithDerivative) {
                return true;
            }
            term.each_child(|child| pending.push(child));
        }
        false
    }
}

/// The index of a definition in [`Program::globals`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct GlobalId(pub u32);

/// A definition. One whose body is a [`TermKind::Lam`] is a function; any other is a constant, evaluated
/// once, when it is first needed.
#[derive(Clone, Debug, Serialize)]
pub struct Global {
    /// Its name: the source name, with the type arguments for an instance of a polymorphic definition.
    pub name: Name,
    /// Its type.
    pub ty: Ty,
    /// Its value.
    pub body: Term,
    /// Where its name is defined.
    pub span: Span,
}

/// A variable: unique by `id`; the name is for people.
#[derive(Clone, Debug, Serialize)]
pub struct Var {
    /// The source name.
    pub name: Name,
    /// Unique in the program.
    pub id: u32,
}

impl PartialEq for Var {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
impl Eq for Var {}
impl std::hash::Hash for Var {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// A variable where it is bound.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Binder {
    /// The variable.
    pub var: Var,
    /// Its type.
    pub ty: Ty,
}

/// A term with its place in the source.
#[derive(Clone, Debug)]
pub struct Term {
    /// What it is.
    pub kind: TermKind,
    /// The expression it was made from.
    pub span: Span,
}

/// A literal.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub enum Lit {
    /// A real number.
    Real(f64),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A text.
    String(Name),
    /// `()`.
    Unit,
}

/// What a term is.
#[derive(Clone, Debug, Serialize)]
pub enum TermKind {
    /// A local variable.
    Var(Var),
    /// A definition.
    Global(GlobalId),
    /// A literal.
    Lit(Lit),
    /// `λx:T. M`
    Lam(Binder, Box<Term>),
    /// `M N`
    App(Box<Term>, Box<Term>),
    /// Bindings in order, each in scope of the following ones and of the body.
    Let(Vec<(Binder, Term)>, Box<Term>),
    /// `letrec f:S→T = λx:S. M in N`
    LetRec(Binder, Box<Term>, Box<Term>),
    /// A tuple or record (components in the order of the type), with its type.
    Tuple(Ty, Vec<Term>),
    /// A component of a tuple or record of this type.
    Proj(Ty, usize, Box<Term>),
    /// A constructor at its type arguments, applied to all its fields.
    Con(DataId, Rc<[Ty]>, u32, Vec<Term>),
    /// Case distinction over a variant type.
    Case(Box<Case>),
    /// `if M then N else L`
    If(Box<Term>, Box<Term>, Box<Term>),
    /// An array of elements of this type.
    Array(Ty, Vec<Term>),
    /// `build n (λi. M)`
    Build(Box<Build>),
    /// A counted or conditional loop.
    Loop(Box<Loop>),
    /// A primitive operation applied to all its arguments.
    Prim(Prim, Vec<Term>),
    /// A derivative term.
    Diff(Diff, Vec<Term>),
}

/// A case distinction.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// What is looked at.
    pub scrutinee: Term,
    /// The variant type and its arguments.
    pub data: (DataId, Rc<[Ty]>),
    /// The arms, by rising tag.
    pub arms: Vec<Arm>,
    /// For the tags without an arm.
    pub default: Option<Term>,
}

/// An arm of a case distinction.
#[derive(Clone, Debug, Serialize)]
pub struct Arm {
    /// The constructor.
    pub tag: u32,
    /// One binder for each of its fields.
    pub binders: Vec<Binder>,
    /// The result.
    pub body: Term,
}

/// `build count (λindex. body)`: `index` runs from 0; a negative count is a run-time error.
#[derive(Clone, Debug, Serialize)]
pub struct Build {
    /// How many elements.
    pub count: Term,
    /// The index, an Int.
    pub index: Binder,
    /// The element.
    pub body: Term,
    /// The type of an element.
    pub element: Ty,
}

/// `state = init; repeat state = body`; its value is the last state.
#[derive(Clone, Debug, Serialize)]
pub struct Loop {
    /// The state.
    pub state: Binder,
    /// Its first value.
    pub init: Term,
    /// How often.
    pub control: Control,
    /// Its next value.
    pub body: Term,
}

/// What drives a loop.
#[derive(Clone, Debug, Serialize)]
pub enum Control {
    /// `index` from 0 to below `count`, which is evaluated once, after `init`. A count below 1 means no step.
    Count {
        /// The index, an Int.
        index: Binder,
        /// The number of steps.
        count: Term,
    },
    /// As long as this holds of `state`.
    While(Term),
}

impl Serialize for Term {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        deep(|| (&self.kind, self.span).serialize(to))
    }
}

impl Term {
    /// A term at a place.
    pub fn new(kind: TermKind, span: Span) -> Term {
        Term { kind, span }
    }
}

/// Goes over the terms directly within one, in the order of evaluation. For references of both kinds.
macro_rules! children {
    ($kind:expr, $see:expr, $content:ident) => {
        match $kind {
            TermKind::Var(_) | TermKind::Global(_) | TermKind::Lit(_) => {}
            TermKind::Lam(_, body) | TermKind::Proj(_, _, body) => $see(body),
            TermKind::App(f, x) => {
                $see(f);
                $see(x);
            }
            TermKind::Let(bindings, body) => {
                for (_, value) in bindings {
                    $see(value);
                }
                $see(body);
            }
            TermKind::LetRec(_, f, body) => {
                $see(f);
                $see(body);
            }
            TermKind::Case(case) => {
                let Case { scrutinee, arms, default, .. } = case.$content();
                $see(scrutinee);
                for Arm { body, .. } in arms {
                    $see(body);
                }
                if let Some(body) = default {
                    $see(body);
                }
            }
            TermKind::If(a, b, c) => {
                $see(a);
                $see(b);
                $see(c);
            }
            TermKind::Build(build) => {
                let Build { count, body, .. } = build.$content();
                $see(count);
                $see(body);
            }
            TermKind::Loop(l) => {
                let Loop { init, control, body, .. } = l.$content();
                $see(init);
                match control {
                    Control::Count { count: term, .. } | Control::While(term) => $see(term),
                }
                $see(body);
            }
            TermKind::Tuple(_, terms)
            | TermKind::Con(_, _, _, terms)
            | TermKind::Array(_, terms)
            | TermKind::Prim(_, terms)
            | TermKind::Diff(_, terms) => {
                for term in terms {
                    $see(term);
                }
            }
        }
    };
}

impl Term {
    /// The terms directly within it, in the order of evaluation.
    pub fn each_child<'t>(&'t self, mut see: impl FnMut(&'t Term)) {
        children!(&self.kind, see, as_ref);
    }

    /// Goes through the terms right below this one, in order, to change them.
    pub fn each_child_mut(&mut self, mut see: impl FnMut(&mut Term)) {
        children!(&mut self.kind, see, as_mut);
    }
}

impl Drop for Program {
    /// Terms are boxed trees, which may be deeper than the stack: they are taken apart one by one.
    fn drop(&mut self) {
        let own = self.globals.drain(..).filter_map(|global| Rc::try_unwrap(global).ok());
        let mut pending: Vec<Term> = own.map(|global| global.body).collect();
        while let Some(mut term) = pending.pop() {
            term.each_child_mut(|child| {
                let nothing = Term { kind: TermKind::Lit(Lit::Unit), span: Span::NONE };
                pending.push(std::mem::replace(child, nothing));
            });
        }
    }
}

/// A number that no variable of the definitions has.
pub fn next_variable(globals: &[Rc<Global>]) -> u32 {
    let mut next = 0;
    for global in globals {
        each_binder(&global.body, &mut |binder| next = next.max(binder.var.id + 1));
    }
    next
}

/// Shows the binders of a term, outermost first.
pub fn each_binder<'t>(term: &'t Term, see: &mut dyn FnMut(&'t Binder)) {
    let mut pending = vec![term];
    while let Some(term) = pending.pop() {
        match &term.kind {
            TermKind::Lam(binder, _) | TermKind::LetRec(binder, ..) => see(binder),
            TermKind::Let(bindings, _) => bindings.iter().for_each(|(binder, _)| see(binder)),
            TermKind::Case(case) => case.arms.iter().flat_map(|a| &a.binders).for_each(&mut *see),
            TermKind::Build(build) => see(&build.index),
            TermKind::Loop(l) => {
                see(&l.state);
                if let Control::Count { index, .. } = &l.control {
                    see(index);
                }
            }
            TermKind::Var(_)
            | TermKind::Global(_)
            | TermKind::Lit(_)
            | TermKind::App(..)
            | TermKind::Tuple(..)
            | TermKind::Proj(..)
            | TermKind::Con(..)
            | TermKind::If(..)
            | TermKind::Array(..)
            | TermKind::Prim(..)
            | TermKind::Diff(..) => {}
        }
        term.each_child(|child| pending.push(child));
    }
}
