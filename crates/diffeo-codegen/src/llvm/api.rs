//! The functions of LLVM that are used: of its C interface, as the headers `llvm-c/*.h` declare them, or of llvmlite.
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

/// An object that llvmlite links.
#[repr(C)]
pub struct LinkElement {
    /// 2 for an object.
    pub kind: u8,
    /// Its bytes.
    pub value: *const u8,
    /// How many they are.
    pub length: usize,
}

/// A symbol with its address, as llvmlite takes and gives it.
#[repr(C)]
pub struct SymbolAddress {
    /// The name.
    pub name: *const c_char,
    /// Its address.
    pub address: u64,
}

macro_rules! api {
    ($(#[$doc:meta])* $table:ident { $($name:ident($($arg:ty),*) $(-> $result:ty)?;)* }) => {
        $(#[$doc])*
        #[allow(non_snake_case, missing_docs)]
        pub struct $table {
            $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl $table {
            /// Looks up every function.
            ///
            /// # Errors
            /// The name of one that is missing.
            pub fn load(library: &Library) -> Result<$table, &'static str> {
                Ok($table {
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
    /// The functions of LLVM's C interface.
    CApi {
        LLVMParseCommandLineOptions(c_int, *const *const c_char, *const c_char);
        LLVMContextCreate() -> Handle;
        LLVMContextDispose(Handle);
        LLVMContextSetDiagnosticHandler(Handle, Option<DiagnosticHandler>, *mut c_void);
        LLVMContextGetDiagnosticContext(Handle) -> *mut c_void;
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
}

api! {
    /// The functions of llvmlite, which wrap those of the C interface. A text that one gives, or puts at an address, is
    /// the caller's.
    LiteApi {
        LLVMPY_InitializeNativeTarget() -> c_int;
        LLVMPY_InitializeNativeAsmParser() -> c_int;
        LLVMPY_InitializeNativeAsmPrinter() -> c_int;
        LLVMPY_ContextCreate() -> Handle;
        LLVMPY_ContextDispose(Handle);
        LLVMPY_DisposeString(*const c_char);
        LLVMPY_ParseAssembly(Handle, *const c_char, *mut *const c_char) -> Handle;
        LLVMPY_VerifyModule(Handle, *mut *const c_char) -> c_int;
        LLVMPY_DisposeModule(Handle);
        LLVMPY_PrintModuleToString(Handle, *mut *const c_char);
        LLVMPY_SetTarget(Handle, *const c_char);
        LLVMPY_SetDataLayout(Handle, *const c_char);
        LLVMPY_CreateTargetMachineData(Handle) -> Handle;
        LLVMPY_CopyStringRepOfTargetData(Handle, *mut *const c_char);
        LLVMPY_DisposeTargetData(Handle);
        LLVMPY_GetDefaultTargetTriple(*mut *const c_char);
        LLVMPY_GetHostCPUName(*mut *const c_char);
        LLVMPY_GetHostCPUFeatures(*mut *const c_char) -> c_int;
        LLVMPY_GetTargetFromTriple(*const c_char, *mut *const c_char) -> Handle;
        LLVMPY_CreateTargetMachine(Handle, *const c_char, *const c_char, *const c_char, c_int, *const c_char, *const c_char, c_int, c_int, *const c_char) -> Handle;
        LLVMPY_DisposeTargetMachine(Handle);
        LLVMPY_TargetMachineEmitToMemory(Handle, Handle, c_int, *mut *const c_char) -> Handle;
        LLVMPY_GetBufferStart(Handle) -> *const u8;
        LLVMPY_GetBufferSize(Handle) -> usize;
        LLVMPY_DisposeMemoryBuffer(Handle);
        LLVMPY_CreatePipelineTuningOptions() -> Handle;
        LLVMPY_DisposePipelineTuningOptions(Handle);
        LLVMPY_CreatePassBuilder(Handle, Handle) -> Handle;
        LLVMPY_DisposePassBuilder(Handle);
        LLVMPY_buildPerModuleDefaultPipeline(Handle, c_int) -> Handle;
        LLVMPY_CreateNewModulePassManager() -> Handle;
        LLVMPY_module_AddAlwaysInlinerPass(Handle);
        LLVMPY_module_AddSROAPass(Handle);
        LLVMPY_RunNewModulePassManager(Handle, Handle, Handle);
        LLVMPY_DisposeNewModulePassManger(Handle);
        LLVMPY_CreateLLJITCompiler(Handle, bool, bool, *mut *const c_char) -> Handle;
        LLVMPY_LLJITDispose(Handle);
        LLVMPY_LLJIT_Link(Handle, *const c_char, *const LinkElement, usize, *const SymbolAddress, usize, *mut SymbolAddress, usize, *mut *const c_char) -> Handle;
        LLVMPY_LLJIT_Dylib_Tracker_Dispose(Handle, *mut *const c_char) -> bool;
    }
}

/// The version of a library of llvmlite.
///
/// # Errors
/// It is none.
pub fn lite_version(library: &Library) -> Result<[u32; 3], &'static str> {
    // SAFETY: the function has had this type since it was introduced.
    let version = unsafe {
        let get = library.get::<unsafe extern "C" fn() -> c_uint>(b"LLVMPY_GetVersionInfo\0");
        get.map_err(|_| "LLVMPY_GetVersionInfo")?()
    };
    Ok([version >> 16, version >> 8 & 0xff, version & 0xff])
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
