//! Values that are tables: arrays of records, of tuples and of rows, of numbers, texts and truth values.

use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use diffeo_plot_values::show;
use serde_json::{json, Value as Json};

/// How many rows and columns are shown.
const MOST: usize = 100;

/// The table that a value is: `columns`, `rows` of texts, and how many rows there are; null for other values.
pub(crate) fn table(value: &Value, ty: &Ty, datas: &[DataDecl]) -> Json {
    let (Value::Array(array), Ty::Array(element)) = (value, ty) else { return Json::Null };
    if array.is_empty() {
        return Json::Null;
    }
    let first = array.get(0);
    let (columns, cells): (Vec<Json>, Vec<Ty>) = match (&**element, &first) {
        (Ty::Record(fields), _) => (
            fields.iter().map(|(n, _)| json!(n.as_str())).collect(),
            fields.iter().map(|(_, t)| t.clone()).collect(),
        ),
        (Ty::Tuple(types), _) => ((0..types.len()).map(|i| json!(i)).collect(), types.to_vec()),
        (Ty::Array(cell), Value::Array(row)) => {
            let width = row.len().min(MOST);
            ((0..width).map(|i| json!(i)).collect(), vec![Ty::clone(cell); width])
        }
        _ => return Json::Null,
    };
    let flat = |ty: &Ty| matches!(ty, Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Data(..));
    if columns.is_empty() || !cells.iter().all(flat) {
        return Json::Null;
    }
    let rows: Vec<Vec<String>> = array
        .iter()
        .take(MOST)
        .map(|row| {
            let parts: Vec<Value> = match &row {
                Value::Array(row) => row.iter().take(MOST).collect(),
                row => row.fields().to_vec(),
            };
            parts.iter().zip(&cells).map(|(cell, ty)| shown(cell, ty, datas)).collect()
        })
        .collect();
    json!({ "columns": columns, "rows": rows, "count": array.len() })
}

fn shown(cell: &Value, ty: &Ty, datas: &[DataDecl]) -> String {
    match cell {
        Value::String(text) => text.to_string(),
        cell => show(cell, ty, datas),
    }
}
