//! Any bytes through lexer, parser and printer.
#![no_main]

#[path = "../../crates/diffeo/tests/it/fuzzing/probe.rs"]
#[allow(dead_code)]
mod probe;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // A file that is not UTF-8 is refused before.
    if let Ok(text) = std::str::from_utf8(bytes) {
        probe::syntax(text);
    }
});
