//! The homomorphic part of all translations by numbers: `D{·}` on everything but the Reals (Krawiec et al., Figure 3;
//! Huot, Staton & Vákár, sections 3.2 and 5.1).
//!
//! ```text
//! D{A × B} = D{A} × D{B}      D{A → B} = D{A} → D{B}      D{L} = L      D{ℝ}: the system says
//! ```
//!
//! Types and terms go homomorphically to types and terms. What becomes of a Real, of a number and of an operation
//! stands in the file of the [`System`]: [`super::dual`], [`super::jet`], [`super::delta`]. Invariant: if Γ ⊢ e : A
//! then D{Γ} ⊢ D{e} : D{A}.
//!
//! What comes in has no derivative terms but `stop_gradient`, `checkpoint` and `with_derivative`: see
//! [`super::derived`].

mod functions;
mod rules;

pub(crate) use functions::{captures, function_in_place, lift_function, lower_function};

use super::expansion::{expansion, has_one_shape};
use super::polytypic::{Pointwise, Traversal};
use super::workspace::Refusal;
use super::{delta, empty, numbers, System, Workspace};
use diffeo_base::deep;
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{Comparison, Diff, DiffOp, Lift, Lifting, Prim, TextOp};
use diffeo_calculus::term::{
    Arm, Binder, Build, Case, Control, Global, GlobalId, Lit, Loop, Term, TermKind,
};
use diffeo_calculus::ty::{DataId, Ty};
use diffeo_calculus::typing::{first_order, mentions_real};
use std::collections::HashMap;
use std::rc::Rc;

/// `D{A}` of a type.
pub fn ty(w: &mut Workspace, system: &System, a: &Ty) -> Ty {
    if let Some(known) = w.known_type(system, a) {
        return known;
    }
    let translated = made(w, system, a);
    w.know_type(system, a, &translated);
    translated
}

fn made(w: &mut Workspace, system: &System, a: &Ty) -> Ty {
    match a {
        // D{ℝ}
        Ty::Real => numbers::real(w, system),
        // D{L} = L
        Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Param(_) => a.clone(),
        // D{A × B} = D{A} × D{B}
        Ty::Tuple(types) => Ty::Tuple(types.iter().map(|t| ty(w, system, t)).collect()),
        Ty::Record(fields) => {
            Ty::Record(fields.iter().map(|(name, t)| (name.clone(), ty(w, system, t))).collect())
        }
        // D{[]A} = []D{A} (ours for Figure 3; Krawiec et al., section 10.2)
        Ty::Array(element) if system.splits(element) => delta::split::array_type(w, system),
        Ty::Array(element) => Ty::array(ty(w, system, element)),
        // D{A + B} = D{A} + D{B}
        Ty::Data(id, args) => {
            let (id, args) = variant(w, system, *id, args);
            Ty::Data(id, args)
        }
        // D{A → B} = D{A} → D{B}, or with M (Figure 9)
        Ty::Fun(f) => {
            let (from, to) = (ty(w, system, &f.0), ty(w, system, &f.1));
            match system {
                System::Delta(_) => Ty::fun(from, delta::translate::monad(w, system, to)),
                System::Forward
                | System::Taylor { .. }
                | System::Mixed
                | System::Vector(_)
                | System::Naive => Ty::fun(from, to),
            }
        }
    }
}

/// `D{A + B} = D{A} + D{B}`: the declaration and its arguments.
pub(crate) fn variant(
    w: &mut Workspace,
    system: &System,
    id: DataId,
    args: &[Ty],
) -> (DataId, Rc<[Ty]>) {
    // The translation of an array of a parameter depends on the parameter.
    if system.splits(&Ty::Real) && !args.is_empty() && w.holds_arrays_of_parameters(id) {
        return (w.instance(system, id, args), [].into());
    }
    (w.data(system, id), args.iter().map(|t| ty(w, system, t)).collect())
}

/// The type of the translation of a definition.
pub(crate) fn definition_type(w: &mut Workspace, system: &System, a: &Ty) -> Ty {
    match system {
        // With the zero of δS as a parameter.
        System::Vector(s) => Ty::fun((**s).clone(), ty(w, system, a)),
        System::Forward
        | System::Taylor { .. }
        | System::Mixed
        | System::Naive
        | System::Delta(_) => ty(w, system, a),
    }
}

/// `D{e}` of a definition.
pub(crate) fn definition(
    w: &mut Workspace,
    system: &System,
    id: GlobalId,
    source: &Global,
) -> Term {
    // (ours) A constant of a program that runs is evaluated once, and its value embedded: so one that needs its own
    // derivative needs itself.
    let constant = w.dynamic && !matches!(source.body.kind, TermKind::Lam(..));
    match system {
        System::Vector(s) => {
            let zero = w.binder("zero", (**s).clone());
            let body = match constant {
                true => lift(w, system, &source.ty, Some(var(&zero)), global(id)),
                false => term_with(w, system, HashMap::new(), Some(var(&zero)), &source.body),
            };
            lam(zero, body)
        }
        _ if constant => lift(w, system, &source.ty, None, global(id)),
        System::Delta(_) => delta::translate::definition(w, system, id, source),
        System::Forward | System::Taylor { .. } | System::Mixed | System::Naive => {
            term_with(w, system, HashMap::new(), None, &source.body)
        }
    }
}

/// `D{e}` of a term whose free variables are replaced as told; `zero` is that of D¹.
pub(crate) fn term_with(
    w: &mut Workspace,
    system: &System,
    variables: HashMap<u32, Term>,
    zero: Option<Term>,
    e: &Term,
) -> Term {
    HomomorphismTranslator { w, system, variables, zero }.term(e)
}

/// The translation of a function `λx. e` or `letrec f = λx. e in f`, whose free variables are replaced as told.
pub(crate) fn function(
    w: &mut Workspace,
    system: &System,
    variables: &[(u32, Binder)],
    e: &Term,
) -> Term {
    let terms = || variables.iter().map(|(x, y)| (*x, var(y))).collect();
    match system {
        System::Delta(_) => delta::translate::function(w, system, variables, e),
        System::Forward
        | System::Taylor { .. }
        | System::Mixed
        | System::Vector(_)
        | System::Naive => term_with(w, system, terms(), None, e),
    }
}

/// `D{P}(args)` of an operation that moves data, looks at primals or makes constants; the arguments may be
/// mentioned several times.
pub(crate) fn moving(
    w: &mut Workspace,
    system: &System,
    p: &Prim,
    args: Vec<Term>,
    e: &Term,
) -> Term {
    HomomorphismTranslator { w, system, variables: HashMap::new(), zero: None }.prim(p, args, e)
}

/// What stands for a derivative term that should have been translated first.
pub(crate) fn refused(w: &mut Workspace, system: &System, d: &Diff, e: &Term) -> Term {
    w.refuse(Refusal {
        what: "a derivative term",
        reason:
            "derivatives of derivatives are translated from the inside out, and this one was not \
                 translated first",
        span: e.span,
    });
    let result = ty(w, system, &d.signature().1);
    prim(Prim::Fail(result), vec![text("not translated")])
}

/// The embedding A → D{A} of values that do not vary.
pub(crate) fn lift(
    w: &mut Workspace,
    system: &System,
    a: &Ty,
    zero: Option<Term>,
    x: Term,
) -> Term {
    let shared = zero.as_ref().map_or(Ty::Unit, |_| numbers::displacement(system));
    let family = Pointwise {
        name: "lift",
        shared,
        inputs: vec![None],
        output: Some(system.clone()),
        leaf: &|w, zero, xs| numbers::constant(w, system, Some(zero), xs[0].clone()),
    };
    if inert(w, a) {
        return x;
    }
    family.apply(w, a, zero, vec![x])
}

/// primal_A : D{A} → A
pub(crate) fn primal(w: &mut Workspace, system: &System, a: &Ty, x: Term) -> Term {
    let family = Pointwise {
        name: "primal",
        shared: Ty::Unit,
        inputs: vec![Some(system.clone())],
        output: None,
        leaf: &|w, _, xs| numbers::primal(w, system, xs[0].clone()),
    };
    if inert(w, a) {
        return x;
    }
    family.apply(w, a, None, vec![x])
}

/// D{A} → D{A}: 0, varying as the numbers do.
pub(crate) fn tangent(w: &mut Workspace, system: &System, a: &Ty, x: Term) -> Term {
    let family = Pointwise {
        name: "tangent",
        shared: Ty::Unit,
        inputs: vec![Some(system.clone())],
        output: Some(system.clone()),
        leaf: &|w, _, xs| numbers::tangent(w, system, xs[0].clone()),
    };
    if inert(w, a) {
        return x;
    }
    family.apply(w, a, None, vec![x])
}

/// D{A} → D{A}: the same, but that no number varies, nor what function values captured.
fn stop(w: &mut Workspace, system: &System, a: &Ty, zero: Option<Term>, x: Term) -> Term {
    let shared = zero.as_ref().map_or(Ty::Unit, |_| numbers::displacement(system));
    let family = Pointwise {
        name: "stop",
        shared,
        inputs: vec![Some(system.clone())],
        output: Some(system.clone()),
        leaf: &|w, zero, xs| {
            // What the term goes through later stops there, too.
            let number = numbers::primal(w, system, xs[0].clone());
            let op = DiffOp::StopGradient;
            let diff = Diff { op, from: Ty::Real, to: Ty::Real };
            let number = stopped(&diff, number);
            let binder = w.binder("x", Ty::Real);
            let constant = numbers::constant(w, system, Some(zero), var(&binder));
            bind(binder, number, constant)
        },
    };
    if inert(w, a) {
        return x;
    }
    family.apply(w, a, zero, vec![x])
}

/// Whether `before`, or a number in a value or in what functions in it captured varies, in a program that runs.
pub(crate) fn varies(w: &mut Workspace, system: &System, a: &Ty, before: Term, x: Term) -> Term {
    let family = Traversal {
        name: "varies",
        shared: Ty::Unit,
        state: Ty::Bool,
        inputs: vec![Some(system.clone())],
        output: None,
        function: Some(&|w, ty, before, f| {
            let from = self::ty(w, system, ty);
            if_(before.clone(), truth(true), captures(system, from, f.clone(), f.clone()))
        }),
        step: &|w, _, before, xs| {
            let varies = numbers::varies(w, system, &xs[0]);
            if_(before.clone(), truth(true), varies)
        },
    };
    family.apply(w, a, None, before, vec![x])
}

/// Whether values of the type are their own translations.
pub(crate) fn inert(w: &Workspace, a: &Ty) -> bool {
    let program = w.declarations();
    !mentions_real(a, &program) && diffeo_calculus::typing::first_order(a, &program)
}

/// `()`; stops the program if two structures have different shapes.
pub(crate) fn same_shape(
    w: &mut Workspace,
    name: &'static str,
    a: &Ty,
    x: Term,
    y: Term,
) -> (Binder, Term) {
    if w.dynamic {
        let what = Lifting::SameShape(name);
        let lift = Lift { what, systems: Vec::new(), from: a.clone(), to: Ty::Unit };
        return (w.binder("checked", Ty::Unit), prim(Prim::Lift(Rc::new(lift)), vec![x, y]));
    }
    let value = prim(Prim::Inner(a.clone()), vec![x, y]);
    (w.binder("checked", Ty::Real), value)
}

/// Stops the program if the value and the tangent of type T that a rule gives have different shapes; both are of its
/// translation.
pub(crate) fn same_shapes_of_rule(
    w: &mut Workspace,
    t: &Ty,
    translated: &Ty,
    [y, dy]: [Term; 2],
) -> Option<(Binder, Term)> {
    let checked = w.dynamic && !has_one_shape(t) && first_order(translated, &w.declarations());
    checked.then(|| same_shape(w, "the rule of `with_derivative`", translated, y, dy))
}

/// Whether it looks at primals and gives `()`.
fn looks_only(what: Lifting) -> bool {
    match what {
        Lifting::SameShape(_)
        | Lifting::Watch
        | Lifting::Stop
        | Lifting::Blame(_)
        | Lifting::Warn => true,
        Lifting::Lift
        | Lifting::Lower
        | Lifting::Captures
        | Lifting::Zero
        | Lifting::Sparse
        | Lifting::Varies => false,
    }
}

struct HomomorphismTranslator<'w> {
    w: &'w mut Workspace,
    system: &'w System,
    /// What stands for each variable.
    variables: HashMap<u32, Term>,
    /// The zero of δS for D¹.
    zero: Option<Term>,
}

impl HomomorphismTranslator<'_> {
    fn ty(&mut self, a: &Ty) -> Ty {
        ty(self.w, self.system, a)
    }

    fn binder(&mut self, source: &Binder) -> Binder {
        let a = self.ty(&source.ty);
        let binder = self.w.renamed(self.system, source, a);
        self.variables.insert(source.var.id, var(&binder));
        binder
    }

    fn boxed(&mut self, e: &Term) -> Box<Term> {
        Box::new(self.term(e))
    }

    fn terms(&mut self, es: &[Term]) -> Vec<Term> {
        es.iter().map(|e| self.term(e)).collect()
    }

    /// D{e}
    fn term(&mut self, e: &Term) -> Term {
        if self.w.is_over() {
            return unit();
        }
        let kind = deep(|| self.kind(e));
        Term::new(kind, e.span)
    }

    fn kind(&mut self, e: &Term) -> TermKind {
        match &e.kind {
            // D{x} = x
            TermKind::Var(x) => match self.variables.get(&x.id) {
                Some(t) => t.kind.clone(),
                None => TermKind::Var(x.clone()),
            },
            // D{f} = f_rev, the translation of its definition (section 7.5)
            TermKind::Global(id) => {
                let f = global(self.w.translated(self.system, *id));
                match &self.zero {
                    Some(zero) => app(f, zero.clone()).kind,
                    None => f.kind,
                }
            }
            // D{r} = (r, 0); D{k} = k
            TermKind::Lit(Lit::Real(r)) => {
                numbers::constant(self.w, self.system, self.zero.as_ref(), real(*r)).kind
            }
            TermKind::Lit(Lit::Int(_) | Lit::Bool(_) | Lit::String(_) | Lit::Unit) => {
                e.kind.clone()
            }
            // D{λx. e} = λx. D{e}
            TermKind::Lam(x, body) => {
                let x = self.binder(x);
                TermKind::Lam(x, self.boxed(body))
            }
            // D{e₁ e₂} = D{e₁} D{e₂}
            TermKind::App(f, x) => TermKind::App(self.boxed(f), self.boxed(x)),
            // D{let x = e₁ in e₂} = let x = D{e₁} in D{e₂}
            TermKind::Let(bindings, body) => {
                let mut translated = Vec::new();
                for (x, value) in bindings {
                    let value = self.term(value);
                    translated.push((self.binder(x), value));
                }
                TermKind::Let(translated, self.boxed(body))
            }
            // D{letrec f = λx. e₁ in e₂} = letrec f = λx. D{e₁} in D{e₂} (ours)
            TermKind::LetRec(f, function, body) => {
                let f = self.binder(f);
                let function = self.boxed(function);
                TermKind::LetRec(f, function, self.boxed(body))
            }
            // D{(e₁, e₂)} = (D{e₁}, D{e₂})
            TermKind::Tuple(a, es) => {
                let a = self.ty(a);
                TermKind::Tuple(a, self.terms(es))
            }
            // D{fst e} = fst D{e}
            TermKind::Proj(a, i, e) => {
                let a = self.ty(a);
                TermKind::Proj(a, *i, self.boxed(e))
            }
            // D{inl e} = inl D{e}
            TermKind::Con(id, args, tag, es) => {
                let args = args.iter().map(|a| self.ty(a)).collect();
                let id = self.w.data(self.system, *id);
                TermKind::Con(id, args, *tag, self.terms(es))
            }
            // D{case e₀ of inl x₁ → e₁, inr x₂ → e₂} = case D{e₀} of inl x₁ → D{e₁}, inr x₂ → D{e₂}
            TermKind::Case(case) => {
                let scrutinee = self.term(&case.scrutinee);
                let (id, args) = &case.data;
                let args = args.iter().map(|a| self.ty(a)).collect();
                let data = (self.w.data(self.system, *id), args);
                let mut arms = Vec::new();
                for arm in &case.arms {
                    let binders = arm.binders.iter().map(|b| self.binder(b)).collect();
                    arms.push(Arm { tag: arm.tag, binders, body: self.term(&arm.body) });
                }
                let default = case.default.as_ref().map(|e| self.term(e));
                TermKind::Case(Box::new(Case { scrutinee, data, arms, default }))
            }
            // D{if e₀ then e₁ else e₂} = if D{e₀} then D{e₁} else D{e₂} (a sum without payload)
            TermKind::If(a, b, c) => TermKind::If(self.boxed(a), self.boxed(b), self.boxed(c)),
            // (ours)
            TermKind::Array(a, es) => {
                let a = self.ty(a);
                TermKind::Array(a, self.terms(es))
            }
            // D{build} = build (section 10.2)
            TermKind::Build(b) => {
                let count = self.term(&b.count);
                let index = self.binder(&b.index);
                let body = self.term(&b.body);
                let element = self.ty(&b.element);
                TermKind::Build(Box::new(Build { count, index, body, element }))
            }
            // (ours)
            TermKind::Loop(l) => {
                let init = self.term(&l.init);
                let count = match &l.control {
                    Control::Count { count, .. } => Some(self.term(count)),
                    Control::While(_) => None,
                };
                let state = self.binder(&l.state);
                let control = match (&l.control, count) {
                    (Control::Count { index, .. }, Some(count)) => {
                        Control::Count { index: self.binder(index), count }
                    }
                    (Control::While(condition), _) => Control::While(self.term(condition)),
                    (Control::Count { .. }, None) => return e.kind.clone(),
                };
                let body = self.term(&l.body);
                TermKind::Loop(Box::new(Loop { state, init, control, body }))
            }
            TermKind::Prim(p, es) => {
                let args = self.terms(es);
                self.prim(p, args, e).kind
            }
            TermKind::Diff(d, es) => self.diff(d, es, e),
        }
    }

    /// Names for arguments that are wanted more than once; evaluated from left to right.
    fn named(
        &mut self,
        args: Vec<Term>,
        types: &[Ty],
        make: impl FnOnce(&mut Self, Vec<Term>) -> Term,
    ) -> Term {
        let mut bindings = Vec::new();
        let mut names = Vec::new();
        for (x, a) in args.into_iter().zip(types) {
            if is_atom(&x) {
                names.push(x);
            } else {
                let a = self.ty(a);
                let binder = self.w.binder("x", a);
                names.push(var(&binder));
                bindings.push((binder, x));
            }
        }
        let body = make(self, names);
        bind_all(bindings, body)
    }

    fn primal(&mut self, a: &Ty, x: Term) -> Term {
        primal(self.w, self.system, a, x)
    }

    fn lift(&mut self, a: &Ty, x: Term) -> Term {
        lift(self.w, self.system, a, self.zero.clone(), x)
    }

    fn prim(&mut self, p: &Prim, args: Vec<Term>, e: &Term) -> Term {
        let at = |t: Term| Term::new(t.kind, e.span);
        match p {
            // D{op}: in the room of the system
            Prim::Real(op) if !numbers::may_be_to_blame(self.w, *op) => {
                if numbers::by_calls(self.system) {
                    return placed(numbers::operation(self.w, self.system, *op, args), e.span);
                }
                let types = vec![Ty::Real; args.len()];
                self.named(args, &types, |t, xs| {
                    placed(numbers::operation(t.w, t.system, *op, xs), e.span)
                })
            }
            Prim::Real(op) => {
                let types = vec![Ty::Real; args.len()];
                self.named(args, &types, |t, xs| {
                    let value = numbers::operation(t.w, t.system, *op, xs.clone());
                    let name = diffeo_calculus::prim::real::row(*op).name;
                    placed(numbers::blamed(t.w, t.system, name, (&xs, None), value), e.span)
                })
            }
            Prim::PowInt if !self.w.dynamic && numbers::by_calls(self.system) => {
                at(numbers::power(self.w, self.system, &args))
            }
            Prim::PowInt => self.named(args, &[Ty::Real, Ty::Int], |t, xs| {
                let value = numbers::power(t.w, t.system, &xs);
                let operands = (&xs[..1], Some(&xs[1]));
                placed(numbers::blamed(t.w, t.system, "^", operands, value), e.span)
            }),
            // D{+_ℤ} = +_ℤ
            Prim::Int(_) | Prim::Not | Prim::AppendStrings | Prim::Warn => {
                at(prim(p.clone(), args))
            }
            // Predicates look at primals (ours).
            Prim::Compare(_, a) => {
                let args = args.into_iter().map(|x| self.primal(a, x)).collect();
                at(prim(p.clone(), args))
            }
            Prim::ArgSort(a) => {
                let array = Ty::array(a.clone());
                let args = args.into_iter().map(|x| self.primal(&array, x)).collect();
                at(prim(p.clone(), args))
            }
            // What is read from a text does not vary; what is written is the primal.
            Prim::Text(TextOp::Number) => {
                let number = at(prim(p.clone(), args));
                let binder = self.w.binder("x", Ty::Real);
                let value =
                    numbers::constant(self.w, self.system, self.zero.as_ref(), var(&binder));
                bind(binder, number, value)
            }
            Prim::Text(_) => {
                let types = p.signature(args.len()).0;
                let args = args.into_iter().zip(&types).map(|(x, a)| self.primal(a, x)).collect();
                at(prim(p.clone(), args))
            }
            Prim::Show(a) | Prim::Labels(a) => {
                let args = args.into_iter().map(|x| self.primal(a, x)).collect();
                at(prim(p.clone(), args))
            }
            Prim::Round(_) | Prim::IsNan => {
                let args = args.into_iter().map(|x| self.primal(&Ty::Real, x)).collect();
                at(prim(p.clone(), args))
            }
            // A number made from a leaf does not vary.
            Prim::ToReal => {
                let number = at(prim(Prim::ToReal, args));
                let binder = self.w.binder("x", Ty::Real);
                let value =
                    numbers::constant(self.w, self.system, self.zero.as_ref(), var(&binder));
                bind(binder, number, value)
            }
            Prim::Trace(a) => self.named(args, &[Ty::String, a.clone()], |t, xs| {
                let shown = t.primal(a, xs[1].clone());
                let seen = t.w.binder("seen", a.clone());
                bind(seen, at(prim(p.clone(), vec![xs[0].clone(), shown])), xs[1].clone())
            }),
            Prim::Progress(a) => {
                let a = self.ty(a);
                let mut args = args;
                let value = std::mem::replace(&mut args[2], unit());
                args[2] = self.primal(&Ty::Real, value);
                at(prim(Prim::Progress(a), args))
            }
            Prim::Fail(a) => {
                let a = self.ty(a);
                at(prim(Prim::Fail(a), args))
            }
            // What moves data moves translated data: index_A becomes index_{D{A}} (section 10.2).
            Prim::Length(a) => {
                let a = self.ty(a);
                at(prim(Prim::Length(a), args))
            }
            Prim::Index(a) => {
                let a = self.ty(a);
                at(prim(Prim::Index(a), args))
            }
            Prim::Slice(a) => {
                let a = self.ty(a);
                at(prim(Prim::Slice(a), args))
            }
            Prim::Update(a) => {
                let a = self.ty(a);
                at(prim(Prim::Update(a), args))
            }
            Prim::Append(a) => {
                let a = self.ty(a);
                at(prim(Prim::Append(a), args))
            }
            Prim::Flatten(a) => {
                let a = self.ty(a);
                at(prim(Prim::Flatten(a), args))
            }
            Prim::Sizes(pattern, a) => {
                let a = self.ty(a);
                at(prim(Prim::Sizes(pattern.clone(), a), args))
            }
            // The polytypic operations: the translation of their definitions by induction on the type.
            Prim::Add(a) => self.polytypic(p, &[a.clone(), a.clone()], args, e),
            Prim::Sub(a) | Prim::MulElements(a) | Prim::DivElements(a) => {
                self.polytypic(p, &[a.clone(), a.clone()], args, e)
            }
            Prim::Neg(a) | Prim::ZeroOf(a) | Prim::Ravel(a) => {
                self.polytypic(p, std::slice::from_ref(a), args, e)
            }
            Prim::Scale(a) => self.polytypic(p, &[Ty::Real, a.clone()], args, e),
            Prim::Unscale(a) => self.polytypic(p, &[a.clone(), Ty::Real], args, e),
            Prim::Inner(a) => self.polytypic(p, &[a.clone(), a.clone()], args, e),
            Prim::Unravel(a) => self.polytypic(p, &[a.clone(), Ty::array(Ty::Real)], args, e),
            Prim::Sum(a) => self.polytypic(p, &[Ty::array(a.clone())], args, e),
            Prim::Lift(l) if l.what == Lifting::Zero => {
                numbers::constant(self.w, self.system, self.zero.as_ref(), e.clone())
            }
            Prim::Lift(l) if matches!(l.what, Lifting::Sparse | Lifting::Varies) => {
                let (from, to) = (self.ty(&l.from), self.ty(&l.to));
                at(numbers::lifting(l.what, from, to, args))
            }
            Prim::Lift(l) if looks_only(l.what) => {
                let args = args.into_iter().map(|x| self.primal(&l.from, x)).collect();
                at(prim(p.clone(), args))
            }
            // The code goes through one system more.
            Prim::Lift(l) => {
                let mut systems = l.systems.clone();
                systems.push(self.system.clone());
                let (from, to) = (self.ty(&l.from), self.ty(&l.to));
                at(prim(Prim::Lift(Rc::new(Lift { what: l.what, systems, from, to })), args))
            }
        }
    }

    /// `D{P}(args)` of a polytypic operation: `P` on the primals finds shapes that do not fit, then comes the
    /// translation of its definition by induction on the type.
    fn polytypic(&mut self, p: &Prim, types: &[Ty], args: Vec<Term>, e: &Term) -> Term {
        let result = p.signature(args.len()).1;
        self.named(args, types, |t, xs| {
            let f = expansion(t.w, p);
            let f = t.w.translated(t.system, f);
            let params: Vec<Ty> = types.iter().map(|a| t.ty(a)).collect();
            let f = match &t.zero {
                Some(zero) => app(global(f), zero.clone()),
                None => global(f),
            };
            let value = app(f, tuple(params, xs.clone()));
            let value = Term::new(value.kind, e.span);
            if types.iter().all(has_one_shape) {
                return value;
            }
            match p {
                // The sum of nothing is a zero of the right shape.
                Prim::Sum(a) => {
                    let element = t.ty(a);
                    let empty =
                        compare(Comparison::Eq, Ty::Int, length(&element, xs[0].clone()), int(0));
                    let zero = empty::zero(t.w, Some(t.system), a, xs[0].clone());
                    let zero = t.lift(&result, zero);
                    if_(empty, zero, value)
                }
                _ => {
                    let primals = xs.iter().zip(types);
                    let primals = primals.map(|(x, a)| t.primal(a, x.clone())).collect();
                    let plain = Term::new(prim(p.clone(), primals).kind, e.span);
                    let checked = t.w.binder("checked", result);
                    bind(checked, plain, value)
                }
            }
        })
    }

    fn diff(&mut self, d: &Diff, es: &[Term], e: &Term) -> TermKind {
        let (s, t) = (&d.from, &d.to);
        match d.op {
            // The identity whose derivative is zero.
            DiffOp::StopGradient => {
                let x = self.term(&es[0]);
                stop(self.w, self.system, s, self.zero.clone(), x).kind
            }
            DiffOp::Checkpoint => {
                let f = self.boxed(&es[0]);
                TermKind::App(f, self.boxed(&es[1]))
            }
            DiffOp::WithDerivative | DiffOp::WithExactDerivative => {
                let args = self.terms(es);
                let rule = Ty::fun(
                    Ty::tuple(vec![s.clone(), s.clone()]),
                    Ty::tuple(vec![t.clone(), t.clone()]),
                );
                let f = Ty::fun(s.clone(), t.clone());
                let types = [f, rule, s.clone()];
                self.named(args, &types, |tr, xs| tr.with_derivative(s, t, &xs)).kind
            }
            DiffOp::Deciding => {
                let f = self.boxed(&es[0]);
                TermKind::App(f, self.boxed(&es[2]))
            }
            DiffOp::Decisions => {
                let args = self.terms(es);
                let f = Ty::fun(s.clone(), t.clone());
                let types = [f, s.clone(), Ty::String];
                let zero = self.zero.clone();
                self.named(args, &types, |tr, xs| decisions(tr.w, tr.system, (s, t), xs, zero)).kind
            }
            DiffOp::Rd
            | DiffOp::RdAlong
            | DiffOp::Enclose
            | DiffOp::Dependence
            | DiffOp::AllPaths
            | DiffOp::Vjp
            | DiffOp::Jvp
            | DiffOp::Jet { .. } => refused(self.w, self.system, d, e).kind,
        }
    }
}

/// Decisions of a function (ours). Where it captured numbers that vary, the program stops, and the evaluator, which knows
/// how the places move, runs it; else the systems that the term goes through later are asked.
pub(crate) fn decisions(
    w: &mut Workspace,
    system: &System,
    (s, t): (&Ty, &Ty),
    operands: Vec<Term>,
    zero: Option<Term>,
) -> Term {
    let number = self::ty(w, system, &Ty::Real);
    let none = || term(TermKind::Array(number.clone(), Vec::new()));
    let ([f, x, words], true) = (&operands[..], w.dynamic) else { return none() };
    let ty = Ty::fun(s.clone(), t.clone());
    let translated = self::ty(w, system, &ty);
    let captures = captures(system, translated, f.clone(), f.clone());
    let plain = lower_function(w, system, &ty, f.clone());
    let x = primal(w, system, s, x.clone());
    let diff = Diff { op: DiffOp::Decisions, from: s.clone(), to: t.clone() };
    let found = term(TermKind::Diff(diff, vec![plain, x, words.clone()]));
    let stop = numbers::lifting(Lifting::Stop, Ty::Unit, Ty::Unit, Vec::new());
    let stopped = bind(w.binder("stopped", Ty::Unit), stop, none());
    let lifted = lift(w, system, &Ty::array(Ty::Real), zero, found);
    if_(captures, stopped, lifted)
}

/// `stop_gradient` of a primal, for the systems that the term goes through later.
pub(crate) fn stopped(d: &Diff, primal: Term) -> Term {
    term(TermKind::Diff(d.clone(), vec![primal]))
}
