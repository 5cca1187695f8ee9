//! Fused multiply-adds in sums: a product that a loop adds up, and that nothing else needs, is rounded with the sum.
//!
//! The back end is told of each, and fuses no others, so that no processor gives other digits.

use crate::low::facts::facts;
use crate::low::visit::occurrences;
use crate::low::{Binary, Expr, LowModule, Operand, Reg, Stmt};
use diffeo_array::ir::Reduction;
use diffeo_base::deep;
use hashbrown::HashMap;

/// Fuses the products that loops add up.
pub(super) fn fuse(module: &mut LowModule) {
    for function in &mut module.functions {
        let once = facts(function).once;
        let mut count = vec![0; once.len()];
        function
            .body
            .iter()
            .for_each(|stmt| occurrences(stmt, &mut |r, _| count[r.0 as usize] += 1));
        let own = |o: Operand| !matches!(o, Operand::Reg(r) if !once[r.0 as usize]);
        // A register that is set, and read once.
        let single = |r: Reg| once[r.0 as usize] && count[r.0 as usize] == 2;
        let mut pending: Vec<&mut Vec<Stmt>> = vec![&mut function.body];
        while let Some(stmts) = pending.pop() {
            for stmt in stmts {
                if let Stmt::For(step) = stmt {
                    let sums: Vec<Reg> = step
                        .reductions
                        .iter()
                        .filter(|(_, how)| *how == Reduction::Add)
                        .map(|(r, _)| *r)
                        .collect();
                    fuse_in(&mut step.body, &sums, &single, &own);
                }
                pending.extend(deep(|| stmt.blocks_mut()));
            }
        }
    }
}

/// Fuses the products that the statements of a step add to one of the sums.
fn fuse_in(
    body: &mut Vec<Stmt>,
    sums: &[Reg],
    single: &dyn Fn(Reg) -> bool,
    own: &dyn Fn(Operand) -> bool,
) {
    let mut products: HashMap<Reg, (usize, [Operand; 2])> = HashMap::new();
    let mut gone = Vec::new();
    for (i, stmt) in body.iter_mut().enumerate() {
        let Stmt::Set(register, expr) = stmt else { continue };
        match expr {
            Expr::Binary(Binary::Mul, a, b) if single(*register) && own(*a) && own(*b) => {
                products.insert(*register, (i, [*a, *b]));
            }
            Expr::Binary(Binary::Add, a, b) if sums.contains(register) => {
                let sum = Operand::Reg(*register);
                let value = if *a == sum { *b } else { *a };
                let Operand::Reg(value) = value else { continue };
                if let Some((place, [x, y])) = products.get(&value) {
                    gone.push(*place);
                    *expr = Expr::Fma(*x, *y, sum);
                }
            }
            _ => {}
        }
    }
    gone.sort_unstable();
    for place in gone.into_iter().rev() {
        body.remove(place);
    }
}
