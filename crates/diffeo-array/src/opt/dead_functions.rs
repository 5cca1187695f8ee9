//! Dead-function elimination: drops functions and constants that the program cannot reach, because all their calls were
//! inlined or go to copies.
//!
//! `dce` does that, too, and much more; this takes a fraction of its time, so it runs behind the passes that leave such
//! functions, and the passes after it have less to look at.
//!
//! What it needs: nothing. Why it is right: what is dropped is not called.

use super::graph::call_graph;
use crate::ir::walk::{deep, has_regions, regions_mut};
use crate::ir::{Block, ConstantId, FunctionId, Module, Op};

/// Dead-function elimination: see the head of the file.
pub fn dead_functions(mut module: Module) -> Module {
    let callees = call_graph(&module).callees;
    let mut functions = vec![false; module.functions.len()];
    let mut open = vec![module.entry.0 as usize];
    while let Some(f) = open.pop() {
        if !std::mem::replace(&mut functions[f], true) {
            open.extend(&callees[f]);
        }
    }
    if functions.iter().all(|reached| *reached) {
        return module;
    }
    // What computes a constant is reached where the constant is used, and by nothing else.
    let constants: Vec<bool> =
        module.constants.iter().map(|c| functions[c.init.0 as usize]).collect();
    let (new_functions, new_constants) = (numbers(&functions), numbers(&constants));
    let new = |f: FunctionId| FunctionId(new_functions[f.0 as usize]);
    keep(&mut module.functions, &functions);
    keep(&mut module.constants, &constants);
    module.entry = new(module.entry);
    for constant in &mut module.constants {
        constant.init = new(constant.init);
    }
    for function in &mut module.functions {
        rename(&mut function.body, &new, &|c| ConstantId(new_constants[c.0 as usize]));
    }
    module
}

/// The new numbers of what is kept.
fn numbers(kept: &[bool]) -> Vec<u32> {
    let before = |next: &mut u32, kept: &bool| {
        let number = *next;
        *next += u32::from(*kept);
        Some(number)
    };
    kept.iter().scan(0, before).collect()
}

fn keep<T>(all: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    all.retain(|_| kept.next() == Some(&true));
}

fn rename(
    block: &mut Block,
    function: &dyn Fn(FunctionId) -> FunctionId,
    constant: &dyn Fn(ConstantId) -> ConstantId,
) {
    for stmt in &mut block.stmts {
        match &mut stmt.op {
            Op::Call(f, _) => *f = function(*f),
            Op::Constant(c) => *c = constant(*c),
            op if has_regions(op) => {
                deep(|| regions_mut(op, |region| rename(region, function, constant)));
            }
            _ => {}
        }
    }
}
