//! Definitions as hosts see them: their types as plain data, which threads may share, with what types in Core do not say,
//! the order of fields and the names of sizes.

use crate::types::{FieldOrder, Fields};
use diffeo_base::{field_name, Name, Span};
use diffeo_calculus::ty::{ConstructorDecl, DataDecl, DataId, Ty, WellKnown};
use std::fmt;
use std::sync::Arc;

/// A definition as hosts see it.
#[derive(Clone, Debug)]
pub struct Interface {
    /// The lines of its `##` comment.
    pub doc: Vec<Name>,
    /// The name of each parameter; none where it is taken apart.
    pub parameters: Vec<Option<Name>>,
    /// Its type.
    pub ty: Type,
    /// Its type, that of its parameter, and the fields of that, as the user writes them: with aliases.
    pub text: String,
    /// See [`Interface::text`].
    pub parameter: Option<String>,
    /// See [`Interface::text`].
    pub fields: Vec<(Name, String)>,
    /// The place of the annotation of its result; none where there is no annotation.
    pub result: Span,
}

impl Interface {
    /// The interface of a definition that no program writes, such as a derivative.
    pub fn of_core(ty: &Ty, datas: &[DataDecl]) -> Interface {
        let ty = Type::of_core(ty, datas);
        let text = ty.signature();
        let (doc, parameters, fields) = (Vec::new(), Vec::new(), Vec::new());
        Interface { doc, parameters, ty, text, parameter: None, fields, result: Span::NONE }
    }
}

/// A type of the language. Two types are equal if they are for the language: sizes and the order of fields do not count.
#[derive(Clone, Debug)]
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
    /// A record.
    Record(Arc<Fields<Type>>),
    /// An array: its size as a number or a name, empty where it is not known, and the type of its elements.
    Array(Name, Arc<Type>),
    /// A variant type and its arguments. [`Types`] has the constructors.
    Variant(Variant, Arc<[Type]>),
    /// A function.
    Function(Arc<(Type, Type)>),
    /// Within the declaration of a variant type, its parameter of this number.
    Parameter(usize),
}

/// A declared variant type. It is known by its name, since definitions that are elaborated one by one number it differently.
#[derive(Clone, PartialEq, Debug)]
pub struct Variant {
    /// Its name, qualified by the module where that is needed.
    pub name: Name,
    /// The type of the library that it is, where that matters.
    pub known: Option<WellKnown>,
}

/// A constructor: its name, and the types of its fields.
type Constructor = (Name, Vec<Type>);

/// The variant types of a program: names, with names and types of the fields of each constructor.
#[derive(Clone, Debug, Default)]
pub struct Types(Arc<[(Name, Vec<Constructor>)]>);

impl Types {
    /// Those that a program declares.
    pub fn new(datas: &[DataDecl]) -> Types {
        let constructor = |c: &ConstructorDecl| {
            (c.name.clone(), c.fields.iter().map(|ty| Type::of_core(ty, datas)).collect())
        };
        let declared =
            |d: &DataDecl| (d.name.clone(), d.constructors.iter().map(constructor).collect());
        Types(datas.iter().map(declared).collect())
    }

    /// The constructors of a variant type, with the types of their fields.
    pub fn constructors(&self, ty: &Type) -> Option<Vec<Constructor>> {
        let Type::Variant(variant, args) = ty else { return None };
        let (_, constructors) = self.0.iter().find(|(name, _)| *name == variant.name)?;
        let at = |(name, fields): &Constructor| {
            (name.clone(), fields.iter().map(|field| field.instantiate(args)).collect())
        };
        Some(constructors.iter().map(at).collect())
    }

    /// The variant types of several definitions, each name once: a model's density, parameters and predictions share data.
    pub fn joined<'t>(all: impl IntoIterator<Item = &'t Types>) -> Types {
        let mut joined: Vec<(Name, Vec<Constructor>)> = Vec::new();
        for declared in all.into_iter().flat_map(|types| types.0.iter()) {
            if !joined.iter().any(|(name, _)| *name == declared.0) {
                joined.push(declared.clone());
            }
        }
        Types(joined.into())
    }

    /// The names of all variant types.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().map(|(name, _)| name)
    }
}

impl Type {
    /// A type of Core: its sizes are not known, its fields are in the order of their names.
    pub fn of_core(ty: &Ty, datas: &[DataDecl]) -> Type {
        let all = |types: &[Ty]| types.iter().map(|ty| Type::of_core(ty, datas)).collect();
        match ty {
            Ty::Real => Type::Real,
            Ty::Int => Type::Int,
            Ty::Bool => Type::Bool,
            Ty::String => Type::String,
            Ty::Unit => Type::Unit,
            Ty::Tuple(parts) => Type::Tuple(all(parts)),
            Ty::Record(fields) => {
                let field = |(n, ty): &(Name, Ty)| (n.clone(), Type::of_core(ty, datas));
                Type::record(fields.iter().map(field).collect())
            }
            Ty::Array(element) => Type::array(Type::of_core(element, datas)),
            Ty::Data(id, args) => Type::Variant(Variant::new(*id, datas), all(args)),
            Ty::Fun(f) => {
                Type::Function(Arc::new((Type::of_core(&f.0, datas), Type::of_core(&f.1, datas))))
            }
            Ty::Param(i) => Type::Parameter(*i as usize),
        }
    }

    /// An array whose size is not known.
    pub fn array(element: Type) -> Type {
        Type::Array(Name::new(""), Arc::new(element))
    }

    /// A record of fields in this order.
    pub fn record(fields: Vec<(Name, Type)>) -> Type {
        Type::Record(Arc::new(Fields::new(fields, FieldOrder::Value)))
    }

    /// Domain and range of a function; of data the type itself, twice.
    pub fn sides(&self) -> (&Type, &Type) {
        match self {
            Type::Function(f) => (&f.0, &f.1),
            ty => (ty, ty),
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

    /// The type of a field of a record.
    pub fn field(&self, name: &str) -> Option<&Type> {
        let Type::Record(fields) = self else { return None };
        fields.iter().find(|(field, _)| *field == *name).map(|(_, ty)| ty)
    }

    /// Whether it is this type of the library.
    pub fn is(&self, known: WellKnown) -> bool {
        matches!(self, Type::Variant(variant, _) if variant.known == Some(known))
    }

    /// The type as that of a definition: of a function without parentheses around it.
    pub fn signature(&self) -> String {
        match self {
            Type::Function(f) => format!("{} -> {}", f.0, f.1),
            ty => ty.to_string(),
        }
    }

    /// The type, whose records have their fields in the order of those in the same places of another type, where these have
    /// the same names.
    #[must_use]
    pub fn in_order_of(&self, other: &Type) -> Type {
        let all = |own: &[Type], others: &[Type]| {
            own.iter().zip(others).map(|(ty, other)| ty.in_order_of(other)).collect()
        };
        match (self, other) {
            (Type::Tuple(own), Type::Tuple(others)) if own.len() == others.len() => {
                Type::Tuple(all(own, others))
            }
            (Type::Record(own), Type::Record(others))
                if own.len() == others.len()
                    && own.iter().zip(others.iter()).all(|((a, _), (b, _))| a == b) =>
            {
                let pairs = own.iter().zip(others.iter());
                let types = pairs.map(|((_, ty), (_, other))| ty.in_order_of(other)).collect();
                Type::Record(Arc::new(others.with_types(types)))
            }
            (Type::Array(size, own), Type::Array(_, other)) => {
                Type::Array(size.clone(), Arc::new(own.in_order_of(other)))
            }
            (Type::Variant(variant, own), Type::Variant(_, others))
                if own.len() == others.len() =>
            {
                Type::Variant(variant.clone(), all(own, others))
            }
            (Type::Function(own), Type::Function(other)) => {
                Type::Function(Arc::new((own.0.in_order_of(&other.0), own.1.in_order_of(&other.1))))
            }
            _ => self.clone(),
        }
    }

    fn instantiate(&self, args: &[Type]) -> Type {
        let all = |types: &[Type]| types.iter().map(|ty| ty.instantiate(args)).collect();
        match self {
            Type::Unit | Type::Real | Type::Int | Type::Bool | Type::String => self.clone(),
            Type::Tuple(parts) => Type::Tuple(all(parts)),
            Type::Record(fields) => {
                let types = fields.iter().map(|(_, ty)| ty.instantiate(args)).collect();
                Type::Record(Arc::new(fields.with_types(types)))
            }
            Type::Array(size, element) => {
                Type::Array(size.clone(), Arc::new(element.instantiate(args)))
            }
            Type::Variant(variant, own) => Type::Variant(variant.clone(), all(own)),
            Type::Function(f) => {
                Type::Function(Arc::new((f.0.instantiate(args), f.1.instantiate(args))))
            }
            Type::Parameter(i) => args.get(*i).cloned().unwrap_or(Type::Unit),
        }
    }
}

impl Variant {
    /// The declared type of this number in a program.
    pub fn new(id: DataId, datas: &[DataDecl]) -> Variant {
        let decl = datas.get(id.0 as usize);
        let name = decl.map_or_else(|| Name::new("?"), |decl| decl.name.clone());
        Variant { name, known: decl.and_then(|decl| decl.known) }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Unit, Type::Unit)
            | (Type::Real, Type::Real)
            | (Type::Int, Type::Int)
            | (Type::Bool, Type::Bool)
            | (Type::String, Type::String) => true,
            (Type::Tuple(a), Type::Tuple(b)) => a == b,
            (Type::Record(a), Type::Record(b)) => a[..] == b[..],
            (Type::Array(_, a), Type::Array(_, b)) => a == b,
            (Type::Variant(a, of), Type::Variant(b, with)) => a == b && of == with,
            (Type::Function(a), Type::Function(b)) => a == b,
            (Type::Parameter(a), Type::Parameter(b)) => a == b,
            _ => false,
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
                for (i, (name, ty)) in fields.written().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{}: {ty}", field_name(name))?;
                }
                f.write_str("}")
            }
            Type::Array(size, element) => write!(f, "[{size}]{element}"),
            Type::Variant(variant, args) if args.is_empty() => f.write_str(&variant.name),
            Type::Variant(variant, args) => {
                write!(f, "{}[", variant.name)?;
                list(f, args)?;
                f.write_str("]")
            }
            Type::Function(fun) => write!(f, "({} -> {})", fun.0, fun.1),
            Type::Parameter(i) => write!(f, "t{i}"),
        }
    }
}
