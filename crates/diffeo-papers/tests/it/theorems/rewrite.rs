//! Rewriting of terms: subterms by number, substitution, fresh variables, types of variables.

use diffeo_calculus::term::{Binder, Control, Term, TermKind};
use diffeo_calculus::Env;
use std::collections::HashMap;

/// The terms directly within a term, in the order of evaluation; of `letrec`, whose function stays one, the body
/// of the function.
pub fn children(term: &mut Term) -> Vec<&mut Term> {
    match &mut term.kind {
        TermKind::Var(_) | TermKind::Global(_) | TermKind::Lit(_) => Vec::new(),
        TermKind::Lam(_, body) | TermKind::Proj(_, _, body) => vec![body],
        TermKind::App(f, x) => vec![f, x],
        TermKind::Let(bindings, body) => {
            bindings.iter_mut().map(|(_, value)| value).chain([&mut **body]).collect()
        }
        TermKind::LetRec(_, f, rest) => match &mut f.kind {
            TermKind::Lam(_, body) => vec![body, rest],
            _ => vec![rest],
        },
        TermKind::Case(case) => {
            let arms = case.arms.iter_mut().map(|arm| &mut arm.body);
            [&mut case.scrutinee].into_iter().chain(arms).chain(&mut case.default).collect()
        }
        TermKind::If(a, b, c) => vec![a, b, c],
        TermKind::Build(build) => vec![&mut build.count, &mut build.body],
        TermKind::Loop(l) => {
            let control = match &mut l.control {
                Control::Count { count, .. } => count,
                Control::While(condition) => condition,
            };
            vec![&mut l.init, control, &mut l.body]
        }
        TermKind::Tuple(_, terms)
        | TermKind::Con(_, _, _, terms)
        | TermKind::Array(_, terms)
        | TermKind::Prim(_, terms)
        | TermKind::Diff(_, terms) => terms.iter_mut().collect(),
    }
}

/// The binders that a term binds itself, with those of the function of a `letrec`.
fn binders(term: &mut Term) -> Vec<&mut Binder> {
    match &mut term.kind {
        TermKind::Lam(x, _) => vec![x],
        TermKind::Let(bindings, _) => bindings.iter_mut().map(|(x, _)| x).collect(),
        TermKind::LetRec(f, function, _) => match &mut function.kind {
            TermKind::Lam(x, _) => vec![f, x],
            _ => vec![f],
        },
        TermKind::Case(case) => case.arms.iter_mut().flat_map(|arm| &mut arm.binders).collect(),
        TermKind::Build(build) => vec![&mut build.index],
        TermKind::Loop(l) => match &mut l.control {
            Control::Count { index, .. } => vec![&mut l.state, index],
            Control::While(_) => vec![&mut l.state],
        },
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
        | TermKind::Diff(..) => Vec::new(),
    }
}

/// Shows every subterm, wholes before parts.
pub fn each(term: &mut Term, see: &mut dyn FnMut(&mut Term)) {
    see(term);
    children(term).into_iter().for_each(|child| each(child, see));
}

/// Shows all binders.
pub fn each_binder(term: &mut Term, see: &mut dyn FnMut(&mut Binder)) {
    each(term, &mut |t| binders(t).into_iter().for_each(&mut *see));
}

/// How many subterms there are.
pub fn size(term: &mut Term) -> usize {
    let mut count = 0;
    each(term, &mut |_| count += 1);
    count
}

/// The subterm number `n` of those that are selected.
fn nth<'t>(
    term: &'t mut Term,
    select: &dyn Fn(&Term) -> bool,
    n: &mut usize,
) -> Option<&'t mut Term> {
    if select(term) {
        if *n == 0 {
            return Some(term);
        }
        *n -= 1;
    }
    children(term).into_iter().find_map(|child| nth(child, select, n))
}

/// One of the subterms that are selected, which `choose` chooses among so many.
pub fn one_of<'t>(
    term: &'t mut Term,
    select: &dyn Fn(&Term) -> bool,
    choose: impl FnOnce(usize) -> usize,
) -> Option<&'t mut Term> {
    let mut count = 0;
    each(term, &mut |t| count += usize::from(select(t)));
    if count == 0 {
        return None;
    }
    nth(term, select, &mut choose(count))
}

/// `t[s/x]`, where binders are unique.
pub fn substitute(term: &mut Term, x: u32, s: &Term) {
    each(term, &mut |t| {
        if matches!(&t.kind, TermKind::Var(var) if var.id == x) {
            *t = s.clone();
        }
    });
}

/// The types of all variables that a term binds.
pub fn types(term: &mut Term) -> Env {
    let mut env = Env::new();
    each_binder(term, &mut |x| {
        env.insert(x.var.id, x.ty.clone());
    });
    env
}

/// Gives all variables that a closed term binds numbers of their own.
pub fn fresh(term: &mut Term, next: &mut u32) {
    Fresh { next, numbers: HashMap::new() }.term(term);
}

struct Fresh<'n> {
    next: &'n mut u32,
    /// What each variable is called now. Copies of a binder are in different places of the term.
    numbers: HashMap<u32, u32>,
}

impl Fresh<'_> {
    fn term(&mut self, term: &mut Term) {
        match &mut term.kind {
            TermKind::Var(var) => {
                if let Some(number) = self.numbers.get(&var.id) {
                    var.id = *number;
                }
            }
            // Each binding is in scope of those after it.
            TermKind::Let(bindings, body) => {
                for (x, value) in bindings {
                    self.term(value);
                    self.bind(x);
                }
                self.term(body);
            }
            TermKind::Case(case) => {
                self.term(&mut case.scrutinee);
                for arm in &mut case.arms {
                    arm.binders.iter_mut().for_each(|x| self.bind(x));
                    self.term(&mut arm.body);
                }
                case.default.iter_mut().for_each(|t| self.term(t));
            }
            TermKind::Build(build) => {
                self.term(&mut build.count);
                self.bind(&mut build.index);
                self.term(&mut build.body);
            }
            TermKind::Loop(l) => {
                self.term(&mut l.init);
                if let Control::Count { count, .. } = &mut l.control {
                    self.term(count);
                }
                self.bind(&mut l.state);
                match &mut l.control {
                    Control::Count { index, .. } => self.bind(index),
                    Control::While(condition) => self.term(condition),
                }
                self.term(&mut l.body);
            }
            _ => {
                binders(term).into_iter().for_each(|x| self.bind(x));
                children(term).into_iter().for_each(|child| self.term(child));
            }
        }
    }

    fn bind(&mut self, x: &mut Binder) {
        *self.next += 1;
        self.numbers.insert(x.var.id, *self.next);
        x.var.id = *self.next;
    }
}
