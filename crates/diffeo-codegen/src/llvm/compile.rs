//! From the text of a module to an object for a processor.

use super::api::Handle;
use super::emit::SMALL_FRAME;
use super::frames::large_frames;
use super::interface::{Host, Interface, Level, Output};
use super::library::LlvmLibrary;
use crate::engine::Cpu;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::ffi::CString;
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
    /// How many bits vectors should have.
    pub vector_width: u32,
}

/// The stack of LLVM, which recurs over nested blocks.
pub(super) const STACK: usize = 64 << 20;

impl TargetMachine {
    pub fn new(library: &'static LlvmLibrary, cpu: Cpu) -> Result<TargetMachine, String> {
        let Host { triple, cpu: name, features } = library.interface.host();
        let (name, features) = match cpu {
            Cpu::Host => (name, features),
            Cpu::Baseline if cfg!(target_arch = "x86_64") => ("x86-64".into(), String::new()),
            Cpu::Baseline => ("generic".into(), String::new()),
            Cpu::X86V2 | Cpu::X86V3 | Cpu::X86V4 => (cpu.name().into(), String::new()),
        };
        let has = |feature: &str| features.split(',').any(|f| f == feature);
        let wide = cpu == Cpu::X86V4 || has("+avx512vl");
        let text = |text: String| CString::new(text).map_err(|_| "a name with a zero in it");
        Ok(TargetMachine {
            library,
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
        let bytes = self.with_optimised(text, quick, |module| module.write(Output::Object))?;
        let frames = large_frames(&bytes, SMALL_FRAME)?;
        Ok(Object { bytes, frames })
    }

    /// The module after LLVM's optimisations.
    pub fn optimised(&self, text: &str, quick: bool) -> Result<String, String> {
        // SAFETY: the module is live.
        self.with_optimised(text, quick, |m| Ok(unsafe { m.interface.text(m.module) }))
    }

    /// The module as instructions.
    pub fn assembly(&self, text: &str, quick: bool) -> Result<String, String> {
        let bytes = self.with_optimised(text, quick, |module| module.write(Output::Assembly))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Does something with the module after LLVM's optimisations.
    fn with_optimised<T>(
        &self,
        text: &str,
        quick: bool,
        then: impl FnOnce(&LlvmModule) -> Result<T, String>,
    ) -> Result<T, String> {
        let level = if quick { Level::Quick } else { Level::Full };
        stacker::grow(STACK, || {
            let module = LlvmModule::parse(self, text, level)?;
            // SAFETY: the handles are live.
            unsafe { module.interface.optimise(module.module, module.machine, level)? };
            then(&module)
        })
    }
}

/// A module in LLVM, with what belongs to it.
struct LlvmModule {
    interface: &'static dyn Interface,
    context: Handle,
    machine: Handle,
    module: Handle,
    /// What LLVM reported; shown if something goes wrong.
    reports: Box<RefCell<Vec<String>>>,
}

impl LlvmModule {
    /// Reads and verifies a module.
    fn parse(target: &TargetMachine, text: &str, level: Level) -> Result<LlvmModule, String> {
        let interface = &*target.library.interface;
        let text = CString::new(text).map_err(|error| error.to_string())?;
        let reports = Box::new(RefCell::new(Vec::new()));
        // SAFETY: `parsed` owns all handles from the beginning, so that it frees what there is when this returns
        // early. The reports are in a box, and live as long as the context.
        unsafe {
            let context = interface.context(&*reports);
            let (machine, module) = (null_mut(), null_mut());
            let mut parsed = LlvmModule { interface, context, machine, module, reports };
            let (triple, cpu, features) = (&target.triple, &target.cpu, &target.features);
            parsed.machine = interface.machine(triple, cpu, features, level)?;
            if parsed.machine.is_null() {
                return Err(format!("no code for {}", triple.to_string_lossy()));
            }
            let read = interface.parse(context, &text);
            parsed.module = read.map_err(|why| format!("the module cannot be read: {why}"))?;
            interface.set_target(parsed.module, parsed.machine, triple);
            let verified = interface.verify(parsed.module);
            verified.map_err(|why| format!("the module is not valid: {why}"))?;
            Ok(parsed)
        }
    }

    fn write(&self, output: Output) -> Result<Vec<u8>, String> {
        // SAFETY: the handles are live.
        let written = unsafe { self.interface.write(self.module, self.machine, output) };
        written.map_err(|why| format!("{why} {}", self.reports.borrow().join("; ")))
    }
}

impl Drop for LlvmModule {
    fn drop(&mut self) {
        // SAFETY: each is ours or null, and the module goes before its context.
        unsafe {
            if !self.module.is_null() {
                self.interface.dispose_module(self.module);
            }
            if !self.machine.is_null() {
                self.interface.dispose_machine(self.machine);
            }
            self.interface.dispose_context(self.context);
        }
    }
}
