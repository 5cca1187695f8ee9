//! The server: which texts are open, and what is asked about them.
//!
//! Every change is checked anew on a copy of a session that has the library, which takes milliseconds: nothing is kept of
//! texts that are gone. Files that are open count as the editor shows them, also for those that import them. A request
//! for a text that has changed since is answered by the new text. What takes too long, or too much memory, ends, and is
//! told of the text until that changes.

use crate::lines::LineIndex;
use crate::{selection, tokens};
use diffeo_base::{bounded, Diagnostic, Fix, Severity, SourceMap, Span, Spelling};
use diffeo_calculus::eval::{Exceeded, Limits, MemoryLimit};
use diffeo_front::query::{Symbol, SymbolKind};
use diffeo_front::{ModuleId, Session};
use diffeo_syntax::ast::Item;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A text that is open.
struct Document {
    path: Option<PathBuf>,
    text: String,
    version: i64,
}

/// A text, checked.
struct CheckedText {
    session: Session,
    module: ModuleId,
}

/// Why a request has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is no such request.
    NoMethod,
    /// A parameter that it needs is not there, or is something else.
    Parameter(String),
    /// What is asked for cannot be done, and why.
    Failed(String),
}

/// How long the answer to a message may take, and how much memory there may be in use.
#[derive(Clone, Copy, Default, Debug)]
pub struct Bounds {
    /// The time.
    pub time: Option<Duration>,
    /// The memory.
    pub memory: Option<MemoryLimit>,
}

impl Bounds {
    /// Does something within them.
    fn within<R>(self, work: impl FnOnce() -> R) -> Result<R, Exceeded> {
        if self.time.is_none() && self.memory.is_none() {
            return Ok(work());
        }
        let limits = self.time.map_or(Limits::default(), Limits::after);
        let limits = Limits { memory: self.memory, ..limits };
        bounded(move || limits.check(), work)
    }
}

/// A language server.
pub struct Server {
    /// A session with the prelude and the modules of the library that were imported so far, to be copied.
    fresh: Session,
    documents: HashMap<String, Document>,
    /// By address, what was found out about the texts as they are, or why that took too much.
    checked: HashMap<String, Result<CheckedText, Exceeded>>,
    /// Whether columns count bytes, not units of UTF-16.
    utf8: bool,
    bounds: Bounds,
}

/// The path of an address `file://…`.
fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let (mut bytes, mut out) = (rest.bytes(), Vec::new());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok().map(PathBuf::from)
}

/// The address of a path.
fn uri_of(path: &Path) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-_.~".contains(&b);
    let text = path.to_string_lossy();
    let each =
        text.bytes()
            .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") });
    format!("file://{}", each.collect::<String>())
}

impl Server {
    /// A server whose columns count bytes, or else units of UTF-16.
    pub fn new(utf8: bool) -> Server {
        Server::bounded(utf8, Bounds::default())
    }

    /// The same, which answers each message within these bounds.
    pub fn bounded(utf8: bool, bounds: Bounds) -> Server {
        let (documents, checked) = (HashMap::new(), HashMap::new());
        Server { fresh: Session::new(), documents, checked, utf8, bounds }
    }

    /// What it can do, as the answer to `initialize`.
    pub fn capabilities(&self) -> Value {
        json!({
            "positionEncoding": if self.utf8 { "utf-8" } else { "utf-16" },
            "textDocumentSync": { "openClose": true, "change": 2, "save": true },
            "hoverProvider": true,
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "renameProvider": { "prepareProvider": true },
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "documentFormattingProvider": true,
            "foldingRangeProvider": true,
            "selectionRangeProvider": true,
            "inlayHintProvider": true,
            "codeActionProvider": true,
            "codeLensProvider": {},
            "signatureHelpProvider": { "triggerCharacters": ["(", ","] },
            "completionProvider": { "triggerCharacters": ["."] },
            "semanticTokensProvider": { "legend": tokens::legend(), "full": true, "range": true },
        })
    }

    /// The text of an address, checked; none if it is not open, or is a file that cannot be read.
    fn checked(&mut self, uri: &str) -> Option<&mut Result<CheckedText, Exceeded>> {
        if !self.checked.contains_key(uri) {
            let document = self.documents.get(uri)?;
            // A copy, because what ends early is to be thrown away.
            let mut fresh = self.fresh.clone();
            let found = self.bounds.within(|| {
                fresh.preload(&document.text);
                let mut session = fresh.clone();
                for open in self.documents.values() {
                    if let Some(path) = &open.path {
                        session.overlay(path, open.text.clone());
                    }
                }
                let module = match &document.path {
                    Some(path) => session.load_file(path).ok()?,
                    None => session.load_text("untitled.deo", &document.text),
                };
                session.check();
                Some(CheckedText { session, module })
            });
            let found = match found {
                Ok(found) => {
                    self.fresh = fresh;
                    Ok(found?)
                }
                Err(why) => Err(why),
            };
            self.checked.insert(uri.to_string(), found);
        }
        self.checked.get_mut(uri)
    }

    /// Forgets what was found out about the texts that are open.
    pub fn forget(&mut self) {
        self.checked.clear();
    }

    /// Takes a notification; the messages about each open text, as `textDocument/publishDiagnostics` has them.
    pub fn note(&mut self, method: &str, params: &Value) -> Vec<Value> {
        let document = &params["textDocument"];
        let Some(uri) = document["uri"].as_str().map(str::to_string) else { return Vec::new() };
        match method {
            "textDocument/didOpen" => {
                let Some(text) = document["text"].as_str().map(str::to_string) else {
                    return Vec::new();
                };
                let version = document["version"].as_i64().unwrap_or(0);
                let path = path_of(&uri);
                self.documents.insert(uri.clone(), Document { path, text, version });
            }
            "textDocument/didChange" => {
                let changes = params["contentChanges"].as_array().map_or(&[][..], Vec::as_slice);
                let utf8 = self.utf8;
                if let Some(open) = self.documents.get_mut(&uri) {
                    changes.iter().for_each(|change| edit(&mut open.text, change, utf8));
                    open.version = document["version"].as_i64().unwrap_or(open.version + 1);
                }
            }
            "textDocument/didClose" => {
                self.documents.remove(&uri);
                self.checked.clear();
                return vec![published(&uri, None, Vec::new())];
            }
            "textDocument/didSave" => {}
            _ => return Vec::new(),
        }
        // Others may import what has changed.
        self.checked.clear();
        let open: Vec<String> = self.documents.keys().cloned().collect();
        open.iter().filter_map(|uri| self.diagnose(uri)).collect()
    }

    /// The messages about a text.
    fn diagnose(&mut self, uri: &str) -> Option<Value> {
        let (utf8, bounds) = (self.utf8, self.bounds);
        let version = Some(self.documents.get(uri)?.version);
        let all = match self.checked(uri)? {
            Ok(CheckedText { session, module }) => bounds.within(|| {
                let file = session.file(*module);
                let found = session.diagnostics();
                let is_own =
                    |d: &&Diagnostic| d.primary.span.file == file || d.primary.span.is_none();
                let own = found.iter().filter(is_own);
                own.map(|d| message(session.sources(), d, uri, utf8)).collect()
            }),
            Err(why) => Err(*why),
        };
        let all = all.unwrap_or_else(|why| {
            let d = Diagnostic::error(why.code(), Span::NONE, unanswered(why));
            vec![message(&SourceMap::default(), &d, uri, utf8)]
        });
        Some(published(uri, version, all))
    }

    /// The answer to a request; null where nothing is known.
    ///
    /// # Errors
    /// There is no such request, or what it asks for cannot be done.
    pub fn answer(&mut self, method: &str, params: &Value) -> Result<Value, Refusal> {
        if method == "workspace/symbol" {
            return self.workspace_symbols(params);
        }
        let what = method.strip_prefix("textDocument/").ok_or(Refusal::NoMethod)?;
        let known = [
            "hover",
            "definition",
            "references",
            "documentHighlight",
            "rename",
            "prepareRename",
            "documentSymbol",
            "formatting",
            "foldingRange",
            "selectionRange",
            "inlayHint",
            "codeAction",
            "codeLens",
            "signatureHelp",
            "completion",
            "semanticTokens/full",
            "semanticTokens/range",
        ];
        if !known.contains(&what) {
            return Err(Refusal::NoMethod);
        }
        let Some(uri) = params["textDocument"]["uri"].as_str() else {
            return Err(Refusal::Parameter("`textDocument.uri` has to be a string".to_string()));
        };
        check_parameters(what, params)?;
        let (utf8, bounds) = (self.utf8, self.bounds);
        match self.checked(uri) {
            None => Ok(Value::Null),
            Some(Err(why)) => Err(Refusal::Failed(unanswered(*why))),
            Some(Ok(checked)) => {
                let answer = bounds.within(|| checked.about(what, uri, params, utf8));
                // What ended early may have left anything.
                if answer.is_err() {
                    self.checked.remove(uri);
                }
                answer.map_err(|why| Refusal::Failed(unanswered(why)))?.map_err(Refusal::Failed)
            }
        }
    }

    fn workspace_symbols(&mut self, params: &Value) -> Result<Value, Refusal> {
        let query = params["query"].as_str().unwrap_or_default().to_lowercase();
        let (utf8, bounds) = (self.utf8, self.bounds);
        let open: Vec<String> = self.documents.keys().cloned().collect();
        let mut all = Vec::new();
        for uri in open {
            let Some(Ok(CheckedText { session, module })) = self.checked(&uri) else { continue };
            let found = bounds.within(|| session.symbols(*module));
            for s in found.map_err(|why| Refusal::Failed(unanswered(why)))? {
                if s.name.to_lowercase().contains(&query) {
                    all.push(json!({
                        "name": s.name.as_str(),
                        "kind": symbol_kind(s.kind),
                        "location": location(session, s.spans[0], utf8),
                    }));
                }
            }
        }
        Ok(Value::Array(all))
    }
}

impl CheckedText {
    /// The answer to a request about a text; null where nothing is known.
    fn about(
        &mut self,
        what: &str,
        uri: &str,
        params: &Value,
        utf8: bool,
    ) -> Result<Value, String> {
        let CheckedText { session, module } = self;
        let module = *module;
        let sources = session.sources();
        let file = session.file(module);
        let text = sources.text(file);
        let lines = LineIndex { sources, file, utf8 };
        let at = || lines.offset(&params["position"]);
        let range = |span: Span| lines.span(span);
        Ok(match what {
            "hover" => match session.at(module, at()) {
                Some(found) => {
                    let doc = found.doc.map_or(String::new(), |doc| format!("\n\n{doc}"));
                    let value = format!("```diffeo\n{}\n```{doc}", found.text);
                    json!({ "contents": { "kind": "markdown", "value": value }, "range": range(found.span) })
                }
                None => Value::Null,
            },
            "definition" => match session.at(module, at()).and_then(|found| found.definition) {
                Some(span) => self::location(session, span, utf8),
                None => Value::Null,
            },
            "references" => {
                let uses = session.uses(module, at());
                uses.iter().map(|span| json!({ "uri": uri, "range": range(*span) })).collect()
            }
            "documentHighlight" => {
                let uses = session.uses(module, at());
                uses.iter().map(|span| json!({ "range": range(*span) })).collect()
            }
            "prepareRename" if elsewhere(session, module, at()).is_some() => Value::Null,
            "prepareRename" => {
                let (at, uses) = (at(), session.uses(module, at()));
                let here = |span: &&Span| span.start as usize <= at && at <= span.end as usize;
                uses.iter().find(here).map_or(Value::Null, |span| range(*span))
            }
            "rename" => {
                let name = params["newName"].as_str().unwrap_or_default();
                let (parsed, wrong) = diffeo_syntax::parse_expression(file, name);
                let is_name = wrong.is_empty()
                    && parsed.exprs.len() == 1
                    && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'')
                    && name.starts_with(|c: char| c.is_lowercase() || c == '_');
                if !is_name {
                    return Err(format!("`{name}` is no name of a variable or definition"));
                }
                if let Some(file) = elsewhere(session, module, at()) {
                    return Err(format!("it is defined in {file}, and is renamed there"));
                }
                let changes = session.renamed(module, at(), name);
                if changes.is_empty() {
                    return Err("there is nothing to rename here".to_string());
                }
                let edits: Vec<Value> = changes
                    .iter()
                    .map(|(span, text)| json!({ "range": range(*span), "newText": text }))
                    .collect();
                json!({ "changes": { uri: edits } })
            }
            "documentSymbol" => {
                let symbols = session.symbols(module);
                symbols
                    .iter()
                    .map(|s| {
                        json!({
                            "name": s.name.as_str(),
                            "detail": s.ty,
                            "kind": symbol_kind(s.kind),
                            "range": range(s.spans[1]),
                            "selectionRange": range(s.spans[0]),
                        })
                    })
                    .collect()
            }
            "formatting" => match diffeo_syntax::format(file, text) {
                Ok(laid_out) if laid_out == text => json!([]),
                Ok(laid_out) => {
                    json!([{ "range": lines.range(0, text.len()), "newText": laid_out }])
                }
                // A text with errors stays as it is.
                Err(_) => Value::Null,
            },
            "foldingRange" => {
                let symbols = session.symbols(module);
                let lines_of = symbols.iter().map(|s| range(s.spans[1]));
                let folds = lines_of.filter(|r| r["start"]["line"] != r["end"]["line"]);
                folds
                    .map(
                        |r| json!({ "startLine": r["start"]["line"], "endLine": r["end"]["line"] }),
                    )
                    .collect()
            }
            "selectionRange" => {
                let positions = params["positions"].as_array().map_or(&[][..], Vec::as_slice);
                let tree = session.tree(module);
                let at = |p: &Value| selection::around(tree, lines, lines.offset(p));
                positions.iter().map(at).collect()
            }
            "semanticTokens/full" => tokens::all(session, module, lines, 0..text.len()),
            "semanticTokens/range" => {
                let (from, to) = (&params["range"]["start"], &params["range"]["end"]);
                tokens::all(session, module, lines, lines.offset(from)..lines.offset(to))
            }
            "inlayHint" => {
                // The types of definitions that do not say them.
                let symbols = session.symbols(module);
                let hints = symbols.iter().filter_map(|s| {
                    let ty = s.ty.as_ref().filter(|_| s.kind == SymbolKind::Constant)?;
                    let end = s.spans[0].end as usize;
                    let written = text.get(end..)?.trim_start().starts_with(':');
                    (!written).then(|| json!({ "position": lines.position(end), "label": format!(": {ty}"), "kind": 1 }))
                });
                hints.collect()
            }
            "codeAction" => {
                let wanted = &params["range"];
                let (from, to) = (lines.offset(&wanted["start"]), lines.offset(&wanted["end"]));
                let found = session.diagnostics();
                let here = found.iter().filter(|d| {
                    let span = d.primary.span;
                    span.file == file && span.start as usize <= to && from <= span.end as usize
                });
                here.filter_map(|d| fix(d, lines, uri)).collect()
            }
            "codeLens" => {
                let symbols = session.symbols(module);
                symbols.iter().filter(|s| s.differentiable).flat_map(|s| {
                    let lens = |title: &str, command: &str| {
                        json!({
                            "range": range(s.spans[0]),
                            "command": { "title": title, "command": command, "arguments": [uri, s.name.as_str()] },
                        })
                    };
                    [lens("check derivative", "diffeo.checkDerivative"), lens("show derivative", "diffeo.showDerivative")]
                }).collect()
            }
            "signatureHelp" => signature(session, module, text, at()),
            "completion" => {
                let at = at();
                let before = text.get(..at).unwrap_or_default();
                let word = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
                let of = word.strip_suffix('.').map(|rest| {
                    let start =
                        rest.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
                    &rest[start..]
                });
                let names = match of {
                    Some(name) => session.members(module, name),
                    None => session.names_at(module, at),
                };
                let items: Vec<Value> = names.iter().map(completion).collect();
                json!({ "isIncomplete": false, "items": items })
            }
            _ => Value::Null,
        })
    }
}

/// What is said where there is no answer in time.
fn unanswered(why: Exceeded) -> String {
    format!("{}, while this text was checked", why.message())
}

/// Whether the parameters that a request about a text needs are there.
fn check_parameters(what: &str, params: &Value) -> Result<(), Refusal> {
    let is_place = |place: &Value| {
        let number = |name: &str| place[name].as_u64().is_some_and(|n| n <= u64::from(u32::MAX));
        number("line") && number("character")
    };
    let is_range = |range: &Value| is_place(&range["start"]) && is_place(&range["end"]);
    let (sound, needs) = match what {
        "rename" if !params["newName"].is_string() => (false, "`newName` has to be a string"),
        "hover" | "definition" | "references" | "documentHighlight" | "rename"
        | "prepareRename" | "signatureHelp" | "completion" => {
            (is_place(&params["position"]), "`position` has to have a line and a character")
        }
        "semanticTokens/range" | "codeAction" => {
            (is_range(&params["range"]), "`range` has to have a start and an end")
        }
        "selectionRange" => {
            let places = params["positions"].as_array();
            let sound = places.is_some_and(|places| places.iter().all(is_place));
            (sound, "`positions` has to be an array of positions")
        }
        _ => (true, ""),
    };
    match sound {
        true => Ok(()),
        false => Err(Refusal::Parameter(needs.to_string())),
    }
}

/// Makes a change of `textDocument/didChange`: of a range, or without one of the whole text.
fn edit(text: &mut String, change: &Value, utf8: bool) {
    let Some(new) = change["text"].as_str() else { return };
    let range = &change["range"];
    if range.is_null() {
        *text = new.to_string();
        return;
    }
    let mut sources = SourceMap::default();
    let file = sources.add("", text.as_str());
    let lines = LineIndex { sources: &sources, file, utf8 };
    let (from, to) = (lines.offset(&range["start"]), lines.offset(&range["end"]));
    text.replace_range(from.min(to)..from.max(to), new);
}

fn published(uri: &str, version: Option<i64>, diagnostics: Vec<Value>) -> Value {
    let mut params = json!({ "uri": uri, "diagnostics": diagnostics });
    if let Some(version) = version {
        params["version"] = json!(version);
    }
    params
}

/// A diagnostic as the protocol has it, with columns in UTF-16 units, in the text of an address.
pub fn diagnostic(sources: &SourceMap, d: &Diagnostic, uri: &str) -> Value {
    message(sources, d, uri, false)
}

/// A diagnostic as the protocol has it.
fn message(sources: &SourceMap, d: &Diagnostic, uri: &str, utf8: bool) -> Value {
    let place = |span: Span| match span.is_none() {
        true => {
            json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } })
        }
        false => LineIndex { sources, file: span.file, utf8 }.span(span),
    };
    let mut text = d.message.clone();
    d.notes.iter().for_each(|note| text += &format!("\nnote: {note}"));
    let help = d.help.iter().map(|help| help.written(Spelling::CommandLine));
    help.for_each(|help| text += &format!("\nhelp: {help}"));
    let own = d.labels.iter().filter(|l| l.span.file == d.primary.span.file && !l.span.is_none());
    let related: Vec<Value> = own
        .map(
            |l| json!({ "location": { "uri": uri, "range": place(l.span) }, "message": l.message }),
        )
        .collect();
    json!({
        "range": place(d.primary.span),
        "severity": match d.severity { Severity::Error => 1, Severity::Warning => 2 },
        "code": d.code,
        "source": "diffeo",
        "message": text,
        "relatedInformation": related,
    })
}

/// The other file that defines what a name stands for.
fn elsewhere(session: &Session, module: ModuleId, at: usize) -> Option<String> {
    let span = session.at(module, at)?.definition?;
    let sources = session.sources();
    (span.file != session.file(module)).then(|| sources.name(span.file).to_string())
}

/// A place in whatever file it is.
fn location(session: &Session, span: Span, utf8: bool) -> Value {
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

fn symbol_kind(kind: SymbolKind) -> i32 {
    match kind {
        SymbolKind::Function => 12,
        SymbolKind::Constant => 14,
        SymbolKind::Variable => 13,
        SymbolKind::Type => 10,
        SymbolKind::Constructor => 22,
        SymbolKind::Module => 2,
    }
}

fn completion(s: &Symbol) -> Value {
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
