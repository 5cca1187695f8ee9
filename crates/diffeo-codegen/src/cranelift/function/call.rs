//! Calls: functions of the module and of the runtime, results, errors.

use super::{clif_type, trusted, Convention, FunctionTranslator};
use crate::cranelift::expr;
use crate::low::{self, Operand, Raise, Reg, Runtime};
use crate::runtime;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I64, I8};
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, FuncRef, InstBuilder, Signature, StackSlotData,
    StackSlotKind, UserExternalName, Value,
};
use diffeo_array::ir::SiteId;

impl FunctionTranslator<'_, '_> {
    /// A function of the module.
    pub(super) fn function_ref(
        &mut self,
        index: u32,
        signature: Signature,
        local: bool,
    ) -> FuncRef {
        if let Some(function) = self.functions.get(&index) {
            return *function;
        }
        let signature = self.b.import_signature(signature);
        let name =
            self.b.func.declare_imported_user_function(UserExternalName { namespace: 0, index });
        let function = self.b.import_function(ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: local,
            patchable: false,
        });
        self.functions.insert(index, function);
        function
    }

    pub fn call(&mut self, results: &[Reg], id: low::FunctionId, args: &[Operand], site: SiteId) {
        let callee = &self.env.module.functions[id.0 as usize];
        let conventions: &[Convention] = self.env.conventions;
        let convention = &conventions[id.0 as usize];
        let function = self.function_ref(id.0, convention.signature.clone(), true);
        let memory = match convention.words() {
            0 => None,
            words => {
                let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * words, 3);
                let slot = self.b.create_sized_stack_slot(data);
                Some(self.b.ins().stack_addr(I64, slot, 0))
            }
        };
        let mut values = vec![self.context];
        values.extend(memory);
        for arg in args {
            let value = self.operand(*arg);
            values.push(value);
        }
        // What a constant takes counts once, whoever computes it.
        let init = self.env.weights.and_then(|weights| weights.constant(id));
        let before = init.map(|(constant, work)| {
            let before = self.worked();
            let work = self.b.ins().iconst(I64, work as i64);
            self.work(work);
            (constant, before)
        });
        let call = self.b.ins().call(function, &values);
        let mut given = self.b.inst_results(call).to_vec().into_iter();
        if callee.fallible {
            let go_on = self.b.create_block();
            // The status comes first.
            let status = given.next().unwrap_or(self.context);
            if site == low::NOWHERE {
                let fail = self.fail();
                self.b.ins().brif(status, fail, &[], go_on, &[]);
            } else {
                // In a block of its own, so that the numbers are made only if they are needed.
                let (failed, note) = (self.cold(), self.note());
                self.b.ins().brif(status, failed, &[], go_on, &[]);
                self.b.switch_to_block(failed);
                let call = [id.0, site.0].map(|n| self.b.ins().iconst(I64, i64::from(n)).into());
                self.b.ins().jump(note, &call);
            }
            self.b.switch_to_block(go_on);
        }
        if let Some((constant, before)) = before {
            let constant = self.b.ins().iconst(I64, i64::from(constant));
            self.call_runtime(&runtime::constant(), &[constant, before]);
        }
        for (reg, place) in results.iter().zip(&convention.in_memory) {
            let ty = self.ty(*reg);
            let value = match (place, memory) {
                (Some(word), Some(memory)) => {
                    Some(self.b.ins().load(ty, trusted(), memory, 8 * word))
                }
                _ => given.next(),
            };
            self.values[reg.0 as usize] = value;
        }
    }

    /// Calls an operation on vectors.
    pub fn call_vector(&mut self, vector: usize, args: [Value; 2]) -> Value {
        let index = (self.env.module.functions.len() + vector) as u32;
        let function = self.function_ref(index, super::vector_signature(), true);
        let call = self.b.ins().call(function, &args);
        self.b.inst_results(call)[0]
    }

    pub(super) fn ret(&mut self, values: &[Operand]) {
        let values: Vec<Value> = values.iter().map(|value| self.operand(*value)).collect();
        self.return_values(&values);
    }

    pub(super) fn return_values(&mut self, values: &[Value]) {
        let mut returned = Vec::new();
        if self.function.fallible {
            returned.push(self.b.ins().iconst(I8, 0));
        }
        let convention = self.convention;
        for (value, place) in values.iter().copied().zip(&convention.in_memory) {
            match (place, self.results) {
                (Some(word), Some(memory)) => {
                    self.b.ins().store(trusted(), value, memory, 8 * word);
                }
                _ => returned.push(value),
            }
        }
        self.b.ins().return_(&returned);
    }

    /// Records an error and leaves the function.
    pub fn raise(&mut self, error: &Raise, args: &[Value], site: SiteId) {
        let index = self.env.imports.raises.index(error);
        if !args.is_empty() {
            self.record(index, args, site.0);
            return;
        }
        let block = match self.raised.get(&(index, site.0)) {
            Some(block) => *block,
            None => {
                let block = self.cold();
                self.raised.insert((index, site.0), block);
                block
            }
        };
        self.b.ins().jump(block, &[]);
    }

    pub(super) fn record(&mut self, error: i64, args: &[Value], site: u32) {
        let mut words =
            vec![self.b.ins().iconst(I64, error), self.b.ins().iconst(I64, i64::from(site))];
        for i in 0..3 {
            let word = match args.get(i) {
                Some(value) => expr::word(&mut self.b, *value),
                None => self.b.ins().iconst(I64, 0),
            };
            words.push(word);
        }
        let function = runtime::raise();
        self.call_runtime(&function, &words);
        let fail = self.fail();
        self.b.ins().jump(fail, &[]);
    }

    /// Calls a function of the runtime; its result, if it has one.
    pub fn call_runtime(
        &mut self,
        function: &runtime::RuntimeFunction,
        args: &[Value],
    ) -> Option<Value> {
        let mut signature = Signature::new(self.env.frontend.default_call_conv);
        let context = function.context.then_some(I64);
        let params = function.params.iter().map(|ty| clif_type(*ty));
        signature.params = context.into_iter().chain(params).map(AbiParam::new).collect();
        signature.returns =
            function.result.iter().map(|ty| AbiParam::new(clif_type(*ty))).collect();
        let index = self.env.imports.index(function);
        let name = self.function_ref(index, signature, false);
        let mut values = Vec::with_capacity(args.len() + 1);
        values.extend(function.context.then_some(self.context));
        for (ty, arg) in function.params.iter().zip(args) {
            let is_bool = self.b.func.dfg.value_type(*arg) == I8;
            values.push(match (is_bool, ty) {
                (true, low::LowTy::Int) => self.b.ins().uextend(I64, *arg),
                _ => *arg,
            });
        }
        let call = self.b.ins().call(name, &values);
        self.b.inst_results(call).first().copied()
    }

    pub(super) fn runtime(&mut self, results: &[Reg], op: Runtime, args: &[Operand]) {
        let args: Vec<Value> = args.iter().map(|arg| self.operand(*arg)).collect();
        let value = if op == Runtime::Poll {
            Some(self.poll())
        } else {
            self.call_runtime(&runtime::function(op), &args)
        };
        if let (Some(value), Some(reg)) = (value, results.first()) {
            let is_bool = self.ty(*reg) == I8 && self.b.func.dfg.value_type(value) == I64;
            let value = if is_bool {
                let zero = self.b.ins().iconst(I64, 0);
                self.b.ins().icmp(IntCC::NotEqual, value, zero)
            } else {
                value
            };
            self.set(*reg, value);
        }
    }
}
