//! What compiled code calls: memory, texts, sorting, errors, and the real operations without an instruction.
//!
//! | file | what is in it |
//! |---|---|
//! | `context.rs` | the state of a run, and what compiled code reads of it |
//! | `memory.rs` | the allocator |
//! | `operations.rs` | the operations of [`low::Runtime`](crate::low::Runtime), and what records errors |
//! | `sort.rs` | sorting |
//! | `math.rs` | real operations |
//! | `failure.rs` | an error on its way out |
//! | `split.rs` | loops whose blocks are done at once |
//! | `stack_end.rs` | the end of the stack, and how a run is stopped |
//! | `freeze.rs` | memory that several threads read |
//! | `work.rs` | the work that is done, counted |
//!
//! Engines call a [`RuntimeFunction`] by its address, with the calling convention of C: first the context, unless it
//! says otherwise, then its parameters, of which a Bool is a word.

macro_rules! real {
    ($name:ident($($param:ident),*)) => {
        RuntimeFunction {
            name: concat!("diffeo_", stringify!($name)),
            address: crate::runtime::math::$name as *const u8,
            context: false,
            params: &[$(LowTy::$param),*],
            result: Some(LowTy::Real),
        }
    };
}

mod context;
mod failure;
mod freeze;
mod math;
mod memory;
mod operations;
mod sort;
mod split;
mod stack_end;
mod work;

pub use context::{Context, Owned, CONSTANTS, STACK_END, STATICS, TEXTS, WORK};
pub use failure::{Failure, OpenCall, KEPT};
pub use memory::{Memory, CLASSES, GRAIN, PLAIN, REFERENCES, STATIC, TEXT};
pub use split::shape;
pub use stack_end::{StackEnd, ASK, STOP};
pub use work::Work;

use crate::low::{LowTy, Runtime};
use diffeo_calculus::prim::{real, Rounding, TextOp};

/// A function of the runtime.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeFunction {
    /// Its name, unique.
    pub name: &'static str,
    /// Its address.
    pub address: *const u8,
    /// Whether its first argument is the context.
    pub context: bool,
    /// The types of its parameters besides; an Int for a Bool.
    pub params: &'static [LowTy],
    /// The type of its result, if it has one; an Int for a Bool.
    pub result: Option<LowTy>,
}

macro_rules! function {
    ($name:literal, $function:path, ($($param:ident),*) $(-> $result:ident)?) => {
        RuntimeFunction {
            name: concat!("diffeo_", $name),
            address: $function as *const u8,
            context: true,
            params: &[$(LowTy::$param),*],
            result: [$(Some(LowTy::$result),)? None][0],
        }
    };
}

/// `(raise: an index into the table of the program, site, up to three operands as words)`: records an error.
pub fn raise() -> RuntimeFunction {
    function!("raise", operations::raise, (Int, Int, Int, Int, Int))
}

/// `(function, site)`: records an open call of a function that failed. (Two small numbers, because code would keep a
/// large one in a register for the case of an error.)
pub fn note() -> RuntimeFunction {
    function!("note", operations::note, (Int, Int))
}

/// `() → Int`: what recursive functions call if the stack pointer is below the end of the stack: whether the stack is
/// used up, or the run is to end.
pub fn deep() -> RuntimeFunction {
    function!("deep", operations::deep, () -> Int)
}

/// `(task, frame, layout, how, count, step) → status`: does the blocks of a loop, as a function with
/// [`Blocks`](crate::low::Blocks) does. The task is the address of a function with the convention of C that takes the
/// context and the parameters of [`Blocks::task`](crate::low::Blocks::task), and gives its status as an Int. The frame
/// has the captured words, and room for the results behind them. [`shape`] gives the two words after it. The status is
/// 0, or 1 if a block failed; then the error is recorded.
pub fn split() -> RuntimeFunction {
    function!("split", split::split, (Ptr, Ptr, Int, Int, Int, Int) -> Int)
}

/// `(constant, work)`: notes that a constant is computed: what was counted since the counter had this number belongs to
/// it.
pub fn constant() -> RuntimeFunction {
    function!("constant", work::constant, (Int, Int))
}

/// `(a, b, c) → a * b + c`, where there is no instruction for it.
pub fn fma() -> RuntimeFunction {
    real!(fma(Real, Real, Real))
}

/// The Real to an integral one, where there is no instruction for it; halves to even.
pub fn integral(rounding: Rounding) -> RuntimeFunction {
    match rounding {
        Rounding::Floor => real!(floor(Real)),
        Rounding::Ceil => real!(ceil(Real)),
        Rounding::Round => real!(nearest(Real)),
        Rounding::Trunc => real!(trunc(Real)),
    }
}

/// The function of an operation.
pub fn function(op: Runtime) -> RuntimeFunction {
    match op {
        Runtime::Box => function!("box", operations::new_box, (Int) -> Ptr),
        Runtime::Array => function!("array", operations::array, (Int, Int) -> Ptr),
        Runtime::Zeros => function!("zeros", operations::zeros, (Int, Int) -> Ptr),
        Runtime::Free => function!("free", operations::free, (Ptr)),
        Runtime::Copy => function!("copy", operations::copy, (Ptr, Ptr, Int)),
        Runtime::RetainAll => function!("retain_all", operations::retain_all, (Ptr, Int)),
        Runtime::AppendText => {
            function!("append_text", operations::append_text, (Ptr, Ptr) -> Ptr)
        }
        Runtime::CompareText => {
            function!("compare_text", operations::compare_text, (Ptr, Ptr) -> Int)
        }
        Runtime::ShowReal => function!("show_real", operations::show_real, (Real) -> Ptr),
        Runtime::ShowInt => function!("show_int", operations::show_int, (Int) -> Ptr),
        Runtime::ShowBool => function!("show_bool", operations::show_bool, (Int) -> Ptr),
        Runtime::ShowText => function!("show_text", operations::show_text, (Ptr) -> Ptr),
        Runtime::Text(op) => match op {
            TextOp::Size => function!("text_size", operations::text_size, (Ptr) -> Int),
            TextOp::Byte => function!("text_byte", operations::text_byte, (Ptr, Int) -> Int),
            TextOp::Slice => {
                function!("text_slice", operations::text_slice, (Ptr, Int, Int) -> Ptr)
            }
            TextOp::Find => function!("text_find", operations::text_find, (Ptr, Ptr, Int) -> Int),
            TextOp::Character => {
                function!("text_character", operations::text_character, (Int) -> Ptr)
            }
            TextOp::Lower => function!("text_lower", operations::text_lower, (Ptr) -> Ptr),
            TextOp::Upper => function!("text_upper", operations::text_upper, (Ptr) -> Ptr),
            TextOp::Digits => {
                function!("text_digits", operations::text_digits, (Int, Real) -> Ptr)
            }
            TextOp::Number => function!("text_number", operations::text_number, (Ptr) -> Real),
        },
        Runtime::Trace => function!("trace", operations::trace, (Ptr, Ptr)),
        Runtime::Progress => function!("progress", operations::progress, (Ptr, Int, Real)),
        Runtime::Warn => function!("warn", operations::warn, (Ptr, Ptr, Ptr, Int)),
        Runtime::SortReals => function!("sort_reals", operations::sort_reals, (Ptr, Int, Ptr)),
        Runtime::SortInts => function!("sort_ints", operations::sort_ints, (Ptr, Int, Ptr)),
        Runtime::SortTexts => function!("sort_texts", operations::sort_texts, (Ptr, Int, Ptr)),
        Runtime::Poll => function!("poll", operations::poll, () -> Int),
        Runtime::PowInt => function!("pow_int", operations::pow_int, (Real, Int) -> Real),
        Runtime::StackNew => function!("stack_new", operations::stack_new, (Int) -> Ptr),
        Runtime::StackGrow => function!("stack_grow", operations::stack_grow, (Ptr) -> Int),
    }
}

/// The function with this name.
pub fn named(name: &str) -> Option<RuntimeFunction> {
    let others = [raise(), note(), split(), deep(), constant(), fma()];
    let integral =
        [Rounding::Floor, Rounding::Ceil, Rounding::Round, Rounding::Trunc].map(integral);
    let operations = Runtime::ALL.into_iter().map(function);
    let mut all = others.into_iter().chain(integral).chain(operations);
    all.find(|function| function.name == name)
        .or_else(|| real::ALL.iter().map(|op| math(*op)).find(|function| function.name == name))
}

pub use math::function as math;
