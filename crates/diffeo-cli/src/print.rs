//! Results on standard output.

use crate::Stop;
use diffeo::data::{reason, to_json};
use diffeo_calculus::show::show;
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use std::io::{self, BufWriter, Write};

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

fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Stop> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    // What could not be written is not tried again when the buffer goes.
    let _ = out.into_parts();
    match written {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Stop::OutputClosed),
        Err(error) => {
            // Standard error may be gone as well.
            let _ = writeln!(
                io::stderr(),
                "error[output]: cannot write the result: {}",
                reason(&error)
            );
            Err(Stop::Refused)
        }
    }
}
