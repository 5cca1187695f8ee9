//! The table of operations: a row for each says how it is written, which operands it takes, its effect, its cost and
//! what becomes of references. Walks, printer, parser, lint, passes and the lowering to Low read it; they match
//! on operations only where those differ.

use super::{Atom, Check, Op, Stop, Ty};

/// A row of the table: static properties of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Row {
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
pub enum Operand {
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

impl Operand {
    /// Its type, where the table has it.
    pub fn ty(self) -> Option<Ty> {
        match self {
            Operand::Real => Some(Ty::Real),
            Operand::Int => Some(Ty::Int),
            Operand::Bool => Some(Ty::Bool),
            Operand::Text => Some(Ty::Text),
            Operand::Read | Operand::Change | Operand::Keep => None,
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

impl Row {
    const fn new(word: &'static str, group: Group, output: Output) -> Row {
        Row { word, group, effect: Effect::NONE, cost: None, fresh: false, output }
    }

    const fn scalar(word: &'static str, output: Output) -> Row {
        Row::new(word, Group::Scalar, output)
    }

    const fn text(word: &'static str, output: Output) -> Row {
        Row::new(word, Group::Text, output)
    }

    const fn stops(word: &'static str) -> Row {
        Row::new(word, Group::Effect, Output::None).effect(Effect::STOPS)
    }

    const fn prints(word: &'static str) -> Row {
        Row::new(word, Group::Effect, Output::None).effect(Effect::PRINTS)
    }

    const fn array(word: &'static str) -> Row {
        Row::new(word, Group::Array, Output::Rule)
    }

    const fn control(word: &'static str) -> Row {
        Row::new(word, Group::Control, Output::Rule)
    }

    const fn accumulator(word: &'static str) -> Row {
        Row::new(word, Group::Accumulator, Output::Rule)
    }

    const fn adds(word: &'static str) -> Row {
        Row { output: Output::None, ..Row::accumulator(word).effect(Effect::STATE) }
    }

    const fn effect(self, effect: Effect) -> Row {
        Row { effect, ..self }
    }

    const fn cost(self, cost: u32) -> Row {
        Row { cost: Some(cost), ..self }
    }

    const fn fresh(self) -> Row {
        Row { fresh: true, ..self }
    }
}

/// Gives each operand to a function, with its name and its [`Operand`]. `[&]` or `[&mut]` is how operations are held.
macro_rules! visit {
    ($how:tt, $each:ident, $name:ident: Reals) => { visit!(@all $each, $name, Operand::Real) };
    ($how:tt, $each:ident, $name:ident: Ints) => { visit!(@all $each, $name, Operand::Int) };
    ($how:tt, $each:ident, $name:ident: ReadAll) => { visit!(@all $each, $name, Operand::Read) };
    ($how:tt, $each:ident, $name:ident: KeepAll) => { visit!(@all $each, $name, Operand::Keep) };
    ([$($how:tt)*], $each:ident, $name:ident: Carried) => {
        for carried in $name {
            $each(stringify!($name), Operand::Keep, $($how)* carried.init);
        }
    };
    ($how:tt, $each:ident, $name:ident: $operand:ident) => {
        $each(stringify!($name), Operand::$operand, $name)
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
        pub fn row(op: &Op) -> Row {
            match op {
                $(form!($plain) => const { $row },)*
                $(form!($other) => const { $other_row },)*
            }
        }

        /// The operands of an operation with their names, without those within its regions.
        pub fn named_operands(op: &Op, mut each: impl FnMut(&'static str, Operand, &Atom)) {
            match op {
                $(form!($plain) => { $(visit!([&], each, $name: $operand);)* })*
                $(form!($other) => { $(visit!([&], each, $other_name: $other_operand);)* })*
            }
        }

        /// The operands of an operation, to be changed, without those within its regions.
        pub fn operands_mut(op: &mut Op, mut change: impl FnMut(&mut Atom)) {
            let mut each = |_: &str, _: Operand, atom: &mut Atom| change(atom);
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
        [x: Real, n: Int] { Op::PowInt(x, n) } = Row::scalar("pow_int", Output::Real);
        [a: Bool] { Op::Not(a) } = Row::scalar("not", Output::Bool).cost(1);
        [a: Bool, b: Bool] { Op::And(a, b) } = Row::scalar("and", Output::Bool).cost(1);
        [a: Bool, b: Bool] { Op::Or(a, b) } = Row::scalar("or", Output::Bool).cost(1);
        [cond: Bool, a: Read, b: Read] { Op::Select(cond, a, b) }
            = Row::scalar("select", Output::Rule).cost(1);
        [n: Int] { Op::ToReal(n) } = Row::scalar("to_real", Output::Real).cost(1);
        [x: Real] { Op::IsNan(x) } = Row::scalar("is_nan", Output::Bool).cost(1);

        [a: Text, b: Text] { Op::AppendText(a, b) } = Row::text("append_text", Output::Text);

        [index: Int, length: Int] { Op::Check(Check::Index { index, length }) }
            = Row::stops("check_index");
        [lo: Int, hi: Int, length: Int] { Op::Check(Check::Slice { lo, hi, length }) }
            = Row::stops("check_slice");
        [count: Int] { Op::Check(Check::Count(count)) } = Row::stops("check_count");
        [expected: Int, found: Int] { Op::Check(Check::Rows { expected, found }) }
            = Row::stops("check_rows");
        [message: Text] { Op::Stop(Stop::Fail(message)) } = Row::stops("fail");
        [] { Op::Stop(Stop::Nan) } = Row::stops("fail_nan");
        [] { Op::Stop(Stop::Order) } = Row::stops("fail_order");
        [label: Text, value: Text] { Op::Trace(label, value) } = Row::prints("trace");
        [label: Text, step: Int, value: Real] { Op::Progress(label, step, value) }
            = Row::prints("progress");

        [array: Read, indices: Ints] { Op::Get(array, indices) } = Row::array("get");
        [array: Read, lo: Int, hi: Int] { Op::Slice { array, lo, hi } } = Row::array("slice");
        // `uses` of the lowering to Low reads rows, which are copied.
        [array: Change, indices: Ints, value: Keep] { Op::Update { array, indices, value } }
            = Row::array("update").fresh();
        [rows: ReadAll] { Op::Rows(rows) } = Row::array("rows").fresh();
        [a: Change, b: Read] { Op::Append(a, b) } = Row::array("append").fresh();
        [array: Read, sizes: Ints] { Op::Reshape(array, sizes) } = Row::array("reshape");
        [array: Read] { Op::ArgSort(array) } = Row::array("arg_sort").fresh();

        [object: Read] { Op::Tag(object) } = Row::new("tag", Group::Box, Output::Int);

        [sizes: Ints] { Op::AccNew(sizes) } = Row::accumulator("acc_new").fresh();
        [acc: Read, indices: Ints, value: Real] { Op::AccAdd(acc, indices, value) }
            = Row::adds("acc_add");
        [acc: Read, array: Read] { Op::AccAddArray(acc, array) } = Row::adds("acc_add_array");
        [acc: Read, indices: Ints] { Op::AccRead(acc, indices) }
            = Row::accumulator("acc_read").effect(Effect::STATE);
        [acc: Read, indices: Ints] { Op::AccTake(acc, indices) }
            = Row::accumulator("acc_take").effect(Effect::STATE);
        [acc: Read, indices: Ints] { Op::AccView(acc, indices) } = Row::accumulator("acc_view");
        [acc: Read, lo: Int, hi: Int] { Op::AccSlice { acc, lo, hi } } = Row::accumulator("acc_slice");
        [acc: Read, sizes: Ints] { Op::AccReshape(acc, sizes) } = Row::accumulator("acc_reshape");
        // Consumes the accumulator, whose memory becomes that of the array.
        [acc: Change] { Op::AccGet(acc) } = Row::accumulator("acc_get").effect(Effect::STATE).fresh();

        [stack: Read, components: KeepAll] { Op::Push(stack, components) }
            = Row::new("push", Group::Stack, Output::None).effect(Effect::STATE);
        [stack: Read] { Op::StackLen(stack) }
            = Row::new("stack_len", Group::Stack, Output::Int).effect(Effect::STATE);
        [stack: Read, position: Int] { Op::StackGet(stack, position) }
            = Row::new("stack_get", Group::Stack, Output::Rule).effect(Effect::STATE);
    }
    other {
        [xs: Reals] { Op::Real(_, xs) } = Row::scalar("real", Output::Rule);
        [xs: Ints] { Op::Int(_, xs) } = Row::scalar("int", Output::Rule).effect(Effect::STOPS);
        [xs: Ints] { Op::IntFits(_, xs) } = Row::scalar("fits", Output::Rule);
        [a: Read, b: Read] { Op::Compare(_, _, a, b) } = Row::scalar("compare", Output::Rule).cost(1);
        [x: Real] { Op::RoundFits(_, x) } = Row::scalar("fits", Output::Int).cost(4);
        [x: Real] { Op::Round(_, x) } = Row::scalar("round", Output::Int).effect(Effect::STOPS);

        [] { Op::Text(_) } = Row::text("text", Output::Text);
        [xs: ReadAll] { Op::TextOp(_, xs) } = Row::text("text", Output::Rule);
        [a: Read] { Op::Show(_, a) } = Row::text("show", Output::Rule);

        [expected: Int, found: Int] { Op::Check(Check::Size { what: _, expected, found }) }
            = Row::stops("check_size");
        [difference: Text] { Op::Stop(Stop::Shape { what: _, difference }) } = Row::stops("fail_shape");

        [array: Read] { Op::Dim(array, _) } = Row::array("dim").cost(1);
        [elements: KeepAll] { Op::Elements(_, elements) } = Row::array("elements").fresh();
        [] { Op::Empty(_, _) } = Row::array("empty");

        [fields: KeepAll] { Op::New(_, _, fields) } = Row::new("new", Group::Box, Output::Rule);
        [object: Read] { Op::Field { object, tag: _, index: _ } }
            = Row::new("field", Group::Box, Output::Rule);

        [cond: Bool] { Op::If { cond, then: _, otherwise: _ } } = Row::control("if");
        [on: Int] { Op::Switch { on, arms: _, default: _ } } = Row::control("switch");
        [count: Int, carried: Carried] { Op::For { count, index: _, carried, body: _ } }
            = Row::control("for");
        [carried: Carried] { Op::While { carried, cond: _, body: _ } }
            = Row::control("while").effect(Effect::STOPS);
        // It stops where rows differ in size: `Effects::own`.
        [count: Int] { Op::Build { count, index: _, body: _ } } = Row::control("build").fresh();
        [count: Int] { Op::Reduce { how: _, count, index: _, body: _ } } = Row::control("reduce");

        [arguments: ReadAll] { Op::Call(_, arguments) } = Row::new("call", Group::Call, Output::Rule);
        [] { Op::Constant(_) } = Row::new("constant", Group::Call, Output::Rule);

        [] { Op::StackNew(_) } = Row::new("stack_new", Group::Stack, Output::Rule);
    }
}

/// The operands of an operation, without those within its regions.
pub fn operands(op: &Op, mut each: impl FnMut(&Atom)) {
    named_operands(op, |_, _, atom| each(atom));
}
