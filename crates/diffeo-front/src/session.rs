//! A session of the front end: files loaded and checked, and their definitions elaborated.
//!
//! The way of a program: parse → declare → resolve → infer → exhaustiveness → rules of derivatives → elaborate → lint
//! (in debug builds).

mod differentiable;
mod interactive;
mod interface;
mod rules;
mod show;

use crate::db::{DataInfo, Db, DefId, ModuleData, ModuleId, Scope, TypeRef};
use crate::display::TypePrinter;
use crate::interface::Interface;
use crate::types::{Ty as Inferred, Walk};
use crate::{declare, elaborate, exhaustive, infer, library, resolve};
use diffeo_base::foreign::{replacement, Role};
use diffeo_base::{closest, deep, Diagnostic, FileId, Help, Name, SourceMap, Span};
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::{Program, Ty};
use diffeo_syntax::ast::{self, Item};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub use differentiable::{Differentiable, Modes};

/// Programs being worked on: their sources, what was found out about them, and the messages. A copy of a new
/// session is made faster than another one.
#[derive(Clone)]
pub struct Session {
    db: Db,
    by_path: HashMap<PathBuf, ModuleId>,
    std: HashMap<Name, ModuleId>,
    /// The text of a module of the library.
    library: fn(&str) -> Option<&'static str>,
    /// Texts that stand for files, such as those that an editor has changed.
    overlays: HashMap<PathBuf, String>,
    /// The modules whose imports are being loaded.
    loading: Vec<ModuleId>,
    /// The modules that are checked whole. Of the library's others, only definitions that these lead to are.
    whole: HashSet<ModuleId>,
    /// Modules of these that are to be checked next.
    unchecked: Vec<ModuleId>,
    /// The syntax errors so far.
    syntax: Vec<Diagnostic>,
}

/// Why a file could not be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// It could not be read.
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// It is not UTF-8 text.
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The first byte that is not.
        offset: usize,
    },
}

impl LoadError {
    /// The message for the user.
    pub fn to_diagnostic(&self) -> Diagnostic {
        match self {
            LoadError::Io { path, error } => {
                let message = format!("cannot read {}: {error}", path.display());
                let d = Diagnostic::error("unreadable-file", Span::NONE, message);
                let whole = path.with_added_extension("deo");
                match path.extension().is_none() && whole.exists() {
                    true => d.help(Help::did_you_mean(whole.display().to_string())),
                    false => d,
                }
            }
            LoadError::NotUtf8 { path, offset } => Diagnostic::error(
                "not-utf8",
                Span::NONE,
                format!(
                    "{} is not UTF-8 text: byte {offset} is not part of a character",
                    path.display()
                ),
            )
            .help("save the file as UTF-8"),
        }
    }
}

/// An entry point, elaborated.
#[derive(Clone)]
pub struct Entry {
    /// The program that it needs.
    pub program: Rc<Program>,
    /// Its definition in the program.
    pub global: GlobalId,
    /// Its type.
    pub ty: Ty,
    /// Its name.
    pub name: Name,
    /// Where the name is defined.
    pub span: Span,
    /// What hosts see of it.
    pub interface: Rc<Interface>,
}

impl Entry {
    /// The type of what it evaluates to.
    pub fn result_type(&self) -> &Ty {
        match &self.ty {
            Ty::Fun(function) => &function.1,
            other => other,
        }
    }
}

impl Default for Session {
    fn default() -> Self {
        Session::new()
    }
}

impl Session {
    /// A session with the prelude loaded.
    pub fn new() -> Session {
        Session::with_library(library::source)
    }

    /// A session whose library has other texts, for tests.
    #[doc(hidden)]
    pub fn with_library(library: fn(&str) -> Option<&'static str>) -> Session {
        let mut session = Session {
            db: Db::default(),
            by_path: HashMap::new(),
            std: HashMap::new(),
            library,
            overlays: HashMap::new(),
            loading: Vec::new(),
            whole: HashSet::new(),
            unchecked: Vec::new(),
            syntax: Vec::new(),
        };
        session.library_module("prelude");
        session.check();
        session
    }

    /// Loads a file and what it imports.
    ///
    /// # Errors
    /// The file cannot be read or is not UTF-8. What is wrong with its text goes to
    /// [`Session::diagnostics`].
    pub fn load_file(&mut self, path: &Path) -> Result<ModuleId, LoadError> {
        self.load_from(path, path)
    }

    /// Loads a program from a file that messages name in another way.
    #[allow(clippy::disallowed_methods, reason = "programs are files")]
    fn load_from(&mut self, path: &Path, shown: &Path) -> Result<ModuleId, LoadError> {
        let key = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if let Some(id) = self.by_path.get(&key) {
            return Ok(*id);
        }
        let text = match self.overlays.get(&key) {
            Some(text) => text.clone(),
            None => {
                let bytes = std::fs::read(path)
                    .map_err(|error| LoadError::Io { path: shown.to_path_buf(), error })?;
                String::from_utf8(bytes).map_err(|e| LoadError::NotUtf8 {
                    path: shown.to_path_buf(),
                    offset: e.utf8_error().valid_up_to(),
                })?
            }
        };
        let name = path.file_stem().map_or("main".into(), |s| s.to_string_lossy().into_owned());
        Ok(self.module(&name, &shown.display().to_string(), text, Some(key), false))
    }

    /// Has a text stand for a file from now on, whatever the file holds.
    pub fn overlay(&mut self, path: &Path, text: String) {
        let key = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        self.overlays.insert(key, text);
    }

    /// The tables.
    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    /// The source of a module.
    pub fn file(&self, module: ModuleId) -> FileId {
        self.db.module(module).file
    }

    /// The file of a module, if it was read from one.
    pub fn path(&self, module: ModuleId) -> Option<&Path> {
        self.db.module(module).path.as_deref()
    }

    /// The module of a file of sources, if there is one.
    pub fn module_of(&self, file: FileId) -> Option<ModuleId> {
        let found = self.db.modules.iter().position(|module| module.file == file);
        found.map(|i| ModuleId(i as u32))
    }

    /// Loads a program from text under a name; it can import the standard library only.
    pub fn load_text(&mut self, name: &str, text: &str) -> ModuleId {
        let stem = name.strip_suffix(".deo").unwrap_or(name);
        self.module(stem, name, text.to_string(), None, false)
    }

    fn library(&mut self, name: &Name) -> Option<ModuleId> {
        if let Some(id) = self.std.get(name) {
            return Some(*id);
        }
        let text = (self.library)(name)?;
        let id = self.module(name, &format!("std/{name}.deo"), text.to_string(), None, true);
        if *name == "prelude" {
            self.db.prelude = Some(id);
        }
        Some(id)
    }

    fn module(
        &mut self,
        name: &str,
        shown: &str,
        text: String,
        path: Option<PathBuf>,
        std: bool,
    ) -> ModuleId {
        let file = self.db.sources.add(shown, text);
        let (ast, diagnostics) = diffeo_syntax::parse(file, self.db.sources.text(file));
        self.syntax.extend(diagnostics.iter().filter(|d| d.is_error()).cloned());
        self.db.diagnostics.extend(diagnostics);
        let id = self.add_module(name, file, ast, path, std);
        if !std {
            self.on_demand(id);
        }
        id
    }

    fn add_module(
        &mut self,
        name: &str,
        file: FileId,
        ast: ast::Module,
        path: Option<PathBuf>,
        std: bool,
    ) -> ModuleId {
        let id = ModuleId(self.db.modules.len() as u32);
        let ast = Rc::new(ast);
        self.db.modules.push(Rc::new(ModuleData {
            name: Name::new(name),
            file,
            path: path.clone(),
            std,
            ast: ast.clone(),
            scope: Scope::default(),
            defs: Vec::new(),
            res: HashMap::new(),
            con_pats: HashMap::new(),
            size_res: HashMap::new(),
            expr_ty: Vec::new(),
            pat_ty: Vec::new(),
            instances: HashMap::new(),
            local_schemes: HashMap::new(),
            annotations: HashMap::new(),
            local_sizes: HashMap::new(),
            size_values: HashMap::new(),
        }));
        if let Some(path) = &path {
            self.by_path.insert(path.clone(), id);
        }
        match std {
            true => drop(self.std.insert(Name::new(name), id)),
            false => self.check_whole(id),
        }
        self.loading.push(id);
        for item in &ast.items {
            if let Item::Import(import) = item {
                if let Some(from) = self.import(id, import) {
                    let name = import.module.name.clone();
                    self.db.module_mut(id).scope.modules.insert(name, from);
                }
            }
        }
        self.loading.pop();
        declare::declare(&mut self.db, id);
        id
    }

    /// The module of an import: beside the importing file, or of the standard library.
    fn import(&mut self, module: ModuleId, import: &ast::Import) -> Option<ModuleId> {
        let name = &import.module.name;
        let span = import.module.span;
        let beside = self
            .db
            .module(module)
            .path
            .as_ref()
            .and_then(|p| p.parent())
            .map(|dir| dir.join(format!("{name}.deo")));
        if let Some(path) = beside.filter(|p| p.exists()) {
            let key = path.canonicalize().unwrap_or_else(|_| path.clone());
            // Messages show lines, so a program of a stranger could have others' files shown.
            if leads_out(&path, &key) {
                let message =
                    format!("the module `{name}` is a link to a file outside of this folder");
                self.db.report(
                    Diagnostic::error("import-outside", span, message)
                        .help(format!("put the file itself here: {}", path.display())),
                );
                return None;
            }
            if let Some(id) = self.by_path.get(&key).copied() {
                return self.no_circle(id, import);
            }
            let from = Path::new(self.db.sources.name(self.db.module(module).file));
            // Beside a link there may be another file of this name.
            let near = from.parent().map(|folder| folder.join(format!("{name}.deo")));
            let near = near.filter(|near| near.canonicalize().is_ok_and(|file| file == key));
            return match deep(|| self.load_from(&path, near.as_deref().unwrap_or(&path))) {
                Ok(id) => Some(id),
                Err(error) => {
                    let mut d = error.to_diagnostic();
                    d.primary.span = span;
                    self.db.report(d);
                    None
                }
            };
        }
        if let Some(id) = self.library(name) {
            return self.no_circle(id, import);
        }
        let hint = closest(name, library::MODULES.iter().map(|(n, _)| *n));
        let mut d = Diagnostic::error(
            "unknown-module",
            span,
            format!("there is no module `{name}`: no file {name}.deo beside this one, and none in the standard library"),
        );
        if let Some(help) = replacement(Role::Module, name) {
            d = d.help(format!("leave the line out: {help}"));
        } else if let Some(hint) = hint {
            d = d.help(Help::did_you_mean(hint));
        }
        self.db.report(d);
        None
    }

    /// The module that an import names, unless that one is being loaded: then it is among those that need the import.
    fn no_circle(&mut self, from: ModuleId, import: &ast::Import) -> Option<ModuleId> {
        if !self.loading.contains(&from) {
            return Some(from);
        }
        let (name, span) = (&import.module.name, import.module.span);
        let message = match self.loading.last() == Some(&from) {
            true => format!("the module `{name}` imports itself"),
            false => format!("the module `{name}` imports this one, directly or through others"),
        };
        let help = match self.loading.last() == Some(&from) {
            true => "leave this line out: definitions of a file need no import in it",
            false => "move what both need into a third module",
        };
        self.db.report(Diagnostic::error("import-cycle", span, message).help(help));
        None
    }

    /// Checks everything loaded so far: names, types and patterns.
    pub fn check(&mut self) {
        self.check_modules();
        self.check_rules();
    }

    /// Has all definitions of a module be checked.
    fn check_whole(&mut self, module: ModuleId) {
        if self.whole.insert(module) {
            self.unchecked.push(module);
        }
    }

    fn check_modules(&mut self) {
        let new = std::mem::take(&mut self.unchecked);
        // Names that a module imports are shown with their types, used or not.
        let roots: Vec<DefId> = new
            .iter()
            .map(|id| self.db.module(*id))
            .flat_map(|m| m.defs.iter().chain(m.scope.values.values().map(|(def, _)| def)))
            .copied()
            .collect();
        resolve::resolve(&mut self.db, roots);
        infer::infer(&mut self.db);
        if !self.has_errors() {
            new.iter().for_each(|id| exhaustive::check(&mut self.db, *id));
        }
        self.silence();
    }

    /// Where an item could not be read, what else is wrong in it follows from that: messages about such
    /// items are dropped.
    fn silence(&mut self) {
        if self.syntax.is_empty() {
            return;
        }
        let mut broken: Vec<Span> = Vec::new();
        for module in &self.db.modules {
            let spans: Vec<Span> = module
                .ast
                .items
                .iter()
                .map(|item| match item {
                    Item::Import(import) => import.span,
                    Item::Type(ty) => ty.span,
                    Item::Def(def) => def.span,
                })
                .collect();
            for (i, span) in spans.iter().enumerate() {
                // Up to the next item: an error may stand behind what could be read.
                let end = spans.get(i + 1).map_or(u32::MAX, |next| next.start);
                let hit = |s: Span| s.file == span.file && span.start <= s.start && s.start < end;
                if self.syntax.iter().any(|d| hit(d.primary.span)) {
                    broken.push(Span { end, ..*span });
                }
            }
        }
        let syntax = &self.syntax;
        self.db.diagnostics.retain(|d| {
            let at = d.primary.span;
            let inside = |b: &Span| b.file == at.file && b.start <= at.start && at.start < b.end;
            syntax.contains(d) || !broken.iter().any(inside)
        });
    }

    /// Whether there are errors.
    pub fn has_errors(&self) -> bool {
        self.db.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The messages so far, in order of place.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut all = self.db.diagnostics.clone();
        all.sort_by_key(|d| (d.primary.span.file, d.primary.span.start, d.primary.span.end));
        all.dedup();
        all
    }

    /// Takes the messages so far.
    pub fn take_diagnostics(&mut self) -> Vec<Diagnostic> {
        let all = self.diagnostics();
        self.db.diagnostics.clear();
        all
    }

    /// The sources of all that was loaded.
    pub fn sources(&self) -> &SourceMap {
        &self.db.sources
    }

    /// An entry point of a module that has no errors: a constant or a function of a record or `()`.
    /// What is wrong with it goes to [`Session::diagnostics`].
    pub fn entry(&mut self, module: ModuleId, name: &str) -> Option<Entry> {
        if self.has_errors() {
            return None;
        }
        let Some(def) = self.definition(module, name) else {
            let values = &self.db.module(module).scope.values;
            let model = ["parameters", "log_density"].iter().all(|name| values.contains_key(*name));
            if let Some(d) = self.db.diagnostics.last_mut().filter(|_| name == "main") {
                if model {
                    let text =
                        "it is a model: `diffeo sample` draws from its posterior distribution";
                    d.help = Some(text.into());
                    return None;
                }
                let other = "another one is named with `--entry NAME`";
                d.help = Some(match d.help.take() {
                    Some(known) => known.text("; ").text(other),
                    None => other.into(),
                });
            }
            return None;
        };
        let info = self.db.def(def);
        let (span, name) = (info.span, info.name.clone());
        let scheme = info.scheme.clone()?;
        let (from, to) = match self.db.store.shallow(&scheme.ty) {
            Inferred::Fun(f) => (Some(f.0.clone()), f.1.clone()),
            ty => (None, ty),
        };
        let mut printer = TypePrinter::new(&self.db);
        let function_in = from.as_ref().is_some_and(|t| self.holds_function(t));
        if function_in || self.holds_function(&to) {
            let (what, ty) = match (function_in, &from) {
                (true, Some(from)) => ("takes", printer.ty(from)),
                _ => ("returns", printer.ty(&to)),
            };
            let message = if name == "it" {
                format!(
                    "the value {} a function, in {ty}",
                    if what == "takes" { what } else { "is or holds" }
                )
            } else {
                format!("`{name}` cannot be run: it {what} a function, in {ty}")
            };
            let d = Diagnostic::error("entry-type", span, message)
                .help("an entry point takes and returns data: apply the function first");
            self.db.report(d);
            return None;
        }
        if let Some(from) = from.as_ref().filter(|t| self.holds_variable(t)) {
            let ty = printer.ty(from);
            let d = Diagnostic::error(
                "entry-type",
                span,
                format!(
                    "`{name}` cannot be run: nothing determines all of its parameter's type, {ty}"
                ),
            )
            .help("annotate the parameters: `def main({x}: {x: Real}) = …`");
            self.db.report(d);
            return None;
        }
        match from.as_ref().map(|t| (t, self.db.store.shallow(t))) {
            None | Some((_, Inferred::Record(_) | Inferred::Unit)) => {}
            Some((from, _)) => {
                let text = printer.ty(from);
                let ty = TypePrinter::new(&self.db).ty(&scheme.ty);
                let at = self.db.def_span(def);
                let d = if name == "it" {
                    let message = format!("the value is a function, of type {ty}");
                    Diagnostic::error("entry-type", at, message).help("apply it to see a value")
                } else if self.db.is_constant(def) {
                    let message = format!("the value of `{name}` is a function, of type {ty}");
                    Diagnostic::error("entry-type", at, message)
                        .help("an entry point gives data: apply the function")
                } else {
                    let message = format!("`{name}` cannot be run: it takes {text}, but an entry point takes a record of parameters, or nothing");
                    Diagnostic::error("entry-type", span, message).help(
                        "take the parameters as a record, `def main({x}: {x: Real}) = …`, and give `--arg x=…`",
                    )
                };
                self.db.report(d);
                return None;
            }
        }
        let (program, global) = self.elaborated(def)?;
        self.entry_of(def, Rc::new(program), global)
    }

    /// An elaborated definition with its interface.
    fn entry_of(&self, def: DefId, program: Rc<Program>, global: GlobalId) -> Option<Entry> {
        let info = self.db.def(def);
        let (span, name) = (info.span, info.name.clone());
        let ty = program.globals[global.0 as usize].ty.clone();
        let interface = Rc::new(self.interface(def, &ty, &program)?);
        Some(Entry { program, global, ty, name, span, interface })
    }

    /// Several entry points of a module, as [`Session::entry`] has them, in one program: a constant that several of them
    /// need is evaluated once. Those that are none are left out; what is wrong goes to [`Session::diagnostics`].
    pub fn entries(&mut self, module: ModuleId, names: &[Name]) -> Vec<Entry> {
        let (mut entries, mut said) = (Vec::new(), self.take_diagnostics());
        for name in names {
            entries.extend(self.entry(module, name));
            said.extend(self.take_diagnostics());
        }
        self.db.diagnostics = said;
        let scope = &self.db.module(module).scope.values;
        let defs: Vec<DefId> =
            entries.iter().filter_map(|e| scope.get(&e.name)).map(|(def, _)| *def).collect();
        let wanted: Vec<_> = defs.iter().map(|def| (*def, self.open(*def))).collect();
        let Some((program, ids)) = self.elaborated_all(&wanted) else { return Vec::new() };
        let program = Rc::new(program);
        let entry = |(def, id): (DefId, GlobalId)| self.entry_of(def, program.clone(), id);
        defs.into_iter().zip(ids).filter_map(entry).collect()
    }

    /// A definition of a type without variables, elaborated; what is wrong with it goes to
    /// [`Session::diagnostics`].
    pub fn callable(&mut self, module: ModuleId, name: &str) -> Option<Entry> {
        let def = self.definition(module, name)?;
        let info = self.db.def(def);
        let (span, scheme) = (info.span, info.scheme.clone()?);
        if self.holds_variable(&scheme.ty) {
            let ty = TypePrinter::new(&self.db).ty(&scheme.ty);
            let message = format!("nothing determines all of the type of `{name}`, {ty}");
            let d = Diagnostic::error("entry-type", span, message).help("annotate the parameters");
            self.db.report(d);
            return None;
        }
        self.function(module, name)
    }

    /// Any definition, elaborated: for calling a function with values from outside. What its type leaves
    /// open is taken to be `()`.
    pub fn function(&mut self, module: ModuleId, name: &str) -> Option<Entry> {
        if self.has_errors() {
            return None;
        }
        let def = self.definition(module, name)?;
        let (program, global) = self.elaborated(def)?;
        self.entry_of(def, Rc::new(program), global)
    }

    /// The Core of a definition, unless it is too large, which goes to the messages.
    fn elaborated(&mut self, def: DefId) -> Option<(Program, GlobalId)> {
        let (program, ids) = self.elaborated_all(&[(def, self.open(def))])?;
        Some((program, ids[0]))
    }

    /// The types for what the type of a definition leaves open.
    fn open(&self, def: DefId) -> Vec<Inferred> {
        let count = self.db.def(def).scheme.as_ref().map_or(0, |s| s.vars.len());
        vec![Inferred::Unit; count]
    }

    /// The same for several definitions, each at types for what its scheme quantifies.
    fn elaborated_all(
        &mut self,
        wanted: &[(DefId, Vec<Inferred>)],
    ) -> Option<(Program, Vec<GlobalId>)> {
        match elaborate::elaborate(&self.db, wanted) {
            Ok(done) => {
                lint(&done.0);
                Some(done)
            }
            Err(why) => {
                self.db.report(*why);
                None
            }
        }
    }

    fn holds_variable(&self, ty: &Inferred) -> bool {
        let mut walk = Walk::of(ty);
        std::iter::from_fn(|| walk.next(&self.db.store)).any(|ty| matches!(ty, Inferred::Var(_)))
    }

    fn holds_function(&self, ty: &Inferred) -> bool {
        let store = &self.db.store;
        let mut walk = Walk::of(ty);
        std::iter::from_fn(|| walk.next(store)).any(|ty| match ty {
            Inferred::Fun(_) => true,
            Inferred::Data(d, _) => store.data_has_function[d.0 as usize],
            _ => false,
        })
    }

    fn definition(&mut self, module: ModuleId, name: &str) -> Option<DefId> {
        let m = self.db.module(module);
        if let Some((id, _)) = m.scope.values.get(name) {
            return Some(*id);
        }
        let file = self.db.sources.name(m.file).to_string();
        let mut names: Vec<&str> = m.scope.values.keys().map(Name::as_str).collect();
        names.sort_unstable();
        let hint = closest(name, names.iter().copied()).map(str::to_string);
        let mut d = Diagnostic::error(
            "unknown-entry",
            Span::NONE,
            format!("there is no definition `{name}` in {file}"),
        );
        d = match hint {
            Some(hint) => d.help(Help::did_you_mean(hint)),
            None if names.is_empty() => d.help(format!("define it: `def {name} = …`")),
            None => {
                let some: Vec<String> = names.iter().take(8).map(|n| format!("`{n}`")).collect();
                let more = if names.len() > some.len() { ", …" } else { "" };
                d.help(format!("the file defines {}{more}", some.join(", ")))
            }
        };
        self.db.report(d);
        None
    }

    /// Whether a definition is there and no function.
    pub fn is_constant(&self, module: ModuleId, name: &str) -> bool {
        let def = self.db.module(module).scope.values.get(name).map(|(id, _)| self.db.def(*id));
        let ty = def.and_then(|def| def.scheme.as_ref()).map(|s| self.db.store.shallow(&s.ty));
        ty.is_some_and(|ty| !matches!(ty, Inferred::Fun(_)))
    }

    /// The names of a module's own definitions.
    pub fn definitions(&self, module: ModuleId) -> Vec<Name> {
        self.db.module(module).defs.iter().map(|d| self.db.def(*d).name.clone()).collect()
    }

    /// The doc comments of a module's definitions: name and lines.
    pub fn documentation(&self, module: ModuleId) -> Vec<(Name, Vec<Name>)> {
        let items = &self.db.module(module).ast.items;
        items
            .iter()
            .filter_map(|item| match item {
                Item::Def(def) => Some((def.name.name.clone(), def.doc.clone())),
                Item::Type(ty) => Some((ty.name.name.clone(), ty.doc.clone())),
                Item::Import(_) => None,
            })
            .collect()
    }

    /// The lines of the source on which those of the doc comments are, of each definition of
    /// [`Session::documentation`]; from 0.
    pub fn documentation_lines(&self, module: ModuleId) -> Vec<Vec<usize>> {
        let m = self.db.module(module);
        let sources = &self.db.sources;
        let lines: Vec<&str> = sources.text(m.file).lines().collect();
        let above = |span: Span| {
            let before =
                lines.iter().enumerate().take(sources.line_index(m.file, span.start as usize));
            let blank = |line: &str| line.is_empty() || line.starts_with('#');
            let block = before.rev().take_while(|(_, line)| blank(line.trim_start()));
            let is_doc = |line: &str| line.starts_with("##") && !line.starts_with("###");
            let docs = block.filter(|(_, line)| is_doc(line.trim_start())).map(|(i, _)| i);
            let mut found: Vec<usize> = docs.collect();
            found.reverse();
            found
        };
        let items = m.ast.items.iter().filter_map(|item| match item {
            Item::Def(def) => Some(above(def.span)),
            Item::Type(ty) => Some(above(ty.span)),
            Item::Import(_) => None,
        });
        items.collect()
    }

    /// The variant types that a module declares, and behind them those that it imports or whose modules it imports: each
    /// with the names and numbers of fields of its constructors.
    pub fn variants(&self, module: ModuleId) -> Vec<(Name, Vec<(Name, usize)>)> {
        let scope = &self.db.module(module).scope;
        let named = |data: &DataInfo| match scope.types.get(&data.name) {
            Some((TypeRef::Data(index), _)) => self.db.data(*index).module == data.module,
            _ => false,
        };
        let (own, others): (Vec<_>, Vec<_>) =
            self.db.datas.iter().partition(|data| data.module == module);
        let imported = others
            .into_iter()
            .filter(|data| scope.modules.values().any(|m| *m == data.module) || named(data));
        let all = own.into_iter().chain(imported);
        all.map(|data| {
            let constructors = data.constructors.iter();
            (data.name.clone(), constructors.map(|c| (c.name.clone(), c.fields.len())).collect())
        })
        .collect()
    }

    /// The module of the standard library with this name, to be checked whole: all its definitions have types then.
    pub fn library_module(&mut self, name: &str) -> Option<ModuleId> {
        let module = self.library(&Name::new(name))?;
        self.check_whole(module);
        Some(module)
    }
}

/// In debug builds, stops at a program that elaboration should not have made.
fn lint(program: &Program) {
    if cfg!(debug_assertions) {
        let violations = diffeo_calculus::lint::lint(program);
        assert!(
            violations.is_empty(),
            "elaboration made a Core program that does not lint:\n{}\n{}",
            violations.join("\n"),
            diffeo_calculus::print::print(program)
        );
    }
}

/// Whether the file that a path leads to is not within the path's folder.
fn leads_out(path: &Path, file: &Path) -> bool {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    folder.canonicalize().is_ok_and(|folder| !file.starts_with(folder))
}
