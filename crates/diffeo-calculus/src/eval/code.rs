//! Register code: what a Core function compiles to and what the machine runs.
//!
//! A function has a frame of registers. Its parameter lies in the first ones: in one register, or spread
//! over several if the [`ParamShape`] says so. An instruction reads operands and writes a register; all operands
//! are read before anything is written, from left to right. An operand marked *take* is the last use of its
//! register: the value moves out, so that a value nothing else refers to can be changed in place.
//! What is not parameter or captured is written before it is read.

use crate::prim::{Comparison, DiffOp, IntOp, Prim, RealOp, SizePattern};
use crate::value::Value;
use diffeo_base::{Name, Span};
use std::rc::Rc;

/// How a parameter lies in registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ParamShape {
    /// In one register.
    One,
    /// A tuple whose components lie in registers of their own, one after the other.
    Split(Vec<ParamShape>),
}

impl ParamShape {
    /// How many registers it takes.
    pub fn registers(&self) -> usize {
        match self {
            ParamShape::One => 1,
            ParamShape::Split(shapes) => shapes.iter().map(ParamShape::registers).sum(),
        }
    }

    /// The number of components, if each of them lies in one register.
    pub fn flat(&self) -> Option<usize> {
        match self {
            ParamShape::One => None,
            ParamShape::Split(shapes) => {
                shapes.iter().all(|s| *s == ParamShape::One).then_some(shapes.len())
            }
        }
    }
}

/// Where an operand comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OperandSource {
    /// A register, which keeps its value.
    Copy(u32),
    /// A register, for the last time.
    Take(u32),
    /// A constant of the function.
    Constant(u32),
    /// A captured variable.
    Captured(u32),
    /// The function itself.
    Itself,
}

/// A [`OperandSource`] in 32 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedOperand(u32);

impl PackedOperand {
    const KIND: u32 = 3 << 30;
    const TAKE: u32 = 1 << 30;
    const CONSTANT: u32 = 2 << 30;
    const CAPTURED: u32 = 3 << 30;
    const INDEX: u32 = !PackedOperand::KIND;

    /// The function itself.
    pub const ITSELF: PackedOperand = PackedOperand(u32::MAX);

    /// A register, which keeps its value.
    pub fn copy(register: u32) -> PackedOperand {
        PackedOperand(register)
    }

    /// A register, for the last time.
    pub fn take(register: u32) -> PackedOperand {
        PackedOperand(register | PackedOperand::TAKE)
    }

    /// A constant of the function.
    pub fn constant(index: u32) -> PackedOperand {
        PackedOperand(index | PackedOperand::CONSTANT)
    }

    /// A captured variable.
    pub fn captured(index: u32) -> PackedOperand {
        PackedOperand(index | PackedOperand::CAPTURED)
    }

    /// Where it comes from.
    #[inline(always)]
    pub fn source(self) -> OperandSource {
        let index = self.0 & PackedOperand::INDEX;
        match self.0 & PackedOperand::KIND {
            0 => OperandSource::Copy(index),
            PackedOperand::TAKE => OperandSource::Take(index),
            PackedOperand::CONSTANT => OperandSource::Constant(index),
            PackedOperand::CAPTURED if self == PackedOperand::ITSELF => OperandSource::Itself,
            _ => OperandSource::Captured(index),
        }
    }

    /// The register that it is the last use of.
    #[inline(always)]
    pub fn taken(self) -> Option<u32> {
        (self.0 & PackedOperand::KIND == PackedOperand::TAKE)
            .then_some(self.0 & PackedOperand::INDEX)
    }
}

impl std::fmt::Debug for PackedOperand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.source() {
            OperandSource::Copy(r) => write!(f, "r{r}"),
            OperandSource::Take(r) => write!(f, "r{r}!"),
            OperandSource::Constant(k) => write!(f, "k{k}"),
            OperandSource::Captured(i) => write!(f, "c{i}"),
            OperandSource::Itself => f.write_str("self"),
        }
    }
}

/// A range of one of the tables of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct List {
    /// The first entry.
    pub start: u32,
    /// How many.
    pub len: u32,
}

impl List {
    /// As a range.
    #[inline(always)]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// Where a component of a value goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentTarget {
    /// The position of the component.
    pub index: u32,
    /// The register.
    pub register: u32,
}

/// An instruction. `to` is the register that is written; jumps hold the index of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instr {
    /// Copies or moves a value.
    Move { to: u32, from: PackedOperand },
    /// Gives back what a register holds.
    Drop { register: u32 },

    /// Addition of Reals.
    AddReal { to: u32, a: PackedOperand, b: PackedOperand },
    /// Subtraction of Reals.
    SubReal { to: u32, a: PackedOperand, b: PackedOperand },
    /// Multiplication of Reals.
    MulReal { to: u32, a: PackedOperand, b: PackedOperand },
    /// Division of Reals.
    DivReal { to: u32, a: PackedOperand, b: PackedOperand },
    /// Another operation on one Real.
    Real1 { op: RealOp, to: u32, a: PackedOperand },
    /// Another operation on two Reals.
    Real2 { op: RealOp, to: u32, a: PackedOperand, b: PackedOperand },
    /// Addition of Ints.
    AddInt { to: u32, a: PackedOperand, b: PackedOperand },
    /// Subtraction of Ints.
    SubInt { to: u32, a: PackedOperand, b: PackedOperand },
    /// An operation on one Int.
    Int1 { op: IntOp, to: u32, a: PackedOperand },
    /// Another operation on two Ints.
    Int2 { op: IntOp, to: u32, a: PackedOperand, b: PackedOperand },
    /// Comparison of Reals.
    CompareReal { comparison: Comparison, to: u32, a: PackedOperand, b: PackedOperand },
    /// Comparison of Ints.
    CompareInt { comparison: Comparison, to: u32, a: PackedOperand, b: PackedOperand },
    /// Negation.
    Not { to: u32, a: PackedOperand },
    /// An Int as a Real.
    ToReal { to: u32, a: PackedOperand },
    /// Any other operation: an entry of [`Code::prims`].
    Prim { prim: u32, to: u32, args: List },

    /// The length of an array.
    Length { to: u32, array: PackedOperand },
    /// An element.
    Index { to: u32, array: PackedOperand, index: PackedOperand },
    /// An array with an element replaced.
    Update { to: u32, array: PackedOperand, index: PackedOperand, value: PackedOperand },
    /// The sizes in a value, of which the leaves of the tree of [`Code::sizes`] are the first operands.
    Sizes { call: u32, args: List, targets: List },

    /// A tuple.
    Tuple { to: u32, args: List },
    /// A constructor with its fields.
    Construct { to: u32, tag: u32, args: List },
    /// An array literal.
    Array { to: u32, args: List },
    /// A component of a tuple. `steal`: it is the last use of this component, though not of the tuple.
    Project { to: u32, from: PackedOperand, index: u32, steal: bool },
    /// Components of a tuple or fields of a constructor.
    Unpack { from: PackedOperand, targets: List },
    /// A function value.
    Closure { to: u32, code: u32, captured: List },
    /// What the function captured, moved out if nothing else refers to the function.
    Open { targets: List },
    /// The value of a definition.
    Global { to: u32, global: u32 },
    /// A derivative term: an entry of [`Code::diffs`].
    Diff { diff: u32, to: u32, args: List },

    /// Goes on elsewhere.
    Jump { target: u32 },
    /// Goes on elsewhere unless the condition holds.
    JumpUnless { condition: PackedOperand, target: u32 },
    /// Goes on elsewhere if the condition holds.
    JumpIf { condition: PackedOperand, target: u32 },
    /// Goes on elsewhere unless the comparison holds.
    JumpUnlessReal { comparison: Comparison, a: PackedOperand, b: PackedOperand, target: u32 },
    /// Goes on elsewhere unless the comparison holds.
    JumpUnlessInt { comparison: Comparison, a: PackedOperand, b: PackedOperand, target: u32 },
    /// Goes on at the entry of [`Code::jumps`] for the constructor.
    Switch { on: PackedOperand, table: List },
    /// `index = 0`, `limit = count`; goes to `exit` if the count is below 1.
    CountStart { index: u32, limit: u32, count: PackedOperand, exit: u32 },
    /// `index += 1`; goes to `body` if that is below `limit`.
    CountNext { index: u32, limit: u32, body: u32 },
    /// As `CountStart`, with a new array under construction; a negative count is an error.
    BuildStart { index: u32, limit: u32, count: PackedOperand, exit: u32 },
    /// Adds an element to the array under construction.
    BuildPush { value: PackedOperand },
    /// The array that was under construction.
    BuildEnd { to: u32 },

    /// Calls a definition that is a function, with the arguments in its shape.
    CallGlobal { to: u32, global: u32, args: List },
    /// Calls the function itself, with the arguments in its shape.
    CallItself { to: u32, args: List },
    /// Calls a function value with one argument, or with the components of a tuple (`spread`).
    Call { to: u32, function: PackedOperand, args: List, spread: bool },
    /// As `CallGlobal`, in place of the present call.
    TailGlobal { global: u32, args: List },
    /// As `Call`, in place of the present call.
    Tail { function: PackedOperand, args: List, spread: bool },
    /// Ends the call.
    Return { value: PackedOperand },
}

/// The value that [`Instr::Sizes`] looks at: a tuple need not have been made.
#[derive(Clone, Debug)]
pub enum SizesTree {
    /// The operand at this position.
    Operand(u32),
    /// A tuple.
    Tuple(Vec<SizesTree>),
    /// Nothing looks at it.
    Nothing,
}

/// The fixed part of [`Instr::Sizes`].
#[derive(Clone, Debug)]
pub struct SizesCall {
    /// What is looked for.
    pub pattern: Rc<SizePattern>,
    /// Where the operands stand in the value; those after the last one are the given sizes.
    pub tree: SizesTree,
}

/// A compiled function.
#[derive(Debug)]
pub(crate) struct Code {
    /// For messages.
    pub name: Name,
    /// Its place among all codes.
    pub number: u32,
    /// How the argument lies in the first registers.
    pub shape: ParamShape,
    /// As [`ParamShape::flat`].
    pub flat: Option<usize>,
    /// As [`ParamShape::registers`].
    pub shape_registers: usize,
    /// How many registers a frame has, parameters included.
    pub registers: usize,
    /// The instructions.
    pub instrs: Vec<Instr>,
    /// The place of each instruction.
    pub spans: Vec<Span>,
    /// Whether it belongs to the standard library.
    pub library: bool,
    /// The constants.
    pub constants: Vec<Value>,
    /// The operands in lists.
    pub operands: Vec<PackedOperand>,
    /// The targets in lists.
    pub targets: Vec<ComponentTarget>,
    /// The tables of [`Instr::Switch`]; `u32::MAX` for a constructor that has no arm.
    pub jumps: Vec<u32>,
    /// The operations of [`Instr::Prim`].
    pub prims: Vec<Prim>,
    /// The operations of [`Instr::Diff`].
    pub diffs: Vec<DiffOp>,
    /// See [`Instr::Sizes`].
    pub sizes: Vec<SizesCall>,
}

impl Instr {
    /// Shows the operands and the lists of operands.
    pub fn each_operand(
        &mut self,
        pool: &mut [PackedOperand],
        see: &mut dyn FnMut(&mut PackedOperand),
    ) {
        let mut list = |list: &List, see: &mut dyn FnMut(&mut PackedOperand)| {
            pool[list.range()].iter_mut().for_each(see);
        };
        match self {
            Instr::Move { from: a, .. }
            | Instr::Real1 { a, .. }
            | Instr::Int1 { a, .. }
            | Instr::Not { a, .. }
            | Instr::ToReal { a, .. }
            | Instr::Length { array: a, .. }
            | Instr::Project { from: a, .. }
            | Instr::Unpack { from: a, .. }
            | Instr::JumpUnless { condition: a, .. }
            | Instr::JumpIf { condition: a, .. }
            | Instr::Switch { on: a, .. }
            | Instr::CountStart { count: a, .. }
            | Instr::BuildStart { count: a, .. }
            | Instr::BuildPush { value: a }
            | Instr::Return { value: a } => see(a),
            Instr::AddReal { a, b, .. }
            | Instr::SubReal { a, b, .. }
            | Instr::MulReal { a, b, .. }
            | Instr::DivReal { a, b, .. }
            | Instr::Real2 { a, b, .. }
            | Instr::AddInt { a, b, .. }
            | Instr::SubInt { a, b, .. }
            | Instr::Int2 { a, b, .. }
            | Instr::CompareReal { a, b, .. }
            | Instr::CompareInt { a, b, .. }
            | Instr::JumpUnlessReal { a, b, .. }
            | Instr::JumpUnlessInt { a, b, .. }
            | Instr::Index { array: a, index: b, .. } => {
                see(a);
                see(b);
            }
            Instr::Update { array, index, value, .. } => {
                see(array);
                see(index);
                see(value);
            }
            Instr::Prim { args, .. }
            | Instr::Sizes { args, .. }
            | Instr::Tuple { args, .. }
            | Instr::Construct { args, .. }
            | Instr::Array { args, .. }
            | Instr::Closure { captured: args, .. }
            | Instr::Diff { args, .. }
            | Instr::CallGlobal { args, .. }
            | Instr::CallItself { args, .. }
            | Instr::TailGlobal { args, .. } => list(args, see),
            Instr::Call { function, args, .. } | Instr::Tail { function, args, .. } => {
                see(function);
                list(args, see);
            }
            Instr::Drop { .. }
            | Instr::Open { .. }
            | Instr::Global { .. }
            | Instr::Jump { .. }
            | Instr::CountNext { .. }
            | Instr::BuildEnd { .. } => {}
        }
    }

    /// Shows the registers that it writes for the first time.
    pub fn each_target(&mut self, pool: &mut [ComponentTarget], see: &mut dyn FnMut(&mut u32)) {
        match self {
            Instr::Move { to, .. }
            | Instr::AddReal { to, .. }
            | Instr::SubReal { to, .. }
            | Instr::MulReal { to, .. }
            | Instr::DivReal { to, .. }
            | Instr::Real1 { to, .. }
            | Instr::Real2 { to, .. }
            | Instr::AddInt { to, .. }
            | Instr::SubInt { to, .. }
            | Instr::Int1 { to, .. }
            | Instr::Int2 { to, .. }
            | Instr::CompareReal { to, .. }
            | Instr::CompareInt { to, .. }
            | Instr::Not { to, .. }
            | Instr::ToReal { to, .. }
            | Instr::Prim { to, .. }
            | Instr::Length { to, .. }
            | Instr::Index { to, .. }
            | Instr::Update { to, .. }
            | Instr::Tuple { to, .. }
            | Instr::Construct { to, .. }
            | Instr::Array { to, .. }
            | Instr::Project { to, .. }
            | Instr::Closure { to, .. }
            | Instr::Global { to, .. }
            | Instr::Diff { to, .. }
            | Instr::BuildEnd { to }
            | Instr::CallGlobal { to, .. }
            | Instr::CallItself { to, .. }
            | Instr::Call { to, .. } => see(to),
            Instr::CountStart { index, limit, .. } | Instr::BuildStart { index, limit, .. } => {
                see(index);
                see(limit);
            }
            Instr::Sizes { targets, .. }
            | Instr::Unpack { targets, .. }
            | Instr::Open { targets } => {
                pool[targets.range()].iter_mut().for_each(|t| see(&mut t.register));
            }
            Instr::Drop { .. }
            | Instr::Jump { .. }
            | Instr::JumpUnless { .. }
            | Instr::JumpIf { .. }
            | Instr::JumpUnlessReal { .. }
            | Instr::JumpUnlessInt { .. }
            | Instr::Switch { .. }
            | Instr::CountNext { .. }
            | Instr::BuildPush { .. }
            | Instr::TailGlobal { .. }
            | Instr::Tail { .. }
            | Instr::Return { .. } => {}
        }
    }

    /// Where it may go on other than at the next instruction ([`Instr::Switch`] aside).
    pub fn jump(&mut self) -> Option<&mut u32> {
        match self {
            Instr::Jump { target }
            | Instr::JumpUnless { target, .. }
            | Instr::JumpIf { target, .. }
            | Instr::JumpUnlessReal { target, .. }
            | Instr::JumpUnlessInt { target, .. }
            | Instr::CountStart { exit: target, .. }
            | Instr::CountNext { body: target, .. }
            | Instr::BuildStart { exit: target, .. } => Some(target),
            Instr::Move { .. }
            | Instr::Drop { .. }
            | Instr::AddReal { .. }
            | Instr::SubReal { .. }
            | Instr::MulReal { .. }
            | Instr::DivReal { .. }
            | Instr::Real1 { .. }
            | Instr::Real2 { .. }
            | Instr::AddInt { .. }
            | Instr::SubInt { .. }
            | Instr::Int1 { .. }
            | Instr::Int2 { .. }
            | Instr::CompareReal { .. }
            | Instr::CompareInt { .. }
            | Instr::Not { .. }
            | Instr::ToReal { .. }
            | Instr::Prim { .. }
            | Instr::Length { .. }
            | Instr::Index { .. }
            | Instr::Update { .. }
            | Instr::Sizes { .. }
            | Instr::Tuple { .. }
            | Instr::Construct { .. }
            | Instr::Array { .. }
            | Instr::Project { .. }
            | Instr::Unpack { .. }
            | Instr::Closure { .. }
            | Instr::Open { .. }
            | Instr::Global { .. }
            | Instr::Diff { .. }
            | Instr::Switch { .. }
            | Instr::BuildPush { .. }
            | Instr::BuildEnd { .. }
            | Instr::CallGlobal { .. }
            | Instr::CallItself { .. }
            | Instr::Call { .. }
            | Instr::TailGlobal { .. }
            | Instr::Tail { .. }
            | Instr::Return { .. } => None,
        }
    }
}
