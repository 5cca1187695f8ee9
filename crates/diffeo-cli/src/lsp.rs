//! The language server on standard input and output: `diffeo lsp`.
//!
//! Here the messages come and go; [`diffeo_ide::Server`] knows the answers.

use diffeo_ide::{Refusal, Server};
use lsp_server::{Connection, ErrorCode, Message, Notification, Response};
use serde_json::json;

/// Runs the server until the client says that it is done.
///
/// # Errors
/// The client has broken off.
pub fn run() -> Result<(), String> {
    let (connection, threads) = Connection::stdio();
    let (id, params) = connection.initialize_start().map_err(|e| e.to_string())?;
    let encodings = &params["capabilities"]["general"]["positionEncodings"];
    let utf8 = encodings.as_array().is_some_and(|all| all.iter().any(|e| e == "utf-8"));
    let mut server = Server::new(utf8);
    let capabilities = json!({
        "capabilities": server.capabilities(),
        "serverInfo": { "name": "diffeo", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, capabilities).map_err(|e| e.to_string())?;
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(|e| e.to_string())? {
                    break;
                }
                let response = match server.answer(&request.method, &request.params) {
                    Ok(value) => Response::new_ok(request.id, value),
                    Err(Refusal::NoMethod) => {
                        let message = format!("there is no {}", request.method);
                        Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message)
                    }
                    Err(Refusal::Failed(message)) => {
                        Response::new_err(request.id, ErrorCode::RequestFailed as i32, message)
                    }
                };
                connection.sender.send(Message::Response(response)).map_err(|e| e.to_string())?;
            }
            Message::Notification(notification) => {
                for told in server.note(&notification.method, &notification.params) {
                    let method = "textDocument/publishDiagnostics".to_string();
                    let told = Message::Notification(Notification::new(method, told));
                    connection.sender.send(told).map_err(|e| e.to_string())?;
                }
            }
            Message::Response(_) => {}
        }
    }
    drop(connection);
    threads.join().map_err(|e| e.to_string())
}
