//! Where data is: the name of a file, or `-` for a standard stream, and its format.

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
    /// `.csv`
    Csv,
    /// `.tsv`: the same with tabs for commas.
    Tsv,
}

impl Format {
    /// The format that a file name ends in, and whether `.gz` comes after it.
    pub fn of(name: &str) -> Option<(Format, bool)> {
        let (stem, ending) = name.rsplit_once('.')?;
        if ending.eq_ignore_ascii_case("gz") {
            return Format::of(stem).filter(|(_, gzip)| !gzip).map(|(format, _)| (format, true));
        }
        [
            ("json", Format::Json),
            ("npy", Format::Npy),
            ("npz", Format::Npz),
            ("csv", Format::Csv),
            ("tsv", Format::Tsv),
        ]
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(ending))
        .map(|(_, format)| (format, false))
    }

    /// What stands between the cells of a line.
    pub(super) fn separator(self) -> u8 {
        match self {
            Format::Tsv => b'\t',
            Format::Csv | Format::Json | Format::Npy | Format::Npz => b',',
        }
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

/// Where data is, and how it is written there: `points.csv`, `points.csv.gz:skip=1`, `model.npz:w`;
/// `data.txt:csv` names the format that a name does not tell, and `-:csv` a standard stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file or stream.
    pub target: Target,
    /// The format.
    pub format: Format,
    /// Whether the name asks for gzip. In reading the content decides.
    pub gzip: bool,
    /// What follows the last colon: `skip=1`, the array of an NPZ file.
    pub option: Option<String>,
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
    pub fn of(text: &str) -> Option<Place> {
        if let Some(format) = Format::of(text) {
            return Some(Place::new(text, format, None));
        }
        if text.starts_with(['{', '[', '"']) {
            return None;
        }
        let (name, last) = text.rsplit_once(':')?;
        if let Some(format) = word(last) {
            return (!name.is_empty()).then(|| Place::new(name, format, None));
        }
        let (name, format) = match (Format::of(name), name.rsplit_once(':')) {
            (Some(format), _) => (name, format),
            (None, Some((name, format))) => (name, word(format)?),
            (None, None) => return None,
        };
        match format.0 {
            Format::Csv | Format::Tsv | Format::Npz => Some(Place::new(name, format, Some(last))),
            Format::Json | Format::Npy => None,
        }
    }

    fn new(name: &str, (format, gzip): (Format, bool), option: Option<&str>) -> Place {
        let target = match name {
            "-" => Target::Standard,
            _ => Target::File(PathBuf::from(name)),
        };
        Place { target, format, gzip, option: option.map(str::to_string) }
    }
}

/// The format that a word such as `csv` or `json.gz` names.
fn word(text: &str) -> Option<(Format, bool)> {
    Format::of(&format!(".{text}"))
}
