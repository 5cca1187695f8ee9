//! The engines that make machine code.

use super::{argument, messages, numbers, Compiled, Engine};
use crate::case::Value;
use crate::run::Prepared;
use diffeo::{Engine as Kind, Entry, Options, Prepared as Code, Session};
use diffeo_array::value::Value as Operand;

/// An engine that makes machine code.
pub struct Native {
    name: &'static str,
    kind: Kind,
}

/// Cranelift.
pub const JIT: Native = Native { name: "jit", kind: Kind::Jit };
/// LLVM.
pub const LLVM: Native = Native { name: "llvm", kind: Kind::Llvm };
/// The C compiler.
pub const C: Native = Native { name: "c", kind: Kind::C };

impl Engine for Native {
    fn name(&self) -> &'static str {
        self.name
    }

    fn compile<'a>(
        &self,
        session: &'a Session,
        entry: &'a Entry,
    ) -> Result<Box<dyn Compiled + 'a>, String> {
        let code = session.prepare(entry, Options::default(), self.kind);
        let code = code.map_err(|why| messages(session, &[*why]))?;
        Ok(Box::new(Ready { entry, code }))
    }
}

struct Ready<'a> {
    entry: &'a Entry,
    code: Code,
}

impl Compiled for Ready<'_> {
    fn prepare(self: Box<Self>, value: &Value) -> Result<Box<dyn Prepared>, String> {
        let arguments = self.code.arguments(&argument(self.entry, value)?);
        let (code, entry) = (self.code, self.entry.clone());
        Ok(Box::new(Call { entry, code, arguments, results: Vec::new() }))
    }
}

struct Call {
    entry: Entry,
    code: Code,
    arguments: Vec<Operand>,
    results: Vec<Operand>,
}

impl Prepared for Call {
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
