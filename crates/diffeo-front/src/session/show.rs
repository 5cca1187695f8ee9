//! What a program becomes within the front end, as text: its tree, its types, Core.

use super::Session;
use crate::db::ModuleId;
use crate::display;

impl Session {
    /// The syntax tree as text.
    pub fn show_ast(&self, module: ModuleId) -> String {
        diffeo_syntax::print(&self.db.module(module).ast)
    }

    /// The types of a module's definitions, one a line; of one of them if named.
    pub fn show_types(&mut self, module: ModuleId, name: Option<&str>) -> String {
        let mut out = String::new();
        if name.is_some_and(|n| self.definition(module, n).is_none()) {
            return out;
        }
        for id in &self.db.module(module).defs {
            let def = self.db.def(*id);
            if name.is_some_and(|n| def.name != n) {
                continue;
            }
            if let Some(scheme) = &def.scheme {
                out.push_str(&format!("{} : {}\n", def.name, display::scheme(&self.db, scheme)));
            }
        }
        out
    }

    /// The Core program that a definition needs, as text; of `main` if none is named.
    pub fn show_core(&mut self, module: ModuleId, name: Option<&str>) -> Option<String> {
        if self.has_errors() {
            return None;
        }
        let def = self.definition(module, name.unwrap_or("main"))?;
        let (program, _) = self.elaborated(def)?;
        Some(diffeo_calculus::print::print(&program))
    }
}
