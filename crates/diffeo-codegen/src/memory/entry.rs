//! The function that callers of the program call.

use super::emit::{at, CodeBuilder};
use super::helpers::Helper;
use super::{symbol, word_types, words, MemoryCx};
use crate::low::{FunctionId, LowTy, Operand, Stmt};
use diffeo_array::typing::param_types;

/// Makes the entry, whose arguments and results are arrays of words.
pub(super) fn entry(cx: &mut MemoryCx) -> FunctionId {
    let flat = cx.flat;
    let function = &flat.functions[flat.entry.0 as usize];
    let mut code = CodeBuilder::new();
    let params = code.regs([LowTy::Ptr, LowTy::Ptr]);
    let [from, to] = [params[0], params[1]].map(Operand::Reg);
    let mut args = Vec::new();
    for (i, param) in param_types(function).iter().enumerate() {
        let first = args.len();
        for (ty, _) in words(param) {
            args.push(code.load(ty, at(from, 8 * args.len() as i64)));
        }
        // The caller lends what the function wants to keep.
        if cx.signatures.keeps(flat.entry, i) {
            let retain = cx.helper(Helper::Retain);
            code.call(retain, vec![args[first]], Vec::new());
        }
    }
    let types: Vec<LowTy> = function.results.iter().flat_map(word_types).collect();
    code.fails = cx.functions[flat.entry.0 as usize].as_ref().is_some_and(|f| f.fallible);
    let results = code.call(FunctionId(flat.entry.0), args, types.clone());
    for (i, (value, ty)) in results.into_iter().zip(types).enumerate() {
        code.store(ty, at(to, 8 * i as i64), value);
    }
    code.push(Stmt::Return(Vec::new()));
    let id = FunctionId(cx.functions.len() as u32);
    cx.add(code.finish(symbol("entry", id), params, Vec::new()))
}
