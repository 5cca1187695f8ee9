//! The requests about a text: a table of their names, capabilities, parameters and handlers.
//!
//! A handler gives null where nothing is known, and an error where what is asked for cannot be done.

use crate::lines::LineIndex;
use crate::server::uri_of;
use crate::{selection, tokens};
use diffeo_base::{Diagnostic, Fix, Span};
use diffeo_front::query::{Symbol, SymbolKind};
use diffeo_front::{ModuleId, Session};
use diffeo_syntax::ast::Item;
use serde_json::{json, Value};

/// A request about a text that was checked.
pub(crate) struct Request<'r> {
    pub session: &'r Session,
    pub module: ModuleId,
    pub uri: &'r str,
    pub params: &'r Value,
    pub utf8: bool,
}

/// A field of the answer to `initialize`, and its value.
type Capability = (&'static str, fn() -> Value);

/// A kind of request.
pub(crate) struct Method {
    /// Its name, behind `textDocument/`.
    name: &'static str,
    /// Its entry in the answer to `initialize`; none where that of another request covers it (`rename`,
    /// `semanticTokens/full`).
    pub capability: Option<Capability>,
    needs: Needs,
    pub answer: fn(&Request<'_>) -> Result<Value, String>,
}

/// The parameters that a request needs besides the text.
enum Needs {
    Nothing,
    Position,
    Positions,
    Range,
    NewName,
}

fn yes() -> Value {
    json!(true)
}

/// All requests about a text.
pub(crate) const METHODS: [Method; 17] = [
    method("hover", Some(("hoverProvider", yes)), Needs::Position, hover),
    method("definition", Some(("definitionProvider", yes)), Needs::Position, definition),
    method("references", Some(("referencesProvider", yes)), Needs::Position, references),
    method(
        "documentHighlight",
        Some(("documentHighlightProvider", yes)),
        Needs::Position,
        document_highlight,
    ),
    method(
        "rename",
        Some(("renameProvider", || json!({ "prepareProvider": true }))),
        Needs::NewName,
        rename,
    ),
    method("prepareRename", None, Needs::Position, prepare_rename),
    method(
        "documentSymbol",
        Some(("documentSymbolProvider", yes)),
        Needs::Nothing,
        document_symbol,
    ),
    method("formatting", Some(("documentFormattingProvider", yes)), Needs::Nothing, formatting),
    method("foldingRange", Some(("foldingRangeProvider", yes)), Needs::Nothing, folding_range),
    method(
        "selectionRange",
        Some(("selectionRangeProvider", yes)),
        Needs::Positions,
        selection_range,
    ),
    method("inlayHint", Some(("inlayHintProvider", yes)), Needs::Nothing, inlay_hint),
    method("codeAction", Some(("codeActionProvider", yes)), Needs::Range, code_action),
    method("codeLens", Some(("codeLensProvider", || json!({}))), Needs::Nothing, code_lens),
    method(
        "signatureHelp",
        Some(("signatureHelpProvider", || json!({ "triggerCharacters": ["(", ","] }))),
        Needs::Position,
        signature_help,
    ),
    method(
        "completion",
        Some(("completionProvider", || json!({ "triggerCharacters": ["."] }))),
        Needs::Position,
        completion,
    ),
    method(
        "semanticTokens/full",
        Some((
            "semanticTokensProvider",
            || json!({ "legend": tokens::legend(), "full": true, "range": true }),
        )),
        Needs::Nothing,
        semantic_tokens,
    ),
    method("semanticTokens/range", None, Needs::Range, semantic_tokens_range),
];

const fn method(
    name: &'static str,
    capability: Option<Capability>,
    needs: Needs,
    answer: fn(&Request<'_>) -> Result<Value, String>,
) -> Method {
    Method { name, capability, needs, answer }
}

/// The request of this name, as the protocol has it.
pub(crate) fn named(name: &str) -> Option<&'static Method> {
    let name = name.strip_prefix("textDocument/")?;
    METHODS.iter().find(|method| method.name == name)
}

impl Method {
    /// Checks the parameters of a request.
    ///
    /// # Errors
    /// The parameter that is missing or has another form, as a sentence.
    pub fn check(&self, params: &Value) -> Result<(), &'static str> {
        let is_place = |place: &Value| {
            let number =
                |name: &str| place[name].as_u64().is_some_and(|n| n <= u64::from(u32::MAX));
            number("line") && number("character")
        };
        let position = || match is_place(&params["position"]) {
            true => Ok(()),
            false => Err("`position` has to have a line and a character"),
        };
        match self.needs {
            Needs::Nothing => Ok(()),
            Needs::Position => position(),
            Needs::NewName if !params["newName"].is_string() => Err("`newName` has to be a string"),
            Needs::NewName => position(),
            Needs::Range => {
                let range = &params["range"];
                match is_place(&range["start"]) && is_place(&range["end"]) {
                    true => Ok(()),
                    false => Err("`range` has to have a start and an end"),
                }
            }
            Needs::Positions => {
                let places = params["positions"].as_array();
                match places.is_some_and(|places| places.iter().all(is_place)) {
                    true => Ok(()),
                    false => Err("`positions` has to be an array of positions"),
                }
            }
        }
    }
}

impl<'r> Request<'r> {
    fn lines(&self) -> LineIndex<'r> {
        let file = self.session.file(self.module);
        LineIndex { sources: self.session.sources(), file, utf8: self.utf8 }
    }

    fn text(&self) -> &'r str {
        self.session.sources().text(self.session.file(self.module))
    }

    /// The place that is asked about.
    fn at(&self) -> usize {
        self.lines().offset(&self.params["position"])
    }

    fn range(&self, span: Span) -> Value {
        self.lines().span(span)
    }
}

fn hover(r: &Request<'_>) -> Result<Value, String> {
    let Some(found) = r.session.at(r.module, r.at()) else { return Ok(Value::Null) };
    let doc = found.doc.map_or(String::new(), |doc| format!("\n\n{doc}"));
    let value = format!("```diffeo\n{}\n```{doc}", found.text);
    let contents = json!({ "kind": "markdown", "value": value });
    Ok(json!({ "contents": contents, "range": r.range(found.span) }))
}

fn definition(r: &Request<'_>) -> Result<Value, String> {
    let definition = r.session.at(r.module, r.at()).and_then(|found| found.definition);
    Ok(definition.map_or(Value::Null, |span| location(r.session, span, r.utf8)))
}

fn references(r: &Request<'_>) -> Result<Value, String> {
    let uses = r.session.uses(r.module, r.at());
    Ok(uses.iter().map(|span| json!({ "uri": r.uri, "range": r.range(*span) })).collect())
}

fn document_highlight(r: &Request<'_>) -> Result<Value, String> {
    let uses = r.session.uses(r.module, r.at());
    Ok(uses.iter().map(|span| json!({ "range": r.range(*span) })).collect())
}

fn prepare_rename(r: &Request<'_>) -> Result<Value, String> {
    let at = r.at();
    if elsewhere(r.session, r.module, at).is_some() {
        return Ok(Value::Null);
    }
    let uses = r.session.uses(r.module, at);
    let here = |span: &&Span| span.start as usize <= at && at <= span.end as usize;
    Ok(uses.iter().find(here).map_or(Value::Null, |span| r.range(*span)))
}

fn rename(r: &Request<'_>) -> Result<Value, String> {
    let name = r.params["newName"].as_str().unwrap_or_default();
    let (parsed, wrong) = diffeo_syntax::parse_expression(r.session.file(r.module), name);
    let is_name = wrong.is_empty()
        && parsed.exprs.len() == 1
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'')
        && name.starts_with(|c: char| c.is_lowercase() || c == '_');
    if !is_name {
        return Err(format!("`{name}` is no name of a variable or definition"));
    }
    if let Some(file) = elsewhere(r.session, r.module, r.at()) {
        return Err(format!("it is defined in {file}, and is renamed there"));
    }
    let changes = r.session.renamed(r.module, r.at(), name);
    if changes.is_empty() {
        return Err("there is nothing to rename here".to_string());
    }
    let edit = |(span, text): &(Span, _)| json!({ "range": r.range(*span), "newText": text });
    let edits: Vec<Value> = changes.iter().map(edit).collect();
    Ok(json!({ "changes": { r.uri: edits } }))
}

fn document_symbol(r: &Request<'_>) -> Result<Value, String> {
    let symbols = r.session.symbols(r.module);
    let shown = symbols.iter().map(|s| {
        json!({
            "name": s.name.as_str(),
            "detail": s.ty,
            "kind": symbol_kind(s.kind),
            "range": r.range(s.spans[1]),
            "selectionRange": r.range(s.spans[0]),
        })
    });
    Ok(shown.collect())
}

fn formatting(r: &Request<'_>) -> Result<Value, String> {
    let text = r.text();
    Ok(match diffeo_syntax::format(r.session.file(r.module), text) {
        Ok(laid_out) if laid_out == text => json!([]),
        Ok(laid_out) => json!([{ "range": r.lines().range(0, text.len()), "newText": laid_out }]),
        // A text with errors stays as it is.
        Err(_) => Value::Null,
    })
}

fn folding_range(r: &Request<'_>) -> Result<Value, String> {
    let symbols = r.session.symbols(r.module);
    let ranges = symbols.iter().map(|s| r.range(s.spans[1]));
    let folds = ranges.filter(|r| r["start"]["line"] != r["end"]["line"]);
    let fold = |r: Value| json!({ "startLine": r["start"]["line"], "endLine": r["end"]["line"] });
    Ok(folds.map(fold).collect())
}

fn selection_range(r: &Request<'_>) -> Result<Value, String> {
    let positions = r.params["positions"].as_array().map_or(&[][..], Vec::as_slice);
    let (tree, lines) = (r.session.tree(r.module), r.lines());
    Ok(positions.iter().map(|p| selection::around(tree, lines, lines.offset(p))).collect())
}

fn semantic_tokens(r: &Request<'_>) -> Result<Value, String> {
    Ok(tokens::all(r.session, r.module, r.lines(), 0..r.text().len()))
}

fn semantic_tokens_range(r: &Request<'_>) -> Result<Value, String> {
    let (lines, range) = (r.lines(), &r.params["range"]);
    let range = lines.offset(&range["start"])..lines.offset(&range["end"]);
    Ok(tokens::all(r.session, r.module, lines, range))
}

/// The types of definitions that do not say them.
fn inlay_hint(r: &Request<'_>) -> Result<Value, String> {
    let symbols = r.session.symbols(r.module);
    let hints = symbols.iter().filter_map(|s| {
        let ty = s.ty.as_ref().filter(|_| s.kind == SymbolKind::Constant)?;
        let end = s.spans[0].end as usize;
        if r.text().get(end..)?.trim_start().starts_with(':') {
            return None;
        }
        let position = r.lines().position(end);
        Some(json!({ "position": position, "label": format!(": {ty}"), "kind": 1 }))
    });
    Ok(hints.collect())
}

fn code_action(r: &Request<'_>) -> Result<Value, String> {
    let (lines, wanted) = (r.lines(), &r.params["range"]);
    let (from, to) = (lines.offset(&wanted["start"]), lines.offset(&wanted["end"]));
    let (found, file) = (r.session.diagnostics(), r.session.file(r.module));
    let here = found.iter().filter(|d| {
        let span = d.primary.span;
        span.file == file && span.start as usize <= to && from <= span.end as usize
    });
    Ok(here.filter_map(|d| fix(d, lines, r.uri)).collect())
}

fn code_lens(r: &Request<'_>) -> Result<Value, String> {
    let symbols = r.session.symbols(r.module);
    let lenses = symbols.iter().filter(|s| s.differentiable).flat_map(|s| {
        let lens = |title: &str, command: &str| {
            let arguments = [r.uri, s.name.as_str()];
            let command = json!({ "title": title, "command": command, "arguments": arguments });
            json!({ "range": r.range(s.spans[0]), "command": command })
        };
        [
            lens("check derivative", "diffeo.checkDerivative"),
            lens("show derivative", "diffeo.showDerivative"),
        ]
    });
    Ok(lenses.collect())
}

fn signature_help(r: &Request<'_>) -> Result<Value, String> {
    Ok(signature(r.session, r.module, r.text(), r.at()))
}

fn completion(r: &Request<'_>) -> Result<Value, String> {
    let at = r.at();
    let before = r.text().get(..at).unwrap_or_default();
    let without_word =
        |text: &'_ str| text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    let module = before[..without_word(before)].strip_suffix('.');
    let names = match module.map(|rest| &rest[without_word(rest)..]) {
        Some(name) => r.session.members(r.module, name),
        None => r.session.names_at(r.module, at),
    };
    let items: Vec<Value> = names.iter().map(completion_item).collect();
    Ok(json!({ "isIncomplete": false, "items": items }))
}

/// The other file that defines what a name stands for.
fn elsewhere(session: &Session, module: ModuleId, at: usize) -> Option<String> {
    let span = session.at(module, at)?.definition?;
    let sources = session.sources();
    (span.file != session.file(module)).then(|| sources.name(span.file).to_string())
}

/// A place in whatever file it is.
pub(crate) fn location(session: &Session, span: Span, utf8: bool) -> Value {
    let Some(path) = session.module_of(span.file).and_then(|module| session.path(module)) else {
        return Value::Null;
    };
    let lines = LineIndex { sources: session.sources(), file: span.file, utf8 };
    json!({ "uri": uri_of(path), "range": lines.span(span) })
}

/// The change that does what the help of a message says, if there is one.
fn fix(d: &Diagnostic, lines: LineIndex<'_>, uri: &str) -> Option<Value> {
    let (title, edit) = match d.help.as_ref()?.fix.as_ref()? {
        Fix::Replace(text) => {
            let range = lines.span(d.primary.span);
            (format!("write `{text}`"), json!({ "range": range, "newText": text }))
        }
        Fix::Import(line) => {
            // After the imports that there are.
            let (parsed, _) = diffeo_syntax::parse(d.primary.span.file, lines.text());
            let imports = parsed.items.iter().filter_map(|item| match item {
                Item::Import(import) => Some(import.span.end as usize),
                Item::Type(_) | Item::Def(_) => None,
            });
            let at = imports.max().map_or(0, |end| lines.next_line(end));
            let edit = json!({ "range": lines.range(at, at), "newText": format!("{line}\n") });
            (format!("add `{line}`"), edit)
        }
    };
    Some(json!({
        "title": title,
        "kind": "quickfix",
        "diagnostics": [],
        "isPreferred": true,
        "edit": { "changes": { uri: [edit] } },
    }))
}

/// The function whose arguments are being written at a place.
fn signature(session: &Session, module: ModuleId, text: &str, at: usize) -> Value {
    let before = text.get(..at).unwrap_or_default();
    let (mut depth, mut commas) = (0, 0);
    for (i, c) in before.char_indices().rev() {
        match c {
            ')' | ']' | '}' => depth += 1,
            '(' if depth == 0 => {
                let Some(found) = session.at(module, i) else { return Value::Null };
                let label = found.text.replace('\n', " ");
                if !found.function {
                    return Value::Null;
                }
                return json!({
                    "signatures": [{ "label": label, "documentation": found.doc }],
                    "activeSignature": 0,
                    "activeParameter": commas,
                });
            }
            '(' | '[' | '{' if depth == 0 => return Value::Null,
            '(' | '[' | '{' => depth -= 1,
            ',' if depth == 0 => commas += 1,
            '\n' if before[..i].ends_with('\n') => return Value::Null,
            _ => {}
        }
    }
    Value::Null
}

pub(crate) fn symbol_kind(kind: SymbolKind) -> i32 {
    match kind {
        SymbolKind::Function => 12,
        SymbolKind::Constant => 14,
        SymbolKind::Variable => 13,
        SymbolKind::Type => 10,
        SymbolKind::Constructor => 22,
        SymbolKind::Module => 2,
    }
}

fn completion_item(s: &Symbol) -> Value {
    let kind = match s.kind {
        SymbolKind::Function => 3,
        SymbolKind::Constant => 21,
        SymbolKind::Variable => 6,
        SymbolKind::Type => 13,
        SymbolKind::Constructor => 20,
        SymbolKind::Module => 9,
    };
    json!({ "label": s.name.as_str(), "kind": kind, "detail": s.ty, "documentation": s.doc })
}
