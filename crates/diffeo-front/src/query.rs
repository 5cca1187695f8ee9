//! Queries for editors: type, documentation, definition and uses of the name at a position, and the names in scope.
//!
//! Queries answer for programs with errors, too: they leave out what is not known.

use crate::db::{DefId, ModuleData, ModuleId, Res, SizeRes};
use crate::display::{scheme, TypePrinter};
use crate::types::{Ty, Walk};
use crate::Session;
use diffeo_base::{Name, Span};
use diffeo_syntax::ast::{ExprKind, Ident, Item, PatId, PatKind, SizeExpr, TypeKind};
use std::collections::HashSet;

/// The name at a position.
#[derive(Clone, PartialEq, Debug)]
pub struct NameAt {
    /// Where it is.
    pub span: Span,
    /// It with its type, as the language writes them: `x : Real`.
    pub text: String,
    /// The text of its `##` comment.
    pub doc: Option<String>,
    /// Where it is defined.
    pub definition: Option<Span>,
    /// Whether its type is that of a function.
    pub function: bool,
}

/// A name that can be used at a place, or a definition of a module.
#[derive(Clone, PartialEq, Debug)]
pub struct Symbol {
    /// The name.
    pub name: Name,
    /// What it is.
    pub kind: SymbolKind,
    /// Its type, where it has one.
    pub ty: Option<String>,
    /// Whether it is a definition with a Real both in what it takes and in what it gives.
    pub differentiable: bool,
    /// Whether it is an entry point that needs no arguments: a constant that is data, or a function of `()`.
    pub runnable: bool,
    /// The text of its `##` comment.
    pub doc: Option<String>,
    /// Where the name stands, and all of its definition.
    pub spans: [Span; 2],
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A constant.
    Constant,
    /// A variable of a function.
    Variable,
    /// A type.
    Type,
    /// A constructor.
    Constructor,
    /// A module.
    Module,
}

/// A name where it stands in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// Where it stands; a qualified name without its module.
    pub span: Span,
    /// What it stands for.
    pub kind: SymbolKind,
    /// Whether it is defined here.
    pub defines: bool,
    /// Whether the standard library defines it.
    pub library: bool,
}

/// What a use of a name means, for comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Local(PatId),
    Def(DefId),
}

/// The sizes in types of a module that are the values of variables: `[n]Real` where `n` is an Int.
fn sizes(m: &ModuleData) -> impl Iterator<Item = (PatId, Span)> + '_ {
    m.size_res.iter().filter_map(|(id, res)| match (res, &m.ast.types[*id].kind) {
        (SizeRes::Local(pat), TypeKind::Array(SizeExpr::Named(size), _)) => Some((*pat, size.span)),
        _ => None,
    })
}

impl Session {
    /// What there is at a byte of a module's text.
    pub fn at(&self, module: ModuleId, offset: usize) -> Option<NameAt> {
        let m = self.db().module(module);
        let holds = |span: Span| {
            span.file == m.file && span.start as usize <= offset && offset <= span.end as usize
        };
        for id in &m.defs {
            let def = self.db().def(*id);
            if holds(def.span) {
                return Some(self.definition_found(*id, def.span));
            }
        }
        let size = |span: Span| span.end - span.start;
        let exprs = m.ast.exprs.iter().filter(|(_, e)| holds(e.span));
        let expr = exprs.min_by_key(|(id, e)| (size(e.span), std::cmp::Reverse(id.index())));
        let pats = m.ast.pats.iter().filter(|(_, p)| holds(p.span));
        let pat = pats.min_by_key(|(_, p)| size(p.span));
        if let Some((id, p)) =
            pat.filter(|(_, p)| expr.is_none_or(|(_, e)| size(p.span) < size(e.span)))
        {
            let ty = m.pat_ty.get(id.index())?;
            let text = format!(
                "{} : {}",
                self.sources().slice(p.span),
                TypePrinter::new(self.db()).ty(ty)
            );
            return Some(NameAt {
                span: p.span,
                text,
                doc: None,
                definition: Some(p.span),
                function: self.is_arrow(ty),
            });
        }
        let (id, e) = expr?;
        let written = self.sources().slice(e.span);
        match m.res.get(&id) {
            Some(Res::Def(def)) => Some(self.definition_found(*def, e.span)),
            Some(Res::Con(data, tag)) => {
                let constructor = &self.db().data(*data).constructors[*tag as usize];
                let ty = m.expr_ty.get(id.index())?;
                let text = format!("{} : {}", constructor.name, TypePrinter::new(self.db()).ty(ty));
                Some(NameAt {
                    span: e.span,
                    text,
                    doc: None,
                    definition: None,
                    function: self.is_arrow(ty),
                })
            }
            local => {
                let ty = m.expr_ty.get(id.index())?;
                let first = written.lines().next().unwrap_or_default();
                let more = if written.contains('\n') { " …" } else { "" };
                let text = format!("{first}{more} : {}", TypePrinter::new(self.db()).ty(ty));
                let definition = match local {
                    Some(Res::Local(pat) | Res::Size(pat, _)) => Some(m.ast.pats[*pat].span),
                    _ => None,
                };
                Some(NameAt {
                    span: e.span,
                    text,
                    doc: None,
                    definition,
                    function: self.is_arrow(ty),
                })
            }
        }
    }

    fn definition_found(&self, id: DefId, span: Span) -> NameAt {
        let def = self.db().def(id);
        let ty = def.scheme.as_ref().map_or("?".to_string(), |s| scheme(self.db(), s));
        let text = format!("{} : {ty}", def.name);
        let function = def.scheme.as_ref().is_some_and(|s| self.is_arrow(&s.ty));
        NameAt { span, text, doc: self.doc_of(id), definition: Some(def.span), function }
    }

    fn is_arrow(&self, ty: &Ty) -> bool {
        matches!(self.db().store.shallow(ty), Ty::Fun(_))
    }

    /// Whether values of a type can hold a Real.
    fn mentions_real(&self, ty: &Ty) -> bool {
        let db = self.db();
        let (mut pending, mut seen) = (vec![ty.clone()], HashSet::new());
        while let Some(ty) = pending.pop() {
            let mut walk = Walk::of(&ty);
            while let Some(ty) = walk.next(&db.store) {
                match ty {
                    Ty::Real => return true,
                    Ty::Data(data, _) if seen.insert(data) => {
                        let constructors = &db.data(data).constructors;
                        pending.extend(constructors.iter().flat_map(|c| c.fields.iter().cloned()));
                    }
                    _ => {}
                }
            }
        }
        false
    }

    fn doc_of(&self, id: DefId) -> Option<String> {
        let def = self.db().def(id);
        let Item::Def(item) = &self.db().module(def.module).ast.items[def.item] else {
            return None;
        };
        let lines: Vec<&str> = item.doc.iter().map(|line| line.as_str()).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn meaning(&self, module: ModuleId, offset: usize) -> Option<Meaning> {
        let m = self.db().module(module);
        let holds = |span: Span| {
            span.file == m.file && span.start as usize <= offset && offset <= span.end as usize
        };
        if let Some(id) = m.defs.iter().find(|id| holds(self.db().def(**id).span)) {
            return Some(Meaning::Def(*id));
        }
        let exprs = m.ast.exprs.iter().filter(|(id, e)| holds(e.span) && m.res.contains_key(id));
        if let Some((id, _)) = exprs.min_by_key(|(_, e)| e.span.end - e.span.start) {
            return match m.res.get(&id) {
                Some(Res::Def(def)) => Some(Meaning::Def(*def)),
                Some(Res::Local(pat)) => Some(Meaning::Local(*pat)),
                _ => None,
            };
        }
        let vars = m.ast.pats.iter();
        let mut vars = vars.filter(|(_, p)| holds(p.span) && matches!(p.kind, PatKind::Var(_)));
        let var = vars.next().map(|(id, _)| id);
        var.or_else(|| sizes(m).find(|(_, span)| holds(*span)).map(|(pat, _)| pat))
            .map(Meaning::Local)
    }

    /// Where the name at a place stands in its module, its definition included; in order.
    pub fn uses(&self, module: ModuleId, offset: usize) -> Vec<Span> {
        let Some(meaning) = self.meaning(module, offset) else { return Vec::new() };
        let m = self.db().module(module);
        let same = |res: &Res| match res {
            Res::Def(def) => meaning == Meaning::Def(*def),
            Res::Local(pat) => meaning == Meaning::Local(*pat),
            _ => false,
        };
        let used = m.res.iter().filter(|(_, res)| same(res)).map(|(id, _)| m.ast.exprs[*id].span);
        let mut spans: Vec<Span> = used.collect();
        match meaning {
            Meaning::Local(pat) => {
                spans.push(m.ast.pats[pat].span);
                spans.extend(sizes(m).filter(|(of, _)| *of == pat).map(|(_, span)| span));
            }
            Meaning::Def(def) if self.db().def(def).module == module => {
                spans.push(self.db().def(def).span);
            }
            Meaning::Def(_) => {}
        }
        // A qualified name is renamed behind its point.
        for span in &mut spans {
            let text = self.sources().slice(*span);
            if let Some(at) = text.rfind('.') {
                span.start += at as u32 + 1;
            }
        }
        spans.sort_by_key(|span| span.start);
        spans.dedup();
        spans
    }

    /// What is written where to give the name at a place another one. A field that takes its name from the variable,
    /// `{x}`, keeps it: `{x = y}`.
    pub fn renamed(&self, module: ModuleId, offset: usize, name: &str) -> Vec<(Span, String)> {
        let ast = &self.db().module(module).ast;
        let fields = |span: Span| {
            let short = |field: &Ident, value: Span| field.span == span && value == span;
            ast.exprs.iter().any(|(_, e)| match &e.kind {
                ExprKind::Record(fields) | ExprKind::RecordWith { fields, .. } => {
                    fields.iter().any(|(field, e)| short(field, ast.exprs[*e].span))
                }
                _ => false,
            }) || ast.pats.iter().any(|(_, p)| match &p.kind {
                PatKind::Record(fields) => {
                    fields.iter().any(|(field, p)| short(field, ast.pats[*p].span))
                }
                _ => false,
            })
        };
        let edit = |span: Span| match fields(span) {
            true => (span, format!("{} = {name}", self.sources().slice(span))),
            false => (span, name.to_string()),
        };
        self.uses(module, offset).into_iter().map(edit).collect()
    }

    /// The tree of a module.
    pub fn tree(&self, module: ModuleId) -> &diffeo_syntax::ast::Module {
        &self.db().module(module).ast
    }

    /// The names of values in a module, in order of place: definitions, variables, constructors, modules.
    pub fn occurrences(&self, module: ModuleId) -> Vec<Occurrence> {
        let db = self.db();
        let m = db.module(module);
        let function =
            |ty: Option<&Ty>| ty.is_some_and(|ty| matches!(db.store.shallow(ty), Ty::Fun(_)));
        let mut all = Vec::new();
        let mut add = |span: Span, kind, defines, library| {
            all.push(Occurrence { span, kind, defines, library });
        };
        for id in &m.defs {
            let def = db.def(*id);
            add(def.span, self.symbol(*id).kind, true, m.std);
        }
        for (id, p) in m.ast.pats.iter() {
            match &p.kind {
                PatKind::Var(_) => {
                    let kind = match function(m.pat_ty.get(id.index())) {
                        true => SymbolKind::Function,
                        false => SymbolKind::Variable,
                    };
                    add(p.span, kind, true, false);
                }
                PatKind::Con { path, .. } => {
                    if let Some(module) = &path.module {
                        add(module.span, SymbolKind::Module, false, false);
                    }
                    add(path.name.span, SymbolKind::Constructor, false, false);
                }
                _ => {}
            }
        }
        for (id, e) in m.ast.exprs.iter() {
            let name = match &e.kind {
                ExprKind::Field { field, .. } => field.span,
                ExprKind::Con(_) => e.span,
                _ => e.span,
            };
            let (kind, library) = match m.res.get(&id) {
                Some(Res::Def(def)) => {
                    if let ExprKind::Field { base, .. } = &e.kind {
                        add(m.ast.exprs[*base].span, SymbolKind::Module, false, false);
                    }
                    (self.symbol(*def).kind, db.module(db.def(*def).module).std)
                }
                Some(Res::Local(_)) => match function(m.expr_ty.get(id.index())) {
                    true => (SymbolKind::Function, false),
                    false => (SymbolKind::Variable, false),
                },
                Some(Res::Size(..)) => (SymbolKind::Variable, false),
                Some(Res::Con(data, _)) => {
                    if let ExprKind::Field { base, .. } = &e.kind {
                        add(m.ast.exprs[*base].span, SymbolKind::Module, false, false);
                    }
                    let data = &db.datas[data.0 as usize];
                    (SymbolKind::Constructor, db.module(data.module).std)
                }
                Some(Res::Builtin | Res::Jet | Res::Derivatives) => (SymbolKind::Function, true),
                None => continue,
            };
            add(name, kind, false, library);
        }
        all.sort_by_key(|word| (word.span.start, word.span.end));
        all.dedup_by_key(|word| word.span);
        all
    }

    /// The definitions and types of a module, in order.
    pub fn symbols(&self, module: ModuleId) -> Vec<Symbol> {
        let m = self.db().module(module);
        let mut all = Vec::new();
        for item in &m.ast.items {
            if let Item::Type(ty) = item {
                let doc: Vec<&str> = ty.doc.iter().map(|line| line.as_str()).collect();
                let doc = (!doc.is_empty()).then(|| doc.join("\n"));
                let (name, kind) = (ty.name.name.clone(), SymbolKind::Type);
                all.push(Symbol {
                    name,
                    kind,
                    ty: None,
                    differentiable: false,
                    runnable: false,
                    doc,
                    spans: [ty.name.span, ty.span],
                });
            }
        }
        all.extend(m.defs.iter().map(|id| self.symbol(*id)));
        all.sort_by_key(|symbol| symbol.spans[0].start);
        all
    }

    fn symbol(&self, id: DefId) -> Symbol {
        let db = self.db();
        let def = db.def(id);
        let whole = match &db.module(def.module).ast.items[def.item] {
            Item::Def(item) => item.span,
            _ => def.span,
        };
        let ty = def.scheme.as_ref().map(|s| db.store.shallow(&s.ty));
        let runnable = match &ty {
            Some(Ty::Fun(sides)) => matches!(db.store.shallow(&sides.0), Ty::Unit),
            ty => ty.is_some(),
        };
        let sides = match ty {
            Some(Ty::Fun(sides)) if !db.is_constant(id) => Some(sides),
            _ => None,
        };
        Symbol {
            name: def.name.clone(),
            kind: if sides.is_some() { SymbolKind::Function } else { SymbolKind::Constant },
            ty: def.scheme.as_ref().map(|s| scheme(db, s)),
            differentiable: sides
                .is_some_and(|sides| [&sides.0, &sides.1].iter().all(|ty| self.mentions_real(ty))),
            runnable,
            doc: self.doc_of(id),
            spans: [def.span, whole],
        }
    }

    /// The names that can be used at a place: those of the module, of the prelude, of imports, and variables.
    pub fn names_at(&self, module: ModuleId, offset: usize) -> Vec<Symbol> {
        let db = self.db();
        let m = db.module(module);
        let nowhere = [Span::NONE; 2];
        let mut all: Vec<Symbol> = Vec::new();
        let mut add = |symbol: Symbol| {
            if !all.iter().any(|known: &Symbol| known.name == symbol.name) {
                all.push(symbol);
            }
        };
        // Variables of the definition around the place.
        for id in &m.defs {
            let Item::Def(item) = &m.ast.items[db.def(*id).item] else { continue };
            let around = item.span.start as usize <= offset && offset <= item.span.end as usize + 1;
            if !around {
                continue;
            }
            for (pat, p) in m.ast.pats.iter() {
                let within = item.span.start <= p.span.start && (p.span.start as usize) < offset;
                if let (PatKind::Var(name), true) = (&p.kind, within && p.span.end <= item.span.end)
                {
                    let ty = m.pat_ty.get(pat.index()).map(|ty| TypePrinter::new(db).ty(ty));
                    let (name, kind) = (name.clone(), SymbolKind::Variable);
                    add(Symbol {
                        name,
                        kind,
                        ty,
                        differentiable: false,
                        runnable: false,
                        doc: None,
                        spans: nowhere,
                    });
                }
            }
        }
        let scopes = std::iter::once(module).chain(db.prelude);
        for scope in scopes.map(|id| &db.module(id).scope) {
            scope.values.values().for_each(|(id, _)| add(self.symbol(*id)));
            for name in scope.constructors.keys() {
                let (name, kind) = (name.clone(), SymbolKind::Constructor);
                add(Symbol {
                    name,
                    kind,
                    ty: None,
                    differentiable: false,
                    runnable: false,
                    doc: None,
                    spans: nowhere,
                });
            }
            for name in scope.types.keys() {
                let (name, kind) = (name.clone(), SymbolKind::Type);
                add(Symbol {
                    name,
                    kind,
                    ty: None,
                    differentiable: false,
                    runnable: false,
                    doc: None,
                    spans: nowhere,
                });
            }
            for name in scope.modules.keys() {
                let (name, kind) = (name.clone(), SymbolKind::Module);
                add(Symbol {
                    name,
                    kind,
                    ty: None,
                    differentiable: false,
                    runnable: false,
                    doc: None,
                    spans: nowhere,
                });
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The names of an imported module, behind `NAME.`; none if there is no such module here.
    pub fn members(&self, module: ModuleId, name: &str) -> Vec<Symbol> {
        let db = self.db();
        let Some(from) = db.module(module).scope.modules.get(name) else { return Vec::new() };
        let own = db.module(*from).defs.iter().map(|id| self.symbol(*id));
        own.filter(|symbol| symbol.doc.is_some() || !db.module(*from).std).collect()
    }
}
