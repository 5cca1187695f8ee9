//! The table of operations: a row for each says how it is written, which operands it takes, its effect, its cost and
//! what becomes of references. Walks, printer, parser, lint, passes and the lowering to Low read it; they match
//! on operations only where those differ.

use super::{Atom, Check, FlatTy, Op, Stop};

/// A row of the table: static properties of an operation.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// Its word in the text of Flat, or what stands before the point; `print.rs` has the exceptions.
    pub word: &'static str,
    /// What it works on.
    pub group: Group,
    /// Its effect, without those of regions, functions and constants.
    pub effect: Effect,
    /// What it costs to compute it speculatively, in additions; `None` where a check or branch guards it, where it costs
    /// memory, or where `speculative_cost` of `opt/effects.rs` looks at the operands.
    pub cost: Option<u32>,
    /// Whether its results are the only references to new blocks of memory.
    pub fresh: bool,
    /// The type of its result.
    pub output: Output,
}

/// What an operation works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// Numbers and truth values.
    Scalar,
    /// Texts.
    Text,
    /// What stops the program or prints.
    Effect,
    /// Arrays.
    Array,
    /// Boxes.
    Box,
    /// It has regions.
    Control,
    /// Functions and constants.
    Call,
    /// Accumulators of derivatives.
    Accumulator,
    /// Stacks of derivatives.
    Stack,
}

/// The type of the result of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// There is none.
    None,
    /// A Real.
    Real,
    /// An Int.
    Int,
    /// A truth value.
    Bool,
    /// A text.
    Text,
    /// By a rule of [`typing`](crate::typing).
    Rule,
}

/// The type of an operand, and what becomes of a reference to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandKind {
    /// A Real.
    Real,
    /// An Int.
    Int,
    /// A truth value.
    Bool,
    /// A text, which is borrowed.
    Text,
    /// A value of a type that [`typing`](crate::typing) checks. It is borrowed; accumulators and stacks may be changed
    /// through it. What functions borrow, the lowering to Low infers.
    Read,
    /// The same; it is consumed: changed in place if nothing else refers to it, else copied.
    Change,
    /// The same; it is consumed.
    Keep,
}

impl OperandKind {
    /// Its type, where the table has it.
    pub fn ty(self) -> Option<FlatTy> {
        match self {
            OperandKind::Real => Some(FlatTy::Real),
            OperandKind::Int => Some(FlatTy::Int),
            OperandKind::Bool => Some(FlatTy::Bool),
            OperandKind::Text => Some(FlatTy::Text),
            OperandKind::Read | OperandKind::Change | OperandKind::Keep => None,
        }
    }
}

/// What a statement does besides giving results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effect {
    /// It may stop the program, or never end.
    pub stops: bool,
    /// It prints.
    pub prints: bool,
    /// It reads or writes mutable state: accumulators and stacks.
    pub state: bool,
}

impl Effect {
    /// Nothing.
    pub const NONE: Effect = Effect { stops: false, prints: false, state: false };
    /// It may stop the program.
    pub const STOPS: Effect = Effect { stops: true, ..Effect::NONE };
    /// It prints.
    pub const PRINTS: Effect = Effect { prints: true, ..Effect::NONE };
    /// It reads or writes mutable state.
    pub const STATE: Effect = Effect { state: true, ..Effect::NONE };

    /// The union of two effects.
    pub fn and(self, other: Effect) -> Effect {
        Effect {
            stops: self.stops || other.stops,
            prints: self.prints || other.prints,
            state: self.state || other.state,
        }
    }

    /// Whether there is any effect.
    pub fn any(self) -> bool {
        self != Effect::NONE
    }

    /// Whether equal statements with this effect give equal results, so that the first of two is enough.
    pub fn repeatable(self) -> bool {
        !self.prints && !self.state
    }
}

impl OpInfo {
    const fn new(word: &'static str, group: Group, output: Output) -> OpInfo {
        OpInfo { word, group, effect: Effect::NONE, cost: None, fresh: false, output }
    }

    const fn scalar(word: &'static str, output: Output) -> OpInfo {
        OpInfo::new(word, Group::Scalar, output)
    }

    const fn text(word: &'static str, output: Output) -> OpInfo {
        OpInfo::new(word, Group::Text, output)
    }

    const fn stops(word: &'static str) -> OpInfo {
        OpInfo::new(word, Group::Effect, Output::None).effect(Effect::STOPS)
    }

    const fn prints(word: &'static str) -> OpInfo {
        OpInfo::new(word, Group::Effect, Output::None).effect(Effect::PRINTS)
    }

    const fn array(word: &'static str) -> OpInfo {
        OpInfo::new(word, Group::Array, Output::Rule)
    }

    const fn control(word: &'static str) -> OpInfo {
        OpInfo::new(word, Group::Control, Output::Rule)
    }

    const fn accumulator(word: &'static str) -> OpInfo {
        OpInfo::new(word, Group::Accumulator, Output::Rule)
    }

    const fn adds(word: &'static str) -> OpInfo {
        OpInfo { output: Output::None, ..OpInfo::accumulator(word).effect(Effect::STATE) }
    }

    const fn effect(self, effect: Effect) -> OpInfo {
        OpInfo { effect, ..self }
    }

    const fn cost(self, cost: u32) -> OpInfo {
        OpInfo { cost: Some(cost), ..self }
    }

    const fn fresh(self) -> OpInfo {
        OpInfo { fresh: true, ..self }
    }
}

/// Gives each operand to a function, with its name and its [`OperandKind`]. `[&]` or `[&mut]` is how operations are
/// held.
macro_rules! visit {
    ($how:tt, $each:ident, $name:ident: Reals) => { visit!(@all $each, $name, OperandKind::Real) };
    ($how:tt, $each:ident, $name:ident: Ints) => { visit!(@all $each, $name, OperandKind::Int) };
    ($how:tt, $each:ident, $name:ident: ReadAll) => { visit!(@all $each, $name, OperandKind::Read) };
    ($how:tt, $each:ident, $name:ident: KeepAll) => { visit!(@all $each, $name, OperandKind::Keep) };
    ([$($how:tt)*], $each:ident, $name:ident: Carried) => {
        for carried in $name {
            $each(stringify!($name), OperandKind::Keep, $($how)* carried.init);
        }
    };
    ($how:tt, $each:ident, $name:ident: $operand:ident) => {
        $each(stringify!($name), OperandKind::$operand, $name)
    };
    (@all $each:ident, $name:ident, $operand:expr) => {
        for atom in $name {
            $each(stringify!($name), $operand, atom);
        }
    };
}

/// The pattern of operands in a list of atoms.
macro_rules! listed {
    ($name:ident: Reals) => { $name @ .. };
    ($name:ident: Ints) => { $name @ .. };
    ($name:ident: ReadAll) => { $name @ .. };
    ($name:ident: KeepAll) => { $name @ .. };
    ($name:ident: $operand:ident) => { $name };
}

/// Makes [`row`], [`named_operands`], [`operands_mut`] and [`read`] of the rows. `plain` rows are word and operands;
/// `other` rows have attributes, or regions, which `print.rs` and `parse/ops.rs` know.
macro_rules! operations {
    (
        plain { $([$($name:ident: $operand:ident),*] $plain:tt = $row:expr;)* }
        other { $([$($other_name:ident: $other_operand:ident),*] $other:tt = $other_row:expr;)* }
    ) => {
        /// The row of an operation.
        #[allow(unused_variables)]
        pub fn row(op: &Op) -> OpInfo {
            match op {
                $(form!($plain) => const { $row },)*
                $(form!($other) => const { $other_row },)*
            }
        }

        /// The operands of an operation with their names, without those within its regions.
        pub fn named_operands(op: &Op, mut each: impl FnMut(&'static str, OperandKind, &Atom)) {
            match op {
                $(form!($plain) => { $(visit!([&], each, $name: $operand);)* })*
                $(form!($other) => { $(visit!([&], each, $other_name: $other_operand);)* })*
            }
        }

        /// The operands of an operation, to be changed, without those within its regions.
        pub fn operands_mut(op: &mut Op, mut change: impl FnMut(&mut Atom)) {
            let mut each = |_: &str, _: OperandKind, atom: &mut Atom| change(atom);
            match op {
                $(form!($plain) => { $(visit!([&mut], each, $name: $operand);)* })*
                $(form!($other) => { $(visit!([&mut], each, $other_name: $other_operand);)* })*
            }
        }

        /// The plain operation with this word and these operands; else, if there is such a word, what it takes.
#[allow(clippy::redundant_at_rest_pattern)]
                pub(crate) fn read(word: &str, atoms: &[Atom]) -> Result<Op, Option<String>> {
            $(if word == const { $row.word } {
                return match atoms {
                    [$(listed!($name: $operand)),*] => {
                        $(let $name = $name.to_owned();)*
                        Ok(form!($plain))
                    }
                    #[allow(unreachable_patterns)]
                    _ => {
                        let names: &[&str] = &[$(stringify!($name)),*];
                        Err(Some(names.join(", ")))
                    },
                };
            })*
            Err(None)
        }
    };
}

macro_rules! form {
    ({ $($tokens:tt)* }) => { $($tokens)* };
}

operations! {
    plain {
        [x: Real, n: Int] { Op::PowInt(x, n) } = OpInfo::scalar("pow_int", Output::Real);
        [a: Bool] { Op::Not(a) } = OpInfo::scalar("not", Output::Bool).cost(1);
        [a: Bool, b: Bool] { Op::And(a, b) } = OpInfo::scalar("and", Output::Bool).cost(1);
        [a: Bool, b: Bool] { Op::Or(a, b) } = OpInfo::scalar("or", Output::Bool).cost(1);
        [cond: Bool, a: Read, b: Read] { Op::Select(cond, a, b) }
            = OpInfo::scalar("select", Output::Rule).cost(1);
        [n: Int] { Op::ToReal(n) } = OpInfo::scalar("to_real", Output::Real).cost(1);
        [x: Real] { Op::IsNan(x) } = OpInfo::scalar("is_nan", Output::Bool).cost(1);

        [a: Text, b: Text] { Op::AppendText(a, b) } = OpInfo::text("append_text", Output::Text);

        [index: Int, length: Int] { Op::Check(Check::Index { index, length }) }
            = OpInfo::stops("check_index");
        [lo: Int, hi: Int, length: Int] { Op::Check(Check::Slice { lo, hi, length }) }
            = OpInfo::stops("check_slice");
        [count: Int] { Op::Check(Check::Count(count)) } = OpInfo::stops("check_count");
        [expected: Int, found: Int] { Op::Check(Check::Rows { expected, found }) }
            = OpInfo::stops("check_rows");
        [message: Text] { Op::Stop(Stop::Fail(message)) } = OpInfo::stops("fail");
        [] { Op::Stop(Stop::Nan) } = OpInfo::stops("fail_nan");
        [] { Op::Stop(Stop::Order) } = OpInfo::stops("fail_order");
        [] { Op::Stop(Stop::Room) } = OpInfo::stops("fail_room");
        [label: Text, value: Text] { Op::Trace(label, value) } = OpInfo::prints("trace");
        [label: Text, step: Int, value: Real] { Op::Progress(label, step, value) }
            = OpInfo::prints("progress");
        [code: Text, message: Text, help: Text, place: Int] { Op::Warn(code, message, help, place) }
            = OpInfo::prints("warn");

        [array: Read, indices: Ints] { Op::Get(array, indices) } = OpInfo::array("get");
        [array: Read, lo: Int, hi: Int] { Op::Slice { array, lo, hi } } = OpInfo::array("slice");
        // `uses` of the lowering to Low reads rows, which are copied.
        [array: Change, indices: Ints, value: Keep] { Op::Update { array, indices, value } }
            = OpInfo::array("update").fresh();
        [rows: ReadAll] { Op::Rows(rows) } = OpInfo::array("rows").fresh();
        [a: Change, b: Read] { Op::Append(a, b) } = OpInfo::array("append").fresh();
        [array: Read, sizes: Ints] { Op::Reshape(array, sizes) } = OpInfo::array("reshape");
        [array: Read] { Op::ArgSort(array) } = OpInfo::array("arg_sort").fresh();

        [object: Read] { Op::Tag(object) } = OpInfo::new("tag", Group::Box, Output::Int);

        [sizes: Ints] { Op::AccNew(sizes) } = OpInfo::accumulator("acc_new").fresh();
        [acc: Read, indices: Ints, value: Real] { Op::AccAdd(acc, indices, value) }
            = OpInfo::adds("acc_add");
        [acc: Read, array: Read] { Op::AccAddArray(acc, array) } = OpInfo::adds("acc_add_array");
        [acc: Read, indices: Ints] { Op::AccRead(acc, indices) }
            = OpInfo::accumulator("acc_read").effect(Effect::STATE);
        [acc: Read, indices: Ints] { Op::AccTake(acc, indices) }
            = OpInfo::accumulator("acc_take").effect(Effect::STATE);
        [acc: Read, indices: Ints] { Op::AccView(acc, indices) } = OpInfo::accumulator("acc_view");
        [acc: Read, lo: Int, hi: Int] { Op::AccSlice { acc, lo, hi } } = OpInfo::accumulator("acc_slice");
        [acc: Read, sizes: Ints] { Op::AccReshape(acc, sizes) } = OpInfo::accumulator("acc_reshape");
        // Consumes the accumulator, whose memory becomes that of the array.
        [acc: Change] { Op::AccGet(acc) } = OpInfo::accumulator("acc_get").effect(Effect::STATE).fresh();

        [stack: Read, components: KeepAll] { Op::Push(stack, components) }
            = OpInfo::new("push", Group::Stack, Output::None).effect(Effect::STATE);
        [stack: Read] { Op::StackLen(stack) }
            = OpInfo::new("stack_len", Group::Stack, Output::Int).effect(Effect::STATE);
        [stack: Read, position: Int] { Op::StackGet(stack, position) }
            = OpInfo::new("stack_get", Group::Stack, Output::Rule).effect(Effect::STATE);
    }
    other {
        [xs: Reals] { Op::Real(_, xs) } = OpInfo::scalar("real", Output::Rule);
        [xs: Ints] { Op::Int(_, xs) } = OpInfo::scalar("int", Output::Rule).effect(Effect::STOPS);
        [xs: Ints] { Op::IntFits(_, xs) } = OpInfo::scalar("fits", Output::Rule);
        [a: Read, b: Read] { Op::Compare(_, _, a, b) } = OpInfo::scalar("compare", Output::Rule).cost(1);
        [x: Real] { Op::RoundFits(_, x) } = OpInfo::scalar("fits", Output::Int).cost(4);
        [x: Real] { Op::Round(_, x) } = OpInfo::scalar("round", Output::Int).effect(Effect::STOPS);

        [] { Op::Text(_) } = OpInfo::text("text", Output::Text);
        [xs: ReadAll] { Op::TextOp(_, xs) } = OpInfo::text("text", Output::Rule);
        [a: Read] { Op::Show(_, a) } = OpInfo::text("show", Output::Rule);

        [expected: Int, found: Int] { Op::Check(Check::Size { what: _, expected, found }) }
            = OpInfo::stops("check_size");
        [difference: Text] { Op::Stop(Stop::Shape { what: _, difference }) } = OpInfo::stops("fail_shape");

        [array: Read] { Op::Dim(array, _) } = OpInfo::array("dim").cost(1);
        [elements: KeepAll] { Op::Elements(_, elements) } = OpInfo::array("elements").fresh();
        [] { Op::Empty(_, _) } = OpInfo::array("empty");

        [fields: KeepAll] { Op::New(_, _, fields) } = OpInfo::new("new", Group::Box, Output::Rule);
        [object: Read] { Op::Field { object, tag: _, index: _ } }
            = OpInfo::new("field", Group::Box, Output::Rule);

        [cond: Bool] { Op::If { cond, then: _, otherwise: _ } } = OpInfo::control("if");
        [on: Int] { Op::Switch { on, arms: _, default: _ } } = OpInfo::control("switch");
        [count: Int, carried: Carried] { Op::For { count, index: _, carried, body: _ } }
            = OpInfo::control("for");
        [carried: Carried] { Op::While { carried, cond: _, body: _ } }
            = OpInfo::control("while").effect(Effect::STOPS);
        // It stops where rows differ in size: `Effects::own`.
        [count: Int] { Op::Build { count, index: _, body: _ } } = OpInfo::control("build").fresh();
        [count: Int] { Op::Reduce { how: _, count, index: _, body: _ } } = OpInfo::control("reduce");

        [arguments: ReadAll] { Op::Call(_, arguments) } = OpInfo::new("call", Group::Call, Output::Rule);
        [] { Op::Constant(_) } = OpInfo::new("constant", Group::Call, Output::Rule);

        [] { Op::StackNew(_) } = OpInfo::new("stack_new", Group::Stack, Output::Rule);
    }
}

/// The operands of an operation, without those within its regions.
pub fn operands(op: &Op, mut each: impl FnMut(&Atom)) {
    named_operands(op, |_, _, atom| each(atom));
}
