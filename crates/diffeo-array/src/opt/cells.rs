//! Keeps accumulators of a few numbers, touched at constant indices only, as numbers.
//!
//! What it needs: `unroll` before, for constant indices. Why it is right: what is done with such an accumulator stands in
//! one block, so the numbers in it are known at each place; each begins as 0 and is added to in the same order.

use super::walk::{deep, has_regions, regions_mut, replace, uses, var};
use crate::ir::{Atom, Block, Elem, Function, Module, Op, SiteId, Stmt, Ty, Var, VarInfo};
use diffeo_calculus::prim::RealOp;
use std::collections::HashMap;

/// Accumulators of at most so many numbers are looked at.
const MOST: i64 = 16;

/// See the head of the file.
pub fn cells(mut module: Module) -> Module {
    for function in &mut module.functions {
        if function.vars.iter().any(|info| matches!(info.ty, Ty::Acc(_))) {
            let uses = uses(function);
            let Function { vars, body, .. } = function;
            let mut cx = Cells { uses, vars, read: HashMap::new() };
            cx.block(body);
            let read = cx.read;
            replace(body, &read);
        }
    }
    module
}

struct Cells<'f> {
    uses: Vec<u32>,
    vars: &'f mut Vec<VarInfo>,
    /// What stands for the numbers that were read.
    read: HashMap<Var, Atom>,
}

/// An accumulator: its sizes, and the numbers in it.
struct Small {
    sizes: Vec<i64>,
    numbers: Vec<Atom>,
}

impl Small {
    fn new(sizes: &[Atom]) -> Option<Small> {
        let sizes: Vec<i64> = sizes.iter().map(int).collect::<Option<_>>()?;
        let fits = sizes.iter().all(|size| (1..=MOST).contains(size));
        let count = sizes.iter().try_fold(1i64, |count, size| count.checked_mul(*size))?;
        let numbers = vec![Atom::Real(0.0); usize::try_from(count).ok()?];
        (fits && count <= MOST).then_some(Small { sizes, numbers })
    }

    /// The number at constant indices.
    fn at(&mut self, indices: &[Atom]) -> Option<&mut Atom> {
        let mut place = 0;
        for (index, size) in indices.iter().zip(&self.sizes) {
            let index = int(index).filter(|index| (0..*size).contains(index))?;
            place = place * size + index;
        }
        let whole = indices.len() == self.sizes.len();
        self.numbers.get_mut(usize::try_from(place).ok()?).filter(|_| whole)
    }
}

fn int(atom: &Atom) -> Option<i64> {
    match atom {
        Atom::Int(n) => Some(*n),
        Atom::Var(_) | Atom::Real(_) | Atom::Bool(_) | Atom::Unused(_) => None,
    }
}

impl Cells<'_> {
    fn block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |region| self.block(region)));
            }
        }
        let mut small = self.small(block);
        if small.is_empty() {
            return;
        }
        let mut out = Vec::with_capacity(block.stmts.len());
        for stmt in std::mem::take(&mut block.stmts) {
            self.stmt(stmt, &mut small, &mut out);
        }
        block.stmts = out;
    }

    /// The small accumulators that are made in a block, and touched there only, at constant indices.
    fn small(&self, block: &Block) -> HashMap<Var, Small> {
        let mut small = HashMap::new();
        let mut seen: HashMap<Var, u32> = HashMap::new();
        for Stmt { results, op, .. } in &block.stmts {
            let touched = match op {
                Op::AccNew(sizes) => {
                    small.extend(results.iter().copied().zip(Small::new(sizes)));
                    continue;
                }
                Op::AccAdd(acc, indices, _)
                | Op::AccRead(acc, indices)
                | Op::AccTake(acc, indices) => var(acc).filter(|v| {
                    small.get_mut(v).is_some_and(|small: &mut Small| small.at(indices).is_some())
                }),
                Op::AccGet(acc) => var(acc),
                _ => None,
            };
            if let Some(v) = touched {
                *seen.entry(v).or_default() += 1;
            }
        }
        small.retain(|v, _| seen.get(v).copied().unwrap_or(0) == self.uses[v.0 as usize]);
        small
    }

    fn stmt(&mut self, stmt: Stmt, small: &mut HashMap<Var, Small>, out: &mut Vec<Stmt>) {
        let acc = match &stmt.op {
            Op::AccNew(_) => stmt.results.first().copied(),
            Op::AccAdd(acc, ..) | Op::AccRead(acc, _) | Op::AccTake(acc, _) | Op::AccGet(acc) => {
                var(acc)
            }
            _ => None,
        };
        let Some(acc) = acc.and_then(|v| small.get_mut(&v)) else {
            out.push(stmt);
            return;
        };
        let Stmt { results, op, site } = stmt;
        match op {
            Op::AccAdd(_, indices, value) => {
                if let Some(number) = acc.at(&indices) {
                    let op = Op::Real(RealOp::Add, vec![number.clone(), value]);
                    *number = self.made(op, Ty::Real, site, out);
                }
            }
            Op::AccRead(_, indices) => {
                let number = acc.at(&indices).map(|number| number.clone());
                self.read.extend(results.into_iter().zip(number));
            }
            Op::AccTake(_, indices) => {
                let zero = Atom::Real(0.0);
                let number = acc.at(&indices).map(|number| std::mem::replace(number, zero));
                self.read.extend(results.into_iter().zip(number));
            }
            Op::AccGet(_) => {
                let numbers = acc.numbers.clone();
                let op = match acc.sizes.len() {
                    0 => {
                        self.read.extend(results.into_iter().zip(numbers));
                        return;
                    }
                    1 => Op::Elements(Elem::Real, numbers),
                    _ => {
                        let op = Op::Elements(Elem::Real, numbers);
                        let all = self.made(op, Ty::array(Elem::Real, 1), site, out);
                        Op::Reshape(all, acc.sizes.iter().map(|size| Atom::Int(*size)).collect())
                    }
                };
                out.push(Stmt { results, op, site });
            }
            _ => {}
        }
    }

    fn made(&mut self, op: Op, ty: Ty, site: SiteId, out: &mut Vec<Stmt>) -> Atom {
        self.vars.push(VarInfo { ty, name: None });
        let v = Var(self.vars.len() as u32 - 1);
        out.push(Stmt { results: vec![v], op, site });
        Atom::Var(v)
    }
}
