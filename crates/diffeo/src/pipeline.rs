//! The way of a program from Core to code. The lists of passes are `opt::EARLY` (before derivatives, within `lower`),
//! `opt::PASSES` and `low::opt::PASSES`.
//!
//! ```text
//! Core ──lower──▶ Flat ──opt::PASSES──▶ Flat ──▶ the evaluator of Flat
//!                                            ──memory──▶ Low ──low::opt::PASSES──▶ machine code, by a back end
//! ```
//!
//! A pass is a function from modules to modules that cannot fail. In debug builds every module is linted.

use crate::lower::{self, Lowered, Unsupported};
use diffeo_array::ir::walk::size;
use diffeo_array::ir::Module;
use diffeo_array::lint::lint;
use diffeo_array::opt::{EARLY, PASSES};
use diffeo_calculus::eval::Limits;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::Program;
use diffeo_codegen::cache::Cache;
use diffeo_codegen::engine::{CompileError, Compiled, Cpu};
use diffeo_codegen::{c, cranelift, llvm, low, memory};
use std::sync::{Arc, OnceLock};
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

/// A pass that is done.
pub struct PassRun<'m> {
    /// Its name.
    pub pass: &'static str,
    /// What it gave.
    pub module: &'m Module,
    /// How long it took.
    pub time: Duration,
}

impl PassRun<'_> {
    /// How long it took, and the operations after it, if they are to be counted.
    pub fn timing(&self, counted: bool) -> Timing {
        let functions = self.module.functions.iter();
        let operations = || functions.map(|function| size(&function.body, usize::MAX)).sum();
        Timing { step: self.pass, time: self.time, operations: counted.then(operations) }
    }
}

/// The names of the passes to Flat and over it. Those before derivatives are taken run where a program takes some, once
/// for each order.
pub fn passes() -> impl Iterator<Item = &'static str> {
    let early = EARLY.iter().map(|pass| pass.name);
    early.chain(["lower"]).chain(PASSES.iter().map(|pass| pass.name))
}

/// The program of Flat for a definition; `see` is shown the module after each pass.
///
/// # Errors
/// What there is no Flat for.
pub fn flat(
    program: &Program,
    entry: GlobalId,
    see: &mut dyn FnMut(&PassRun<'_>),
) -> Result<Lowered, Unsupported> {
    flat_with(program, entry, lower::LowerOptions::default(), see)
}

/// As [`flat`], with these options.
///
/// # Errors
/// As for [`flat`].
pub fn flat_with(
    program: &Program,
    entry: GlobalId,
    options: lower::LowerOptions,
    see: &mut dyn FnMut(&PassRun<'_>),
) -> Result<Lowered, Unsupported> {
    let mut start = Instant::now();
    let mut early = |step: &PassRun<'_>| {
        start += step.time;
        see(step);
    };
    let mut lowered = lower::lower(program, entry, options, &mut early)?;
    done("lower", &lowered.module, start, see);
    for pass in PASSES.iter().filter(|pass| !left_out().iter().any(|name| name == pass.name)) {
        let start = Instant::now();
        lowered.module = (pass.run)(lowered.module);
        done(pass.name, &lowered.module, start, see);
    }
    Ok(lowered)
}

/// The passes that the environment variable `DIFFEO_WITHOUT` leaves out, to see what each is worth or which is wrong.
pub(crate) fn left_out() -> &'static [String] {
    static LEFT_OUT: OnceLock<Vec<String>> = OnceLock::new();
    LEFT_OUT.get_or_init(|| {
        let names = std::env::var("DIFFEO_WITHOUT").unwrap_or_default();
        names.split(',').filter(|name| !name.is_empty()).map(String::from).collect()
    })
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

    /// How loops become Low. What each step makes for itself, LLVM's lanes have to see.
    pub fn lowering(self) -> memory::MemoryOptions {
        match self {
            Backend::Jit | Backend::C => {
                memory::MemoryOptions { reuse: true, ..Default::default() }
            }
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
    cranelift::CraneliftOptions { cpu, counted, verify: cfg!(debug_assertions) }
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

fn done(pass: &'static str, module: &Module, start: Instant, see: &mut dyn FnMut(&PassRun<'_>)) {
    let time = start.elapsed();
    if cfg!(debug_assertions) {
        let violations = lint(module);
        assert!(
            violations.is_empty(),
            "`{pass}` made a module of Flat that does not lint:\n{}\n{}",
            violations.join("\n"),
            diffeo_array::print::print(module)
        );
    }
    see(&PassRun { pass, module, time });
}
