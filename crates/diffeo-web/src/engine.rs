//! The requests of a page.

use crate::run::{self, Bounds, Host};
use crate::show;
use diffeo_base::{Diagnostic, Severity};
use diffeo_front::query::SymbolKind;
use diffeo_front::{ModuleId, Session};
use diffeo_ide::{docs, Refusal, Server};
use serde_json::{json, Value};

/// What a page calls a program.
const NAME: &str = "program.deo";

/// Answers requests. Each has the text of the program, so a new engine answers as an old one does.
///
/// | `do` | further fields | answer |
/// |---|---|---|
/// | `lsp` | `method`, `params` of the Language Server Protocol | `result` or `error` |
/// | `check` | | `diagnostics`, `definitions` |
/// | `format` | | `text`, or null where the program has errors |
/// | `run` | `entry`, or none for `main`; `seconds`, `bytes`; `room`, the width of pictures in pixels | `values`, `messages`, `lines`; `plots`, the other entries that have some |
/// | `show` | `name`, `form`, `at` | `text`, `graph` or `gradient`; `messages` |
/// | `forms` | | `forms`: the forms of `show` |
/// | `doc` | `words` | `found`: entries of the library and the language, as `diffeo doc WORDS` finds them |
pub struct Engine {
    server: Server,
    /// The text that the server has.
    open: Option<String>,
    /// A session with the prelude, to be copied.
    fresh: Session,
    host: Host,
}

impl Engine {
    /// An engine in a browser, or in a test.
    pub fn new(host: Host) -> Engine {
        Engine { server: Server::new(false), open: None, fresh: Session::new(), host }
    }

    /// The answer to a request; an `error` where it is none.
    pub fn answer(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str::<Value>(request) {
            Ok(request) => self.about(&request),
            Err(error) => json!({ "error": format!("the request is not JSON: {error}") }),
        };
        answer.to_string()
    }

    fn about(&mut self, request: &Value) -> Value {
        let Some(text) = request["text"].as_str() else {
            return match request["do"].as_str() {
                Some("forms") => json!({ "forms": show::forms() }),
                Some("doc") => self.doc(request["words"].as_str().unwrap_or_default()),
                _ => json!({ "error": "the request has no text" }),
            };
        };
        match request["do"].as_str().unwrap_or_default() {
            "lsp" => {
                self.open(text);
                let mut params = request["params"].clone();
                params["textDocument"] = json!({ "uri": NAME });
                let method = request["method"].as_str().unwrap_or_default();
                match self.server.answer(method, &params) {
                    Ok(result) => json!({ "result": result }),
                    Err(Refusal::NoMethod) => json!({ "error": format!("there is no {method}") }),
                    Err(Refusal::Failed(why) | Refusal::Parameter(why)) => json!({ "error": why }),
                }
            }
            "check" => {
                let diagnostics = self.open(text);
                let (session, module) = self.loaded(text);
                json!({ "diagnostics": diagnostics, "definitions": definitions(&session, module) })
            }
            "format" => {
                self.open(text);
                let params = json!({ "textDocument": { "uri": NAME } });
                match self.server.answer("textDocument/formatting", &params) {
                    Ok(Value::Array(edits)) => match edits.first() {
                        Some(edit) => json!({ "text": edit["newText"] }),
                        None => json!({ "text": text }),
                    },
                    _ => json!({ "text": null }),
                }
            }
            "run" => {
                let (mut session, module) = self.loaded(text);
                let bounds = Bounds {
                    seconds: request["seconds"].as_f64().unwrap_or(f64::INFINITY),
                    bytes: request["bytes"].as_u64().map_or(usize::MAX, |bytes| bytes as usize),
                };
                let room = request["room"].as_f64().unwrap_or(f64::INFINITY);
                let entry = request["entry"].as_str().unwrap_or_default();
                let asked = run::RunRequest { entry, bounds, room };
                run::run(&mut session, module, self.host, &asked)
            }
            "show" => {
                let (mut session, module) = self.loaded(text);
                let of = |field: &str| request[field].as_str().unwrap_or_default().trim();
                let asked = show::ShowRequest { name: of("name"), form: of("form"), at: of("at") };
                show::show(&mut session, module, self.host, &asked)
            }
            other => json!({ "error": format!("there is no request `{other}`") }),
        }
    }

    /// Has the server know this text; what is wrong with it, the last time that it was new.
    fn open(&mut self, text: &str) -> Value {
        let document = json!({ "uri": NAME, "version": 0, "text": text });
        let told = match &self.open {
            None => self.server.note("textDocument/didOpen", &json!({ "textDocument": document })),
            Some(open) if open == text => {
                self.server.note("textDocument/didSave", &json!({ "textDocument": document }))
            }
            Some(_) => {
                let changes = json!([{ "text": text }]);
                let params = json!({ "textDocument": document, "contentChanges": changes });
                self.server.note("textDocument/didChange", &params)
            }
        };
        self.open = Some(text.to_string());
        told.first().map_or(json!([]), |told| told["diagnostics"].clone())
    }

    /// Searches the library and the language for these words; a name that is known has its own entry first.
    fn doc(&mut self, words: &str) -> Value {
        let mut found = docs::named(&mut self.fresh, words.trim());
        found.extend(docs::search(&mut self.fresh, words));
        let mut all: Vec<Value> = Vec::new();
        for entry in found.iter().map(docs::DocEntry::json) {
            if !all.contains(&entry) {
                all.push(entry);
            }
        }
        json!({ "found": all })
    }

    fn loaded(&self, text: &str) -> (Session, ModuleId) {
        let mut session = self.fresh.clone();
        let module = session.load_text(NAME, text);
        session.check();
        (session, module)
    }
}

/// The definitions of a program, for a list.
fn definitions(session: &Session, module: ModuleId) -> Vec<Value> {
    let all = session.symbols(module).into_iter().filter(|s| s.kind != SymbolKind::Type);
    all.map(|s| {
        let function = s.kind == SymbolKind::Function;
        json!({
            "name": s.name.as_str(), "type": s.ty, "function": function,
            "runnable": s.runnable, "differentiable": s.differentiable,
        })
    })
    .collect()
}

/// Messages, each with its text, its kind and, where it is in the program, its place.
pub(crate) fn messages(session: &Session, module: ModuleId, all: &[Diagnostic]) -> Vec<Value> {
    all.iter()
        .map(|d| {
            let severity = match d.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let mut told = diffeo_ide::diagnostic(session.sources(), d, NAME);
            told["severity"] = json!(severity);
            if d.primary.span.file != session.file(module) || d.primary.span.is_none() {
                told["range"] = Value::Null;
            }
            told
        })
        .collect()
}
