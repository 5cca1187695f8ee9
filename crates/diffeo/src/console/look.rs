//! A table as text: what it has in each column, and its first rows.

use crate::data::show_type;
use crate::{Entry, Type};
use diffeo_calculus::show::show;
use diffeo_calculus::ty::{DataDecl, WellKnown, JUST};
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;

/// The number of rows shown.
const ROWS: usize = 5;

/// The most letters of a cell.
const WIDE: usize = 20;

/// A column: its name, its type, its cells.
struct Column {
    name: String,
    ty: Ty,
    cells: Vec<Value>,
}

/// An array of records as text.
pub fn table(value: &Value, entry: &Entry, datas: &[DataDecl]) -> Option<String> {
    let (Value::Array(rows), Ty::Array(row)) = (value, entry.result_type()) else { return None };
    let Ty::Record(fields) = &**row else { return None };
    let rows: Vec<Value> = rows.iter().collect();
    let column = |i: usize| {
        let (name, ty) = fields[i].clone();
        let cells = rows.iter().map(|row| row.fields()[i].clone()).collect();
        Column { name: name.to_string(), ty, cells }
    };
    let written: Vec<usize> = match entry.interface.ty.sides().1 {
        Type::Array(_, row) => match &**row {
            Type::Record(own) => {
                own.written().filter_map(|(n, _)| fields.iter().position(|(f, _)| f == n)).collect()
            }
            _ => return None,
        },
        _ => return None,
    };
    let columns: Vec<Column> = written.into_iter().map(column).collect();
    let mut about = vec![["column", "type", "missing", "min", "25 %", "median", "75 %", "max"]
        .map(str::to_string)
        .to_vec()];
    about.extend(columns.iter().map(|column| described(column, datas)));
    let mut first = vec![columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>()];
    for i in 0..rows.len().min(ROWS) {
        first.push(columns.iter().map(|c| cell(&c.cells[i], &c.ty, datas)).collect());
    }
    let count = match rows.len() {
        1 => "1 row".to_string(),
        n => format!("{n} rows"),
    };
    let more = if rows.len() > ROWS { "\n…" } else { "" };
    Some(format!("{count}\n\n{}\n\n{}{more}", aligned(&about), aligned(&first)))
}

/// True for the `Maybe` of the prelude.
fn is_maybe(ty: &Ty, datas: &[DataDecl]) -> bool {
    matches!(ty, Ty::Data(id, _) if datas[id.0 as usize].known == Some(WellKnown::Maybe))
}

/// The content of a cell.
fn there<'v>(value: &'v Value, ty: &Ty, datas: &[DataDecl]) -> Option<&'v Value> {
    match value {
        Value::Data(data) if is_maybe(ty, datas) => {
            (data.tag == JUST).then(|| data.fields.first()).flatten()
        }
        value => Some(value),
    }
}

/// A line about a column.
fn described(column: &Column, datas: &[DataDecl]) -> Vec<String> {
    let Column { name, ty, cells } = column;
    let known: Vec<&Value> = cells.iter().filter_map(|v| there(v, ty, datas)).collect();
    let missing = (cells.len() - known.len()).to_string();
    let mut out = vec![name.clone(), show_type(ty, datas), missing];
    let mut numbers: Vec<f64> = known
        .iter()
        .filter_map(|value| match value {
            Value::Real(x) => Some(*x),
            Value::Int(n) => Some(*n as f64),
            _ => None,
        })
        .collect();
    if !numbers.is_empty() && numbers.iter().any(|x| x.is_nan()) {
        let count = numbers.iter().filter(|x| x.is_nan()).count();
        out[2] += &format!(" + {count} nan");
        numbers.retain(|x| !x.is_nan());
    }
    numbers.sort_by(f64::total_cmp);
    if let Some(last) = numbers.len().checked_sub(1) {
        // Between the two nearest, as `stats.quantile`.
        out.extend([0.0, 0.25, 0.5, 0.75, 1.0].map(|p| {
            let at = p * last as f64;
            let (below, part) = (at.floor() as usize, at.fract());
            let (a, b) = (numbers[below], numbers[(below + 1).min(last)]);
            short(if part == 0.0 { a } else { a + part * (b - a) })
        }));
    } else if known.iter().any(|value| matches!(value, Value::Bool(_))) {
        let count = known.iter().filter(|value| matches!(value, Value::Bool(true))).count();
        out.push(format!("{count} true"));
    } else if known.iter().any(|value| matches!(value, Value::String(_))) {
        let mut texts: Vec<&str> = known
            .iter()
            .filter_map(|value| match value {
                Value::String(text) => Some(&***text),
                _ => None,
            })
            .collect();
        texts.sort_unstable();
        texts.dedup();
        out.push(format!("{} different", texts.len()));
    }
    out
}

/// A number in six digits.
fn short(x: f64) -> String {
    let plain = format!("{x}");
    if plain.len() <= 8 || !x.is_finite() {
        return plain;
    }
    let size = x.abs();
    if (1e-4..1e6).contains(&size) {
        let digits = (5 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{x:.digits$}");
        return match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text,
        };
    }
    format!("{x:.5e}")
}

/// A cell as it is shown.
fn cell(value: &Value, ty: &Ty, datas: &[DataDecl]) -> String {
    let text = match (there(value, ty, datas), ty) {
        (None, _) => "·".to_string(),
        (Some(Value::Real(x)), _) => short(*x),
        (Some(Value::Int(n)), _) => n.to_string(),
        (Some(Value::Bool(b)), _) => b.to_string(),
        (Some(Value::String(text)), _) => text.replace(['\n', '\t', '\r'], " "),
        _ => show(value, ty, datas),
    };
    match text.char_indices().nth(WIDE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Lines whose cells stand below each other.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| {
        lines.iter().filter_map(|line| line.get(i)).map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths);
        let padded = cells.map(|(c, w)| format!("{c}{}", " ".repeat(w - c.chars().count())));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}
