//! The language server: `diffeo lsp` speaks the Language Server Protocol 3.17 on standard input and output.
//!
//! Every change is checked anew on a copy of a session that has the prelude, which takes milliseconds: nothing is kept of
//! texts that are gone. Files that are open count as the editor shows them, also for those that import them. A request
//! for a text that has changed since is answered by the new text.

use diffeo::{ModuleId, Session};
use diffeo_base::{Diagnostic, FileId, Severity, SourceMap, Span};
use diffeo_front::query::{Symbol, SymbolKind};
use diffeo_syntax::ast::Item;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use serde_json::{json, Value};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Runs the server until the client says that it is done.
///
/// # Errors
/// The client has broken off.
pub fn run() -> Result<(), String> {
    let (connection, threads) = Connection::stdio();
    let (id, params) = connection.initialize_start().map_err(|e| e.to_string())?;
    let encodings = &params["capabilities"]["general"]["positionEncodings"];
    let utf8 = encodings.as_array().is_some_and(|all| all.iter().any(|e| e == "utf-8"));
    let capabilities = json!({
        "capabilities": {
            "positionEncoding": if utf8 { "utf-8" } else { "utf-16" },
            "textDocumentSync": { "openClose": true, "change": 1, "save": true },
            "hoverProvider": true,
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "renameProvider": { "prepareProvider": true },
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "documentFormattingProvider": true,
            "foldingRangeProvider": true,
            "inlayHintProvider": true,
            "codeActionProvider": true,
            "codeLensProvider": {},
            "signatureHelpProvider": { "triggerCharacters": ["(", ","] },
            "completionProvider": { "triggerCharacters": ["."] },
        },
        "serverInfo": { "name": "diffeo", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, capabilities).map_err(|e| e.to_string())?;
    let mut server =
        Server { fresh: Session::new(), documents: HashMap::new(), checked: HashMap::new(), utf8 };
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(|e| e.to_string())? {
                    break;
                }
                let response = server.answer(request);
                connection.sender.send(Message::Response(response)).map_err(|e| e.to_string())?;
            }
            Message::Notification(notification) => {
                for told in server.note(notification) {
                    connection
                        .sender
                        .send(Message::Notification(told))
                        .map_err(|e| e.to_string())?;
                }
            }
            Message::Response(_) => {}
        }
    }
    drop(connection);
    threads.join().map_err(|e| e.to_string())
}

/// A text that is open.
struct Document {
    path: Option<PathBuf>,
    text: String,
    version: i64,
}

/// A text, checked.
struct Checked {
    session: Session,
    module: ModuleId,
}

struct Server {
    /// A session with the prelude, to be copied.
    fresh: Session,
    documents: HashMap<String, Document>,
    /// By address, what was found out about the texts as they are.
    checked: HashMap<String, Checked>,
    /// Whether columns count bytes, not units of UTF-16.
    utf8: bool,
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
    /// The text of an address, checked.
    fn checked(&mut self, uri: &str) -> Option<&mut Checked> {
        if !self.checked.contains_key(uri) {
            let document = self.documents.get(uri)?;
            let mut session = self.fresh.clone();
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
            self.checked.insert(uri.to_string(), Checked { session, module });
        }
        self.checked.get_mut(uri)
    }

    fn note(&mut self, notification: Notification) -> Vec<Notification> {
        let Notification { method, params } = notification;
        let document = &params["textDocument"];
        let Some(uri) = document["uri"].as_str().map(str::to_string) else { return Vec::new() };
        match method.as_str() {
            "textDocument/didOpen" => {
                let text = document["text"].as_str().unwrap_or_default().to_string();
                let version = document["version"].as_i64().unwrap_or(0);
                let path = path_of(&uri);
                self.documents.insert(uri.clone(), Document { path, text, version });
            }
            "textDocument/didChange" => {
                let changes = params["contentChanges"].as_array();
                let text = changes.and_then(|all| all.last()).and_then(|c| c["text"].as_str());
                if let (Some(open), Some(text)) = (self.documents.get_mut(&uri), text) {
                    open.text = text.to_string();
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
    fn diagnose(&mut self, uri: &str) -> Option<Notification> {
        let (utf8, version) = (self.utf8, self.documents.get(uri)?.version);
        let checked = self.checked(uri)?;
        let session = &checked.session;
        let file = session.file(checked.module);
        let found = session.diagnostics();
        let own = found.iter().filter(|d| d.primary.span.file == file || d.primary.span.is_none());
        let all = own.map(|d| message(session.sources(), d, uri, utf8)).collect();
        Some(published(uri, Some(version), all))
    }

    fn answer(&mut self, request: Request) -> Response {
        let Request { id, method, params } = request;
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
            "inlayHint",
            "codeAction",
            "codeLens",
            "signatureHelp",
            "completion",
        ];
        let result = match method.strip_prefix("textDocument/") {
            Some(what) if known.contains(&what) => self.about(what, &params),
            _ if method == "workspace/symbol" => Ok(self.workspace_symbols(&params)),
            _ => {
                let message = format!("there is no {method}");
                return Response::new_err(id, ErrorCode::MethodNotFound as i32, message);
            }
        };
        match result {
            Ok(value) => Response::new_ok(id, value),
            Err(message) => Response::new_err(id, ErrorCode::RequestFailed as i32, message),
        }
    }

    /// The answer to a request about a text; null where nothing is known.
    fn about(&mut self, what: &str, params: &Value) -> Result<Value, String> {
        let Some(uri) = params["textDocument"]["uri"].as_str().map(str::to_string) else {
            return Ok(Value::Null);
        };
        let utf8 = self.utf8;
        let Some(Checked { session, module }) = self.checked(&uri) else { return Ok(Value::Null) };
        let module = *module;
        let sources = session.sources();
        let file = session.file(module);
        let text = sources.text(file);
        let lines = Lines { sources, file, utf8 };
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
                here.filter_map(|d| fix(d, lines, &uri)).collect()
            }
            "codeLens" => {
                let symbols = session.symbols(module);
                let functions = symbols.iter().filter(|s| {
                    s.kind == SymbolKind::Function
                        && s.ty.as_ref().is_some_and(|ty| ty.contains("Real"))
                });
                functions.flat_map(|s| {
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

    fn workspace_symbols(&mut self, params: &Value) -> Value {
        let query = params["query"].as_str().unwrap_or_default().to_lowercase();
        let utf8 = self.utf8;
        let open: Vec<String> = self.documents.keys().cloned().collect();
        let mut all = Vec::new();
        for uri in open {
            let Some(Checked { session, module }) = self.checked(&uri) else { continue };
            for s in session.symbols(*module) {
                if s.name.to_lowercase().contains(&query) {
                    all.push(json!({
                        "name": s.name.as_str(),
                        "kind": symbol_kind(s.kind),
                        "location": location(session, s.spans[0], utf8),
                    }));
                }
            }
        }
        Value::Array(all)
    }
}

fn published(uri: &str, version: Option<i64>, diagnostics: Vec<Value>) -> Notification {
    let mut params = json!({ "uri": uri, "diagnostics": diagnostics });
    if let Some(version) = version {
        params["version"] = json!(version);
    }
    Notification::new("textDocument/publishDiagnostics".to_string(), params)
}

/// A diagnostic as the protocol has it.
fn message(sources: &SourceMap, d: &Diagnostic, uri: &str, utf8: bool) -> Value {
    let place = |span: Span| match span.is_none() {
        true => {
            json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } })
        }
        false => Lines { sources, file: span.file, utf8 }.span(span),
    };
    let mut text = d.message.clone();
    d.notes.iter().for_each(|note| text += &format!("\nnote: {note}"));
    d.help.iter().for_each(|help| text += &format!("\nhelp: {help}"));
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

/// A place in whatever file it is.
fn location(session: &Session, span: Span, utf8: bool) -> Value {
    let Some(path) = session.module_of(span.file).and_then(|module| session.path(module)) else {
        return Value::Null;
    };
    let lines = Lines { sources: session.sources(), file: span.file, utf8 };
    json!({ "uri": uri_of(path), "range": lines.span(span) })
}

/// A change that a message's help names: a name that was meant, or an import.
fn fix(d: &Diagnostic, lines: Lines<'_>, uri: &str) -> Option<Value> {
    let help = d.help.as_ref()?;
    let quoted = |after: &str| {
        let rest = &help[help.find(after)? + after.len()..];
        rest.split_once('`').map(|(name, _)| name.to_string())
    };
    let span = d.primary.span;
    let (title, edit) = if let Some(name) = quoted("did you mean `") {
        let range = lines.span(span);
        (format!("write `{name}`"), json!({ "range": range, "newText": name }))
    } else if let Some(import) = quoted("put `").filter(|text| text.starts_with("import ")) {
        // After the imports that there are.
        let (parsed, _) = diffeo_syntax::parse(span.file, lines.text());
        let imports = parsed.items.iter().filter_map(|item| match item {
            Item::Import(import) => Some(import.span.end as usize),
            Item::Type(_) | Item::Def(_) => None,
        });
        let at = imports.max().map_or(0, |end| lines.next_line(end));
        (
            format!("add `{import}`"),
            json!({ "range": lines.range(at, at), "newText": format!("{import}\n") }),
        )
    } else {
        return None;
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
                if !label.contains("->") {
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

/// Positions in a file as the protocol counts them.
#[derive(Clone, Copy)]
struct Lines<'s> {
    sources: &'s SourceMap,
    file: FileId,
    /// Columns are in bytes; in UTF-16 units otherwise.
    utf8: bool,
}

impl<'s> Lines<'s> {
    fn text(self) -> &'s str {
        self.sources.text(self.file)
    }

    fn width(self, c: char) -> usize {
        if self.utf8 {
            c.len_utf8()
        } else {
            c.len_utf16()
        }
    }

    fn position(self, offset: usize) -> Value {
        let offset = offset.min(self.text().len());
        let line = self.sources.line_index(self.file, offset);
        let start = self.sources.line_range(self.file, line).map_or(0, |range| range.start);
        let before = self.text().get(start..offset).unwrap_or("");
        json!({ "line": line, "character": before.chars().map(|c| self.width(c)).sum::<usize>() })
    }

    fn range(self, from: usize, to: usize) -> Value {
        json!({ "start": self.position(from), "end": self.position(to) })
    }

    fn span(self, span: Span) -> Value {
        self.range(span.start as usize, span.end as usize)
    }

    /// The byte of a position; the end of its line if it is beyond that.
    fn offset(self, position: &Value) -> usize {
        let line = position["line"].as_u64().unwrap_or(0) as usize;
        let column = position["character"].as_u64().unwrap_or(0) as usize;
        let Some(range) = self.sources.line_range(self.file, line) else {
            return self.text().len();
        };
        let (mut at, mut units) = (range.start, 0);
        for c in self.text()[range].chars().take_while(|c| *c != '\n') {
            if units >= column {
                break;
            }
            units += self.width(c);
            at += c.len_utf8();
        }
        at
    }

    /// The start of the line after a byte.
    fn next_line(self, offset: usize) -> usize {
        let line = self.sources.line_index(self.file, offset);
        self.sources.line_range(self.file, line).map_or(0, |range| range.end)
    }
}
