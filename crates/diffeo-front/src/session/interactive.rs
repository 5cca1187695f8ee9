//! Modules that are written piece by piece: expressions and definitions in the scope of earlier ones.

use crate::db::ModuleId;
use crate::display::scheme;
use crate::types::Ty as Inferred;
use crate::{library, Session};
use diffeo_base::{FileId, Name};
use diffeo_syntax::ast::Item;
use std::path::PathBuf;

impl Session {
    /// A module that defines `it` as an expression, in the scope of another module's definitions. Modules of the
    /// library need no import.
    pub fn expression(&mut self, context: Option<ModuleId>, text: &str) -> Option<ModuleId> {
        self.expression_with(context, text, &[])
    }

    /// As [`Session::expression`], where modules of the library have other names, too: pairs of name and module.
    pub fn expression_with(
        &mut self,
        context: Option<ModuleId>,
        text: &str,
        modules: &[(&str, &str)],
    ) -> Option<ModuleId> {
        let modules: Vec<(Name, ModuleId)> = modules
            .iter()
            .filter_map(|(name, module)| {
                Some((Name::from(*name), self.library(&Name::from(*module))?))
            })
            .collect();
        let file = self.db.sources.add("<expression>", text);
        self.expression_in(context, (file, text), text, modules)
    }

    /// A module that defines the names that a `let` without `in` binds.
    pub fn bindings(
        &mut self,
        context: Option<ModuleId>,
        text: &str,
        names: &[String],
    ) -> Option<ModuleId> {
        let values = self.expression(context, &format!("{text}\nin ({})", names.join(", ")))?;
        let definitions = names.iter().enumerate().map(|(i, name)| match names.len() {
            1 => format!("def {name} = it\n"),
            _ => format!("def {name} = it.{i}\n"),
        });
        let id = self.definitions_in(Some(values), None, &definitions.collect::<String>())?;
        // `it` stays what it was.
        let it = context.and_then(|it| self.db.module(it).scope.values.get("it").copied());
        let scope = &mut self.db.module_mut(id).scope.values;
        if !names.iter().any(|name| name == "it") {
            match it {
                Some(it) => drop(scope.insert(Name::new("it"), it)),
                None => drop(scope.remove("it")),
            }
        }
        Some(id)
    }

    /// As [`Session::expression`], of an expression that stands in the module's text: on this line, from 0, behind
    /// the sign of an example.
    pub fn example(&mut self, module: ModuleId, line: usize) -> Option<ModuleId> {
        let file = self.db.module(module).file;
        let whole = self.db.sources.text(file).to_string();
        let range = self.db.sources.line_range(file, line)?;
        let at = range.start + whole.get(range.clone())?.find("> ")? + "> ".len();
        let text = whole.get(at..range.end)?.trim_end();
        // Places are those of the file: what stands before the expression is blank.
        let blank = whole.bytes().take(at).map(|b| if b == b'\n' { '\n' } else { ' ' });
        let blank = blank.collect::<String>() + text;
        let name = self.db.sources.name(file).to_string();
        let copy = self.db.sources.add(name, whole.clone());
        self.expression_in(Some(module), (copy, &blank), text, vec![])
    }

    /// A module that defines `it` as the expression that these are the file and the text of.
    fn expression_in(
        &mut self,
        context: Option<ModuleId>,
        (file, parsed): (FileId, &str),
        text: &str,
        modules: Vec<(Name, ModuleId)>,
    ) -> Option<ModuleId> {
        let (ast, diagnostics) = diffeo_syntax::parse_expression(file, parsed);
        self.syntax.extend(diagnostics.iter().filter(|d| d.is_error()).cloned());
        self.db.diagnostics.extend(diagnostics);
        let id = self.add_module("<expression>", file, ast, None, false);
        // In the expression, `it` is that of the scope.
        let of = |session: &Session, module: ModuleId| {
            session.db.module(module).scope.values.get("it").copied()
        };
        let own = of(self, id);
        let earlier = context.and_then(|context| of(self, context));
        let values = &mut self.db.module_mut(id).scope.values;
        match earlier {
            Some(earlier) => drop(values.insert(Name::new("it"), earlier)),
            None => drop(values.remove("it")),
        }
        self.db.module_mut(id).scope.modules.extend(modules);
        let checked = self.adopt(id, context, text);
        if let Some(own) = own {
            self.db.module_mut(id).scope.values.insert(Name::new("it"), own);
        }
        checked
    }

    /// Loads and checks whole modules of the library that a text imports, once for all copies made afterwards. Imports
    /// are found by their lines: the text may be wrong anywhere else.
    pub fn preload(&mut self, text: &str) {
        for rest in text.lines().filter_map(|line| line.strip_prefix("import ")) {
            let name = rest.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next();
            self.library_module(name.unwrap_or_default());
        }
        if !self.unchecked.is_empty() {
            self.check();
        }
    }

    /// A module of definitions in the scope of another module's, which they may hide. It imports modules beside this
    /// file, which need not be there.
    pub fn definitions_in(
        &mut self,
        context: Option<ModuleId>,
        place: Option<PathBuf>,
        text: &str,
    ) -> Option<ModuleId> {
        let id = self.module("<input>", "<input>", text.to_string(), place, false);
        self.adopt(id, context, text)
    }

    /// Adds the names of another module to those of a new one, and checks it; none if there are errors.
    fn adopt(&mut self, id: ModuleId, context: Option<ModuleId>, text: &str) -> Option<ModuleId> {
        if let Some(context) = context {
            let from = self.db.module(context).scope.clone();
            let scope = &mut self.db.module_mut(id).scope;
            for (name, entry) in from.values {
                scope.values.entry(name).or_insert(entry);
            }
            for (name, entry) in from.types {
                scope.types.entry(name).or_insert(entry);
            }
            for (name, entry) in from.constructors {
                scope.constructors.entry(name).or_insert(entry);
            }
            for (name, module) in from.modules {
                scope.modules.entry(name).or_insert(module);
            }
        }
        for (name, _) in library::MODULES.iter().filter(|(name, _)| *name != "prelude") {
            let scope = &self.db.module(id).scope;
            let known = scope.modules.contains_key(*name) || scope.values.contains_key(*name);
            if !known && text.contains(&format!("{name}.")) {
                if let Some(module) = self.library(&Name::new(name)) {
                    let modules = &mut self.db.module_mut(id).scope.modules;
                    modules.insert(Name::new(name), module);
                }
            }
        }
        self.on_demand(id);
        self.check();
        (!self.has_errors()).then_some(id)
    }

    /// Adds the names that need no import and whose modules are read only where a program has them.
    pub(super) fn on_demand(&mut self, id: ModuleId) {
        for (from, names) in library::ON_DEMAND {
            for name in *names {
                let module = self.db.module(id);
                let text = self.db.sources.text(module.file);
                if module.scope.values.contains_key(*name) || !text.contains(name) {
                    continue;
                }
                let from = self.library(&Name::new(from));
                let found = from.and_then(|from| self.db.module(from).scope.values.get(*name));
                if let Some(found) = found.copied() {
                    self.db.module_mut(id).scope.values.insert(Name::new(name), found);
                }
            }
        }
    }

    /// A module with the names of one that is checked, and of another where it lacks them.
    pub fn joined(&mut self, module: ModuleId, other: Option<ModuleId>) -> Option<ModuleId> {
        let both = self.module("<input>", "<input>", String::new(), None, false);
        self.db.module_mut(both).scope = self.db.module(module).scope.clone();
        self.adopt(both, other, "")
    }

    /// The names of values, types, constructors and modules that an expression in the scope of a module may have.
    pub fn visible(&self, context: Option<ModuleId>) -> Vec<Name> {
        let scopes = context.into_iter().chain(self.db.prelude).map(|id| &self.db.module(id).scope);
        let names = scopes.flat_map(|scope| {
            let values = scope.values.keys().chain(scope.types.keys());
            values.chain(scope.constructors.keys()).chain(scope.modules.keys())
        });
        names.cloned().collect()
    }

    /// Has files be read again when they are loaded next.
    pub fn forget_files(&mut self) {
        self.by_path.clear();
    }

    /// The type of a definition, as the language writes it.
    pub fn type_of(&self, module: ModuleId, name: &str) -> Option<String> {
        let (id, _) = self.db.module(module).scope.values.get(name)?;
        Some(scheme(&self.db, self.db.def(*id).scheme.as_ref()?))
    }

    /// Whether a definition is a function of something, or holds functions: there is no value to print.
    pub fn is_function(&self, module: ModuleId, name: &str) -> bool {
        let Some((id, _)) = self.db.module(module).scope.values.get(name) else { return false };
        let Some(scheme) = &self.db.def(*id).scheme else { return false };
        match self.db.store.shallow(&scheme.ty) {
            Inferred::Fun(f) if matches!(self.db.store.shallow(&f.0), Inferred::Unit) => {
                self.holds_function(&f.1)
            }
            ty => self.holds_function(&ty),
        }
    }

    /// A definition as it is written, without its value: `dot(x: [n]Real, y: [n]Real) -> Real`; a type whole. In one line
    /// if that is short.
    pub fn written(&self, module: ModuleId, name: &str) -> Option<String> {
        let m = self.db.module(module);
        let text = self.db.sources.text(m.file);
        let written = m.ast.items.iter().find_map(|item| match item {
            Item::Def(def) if def.name.name == name => {
                let end = m.ast.exprs[def.body].span.start as usize;
                let head = text.get(def.name.span.start as usize..end)?;
                let lines: Vec<&str> = head.lines().map(before_comment).collect();
                let head = lines.join("\n");
                Some(head.trim_end().trim_end_matches('=').to_string())
            }
            Item::Type(ty) if ty.name.name == name => {
                text.get(ty.span.start as usize..ty.span.end as usize).map(str::to_string)
            }
            Item::Def(_) | Item::Type(_) | Item::Import(_) => None,
        })?;
        let line = written.split_whitespace().collect::<Vec<&str>>().join(" ");
        Some(if line.chars().count() > 98 { written } else { line })
    }
}

/// A line without its comment; names in quotes may hold its sign.
fn before_comment(line: &str) -> &str {
    let mut quoted = false;
    let comment = line.find(|c| {
        quoted ^= c == '"';
        c == '#' && !quoted
    });
    &line[..comment.unwrap_or(line.len())]
}
