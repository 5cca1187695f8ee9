//! Help for names that mean nothing: words of other languages, modules to import, names that are nearly this one.

use super::Resolver;
use crate::infer::MOST_FIELDS;
use crate::library;
use diffeo_base::foreign::{density, replacement, Role};
use diffeo_base::{field_name, Diagnostic, Help, Name, Span};
use diffeo_syntax::ast::{Ident, Item, PatKind, TypeBody, TypeKind};

/// A name as a message shows it.
pub(super) fn short(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    }
}

/// A constructor that there is not.
pub(super) fn no_constructor(name: &Ident) -> Diagnostic {
    let message = format!("there is no constructor `{}` here", short(&name.name));
    Diagnostic::error("unknown-constructor", name.span, message)
}

/// The rule for the names of variables, with this name as it would be.
pub(super) fn lower_case(name: &str) -> String {
    let rule = "variables start with a lower-case letter";
    let shouted = !name.contains(char::is_lowercase);
    let mut letters = name.chars();
    let lower = match letters.next() {
        Some(first) if !shouted => first.to_lowercase().chain(letters).collect(),
        Some(_) | None => name.to_lowercase(),
    };
    match diffeo_syntax::is_keyword(&lower) || name.len() > 30 {
        true => rule.to_string(),
        false => format!("{rule}: `{lower}`"),
    }
}

impl Resolver<'_> {
    /// What may have been meant by a name that means nothing.
    pub(super) fn meant(&self, name: &str, span: Span) -> Option<Help> {
        let defined = self
            .defining
            .iter()
            .rev()
            .find(|(pat, _)| matches!(&self.ast.pats[*pat].kind, PatKind::Var(n) if n == name));
        if let Some((_, is_function)) = defined {
            let text = match is_function {
                true => format!(
                    "a local function that calls itself is defined by `let rec {name}(…) = …`"
                ),
                false => format!("`{name}` has no value before this `let` is complete"),
            };
            return Some(text.into());
        }
        if let Some((fun, of)) = self.differentiated.filter(|_| name.len() == 1) {
            let [fun, of] = [fun, of].map(|e| self.db.sources.slice(self.ast.exprs[e].span));
            if of.len() < 40 && !of.contains('\n') {
                let text = format!("`{fun}` takes a function: write `{fun}(fn {name} -> {of})`");
                return Some(text.into());
            }
        }
        let foreign = [Role::Value, Role::Word, Role::Infix, Role::Module]
            .iter()
            .find_map(|r| replacement(*r, name));
        if let Some(help) = foreign {
            return Some(help.into());
        }
        if self.db.sources.before_on_line(span).contains("--") {
            return replacement(Role::Sign, "--").map(Help::from);
        }
        let unprimed = name.trim_end_matches('\'');
        if unprimed != name && (self.local(unprimed).is_some() || self.global(unprimed).is_some()) {
            let text = format!(
                "a `'` is a part of the name: the derivative is `grad({unprimed})`, the transpose `transpose({unprimed})`"
            );
            return Some(text.into());
        }
        let of_stats = density(name).filter(|found| library::import_of(found).is_some());
        if let Some(found) = of_stats {
            let text =
                format!("it is `stats.{found}`: put `import stats` at the start of the file");
            return Some(Help::import("import stats", text));
        }
        library::import_of(name)
            .or_else(|| self.suggest(name).map(Help::did_you_mean))
            .or_else(|| library::nearly(name))
    }

    fn suggest(&self, name: &str) -> Option<String> {
        let module = self.db.module(self.module);
        let locals = self.locals.iter().filter(|(_, s)| !s.is_empty()).map(|(n, _)| n.as_str());
        let own = module.scope.values.keys().map(Name::as_str);
        let prelude = self.db.prelude.map(|p| &self.db.module(p).scope.values);
        let prelude = prelude.into_iter().flat_map(|v| v.keys().map(Name::as_str));
        self.db.closest(name, locals.chain(own).chain(prelude))
    }

    /// The imported module, or else that of the library, whose name is nearly this one.
    pub(super) fn near_module(&self, name: &str) -> Option<Help> {
        let imported = self.db.module(self.module).scope.modules.keys().map(Name::as_str);
        if let Some(found) = self.db.closest(name, imported) {
            return Some(Help::did_you_mean(found));
        }
        let found = self.db.closest(name, library::MODULES.iter().map(|(module, _)| *module))?;
        let line = format!("import {found}");
        let text = format!("did you mean `{found}`? Add `{line}`");
        Some(Help::import(line, text))
    }

    /// Suggests what to write for the name of a constructor that does not exist.
    pub(super) fn meant_constructor(&self, name: &str) -> Option<Help> {
        let module = self.db.module(self.module);
        if matches!(name, "Real" | "Int" | "Bool" | "String") {
            return Some(
                format!("`{name}` is a type: a pattern with one is written `(x: {name})`").into(),
            );
        }
        if module.scope.types.contains_key(name) {
            return Some(match self.record_type(name) {
                Some(fields) => {
                    format!("`{name}` is a type of records: one is written `{{{fields}}}`").into()
                }
                None => format!("`{name}` is a type; a value is made with one of its constructors")
                    .into(),
            });
        }
        if let Some(help) = replacement(Role::Constructor, name) {
            return Some(help.into());
        }
        let scopes = [Some(module), self.db.prelude.map(|p| self.db.module(p))];
        let names = scopes.into_iter().flatten();
        let names = names.flat_map(|module| module.scope.constructors.keys().map(Name::as_str));
        library::import_of(name).or_else(|| self.db.closest(name, names).map(Help::did_you_mean))
    }

    /// The fields of a record as it is written, if this is the name of a type of such in this file.
    fn record_type(&self, name: &str) -> Option<String> {
        let types = self.ast.items.iter().filter_map(|item| match item {
            Item::Type(ty) => Some(ty),
            Item::Def(_) | Item::Import(_) => None,
        });
        let ty = types.into_iter().find(|ty| ty.name.name == name)?;
        let TypeBody::Alias(body) = ty.body else { return None };
        let TypeKind::Record(fields) = &self.ast.types[body].kind else { return None };
        let shown = fields.iter().map(|(field, _)| format!("{} = …", field_name(&field.name)));
        let mut shown: Vec<String> = shown.collect();
        if shown.len() > MOST_FIELDS {
            shown.truncate(MOST_FIELDS);
            shown.push("…".to_string());
        }
        Some(shown.join(", "))
    }
}
