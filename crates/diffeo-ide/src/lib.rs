//! What editors ask about programs: the Language Server Protocol 3.17 as functions from JSON to JSON.
//!
//! [`Server`] has no transport: `diffeo lsp` moves the messages through pipes, the playground through a worker's
//! messages, and the kernel for notebooks calls it.
//!
//! | file | what is in it |
//! |---|---|
//! | `server.rs` | open texts, notifications |
//! | `requests.rs` | the table of requests, and their handlers |
//! | `docs.rs` | names of the library and the language, and searches for them |
//! | `lines.rs` | positions as the protocol counts them |
//! | `tokens.rs` | semantic tokens |
//! | `selection.rs` | selection ranges |
//! | `whole.rs` | whether a text ends in the middle of a definition |

pub mod docs;
mod lines;
mod requests;
mod selection;
mod server;
mod tokens;
mod whole;

pub use server::{diagnostic, Bounds, Refusal, Server};
pub use whole::is_unfinished;
