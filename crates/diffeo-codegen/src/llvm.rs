//! Low to machine code by LLVM: the text of its intermediate representation goes in, an object comes out and is
//! loaded into this process.
//!
//! | file | what is in it |
//! |---|---|
//! | `library.rs` | finds and loads LLVM |
//! | `api.rs` | the functions of its C interface |
//! | `emit.rs`, `emit/` | Low as text |
//! | `compile.rs` | the text to an object |
//! | `load.rs` | an object to code that can be called |
//!
//! Objects refer to the runtime by name and hold no addresses, so they can be kept on disk.

mod api;
mod compile;
mod emit;
mod library;
mod load;

pub use library::{library, Library, Missing};

use crate::cache::Cache;
use crate::engine::{stack_margin, CompileError, Compiled, Cpu, Raises};
use crate::low::Module;
use crate::math;
use crate::runtime;
use crate::scratch;
use compile::{Machine, Object};
use std::fmt::Display;
use std::sync::Arc;

/// How to compile.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The instructions that may be used.
    pub cpu: Cpu,
    /// Without the optimisations that take time.
    pub quick: bool,
    /// Where objects are kept, if they are.
    pub cache: Option<Cache>,
    /// Whether loops run in lanes wherever that is possible, even if it does not pay: for tests.
    pub eager: bool,
}

/// What is wanted as text.
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

fn found() -> Result<&'static Library, CompileError> {
    library().map_err(|missing| CompileError::Unsupported(missing.to_string()))
}

/// What LLVM gets.
struct Input {
    text: String,
    /// Whether it is compiled quickly rather than well.
    quick: bool,
    raises: Raises,
    imports: Vec<runtime::Function>,
}

fn input(machine: &Machine, module: &Module, options: &Options) -> Input {
    let (eager, quick) = (options.eager, options.quick);
    // Copying and dropping nested statements takes a level of the stack for each.
    stacker::grow(compile::STACK, || {
        let mut module = module.clone();
        let mut shared = Vec::new();
        if machine.has_fma {
            shared = math::share(&mut module);
            math::expand(&mut module);
        }
        let planned = emit::planned(&module, machine.vector_width, eager);
        scratch::reuse(&mut module, &|f, step| planned.contains(&(f, step.index)));
        let emitted = emit::emit(&module, &shared, machine.vector_width, eager);
        let emit::Text { text, raises, imports, huge } = emitted;
        Input { text, quick: quick || huge, raises, imports }
    })
}

/// Compiles a program.
///
/// # Errors
/// There is no LLVM, or it does not know this processor.
pub fn compile(module: &Arc<Module>, options: &Options) -> Result<Compiled, CompileError> {
    let library = found()?;
    let machine = Machine::new(library, options.cpu).map_err(unsupported)?;
    let input = input(&machine, module, options);
    let key = machine.key(input.quick, &input.text);
    let kept = options.cache.as_ref().and_then(|cache| cache.read::<Object>(&key));
    let object = match kept {
        Some(object) => object,
        None => {
            let object = machine.object(&input.text, input.quick).map_err(unsupported)?;
            if let Some(cache) = &options.cache {
                cache.write(&key, &object);
            }
            object
        }
    };
    let mut frames = vec![emit::SMALL_FRAME; module.functions.len() + 1];
    for (function, size) in &object.frames {
        if let Some(frame) = frames.get_mut(*function) {
            *frame = (*frame).max(*size);
        }
    }
    let margin = stack_margin(module, &frames);
    let (code, entry) = load::load(library, &object.bytes, &input.imports).map_err(unsupported)?;
    // SAFETY: the object was made from the module, by this or an earlier version of the same code with the
    // same text, and `code` keeps it in memory; the entry has this convention (`emit::entry`).
    Ok(unsafe { Compiled::new(module.clone(), input.raises.list, entry, margin, Box::new(code)) })
}

/// The program as text.
///
/// # Errors
/// There is no LLVM, or it does not know this processor.
pub fn text(module: &Module, options: &Options, stage: Stage) -> Result<String, CompileError> {
    let library = found()?;
    let machine = Machine::new(library, options.cpu).map_err(unsupported)?;
    let input = input(&machine, module, options);
    match stage {
        Stage::Emitted => Ok(input.text),
        Stage::Optimised => machine.optimised(&input.text, input.quick).map_err(unsupported),
        Stage::Assembly => machine.assembly(&input.text, input.quick).map_err(unsupported),
    }
}
