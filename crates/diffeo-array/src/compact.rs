//! Numbers variables anew, in the order of their definitions in the text, without those that are not defined any more.
//! What [`crate::parse()`] reads is compact.

use crate::ir::walk::{binders_mut, has_regions, operands_mut, regions_mut};
use crate::ir::{Atom, Block, Function, Var};
use crate::print::definitions;
use diffeo_base::deep;

/// Numbers the variables of a function anew.
pub fn compact(function: &mut Function) {
    let mut numbers: Vec<Option<Var>> = vec![None; function.vars.len()];
    let mut vars = Vec::new();
    definitions(function, &mut |var| {
        numbers[var.0 as usize] = Some(Var(vars.len() as u32));
        vars.push(function.vars[var.0 as usize].clone());
    });
    function.vars = vars;
    // What is used was defined.
    let number = |var: &mut Var| *var = numbers[var.0 as usize].unwrap_or(*var);
    function.params.iter_mut().for_each(number);
    block(&mut function.body, &number);
}

fn block(block: &mut Block, number: &impl Fn(&mut Var)) {
    let atom = |atom: &mut Atom| {
        if let Atom::Var(var) = atom {
            number(var);
        }
    };
    for stmt in &mut block.stmts {
        stmt.results.iter_mut().for_each(number);
        operands_mut(&mut stmt.op, atom);
        binders_mut(&mut stmt.op, number);
        if has_regions(&stmt.op) {
            deep(|| regions_mut(&mut stmt.op, |inner| self::block(inner, number)));
        }
    }
    block.results.iter_mut().for_each(atom);
}
