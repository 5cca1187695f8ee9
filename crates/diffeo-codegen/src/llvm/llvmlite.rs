//! The LLVM of Numba: llvmlite's library, which exports functions of its own that wrap those of the C interface.
//!
//! Its options are those of the whole process, and Numba may be in it: none is set. What LLVM reports cannot be
//! taken; nothing that we write makes it report.

use super::api::{Handle, LinkElement, LiteApi, SymbolAddress};
use super::interface::{Code, Host, Interface, Level, Output};
use std::cell::RefCell;
use std::ffi::{c_char, CStr, CString};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An element of a link that is an object.
const OBJECT: u8 = 2;

/// The functions.
pub(super) struct Llvmlite {
    pub api: LiteApi,
}

impl Llvmlite {
    /// A text that llvmlite gave, which is freed; empty for null.
    ///
    /// # Safety
    /// It is null, or a text that is ours.
    unsafe fn take(&self, text: *const c_char) -> String {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: by the condition of the function; it is copied before it is freed.
        unsafe {
            let copy = CStr::from_ptr(text).to_string_lossy().trim().to_string();
            (self.api.LLVMPY_DisposeString)(text);
            copy
        }
    }

    /// The text that a function puts at an address.
    ///
    /// # Safety
    /// The text is ours.
    unsafe fn given(&self, put: unsafe extern "C" fn(*mut *const c_char)) -> String {
        let mut text = null();
        // SAFETY: the address is that of a live pointer.
        unsafe {
            put(&mut text);
            self.take(text)
        }
    }

    /// A handle, or the text of an error.
    ///
    /// # Safety
    /// The text is ours.
    unsafe fn result(&self, handle: Handle, error: *const c_char) -> Result<Handle, String> {
        // SAFETY: by the condition of the function.
        let error = unsafe { self.take(error) };
        if handle.is_null() {
            Err(error)
        } else {
            Ok(handle)
        }
    }
}

impl Interface for Llvmlite {
    fn host(&self) -> Host {
        let api = &self.api;
        let mut features = null();
        // SAFETY: these give texts that are ours.
        unsafe {
            (api.LLVMPY_GetHostCPUFeatures)(&mut features);
            Host {
                triple: self.given(api.LLVMPY_GetDefaultTargetTriple),
                cpu: self.given(api.LLVMPY_GetHostCPUName),
                features: self.take(features),
            }
        }
    }

    unsafe fn context(&self, _: *const RefCell<Vec<String>>) -> Handle {
        // SAFETY: it takes nothing.
        unsafe { (self.api.LLVMPY_ContextCreate)() }
    }

    unsafe fn dispose_context(&self, context: Handle) {
        // SAFETY: it is ours.
        unsafe { (self.api.LLVMPY_ContextDispose)(context) }
    }

    unsafe fn parse(&self, context: Handle, text: &CStr) -> Result<Handle, String> {
        let mut error = null();
        // SAFETY: the context is live, and the text of an error ours.
        unsafe {
            let module = (self.api.LLVMPY_ParseAssembly)(context, text.as_ptr(), &mut error);
            self.result(module, error)
        }
    }

    unsafe fn set_target(&self, module: Handle, machine: Handle, triple: &CStr) {
        let api = &self.api;
        let mut layout = null();
        // SAFETY: the handles are live; the layout and its text are ours.
        unsafe {
            (api.LLVMPY_SetTarget)(module, triple.as_ptr());
            let data = (api.LLVMPY_CreateTargetMachineData)(machine);
            (api.LLVMPY_CopyStringRepOfTargetData)(data, &mut layout);
            (api.LLVMPY_SetDataLayout)(module, layout);
            (api.LLVMPY_DisposeString)(layout);
            (api.LLVMPY_DisposeTargetData)(data);
        }
    }

    unsafe fn verify(&self, module: Handle) -> Result<(), String> {
        let mut error = null();
        // SAFETY: the module is live, and the text ours.
        unsafe {
            let wrong = (self.api.LLVMPY_VerifyModule)(module, &mut error);
            let error = self.take(error);
            if wrong == 0 {
                Ok(())
            } else {
                Err(error)
            }
        }
    }

    unsafe fn text(&self, module: Handle) -> String {
        let mut text = null();
        // SAFETY: the module is live, and the text ours.
        unsafe {
            (self.api.LLVMPY_PrintModuleToString)(module, &mut text);
            self.take(text)
        }
    }

    unsafe fn dispose_module(&self, module: Handle) {
        // SAFETY: it is ours.
        unsafe { (self.api.LLVMPY_DisposeModule)(module) }
    }

    fn machine(
        &self,
        triple: &CStr,
        cpu: &CStr,
        features: &CStr,
        level: Level,
    ) -> Result<Handle, String> {
        let api = &self.api;
        let mut error = null();
        let level = if level == Level::Full { 3 } else { 0 };
        // SAFETY: texts end with zeros; a target lives as long as the library.
        unsafe {
            let target = (api.LLVMPY_GetTargetFromTriple)(triple.as_ptr(), &mut error);
            let target = self.result(target, error)?;
            let (cpu, features) = (cpu.as_ptr(), features.as_ptr());
            let make = api.LLVMPY_CreateTargetMachine;
            let (place, size, abi) = (c"pic".as_ptr(), c"small".as_ptr(), c"".as_ptr());
            Ok(make(target, triple.as_ptr(), cpu, features, level, place, size, 0, 0, abi))
        }
    }

    unsafe fn dispose_machine(&self, machine: Handle) {
        // SAFETY: it is ours.
        unsafe { (self.api.LLVMPY_DisposeTargetMachine)(machine) }
    }

    unsafe fn optimise(&self, module: Handle, machine: Handle, level: Level) -> Result<(), String> {
        let api = &self.api;
        // SAFETY: the handles are live; what is made here is freed after its only use.
        unsafe {
            let options = (api.LLVMPY_CreatePipelineTuningOptions)();
            let builder = (api.LLVMPY_CreatePassBuilder)(machine, options);
            let passes = match level {
                Level::Full => {
                    let passes = (api.LLVMPY_buildPerModuleDefaultPipeline)(builder, 3);
                    (api.LLVMPY_module_AddAlwaysInlinerPass)(passes);
                    passes
                }
                Level::Quick => {
                    let passes = (api.LLVMPY_CreateNewModulePassManager)();
                    (api.LLVMPY_module_AddSROAPass)(passes);
                    passes
                }
            };
            (api.LLVMPY_RunNewModulePassManager)(passes, module, builder);
            (api.LLVMPY_DisposeNewModulePassManger)(passes);
            (api.LLVMPY_DisposePassBuilder)(builder);
            (api.LLVMPY_DisposePipelineTuningOptions)(options);
        }
        Ok(())
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
        let mut error = null();
        // SAFETY: the handles are live; the buffer is ours, and is copied before it is freed.
        unsafe {
            let buffer = (api.LLVMPY_TargetMachineEmitToMemory)(machine, module, kind, &mut error);
            let buffer = self.result(buffer, error)?;
            let start = (api.LLVMPY_GetBufferStart)(buffer);
            let length = (api.LLVMPY_GetBufferSize)(buffer);
            let bytes = std::slice::from_raw_parts(start, length).to_vec();
            (api.LLVMPY_DisposeMemoryBuffer)(buffer);
            Ok(bytes)
        }
    }

    unsafe fn load(
        &self,
        objects: &[&[u8]],
        functions: &[(CString, *const u8)],
        entry: &CStr,
    ) -> Result<(Code, *const u8), String> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let api = &self.api;
        let name = format!("diffeo{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let name = CString::new(name).map_err(|error| error.to_string())?;
        let elements: Vec<LinkElement> = objects
            .iter()
            .map(|bytes| LinkElement { kind: OBJECT, value: bytes.as_ptr(), length: bytes.len() })
            .collect();
        let imports: Vec<SymbolAddress> = functions
            .iter()
            .map(|(name, address)| SymbolAddress { name: name.as_ptr(), address: *address as u64 })
            .collect();
        let mut exports = [SymbolAddress { name: entry.as_ptr(), address: 0 }];
        let mut error = null();
        // SAFETY: `code` owns the linker, and then what is linked; the texts and bytes are copied. LLVM's own machine
        // for this processor will do, because no code is generated any more.
        unsafe {
            let jit = (api.LLVMPY_CreateLLJITCompiler)(null_mut(), true, false, &mut error);
            let jit = self.result(jit, error)?;
            let mut code = LoadedCode {
                jit,
                linked: null_mut(),
                unlink: api.LLVMPY_LLJIT_Dylib_Tracker_Dispose,
                dispose: api.LLVMPY_LLJITDispose,
            };
            let mut error = null();
            let linked = (api.LLVMPY_LLJIT_Link)(
                jit,
                name.as_ptr(),
                elements.as_ptr(),
                elements.len(),
                imports.as_ptr(),
                imports.len(),
                exports.as_mut_ptr(),
                exports.len(),
                &mut error,
            );
            code.linked = self.result(linked, error)?;
            Ok((Box::new(code), exports[0].address as usize as *const u8))
        }
    }
}

/// Code in memory.
struct LoadedCode {
    jit: Handle,
    linked: Handle,
    unlink: unsafe extern "C" fn(Handle, *mut *const c_char) -> bool,
    dispose: unsafe extern "C" fn(Handle),
}

// SAFETY: nothing is done with the handles until they are dropped, by one thread; the code itself is only read.
unsafe impl Send for LoadedCode {}
// SAFETY: as above.
unsafe impl Sync for LoadedCode {}

impl Drop for LoadedCode {
    fn drop(&mut self) {
        let mut error = null();
        // SAFETY: they are ours, and nobody can call the code any more. There is nobody to tell of an error.
        unsafe {
            if !self.linked.is_null() {
                (self.unlink)(self.linked, &mut error);
            }
            (self.dispose)(self.jit);
        }
    }
}
