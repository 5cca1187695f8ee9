//! Nan guards: stops the program if a derivative is nan.

use crate::build::Builder;
use crate::ir::{Atom, Block, Elem, FlatTy, Module, Op, Reduction, Stop};
use diffeo_calculus::prim::{IntOp, RealOp};

/// Stops the program if one of these numbers, or an element of one of these arrays of them, is nan: for the evaluator
/// to begin again.
pub(super) fn watch(b: &mut Builder, module: &Module, of: &[Atom]) {
    let is_number = |x: &&Atom| matches!(b.ty(x), FlatTy::Real | FlatTy::Array(Elem::Real, _));
    let numbers: Vec<Atom> = of.iter().filter(is_number).cloned().collect();
    let sum = match &numbers[..] {
        [] => return,
        [x] if b.ty(x) == FlatTy::Real => x.clone(),
        // Infinities may add up to nan; their squares do not.
        [first, rest @ ..] => {
            let first = squares(b, module, first);
            rest.iter().fold(first, |sum, x| {
                let more = squares(b, module, x);
                b.one(module, Op::Real(RealOp::Add, vec![sum, more]))
            })
        }
    };
    let cond = b.one(module, Op::IsNan(sum));
    b.open();
    b.emit(module, Op::Stop(Stop::Nan));
    let then = b.close(Vec::new());
    b.emit(module, Op::If { cond, then, otherwise: Block::default() });
}

/// The square of a number, or the sum of those of an array.
fn squares(b: &mut Builder, module: &Module, x: &Atom) -> Atom {
    let square =
        |b: &mut Builder, x: Atom| b.one(module, Op::Real(RealOp::Mul, vec![x.clone(), x]));
    let FlatTy::Array(_, rank) = b.ty(x) else { return square(b, x.clone()) };
    let mut count = b.one(module, Op::Dim(x.clone(), 0));
    let mut flat = x.clone();
    for dim in 1..rank {
        // The length of rows that nothing has determined is -1.
        let size = b.one(module, Op::Dim(x.clone(), dim));
        let size = b.one(module, Op::IntFits(IntOp::Max, vec![size, Atom::Int(0)]));
        count = b.one(module, Op::IntFits(IntOp::Mul, vec![count, size]));
    }
    if rank > 1 {
        flat = b.one(module, Op::Reshape(flat, vec![count.clone()]));
    }
    let index = b.var(FlatTy::Int, None);
    b.open();
    let element = b.one(module, Op::Get(flat, vec![Atom::Var(index)]));
    let element = square(b, element);
    let body = b.close(vec![element]);
    b.one(module, Op::Reduce { how: vec![Reduction::Add], count, index, body })
}
