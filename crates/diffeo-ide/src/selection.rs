//! Selection ranges: from a place outwards, the parts of the program around it.

use crate::lines::LineIndex;
use diffeo_base::Span;
use diffeo_syntax::ast::{Item, Module};
use serde_json::{json, Value};

/// The parts around a byte, each in its `parent`; the whole text is the last.
pub(crate) fn around(tree: &Module, lines: LineIndex<'_>, at: usize) -> Value {
    let items = tree.items.iter().map(|item| match item {
        Item::Import(import) => import.span,
        Item::Type(declared) => declared.span,
        Item::Def(def) => def.span,
    });
    let names = tree.items.iter().map(|item| match item {
        Item::Import(import) => import.module.span,
        Item::Type(declared) => declared.name.span,
        Item::Def(def) => def.name.span,
    });
    let nodes = tree.exprs.iter().map(|(_, e)| e.span);
    let nodes = nodes.chain(tree.pats.iter().map(|(_, p)| p.span));
    let nodes = nodes.chain(tree.types.iter().map(|(_, t)| t.span));
    let holds = |span: &Span| span.start as usize <= at && at <= span.end as usize;
    let mut spans: Vec<Span> = items.chain(names).chain(nodes).filter(holds).collect();
    spans.push(Span::new(lines.file, 0, lines.text().len()));
    spans.sort_by_key(|span| (span.end - span.start, span.start));
    // Neighbours that meet at the place: the one to the right of it, and what is around that.
    let mut chain: Vec<Span> = Vec::new();
    for span in spans {
        let inner = chain.last().copied();
        match inner {
            Some(inner) if inner == span => {}
            Some(inner) if span.start <= inner.start && inner.end <= span.end => chain.push(span),
            Some(_) => {}
            None => chain.push(span),
        }
    }
    chain.iter().rev().fold(Value::Null, |parent, span| match parent {
        Value::Null => json!({ "range": lines.span(*span) }),
        parent => json!({ "range": lines.span(*span), "parent": parent }),
    })
}
