//! The language server on standard input and output: `diffeo lsp`.
//!
//! Here the messages come and go; [`diffeo_ide::Server`] knows the answers. A message that is none, or not one of the
//! protocol, is answered by an error, and the next one is read.

mod frames;

use diffeo::{Limits, MemoryLimit};
use diffeo_ide::{Bounds, Refusal, Server};
use frames::{Frame, Frames};
use serde_json::{json, Value};
use std::io::{self, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;

/// How long an answer may take, unless the command line says it.
const TIME: Duration = Duration::from_secs(10);

/// How much memory the server may use, unless the command line says it: many times what large programs take.
const MEMORY: usize = 2 << 30;

/// Errors of JSON-RPC, and of the protocol.
const PARSE: i32 = -32700;
const REQUEST: i32 = -32600;
const METHOD: i32 = -32601;
const PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
const EARLY: i32 = -32002;
const FAILED: i32 = -32803;

/// Whether messages follow.
enum Next {
    Goes,
    Ends,
}

/// How far the client has come.
enum State {
    /// It has not said `initialize`.
    New,
    Goes(Box<Server>),
    /// It has said `shutdown`.
    Done,
}

struct Session<W> {
    output: W,
    state: State,
    bounds: Bounds,
}

/// Runs the server until the client says that it is done, or goes.
///
/// # Errors
/// The client has broken off.
pub fn run(limits: &Limits, timeout: Option<Duration>) -> Result<(), String> {
    let memory =
        limits.memory.map(|memory| MemoryLimit { bytes: memory.bytes.min(MEMORY), ..memory });
    let bounds = Bounds { time: Some(timeout.unwrap_or(TIME)), memory };
    let mut session = Session { output: io::stdout().lock(), state: State::New, bounds };
    let mut input = Frames::new(io::stdin().lock());
    loop {
        let next = match input.next().map_err(|error| format!("cannot read messages: {error}"))? {
            Frame::Message(text) => session.take(&text),
            Frame::Bad(why) => session.refuse(&Value::Null, PARSE, &why).map(|()| Next::Goes),
            Frame::End => Ok(Next::Ends),
        };
        match next {
            Ok(Next::Goes) => {}
            Ok(Next::Ends) => break,
            Err(error) => return Err(format!("nobody reads the answers: {error}")),
        }
    }
    match session.state {
        State::Done => Ok(()),
        State::New | State::Goes(_) => Err("the client has gone without `shutdown`".to_string()),
    }
}

impl<W: Write> Session<W> {
    fn send(&mut self, message: &Value) -> io::Result<()> {
        let text = message.to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.output.flush()
    }

    fn answer(&mut self, id: &Value, result: Value) -> io::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn refuse(&mut self, id: &Value, code: i32, why: &str) -> io::Result<()> {
        let error = json!({ "code": code, "message": why });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    /// Takes the text of a message.
    fn take(&mut self, text: &[u8]) -> io::Result<Next> {
        let message: Value = match serde_json::from_slice(text) {
            Ok(message) => message,
            Err(error) => {
                let why = match std::str::from_utf8(text) {
                    Ok(_) => format!("this is not JSON: {error}"),
                    Err(_) => "this is not UTF-8".to_string(),
                };
                return self.refuse(&Value::Null, PARSE, &why).map(|()| Next::Goes);
            }
        };
        let id = message.get("id");
        let sound = id.filter(|id| id.is_string() || id.is_i64() || id.is_u64());
        let known = sound.unwrap_or(&Value::Null);
        let params = message.get("params").unwrap_or(&Value::Null);
        let why = match (&message, message.get("method")) {
            (Value::Object(_), Some(Value::String(method))) => match (id, sound) {
                (None, _) => return self.note(method, params),
                (Some(_), None) => "the id of a request is a number or a string",
                (Some(_), Some(id)) if params.is_object() || params.is_null() => {
                    return self.request(id, method, params).map(|()| Next::Goes);
                }
                (Some(_), Some(id)) => {
                    let why = "the parameters of a request are an object";
                    return self.refuse(id, PARAMS, why).map(|()| Next::Goes);
                }
            },
            // An answer; the server asks nothing.
            (Value::Object(fields), None)
                if fields.contains_key("result") || fields.contains_key("error") =>
            {
                return Ok(Next::Goes);
            }
            (Value::Object(_), _) => "a request has a method, which is a string",
            _ => "a request is an object",
        };
        self.refuse(known, REQUEST, why).map(|()| Next::Goes)
    }

    fn request(&mut self, id: &Value, method: &str, params: &Value) -> io::Result<()> {
        match (method, &mut self.state) {
            ("initialize", State::New) => {
                let encodings = &params["capabilities"]["general"]["positionEncodings"];
                let utf8 = encodings.as_array().is_some_and(|all| all.iter().any(|e| e == "utf-8"));
                let server = Server::bounded(utf8, self.bounds);
                let told = json!({
                    "capabilities": server.capabilities(),
                    "serverInfo": { "name": "diffeo", "version": env!("CARGO_PKG_VERSION") },
                });
                self.state = State::Goes(Box::new(server));
                self.answer(id, told)
            }
            ("initialize", State::Goes(_) | State::Done) => {
                self.refuse(id, REQUEST, "`initialize` was sent before")
            }
            (_, State::New) => self.refuse(id, EARLY, "`initialize` comes first"),
            (_, State::Done) => self.refuse(id, REQUEST, "`shutdown` was sent before"),
            ("shutdown", State::Goes(_)) => {
                self.state = State::Done;
                self.answer(id, Value::Null)
            }
            (_, State::Goes(server)) => {
                match guarded(server, |server| server.answer(method, params)) {
                    Some(Ok(result)) => self.answer(id, result),
                    Some(Err(Refusal::NoMethod)) => {
                        self.refuse(id, METHOD, &format!("there is no {method}"))
                    }
                    Some(Err(Refusal::Parameter(why))) => self.refuse(id, PARAMS, &why),
                    Some(Err(Refusal::Failed(why))) => self.refuse(id, FAILED, &why),
                    None => self.refuse(id, INTERNAL, "this is a bug of Diffeo"),
                }
            }
        }
    }

    fn note(&mut self, method: &str, params: &Value) -> io::Result<Next> {
        match (method, &mut self.state) {
            ("exit", _) => return Ok(Next::Ends),
            (_, State::Goes(server)) => {
                let told = guarded(server, |server| server.note(method, params));
                for told in told.unwrap_or_default() {
                    let method = "textDocument/publishDiagnostics";
                    self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": told }))?;
                }
            }
            (_, State::New | State::Done) => {}
        }
        Ok(Next::Goes)
    }
}

/// Has the server do something; none if that was a bug of ours, after which it knows the texts that are open and no more.
fn guarded<R>(server: &mut Server, work: impl FnOnce(&mut Server) -> R) -> Option<R> {
    let done = catch_unwind(AssertUnwindSafe(|| work(server))).ok();
    if done.is_none() {
        server.forget();
    }
    done
}
