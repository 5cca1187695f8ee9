//! A program that grows by translations.
//!
//! A translated definition depends on its source alone and on the types of what that refers to (Krawiec et
//! al., section 7.5): it is made once, when it is first referred to. New variables never clash with old ones.

mod functions;

pub(crate) use functions::rename;

use super::splice::{self, TextDefinitions};
use super::System;
use super::{engine, homomorphism};
use diffeo_base::{FileId, Name, Span};
use diffeo_calculus::eval::translator::{CodeSource, Translator};
use diffeo_calculus::eval::{Exceeded, Limits};
use diffeo_calculus::print::print_type;
use diffeo_calculus::term::{next_variable, Binder, Global, GlobalId, Program, Term, Var};
use diffeo_calculus::ty::{ConstructorDecl, DataDecl, DataId, Ty};
use diffeo_calculus::typing::parts;
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
