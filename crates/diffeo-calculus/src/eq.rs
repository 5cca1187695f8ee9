//! Equality of terms up to spans and up to the renaming of bound variables: the `=` of the papers' theorems
//! about terms. Free variables are equal if their ids are; reals if they are the same number, or both nan
//! (0 and -0 differ).

use crate::term::{Binder, Case, Control, Lit, Loop, Program, Term, TermKind, Var};
use diffeo_base::deep;
use std::collections::HashMap;

/// Whether two terms are equal up to spans and the renaming of bound variables.
pub fn alpha_eq(a: &Term, b: &Term) -> bool {
    BoundVars::default().terms(a, b)
}

/// Whether two programs declare and define the same, in the same order, up to spans and the renaming of
/// bound variables.
pub fn alpha_eq_programs(a: &Program, b: &Program) -> bool {
    a.datas == b.datas
        && a.globals.len() == b.globals.len()
        && a.globals
            .iter()
            .zip(&b.globals)
            .all(|(a, b)| a.name == b.name && a.ty == b.ty && alpha_eq(&a.body, &b.body))
}

/// The bound variables of either side; two are the same if they were bound together.
#[derive(Default)]
struct BoundVars {
    left: HashMap<u32, usize>,
    right: HashMap<u32, usize>,
    count: usize,
}

impl BoundVars {
    fn variables(&self, a: &Var, b: &Var) -> bool {
        match (self.left.get(&a.id), self.right.get(&b.id)) {
            (Some(a), Some(b)) => a == b,
            (None, None) => a.id == b.id,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Whether the binders have equal types and the rest, in their scope, is equal.
    fn under<'t>(
        &mut self,
        binders: impl IntoIterator<Item = (&'t Binder, &'t Binder)>,
        rest: impl FnOnce(&mut Self) -> bool,
    ) -> bool {
        let mut shadowed = Vec::new();
        let mut equal = true;
        for (a, b) in binders {
            equal &= a.ty == b.ty;
            self.bind(a, b, &mut shadowed);
        }
        equal = equal && rest(self);
        self.unbind(shadowed);
        equal
    }

    fn bind<'t>(&mut self, a: &'t Binder, b: &'t Binder, shadowed: &mut Vec<Shadowed>) {
        self.count += 1;
        let old_left = self.left.insert(a.var.id, self.count);
        let old_right = self.right.insert(b.var.id, self.count);
        shadowed.push(((a.var.id, old_left), (b.var.id, old_right)));
    }

    fn unbind(&mut self, shadowed: Vec<Shadowed>) {
        for ((a, old_left), (b, old_right)) in shadowed.into_iter().rev() {
            restore(&mut self.left, a, old_left);
            restore(&mut self.right, b, old_right);
        }
    }

    fn all(&mut self, a: &[Term], b: &[Term]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.terms(a, b))
    }

    fn terms(&mut self, a: &Term, b: &Term) -> bool {
        deep(|| self.kinds(&a.kind, &b.kind))
    }

    fn kinds(&mut self, a: &TermKind, b: &TermKind) -> bool {
        // One arm for each form; the second of the pair decides within it.
        match a {
            TermKind::Var(x) => matches!(b, TermKind::Var(y) if self.variables(x, y)),
            TermKind::Global(x) => matches!(b, TermKind::Global(y) if x == y),
            TermKind::Lit(x) => matches!(b, TermKind::Lit(y) if literals(x, y)),
            TermKind::Lam(x, m) => {
                let TermKind::Lam(y, n) = b else { return false };
                self.under([(x, y)], |s| s.terms(m, n))
            }
            TermKind::App(f, m) => {
                let TermKind::App(g, n) = b else { return false };
                self.terms(f, g) && self.terms(m, n)
            }
            TermKind::Let(xs, m) => {
                let TermKind::Let(ys, n) = b else { return false };
                self.lets(xs, m, ys, n)
            }
            TermKind::LetRec(x, f, m) => {
                let TermKind::LetRec(y, g, n) = b else { return false };
                self.under([(x, y)], |s| s.terms(f, g) && s.terms(m, n))
            }
            TermKind::Tuple(t, ms) => {
                matches!(b, TermKind::Tuple(u, ns) if t == u && self.all(ms, ns))
            }
            TermKind::Proj(t, i, m) => {
                matches!(b, TermKind::Proj(u, j, n) if t == u && i == j && self.terms(m, n))
            }
            TermKind::Con(d, ts, i, ms) => {
                let TermKind::Con(e, us, j, ns) = b else { return false };
                d == e && ts == us && i == j && self.all(ms, ns)
            }
            TermKind::Case(m) => matches!(b, TermKind::Case(n) if self.cases(m, n)),
            TermKind::If(m, n, l) => {
                let TermKind::If(m2, n2, l2) = b else { return false };
                self.terms(m, m2) && self.terms(n, n2) && self.terms(l, l2)
            }
            TermKind::Array(t, ms) => {
                matches!(b, TermKind::Array(u, ns) if t == u && self.all(ms, ns))
            }
            TermKind::Build(m) => {
                let TermKind::Build(n) = b else { return false };
                m.element == n.element
                    && self.terms(&m.count, &n.count)
                    && self.under([(&m.index, &n.index)], |s| s.terms(&m.body, &n.body))
            }
            TermKind::Loop(m) => matches!(b, TermKind::Loop(n) if self.loops(m, n)),
            TermKind::Prim(p, ms) => {
                matches!(b, TermKind::Prim(q, ns) if p == q && self.all(ms, ns))
            }
            TermKind::Diff(p, ms) => {
                matches!(b, TermKind::Diff(q, ns) if p == q && self.all(ms, ns))
            }
        }
    }

    fn lets(&mut self, xs: &[(Binder, Term)], m: &Term, ys: &[(Binder, Term)], n: &Term) -> bool {
        let mut shadowed = Vec::new();
        let mut equal = xs.len() == ys.len();
        for ((x, m), (y, n)) in xs.iter().zip(ys) {
            equal = equal && x.ty == y.ty && self.terms(m, n);
            self.bind(x, y, &mut shadowed);
        }
        equal = equal && self.terms(m, n);
        self.unbind(shadowed);
        equal
    }

    fn cases(&mut self, a: &Case, b: &Case) -> bool {
        let defaults = match (&a.default, &b.default) {
            (Some(m), Some(n)) => self.terms(m, n),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        defaults
            && a.data == b.data
            && self.terms(&a.scrutinee, &b.scrutinee)
            && a.arms.len() == b.arms.len()
            && a.arms.iter().zip(&b.arms).all(|(a, b)| {
                a.tag == b.tag
                    && a.binders.len() == b.binders.len()
                    && self.under(a.binders.iter().zip(&b.binders), |s| s.terms(&a.body, &b.body))
            })
    }

    fn loops(&mut self, a: &Loop, b: &Loop) -> bool {
        if !self.terms(&a.init, &b.init) {
            return false;
        }
        match &a.control {
            Control::Count { index: i, count: m } => {
                let Control::Count { index: j, count: n } = &b.control else { return false };
                self.terms(m, n)
                    && self.under([(&a.state, &b.state), (i, j)], |s| s.terms(&a.body, &b.body))
            }
            Control::While(m) => {
                let Control::While(n) = &b.control else { return false };
                self.under([(&a.state, &b.state)], |s| s.terms(m, n) && s.terms(&a.body, &b.body))
            }
        }
    }
}

/// A pair of binders with what their variables meant outside.
type Shadowed = ((u32, Option<usize>), (u32, Option<usize>));

fn restore(bound: &mut HashMap<u32, usize>, id: u32, old: Option<usize>) {
    match old {
        Some(old) => bound.insert(id, old),
        None => bound.remove(&id),
    };
}

fn literals(a: &Lit, b: &Lit) -> bool {
    match a {
        Lit::Real(x) => {
            let same = |y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
            matches!(b, Lit::Real(y) if same(*y))
        }
        Lit::Int(_) | Lit::Bool(_) | Lit::String(_) | Lit::Unit => a == b,
    }
}
