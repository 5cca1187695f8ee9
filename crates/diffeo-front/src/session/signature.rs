//! Definitions as other languages see them: their types with sizes, what their parameters are called, what they say.

use super::Session;
use crate::db::ModuleId;
use crate::display::{self, TypePrinter};
use crate::types::Ty;
use diffeo_base::Name;
use diffeo_syntax::ast::{Item, Module, PatId, PatKind};

/// The sizes of an array, the outermost first: a number, a name, or nothing where it is not known.
pub type SizeNames = Vec<String>;

/// A definition as other languages see it.
#[derive(Clone, Default, Debug)]
pub struct Signature {
    /// Its type, as the user writes it.
    pub ty: String,
    /// The lines of its `##` comment.
    pub doc: Vec<Name>,
    /// What each parameter is called; none where it is taken apart.
    pub parameters: Vec<Option<Name>>,
    /// The sizes of each number, truth value and text that it takes, in the order of the type.
    pub takes: Vec<SizeNames>,
    /// The same for what it gives.
    pub gives: Vec<SizeNames>,
}

impl Session {
    /// The signature of a definition, if it has a type.
    pub fn signature(&self, module: ModuleId, name: &str) -> Option<Signature> {
        let (id, _) = self.db.module(module).scope.values.get(name)?;
        let info = self.db.def(*id);
        let scheme = info.scheme.as_ref()?;
        let home = &self.db.module(info.module).ast;
        let (doc, parameters) = match home.items.get(info.item) {
            Some(Item::Def(def)) => (def.doc.clone(), def.param.map(|p| parameters(home, p))),
            _ => (Vec::new(), None),
        };
        let mut found = Signature {
            ty: display::scheme(&self.db, scheme),
            doc,
            parameters: parameters.unwrap_or_default(),
            ..Signature::default()
        };
        let mut printer = TypePrinter::new(&self.db);
        let mut within = Vec::new();
        match self.db.store.shallow(&scheme.ty) {
            Ty::Fun(sides) => {
                self.leaves(&sides.0, &mut printer, &mut within, &mut found.takes);
                self.leaves(&sides.1, &mut printer, &mut within, &mut found.gives);
            }
            ty => self.leaves(&ty, &mut printer, &mut within, &mut found.gives),
        }
        Some(found)
    }

    /// The sizes of each leaf of a type that is within arrays of such sizes.
    fn leaves(
        &self,
        ty: &Ty,
        printer: &mut TypePrinter<'_>,
        within: &mut SizeNames,
        out: &mut Vec<SizeNames>,
    ) {
        match self.db.store.shallow(ty) {
            Ty::Unit if within.is_empty() => {}
            Ty::Tuple(parts) => {
                parts.iter().for_each(|part| self.leaves(part, printer, within, out));
            }
            Ty::Record(fields) => {
                fields.iter().for_each(|(_, part)| self.leaves(part, printer, within, out));
            }
            Ty::Array(size, element) => {
                within.push(printer.size(size));
                self.leaves(&element, printer, within, out);
                within.pop();
            }
            Ty::Error
            | Ty::Var(_)
            | Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Data(..)
            | Ty::Fun(_)
            | Ty::Param(_) => out.push(within.clone()),
        }
    }
}

/// What the parameters are called.
fn parameters(module: &Module, pattern: PatId) -> Vec<Option<Name>> {
    match &module.pats[pattern].kind {
        PatKind::Tuple(parts) => parts.iter().map(|part| name(module, *part)).collect(),
        PatKind::Unit => Vec::new(),
        _ => vec![name(module, pattern)],
    }
}

fn name(module: &Module, pattern: PatId) -> Option<Name> {
    match &module.pats[pattern].kind {
        PatKind::Var(name) => Some(name.clone()),
        PatKind::Annot(pattern, _) => name(module, *pattern),
        _ => None,
    }
}
