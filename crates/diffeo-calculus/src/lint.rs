//! The lint of Core: a program in, its violations out (none for every program that inference or a translation makes).
//!
//! - Types: data ids and numbers of arguments are right, parameters stand in declarations alone, tuples have at least
//!   two components, the fields of records are in order and distinct.
//! - Binders are unique; variables are in scope; definitions and constructors exist.
//! - Every form has the types that its annotations say, in the numbers that it needs.
//! - `Case` arms have distinct tags in rising order and cover the type unless there is a default.
//! - The bound term of `LetRec` is a `Lam`.
//! - Operations and derivatives are used at types that they are for.

use crate::prim::{Diff, DiffOp, Prim, SizePattern, SizeRef, SizeShape};
use crate::print::{print_term, print_type};
use crate::term::{Binder, Build, Case, Control, Loop, Program, Term, TermKind};
use crate::ty::{DataDecl, DataId, Ty};
use crate::typing::{component, declares_real, first_order, literal_type, parts, Env};
use diffeo_base::deep;
use std::collections::HashSet;

/// The lines of a term that a violation shows.
const SHOWN_LINES: usize = 20;

/// What is wrong with a program: each violation with its definition and the offending term.
pub fn lint(program: &Program) -> Vec<String> {
    let mut checker = CoreChecker {
        program,
        definition: String::new(),
        env: Env::new(),
        bound: HashSet::new(),
        violations: Vec::new(),
    };
    for decl in &program.datas {
        checker.definition = format!("data {}", decl.name);
        checker.declaration(decl);
    }
    if !checker.violations.is_empty() {
        // Terms cannot be checked against declarations that are wrong.
        return checker.violations;
    }
    for global in &program.globals {
        checker.definition = format!("def {}", global.name);
        checker.ty(&global.ty, &global.body);
        checker.check(&global.body, &global.ty, "the definition");
    }
    checker.violations
}

struct CoreChecker<'p> {
    program: &'p Program,
    /// What is being checked.
    definition: String,
    /// The variables in scope.
    env: Env,
    /// All variables bound so far.
    bound: HashSet<u32>,
    violations: Vec<String>,
}

impl<'p> CoreChecker<'p> {
    // Violations

    fn report(&mut self, message: impl AsRef<str>, term: &Term) {
        let text = print_term(term, self.program);
        let mut shown: Vec<&str> = text.lines().take(SHOWN_LINES + 1).collect();
        if shown.len() > SHOWN_LINES {
            shown[SHOWN_LINES] = "…";
        }
        let (message, shown) = (message.as_ref(), shown.join("\n"));
        self.violations.push(format!("{}: {message}, in\n{shown}", self.definition));
    }

    fn mismatch(&mut self, what: &str, expected: &Ty, found: &Ty, term: &Term) {
        let expected = print_type(expected, self.program);
        let found = print_type(found, self.program);
        self.report(format!("{what} has type {found} and should have type {expected}"), term);
    }

    // Types

    fn declaration(&mut self, decl: &DataDecl) {
        for constructor in &decl.constructors {
            for field in &constructor.fields {
                for message in self.type_violations(field, decl.params) {
                    let constructor = &constructor.name;
                    self.violations.push(format!("{}.{constructor}: {message}", self.definition));
                }
            }
        }
    }

    /// Checks a type that stands in a term.
    fn ty(&mut self, ty: &Ty, term: &Term) {
        for message in self.type_violations(ty, 0) {
            self.report(message, term);
        }
    }

    fn type_violations(&self, ty: &Ty, params: usize) -> Vec<String> {
        let mut found = Vec::new();
        parts(ty, &mut |part| {
            let violation = match part {
                Ty::Tuple(types) if types.len() < 2 => "a tuple of fewer than two components",
                Ty::Record(fields) if fields.windows(2).any(|pair| pair[0].0 >= pair[1].0) => {
                    "a record with unsorted fields"
                }
                Ty::Data(data, args) => match self.program.datas.get(data.0 as usize) {
                    None => "a variant type that is not declared",
                    Some(decl) if decl.params != args.len() => {
                        "a variant type with the wrong number of arguments"
                    }
                    Some(_) => return,
                },
                Ty::Param(i) if *i as usize >= params => "a type parameter that is not declared",
                Ty::Real
                | Ty::Int
                | Ty::Bool
                | Ty::String
                | Ty::Unit
                | Ty::Tuple(_)
                | Ty::Record(_)
                | Ty::Array(_)
                | Ty::Fun(_)
                | Ty::Param(_) => return,
            };
            found.push(format!("{violation}: {}", print_type(part, self.program)));
        });
        found
    }

    /// The declaration of a variant type, if it is there and has this many parameters.
    fn data(&self, data: DataId, args: &[Ty]) -> Option<&'p DataDecl> {
        self.program.datas.get(data.0 as usize).filter(|decl| decl.params == args.len())
    }

    // Scopes

    /// Checks a binder of `term` and brings it into scope.
    fn enter(&mut self, binder: &Binder, term: &Term) {
        self.ty(&binder.ty, term);
        if !self.bound.insert(binder.var.id) {
            let (name, id) = (&binder.var.name, binder.var.id);
            self.report(format!("the variable {name}.{id} is bound twice"), term);
        }
        self.env.insert(binder.var.id, binder.ty.clone());
    }

    fn leave(&mut self, binder: &Binder) {
        self.env.remove(&binder.var.id);
    }

    /// Brings an index into scope.
    fn enter_index(&mut self, index: &Binder, term: &Term) {
        self.enter(index, term);
        if index.ty != Ty::Int {
            self.mismatch("the index", &Ty::Int, &index.ty, term);
        }
    }

    // Terms

    /// Checks that a term has a type.
    fn check(&mut self, term: &Term, expected: &Ty, what: &str) {
        if let Some(found) = self.infer(term) {
            if found != *expected {
                self.mismatch(what, expected, &found, term);
            }
        }
    }

    /// Checks the number and types of the parts of `term`.
    fn check_all(&mut self, parts: &[Term], expected: &[Ty], what: &str, term: &Term) {
        if parts.len() != expected.len() {
            let (found, expected) = (parts.len(), expected.len());
            self.report(format!("{found} {what}s where {expected} are needed"), term);
        }
        for (i, part) in parts.iter().enumerate() {
            match expected.get(i) {
                Some(ty) => self.check(part, ty, &format!("{what} {}", i + 1)),
                None => {
                    self.infer(part);
                }
            }
        }
    }

    /// The type of a term, all of which is checked; None if a violation leaves it open.
    fn infer(&mut self, term: &Term) -> Option<Ty> {
        deep(|| self.infer_kind(term))
    }

    fn infer_kind(&mut self, term: &Term) -> Option<Ty> {
        match &term.kind {
            TermKind::Var(var) => {
                let ty = self.env.get(&var.id).cloned();
                if ty.is_none() {
                    self.report(
                        format!("the variable {}.{} is not in scope", var.name, var.id),
                        term,
                    );
                }
                ty
            }
            TermKind::Global(id) => {
                let global = self.program.globals.get(id.0 as usize);
                if global.is_none() {
                    self.report("a definition that is not there", term);
                }
                global.map(|global| global.ty.clone())
            }
            TermKind::Lit(literal) => Some(literal_type(literal)),
            TermKind::Lam(binder, body) => {
                self.enter(binder, term);
                let result = self.infer(body);
                self.leave(binder);
                Some(Ty::fun(binder.ty.clone(), result?))
            }
            TermKind::App(function, argument) => self.application(function, argument, term),
            TermKind::Let(bindings, body) => {
                for (binder, value) in bindings {
                    self.check(value, &binder.ty, "the bound term");
                    self.enter(binder, term);
                }
                let result = self.infer(body);
                bindings.iter().for_each(|(binder, _)| self.leave(binder));
                result
            }
            TermKind::LetRec(binder, value, body) => {
                self.enter(binder, term);
                if !matches!(value.kind, TermKind::Lam(..)) {
                    self.report("the bound term of a letrec is not a function", term);
                }
                self.check(value, &binder.ty, "the bound term");
                let result = self.infer(body);
                self.leave(binder);
                result
            }
            TermKind::Tuple(ty, components) => {
                self.ty(ty, term);
                match ty.components() {
                    Some(types) => self.check_all(components, &types, "component", term),
                    None => {
                        self.report("a tuple whose type is no tuple or record", term);
                        components.iter().for_each(|component| drop(self.infer(component)));
                    }
                }
                Some(ty.clone())
            }
            TermKind::Proj(ty, index, tuple) => {
                self.ty(ty, term);
                self.check(tuple, ty, "the tuple");
                let found = component(ty, *index);
                if found.is_none() {
                    self.report("a component that is not there", term);
                }
                found.cloned()
            }
            TermKind::Con(data, args, tag, fields) => {
                let ty = Ty::Data(*data, args.clone());
                self.ty(&ty, term);
                let decl = self.data(*data, args);
                match decl.filter(|decl| (*tag as usize) < decl.constructors.len()) {
                    Some(decl) => self.check_all(fields, &decl.fields(*tag, args), "field", term),
                    None => {
                        self.report("a constructor that is not there", term);
                        fields.iter().for_each(|field| drop(self.infer(field)));
                    }
                }
                Some(ty)
            }
            TermKind::Case(case) => self.case(case, term),
            TermKind::If(condition, yes, no) => {
                self.check(condition, &Ty::Bool, "the condition");
                let result = self.infer(yes);
                self.agree(result, no)
            }
            TermKind::Array(element, items) => {
                self.ty(element, term);
                items.iter().for_each(|item| self.check(item, element, "the element"));
                Some(Ty::array(element.clone()))
            }
            TermKind::Build(build) => {
                let Build { count, index, body, element } = &**build;
                self.ty(element, term);
                self.check(count, &Ty::Int, "the count");
                self.enter_index(index, term);
                self.check(body, element, "the element");
                self.leave(index);
                Some(Ty::array(element.clone()))
            }
            TermKind::Loop(l) => self.loop_(l, term),
            TermKind::Prim(prim, args) => {
                if let Some(ty) = prim_type(prim) {
                    self.ty(ty, term);
                }
                if let Some(message) = prim.restriction(self.program) {
                    self.report(message, term);
                }
                if let Prim::Sizes(pattern, ty) = prim {
                    self.size_pattern(pattern, ty, term);
                }
                let (params, result) = prim.signature(args.len());
                self.check_all(args, &params, "argument", term);
                Some(result)
            }
            TermKind::Diff(diff, args) => {
                self.derivative(diff, term);
                let (params, result) = diff.signature();
                self.check_all(args, &params, "argument", term);
                Some(result)
            }
        }
    }

    /// Checks a further branch, which has the type of those before, if that is known.
    fn agree(&mut self, expected: Option<Ty>, branch: &Term) -> Option<Ty> {
        match expected {
            Some(expected) => {
                self.check(branch, &expected, "the branch");
                Some(expected)
            }
            None => self.infer(branch),
        }
    }

    fn application(&mut self, function: &Term, argument: &Term, term: &Term) -> Option<Ty> {
        let found = self.infer(function);
        if let Some(Ty::Fun(fun)) = &found {
            self.check(argument, &fun.0, "the argument");
            return Some(fun.1.clone());
        }
        if let Some(other) = found {
            let other = print_type(&other, self.program);
            self.report(format!("what is applied has type {other}"), term);
        }
        self.infer(argument);
        None
    }

    fn case(&mut self, case: &Case, term: &Term) -> Option<Ty> {
        let (data, args) = &case.data;
        let ty = Ty::Data(*data, args.clone());
        self.ty(&ty, term);
        self.check(&case.scrutinee, &ty, "what is looked at");
        let decl = self.data(*data, args);
        if case.arms.windows(2).any(|pair| pair[0].tag >= pair[1].tag) {
            self.report("the tags of the arms are not rising", term);
        }
        if let Some(decl) = decl {
            let covers = |tag| case.arms.iter().any(|arm| arm.tag == tag);
            if case.default.is_none() && !(0..decl.constructors.len() as u32).all(covers) {
                self.report("the arms do not cover the type", term);
            }
        }
        if case.arms.is_empty() && case.default.is_none() {
            self.report("a case without arms has no type", term);
        }
        let mut result = None;
        for arm in &case.arms {
            match decl.filter(|decl| (arm.tag as usize) < decl.constructors.len()) {
                Some(decl) => {
                    let fields = decl.fields(arm.tag, args);
                    if !arm.binders.iter().map(|binder| &binder.ty).eq(&fields) {
                        self.report("the binders of an arm do not fit the constructor", term);
                    }
                }
                None => self.report("an arm for a constructor that is not there", term),
            }
            arm.binders.iter().for_each(|binder| self.enter(binder, term));
            result = self.agree(result, &arm.body);
            arm.binders.iter().for_each(|binder| self.leave(binder));
        }
        match &case.default {
            Some(default) => self.agree(result, default),
            None => result,
        }
    }

    fn loop_(&mut self, l: &Loop, term: &Term) -> Option<Ty> {
        let Loop { state, init, control, body } = l;
        self.check(init, &state.ty, "the first state");
        match control {
            Control::Count { index, count } => {
                self.check(count, &Ty::Int, "the count");
                self.enter(state, term);
                self.enter_index(index, term);
                self.check(body, &state.ty, "the next state");
                self.leave(index);
            }
            Control::While(condition) => {
                self.enter(state, term);
                self.check(condition, &Ty::Bool, "the condition");
                self.check(body, &state.ty, "the next state");
            }
        }
        self.leave(state);
        Some(state.ty.clone())
    }

    fn derivative(&mut self, diff: &Diff, term: &Term) {
        let Diff { op, from, to } = diff;
        for ty in [from, to] {
            self.ty(ty, term);
            // `stop_gradient : a -> a` is the identity of functions, too.
            if *op != DiffOp::StopGradient && !first_order(ty, self.program) {
                self.report("a derivative needs first-order types", term);
            }
        }
        match op {
            DiffOp::StopGradient => {
                if from != to {
                    self.mismatch("the result of stop_gradient", from, to, term);
                }
            }
            DiffOp::Jet { k: _, r: _ } => {
                if [from, to].into_iter().any(|ty| declares_real(ty, self.program)) {
                    self.report("a jet at a variant type with Reals of its own", term);
                }
            }
            DiffOp::Rd
            | DiffOp::RdAlong
            | DiffOp::Vjp
            | DiffOp::Jvp
            | DiffOp::Checkpoint
            | DiffOp::WithDerivative
            | DiffOp::WithExactDerivative
            | DiffOp::Decisions
            | DiffOp::Deciding
            | DiffOp::Enclose
            | DiffOp::Dependence
            | DiffOp::AllPaths => {}
        }
    }

    fn size_pattern(&mut self, pattern: &SizePattern, ty: &Ty, term: &Term) {
        if pattern.given > pattern.names.len() {
            self.report("more sizes given than there are", term);
        }
        if !self.fits(&pattern.shape, ty, pattern.names.len()) {
            self.report("the size pattern does not fit the type", term);
        }
    }

    /// Whether a shape with this many sizes is one of the type.
    fn fits(&self, shape: &SizeShape, ty: &Ty, sizes: usize) -> bool {
        deep(|| {
            let all = |shapes: &[SizeShape], types: &[Ty]| {
                let mut pairs = shapes.iter().zip(types);
                shapes.len() == types.len() && pairs.all(|(shape, ty)| self.fits(shape, ty, sizes))
            };
            match shape {
                SizeShape::Any => true,
                SizeShape::Array(size, row) => {
                    let size_fits = match size {
                        SizeRef::Any | SizeRef::Literal(_) => true,
                        SizeRef::Name(position) => *position < sizes,
                    };
                    size_fits && matches!(ty, Ty::Array(element) if self.fits(row, element, sizes))
                }
                SizeShape::Tuple(shapes) => {
                    ty.components().is_some_and(|components| all(shapes, &components))
                }
                SizeShape::Data(constructors) => {
                    let Ty::Data(data, args) = ty else { return false };
                    let Some(decl) = self.data(*data, args) else { return false };
                    constructors.len() == decl.constructors.len()
                        && (0u32..)
                            .zip(constructors)
                            .all(|(tag, shapes)| all(shapes, &decl.fields(tag, args)))
                }
            }
        })
    }
}

/// The type that an operation is given.
fn prim_type(prim: &Prim) -> Option<&Ty> {
    crate::names::prim_name(prim).1
}
