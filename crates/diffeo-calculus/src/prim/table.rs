//! The operations with no parameter but a type, as a table: their words, types and restrictions, and what they are at
//! Real. The printer, the parser, the lint and the evaluator's compiler read it.
//!
//! [`Prim::Real`], `Int`, `Text`, `Compare`, `Round`, `Sizes` and `Lift` have other parameters, and no row.

use super::{Prim, RealOp};
use crate::ty::Ty;

/// The type of an argument or result, for the type parameter `T`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    /// `T`
    T,
    /// `[]T`
    Array,
    /// `[][]T`
    Rows,
    Real,
    /// `[]Real`
    Reals,
    Int,
    /// `[]Int`
    Ints,
    Bool,
    String,
    /// `[]String`
    Strings,
    Unit,
}

impl Slot {
    /// The type where `T` is this type.
    pub fn at(self, t: &Ty) -> Ty {
        match self {
            Slot::T => t.clone(),
            Slot::Array => Ty::array(t.clone()),
            Slot::Rows => Ty::array(Ty::array(t.clone())),
            Slot::Real => Ty::Real,
            Slot::Reals => Ty::array(Ty::Real),
            Slot::Int => Ty::Int,
            Slot::Ints => Ty::array(Ty::Int),
            Slot::Bool => Ty::Bool,
            Slot::String => Ty::String,
            Slot::Strings => Ty::array(Ty::String),
            Slot::Unit => Ty::Unit,
        }
    }
}

/// The types that an operation is restricted to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Types {
    All,
    FirstOrder,
    Vector,
    /// Int and vector types.
    Summable,
    /// Int, Real and String.
    Ordered,
    Array,
    /// Arrays of Real.
    RealArray,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The name in the text of Core.
    pub word: &'static str,
    /// The types of the arguments.
    pub params: &'static [Slot],
    /// The type of the result.
    pub result: Slot,
    /// The types that `T` may be.
    pub types: Types,
    /// The operation on Reals that it is where `T` is Real.
    pub at_real: Option<RealOp>,
}

macro_rules! rows {
    (
        plain { $($plain:ident $plain_word:literal ($($plain_param:ident)*) -> $plain_result:ident;)* }
        typed { $($typed:ident $word:literal ($($param:ident)*) -> $result:ident, $types:ident $(, $at_real:ident)?;)* }
    ) => {
        impl Prim {
            /// The row of an operation, and its type parameter, if it has one.
            pub(crate) fn row(&self) -> Option<(Row, Option<&Ty>)> {
                match self {
                    Prim::Real(_)
                    | Prim::Int(_)
                    | Prim::Text(_)
                    | Prim::Compare(..)
                    | Prim::Round(_)
                    | Prim::Sizes(..)
                    | Prim::Lift(_) => None,
                    $(Prim::$plain => {
                        let row = Row {
                            word: $plain_word,
                            params: &[$(Slot::$plain_param),*],
                            result: Slot::$plain_result,
                            types: Types::All,
                            at_real: None,
                        };
                        Some((row, None))
                    })*
                    $(Prim::$typed(ty) => {
                        let row = Row {
                            word: $word,
                            params: &[$(Slot::$param),*],
                            result: Slot::$result,
                            types: Types::$types,
                            at_real: None$(.or(Some(RealOp::$at_real)))?,
                        };
                        Some((row, Some(ty)))
                    })*
                }
            }
        }

        /// The operation of this name, if it has no parameters.
        pub(crate) fn plain_prim(name: &str) -> Option<Prim> {
            match name {
                $($plain_word => Some(Prim::$plain),)*
                _ => None,
            }
        }

        /// The constructor of the operation of this name, if its parameter is a type.
        pub(crate) fn typed_prim(name: &str) -> Option<fn(Ty) -> Prim> {
            match name {
                $($word => Some(Prim::$typed),)*
                _ => None,
            }
        }

        /// The operations of the table, at one type.
        pub fn listed_prims(ty: &Ty) -> Vec<Prim> {
            vec![$(Prim::$plain,)* $(Prim::$typed(ty.clone()),)*]
        }
    };
}

rows! {
    plain {
        PowInt "pow_int" (Real Int) -> Real;
        Not "not" (Bool) -> Bool;
        ToReal "to_real" (Int) -> Real;
        IsNan "is_nan" (Real) -> Bool;
        AppendStrings "append_strings" (String String) -> String;
        Warn "warn" (String String String) -> Unit;
    }
    typed {
        Add "add" (T T) -> T, FirstOrder, Add;
        Sub "sub" (T T) -> T, Vector, Sub;
        Neg "neg" (T) -> T, Vector, Neg;
        Scale "scale" (Real T) -> T, FirstOrder, Mul;
        Unscale "unscale" (T Real) -> T, Vector, Div;
        MulElements "mul_elements" (T T) -> T, RealArray, Mul;
        DivElements "div_elements" (T T) -> T, RealArray, Div;
        ZeroOf "zero_of" (T) -> T, FirstOrder;
        Inner "inner" (T T) -> Real, FirstOrder, Mul;
        Ravel "ravel" (T) -> Reals, FirstOrder;
        Unravel "unravel" (T Reals) -> T, FirstOrder;
        Length "length" (Array) -> Int, All;
        Index "index" (Array Int) -> T, All;
        Slice "slice" (Array Int Int) -> Array, All;
        // With one index; `Prim::signature` has the others.
        Update "update" (T Int T) -> T, Array;
        Append "append" (Array Array) -> Array, All;
        Flatten "flatten" (Rows) -> Array, All;
        Sum "sum" (Array) -> T, Summable;
        ArgSort "arg_sort" (Array) -> Ints, Ordered;
        Show "show" (T) -> String, FirstOrder;
        Labels "labels" (T) -> Strings, FirstOrder;
        Fail "fail" (String) -> T, All;
        Trace "trace" (String T) -> T, All;
        Progress "progress" (String Int Real T) -> T, All;
    }
}
