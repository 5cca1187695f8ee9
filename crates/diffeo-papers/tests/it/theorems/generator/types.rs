//! Types and declarations.

use super::Generator;
use crate::support;
use diffeo_base::Name;
use diffeo_calculus::ty::{ConstructorDecl, DataDecl, DataId};
use diffeo_calculus::{typing, Program, Ty};
use std::rc::Rc;

/// The length of arrays that are elements of arrays, also through tuples.
pub const ROW: usize = 2;

pub const LIST: DataId = DataId(0);
pub const MAYBE: DataId = DataId(1);
pub const SHAPE: DataId = DataId(2);
pub const TREE: DataId = DataId(3);

/// `List[a]`, `Maybe[a]`, `Shape = Circle(Real) | Box(Real, Real)`, `Tree[a] = Leaf | Node(Tree[a], a, Tree[a])`.
pub fn datas() -> Vec<DataDecl> {
    let con = |name: &str, fields: Vec<Ty>| ConstructorDecl { name: Name::new(name), fields };
    let tree = Ty::Data(TREE, Rc::new([Ty::Param(0)]));
    let mut datas = support::datas();
    datas.push(DataDecl {
        name: Name::new("Shape"),
        known: None,
        params: 0,
        constructors: vec![con("Circle", vec![Ty::Real]), con("Box", vec![Ty::Real, Ty::Real])],
    });
    datas.push(DataDecl {
        name: Name::new("Tree"),
        known: None,
        params: 1,
        constructors: vec![
            con("Leaf", vec![]),
            con("Node", vec![tree.clone(), Ty::Param(0), tree]),
        ],
    });
    datas
}

/// A record of these types.
pub fn record(types: &[Ty]) -> Ty {
    let names = ["height", "rate", "width"].map(Name::new);
    Ty::Record(names.into_iter().zip(types.iter().cloned()).collect())
}

/// Whether values of the type have one shape: no variants and no arrays.
pub fn one_shape(ty: &Ty) -> bool {
    match ty {
        Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit => true,
        Ty::Tuple(_) | Ty::Record(_) => ty.components().iter().flatten().all(one_shape),
        Ty::Array(_) | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => false,
    }
}

/// Whether there are arrays in the type, itself or through tuples: elements of this type must be regular.
pub fn has_rows(ty: &Ty) -> bool {
    match ty {
        Ty::Array(_) => true,
        Ty::Tuple(_) | Ty::Record(_) => ty.components().iter().flatten().any(has_rows),
        Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Unit
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => false,
    }
}

thread_local! {
    /// A program with the declarations alone.
    static DECLARED: Program =
        Program { datas: datas(), globals: Vec::new(), library: Vec::new() };
}

/// Whether there are Reals in it.
pub fn has_reals(ty: &Ty) -> bool {
    DECLARED.with(|program| typing::mentions_real(ty, program))
}

/// Whether no function is in it.
pub fn first_order(ty: &Ty) -> bool {
    DECLARED.with(|program| typing::first_order(ty, program))
}

impl Generator<'_> {
    /// Any type, so deep at most.
    pub fn ty(&mut self, depth: usize) -> Ty {
        self.type_of_kind(depth, self.features.functions)
    }

    /// A first-order type with Reals in it.
    pub fn first_order_type(&mut self, depth: usize) -> Ty {
        let ty = self.type_of_kind(depth, false);
        match has_reals(&ty) {
            true => ty,
            false => Ty::tuple(vec![ty, Ty::Real]),
        }
    }

    /// A small type whose values have one shape, with Reals in it.
    pub fn one_shape_type(&mut self) -> Ty {
        match self.choices.below(6) {
            0..=3 => Ty::Real,
            4 if self.features.leaves => Ty::tuple(vec![Ty::Int, Ty::Real]),
            _ => Ty::tuple(vec![Ty::Real, Ty::Real]),
        }
    }

    fn type_of_kind(&mut self, depth: usize, functions: bool) -> Ty {
        let f = self.features;
        let mut kinds: Vec<&str> = vec!["real"; 4];
        if depth > 0 {
            kinds.extend(["tuple"; 3]);
            kinds.extend(f.arrays.then_some(["array"; 2]).into_iter().flatten());
            kinds.extend(f.lists.then_some("list"));
            kinds.extend(f.variants.then_some(["maybe", "tree"]).into_iter().flatten());
            kinds.extend(f.records.then_some("record"));
            kinds.extend(functions.then_some(["fun"; 2]).into_iter().flatten());
        }
        kinds.extend(f.variants.then_some("shape"));
        kinds.extend(f.leaves.then_some(["int", "bool", "string"]).into_iter().flatten());
        kinds.push("unit");
        let kind = self.choices.pick(&kinds);
        let part = |g: &mut Self| g.type_of_kind(depth - 1, functions);
        match kind {
            "real" => Ty::Real,
            "tuple" | "record" => {
                let count = 2 + self.choices.below(2);
                let types: Vec<Ty> = (0..count).map(|_| part(self)).collect();
                if kind == "tuple" {
                    Ty::tuple(types)
                } else {
                    record(&types)
                }
            }
            "array" => Ty::array(part(self)),
            "list" => Ty::Data(LIST, Rc::new([part(self)])),
            "maybe" => Ty::Data(MAYBE, Rc::new([part(self)])),
            "tree" => Ty::Data(TREE, Rc::new([part(self)])),
            "fun" => Ty::fun(part(self), part(self)),
            "shape" => Ty::Data(SHAPE, Rc::new([])),
            "int" => Ty::Int,
            "bool" => Ty::Bool,
            "string" => Ty::String,
            _ => Ty::Unit,
        }
    }
}
