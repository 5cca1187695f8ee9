//! What the formats can hold: the layout of a type in a table, the number type and rank of an NPY
//! file, the arrays of an NPZ file; and the types of the prelude that data has a notation for.

use diffeo_base::Name;
use diffeo_calculus::ty::{DataDecl, Ty, WellKnown, NOTHING};
use diffeo_calculus::value::Value;
use diffeo_front::interface::Type;

/// The T of `Maybe[T]`.
pub(super) fn maybe<'t>(ty: &'t Ty, datas: &[DataDecl]) -> Option<&'t Ty> {
    let Ty::Data(id, args) = ty else { return None };
    datas.get(id.0 as usize).filter(|decl| decl.is(WellKnown::Maybe)).and(args.first())
}

/// What stands for a value of this type that is left out: `Nothing` of a `Maybe`.
pub fn left_out(ty: &Ty, datas: &[DataDecl]) -> Option<Value> {
    maybe(ty, datas).map(|_| Value::data(NOTHING, []))
}

/// What a cell of a table holds.
#[derive(Clone, Copy)]
pub(super) struct Cell<'t> {
    /// Its whole type.
    pub ty: &'t Ty,
    /// Real, Int, Bool or String.
    pub scalar: &'t Ty,
    /// Whether it may be missing.
    pub maybe: bool,
}

impl<'t> Cell<'t> {
    pub fn of(ty: &'t Ty, datas: &[DataDecl]) -> Option<Cell<'t>> {
        let inner = maybe(ty, datas);
        let (scalar, maybe) = (inner.unwrap_or(ty), inner.is_some());
        matches!(scalar, Ty::Real | Ty::Int | Ty::Bool | Ty::String).then_some(Cell {
            ty,
            scalar,
            maybe,
        })
    }
}

/// What a type is, for a table.
pub(super) enum TableLayout<'t> {
    /// An array of records: the fields by name.
    Records(Vec<(&'t Name, Cell<'t>)>),
    /// A record of arrays, its columns.
    Columns(Vec<(&'t Name, Cell<'t>)>),
    /// Tuples.
    Tuples(Vec<Cell<'t>>),
    /// Rows of cells of one type, any number of them.
    Rows(Cell<'t>),
    /// One cell on each line.
    Cells(Cell<'t>),
}

impl TableLayout<'_> {
    /// The order in which the program writes the fields, by the interface's type of the table.
    pub fn order(&self, interface: Option<&Type>) -> Option<Vec<Name>> {
        let interface = match interface? {
            ty @ Type::Variant(_, args) if ty.is(WellKnown::Maybe) => args.first()?,
            ty => ty,
        };
        let fields = match (self, interface) {
            (TableLayout::Columns(_), Type::Record(fields)) => fields,
            (TableLayout::Records(_), Type::Array(_, element)) => match &**element {
                Type::Record(fields) => fields,
                _ => return None,
            },
            _ => return None,
        };
        Some(fields.written().map(|(name, _)| name.clone()).collect())
    }
}

/// How a type is laid out in a table, if it can be.
pub(super) fn layout<'t>(ty: &'t Ty, datas: &[DataDecl]) -> Option<TableLayout<'t>> {
    let element = match ty {
        Ty::Array(element) => element,
        Ty::Record(fields) if !fields.is_empty() => {
            let column = |(name, ty): &'t (Name, Ty)| match ty {
                Ty::Array(element) => Some((name, Cell::of(element, datas)?)),
                _ => None,
            };
            return fields.iter().map(column).collect::<Option<_>>().map(TableLayout::Columns);
        }
        _ => return None,
    };
    Some(match &**element {
        Ty::Record(fields) if !fields.is_empty() => TableLayout::Records(
            fields
                .iter()
                .map(|(name, ty)| Some((name, Cell::of(ty, datas)?)))
                .collect::<Option<_>>()?,
        ),
        Ty::Tuple(types) => {
            TableLayout::Tuples(types.iter().map(|ty| Cell::of(ty, datas)).collect::<Option<_>>()?)
        }
        Ty::Array(inner) => TableLayout::Rows(Cell::of(inner, datas)?),
        other => TableLayout::Cells(Cell::of(other, datas)?),
    })
}

/// The number type and the rank of a type that an NPY file can hold.
pub(super) fn leaf(ty: &Ty) -> Option<(&Ty, usize)> {
    let (mut ty, mut rank) = (ty, 0);
    while let Ty::Array(element) = ty {
        (ty, rank) = (element, rank + 1);
    }
    matches!(ty, Ty::Real | Ty::Int | Ty::Bool).then_some((ty, rank))
}

/// The fields of a record that an NPZ file can hold, each as an array of its name.
pub(super) fn members(ty: &Ty) -> Option<&[(Name, Ty)]> {
    match ty {
        Ty::Record(fields) if !fields.is_empty() => {
            fields.iter().all(|(_, ty)| leaf(ty).is_some()).then_some(fields)
        }
        _ => None,
    }
}
