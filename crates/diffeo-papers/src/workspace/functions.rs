//! Function values: the translation of a closure, made from its source and its environment while the program runs.

use super::Workspace;
use crate::{homomorphism, System};
use diffeo_base::{deep, Span};
use diffeo_calculus::build::{bind_all, lam, map_children, part, truth, var};
use diffeo_calculus::eval::environment;
use diffeo_calculus::eval::translator::CodeSource;
use diffeo_calculus::term::{each_binder, Binder, Control, GlobalId, Program, Term, TermKind, Var};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::typing::type_of;
use diffeo_calculus::value::Value;
use std::collections::HashMap;

impl Workspace {
    /// What makes the translation by `system` of a function value whose code was made from `source` by the
    /// `outer` systems, the innermost first: a definition that is the translation, or one that is a function
    /// of the environment, with the environment.
    pub(crate) fn lifting(
        &mut self,
        system: &System,
        outer: &[System],
        source: CodeSource,
        captured: Vec<(u32, Value)>,
    ) -> Option<(GlobalId, Option<Value>)> {
        let (made, values) = match self.before(outer, source, captured)? {
            (CodeSource::Definition(id), _) => (self.translated(system, id), None),
            (CodeSource::Local(parameter), captured) => {
                let (variables, values): (Vec<u32>, Vec<Value>) = captured.into_iter().unzip();
                let made = self.closure_maker(system, parameter, &variables)?;
                (made, Some(environment(values)))
            }
        };
        Some((self.through(outer, made), values))
    }

    /// The same for the function that a function value was made from by `system` before the `outer` ones.
    pub(crate) fn lowering(
        &mut self,
        system: &System,
        outer: &[System],
        source: CodeSource,
        captured: Vec<(u32, Value)>,
    ) -> Option<(GlobalId, Option<Value>)> {
        self.of_environment(Workspace::closure_unmaker, (system, outer), source, captured)
    }

    /// The same for whether a number that a function value captured varies in `system`; a definition captured nothing.
    pub(crate) fn varying(
        &mut self,
        system: &System,
        outer: &[System],
        source: CodeSource,
        captured: Vec<(u32, Value)>,
    ) -> Option<(GlobalId, Option<Value>)> {
        self.of_environment(Workspace::environment_varies, (system, outer), source, captured)
            .filter(|(_, values)| values.is_some())
    }

    /// The definition that a function value was made from by `system` before the `outer` ones, or what `make` gives of a
    /// function's parameter and the variables that it captured, with the environment.
    fn of_environment(
        &mut self,
        make: fn(&mut Workspace, &System, u32, &[u32]) -> Option<GlobalId>,
        (system, outer): (&System, &[System]),
        source: CodeSource,
        captured: Vec<(u32, Value)>,
    ) -> Option<(GlobalId, Option<Value>)> {
        let (source, captured) = self.before(outer, source, captured)?;
        let (made, values) = match self.before(std::slice::from_ref(system), source, captured)? {
            (CodeSource::Definition(id), _) => (id, None),
            (CodeSource::Local(parameter), captured) => {
                let (variables, values): (Vec<u32>, Vec<Value>) = captured.into_iter().unzip();
                (make(self, system, parameter, &variables)?, Some(environment(values)))
            }
        };
        Some((self.through(outer, made), values))
    }

    /// Whether a number varies in the values of these variables, which the function with this parameter captured:
    ///
    /// ```text
    /// λ(y₁, …, yₙ). varies(y₁) or … varies(yₙ)
    /// ```
    fn environment_varies(
        &mut self,
        system: &System,
        parameter: u32,
        variables: &[u32],
    ) -> Option<GlobalId> {
        let definition = self.definition_of(parameter)?;
        let definition = self.global(definition).clone();
        let mut types = HashMap::new();
        each_binder(&definition.body, &mut |binder| {
            types.insert(binder.var.id, binder.ty.clone());
        });
        let types: Option<Vec<Ty>> = variables.iter().map(|var| types.get(var).cloned()).collect();
        let source = Ty::tuple(types?);
        let from = homomorphism::ty(self, system, &source);
        let key = format!("varies[{}]{}", self.type_text(&source), system.suffix());
        Some(self.made(&key, Ty::fun(from.clone(), Ty::Bool), |w| {
            let p = w.binder("environment", from);
            let x = var(&p);
            let varies = homomorphism::varies(w, system, &source, truth(false), x);
            lam(p, varies)
        }))
    }

    /// What a function value was before it went through these systems.
    fn before(
        &self,
        systems: &[System],
        source: CodeSource,
        mut captured: Vec<(u32, Value)>,
    ) -> Option<(CodeSource, Vec<(u32, Value)>)> {
        let mut source = source;
        for system in systems.iter().rev() {
            source = match source {
                CodeSource::Definition(id) => {
                    let (known, origin) = self.origin(id)?;
                    (known == system).then_some(CodeSource::Definition(*origin))?
                }
                CodeSource::Local(mut parameter) => {
                    let variables = captured.iter_mut().map(|(var, _)| var);
                    for var in variables.chain([&mut parameter]) {
                        let (known, origin) = self.source(*var)?;
                        if known != system {
                            return None;
                        }
                        *var = *origin;
                    }
                    CodeSource::Local(parameter)
                }
            };
        }
        Some((source, captured))
    }

    /// A definition translated by one system after the other.
    fn through(&mut self, systems: &[System], id: GlobalId) -> GlobalId {
        systems.iter().fold(id, |id, system| self.translated(system, id))
    }

    /// The function from the values of these variables after translation to the function with this parameter:
    ///
    /// ```text
    /// λ(y₁, …, yₙ). let y₁ = primal(y₁) … yₙ = primal(yₙ) in λx. e
    /// ```
    fn closure_unmaker(
        &mut self,
        system: &System,
        parameter: u32,
        variables: &[u32],
    ) -> Option<GlobalId> {
        let key = format!("fn {parameter} {variables:?} before{}", system.suffix());
        if let Some(known) = self.made.get(&key) {
            return Some(*known);
        }
        let NestedFunction { term, ty: function_ty, captured: sources, span } =
            self.nested_function(parameter, variables)?;
        let params: Vec<Ty> =
            sources.iter().map(|b| homomorphism::ty(self, system, &b.ty)).collect();
        let from = Ty::tuple(params.clone());
        let ty = Ty::fun(from.clone(), function_ty);
        let id = self.declare(&key, ty, span);
        self.made.insert(key, id);
        let p = self.binder("environment", from);
        let mut bindings = Vec::new();
        let mut replaced = HashMap::new();
        for (i, source) in sources.iter().enumerate() {
            let value = part(&params, i, var(&p));
            let value = homomorphism::primal(self, system, &source.ty, value);
            let binder = self.binder(&source.var.name, source.ty.clone());
            replaced.insert(source.var.id, binder.var.clone());
            bindings.push((binder, value));
        }
        let body = self.copied(&mut replaced, &term);
        self.define(id, lam(p, bind_all(bindings, body)));
        Some(id)
    }

    /// The term with other variables: those that it binds are new.
    pub(crate) fn copied(&mut self, variables: &mut HashMap<u32, Var>, e: &Term) -> Term {
        each_binder(e, &mut |binder| {
            let copy = self.binder(&binder.var.name, binder.ty.clone());
            variables.insert(binder.var.id, copy.var);
        });
        rename(variables, e)
    }

    /// The function from the values of these variables to the translation of the function with this parameter:
    ///
    /// ```text
    /// λ(y₁, …, yₙ). let y₁ = lift(y₁) … yₙ = lift(yₙ) in D{λx. e}
    /// ```
    fn closure_maker(
        &mut self,
        system: &System,
        parameter: u32,
        variables: &[u32],
    ) -> Option<GlobalId> {
        let key = format!("fn {parameter} {variables:?}{}", system.suffix());
        if let Some(known) = self.made.get(&key) {
            return Some(*known);
        }
        let NestedFunction { term, ty: function_ty, captured: sources, span } =
            self.nested_function(parameter, variables)?;
        let params: Vec<Ty> = sources.iter().map(|b| b.ty.clone()).collect();
        let from = Ty::tuple(params.clone());
        let to = homomorphism::ty(self, system, &function_ty);
        let ty = Ty::fun(from.clone(), to);
        let id = self.declare(&key, ty, span);
        self.made.insert(key, id);
        let p = self.binder("environment", from);
        let mut bindings = Vec::new();
        let mut replaced = Vec::new();
        for (i, source) in sources.iter().enumerate() {
            let value = part(&params, i, var(&p));
            let value = homomorphism::lift(self, system, &source.ty, None, value);
            let ty = homomorphism::ty(self, system, &source.ty);
            let binder = self.renamed(system, source, ty);
            replaced.push((source.var.id, binder.clone()));
            bindings.push((binder, value));
        }
        let body = homomorphism::function(self, system, &replaced, &term);
        self.define(id, lam(p, bind_all(bindings, body)));
        Some(id)
    }

    /// The function with this parameter, which captures these variables.
    fn nested_function(&mut self, parameter: u32, variables: &[u32]) -> Option<NestedFunction> {
        let definition = self.definition_of(parameter)?;
        let definition = self.global(definition).clone();
        let (term, ty, binders) = find_function(&self.shared(), &definition.body, parameter)?;
        let captured = variables.iter().map(|var| binders.get(var).map(|b| (*b).clone()));
        Some(NestedFunction {
            term,
            ty,
            captured: captured.collect::<Option<_>>()?,
            span: definition.span,
        })
    }

    /// The definition that has the function with this parameter in it.
    fn definition_of(&mut self, parameter: u32) -> Option<GlobalId> {
        if !self.parameters.contains_key(&parameter) {
            for (i, global) in self.globals.iter().enumerate() {
                let id = GlobalId(i as u32);
                // One that is declared and not yet defined has no functions in it.
                let defined = !matches!(global.body.kind, TermKind::Lit(_));
                if defined && self.indexed.insert(id) {
                    each_binder(&global.body, &mut |binder| {
                        self.parameters.insert(binder.var.id, id);
                    });
                }
            }
        }
        self.parameters.get(&parameter).copied()
    }
}

/// A function within a definition.
struct NestedFunction {
    /// It; a recursive one as `letrec f = … in f`.
    term: Term,
    ty: Ty,
    /// The binders of variables that it captures.
    captured: Vec<Binder>,
    /// The place of the definition.
    span: Span,
}

/// The function with this parameter and its type, and the binders of the definition.
fn find_function<'t>(
    program: &Program,
    body: &'t Term,
    parameter: u32,
) -> Option<(Term, Ty, HashMap<u32, &'t Binder>)> {
    let mut binders = HashMap::new();
    each_binder(body, &mut |binder| {
        binders.insert(binder.var.id, binder);
    });
    let types = binders.iter().map(|(var, binder)| (*var, binder.ty.clone())).collect();
    let mut pending = vec![body];
    while let Some(term) = pending.pop() {
        if let TermKind::LetRec(f, function, _) = &term.kind {
            if matches!(&function.kind, TermKind::Lam(x, _) if x.var.id == parameter) {
                let rest = Box::new(var(f));
                let kind = TermKind::LetRec(f.clone(), function.clone(), rest);
                let term = Term::new(kind, term.span);
                return Some((term, f.ty.clone(), binders));
            }
        }
        if matches!(&term.kind, TermKind::Lam(x, _) if x.var.id == parameter) {
            let ty = type_of(term, program, &types)?;
            return Some((term.clone(), ty, binders));
        }
        term.each_child(|child| pending.push(child));
    }
    None
}

/// The term with other variables, also where they are bound.
pub(crate) fn rename(variables: &HashMap<u32, Var>, e: &Term) -> Term {
    let other = |var: &Var| variables.get(&var.id).unwrap_or(var).clone();
    let bound = |b: &Binder| Binder { var: other(&b.var), ty: b.ty.clone() };
    let mut copy = map_children(e, &mut |child| deep(|| rename(variables, child)));
    match &mut copy.kind {
        TermKind::Var(var) => *var = other(var),
        TermKind::Lam(binder, _) | TermKind::LetRec(binder, ..) => *binder = bound(binder),
        TermKind::Let(bindings, _) => bindings.iter_mut().for_each(|(b, _)| *b = bound(b)),
        TermKind::Case(case) => {
            case.arms.iter_mut().flat_map(|a| &mut a.binders).for_each(|b| *b = bound(b));
        }
        TermKind::Build(build) => build.index = bound(&build.index),
        TermKind::Loop(l) => {
            l.state = bound(&l.state);
            if let Control::Count { index, .. } = &mut l.control {
                *index = bound(index);
            }
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
        | TermKind::Diff(..) => {}
    }
    copy
}
