//! The functions of LLVM's C interface that are used, as the headers `llvm-c/*.h` declare them.
//!
//! Handles are addresses that belong to LLVM; each use says who frees what.

use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// An object of LLVM.
pub type Handle = *mut c_void;
/// An error, or null.
pub type ErrorRef = *mut c_void;
/// A function that receives LLVM's diagnostics.
pub type DiagnosticHandler = extern "C" fn(Handle, *mut c_void);

/// A symbol with its address.
#[repr(C)]
pub struct SymbolPair {
    /// The name, interned.
    pub name: Handle,
    /// Its address.
    pub address: u64,
    /// Exported (1), callable (4).
    pub flags: u8,
    /// None.
    pub target_flags: u8,
}

macro_rules! api {
    ($($name:ident($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions, by their names.
        #[allow(non_snake_case, missing_docs)]
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl Api {
            /// Looks up every function.
            ///
            /// # Errors
            /// The name of one that is missing.
            pub fn load(library: &Library) -> Result<Api, &'static str> {
                Ok(Api {
                    $($name: {
                        // SAFETY: the headers declare the function with this type, in each of the
                        // versions that are accepted.
                        let symbol = unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) };
                        *symbol.map_err(|_| stringify!($name))?
                    },)*
                })
            }
        }
    };
}

api! {
    LLVMParseCommandLineOptions(c_int, *const *const c_char, *const c_char);
    LLVMContextCreate() -> Handle;
    LLVMContextDispose(Handle);
    LLVMContextSetDiagnosticHandler(Handle, Option<DiagnosticHandler>, *mut c_void);
    LLVMGetDiagInfoDescription(Handle) -> *mut c_char;
    LLVMDisposeMessage(*mut c_char);
    LLVMCreateMemoryBufferWithMemoryRangeCopy(*const c_char, usize, *const c_char) -> Handle;
    LLVMDisposeMemoryBuffer(Handle);
    LLVMGetBufferStart(Handle) -> *const u8;
    LLVMGetBufferSize(Handle) -> usize;
    LLVMParseIRInContext(Handle, Handle, *mut Handle, *mut *mut c_char) -> c_int;
    LLVMVerifyModule(Handle, c_int, *mut *mut c_char) -> c_int;
    LLVMDisposeModule(Handle);
    LLVMPrintModuleToString(Handle) -> *mut c_char;
    LLVMSetTarget(Handle, *const c_char);
    LLVMSetModuleDataLayout(Handle, Handle);
    LLVMCreateTargetDataLayout(Handle) -> Handle;
    LLVMDisposeTargetData(Handle);
    LLVMGetDefaultTargetTriple() -> *mut c_char;
    LLVMGetHostCPUName() -> *mut c_char;
    LLVMGetHostCPUFeatures() -> *mut c_char;
    LLVMGetTargetFromTriple(*const c_char, *mut Handle, *mut *mut c_char) -> c_int;
    LLVMCreateTargetMachine(Handle, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Handle;
    LLVMDisposeTargetMachine(Handle);
    LLVMTargetMachineEmitToMemoryBuffer(Handle, Handle, c_int, *mut *mut c_char, *mut Handle) -> c_int;
    LLVMCreatePassBuilderOptions() -> Handle;
    LLVMDisposePassBuilderOptions(Handle);
    LLVMRunPasses(Handle, *const c_char, Handle, Handle) -> ErrorRef;
    LLVMGetErrorMessage(ErrorRef) -> *mut c_char;
    LLVMDisposeErrorMessage(*mut c_char);
    LLVMOrcCreateLLJIT(*mut Handle, Handle) -> ErrorRef;
    LLVMOrcDisposeLLJIT(Handle) -> ErrorRef;
    LLVMOrcLLJITGetMainJITDylib(Handle) -> Handle;
    LLVMOrcLLJITMangleAndIntern(Handle, *const c_char) -> Handle;
    LLVMOrcAbsoluteSymbols(*mut SymbolPair, usize) -> Handle;
    LLVMOrcJITDylibDefine(Handle, Handle) -> ErrorRef;
    LLVMOrcDisposeMaterializationUnit(Handle);
    LLVMOrcLLJITAddObjectFile(Handle, Handle, Handle) -> ErrorRef;
    LLVMOrcLLJITLookup(Handle, *mut u64, *const c_char) -> ErrorRef;
}

/// The version of a library.
///
/// # Errors
/// It is no LLVM, or older than LLVM 16.
pub fn version(library: &Library) -> Result<[u32; 3], &'static str> {
    type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);
    let mut version = [0; 3];
    let [major, minor, patch] = &mut version;
    // SAFETY: the function has had this type since it was introduced; the addresses are of live numbers.
    unsafe {
        let get = library.get::<GetVersion>(b"LLVMGetVersion\0").map_err(|_| "LLVMGetVersion")?;
        get(major, minor, patch);
    }
    Ok(version)
}

/// Makes LLVM ready to generate code for the processor that this runs on.
///
/// # Errors
/// The name of a function that is missing: the library was built for other processors.
pub fn initialize(library: &Library) -> Result<(), String> {
    let processor = if cfg!(target_arch = "x86_64") { "X86" } else { "AArch64" };
    for part in ["TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"] {
        let name = format!("LLVMInitialize{processor}{part}");
        // SAFETY: all of these take nothing and give nothing, and may be called once the library is loaded.
        unsafe {
            let initialize = library.get::<unsafe extern "C" fn()>(name.as_bytes());
            initialize.map_err(|_| name.clone())?();
        }
    }
    Ok(())
}
