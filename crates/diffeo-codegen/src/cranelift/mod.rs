//! The back end Cranelift: Low to machine code, in process.
//!
//! | file | what is in it |
//! |---|---|
//! | `scope.rs` | which registers have several values, and where |
//! | `function.rs` | statements, and the convention of functions |
//! | `function/call.rs` | calls, results, errors |
//! | `expr.rs` | operands and expressions |
//! | `lanes.rs` | vectorisation of innermost loops |
//! | `outer.rs` | vectorisation of loops around others |
//! | `count.rs` | work, as code counts it |
//! | `code.rs` | machine code, and how it is put into memory |
//!
//! Functions are compiled separately, in large programs on several threads. Then they are put into memory together, and
//! their references to each other are filled in.

mod code;
mod count;
mod expr;
mod function;
mod lanes;
mod outer;
mod scope;

use crate::engine::{CompileError, Compiled, Cpu, Raises};
use crate::low::lanes::Plans;
use crate::low::opt::scratch;
use crate::low::{For, LowFunction, LowModule, HUGE};
use crate::runtime;
pub use code::MachineCode;
use code::{compiled, FunctionCode};
use count::Weights;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{ir, Context};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use function::{Convention, Environment};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::fmt::Display;
use std::num::NonZero;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

/// How to compile.
#[derive(Clone, Copy, Debug, Default)]
pub struct CraneliftOptions {
    /// The instructions that may be used.
    pub cpu: Cpu,
    /// Whether the code counts the work that it does ([`Instance::work`](crate::engine::Instance::work)).
    pub counted: bool,
    /// Whether Cranelift verifies its input and its code, for tests.
    pub verify: bool,
    /// Outer loops run in lanes wherever that is possible, even if it does not pay: for tests.
    pub eager: bool,
}

/// The stack for copying functions.
const COPYING: usize = 64 << 20;

/// That of a thread that compiles functions.
const STACK: usize = 8 << 20;

/// At most how many threads compile.
const MOST_THREADS: usize = 8;

/// Functions of more statements get the registers that are found first, which takes linear time.
const LONGEST: usize = 4 * HUGE;

/// Starting threads takes as long as compiling so many statements.
const SMALL: usize = 500;

/// The functions of the runtime that the program calls, and its errors.
pub(in crate::cranelift) struct Imports {
    /// The index of the first one.
    first: u32,
    list: Vec<runtime::RuntimeFunction>,
    by_name: HashMap<&'static str, u32>,
    pub raises: Raises,
}

impl Imports {
    fn new(first: usize) -> Imports {
        Imports {
            first: first as u32,
            list: Vec::new(),
            by_name: HashMap::new(),
            raises: Raises::default(),
        }
    }

    /// The index of a function among those of the module.
    pub fn index(&mut self, function: &runtime::RuntimeFunction) -> u32 {
        *self.by_name.entry(function.name).or_insert_with(|| {
            self.list.push(*function);
            self.first + self.list.len() as u32 - 1
        })
    }
}

/// What machine code is made for.
struct TargetIsas {
    isa: OwnedTargetIsa,
    /// For huge functions.
    quick: OwnedTargetIsa,
    /// For such that finding registers well takes longer than everything else.
    at_once: OwnedTargetIsa,
    has_fma: bool,
    has_rounding: bool,
    /// Whether the code counts the work that it does.
    counted: bool,
}

fn unsupported(reason: impl Display) -> CompileError {
    CompileError::Unsupported(format!("Cranelift: {reason}"))
}

/// The processor, for code that is made with this effort.
fn isa(
    options: &CraneliftOptions,
    level: &str,
    registers: &str,
) -> Result<OwnedTargetIsa, CompileError> {
    let mut flags = settings::builder();
    // Calls are never far, frames are tested by the program itself, and nobody unwinds them.
    let settings = [
        ("opt_level", level),
        ("regalloc_algorithm", registers),
        ("enable_verifier", if options.verify { "true" } else { "false" }),
        ("enable_probestack", "false"),
        ("unwind_info", "false"),
        ("is_pic", "false"),
    ];
    for (name, value) in settings {
        flags.set(name, value).map_err(unsupported)?;
    }
    let host = options.cpu == Cpu::Host;
    let mut builder = cranelift_native::builder_with_options(host).map_err(unsupported)?;
    for feature in features(options.cpu) {
        builder.enable(feature).map_err(unsupported)?;
    }
    builder.finish(settings::Flags::new(flags)).map_err(unsupported)
}

/// The processor, for code that is made well.
fn well(options: &CraneliftOptions) -> Result<OwnedTargetIsa, CompileError> {
    isa(options, "speed", "backtracking")
}

impl TargetIsas {
    fn new(options: &CraneliftOptions) -> Result<TargetIsas, CompileError> {
        let target = well(options)?;
        let has = |flag: &str| {
            target.isa_flags().iter().any(|f| f.name == flag && f.as_bool() == Some(true))
        };
        // Other processors have these always.
        let x64 = cfg!(target_arch = "x86_64");
        let (has_fma, has_rounding) = (!x64 || has("has_fma"), !x64 || has("has_sse41"));
        let quick = isa(options, "none", "backtracking")?;
        let at_once = isa(options, "none", "single_pass")?;
        let counted = options.counted;
        Ok(TargetIsas { isa: target, quick, at_once, has_fma, has_rounding, counted })
    }

    /// For a function of so many statements.
    fn isa(&self, statements: usize) -> &dyn TargetIsa {
        match statements {
            0..=HUGE => &*self.isa,
            _ if statements <= LONGEST => &*self.quick,
            _ => &*self.at_once,
        }
    }
}

/// What Cranelift calls the instructions of a processor, where it does not ask this one.
fn features(cpu: Cpu) -> &'static [&'static str] {
    match cpu {
        Cpu::Host | Cpu::Baseline => &[],
        Cpu::X86V2 => &["nehalem"],
        Cpu::X86V3 => &["haswell"],
        Cpu::X86V4 => &["skylake-avx512"],
    }
}

/// Compiles a program.
///
/// # Errors
/// Cranelift does not know this processor, or a function is larger than it can handle.
pub fn compile(
    module: &Arc<LowModule>,
    options: &CraneliftOptions,
) -> Result<Compiled, CompileError> {
    code(module, options)?.load(module.clone())
}

/// The machine code of a program.
///
/// # Errors
/// As for [`compile`].
pub fn code(module: &LowModule, options: &CraneliftOptions) -> Result<MachineCode, CompileError> {
    let target = TargetIsas::new(options)?;
    let (module, plans) = planned(module, options);
    let (module, plans) = (&module, &plans[..]);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let (mut functions, imports) = match module.statements() > SMALL && threads > 1 {
        true => codes_on(threads, module, plans, &target)?,
        false => {
            let mut codes = Vec::with_capacity(module.functions.len() + 1);
            let imports = each_function(module, plans, &target, |index, context, statements| {
                codes.push((index, compiled(index, context, target.isa(statements))?));
                Ok(())
            })?;
            (codes, imports)
        }
    };
    functions.sort_by_key(|(index, _)| *index);
    let functions: Vec<FunctionCode> = functions.into_iter().map(|(_, code)| code).collect();
    let frames: Vec<usize> = functions.iter().map(|code| code.frame).collect();
    Ok(MachineCode {
        cpu: options.cpu,
        functions,
        imports: imports.list.iter().map(|function| function.name.to_string()).collect(),
        raises: imports.raises.list,
        margin: crate::engine::stack_margin(module, &frames),
        statements: module.statements(),
    })
}

/// The machine code of all functions, each with its index, made on several threads.
fn codes_on(
    threads: usize,
    module: &LowModule,
    plans: &[Plans],
    target: &TargetIsas,
) -> Result<(Vec<(u32, FunctionCode)>, Imports), CompileError> {
    // A few functions wait, not all of them.
    let (send, receive) = sync_channel::<(u32, ir::Function, usize)>(2 * threads);
    let receive = Arc::new(Mutex::new(receive));
    std::thread::scope(|scope| {
        let mut workers = Vec::with_capacity(threads);
        for _ in 0..threads {
            let receive = receive.clone();
            let work = move || {
                let (mut context, mut done) = (Context::new(), Vec::new());
                loop {
                    let next = receive.lock().ok().and_then(|receive| receive.recv().ok());
                    let Some((index, function, statements)) = next else { return done };
                    context.func = function;
                    done.push((index, compiled(index, &mut context, target.isa(statements))));
                    context.clear();
                }
            };
            let builder = std::thread::Builder::new().name("diffeo-cranelift".into());
            let Ok(worker) = builder.stack_size(STACK).spawn_scoped(scope, work) else { break };
            workers.push(worker);
        }
        // If there are no workers, nobody receives.
        drop(receive);
        let imports = each_function(module, plans, target, |index, context, statements| {
            let function = std::mem::replace(&mut context.func, ir::Function::new());
            send.send((index, function, statements)).map_err(|_| unsupported("no thread is left"))
        });
        drop(send);
        let mut codes = Vec::with_capacity(module.functions.len() + 1);
        for worker in workers {
            codes.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        let whole = |(index, code): (u32, Result<FunctionCode, _>)| Ok((index, code?));
        let codes = codes.into_iter().map(whole).collect::<Result<_, CompileError>>()?;
        Ok((codes, imports?))
    })
}

/// The processor that code is made for, with all that code may depend on, if Cranelift knows it.
pub fn processor(cpu: Cpu) -> Option<String> {
    let isa = well(&CraneliftOptions { cpu, ..CraneliftOptions::default() }).ok()?;
    let flags: Vec<String> = isa.isa_flags().iter().map(|flag| flag.to_string()).collect();
    Some(format!("{} {}", isa.triple(), flags.join(" ")))
}

/// The program as Cranelift's text, before its optimisations.
///
/// # Errors
/// Cranelift does not know this processor.
pub fn text(module: &Arc<LowModule>, options: &CraneliftOptions) -> Result<String, CompileError> {
    let target = TargetIsas::new(options)?;
    let (module, plans) = planned(module, options);
    let mut functions = Vec::new();
    let imports = each_function(&module, &plans, &target, |index, context, _| {
        functions.push((index, context.func.display().to_string()));
        Ok(())
    })?;
    functions.sort_unstable();
    let mut out = String::new();
    for (i, text) in functions {
        let function = module.functions.get(i as usize);
        let name = function.map_or("called from outside", |function| &function.name);
        out.push_str(&format!("; u0:{i} = {name}\n{text}\n"));
    }
    for (i, function) in imports.list.iter().enumerate() {
        out.push_str(&format!("; u0:{} = {}\n", imports.first as usize + i, function.name));
    }
    Ok(out)
}

/// The module as it is translated: with the loops of each function that are done in lanes. Other loops reuse arrays that
/// each step makes for itself, and elementary functions in innermost loops are expanded.
fn planned(module: &LowModule, options: &CraneliftOptions) -> (LowModule, Vec<Plans>) {
    // Copying nested statements takes a level of the stack for each.
    let mut module = stacker::grow(COPYING, || module.clone());
    let small: Vec<bool> = module.functions.iter().map(|f| f.statements() <= HUGE).collect();
    let plans = |module: &LowModule| -> Vec<Plans> {
        let functions = module.functions.iter().zip(&small);
        let plan = |(function, small): (&LowFunction, &bool)| match small {
            true => outer::planned(module, function, options.eager),
            false => Plans::new(),
        };
        functions.map(plan).collect()
    };
    let mut found = plans(&module);
    if scratch::applies(&module) {
        let leave =
            |function: usize, step: &For| found[function].contains_key(&std::ptr::from_ref(step));
        scratch::reuse(&mut module, &leave);
        found = plans(&module);
    }
    for ((function, plans), small) in module.functions.iter_mut().zip(&found).zip(small) {
        if small {
            lanes::expand(&mut function.registers, &mut function.body, plans);
        }
    }
    (module, found)
}

/// Translates each function, the largest ones first, as they take longest to compile, and then those that are called
/// from outside: with its index, and how many statements it has.
fn each_function(
    module: &LowModule,
    plans: &[Plans],
    target: &TargetIsas,
    mut each: impl FnMut(u32, &mut Context, usize) -> Result<(), CompileError>,
) -> Result<Imports, CompileError> {
    let conventions: Vec<Convention> = module.functions.iter().map(Convention::new).collect();
    // What is called from outside has a function with the convention of C, behind those of the module.
    let tasks = module.functions.iter().filter_map(|f| f.blocks.as_ref()).map(|b| b.task.0);
    let outside: Vec<(u32, usize)> =
        tasks.map(|task| (task, 5)).chain([(module.entry.0, 3)]).collect();
    // Operations on vectors are in between.
    let vectors = outer::operations(module, plans);
    let first = (module.functions.len() + vectors.len()) as u32;
    let index = |i: usize| first + i as u32;
    let tasks = outside.iter().enumerate().map(|(i, (task, _))| (*task, index(i))).collect();
    let mut imports = Imports::new(index(outside.len()) as usize);
    let weights = target.counted.then(|| Weights::new(module));
    let mut env = Environment {
        module,
        conventions: &conventions,
        imports: &mut imports,
        tasks: &tasks,
        vectors: &vectors,
        weights: weights.as_ref(),
        has_fma: target.has_fma,
        has_rounding: target.has_rounding,
        frontend: target.isa.frontend_config(),
    };
    let mut context = Context::new();
    let mut builder = FunctionBuilderContext::new();
    let statements: Vec<usize> = module.functions.iter().map(|f| f.statements()).collect();
    let mut order: Vec<usize> = (0..statements.len()).collect();
    order.sort_by_key(|i| Reverse(statements[*i]));
    for i in order {
        let (function, convention, statements) =
            (&module.functions[i], &conventions[i], statements[i]);
        context.func.signature = convention.signature.clone();
        context.func.name = function::name(i as u32);
        let b = FunctionBuilder::new(&mut context.func, &mut builder);
        let plan = weights.as_ref().map(|weights| weights.plan(module, i, function));
        let plan = plan.unwrap_or_default();
        function::translate(b, &mut env, function, convention, &plans[i], plan);
        each(i as u32, &mut context, statements)?;
        context.clear();
    }
    for (i, op) in vectors.iter().enumerate() {
        let index = (module.functions.len() + i) as u32;
        context.func.signature = function::vector_signature();
        context.func.name = function::name(index);
        let b = FunctionBuilder::new(&mut context.func, &mut builder);
        function::translate_vector(b, &mut env, *op);
        each(index, &mut context, 0)?;
        context.clear();
    }
    for (i, (called, params)) in outside.iter().enumerate() {
        context.func.signature = function::outside(target.isa.default_call_conv(), *params);
        context.func.name = function::name(index(i));
        let mut b = FunctionBuilder::new(&mut context.func, &mut builder);
        let signature = b.import_signature(conventions[*called as usize].signature.clone());
        let name = ir::UserExternalName { namespace: 0, index: *called };
        let name = b.func.declare_imported_user_function(name);
        let callee = b.import_function(ir::ExtFuncData {
            name: ir::ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        });
        let fallible = module.functions[*called as usize].fallible;
        function::translate_outside(b, callee, fallible, target.isa.frontend_config());
        each(index(i), &mut context, 0)?;
        context.clear();
    }
    Ok(imports)
}
