//! Values V, trace terms C and traces (section 3 of the paper), extended to the other first-order types.
//!
//! ```text
//! V ::= x | r | * | ⟨V, …⟩        and (ours) leaf constants k, closures, data and arrays of open values
//! C ::= x | r | op(C, …) | let x:T = C in D | * | ⟨C, …⟩_T | C.i
//!       and (ours) leaf constants k, con(C, …), a field of a constructor, [C, …], an element C[i]
//! ```
//!
//! What always holds: a closed value is one of the evaluator's values ([`Value`]), functions included; a
//! trace variable has a first-order type in which there is a Real, and it carries its value ρ(x), for a trace
//! is taken at one point; a trace is flat: one sequence of bindings of trace terms of values.

use diffeo_base::deep;
use diffeo_base::{Name, Span};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::prim::{real, RealOp};
use diffeo_calculus::term::Program;
use diffeo_calculus::ty::{DataId, Ty};
use diffeo_calculus::value::{FunctionValue, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A trace variable.
pub(super) type X = Rc<Variable>;

/// What is known of a trace variable.
pub(super) struct Variable {
    /// Unique among the variables of an evaluation.
    pub id: u32,
    /// The name in the program, for people.
    pub name: Name,
    /// Its type.
    pub ty: Ty,
    /// Its value ρ(x).
    pub value: Value,
    /// The differentiation variables that it depends on.
    pub influence: RefCell<Influence>,
}

/// Which differentiation variables the parts of a value depend on: one bit for each trace that is open.
#[derive(Clone)]
pub(super) enum Influence {
    /// All of it on these.
    All(u128),
    /// A tuple, constructor or array part by part.
    Parts(Rc<Spread>),
}

/// Part by part.
pub(super) struct Spread {
    /// What any part depends on.
    mask: u128,
    parts: Vec<Influence>,
}

/// A value V.
#[derive(Clone)]
pub(super) enum V {
    /// Without trace variables.
    Closed(Value),
    /// A trace variable.
    Var(X),
    /// ⟨V, …⟩
    Tuple(Rc<OpenValues>),
    /// A constructor applied, at a type with functions in it.
    Data(u32, Rc<OpenValues>),
    /// An array at a type with functions in it.
    Array(Rc<OpenValues>),
    /// The λ-term with this number, and the values of its free variables.
    Closure(u32, Rc<OpenValues>),
}

/// Open values, dropped without recursion.
pub(super) struct OpenValues(pub Vec<V>);

/// A trace term C.
#[derive(Clone)]
pub(super) enum C {
    /// x
    Var(X),
    /// r, *, k, and closed structures of them, with the type.
    Closed(Value, Ty),
    /// op(C, …)
    Op(RealOp, Vec<C>),
    /// let x:T = C in D
    Let(X, Box<C>, Box<C>),
    /// ⟨C, …⟩_T, with the type of the tuple.
    Tuple(Ty, Vec<C>),
    /// C.i, with the type of the tuple.
    Proj(Ty, usize, Box<C>),
    /// A constructor applied.
    Con(DataId, Rc<[Ty]>, u32, Vec<C>),
    /// A field of a value of this constructor.
    Field(DataId, Rc<[Ty]>, u32, usize, Box<C>),
    /// An array of elements of this type.
    Array(Ty, Vec<C>),
    /// An element of an array of this type of element.
    Element(Ty, usize, Box<C>),
}

/// `let x:T = C in …`
#[derive(Clone)]
pub(super) struct Binding {
    pub x: X,
    pub term: C,
    /// The trace in whose derivative x counts as constant, for the rules of `with_derivative` (ours).
    pub held: Option<u32>,
    /// The place of the redex.
    pub site: Span,
}

impl Influence {
    /// On nothing.
    pub const NONE: Influence = Influence::All(0);

    /// What any part depends on.
    pub fn mask(&self) -> u128 {
        match self {
            Influence::All(mask) => *mask,
            Influence::Parts(spread) => spread.mask,
        }
    }

    /// Of a component, field or element.
    pub fn part(&self, i: usize) -> Influence {
        match self {
            Influence::All(mask) => Influence::All(*mask),
            Influence::Parts(spread) => spread.parts.get(i).cloned().unwrap_or(Influence::NONE),
        }
    }

    /// Of a structure of these.
    pub fn of(parts: Vec<Influence>) -> Influence {
        let mask = parts.iter().fold(0, |mask, part| mask | part.mask());
        let same = |part: &Influence| matches!(part, Influence::All(m) if *m == mask);
        if parts.iter().all(same) {
            return Influence::All(mask);
        }
        Influence::Parts(Rc::new(Spread { mask, parts }))
    }

    /// Also on the differentiation variable of the trace with this number.
    pub fn with(&self, level: u32) -> Influence {
        match self {
            Influence::All(mask) => Influence::All(mask | 1 << level),
            Influence::Parts(spread) => {
                deep(|| Influence::of(spread.parts.iter().map(|p| p.with(level)).collect()))
            }
        }
    }

    /// Without the trace of this number.
    pub fn without(&self, level: u32) -> Influence {
        match self {
            Influence::Parts(spread) if spread.mask & (1 << level) != 0 => {
                deep(|| Influence::of(spread.parts.iter().map(|p| p.without(level)).collect()))
            }
            Influence::Parts(_) => self.clone(),
            Influence::All(mask) => Influence::All(mask & !(1 << level)),
        }
    }
}

impl Drop for Spread {
    /// Lists are deep.
    fn drop(&mut self) {
        let mut pending = std::mem::take(&mut self.parts);
        while let Some(part) = pending.pop() {
            if let Influence::Parts(rc) = part {
                if let Ok(mut spread) = Rc::try_unwrap(rc) {
                    pending.append(&mut spread.parts);
                }
            }
        }
    }
}

impl Drop for OpenValues {
    fn drop(&mut self) {
        let mut pending = std::mem::take(&mut self.0);
        while let Some(v) = pending.pop() {
            match v {
                V::Tuple(rc) | V::Data(_, rc) | V::Array(rc) | V::Closure(_, rc) => {
                    if let Ok(mut parts) = Rc::try_unwrap(rc) {
                        pending.append(&mut parts.0);
                    }
                }
                V::Closed(_) | V::Var(_) => {}
            }
        }
    }
}

/// What does not fit the types: a bug.
pub(super) fn internal(message: &str) -> ErrorKind {
    ErrorKind::Internal { message: format!("in a trace: {message}") }
}

impl V {
    /// A structure of values, closed if they all are: `open` and `closed` make it.
    pub fn structure(
        parts: Vec<V>,
        open: impl FnOnce(Rc<OpenValues>) -> V,
        closed: impl FnOnce(Vec<Value>) -> Result<Value, ErrorKind>,
    ) -> Result<V, ErrorKind> {
        if !parts.iter().all(V::is_closed) {
            return Ok(open(Rc::new(OpenValues(parts))));
        }
        let closed_parts = parts
            .into_iter()
            .map(|v| match v {
                V::Closed(value) => value,
                open => open.close(),
            })
            .collect();
        closed(closed_parts).map(V::Closed)
    }

    /// Whether there is no trace variable in it.
    pub fn is_closed(&self) -> bool {
        matches!(self, V::Closed(_))
    }

    /// ρ(V)
    pub fn close(&self) -> Value {
        let all =
            |parts: &OpenValues| -> Vec<Value> { deep(|| parts.0.iter().map(V::close).collect()) };
        match self {
            V::Closed(value) => value.clone(),
            V::Var(x) => x.value.clone(),
            V::Tuple(parts) => Value::tuple(all(parts)),
            V::Data(tag, fields) => Value::data(*tag, all(fields)),
            V::Array(elements) => {
                let array = diffeo_calculus::array::Array::from_values(all(elements));
                Value::array(array.unwrap_or_else(|_| diffeo_calculus::array::Array::empty()))
            }
            V::Closure(code, captured) => closure(*code, all(captured)),
        }
    }

    /// Which differentiation variables it depends on.
    pub fn influence(&self) -> Influence {
        match self {
            V::Closed(_) => Influence::NONE,
            V::Var(x) => x.influence.borrow().clone(),
            V::Tuple(parts) | V::Data(_, parts) | V::Array(parts) | V::Closure(_, parts) => {
                deep(|| Influence::of(parts.0.iter().map(V::influence).collect()))
            }
        }
    }

    /// The value as a trace term of this type.
    pub fn term(&self, ty: &Ty) -> Result<C, ErrorKind> {
        match self {
            V::Closed(value) => Ok(C::Closed(value.clone(), ty.clone())),
            V::Var(x) => Ok(C::Var(x.clone())),
            V::Tuple(parts) => {
                let types = ty.components().ok_or_else(|| internal("a tuple of another type"))?;
                let components: Result<Vec<C>, ErrorKind> =
                    parts.0.iter().zip(&types).map(|(v, ty)| v.term(ty)).collect();
                Ok(C::Tuple(ty.clone(), components?))
            }
            V::Data(..) | V::Array(_) | V::Closure(..) => Err(internal("a function")),
        }
    }
}

/// A closure whose captured values are closed.
pub(super) fn closure(code: u32, captured: Vec<Value>) -> Value {
    Value::Function(Rc::new(FunctionValue::Closure { code, captured: captured.into() }))
}

impl C {
    /// A Real constant.
    pub fn real(x: f64) -> C {
        C::Closed(Value::Real(x), Ty::Real)
    }

    /// Its value at the point of the trace.
    pub fn value(&self) -> Result<Value, ErrorKind> {
        self.value_in(&HashMap::new())
    }

    /// Its value where variables have other values; those that are not listed keep theirs.
    pub fn value_in(&self, rho: &HashMap<u32, Value>) -> Result<Value, ErrorKind> {
        let all = |terms: &[C]| -> Result<Vec<Value>, ErrorKind> {
            deep(|| terms.iter().map(|c| c.value_in(rho)).collect())
        };
        match self {
            C::Var(x) => Ok(rho.get(&x.id).unwrap_or(&x.value).clone()),
            C::Closed(value, _) => Ok(value.clone()),
            C::Op(op, operands) => match all(operands)?.as_slice() {
                [Value::Real(a)] => Ok(Value::Real(real::eval(*op, *a, 0.0))),
                [Value::Real(a), Value::Real(b)] => Ok(Value::Real(real::eval(*op, *a, *b))),
                _ => Err(internal("an operation on what are no Reals")),
            },
            C::Let(x, c, d) => deep(|| {
                let mut inner = rho.clone();
                inner.insert(x.id, c.value_in(rho)?);
                d.value_in(&inner)
            }),
            C::Tuple(_, components) => Ok(Value::tuple(all(components)?)),
            C::Con(_, _, tag, fields) => Ok(Value::data(*tag, all(fields)?)),
            C::Array(_, elements) => {
                Ok(Value::array(diffeo_calculus::array::Array::from_values(all(elements)?)?))
            }
            C::Proj(_, i, c) | C::Field(_, _, _, i, c) | C::Element(_, i, c) => {
                deep(|| part_of(&c.value_in(rho)?, *i))
            }
        }
    }

    /// Which differentiation variables it depends on, a term of values.
    pub fn influence(&self) -> Influence {
        match self {
            C::Var(x) => x.influence.borrow().clone(),
            C::Closed(..) => Influence::NONE,
            C::Op(_, operands) => {
                Influence::All(operands.iter().fold(0, |mask, c| mask | c.influence().mask()))
            }
            C::Let(_, c, d) => Influence::All(c.influence().mask() | d.influence().mask()),
            C::Tuple(_, parts) | C::Con(_, _, _, parts) | C::Array(_, parts) => {
                Influence::of(parts.iter().map(C::influence).collect())
            }
            C::Proj(_, i, c) | C::Field(_, _, _, i, c) | C::Element(_, i, c) => {
                c.influence().part(*i)
            }
        }
    }
}

/// A component of a tuple, field of a constructor or element of an array.
pub(super) fn part_of(value: &Value, i: usize) -> Result<Value, ErrorKind> {
    let part = match value {
        Value::Array(array) if i < array.len() => Some(array.get(i)),
        other => other.fields().get(i).cloned(),
    };
    part.ok_or_else(|| internal("a part that is not there"))
}

/// Whether two values of one shape have the same leaf constants.
pub(super) fn same_constants(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.iter().zip(b.iter()).all(|(a, b)| deep(|| same_constants(&a, &b)))
        }
        _ => a.fields().iter().zip(b.fields()).all(|(a, b)| deep(|| same_constants(a, b))),
    }
}

/// How many parts a structure has.
pub(super) fn parts(value: &Value) -> usize {
    match value {
        Value::Array(array) => array.len(),
        other => other.fields().len(),
    }
}

/// The type of a part of a value of this type.
pub(super) fn part_ty(
    program: &Program,
    ty: &Ty,
    value: &Value,
    i: usize,
) -> Result<Ty, ErrorKind> {
    let none = || internal("a part of what has none");
    match (ty, value) {
        (Ty::Array(element), _) => Ok((**element).clone()),
        (Ty::Tuple(types), _) => types.get(i).cloned().ok_or_else(none),
        (Ty::Record(fields), _) => fields.get(i).map(|(_, ty)| ty.clone()).ok_or_else(none),
        (Ty::Data(data, args), Value::Data(d)) => {
            let fields = &program.datas[data.0 as usize].constructors[d.tag as usize].fields;
            fields.get(i).map(|ty| ty.instantiate(args)).ok_or_else(none)
        }
        (
            Ty::Data(..)
            | Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Fun(_)
            | Ty::Param(_),
            _,
        ) => Err(none()),
    }
}

/// The elimination of part i of C, a term of this type and value.
pub(super) fn part_term(ty: &Ty, value: &Value, i: usize, c: C) -> Result<C, ErrorKind> {
    match (ty, value) {
        (Ty::Tuple(_) | Ty::Record(_), _) => Ok(C::Proj(ty.clone(), i, Box::new(c))),
        (Ty::Array(element), _) => Ok(C::Element((**element).clone(), i, Box::new(c))),
        (Ty::Data(data, args), Value::Data(d)) => {
            Ok(C::Field(*data, args.clone(), d.tag, i, Box::new(c)))
        }
        (
            Ty::Data(..)
            | Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Fun(_)
            | Ty::Param(_),
            _,
        ) => Err(internal("a part of what has none")),
    }
}

/// The introduction of a structure like this value, of this type, from its parts.
pub(super) fn structure_term(ty: &Ty, like: &Value, parts: Vec<C>) -> Result<C, ErrorKind> {
    match (ty, like) {
        (Ty::Tuple(_) | Ty::Record(_), _) => Ok(C::Tuple(ty.clone(), parts)),
        (Ty::Array(element), _) => Ok(C::Array((**element).clone(), parts)),
        (Ty::Data(data, args), Value::Data(d)) => Ok(C::Con(*data, args.clone(), d.tag, parts)),
        (
            Ty::Data(..)
            | Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Fun(_)
            | Ty::Param(_),
            _,
        ) => Err(internal("a structure of parts of what has none")),
    }
}
