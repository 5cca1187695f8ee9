//! `diffeo new`: a folder with a small project, which runs and tests.

use crate::args::NewArgs;
use crate::print;
use crate::render::Messages;
use crate::Stop;
use diffeo_base::{Diagnostic, SourceMap, Span};
use std::fs;
use std::io;

/// The files: their names and texts.
const FILES: [(&str, &str); 3] = [
    ("main.deo", include_str!("new/main.deo")),
    ("data.csv", include_str!("new/data.csv")),
    ("README.md", include_str!("new/README.md")),
];

/// `diffeo new`
pub fn new(args: &NewArgs, messages: Messages) -> Result<(), Stop> {
    let folder = args.folder.display();
    let refused = |message: String, help: Option<&'static str>| {
        let d = Diagnostic::error("output", Span::NONE, message);
        let d = match help {
            Some(help) => d.help(help),
            None => d,
        };
        messages.report(&SourceMap::default(), &[d]);
        Stop::Refused
    };
    match fs::read_dir(&args.folder).map(|mut entries| entries.next().is_some()) {
        Ok(true) => {
            let help = "name a folder that is not there, or an empty one";
            return Err(refused(format!("{folder} is not empty"), Some(help)));
        }
        Ok(false) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(&args.folder)
                .map_err(|error| refused(format!("cannot make {folder}: {error}"), None))?;
        }
        Err(error) => return Err(refused(format!("cannot make {folder}: {error}"), None)),
    }
    for (name, text) in FILES {
        let path = args.folder.join(name);
        fs::write(&path, text)
            .map_err(|error| refused(format!("cannot write {}: {error}", path.display()), None))?;
    }
    print::text(&format!(
        "made {folder}: a model, data and tests\n\n  cd {folder}\n  diffeo run main.deo --arg table=data.csv\n  \
         diffeo test"
    ))
}
