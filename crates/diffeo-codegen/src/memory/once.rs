//! Finds the loops that run once in a run of the program: they stand in no other loop, and in the entry, in the
//! initialiser of a constant, or in a function that is called at one place, which is executed once.

use super::uses::{regions, statements};
use diffeo_array::ir::{Block, Module, Op};
use diffeo_base::deep;
use hashbrown::HashSet;

/// The steps of such comprehensions and sums, by address.
pub(super) fn loops(module: &Module) -> HashSet<*const Block> {
    // By function: how many places call it.
    let mut places = vec![0usize; module.functions.len()];
    for function in &module.functions {
        statements(&function.body, &mut |stmt| {
            if let Op::Call(callee, _) = &stmt.op {
                places[callee.0 as usize] += 1;
            }
        });
    }
    let mut found = HashSet::new();
    let inits = module.constants.iter().map(|constant| constant.init);
    let mut todo: Vec<_> = inits.chain([module.entry]).collect();
    todo.retain(|id| places[id.0 as usize] == 0);
    while let Some(id) = todo.pop() {
        block(&module.functions[id.0 as usize].body, &mut |op| {
            if let Op::Build { body, .. } | Op::Reduce { body, .. } = op {
                found.insert(std::ptr::from_ref(body));
            } else if let Op::Call(callee, _) = op {
                todo.extend((places[callee.0 as usize] == 1).then_some(*callee));
            }
        });
    }
    found
}

/// Shows the operations of a block that stand in no loop.
fn block<'a>(block: &'a Block, each: &mut dyn FnMut(&'a Op)) {
    for stmt in &block.stmts {
        each(&stmt.op);
        if matches!(stmt.op, Op::If { .. } | Op::Switch { .. }) {
            deep(|| regions(&stmt.op, |inner| self::block(inner, each)));
        }
    }
}
