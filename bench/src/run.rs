//! What can be called again and again.

use crate::case::{Kernel, KernelCase};
use std::time::Duration;

/// A kernel with its data, ready to be called: nothing is converted or compiled in a call.
pub trait Prepared {
    /// Calls it once, and keeps the result.
    ///
    /// # Errors
    /// What stopped it.
    fn call(&mut self) -> Result<(), String>;

    /// All numbers of the last call's result, in order.
    fn result(&self) -> Vec<f64>;

    /// How many blocks of memory the last call allocated beyond its result, where that is counted.
    fn allocations(&self) -> Option<u64> {
        None
    }
}

/// A [`Prepared`] with what is known of it.
pub struct Runner<'a> {
    /// What runs it: `plain C`, or an engine.
    pub name: String,
    /// How long it took to compile, from the text; zero where nothing is compiled.
    pub compile: Duration,
    /// The call.
    pub prepared: Box<dyn Prepared + 'a>,
}

/// A kernel in Rust with its data.
pub struct RustKernel<'a> {
    function: fn(&KernelCase) -> Vec<f64>,
    case: &'a KernelCase,
    result: Vec<f64>,
}

impl<'a> RustKernel<'a> {
    /// The kernel's function in Rust, if it has one, ready for a case.
    pub fn prepare(kernel: &Kernel, case: &'a KernelCase) -> Option<Runner<'a>> {
        let native = RustKernel { function: kernel.rust?, case, result: Vec::new() };
        Some(Runner { name: "Rust".into(), compile: Duration::ZERO, prepared: Box::new(native) })
    }
}

impl Prepared for RustKernel<'_> {
    fn call(&mut self) -> Result<(), String> {
        self.result = (self.function)(self.case);
        Ok(())
    }

    fn result(&self) -> Vec<f64> {
        self.result.clone()
    }
}
