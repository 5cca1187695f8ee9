//! Data in a session: `:data`, `--arg` and `:look`.
//!
//! What comes in is `NAME = FILE:…` or `NAME: TYPE = FILE:…`, as `run --arg` reads values. What goes out is a constant of
//! the session, whose value is the data. Without a type, the columns of the file say it: the first of [`CELLS`] that takes
//! every cell of a column.

use super::Repl;
use crate::arguments::{self, ArgumentRefusal};
use crate::commands::result_type;
use crate::printable::printable;
use crate::{print, Stop};
use diffeo::data::{show_type, DataError, Field, Problem};
use diffeo::{Entry, ModuleId, Type};
use diffeo_base::{field_name, Diagnostic, Help, Name, Span};
use diffeo_calculus::show::show;
use diffeo_calculus::ty::{DataDecl, WellKnown, JUST};
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;

/// The types of a column's cells, narrowest first: the first that fits all is taken.
const CELLS: [&str; 7] =
    ["Int", "Real", "Bool", "Maybe[Int]", "Maybe[Real]", "Maybe[Bool]", "String"];

/// The types of data that are no table, tried in this order.
const OTHERS: [&str; 6] = ["Int", "Real", "Bool", "[]Int", "[]Real", "[][]Real"];

/// The number of rows shown.
const ROWS: usize = 5;

/// The most letters of a cell.
const WIDE: usize = 20;

impl Repl {
    /// `NAME = FILE:…`, perhaps with a type.
    pub(super) fn data(&mut self, text: &str) -> Result<(), Stop> {
        let Some((head, value)) = text.split_once('=') else {
            let d = Diagnostic::error("command", Span::NONE, "`:data` needs a name and a file");
            self.shell.report(&[d.help("write `:data table = points.csv`")]);
            return Err(Stop::Refused);
        };
        let (name, ty) = match head.split_once(':') {
            Some((name, ty)) => (name.trim(), Some(ty.trim().to_string())),
            None => (head.trim(), None),
        };
        self.given(name, ty, value.trim())
    }

    /// The arguments of the command line. The type of one that `main` of the program takes is the one that it has there.
    pub(super) fn arguments(&mut self, args: &[(String, String)]) -> Result<(), Stop> {
        for (name, value) in args {
            let ty = self.parameter(name);
            self.given(name, ty, value)?;
        }
        Ok(())
    }

    /// The type of a parameter of `main`, if there is one.
    fn parameter(&mut self, name: &str) -> Option<String> {
        let context = self.context?;
        let names = self.shell.session.names_at(context, usize::MAX);
        names.iter().find(|symbol| &*symbol.name == "main")?;
        let entry = self.shell.session.callable(context, "main");
        _ = self.shell.session.take_diagnostics();
        let entry = entry?;
        let mut fields = entry.interface.fields.iter();
        fields.find(|(field, _)| *field == *name).map(|(_, ty)| ty.clone())
    }

    fn given(&mut self, name: &str, ty: Option<String>, value: &str) -> Result<(), Stop> {
        let ty = match ty {
            Some(ty) => ty,
            None => self.type_of_data(name, value)?,
        };
        let (module, entry) = self.declared(name, &ty)?;
        let value = match self.read(name, &entry, value) {
            Ok(value) => value,
            Err(ArgumentRefusal::Usage(wrong) | ArgumentRefusal::Input(wrong)) => {
                self.shell.report(&wrong);
                return Err(Stop::Refused);
            }
        };
        self.constants.keep(&entry, &value);
        self.defined(Some(module))
    }

    /// A constant of this type, whose value comes from elsewhere.
    fn declared(&mut self, name: &str, ty: &str) -> Result<(ModuleId, Entry), Stop> {
        let context = self.context;
        let text = format!("def {name}: {ty} = let none = [] in none[0]");
        let module = self.within(|session| session.definitions_in(context, None, &text))?;
        self.shell.flush()?;
        let module = module.ok_or(Stop::Refused)?;
        Ok((module, self.shell.entry(module, name)?))
    }

    fn read(&self, name: &str, entry: &Entry, value: &str) -> Result<Value, ArgumentRefusal> {
        let interface = &entry.interface;
        let (written, of) = (Some(interface.text.as_str()), Some(&interface.ty));
        let field = Field { name, ty: &entry.ty, written, interface: of };
        arguments::read(value, &field, &entry.program.datas, &self.shell.setting.limits)
    }

    /// Tries a type: the problem, if the data are none of it.
    fn tried(
        &mut self,
        name: &str,
        ty: &str,
        value: &str,
    ) -> Result<Result<(), Box<DataError>>, Stop> {
        let (_, entry) = self.declared(name, ty)?;
        // Nobody has written the type: messages leave it out.
        let (written, interface) = (Some("[]{…}"), Some(&entry.interface.ty));
        let field = Field { name, ty: &entry.ty, written, interface };
        let limits = self.shell.setting.limits.clone();
        let check = move || limits.check().map_err(|b| std::io::Error::other(b.message()));
        let read = diffeo::data::read_argument(value, &field, &entry.program.datas, &check);
        if let Err(bound) = self.shell.setting.limits.check() {
            let message = format!("{}, while reading `{name}`", bound.message());
            self.shell.report(&[Diagnostic::error(bound.code(), Span::NONE, message)]);
            return Err(Stop::Refused);
        }
        Ok(read.map(|_| ()))
    }

    /// The type that the columns of a table have, or that a value has which is none.
    fn type_of_data(&mut self, name: &str, value: &str) -> Result<String, Stop> {
        // No table has this column, and the problem names those that it has.
        let problem = match self.tried(name, "[]{no_such_column'': Real}", value)? {
            Err(problem) => problem,
            Ok(()) => return Ok("[]{}".to_string()),
        };
        let Problem::MissingColumn(_, _, columns) = &problem.problem else {
            for ty in OTHERS {
                if self.tried(name, ty, value)?.is_ok() {
                    return Ok(ty.to_string());
                }
            }
            let mut d = problem.to_diagnostic(&[]);
            let help = format!("say the type, as in `:data {name}: []{{x: Real}} = {value}`");
            d.help = Some(Help::from(help));
            self.shell.report(&[d]);
            return Err(Stop::Refused);
        };
        let mut fields = Vec::new();
        for column in columns.iter().filter(|column| !column.trim().is_empty()) {
            let field = field_name(&Name::new(column)).to_string();
            let mut found = None;
            for cell in CELLS {
                if self.tried(name, &format!("[]{{{field}: {cell}}}"), value)?.is_ok() {
                    found = Some(cell);
                    break;
                }
            }
            match found {
                Some(cell) => fields.push(format!("{field}: {cell}")),
                None => {
                    let message =
                        format!("the column `{column}` is left out: its cells have no type here");
                    self.shell.report(&[Diagnostic::warning("data", Span::NONE, message)]);
                }
            }
        }
        Ok(format!("[]{{{}}}", fields.join(", ")))
    }

    /// A table: how many rows, its columns with types, missing cells and five numbers each, the first rows.
    pub(super) fn look(&mut self, text: &str) -> Result<(), Stop> {
        let module = self.checked(text)?;
        let entry = self.shell.entry(module, "it")?;
        let (entry, value) = self.evaluate(entry)?;
        let datas = &entry.program.datas;
        match table(&value, &entry, datas) {
            Some(shown) => print::text(&printable(&shown)),
            None => {
                let message = format!(
                    "`:look` needs a table, and this is {}",
                    show_type(result_type(&entry), datas)
                );
                let d = Diagnostic::error("command", Span::NONE, message);
                self.shell.report(&[
                    d.help("a table is an array of records: `:look [{x = x} for x in xs]`")
                ]);
                Err(Stop::Refused)
            }
        }
    }
}

/// A column: its name, its type, its cells.
struct Column {
    name: String,
    ty: Ty,
    cells: Vec<Value>,
}

/// An array of records as text.
fn table(value: &Value, entry: &Entry, datas: &[DataDecl]) -> Option<String> {
    let (Value::Array(rows), Ty::Array(row)) = (value, result_type(entry)) else { return None };
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
