//! The types of Core: monomorphic, without sizes (sizes are checked at run time by [`crate::Prim::Sizes`]).

use diffeo_base::Name;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// The index of a variant type in [`crate::Program::datas`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct DataId(pub u32);

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Ty {
    /// `f64`.
    Real,
    /// `i64`.
    Int,
    /// Truth values.
    Bool,
    /// Text.
    String,
    /// The type of `()`.
    Unit,
    /// At least two components.
    Tuple(Rc<[Ty]>),
    /// Fields sorted by name; represented as the tuple of them.
    Record(Rc<[(Name, Ty)]>),
    /// An array.
    Array(Rc<Ty>),
    /// A variant type at its arguments.
    Data(DataId, Rc<[Ty]>),
    /// A function.
    Fun(Rc<(Ty, Ty)>),
    /// A parameter of a [`DataDecl`], by position; only within the declaration.
    Param(u32),
}

/// A variant type of the library that has a notation or a meaning outside of programs. It is known by where it is
/// declared: a type of the same name in a program is another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum WellKnown {
    /// `Nil | Cons(a, List[a])`: written as arrays are.
    List,
    /// `Nothing | Just(a)`: what may be missing.
    Maybe,
    /// Plots, which are drawn.
    Plot,
    /// Keys of random numbers.
    Key,
    /// What values a parameter of a model takes.
    Parameter,
}

/// The tags of the constructors of [`WellKnown::List`].
pub const NIL: u32 = 0;
/// See [`NIL`].
pub const CONS: u32 = 1;
/// The tags of the constructors of [`WellKnown::Maybe`].
pub const NOTHING: u32 = 0;
/// See [`NOTHING`].
pub const JUST: u32 = 1;

impl WellKnown {
    /// All of them.
    pub const ALL: [WellKnown; 5] =
        [WellKnown::List, WellKnown::Maybe, WellKnown::Plot, WellKnown::Key, WellKnown::Parameter];

    /// Its word in the text of Core.
    pub fn word(self) -> &'static str {
        match self {
            WellKnown::List => "list",
            WellKnown::Maybe => "maybe",
            WellKnown::Plot => "plot",
            WellKnown::Key => "key",
            WellKnown::Parameter => "parameter",
        }
    }
}

/// A variant type, perhaps recursive.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DataDecl {
    /// Its name, qualified by the module where that is needed.
    pub name: Name,
    /// Which type of the library it is, where that matters.
    pub known: Option<WellKnown>,
    /// How many parameters it takes.
    pub params: usize,
    /// Its constructors; the tag of a constructor is its position.
    pub constructors: Vec<ConstructorDecl>,
}

/// A constructor of a variant type.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConstructorDecl {
    /// Its name.
    pub name: Name,
    /// The types of its fields, over [`Ty::Param`].
    pub fields: Vec<Ty>,
}

impl Ty {
    /// `from -> to`.
    pub fn fun(from: Ty, to: Ty) -> Ty {
        Ty::Fun(Rc::new((from, to)))
    }

    /// `[]element`.
    pub fn array(element: Ty) -> Ty {
        Ty::Array(Rc::new(element))
    }

    /// The tuple of some types: `()` for none, the type itself for one.
    pub fn tuple(components: Vec<Ty>) -> Ty {
        match components.len() {
            0 => Ty::Unit,
            1 => components.into_iter().next().expect("one component"),
            _ => Ty::Tuple(components.into()),
        }
    }

    /// The component types of a tuple or record.
    pub fn components(&self) -> Option<Vec<Ty>> {
        match self {
            Ty::Tuple(ts) => Some(ts.to_vec()),
            Ty::Record(fs) => Some(fs.iter().map(|(_, t)| t.clone()).collect()),
            Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Array(_)
            | Ty::Data(..)
            | Ty::Fun(_)
            | Ty::Param(_) => None,
        }
    }

    /// The type with the parameters of a declaration replaced.
    pub fn instantiate(&self, args: &[Ty]) -> Ty {
        match self {
            Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit => self.clone(),
            Ty::Tuple(ts) => Ty::Tuple(ts.iter().map(|t| t.instantiate(args)).collect()),
            Ty::Record(fs) => {
                Ty::Record(fs.iter().map(|(n, t)| (n.clone(), t.instantiate(args))).collect())
            }
            Ty::Array(t) => Ty::array(t.instantiate(args)),
            Ty::Data(d, ts) => Ty::Data(*d, ts.iter().map(|t| t.instantiate(args)).collect()),
            Ty::Fun(f) => Ty::fun(f.0.instantiate(args), f.1.instantiate(args)),
            Ty::Param(i) => args[*i as usize].clone(),
        }
    }
}

impl DataDecl {
    /// Whether it is this type of the library.
    pub fn is(&self, known: WellKnown) -> bool {
        self.known == Some(known)
    }

    /// The field types of the constructor with this tag, at these type arguments.
    pub fn fields(&self, tag: u32, args: &[Ty]) -> Vec<Ty> {
        self.constructors[tag as usize].fields.iter().map(|t| t.instantiate(args)).collect()
    }
}
