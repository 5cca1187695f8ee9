//! Why a format cannot hold values of a type: the part that is wrong, and what to do about it.
//!
//! In: a format and a type that does not fit it. Out: half a sentence that names the first parts that are
//! wrong, and advice, in which options are those of the command line.

use super::error::ColumnLengths;
use super::format::Format;
use super::shape::{layout, leaf, maybe, members, Cell};
use super::show_type;
use diffeo_base::{field_name, is_word, Name};
use diffeo_calculus::ty::{DataDecl, Ty, WellKnown};

/// The most parts that a message names.
const NAMED: usize = 3;

/// The contents of a cell of a table.
const CELL: &str = "a cell is a Real, Int, Bool or String, or a `Maybe` of one of these";

/// The reason why a type does not fit.
enum Misfit<'t> {
    /// A type without parts that the format has.
    Whole(&'static str),
    /// These fields of a record are no columns.
    Columns(Vec<(&'t Name, &'t Ty)>),
    /// These fields of the rows are no cells.
    Fields(Vec<(&'t Name, &'t Ty)>),
    /// This component of the rows is no cell.
    Component(usize, &'t Ty),
    /// The elements are no cells: those of the array, or of its rows.
    Elements(&'static str, &'t Ty),
    /// These fields are no arrays of numbers.
    Members(Vec<(&'t Name, &'t Ty)>),
    /// The innermost elements of an array are no numbers.
    Numbers(&'t Ty),
}

/// A type without parts for a format, in words.
fn called(ty: &Ty, datas: &[DataDecl]) -> &'static str {
    match ty {
        Ty::Real | Ty::Int => "one number",
        Ty::Bool => "one truth value",
        Ty::String => "a text",
        Ty::Unit => "a value without parts",
        Ty::Tuple(_) => "a tuple",
        Ty::Record(fields) if fields.is_empty() => "a record without fields",
        Ty::Record(_) => "a record",
        Ty::Array(_) => "an array",
        Ty::Data(..) if maybe(ty, datas).is_some() => "a value that may be missing",
        Ty::Data(..) if is_list(ty, datas) => "a list",
        Ty::Data(..) => "a value of a variant type",
        Ty::Fun(_) | Ty::Param(_) => "no data",
    }
}

fn is_list(ty: &Ty, datas: &[DataDecl]) -> bool {
    let Ty::Data(id, _) = ty else { return false };
    datas.get(id.0 as usize).is_some_and(|decl| decl.is(WellKnown::List))
}

/// The fields for which something does not hold.
fn without(fields: &[(Name, Ty)], holds: impl Fn(&Ty) -> bool) -> Vec<(&Name, &Ty)> {
    fields.iter().filter(|(_, ty)| !holds(ty)).map(|(name, ty)| (name, ty)).collect()
}

fn is_column(ty: &Ty, datas: &[DataDecl]) -> bool {
    matches!(ty, Ty::Array(element) if Cell::of(element, datas).is_some())
}

fn misfit<'t>(format: Format, ty: &'t Ty, datas: &[DataDecl]) -> Misfit<'t> {
    let is_cell = |ty: &Ty| Cell::of(ty, datas).is_some();
    match (format, ty) {
        (Format::Npz, Ty::Record(fields)) if !fields.is_empty() => {
            Misfit::Members(without(fields, |ty| leaf(ty).is_some()))
        }
        (Format::Npy, Ty::Array(element)) => {
            let mut element = &**element;
            while let Ty::Array(inner) = element {
                element = inner;
            }
            Misfit::Numbers(element)
        }
        (Format::Npy | Format::Npz | Format::Json, _) => Misfit::Whole(called(ty, datas)),
        (_, Ty::Record(fields)) if !fields.is_empty() => {
            Misfit::Columns(without(fields, |ty| is_column(ty, datas)))
        }
        (_, Ty::Array(element)) => match &**element {
            Ty::Record(fields) if !fields.is_empty() => Misfit::Fields(without(fields, is_cell)),
            Ty::Tuple(types) => match types.iter().position(|ty| !is_cell(ty)) {
                Some(i) => Misfit::Component(i, &types[i]),
                None => Misfit::Whole("an array"),
            },
            Ty::Array(inner) => Misfit::Elements("the elements of its rows", inner),
            other => Misfit::Elements("its elements", other),
        },
        _ => Misfit::Whole(called(ty, datas)),
    }
}

/// `its fields `b: Real` and `c: {x: Int}` are`, the first of many.
fn fields(of: &str, all: &[(&Name, &Ty)], datas: &[DataDecl]) -> String {
    let told =
        |(name, ty): &(&Name, &Ty)| format!("`{}: {}`", field_name(name), show_type(ty, datas));
    let mut texts: Vec<String> = all.iter().take(NAMED).map(told).collect();
    if all.len() > NAMED {
        texts.push(format!("{} more", all.len() - NAMED));
    }
    match texts.split_last() {
        Some((one, [])) => format!("the field {one} of {of} is"),
        Some((last, others)) => format!("the fields {} and {last} of {of} are", others.join(", ")),
        None => format!("a field of {of} is"),
    }
}

impl Format {
    /// Why this type does not fit, behind the type.
    pub(super) fn why_not(self, ty: &Ty, datas: &[DataDecl]) -> String {
        let many = |all: &[(&Name, &Ty)], one: &str, several: &str| {
            if all.len() == 1 { one } else { several }.to_string()
        };
        match misfit(self, ty, datas) {
            Misfit::Whole(_) if self == Format::Json => "it has a function".to_string(),
            Misfit::Whole(what) => match self {
                Format::Npy => format!("it is {what}, no array of numbers"),
                Format::Npz => format!("it is {what}, no record of arrays"),
                _ => format!("it is {what}, no table"),
            },
            Misfit::Columns(all) => {
                format!("{} {}", fields("it", &all, datas), many(&all, "no column", "no columns"))
            }
            Misfit::Fields(all) => {
                format!("{} {}", fields("its rows", &all, datas), many(&all, "no cell", "no cells"))
            }
            Misfit::Component(i, ty) => format!(
                "the component {i} of its rows, of type `{}`, is no cell",
                show_type(ty, datas)
            ),
            Misfit::Elements(which, ty) => {
                format!("{which}, of type `{}`, are no cells", show_type(ty, datas))
            }
            Misfit::Members(all) => format!(
                "{} {}",
                fields("it", &all, datas),
                many(&all, "no array of numbers", "no arrays of numbers")
            ),
            Misfit::Numbers(ty) => {
                format!(
                    "its elements, of type `{}`, are not Real, Int or Bool",
                    show_type(ty, datas)
                )
            }
        }
    }

    /// The advice: what the format holds, another shape, another format. Where a result is written, `within` is the
    /// field of it that is, with a point behind it; nothing of a whole result.
    pub(super) fn what_fits(self, ty: &Ty, datas: &[DataDecl], within: Option<&str>) -> String {
        let misfit = misfit(self, ty, datas);
        let holds = match misfit {
            Misfit::Whole(_) if self == Format::Json => {
                return "a function has no representation as data".to_string();
            }
            Misfit::Columns(_) => format!("a column is an array, and {CELL}"),
            Misfit::Fields(_) | Misfit::Component(..) | Misfit::Elements(..) => CELL.to_string(),
            Misfit::Whole(_) | Misfit::Members(_) | Misfit::Numbers(_) => {
                self.info().holds.to_string()
            }
        };
        let shape = within.and_then(|within| self.other_shape(&misfit, ty, datas, within));
        let format = match self {
            _ if *ty == Ty::String => "a String is written to a .txt file as it is",
            _ if leaf(ty).is_some() => "this type fits into .npy and .json",
            Format::Npz | Format::Json => ".json holds every value",
            _ if members(ty).is_some() => "this type fits into .npz and .json",
            _ => ".json holds every value",
        };
        let parts = [Some(holds), shape, Some(format.to_string())];
        parts.into_iter().flatten().collect::<Vec<String>>().join("; ")
    }

    /// Another shape that a result can have, or a part of it that fits.
    fn other_shape(
        self,
        misfit: &Misfit<'_>,
        ty: &Ty,
        datas: &[DataDecl],
        within: &str,
    ) -> Option<String> {
        // The first field that may be a file of its own.
        let part = |fits: &dyn Fn(&Ty) -> bool, ending: &str| {
            let Ty::Record(fields) = ty else { return None };
            let (name, _) = fields.iter().find(|(name, ty)| is_word(name) && fits(ty))?;
            Some(format!("`--out {within}{name}={name}.{ending}` writes the field `{name}` alone"))
        };
        match (misfit, ty) {
            (Misfit::Columns(_), Ty::Record(fields))
                if fields.iter().all(|(_, ty)| Cell::of(ty, datas).is_some()) =>
            {
                Some("an array of such records, `[r]`, is a table of one row".to_string())
            }
            (Misfit::Columns(_), _) => part(&|ty| layout(ty, datas).is_some(), self.word()),
            (Misfit::Fields(all), _) => match all.first() {
                Some((name, Ty::Record(_))) => {
                    Some(format!("put the fields of `{name}` beside the others of a row"))
                }
                Some((name, Ty::Array(_) | Ty::Tuple(_))) => Some(format!(
                    "give each element of `{name}` a field of its own, or a row of its own"
                )),
                _ => None,
            },
            (Misfit::Component(..), _) => {
                Some("a row of single components, `(a, b, c)`, holds them".to_string())
            }
            (Misfit::Elements(..), _) => None,
            (Misfit::Members(_), _) => part(&|ty| leaf(ty).is_some(), "npy"),
            (Misfit::Numbers(Ty::Record(_)), _) => Some(
                "a record of arrays in place of an array of records fits into .npz".to_string(),
            ),
            (Misfit::Numbers(_), _) => None,
            (Misfit::Whole(_), ty) if is_list(ty, datas) => {
                Some("`list_to_array` makes an array of a list".to_string())
            }
            (Misfit::Whole(_), Ty::Tuple(types))
                if self != Format::Npy && types.iter().all(|ty| is_column(ty, datas)) =>
            {
                Some("a record has them by name, `{a = …, b = …}`".to_string())
            }
            (Misfit::Whole(_), Ty::Tuple(types))
                if !matches!(self, Format::Npy | Format::Npz)
                    && types.iter().all(|ty| Cell::of(ty, datas).is_some()) =>
            {
                Some("an array of such tuples, `[t]`, is a table of one row".to_string())
            }
            (Misfit::Whole(_), Ty::Real | Ty::Int | Ty::Bool) if self != Format::Npz => {
                Some("an array, `[x]`, is a table with a line for each element".to_string())
            }
            (Misfit::Whole(_), Ty::Real | Ty::Int | Ty::Bool | Ty::Array(_))
                if self == Format::Npz =>
            {
                Some("a record, `{x = …}`, gives it a name".to_string())
            }
            (Misfit::Whole(_), Ty::Data(..)) if maybe(ty, datas).is_some() => {
                Some("`case` takes it out of `Just`".to_string())
            }
            (Misfit::Whole(_), _) => None,
        }
    }
}

/// The advice about arrays of different lengths that are to be the columns of a table.
pub(super) fn lengths_help(lengths: &ColumnLengths, within: &str) -> String {
    let ColumnLengths { format, first: (first, _), other: (other, _), numbers } = lengths;
    let word = format.word();
    let others = if *numbers { ".npz and .json hold" } else { ".json holds" };
    format!(
        "a table has a row for each element; `--out {within}{first}={first}.{word} --out {within}{other}={other}.{word}` \
         writes each to a file of its own; {others} arrays of different lengths"
    )
}
