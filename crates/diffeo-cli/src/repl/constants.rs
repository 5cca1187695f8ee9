//! The constants of a session: each is computed when an input first needs it, and kept.
//!
//! What comes in: an entry point. What goes out: the entry point in whose program the constants are literals of their values. A
//! constant is known by where it is defined and by its name, which has its type arguments. What no literal can be (a function, an
//! empty array whose rows have a length), and what is too long for one, is computed anew at each input: at the first one that
//! needs it twice, to see that it is so.

use diffeo::{Entry, Session};
use diffeo_base::{deep, Name, Span};
use diffeo_calculus::term::{GlobalId, Lit, Program, Term, TermKind};
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::typing::first_order;
use diffeo_calculus::value::Value;
use std::collections::HashMap;
use std::rc::Rc;

/// How many Reals, Ints, constructors and so on a literal may have.
const MOST: usize = 100_000;

/// The values that are known; none of constants that are computed anew.
#[derive(Clone, Default)]
pub struct Constants(HashMap<(Span, Name), Option<Value>>);

impl Constants {
    /// Keeps the value of an entry point.
    pub fn keep(&mut self, entry: &Entry, value: &Value) {
        let global = &entry.program.globals[entry.global.0 as usize];
        if !is_function(&global.body) {
            self.insert(&entry.program, entry.global, value);
        }
    }

    fn insert(&mut self, program: &Program, id: GlobalId, value: &Value) {
        let global = &program.globals[id.0 as usize];
        let mut left = MOST;
        let found = literal(value, &global.ty, &program.datas, global.span, &mut left);
        self.0.insert((global.span, global.name.clone()), found.map(|_| value.clone()));
    }

    /// An entry point whose constants are literals. Those that are not known yet are computed by `run`; one that fails is left to
    /// the run of the entry point, which may not need it.
    pub fn put(&mut self, entry: Entry, run: &mut dyn FnMut(&Entry) -> Option<Value>) -> Entry {
        let mut program = Program::clone(&entry.program);
        for id in order(&entry.program, entry.global) {
            let global = program.globals[id.0 as usize].clone();
            let is_library = program.library.contains(&global.span.file);
            if is_library || is_plain(&global.body) || !first_order(&global.ty, &program) {
                continue;
            }
            let key = (global.span, global.name.clone());
            if !self.0.contains_key(&key) {
                let own = Entry {
                    program: Rc::new(program.clone()),
                    global: id,
                    ty: global.ty.clone(),
                    name: global.name.clone(),
                    span: global.span,
                    parameter: None,
                    fields: Vec::new(),
                    orders: entry.orders.clone(),
                };
                if let Some(value) = run(&own) {
                    self.insert(&program, id, &value);
                }
            }
            let Some(Some(value)) = self.0.get(&key) else { continue };
            let mut left = MOST;
            let body = literal(value, &global.ty, &program.datas, global.body.span, &mut left);
            if let Some(body) = body {
                let mut known = (*global).clone();
                known.body = body;
                program.globals[id.0 as usize] = Rc::new(known);
            }
        }
        Entry { program: Rc::new(program), ..entry }
    }

    /// Drops the values of definitions whose files an input that was refused has taken back.
    pub fn go_back(&mut self, session: &Session) {
        self.0.retain(|(span, _), _| session.sources().has(span.file));
    }
}

fn is_function(body: &Term) -> bool {
    matches!(body.kind, TermKind::Lam(..))
}

/// Whether a definition is a function, or a literal already.
fn is_plain(body: &Term) -> bool {
    match &body.kind {
        TermKind::Lam(..) | TermKind::Lit(_) | TermKind::Global(_) => true,
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
