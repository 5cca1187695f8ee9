//! Where data is: the name of a file, or `-` for a standard stream, its format and the options behind it.

use super::options::is_option;
use std::path::PathBuf;

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

/// The formats by the endings of files.
const ENDINGS: [(&str, Format); 14] = [
    ("json", Format::Json),
    ("npy", Format::Npy),
    ("npz", Format::Npz),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("txt", Format::Text),
    ("dat", Format::Text),
    ("xlsx", Format::Excel),
    ("xlsm", Format::Excel),
    ("parquet", Format::Parquet),
    ("pq", Format::Parquet),
    ("arrow", Format::Arrow),
    ("feather", Format::Arrow),
    ("ipc", Format::Arrow),
];

impl Format {
    /// The formats as they are written behind a name.
    pub(super) const WORDS: &'static str =
        "csv, tsv, txt, dat, json, npy, npz, xlsx, parquet, arrow and feather";

    /// The word for it behind a name.
    pub(super) fn word(self) -> &'static str {
        ENDINGS.iter().find(|(_, format)| *format == self).map_or("csv", |(word, _)| word)
    }

    /// The format that a file name ends in, and whether `.gz` comes after it.
    pub fn of(name: &str) -> Option<(Format, bool)> {
        let (stem, ending) = name.rsplit_once('.')?;
        if ending.eq_ignore_ascii_case("gz") {
            return Format::of(stem).filter(|(_, gzip)| !gzip).map(|(format, _)| (format, true));
        }
        ENDINGS
            .into_iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(ending))
            .map(|(_, format)| (format, false))
    }
}

/// A file or a standard stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// Standard input where data is read, standard output where it is written.
    Standard,
    /// A file, a named pipe, a device.
    File(PathBuf),
}

/// Where data is, and how it is written there: `points.csv`, `points.csv.gz:skip=1:sep=tab`, `model.npz:w`;
/// `data.log:csv` names the format that a name does not tell, and `-:csv` a standard stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file or stream.
    pub target: Target,
    /// The format.
    pub format: Format,
    /// Whether the name asks for gzip. In reading the content decides.
    pub gzip: bool,
    /// What follows the name and the format: `skip=1`, the array of an NPZ file.
    pub options: Vec<String>,
}

impl Place {
    /// Whether what is written there replaces a regular file, or makes one: that never waits for others.
    pub fn is_replaced(&self) -> bool {
        match &self.target {
            Target::Standard => false,
            Target::File(path) => path.metadata().map_or(true, |found| found.is_file()),
        }
    }

    /// The place that a text names, if it is a name and no other text.
    ///
    /// Names may hold colons: the name ends before the first option behind an ending or a format that is known, and
    /// where there is none, behind the last such ending or format.
    pub fn of(text: &str) -> Option<Place> {
        if text.starts_with(['{', '[', '"']) && Format::of(text).is_none() {
            return None;
        }
        let mut found = None;
        let ends = text.match_indices(':').map(|(at, _)| at).chain([text.len()]);
        for end in ends {
            let name = &text[..end];
            let named = match (Format::of(name), name.rsplit_once(':')) {
                (Some(format), _) => Some((name, format)),
                (None, Some(("", _)) | None) => None,
                (None, Some((name, format))) => word(format).map(|format| (name, format)),
            };
            if let Some((name, format)) = named {
                let options = text.get(end + 1..);
                found = Some((name, format, options));
                if options.is_some_and(is_option) {
                    break;
                }
            }
        }
        let (name, (format, gzip), options) = found?;
        let target = match name {
            "-" => Target::Standard,
            _ => Target::File(PathBuf::from(name)),
        };
        Some(Place { target, format, gzip, options: options.map_or(Vec::new(), split) })
    }
}

/// The options between colons; a colon may itself be a value, as in `sep=:`.
fn split(text: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for part in text.split(':') {
        match options.last_mut() {
            Some(last) if part.is_empty() && last.ends_with('=') => last.push(':'),
            _ => options.push(part.to_string()),
        }
    }
    options
}

/// The format that a word such as `csv` or `json.gz` names.
fn word(text: &str) -> Option<(Format, bool)> {
    Format::of(&format!(".{text}"))
}
