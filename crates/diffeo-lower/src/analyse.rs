//! Analysis of Core before it is lowered: whether it can be; for each definition its functions with the variables that
//! they capture, how often variables are used, and their types.

use super::Lower;
use diffeo_base::{deep, Name, Span};
use diffeo_calculus::prim::{DiffOp, Lifting, Prim};
use diffeo_calculus::term::{Binder, Control, GlobalId, Program, Term, TermKind, Var};
use diffeo_calculus::Ty;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A function of Core.
#[derive(Debug)]
pub(super) struct Lambda<'p> {
    /// The id of its parameter, which identifies it.
    pub id: u32,
    /// Its parameter.
    pub parameter: &'p Binder,
    /// Its body.
    pub body: &'p Term,
    /// The variables that it captures, without itself.
    pub captured: Vec<Binder>,
    /// The variable that stands for the function within it.
    pub itself: Option<u32>,
    /// What messages call it.
    pub shown: Name,
    /// Where it is.
    pub span: Span,
    /// Whether it is written in the standard library.
    pub library: bool,
    /// Whether it is a definition.
    pub global: bool,
    /// Its type.
    pub ty: Rc<(Ty, Ty)>,
}

/// Where the program takes such a derivative, if it does. The place is in the program of the user: where it is the
/// library that takes the derivative, that is where the program refers to the library.
pub(super) fn derivative(
    program: &Program,
    entry: GlobalId,
    such: impl Fn(DiffOp) -> bool,
) -> Option<Span> {
    let mut seen = HashSet::from([entry]);
    // Definitions with the place that led to the library, of those that belong to it.
    let mut globals: Vec<(GlobalId, Option<Span>)> = vec![(entry, None)];
    while let Some((global, origin)) = globals.pop() {
        let place = |span: Span| match origin {
            Some(origin) if program.library.contains(&span.file) => origin,
            Some(_) | None => span,
        };
        let mut pending = vec![&program.globals[global.0 as usize].body];
        while let Some(term) = pending.pop() {
            match &term.kind {
                TermKind::Global(id) if seen.insert(*id) => {
                    globals.push((*id, Some(place(term.span))))
                }
                TermKind::Diff(diff, _) if such(diff.op) => return Some(place(term.span)),
                TermKind::Prim(Prim::Lift(lift), _) => match lift.what {
                    Lifting::Lift
                    | Lifting::Lower
                    | Lifting::Captures
                    | Lifting::SameShape(_)
                    | Lifting::Zero
                    | Lifting::Sparse
                    | Lifting::Varies
                    | Lifting::Watch
                    | Lifting::Stop
                    | Lifting::Blame(_)
                    | Lifting::Warn => return Some(place(term.span)),
                },
                TermKind::Global(_)
                | TermKind::Var(_)
                | TermKind::Lit(_)
                | TermKind::Lam(..)
                | TermKind::App(..)
                | TermKind::Let(..)
                | TermKind::LetRec(..)
                | TermKind::Tuple(..)
                | TermKind::Proj(..)
                | TermKind::Con(..)
                | TermKind::Case(_)
                | TermKind::If(..)
                | TermKind::Array(..)
                | TermKind::Build(_)
                | TermKind::Loop(_)
                | TermKind::Prim(..)
                | TermKind::Diff(..) => {}
            }
            term.each_child(|child| pending.push(child));
        }
    }
    None
}

/// What is known of a function where it stands.
struct FunctionFacts {
    /// The name that messages call it by.
    shown: Name,
    /// The variable that it is itself called by within.
    itself: Option<u32>,
    /// Its type, where that is written.
    ty: Option<Rc<(Ty, Ty)>>,
    /// Whether it is the body of a definition.
    definition: bool,
}

/// A function that a walk is in.
struct OpenFunction {
    captured: Vec<u32>,
    seen: HashSet<u32>,
}

/// A walk over a definition.
struct DefinitionWalk<'c, 'p> {
    cx: &'c mut Lower<'p>,
    open: Vec<OpenFunction>,
    /// Within how many functions a variable is bound.
    depth: HashMap<u32, usize>,
    binders: HashMap<u32, &'p Binder>,
}

impl<'p> Lower<'p> {
    /// Finds the functions of a definition.
    pub(super) fn analyse(&mut self, global: GlobalId) {
        if !self.analysed.insert(global) {
            return;
        }
        let program = self.program;
        let definition = &program.globals[global.0 as usize];
        let mut walk = DefinitionWalk {
            cx: self,
            open: Vec::new(),
            depth: HashMap::new(),
            binders: HashMap::new(),
        };
        match (&definition.body.kind, &definition.ty) {
            (TermKind::Lam(parameter, body), Ty::Fun(ty)) => {
                let name = definition.name.clone();
                let found = FunctionFacts {
                    shown: name,
                    itself: None,
                    ty: Some(ty.clone()),
                    definition: true,
                };
                walk.lambda(parameter, body, definition.span, found);
            }
            _ => walk.term(&definition.body),
        }
    }
}

impl<'p> DefinitionWalk<'_, 'p> {
    fn bind(&mut self, binder: &'p Binder) {
        self.depth.insert(binder.var.id, self.open.len());
        self.binders.insert(binder.var.id, binder);
        self.cx.types.insert(binder.var.id, binder.ty.clone());
    }

    fn variable(&mut self, var: &Var) {
        *self.cx.uses.entry(var.id).or_insert(0) += 1;
        let depth = self.depth.get(&var.id).copied().unwrap_or(0);
        for open in self.open[depth..].iter_mut().rev() {
            if !open.seen.insert(var.id) {
                break;
            }
            open.captured.push(var.id);
        }
    }

    fn lambda(
        &mut self,
        parameter: &'p Binder,
        body: &'p Term,
        span: Span,
        FunctionFacts { shown, itself, ty, definition }: FunctionFacts,
    ) {
        self.open.push(OpenFunction { captured: Vec::new(), seen: HashSet::new() });
        self.bind(parameter);
        self.term(body);
        let Some(open) = self.open.pop() else { return };
        let binders = open.captured.iter().filter(|id| Some(**id) != itself);
        let captured =
            binders.filter_map(|id| self.binders.get(id).map(|b| (*b).clone())).collect();
        let program = self.cx.program;
        let ty = ty.unwrap_or_else(|| {
            let to = diffeo_calculus::type_of(body, program, &self.cx.types);
            Rc::new((parameter.ty.clone(), to.unwrap_or(Ty::Unit)))
        });
        let at = if body.span.is_none() { span } else { body.span };
        let library = program.library.contains(&at.file);
        let id = parameter.var.id;
        let global = definition;
        let lambda =
            Lambda { id, parameter, body, captured, itself, shown, span, library, global, ty };
        self.cx.lambdas.insert(id, Rc::new(lambda));
    }

    fn term(&mut self, term: &'p Term) {
        deep(|| self.kind(term));
    }

    fn kind(&mut self, term: &'p Term) {
        match &term.kind {
            TermKind::Var(var) => self.variable(var),
            TermKind::Lam(parameter, body) => {
                let shown = Name::new("fn");
                let found = FunctionFacts { shown, itself: None, ty: None, definition: false };
                self.lambda(parameter, body, term.span, found);
            }
            TermKind::Let(bindings, body) => {
                for (binder, value) in bindings {
                    match (&value.kind, &binder.ty) {
                        (TermKind::Lam(parameter, inner), Ty::Fun(ty)) => {
                            let (name, ty) = (binder.var.name.clone(), ty.clone());
                            let found = FunctionFacts {
                                shown: name,
                                itself: None,
                                ty: Some(ty),
                                definition: false,
                            };
                            self.lambda(parameter, inner, value.span, found);
                        }
                        _ => self.term(value),
                    }
                    self.bind(binder);
                }
                self.term(body);
            }
            TermKind::LetRec(binder, f, body) => {
                self.bind(binder);
                if let (TermKind::Lam(parameter, inner), Ty::Fun(ty)) = (&f.kind, &binder.ty) {
                    let name = binder.var.name.clone();
                    let (itself, ty) = (Some(binder.var.id), Some(ty.clone()));
                    let found = FunctionFacts { shown: name, itself, ty, definition: false };
                    self.lambda(parameter, inner, f.span, found);
                }
                self.term(body);
            }
            TermKind::Case(case) => {
                self.term(&case.scrutinee);
                for arm in &case.arms {
                    arm.binders.iter().for_each(|binder| self.bind(binder));
                    self.term(&arm.body);
                }
                if let Some(default) = &case.default {
                    self.term(default);
                }
            }
            TermKind::Build(build) => {
                self.term(&build.count);
                self.bind(&build.index);
                self.term(&build.body);
            }
            TermKind::Loop(l) => {
                self.term(&l.init);
                if let Control::Count { index, count } = &l.control {
                    self.term(count);
                    self.bind(index);
                }
                self.bind(&l.state);
                if let Control::While(condition) = &l.control {
                    self.term(condition);
                }
                self.term(&l.body);
            }
            TermKind::Global(_)
            | TermKind::Lit(_)
            | TermKind::App(..)
            | TermKind::Tuple(..)
            | TermKind::Proj(..)
            | TermKind::Con(..)
            | TermKind::If(..)
            | TermKind::Array(..)
            | TermKind::Prim(..)
            | TermKind::Diff(..) => term.each_child(|child| self.term(child)),
        }
    }
}
