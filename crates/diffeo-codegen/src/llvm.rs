//! The back end LLVM: Low to the text of LLVM's intermediate representation, and that to an object, which is loaded
//! into this process.
//!
//! | file | what is in it |
//! |---|---|
//! | `library.rs` | finds and loads LLVM |
//! | `api.rs` | the functions of its C interface, and of llvmlite |
//! | `interface.rs`, `llvm_c.rs`, `llvmlite.rs` | what is asked of an LLVM, by either |
//! | `fuse.rs` | which products are fused with sums |
//! | `emit.rs`, `emit/` | Low as text |
//! | `compile.rs` | a text to an object |
//! | `frames.rs` | how much of the stack its functions take |
//! | `load.rs` | objects to code that can be called |
//!
//! Objects refer to the runtime by name and contain no addresses, so they can be kept on disk.

mod api;
mod compile;
mod emit;
mod frames;
mod fuse;
mod interface;
mod library;
mod llvm_c;
mod llvmlite;
mod load;

pub use library::{also_look_in, library, LlvmLibrary, Missing};

use crate::cache::Cache;
use crate::engine::{stack_margin, CompileError, Compiled, Cpu};
use crate::low::opt::scratch;
use crate::low::LowModule;
use crate::math;
use crate::process::{threads, OfProcess};
use compile::{Object, TargetMachine};
use diffeo_calculus::eval::Limits;
use emit::ModuleText;
use rayon::prelude::*;
use rayon::ThreadPool;
use std::fmt::Display;
use std::sync::Arc;

/// How to compile.
#[derive(Clone, Debug, Default)]
pub struct LlvmOptions {
    /// The instructions that may be used.
    pub cpu: Cpu,
    /// Whether to leave out the optimisations that take time.
    pub quick: bool,
    /// The cache for objects, if they are kept.
    pub cache: Option<Cache>,
    /// Whether to run loops in lanes and to cut programs into parts wherever that is possible, even if it does not pay:
    /// for tests.
    pub eager: bool,
}

/// The stage whose text is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The intermediate representation as it is given to LLVM.
    Emitted,
    /// After LLVM's optimisations.
    Optimised,
    /// Instructions of the processor.
    Assembly,
}

fn unsupported(reason: impl Display) -> CompileError {
    CompileError::Unsupported(format!("LLVM: {reason}"))
}

fn found() -> Result<&'static LlvmLibrary, CompileError> {
    library().map_err(|missing| CompileError::Unsupported(missing.to_string()))
}

fn input(machine: &TargetMachine, module: &LowModule, options: &LlvmOptions) -> emit::ProgramText {
    // Copying and dropping nested statements takes a level of the stack for each.
    stacker::grow(compile::STACK, || {
        let mut module = module.clone();
        let shared = math::share(&mut module);
        math::expand(&mut module);
        fuse::fuse(&mut module);
        let planned = emit::planned(&module, options.eager);
        scratch::reuse(&mut module, &|f, step| planned.contains(&(f, step.index)));
        emit::emit(&module, &shared, machine.vector_width, options.eager)
    })
}

/// Compiles a program.
///
/// # Errors
/// There is no LLVM, or it does not know this processor.
pub fn compile(module: &Arc<LowModule>, options: &LlvmOptions) -> Result<Compiled, CompileError> {
    let library = found()?;
    let machine = TargetMachine::new(library, options.cpu).map_err(unsupported)?;
    let input = input(&machine, module, options);
    let objects = objects(&machine, &input.parts, options)?;
    let mut frames = vec![emit::SMALL_FRAME; module.functions.len() + 1];
    for (function, size) in objects.iter().flat_map(|object| &object.frames) {
        if let Some(frame) = frames.get_mut(*function) {
            *frame = (*frame).max(*size);
        }
    }
    let margin = stack_margin(module, &frames);
    let (code, entry) = load::load(library, &objects, &input.imports).map_err(unsupported)?;
    // SAFETY: the objects were made from the module, by this or an earlier version of the same code with the
    // same texts, and `code` keeps it in memory; the entry has this convention (`emit::entry`).
    Ok(unsafe { Compiled::new(module.clone(), input.raises.list, entry, margin, code) })
}

/// The threads that compile.
static COMPILERS: OfProcess<Option<ThreadPool>> =
    OfProcess::new(|| threads(Limits::default().threads(), "diffeo-llvm"));

/// An object for each part, made on several threads unless it was kept.
fn objects(
    machine: &TargetMachine,
    parts: &[ModuleText],
    options: &LlvmOptions,
) -> Result<Vec<Object>, CompileError> {
    let object = |part: &ModuleText| -> Result<Object, String> {
        let quick = options.quick || part.huge;
        let key = machine.key(quick, &part.text);
        let kept = options.cache.as_ref().and_then(|cache| cache.read(&key));
        if let Some(object) = kept {
            return Ok(object);
        }
        let object = machine.object(&part.text, quick)?;
        if let Some(cache) = &options.cache {
            cache.write(&key, &object);
        }
        Ok(object)
    };
    let objects: Result<Vec<Object>, String> = match parts {
        [part] => object(part).map(|object| vec![object]),
        _ => match COMPILERS.get() {
            Some(pool) => pool.install(|| parts.par_iter().map(object).collect()),
            None => parts.iter().map(object).collect(),
        },
    };
    objects.map_err(unsupported)
}

/// The program as text.
///
/// # Errors
/// There is no LLVM, or it does not know this processor.
pub fn text(
    module: &LowModule,
    options: &LlvmOptions,
    stage: Stage,
) -> Result<String, CompileError> {
    let library = found()?;
    let machine = TargetMachine::new(library, options.cpu).map_err(unsupported)?;
    let input = input(&machine, module, options);
    let part = |part: &ModuleText| {
        let quick = options.quick || part.huge;
        match stage {
            Stage::Emitted => Ok(part.text.clone()),
            Stage::Optimised => machine.optimised(&part.text, quick).map_err(unsupported),
            Stage::Assembly => machine.assembly(&part.text, quick).map_err(unsupported),
        }
    };
    let parts: Result<Vec<String>, _> = input.parts.iter().map(part).collect();
    Ok(parts?.join("\n"))
}
