//! Core in, shorter Core out, with the same values: what a reader would do in their head.
//!
//! ```text
//! (λx. e) e′ = let x = e′ in e                         f e′ = let x = e′ in e   for an auxiliary f = λx. e
//! let x = y in e = e[y/x]                              let x = e′ in e = e[e′/x]   if x occurs once
//! let x = ⟨a, b⟩ in e = let y = a; z = b in e[y/fst x, z/snd x]
//! fst ⟨a, b⟩ = a      fst (let x = a in b) = let x = a in fst b      let x = (let y = a in b) in c = …
//! case inl a of inl x → e … = let x = a in e           if true then a else b = a
//! ```
//!
//! What is moved or dropped cannot stop the program ([`is_total`]); nothing is moved into a function or a loop,
//! where it would be done again. Variables of the source keep their `let`s.

use super::reach::{prune, reached, references, Needed};
use crate::workspace::rename;
use diffeo_base::deep;
use diffeo_base::Name;
use diffeo_calculus::build::{app, int, map_children, proj, term, var};
use diffeo_calculus::prim::{IntOp, Prim};
use diffeo_calculus::term::each_binder;
use diffeo_calculus::term::{Binder, Control, GlobalId, Lit, Term, TermKind, Var};
use diffeo_calculus::ty::Ty;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// More rounds than any program needs.
const ROUNDS: usize = 60;

/// A term of more nodes is not moved: it stays readable as a `let`.
const MOVED: usize = 60;

/// An auxiliary function of more nodes that is called several times stays a definition.
const SMALL: usize = 24;

/// Simplifies all definitions.
pub(crate) fn simplify(program: &mut Needed) {
    for _ in 0..ROUNDS {
        let inlined = inlined(program);
        let mut round = Round::new(program, inlined);
        let mut globals = Vec::new();
        for global in &program.part.globals {
            let mut global = (**global).clone();
            global.body = round.term(&global.body);
            globals.push(Rc::new(global));
        }
        let (changed, next, better) = (round.changed, round.next, round.better);
        let sources: Vec<u32> = round.more_sources;
        program.part.globals = globals;
        program.next = next;
        program.sources.extend(sources);
        let last = GlobalId(program.part.globals.len() as u32 - 1);
        let (part, kept) = prune(&program.part, last);
        let auxiliary = kept.iter().enumerate().filter(|(_, old)| program.auxiliary.contains(old));
        program.auxiliary = auxiliary.map(|(new, _)| GlobalId(new as u32)).collect();
        program.part = part;
        improve_names(program, &better);
        if !changed {
            return;
        }
    }
}

/// Gives variables the names that the source has for them.
fn improve_names(program: &mut Needed, better: &HashMap<u32, Name>) {
    if better.is_empty() {
        return;
    }
    let variables: HashMap<u32, Var> =
        better.iter().map(|(id, name)| (*id, Var { name: name.clone(), id: *id })).collect();
    for global in &mut program.part.globals {
        let global = Rc::make_mut(global);
        global.body = rename(&variables, &global.body);
    }
    program.sources.extend(better.keys());
}

/// The bodies of the auxiliary functions that are put in the place of their calls.
fn inlined(program: &Needed) -> HashMap<GlobalId, (Binder, Term)> {
    let globals = &program.part.globals;
    let mut mentions: HashMap<GlobalId, usize> = HashMap::new();
    for global in globals {
        for id in references(&global.body) {
            *mentions.entry(id).or_default() += 1;
        }
    }
    let mut found = HashMap::new();
    for id in &program.auxiliary {
        let TermKind::Lam(x, body) = &globals[id.0 as usize].body.kind else { continue };
        let once = mentions.get(id) == Some(&1);
        let short = once || size(body, SMALL) <= SMALL;
        let again =
            references(body).iter().any(|next| next == id || reached(globals, *next).contains(id));
        if short && !again {
            found.insert(*id, (x.clone(), (**body).clone()));
        }
    }
    found
}

/// How many nodes a term has, as far as they are not more than `most`.
fn size(e: &Term, most: usize) -> usize {
    let mut pending = vec![e];
    let mut count = 0;
    while let Some(e) = pending.pop() {
        count += 1;
        if count > most {
            break;
        }
        e.each_child(|child| pending.push(child));
    }
    count
}

/// How a variable is used.
#[derive(Clone, Copy, Default)]
struct VarUses {
    all: usize,
    /// As the operand of a projection.
    taken_apart: usize,
    /// In a function or loop that it is bound outside of.
    again: bool,
}

struct Round {
    inlined: HashMap<GlobalId, (Binder, Term)>,
    functions: HashSet<GlobalId>,
    uses: HashMap<u32, VarUses>,
    sources: HashSet<u32>,
    kept: HashSet<u32>,
    /// Copies of variables of the source.
    more_sources: Vec<u32>,
    next: u32,
    /// What stands for a variable.
    replaced: HashMap<u32, Term>,
    /// The components of variables that are tuples.
    components: HashMap<u32, Vec<Term>>,
    /// Names for variables that have none in the source.
    better: HashMap<u32, Name>,
    changed: bool,
}

impl Round {
    fn new(program: &Needed, inlined: HashMap<GlobalId, (Binder, Term)>) -> Round {
        let mut count = Count::default();
        let mut functions = HashSet::new();
        for (i, global) in program.part.globals.iter().enumerate() {
            count.term(&global.body, 0);
            if matches!(global.body.kind, TermKind::Lam(..)) {
                functions.insert(GlobalId(i as u32));
            }
        }
        Round {
            inlined,
            functions,
            uses: count.uses,
            sources: program.sources.clone(),
            kept: program.kept.clone(),
            more_sources: Vec::new(),
            next: program.next,
            replaced: HashMap::new(),
            components: HashMap::new(),
            better: HashMap::new(),
            changed: false,
        }
    }

    fn uses(&self, x: &Var) -> VarUses {
        self.uses.get(&x.id).copied().unwrap_or_default()
    }

    fn fresh(&mut self, name: &str, ty: Ty) -> Binder {
        self.next += 1;
        Binder { var: Var { name: Name::new(name), id: self.next - 1 }, ty }
    }

    /// The body of a function with variables of its own.
    fn copy(&mut self, x: &Binder, body: &Term) -> (Binder, Term) {
        let mut variables = HashMap::new();
        let mut binders = vec![x.clone()];
        each_binder(body, &mut |b| binders.push(b.clone()));
        for b in &binders {
            let new = self.fresh(&b.var.name, Ty::Unit).var;
            if self.sources.contains(&b.var.id) {
                self.more_sources.push(new.id);
            }
            variables.insert(b.var.id, new);
        }
        let var = variables[&x.var.id].clone();
        (Binder { var, ty: x.ty.clone() }, rename(&variables, body))
    }

    fn term(&mut self, e: &Term) -> Term {
        deep(|| self.reduced(e))
    }

    fn reduced(&mut self, e: &Term) -> Term {
        let at = |t: Term| Term::new(t.kind, e.span);
        match &e.kind {
            TermKind::Var(x) => match self.replaced.get(&x.id) {
                Some(t) => t.clone(),
                None => e.clone(),
            },
            TermKind::Let(bindings, body) => {
                let mut done = Vec::new();
                for (x, value) in bindings {
                    let value = self.term(value);
                    self.bind(x, value, &mut done);
                }
                let body = self.term(body);
                self.closed(done, body, e)
            }
            TermKind::App(f, x) => {
                let (f, x) = (self.term(f), self.term(x));
                match f.kind {
                    TermKind::Var(_) | TermKind::Global(_)
                        if matches!(x.kind, TermKind::Let(..)) =>
                    {
                        self.changed = true;
                        let TermKind::Let(bindings, x) = x.kind else { return at(app(f, x)) };
                        term(TermKind::Let(bindings, Box::new(at(app(f, *x)))))
                    }
                    TermKind::Lam(p, body) => {
                        self.changed = true;
                        at(term(TermKind::Let(vec![(p, x)], body)))
                    }
                    TermKind::Let(bindings, f) => {
                        self.changed = true;
                        term(TermKind::Let(bindings, Box::new(at(app(*f, x)))))
                    }
                    TermKind::Global(id) if self.inlined.contains_key(&id) => {
                        self.changed = true;
                        let (p, body) = self.inlined[&id].clone();
                        let (p, body) = self.copy(&p, &body);
                        at(term(TermKind::Let(vec![(p, x)], Box::new(body))))
                    }
                    _ => at(app(f, x)),
                }
            }
            TermKind::Proj(ty, i, of) => {
                let of = self.term(of);
                self.component(ty, *i, of, e)
            }
            TermKind::Prim(Prim::Int(IntOp::Add), _) => {
                let e = map_children(e, &mut |child| self.term(child));
                let TermKind::Prim(_, operands) = &e.kind else { return e };
                match operands.iter().map(integer).collect::<Option<Vec<i64>>>().as_deref() {
                    Some([a, b]) if a.checked_add(*b).is_some() => at(int(a + b)),
                    _ => e,
                }
            }
            TermKind::Case(case) => {
                let known = self.term(&case.scrutinee);
                if let TermKind::Con(_, _, tag, fields) = &known.kind {
                    let arm = case.arms.iter().find(|arm| arm.tag == *tag);
                    let total = arm.is_some() || fields.iter().all(|f| self.is_total(f));
                    if total {
                        self.changed = true;
                        return match (arm, &case.default) {
                            (Some(arm), _) => {
                                let bindings = arm.binders.iter().cloned().zip(fields.clone());
                                let kind =
                                    TermKind::Let(bindings.collect(), Box::new(arm.body.clone()));
                                self.term(&at(term(kind)))
                            }
                            (None, Some(default)) => self.term(default),
                            (None, None) => e.clone(),
                        };
                    }
                }
                map_children(e, &mut |child| self.term(child))
            }
            TermKind::If(condition, yes, no) => match condition.kind {
                TermKind::Lit(Lit::Bool(holds)) => {
                    self.changed = true;
                    self.term(if holds { yes } else { no })
                }
                _ => map_children(e, &mut |child| self.term(child)),
            },
            TermKind::Global(_)
            | TermKind::Lit(_)
            | TermKind::Lam(..)
            | TermKind::LetRec(..)
            | TermKind::Tuple(..)
            | TermKind::Con(..)
            | TermKind::Array(..)
            | TermKind::Build(_)
            | TermKind::Loop(_)
            | TermKind::Prim(..)
            | TermKind::Diff(..) => map_children(e, &mut |child| self.term(child)),
        }
    }

    /// A component of a term.
    fn component(&mut self, ty: &Ty, i: usize, of: Term, e: &Term) -> Term {
        match of.kind {
            TermKind::Var(ref x) => {
                if let Some(known) = self.components.get(&x.id).and_then(|parts| parts.get(i)) {
                    self.changed = true;
                    return known.clone();
                }
                Term::new(proj(ty, i, of).kind, e.span)
            }
            TermKind::Tuple(_, mut parts)
                if parts.iter().enumerate().all(|(j, part)| j == i || self.is_total(part)) =>
            {
                self.changed = true;
                parts.swap_remove(i)
            }
            TermKind::Let(bindings, body) => {
                self.changed = true;
                let body = self.component(ty, i, *body, e);
                term(TermKind::Let(bindings, Box::new(body)))
            }
            _ => Term::new(TermKind::Proj(ty.clone(), i, Box::new(of)), e.span),
        }
    }

    /// `x = value`, in short.
    fn bind(&mut self, x: &Binder, value: Term, done: &mut Vec<(Binder, Term)>) {
        let uses = self.uses(&x.var);
        if let TermKind::Let(bindings, body) = value.kind {
            self.changed = true;
            done.extend(bindings);
            return self.bind(x, *body, done);
        }
        if uses.all == 0 && self.is_total(&value) {
            self.changed = true;
            return;
        }
        let named = self.sources.contains(&x.var.id);
        match &value.kind {
            TermKind::Var(y) => {
                if named && !self.sources.contains(&y.id) {
                    self.better.insert(y.id, x.var.name.clone());
                }
                return self.replace(x, value);
            }
            TermKind::Lit(_) => return self.replace(x, value),
            TermKind::Global(id) if self.functions.contains(id) => return self.replace(x, value),
            TermKind::Tuple(ty, parts) if uses.all == uses.taken_apart => {
                self.changed = true;
                let mut variables = Vec::new();
                for (i, part) in parts.iter().enumerate() {
                    let name = component_name(&x.var.name, ty, i);
                    let types = ty.components().unwrap_or_default();
                    let y = self.fresh(&name, types[i].clone());
                    if named {
                        self.better.insert(y.var.id, y.var.name.clone());
                    }
                    variables.push(var(&y));
                    done.push((y, part.clone()));
                }
                self.components.insert(x.var.id, variables);
                return;
            }
            TermKind::Tuple(_, parts) if parts.iter().all(is_short) => {
                self.components.insert(x.var.id, parts.clone());
            }
            _ => {}
        }
        let short = size(&value, MOVED) <= MOVED;
        let function = matches!(value.kind, TermKind::Lam(..));
        let named = named || self.kept.contains(&x.var.id);
        if uses.all == 1 && !uses.again && !named && short && !function && self.is_total(&value) {
            return self.replace(x, value);
        }
        done.push((x.clone(), value));
    }

    fn replace(&mut self, x: &Binder, value: Term) {
        self.changed = true;
        self.replaced.insert(x.var.id, value);
    }

    /// `let done in body`
    fn closed(&mut self, mut done: Vec<(Binder, Term)>, body: Term, e: &Term) -> Term {
        if let (TermKind::Var(x), Some((last, _))) = (&body.kind, done.last()) {
            if *x == last.var && !self.sources.contains(&x.id) {
                self.changed = true;
                if let Some((_, value)) = done.pop() {
                    return self.closed(done, value, e);
                }
            }
        }
        match body.kind {
            _ if done.is_empty() => body,
            TermKind::Let(bindings, body) => {
                self.changed = true;
                done.extend(bindings);
                Term::new(TermKind::Let(done, body), e.span)
            }
            _ => Term::new(TermKind::Let(done, Box::new(body)), e.span),
        }
    }

    /// Whether evaluating the term does nothing but give a value.
    fn is_total(&self, e: &Term) -> bool {
        deep(|| match &e.kind {
            TermKind::Var(_) | TermKind::Lit(_) | TermKind::Lam(..) => true,
            TermKind::Global(id) => self.functions.contains(id),
            TermKind::Tuple(_, es) | TermKind::Con(_, _, _, es) | TermKind::Array(_, es) => {
                es.iter().all(|e| self.is_total(e))
            }
            TermKind::Proj(_, _, of) => self.is_total(of),
            TermKind::If(a, b, c) => self.is_total(a) && self.is_total(b) && self.is_total(c),
            TermKind::Prim(p, es) => never_stops(p) && es.iter().all(|e| self.is_total(e)),
            TermKind::App(..)
            | TermKind::Let(..)
            | TermKind::LetRec(..)
            | TermKind::Case(_)
            | TermKind::Build(_)
            | TermKind::Loop(_)
            | TermKind::Diff(..) => false,
        })
    }
}

/// Whether the term is as short as a name.
fn is_name(e: &Term) -> bool {
    matches!(e.kind, TermKind::Var(_) | TermKind::Lit(_))
}

/// Whether the term is a structure of names.
fn is_short(e: &Term) -> bool {
    match &e.kind {
        TermKind::Tuple(_, parts) | TermKind::Con(_, _, _, parts) => parts.iter().all(is_short),
        _ => is_name(e),
    }
}

/// What a component of a variable is called: `x_1`, `x_2`, …, or by its field.
pub(super) fn component_name(x: &str, ty: &Ty, i: usize) -> String {
    match ty {
        Ty::Record(fields) => format!("{x}_{}", fields[i].0),
        _ => format!("{x}_{}", i + 1),
    }
}

/// The number, if the term is one.
fn integer(e: &Term) -> Option<i64> {
    match e.kind {
        TermKind::Lit(Lit::Int(n)) => Some(n),
        _ => None,
    }
}

/// Whether an operation has a value for all operands, and does nothing else.
fn never_stops(p: &Prim) -> bool {
    match p {
        Prim::Real(_) | Prim::PowInt | Prim::Not | Prim::ToReal | Prim::IsNan => true,
        Prim::Compare(_, ty) => matches!(ty, Ty::Real | Ty::Int | Ty::Bool | Ty::String),
        Prim::Length(_) | Prim::AppendStrings | Prim::Text(_) => true,
        Prim::Int(_)
        | Prim::Round(_)
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
        | Prim::Index(_)
        | Prim::Slice(_)
        | Prim::Update(_)
        | Prim::Append(_)
        | Prim::Flatten(_)
        | Prim::Sum(_)
        | Prim::ArgSort(_)
        | Prim::Sizes(..)
        | Prim::Show(_)
        | Prim::Labels(_)
        | Prim::Fail(_)
        | Prim::Trace(_)
        | Prim::Progress(_)
        | Prim::Warn
        | Prim::Lift(_) => false,
    }
}

/// Counts the uses of variables.
#[derive(Default)]
struct Count {
    uses: HashMap<u32, VarUses>,
    /// In how many functions and loops each variable is bound.
    depths: HashMap<u32, usize>,
}

impl Count {
    fn binder(&mut self, x: &Binder, depth: usize) {
        self.depths.insert(x.var.id, depth);
    }

    fn term(&mut self, e: &Term, depth: usize) {
        deep(|| match &e.kind {
            TermKind::Var(x) => {
                let uses = self.uses.entry(x.id).or_default();
                uses.all += 1;
                uses.again |= self.depths.get(&x.id).is_some_and(|bound| *bound < depth);
            }
            TermKind::Proj(_, _, of) => {
                if let TermKind::Var(x) = &of.kind {
                    self.uses.entry(x.id).or_default().taken_apart += 1;
                }
                self.term(of, depth);
            }
            TermKind::Lam(x, body) => {
                self.binder(x, depth + 1);
                self.term(body, depth + 1);
            }
            TermKind::Let(bindings, body) => {
                for (x, value) in bindings {
                    self.term(value, depth);
                    self.binder(x, depth);
                }
                self.term(body, depth);
            }
            TermKind::LetRec(f, function, body) => {
                self.binder(f, depth);
                self.term(function, depth);
                self.term(body, depth);
            }
            TermKind::Case(case) => {
                self.term(&case.scrutinee, depth);
                for arm in &case.arms {
                    arm.binders.iter().for_each(|x| self.binder(x, depth));
                    self.term(&arm.body, depth);
                }
                case.default.iter().for_each(|e| self.term(e, depth));
            }
            TermKind::Build(b) => {
                self.term(&b.count, depth);
                self.binder(&b.index, depth + 1);
                self.term(&b.body, depth + 1);
            }
            TermKind::Loop(l) => {
                self.term(&l.init, depth);
                self.binder(&l.state, depth + 1);
                match &l.control {
                    Control::Count { index, count } => {
                        self.term(count, depth);
                        self.binder(index, depth + 1);
                    }
                    Control::While(condition) => self.term(condition, depth + 1),
                }
                self.term(&l.body, depth + 1);
            }
            TermKind::Global(_)
            | TermKind::Lit(_)
            | TermKind::App(..)
            | TermKind::Tuple(..)
            | TermKind::Con(..)
            | TermKind::If(..)
            | TermKind::Array(..)
            | TermKind::Prim(..)
            | TermKind::Diff(..) => {
                let mut children = Vec::new();
                e.each_child(|child| children.push(child));
                children.into_iter().for_each(|child| self.term(child, depth));
            }
        })
    }
}
