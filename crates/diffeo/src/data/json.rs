//! JSON into a declared type, and any first-order value into JSON.
//!
//! Real and Int are numbers that read back exactly (`"nan"`, `"inf"`, `"-inf"` stand for what JSON
//! does not have); tuples, arrays and lists are arrays; records are objects; `()` is `null`; a
//! constructor is an object with its name as the only key. Reading goes from the text straight into
//! [`Column`]s, guided by the type.

use super::column::Column;
use super::error::{Found, Position, Problem, Step};
use super::{is_list, CONS, NIL};
use diffeo_base::Name;
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::{self, Write};

/// How deep the data may be nested. Only inductive types other than lists nest at all.
const DEPTH: usize = 20_000;

/// Room that one level of nesting certainly finds on the stack, and how much is added when it is
/// short.
const RED_ZONE: usize = 64 << 10;
const SEGMENT: usize = 4 << 20;

/// Reads a whole text as a value of a type.
pub(super) fn read(
    text: &str,
    ty: &Ty,
    datas: &[DataDecl],
) -> Result<Value, (Option<Position>, Problem)> {
    let mut reader = Reader { datas, path: Vec::new(), depth: 0, problem: None };
    let mut column = Column::new(ty);
    let mut json = serde_json::Deserializer::from_str(text);
    json.disable_recursion_limit();
    let read = Element { ty, column: &mut column, reader: &mut reader }
        .deserialize(&mut json)
        .and_then(|()| json.end());
    match read {
        Ok(()) => column.into_value().ok_or((None, Problem::Empty)),
        Err(error) => {
            let at = position(text, error.line(), error.column());
            let problem = reader.problem.unwrap_or_else(|| syntax(&error));
            Err((at, problem))
        }
    }
}

/// serde_json counts columns in bytes; messages count characters.
fn position(text: &str, line: usize, column: usize) -> Option<Position> {
    let start = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum::<usize>();
    let bytes = text.as_bytes().get(start..)?;
    let before = &bytes[..column.saturating_sub(1).min(bytes.len())];
    // Bytes that begin a character.
    let characters = before.iter().filter(|&&b| b & 0xC0 != 0x80).count();
    Some(Position { line, column: characters + 1 })
}

/// The library's message without the place that it appends.
fn syntax(error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let message = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
    Problem::Syntax(message.to_string())
}

/// What the elements share. After an error, `path` is where it happened and `problem` what it is.
struct Reader<'a> {
    datas: &'a [DataDecl],
    path: Vec<Step>,
    depth: usize,
    problem: Option<Problem>,
}

impl Reader<'_> {
    /// Keeps the problem, which an error of serde cannot hold.
    fn fail<E: serde::de::Error>(&mut self, problem: impl FnOnce(Vec<Step>) -> Problem) -> E {
        let path = std::mem::take(&mut self.path);
        self.problem = Some(problem(path));
        E::custom("")
    }
}

/// Reads one value and puts it at the end of a column.
struct Element<'r, 'a> {
    ty: &'r Ty,
    column: &'r mut Column,
    reader: &'r mut Reader<'a>,
}

impl Element<'_, '_> {
    fn wrong<T, E: serde::de::Error>(self, found: Found) -> Result<T, E> {
        let ty = self.ty.clone();
        Err(self.reader.fail(|path| Problem::Mismatch(path, ty, found)))
    }
}

impl<'de> DeserializeSeed<'de> for Element<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        if self.reader.depth >= DEPTH {
            return Err(self.reader.fail(|_| Problem::TooDeep(DEPTH)));
        }
        stacker::maybe_grow(RED_ZONE, SEGMENT, || json.deserialize_any(self))
    }
}

impl<'de> Visitor<'de> for Element<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: serde::de::Error>(self, b: bool) -> Result<(), E> {
        match self.column {
            Column::Bool(column) => column.push(b),
            _ => return self.wrong(Found::Bool(b)),
        }
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<(), E> {
        match (&mut *self.column, i64::try_from(n)) {
            (Column::Real(column), _) => column.push(n as f64),
            (Column::Int(column), Ok(n)) => column.push(n),
            _ => return self.wrong(Found::Number(n.to_string())),
        }
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<(), E> {
        match self.column {
            Column::Real(column) => column.push(n as f64),
            Column::Int(column) => column.push(n),
            _ => return self.wrong(Found::Number(n.to_string())),
        }
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, r: f64) -> Result<(), E> {
        match self.column {
            Column::Real(column) => column.push(r),
            // The library reads `-0` as this.
            Column::Int(column) if r == 0.0 && r.is_sign_negative() => column.push(0),
            _ => return self.wrong(Found::Number(format!("{r:?}"))),
        }
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        match (&mut *self.column, self.ty, text) {
            (Column::Other(column), Ty::String, _) => column.push(Value::string(text)),
            (Column::Real(column), _, "nan") => column.push(f64::NAN),
            (Column::Real(column), _, "inf") => column.push(f64::INFINITY),
            (Column::Real(column), _, "-inf") => column.push(f64::NEG_INFINITY),
            _ => return self.wrong(Found::String(text.to_string())),
        }
        Ok(())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        match (&mut *self.column, self.ty) {
            (Column::Other(column), Ty::Unit) => column.push(Value::Unit),
            _ => return self.wrong(Found::Null),
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let datas = self.reader.datas;
        match (self.ty, &mut *self.column) {
            (Ty::Array(element), Column::Rows { width, count, elements }) => {
                let reader = self.reader;
                reader.depth += 1;
                let before = elements.len();
                for i in 0.. {
                    reader.path.push(Step::Index(i));
                    let seed = Element { ty: element, column: elements, reader };
                    if seq.next_element_seed(seed)?.is_none() {
                        break;
                    }
                    reader.path.pop();
                }
                reader.path.pop();
                let found = elements.len() - before;
                let first = *width.get_or_insert(found);
                if first != found {
                    return Err(reader.fail(|path| Problem::Ragged(path, first, found)));
                }
                *count += 1;
                reader.depth -= 1;
                Ok(())
            }
            (Ty::Tuple(types), Column::Tuple(columns)) => {
                let reader = self.reader;
                reader.depth += 1;
                for (i, (ty, column)) in types.iter().zip(columns).enumerate() {
                    reader.path.push(Step::Component(i));
                    let seed = Element { ty, column, reader };
                    let component = seq.next_element_seed(seed)?;
                    reader.path.pop();
                    if component.is_none() {
                        let ty = self.ty.clone();
                        return Err(
                            reader.fail(|path| Problem::Components(path, ty, types.len(), i))
                        );
                    }
                }
                let mut further = 0;
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    further += 1;
                }
                if further > 0 {
                    let (n, ty) = (types.len(), self.ty.clone());
                    return Err(reader.fail(|path| Problem::Components(path, ty, n, n + further)));
                }
                reader.depth -= 1;
                Ok(())
            }
            (Ty::Data(id, args), Column::Other(column)) if is_list(&datas[id.0 as usize]) => {
                let reader = self.reader;
                reader.depth += 1;
                let element = args.first().unwrap_or(&Ty::Unit);
                let mut items = Vec::new();
                loop {
                    let mut item = Column::new(element);
                    reader.path.push(Step::Index(items.len()));
                    let seed = Element { ty: element, column: &mut item, reader };
                    let more = seq.next_element_seed(seed)?;
                    reader.path.pop();
                    if more.is_none() {
                        break;
                    }
                    items.extend(item.into_value());
                }
                let nil = Value::data(NIL, Vec::new());
                let cons = |tail, head| Value::data(CONS, vec![head, tail]);
                column.push(items.into_iter().rev().fold(nil, cons));
                reader.depth -= 1;
                Ok(())
            }
            _ => self.wrong(Found::Array),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let datas = self.reader.datas;
        match (self.ty, &mut *self.column) {
            (Ty::Record(fields), Column::Tuple(columns)) => {
                let reader = self.reader;
                reader.depth += 1;
                let mut seen = vec![false; fields.len()];
                while let Some(key) = map.next_key_seed(FieldName(fields))? {
                    let i = match key {
                        Ok(i) if !seen[i] => i,
                        Ok(i) => {
                            let name = fields[i].0.to_string();
                            return Err(reader.fail(|path| Problem::RepeatedField(path, name)));
                        }
                        Err(name) => {
                            let names = fields.iter().map(|(n, _)| n.clone()).collect();
                            return Err(
                                reader.fail(|path| Problem::UnknownField(path, name, names))
                            );
                        }
                    };
                    seen[i] = true;
                    reader.path.push(Step::Field(fields[i].0.clone()));
                    let column = &mut columns[i];
                    map.next_value_seed(Element { ty: &fields[i].1, column, reader })?;
                    reader.path.pop();
                }
                let missing: Vec<Name> = fields
                    .iter()
                    .zip(&seen)
                    .filter(|(_, seen)| !**seen)
                    .map(|((name, _), _)| name.clone())
                    .collect();
                if !missing.is_empty() {
                    let ty = self.ty.clone();
                    return Err(reader.fail(|path| Problem::MissingFields(path, ty, missing)));
                }
                reader.depth -= 1;
                Ok(())
            }
            (Ty::Data(id, args), Column::Other(column)) if !is_list(&datas[id.0 as usize]) => {
                let decl = &datas[id.0 as usize];
                let Some(key) = map.next_key::<String>()? else {
                    return self.wrong(Found::Object);
                };
                let Some(tag) = decl.constructors.iter().position(|c| c.name == *key) else {
                    let ty = self.ty.clone();
                    return Err(self
                        .reader
                        .fail(|path| Problem::UnknownConstructor(path, ty, key)));
                };
                self.reader.depth += 1;
                let name = decl.constructors[tag].name.clone();
                self.reader.path.push(Step::Constructor(name));
                // No payload is `null`, several fields are an array: as the types `()` and `(…,
                // …)`.
                let fields = decl.fields(tag as u32, args);
                let payload = Ty::tuple(fields.clone());
                let mut read = Column::new(&payload);
                let seed = Element { ty: &payload, column: &mut read, reader: self.reader };
                map.next_value_seed(seed)?;
                self.reader.path.pop();
                if map.next_key::<IgnoredAny>()?.is_some() {
                    return self.wrong(Found::Object);
                }
                let values = match (read, fields.len()) {
                    (_, 0) => Vec::new(),
                    (Column::Tuple(columns), n) if n > 1 => {
                        columns.into_iter().filter_map(Column::into_value).collect()
                    }
                    (column, _) => column.into_value().into_iter().collect(),
                };
                column.push(Value::data(tag as u32, values));
                self.reader.depth -= 1;
                Ok(())
            }
            _ => self.wrong(Found::Object),
        }
    }
}

/// A key of a record: the position of the field, or the text that names none.
struct FieldName<'f>(&'f [(Name, Ty)]);

impl<'de> DeserializeSeed<'de> for FieldName<'_> {
    type Value = Result<usize, String>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldName<'_> {
    type Value = Result<usize, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Self::Value, E> {
        let found = self.0.binary_search_by(|(name, _)| name.as_str().cmp(key));
        Ok(found.map_err(|_| key.to_string()))
    }
}

/// Writes a value as JSON, without a line break at the end.
pub fn to_json<W: Write + ?Sized>(
    out: &mut W,
    value: &Value,
    ty: &Ty,
    datas: &[DataDecl],
) -> io::Result<()> {
    stacker::maybe_grow(RED_ZONE, SEGMENT, || write(out, value, ty, datas))
}

fn write<W: Write + ?Sized>(
    out: &mut W,
    value: &Value,
    ty: &Ty,
    datas: &[DataDecl],
) -> io::Result<()> {
    match (ty, value) {
        (Ty::Real, Value::Real(r)) => write_real(out, *r),
        (Ty::Int, Value::Int(i)) => write!(out, "{i}"),
        (Ty::Bool, Value::Bool(b)) => write!(out, "{b}"),
        (Ty::String, Value::String(text)) => write_string(out, text),
        (Ty::Unit, _) => out.write_all(b"null"),
        (Ty::Tuple(types), Value::Tuple(_)) => {
            for (i, (ty, component)) in types.iter().zip(value.fields()).enumerate() {
                out.write_all(if i == 0 { b"[" } else { b"," })?;
                to_json(out, component, ty, datas)?;
            }
            out.write_all(b"]")
        }
        (Ty::Record(fields), Value::Tuple(_)) => {
            for (i, ((name, ty), component)) in fields.iter().zip(value.fields()).enumerate() {
                out.write_all(if i == 0 { b"{" } else { b"," })?;
                write_string(out, name)?;
                out.write_all(b":")?;
                to_json(out, component, ty, datas)?;
            }
            out.write_all(b"}")
        }
        (Ty::Array(element), Value::Array(array)) => {
            out.write_all(b"[")?;
            for i in 0..array.len() {
                if i > 0 {
                    out.write_all(b",")?;
                }
                to_json(out, &array.get(i), element, datas)?;
            }
            out.write_all(b"]")
        }
        (Ty::Data(id, args), Value::Data(data)) => {
            let decl = &datas[id.0 as usize];
            if is_list(decl) {
                return write_list(out, value, args.first().unwrap_or(&Ty::Unit), datas);
            }
            let (tag, fields) = (data.tag, value.fields());
            out.write_all(b"{")?;
            write_string(out, &decl.constructors[tag as usize].name)?;
            out.write_all(b":")?;
            let types = decl.fields(tag, args);
            match &types[..] {
                [] => out.write_all(b"null")?,
                [ty] => to_json(out, &fields[0], ty, datas)?,
                _ => {
                    for (i, (ty, field)) in types.iter().zip(fields).enumerate() {
                        out.write_all(if i == 0 { b"[" } else { b"," })?;
                        to_json(out, field, ty, datas)?;
                    }
                    out.write_all(b"]")?;
                }
            }
            out.write_all(b"}")
        }
        (
            Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Tuple(_)
            | Ty::Record(_)
            | Ty::Array(_)
            | Ty::Data(..)
            | Ty::Fun(_)
            | Ty::Param(_),
            _,
        ) => Err(io::Error::other("the value is not of its type, or holds a function")),
    }
}

/// A number that reads back exactly, or a string for what JSON has no number for.
fn write_real<W: Write + ?Sized>(out: &mut W, r: f64) -> io::Result<()> {
    if r.is_finite() {
        serde_json::to_writer(out, &r).map_err(io::Error::from)
    } else if r.is_nan() {
        out.write_all(b"\"nan\"")
    } else {
        out.write_all(if r > 0.0 { b"\"inf\"" } else { b"\"-inf\"" })
    }
}

fn write_string<W: Write + ?Sized>(out: &mut W, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

/// A list as an array: a loop along the list, which may be long.
fn write_list<W: Write + ?Sized>(
    out: &mut W,
    list: &Value,
    element: &Ty,
    datas: &[DataDecl],
) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut rest = list;
    let mut first = true;
    while let [head, tail] = rest.fields() {
        if !first {
            out.write_all(b",")?;
        }
        to_json(out, head, element, datas)?;
        (rest, first) = (tail, false);
    }
    out.write_all(b"]")
}
