//! What is asked of an LLVM, whichever functions it offers: those of its C interface, or those of llvmlite.

use super::api::Handle;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString};

/// The processor that this runs on, in LLVM's words.
pub(super) struct Host {
    pub triple: String,
    pub cpu: String,
    pub features: String,
}

/// What to write of a module.
#[derive(Clone, Copy)]
pub(super) enum Output {
    Assembly,
    Object,
}

/// How much work to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// All optimisations, and good code.
    Full,
    /// In linear time, with variables in registers.
    Quick,
}

/// Code in memory, which stays until this is dropped.
pub(super) type Code = Box<dyn Any + Send + Sync>;

/// The functions of an LLVM.
///
/// # Safety of implementations and callers
///
/// Handles come from the functions that make them and go to those that want them, once to those that dispose.
pub(super) trait Interface: Send + Sync {
    fn host(&self) -> Host;
    /// A context, which puts what LLVM reports at the end of `reports` while it lives, if it can.
    ///
    /// # Safety
    /// The reports outlive the context.
    unsafe fn context(&self, reports: *const RefCell<Vec<String>>) -> Handle;
    unsafe fn dispose_context(&self, context: Handle);
    /// Reads a module.
    unsafe fn parse(&self, context: Handle, text: &CStr) -> Result<Handle, String>;
    /// Sets the triple and the layout of data.
    unsafe fn set_target(&self, module: Handle, machine: Handle, triple: &CStr);
    unsafe fn verify(&self, module: Handle) -> Result<(), String>;
    unsafe fn text(&self, module: Handle) -> String;
    unsafe fn dispose_module(&self, module: Handle);
    fn machine(
        &self,
        triple: &CStr,
        cpu: &CStr,
        features: &CStr,
        level: Level,
    ) -> Result<Handle, String>;
    unsafe fn dispose_machine(&self, machine: Handle);
    unsafe fn optimise(&self, module: Handle, machine: Handle, level: Level) -> Result<(), String>;
    unsafe fn write(
        &self,
        module: Handle,
        machine: Handle,
        output: Output,
    ) -> Result<Vec<u8>, String>;
    /// Links objects with each other and with these functions; gives the address of the entry.
    ///
    /// # Safety
    /// The objects are code for this processor that calls the functions by their types.
    unsafe fn load(
        &self,
        objects: &[&[u8]],
        functions: &[(CString, *const u8)],
        entry: &CStr,
    ) -> Result<(Code, *const u8), String>;
}
