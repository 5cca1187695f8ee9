//! Loads objects: LLVM's linker puts them into memory as code that can be called.

use super::api::{Api, Handle, SymbolPair};
use super::compile::{check, Object};
use super::emit::ENTRY;
use super::library::LlvmLibrary;
use crate::engine::EntryFn;
use crate::runtime;
use std::ffi::{CString, NulError};
use std::ptr::null_mut;

/// Code in memory.
pub(super) struct LoadedCode {
    api: &'static Api,
    jit: Handle,
}

// SAFETY: nothing is done with the handle until it is dropped, by one thread; the code itself is only read.
unsafe impl Send for LoadedCode {}
// SAFETY: as above.
unsafe impl Sync for LoadedCode {}

impl Drop for LoadedCode {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody can call the code any more. There is nobody to tell of an error.
        let _ = unsafe { check(self.api, (self.api.LLVMOrcDisposeLLJIT)(self.jit)) };
    }
}

/// Flags of symbols: they can be seen, and called.
const EXPORTED_FUNCTION: u8 = 1 | 4;

/// Functions of the C library that LLVM calls of its own accord.
fn library_functions() -> Vec<(&'static str, *const u8)> {
    extern "C" {
        fn memcpy();
        fn memmove();
        fn memset();
        fn memcmp();
        fn bcmp();
        fn fma();
        fn floor();
        fn ceil();
        fn trunc();
        fn roundeven();
    }
    macro_rules! list {
        ($($name:ident),*) => { vec![$((stringify!($name), $name as *const u8)),*] };
    }
    list![memcpy, memmove, memset, memcmp, bcmp, fma, floor, ceil, trunc, roundeven]
}

/// Loads the objects of a program; gives its entry.
pub(super) fn load(
    library: &'static LlvmLibrary,
    objects: &[Object],
    imports: &[runtime::RuntimeFunction],
) -> Result<(LoadedCode, EntryFn), String> {
    let api = &library.api;
    let functions = imports.iter().map(|function| (function.name, function.address));
    let symbols: Vec<(CString, *const u8)> = functions
        .chain(library_functions())
        .map(|(name, address)| Ok((CString::new(name)?, address)))
        .collect::<Result<_, NulError>>()
        .map_err(|error| error.to_string())?;
    // SAFETY: handles come from the functions that make them and go to those that want them; `code` owns the
    // linker, which takes the names, the symbols and the buffers. The functions have the types that the
    // objects expect of them, because both come from the table of the runtime.
    unsafe {
        let mut jit = null_mut();
        check(api, (api.LLVMOrcCreateLLJIT)(&mut jit, null_mut()))?;
        let code = LoadedCode { api, jit };
        let place = (api.LLVMOrcLLJITGetMainJITDylib)(jit);
        let intern = |name: &CString| (api.LLVMOrcLLJITMangleAndIntern)(jit, name.as_ptr());
        let mut pairs: Vec<SymbolPair> = symbols
            .iter()
            .map(|(name, address)| SymbolPair {
                name: intern(name),
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
        for Object { bytes, .. } in objects {
            let buffer = copy(bytes.as_ptr().cast(), bytes.len(), c"diffeo".as_ptr());
            check(api, (api.LLVMOrcLLJITAddObjectFile)(jit, place, buffer))?;
        }
        let name = CString::new(ENTRY).map_err(|error| error.to_string())?;
        let mut address = 0;
        check(api, (api.LLVMOrcLLJITLookup)(jit, &mut address, name.as_ptr()))?;
        let entry = std::mem::transmute::<*const u8, EntryFn>(address as usize as *const u8);
        Ok((code, entry))
    }
}
