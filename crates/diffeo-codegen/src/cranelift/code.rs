//! Machine code before it is put into memory. It contains no addresses, so it can be kept on disk.

use super::{unsupported, well, CraneliftOptions};
use crate::engine::{CompileError, Compiled, Cpu, EntryFn};
use crate::low::{LowModule, Raise};
use crate::runtime;
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::{ir, Context};
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module as _, ModuleReloc, ModuleRelocTarget};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The machine code of a program.
#[derive(Serialize, Deserialize)]
pub struct MachineCode {
    /// The processor whose instructions it may use.
    pub(super) cpu: Cpu,
    /// The functions of the module, then those with the convention of C, which are called from outside; the entry is
    /// last.
    pub(super) functions: Vec<FunctionCode>,
    /// The names of the functions of the runtime that it calls; their indices follow those of the functions.
    pub(super) imports: Vec<String>,
    /// Its errors, by index.
    pub(super) raises: Vec<Raise>,
    /// See [`stack_margin`](crate::engine::stack_margin).
    pub(super) margin: usize,
    /// The number of statements of Low that it was made of.
    pub(super) statements: usize,
}

/// A function in machine code.
#[derive(Serialize, Deserialize)]
pub(super) struct FunctionCode {
    bytes: Vec<u8>,
    alignment: u64,
    #[serde(with = "relocations")]
    relocations: Vec<ModuleReloc>,
    /// How many bytes of the stack it takes.
    pub frame: usize,
}

/// References to other functions, by index.
mod relocations {
    use super::{ModuleReloc, ModuleRelocTarget, Reloc};
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Those that code has where it is not made to lie anywhere.
    const KINDS: [Reloc; 8] = [
        Reloc::Abs8,
        Reloc::X86PCRel4,
        Reloc::X86CallPCRel4,
        Reloc::X86CallPLTRel4,
        Reloc::Arm64Call,
        Reloc::S390xPCRel32Dbl,
        Reloc::S390xPLTRel32Dbl,
        Reloc::RiscvCallPlt,
    ];

    /// Offset, kind, function and what is added to its address.
    type Kept = (u32, usize, u32, i64);

    pub fn serialize<S: Serializer>(all: &[ModuleReloc], to: S) -> Result<S::Ok, S::Error> {
        let kept = |relocation: &ModuleReloc| -> Option<Kept> {
            let kind = KINDS.iter().position(|kind| *kind == relocation.kind)?;
            let ModuleRelocTarget::User { namespace: 0, index } = relocation.name else {
                return None;
            };
            Some((relocation.offset, kind, index, relocation.addend))
        };
        let kept: Option<Vec<Kept>> = all.iter().map(kept).collect();
        kept.ok_or_else(|| S::Error::custom("code with another reference"))?.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ModuleReloc>, D::Error> {
        let kept = Vec::<Kept>::deserialize(from)?;
        let relocation = |(offset, kind, index, addend): Kept| {
            let kind = *KINDS.get(kind)?;
            let name = ModuleRelocTarget::user(0, index);
            Some(ModuleReloc { offset, kind, name, addend })
        };
        let all: Option<Vec<ModuleReloc>> = kept.into_iter().map(relocation).collect();
        all.ok_or_else(|| D::Error::custom("code with another reference"))
    }
}

/// Compiles a function.
pub(super) fn compiled(
    index: u32,
    context: &mut Context,
    isa: &dyn TargetIsa,
) -> Result<FunctionCode, CompileError> {
    let mut control = cranelift_codegen::control::ControlPlane::default();
    let compiled = context.compile(isa, &mut control).map_err(|error| {
        CompileError::Unsupported(format!("Cranelift: function {index}: {}", error.inner))
    })?;
    let bytes = compiled.code_buffer().to_vec();
    let alignment = u64::from(compiled.buffer.alignment)
        .max(u64::from(isa.function_alignment().minimum))
        .max(isa.symbol_alignment());
    // Below the frame pointer lies what Cranelift counts, above it two words, and the arguments of calls
    // are in the caller's part.
    let frame = compiled.buffer.frame_layout().map_or(0, |f| f.frame_to_fp_offset as usize) + 16;
    let compiled = context.compiled_code();
    let relocations = compiled.map_or(Vec::new(), |compiled| {
        let id = FuncId::from_u32(index);
        let relocations = compiled.buffer.relocs().iter();
        relocations.map(|r| ModuleReloc::from_mach_reloc(r, &context.func, id)).collect()
    });
    Ok(FunctionCode { bytes, alignment, relocations, frame })
}

/// Machine code in memory.
struct Jit(Option<JITModule>);

// SAFETY: after it is linked, nothing changes the module until it is dropped.
unsafe impl Sync for Jit {}

impl Drop for Jit {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: `Compiled` keeps this as long as the code can be called.
            unsafe { module.free_memory() };
        }
    }
}

impl MachineCode {
    /// The program in memory. Of the module that it was made from, the functions are not needed.
    ///
    /// # Errors
    /// Cranelift does not know this processor, or there is no memory.
    pub fn load(self, module: Arc<LowModule>) -> Result<Compiled, CompileError> {
        let isa = well(&CraneliftOptions { cpu: self.cpu, ..CraneliftOptions::default() })?;
        let (jit, entry) = self.link(isa).map_err(unsupported)?;
        let MachineCode { raises, margin, statements, .. } = self;
        // SAFETY: the entry has this convention (`translate_outside`), and `jit` keeps it in memory.
        let compiled = unsafe { Compiled::new(module, raises, entry, margin, Box::new(jit)) };
        Ok(compiled.of_statements(statements))
    }

    /// Puts the functions into memory; gives the entry.
    fn link(&self, isa: OwnedTargetIsa) -> Result<(Jit, EntryFn), Box<dyn std::error::Error>> {
        let mut builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
        // All in one piece, so that calls are near.
        let parts = self.functions.iter();
        let size: usize = parts.map(|part| part.bytes.len() + part.alignment as usize).sum();
        let page = 1 << 16;
        builder.memory_provider(Box::new(ArenaMemoryProvider::new_with_size(size + page)?));
        for name in &self.imports {
            let function = runtime::named(name).ok_or("a function of another runtime")?;
            builder.symbol(name, function.address);
        }
        let mut jit = Jit(Some(JITModule::new(builder)));
        let module = jit.0.as_mut().ok_or("no module")?;
        let signature = ir::Signature::new(CallConv::Tail);
        let mut ids = Vec::with_capacity(self.functions.len());
        for _ in &self.functions {
            ids.push(module.declare_anonymous_function(&signature)?);
        }
        for name in &self.imports {
            module.declare_function(name, Linkage::Import, &signature)?;
        }
        for (id, part) in ids.iter().zip(&self.functions) {
            module.define_function_bytes(*id, part.alignment, &part.bytes, &part.relocations)?;
        }
        module.finalize_definitions()?;
        let entry = module.get_finalized_function(*ids.last().ok_or("no entry")?);
        // SAFETY: the function has this convention (`translate_outside`).
        let entry = unsafe { std::mem::transmute::<*const u8, EntryFn>(entry) };
        Ok((jit, entry))
    }
}
