//! Tables as text: CSV, TSV and other files with a separator, in UTF-8, UTF-16 or Latin-1.

use super::column::Column;
use super::content::content;
use super::encoding::Decoded;
use super::input::Input;
use super::records::{Records, Separates, TextFormat};
use super::table::Table;
use super::{Check, Field, ReadFailure};
use crate::error::{Content, Problem};
use crate::format::Format;
use crate::options::{DataOptions, Separator};
use crate::place::Place;
use crate::shape::{layout, TableLayout};
use crate::BUFFER;
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use encoding_rs::UTF_16LE;
use std::io::BufReader;

/// Reads a file.
pub(super) fn read(
    place: &Place,
    field: &Field<'_>,
    datas: &[DataDecl],
    check: Check<'_>,
) -> Result<Value, ReadFailure> {
    let options = DataOptions::of(&place.options, place.format)?;
    let ty = field.ty;
    let layout = layout(ty, datas).ok_or_else(|| Problem::Unsuitable(place.format, ty.clone()))?;
    let input = Input::open(&place.target, check)?;
    let decoded = Decoded::new(input, options.encoding)?;
    let utf8_mark = decoded.utf8_mark;
    let content = content(decoded.start());
    let input = BufReader::with_capacity(BUFFER, decoded);
    let separates = match (&options.separator, place.format, &layout) {
        (Some(Separator::Char(c)), _, _) => Separates::char(*c),
        (Some(Separator::Blanks), _, _) => Separates::Blanks,
        // A line of text is one cell.
        (None, Format::Text, TableLayout::Cells(cell)) if *cell.scalar == Ty::String => {
            Separates::Nothing
        }
        (None, _, _) => Separates::Unknown { comma: options.numbers.decimal != ',' },
    };
    match content {
        Content::Text | Content::Html | Content::Other => {}
        content => return Err(Problem::NoText(content).into()),
    }
    let format = TextFormat {
        separates,
        separator_given: options.separator_given,
        comment: options.comment,
        utf16: options.encoding.is_some_and(|encoding| encoding == UTF_16LE),
        utf8_mark,
    };
    let records = Records::new(input, format, options.skip)?;
    let mut table = Table::new(records, &options);
    let named = matches!(layout, TableLayout::Records(_) | TableLayout::Columns(_));
    // Without a header, a file in which nothing is left is a table of no rows.
    if table.source.at_end()? {
        if table.source.lines() < options.skip {
            return Err(Problem::SkippedAll(options.skip).into());
        }
        if named && options.header != Some(false) {
            return Err(Problem::NoHeader.into());
        }
    }
    let mut column = Column::new(ty);
    table.read(&layout, field.order(&layout).as_deref(), &mut column)?;
    Ok(column.into_value().ok_or(Problem::Empty)?)
}
