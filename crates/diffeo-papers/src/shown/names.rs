//! Names in a translated program: components of a variable that are used several times, or that a function takes
//! apart, get names, as a pattern would give them; the variables of a definition have different names, so that
//! none needs a number.
//!
//! ```text
//! λp. … fst (fst p) … = λp. let p_1 = fst p; p_1_1 = fst p_1 in … p_1_1 …
//! ```

use super::reach::Needed;
use super::simplify::component_name;
use crate::workspace::rename;
use diffeo_base::deep;
use diffeo_base::Name;
use diffeo_calculus::build::{bind_all, map_children, proj, var};
use diffeo_calculus::term::each_binder;
use diffeo_calculus::term::{Binder, Global, Term, TermKind, Var};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// Names what has no name.
pub(crate) fn name(program: &mut Needed) {
    for i in 0..program.part.globals.len() {
        let mut global = (*program.part.globals[i]).clone();
        let mut cx = Components { next: program.next, ..Components::default() };
        count(&global.body, &mut cx.paths);
        global.body = cx.term(&global.body);
        program.next = cx.next;
        program.kept.extend(cx.kept);
        program.part.globals[i] = Rc::new(global);
    }
}

/// Gives the variables of each definition different names.
pub(crate) fn tell_apart(globals: &mut [Rc<Global>]) {
    for global in globals {
        let inner = Rc::make_mut(global);
        inner.body = distinct(&inner.body);
    }
}

/// The component that a chain of projections takes of a variable.
fn path(e: &Term) -> Option<(u32, Vec<usize>)> {
    match &e.kind {
        TermKind::Var(x) => Some((x.id, Vec::new())),
        TermKind::Proj(_, i, of) => {
            let (x, mut path) = path(of)?;
            path.push(*i);
            Some((x, path))
        }
        _ => None,
    }
}

type Paths = HashMap<u32, BTreeMap<Vec<usize>, usize>>;

/// How often each component of each variable is taken; a variable as a whole is its own component.
fn count(e: &Term, paths: &mut Paths) {
    let mut pending = vec![e];
    while let Some(e) = pending.pop() {
        match path(e) {
            Some((x, path)) => *paths.entry(x).or_default().entry(path).or_default() += 1,
            None => e.each_child(|child| pending.push(child)),
        }
    }
}

#[derive(Default)]
struct Components {
    next: u32,
    /// The variables that were made.
    kept: Vec<u32>,
    paths: Paths,
    /// The variables that stand for components.
    named: HashMap<(u32, usize), Var>,
}

impl Components {
    fn term(&mut self, e: &Term) -> Term {
        deep(|| {
            match &e.kind {
                TermKind::Lam(x, body) => {
                    // What a pattern of the source names.
                    let mut opened = Vec::new();
                    self.adopt(x, body);
                    self.open(x, &mut Vec::new(), x, true, &mut opened);
                    let body = bind(opened, self.term(body));
                    return Term::new(TermKind::Lam(x.clone(), Box::new(body)), e.span);
                }
                TermKind::Let(bindings, body) => {
                    let mut done: Vec<(Binder, Term)> = Vec::new();
                    for (x, value) in bindings {
                        let adopted = self.is_adopted(x, value);
                        let value = if adopted { value.clone() } else { self.term(value) };
                        done.push((x.clone(), value));
                        self.open(x, &mut Vec::new(), x, adopted, &mut done);
                    }
                    return bind(done, self.term(body));
                }
                TermKind::Proj(..) => {
                    if let Some(x) = self.known(e) {
                        return Term::new(TermKind::Var(x), e.span);
                    }
                }
                _ => {}
            }
            map_children(e, &mut |child| self.term(child))
        })
    }

    /// The variable that stands for a chain of projections.
    fn known(&self, e: &Term) -> Option<Var> {
        match &e.kind {
            TermKind::Var(x) => Some(x.clone()),
            TermKind::Proj(_, i, of) => self.named.get(&(self.known(of)?.id, *i)).cloned(),
            _ => None,
        }
    }

    /// Takes the names that the first `let`s of a function give to components of its parameter.
    fn adopt(&mut self, x: &Binder, body: &Term) {
        let TermKind::Let(bindings, _) = &body.kind else { return };
        for (y, value) in bindings {
            let TermKind::Proj(_, i, of) = &value.kind else { return };
            if !matches!(&of.kind, TermKind::Var(of) if *of == x.var) {
                return;
            }
            self.named.entry((x.var.id, *i)).or_insert_with(|| y.var.clone());
        }
    }

    fn is_adopted(&self, x: &Binder, value: &Term) -> bool {
        match &value.kind {
            TermKind::Proj(_, i, of) => match &of.kind {
                TermKind::Var(of) => self.named.get(&(of.id, *i)) == Some(&x.var),
                _ => false,
            },
            _ => false,
        }
    }

    /// How often a component of this component is taken.
    fn taken(&self, x: &Binder, at: &[usize]) -> usize {
        let paths = self.paths.get(&x.var.id).into_iter().flatten();
        paths.filter(|(path, _)| path.starts_with(at)).map(|(_, n)| n).sum()
    }

    /// Binds the components of `y`, which is the component of `x` at this path.
    fn open(
        &mut self,
        x: &Binder,
        at: &mut Vec<usize>,
        y: &Binder,
        parameter: bool,
        opened: &mut Vec<(Binder, Term)>,
    ) {
        let Some(types) = y.ty.components() else { return };
        let several = self.taken(x, at) > 1;
        for (i, ty) in types.into_iter().enumerate() {
            at.push(i);
            let taken = self.taken(x, at);
            let bound = self.named.contains_key(&(y.var.id, i));
            if !bound && taken > 0 && (several || parameter) {
                let name = component_name(&y.var.name, &y.ty, i);
                let part = Binder { var: Var { name: Name::new(&name), id: self.next }, ty };
                self.next += 1;
                self.kept.push(part.var.id);
                opened.push((part.clone(), proj(&y.ty, i, var(y))));
                self.named.insert((y.var.id, i), part.var.clone());
                self.open(x, at, &part, parameter, opened);
            }
            at.pop();
        }
    }
}

/// `let bindings in body`, as one `let`.
fn bind(mut bindings: Vec<(Binder, Term)>, body: Term) -> Term {
    match body.kind {
        TermKind::Let(more, inner) if !bindings.is_empty() => {
            bindings.extend(more);
            Term::new(TermKind::Let(bindings, inner), body.span)
        }
        _ => bind_all(bindings, body),
    }
}

/// The term with different names for its variables.
fn distinct(e: &Term) -> Term {
    let mut taken: HashSet<Name> = HashSet::new();
    let mut variables = HashMap::new();
    let mut binders = Vec::new();
    each_binder(e, &mut |b| binders.push(b.var.clone()));
    // As the term is read.
    for x in binders {
        let mut name = x.name.clone();
        let digit = name.chars().last().is_some_and(|c| c.is_ascii_digit());
        let mut n = 2;
        while !taken.insert(name.clone()) {
            let between = if digit { "_" } else { "" };
            name = Name::new(&format!("{}{between}{n}", x.name));
            n += 1;
        }
        variables.insert(x.id, Var { name, id: x.id });
    }
    rename(&variables, e)
}
