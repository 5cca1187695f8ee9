//! The constants of a session: each is computed when an input first needs it, and kept.
//!
//! What comes in: an entry point. What goes out: the entry point in whose program the constants are literals of their values; those
//! that are too long for a literal, or that none can be (an empty array whose rows have a length), are its argument, which the
//! functions that need them pass on. A constant is known by its own Core and that of all that it reaches, as text: so it is the
//! same in a program that is checked anew, and another one when a definition that it needs is. What holds functions is computed
//! anew at each input.

use crate::{Entry, Interface};
use diffeo_base::{deep, Name, Span};
use diffeo_calculus::print::print;
use diffeo_calculus::term::{
    next_variable, Binder, Global, GlobalId, Lit, Program, Term, TermKind, Var,
};
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::typing::first_order;
use diffeo_calculus::value::Value;
use diffeo_papers::shown::needed_by;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// How many Reals, Ints, constructors and so on a literal may have.
const MOST: usize = 100_000;

/// The value of a constant, and how programs get it.
#[derive(Clone)]
enum Known {
    Literal(Value),
    Argument(Value),
    /// It is computed anew.
    Anew,
}

/// Two numbers of 64 bits that stand for a constant and all that it reaches.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key([u64; 2]);

/// The constants that were computed.
#[derive(Clone, Default)]
pub struct Constants {
    known: HashMap<Key, Known>,
    /// The last key of each name, of a computed and of a given value, where a new definition takes the place of an earlier
    /// one: the value of the earlier one is dropped.
    last: Option<HashMap<(Name, bool), Key>>,
    /// The number of values that were given from elsewhere.
    given: u64,
}

/// What computes an entry point of an argument, if it has one.
type Run<'r> = dyn FnMut(&Entry, Option<Value>) -> Option<Value> + 'r;

impl Constants {
    /// The constants of a notebook: a definition that a new one of its name hides is not reached any more.
    pub fn of_one_program() -> Constants {
        Constants { last: Some(HashMap::new()), ..Constants::default() }
    }

    /// Keeps the value of an entry point, as it was before it was put constants into.
    pub fn keep(&mut self, entry: &Entry, value: &Value) {
        let global = &entry.program.globals[entry.global.0 as usize];
        if is_function(&global.body) {
            return;
        }
        if let Some(key) = keys(&entry.program, entry.global).remove(&entry.global) {
            self.insert(key, &entry.program, entry.global, value, true);
        }
    }

    /// A number that no other constant has whose value is given from elsewhere.
    pub(super) fn next_number(&mut self) -> u64 {
        self.given += 1;
        self.given
    }

    fn insert(&mut self, key: Key, program: &Program, id: GlobalId, value: &Value, given: bool) {
        let global = &program.globals[id.0 as usize];
        let mut left = MOST;
        let found = literal(value, &global.ty, &program.datas, global.span, &mut left);
        let known = match found {
            Some(_) => Known::Literal(value.clone()),
            None if first_order(&global.ty, program) => Known::Argument(value.clone()),
            None => Known::Anew,
        };
        let last = self.last.as_mut();
        if let Some(before) = last.and_then(|last| last.insert((global.name.clone(), given), key)) {
            self.known.remove(&before);
        }
        self.known.insert(key, known);
    }

    /// An entry point that has the values of its constants, some of them as the argument. Those that are not known yet are
    /// computed by `run`; one that fails is left to the run of the entry point, which may not need it.
    pub fn put(&mut self, entry: Entry, run: &mut Run<'_>) -> (Entry, Option<Value>) {
        let mut program = Program::clone(&entry.program);
        let keys = keys(&entry.program, entry.global);
        for id in order(&entry.program, entry.global) {
            let global = program.globals[id.0 as usize].clone();
            let Some(key) = keys.get(&id).copied() else { continue };
            if is_plain(&global.body) || !first_order(&global.ty, &program) {
                continue;
            }
            if !self.known.contains_key(&key) {
                let own = Entry {
                    program: Rc::new(program.clone()),
                    global: id,
                    ty: global.ty.clone(),
                    name: global.name.clone(),
                    span: global.span,
                    interface: Rc::new(Interface::of_core(&global.ty, &program.datas)),
                };
                let (own, argument) = self.with_argument(own, &keys);
                if let Some(value) = run(&own, argument) {
                    self.insert(key, &program, id, &value, false);
                }
            }
            let Some(Known::Literal(value)) = self.known.get(&key) else { continue };
            let mut left = MOST;
            let body = literal(value, &global.ty, &program.datas, global.body.span, &mut left);
            if let Some(body) = body {
                let mut known = (*global).clone();
                known.body = body;
                program.globals[id.0 as usize] = Rc::new(known);
            }
        }
        self.with_argument(Entry { program: Rc::new(program), ..entry }, &keys)
    }

    /// An entry point whose constants that no literals can be are its argument.
    fn with_argument(&self, entry: Entry, keys: &HashMap<GlobalId, Key>) -> (Entry, Option<Value>) {
        if matches!(entry.ty, Ty::Fun(_)) {
            return (entry, None);
        }
        let globals = &entry.program.globals;
        let long = |id: &GlobalId| match keys.get(id).and_then(|key| self.known.get(key)) {
            Some(Known::Argument(value)) => Some(value),
            _ => None,
        };
        // What the definitions need that the entry point reaches.
        let mut needs: BTreeMap<GlobalId, Vec<GlobalId>> = BTreeMap::new();
        let mut pending = vec![entry.global];
        while let Some(id) = pending.pop() {
            if needs.contains_key(&id) {
                continue;
            }
            let (mut found, mut terms) = (Vec::new(), vec![&globals[id.0 as usize].body]);
            while let Some(term) = terms.pop() {
                if let TermKind::Global(needed) = term.kind {
                    found.push(needed);
                    if needed == entry.global || long(&needed).is_none() {
                        pending.push(needed);
                    }
                }
                term.each_child(|child| terms.push(child));
            }
            needs.insert(id, found);
        }
        let mut given: Vec<GlobalId> =
            needs.values().flatten().copied().filter(|id| !needs.contains_key(id)).collect();
        given.sort();
        given.dedup();
        if given.is_empty() {
            return (entry, None);
        }
        // The definitions that pass it on.
        let mut passing: BTreeSet<GlobalId> = BTreeSet::new();
        loop {
            let more = needs.iter().filter(|(id, needed)| {
                let needs_it = |id: &GlobalId| given.contains(id) || passing.contains(id);
                !passing.contains(id) && needed.iter().any(needs_it)
            });
            let more: Vec<GlobalId> = more.map(|(id, _)| *id).collect();
            if more.is_empty() {
                break;
            }
            passing.extend(more);
        }
        // A constant that holds functions would be computed at each use.
        let is_other = |id: &GlobalId| !is_function(&globals[id.0 as usize].body);
        if passing.iter().any(|id| *id != entry.global && is_other(id)) {
            return (entry, None);
        }
        let types: Vec<Ty> = given.iter().map(|id| globals[id.0 as usize].ty.clone()).collect();
        let values: Vec<Value> = given.iter().filter_map(long).cloned().collect();
        let (ty, value) = match (types.as_slice(), values.as_slice()) {
            ([ty], [value]) => (ty.clone(), value.clone()),
            _ => (Ty::Tuple(types.into()), Value::tuple(values)),
        };
        let mut program = Program::clone(&entry.program);
        let mut variables = next_variable(globals)..;
        let mut binder = |name: &str, ty: &Ty| {
            let id = variables.next().unwrap_or_default();
            Binder { var: Var { name: Name::new(name), id }, ty: ty.clone() }
        };
        let function = |global: &Global, parameter: Binder, body: Term| {
            let (ty, span) = (Ty::fun(parameter.ty.clone(), global.ty.clone()), body.span);
            let body = Term::new(TermKind::Lam(parameter, Box::new(body)), span);
            Rc::new(Global { name: global.name.clone(), ty, body, span: global.span })
        };
        for (i, global) in globals.iter().enumerate() {
            // Definitions that are no longer needed become `fn () -> ()`: they are not evaluated, and mention no changed type.
            if !needs.contains_key(&GlobalId(i as u32)) {
                let nothing = Term::new(TermKind::Lit(Lit::Unit), global.body.span);
                let unit = Global { ty: Ty::Unit, ..Global::clone(global) };
                program.globals[i] = function(&unit, binder("unused", &Ty::Unit), nothing);
            }
        }
        for id in &passing {
            let global = &globals[id.0 as usize];
            let (argument, mut body) = (binder("known", &ty), global.body.clone());
            pass(&mut body, &argument, &given, &passing);
            program.globals[id.0 as usize] = function(global, argument, body);
        }
        let ty = Ty::fun(ty, entry.ty.clone());
        (Entry { program: Rc::new(program), ty, ..entry }, Some(value))
    }
}

/// The keys of the constants that an entry point needs, and its own.
fn keys(program: &Program, entry: GlobalId) -> HashMap<GlobalId, Key> {
    let mut shown = Program::clone(program);
    let replace = |shown: &mut Program, id: GlobalId, lit: Lit| {
        let Global { name, ty, span, .. } = &*program.globals[id.0 as usize];
        let (body, span) = (Term::new(TermKind::Lit(lit), *span), *span);
        let replaced = Global { name: name.clone(), ty: ty.clone(), body, span };
        shown.globals[id.0 as usize] = Rc::new(replaced);
    };
    // The library stays as it is.
    let is_library =
        |id: &GlobalId| program.library.contains(&program.globals[id.0 as usize].span.file);
    let all = (0..program.globals.len() as u32).map(GlobalId);
    all.filter(is_library).for_each(|id| replace(&mut shown, id, Lit::Unit));
    let mut keys = HashMap::new();
    let order = order(program, entry).into_iter().chain([entry]);
    for id in order.filter(|id| !is_library(id)) {
        // Of literals, which may be long, a number is enough.
        let mut hasher = DefaultHasher::new();
        if literals(&program.globals[id.0 as usize].body, &mut hasher) {
            replace(&mut shown, id, Lit::Int(hasher.finish().cast_signed()));
        }
        // The order of declarations is that of the whole program.
        let text = print(&needed_by(&shown, id));
        let mut parts: Vec<&str> = text.split("\n\n").collect();
        parts.sort_unstable();
        let mut first = DefaultHasher::new();
        parts.hash(&mut first);
        let mut second = DefaultHasher::new();
        (first.finish(), parts).hash(&mut second);
        let key = [first.finish(), second.finish()];
        // Constants that need this one have its key in their texts.
        replace(&mut shown, id, Lit::String(format!("{key:?}").into()));
        keys.insert(id, Key(key));
    }
    keys
}

/// The literals of a term that has nothing else, where its type says how they belong together.
fn literals(term: &Term, to: &mut DefaultHasher) -> bool {
    match &term.kind {
        TermKind::Lit(Lit::Real(x)) => x.to_bits().hash(to),
        TermKind::Lit(Lit::Int(n)) => n.hash(to),
        TermKind::Lit(Lit::Bool(b)) => b.hash(to),
        TermKind::Lit(Lit::String(text)) => text.hash(to),
        TermKind::Lit(Lit::Unit) => {}
        TermKind::Tuple(_, parts) | TermKind::Array(_, parts) | TermKind::Con(_, _, _, parts) => {
            if let TermKind::Con(_, _, tag, _) = &term.kind {
                tag.hash(to);
            }
            parts.len().hash(to);
            return deep(|| parts.iter().all(|part| literals(part, to)));
        }
        _ => return false,
    }
    true
}

/// Takes constants out of the argument, and gives it to the functions that need it.
fn pass(term: &mut Term, argument: &Binder, given: &[GlobalId], passing: &BTreeSet<GlobalId>) {
    let span = term.span;
    let variable = || Term::new(TermKind::Var(argument.var.clone()), span);
    let TermKind::Global(id) = term.kind else {
        return term.each_child_mut(|child| deep(|| pass(child, argument, given, passing)));
    };
    if let Some(i) = given.iter().position(|known| *known == id) {
        *term = match given.len() {
            1 => variable(),
            _ => Term::new(TermKind::Proj(argument.ty.clone(), i, Box::new(variable())), span),
        };
    } else if passing.contains(&id) {
        let function = Term::new(TermKind::Global(id), span);
        *term = Term::new(TermKind::App(Box::new(function), Box::new(variable())), span);
    }
}

fn is_function(body: &Term) -> bool {
    matches!(body.kind, TermKind::Lam(..))
}

/// Whether a definition is a function, or a literal already.
fn is_plain(body: &Term) -> bool {
    match &body.kind {
        TermKind::Lam(..) | TermKind::Lit(_) => true,
        TermKind::Tuple(_, parts) | TermKind::Array(_, parts) | TermKind::Con(_, _, _, parts) => {
            deep(|| parts.iter().all(is_plain))
        }
        _ => false,
    }
}

/// The constants that an entry point needs, but itself: each behind those that it needs.
fn order(program: &Program, entry: GlobalId) -> Vec<GlobalId> {
    let mut state = vec![0_u8; program.globals.len()];
    let mut out = Vec::new();
    let mut pending = vec![(entry, false)];
    while let Some((id, done)) = pending.pop() {
        let i = id.0 as usize;
        if done {
            if id != entry && !is_function(&program.globals[i].body) {
                out.push(id);
            }
            continue;
        }
        if std::mem::replace(&mut state[i], 1) == 1 {
            continue;
        }
        pending.push((id, true));
        let mut terms = vec![&program.globals[i].body];
        while let Some(term) = terms.pop() {
            if let TermKind::Global(needed) = term.kind {
                pending.push((needed, false));
            }
            term.each_child(|child| terms.push(child));
        }
    }
    out
}

/// A value as a term, if it is not too long for one.
fn literal(
    value: &Value,
    ty: &Ty,
    datas: &[DataDecl],
    span: Span,
    left: &mut usize,
) -> Option<Term> {
    *left = left.checked_sub(1)?;
    let mut all = |values: &mut dyn Iterator<Item = (Value, Ty)>| -> Option<Vec<Term>> {
        values.map(|(v, ty)| deep(|| literal(&v, &ty, datas, span, left))).collect()
    };
    let kind = match (value, ty) {
        (Value::Unit, _) => TermKind::Lit(Lit::Unit),
        (Value::Real(x), _) => TermKind::Lit(Lit::Real(*x)),
        (Value::Int(n), _) => TermKind::Lit(Lit::Int(*n)),
        (Value::Bool(b), _) => TermKind::Lit(Lit::Bool(*b)),
        (Value::String(text), _) => TermKind::Lit(Lit::String(Name::new(text))),
        (Value::Tuple(_), Ty::Tuple(_) | Ty::Record(_)) => {
            let types = ty.components()?;
            let mut parts = value.fields().iter().cloned().zip(types);
            TermKind::Tuple(ty.clone(), all(&mut parts)?)
        }
        (Value::Array(array), Ty::Array(of)) => {
            if array.is_empty() && !matches!(**of, Ty::Real | Ty::Int | Ty::Bool | Ty::String) {
                return None;
            }
            let mut elements = array.iter().map(|element| (element, Ty::clone(of)));
            TermKind::Array(Ty::clone(of), all(&mut elements)?)
        }
        (Value::Data(data), Ty::Data(id, args)) => {
            let types = datas.get(id.0 as usize)?.fields(data.tag, args);
            let mut fields = data.fields.iter().cloned().zip(types);
            TermKind::Con(*id, args.clone(), data.tag, all(&mut fields)?)
        }
        _ => return None,
    };
    Some(Term::new(kind, span))
}
