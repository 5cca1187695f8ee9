//! Abstract interpretation of terms and calls; [`Value`] is the abstract value.
//!
//! Invariants: a call of a function with an argument is analysed once; recursion and loops reach a fixed point, since the
//! values that they are given are joined after a few rounds.

use super::number::{Constant, Dependence, Number};
use super::value::{Change, Closure, Data, Value};
use super::{Reason, Rules, Why};
use crate::eval::error::written;
use crate::term::{each_binder, Case, Control, GlobalId, Lit, Loop, Term, TermKind};
use crate::typing::{component, first_order};
use crate::Ty;
use diffeo_base::{deep, Name, Span};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The values of variables.
pub type Env<'p> = HashMap<u32, Value<'p>>;

/// How many calls of a function may be open before their arguments are joined, and before it is unknown what they give.
const OPEN_CALLS: usize = 4;
const MOST_CALLS: usize = 24;
/// How often a loop is analysed before literals in its state are forgotten, and before its state is.
const ROUNDS: usize = 4;
const MOST_ROUNDS: usize = 40;

/// What a call of a function gives.
pub struct Known<'p> {
    env: Rc<[(u32, Value<'p>)]>,
    arg: Value<'p>,
    result: Value<'p>,
    state: State,
}

/// How far the analysis of a call is.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// It is under way, as the call of this number among the open ones.
    Open(usize),
    /// It is done as far as the result of the open call of this number is known.
    Provisional(usize),
    Done,
    /// It was done with less known.
    Dropped,
}

/// A call that has been analysed: its function, and where it stands among those of the function.
type Place = (*const Term, usize);

/// The calls that are open, and those that depend on them.
#[derive(Default)]
pub struct Calls<'p> {
    known: HashMap<*const Term, Vec<Known<'p>>>,
    open: Vec<Place>,
    provisional: Vec<Place>,
    /// The outermost open call whose result was used.
    lowest: usize,
}

impl<'p> Rules<'p> {
    /// Whether there is time for one more step.
    fn step(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        if self.fuel == 0 {
            self.lost.set(true);
        }
        self.fuel > 0
    }

    /// Anything, where the program has become too large.
    fn unseen(&self, span: Span) -> Value<'p> {
        self.lost.set(true);
        let on = Dependence::Unseen(Reason { why: Why::Size, span });
        Value::Any(Number { on, ..Number::FREE })
    }

    /// The value of a term.
    pub(super) fn term(&mut self, term: &'p Term, env: &mut Env<'p>) -> Value<'p> {
        if !self.step() {
            return self.unseen(term.span);
        }
        deep(|| match &term.kind {
            TermKind::Var(var) => env.get(&var.id).cloned().unwrap_or(Value::Any(Number::FREE)),
            TermKind::Global(id) => self.global(*id, term.span),
            TermKind::Lit(literal) => match literal {
                Lit::Real(x) => Value::Any(Number::exactly(*x)),
                Lit::Int(n) => Value::Plain(Some(*n), Dependence::Free),
                Lit::Bool(b) => Value::Plain(Some(i64::from(*b)), Dependence::Free),
                Lit::String(_) | Lit::Unit => Value::PLAIN,
            },
            TermKind::Lam(..) => self.lambda(term, env, None, None),
            TermKind::App(f, x) => {
                let f = self.term(f, env);
                let x = self.term(x, env);
                self.apply(&f, &x, term.span)
            }
            TermKind::Let(bindings, body) => {
                for (binder, value) in bindings {
                    let value = match &value.kind {
                        TermKind::Lam(..) => {
                            self.lambda(value, env, Some(binder.var.name.clone()), None)
                        }
                        _ => self.term(value, env),
                    };
                    if value == Value::Never {
                        return Value::Never;
                    }
                    env.insert(binder.var.id, value.typed(&binder.ty, self.program));
                }
                self.term(body, env)
            }
            TermKind::LetRec(binder, lam, body) => {
                let own = (Some(binder.var.name.clone()), Some(binder.var.id));
                let f = self.lambda(lam, env, own.0, own.1);
                env.insert(binder.var.id, f);
                self.term(body, env)
            }
            TermKind::Tuple(_, terms) => match self.terms(terms, env) {
                Some(parts) => Value::Tuple(parts.into()),
                None => Value::Never,
            },
            TermKind::Proj(ty, index, of) => {
                let part = self.term(of, env).part(*index);
                component(ty, *index).map_or(Value::Never, |ty| part.typed(ty, self.program))
            }
            TermKind::Con(data, args, tag, terms) => match self.terms(terms, env) {
                Some(fields) => {
                    let of = (*data, args.clone());
                    Value::variant(of, *tag, fields, self.program, &self.lost)
                }
                None => Value::Never,
            },
            TermKind::Case(case) => self.case(case, env),
            TermKind::If(condition, yes, no) => {
                let condition = self.term(condition, env);
                let on = condition.plain();
                let taken = match condition {
                    Value::Never => return Value::Never,
                    Value::Plain(Some(taken), _) => Some(taken != 0),
                    _ => None,
                };
                match taken {
                    Some(true) => self.term(yes, env).chosen(&on),
                    Some(false) => self.term(no, env).chosen(&on),
                    None => {
                        let branches = vec![self.term(yes, env), self.term(no, env)];
                        self.one_of(branches, &on)
                    }
                }
            }
            TermKind::Array(_, terms) => match self.terms(terms, env) {
                Some(elements) => {
                    let one = elements.iter().fold(Value::Never, |a, b| a.with(b, &self.lost));
                    Value::Array(Rc::new(one), Dependence::Free)
                }
                None => Value::Never,
            },
            TermKind::Build(build) => {
                let count = self.term(&build.count, env);
                if count == Value::Never {
                    return Value::Never;
                }
                env.insert(build.index.var.id, Value::PLAIN);
                let element = self.term(&build.body, env);
                Value::Array(Rc::new(element), count.plain())
            }
            TermKind::Loop(l) => self.repeated(l, env, term.span),
            TermKind::Prim(prim, terms) => match self.terms(terms, env) {
                Some(args) => self.operation(prim, terms, &args, term.span),
                None => Value::Never,
            },
            TermKind::Diff(diff, terms) => match self.terms(terms, env) {
                Some(args) => self.derivative(diff.op, &args, term.span),
                None => Value::Never,
            },
        })
    }

    /// The values of terms; none if one of them has none.
    fn terms(&mut self, terms: &'p [Term], env: &mut Env<'p>) -> Option<Vec<Value<'p>>> {
        let values: Vec<Value> = terms.iter().map(|term| self.term(term, env)).collect();
        (!values.contains(&Value::Never)).then_some(values)
    }

    /// One of several values, where it depends on the tangent in this way which. The program goes on with those that
    /// there are, so that one alone does not depend on it.
    fn one_of(&self, values: Vec<Value<'p>>, on: &Dependence) -> Value<'p> {
        let some = values.iter().filter(|v| **v != Value::Never).count();
        let one = values.iter().fold(Value::Never, |a, b| a.or(b, &self.lost));
        if some > 1 {
            one.chosen(on)
        } else {
            one
        }
    }

    fn case(&mut self, case: &'p Case, env: &mut Env<'p>) -> Value<'p> {
        let scrutinee = self.term(&case.scrutinee, env);
        let mut results = Vec::new();
        let on = match &scrutinee {
            Value::Never => return Value::Never,
            Value::Data(data) => {
                let of = &case.data;
                for arm in &case.arms {
                    let cell = data.cells.iter().find(|c| c.tag == arm.tag && c.of == *of);
                    let Some(cell) = cell else { continue };
                    for (binder, field) in arm.binders.iter().zip(cell.fields.iter()) {
                        let field = field.freed(data).typed(&binder.ty, self.program);
                        env.insert(binder.var.id, field);
                    }
                    results.push(self.term(&arm.body, env));
                }
                let left = |data: &Data| {
                    let mut own = data.cells.iter().filter(|cell| cell.of == *of);
                    own.any(|cell| case.arms.iter().all(|arm| arm.tag != cell.tag))
                };
                if let Some(default) = case.default.as_ref().filter(|_| left(data)) {
                    results.push(self.term(default, env));
                }
                data.on.clone()
            }
            other => {
                let n = other.real();
                for arm in &case.arms {
                    for binder in &arm.binders {
                        let field = Value::Any(n.clone()).typed(&binder.ty, self.program);
                        env.insert(binder.var.id, field);
                    }
                    results.push(self.term(&arm.body, env));
                }
                if let Some(default) = &case.default {
                    results.push(self.term(default, env));
                }
                n.on.beside()
            }
        };
        self.one_of(results, &on)
    }

    fn repeated(&mut self, l: &'p Loop, env: &mut Env<'p>, span: Span) -> Value<'p> {
        let mut state = self.term(&l.init, env);
        let mut on = match &l.control {
            Control::Count { index, count } => {
                let count = self.term(count, env);
                env.insert(index.var.id, Value::PLAIN);
                if count == Value::Never {
                    return Value::Never;
                }
                count.plain()
            }
            Control::While(_) => Dependence::Free,
        };
        if state == Value::Never {
            return Value::Never;
        }
        for round in 0.. {
            if round == MOST_ROUNDS {
                return self.unseen(span);
            }
            env.insert(l.state.var.id, state.typed(&l.state.ty, self.program));
            if let Control::While(condition) = &l.control {
                let condition = self.term(condition, env);
                on = on.and(&condition.plain());
                if matches!(condition, Value::Never | Value::Plain(Some(0), _)) {
                    break;
                }
            }
            let next = self.term(&l.body, env);
            let mut next = state.or(&next, &self.lost);
            if round >= ROUNDS {
                next = next.general();
            }
            if next == state {
                break;
            }
            state = next;
        }
        state.chosen(&on)
    }

    /// A function with what it captures.
    fn lambda(
        &mut self,
        lam: &'p Term,
        env: &Env<'p>,
        name: Option<Name>,
        own: Option<u32>,
    ) -> Value<'p> {
        let free = self.free.entry(lam).or_insert_with(|| free_variables(lam)).clone();
        let captured = free.iter().filter(|x| Some(**x) != own);
        let captured = captured.filter_map(|x| Some((*x, env.get(x)?.clone()))).collect();
        Value::function(Closure::Lam { lam, env: captured, name, own })
    }

    /// A definition: a function, or the value of a constant.
    pub(super) fn global(&mut self, id: GlobalId, span: Span) -> Value<'p> {
        let body = &self.program.globals[id.0 as usize].body;
        if let TermKind::Lam(..) = &body.kind {
            let at = if self.search.takers.contains(&id) { span } else { Span::NONE };
            return Value::function(Closure::Global(id, at));
        }
        // A constant that needs itself has no value.
        let nothing: Rc<[(u32, Value)]> = [].into();
        self.call_of(body, body, nothing, Value::PLAIN, &[])
    }

    /// The value of an application at this place.
    pub(super) fn apply(&mut self, f: &Value<'p>, x: &Value<'p>, span: Span) -> Value<'p> {
        match f {
            _ if *x == Value::Never => Value::Never,
            Value::Fun(closures, on) => {
                let values = closures.iter().map(|f| self.call(f, x, span));
                let values: Vec<Value> = values.collect();
                let one = values.iter().fold(Value::Never, |a, b| a.with(b, &self.lost));
                one.chosen(on)
            }
            Value::Never => Value::Never,
            other => self.unknown(&other.real(), x, span),
        }
    }

    /// What a function gives that is not known.
    fn unknown(&mut self, captured: &Number, x: &Value<'p>, span: Span) -> Value<'p> {
        self.lost.set(self.lost.get() || x.has_functions());
        let on = captured.on.and(&x.dependence(true)).hidden(Why::Function, span);
        Value::Any(Number { on, ..Number::FREE })
    }

    /// The value of a call at this place.
    pub(super) fn call(&mut self, f: &Closure<'p>, x: &Value<'p>, span: Span) -> Value<'p> {
        let (result, name, place) = match f {
            Closure::Lam { lam, env, name, own } => {
                let itself = own.map(|own| (own, Value::function(f.clone())));
                let TermKind::Lam(_, body) = &lam.kind else { return Value::Never };
                let result = self.call_of(lam, body, env.clone(), x.clone(), itself.as_slice());
                (result, name.clone(), lam.span)
            }
            Closure::Global(id, at) => {
                let global: &'p _ = &*self.program.globals[id.0 as usize];
                let library = self.in_library(global.body.span);
                if self.search.takers.contains(id) {
                    self.given(x, *id, *at);
                }
                let skipped = library && !self.search.library && !self.in_rule;
                if skipped && !x.has_functions() && self.gives_data(*id) {
                    return Value::Any(Number::FREE);
                }
                let TermKind::Lam(_, body) = &global.body.kind else { return Value::Never };
                let nothing: Rc<[(u32, Value)]> = [].into();
                let result = self.call_of(&global.body, body, nothing, x.clone(), &[]);
                (result, Some(global.name.clone()), global.body.span)
            }
            Closure::Pullback(pullback) => {
                let (point, of) = &**pullback;
                let change = of.along(&x.real(), span);
                let on = x.dependence(false);
                (point.numbers(&mut |_| change.clone()).chosen(&on), None, Span::NONE)
            }
            Closure::Unknown(captured) => (self.unknown(captured, x, span), None, Span::NONE),
        };
        if self.in_library(place) && !self.in_library(span) {
            self.called(result, name, span)
        } else {
            result
        }
    }

    /// The result of a call of the library: what happened there is told of the call. Beyond the prelude's, algorithms
    /// may be linear though their steps are not; and branches of the library may be for what does not come.
    fn called(&self, result: Value<'p>, name: Option<Name>, span: Span) -> Value<'p> {
        let name = name.map_or("fn".into(), |name| written(&name));
        let within = |reason: &Reason| self.in_library(reason.span);
        let here = || Reason { why: Why::Operation(name.clone()), span };
        let on = |on: &Dependence| match on {
            Dependence::Nonlinear(reason) if within(reason) => {
                if self.search.prelude == Some(reason.span.file) {
                    Dependence::Nonlinear(here())
                } else {
                    Dependence::Unseen(here())
                }
            }
            Dependence::Unseen(reason) if within(reason) => Dependence::Unseen(here()),
            other => other.clone(),
        };
        result.changed(&mut Change {
            number: &mut |n| {
                let constant = match n.constant {
                    Constant::Sometimes => Constant::Unknown,
                    constant => constant,
                };
                Number::new(constant, on(&n.on))
            },
            on: &mut { on },
            captured: false,
        })
    }

    /// Whether a place is in the library.
    pub(super) fn in_library(&self, span: Span) -> bool {
        self.program.library.contains(&span.file)
    }

    /// Whether a definition is a function that gives no functions.
    fn gives_data(&self, id: GlobalId) -> bool {
        match &self.program.globals[id.0 as usize].ty {
            Ty::Fun(f) => first_order(&f.1, self.program),
            _ => false,
        }
    }

    /// The value of a function's body, or of a constant. `key` stands for the function.
    fn call_of(
        &mut self,
        key: &'p Term,
        body: &'p Term,
        mut env: Rc<[(u32, Value<'p>)]>,
        mut arg: Value<'p>,
        itself: &[(u32, Value<'p>)],
    ) -> Value<'p> {
        let lam: *const Term = key;
        if let Some(known) = self.known(lam, &env, &arg) {
            return known;
        }
        let open: Vec<usize> =
            self.calls.open.iter().filter(|(f, _)| *f == lam).map(|(_, i)| *i).collect();
        if open.len() >= MOST_CALLS {
            return self.unseen(key.span);
        }
        if open.len() >= OPEN_CALLS {
            let last = &self.calls.known[&lam][open[open.len() - 1]];
            arg = last.arg.with(&arg, &self.lost).general();
            let both = last.env.iter().zip(env.iter());
            env = both.map(|((x, a), (_, b))| (*x, a.with(b, &self.lost).general())).collect();
            if let Some(known) = self.known(lam, &env, &arg) {
                return known;
            }
        }
        let depth = self.calls.open.len();
        let entries = self.calls.known.entry(lam).or_default();
        let place = (lam, entries.len());
        let (result, state) = (Value::Never, State::Open(depth));
        entries.push(Known { env: env.clone(), arg: arg.clone(), result, state });
        self.calls.open.push(place);
        let outer = std::mem::replace(&mut self.calls.lowest, usize::MAX);
        let begun = self.calls.provisional.len();
        let mut lowest = usize::MAX;
        for round in 0.. {
            let mut local: Env<'p> = env.iter().chain(itself).cloned().collect();
            if let TermKind::Lam(binder, _) = &key.kind {
                local.insert(binder.var.id, arg.typed(&binder.ty, self.program));
            }
            self.calls.lowest = usize::MAX;
            let result = if round < MOST_ROUNDS {
                self.term(body, &mut local)
            } else {
                self.unseen(key.span)
            };
            lowest = lowest.min(self.calls.lowest);
            let before = self.entry(place).result.clone();
            let result = before.or(&result, &self.lost);
            let changed = result != before;
            self.entry(place).result = result;
            // Results that depend on the old value of this call are computed again.
            if self.calls.lowest > depth || !changed || round > MOST_ROUNDS {
                break;
            }
            for dropped in self.calls.provisional.split_off(begun) {
                self.entry(dropped).state = State::Dropped;
            }
        }
        self.calls.open.pop();
        if lowest < depth {
            self.calls.provisional.push(place);
            for i in begun..self.calls.provisional.len() {
                self.entry(self.calls.provisional[i]).state = State::Provisional(lowest);
            }
        } else {
            for done in self.calls.provisional.split_off(begun) {
                self.entry(done).state = State::Done;
            }
            self.entry(place).state = State::Done;
        }
        self.calls.lowest = outer.min(if lowest < depth { lowest } else { usize::MAX });
        self.entry(place).result.clone()
    }

    fn entry(&mut self, (lam, i): Place) -> &mut Known<'p> {
        &mut self.calls.known.get_mut(&lam).expect("it was analysed")[i]
    }

    /// The entry of a call among those that are analysed.
    fn known(
        &mut self,
        lam: *const Term,
        env: &Rc<[(u32, Value<'p>)]>,
        arg: &Value<'p>,
    ) -> Option<Value<'p>> {
        let entries = self.calls.known.get(&lam)?;
        let same = |k: &&Known| {
            k.state != State::Dropped
                && k.arg == *arg
                && (Rc::ptr_eq(&k.env, env) || deep(|| k.env == *env))
        };
        let found = entries.iter().rev().find(same)?;
        match found.state {
            State::Open(depth) | State::Provisional(depth) => {
                self.calls.lowest = self.calls.lowest.min(depth);
            }
            State::Done | State::Dropped => {}
        }
        Some(found.result.clone())
    }
}

/// The variables that a function captures, in order.
fn free_variables(lam: &Term) -> Rc<[u32]> {
    let mut bound = HashSet::new();
    each_binder(lam, &mut |binder| {
        bound.insert(binder.var.id);
    });
    let mut free = Vec::new();
    let mut pending = vec![lam];
    while let Some(term) = pending.pop() {
        if let TermKind::Var(var) = &term.kind {
            if !bound.contains(&var.id) {
                free.push(var.id);
            }
        }
        term.each_child(|child| pending.push(child));
    }
    free.sort_unstable();
    free.dedup();
    free.into()
}
