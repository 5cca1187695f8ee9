//! The way of a program from Core to code. The lists of passes are `opt::EARLY` (before derivatives, within `lower`),
//! `opt::PASSES` and `low::opt::PASSES`.
//!
//! ```text
//! Core ──lower──▶ Flat ──opt::PASSES──▶ Flat ──▶ the evaluator of Flat
//!                                            ──memory──▶ Low ──low::opt::PASSES──▶ machine code, by a back end
//! ```
//!
//! A pass is a function from modules to modules that cannot fail. In debug builds every module is linted.

use diffeo_array::ir::walk::size;
use diffeo_array::ir::Module;
use diffeo_calculus::eval::Limits;
use diffeo_codegen::cache::Cache;
use diffeo_codegen::engine::{CompileError, Compiled, Cpu};
use diffeo_codegen::{c, cranelift, llvm, low, memory};
pub use diffeo_lower::passes::{flat, flat_with, left_out, passes, PassRun};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a step of a program's way took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Its name.
    pub step: &'static str,
    /// How long it took.
    pub time: Duration,
    /// How many statements the program had after it, where that is known.
    pub operations: Option<usize>,
}

/// Does a step, and notes how long it took.
pub fn timed<T>(step: &'static str, times: &mut Vec<Timing>, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    times.push(Timing { step, time: start.elapsed(), operations: None });
    done
}

impl Timing {
    /// That of a pass, with the operations after it, if they are to be counted.
    pub fn of(step: &PassRun<'_>, counted: bool) -> Timing {
        let functions = step.module.functions.iter();
        let operations = || functions.map(|function| size(&function.body, usize::MAX)).sum();
        Timing { step: step.pass, time: step.time, operations: counted.then(operations) }
    }
}

/// What makes machine code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// Cranelift.
    Jit,
    /// LLVM, where there is one.
    Llvm,
    /// The system's C compiler.
    C,
}

impl Backend {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Jit => "jit",
            Backend::Llvm => "llvm",
            Backend::C => "c",
        }
    }

    /// Options of the lowering to Low. Arrays that each step makes for itself are reused after lanes are planned, which have to
    /// see them.
    pub fn lowering(self) -> memory::MemoryOptions {
        match self {
            Backend::C => memory::MemoryOptions { reuse: true, ..Default::default() },
            // Copies of steps that may run in lanes take long to compile.
            Backend::Jit => memory::MemoryOptions { beside: 8, ..Default::default() },
            Backend::Llvm => memory::MemoryOptions::default(),
        }
    }
}

/// The names of the steps to Low and over it.
pub fn low_passes() -> impl Iterator<Item = &'static str> {
    memory::steps()
}

/// The program of Low for one of Flat.
pub fn low(module: impl Into<Arc<Module>>, options: memory::MemoryOptions) -> Arc<low::LowModule> {
    low_seeing(module, options, &mut |_, _| {})
}

/// As [`low`]; `see` is shown the module after each pass.
pub fn low_seeing(
    module: impl Into<Arc<Module>>,
    options: memory::MemoryOptions,
    see: &mut dyn FnMut(&'static str, &low::LowModule),
) -> Arc<low::LowModule> {
    Arc::new(memory::lower_seeing(module.into(), options, &mut |pass, module| {
        if cfg!(debug_assertions) {
            let violations = low::lint::lint(module);
            assert!(
                violations.is_empty(),
                "`{pass}` made a module of Low that does not lint:\n{}\n{}",
                violations.join("\n"),
                low::print::print(module)
            );
        }
        see(pass, module);
    }))
}

/// As [`low`], noting how long it took.
pub fn timed_low(
    module: impl Into<Arc<Module>>,
    options: memory::MemoryOptions,
    times: &mut Vec<Timing>,
) -> Arc<low::LowModule> {
    let start = Instant::now();
    let module = low(module, options);
    let (time, operations) = (start.elapsed(), Some(module.statements()));
    times.push(Timing { step: "memory", time, operations });
    module
}

/// Machine code for a program of Low. Tools that are other programs keep to the limits.
///
/// # Errors
/// The back end is not there, or cannot compile the program, or a limit is reached.
pub fn compile(
    module: &Arc<low::LowModule>,
    backend: Backend,
    cpu: Cpu,
    limits: &Limits,
) -> Result<Compiled, CompileError> {
    match backend {
        Backend::Jit => cranelift::compile(module, &cranelift_options(cpu, false)),
        Backend::Llvm => {
            let cache = Cache::open();
            llvm::compile(module, &llvm::LlvmOptions { cpu, cache, ..Default::default() })
        }
        Backend::C => {
            let (cache, limits) = (Cache::open(), limits.clone());
            let options = c::compiler::COptions { cpu, quick: false, cache, limits };
            c::engine::compile(module, &options)
        }
    }
}

/// How Cranelift compiles; the code may count the work that it does.
pub fn cranelift_options(cpu: Cpu, counted: bool) -> cranelift::CraneliftOptions {
    let verify = cfg!(debug_assertions);
    cranelift::CraneliftOptions { cpu, counted, verify, eager: false }
}

/// A form of a program behind Flat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeForm {
    /// Low.
    Low,
    /// What Cranelift is given.
    Clif,
    /// What LLVM is given.
    Llvm,
    /// What the C compiler is given.
    C,
}

impl CodeForm {
    /// All forms.
    pub const ALL: [CodeForm; 4] = [CodeForm::Low, CodeForm::Clif, CodeForm::Llvm, CodeForm::C];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            CodeForm::Low => "low",
            CodeForm::Clif => "clif",
            CodeForm::Llvm => "llvm",
            CodeForm::C => "c",
        }
    }

    /// How loops become Low, as far as that is to be seen.
    pub fn lowering(self) -> memory::MemoryOptions {
        match self {
            CodeForm::Clif => Backend::Jit.lowering(),
            CodeForm::Low | CodeForm::Llvm => Backend::Llvm.lowering(),
            CodeForm::C => Backend::C.lowering(),
        }
    }

    /// A program in this form.
    ///
    /// # Errors
    /// The back end is not there.
    pub fn text(self, module: &Arc<low::LowModule>, cpu: Cpu) -> Result<String, CompileError> {
        match self {
            CodeForm::Low => Ok(low::print::print(module)),
            CodeForm::Clif => {
                cranelift::text(module, &cranelift::CraneliftOptions { cpu, ..Default::default() })
            }
            CodeForm::Llvm => {
                let options = llvm::LlvmOptions { cpu, ..llvm::LlvmOptions::default() };
                llvm::text(module, &options, llvm::Stage::Emitted)
            }
            CodeForm::C => Ok(c::engine::text(std::slice::from_ref(module)).text),
        }
    }
}
