//! The commands: each loads, checks, does its work and prints.

use crate::args::{CheckArgs, EvalArgs, Evaluation, Form, Kinks, RunArgs, ShowArgs};
use crate::arguments::{argument, Refusal};
use crate::{print, render, Stop};
use diffeo::data::{check_writable, write_file, Format};
use diffeo::{Entry, ModuleId, Options, Session};
use diffeo_base::{Diagnostic, Span};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;
use std::path::Path;

/// A session and how its messages are shown.
pub struct Shell {
    /// The session.
    pub session: Session,
    colored: bool,
}

impl Shell {
    /// A shell with a new session.
    pub fn new(colored: bool) -> Self {
        Shell { session: Session::new(), colored }
    }

    /// Writes messages.
    pub fn report(&self, diagnostics: &[Diagnostic]) {
        render::report(self.session.sources(), diagnostics, self.colored);
    }

    /// Writes the messages so far; an error among them is the end.
    pub fn flush(&mut self) -> Result<(), Stop> {
        let diagnostics = self.session.take_diagnostics();
        self.report(&diagnostics);
        if diagnostics.iter().any(Diagnostic::is_error) {
            Err(Stop::Refused)
        } else {
            Ok(())
        }
    }

    fn load(&mut self, path: &Path) -> Result<ModuleId, Stop> {
        match self.session.load_file(path) {
            Ok(module) => Ok(module),
            Err(error) => {
                self.report(&[error.to_diagnostic()]);
                Err(Stop::Refused)
            }
        }
    }

    /// Loads a program that has no errors.
    pub fn checked(&mut self, path: &Path) -> Result<ModuleId, Stop> {
        let module = self.load(path)?;
        self.session.check();
        self.flush()?;
        Ok(module)
    }

    fn entry(&mut self, module: ModuleId, name: &str) -> Result<Entry, Stop> {
        let entry = self.session.entry(module, name);
        self.flush()?;
        entry.ok_or(Stop::Refused)
    }

    fn evaluate(&self, entry: &Entry, arg: Option<Value>, how: &Evaluation) -> Result<Value, Stop> {
        let run = self.session.run_with(entry, arg, options(how));
        self.report(&run.warnings);
        run.result.map_err(|error| {
            self.report(&[error]);
            Stop::Refused
        })
    }

    /// Writes what is wrong with the command line.
    pub fn usage(&self, diagnostics: &[Diagnostic]) -> Stop {
        self.report(diagnostics);
        Stop::Usage
    }
}

/// How a program is to be evaluated.
pub fn options(how: &Evaluation) -> Options {
    let kinks = match how.kinks {
        Kinks::Ignore => diffeo::Kinks::Ignore,
        Kinks::Warn => diffeo::Kinks::Warn,
        Kinks::Error => diffeo::Kinks::Error,
    };
    let trace = Box::new(|line: &str| render::trace(line));
    Options { kinks, trace, ..Options::default() }
}

/// The type of what an entry evaluates to.
fn result_type(entry: &Entry) -> &Ty {
    match &entry.ty {
        Ty::Fun(function) => &function.1,
        other => other,
    }
}

/// `diffeo run`
pub fn run(args: &RunArgs, colored: bool) -> Result<(), Stop> {
    let mut shell = Shell::new(colored);
    if let Some(out) = &args.out {
        let format = Format::of(&out.to_string_lossy()).filter(|format| *format != Format::Npz);
        if format.is_none() {
            let message = format!("`--out {}` ends in none of .json, .npy, .csv", out.display());
            return Err(shell.usage(&[Diagnostic::error("argument", Span::NONE, message)]));
        }
    }
    let module = shell.checked(&args.file)?;
    let entry = shell.entry(module, &args.entry)?;
    let datas = &entry.program.datas;
    let ty = result_type(&entry);
    // Known before the work is done, not after.
    if let Some(out) = &args.out {
        check_writable(out, ty, datas).map_err(|error| {
            shell.report(&[error.to_diagnostic(datas)]);
            Stop::Refused
        })?;
    }
    let arg = argument(&entry, &args.args).map_err(|refusal| match refusal {
        Refusal::Usage(diagnostics) => shell.usage(&diagnostics),
        Refusal::Input(diagnostics) => {
            shell.report(&diagnostics);
            Stop::Refused
        }
    })?;
    let value = shell.evaluate(&entry, arg, &args.evaluation)?;
    match &args.out {
        None => print::value(&value, ty, datas, args.evaluation.json),
        Some(out) => write_file(out, &value, ty, datas).map_err(|error| {
            shell.report(&[error.to_diagnostic(datas)]);
            Stop::Refused
        }),
    }
}

/// `diffeo eval`
pub fn eval(args: &EvalArgs, colored: bool) -> Result<(), Stop> {
    let mut shell = Shell::new(colored);
    let context = match &args.context {
        Some(path) => Some(shell.checked(path)?),
        None => None,
    };
    let module = shell.session.expression(context, &args.expression);
    shell.flush()?;
    let entry = shell.entry(module.ok_or(Stop::Refused)?, "it")?;
    let arg = argument(&entry, &[]).map_err(|refusal| match refusal {
        Refusal::Usage(diagnostics) | Refusal::Input(diagnostics) => {
            shell.report(&diagnostics);
            Stop::Refused
        }
    })?;
    let value = shell.evaluate(&entry, arg, &args.evaluation)?;
    print::value(&value, result_type(&entry), &entry.program.datas, args.evaluation.json)
}

/// `diffeo check`
pub fn check(args: &CheckArgs, colored: bool) -> Result<(), Stop> {
    let mut shell = Shell::new(colored);
    let mut done = Ok(());
    for file in &args.files {
        if let Err(stop) = shell.checked(file) {
            done = Err(stop);
        }
    }
    done
}

/// `diffeo show`
pub fn show(args: &ShowArgs, colored: bool) -> Result<(), Stop> {
    let mut shell = Shell::new(colored);
    if args.entry.is_some() && args.form == Form::Ast {
        let message = "`--as ast` shows a whole file, not one definition";
        return Err(shell.usage(&[Diagnostic::error("argument", Span::NONE, message)]));
    }
    let module = shell.load(&args.file)?;
    match args.form {
        Form::Ast => {
            let text = shell.session.show_ast(module);
            // The tree of what could be read is shown all the same.
            let parsed = shell.flush();
            print::text(&text)?;
            parsed
        }
        Form::Types => {
            shell.session.check();
            let text = shell.session.show_types(module, args.entry.as_deref());
            let checked = shell.flush();
            print::text(&text)?;
            checked
        }
        Form::Core => {
            shell.session.check();
            shell.flush()?;
            let text = shell.session.show_core(module, args.entry.as_deref());
            shell.flush()?;
            print::text(&text.ok_or(Stop::Refused)?)
        }
    }
}
