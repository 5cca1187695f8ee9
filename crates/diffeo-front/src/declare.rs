//! The top level of a module: its types, constructors, definitions and imports.

use crate::db::{AliasInfo, ConstructorInfo, DataInfo, Db, DefInfo, ModuleId, TypeRef};
use crate::types::DataIdx;
use crate::{infer, library};
use diffeo_base::{Diagnostic, Help, Name, Span};
use diffeo_calculus::ty::WellKnown;
use diffeo_syntax::ast::{Import, Item, TypeBody, TypeDecl, TypeKind};

/// Declares the types, constructors and definitions of a module whose imports are loaded.
pub fn declare(db: &mut Db, module: ModuleId) {
    let ast = db.module(module).ast.clone();
    let mut datas = Vec::new();
    let mut seen = std::collections::HashMap::<Name, Span>::new();
    for item in &ast.items {
        let Item::Type(decl) = item else { continue };
        if let Some(first) = seen.insert(decl.name.name.clone(), decl.name.span) {
            duplicate(db, "type", &decl.name.name, decl.name.span, first);
            continue;
        }
        if ["Real", "Int", "Bool", "String"].contains(&decl.name.name.as_str()) {
            db.report(Diagnostic::error(
                "duplicate-definition",
                decl.name.span,
                format!("`{}` is a type of the language", decl.name.name),
            ));
            continue;
        }
        let params: Vec<Name> = decl.params.iter().map(|p| p.name.clone()).collect();
        for (i, p) in decl.params.iter().enumerate() {
            if decl.params[..i].iter().any(|q| q.name == p.name) {
                db.report(Diagnostic::error(
                    "duplicate-definition",
                    p.span,
                    format!("the type parameter `{}` is named twice", p.name),
                ));
            }
        }
        let name = decl.name.name.clone();
        let entry = match &decl.body {
            TypeBody::Variants(_) => {
                let d = new_data(db, module, decl, params);
                datas.push((d, decl.clone()));
                TypeRef::Data(d)
            }
            TypeBody::Alias(body) => {
                db.aliases.push(AliasInfo {
                    module,
                    name: name.clone(),
                    params,
                    body: *body,
                    ty: None,
                    expanding: false,
                });
                TypeRef::Alias(db.aliases.len() as u32 - 1)
            }
        };
        db.module_mut(module).scope.types.insert(name, (entry, decl.name.span));
    }
    lone_constructors(db, module);
    for (d, decl) in &datas {
        let TypeBody::Variants(constructors) = &decl.body else { continue };
        for (tag, c) in constructors.iter().enumerate() {
            declare_constructor(db, module, *d, tag as u32, &c.name.name, c.name.span);
        }
    }
    // Fields last: they may mention any type of the module.
    for (d, decl) in &datas {
        let TypeBody::Variants(constructors) = &decl.body else { continue };
        let params = db.data(*d).params.clone();
        for (tag, c) in constructors.iter().enumerate() {
            let fields =
                c.fields.iter().map(|t| infer::declared(db, module, *t, &params)).collect();
            db.datas[d.0 as usize].constructors[tag].fields = fields;
        }
    }
    let own: Vec<u32> =
        (0..db.aliases.len() as u32).filter(|a| db.aliases[*a as usize].module == module).collect();
    for a in own {
        let span = db.module(module).ast.types[db.aliases[a as usize].body].span;
        infer::alias(db, a, span);
    }
    infer::mark_function_holders(db);
    definitions(db, module);
    for item in &ast.items {
        if let Item::Import(import) = item {
            import_names(db, module, import);
        }
    }
}

fn new_data(db: &mut Db, module: ModuleId, decl: &TypeDecl, params: Vec<Name>) -> DataIdx {
    let constructors = match &decl.body {
        TypeBody::Variants(cs) => cs
            .iter()
            .map(|c| ConstructorInfo { name: c.name.name.clone(), fields: Vec::new() })
            .collect(),
        TypeBody::Alias(_) => {
            vec![ConstructorInfo { name: decl.name.name.clone(), fields: Vec::new() }]
        }
    };
    let (name, home) = (decl.name.name.clone(), db.module(module));
    let known = if home.std { library::well_known(&home.name, &name) } else { None };
    db.datas.push(DataInfo { module, name, known, params, constructors });
    db.store.data_has_function.push(false);
    let data = DataIdx(db.datas.len() as u32 - 1);
    if known == Some(WellKnown::List) {
        db.list = Some(data);
    }
    data
}

/// `type T = A` where there is no type A declares the constructor A.
fn lone_constructors(db: &mut Db, module: ModuleId) {
    let ast = db.module(module).ast.clone();
    for item in &ast.items {
        let Item::Type(decl) = item else { continue };
        let TypeBody::Alias(body) = &decl.body else { continue };
        let TypeKind::Named { path, args } = &ast.types[*body].kind else { continue };
        let known = path.module.is_some()
            || !args.is_empty()
            || ["Real", "Int", "Bool", "String"].contains(&path.name.name.as_str())
            || db.module(module).scope.types.contains_key(&path.name.name)
                && path.name.name != decl.name.name
            || db
                .prelude
                .is_some_and(|p| db.module(p).scope.types.contains_key(&path.name.name))
            || ast.items.iter().any(|i| {
                matches!(i, Item::Import(im) if im.names.iter().any(|n| n.name == path.name.name))
            });
        if known {
            continue;
        }
        let params = decl.params.iter().map(|p| p.name.clone()).collect();
        let d = new_data(db, module, decl, params);
        db.datas[d.0 as usize].constructors[0].name = path.name.name.clone();
        let name = decl.name.name.clone();
        db.module_mut(module).scope.types.insert(name, (TypeRef::Data(d), decl.name.span));
        declare_constructor(db, module, d, 0, &path.name.name, path.name.span);
        // The alias stays without a meaning: its type is the variant's.
        if let Some(alias) = db.aliases.iter_mut().find(|a| a.module == module && a.body == *body) {
            alias.ty = Some(crate::types::Ty::Error);
        }
    }
}

fn declare_constructor(
    db: &mut Db,
    module: ModuleId,
    d: DataIdx,
    tag: u32,
    name: &Name,
    span: Span,
) {
    let constructors = &mut db.module_mut(module).scope.constructors;
    if let Some((_, _, first)) = constructors.get(name) {
        let first = *first;
        return duplicate(db, "constructor", name, span, first);
    }
    constructors.insert(name.clone(), (d, tag, span));
}

fn duplicate(db: &mut Db, what: &str, name: &str, span: Span, first: Span) {
    db.report(
        Diagnostic::error(
            "duplicate-definition",
            span,
            format!("the {what} `{name}` is defined twice"),
        )
        .label(first, "first defined here")
        .help("give one of them another name"),
    );
}

fn definitions(db: &mut Db, module: ModuleId) {
    let ast = db.module(module).ast.clone();
    for (i, item) in ast.items.iter().enumerate() {
        let Item::Def(def) = item else { continue };
        let name = def.name.name.clone();
        if let Some((_, first)) = db.module(module).scope.values.get(&name) {
            let first = *first;
            duplicate(db, "name", &name, def.name.span, first);
            continue;
        }
        let id = crate::db::DefId(db.defs.len() as u32);
        db.defs.push(DefInfo {
            module,
            item: i,
            name: name.clone(),
            span: def.name.span,
            uses: None,
            scheme: None,
        });
        let m = db.module_mut(module);
        m.scope.values.insert(name, (id, def.name.span));
        m.defs.push(id);
    }
}

/// The names that an import takes unqualified.
fn import_names(db: &mut Db, module: ModuleId, import: &Import) {
    let Some(from) = db.module(module).scope.modules.get(&import.module.name).copied() else {
        return;
    };
    for name in &import.names {
        let source = &db.module(from).scope;
        let value = source.values.get(&name.name).map(|(d, _)| *d);
        let ty = source.types.get(&name.name).map(|(t, _)| *t);
        let con = source.constructors.get(&name.name).map(|(d, t, _)| (*d, *t));
        if value.is_none() && ty.is_none() && con.is_none() {
            let names = source.values.keys().chain(source.types.keys());
            let names = names.chain(source.constructors.keys()).map(Name::as_str);
            let hint = db.closest(&name.name, names);
            let mut d = Diagnostic::error(
                "unknown-member",
                name.span,
                format!("the module `{}` has no `{}`", import.module.name, name.name),
            );
            if let Some(hint) = hint {
                d = d.help(Help::did_you_mean(hint));
            }
            d.notes.extend(db.hidden_library(from));
            db.report(d);
            continue;
        }
        let clash = {
            let own = &db.module(module).scope;
            let value_clash = value.and_then(|_| own.values.get(&name.name).map(|v| v.1));
            value_clash
                .or_else(|| ty.and_then(|_| own.types.get(&name.name).map(|t| t.1)))
                .or_else(|| con.and_then(|_| own.constructors.get(&name.name).map(|c| c.2)))
        };
        if let Some(first) = clash {
            duplicate(db, "name", &name.name, name.span, first);
            continue;
        }
        let scope = &mut db.module_mut(module).scope;
        if let Some(d) = value {
            scope.values.insert(name.name.clone(), (d, name.span));
        }
        if let Some(t) = ty {
            scope.types.insert(name.name.clone(), (t, name.span));
        }
        if let Some((d, t)) = con {
            scope.constructors.insert(name.name.clone(), (d, t, name.span));
        }
    }
}
