//! Engine `c`: programs compiled by the system's C compiler, with the runtime of this process.

use super::compiler::{load, COptions, Error};
use super::unit::{RuntimeProvider, Unit};
use crate::engine::{stack_margin, CompileError, Compiled, EntryFn};
use crate::low::{LowModule, LowTy, Runtime};
use crate::runtime::{self, CONSTANTS, STACK_END, STATICS, TEXTS};
use std::fmt::Write;
use std::sync::Arc;

// The beginning of the context, as `runtime/hosted.h` has it.
const _: () = assert!(STACK_END == 0 && CONSTANTS == 16 && TEXTS == 24 && STATICS == 32);

/// The functions of the runtime, in the order of the table that the code is given.
fn functions() -> Vec<runtime::RuntimeFunction> {
    let mut functions = vec![runtime::raise(), runtime::note(), runtime::deep()];
    // The other operations are C.
    let called = |op: &Runtime| !matches!(op, Runtime::Copy | Runtime::PowInt);
    functions.extend(Runtime::ALL.into_iter().filter(called).map(runtime::function));
    functions
}

/// Where the addresses of the runtime are kept, and what takes them.
fn imports() -> String {
    let (mut declared, mut taken) = (String::new(), String::new());
    for (i, function) in functions().iter().enumerate() {
        let ty = |ty: &LowTy| match ty {
            LowTy::Int | LowTy::Bool => "int64_t",
            LowTy::Real => "double",
            LowTy::Ptr => "char *",
        };
        let result = function.result.as_ref().map_or("void", ty);
        let params: Vec<&str> = function.params.iter().map(ty).collect();
        let params = params.iter().fold("df_context *".to_string(), |all, p| all + ", " + p);
        // Writing to a string does not fail.
        let _ = writeln!(declared, "static {result} (*{})({params});", function.name);
        let _ = writeln!(taken, "  memcpy(&{}, &addresses[{i}], sizeof(void *));", function.name);
    }
    format!(
        "{declared}\n__attribute__((visibility(\"default\"))) void diffeo_load(void *const *addresses) {{\n{taken}}}\n\n"
    )
}

/// The text of programs for this engine.
pub fn text(modules: &[Arc<LowModule>]) -> super::CText {
    let mut unit = Unit::new(RuntimeProvider::Process);
    let mut face = String::new();
    for (i, module) in modules.iter().enumerate() {
        unit.add(module);
        let _ = write!(
            face,
            "__attribute__((visibility(\"default\"))) int64_t diffeo_enter_{i}(df_context *cx, char *arguments, \
             char *results) {{\n  return df_enter_{i}(cx, arguments, results);\n}}\n"
        );
    }
    unit.finish(&imports(), &face)
}

/// Compiles programs together, or finds them compiled.
///
/// # Errors
/// There is no compiler, or it fails.
pub fn compile_all(modules: &[Arc<LowModule>], options: &COptions) -> Result<Vec<Compiled>, Error> {
    let text = text(modules);
    let code = Arc::new(load(&text, options)?);
    let addresses: Vec<*const u8> = functions().iter().map(|f| f.address).collect();
    type Load = unsafe extern "C" fn(*const *const u8);
    let missing = |e: libloading::Error| Error::Load(e.to_string());
    // SAFETY: the function has this type, and reads as many addresses as there are. Where the same code was
    // loaded before, it writes what is there.
    unsafe { code.get::<Load>(b"diffeo_load\0").map_err(missing)?(addresses.as_ptr()) };
    let programs = modules.iter().enumerate().map(|(i, module)| {
        // SAFETY: the function has this type.
        let entry = *unsafe { code.get::<EntryFn>(format!("diffeo_enter_{i}\0").as_bytes()) }
            .map_err(missing)?;
        // A compiler may put other functions into one, so frames are larger than registers need.
        let frames: Vec<usize> =
            module.functions.iter().map(|f| 4096 + 64 * f.registers.len()).collect();
        let margin = stack_margin(module, &frames);
        // SAFETY: the entry is that of the module, in the code that is kept.
        Ok(unsafe {
            Compiled::new(
                module.clone(),
                text.raises.clone(),
                entry,
                margin,
                Box::new(code.clone()),
            )
        })
    });
    programs.collect()
}

/// Compiles a program, or finds it compiled.
///
/// # Errors
/// There is no compiler, or it fails.
pub fn compile(module: &Arc<LowModule>, options: &COptions) -> Result<Compiled, CompileError> {
    let unsupported = |e: Error| match e {
        Error::Exceeded(bound) => CompileError::Exceeded(bound),
        Error::Missing { .. } | Error::Failed { .. } | Error::File(..) | Error::Load(_) => {
            CompileError::Unsupported(e.to_string())
        }
    };
    let mut programs = compile_all(std::slice::from_ref(module), options).map_err(unsupported)?;
    programs.pop().ok_or_else(|| CompileError::Unsupported("there is no program".to_string()))
}
