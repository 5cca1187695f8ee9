//! Low: what is left of Flat when arrays are addresses and every reference is counted.
//!
//! A function of Low has registers that are set any number of times, and structured control flow, so that
//! Cranelift, LLVM and C are each a translation of every form by itself. The first argument of every function
//! is the [`context`](crate) of the run; it is not written. A function that can fail gives a status beside
//! its results; that is not written either: [`Stmt::Call`] leaves the function when the callee failed,
//! after it has noted its site, and [`Stmt::Raise`] leaves it with an error.
//!
//! # Blocks of memory
//!
//! Everything that is counted is a block. A block begins with two words: how many references there are to it
//! (negative: it is never freed), and the index of its [`Layout`]. Then come
//! - of a box: its fields, one word each, an array in `2 + rank` words;
//! - of an array or a text: a word with the size of its data in bytes, a word with the bytes that there is
//!   room for, and the data ([`DATA`] from the beginning);
//! - of a stack: how many tuples there are, how many have room, the address of the tuples.
//!
//! An array is `2 + rank` registers: the block that it lies in (null if it is not counted: it belongs to the
//! caller of the program, or has no elements), the address of its first element, its sizes. A Bool takes one
//! byte, everything else eight.

pub(crate) mod assigned;
pub(crate) mod facts;
pub(crate) mod lanes;
pub mod lint;
pub mod opt;
pub mod print;
pub(crate) mod visit;

use diffeo_array::ir::{Module as Flat, Reduction, SiteId};
use diffeo_base::Name;
use diffeo_calculus::prim::{RealOp, Rounding, TextOp};
use serde::{Deserialize, Serialize};

/// The offset of the references in a block.
pub const COUNT: i64 = 0;
/// The offset of the layout in a block.
pub const LAYOUT: i64 = 8;
/// The offset of the first field in a box.
pub const FIELDS: i64 = 16;
/// The offset of the size of the data in an array or a text, in bytes.
pub const BYTES: i64 = 16;
/// The offset, in an array or a text, of the number of bytes that there is room for: at least [`BYTES`], more
/// where an array grew by appending. Only those of [`BYTES`] are in use.
pub const CAPACITY: i64 = 24;
/// The offset of the number of tuples in a stack.
pub const STACK_LENGTH: i64 = 16;
/// The offset of the number of tuples that a stack has room for.
pub const STACK_ROOM: i64 = 24;
/// The offset of the address of the tuples of a stack.
pub const STACK_DATA: i64 = 32;
/// The offset of the data in an array or a text.
pub const DATA: i64 = 32;

/// The site of calls that the source does not have, such as that of the program by its entry: when the callee fails,
/// nothing is noted.
pub const NOWHERE: SiteId = SiteId(u32::MAX);

/// Functions with more statements than this are compiled quickly rather than well: what compilers do takes time
/// that grows faster than the function.
pub const HUGE: usize = 5_000;

/// A whole program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LowModule {
    /// The functions: first those of Flat, by their indices there, then what they need. Of a program whose code was
    /// kept, none is left.
    #[serde(skip)]
    pub functions: Vec<LowFunction>,
    /// The layouts of blocks. The first three are [`Layout::Plain`], [`Layout::Text`] and [`Layout::References`].
    pub layouts: Vec<Layout>,
    /// The texts of the program; each is a block that is never freed.
    pub texts: Vec<Name>,
    /// How many words the constants take, in the context: for each its state (0 not computed, 1 being
    /// computed, 2 computed), then the words of its value.
    pub constant_words: usize,
    /// For each word of the constants whether it refers to a block, to be released at the end.
    pub constant_references: Vec<bool>,
    /// The program's function for callers: `(arguments: Ptr, results: Ptr)`, both arrays of words: the
    /// registers of the entry's parameters (borrowed) and results (owned), a Bool in a word of its own.
    pub entry: FunctionId,
    /// What the module was made from: for the places and names in messages.
    #[serde(skip)]
    pub flat: std::sync::Arc<Flat>,
}

/// The index of a function in [`LowModule::functions`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FunctionId(pub u32);

/// A register: an index into [`LowFunction::registers`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg(pub u32);

/// The type of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LowTy {
    /// 64 bits.
    Int,
    /// `f64`.
    Real,
    /// A byte, 0 or 1.
    Bool,
    /// An address, or null.
    Ptr,
}

/// The layout of a block: which of its words are references.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Layout {
    /// An array of numbers or truth values.
    Plain,
    /// A text: the data are its bytes.
    Text,
    /// An array of references to blocks.
    References,
    /// A box with so many words of fields; of each, whether it refers to a block. There is a layout for each
    /// tag of a type of boxes, in the order of the tags.
    Fields(Box<[bool]>),
    /// A stack, see [`Runtime::StackNew`]: so many words a tuple; of each, whether it refers to a block.
    Stack(Box<[bool]>),
}

impl LowModule {
    /// The number of statements of the longest function.
    pub fn longest(&self) -> usize {
        self.functions.iter().map(LowFunction::statements).max().unwrap_or(0)
    }

    /// How many statements there are.
    pub fn statements(&self) -> usize {
        self.functions.iter().map(LowFunction::statements).sum()
    }
}

/// A function.
#[derive(Clone, Debug)]
pub struct LowFunction {
    /// Its name, unique: letters, digits and `_`.
    pub name: String,
    /// The types of the registers.
    pub registers: Vec<LowTy>,
    /// The parameters.
    pub params: Vec<Reg>,
    /// The types of the results.
    pub results: Vec<LowTy>,
    /// Whether it can fail: a [`Stmt::Raise`], or a call of a function that can.
    pub fallible: bool,
    /// Whether it can be open several times: then it begins with a test that the stack is large enough, which
    /// also looks whether the run is to end. Such a function is fallible. The site is for that error.
    pub recursive: Option<SiteId>,
    /// If the function does a loop block by block: how several blocks can be done at once.
    pub blocks: Option<Blocks>,
    /// Whether it was outlined from another function, and is not to be inlined.
    pub apart: bool,
    /// Its statements; the last one executed is a `Return` or `Raise`.
    pub body: Vec<Stmt>,
}

impl LowFunction {
    /// How many statements there are, nested ones included.
    pub fn statements(&self) -> usize {
        visit::size(&self.body)
    }
}

/// How blocks of the steps of a loop are done at once.
///
/// The parameters of the function that has this are what the steps read, the number of steps and the number of
/// steps in a block; its results are those of the blocks, combined in the order of the blocks. The body does one
/// block after the other. An engine may let the runtime do them ([`runtime::split`](crate::runtime::split)), which
/// gives the same, to the last bit.
#[derive(Clone, PartialEq, Debug)]
pub struct Blocks {
    /// The function that does the steps of a block, `(captured: Ptr, from: Int, to: Int, results: Ptr)`: the words of
    /// what they read, the first step, the end, and where the words of the results go.
    pub task: FunctionId,
    /// How many of the first parameters are blocks of memory (or null). The steps may count references to what can be
    /// reached from them.
    pub shared: usize,
    /// Whether the steps may ask for constants.
    pub constants: bool,
    /// How the results are combined.
    pub how: Vec<Reduction>,
    /// The place of the loop.
    pub site: SiteId,
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// An Int.
    Int(i64),
    /// A Real.
    Real(f64),
    /// A truth value.
    Bool(bool),
    /// The null address.
    Null,
    /// The block of a text of [`LowModule::texts`].
    Text(u32),
    /// The block of the box without fields that has this layout: there is one, which is never freed.
    Static(u32),
    /// The address of the word of the constants in the context with this index.
    Constant(u32),
}

impl Operand {
    /// The type of the operand, given those of the registers.
    pub fn ty(self, registers: &[LowTy]) -> LowTy {
        match self {
            Operand::Reg(reg) => registers[reg.0 as usize],
            Operand::Int(_) => LowTy::Int,
            Operand::Real(_) => LowTy::Real,
            Operand::Bool(_) => LowTy::Bool,
            Operand::Null | Operand::Text(_) | Operand::Static(_) | Operand::Constant(_) => {
                LowTy::Ptr
            }
        }
    }
}

/// `base + index * scale + offset`, in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Address {
    /// A `Ptr`.
    pub base: Operand,
    /// An Int.
    pub index: Operand,
    /// 1 or 8.
    pub scale: u8,
    /// A number of bytes.
    pub offset: i64,
}

/// A value computed without effects.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Expr {
    /// The operand.
    Copy(Operand),
    /// Of one operand.
    Unary(Unary, Operand),
    /// Of two operands.
    Binary(Binary, Operand, Operand),
    /// `a * b + c`, rounded once.
    Fma(Operand, Operand, Operand),
    /// A real operation without an instruction of its own: a call of a function of the runtime, or of the
    /// system's mathematical library, unless it was expanded before.
    Math(RealOp, Operand, Operand),
    /// The Bool `a op b`.
    Compare(Compare, Operand, Operand),
    /// The second, if the first (a Bool) holds; else the third. Both are evaluated.
    Select(Operand, Operand, Operand),
    /// What lies there. A load whose address is [`invariant`](Address) in a loop may be moved by whoever can
    /// prove it: blocks that are read are not written while they are shared.
    Load(LowTy, Address),
    /// The address itself.
    Offset(Address),
}

/// Operations of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    /// `-a` of a Real.
    Neg,
    /// `|a|` of a Real.
    Abs,
    /// The square root of a Real.
    Sqrt,
    /// A Real to the integral Real in a direction; [`Rounding::Round`] is of halves to even here.
    Integral(Rounding),
    /// Int to Real.
    ToReal,
    /// Real to Int, towards zero; it is known to fit.
    ToInt,
    /// The bits of a Real, an Int.
    Bits,
    /// The Real with these bits.
    FromBits,
    /// Bool to Int.
    FromBool,
    /// `not` of a Bool.
    Not,
}

impl Unary {
    /// The types of the operand and of the result.
    pub fn types(self) -> (LowTy, LowTy) {
        match self {
            Unary::Neg | Unary::Abs | Unary::Sqrt | Unary::Integral(_) => {
                (LowTy::Real, LowTy::Real)
            }
            Unary::ToReal | Unary::FromBits => (LowTy::Int, LowTy::Real),
            Unary::ToInt | Unary::Bits => (LowTy::Real, LowTy::Int),
            Unary::FromBool => (LowTy::Bool, LowTy::Int),
            Unary::Not => (LowTy::Bool, LowTy::Bool),
        }
    }
}

/// Operations of two operands of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    /// Real `a + b`.
    Add,
    /// Real `a - b`.
    Sub,
    /// Real `a * b`.
    Mul,
    /// Real `a / b`.
    Div,
    /// Int `a + b` modulo 2^64.
    IntAdd,
    /// Int `a - b` modulo 2^64.
    IntSub,
    /// Int `a * b` modulo 2^64.
    IntMul,
    /// Int `a / b` towards zero; b is not 0, and the quotient fits.
    IntDiv,
    /// Int remainder with the sign of a; b is neither 0 nor -1.
    IntRem,
    /// Bitwise and, of Ints or Bools.
    And,
    /// Bitwise or, of Ints or Bools.
    Or,
    /// Bitwise exclusive or, of Ints or Bools.
    Xor,
    /// Left by 0 … 63 bits.
    ShiftLeft,
    /// Right by 0 … 63 bits, zeros come in.
    ShiftRight,
    /// Right by 0 … 63 bits, the sign comes in.
    ShiftRightSigned,
}

/// Comparisons. Those of Reals are false of nan, but for `Ne`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    /// Of Ints, Bools or addresses.
    IntEq,
    /// Of Ints, Bools or addresses.
    IntNe,
    /// Of Ints with signs.
    IntLt,
    /// Of Ints with signs.
    IntLe,
    /// Of Ints without signs: `0 ≤ a < b` for b that is not negative.
    Below,
    /// Of Reals.
    Eq,
    /// Of Reals.
    Ne,
    /// Of Reals.
    Lt,
    /// Of Reals.
    Le,
}

/// Operations with a test whether the result fits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Checked {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// `register = expr`
    Set(Reg, Expr),
    /// `result = a op b` modulo 2^64, and whether that is another number (`overflow`, a Bool).
    Checked {
        /// The operation.
        op: Checked,
        /// The result.
        result: Reg,
        /// Whether the result does not fit.
        overflow: Reg,
        /// An Int.
        a: Operand,
        /// An Int.
        b: Operand,
    },
    /// Puts a value of a type there.
    Store(LowTy, Address, Operand),
    /// By a Bool.
    If(Operand, Vec<Stmt>, Vec<Stmt>),
    /// By an Int: the arm of the value, else the default.
    Switch(Operand, Vec<(i64, Vec<Stmt>)>, Vec<Stmt>),
    /// Again and again, until a `Break` that belongs to it.
    Loop(Vec<Stmt>),
    /// Leaves the innermost `Loop`. It does not stand in a `For` within it.
    Break,
    /// For `index` from `from` to below `to`; the body does not set `index`.
    For(Box<For>),
    /// Calls a function; if it fails, this one does.
    Call {
        /// Where the results go.
        results: Vec<Reg>,
        /// The function.
        function: FunctionId,
        /// The arguments.
        args: Vec<Operand>,
        /// The place of the call.
        site: SiteId,
    },
    /// An operation of the runtime.
    Runtime {
        /// Where the results go.
        results: Vec<Reg>,
        /// The operation.
        op: Runtime,
        /// Its operands.
        args: Vec<Operand>,
    },
    /// Fails: leaves the function.
    Raise {
        /// Why.
        error: Raise,
        /// The operands that the error names.
        args: Vec<Operand>,
        /// Where.
        site: SiteId,
    },
    /// Leaves the function with these results.
    Return(Vec<Operand>),
}

/// A counted loop.
#[derive(Clone, PartialEq, Debug)]
pub struct For {
    /// The index.
    pub index: Reg,
    /// Its first value.
    pub from: Operand,
    /// Its end.
    pub to: Operand,
    /// A step.
    pub body: Vec<Stmt>,
    /// Whether the steps may be done in any order and at once: no step reads what another one writes in memory, and
    /// only the registers of `reductions` are carried.
    pub independent: bool,
    /// Whether the loop is a comprehension or sum, or adds to accumulators that no step reads: the steps may be done at
    /// once as far as they do not fail, touch only blocks that they make themselves, and add to others. `independent`
    /// says more.
    pub separate: bool,
    /// Registers that the steps combine in any order: each step sets it once, to itself combined with a value.
    pub reductions: Vec<(Reg, Reduction)>,
    /// An upper bound on the number of steps, whatever `to` is.
    pub most: i64,
    /// After how many steps it polls whether the run is to end, and fails if so ([`Raise::Stopped`]); 0 for a loop that
    /// does not. Those in between are not interrupted, so they can become vector instructions.
    pub every: i64,
    /// The place of the loop.
    pub site: SiteId,
}

/// Why a function fails. The comment gives the operands that the message names.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Raise {
    /// `a op b` (or `op a`) of Ints does not fit, divides by zero, shifts too far …: `prim::int::apply` gives
    /// the error. `(a, b)`
    Int(diffeo_calculus::prim::IntOp),
    /// `(x: Real)` has no Int.
    Round(Rounding),
    /// `(index, length)`
    Index,
    /// `(lo, hi, length)`
    Slice,
    /// A count that is negative, or too large. `(count)`
    Count,
    /// `(expected, found)`
    Size(Name),
    /// `(expected, found)`
    Rows,
    /// `(message: Text)`
    Fail,
    /// `(difference: Text)`
    Shape(Name),
    /// A derivative is nan. `()`
    Nan,
    /// A derivative of a higher order than was compiled. `()`
    Order,
    /// A constant needs its own value; the constant of this index in `LowModule::flat`. The others of the cycle
    /// are those whose initialisers are open. `()`
    Cycle(u32),
    /// Memory is used up. `()`
    Memory,
    /// The run is to end, or the stack is used up: the context knows which. `()`
    Stopped,
}

/// Operations of the runtime. The comment gives operands and results. `Block` is a `Ptr` to a block; blocks
/// are borrowed, and results owned, unless it says otherwise. Those that give a null block where memory is
/// used up are marked with `?`: a test and a `Raise` follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Runtime {
    /// `(layout) → Block?`: a box with a count of one; its fields are to be stored.
    Box,
    /// `(layout, bytes) → Block?`: an array or a text with a count of one and this many bytes of data,
    /// which are to be stored; there is room for no more.
    Array,
    /// The same, with zeros.
    Zeros,
    /// `(block)`: frees a block whose last reference is gone, and releases what it refers to, without
    /// recursion.
    Free,
    /// `(to: Ptr, from: Ptr, bytes)`: copies; they do not overlap.
    Copy,
    /// `(data: Ptr, count)`: adds a reference to each of so many blocks, some perhaps null.
    RetainAll,
    /// `(Block, Block) → Block?`: both texts, one after the other.
    AppendText,
    /// `(Block, Block) → Int`: -1, 0 or 1: the order of two texts.
    CompareText,
    /// `(Real) → Block?`
    ShowReal,
    /// `(Int) → Block?`
    ShowInt,
    /// `(Bool) → Block?`
    ShowBool,
    /// `(Block) → Block?`: with quotes and escapes.
    ShowText,
    /// See [`TextOp`]; a text is a `Block`, one that is given is a `Block?`.
    Text(TextOp),
    /// `(label: Block, value: Block)`: prints a line.
    Trace,
    /// `(label: Block, step: Int, value: Real)`
    Progress,
    /// `(code: Block, message: Block, help: Block, place: Int)`: warns, at a place of [`LowModule::flat`].
    Warn,
    /// `(data: Ptr, length, to: Ptr)`: the sorting permutation of Reals, as Ints.
    SortReals,
    /// The same of Ints.
    SortInts,
    /// The same of texts.
    SortTexts,
    /// `() → Bool`: whether the run is to end.
    Poll,
    /// `(Real, Int) → Real`: repeated multiplication, as the evaluator's `PowInt`.
    PowInt,
    /// `(layout) → Block?`: an empty stack of tuples. Its words after the header: how many tuples there are,
    /// how many have room, the address of the tuples (one after the other, a word for each component).
    StackNew,
    /// `(Block) → Bool`: makes room for one more tuple; false if memory is used up.
    StackGrow,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Runtime; 31] = [
        Runtime::Box,
        Runtime::Array,
        Runtime::Zeros,
        Runtime::Free,
        Runtime::Copy,
        Runtime::RetainAll,
        Runtime::AppendText,
        Runtime::CompareText,
        Runtime::ShowReal,
        Runtime::ShowInt,
        Runtime::ShowBool,
        Runtime::ShowText,
        Runtime::Text(TextOp::Size),
        Runtime::Text(TextOp::Byte),
        Runtime::Text(TextOp::Slice),
        Runtime::Text(TextOp::Find),
        Runtime::Text(TextOp::Character),
        Runtime::Text(TextOp::Lower),
        Runtime::Text(TextOp::Upper),
        Runtime::Text(TextOp::Digits),
        Runtime::Text(TextOp::Number),
        Runtime::Trace,
        Runtime::Progress,
        Runtime::Warn,
        Runtime::SortReals,
        Runtime::SortInts,
        Runtime::SortTexts,
        Runtime::Poll,
        Runtime::PowInt,
        Runtime::StackNew,
        Runtime::StackGrow,
    ];
}

impl Stmt {
    /// The lists of statements within this one; of a `Switch`, the default is last.
    pub fn blocks(&self) -> Vec<&[Stmt]> {
        match self {
            Stmt::If(_, then, otherwise) => vec![then, otherwise],
            Stmt::Switch(_, arms, default) => {
                arms.iter().map(|(_, arm)| arm.as_slice()).chain([default.as_slice()]).collect()
            }
            Stmt::Loop(body) => vec![body],
            Stmt::For(step) => vec![&step.body],
            Stmt::Set(..)
            | Stmt::Checked { .. }
            | Stmt::Store(..)
            | Stmt::Break
            | Stmt::Call { .. }
            | Stmt::Runtime { .. }
            | Stmt::Raise { .. }
            | Stmt::Return(_) => Vec::new(),
        }
    }

    /// The statements within this one, to be rewritten.
    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Stmt>> {
        match self {
            Stmt::If(_, then, otherwise) => vec![then, otherwise],
            Stmt::Switch(_, arms, default) => {
                arms.iter_mut().map(|(_, arm)| arm).chain([default]).collect()
            }
            Stmt::Loop(body) => vec![body],
            Stmt::For(step) => vec![&mut step.body],
            Stmt::Set(..)
            | Stmt::Checked { .. }
            | Stmt::Store(..)
            | Stmt::Break
            | Stmt::Call { .. }
            | Stmt::Runtime { .. }
            | Stmt::Raise { .. }
            | Stmt::Return(_) => Vec::new(),
        }
    }
}

/// Statements may be nested deeper than a thread's stack allows to drop them by recursion.
impl Drop for LowFunction {
    fn drop(&mut self) {
        let mut work = vec![std::mem::take(&mut self.body)];
        while let Some(stmts) = work.pop() {
            for stmt in stmts {
                if let Stmt::If(_, then, otherwise) = stmt {
                    work.extend([then, otherwise]);
                } else if let Stmt::Switch(_, arms, default) = stmt {
                    work.extend(arms.into_iter().map(|(_, body)| body));
                    work.push(default);
                } else if let Stmt::Loop(body) = stmt {
                    work.push(body);
                } else if let Stmt::For(repeat) = stmt {
                    work.push(repeat.body);
                }
            }
        }
    }
}
