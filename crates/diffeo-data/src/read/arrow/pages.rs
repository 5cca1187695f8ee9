//! The pages of a Parquet file, read once before their columns are: their checksums, and what the directory says of them,
//! because no checksum covers the head of a page.

use crate::error::Damage;
use crate::message::short;
use bytes::Bytes;
use parquet::basic::{Encoding, PageType};
use parquet::column::page::Page;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use std::collections::BTreeMap;

/// Looks at the pages of these columns; what is wrong with the first bad one.
pub(super) fn check(bytes: &Bytes, columns: &[usize]) -> Result<(), Damage> {
    let broken = |_: ParquetError| Damage::broken();
    let options = ReadOptionsBuilder::new().with_encoding_stats_as_mask(false).build();
    let file = SerializedFileReader::new_with_options(bytes.clone(), options).map_err(broken)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(broken)?;
        for column in 0..group.num_columns() {
            let root = schema.get_column_root_idx(column);
            if columns.contains(&root) && !is_true(&*group, column).unwrap_or(false) {
                let name = schema.get_column_root(column).name().to_string();
                return Err(Damage::Broken(format!("its column `{}` is damaged", short(&name))));
            }
        }
    }
    Ok(())
}

/// Whether the pages of a column are those that the directory has: so many of each kind, with so many values.
fn is_true(group: &dyn RowGroupReader, column: usize) -> Result<bool, ParquetError> {
    let about: &ColumnChunkMetaData = group.metadata().column(column);
    let mut pages = group.get_column_page_reader(column)?;
    let (mut values, mut kinds) = (0, BTreeMap::new());
    while let Some(page) = pages.get_next_page()? {
        if !matches!(page, Page::DictionaryPage { .. }) {
            values += i64::from(page.num_values());
        }
        *kinds.entry(kind(page.page_type(), page.encoding())).or_insert(0) += 1;
    }
    let Some(told) = about.page_encoding_stats() else { return Ok(values == about.num_values()) };
    let mut expected = BTreeMap::new();
    for stats in told {
        *expected.entry(kind(stats.page_type, stats.encoding)).or_insert(0) += stats.count;
    }
    Ok(values == about.num_values() && kinds == expected)
}

/// A page's type and encoding, in an order.
fn kind(page: PageType, encoding: Encoding) -> (i32, i32) {
    (page as i32, encoding as i32)
}
