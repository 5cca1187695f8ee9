//! `diffeo build`: functions of a program as a library for C.

use crate::args::BuildArgs;
use crate::commands::{Setting, Shell};
use crate::Stop;
use diffeo::export::{export, COptions, Compiler, Error, ExportRequest};
use diffeo::pipeline::timed;
use diffeo_base::{Diagnostic, Span};

/// `diffeo build`
pub fn build(args: &BuildArgs, setting: Setting) -> Result<(), Stop> {
    let mut shell = Shell::new(setting);
    let module = shell.checked(&args.file)?;
    let mut entries = Vec::new();
    for wanted in &args.entries {
        let entry = shell.callable(module, &wanted.name)?;
        entries.push(ExportRequest { entry, derivative: wanted.derivative.clone() });
    }
    let mut clients = args.interfaces.clone();
    clients.dedup();
    let sizes = args.sizes.iter().cloned().collect();
    let name = match (&args.name, args.file.file_stem()) {
        (Some(name), _) => name.clone(),
        (None, Some(stem)) => stem.to_string_lossy().replace('-', "_"),
        (None, None) => "program".to_string(),
    };
    shell.phase("compile", format!("building `{name}`"));
    let steps = &mut shell.account.steps;
    let files = shell.session.sources();
    let library = match export(&name, &entries, &args.derivatives, &clients, &sizes, files, steps) {
        Ok(library) => library,
        Err(refused) => {
            shell.report(&refused);
            return Err(Stop::Refused);
        }
    };
    let compiler = (!args.no_compile).then(Compiler::find);
    let limits = shell.setting.limits.clone();
    let options = COptions { cpu: args.cpu, limits, ..COptions::default() };
    shell.tidy(format!("building `{name}`"));
    let written = timed("c", &mut shell.account.steps, || {
        library.write(&name, &args.out, compiler.as_ref(), &options)
    });
    if let Err(error) = written {
        let code = match error {
            Error::Exceeded(bound) => bound.code(),
            Error::Missing { .. } | Error::Failed { .. } | Error::File(..) | Error::Load(_) => {
                "build"
            }
        };
        shell.report(&[Diagnostic::error(code, Span::NONE, error.to_string())]);
        return Err(Stop::Refused);
    }
    shell.tell();
    Ok(())
}
