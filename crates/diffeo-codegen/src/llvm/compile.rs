//! From the text of a module to an object for a processor.

use super::api::{Api, Handle};
use super::library::LlvmLibrary;
use crate::engine::Cpu;
use serde::{Deserialize, Serialize};
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::null_mut;

/// Machine code as LLVM writes it to files, and the functions whose frames on the stack are not small: their
/// indices, with the number of bytes.
#[derive(Serialize, Deserialize)]
pub(super) struct Object {
    pub bytes: Vec<u8>,
    pub frames: Vec<(usize, usize)>,
}

/// A processor that code is made for.
pub(super) struct TargetMachine {
    library: &'static LlvmLibrary,
    triple: CString,
    cpu: CString,
    features: CString,
    /// Whether it has a fused multiply-add.
    pub has_fma: bool,
    /// How many bits vectors should have.
    pub vector_width: u32,
}

/// The level of code generation and the passes before it: well, and in linear time.
const LEVELS: [(c_int, &CStr); 2] = [(3, c"default<O3>,always-inline"), (0, c"function(mem2reg)")];

/// The stack of LLVM, which recurs over nested blocks.
pub(super) const STACK: usize = 64 << 20;

/// Code that does not depend on where it lies, within 2 GiB.
const POSITION_INDEPENDENT: c_int = 2;
const SMALL_CODE: c_int = 3;

/// The kinds of output.
const ASSEMBLY: c_int = 0;
const OBJECT: c_int = 1;

/// Give a status, rather than print or stop.
const RETURN_STATUS: c_int = 2;

impl TargetMachine {
    pub fn new(library: &'static LlvmLibrary, cpu: Cpu) -> Result<TargetMachine, String> {
        let api = &library.api;
        // SAFETY: these take nothing, and give texts that are ours.
        let (triple, name, features) = unsafe {
            (
                take(api, (api.LLVMGetDefaultTargetTriple)()),
                take(api, (api.LLVMGetHostCPUName)()),
                take(api, (api.LLVMGetHostCPUFeatures)()),
            )
        };
        let (name, features) = match cpu {
            Cpu::Host => (name, features),
            Cpu::Baseline if cfg!(target_arch = "x86_64") => ("x86-64".into(), String::new()),
            Cpu::Baseline => ("generic".into(), String::new()),
            Cpu::X86V2 | Cpu::X86V3 | Cpu::X86V4 => (cpu.name().into(), String::new()),
        };
        let has = |feature: &str| features.split(',').any(|f| f == feature);
        let has_fma = cfg!(target_arch = "aarch64") || has("+fma");
        let wide = cpu == Cpu::X86V4 || has("+avx512vl");
        let text = |text: String| CString::new(text).map_err(|_| "a name with a zero in it");
        Ok(TargetMachine {
            library,
            has_fma: cpu.has_fma().unwrap_or(has_fma),
            vector_width: if wide { 512 } else { 256 },
            triple: text(triple)?,
            cpu: text(name)?,
            features: text(features)?,
        })
    }

    /// All that an object depends on.
    pub fn key(&self, quick: bool, text: &str) -> Vec<u8> {
        let [major, minor, patch] = self.library.version;
        let parts = [&self.triple, &self.cpu, &self.features].map(|part| part.to_string_lossy());
        let ours = env!("CARGO_PKG_VERSION");
        let head = format!("llvm {ours}\n{major}.{minor}.{patch}\n{}\n{quick}\n", parts.join("\n"));
        let path = self.library.path.to_string_lossy();
        [head.as_bytes(), path.as_bytes(), b"\n", text.as_bytes()].concat()
    }

    /// The module as an object.
    pub fn object(&self, text: &str, quick: bool) -> Result<Object, String> {
        stacker::grow(STACK, || {
            let mut module = LlvmModule::parse(self, text, quick)?;
            module.optimise()?;
            let bytes = module.write(OBJECT)?;
            Ok(Object { bytes, frames: std::mem::take(&mut module.reports.frames) })
        })
    }

    /// The module after LLVM's optimisations.
    pub fn optimised(&self, text: &str, quick: bool) -> Result<String, String> {
        stacker::grow(STACK, || {
            let mut module = LlvmModule::parse(self, text, quick)?;
            module.optimise()?;
            let api = &self.library.api;
            // SAFETY: the module is live, and the text is ours.
            Ok(unsafe { take(api, (api.LLVMPrintModuleToString)(module.module)) })
        })
    }

    /// The module as instructions.
    pub fn assembly(&self, text: &str, quick: bool) -> Result<String, String> {
        stacker::grow(STACK, || {
            let mut module = LlvmModule::parse(self, text, quick)?;
            module.optimise()?;
            Ok(String::from_utf8_lossy(&module.write(ASSEMBLY)?).into_owned())
        })
    }
}

/// What LLVM reported.
struct Reports {
    api: &'static Api,
    frames: Vec<(usize, usize)>,
    /// Everything else; shown if something goes wrong.
    others: Vec<String>,
}

/// Takes what LLVM reports, for [`Reports`].
extern "C" fn report(diagnostic: Handle, reports: *mut c_void) {
    // SAFETY: it is called with the address that was given with it (`LlvmModule::parse`), while the module is in
    // use; nothing else refers to the reports then.
    let reports = unsafe { &mut *reports.cast::<Reports>() };
    // SAFETY: the diagnostic is live, and the text is ours.
    let text = unsafe { take(reports.api, (reports.api.LLVMGetDiagInfoDescription)(diagnostic)) };
    match frame(&text) {
        Some(frame) => reports.frames.push(frame),
        None => reports.others.push(text),
    }
}

/// The index of a function and the size of its frame, from LLVM's report that it is large.
fn frame(text: &str) -> Option<(usize, usize)> {
    let size = text.split_once("stack frame size (")?.1.split_once(')')?.0;
    let function = text.split_once("in function '")?.1.split_once('\'')?.0;
    // What a task calls may have been inlined there.
    let index = function.strip_prefix("task").or(function.strip_prefix('f'))?;
    Some((index.parse().ok()?, size.parse().ok()?))
}

/// A module in LLVM, with what belongs to it.
struct LlvmModule {
    api: &'static Api,
    context: Handle,
    target: Handle,
    module: Handle,
    level: usize,
    reports: Box<Reports>,
}

impl LlvmModule {
    /// Reads and verifies a module.
    fn parse(machine: &TargetMachine, text: &str, quick: bool) -> Result<LlvmModule, String> {
        let api = &machine.library.api;
        let level = usize::from(quick);
        // SAFETY: handles come from the functions that make them and go to those that want them. `parsed`
        // owns all of them from the beginning, so that it frees what there is when this returns early; the
        // reader takes the buffer. The reports are in a box, and live as long as the context.
        unsafe {
            let context = (api.LLVMContextCreate)();
            let mut parsed = LlvmModule {
                api,
                context,
                target: null_mut(),
                module: null_mut(),
                level,
                reports: Box::new(Reports { api, frames: Vec::new(), others: Vec::new() }),
            };
            let reports: *mut Reports = &mut *parsed.reports;
            (api.LLVMContextSetDiagnosticHandler)(context, Some(report), reports.cast());
            parsed.target = target(machine, level)?;
            let start = text.as_ptr().cast();
            let copy = api.LLVMCreateMemoryBufferWithMemoryRangeCopy;
            let buffer = copy(start, text.len(), c"diffeo".as_ptr());
            let mut message = null_mut();
            let read = api.LLVMParseIRInContext;
            if read(context, buffer, &mut parsed.module, &mut message) != 0 {
                return Err(format!("the module cannot be read: {}", take(api, message)));
            }
            (api.LLVMSetTarget)(parsed.module, machine.triple.as_ptr());
            let layout = (api.LLVMCreateTargetDataLayout)(parsed.target);
            (api.LLVMSetModuleDataLayout)(parsed.module, layout);
            (api.LLVMDisposeTargetData)(layout);
            let mut message = null_mut();
            let wrong = (api.LLVMVerifyModule)(parsed.module, RETURN_STATUS, &mut message);
            let message = take(api, message);
            if wrong != 0 {
                return Err(format!("the module is not valid: {message}"));
            }
            Ok(parsed)
        }
    }

    fn optimise(&mut self) -> Result<(), String> {
        let api = self.api;
        // SAFETY: the handles are live; the options are freed after their only use.
        unsafe {
            let options = (api.LLVMCreatePassBuilderOptions)();
            let passes = LEVELS[self.level].1.as_ptr();
            let error = (api.LLVMRunPasses)(self.module, passes, self.target, options);
            (api.LLVMDisposePassBuilderOptions)(options);
            check(api, error)
        }
    }

    fn write(&mut self, what: c_int) -> Result<Vec<u8>, String> {
        let api = self.api;
        let (mut message, mut buffer) = (null_mut(), null_mut());
        // SAFETY: the handles are live; the buffer is ours if the status is 0, and is copied before it is freed.
        unsafe {
            let emit = api.LLVMTargetMachineEmitToMemoryBuffer;
            if emit(self.target, self.module, what, &mut message, &mut buffer) != 0 {
                return Err(format!("{} {}", take(api, message), self.reports.others.join("; ")));
            }
            let start = (api.LLVMGetBufferStart)(buffer);
            let length = (api.LLVMGetBufferSize)(buffer);
            let bytes = std::slice::from_raw_parts(start, length).to_vec();
            (api.LLVMDisposeMemoryBuffer)(buffer);
            Ok(bytes)
        }
    }
}

impl Drop for LlvmModule {
    fn drop(&mut self) {
        // SAFETY: each is ours or null, and the module goes before its context.
        unsafe {
            if !self.module.is_null() {
                (self.api.LLVMDisposeModule)(self.module);
            }
            if !self.target.is_null() {
                (self.api.LLVMDisposeTargetMachine)(self.target);
            }
            (self.api.LLVMContextDispose)(self.context);
        }
    }
}

/// LLVM's own object for a processor.
///
/// # Safety
/// The library is loaded and initialised.
unsafe fn target(machine: &TargetMachine, level: usize) -> Result<Handle, String> {
    let api = &machine.library.api;
    let (mut target, mut message) = (null_mut(), null_mut());
    // SAFETY: texts end with zeros; a target lives as long as the library.
    unsafe {
        let find = api.LLVMGetTargetFromTriple;
        if find(machine.triple.as_ptr(), &mut target, &mut message) != 0 {
            return Err(take(api, message));
        }
        let made = (api.LLVMCreateTargetMachine)(
            target,
            machine.triple.as_ptr(),
            machine.cpu.as_ptr(),
            machine.features.as_ptr(),
            LEVELS[level].0,
            POSITION_INDEPENDENT,
            SMALL_CODE,
        );
        if made.is_null() {
            return Err(format!("no code for {}", machine.triple.to_string_lossy()));
        }
        Ok(made)
    }
}

/// A text that LLVM gave, which is freed; empty for null.
///
/// # Safety
/// It is null, or a message of LLVM that is ours.
pub(super) unsafe fn take(api: &Api, message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: by the condition of the function; it is copied before it is freed.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().trim().to_string();
        (api.LLVMDisposeMessage)(message);
        text
    }
}

/// An error of LLVM as a text.
///
/// # Safety
/// It is null, or an error that is ours.
pub(super) unsafe fn check(api: &Api, error: *mut c_void) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: by the condition of the function; getting the message takes the error.
    unsafe {
        let message = (api.LLVMGetErrorMessage)(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        (api.LLVMDisposeErrorMessage)(message);
        Err(text)
    }
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn frames_are_read_from_reports() {
        let report = "stack frame size (18472) exceeds limit (1024) in function 'f12'";
        assert_eq!(frame(report), Some((12, 18472)));
        let report = "stack frame size (2048) exceeds limit (1024) in function 'task3'";
        assert_eq!(frame(report), Some((3, 2048)));
        assert_eq!(frame("something else"), None);
    }
}
