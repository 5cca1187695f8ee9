//! NumPy's NPY files: Real, Int and Bool, alone or in arrays of any rank.
//!
//! The format is <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>. It is
//! read here and not by a library because those either fix the element type before they look into
//! the file or take its word for how much memory to reserve. Either byte order and either order of
//! dimensions is read.

use super::column::{push, Column};
use super::content::content;
use super::input::Input;
use super::{Check, ReadFailure};
use crate::error::{Damage, Problem};
use crate::format::Format;
use crate::format::NPY_MAGIC;
use crate::place::Target;
use crate::shape::leaf;
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use std::io::{self, Read};

/// Reads a `.npy` file.
pub(super) fn read_npy(target: &Target, ty: &Ty, check: Check<'_>) -> Result<Value, ReadFailure> {
    leaf(ty).ok_or_else(|| Problem::Unsuitable(Format::Npy, ty.clone()))?;
    let mut input = Input::open(target, check)?.buffered();
    read(&mut input, ty)
}

/// What the header of a file says.
struct Header {
    dtype: String,
    fortran: bool,
    shape: Vec<u64>,
}

fn bad(reason: impl Into<String>) -> Problem {
    Problem::BadNpy(reason.into())
}

fn failed(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => bad("it ends too early"),
        _ => error.into(),
    }
}

/// Reads an array, which is the whole of a file. The end is looked at because checksums stand there.
pub(super) fn read(input: &mut impl Read, ty: &Ty) -> Result<Value, ReadFailure> {
    let value = read_array(input, ty)?;
    match input.read(&mut [0]) {
        Ok(0) => Ok(value),
        Ok(_) => Err(bad("there is more behind its last element").into()),
        Err(error) => Err(failed(error).into()),
    }
}

fn read_array(input: &mut impl Read, ty: &Ty) -> Result<Value, ReadFailure> {
    let (element, rank) = leaf(ty).ok_or_else(|| Problem::Unsuitable(Format::Npy, ty.clone()))?;
    let header = read_header(input)?;
    let column = Elements::of(&header.dtype, element)
        .ok_or_else(|| Problem::Dtype(header.dtype.clone(), element.clone()))?;
    if header.shape.len() != rank {
        return Err(Problem::Rank(header.shape, rank).into());
    }
    let too_large = || bad(format!("its shape {:?} is too large", header.shape));
    let mut shape = Vec::new();
    for &size in &header.shape {
        shape.push(usize::try_from(size).map_err(|_| too_large())?);
    }
    // The product of all but the sizes 0 must be representable too, as for any array.
    let fits = shape.iter().filter(|&&n| n > 0).try_fold(8usize, |n, &m| n.checked_mul(m));
    fits.ok_or_else(too_large)?;
    let mut flat = column.read(input, shape.iter().product())?;
    if header.fortran && rank > 1 {
        flat = reordered(flat, &shape);
    }
    // From the innermost rows outwards.
    for (depth, &size) in shape.iter().enumerate().rev() {
        let count = shape[..depth].iter().product();
        flat = Column::Rows { width: Some(size), count, elements: Box::new(flat) };
    }
    Ok(flat.into_value().ok_or_else(|| bad("it has no element"))?)
}

fn read_header(input: &mut impl Read) -> Result<Header, Problem> {
    let mut found = Vec::new();
    input.by_ref().take(8).read_to_end(&mut found).map_err(failed)?;
    if found.is_empty() {
        return Err(Problem::Empty);
    }
    if !found.starts_with(&NPY_MAGIC[..NPY_MAGIC.len().min(found.len())]) {
        return Err(Problem::BadFile(Format::Npy, Damage::IsNone(content(&found))));
    }
    let Ok(start) = <[u8; 8]>::try_from(found) else { return Err(bad("it ends too early")) };
    let length = match start[6] {
        1 => {
            let mut bytes = [0; 2];
            input.read_exact(&mut bytes).map_err(failed)?;
            u64::from(u16::from_le_bytes(bytes))
        }
        2 | 3 => {
            let mut bytes = [0; 4];
            input.read_exact(&mut bytes).map_err(failed)?;
            u64::from(u32::from_le_bytes(bytes))
        }
        version => return Err(bad(format!("it has the unknown format version {version}"))),
    };
    let mut text = Vec::new();
    input.take(length).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 != length {
        return Err(bad("it ends too early"));
    }
    parse_header(&String::from_utf8_lossy(&text)).ok_or_else(|| bad("its header is malformed"))
}

/// `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`
fn parse_header(text: &str) -> Option<Header> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim_start();
    let (mut dtype, mut fortran, mut shape) = (None, None, None);
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (key, after) = rest[1..].split_once(quote)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        let end = value_end(value)?;
        let (value, after) = value.split_at(end);
        let value = value.trim();
        match key {
            "descr" if dtype.is_some() => return None,
            "fortran_order" if fortran.is_some() => return None,
            "shape" if shape.is_some() => return None,
            "descr" => {
                dtype = Some(value.trim_matches(['\'', '"']).to_string());
            }
            "fortran_order" => {
                fortran = match value {
                    "True" => Some(true),
                    "False" => Some(false),
                    _ => return None,
                }
            }
            "shape" => {
                let sizes = value.strip_prefix('(')?.strip_suffix(')')?;
                let sizes = sizes.split(',').map(str::trim).filter(|s| !s.is_empty());
                shape = Some(
                    sizes.map(|s| s.trim_end_matches('L').parse().ok()).collect::<Option<_>>()?,
                );
            }
            _ => return None,
        }
        let after = after.trim_start();
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    Some(Header { dtype: dtype?, fortran: fortran?, shape: shape? })
}

/// Where the value at the start of a text ends: at a comma outside quotes and brackets, or with the
/// text.
fn value_end(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0usize, None);
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), _) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.checked_sub(1)?,
            (None, ',') if depth == 0 => return Some(i),
            (None, _) => {}
        }
    }
    (depth == 0 && quote.is_none()).then_some(text.len())
}

/// How the elements are stored, and into what they are read.
struct Elements {
    kind: u8,
    size: usize,
    big_endian: bool,
    into: Column,
}

impl Elements {
    fn of(dtype: &str, ty: &Ty) -> Option<Elements> {
        let &[order, kind, size] = dtype.as_bytes() else { return None };
        let big_endian = match (order, size) {
            (b'>', _) => true,
            (b'<' | b'=', _) | (b'|', b'1') => false,
            _ => return None,
        };
        let fits = match kind {
            b'f' => matches!(size, b'4' | b'8') && *ty == Ty::Real,
            b'i' | b'u' => {
                matches!(size, b'1' | b'2' | b'4' | b'8') && matches!(ty, Ty::Int | Ty::Real)
            }
            b'b' => size == b'1' && *ty == Ty::Bool,
            _ => false,
        };
        let size = usize::from(size.checked_sub(b'0')?);
        fits.then(|| Elements { kind, size, big_endian, into: Column::new(ty) })
    }

    fn read(mut self, input: &mut impl Read, count: usize) -> Result<Column, Problem> {
        const CHUNK: usize = 1 << 13;
        let mut buffer = vec![0; CHUNK * self.size];
        let mut done = 0;
        while done < count {
            let n = CHUNK.min(count - done);
            let bytes = &mut buffer[..n * self.size];
            input.read_exact(bytes).map_err(failed)?;
            for (i, element) in bytes.chunks_exact_mut(self.size).enumerate() {
                self.push(element, done + i)?;
            }
            done += n;
        }
        Ok(self.into)
    }

    fn push(&mut self, element: &mut [u8], position: usize) -> Result<(), Problem> {
        if self.big_endian {
            element.reverse();
        }
        let mut bytes = [0; 8];
        bytes[..self.size].copy_from_slice(element);
        let unsigned = u64::from_le_bytes(bytes);
        let shift = 64 - 8 * self.size as u32;
        let signed = ((unsigned << shift) as i64) >> shift;
        match (&mut self.into, self.kind) {
            (Column::Real(reals), b'f') if self.size == 4 => {
                push(reals, f64::from(f32::from_bits(unsigned as u32)));
            }
            (Column::Real(reals), b'f') => push(reals, f64::from_bits(unsigned)),
            (Column::Real(reals), b'i') => push(reals, signed as f64),
            (Column::Real(reals), _) => push(reals, unsigned as f64),
            (Column::Int(ints), b'i') => push(ints, signed),
            (Column::Int(ints), _) => push(
                ints,
                i64::try_from(unsigned).map_err(|_| Problem::BeyondInt(position, unsigned))?,
            ),
            (Column::Bool(bools), _) if unsigned <= 1 => push(bools, unsigned != 0),
            (Column::Bool(_), _) => {
                let what = format!("element {position} is the byte {unsigned}, which is no Bool");
                return Err(bad(what));
            }
            (Column::Tuple(_) | Column::Rows { .. } | Column::Other(_), _) => {
                return Err(bad("its elements are no numbers"));
            }
        }
        Ok(())
    }
}

/// From the order in which the first index moves fastest to that in which the last does.
fn reordered(column: Column, shape: &[usize]) -> Column {
    fn reorder<T: Copy>(from: &[T], shape: &[usize]) -> Vec<T> {
        let mut strides = vec![1; shape.len()];
        for d in 1..shape.len() {
            strides[d] = strides[d - 1] * shape[d - 1];
        }
        let mut index = vec![0; shape.len()];
        let mut offset = 0;
        let mut to = Vec::with_capacity(from.len());
        while to.len() < from.len() {
            to.push(from[offset]);
            for d in (0..shape.len()).rev() {
                index[d] += 1;
                offset += strides[d];
                if index[d] < shape[d] {
                    break;
                }
                offset -= strides[d] * shape[d];
                index[d] = 0;
            }
        }
        to
    }
    match column {
        Column::Real(v) => Column::Real(reorder(&v, shape)),
        Column::Int(v) => Column::Int(reorder(&v, shape)),
        Column::Bool(v) => Column::Bool(reorder(&v, shape)),
        other @ (Column::Tuple(_) | Column::Rows { .. } | Column::Other(_)) => other,
    }
}
