//! Programs in Cranelift's code that are kept on disk from one run to the next, found by their Core.
//!
//! What always holds: code is of exactly the program, the options, the processor and the build of Diffeo that ask for
//! it; all of that is the key, and lies beside the code. Whatever goes wrong with files costs time, nothing else.

use super::engine::{Engine, How};
use crate::pipeline;
use diffeo_array::ir::Module as Flat;
use diffeo_calculus::term::{GlobalId, Program};
use diffeo_codegen::cache::Cache;
use diffeo_codegen::cranelift::{self, MachineCode};
use diffeo_codegen::engine::Compiled;
use diffeo_codegen::image;
use diffeo_codegen::low;
use diffeo_lower::value::Layout;
use diffeo_lower::LowerOptions;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where the code of a program is kept.
pub(super) struct CacheEntry {
    cache: Cache,
    key: Vec<u8>,
}

/// What is kept; behind it comes the code.
#[derive(Serialize)]
struct Kept<'k> {
    layout: &'k Layout,
    flat: &'k Flat,
    /// Without its functions.
    low: &'k low::LowModule,
    code: &'k MachineCode,
}

/// The same, read.
#[derive(Deserialize)]
struct ReadBack {
    layout: Layout,
    flat: Flat,
    low: low::LowModule,
    code: MachineCode,
}

impl CacheEntry {
    /// That of a definition's code, if it is kept and the engine begins with Cranelift's.
    pub fn of(
        program: &Program,
        entry: GlobalId,
        options: LowerOptions,
        how: How,
    ) -> Option<CacheEntry> {
        let usual = pipeline::left_out().is_empty();
        if !how.keep || !usual || !matches!(how.engine, Engine::Auto | Engine::JIT) {
            return None;
        }
        let processor = cranelift::processor(how.cpu)?;
        let build = image::build()?;
        let key = (build, processor, how.cpu, how.engine.name(), options, entry, program);
        Some(CacheEntry { key: Cache::key(&key)?, cache: Cache::open()? })
    }

    /// The program, if it is there.
    pub fn find(&self) -> Option<(Layout, Compiled)> {
        let ReadBack { layout, flat, mut low, code } = self.cache.read(&self.key)?;
        low.flat = Arc::new(flat);
        Some((layout, code.load(Arc::new(low)).ok()?))
    }

    /// Keeps the program.
    pub fn keep(&self, layout: &Layout, low: &low::LowModule, code: &MachineCode) {
        self.cache.write(&self.key, &Kept { layout, flat: &low.flat, low, code });
    }
}
