//! The terms of Flat: functions of blocks of statements.
//!
//! Flat is first-order and monomorphic. A function takes and gives any number of values; tuples are several
//! values, an array of tuples is several arrays, a variant that does not contain itself is a tag and the
//! fields of its alternatives. What is left of structure are *boxes*: recursive types, function values that
//! are stored, large tuples. Blocks are in A-normal form: every operand is an [`Atom`].
//!
//! What always holds (checked by `lint`):
//! - a variable is defined once in its function, and before it is used; a region (a [`Block`]) sees what
//!   is defined before the statement that it belongs to;
//! - the operands and results of a statement have the types that [`Op`] gives below;
//! - an access ([`Op::Get`], [`Op::Slice`], [`Op::Update`] …) is never out of bounds: a [`Op::Check`] stands
//!   before it, or it was proved;
//! - arrays are regular; the length of rows that nothing has determined is -1, in an array without rows;
//! - accumulators and stacks are passed by reference, never stored in boxes or arrays, and not given as the
//!   result of a branch or a loop unless they came in as its parameter at the same position.
//!
//! Effects ([`ops::Effect`]) are what can stop the program and what prints; they happen in the order of the
//! statements, and no pass drops, repeats or reorders them unless it has proved that they do not happen.

use diffeo_base::deep;
use diffeo_base::{FileId, Name, Span};
use diffeo_calculus::prim::{Comparison, IntOp, RealOp, Rounding, TextOp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use walk::regions_mut;

pub mod ops;
pub mod walk;

/// A whole program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Module {
    /// The functions.
    pub functions: Vec<Function>,
    /// The types of boxes.
    pub boxes: Vec<BoxType>,
    /// The constants.
    pub constants: Vec<Constant>,
    /// The places of statements.
    pub sites: Vec<Site>,
    /// What the program is called with.
    pub entry: FunctionId,
    /// The files of the standard library: what happens in them is reported at the call that led there.
    pub library: Vec<FileId>,
}

impl Drop for Module {
    /// Blocks are nested as the program is, which may be deeper than the stack: they are taken apart one by one.
    fn drop(&mut self) {
        let mut pending: Vec<Block> = self.functions.drain(..).map(|f| f.body).collect();
        while let Some(mut block) = pending.pop() {
            for stmt in &mut block.stmts {
                regions_mut(&mut stmt.op, |region| pending.push(std::mem::take(region)));
            }
        }
    }
}

/// The index of a function in [`Module::functions`].
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct FunctionId(pub u32);

/// The index of a type in [`Module::boxes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct BoxId(pub u32);

/// The index of a constant in [`Module::constants`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ConstantId(pub u32);

/// The index of a place in [`Module::sites`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SiteId(pub u32);

/// A variable: an index into [`Function::vars`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Var(pub u32);

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum FlatTy {
    /// `f64`.
    Real,
    /// `i64`.
    Int,
    /// Truth values.
    Bool,
    /// A text: immutable, shared.
    Text,
    /// A dense array in row-major order of this rank, at least 1. A view of rows is an array, too.
    Array(Elem, u8),
    /// A reference to a box: immutable, shared.
    Box(BoxId),
    /// An accumulator of Reals of this rank (0: a single number): mutable, by reference. For derivatives.
    Acc(u8),
    /// A stack of tuples of these types (of rank 0), written forward and read by position. For derivatives.
    Stack(Box<[Elem]>),
}

/// The type of what arrays and stacks hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Elem {
    /// `f64`.
    Real,
    /// `i64`.
    Int,
    /// Truth values. Arrays of `()` are arrays of these.
    Bool,
    /// Texts.
    Text,
    /// Boxes.
    Box(BoxId),
}

/// A type of boxes: a sum of products, perhaps recursive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoxType {
    /// Its name, for people.
    pub name: Name,
    /// The alternatives by tag, each with the types of its fields.
    pub variants: Vec<Variant>,
}

/// An alternative of a [`BoxType`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name, for people.
    pub name: Name,
    /// The types of its fields.
    pub fields: Vec<FlatTy>,
}

/// A value that is computed once, when it is first needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    /// The name of the definition.
    pub name: Name,
    /// Computes it: no parameters; its results are the value.
    pub init: FunctionId,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Its name: unique in the module; the source name where there is one.
    pub name: Name,
    /// The name that messages call it by: that of the definition, `fn` for a function without name. Empty: it
    /// is no function of the program, and messages leave it out.
    pub shown: Name,
    /// Whether it was written in the standard library.
    pub library: bool,
    /// Where its name is defined.
    pub span: Span,
    /// Its variables.
    pub vars: Vec<VarInfo>,
    /// Its parameters.
    pub params: Vec<Var>,
    /// The types of its results.
    pub results: Vec<FlatTy>,
    /// What it does.
    pub body: Block,
}

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VarInfo {
    /// Its type.
    pub ty: FlatTy,
    /// Its name in the source, if it has one.
    pub name: Option<Name>,
}

/// A place in the source, for messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Site {
    /// The expression.
    pub span: Span,
    /// The call that stood there before it was replaced by the body of its function.
    pub inlined: Option<Inlined>,
}

/// A call that was replaced by the body of the function called.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Inlined {
    /// [`Function::shown`] of the function called.
    pub function: Name,
    /// [`Function::library`] of it.
    pub library: bool,
    /// The place of the call.
    pub at: SiteId,
}

/// Statements, and the values that they leave.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Block {
    /// The statements, in order.
    pub stmts: Vec<Stmt>,
    /// The results.
    pub results: Vec<Atom>,
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        deep(|| (&self.stmts, &self.results).serialize(to))
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Block, D::Error> {
        let (stmts, results) = deep(|| Deserialize::deserialize(from))?;
        Ok(Block { stmts, results })
    }
}

/// `results = op`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stmt {
    /// What it defines.
    pub results: Vec<Var>,
    /// What it does.
    pub op: Op,
    /// Where it comes from.
    pub site: SiteId,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Atom {
    /// A variable.
    Var(Var),
    /// A Real.
    Real(f64),
    /// An Int.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A value of this type that nothing looks at, such as an Int in a field of another alternative. A Real there is 0,
    /// because derivatives are taken by all fields.
    Unused(FlatTy),
}

impl Atom {
    /// The Real, if it is known and whole.
    pub fn whole(&self) -> Option<f64> {
        match self {
            Atom::Real(x) if x.fract() == 0.0 => Some(*x),
            Atom::Real(_) | Atom::Var(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => None,
        }
    }
}

/// A variable of a loop: what it is before the first step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// The variable, in scope of the body.
    pub param: Var,
    /// Its first value.
    pub init: Atom,
}

/// How a [`Op::Reduce`] combines.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Reduction {
    /// The sum of Reals, in any order and grouping; 0 of none.
    Add,
    /// The largest Real, by [`RealOp::Max`]; -∞ of none.
    Max,
    /// The smallest Real, by [`RealOp::Min`]; ∞ of none.
    Min,
}

/// What is compared by [`Op::Compare`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Scalar {
    /// Reals, as IEEE compares: nan is unequal to everything.
    Real,
    /// Ints.
    Int,
    /// Truth values; equality only.
    Bool,
    /// Texts, by their characters.
    Text,
}

/// What an operation is. The comment gives operands and results; `[T]` stands for any number of them.
/// Indices count from 0; sizes are Ints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    // Scalars
    /// `Real… → Real`
    Real(RealOp, Vec<Atom>),
    /// `(Real, Int) → Real`: repeated multiplication.
    PowInt(Atom, Atom),
    /// `Int… → Int`: on overflow and the like it fails, as `prim::int` says.
    Int(IntOp, Vec<Atom>),
    /// `Int… → Int`, where it was proved that it does not fail. Addition, subtraction, multiplication and
    /// negation may be computed where they were not proved, if nothing looks at the result: they wrap.
    IntFits(IntOp, Vec<Atom>),
    /// `(T, T) → Bool`
    Compare(Comparison, Scalar, Atom, Atom),
    /// `Bool → Bool`
    Not(Atom),
    /// `(Bool, Bool) → Bool`: both are evaluated.
    And(Atom, Atom),
    /// `(Bool, Bool) → Bool`: both are evaluated.
    Or(Atom, Atom),
    /// `(Bool, T, T) → T` of a scalar type: the second if the first holds, else the third.
    Select(Atom, Atom, Atom),
    /// `Int → Real`
    ToReal(Atom),
    /// `Real → Int`; fails where there is no Int.
    Round(Rounding, Atom),
    /// `Real → Int`, where it was proved that there is one. It may be computed where it was not proved, if nothing
    /// looks at the result: then it is 0.
    RoundFits(Rounding, Atom),
    /// `Real → Bool`
    IsNan(Atom),

    // Texts
    /// `() → Text`
    Text(Name),
    /// `(Text, Text) → Text`
    AppendText(Atom, Atom),
    /// See [`TextOp`].
    TextOp(TextOp, Vec<Atom>),
    /// `T → Text` of a scalar, as Diffeo writes the value (a text with its quotes).
    Show(Scalar, Atom),

    // Effects
    /// Nothing, if the condition of the check holds; else the program stops. No results.
    Check(Check),
    /// The program stops. Results of any types, which nothing ever sees.
    Stop(Stop),
    /// `(Text, Text) →`: prints a line `label: value` on standard error.
    Trace(Atom, Atom),
    /// `(Text, Int, Real) →`: tells how far a long computation is.
    Progress(Atom, Atom, Atom),
    /// `(Text, Text, Text, Int) →`: warns, with a code, a message and a help, at the place in [`Module::sites`]; until
    /// [`places`](crate::places) has found it, the Int is -1.
    Warn(Atom, Atom, Atom, Atom),

    // Arrays
    /// The size of an array in a dimension: `Array(_, r) → Int`. -1 if nothing determines it.
    Dim(Atom, u8),
    /// The element at as many indices as the rank (`→ elem`); with fewer, the rows there, a view.
    Get(Atom, Vec<Atom>),
    /// The elements (rows) from `lo` to below `hi`: a view.
    Slice {
        /// The array.
        array: Atom,
        /// The first.
        lo: Atom,
        /// One past the last.
        hi: Atom,
    },
    /// The array with the element (or, with fewer indices than its rank, the rows) there replaced: in place
    /// where nothing else refers to it. Rows have the sizes of those that they replace.
    Update {
        /// The array.
        array: Atom,
        /// Where.
        indices: Vec<Atom>,
        /// The new element.
        value: Atom,
    },
    /// An array of rank 1 of these elements.
    Elements(Elem, Vec<Atom>),
    /// The arrays, at least one, as rows of an array of a rank more. Their sizes are equal.
    Rows(Vec<Atom>),
    /// The array of the type that has no elements; the sizes of rows are not determined.
    Empty(Elem, u8),
    /// Both arrays, one after the other. The sizes of rows are equal, or -1 in the one without rows.
    Append(Atom, Atom),
    /// The elements of the array, in order, as an array of these sizes (one for each dimension), which has
    /// as many elements. A view.
    Reshape(Atom, Vec<Atom>),
    /// The stable sorting permutation of an array of rank 1 of Reals, Ints or Texts (Ints); nan last.
    ArgSort(Atom),

    // Boxes
    /// A new box with the tag and its fields.
    New(BoxId, u32, Vec<Atom>),
    /// The tag of a box: an Int.
    Tag(Atom),
    /// A field of a box that has this tag.
    Field {
        /// The box.
        object: Atom,
        /// Its tag.
        tag: u32,
        /// Which field.
        index: u32,
    },

    // Control
    /// The block that the condition chooses.
    If {
        /// A truth value.
        cond: Atom,
        /// If it holds.
        then: Block,
        /// If it does not.
        otherwise: Block,
    },
    /// The arm of the value, else the default, which is left out only where the arms cover the values.
    Switch {
        /// An Int.
        on: Atom,
        /// Blocks by rising value.
        arms: Vec<(i64, Block)>,
        /// The other values.
        default: Option<Block>,
    },
    /// For each `index` from 0 to below `count` in order: the carried variables become the results of the
    /// body. The results are their last values. No step if `count` is below 1.
    For {
        /// How many steps.
        count: Atom,
        /// The index, an Int.
        index: Var,
        /// What is carried.
        carried: Vec<Carried>,
        /// A step.
        body: Block,
    },
    /// As long as `cond` (with one result, a Bool; it sees the carried variables) holds: as [`Op::For`].
    While {
        /// What is carried.
        carried: Vec<Carried>,
        /// Whether to go on.
        cond: Block,
        /// A step.
        body: Block,
    },
    /// For each `index` from 0 to below `count`, an element of each result, from the results of the body:
    /// arrays of one rank more. The steps do not depend on each other; of several failures that of the
    /// lowest index counts. Rows of different sizes stop the program ([`Check::Rows`], of the first that
    /// differs, after its step). `count` is not negative.
    Build {
        /// How many elements.
        count: Atom,
        /// The index, an Int.
        index: Var,
        /// An element.
        body: Block,
    },
    /// For each `index` from 0 to below `count`, the results of the body, Reals, combined each in its way.
    Reduce {
        /// One for each result.
        how: Vec<Reduction>,
        /// How many.
        count: Atom,
        /// The index, an Int.
        index: Var,
        /// What is combined.
        body: Block,
    },
    /// The results of the function.
    Call(FunctionId, Vec<Atom>),
    /// The value of a constant, computed now if it has not been; fails if it is being computed.
    Constant(ConstantId),

    // Derivatives
    /// A new accumulator of these sizes (none: a single number), of zeros.
    AccNew(Vec<Atom>),
    /// `(Acc, Int…, Real) →`: adds at as many indices as the rank.
    AccAdd(Atom, Vec<Atom>, Atom),
    /// `(Acc, Array(Real)) →`: adds an array of the sizes of the accumulator.
    AccAddArray(Atom, Atom),
    /// `(Acc, Int…) → Real`
    AccRead(Atom, Vec<Atom>),
    /// `(Acc, Int…) → Real`, and puts 0 there.
    AccTake(Atom, Vec<Atom>),
    /// `(Acc, Int…) → Acc`: the accumulator of the rows there; of none, all of it.
    AccView(Atom, Vec<Atom>),
    /// The accumulator of the elements from `lo` to below `hi`.
    AccSlice {
        /// The accumulator.
        acc: Atom,
        /// The first.
        lo: Atom,
        /// One past the last.
        hi: Atom,
    },
    /// The accumulator with other sizes, as many elements: a view.
    AccReshape(Atom, Vec<Atom>),
    /// `Acc → Array(Real)` (a Real, of rank 0): what has been added up: a copy, or the memory of the accumulator itself
    /// if nothing else refers to it.
    AccGet(Atom),
    /// A new, empty stack of tuples of these types.
    StackNew(Box<[Elem]>),
    /// `(Stack, T…) →`: puts a tuple on top.
    Push(Atom, Vec<Atom>),
    /// `Stack → Int`: how many tuples there are.
    StackLen(Atom),
    /// `(Stack, Int) → T…`: the tuple at a position, counted from the bottom.
    StackGet(Atom, Atom),
}

/// A check: what has to hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Check {
    /// `0 ≤ index < length`
    Index {
        /// The index.
        index: Atom,
        /// The length.
        length: Atom,
    },
    /// `0 ≤ lo ≤ hi ≤ length`
    Slice {
        /// The first.
        lo: Atom,
        /// One past the last.
        hi: Atom,
        /// The length.
        length: Atom,
    },
    /// `0 ≤ count`, and not beyond any memory: of the elements of a comprehension.
    Count(Atom),
    /// `expected = found`, of sizes; `what` has them.
    Size {
        /// The operation, or the name of a size.
        what: Name,
        /// The size wanted.
        expected: Atom,
        /// The size found.
        found: Atom,
    },
    /// `expected = found`, of the sizes of rows of one array, which are regular; -1 fits everything.
    Rows {
        /// The size of the rows so far.
        expected: Atom,
        /// That of another one.
        found: Atom,
    },
}

/// Why a program stops itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Stop {
    /// `fail` with this message, a Text.
    Fail(Atom),
    /// The values of an operation have different shapes.
    Shape {
        /// The operation.
        what: Name,
        /// What differs, a Text.
        difference: Atom,
    },
    /// A derivative is nan. What knows more of each number takes over.
    Nan,
    /// A derivative of a higher order than was compiled. What needs no code for each order takes over.
    Order,
    /// The residuals of a loop would take more memory than they may. Whoever runs the program compiles it with checkpoints.
    Room,
}
