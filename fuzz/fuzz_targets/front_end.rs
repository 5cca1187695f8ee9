//! Any text through names, types, patterns and Core.
#![no_main]

#[path = "../../crates/diffeo/tests/it/fuzzing/probe.rs"]
#[allow(dead_code)]
mod probe;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    probe::front_end(text);
});
