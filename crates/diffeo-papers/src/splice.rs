//! Definitions written as the text of Core, made part of a workspace: how the papers' supporting functions
//! are written. Variants, definitions and variables get numbers of their own there.

use super::Workspace;
use diffeo_base::deep;
use diffeo_calculus::parse;
use diffeo_calculus::prim::{Diff, Prim};
use diffeo_calculus::term::{Binder, Control, GlobalId, Program, Term, TermKind};
use diffeo_calculus::ty::{DataDecl, DataId, Ty};
use std::collections::HashMap;
use std::rc::Rc;

/// What a text defined, by name.
#[derive(Debug, Default)]
pub(crate) struct TextDefinitions {
    datas: HashMap<String, DataId>,
    globals: HashMap<String, GlobalId>,
}

impl TextDefinitions {
    /// A variant type of the text.
    pub fn data(&self, name: &str) -> DataId {
        self.datas[name]
    }

    /// A definition of the text.
    pub fn global(&self, name: &str) -> GlobalId {
        self.globals[name]
    }
}

/// Adds a text, in which `synonyms` stand for types and lines that start with `--` for nothing, to a workspace.
pub(crate) fn splice(w: &mut Workspace, text: &str, synonyms: &[(&str, &str)]) -> TextDefinitions {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
    let mut text = lines.join("\n");
    for (name, meaning) in synonyms {
        text = text.replace(name, meaning);
    }
    let program = match parse(&text) {
        Ok(program) => program,
        Err(error) => unreachable!("{error}"),
    };
    add(w, &program)
}

fn add(w: &mut Workspace, program: &Program) -> TextDefinitions {
    let (datas, globals) = (w.datas.len() as u32, w.globals.len() as u32);
    let shift = Renumber {
        datas: &|id| DataId(id.0 + datas),
        globals: &|id| GlobalId(id.0 + globals),
        variables: w.reserve(diffeo_calculus::term::next_variable(&program.globals)),
    };
    let mut library = TextDefinitions::default();
    for (i, decl) in program.datas.iter().enumerate() {
        library.datas.insert(decl.name.to_string(), DataId(datas + i as u32));
        let mut constructors = decl.constructors.clone();
        for field in constructors.iter_mut().flat_map(|c| &mut c.fields) {
            shift.ty(field);
        }
        w.datas.push(DataDecl { constructors, ..decl.clone() });
    }
    for (i, global) in program.globals.iter().enumerate() {
        library.globals.insert(global.name.to_string(), GlobalId(globals + i as u32));
        let mut global = global.clone();
        let inner = Rc::make_mut(&mut global);
        shift.ty(&mut inner.ty);
        shift.term(&mut inner.body);
        w.globals.push(global);
    }
    library
}

/// A copy of a term whose variables are its own.
pub(crate) fn fresh(w: &mut Workspace, term: &Term) -> Term {
    let mut copy = term.clone();
    let mut bound = 0;
    diffeo_calculus::term::each_binder(term, &mut |b| bound = bound.max(b.var.id + 1));
    let variables = w.reserve(bound);
    Renumber { datas: &|id| id, globals: &|id| id, variables }.term(&mut copy);
    copy
}

/// Gives variant types and definitions other numbers, and raises those of variables.
pub(crate) struct Renumber<'f> {
    pub datas: &'f dyn Fn(DataId) -> DataId,
    pub globals: &'f dyn Fn(GlobalId) -> GlobalId,
    pub variables: u32,
}

impl Renumber<'_> {
    pub fn ty(&self, ty: &mut Ty) {
        match ty {
            Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Param(_) => {}
            Ty::Tuple(types) => Rc::make_mut(types).iter_mut().for_each(|t| self.ty(t)),
            Ty::Record(fields) => Rc::make_mut(fields).iter_mut().for_each(|(_, t)| self.ty(t)),
            Ty::Array(element) => self.ty(Rc::make_mut(element)),
            Ty::Data(id, args) => {
                *id = (self.datas)(*id);
                self.types(args);
            }
            Ty::Fun(f) => {
                let f = Rc::make_mut(f);
                self.ty(&mut f.0);
                self.ty(&mut f.1);
            }
        }
    }

    fn types(&self, types: &mut Rc<[Ty]>) {
        Rc::make_mut(types).iter_mut().for_each(|t| self.ty(t));
    }

    fn binder(&self, binder: &mut Binder) {
        binder.var.id += self.variables;
        self.ty(&mut binder.ty);
    }

    fn terms(&self, terms: &mut [Term]) {
        terms.iter_mut().for_each(|t| self.term(t));
    }

    pub fn term(&self, term: &mut Term) {
        deep(|| match &mut term.kind {
            TermKind::Var(var) => var.id += self.variables,
            TermKind::Global(id) => *id = (self.globals)(*id),
            TermKind::Lit(_) => {}
            TermKind::Lam(x, body) => {
                self.binder(x);
                self.term(body);
            }
            TermKind::App(f, x) => {
                self.term(f);
                self.term(x);
            }
            TermKind::Let(bindings, body) => {
                for (x, value) in bindings {
                    self.binder(x);
                    self.term(value);
                }
                self.term(body);
            }
            TermKind::LetRec(f, function, body) => {
                self.binder(f);
                self.term(function);
                self.term(body);
            }
            TermKind::Tuple(ty, terms) | TermKind::Array(ty, terms) => {
                self.ty(ty);
                self.terms(terms);
            }
            TermKind::Proj(ty, _, of) => {
                self.ty(ty);
                self.term(of);
            }
            TermKind::Con(id, args, _, terms) => {
                *id = (self.datas)(*id);
                self.types(args);
                self.terms(terms);
            }
            TermKind::Case(case) => {
                self.term(&mut case.scrutinee);
                case.data.0 = (self.datas)(case.data.0);
                self.types(&mut case.data.1);
                for arm in &mut case.arms {
                    arm.binders.iter_mut().for_each(|b| self.binder(b));
                    self.term(&mut arm.body);
                }
                case.default.iter_mut().for_each(|t| self.term(t));
            }
            TermKind::If(a, b, c) => [a, b, c].into_iter().for_each(|t| self.term(t)),
            TermKind::Build(build) => {
                self.term(&mut build.count);
                self.binder(&mut build.index);
                self.term(&mut build.body);
                self.ty(&mut build.element);
            }
            TermKind::Loop(l) => {
                self.binder(&mut l.state);
                self.term(&mut l.init);
                match &mut l.control {
                    Control::Count { index, count } => {
                        self.binder(index);
                        self.term(count);
                    }
                    Control::While(condition) => self.term(condition),
                }
                self.term(&mut l.body);
            }
            TermKind::Prim(prim, terms) => {
                self.prim(prim);
                self.terms(terms);
            }
            TermKind::Diff(Diff { from, to, .. }, terms) => {
                self.ty(from);
                self.ty(to);
                self.terms(terms);
            }
        })
    }

    fn prim(&self, prim: &mut Prim) {
        match prim {
            Prim::Compare(_, ty)
            | Prim::Add(ty)
            | Prim::Sub(ty)
            | Prim::Neg(ty)
            | Prim::Scale(ty)
            | Prim::Unscale(ty)
            | Prim::MulElements(ty)
            | Prim::DivElements(ty)
            | Prim::ZeroOf(ty)
            | Prim::Inner(ty)
            | Prim::Ravel(ty)
            | Prim::Unravel(ty)
            | Prim::Length(ty)
            | Prim::Index(ty)
            | Prim::Slice(ty)
            | Prim::Update(ty)
            | Prim::Append(ty)
            | Prim::Flatten(ty)
            | Prim::Sum(ty)
            | Prim::ArgSort(ty)
            | Prim::Sizes(_, ty)
            | Prim::Show(ty)
            | Prim::Labels(ty)
            | Prim::Fail(ty)
            | Prim::Trace(ty)
            | Prim::Progress(ty) => self.ty(ty),
            Prim::Lift(lift) => {
                let lift = Rc::make_mut(lift);
                self.ty(&mut lift.from);
                self.ty(&mut lift.to);
            }
            Prim::Real(_)
            | Prim::PowInt
            | Prim::Int(_)
            | Prim::Not
            | Prim::ToReal
            | Prim::Round(_)
            | Prim::IsNan
            | Prim::Text(_)
            | Prim::AppendStrings
            | Prim::Warn => {}
        }
    }
}
