//! The server: which texts are open, and what is asked about them.
//!
//! Every change is checked anew on a copy of a session that has the library, which takes milliseconds: nothing is kept of
//! texts that are gone. Files that are open count as the editor shows them, also for those that import them. A request
//! for a text that has changed since is answered by the new text. What takes too long, or too much memory, ends, and is
//! told of the text until that changes.

use crate::lines::LineIndex;
use crate::requests::{self, location, symbol_kind, Request, METHODS};
use diffeo_base::{bounded, Diagnostic, Severity, SourceMap, Span, Spelling};
use diffeo_calculus::eval::{Exceeded, Limits, MemoryLimit};
use diffeo_front::{ModuleId, Session};
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
pub(crate) fn uri_of(path: &Path) -> String {
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
        let mut all = json!({
            "positionEncoding": if self.utf8 { "utf-8" } else { "utf-16" },
            "textDocumentSync": { "openClose": true, "change": 2, "save": true },
            "workspaceSymbolProvider": true,
        });
        for (name, options) in METHODS.iter().filter_map(|method| method.capability) {
            all[name] = options();
        }
        all
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
        let method = requests::named(method).ok_or(Refusal::NoMethod)?;
        let Some(uri) = params["textDocument"]["uri"].as_str() else {
            return Err(Refusal::Parameter("`textDocument.uri` has to be a string".to_string()));
        };
        method.check(params).map_err(|why| Refusal::Parameter(why.to_string()))?;
        let (utf8, bounds) = (self.utf8, self.bounds);
        match self.checked(uri) {
            None => Ok(Value::Null),
            Some(Err(why)) => Err(Refusal::Failed(unanswered(*why))),
            Some(Ok(CheckedText { session, module })) => {
                let request = Request { session, module: *module, uri, params, utf8 };
                let answer = bounds.within(|| (method.answer)(&request));
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

/// What is said where there is no answer in time.
fn unanswered(why: Exceeded) -> String {
    format!("{}, while this text was checked", why.message())
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
