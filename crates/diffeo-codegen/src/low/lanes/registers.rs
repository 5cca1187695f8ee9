//! In which order the statements of a loop set and read registers.

use crate::low::visit::operands_of as operands;
use crate::low::{Binary, Expr, For, Operand, Reg, Stmt};
use diffeo_base::deep;
use diffeo_calculus::prim::RealOp;
use hashbrown::HashSet;

/// Whether each reduced register is set by one of the statements, to itself combined with a value.
pub(super) fn sums_once(step: &For, body: &[Stmt]) -> bool {
    step.reductions.iter().all(|(register, _)| {
        let mut sets = body.iter().filter_map(|stmt| match stmt {
            Stmt::Set(r, expr) if r == register => Some(combines(*register, expr)),
            _ => None,
        });
        sets.next() == Some(true) && sets.next().is_none()
    })
}

/// Whether an expression is a register combined with a value.
fn combines(register: Reg, expr: &Expr) -> bool {
    let register = Operand::Reg(register);
    match expr {
        Expr::Binary(Binary::Add, a, b) | Expr::Math(RealOp::Max | RealOp::Min, a, b) => {
            (*a == register) != (*b == register)
        }
        Expr::Fma(a, b, c) => *c == register && *a != register && *b != register,
        _ => false,
    }
}

/// Whether the registers of `own` are set before they are read; `seen` gets those that surely are.
pub(super) fn defined_first(stmts: &[Stmt], own: &HashSet<Reg>, seen: &mut HashSet<Reg>) -> bool {
    for stmt in stmts {
        let mut good = true;
        let mut check = |o: Operand, seen: &HashSet<Reg>| {
            if let Operand::Reg(r) = o {
                good &= !own.contains(&r) || seen.contains(&r);
            }
        };
        match stmt {
            Stmt::Set(_, expr) => operands(expr, &mut |o| check(o, seen)),
            Stmt::Checked { a, b, .. } => [*a, *b].into_iter().for_each(|o| check(o, seen)),
            Stmt::Store(_, address, value) => {
                [address.base, address.index, *value].into_iter().for_each(|o| check(o, seen));
            }
            Stmt::If(on, ..) | Stmt::Switch(on, ..) => check(*on, seen),
            Stmt::For(step) => [step.from, step.to].into_iter().for_each(|o| check(o, seen)),
            Stmt::Call { args, .. }
            | Stmt::Runtime { args, .. }
            | Stmt::Raise { args, .. }
            | Stmt::Return(args) => args.iter().for_each(|o| check(*o, seen)),
            Stmt::Loop(_) | Stmt::Break => {}
        }
        if !good {
            return false;
        }
        let blocks = stmt.blocks();
        let mut common: Option<HashSet<Reg>> = None;
        for block in &blocks {
            let mut inner = seen.clone();
            if let Stmt::For(step) = stmt {
                inner.insert(step.index);
            }
            if !deep(|| defined_first(block, own, &mut inner)) {
                return false;
            }
            common = Some(match common {
                None => inner,
                Some(common) => common.intersection(&inner).copied().collect(),
            });
        }
        match stmt {
            // All arms set it.
            Stmt::If(..) | Stmt::Switch(..) => seen.extend(common.into_iter().flatten()),
            Stmt::Set(r, _) => _ = seen.insert(*r),
            Stmt::Checked { result, overflow, .. } => seen.extend([*result, *overflow]),
            Stmt::Call { results, .. } | Stmt::Runtime { results, .. } => {
                seen.extend(results.iter().copied());
            }
            Stmt::Store(..)
            | Stmt::Loop(_)
            | Stmt::Break
            | Stmt::For(_)
            | Stmt::Raise { .. }
            | Stmt::Return(_) => {}
        }
    }
    true
}
