//! An LLVM by its C interface.

use super::api::{CApi, Handle, SymbolPair};
use super::interface::{Code, Host, Interface, Level, Output};
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::null_mut;

/// Code that does not depend on where it lies, within 2 GiB.
const POSITION_INDEPENDENT: c_int = 2;
const SMALL_CODE: c_int = 3;
/// Give a status, rather than print or stop.
const RETURN_STATUS: c_int = 2;
/// Flags of symbols: they can be seen, and called.
const EXPORTED_FUNCTION: u8 = 1 | 4;

/// The functions, and where reports go.
pub(super) struct LlvmC {
    pub api: CApi,
}

/// Who reads a diagnostic, and where it goes.
struct Reports {
    api: *const CApi,
    texts: *const RefCell<Vec<String>>,
}

/// Takes what LLVM reports.
extern "C" fn report(diagnostic: Handle, reports: *mut c_void) {
    // SAFETY: it is called with the address that was given with it (`context`), which stays, as the texts do, while
    // the context lives. The library is never unloaded.
    let (api, texts) = unsafe {
        let reports = &*reports.cast::<Reports>();
        (&*reports.api, &*reports.texts)
    };
    // SAFETY: the diagnostic is live, and the text is ours.
    let text = unsafe { take(api, (api.LLVMGetDiagInfoDescription)(diagnostic)) };
    texts.borrow_mut().push(text);
}

impl Interface for LlvmC {
    fn host(&self) -> Host {
        let api = &self.api;
        // SAFETY: these take nothing, and give texts that are ours.
        unsafe {
            Host {
                triple: take(api, (api.LLVMGetDefaultTargetTriple)()),
                cpu: take(api, (api.LLVMGetHostCPUName)()),
                features: take(api, (api.LLVMGetHostCPUFeatures)()),
            }
        }
    }

    unsafe fn context(&self, reports: *const RefCell<Vec<String>>) -> Handle {
        // SAFETY: LLVM hands the box back to `report` alone, and `dispose_context` frees it.
        unsafe {
            let context = (self.api.LLVMContextCreate)();
            let reports = Box::into_raw(Box::new(Reports { api: &self.api, texts: reports }));
            (self.api.LLVMContextSetDiagnosticHandler)(context, Some(report), reports.cast());
            context
        }
    }

    unsafe fn dispose_context(&self, context: Handle) {
        // SAFETY: it is ours, with the box that `context` made.
        unsafe {
            let reports = (self.api.LLVMContextGetDiagnosticContext)(context).cast::<Reports>();
            (self.api.LLVMContextDispose)(context);
            drop(Box::from_raw(reports));
        }
    }

    unsafe fn parse(&self, context: Handle, text: &CStr) -> Result<Handle, String> {
        let api = &self.api;
        let bytes = text.to_bytes();
        let (mut module, mut message) = (null_mut(), null_mut());
        // SAFETY: the context is live; the reader takes the buffer.
        unsafe {
            let copy = api.LLVMCreateMemoryBufferWithMemoryRangeCopy;
            let buffer = copy(bytes.as_ptr().cast(), bytes.len(), c"diffeo".as_ptr());
            let read = api.LLVMParseIRInContext;
            match read(context, buffer, &mut module, &mut message) {
                0 => Ok(module),
                _ => Err(take(api, message)),
            }
        }
    }

    unsafe fn set_target(&self, module: Handle, machine: Handle, triple: &CStr) {
        let api = &self.api;
        // SAFETY: the handles are live; the layout is ours.
        unsafe {
            (api.LLVMSetTarget)(module, triple.as_ptr());
            let layout = (api.LLVMCreateTargetDataLayout)(machine);
            (api.LLVMSetModuleDataLayout)(module, layout);
            (api.LLVMDisposeTargetData)(layout);
        }
    }

    unsafe fn verify(&self, module: Handle) -> Result<(), String> {
        let mut message = null_mut();
        // SAFETY: the module is live, and the text is ours.
        unsafe {
            let wrong = (self.api.LLVMVerifyModule)(module, RETURN_STATUS, &mut message);
            let message = take(&self.api, message);
            if wrong == 0 {
                Ok(())
            } else {
                Err(message)
            }
        }
    }

    unsafe fn text(&self, module: Handle) -> String {
        // SAFETY: the module is live, and the text is ours.
        unsafe { take(&self.api, (self.api.LLVMPrintModuleToString)(module)) }
    }

    unsafe fn dispose_module(&self, module: Handle) {
        // SAFETY: it is ours.
        unsafe { (self.api.LLVMDisposeModule)(module) }
    }

    fn machine(
        &self,
        triple: &CStr,
        cpu: &CStr,
        features: &CStr,
        level: Level,
    ) -> Result<Handle, String> {
        let api = &self.api;
        let (mut target, mut message) = (null_mut(), null_mut());
        let level = if level == Level::Full { 3 } else { 0 };
        // SAFETY: texts end with zeros; a target lives as long as the library.
        unsafe {
            if (api.LLVMGetTargetFromTriple)(triple.as_ptr(), &mut target, &mut message) != 0 {
                return Err(take(api, message));
            }
            let (cpu, features) = (cpu.as_ptr(), features.as_ptr());
            let make = api.LLVMCreateTargetMachine;
            let (place, size) = (POSITION_INDEPENDENT, SMALL_CODE);
            Ok(make(target, triple.as_ptr(), cpu, features, level, place, size))
        }
    }

    unsafe fn dispose_machine(&self, machine: Handle) {
        // SAFETY: it is ours.
        unsafe { (self.api.LLVMDisposeTargetMachine)(machine) }
    }

    unsafe fn optimise(&self, module: Handle, machine: Handle, level: Level) -> Result<(), String> {
        let api = &self.api;
        let passes = match level {
            Level::Full => c"default<O3>,always-inline",
            Level::Quick => c"function(mem2reg)",
        };
        // SAFETY: the handles are live; the options are freed after their only use.
        unsafe {
            let options = (api.LLVMCreatePassBuilderOptions)();
            let error = (api.LLVMRunPasses)(module, passes.as_ptr(), machine, options);
            (api.LLVMDisposePassBuilderOptions)(options);
            check(api, error)
        }
    }

    unsafe fn write(
        &self,
        module: Handle,
        machine: Handle,
        output: Output,
    ) -> Result<Vec<u8>, String> {
        let api = &self.api;
        let kind = match output {
            Output::Assembly => 0,
            Output::Object => 1,
        };
        let (mut message, mut buffer) = (null_mut(), null_mut());
        // SAFETY: the handles are live; the buffer is ours if the status is 0, and is copied before it is freed.
        unsafe {
            let emit = api.LLVMTargetMachineEmitToMemoryBuffer;
            if emit(machine, module, kind, &mut message, &mut buffer) != 0 {
                return Err(take(api, message));
            }
            let (start, length) =
                ((api.LLVMGetBufferStart)(buffer), (api.LLVMGetBufferSize)(buffer));
            let bytes = std::slice::from_raw_parts(start, length).to_vec();
            (api.LLVMDisposeMemoryBuffer)(buffer);
            Ok(bytes)
        }
    }

    unsafe fn load(
        &self,
        objects: &[&[u8]],
        functions: &[(CString, *const u8)],
        entry: &CStr,
    ) -> Result<(Code, *const u8), String> {
        // The library is never unloaded.
        let dispose = self.api.LLVMOrcDisposeLLJIT;
        let api = &self.api;
        // SAFETY: `code` owns the linker, which takes the names, the symbols and the buffers.
        unsafe {
            let mut jit = null_mut();
            check(api, (api.LLVMOrcCreateLLJIT)(&mut jit, null_mut()))?;
            let code = LoadedCode { jit, dispose };
            let place = (api.LLVMOrcLLJITGetMainJITDylib)(jit);
            let mut pairs: Vec<SymbolPair> = functions
                .iter()
                .map(|(name, address)| SymbolPair {
                    name: (api.LLVMOrcLLJITMangleAndIntern)(jit, name.as_ptr()),
                    address: *address as u64,
                    flags: EXPORTED_FUNCTION,
                    target_flags: 0,
                })
                .collect();
            let unit = (api.LLVMOrcAbsoluteSymbols)(pairs.as_mut_ptr(), pairs.len());
            if let Err(error) = check(api, (api.LLVMOrcJITDylibDefine)(place, unit)) {
                (api.LLVMOrcDisposeMaterializationUnit)(unit);
                return Err(error);
            }
            let copy = api.LLVMCreateMemoryBufferWithMemoryRangeCopy;
            for bytes in objects {
                let buffer = copy(bytes.as_ptr().cast(), bytes.len(), c"diffeo".as_ptr());
                check(api, (api.LLVMOrcLLJITAddObjectFile)(jit, place, buffer))?;
            }
            let mut address = 0;
            check(api, (api.LLVMOrcLLJITLookup)(jit, &mut address, entry.as_ptr()))?;
            Ok((Box::new(code), address as usize as *const u8))
        }
    }
}

/// Code in memory.
struct LoadedCode {
    jit: Handle,
    dispose: unsafe extern "C" fn(Handle) -> *mut c_void,
}

// SAFETY: nothing is done with the handle until it is dropped, by one thread; the code itself is only read.
unsafe impl Send for LoadedCode {}
// SAFETY: as above.
unsafe impl Sync for LoadedCode {}

impl Drop for LoadedCode {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody can call the code any more. There is nobody to tell of an error.
        unsafe { (self.dispose)(self.jit) };
    }
}

/// A text that LLVM gave, which is freed; empty for null.
///
/// # Safety
/// It is null, or a message of LLVM that is ours.
unsafe fn take(api: &CApi, message: *mut c_char) -> String {
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
unsafe fn check(api: &CApi, error: *mut c_void) -> Result<(), String> {
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
