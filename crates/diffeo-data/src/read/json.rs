//! JSON into a declared type.
//!
//! Real and Int are numbers (`"nan"`, `"inf"`, `"-inf"`, and intervals such as `"0.9..1.1"`, stand for what JSON does
//! not have); tuples,
//! arrays and lists are arrays; records are objects; `()` is `null`; a constructor is an object with
//! its name as the only key. Fields that a record's type does not have are passed over. `Nothing` may be `null`, or a field that is left out, and `Just(x)` what
//! x is, where that is unambiguous ([`bare`]). Reading goes from the text straight into [`Column`]s,
//! guided by the type.

use super::column::{push, Column};
use super::{text_start, Check, ReadFailure};
use crate::error::{JsonPiece, PathStep, Position, Problem};
use crate::shape::maybe;
use crate::{reason, RED_ZONE, SEGMENT};
use diffeo_base::Name;
use diffeo_calculus::eval::reals::enclosure;
use diffeo_calculus::show::parse_interval;
use diffeo_calculus::ty::{DataDecl, Ty, WellKnown, CONS, JUST, NIL, NOTHING};
use diffeo_calculus::value::Value;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// How deep the data may be nested. Only inductive types other than lists nest at all.
const DEPTH: usize = 20_000;

/// So many fields that the type does not have are remembered.
const FURTHER: usize = 20;

/// After so many values the reading is checked.
const CHECKED: usize = 1 << 10;

/// Reads the bytes of a whole text.
pub(super) fn read_bytes(
    bytes: &[u8],
    ty: &Ty,
    datas: &[DataDecl],
    check: Check<'_>,
) -> Result<Value, ReadFailure> {
    let bytes = &bytes[text_start(bytes)?..];
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        let at = Some(Position { line, column: 0 });
        ReadFailure { at, ..ReadFailure::from(Problem::NotUtf8) }
    })?;
    if text.trim().is_empty() {
        return Err(Problem::Empty.into());
    }
    read(text, ty, datas, check)
}

/// Reads a whole text as a value of a type.
pub(super) fn read(
    text: &str,
    ty: &Ty,
    datas: &[DataDecl],
    check: Check<'_>,
) -> Result<Value, ReadFailure> {
    let mut reader =
        JsonReader { datas, check, values: 0, path: Vec::new(), depth: 0, problem: None };
    let mut column = Column::new(ty);
    let mut json = serde_json::Deserializer::from_str(text);
    json.disable_recursion_limit();
    let read = Element { ty, column: &mut column, reader: &mut reader }
        .deserialize(&mut json)
        .and_then(|()| json.end());
    match read {
        Ok(()) => Ok(column.into_value().ok_or(Problem::Empty)?),
        Err(error) => {
            let at = position(text, error.line(), error.column());
            let problem = reader.problem.unwrap_or_else(|| syntax(&error, text));
            Err(ReadFailure { at, ..ReadFailure::from(problem) })
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

/// The library's message without the place that it appends, with what stands there.
fn syntax(error: &serde_json::Error, text: &str) -> Problem {
    let shown = error.to_string();
    let message = shown.rfind(" at line ").map_or(shown.as_str(), |end| &shown[..end]);
    let line = error.line().checked_sub(1).and_then(|n| text.split_inclusive('\n').nth(n));
    let found = line.map_or("", |line| word_at(line, error.column().saturating_sub(1)));
    Problem::Syntax { message: words(message), found: found.to_string() }
}

/// The library's message in other words, where it speaks of its parsing.
fn words(message: &str) -> String {
    if let Some(part) = message.strip_prefix("EOF while parsing ") {
        let part = if part == "a list" { "an array" } else { part };
        return format!("it ends within {part}");
    }
    let plain = match message {
        "trailing characters" => "there is more behind the value",
        "expected ident" => "expected `true`, `false` or `null`",
        "key must be a string" => "the name of a field stands in double quotation marks",
        _ if message.starts_with("control character") => {
            "a line break or a tab in a string is written `\\n` or `\\t`"
        }
        _ => message,
    };
    plain.to_string()
}

/// The word, number or sign around a byte of a line.
fn word_at(line: &str, at: usize) -> &str {
    let in_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+' | b'.');
    let bytes = line.as_bytes();
    let start = bytes.iter().take(at).rev().take_while(|b| in_word(b)).count();
    let end = bytes.iter().skip(at).take_while(|b| in_word(b)).count().max(1);
    line.get(at.saturating_sub(start)..at + end).unwrap_or("")
}

/// What the elements share. After an error, `path` is where it happened and `problem` what it is.
struct JsonReader<'a> {
    datas: &'a [DataDecl],
    check: Check<'a>,
    values: usize,
    path: Vec<PathStep>,
    depth: usize,
    problem: Option<Problem>,
}

impl JsonReader<'_> {
    /// Keeps the problem, which an error of serde cannot hold.
    fn fail<E: serde::de::Error>(&mut self, problem: impl FnOnce(Vec<PathStep>) -> Problem) -> E {
        let path = std::mem::take(&mut self.path);
        self.problem = Some(problem(path));
        E::custom("")
    }

    /// Counts a value, and asks now and then whether to go on.
    fn count<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.values += 1;
        if !self.values.is_multiple_of(CHECKED) {
            return Ok(());
        }
        (self.check)().map_err(|error| self.fail(|_| Problem::Unreadable(reason(&error))))
    }
}

/// The T of a `Maybe[T]` whose values may be written without `Just`: a T that is neither written as
/// `null` nor as an object of constructors.
fn bare<'t>(ty: &'t Ty, datas: &[DataDecl]) -> Option<&'t Ty> {
    maybe(ty, datas).filter(|inner| match inner {
        Ty::Data(id, _) => datas[id.0 as usize].is(WellKnown::List),
        Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Tuple(_)
        | Ty::Record(_)
        | Ty::Array(_) => true,
        Ty::Unit | Ty::Fun(_) | Ty::Param(_) => false,
    })
}

/// A Real that JSON has no number for: one that is not finite, an interval.
pub(super) fn special_real(text: &str) -> Option<Value> {
    match text {
        "nan" => Some(Value::Real(f64::NAN)),
        "inf" => Some(Value::Real(f64::INFINITY)),
        "-inf" => Some(Value::Real(f64::NEG_INFINITY)),
        _ => parse_interval(text).map(enclosure),
    }
}

/// A text can stand for nothing but an interval.
pub(super) fn means_interval(text: &str) -> bool {
    ["..", "+-", "±"].iter().any(|sign| text.contains(sign))
}

/// Puts a Real at the end of a column, whose elements may have to become values.
fn push_real(column: &mut Column, real: Value) {
    match (&mut *column, real) {
        (Column::Real(reals), Value::Real(x)) => push(reals, x),
        (Column::Real(reals), interval) => {
            let mut values: Vec<Value> = reals.iter().map(|x| Value::Real(*x)).collect();
            push(&mut values, interval);
            *column = Column::Other(values);
        }
        (Column::Other(values), real) => push(values, real),
        (Column::Int(_) | Column::Bool(_) | Column::Tuple(_) | Column::Rows { .. }, _) => {}
    }
}

/// Reads one value and puts it at the end of a column.
struct Element<'r, 'a> {
    ty: &'r Ty,
    column: &'r mut Column,
    reader: &'r mut JsonReader<'a>,
}

impl Element<'_, '_> {
    fn wrong<T, E: serde::de::Error>(self, found: JsonPiece) -> Result<T, E> {
        let ty = self.ty.clone();
        Err(self.reader.fail(|path| Problem::Mismatch(path, ty, found)))
    }

    /// Reads the payload of a `Just` that is not written; for other types, that this was found is
    /// wrong.
    fn unwrapped<E: serde::de::Error>(
        self,
        found: JsonPiece,
        read: impl FnOnce(Element<'_, '_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (Some(inner), Column::Other(column)) =
            (bare(self.ty, self.reader.datas), &mut *self.column)
        else {
            return self.wrong(found);
        };
        let depth = self.reader.path.len();
        let mut payload = Column::new(inner);
        let result = read(Element { ty: inner, column: &mut payload, reader: self.reader });
        if let (Err(_), Some(Problem::Mismatch(path, ty, _))) = (&result, &mut self.reader.problem)
        {
            if path.len() == depth {
                *ty = self.ty.clone();
            }
        }
        result?;
        push(column, Value::data(JUST, payload.into_value()));
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Element<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        if self.reader.depth >= DEPTH {
            return Err(self.reader.fail(|_| Problem::TooDeep(DEPTH)));
        }
        self.reader.count()?;
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
            Column::Bool(column) => push(column, b),
            _ => return self.unwrapped(JsonPiece::Bool(b), |inner| inner.visit_bool(b)),
        }
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<(), E> {
        match (&mut *self.column, i64::try_from(n)) {
            (Column::Real(column), _) => push(column, n as f64),
            (Column::Int(column), Ok(n)) => push(column, n),
            (Column::Other(column), _) if *self.ty == Ty::Real => {
                push(column, Value::Real(n as f64));
            }
            _ => {
                return self.unwrapped(JsonPiece::Number(n.to_string()), |inner| inner.visit_u64(n))
            }
        }
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<(), E> {
        match self.column {
            Column::Real(column) => push(column, n as f64),
            Column::Int(column) => push(column, n),
            Column::Other(column) if *self.ty == Ty::Real => {
                push(column, Value::Real(n as f64));
            }
            _ => {
                return self.unwrapped(JsonPiece::Number(n.to_string()), |inner| inner.visit_i64(n))
            }
        }
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, r: f64) -> Result<(), E> {
        match self.column {
            Column::Real(column) => push(column, r),
            Column::Other(column) if *self.ty == Ty::Real => push(column, Value::Real(r)),
            // The library reads `-0` as this.
            Column::Int(column) if r == 0.0 && r.is_sign_negative() => push(column, 0),
            _ => {
                return self
                    .unwrapped(JsonPiece::Number(format!("{r:?}")), |inner| inner.visit_f64(r))
            }
        }
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        match (&mut *self.column, self.ty, text) {
            (Column::Other(column), Ty::String, _) => push(column, Value::string(text)),
            (column, Ty::Real, text) if special_real(text).is_some() => {
                push_real(column, special_real(text).unwrap_or(Value::Unit));
            }
            _ => {
                let found = JsonPiece::String(text.to_string());
                return self.unwrapped(found, |inner| inner.visit_str(text));
            }
        }
        Ok(())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        match (&mut *self.column, self.ty, bare(self.ty, self.reader.datas)) {
            (Column::Other(column), Ty::Unit, _) => push(column, Value::Unit),
            (Column::Other(column), _, Some(_)) => push(column, Value::data(NOTHING, [])),
            _ => return self.wrong(JsonPiece::Null),
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
                    reader.path.push(PathStep::Index(i));
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
                    reader.path.push(PathStep::Component(i));
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
            (Ty::Data(id, args), Column::Other(column))
                if datas[id.0 as usize].is(WellKnown::List) =>
            {
                let reader = self.reader;
                reader.depth += 1;
                let element = args.first().unwrap_or(&Ty::Unit);
                let mut items = Vec::new();
                loop {
                    let mut item = Column::new(element);
                    reader.path.push(PathStep::Index(items.len()));
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
                push(column, items.into_iter().rev().fold(nil, cons));
                reader.depth -= 1;
                Ok(())
            }
            _ => self.unwrapped(JsonPiece::Array, |inner| inner.visit_seq(seq)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let datas = self.reader.datas;
        let Ty::Data(id, args) = self.ty else { return self.record(None, map) };
        let decl = &datas[id.0 as usize];
        if decl.is(WellKnown::List) {
            return self.wrong(JsonPiece::Object);
        }
        let key = map.next_key::<String>()?;
        let tag =
            key.as_ref().and_then(|key| decl.constructors.iter().position(|c| c.name == **key));
        match (tag, key, bare(self.ty, datas)) {
            (Some(tag), ..) => self.constructor(decl, args, tag, map),
            (None, key, Some(Ty::Record(_))) => {
                self.unwrapped(JsonPiece::Object, |inner| inner.record(key, map))
            }
            (None, Some(key), _) => {
                let ty = self.ty.clone();
                Err(self.reader.fail(|path| Problem::UnknownConstructor(path, ty, key)))
            }
            (None, None, _) => self.wrong(JsonPiece::Object),
        }
    }
}

impl Element<'_, '_> {
    /// Reads the fields of a record, of which the first key may have been read.
    fn record<'de, A: MapAccess<'de>>(
        self,
        mut first: Option<String>,
        mut map: A,
    ) -> Result<(), A::Error> {
        let (Ty::Record(fields), Column::Tuple(columns)) = (self.ty, &mut *self.column) else {
            return self.wrong(JsonPiece::Object);
        };
        let reader = self.reader;
        reader.depth += 1;
        let (mut seen, mut further) = (vec![false; fields.len()], Vec::new());
        loop {
            let key = match first.take() {
                Some(key) => Some(FieldName(fields).find(&key)),
                None => map.next_key_seed(FieldName(fields))?,
            };
            let i = match key {
                None => break,
                Some(Ok(i)) if !seen[i] => i,
                Some(Ok(i)) => {
                    let name = fields[i].0.to_string();
                    return Err(reader.fail(|path| Problem::RepeatedField(path, name)));
                }
                Some(Err(name)) => {
                    map.next_value::<IgnoredAny>()?;
                    // For the message about a field that is missing.
                    if further.len() < FURTHER {
                        further.push(name);
                    }
                    continue;
                }
            };
            seen[i] = true;
            reader.path.push(PathStep::Field(fields[i].0.clone()));
            let column = &mut columns[i];
            map.next_value_seed(Element { ty: &fields[i].1, column, reader })?;
            reader.path.pop();
        }
        let mut missing = Vec::new();
        for (i, (name, ty)) in fields.iter().enumerate().filter(|(i, _)| !seen[*i]) {
            match (maybe(ty, reader.datas), &mut columns[i]) {
                (Some(_), Column::Other(column)) => push(column, Value::data(NOTHING, [])),
                _ => missing.push(name.clone()),
            }
        }
        if !missing.is_empty() {
            let ty = self.ty.clone();
            return Err(reader.fail(|path| Problem::MissingFields(path, ty, missing, further)));
        }
        reader.depth -= 1;
        Ok(())
    }

    /// Reads the fields of the constructor that was the first key.
    fn constructor<'de, A: MapAccess<'de>>(
        self,
        decl: &DataDecl,
        args: &[Ty],
        tag: usize,
        mut map: A,
    ) -> Result<(), A::Error> {
        let Column::Other(column) = &mut *self.column else { return self.wrong(JsonPiece::Object) };
        self.reader.depth += 1;
        self.reader.path.push(PathStep::Constructor(decl.constructors[tag].name.clone()));
        // No payload is `null`, several fields are an array: as the types `()` and `(…, …)`.
        let fields = decl.fields(tag as u32, args);
        let payload = Ty::tuple(fields.clone());
        let mut read = Column::new(&payload);
        let seed = Element { ty: &payload, column: &mut read, reader: self.reader };
        map.next_value_seed(seed)?;
        self.reader.path.pop();
        if map.next_key::<IgnoredAny>()?.is_some() {
            return self.wrong(JsonPiece::Object);
        }
        let values = match (read, fields.len()) {
            (_, 0) => Vec::new(),
            (Column::Tuple(columns), n) if n > 1 => {
                columns.into_iter().filter_map(Column::into_value).collect()
            }
            (column, _) => column.into_value().into_iter().collect(),
        };
        push(column, Value::data(tag as u32, values));
        self.reader.depth -= 1;
        Ok(())
    }
}

/// A key of a record: the position of the field, or the text that names none.
struct FieldName<'f>(&'f [(Name, Ty)]);

impl FieldName<'_> {
    fn find(&self, key: &str) -> Result<usize, String> {
        let found = self.0.binary_search_by(|(name, _)| name.as_str().cmp(key));
        found.map_err(|_| key.to_string())
    }
}

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
        Ok(self.find(key))
    }
}
