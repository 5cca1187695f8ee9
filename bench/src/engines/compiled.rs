//! The engines that make machine code.

use super::{argument, messages, numbers, BenchEngine, CompiledEntry};
use crate::case::OwnedValue;
use crate::run::Prepared;
use diffeo::{Engine as Kind, Entry, Options, Prepared as Code, Session};
use diffeo_array::value::FlatValue;

/// An engine that makes machine code.
pub struct CompiledEngine {
    name: &'static str,
    kind: Kind,
}

/// Cranelift.
pub const JIT: CompiledEngine = CompiledEngine { name: "jit", kind: Kind::JIT };
/// LLVM.
pub const LLVM: CompiledEngine = CompiledEngine { name: "llvm", kind: Kind::LLVM };
/// The C compiler.
pub const C: CompiledEngine = CompiledEngine { name: "c", kind: Kind::C };

impl BenchEngine for CompiledEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn compile<'a>(
        &self,
        session: &'a Session,
        entry: &'a Entry,
    ) -> Result<Box<dyn CompiledEntry + 'a>, String> {
        let code = session.prepare(entry, Options::default(), self.kind);
        let code = code.map_err(|why| messages(session, &[*why]))?;
        Ok(Box::new(CompiledReady { entry, code }))
    }
}

struct CompiledReady<'a> {
    entry: &'a Entry,
    code: Code,
}

impl CompiledEntry for CompiledReady<'_> {
    fn prepare(self: Box<Self>, value: &OwnedValue) -> Result<Box<dyn Prepared>, String> {
        let arguments = self.code.arguments(&argument(self.entry, value)?);
        let (code, entry) = (self.code, self.entry.clone());
        Ok(Box::new(CompiledCall { entry, code, arguments, results: Vec::new() }))
    }
}

struct CompiledCall {
    entry: Entry,
    code: Code,
    arguments: Vec<FlatValue>,
    results: Vec<FlatValue>,
}

impl Prepared for CompiledCall {
    fn call(&mut self) -> Result<(), String> {
        let results = self.code.call(&self.arguments);
        self.results = results.map_err(|e| e.to_diagnostic().message)?;
        Ok(())
    }

    fn result(&self) -> Vec<f64> {
        numbers(&self.entry, &self.code.result(self.results.clone()))
    }

    fn allocations(&self) -> Option<u64> {
        Some(self.code.allocations())
    }
}
