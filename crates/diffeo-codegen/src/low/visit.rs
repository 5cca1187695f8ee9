//! Walks over statements and those within them: their registers, their number, whether they leave their function.

use super::{Address, Expr, FunctionId, LowFunction, Operand, Reg, Stmt};
use diffeo_base::deep;

impl Stmt {
    /// Shows the registers of this statement, without those of the statements within it, each with whether it is
    /// set.
    pub fn registers_mut(&mut self, each: &mut dyn FnMut(&mut Reg, bool)) {
        match self {
            Stmt::Set(reg, expr) => {
                expr_registers(expr, each);
                each(reg, true);
            }
            Stmt::Checked { op: _, result, overflow, a, b } => {
                operands([a, b], each);
                each(result, true);
                each(overflow, true);
            }
            Stmt::Store(_, address, value) => {
                address_registers(address, each);
                operands([value], each);
            }
            Stmt::If(on, ..) | Stmt::Switch(on, ..) => operands([on], each),
            Stmt::For(step) => {
                operands([&mut step.from, &mut step.to], each);
                each(&mut step.index, true);
                step.reductions.iter_mut().for_each(|(reg, _)| each(reg, true));
            }
            Stmt::Call { results, args, .. } | Stmt::Runtime { results, args, .. } => {
                operands(args, each);
                results.iter_mut().for_each(|reg| each(reg, true));
            }
            Stmt::Raise { args, .. } | Stmt::Return(args) => operands(args, each),
            Stmt::Loop(_) | Stmt::Break => {}
        }
    }
}

fn operands<'a>(
    operands: impl IntoIterator<Item = &'a mut Operand>,
    each: &mut dyn FnMut(&mut Reg, bool),
) {
    for operand in operands {
        match operand {
            Operand::Reg(reg) => each(reg, false),
            Operand::Int(_)
            | Operand::Real(_)
            | Operand::Bool(_)
            | Operand::Null
            | Operand::Text(_)
            | Operand::Static(_)
            | Operand::Constant(_) => {}
        }
    }
}

fn address_registers(address: &mut Address, each: &mut dyn FnMut(&mut Reg, bool)) {
    operands([&mut address.base, &mut address.index], each);
}

fn expr_registers(expr: &mut Expr, each: &mut dyn FnMut(&mut Reg, bool)) {
    match expr {
        Expr::Copy(a) | Expr::Unary(_, a) => operands([a], each),
        Expr::Binary(_, a, b) | Expr::Math(_, a, b) | Expr::Compare(_, a, b) => {
            operands([a, b], each);
        }
        Expr::Fma(a, b, c) | Expr::Select(a, b, c) => operands([a, b, c], each),
        Expr::Load(_, address) | Expr::Offset(address) => address_registers(address, each),
    }
}

/// How many statements there are, nested ones included.
pub(crate) fn size(stmts: &[Stmt]) -> usize {
    let mut count = 0;
    let mut todo = vec![stmts];
    while let Some(stmts) = todo.pop() {
        count += stmts.len();
        for stmt in stmts {
            todo.extend(stmt.blocks());
        }
    }
    count
}

/// Shows the registers of statements and those within them.
pub(crate) fn registers(stmts: &mut [Stmt], each: &mut dyn FnMut(&mut Reg, bool)) {
    for stmt in stmts {
        stmt.registers_mut(each);
        for inner in stmt.blocks_mut() {
            deep(|| registers(inner, each));
        }
    }
}

/// Whether statements can fail.
pub(crate) fn fails(stmts: &[Stmt], can_fail: &dyn Fn(FunctionId) -> bool) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::Raise { .. } => true,
        Stmt::Call { function, .. } => can_fail(*function),
        Stmt::For(step) if step.every > 0 => true,
        Stmt::Set(..)
        | Stmt::Checked { .. }
        | Stmt::Store(..)
        | Stmt::If(..)
        | Stmt::Switch(..)
        | Stmt::Loop(_)
        | Stmt::Break
        | Stmt::For(_)
        | Stmt::Runtime { .. }
        | Stmt::Return(_) => stmt.blocks().into_iter().any(|inner| deep(|| fails(inner, can_fail))),
    })
}

/// The functions that a function calls, one for each place.
pub(crate) fn calls(function: &LowFunction) -> Vec<usize> {
    let mut found: Vec<usize> = function.blocks.iter().map(|b| b.task.0 as usize).collect();
    let mut todo = vec![function.body.as_slice()];
    while let Some(stmts) = todo.pop() {
        for stmt in stmts {
            if let Stmt::Call { function, .. } = stmt {
                found.push(function.0 as usize);
            }
            todo.extend(stmt.blocks());
        }
    }
    found
}

/// Whether a statement leaves the function.
pub(crate) fn returns(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Return(_))
        || deep(|| stmt.blocks().into_iter().any(|l| l.iter().any(returns)))
}

/// All occurrences of registers in a statement; whether they are set there.
pub(crate) fn occurrences(stmt: &Stmt, each: &mut dyn FnMut(Reg, bool)) {
    own_occurrences(stmt, each);
    deep(|| {
        for list in stmt.blocks() {
            list.iter().for_each(|stmt| occurrences(stmt, each));
        }
    });
}

/// All occurrences of registers in a statement, without the statements within it.
pub(crate) fn own_occurrences(stmt: &Stmt, each: &mut dyn FnMut(Reg, bool)) {
    let read = |operand: &Operand, each: &mut dyn FnMut(Reg, bool)| {
        if let Operand::Reg(register) = operand {
            each(*register, false);
        }
    };
    match stmt {
        Stmt::Set(register, expr) => {
            operands_of(expr, &mut |o| read(&o, each));
            each(*register, true);
        }
        Stmt::Checked { op: _, result, overflow, a, b } => {
            [a, b].into_iter().for_each(|o| read(o, each));
            each(*result, true);
            each(*overflow, true);
        }
        Stmt::Store(_, address, value) => {
            [&address.base, &address.index, value].into_iter().for_each(|o| read(o, each));
        }
        Stmt::If(on, ..) | Stmt::Switch(on, ..) => read(on, each),
        Stmt::Loop(_) | Stmt::Break => {}
        Stmt::For(step) => {
            [&step.from, &step.to].into_iter().for_each(|o| read(o, each));
            each(step.index, true);
        }
        Stmt::Call { results, args, .. } | Stmt::Runtime { results, args, .. } => {
            args.iter().for_each(|o| read(o, each));
            results.iter().for_each(|r| each(*r, true));
        }
        Stmt::Raise { args, .. } | Stmt::Return(args) => args.iter().for_each(|o| read(o, each)),
    }
}

/// The operands of an expression.
pub(crate) fn operands_of(expr: &Expr, each: &mut dyn FnMut(Operand)) {
    match expr {
        Expr::Copy(a) | Expr::Unary(_, a) => each(*a),
        Expr::Binary(_, a, b) | Expr::Math(_, a, b) | Expr::Compare(_, a, b) => {
            each(*a);
            each(*b);
        }
        Expr::Fma(a, b, c) | Expr::Select(a, b, c) => [*a, *b, *c].into_iter().for_each(each),
        Expr::Load(_, Address { base, index, .. }) | Expr::Offset(Address { base, index, .. }) => {
            each(*base);
            each(*index);
        }
    }
}
