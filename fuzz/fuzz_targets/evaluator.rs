//! Programs run to their values: any text.
#![no_main]

#[path = "../../crates/diffeo/tests/fuzzing/probe.rs"]
#[allow(dead_code)]
mod probe;

use cap::Cap;
use diffeo::{Kinks, Limits, MemoryLimit};
use libfuzzer_sys::fuzz_target;
use std::alloc::System;
use std::time::Duration;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

const TIME: Duration = Duration::from_millis(200);

fuzz_target!(|bytes: &[u8]| {
    let memory = MemoryLimit { bytes: MEMORY.allocated() + (300 << 20), in_use: || MEMORY.allocated() };
    let limits = Limits { memory: Some(memory), ..Limits::default() };
    let Some((how, rest)) = bytes.split_first() else { return };
    let kinks = match how % 3 {
        0 => Kinks::Ignore,
        1 => Kinks::Warn,
        _ => Kinks::Error,
    };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let Some((mut session, module)) = probe::front_end(text) else { return };
    probe::run(&mut session, module, probe::options(kinks, &limits, TIME));
});
