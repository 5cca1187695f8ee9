//! From Core to the terms that are evaluated: the same terms with their variables found.
//!
//! What comes in: a program that lints. What goes out: its terms as an array of nodes. What always holds: a
//! variable is a place in ρ, counted from the start of the function that it occurs in, or one of the values
//! that the function captured; in ρ come first the function itself if it is recursive, then its parameter,
//! then what is bound on the way, so that a binding ends the bindings whose scope was left.

use super::derived;
use super::record::TraceShared;
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use diffeo_calculus::prim::{Diff, DiffOp, Prim};
use diffeo_calculus::term::{Binder, Control, Lit, Term, TermKind};
use diffeo_calculus::ty::{DataId, Ty};
use diffeo_calculus::value::Value;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// The number of a node.
pub(super) type Id = u32;

/// A term.
pub(super) enum PreparedTerm {
    Variable(VarSlot),
    Global(u32),
    Literal(Value),
    /// λx:T. M, with the number of the function.
    Lambda(u32),
    App(Id, Id),
    Let(Vec<(Bind, Id)>, Id),
    /// letrec f = the function with this number in N, and where f is.
    LetRec(u32, u32, Id),
    Tuple(Ty, Vec<Id>),
    Proj(Ty, usize, Id),
    Con(DataId, Rc<[Ty]>, u32, Vec<Id>),
    Case(Id, Ty, Vec<(u32, Vec<Bind>, Id)>, Option<Id>),
    If(Id, Id, Id),
    Array(Ty, Vec<Id>),
    Build {
        count: Id,
        index: u32,
        body: Id,
        ty: Ty,
    },
    Count {
        init: Id,
        count: Id,
        state: Bind,
        index: u32,
        body: Id,
    },
    While {
        init: Id,
        state: Bind,
        condition: Id,
        body: Id,
    },
    Prim(Prim, Vec<Id>),
    /// A derivative term. The definition by `rd` of one that has such a definition, over its operands, which
    /// are bound from this place on.
    Diff(Diff, Vec<Id>, Option<(u32, Id)>),
}

/// Where the value of a variable is.
#[derive(Clone, Copy)]
pub(super) enum VarSlot {
    /// In ρ.
    Local(u32),
    /// Among what the function captured.
    Captured(u32),
}

/// Where a variable is bound.
pub(super) struct Bind {
    pub place: u32,
    pub name: Name,
    pub ty: Ty,
    /// Whether traces bind it, too.
    pub traced: bool,
}

/// A function clo(f(x:T). M).
pub(super) struct PreparedFunction {
    pub name: Name,
    /// Where the values that it captures are in the function around it.
    pub captures: Vec<VarSlot>,
    /// Whether it is a definition.
    pub top: bool,
    /// Whether it is bound by `letrec`.
    pub recursive: bool,
    pub param: Bind,
    pub body: Id,
    /// Whether it stands in the standard library.
    pub library: bool,
    /// The definition that it stands in.
    pub definition: u32,
}

/// What a definition is.
pub(super) enum PreparedDefinition {
    /// The function with this number.
    Function(u32),
    /// A constant, with its term.
    Constant(Id),
}

/// A whole program.
pub(super) struct PreparedProgram {
    pub nodes: Vec<PreparedTerm>,
    pub spans: Vec<Span>,
    pub functions: Vec<PreparedFunction>,
    pub definitions: Vec<PreparedDefinition>,
    /// The definitions that each definition refers to.
    pub references: Vec<Vec<u32>>,
    /// The terms of definitions of forward derivatives.
    pub forward: Vec<Range<Id>>,
}

impl PreparedProgram {
    /// Whether a derivative belongs to a forward one.
    pub fn is_forward(&self, id: Id) -> bool {
        self.forward.iter().any(|terms| terms.contains(&id))
    }

    /// For each definition the least of those that it calls and that call it, if it is recursive.
    pub fn groups(&self) -> Vec<Option<u32>> {
        let reach: Vec<HashSet<u32>> = (0..self.references.len())
            .map(|i| {
                let mut seen = HashSet::new();
                let mut pending = self.references[i].clone();
                while let Some(j) = pending.pop() {
                    if seen.insert(j) {
                        pending.extend(&self.references[j as usize]);
                    }
                }
                seen
            })
            .collect();
        let all = 0..reach.len() as u32;
        let both =
            |i: u32, j: u32| reach[i as usize].contains(&j) && reach[j as usize].contains(&i);
        all.clone().map(|i| all.clone().find(|j| both(i, *j))).collect()
    }
}

/// The terms of a program.
pub(super) fn prepare(cx: &TraceShared) -> PreparedProgram {
    let code = PreparedProgram {
        nodes: Vec::new(),
        spans: Vec::new(),
        functions: Vec::new(),
        definitions: Vec::new(),
        references: Vec::new(),
        forward: Vec::new(),
    };
    let mut preparer = Preparer { cx, code, scopes: Vec::new(), next: u32::MAX };
    for global in &cx.program.globals {
        preparer.code.references.push(Vec::new());
        preparer.scopes = vec![Scope::default()];
        let definition = match &global.body.kind {
            TermKind::Lam(param, body) => {
                let name = global.name.clone();
                let number = preparer.function(name, None, param, body, global.body.span);
                preparer.code.functions[number as usize].top = true;
                PreparedDefinition::Function(number)
            }
            _ => PreparedDefinition::Constant(preparer.term(&global.body)),
        };
        preparer.code.definitions.push(definition);
    }
    preparer.code
}

/// The variables that are in scope within a function.
#[derive(Default)]
struct Scope {
    /// The places of variables.
    places: HashMap<u32, VarSlot>,
    /// The captured variables, in order.
    captured: Vec<u32>,
    /// The next place in ρ.
    depth: u32,
}

struct Preparer<'c> {
    cx: &'c TraceShared,
    code: PreparedProgram,
    /// From the outermost function to the one at hand.
    scopes: Vec<Scope>,
    /// For new variables.
    next: u32,
}

impl Preparer<'_> {
    fn push(&mut self, node: PreparedTerm, span: Span) -> Id {
        self.code.nodes.push(node);
        self.code.spans.push(span);
        (self.code.nodes.len() - 1) as Id
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a function is open")
    }

    /// The place of a variable, captured by the functions in between if need be.
    fn place(&mut self, var: u32) -> VarSlot {
        let at = self.scopes.iter().rposition(|scope| scope.places.contains_key(&var)).unwrap_or(0);
        for scope in &mut self.scopes[at + 1..] {
            scope.places.insert(var, VarSlot::Captured(scope.captured.len() as u32));
            scope.captured.push(var);
        }
        self.scope().places.get(&var).copied().unwrap_or(VarSlot::Local(0))
    }

    fn bind(&mut self, binder: &Binder) -> Bind {
        let traced = self.cx.traced(&binder.ty);
        let scope = self.scope();
        let place = scope.depth;
        scope.places.insert(binder.var.id, VarSlot::Local(place));
        scope.depth += 1;
        Bind { place, name: binder.var.name.clone(), ty: binder.ty.clone(), traced }
    }

    /// Ends the scope of what was bound since.
    fn leave(&mut self, depth: u32) {
        self.scope().depth = depth;
    }

    /// The number of a function; `itself` is the variable that a recursive one is bound to.
    fn function(
        &mut self,
        name: Name,
        itself: Option<&Binder>,
        param: &Binder,
        body: &Term,
        span: Span,
    ) -> u32 {
        self.scopes.push(Scope::default());
        if let Some(itself) = itself {
            self.bind(itself);
        }
        let param = self.bind(param);
        let body = self.term(body);
        let captured = self.scopes.pop().map_or(Vec::new(), |scope| scope.captured);
        let captures = captured.into_iter().map(|var| self.place(var)).collect();
        let library = span.is_none() || self.cx.program.library.contains(&span.file);
        let definition = self.code.definitions.len() as u32;
        let recursive = itself.is_some();
        let top = false;
        let function =
            PreparedFunction { name, captures, top, recursive, param, body, library, definition };
        self.code.functions.push(function);
        (self.code.functions.len() - 1) as u32
    }

    fn terms(&mut self, terms: &[Term]) -> Vec<Id> {
        terms.iter().map(|term| self.term(term)).collect()
    }

    fn term(&mut self, term: &Term) -> Id {
        deep(|| {
            let node = self.node(term);
            self.push(node, term.span)
        })
    }

    fn node(&mut self, term: &Term) -> PreparedTerm {
        let depth = self.scope().depth;
        let node = match &term.kind {
            TermKind::Var(var) => PreparedTerm::Variable(self.place(var.id)),
            TermKind::Global(id) => {
                if let Some(references) = self.code.references.last_mut() {
                    references.push(id.0);
                }
                PreparedTerm::Global(id.0)
            }
            TermKind::Lit(literal) => PreparedTerm::Literal(match literal {
                Lit::Real(x) => Value::Real(*x),
                Lit::Int(n) => Value::Int(*n),
                Lit::Bool(b) => Value::Bool(*b),
                Lit::String(text) => Value::string(text),
                Lit::Unit => Value::Unit,
            }),
            TermKind::Lam(param, body) => {
                PreparedTerm::Lambda(self.function("fn".into(), None, param, body, term.span))
            }
            TermKind::App(f, argument) => PreparedTerm::App(self.term(f), self.term(argument)),
            TermKind::Let(bindings, body) => {
                let mut prepared = Vec::new();
                for (binder, value) in bindings {
                    let value = self.term(value);
                    prepared.push((self.bind(binder), value));
                }
                PreparedTerm::Let(prepared, self.term(body))
            }
            TermKind::LetRec(binder, function, body) => {
                let TermKind::Lam(param, inner) = &function.kind else {
                    // A program that lints has no such term.
                    return PreparedTerm::Literal(Value::Unit);
                };
                let name = binder.var.name.clone();
                let number = self.function(name, Some(binder), param, inner, function.span);
                let place = self.bind(binder).place;
                PreparedTerm::LetRec(number, place, self.term(body))
            }
            TermKind::Tuple(ty, components) => {
                PreparedTerm::Tuple(ty.clone(), self.terms(components))
            }
            TermKind::Proj(ty, i, tuple) => PreparedTerm::Proj(ty.clone(), *i, self.term(tuple)),
            TermKind::Con(data, args, tag, fields) => {
                PreparedTerm::Con(*data, args.clone(), *tag, self.terms(fields))
            }
            TermKind::Case(case) => {
                let scrutinee = self.term(&case.scrutinee);
                let mut arms = Vec::new();
                for arm in &case.arms {
                    let binds = arm.binders.iter().map(|binder| self.bind(binder)).collect();
                    arms.push((arm.tag, binds, self.term(&arm.body)));
                    self.leave(depth);
                }
                let default = case.default.as_ref().map(|default| self.term(default));
                PreparedTerm::Case(
                    scrutinee,
                    Ty::Data(case.data.0, case.data.1.clone()),
                    arms,
                    default,
                )
            }
            TermKind::If(condition, yes, no) => {
                PreparedTerm::If(self.term(condition), self.term(yes), self.term(no))
            }
            TermKind::Array(element, items) => {
                PreparedTerm::Array(Ty::array(element.clone()), self.terms(items))
            }
            TermKind::Build(build) => {
                let count = self.term(&build.count);
                let index = self.bind(&build.index).place;
                let body = self.term(&build.body);
                PreparedTerm::Build { count, index, body, ty: Ty::array(build.element.clone()) }
            }
            TermKind::Loop(l) => {
                let init = self.term(&l.init);
                match &l.control {
                    Control::Count { index, count } => {
                        let count = self.term(count);
                        let state = self.bind(&l.state);
                        let index = self.bind(index).place;
                        let body = self.term(&l.body);
                        PreparedTerm::Count { init, count, state, index, body }
                    }
                    Control::While(condition) => {
                        let state = self.bind(&l.state);
                        let condition = self.term(condition);
                        let body = self.term(&l.body);
                        PreparedTerm::While { init, state, condition, body }
                    }
                }
            }
            TermKind::Prim(prim, args) => PreparedTerm::Prim(prim.clone(), self.terms(args)),
            TermKind::Diff(diff, args) => {
                let args_ids = self.terms(args);
                let first = self.scope().depth;
                let types = derived::operands(diff);
                let mut next = self.next;
                let operands: Vec<Binder> =
                    types.into_iter().map(|ty| derived::binder(&mut next, "operand", ty)).collect();
                let body = derived::definition(diff, &operands, &mut next, term.span);
                self.next = next;
                let definition = body.map(|body| {
                    for operand in &operands {
                        self.bind(operand);
                    }
                    let begin = self.code.nodes.len() as Id;
                    let body = self.term(&body);
                    if let DiffOp::Jvp | DiffOp::Jet { .. } = diff.op {
                        self.code.forward.push(begin..body + 1);
                    }
                    (first, body)
                });
                PreparedTerm::Diff(diff.clone(), args_ids, definition)
            }
        };
        self.leave(depth);
        node
    }
}
