//! Results on standard output.

use crate::args::Cli;
use crate::printable::printable;
use crate::Stop;
use clap::CommandFactory;
use diffeo::data::{reason, to_json};
use diffeo::plot::show;
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Prints a result, as Diffeo writes it or as JSON, and a line break.
pub fn value(value: &Value, ty: &Ty, datas: &[DataDecl], json: bool) -> Result<(), Stop> {
    to_stdout(|out| {
        if json {
            to_json(out, value, ty, datas)?;
        } else {
            out.write_all(show(value, ty, datas).as_bytes())?;
        }
        out.write_all(b"\n")
    })
}

/// Prints a text, and a line break where it lacks one.
pub fn text(text: &str) -> Result<(), Stop> {
    to_stdout(|out| {
        out.write_all(text.as_bytes())?;
        if text.ends_with('\n') {
            Ok(())
        } else {
            out.write_all(b"\n")
        }
    })
}

/// Prints the completions of the command line.
pub fn completions(shell: clap_complete::Shell) -> Result<(), Stop> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "diffeo", &mut text);
    to_stdout(|out| out.write_all(&text))
}

/// Prints the man page, or writes the pages of all commands to a folder.
pub fn man(folder: Option<&Path>) -> Result<(), Stop> {
    let command = Cli::command();
    match folder {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(|error| unwritten(&error))?;
            to_stdout(|out| out.write_all(&page))
        }
        Some(folder) => clap_mangen::generate_to(command, folder).map_err(|error| {
            let folder = folder.display().to_string();
            let _ = writeln!(
                io::stderr(),
                "error[output]: cannot write to {}: {}",
                printable(&folder),
                reason(&error)
            );
            Stop::Refused
        }),
    }
}

/// Says why output could not be written.
pub fn unwritten(error: &io::Error) -> Stop {
    // Standard error may be gone as well.
    let _ = writeln!(io::stderr(), "error[output]: cannot write the result: {}", reason(error));
    Stop::Refused
}

fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Stop> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    // What could not be written is not tried again when the buffer goes.
    let _ = out.into_parts();
    match written {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Stop::OutputClosed),
        Err(error) => Err(unwritten(&error)),
    }
}
