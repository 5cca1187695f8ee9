//! Calls of a function by itself at its end become a loop.

use super::deep;
use diffeo_array::ir::{
    Atom, Block, Carried, Function, FunctionId, Module, Op, SiteId, Stmt, Ty, Var, VarInfo,
};

/// Turns the function into a loop if it calls itself at its end.
pub(super) fn loops(module: &mut Module, id: FunctionId) {
    let function = &mut module.functions[id.0 as usize];
    if !ends_with_call(&function.body, id) {
        return;
    }
    let body = std::mem::take(&mut function.body);
    let at = body.stmts.first().map_or(SiteId(0), |stmt| stmt.site);
    let outer = function.params.clone();
    let mut carried = Vec::new();
    // The parameters of the step take the place of the function's in its body.
    let fresh: Vec<Var> = outer
        .iter()
        .map(|param| {
            let info = function.vars[param.0 as usize].clone();
            function.vars.push(info);
            Var(function.vars.len() as u32 - 1)
        })
        .collect();
    for (param, outside) in outer.iter().zip(&fresh) {
        carried.push(Carried { param: *param, init: Atom::Var(*outside) });
    }
    function.params = fresh;
    let new = |function: &mut Function, ty: Ty| {
        function.vars.push(VarInfo { ty, name: None });
        Var(function.vars.len() as u32 - 1)
    };
    let going = new(function, Ty::Bool);
    carried.push(Carried { param: going, init: Atom::Bool(true) });
    for ty in function.results.clone() {
        let param = new(function, ty.clone());
        carried.push(Carried { param, init: Atom::Unused(ty) });
    }
    let params: Vec<Ty> =
        outer.iter().map(|var| function.vars[var.0 as usize].ty.clone()).collect();
    let step = Step { id, params, results: function.results.clone() };
    let body = step.block(body, function);
    let results: Vec<Var> = carried
        .iter()
        .map(|c| function.vars[c.param.0 as usize].ty.clone())
        .collect::<Vec<Ty>>()
        .into_iter()
        .map(|ty| new(function, ty))
        .collect();
    let cond = Block { stmts: Vec::new(), results: vec![Atom::Var(going)] };
    let values = results[outer.len() + 1..].iter().map(|var| Atom::Var(*var)).collect();
    let stmt = Stmt { results, op: Op::While { carried, cond, body }, site: at };
    function.body = Block { stmts: vec![stmt], results: values };
}

/// Whether the results of a block are those of its last statement.
fn gives_last(block: &Block) -> Option<&Stmt> {
    let last = block.stmts.last()?;
    let same = last.results.len() == block.results.len()
        && last.results.iter().zip(&block.results).all(|(var, atom)| *atom == Atom::Var(*var));
    same.then_some(last)
}

fn ends_with_call(block: &Block, id: FunctionId) -> bool {
    let Some(last) = gives_last(block) else { return false };
    deep(|| match &last.op {
        Op::Call(callee, _) => *callee == id,
        Op::If { then, otherwise, .. } => ends_with_call(then, id) || ends_with_call(otherwise, id),
        Op::Switch { arms, default, .. } => {
            arms.iter().any(|(_, arm)| ends_with_call(arm, id))
                || default.as_ref().is_some_and(|default| ends_with_call(default, id))
        }
        _ => false,
    })
}

struct Step {
    id: FunctionId,
    /// The types of the parameters and results.
    params: Vec<Ty>,
    results: Vec<Ty>,
}

impl Step {
    /// A block at the end of the function as one of the loop's step: it gives the next arguments, whether to go
    /// on, and the results.
    fn block(&self, mut block: Block, function: &mut Function) -> Block {
        let goes_on = gives_last(&block).is_some_and(|last| match &last.op {
            Op::Call(callee, _) => *callee == self.id,
            Op::If { .. } | Op::Switch { .. } => true,
            _ => false,
        });
        if !goes_on {
            let mut results: Vec<Atom> = self.params.iter().cloned().map(Atom::Unused).collect();
            results.push(Atom::Bool(false));
            results.append(&mut block.results);
            return Block { results, ..block };
        }
        let Some(last) = block.stmts.pop() else { return block };
        let branch = |function: &mut Function, op: Op, mut stmts: Vec<Stmt>| {
            let mut results = Vec::new();
            let types = self.params.iter().cloned().chain([Ty::Bool]).chain(self.results.clone());
            for ty in types {
                function.vars.push(VarInfo { ty, name: None });
                results.push(Var(function.vars.len() as u32 - 1));
            }
            let atoms = results.iter().map(|var| Atom::Var(*var)).collect();
            stmts.push(Stmt { results, op, site: last.site });
            Block { stmts, results: atoms }
        };
        deep(|| match last.op {
            Op::Call(_, args) => {
                let mut results = args;
                results.push(Atom::Bool(true));
                results.extend(self.results.iter().cloned().map(Atom::Unused));
                Block { stmts: block.stmts, results }
            }
            Op::If { cond, then, otherwise } => {
                let then = self.block(then, function);
                let otherwise = self.block(otherwise, function);
                branch(function, Op::If { cond, then, otherwise }, block.stmts)
            }
            Op::Switch { on, arms, default } => {
                let arms =
                    arms.into_iter().map(|(tag, arm)| (tag, self.block(arm, function))).collect();
                let default = default.map(|default| self.block(default, function));
                branch(function, Op::Switch { on, arms, default }, block.stmts)
            }
            op => {
                let stmt = Stmt { op, ..last };
                block.stmts.push(stmt);
                block
            }
        })
    }
}
