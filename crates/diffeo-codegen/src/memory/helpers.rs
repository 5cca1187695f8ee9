//! Helper functions that the translation adds to those of the program, each when it is first needed. None of them
//! fails.

use super::emit::{at, CodeBuilder, PLAIN, REFERENCES};
use super::parallel::block_steps;
use crate::low::{
    Binary, Checked, Compare, Expr, LowFunction, LowTy, Operand, Runtime, Stmt, BYTES, CAPACITY,
    COUNT, DATA,
};

/// A helper function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Helper {
    /// `(block)`: adds a reference, if it is counted.
    Retain,
    /// `(block)`: takes a reference away, if it is counted.
    Release,
    /// `(block, data, bytes) → (block, data)`: a copy of this part of an array of numbers, instead of a
    /// reference to the array. Null if memory is used up.
    CopyPlain,
    /// The same of references.
    CopyReferences,
    /// `(block, data, bytes, more) → (block, data)`: this part of an array of numbers with room behind it for so
    /// many bytes more, instead of a reference to the array: in place if possible. Null if memory is used up.
    GrowPlain,
    /// The same of references.
    GrowReferences,
    /// `(a, b) → (a ^ b, whether it does not fit)` of Ints, b not negative.
    Power,
    /// `(count, total, least) → steps in a block`, as [`block_steps`] says.
    BlockSteps,
}

impl Helper {
    /// The types of the results.
    pub fn results(self) -> Vec<LowTy> {
        match self {
            Helper::Retain | Helper::Release => Vec::new(),
            Helper::CopyPlain
            | Helper::CopyReferences
            | Helper::GrowPlain
            | Helper::GrowReferences => vec![LowTy::Ptr, LowTy::Ptr],
            Helper::Power => vec![LowTy::Int, LowTy::Bool],
            Helper::BlockSteps => vec![LowTy::Int],
        }
    }

    /// The function; `release` is that of [`Helper::Release`].
    pub fn function(self, release: impl FnOnce(&mut CodeBuilder, Operand)) -> LowFunction {
        let mut code = CodeBuilder::new();
        let (name, params) = match self {
            Helper::Retain => ("retain", vec![LowTy::Ptr]),
            Helper::Release => ("release", vec![LowTy::Ptr]),
            Helper::CopyPlain => ("copy_plain", vec![LowTy::Ptr, LowTy::Ptr, LowTy::Int]),
            Helper::CopyReferences => ("copy_references", vec![LowTy::Ptr, LowTy::Ptr, LowTy::Int]),
            Helper::GrowPlain => {
                ("grow_plain", vec![LowTy::Ptr, LowTy::Ptr, LowTy::Int, LowTy::Int])
            }
            Helper::GrowReferences => {
                ("grow_references", vec![LowTy::Ptr, LowTy::Ptr, LowTy::Int, LowTy::Int])
            }
            Helper::Power => ("power", vec![LowTy::Int, LowTy::Int]),
            Helper::BlockSteps => ("block_steps", vec![LowTy::Int, LowTy::Real, LowTy::Real]),
        };
        let params = code.regs(params);
        let args: Vec<Operand> = params.iter().map(|reg| Operand::Reg(*reg)).collect();
        match (self, &args[..]) {
            (Helper::Retain, [block]) => retain(&mut code, *block),
            (Helper::Release, [block]) => self::release(&mut code, *block),
            (Helper::CopyPlain, [block, data, bytes]) => {
                copy(&mut code, *block, [*data, *bytes], false, release);
            }
            (Helper::CopyReferences, [block, data, bytes]) => {
                copy(&mut code, *block, [*data, *bytes], true, release);
            }
            (Helper::GrowPlain, [block, data, bytes, more]) => {
                grow(&mut code, *block, [*data, *bytes, *more], false, release);
            }
            (Helper::GrowReferences, [block, data, bytes, more]) => {
                grow(&mut code, *block, [*data, *bytes, *more], true, release);
            }
            (Helper::Power, [a, b]) => power(&mut code, *a, *b),
            (Helper::BlockSteps, [a, b, c]) => block_steps(&mut code, [*a, *b, *c]),
            (
                Helper::Retain
                | Helper::Release
                | Helper::CopyPlain
                | Helper::CopyReferences
                | Helper::GrowPlain
                | Helper::GrowReferences
                | Helper::Power
                | Helper::BlockSteps,
                _,
            ) => {}
        }
        code.finish(name.to_string(), params, self.results())
    }
}

fn retain(code: &mut CodeBuilder, block: Operand) {
    let some = code.compare(Compare::IntNe, block, Operand::Null);
    let then = code.list(|code| {
        let count = code.load(LowTy::Int, at(block, COUNT));
        let is_counted = code.compare(Compare::IntLe, Operand::Int(0), count);
        let then = code.list(|code| {
            let more = code.add(count, Operand::Int(1));
            code.store(LowTy::Int, at(block, COUNT), more);
        });
        code.push(Stmt::If(is_counted, then, Vec::new()));
    });
    code.push(Stmt::If(some, then, Vec::new()));
    code.push(Stmt::Return(Vec::new()));
}

fn release(code: &mut CodeBuilder, block: Operand) {
    let some = code.compare(Compare::IntNe, block, Operand::Null);
    let then = code.list(|code| {
        let count = code.load(LowTy::Int, at(block, COUNT));
        let shared = code.compare(Compare::IntLt, Operand::Int(1), count);
        let decrement = code.list(|code| {
            let less = code.sub(count, Operand::Int(1));
            code.store(LowTy::Int, at(block, COUNT), less);
        });
        let free = code.list(|code| {
            let last = code.compare(Compare::IntEq, count, Operand::Int(1));
            let free = code.list(|code| _ = code.runtime(Runtime::Free, vec![block]));
            code.push(Stmt::If(last, free, Vec::new()));
        });
        code.push(Stmt::If(shared, decrement, free));
    });
    code.push(Stmt::If(some, then, Vec::new()));
    code.push(Stmt::Return(Vec::new()));
}

fn layout(references: bool) -> Operand {
    Operand::Int(if references { REFERENCES } else { PLAIN })
}

/// Returns null if a block is null.
fn give_up(code: &mut CodeBuilder, block: Operand) {
    let none = code.compare(Compare::IntEq, block, Operand::Null);
    let leave = vec![Stmt::Return(vec![Operand::Null, Operand::Null])];
    code.push(Stmt::If(none, leave, Vec::new()));
}

/// Copies data to a new block and returns it, after what it came from is released.
fn move_to(
    code: &mut CodeBuilder,
    [old, data, bytes]: [Operand; 3],
    new: Operand,
    references: bool,
    release: impl FnOnce(&mut CodeBuilder, Operand),
) {
    let to = code.offset(at(new, DATA));
    code.runtime(Runtime::Copy, vec![to, data, bytes]);
    if references {
        let shift = Expr::Binary(Binary::ShiftRight, bytes, Operand::Int(3));
        let count = code.set(LowTy::Int, shift);
        code.runtime(Runtime::RetainAll, vec![to, count]);
    }
    release(code, old);
    code.push(Stmt::Return(vec![new, to]));
}

fn copy(
    code: &mut CodeBuilder,
    block: Operand,
    [data, bytes]: [Operand; 2],
    references: bool,
    release: impl FnOnce(&mut CodeBuilder, Operand),
) {
    let new = code.runtime_one(Runtime::Array, vec![layout(references), bytes]);
    give_up(code, new);
    move_to(code, [block, data, bytes], new, references, release);
}

fn grow(
    code: &mut CodeBuilder,
    block: Operand,
    [data, bytes, more]: [Operand; 3],
    references: bool,
    release: impl FnOnce(&mut CodeBuilder, Operand),
) {
    let total = code.add(bytes, more);
    let room = code.reg(LowTy::Int);
    code.assign(room, total);
    let only = code.unshared(block);
    let unshared = code.list(|code| {
        // In place only behind everything that is in use.
        let used = code.load(LowTy::Int, at(block, BYTES));
        let index = used;
        let end = code.offset(crate::low::Address { base: block, index, scale: 1, offset: DATA });
        let behind =
            code.offset(crate::low::Address { base: data, index: bytes, scale: 1, offset: 0 });
        let last = code.compare(Compare::IntEq, end, behind);
        let at_end = code.list(|code| {
            let capacity = code.load(LowTy::Int, at(block, CAPACITY));
            let wanted = code.add(used, more);
            let fits = code.compare(Compare::IntLe, wanted, capacity);
            let in_place = code.list(|code| {
                code.store(LowTy::Int, at(block, BYTES), wanted);
                code.push(Stmt::Return(vec![block, data]));
            });
            let larger = code.list(|code| {
                let shift = Expr::Binary(Binary::ShiftRight, total, Operand::Int(1));
                let half = code.set(LowTy::Int, shift);
                code.push(Stmt::Set(room, Expr::Binary(Binary::IntAdd, total, half)));
            });
            code.push(Stmt::If(fits, in_place, larger));
        });
        code.push(Stmt::If(last, at_end, Vec::new()));
    });
    code.push(Stmt::If(only, unshared, Vec::new()));
    let args = vec![layout(references), Operand::Reg(room)];
    let new = code.runtime_one(Runtime::Array, args);
    give_up(code, new);
    code.store(LowTy::Int, at(new, BYTES), total);
    move_to(code, [block, data, bytes], new, references, release);
}

/// By squaring. The base is squared only if it is multiplied once more, so whenever a product does not fit, the
/// result does not either (a base of 0 or ±1 always fits).
fn power(code: &mut CodeBuilder, a: Operand, b: Operand) {
    let [base, exponent, result] = [LowTy::Int; 3].map(|ty| code.reg(ty));
    code.assign(base, a);
    code.assign(exponent, b);
    code.assign(result, Operand::Int(1));
    let overflow = code.reg(LowTy::Bool);
    code.assign(overflow, Operand::Bool(false));
    let [x, n, y] = [base, exponent, result].map(Operand::Reg);
    let times = |code: &mut CodeBuilder, to, a, b| {
        let fits_not = code.reg(LowTy::Bool);
        let op = Checked::Mul;
        code.push(Stmt::Checked { op, result: to, overflow: fits_not, a, b });
        let either = Expr::Binary(Binary::Or, Operand::Reg(overflow), Operand::Reg(fits_not));
        code.push(Stmt::Set(overflow, either));
    };
    let body = code.list(|code| {
        let bit = code.set(LowTy::Int, Expr::Binary(Binary::And, n, Operand::Int(1)));
        let odd = code.compare(Compare::IntEq, bit, Operand::Int(1));
        let multiply = code.list(|code| times(code, result, y, x));
        code.push(Stmt::If(odd, multiply, Vec::new()));
        let shift = Expr::Binary(Binary::ShiftRight, n, Operand::Int(1));
        code.push(Stmt::Set(exponent, shift));
        let done = code.compare(Compare::IntEq, n, Operand::Int(0));
        code.push(Stmt::If(done, vec![Stmt::Break], Vec::new()));
        times(code, base, x, x);
    });
    code.push(Stmt::Loop(body));
    code.push(Stmt::Return(vec![y, Operand::Reg(overflow)]));
}
