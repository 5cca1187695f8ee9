//! Arrays that each step of a loop makes and gives up are made once, and used again by the next step.
//!
//! Goes from Low to Low. An array is such if nothing but its elements is looked at between where it is made and where
//! it is released, and its size is the same in every step: it is released behind the loop. It is made where it
//! was, in the first step that comes there, so the program runs out of memory where it did. Why it is right: the
//! elements of a new array are not set, so nothing can depend on those that are left in it.

use crate::deep::deep;
use crate::low::visit::{occurrences, operands_of};
use crate::low::{
    Compare, Expr, For, Function, FunctionId, Module, Operand, Reg, Runtime, Stmt, Ty, NOWHERE,
};
use std::collections::{HashMap, HashSet};

/// The layout of arrays without references.
const PLAIN: Operand = Operand::Int(0);

/// So many operations are looked at, one after the other, to see that a size is the same in all steps.
pub(crate) const DEPTH: u32 = 8;

/// Goes through a module. Loops for which `leave` holds, which is given the index of the function, stay as they are.
pub(crate) fn reuse(module: &mut Module, leave: &dyn Fn(usize, &For) -> bool) {
    let Some(release) = release_of(module) else { return };
    for (i, function) in module.functions.iter_mut().enumerate() {
        let arrays = arrays(function, release);
        if arrays.is_empty() {
            continue;
        }
        let defs = definitions(function);
        let mut body = std::mem::take(&mut function.body);
        let registers = std::mem::take(&mut function.registers);
        let leave = |step: &For| leave(i, step);
        let mut cx = Reuse { arrays, defs, registers, release, leave: &leave };
        cx.list(&mut body);
        function.body = body;
        function.registers = cx.registers;
    }
}

/// The function that releases a block, if there is one.
pub(crate) fn release_of(module: &Module) -> Option<FunctionId> {
    let own = module.flat.functions.len();
    let found = module.functions.iter().skip(own).position(|f| f.name == "release");
    found.map(|i| FunctionId((own + i) as u32))
}

/// What gives a register its value: the operands, if the value depends on them alone. None if it is set elsewhere,
/// too, or otherwise.
pub(crate) type Definitions = HashMap<Reg, Option<Vec<Operand>>>;

/// The definitions of a function.
pub(crate) fn definitions(function: &Function) -> Definitions {
    let mut defs = function.params.iter().map(|r| (*r, None)).collect();
    function.body.iter().for_each(|stmt| define_all(stmt, &mut defs));
    defs
}

fn define_all(stmt: &Stmt, defs: &mut Definitions) {
    let mut define = |r: Reg, from: Option<Vec<Operand>>| {
        defs.entry(r).and_modify(|known| *known = None).or_insert(from);
    };
    match stmt {
        Stmt::Set(r, Expr::Load(..)) => define(*r, None),
        Stmt::Set(r, expr) => {
            let mut from = Vec::new();
            operands_of(expr, &mut |o| from.push(o));
            define(*r, Some(from));
        }
        Stmt::Checked { op: _, result, overflow, a, b } => {
            define(*result, Some(vec![*a, *b]));
            define(*overflow, Some(vec![*a, *b]));
        }
        Stmt::For(step) => {
            define(step.index, None);
            step.reductions.iter().for_each(|(r, _)| define(*r, None));
        }
        Stmt::Call { results, .. } | Stmt::Runtime { results, .. } => {
            results.iter().for_each(|r| define(*r, None));
        }
        Stmt::Store(..)
        | Stmt::If(..)
        | Stmt::Switch(..)
        | Stmt::Loop(_)
        | Stmt::Break
        | Stmt::Raise { .. }
        | Stmt::Return(_) => {}
    }
    deep(|| stmt.blocks().into_iter().flatten().for_each(|stmt| define_all(stmt, defs)));
}

/// The registers of arrays of which nothing but the elements is looked at, and that are released once.
pub(crate) fn arrays(function: &Function, release: FunctionId) -> HashSet<Reg> {
    fn uses(stmts: &[Stmt], release: FunctionId, found: &mut HashMap<Reg, [u32; 2]>) {
        for stmt in stmts {
            match stmt {
                Stmt::Runtime { results, op: Runtime::Array, args } if args[0] == PLAIN => {
                    results.iter().for_each(|r| found.entry(*r).or_default()[0] += 1);
                }
                Stmt::Call { function, args, .. } if *function == release => {
                    if let [Operand::Reg(r)] = args[..] {
                        found.entry(r).or_default()[1] += 1;
                    }
                }
                _ => deep(|| stmt.blocks().into_iter().for_each(|l| uses(l, release, found))),
            }
        }
    }
    /// Whether a register occurs only as these do.
    fn other(stmts: &[Stmt], release: FunctionId, found: &mut HashMap<Reg, [u32; 2]>) {
        for stmt in stmts {
            let harmless = match stmt {
                Stmt::Runtime { op: Runtime::Array, args, .. } => args[0] == PLAIN,
                Stmt::Call { function, .. } => *function == release,
                Stmt::Set(_, Expr::Compare(Compare::IntEq, _, Operand::Null)) => true,
                Stmt::Set(_, Expr::Offset(address)) => !matches!(address.index, Operand::Reg(_)),
                _ => false,
            };
            // Conditions and bounds of loops are no addresses.
            if !harmless && stmt.blocks().is_empty() {
                occurrences(stmt, &mut |r, _| _ = found.remove(&r));
            }
            deep(|| stmt.blocks().into_iter().for_each(|l| other(l, release, found)));
        }
    }
    let mut found = HashMap::new();
    uses(&function.body, release, &mut found);
    found.retain(|_, counts| *counts == [1, 1]);
    function.params.iter().for_each(|r| _ = found.remove(r));
    if !found.is_empty() {
        other(&function.body, release, &mut found);
    }
    found.into_keys().collect()
}

struct Reuse<'a> {
    arrays: HashSet<Reg>,
    defs: Definitions,
    registers: Vec<Ty>,
    release: FunctionId,
    leave: &'a dyn Fn(&For) -> bool,
}

impl Reuse<'_> {
    fn list(&mut self, stmts: &mut Vec<Stmt>) {
        let mut out = Vec::with_capacity(stmts.len());
        for mut stmt in std::mem::take(stmts) {
            if matches!(&stmt, Stmt::For(step) if (self.leave)(step)) {
                out.push(stmt);
                continue;
            }
            let mut kept = Vec::new();
            if matches!(stmt, Stmt::For(_) | Stmt::Loop(_)) && !returns(&stmt) {
                let mut set = HashSet::new();
                occurrences(&stmt, &mut |r, sets| {
                    if sets {
                        set.insert(r);
                    }
                });
                deep(|| self.take(&mut stmt, &set, &mut kept));
            }
            for block in &kept {
                out.push(Stmt::Set(*block, Expr::Copy(Operand::Null)));
            }
            deep(|| stmt.blocks_mut().into_iter().for_each(|l| self.list(l)));
            out.push(stmt);
            for block in kept {
                out.push(Stmt::Call {
                    results: Vec::new(),
                    function: self.release,
                    args: vec![Operand::Reg(block)],
                    site: NOWHERE,
                });
            }
        }
        *stmts = out;
    }

    /// Takes arrays out of the steps of a loop that sets these registers.
    fn take(&mut self, stmt: &mut Stmt, set: &HashSet<Reg>, kept: &mut Vec<Reg>) {
        let before = kept.len();
        for list in stmt.blocks_mut() {
            self.take_from(list, set, kept);
            for stmt in list {
                let left = matches!(stmt, Stmt::For(step) if (self.leave)(step));
                if !left {
                    deep(|| self.take(stmt, set, kept));
                }
            }
        }
        if let (true, Stmt::For(step)) = (kept.len() > before, stmt) {
            step.separate = false;
        }
    }

    fn take_from(&mut self, list: &mut Vec<Stmt>, set: &HashSet<Reg>, kept: &mut Vec<Reg>) {
        let mut at = 0;
        while at < list.len() {
            let found = match &list[at] {
                Stmt::Runtime { results, op: Runtime::Array, args } => match results[..] {
                    [r] if self.arrays.contains(&r) && is_same(&self.defs, args[1], set, DEPTH) => {
                        Some((r, args.clone()))
                    }
                    _ => None,
                },
                _ => None,
            };
            at += 1;
            let Some((r, args)) = found else { continue };
            let releases = |stmt: &Stmt| {
                matches!(stmt, Stmt::Call { function, args, .. }
                    if *function == self.release && args[..] == [Operand::Reg(r)])
            };
            let Some(end) = list.iter().skip(at).position(releases) else { continue };
            list.remove(at + end);
            let block = self.register(Ty::Ptr);
            let none = self.register(Ty::Bool);
            let test = Expr::Compare(Compare::IntEq, Operand::Reg(block), Operand::Null);
            let make = Stmt::Runtime { results: vec![block], op: Runtime::Array, args };
            let new = [
                Stmt::Set(none, test),
                Stmt::If(Operand::Reg(none), vec![make], Vec::new()),
                Stmt::Set(r, Expr::Copy(Operand::Reg(block))),
            ];
            list.splice(at - 1..at, new);
            self.arrays.remove(&r);
            kept.push(block);
            at += 2;
        }
    }

    fn register(&mut self, ty: Ty) -> Reg {
        self.registers.push(ty);
        Reg(self.registers.len() as u32 - 1)
    }
}

/// Whether an operand is the same in all steps of a loop that sets these registers.
pub(crate) fn is_same(
    defs: &Definitions,
    operand: Operand,
    set: &HashSet<Reg>,
    depth: u32,
) -> bool {
    let Operand::Reg(r) = operand else { return true };
    if !set.contains(&r) {
        return true;
    }
    let from = defs.get(&r).and_then(Option::as_ref).filter(|_| depth > 0);
    from.is_some_and(|from| from.iter().all(|o| is_same(defs, *o, set, depth - 1)))
}

/// Whether a statement leaves the function.
fn returns(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Return(_))
        || deep(|| stmt.blocks().into_iter().any(|l| l.iter().any(returns)))
}
