//! Semantic tokens: what each name stands for, which only its meaning tells. Keywords, numbers, texts and comments are
//! left to the editor's grammar.
//!
//! What always holds: tokens are in order, do not overlap, and none has a line break in it.

use crate::lines::LineIndex;
use diffeo_base::Span;
use diffeo_front::query::SymbolKind;
use diffeo_front::{ModuleId, Session};
use diffeo_syntax::ast::{Item, SizeExpr, TypeBody, TypeKind};
use serde_json::{json, Value};
use std::ops::Range;

/// The types of tokens, by number.
const TYPES: [&str; 8] = [
    "function",
    "variable",
    "parameter",
    "type",
    "typeParameter",
    "enumMember",
    "namespace",
    "property",
];
const FUNCTION: usize = 0;
const VARIABLE: usize = 1;
const SIZE: usize = 2;
const TYPE: usize = 3;
const TYPE_VARIABLE: usize = 4;
const CONSTRUCTOR: usize = 5;
const MODULE: usize = 6;
const FIELD: usize = 7;

/// The modifiers, by bit.
const MODIFIERS: [&str; 3] = ["declaration", "readonly", "defaultLibrary"];

/// The names of the numbers in the answers.
pub(crate) fn legend() -> Value {
    json!({ "tokenTypes": TYPES, "tokenModifiers": MODIFIERS })
}

/// The tokens that begin in a range of bytes, as the protocol encodes them.
pub(crate) fn all(
    session: &Session,
    module: ModuleId,
    lines: LineIndex<'_>,
    within: Range<usize>,
) -> Value {
    let mut tokens: Vec<(Span, usize, u32)> = Vec::new();
    for name in session.occurrences(module) {
        let (kind, constant) = match name.kind {
            SymbolKind::Function => (FUNCTION, false),
            SymbolKind::Constant => (VARIABLE, true),
            SymbolKind::Variable => (VARIABLE, false),
            SymbolKind::Type => (TYPE, false),
            SymbolKind::Constructor => (CONSTRUCTOR, false),
            SymbolKind::Module => (MODULE, false),
        };
        let flags = [name.defines, constant, name.library];
        let modifiers = flags.iter().enumerate().map(|(i, on)| u32::from(*on) << i).sum();
        tokens.push((name.span, kind, modifiers));
    }
    written(session, module, &mut tokens);
    let fits = |span: Span| {
        let text = lines.text().get(span.start as usize..span.end as usize);
        within.contains(&(span.start as usize))
            && text.is_some_and(|text| !text.is_empty() && !text.contains('\n'))
    };
    tokens.retain(|(span, ..)| fits(*span));
    tokens.sort_by_key(|(span, ..)| (span.start, span.end));
    let (mut data, mut end, mut before) = (Vec::new(), 0, (0, 0));
    for (span, kind, modifiers) in tokens {
        if span.start < end {
            continue;
        }
        end = span.end;
        let [from, to] = [span.start, span.end].map(|at| lines.place(at as usize));
        let column = if from.0 == before.0 { from.1 - before.1 } else { from.1 };
        data.extend([from.0 - before.0, column, to.1 - from.1, kind, modifiers as usize]);
        before = from;
    }
    json!({ "data": data })
}

/// The names whose place in the tree says what they are: types, fields, modules of imports.
fn written(session: &Session, module: ModuleId, tokens: &mut Vec<(Span, usize, u32)>) {
    let tree = session.tree(module);
    let mut add = |span: Span, kind: usize| tokens.push((span, kind, 0));
    for item in &tree.items {
        match item {
            Item::Import(import) => add(import.module.span, MODULE),
            Item::Type(declared) => {
                add(declared.name.span, TYPE);
                declared.params.iter().for_each(|p| add(p.span, TYPE_VARIABLE));
                if let TypeBody::Variants(constructors) = &declared.body {
                    constructors.iter().for_each(|c| add(c.name.span, CONSTRUCTOR));
                }
            }
            Item::Def(_) => {}
        }
    }
    for (_, ty) in tree.types.iter() {
        match &ty.kind {
            TypeKind::Named { path, .. } => {
                path.module.iter().for_each(|module| add(module.span, MODULE));
                add(path.name.span, TYPE);
            }
            TypeKind::Var(_) => add(ty.span, TYPE_VARIABLE),
            TypeKind::Record(fields) => fields.iter().for_each(|(name, _)| add(name.span, FIELD)),
            TypeKind::Array(SizeExpr::Named(size), _) => add(size.span, SIZE),
            TypeKind::Array(SizeExpr::Literal(..) | SizeExpr::Unknown, _)
            | TypeKind::Error
            | TypeKind::Unit
            | TypeKind::Tuple(_)
            | TypeKind::Fun(..) => {}
        }
    }
    for (_, e) in tree.exprs.iter() {
        use diffeo_syntax::ast::ExprKind::{Field, Record, RecordWith};
        match &e.kind {
            // That of a module has been found before, at the same place.
            Field { field, .. } => add(field.span, FIELD),
            Record(fields) | RecordWith { fields, .. } => {
                fields.iter().for_each(|(name, _)| add(name.span, FIELD));
            }
            _ => {}
        }
    }
}
