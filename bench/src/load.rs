//! The one place that calls foreign code: a shared object compiled from a file of `c/`.

#![allow(unsafe_code)]

use crate::case::{CaseData, KernelCase};
use crate::run::Prepared;
use libloading::Library;
use std::ffi::c_void;
use std::path::Path;

/// The function that `c/bench.h` declares.
type Bench = unsafe extern "C" fn(*const i64, *const *const c_void, *mut f64);

/// A kernel in C with its data.
pub struct Loaded<'a> {
    bench: Bench,
    /// The code of `bench`.
    _library: Library,
    case: &'a KernelCase,
    pointers: Vec<*const c_void>,
    result: Vec<f64>,
}

/// Loads a shared object with the function `bench` for a case of its kernel.
///
/// # Errors
/// It cannot be loaded.
pub fn load<'a>(object: &Path, case: &'a KernelCase) -> Result<Loaded<'a>, String> {
    // SAFETY: the object was compiled from a file of `c/`, none of which does anything when it is loaded.
    let library = unsafe { Library::new(object) }.map_err(|e| e.to_string())?;
    // SAFETY: every file of `c/` includes `bench.h`, which declares `bench` of this type. The pointer is kept beside the
    // library that holds its code.
    let bench = unsafe { *library.get::<Bench>(b"bench\0").map_err(|e| e.to_string())? };
    let pointers = case.arrays.iter().map(|array| match &array.data {
        CaseData::Reals(data) => data.as_ptr().cast(),
        CaseData::Ints(data) => data.as_ptr().cast(),
    });
    let pointers = pointers.collect();
    Ok(Loaded { bench, _library: library, case, pointers, result: vec![0.0; case.results] })
}

impl Prepared for Loaded<'_> {
    fn call(&mut self) -> Result<(), String> {
        let (sizes, args) = (self.case.sizes.as_ptr(), self.pointers.as_ptr());
        // SAFETY: the file in `c/` reads the sizes and arrays of its kernel's cases, which `self.case` holds in the
        // order that both follow, and writes `case.results` numbers, the length of `self.result`. It keeps no pointer.
        unsafe { (self.bench)(sizes, args, self.result.as_mut_ptr()) };
        Ok(())
    }

    fn result(&self) -> Vec<f64> {
        self.result.clone()
    }
}
