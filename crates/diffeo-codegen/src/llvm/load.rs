//! Loads objects: LLVM's linker puts them into memory as code that can be called.

use super::compile::Object;
use super::emit::ENTRY;
use super::interface::Code;
use super::library::LlvmLibrary;
use crate::engine::EntryFn;
use crate::runtime;
use std::ffi::{CString, NulError};

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
) -> Result<(Code, EntryFn), String> {
    let functions = imports.iter().map(|function| (function.name, function.address));
    let symbols: Vec<(CString, *const u8)> = functions
        .chain(library_functions())
        .map(|(name, address)| Ok((CString::new(name)?, address)))
        .collect::<Result<_, NulError>>()
        .map_err(|error| error.to_string())?;
    let name = CString::new(ENTRY).map_err(|error| error.to_string())?;
    let objects: Vec<&[u8]> = objects.iter().map(|object| object.bytes.as_slice()).collect();
    // SAFETY: the functions have the types that the objects expect of them, because both come from the table of the
    // runtime; the entry has this type (`emit::entry`).
    unsafe {
        let (code, entry) = library.interface.load(&objects, &symbols, &name)?;
        Ok((code, std::mem::transmute::<*const u8, EntryFn>(entry)))
    }
}
