//! What the formats can hold: the layout of a type in a table, the number type and rank of an NPY
//! file, the arrays of an NPZ file; and the types of the prelude that data has a notation for.

use super::place::Format;
use diffeo_base::Name;
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;

/// The tags of the constructors of `List`.
pub(crate) const NIL: u32 = 0;
pub(crate) const CONS: u32 = 1;

/// Whether this is the type of lists, which JSON writes as arrays.
pub(crate) fn is_list(decl: &DataDecl) -> bool {
    decl.name == "List" && decl.constructors.len() == 2 && decl.params == 1
}

/// The tags of `Nothing` and `Just`.
#[derive(Clone, Copy)]
pub(super) struct MaybeTags {
    pub nothing: u32,
    pub just: u32,
}

/// The T of `Maybe[T]`.
pub(super) fn maybe<'t>(ty: &'t Ty, datas: &[DataDecl]) -> Option<(&'t Ty, MaybeTags)> {
    let Ty::Data(id, args) = ty else { return None };
    let ([inner], Some(decl)) = (&args[..], datas.get(id.0 as usize)) else { return None };
    let tag = |name: &str, fields: &[Ty]| {
        decl.constructors.iter().position(|c| c.name == name && c.fields == fields)
    };
    let tags = MaybeTags {
        nothing: tag("Nothing", &[])? as u32,
        just: tag("Just", &[Ty::Param(0)])? as u32,
    };
    (decl.name == "Maybe" && decl.constructors.len() == 2).then_some((inner, tags))
}

/// What stands for a value of this type that is left out: `Nothing` of a `Maybe`.
pub fn left_out(ty: &Ty, datas: &[DataDecl]) -> Option<Value> {
    maybe(ty, datas).map(|(_, tags)| Value::data(tags.nothing, []))
}

/// What a cell of a table holds.
#[derive(Clone, Copy)]
pub(super) struct Cell<'t> {
    /// Its whole type.
    pub ty: &'t Ty,
    /// Real, Int, Bool or String.
    pub scalar: &'t Ty,
    /// Where it may be missing.
    pub maybe: Option<MaybeTags>,
}

impl<'t> Cell<'t> {
    fn of(ty: &'t Ty, datas: &[DataDecl]) -> Option<Cell<'t>> {
        let (scalar, maybe) = match maybe(ty, datas) {
            Some((inner, tags)) => (inner, Some(tags)),
            None => (ty, None),
        };
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
    /// The order in which the fields are declared, if one of these orders is theirs.
    pub fn order<'o>(&self, orders: &'o [Vec<Name>]) -> Option<&'o [Name]> {
        let (TableLayout::Records(fields) | TableLayout::Columns(fields)) = self else {
            return None;
        };
        let is_theirs = |order: &&Vec<Name>| {
            order.len() == fields.len() && fields.iter().all(|(name, _)| order.contains(name))
        };
        orders.iter().find(is_theirs).map(Vec::as_slice)
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

impl Format {
    /// The format with an article, for messages.
    pub(super) fn article(self) -> &'static str {
        match self {
            Format::Json => "a JSON file",
            Format::Npy => "an NPY file",
            Format::Npz => "an NPZ file",
            Format::Csv => "a CSV file",
            Format::Tsv => "a TSV file",
            Format::Text => "a text file",
            Format::Excel => "an Excel file",
            Format::Parquet => "a Parquet file",
            Format::Arrow => "an Arrow file",
        }
    }

    /// The format without an article.
    pub(super) fn name(self) -> &'static str {
        self.article().split(' ').nth(1).unwrap_or("data")
    }

    /// What the format holds, and what to use for a value of this type.
    pub(super) fn what_fits(self, ty: &Ty) -> String {
        let holds = match self {
            Format::Json => return "a function has no representation as data".to_string(),
            Format::Npy => "it holds a Real, Int or Bool, or an array of them of any rank",
            Format::Npz => {
                "it holds arrays of Real, Int or Bool by name: a record of them, or one of them"
            }
            Format::Text => {
                "it holds a String as it is, or a table, an array of records, tuples or rows, or a record of arrays"
            }
            Format::Csv
            | Format::Tsv
            | Format::Excel
            | Format::Parquet
            | Format::Arrow => {
                "a table is an array of records, tuples or rows, or a record of arrays, whose cells are \
                 Real, Int, Bool, String or Maybe of these"
            }
        };
        let others = match self {
            _ if *ty == Ty::String => "a String is written to a .txt file as it is",
            _ if leaf(ty).is_some() => "this type fits into .npy and .json",
            Format::Npz | Format::Json => ".json holds every value",
            _ if members(ty).is_some() => "this type fits into .npz and .json",
            _ => ".json holds every value",
        };
        format!("{holds}; {others}")
    }
}
