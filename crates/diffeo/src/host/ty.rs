//! Types of the language as plain data, which threads may share.

use diffeo_calculus::ty::{DataDecl, Ty};
use std::fmt;
use std::sync::Arc;

/// A type of the language, without sizes of arrays.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// `()`
    Unit,
    /// A Real.
    Real,
    /// An Int.
    Int,
    /// A Bool.
    Bool,
    /// A String.
    String,
    /// A tuple.
    Tuple(Arc<[Type]>),
    /// A record: names and types, in the order of the names.
    Record(Arc<[(Arc<str>, Type)]>),
    /// An array of elements.
    Array(Arc<Type>),
    /// A variant type: its name and its arguments. [`Types`] has the constructors.
    Variant(Arc<str>, Arc<[Type]>),
    /// A function.
    Function(Arc<(Type, Type)>),
    /// Within the declaration of a variant type, its parameter of this number.
    Parameter(usize),
}

/// The name of a constructor, and the types of its fields.
type Constructor = (Arc<str>, Vec<Type>);

/// The variant types of a program: names, with names and types of the fields of each constructor.
#[derive(Clone, Debug, Default)]
pub struct Types(Arc<[(Arc<str>, Vec<Constructor>)]>);

impl Types {
    pub(super) fn new(datas: &[DataDecl]) -> Types {
        let constructors = |decl: &DataDecl| {
            let constructors = decl.constructors.iter();
            constructors
                .map(|c| {
                    let fields = c.fields.iter().map(|ty| Type::new(ty, datas)).collect();
                    (Arc::from(c.name.as_str()), fields)
                })
                .collect()
        };
        Types(datas.iter().map(|d| (Arc::from(d.name.as_str()), constructors(d))).collect())
    }

    /// The constructors of a variant type, with the types of their fields.
    pub fn constructors(&self, ty: &Type) -> Option<Vec<Constructor>> {
        let Type::Variant(name, args) = ty else { return None };
        let (_, constructors) = self.0.iter().find(|(known, _)| known == name)?;
        let at = |(name, fields): &Constructor| {
            (name.clone(), fields.iter().map(|field| field.instantiate(args)).collect())
        };
        Some(constructors.iter().map(at).collect())
    }

    /// The names of all variant types.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().map(|(name, _)| name)
    }
}

impl Type {
    pub(super) fn new(ty: &Ty, datas: &[DataDecl]) -> Type {
        let all = |types: &[Ty]| types.iter().map(|ty| Type::new(ty, datas)).collect();
        match ty {
            Ty::Real => Type::Real,
            Ty::Int => Type::Int,
            Ty::Bool => Type::Bool,
            Ty::String => Type::String,
            Ty::Unit => Type::Unit,
            Ty::Tuple(parts) => Type::Tuple(all(parts)),
            Ty::Record(fields) => Type::Record(
                fields
                    .iter()
                    .map(|(n, ty)| (Arc::from(n.as_str()), Type::new(ty, datas)))
                    .collect(),
            ),
            Ty::Array(element) => Type::Array(Arc::new(Type::new(element, datas))),
            Ty::Data(id, args) => {
                let name = datas.get(id.0 as usize).map_or("?", |decl| decl.name.as_str());
                Type::Variant(Arc::from(name), all(args))
            }
            Ty::Fun(f) => {
                Type::Function(Arc::new((Type::new(&f.0, datas), Type::new(&f.1, datas))))
            }
            Ty::Param(i) => Type::Parameter(*i as usize),
        }
    }

    /// The types of the arguments of a function that takes this: the components of a tuple, or the type itself.
    pub fn arguments(&self) -> &[Type] {
        match self {
            Type::Tuple(parts) => parts,
            Type::Unit => &[],
            _ => std::slice::from_ref(self),
        }
    }

    /// The type as that of a definition: of a function without parentheses around it.
    pub fn signature(&self) -> String {
        match self {
            Type::Function(f) => format!("{} -> {}", f.0, f.1),
            ty => ty.to_string(),
        }
    }

    fn instantiate(&self, args: &[Type]) -> Type {
        let all = |types: &[Type]| types.iter().map(|ty| ty.instantiate(args)).collect();
        match self {
            Type::Unit | Type::Real | Type::Int | Type::Bool | Type::String => self.clone(),
            Type::Tuple(parts) => Type::Tuple(all(parts)),
            Type::Record(fields) => Type::Record(
                fields.iter().map(|(n, ty)| (n.clone(), ty.instantiate(args))).collect(),
            ),
            Type::Array(element) => Type::Array(Arc::new(element.instantiate(args))),
            Type::Variant(name, own) => Type::Variant(name.clone(), all(own)),
            Type::Function(f) => {
                Type::Function(Arc::new((f.0.instantiate(args), f.1.instantiate(args))))
            }
            Type::Parameter(i) => args.get(*i).cloned().unwrap_or(Type::Unit),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, types: &[Type]| {
            types.iter().enumerate().try_for_each(|(i, ty)| {
                f.write_str(if i > 0 { ", " } else { "" })?;
                ty.fmt(f)
            })
        };
        match self {
            Type::Unit => f.write_str("()"),
            Type::Real => f.write_str("Real"),
            Type::Int => f.write_str("Int"),
            Type::Bool => f.write_str("Bool"),
            Type::String => f.write_str("String"),
            Type::Tuple(parts) => {
                f.write_str("(")?;
                list(f, parts)?;
                f.write_str(")")
            }
            Type::Record(fields) => {
                f.write_str("{")?;
                for (i, (name, ty)) in fields.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{}: {ty}", diffeo_base::field_name(name))?;
                }
                f.write_str("}")
            }
            Type::Array(element) => write!(f, "[]{element}"),
            Type::Variant(name, args) if args.is_empty() => f.write_str(name),
            Type::Variant(name, args) => {
                write!(f, "{name}[")?;
                list(f, args)?;
                f.write_str("]")
            }
            Type::Function(fun) => write!(f, "({} -> {})", fun.0, fun.1),
            Type::Parameter(i) => write!(f, "t{i}"),
        }
    }
}
