//! `diffeo fmt`: source files in the one layout.
//!
//! A file is replaced as a whole or stays as it was: the text is written beside it and then renamed to it.

use crate::args::FmtArgs;
use crate::printable::printable;
use crate::render::Messages;
use crate::watch::{self, Asks};
use crate::{print, Stop};
use diffeo::data::reason;
use diffeo::LoadError;
use diffeo_base::{Diagnostic, SourceMap, Span};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Formats each file, or standard input; an error in one does not keep the others from it.
pub fn fmt(args: &FmtArgs, messages: Messages) -> Result<(), Stop> {
    let mut done = Ok(());
    for path in &args.files {
        watch::doing(format!("formatting {}", path.display()), Asks::Nobody);
        let formatted = if path.as_os_str() == "-" { input(args) } else { file(path, args.check) };
        match formatted {
            Ok(()) => {}
            Err(FormatFailure::Stop(Stop::OutputClosed)) => return Err(Stop::OutputClosed),
            Err(FormatFailure::Stop(stop)) => done = Err(stop),
            Err(FormatFailure::Refused(sources, diagnostics)) => {
                messages.report(&sources, &diagnostics);
                done = Err(Stop::Refused);
            }
        }
    }
    done
}

/// Why a text is not formatted.
enum FormatFailure {
    Stop(Stop),
    Refused(Box<SourceMap>, Vec<Diagnostic>),
}

impl From<Stop> for FormatFailure {
    fn from(stop: Stop) -> FormatFailure {
        FormatFailure::Stop(stop)
    }
}

impl From<Diagnostic> for FormatFailure {
    fn from(diagnostic: Diagnostic) -> FormatFailure {
        FormatFailure::Refused(Box::default(), vec![diagnostic])
    }
}

/// Formats standard input to standard output.
fn input(args: &FmtArgs) -> Result<(), FormatFailure> {
    let name = Path::new("<stdin>");
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes);
    let (text, formatted) = formatted(name, read)?;
    if args.check {
        return if_changed(text == formatted, name);
    }
    // An empty text has no line, not an empty one.
    if !formatted.is_empty() {
        print::text(&formatted)?;
    }
    Ok(())
}

fn file(path: &Path, check: bool) -> Result<(), FormatFailure> {
    let (text, formatted) = formatted(path, fs::read(path))?;
    if check {
        return if_changed(text == formatted, path);
    }
    if text != formatted {
        replace(path, &formatted).map_err(|error| {
            let unwritable = |reason: &str| {
                let message = format!("cannot write {}: {reason}", path.display());
                Diagnostic::error("unwritable-file", Span::NONE, message)
            };
            match fs::metadata(path) {
                Ok(found) if !found.is_file() => unwritable("this is no regular file")
                    .help("`diffeo fmt -` formats standard input to standard output"),
                _ => unwritable(&reason(&error)),
            }
        })?;
    }
    Ok(())
}

/// Names a file that is not in its layout; that it is not is the answer no.
fn if_changed(same: bool, path: &Path) -> Result<(), FormatFailure> {
    if same {
        return Ok(());
    }
    print::text(&printable(&path.display().to_string()))?;
    Err(FormatFailure::Stop(Stop::Refused))
}

/// The text as it was, and in its layout.
fn formatted(path: &Path, read: io::Result<Vec<u8>>) -> Result<(String, String), FormatFailure> {
    watch::doing(format!("formatting {}", path.display()), Asks::Nobody);
    let unread = |error: LoadError| FormatFailure::from(error.to_diagnostic());
    let here = || PathBuf::from(path);
    let bytes = read.map_err(|error| unread(LoadError::Io { path: here(), error }))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        unread(LoadError::NotUtf8 { path: here(), offset })
    })?;
    let mut sources = SourceMap::default();
    let file = sources.add(path.display().to_string(), text.as_str());
    match diffeo_syntax::format(file, &text) {
        Ok(formatted) => Ok((text, formatted)),
        Err(diagnostics) => Err(FormatFailure::Refused(Box::new(sources), diagnostics)),
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link stays what it is; the file that it leads to is replaced.
    let target = fs::canonicalize(path)?;
    // A file that may not be written to is not replaced either.
    let old = File::options().write(true).open(&target)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    // A text is written at once, so nothing asks in between, and nothing is left of it.
    watch::doing(format!("writing {}", path.display()), Asks::Always);
    let mut beside = tempfile::Builder::new().prefix(".diffeo-fmt-").tempfile_in(folder)?;
    beside.write_all(text.as_bytes())?;
    beside.as_file().set_permissions(old.metadata()?.permissions())?;
    beside.persist(&target)?;
    Ok(())
}
