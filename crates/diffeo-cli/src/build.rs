//! `diffeo build`: functions of a program as a library for C.

use crate::args::{BuildArgs, InterfaceArg, XlaArgs};
use crate::commands::{Setting, Shell};
use crate::Stop;
use diffeo::data::{write_bytes, Target};
use diffeo::export::{export, stablehlo, COptions, Client, Compiler, Error, ExportRequest};
use diffeo::pipeline::timed;
use diffeo_base::{reason, Diagnostic, Span};

/// `diffeo build`
pub fn build(args: &BuildArgs, setting: Setting) -> Result<(), Stop> {
    let mut shell = Shell::new(setting);
    let for_xla = args.interfaces.contains(&InterfaceArg::StableHlo);
    if args.xla.is_given() && !for_xla {
        let wrong = "`--shape` and `--precision` are for `--interface stablehlo`";
        return Err(shell.usage(&[Diagnostic::error("argument", Span::NONE, wrong)]));
    }
    let module = shell.checked(&args.file)?;
    let mut entries = Vec::new();
    for wanted in &args.entries {
        let entry = shell.callable(module, &wanted.name)?;
        entries.push(ExportRequest { entry, derivative: wanted.derivative.clone() });
    }
    if for_xla {
        write_stablehlo(args, &mut shell, &entries)?;
    }
    let client = |interface: &InterfaceArg| match interface {
        InterfaceArg::Client(client) => Some(*client),
        InterfaceArg::StableHlo => None,
    };
    let mut clients: Vec<Client> = args.interfaces.iter().filter_map(client).collect();
    if for_xla && clients.is_empty() {
        shell.tell();
        return Ok(());
    }
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

/// Writes each function as a module of StableHLO.
fn write_stablehlo(
    args: &BuildArgs,
    shell: &mut Shell,
    entries: &[ExportRequest],
) -> Result<(), Stop> {
    let XlaArgs { shape, precision } = &args.xla;
    let files = {
        let (session, steps) = (&shell.session, &mut shell.account.steps);
        timed("stablehlo", steps, || {
            stablehlo(session, entries, &args.derivatives, shape, (*precision).into())
        })
    };
    let files = match files {
        Ok(files) => files,
        Err(refused) => {
            shell.report(&[*refused]);
            return Err(Stop::Refused);
        }
    };
    if let Err(error) = std::fs::create_dir_all(&args.out) {
        let message = format!("cannot make the folder {}: {}", args.out.display(), reason(&error));
        shell.report(&[Diagnostic::error("build", Span::NONE, message)]);
        return Err(Stop::Refused);
    }
    for (name, text) in files {
        let target = Target::File(args.out.join(format!("{name}.mlir")));
        if let Err(error) = write_bytes(&target, text.as_bytes(), &|| Ok(())) {
            shell.report(&[error.to_diagnostic(&[])]);
            return Err(Stop::Refused);
        }
    }
    Ok(())
}
