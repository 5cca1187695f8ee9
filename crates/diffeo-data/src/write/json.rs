//! Any first-order value into JSON, piece by piece.
//!
//! Real and Int are numbers that read back exactly (`"nan"`, `"inf"`, `"-inf"`, and intervals such as `"0.9..1.1"`,
//! stand for what JSON does not have); tuples, arrays and lists are arrays; records are objects; `()` is `null`; a
//! constructor is an object with its name as the only key; a plot is a specification of Vega-Lite.

use crate::{RED_ZONE, SEGMENT};
use diffeo_calculus::show::{is_escaped, show};
use diffeo_calculus::ty::{DataDecl, Ty, WellKnown};
use diffeo_calculus::value::Value;
use std::borrow::Cow;
use std::io::{self, Write};

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
        (Ty::Real, Value::Active(_)) => write!(out, "\"{}\"", show(value, ty, datas)),
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
            if let Some(plot) = diffeo_plot_values::of(value, ty, datas) {
                let json = diffeo_plot::vega_lite(&plot).to_string();
                return out.write_all(printable_json(&json).as_bytes());
            }
            let decl = &datas[id.0 as usize];
            if decl.is(WellKnown::List) {
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
    out.write_all(printable_json(&serde_json::to_string(text)?).as_bytes())
}

/// JSON on one line with `\u001b` and the like for what would disturb a terminal. It has such characters in its texts
/// alone.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::new();
    for c in json.chars() {
        // All of them are numbers of 16 bits.
        match is_escaped(c) {
            true => shown += &format!("\\u{:04x}", u32::from(c)),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
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
