//! The monadic translation D (Krawiec et al., Figures 9 and 14, section 10.2).
//!
//! ```text
//! D{ℝ} = ℝ × Delta      D{A → B} = D{A} → M D{B}      M A = DeltaState → (A, DeltaState)
//! ```
//!
//! Invariants: if Γ ⊢ e : A then D{Γ} ⊢ D{e} : M D{A}; the Delta of every dual number is `Zero` or `Var id`.
//!
//! The equations are the paper's. The code that comes out is what they reduce to: a [`DoBlock`] is a
//! `do { … }` in the making, a list of bindings with the state after them, so that `x ← e` is a binding and
//! `pure e` is nothing, and the code is as long as the source, up to a constant. Values are *atoms*
//! (variables, projections, literals) and may stand several times.

mod operations;

use super::{runtime, split};
use crate::homomorphism::{self, inert};
use crate::{System, Workspace};
use diffeo_base::deep;
use diffeo_base::Span;
use diffeo_calculus::build::*;
use diffeo_calculus::prim::Prim;
use diffeo_calculus::term::{
    Arm, Binder, Build, Case, Control, Global, GlobalId, Lit, Loop, Term, TermKind,
};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::typing::{first_order, literal_type};
use std::collections::HashMap;

/// The first id of what definitions that are no functions do: so small that no id gets to 0.
const CLOSED: i64 = i64::MIN / 2;

/// `D{ℝ} = ℝ × Delta`
pub(crate) fn real_type(w: &mut Workspace, system: &System) -> Ty {
    Ty::tuple(vec![Ty::Real, runtime::delta(w, system)])
}

/// `(r, Zero)`
pub(crate) fn constant(w: &mut Workspace, system: &System, r: Term) -> Term {
    dual(w, system, r, runtime::ZERO, vec![])
}

/// `(r, u)` with a Delta that is a constructor with these fields.
pub(crate) fn dual(
    w: &mut Workspace,
    system: &System,
    r: Term,
    tag: u32,
    fields: Vec<Term>,
) -> Term {
    let delta = runtime::delta(w, system);
    let u = con(&delta, tag, fields);
    tuple(vec![Ty::Real, delta], vec![r, u])
}

fn con(ty: &Ty, tag: u32, fields: Vec<Term>) -> Term {
    match ty {
        Ty::Data(id, args) => term(TermKind::Con(*id, args.clone(), tag, fields)),
        _ => tuple(vec![ty.clone()], fields),
    }
}

/// `M A = DeltaState → (A, DeltaState)`
pub(crate) fn monad(w: &mut Workspace, system: &System, a: Ty) -> Ty {
    let state = runtime::state(w, system);
    Ty::fun(state.clone(), Ty::tuple(vec![a, state]))
}

fn is_first_order(w: &Workspace, a: &Ty) -> bool {
    first_order(a, &w.declarations())
}

/// The translation of a definition `f = e` (section 7.5).
pub(crate) fn definition(
    w: &mut Workspace,
    system: &System,
    id: GlobalId,
    source: &Global,
) -> Term {
    let state = runtime::state(w, system);
    let constant = is_first_order(w, &source.ty);
    let mut t = DeltaTranslator { w, system, state, variables: HashMap::new() };
    match &source.body.kind {
        // f_rev = D{λx. e}
        TermKind::Lam(x, body) => t.function(x, body).0,
        // (ours) A constant is evaluated once; it is closed, so its Deltas are Zero.
        _ if constant => homomorphism::lift(t.w, system, &source.ty, None, global(id)),
        // (ours) So is one with functions in it, and a function that is not written as one. Their Deltas may be
        // variables, of a state that is not kept: with ids below 0, on which nothing depends (`addDelta`).
        _ => {
            let start = runtime::function(t.w, system, "start");
            let s = t.w.binder("s", t.state.clone());
            let mut block = DoBlock::new(var(&s));
            let value = t.term(&source.body, &mut block);
            bind(s, app(global(start), int(CLOSED)), block.close_with(value))
        }
    }
}

/// `do { … }` in the making.
struct DoBlock {
    steps: Vec<DoStatement>,
    /// The state after the steps.
    state: Term,
    /// Whether that is still the state before them: the block is `pure`.
    pure: bool,
}

enum DoStatement {
    Let(Binder, Term),
    /// A variable of the source.
    Source(Binder, Term),
    LetRec(Binder, Term),
}

/// An atom of a translated type.
struct TypedAtom {
    term: Term,
    ty: Ty,
}

impl DoBlock {
    fn new(state: Term) -> DoBlock {
        DoBlock { steps: Vec::new(), state, pure: true }
    }

    /// `do { …; pure value }` where nothing of the state is wanted.
    fn close(self, value: Term) -> Term {
        let mut body = value;
        let mut bindings = Vec::new();
        for step in self.steps.into_iter().rev() {
            match step {
                DoStatement::Let(x, value) | DoStatement::Source(x, value) => {
                    bindings.push((x, value))
                }
                DoStatement::LetRec(f, function) => {
                    bindings.reverse();
                    body = bind_all(std::mem::take(&mut bindings), body);
                    body = term(TermKind::LetRec(f, Box::new(function), Box::new(body)));
                }
            }
        }
        bindings.reverse();
        bind_all(bindings, body)
    }

    /// The term of the last step, if this atom names it and it is no variable of the source.
    fn last(&mut self, atom: &Term) -> Option<Term> {
        match (&atom.kind, self.steps.last()) {
            (TermKind::Var(x), Some(DoStatement::Let(binder, _))) if *x == binder.var => {
                match self.steps.pop() {
                    Some(DoStatement::Let(_, value)) => Some(value),
                    Some(DoStatement::Source(..) | DoStatement::LetRec(..)) | None => None,
                }
            }
            _ => None,
        }
    }

    fn close_with(mut self, value: TypedAtom) -> Term {
        let last = self.last(&value.term);
        self.close(last.unwrap_or(value.term))
    }
}

struct DeltaTranslator<'w> {
    w: &'w mut Workspace,
    system: &'w System,
    /// `DeltaState`
    state: Ty,
    /// What stands for each variable.
    variables: HashMap<u32, (Term, Ty)>,
}

impl DeltaTranslator<'_> {
    fn ty(&mut self, a: &Ty) -> Ty {
        homomorphism::ty(self.w, self.system, a)
    }

    fn binder(&mut self, source: &Binder) -> Binder {
        let a = self.ty(&source.ty);
        let binder = self.w.renamed(self.system, source, a);
        self.variables.insert(source.var.id, (var(&binder), binder.ty.clone()));
        binder
    }

    /// `(A, DeltaState)`
    fn pair(&self, a: &Ty) -> Ty {
        Ty::tuple(vec![a.clone(), self.state.clone()])
    }

    /// `name = t`
    fn let_(&mut self, block: &mut DoBlock, name: &str, ty: Ty, t: Term) -> TypedAtom {
        if is_atom(&t) {
            return TypedAtom { term: t, ty };
        }
        let binder = self.w.binder(name, ty.clone());
        let value = TypedAtom { term: var(&binder), ty };
        block.steps.push(DoStatement::Let(binder, t));
        value
    }

    /// `name ← m`, given `m s` at the state of the block.
    fn run(&mut self, block: &mut DoBlock, name: &str, a: &Ty, m: Term) -> TypedAtom {
        let ty = self.pair(a);
        let both = self.let_(block, name, ty.clone(), m);
        block.state = proj(&ty, 1, both.term.clone());
        block.pure = false;
        TypedAtom { term: proj(&ty, 0, both.term), ty: a.clone() }
    }

    /// `f x`
    fn call(&mut self, block: &mut DoBlock, f: &TypedAtom, x: Term, span: Span) -> TypedAtom {
        // D{A} → DeltaState → (D{B}, DeltaState)
        let result = codomain(&codomain(&f.ty)).components().map_or(Ty::Unit, |c| c[0].clone());
        let called = Term::new(app(f.term.clone(), x).kind, span);
        let m = Term::new(app(called, block.state.clone()).kind, span);
        self.run(block, "r", &result, m)
    }

    /// The value of a block with its state.
    fn finish(&mut self, mut block: DoBlock, value: TypedAtom) -> Term {
        let ty = self.pair(&value.ty);
        // `r.0` with the state `r.1` is `r`: tail calls stay tail calls.
        if let (TermKind::Proj(_, 0, a), TermKind::Proj(_, 1, b)) =
            (&value.term.kind, &block.state.kind)
        {
            if let (TermKind::Var(x), TermKind::Var(y)) = (&a.kind, &b.kind) {
                if x == y && !block.pure {
                    let all = (**a).clone();
                    let last = block.last(&all);
                    return block.close(last.unwrap_or(all));
                }
            }
        }
        let last = block.last(&value.term);
        let state = block.state.clone();
        block.close(term(TermKind::Tuple(ty, vec![last.unwrap_or(value.term), state])))
    }

    /// What `make` makes of the branches: with their states, unless all are pure.
    fn join(
        &mut self,
        block: &mut DoBlock,
        branches: Vec<(DoBlock, TypedAtom)>,
        make: impl FnOnce(Vec<Term>) -> Term,
    ) -> TypedAtom {
        let ty = branches.first().map_or(Ty::Unit, |(_, value)| value.ty.clone());
        if branches.iter().all(|(branch, _)| branch.pure) {
            let terms = branches.into_iter().map(|(branch, value)| branch.close_with(value));
            let joined = make(terms.collect());
            return self.let_(block, "r", ty, joined);
        }
        let terms = branches.into_iter().map(|(branch, value)| self.finish(branch, value));
        let joined = make(terms.collect());
        self.run(block, "r", &ty, joined)
    }

    fn branch(&mut self, block: &DoBlock, e: &Term) -> (DoBlock, TypedAtom) {
        let mut branch = DoBlock::new(block.state.clone());
        let value = self.term(e, &mut branch);
        (branch, value)
    }

    /// λx. D{e} with its type.
    fn function(&mut self, x: &Binder, body: &Term) -> (Term, Ty) {
        let x = self.binder(x);
        let s = self.w.binder("s", self.state.clone());
        let mut block = DoBlock::new(var(&s));
        let value = self.term(body, &mut block);
        let result = Ty::fun(self.state.clone(), self.pair(&value.ty));
        let ty = Ty::fun(x.ty.clone(), result);
        let body = self.finish(block, value);
        (lam(x, lam(s, body)), ty)
    }

    fn values(&mut self, es: &[Term], block: &mut DoBlock) -> Vec<TypedAtom> {
        es.iter().map(|e| self.term(e, block)).collect()
    }

    fn terms(&mut self, es: &[Term], block: &mut DoBlock) -> Vec<Term> {
        es.iter().map(|e| self.term(e, block).term).collect()
    }

    /// D{e}
    fn term(&mut self, e: &Term, block: &mut DoBlock) -> TypedAtom {
        if self.w.is_over() {
            return TypedAtom { term: unit(), ty: Ty::Unit };
        }
        deep(|| self.kind(e, block))
    }

    fn kind(&mut self, e: &Term, block: &mut DoBlock) -> TypedAtom {
        match &e.kind {
            // D{x} = pure x
            TermKind::Var(x) => match self.variables.get(&x.id) {
                Some((term, ty)) => TypedAtom { term: term.clone(), ty: ty.clone() },
                None => TypedAtom { term: e.clone(), ty: Ty::Unit },
            },
            // D{λx. e} = pure λx. D{e}
            TermKind::Lam(x, body) => {
                let (f, ty) = self.function(x, body);
                self.let_(block, "f", ty, Term::new(f.kind, e.span))
            }
            // D{let x = e₁ in e₂} = do { x ← D{e₁}; D{e₂} }
            TermKind::Let(bindings, body) => {
                for (x, value) in bindings {
                    let value = self.term(value, block);
                    let x = self.binder(x);
                    // What was made last gets the name of the source.
                    let t = block.last(&value.term).unwrap_or(value.term);
                    block.steps.push(DoStatement::Source(x, t));
                }
                self.term(body, block)
            }
            // D{letrec f = λx. e₁ in e₂} = letrec f = λx. D{e₁} in D{e₂} (ours)
            TermKind::LetRec(f, function, body) => {
                let f = self.binder(f);
                if let TermKind::Lam(x, inner) = &function.kind {
                    let function = self.function(x, inner).0;
                    block.steps.push(DoStatement::LetRec(f, function));
                }
                self.term(body, block)
            }
            // D{e₁ e₂} = do { f ← D{e₁}; x ← D{e₂}; f x }
            TermKind::App(f, x) => {
                let f = self.term(f, block);
                let x = self.term(x, block);
                self.call(block, &f, x.term, e.span)
            }
            // D{inl e} = do { x ← D{e}; pure (inl x) }
            TermKind::Con(id, args, tag, es) => {
                let ty = self.ty(&Ty::Data(*id, args.clone()));
                let xs = self.terms(es, block);
                let x = con(&ty, *tag, xs);
                self.let_(block, "x", ty, x)
            }
            // D{case e₀ of inl x₁ → e₁, inr x₂ → e₂}
            //   = do { x ← D{e₀}; case x of inl x₁ → D{e₁}, inr x₂ → D{e₂} }
            TermKind::Case(case) => self.case(case, block, e.span),
            // D{if e₀ then e₁ else e₂} = do { x ← D{e₀}; if x then D{e₁} else D{e₂} } (a sum without payload)
            TermKind::If(c, yes, no) => {
                let c = self.term(c, block).term;
                let branches = vec![self.branch(block, yes), self.branch(block, no)];
                let span = e.span;
                self.join(block, branches, |mut terms| {
                    let no = terms.pop().unwrap_or_else(unit);
                    let yes = terms.pop().unwrap_or_else(unit);
                    Term::new(if_(c, yes, no).kind, span)
                })
            }
            // D{(e₁, e₂)} = do { x ← D{e₁}; y ← D{e₂}; pure (x, y) }
            TermKind::Tuple(a, es) => {
                let ty = self.ty(a);
                let xs = self.terms(es, block);
                self.let_(block, "t", ty.clone(), term(TermKind::Tuple(ty, xs)))
            }
            // D{fst e} = do { x ← D{e}; pure (fst x) }
            TermKind::Proj(_, i, of) => {
                let x = self.term(of, block);
                let ty = x.ty.components().map_or(Ty::Unit, |types| types[*i].clone());
                TypedAtom { term: term(TermKind::Proj(x.ty, *i, Box::new(x.term))), ty }
            }
            // D{k} = pure k
            TermKind::Lit(k @ (Lit::Int(_) | Lit::Bool(_) | Lit::String(_) | Lit::Unit)) => {
                TypedAtom { term: e.clone(), ty: literal_type(k) }
            }
            // D{r} = pure (r, Zero)
            TermKind::Lit(Lit::Real(r)) => {
                let ty = real_type(self.w, self.system);
                let r = constant(self.w, self.system, real(*r));
                self.let_(block, "r", ty, r)
            }
            // D{f} = f_rev, the translation of its definition (section 7.5)
            TermKind::Global(id) => {
                let f = self.global(*id);
                TypedAtom { term: Term::new(f.term.kind, e.span), ty: f.ty }
            }
            // D{[e₁, …]} = do { x₁ ← D{e₁}; …; pure [x₁, …] } (ours)
            TermKind::Array(a, es) => {
                let ty = self.ty(&Ty::array(a.clone()));
                let xs = self.terms(es, block);
                let array = match self.system.splits(a) {
                    true => split::array(self.w, self.system, &xs),
                    false => term(TermKind::Array(self.ty(a), xs)),
                };
                self.let_(block, "xs", ty, array)
            }
            TermKind::Build(build) => self.build(build, block, e.span),
            TermKind::Loop(l) => self.loop_(l, block, e.span),
            TermKind::Prim(p, es) => {
                let xs = self.values(es, block);
                self.prim(p, xs, e, block)
            }
            TermKind::Diff(d, es) => self.diff(d, es, e, block),
        }
    }

    fn global(&mut self, id: GlobalId) -> TypedAtom {
        let source = self.w.global(id).ty.clone();
        let ty = self.ty(&source);
        if inert(self.w, &source) {
            return TypedAtom { term: global(id), ty };
        }
        let f = global(self.w.translated(self.system, id));
        TypedAtom { term: f, ty }
    }

    fn case(&mut self, case: &Case, block: &mut DoBlock, span: Span) -> TypedAtom {
        let scrutinee = self.term(&case.scrutinee, block).term;
        let (id, args) = &case.data;
        let data = homomorphism::variant(self.w, self.system, *id, args);
        let mut heads = Vec::new();
        let mut branches = Vec::new();
        for arm in &case.arms {
            let binders: Vec<Binder> = arm.binders.iter().map(|b| self.binder(b)).collect();
            heads.push((arm.tag, binders));
            branches.push(self.branch(block, &arm.body));
        }
        if let Some(default) = &case.default {
            branches.push(self.branch(block, default));
        }
        self.join(block, branches, |terms| {
            let mut terms = terms.into_iter();
            let arms = heads
                .into_iter()
                .zip(&mut terms)
                .map(|((tag, binders), body)| Arm { tag, binders, body })
                .collect();
            let default = terms.next();
            Term::new(TermKind::Case(Box::new(Case { scrutinee, data, arms, default })), span)
        })
    }

    /// D{build (e₁, λi. e₂)} = do { n ← D{e₁}; sequence_A (build (n, λi. D{e₂})) } (section 10.2)
    fn build(&mut self, b: &Build, block: &mut DoBlock, span: Span) -> TypedAtom {
        let count = self.term(&b.count, block).term;
        let index = self.binder(&b.index);
        let a = self.ty(&b.element);
        let s = self.w.binder("s", self.state.clone());
        let mut body = DoBlock::new(var(&s));
        let value = self.term(&b.body, &mut body);
        let array = self.ty(&Ty::array(b.element.clone()));
        let split = self.system.splits(&b.element);
        let made = |count, index, body, element| {
            Term::new(TermKind::Build(Box::new(Build { count, index, body, element })), span)
        };
        if body.pure {
            let body = body.close_with(value);
            let mut built = made(count, index, body, a);
            if split {
                built = split::unzipped(self.w, self.system, built);
            }
            return self.let_(block, "xs", array, built);
        }
        let action = lam(s, self.finish(body, value));
        let m = monad(self.w, self.system, a.clone());
        let actions = made(count, index, action, m.clone());
        let sequence = sequence(self.w, self.system, &a);
        let types = vec![Ty::array(m), self.state.clone()];
        let m = call(sequence, types, vec![actions, block.state.clone()]);
        let built = self.run(block, "xs", &Ty::array(a), m);
        if split {
            let halves = split::unzipped(self.w, self.system, built.term);
            return self.let_(block, "xs", array, halves);
        }
        built
    }

    /// D{loop x = e₁ … do e₂} = do { x ← D{e₁}; … }: the state goes from step to step (ours).
    fn loop_(&mut self, l: &Loop, block: &mut DoBlock, span: Span) -> TypedAtom {
        let init = self.term(&l.init, block).term;
        let count = match &l.control {
            Control::Count { count, .. } => Some(self.term(count, block).term),
            Control::While(_) => None,
        };
        let a = self.ty(&l.state.ty);
        let both = self.pair(&a);
        let s = self.w.binder("s", both.clone());
        let control = match (&l.control, count) {
            (Control::Count { index, .. }, Some(count)) => {
                Control::Count { index: self.binder(index), count }
            }
            // The condition is a Bool, so that no binding made for it is of use: it has a state of its own.
            (Control::While(condition), _) => {
                self.binder(&l.state);
                let start = runtime::function(self.w, self.system, "start");
                let own = self.w.binder("s", self.state.clone());
                let mut inner = DoBlock::new(var(&own));
                let value = self.term(condition, &mut inner);
                Control::While(match inner.pure {
                    true => inner.close_with(value),
                    false => bind(own, app(global(start), int(0)), inner.close_with(value)),
                })
            }
            (Control::Count { .. }, None) => return TypedAtom { term: init, ty: a },
        };
        let seen = self.variables.get(&l.state.var.id).cloned();
        let x = self.binder(&l.state);
        let mut body = DoBlock::new(proj(&both, 1, var(&s)));
        let value = self.term(&l.body, &mut body);
        let pure = body.pure;
        let current = if pure { var(&x) } else { proj(&both, 0, var(&s)) };
        let control = match (control, seen.map(|(t, _)| t.kind)) {
            (Control::While(condition), Some(TermKind::Var(of))) => {
                let binder = Binder { var: of, ty: a.clone() };
                Control::While(bind(binder, current.clone(), condition))
            }
            (control, _) => control,
        };
        if pure {
            let body = body.close_with(value);
            let l = Loop { state: x, init, control, body };
            return self.let_(block, "x", a, Term::new(TermKind::Loop(Box::new(l)), span));
        }
        body.steps.insert(0, DoStatement::Source(x, current));
        let body = self.finish(body, value);
        let init = term(TermKind::Tuple(both, vec![init, block.state.clone()]));
        let l = Loop { state: s, init, control, body };
        self.run(block, "r", &a, Term::new(TermKind::Loop(Box::new(l)), span))
    }
}

fn codomain(f: &Ty) -> Ty {
    match f {
        Ty::Fun(f) => f.1.clone(),
        other => other.clone(),
    }
}

/// `sequence_A : []M A × DeltaState → ([]A, DeltaState)` (section 10.2)
fn sequence(w: &mut Workspace, system: &System, a: &Ty) -> GlobalId {
    let state = runtime::state(w, system);
    let m = monad(w, system, a.clone());
    let (actions, array) = (Ty::array(m.clone()), Ty::array(a.clone()));
    let from = Ty::tuple(vec![actions, state.clone()]);
    let to = Ty::tuple(vec![array, state.clone()]);
    let key = format!("sequence[{}; {}]", w.type_text(a), system.symbol());
    w.made(&key, Ty::fun(from.clone(), to.clone()), |w| {
        let p = w.binder("p", from.clone());
        let ms = proj(&from, 0, var(&p));
        let both = w.binder("both", to.clone());
        let i = w.binder("i", Ty::Int);
        let step = Ty::tuple(vec![a.clone(), state.clone()]);
        let r = w.binder("r", step.clone());
        let ran = app(index(&m, ms.clone(), var(&i)), proj(&to, 1, var(&both)));
        let one = term(TermKind::Array(a.clone(), vec![proj(&step, 0, var(&r))]));
        let grown = prim(Prim::Append(a.clone()), vec![proj(&to, 0, var(&both)), one]);
        let next = vec![grown, proj(&step, 1, var(&r))];
        let body = bind(r, ran, term(TermKind::Tuple(to.clone(), next)));
        let none = term(TermKind::Array(a.clone(), vec![]));
        let init = term(TermKind::Tuple(to.clone(), vec![none, proj(&from, 1, var(&p))]));
        lam(p, count_loop(both, init, i, length(&m, ms), body))
    })
}

/// The translation of a function `λx. e` or `letrec f = λx. e in f` as a value; `variables` stand for those from
/// around it.
pub(crate) fn function(
    w: &mut Workspace,
    system: &System,
    variables: &[(u32, Binder)],
    e: &Term,
) -> Term {
    let state = runtime::state(w, system);
    let variables = variables.iter().map(|(x, y)| (*x, (var(y), y.ty.clone()))).collect();
    let mut t = DeltaTranslator { w, system, state, variables };
    match &e.kind {
        TermKind::Lam(x, body) => t.function(x, body).0,
        TermKind::LetRec(f, function, _) => {
            let f = t.binder(f);
            let function = match &function.kind {
                TermKind::Lam(x, body) => t.function(x, body).0,
                _ => (**function).clone(),
            };
            let itself = Box::new(var(&f));
            term(TermKind::LetRec(f, Box::new(function), itself))
        }
        _ => e.clone(),
    }
}
