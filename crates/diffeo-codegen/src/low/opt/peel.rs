//! Loop peeling: `if i == 0 { a } else { b }` in a loop from 0 becomes `a` before the loop, and `b` in it.
//!
//! The other steps then have no branch, so they can be done several at once. It applies to a branch that nothing
//! leaves, in a loop that is not long. The order of steps stays.

use crate::low::visit::{registers, size};
use crate::low::{Binary, Compare, Expr, For, LowFunction, LowTy, Operand, Reg, Stmt, Unary};
use diffeo_base::deep;
use hashbrown::HashMap;

/// Loops with more statements stay.
const LONG: usize = 100;

/// Loop peeling: see the head of the file. The first index of a loop is not negative.
pub(super) fn peel(function: &mut LowFunction) {
    if !list_has(&function.body) {
        return;
    }
    let mut body = std::mem::take(&mut function.body);
    let mut uses = vec![0; function.registers.len()];
    function.params.iter().for_each(|param| uses[param.0 as usize] += 1);
    count(&mut body, &mut uses);
    let mut peel = Peel { registers: &mut function.registers, uses };
    peel.list(&mut body);
    function.body = body;
}

/// Whether there is a loop to be taken apart.
fn list_has(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| {
        matches!(stmt, Stmt::For(step) if first_step(step).is_some())
            || stmt.blocks().into_iter().any(|inner| deep(|| list_has(inner)))
    })
}

/// The register that says whether this is the first step, if a branch depends on it.
fn first_step(step: &For) -> Option<Reg> {
    let index = Operand::Reg(step.index);
    let is_first = |stmt: &Stmt| {
        let Stmt::Set(reg, Expr::Compare(Compare::IntEq, a, Operand::Int(0))) = stmt else {
            return None;
        };
        (*a == index).then_some(*reg)
    };
    let first = step.body.iter().find_map(is_first)?;
    let branches = step.body.iter().any(|stmt| {
        matches!(stmt, Stmt::If(on, a, b)
            if *on == Operand::Reg(first) && !leaves(a) && !leaves(b))
    });
    (branches && matches!(step.from, Operand::Int(0) | Operand::Reg(_)) && size(&step.body) <= LONG)
        .then_some(first)
}

/// Whether anything in the statements leaves them.
fn leaves(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| {
        matches!(stmt, Stmt::Raise { .. } | Stmt::Return(_) | Stmt::Break)
            || stmt.blocks().into_iter().any(leaves)
    })
}

/// Counts how often registers occur.
fn count(stmts: &mut [Stmt], uses: &mut [u32]) {
    registers(stmts, &mut |reg, _| uses[reg.0 as usize] += 1);
}

struct Peel<'f> {
    registers: &'f mut Vec<LowTy>,
    /// By register: how often it occurs.
    uses: Vec<u32>,
}

impl Peel<'_> {
    fn list(&mut self, stmts: &mut Vec<Stmt>) {
        let mut out = Vec::with_capacity(stmts.len());
        for mut stmt in stmts.drain(..) {
            for inner in stmt.blocks_mut() {
                deep(|| self.list(inner));
            }
            match stmt {
                Stmt::For(step) => match first_step(&step) {
                    Some(first) => self.apart(*step, first, &mut out),
                    None => out.push(Stmt::For(step)),
                },
                stmt => out.push(stmt),
            }
        }
        *stmts = out;
    }

    fn reg(&mut self, ty: LowTy) -> Reg {
        self.registers.push(ty);
        self.uses.push(u32::MAX);
        Reg(self.registers.len() as u32 - 1)
    }

    fn set(&mut self, ty: LowTy, expr: Expr, out: &mut Vec<Stmt>) -> Operand {
        let reg = self.reg(ty);
        out.push(Stmt::Set(reg, expr));
        Operand::Reg(reg)
    }

    fn apart(&mut self, mut step: For, first: Reg, out: &mut Vec<Stmt>) {
        let mut before = self.renamed(&mut step.body, step.index);
        // The first index is 0.
        let index = Stmt::Set(step.index, Expr::Copy(Operand::Int(0)));
        let mut start = vec![self.of_the_first(index, &before.1)];
        decide(&mut before.0, before.1.get(&first).copied().unwrap_or(first), true);
        decide(&mut step.body, first, false);
        start.append(&mut before.0);
        let some = Expr::Compare(Compare::IntLt, step.from, step.to);
        let mut begins = self.set(LowTy::Bool, some, out);
        if step.from == Operand::Int(0) {
            step.from = Operand::Int(1);
        } else {
            let zero = Expr::Compare(Compare::IntEq, step.from, Operand::Int(0));
            let zero = self.set(LowTy::Bool, zero, out);
            begins = self.set(LowTy::Bool, Expr::Binary(Binary::And, begins, zero), out);
            let done = self.set(LowTy::Int, Expr::Unary(Unary::FromBool, begins), out);
            step.from = self.set(LowTy::Int, Expr::Binary(Binary::IntAdd, step.from, done), out);
        }
        out.push(Stmt::If(begins, start, Vec::new()));
        out.push(Stmt::For(Box::new(step)));
    }

    /// A copy of the body of a loop, with other registers in the place of those that occur nowhere else.
    fn renamed(&mut self, body: &mut [Stmt], index: Reg) -> (Vec<Stmt>, HashMap<Reg, Reg>) {
        let mut within: HashMap<Reg, u32> = HashMap::from([(index, 1)]);
        occurrences(body, &mut within);
        let mut own: Vec<Reg> = within
            .into_iter()
            .filter(|(reg, n)| self.uses[reg.0 as usize] == *n)
            .map(|(reg, _)| reg)
            .collect();
        own.sort_unstable();
        let names: HashMap<Reg, Reg> =
            own.into_iter().map(|reg| (reg, self.reg(self.registers[reg.0 as usize]))).collect();
        let mut copy = body.to_vec();
        rename(&mut copy, &names);
        (copy, names)
    }

    /// A statement with the registers of the copy.
    fn of_the_first(&self, mut stmt: Stmt, names: &HashMap<Reg, Reg>) -> Stmt {
        rename(std::slice::from_mut(&mut stmt), names);
        stmt
    }
}

fn occurrences(stmts: &mut [Stmt], counts: &mut HashMap<Reg, u32>) {
    registers(stmts, &mut |reg, _| *counts.entry(*reg).or_default() += 1);
}

fn rename(stmts: &mut [Stmt], names: &HashMap<Reg, Reg>) {
    registers(stmts, &mut |reg, _| *reg = names.get(reg).copied().unwrap_or(*reg));
}

/// Puts the branch that is taken in the place of choices by a register, which has a value.
fn decide(stmts: &mut Vec<Stmt>, first: Reg, value: bool) {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts.drain(..) {
        match stmt {
            Stmt::Set(reg, _) if reg == first => {
                out.push(Stmt::Set(reg, Expr::Copy(Operand::Bool(value))));
            }
            Stmt::Set(reg, Expr::Select(on, a, b)) if on == Operand::Reg(first) => {
                out.push(Stmt::Set(reg, Expr::Copy(if value { a } else { b })));
            }
            Stmt::If(on, then, otherwise)
                if on == Operand::Reg(first) && !leaves(&then) && !leaves(&otherwise) =>
            {
                out.extend(if value { then } else { otherwise });
            }
            stmt => out.push(stmt),
        }
    }
    *stmts = out;
}
