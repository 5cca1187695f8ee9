//! Interfaces of definitions, from the types that inference found.

use super::Session;
use crate::db::DefId;
use crate::display::{self, TypePrinter};
use crate::interface::{Interface, Type, Variant};
use crate::types::{FieldOrder, Fields, Made, Ty as Inferred};
use diffeo_base::{deep, Name, Span};
use diffeo_calculus::{Program, Ty};
use diffeo_syntax::ast::{Item, Module, PatId, PatKind};
use std::sync::Arc;

/// The types so far, with the printer that names their sizes.
struct Making<'s> {
    printer: TypePrinter<'s>,
    program: &'s Program,
    made: Made<Type>,
}

impl Session {
    /// The interface of a definition that has a type, and has been elaborated to this one.
    pub(super) fn interface(&self, def: DefId, core: &Ty, program: &Program) -> Option<Interface> {
        let info = self.db.def(def);
        let scheme = info.scheme.as_ref()?;
        let home = &self.db.module(info.module).ast;
        let (doc, parameters, result) = match home.items.get(info.item) {
            Some(Item::Def(def)) => {
                let written = def.ret.map_or(Span::NONE, |ty| home.types[ty].span);
                (def.doc.clone(), def.param.map(|p| parameters(home, p)), written)
            }
            _ => (Vec::new(), None, Span::NONE),
        };
        let mut printer = TypePrinter::new(&self.db);
        let mut text = |ty: &Inferred| printer.ty(ty);
        let (parameter, fields) = match self.db.store.shallow(&scheme.ty) {
            Inferred::Fun(sides) => {
                let fields = match self.db.store.shallow(&sides.0) {
                    Inferred::Record(fs) => fs.iter().map(|(n, t)| (n.clone(), text(t))).collect(),
                    _ => Vec::new(),
                };
                (Some(text(&sides.0)), fields)
            }
            _ => (None, Vec::new()),
        };
        let printer = TypePrinter::new(&self.db);
        let mut making = Making { printer, program, made: Made::default() };
        Some(Interface {
            doc,
            parameters: parameters.unwrap_or_default(),
            ty: self.described(&scheme.ty, core, &mut making),
            text: display::scheme(&self.db, scheme),
            parameter,
            fields,
            result,
        })
    }

    /// A type as hosts see it, from the one that inference found and the one of Core that became of it.
    fn described(&self, ty: &Inferred, core: &Ty, making: &mut Making<'_>) -> Type {
        let ty = self.db.store.shallow(ty);
        if let Some(made) = making.made.get(&ty) {
            return made;
        }
        let described = deep(|| match (&ty, core) {
            (Inferred::Tuple(ts), Ty::Tuple(cs)) => Type::Tuple(self.all_described(ts, cs, making)),
            (Inferred::Record(fs), Ty::Record(cs)) => {
                let pairs = fs.iter().zip(cs.iter());
                let types = pairs.map(|((_, t), (_, c))| self.described(t, c, making)).collect();
                Type::Record(Arc::new(self.ordered(fs).with_types(types)))
            }
            (Inferred::Array(size, t), Ty::Array(c)) => {
                let size = Name::from(making.printer.size(*size));
                Type::Array(size, Arc::new(self.described(t, c, making)))
            }
            (Inferred::Data(_, ts), Ty::Data(id, cs)) => {
                let variant = Variant::new(*id, &making.program.datas);
                Type::Variant(variant, self.all_described(ts, cs, making))
            }
            (Inferred::Fun(f), Ty::Fun(c)) => {
                let from = self.described(&f.0, &c.0, making);
                Type::Function(Arc::new((from, self.described(&f.1, &c.1, making))))
            }
            _ => Type::of_core(core, &making.program.datas),
        });
        making.made.put(&ty, &described);
        described
    }

    fn all_described(
        &self,
        types: &[Inferred],
        cores: &[Ty],
        making: &mut Making<'_>,
    ) -> Arc<[Type]> {
        types.iter().zip(cores).map(|(t, c)| self.described(t, c, making)).collect()
    }

    /// The fields in the order of a type. Where a record itself gave the order, the types with a name that have these fields
    /// come first, if they agree.
    fn ordered(&self, fields: &Fields<Inferred>) -> Fields<Inferred> {
        let same = |other: &Fields<Inferred>| {
            other.len() == fields.len() && other.iter().zip(fields.iter()).all(|(a, b)| a.0 == b.0)
        };
        let mut declared = self.db.aliases.iter().filter_map(|alias| match &alias.ty {
            Some(Inferred::Record(declared)) if same(declared) => Some(declared),
            _ => None,
        });
        let types = || fields.iter().map(|(_, ty)| ty.clone()).collect();
        match (fields.from(), declared.next()) {
            (FieldOrder::Value, Some(first))
                if declared.all(|other| other.is_ordered_as(first)) =>
            {
                first.with_types(types())
            }
            (FieldOrder::Value | FieldOrder::Type, _) => fields.clone(),
        }
    }
}

/// The names of the parameters.
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
