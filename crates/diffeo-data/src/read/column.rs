//! Growing arrays of one element type, stored as the evaluator stores them: numbers in flat
//! vectors, tuples and records by component, rows one after the other.
//!
//! Every reader fills columns, so that a large file goes straight into its final form. They grow by
//! half ([`push`]), so that even where growing copies, less than three times the final size is ever
//! taken.

use diffeo_calculus::array::Array;
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;

/// The elements read so far.
pub(super) enum Column {
    Real(Vec<f64>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
    /// Tuples and records: a column for each component.
    Tuple(Vec<Column>),
    /// Arrays: the length of the first, and the elements of all.
    Rows {
        width: Option<usize>,
        count: usize,
        elements: Box<Column>,
    },
    /// Whatever else there is.
    Other(Vec<Value>),
}

/// Puts an element at the end, with room for half as many more where there is none left: at that
/// moment the old and the new room together are 2.5 times the elements.
pub(super) fn push<T>(elements: &mut Vec<T>, element: T) {
    if elements.len() == elements.capacity() {
        elements.reserve_exact((elements.len() / 2).max(4));
    }
    elements.push(element);
}

fn shrunk<T>(mut elements: Vec<T>) -> Vec<T> {
    elements.shrink_to_fit();
    elements
}

impl Column {
    /// No elements of this type.
    pub fn new(ty: &Ty) -> Column {
        match ty {
            Ty::Real => Column::Real(Vec::new()),
            Ty::Int => Column::Int(Vec::new()),
            Ty::Bool => Column::Bool(Vec::new()),
            Ty::Tuple(types) => Column::Tuple(types.iter().map(Column::new).collect()),
            Ty::Record(fields) if !fields.is_empty() => {
                Column::Tuple(fields.iter().map(|(_, t)| Column::new(t)).collect())
            }
            Ty::Array(element) => {
                Column::Rows { width: None, count: 0, elements: Box::new(Column::new(element)) }
            }
            Ty::Record(_) | Ty::String | Ty::Unit | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => {
                Column::Other(Vec::new())
            }
        }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Column::Real(v) => v.len(),
            Column::Int(v) => v.len(),
            Column::Bool(v) => v.len(),
            Column::Tuple(columns) => columns.first().map_or(0, Column::len),
            Column::Rows { count, .. } => *count,
            Column::Other(v) => v.len(),
        }
    }

    /// Makes the elements read so far one array, the only one.
    pub fn close(&mut self) {
        if let Column::Rows { width, count, elements } = self {
            (*width, *count) = (Some(elements.len()), 1);
        }
    }

    /// The array of the elements.
    pub fn into_array(self) -> Array {
        match self {
            Column::Real(v) => Array::from_reals(shrunk(v)),
            Column::Int(v) => Array::from_ints(shrunk(v)),
            Column::Bool(v) => Array::from_bools(shrunk(v)),
            Column::Tuple(columns) => {
                Array::tuples(columns.into_iter().map(Column::into_array).collect())
            }
            Column::Rows { width, count, elements } => match width {
                Some(width) => Array::rows(count, width, elements.into_array()),
                // No row has come: whatever shape is wanted fits.
                None => Array::empty(),
            },
            Column::Other(v) => {
                Array::from_values(v).expect("texts, variants and () are no irregular rows")
            }
        }
    }

    /// The only element.
    pub fn into_value(self) -> Option<Value> {
        match self {
            Column::Real(v) => v.first().map(|&r| Value::Real(r)),
            Column::Int(v) => v.first().map(|&i| Value::Int(i)),
            Column::Bool(v) => v.first().map(|&b| Value::Bool(b)),
            Column::Tuple(columns) => columns
                .into_iter()
                .map(Column::into_value)
                .collect::<Option<Vec<_>>>()
                .map(Value::tuple),
            Column::Rows { elements, .. } => Some(Value::array(elements.into_array())),
            Column::Other(mut v) => v.pop(),
        }
    }
}
