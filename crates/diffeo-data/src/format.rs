//! The formats of data files, as a table. `read::read_place` and `write::write` have the functions that read and write
//! them.

use super::shape::{layout, leaf, members};
use diffeo_calculus::ty::{DataDecl, Ty};

/// A kind of data file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `.json`
    Json,
    /// `.npy`: an array of NumPy.
    Npy,
    /// `.npz`: several of them.
    Npz,
    /// `.csv`: a table with commas.
    Csv,
    /// `.tsv`: the same with tabs.
    Tsv,
    /// `.txt`, `.dat`: a table with what its first line has; where a text is written, the text itself.
    Text,
    /// `.xlsx`: a workbook of Excel.
    Excel,
    /// `.parquet`
    Parquet,
    /// `.arrow`, `.feather`: Arrow's IPC.
    Arrow,
}

/// The types that a format can hold.
type Fits = fn(&Ty, &[DataDecl]) -> bool;

/// A row of the table.
pub(super) struct FormatInfo {
    format: Format,
    /// The endings of files; the first is the word for the format behind a name.
    endings: &'static [&'static str],
    /// The format with an article, for messages.
    pub article: &'static str,
    /// The contents of a file, for messages.
    pub holds: &'static str,
    /// The options of tables that it has.
    pub has: fn(&str) -> bool,
    /// The separator of cells if no option gives another.
    pub separator: Option<char>,
    /// Other characters that reading takes for a separator, so that writing quotes cells with them.
    pub separators: &'static [u8],
    /// The first bytes of files, by which the format is known whatever the name.
    magic: &'static [&'static [u8]],
    /// The types that are written; none where the format is only read.
    pub written: Option<Fits>,
}

const NPY: &str = "it holds a Real, Int or Bool, or an array of them of any rank";
const NPZ: &str = "it holds arrays of Real, Int or Bool by name: a record of them, or one of them";
const TABLE: &str =
    "a table is an array of records, tuples or rows, or a record of arrays, whose cells are \
                     Real, Int, Bool, String or Maybe of these";
const TEXT: &str =
    "it holds a String as it is, or a table, an array of records, tuples or rows, or a record of arrays";

/// The first bytes of an NPY file.
pub(super) const NPY_MAGIC: &[u8; 6] = b"\x93NUMPY";

const NOTHING: FormatInfo = FormatInfo {
    format: Format::Json,
    endings: &[],
    article: "",
    holds: "",
    has: |_| false,
    separator: None,
    separators: b"",
    magic: &[],
    written: None,
};

const FORMATS: [FormatInfo; 9] = [
    FormatInfo {
        format: Format::Json,
        endings: &["json"],
        article: "a JSON file",
        written: Some(|_, _| true),
        ..NOTHING
    },
    FormatInfo {
        format: Format::Npy,
        endings: &["npy"],
        article: "an NPY file",
        holds: NPY,
        magic: &[NPY_MAGIC],
        written: Some(|ty, _| leaf(ty).is_some()),
        ..NOTHING
    },
    FormatInfo {
        format: Format::Npz,
        endings: &["npz"],
        article: "an NPZ file",
        holds: NPZ,
        written: Some(|ty, _| members(ty).is_some()),
        ..NOTHING
    },
    FormatInfo {
        format: Format::Csv,
        endings: &["csv"],
        article: "a CSV file",
        holds: TABLE,
        has: |option| option != "sheet",
        separator: Some(','),
        separators: b",",
        written: Some(|ty, datas| layout(ty, datas).is_some()),
        ..NOTHING
    },
    FormatInfo {
        format: Format::Tsv,
        endings: &["tsv"],
        article: "a TSV file",
        holds: TABLE,
        has: |option| option != "sheet",
        separator: Some('\t'),
        separators: b"\t",
        written: Some(|ty, datas| layout(ty, datas).is_some()),
        ..NOTHING
    },
    FormatInfo {
        format: Format::Text,
        endings: &["txt", "dat"],
        article: "a text file",
        holds: TEXT,
        has: |option| option != "sheet",
        separators: b"\t;, ",
        written: Some(|ty, datas| *ty == Ty::String || layout(ty, datas).is_some()),
        ..NOTHING
    },
    FormatInfo {
        format: Format::Excel,
        endings: &["xlsx", "xlsm"],
        article: "an Excel file",
        holds: TABLE,
        has: |option| !["sep", "comment", "encoding"].contains(&option),
        ..NOTHING
    },
    FormatInfo {
        format: Format::Parquet,
        endings: &["parquet", "pq"],
        article: "a Parquet file",
        holds: TABLE,
        magic: &[b"PAR1", b"PARE"],
        ..NOTHING
    },
    FormatInfo {
        format: Format::Arrow,
        endings: &["arrow", "feather", "ipc"],
        article: "an Arrow file",
        holds: TABLE,
        magic: &[b"ARROW1", &[0xff; 4]],
        ..NOTHING
    },
];

impl Format {
    /// The formats as they are written behind a name.
    pub(super) const WORDS: &'static str =
        "csv, tsv, txt, dat, json, npy, npz, xlsx, parquet, arrow and feather";

    /// Its row.
    pub(super) fn info(self) -> &'static FormatInfo {
        const { &FORMATS }.iter().find(|row| row.format == self).unwrap_or(&NOTHING)
    }

    /// The word for it behind a name.
    pub(super) fn word(self) -> &'static str {
        self.info().endings[0]
    }

    /// The format without an article.
    pub(super) fn name(self) -> &'static str {
        self.info().article.split(' ').nth(1).unwrap_or("data")
    }

    /// The format that a file name ends in, and whether `.gz` comes after it.
    pub fn of(name: &str) -> Option<(Format, bool)> {
        let (stem, ending) = name.rsplit_once('.')?;
        if ending.eq_ignore_ascii_case("gz") {
            return Format::of(stem).filter(|(_, gzip)| !gzip).map(|(format, _)| (format, true));
        }
        let ends = |row: &&FormatInfo| row.endings.iter().any(|e| e.eq_ignore_ascii_case(ending));
        FORMATS.iter().find(ends).map(|row| (row.format, false))
    }

    /// The format of files that begin with these bytes and nothing else.
    pub(super) fn beginning(start: &[u8]) -> Option<Format> {
        let begins = |row: &&FormatInfo| row.magic.iter().any(|magic| start.starts_with(magic));
        FORMATS.iter().find(begins).map(|row| row.format)
    }
}
