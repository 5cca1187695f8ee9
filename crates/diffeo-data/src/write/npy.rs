//! Real, Int and Bool, alone or in arrays of any rank, into NumPy's NPY format, little-endian and in
//! C order; records of them into NPZ files.
//!
//! The format is <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use super::unexpected;
use crate::format::NPY_MAGIC;
use crate::shape::{leaf, members};
use crate::BUFFER;
use diffeo_calculus::array::Array;
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;
use std::io::{self, BufWriter, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Writes a number or an array of numbers.
pub(super) fn write(out: &mut impl Write, value: &Value, ty: &Ty) -> io::Result<()> {
    let Some((element, rank)) = leaf(ty) else { return Err(unexpected()) };
    let Value::Array(array) = value else {
        write_header(out, element, &[])?;
        return write_number(out, value);
    };
    let mut shape = vec![array.len()];
    let mut flat = (**array).clone();
    for _ in 1..rank {
        // Where nothing determined the length of rows there are none, and 0 is as good as any.
        let (width, elements) = flat.flat().unwrap_or((0, Array::empty()));
        shape.push(width);
        flat = elements;
    }
    write_header(out, element, &shape)?;
    if let Some(reals) = flat.reals() {
        reals.iter().try_for_each(|r| out.write_all(&r.to_le_bytes()))
    } else if let Some(ints) = flat.ints() {
        ints.iter().try_for_each(|i| out.write_all(&i.to_le_bytes()))
    } else {
        flat.iter().try_for_each(|number| write_number(out, &number))
    }
}

fn write_number(out: &mut impl Write, value: &Value) -> io::Result<()> {
    match value {
        Value::Real(r) => out.write_all(&r.to_le_bytes()),
        Value::Int(i) => out.write_all(&i.to_le_bytes()),
        Value::Bool(b) => out.write_all(&[u8::from(*b)]),
        Value::Active(_) => {
            Err(io::Error::other("it has intervals, for which JSON, CSV and TSV have room"))
        }
        _ => Err(unexpected()),
    }
}

/// Writes the beginning of a file with elements of this number type.
fn write_header(out: &mut impl Write, element: &Ty, shape: &[usize]) -> io::Result<()> {
    let dtype = match element {
        Ty::Int => "<i8",
        Ty::Bool => "|b1",
        _ => "<f8",
    };
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    let sizes = sizes.join(", ");
    let mut text =
        format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({sizes}{comma}), }}");
    // The data begins at a multiple of 64 bytes; 10 bytes stand before the text and a line break
    // ends it.
    let padded = (10 + text.len() + 1).next_multiple_of(64) - 10;
    text.push_str(&" ".repeat(padded - 1 - text.len()));
    text.push('\n');
    out.write_all(NPY_MAGIC)?;
    // Version 2 has a longer length, for a header that only a very high rank needs.
    match u16::try_from(text.len()) {
        Ok(length) => {
            out.write_all(&[1, 0])?;
            out.write_all(&length.to_le_bytes())?;
        }
        Err(_) => {
            out.write_all(&[2, 0])?;
            out.write_all(&(text.len() as u32).to_le_bytes())?;
        }
    }
    out.write_all(text.as_bytes())
}

/// Writes a record of arrays, each under the name of its field, as `numpy.savez` does: not
/// compressed.
pub(super) fn write_npz(out: &mut impl Write, value: &Value, ty: &Ty) -> io::Result<()> {
    let (Some(fields), Value::Tuple(_)) = (members(ty), value) else { return Err(unexpected()) };
    let options =
        SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let mut archive = ZipWriter::new_stream(out);
    for ((name, ty), value) in fields.iter().zip(value.fields()) {
        archive.start_file(format!("{name}.npy"), options)?;
        let mut buffered = BufWriter::with_capacity(BUFFER, &mut archive);
        write(&mut buffered, value, ty)?;
        buffered.flush()?;
    }
    archive.finish()?;
    Ok(())
}
