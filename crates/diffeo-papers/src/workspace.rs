//! A program that grows by translations.
//!
//! A translated definition depends on its source alone and on the types of what that refers to (Krawiec et
//! al., section 7.5): it is made once, when it is first referred to. New variables never clash with old ones.

use super::splice::{self, TextDefinitions};
use super::System;
use super::{engine, homomorphism};
use diffeo_base::deep;
use diffeo_base::{FileId, Name, Span};
use diffeo_calculus::build::{bind_all, lam, map_children, part, truth, var};
use diffeo_calculus::eval::translator::{CodeSource, Translator};
use diffeo_calculus::eval::{environment, Exceeded, Limits};
use diffeo_calculus::print::print_type;
use diffeo_calculus::term::{
    each_binder, next_variable, Binder, Control, Global, GlobalId, Program, Term, TermKind, Var,
};
use diffeo_calculus::ty::{ConstructorDecl, DataDecl, DataId, Ty};
use diffeo_calculus::typing::{parts, type_of};
use diffeo_calculus::value::Value;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// A program that grows by translations.
#[derive(Debug)]
pub struct Workspace {
    pub(crate) datas: Vec<DataDecl>,
    pub(crate) globals: Vec<Rc<Global>>,
    library: Vec<FileId>,
    next: u32,
    /// The translations of definitions.
    translated: HashMap<(System, GlobalId), GlobalId>,
    /// What each translated definition was made from.
    origins: HashMap<GlobalId, (System, GlobalId)>,
    /// Those still to be made, in the order in which they were first wanted: a definition that is itself a
    /// translation comes before its own.
    pending: VecDeque<(System, GlobalId, GlobalId)>,
    /// The translations of types.
    types: HashMap<System, HashMap<Ty, Ty>>,
    /// The translations of variant types.
    datas_translated: HashMap<(System, DataId), DataId>,
    /// The translations of variant types at arguments.
    instances: HashMap<(System, DataId, Rc<[Ty]>), DataId>,
    /// Definitions that were made here, by what they are.
    made: HashMap<String, GlobalId>,
    /// The same, to be asked for.
    auxiliary: HashSet<GlobalId>,
    /// The first number of a variable that is not of the program.
    first: u32,
    /// Texts that were added.
    libraries: HashMap<&'static str, Rc<TextDefinitions>>,
    /// What each translated variable was made from.
    sources: HashMap<u32, (System, u32)>,
    /// Why something could not be translated.
    refusals: Vec<Refusal>,
    /// What translations may take.
    limits: Limits,
    /// How many terms were translated since the limits were last looked at.
    unlooked: u32,
    /// The bound that was reached: what was made since then has no meaning.
    exceeded: Option<Exceeded>,
    /// How many definitions were translated.
    pub(crate) translations: usize,
    /// Whether function values can be translated, and asked what they captured, because the program is to run on
    /// a machine that knows their code.
    pub(crate) dynamic: bool,
    /// Whether derivatives of higher orders are taken by first ones within each other, because a rule of
    /// `with_derivative` may be no derivative.
    pub(crate) nests: bool,
    /// The variables with their types, where functions are translated in their places (`shown/derivatives.rs`).
    pub(crate) binders: Option<HashMap<u32, Binder>>,
    /// The definition that each variable is in, for some definitions.
    parameters: HashMap<u32, GlobalId>,
    indexed: HashSet<GlobalId>,
}

/// After how many terms the limits are looked at again.
const LOOK: u32 = 256;

/// A term that a system does not translate.
#[derive(Clone, PartialEq, Debug)]
pub struct Refusal {
    /// What it is.
    pub what: &'static str,
    /// Why.
    pub reason: &'static str,
    /// Its place.
    pub span: Span,
}

impl Workspace {
    /// The program as it is.
    pub fn new(program: &Program) -> Workspace {
        Workspace {
            datas: program.datas.clone(),
            globals: program.globals.clone(),
            library: program.library.clone(),
            next: next_variable(&program.globals),
            translated: HashMap::new(),
            origins: HashMap::new(),
            pending: VecDeque::new(),
            types: HashMap::new(),
            datas_translated: HashMap::new(),
            instances: HashMap::new(),
            made: HashMap::new(),
            auxiliary: HashSet::new(),
            first: next_variable(&program.globals),
            libraries: HashMap::new(),
            sources: HashMap::new(),
            refusals: Vec::new(),
            limits: Limits::default(),
            unlooked: 0,
            exceeded: None,
            translations: 0,
            dynamic: false,
            nests: program.has_inexact_rules(),
            binders: None,
            parameters: HashMap::new(),
            indexed: HashSet::new(),
        }
    }

    /// The program with everything that was translated.
    pub fn program(&mut self) -> Rc<Program> {
        self.finish();
        Rc::new(Program {
            datas: self.datas.clone(),
            globals: self.globals.clone(),
            library: self.library.clone(),
        })
    }

    /// Bounds the translations that follow.
    pub(crate) fn bound(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Whether translating is to end, because a bound was reached; asked for each term.
    pub(crate) fn is_over(&mut self) -> bool {
        self.unlooked += 1;
        if self.unlooked >= LOOK && self.exceeded.is_none() {
            self.unlooked = 0;
            self.exceeded = self.limits.check().err();
        }
        self.exceeded.is_some()
    }

    /// What could not be translated so far.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Notes that something is not translated; the term that stands for it stops the program.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    /// A variable of its own.
    pub fn binder(&mut self, name: &str, ty: Ty) -> Binder {
        self.next += 1;
        let binder = Binder { var: Var { name: Name::new(name), id: self.next - 1 }, ty };
        if let Some(binders) = &mut self.binders {
            binders.insert(binder.var.id, binder.clone());
        }
        binder
    }

    /// The first of so many numbers for variables.
    pub(crate) fn reserve(&mut self, count: u32) -> u32 {
        self.next += count;
        self.next - count
    }

    /// A variable that stands for another one in translated code.
    pub(crate) fn renamed(&mut self, system: &System, source: &Binder, ty: Ty) -> Binder {
        let binder = self.binder(&source.var.name, ty);
        self.sources.insert(binder.var.id, (system.clone(), source.var.id));
        binder
    }

    /// What a translated variable was made from.
    pub(crate) fn source(&self, var: u32) -> Option<&(System, u32)> {
        self.sources.get(&var)
    }

    /// What a translated definition was made from.
    pub(crate) fn origin(&self, id: GlobalId) -> Option<&(System, GlobalId)> {
        self.origins.get(&id)
    }

    /// Whether a variable was made from one of the program.
    pub(crate) fn is_of_source(&self, var: u32) -> bool {
        var < self.first || self.sources.contains_key(&var)
    }

    /// Whether a definition stands for an operation or a type, not for one of the program or of a library.
    pub(crate) fn is_auxiliary(&self, id: GlobalId) -> bool {
        let mut id = id;
        while let Some((_, origin)) = self.origins.get(&id) {
            id = *origin;
        }
        self.auxiliary.contains(&id)
    }

    /// A definition.
    pub(crate) fn global(&self, id: GlobalId) -> &Rc<Global> {
        &self.globals[id.0 as usize]
    }

    /// The types of the arguments of a definition that is a function of a tuple.
    pub(crate) fn parameters_of(&self, id: GlobalId) -> Vec<Ty> {
        match &self.global(id).ty {
            Ty::Fun(f) => f.0.components().unwrap_or_else(|| vec![f.0.clone()]),
            ty => vec![ty.clone()],
        }
    }

    /// A new definition, to be filled in by [`Workspace::define`].
    pub(crate) fn declare(&mut self, name: &str, ty: Ty, span: Span) -> GlobalId {
        let body = diffeo_calculus::build::unit();
        self.globals.push(Rc::new(Global { name: Name::new(name), ty, body, span }));
        GlobalId(self.globals.len() as u32 - 1)
    }

    /// The body of a definition.
    pub(crate) fn define(&mut self, id: GlobalId, body: Term) {
        Rc::make_mut(&mut self.globals[id.0 as usize]).body = body;
    }

    /// The definition that `key` stands for: made by `make` when it is first wanted, and known under its
    /// name while it is made, so that it may be recursive.
    pub fn made(
        &mut self,
        key: &str,
        ty: Ty,
        make: impl FnOnce(&mut Workspace) -> Term,
    ) -> GlobalId {
        if let Some(id) = self.made.get(key) {
            return *id;
        }
        let id = self.declare(key, ty, Span::NONE);
        self.made.insert(key.to_string(), id);
        self.auxiliary.insert(id);
        let body = make(self);
        self.define(id, body);
        id
    }

    /// What texts define together; `key` stands for them and the synonyms.
    pub(crate) fn library(
        &mut self,
        key: &'static str,
        texts: &[&str],
        synonyms: &[(&str, &str)],
    ) -> Rc<TextDefinitions> {
        if let Some(known) = self.libraries.get(key) {
            return known.clone();
        }
        let library = Rc::new(splice::splice(self, &texts.concat(), synonyms));
        self.libraries.insert(key, library.clone());
        library
    }

    /// The name of a definition, with its number where another one has that name.
    pub(crate) fn label(&self, id: GlobalId) -> String {
        let name = &self.global(id).name;
        match self.globals.iter().filter(|g| g.name == *name).count() {
            1 => name.to_string(),
            _ => format!("{name}.{}", id.0),
        }
    }

    /// The variant types alone.
    pub(crate) fn declarations(&self) -> Program {
        Program { datas: self.datas.clone(), globals: Vec::new(), library: Vec::new() }
    }

    /// The program as it is now.
    fn shared(&self) -> Program {
        let mut program = self.declarations();
        program.globals = self.globals.clone();
        program
    }

    /// The text of a type, for names.
    pub(crate) fn type_text(&self, ty: &Ty) -> String {
        print_type(ty, &self.declarations())
    }

    // Translation

    /// `D{f}` of a definition: a new definition, made once.
    pub fn translated(&mut self, system: &System, id: GlobalId) -> GlobalId {
        if let Some(known) = self.translated.get(&(system.clone(), id)) {
            return *known;
        }
        let source = self.global(id).clone();
        let ty = homomorphism::definition_type(self, system, &source.ty);
        let name = format!("{}{}", source.name, system.suffix());
        let target = self.declare(&name, ty, source.span);
        self.translated.insert((system.clone(), id), target);
        self.origins.insert(target, (system.clone(), id));
        self.pending.push_back((system.clone(), id, target));
        target
    }

    // Function values

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
        let definition = self.definition_of(parameter)?;
        let definition = self.global(definition).clone();
        let (function, types) = find_function(&self.shared(), &definition.body, parameter)?;
        let sources: Option<Vec<Binder>> =
            variables.iter().map(|var| types.get(var).map(|b| (*b).clone())).collect();
        let sources = sources?;
        let params: Vec<Ty> =
            sources.iter().map(|b| homomorphism::ty(self, system, &b.ty)).collect();
        let from = Ty::tuple(params.clone());
        let ty = Ty::fun(from.clone(), function.ty.clone());
        let id = self.declare(&key, ty, definition.span);
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
        let body = self.copied(&mut replaced, &function.term);
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
        let definition = self.definition_of(parameter)?;
        let definition = self.global(definition).clone();
        let (function, types) = find_function(&self.shared(), &definition.body, parameter)?;
        let sources: Option<Vec<Binder>> =
            variables.iter().map(|var| types.get(var).map(|b| (*b).clone())).collect();
        let sources = sources?;
        let params: Vec<Ty> = sources.iter().map(|b| b.ty.clone()).collect();
        let from = Ty::tuple(params.clone());
        let to = homomorphism::ty(self, system, &function.ty);
        let ty = Ty::fun(from.clone(), to);
        let (name, span) = (key.clone(), definition.span);
        let id = self.declare(&name, ty, span);
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
        let body = homomorphism::function(self, system, &replaced, &function.term);
        self.define(id, lam(p, bind_all(bindings, body)));
        Some(id)
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

    /// Makes what is still to be made.
    pub(crate) fn finish(&mut self) {
        while let Some((system, source, target)) = self.pending.pop_front() {
            self.make(&system, source, target);
        }
    }

    fn make(&mut self, system: &System, source: GlobalId, target: GlobalId) {
        let global = self.global(source).clone();
        let body = homomorphism::definition(self, system, source, &global);
        self.translations += 1;
        self.indexed.remove(&target);
        self.define(target, body);
    }

    /// Gives a definition another body of the same type. Its own translations are made again, and theirs; no
    /// other definition's.
    pub fn update(&mut self, id: GlobalId, body: &Term) {
        self.finish();
        let body = splice::fresh(self, body);
        self.indexed.remove(&id);
        self.define(id, body);
        self.renew(id);
        self.finish();
    }

    fn renew(&mut self, id: GlobalId) {
        let of_it = self.translated.iter().filter(|((_, source), _)| *source == id);
        let mut targets: Vec<(GlobalId, System)> =
            of_it.map(|((system, _), target)| (*target, system.clone())).collect();
        targets.sort_by_key(|(target, _)| *target);
        for (target, system) in targets {
            self.make(&system, id, target);
            self.renew(target);
        }
    }

    /// How many definitions were translated so far.
    pub fn translations(&self) -> usize {
        self.translations
    }

    /// What a type was translated to.
    pub(crate) fn known_type(&self, system: &System, a: &Ty) -> Option<Ty> {
        self.types.get(system)?.get(a).cloned()
    }

    /// Notes what a type is translated to.
    pub(crate) fn know_type(&mut self, system: &System, a: &Ty, translated: &Ty) {
        let of_system = match self.types.get_mut(system) {
            Some(known) => known,
            None => self.types.entry(system.clone()).or_default(),
        };
        of_system.insert(a.clone(), translated.clone());
    }

    /// The variant type whose constructors hold translated fields. One that holds neither Reals nor functions
    /// beside those of its arguments is its own translation.
    pub(crate) fn data(&mut self, system: &System, id: DataId) -> DataId {
        if !self.changes(id) {
            return id;
        }
        if let Some(known) = self.datas_translated.get(&(system.clone(), id)) {
            return *known;
        }
        let decl = self.datas[id.0 as usize].clone();
        let new = DataId(self.datas.len() as u32);
        self.datas_translated.insert((system.clone(), id), new);
        let name = Name::new(&format!("{}{}", decl.name, system.suffix()));
        self.datas.push(DataDecl { name, known: None, constructors: Vec::new(), ..decl });
        let mut constructors = Vec::new();
        for c in &decl.constructors {
            let fields = c.fields.iter().map(|t| homomorphism::ty(self, system, t)).collect();
            constructors.push(ConstructorDecl { name: c.name.clone(), fields });
        }
        self.datas[new.0 as usize].constructors = constructors;
        new
    }

    /// The same for a variant type at these arguments, as a declaration without parameters.
    pub(crate) fn instance(&mut self, system: &System, id: DataId, args: &[Ty]) -> DataId {
        let key = (system.clone(), id, Rc::from(args));
        if let Some(known) = self.instances.get(&key) {
            return *known;
        }
        let source = self.type_text(&Ty::Data(id, args.into()));
        let decl = self.datas[id.0 as usize].clone();
        let new = DataId(self.datas.len() as u32);
        self.instances.insert(key, new);
        let name = Name::new(&format!("{source}{}", system.suffix()));
        self.datas.push(DataDecl { name, known: None, params: 0, constructors: Vec::new() });
        let mut constructors = Vec::new();
        for c in &decl.constructors {
            let fields = c.fields.iter().map(|t| t.instantiate(args));
            let fields = fields.map(|t| homomorphism::ty(self, system, &t)).collect();
            constructors.push(ConstructorDecl { name: c.name.clone(), fields });
        }
        self.datas[new.0 as usize].constructors = constructors;
        new
    }

    /// Whether a declaration, or one that it refers to, mentions Reals or functions.
    fn changes(&self, id: DataId) -> bool {
        self.mentions(id, &|part| matches!(part, Ty::Real | Ty::Fun(_)))
    }

    /// Whether a declaration, or one that it refers to, mentions an array of a parameter.
    pub(crate) fn holds_arrays_of_parameters(&self, id: DataId) -> bool {
        let of_parameter = |element: &Ty| matches!(element, Ty::Param(_));
        self.mentions(id, &|part| matches!(part, Ty::Array(element) if of_parameter(element)))
    }

    /// Whether a declaration, or one that it refers to, mentions such a type.
    fn mentions(&self, id: DataId, such: &dyn Fn(&Ty) -> bool) -> bool {
        let mut seen = HashSet::from([id]);
        let mut pending = vec![id];
        let mut found = false;
        while let Some(id) = pending.pop() {
            for field in self.datas[id.0 as usize].constructors.iter().flat_map(|c| &c.fields) {
                parts(field, &mut |part| {
                    found |= such(part);
                    if let Ty::Data(data, _) = part {
                        if seen.insert(*data) {
                            pending.push(*data);
                        }
                    }
                });
            }
        }
        found
    }
}

/// A function within a definition.
struct NestedFunction {
    /// It; a recursive one as `letrec f = … in f`.
    term: Term,
    ty: Ty,
}

/// The function with this parameter, and the binders of the definition.
fn find_function<'t>(
    program: &Program,
    body: &'t Term,
    parameter: u32,
) -> Option<(NestedFunction, HashMap<u32, &'t Binder>)> {
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
                return Some((NestedFunction { term, ty: f.ty.clone() }, binders));
            }
        }
        if matches!(&term.kind, TermKind::Lam(x, _) if x.var.id == parameter) {
            let ty = type_of(term, program, &types)?;
            return Some((NestedFunction { term: term.clone(), ty }, binders));
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

impl Translator for Workspace {
    fn program(&mut self) -> Rc<Program> {
        Workspace::program(self)
    }

    fn exceeded(&self) -> Option<Exceeded> {
        self.exceeded
    }

    fn original(&self, id: GlobalId) -> GlobalId {
        self.origin(id).map_or(id, |(_, origin)| self.original(*origin))
    }

    fn has_more(&self, definitions: usize) -> bool {
        self.globals.len() > definitions || !self.pending.is_empty()
    }

    fn lifting(
        &mut self,
        system: &System,
        outer: &[System],
        source: CodeSource,
        captured: Vec<(u32, Value)>,
    ) -> Option<(GlobalId, Option<Value>)> {
        Workspace::lifting(self, system, outer, source, captured)
    }

    fn lowering(
        &mut self,
        system: &System,
        outer: &[System],
        source: CodeSource,
        captured: Vec<(u32, Value)>,
    ) -> Option<(GlobalId, Option<Value>)> {
        Workspace::lowering(self, system, outer, source, captured)
    }

    fn varying(
        &mut self,
        system: &System,
        outer: &[System],
        source: CodeSource,
        captured: Vec<(u32, Value)>,
    ) -> Option<(GlobalId, Option<Value>)> {
        Workspace::varying(self, system, outer, source, captured)
    }

    fn start(&mut self, system: &System) -> Option<GlobalId> {
        engine::start(self, system)
    }
}
