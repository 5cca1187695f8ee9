//! Programs run to their values. The first byte says how: from 128 the others are choices for the generator
//! of well-typed programs (from 192 of functions to differentiate), otherwise they are the program's text.
#![no_main]

#[path = "../../crates/diffeo/tests/it/fuzzing/mod.rs"]
#[allow(dead_code)]
mod fuzzing;

use arbitrary::Unstructured;
use diffeo::{Kinks, Limits, MemoryLimit, Options};
use diffeo_memory::in_use;
use fuzzing::derivatives::derivatives;
use fuzzing::generate::{differentiable, program, Choices};
use fuzzing::probe;
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

#[global_allocator]
static MEMORY: diffeo_memory::Counting = diffeo_memory::Counting;

/// Shows a generated program that is to be looked at.
fn look(text: &str) {
    if std::env::var_os("FUZZ_SHOW").is_some() {
        println!("{text}");
    }
}

/// What a program may take.
const TIME: Duration = Duration::from_millis(200);
const BYTES: usize = 400 << 20;

struct Bytes<'a>(Unstructured<'a>);

impl Choices for Bytes<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.0.int_in_range(0..=n - 1).unwrap_or(0)
    }
}

fn options(kinks: Kinks) -> Options {
    let memory = MemoryLimit { bytes: in_use() + BYTES, in_use };
    probe::options(kinks, &Limits { memory: Some(memory), ..Limits::default() }, TIME)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((how, rest)) = bytes.split_first() else { return };
    let kinks = match how % 3 {
        0 => Kinks::Ignore,
        1 => Kinks::Warn,
        _ => Kinks::Error,
    };
    let mut choices = Bytes(Unstructured::new(rest));
    let fuel = 60;
    match how {
        0..128 => {
            let Ok(text) = std::str::from_utf8(rest) else { return };
            if let Some((mut session, module)) = probe::front_end(text) {
                probe::run(&mut session, module, options(kinks));
            }
        }
        128..192 => {
            let text = program(&mut choices, fuel);
            look(&text);
            let Some((mut session, module)) = probe::front_end(&text) else {
                panic!("a well-typed program is refused:\n{text}")
            };
            probe::run(&mut session, module, options(kinks));
        }
        192.. => {
            let text = differentiable(&mut choices, fuel);
            look(&text);
            let sound = probe::front_end(&text).is_some();
            assert!(sound, "a well-typed program is refused:\n{text}");
            derivatives(&text, "f", "point", u64::from(*how), &|| options(Kinks::Ignore));
        }
    }
});
