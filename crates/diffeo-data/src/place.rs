//! Where data is: the name of a file, or `-` for a standard stream, its format and the options behind it.

use super::format::Format;
use super::options::is_option;
use std::path::PathBuf;

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
