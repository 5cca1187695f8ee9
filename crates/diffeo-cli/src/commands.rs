//! The commands: each loads, checks, does its work and prints.

use crate::args::{CheckArgs, EvalArgs, Evaluation, Kinks, Processor, RunArgs};
use crate::arguments::{argument, ArgumentRefusal};
use crate::outputs::{outputs, spare};
use crate::progress::{Account, ProgressLine};
use crate::render::Messages;
use crate::watch::{self, Asks};
use crate::{plot, print, Stop};
use clap::ValueEnum;
use diffeo::data::{check_writable, write_results, DataError, Output, Problem, Target};
use diffeo::pipeline::timed;
use diffeo::{Cpu, Engine, Entry, Event, How, Limits, ModuleId, Options, Session};
use diffeo_base::{Diagnostic, Span};
use diffeo_calculus::value::Value;
use std::io;
use std::path::Path;

/// What the command line says for every command.
pub struct Setting {
    /// How messages are shown.
    pub messages: Messages,
    /// What the command may take.
    pub limits: Limits,
    /// Whether to tell what was done.
    pub verbose: bool,
    /// Whether to tell how long the steps took: if so, whether as data.
    pub steps: Option<bool>,
}

/// A session and its setting.
pub struct Shell {
    pub session: Session,
    pub setting: Setting,
    pub account: Account,
}

impl Shell {
    pub fn new(setting: Setting) -> Self {
        watch::doing("reading the prelude".to_string(), Asks::Nobody);
        let mut account = Account::default();
        let session = timed("prelude", &mut account.steps, Session::new);
        Shell { session, setting, account }
    }

    /// Begins a phase of the work. Only evaluation never waits, so that it can answer Ctrl-C itself.
    pub fn phase(&mut self, name: &'static str, doing: String) {
        watch::doing(
            doing,
            match name {
                "evaluate" => Asks::Always,
                "read" => Asks::Waiting,
                _ => Asks::Nobody,
            },
        );
        self.account.begin(name);
    }

    /// Begins work that leaves nothing behind however it ends, and answers Ctrl-C itself.
    pub fn tidy(&mut self, doing: String) {
        watch::doing(doing, Asks::Always);
        watch::ensure(&self.setting.limits, self.setting.messages);
    }

    pub fn report(&self, diagnostics: &[Diagnostic]) {
        self.setting.messages.report(self.session.sources(), diagnostics);
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

    pub fn load(&mut self, path: &Path) -> Result<ModuleId, Stop> {
        self.phase("check", format!("reading and checking {}", path.display()));
        let loaded = timed("parse", &mut self.account.steps, || self.session.load_file(path));
        match loaded {
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
        self.check();
        self.flush()?;
        Ok(module)
    }

    /// Checks what was loaded.
    pub fn check(&mut self) {
        timed("check", &mut self.account.steps, || self.session.check());
    }

    pub fn entry(&mut self, module: ModuleId, name: &str) -> Result<Entry, Stop> {
        let session = &mut self.session;
        let entry = timed("elaborate", &mut self.account.steps, || session.entry(module, name));
        self.flush()?;
        entry.ok_or(Stop::Refused)
    }

    /// A definition that may be a function of anything.
    pub fn callable(&mut self, module: ModuleId, name: &str) -> Result<Entry, Stop> {
        let session = &mut self.session;
        let entry = timed("elaborate", &mut self.account.steps, || session.callable(module, name));
        self.flush()?;
        entry.ok_or(Stop::Refused)
    }

    /// The processor that code is made for: what the command says, else the environment.
    pub fn processor(&self, processor: &Processor) -> Result<Cpu, Stop> {
        let wrong = |why: &str| self.usage(&[Diagnostic::error("argument", Span::NONE, why)]);
        processor.cpu.map_or_else(Cpu::of_environment, Ok).map_err(wrong)
    }

    /// The same, which has to be able to run the code.
    pub fn cpu(&self, processor: &Processor) -> Result<Cpu, Stop> {
        let cpu = self.processor(processor)?;
        match cpu.lacking() {
            None => Ok(cpu),
            Some(lacking) => {
                let message =
                    format!("code for {cpu} does not run here: this processor has no {lacking}");
                let d = Diagnostic::error("argument", Span::NONE, message);
                Err(self.usage(&[d.help("`--cpu native` is always right here")]))
            }
        }
    }

    /// Refuses to look for kinks, and to limit recursion, on an engine that cannot.
    pub fn check_evaluation(&self, how: &Evaluation) -> Result<(), Stop> {
        let engine = how.engine;
        if how.unfold.is_some() && engine != Engine::TRACE {
            let message = format!("`--engine {}` has no `--unfold`", engine.name());
            let d = Diagnostic::error("argument", Span::NONE, message);
            return Err(self.usage(&[d.help("`--engine trace` has it")]));
        }
        if engine.reports(how.kinks().into()) {
            return Ok(());
        }
        let kinks = how.kinks().to_possible_value();
        let option = kinks
            .as_ref()
            .map_or("--enclose".to_string(), |value| format!("--kinks {}", value.get_name()));
        let message = format!("`--engine {}` has no `{option}`", engine.name());
        let d = Diagnostic::error("argument", Span::NONE, message);
        Err(self.usage(&[d.help("`--engine interp` has it")]))
    }

    /// How to run a program, and the line on the terminal that shows how far it is.
    pub fn options(&self, kinks: Kinks) -> (Options, ProgressLine) {
        let (messages, line) = (self.setting.messages, ProgressLine::new(self.setting.messages));
        let (mut shown, traced) = (line.clone(), line.clone());
        let limits = self.setting.limits.clone();
        // The account names the kinks in any case.
        let kinks = match kinks {
            Kinks::Ignore if self.setting.verbose => diffeo::Kinks::Warn,
            kinks => kinks.into(),
        };
        let stack = Options::default().max_stack;
        let options = Options {
            kinks,
            events: Box::new(move |event| match event {
                Event::Line(text) => traced.suspend(|| messages.trace(text)),
                Event::Progress(report) => shown.show(&report),
                // The run gives them at its end.
                Event::Warning(_) => {}
            }),
            // However little memory there may be, it is not the depth of calls that is to blame.
            max_stack: limits.memory.map_or(stack, |memory| memory.bytes.clamp(1 << 20, stack)),
            limits,
        };
        (options, line)
    }

    pub fn evaluate(
        &mut self,
        entry: &Entry,
        arg: Option<Value>,
        how: &Evaluation,
        cpu: Cpu,
    ) -> Result<Value, Stop> {
        self.phase("evaluate", format!("evaluating `{}`", entry.name));
        let run = self.attempt(entry, arg, how, cpu);
        self.account.steps.extend(run.times);
        self.account.engine = Some(run.engine);
        self.account.looked = how.kinks() != Kinks::Ignore;
        self.account.exact = how.kinks() == Kinks::Exact;
        self.account.reason = run.unsupported.map(|why| why.reason(self.session.sources()));
        self.account.note = run.note;
        self.took(run.operations, run.warnings, how.kinks());
        if let Err(error) = &run.result {
            self.report(std::slice::from_ref(error));
            self.tell();
        }
        run.result.map_err(|_| Stop::Refused)
    }

    /// Runs an entry point within the limits; an error is left to the caller.
    pub fn attempt(
        &mut self,
        entry: &Entry,
        arg: Option<Value>,
        how: &Evaluation,
        cpu: Cpu,
    ) -> diffeo::Run {
        let (mut options, line) = self.options(how.kinks());
        let engine = how.engine;
        if engine.is_compiled() && self.session.not_compiled(entry).is_none() {
            // That the account would name kinks is no reason to look for them in compiled code.
            if how.kinks() == Kinks::Ignore {
                options.kinks = diffeo::Kinks::Ignore;
            }
            // Some loops of compiled code do not ask whether they are to end.
            watch::ensure(&self.setting.limits, self.setting.messages);
        }
        let counted = self.setting.steps.is_some();
        // What each step takes is to be seen.
        let how_to = How { engine, cpu, counted, keep: !counted, unfold: how.unfold };
        let run = self.session.run_on(entry, arg, options, how_to);
        line.clear();
        run
    }

    /// Writes what a run warned of, and keeps it for the account.
    pub fn took(&mut self, operations: Option<u64>, warnings: Vec<Diagnostic>, shown: Kinks) {
        self.account.operations = operations;
        let (kinks, others): (Vec<Diagnostic>, Vec<Diagnostic>) =
            warnings.into_iter().partition(|w| ["kink", "outside-domain"].contains(&w.code));
        if shown != Kinks::Ignore {
            self.report(&kinks);
        }
        self.account.kinks.extend(kinks);
        self.report(&others);
    }

    /// Tells what was done, if that is asked for.
    pub fn tell(&self) {
        if self.setting.verbose {
            let sources = self.session.sources();
            let place = |d: &Diagnostic| {
                let at = sources.line_column(d.primary.span);
                format!("{}:{}:{}", sources.name(d.primary.span.file), at.line, at.column)
            };
            self.account.write(self.setting.messages, &place);
        }
        if let Some(json) = self.setting.steps {
            self.account.write_steps(self.setting.messages, json);
        }
    }

    /// Writes what is wrong with the command line.
    pub fn usage(&self, diagnostics: &[Diagnostic]) -> Stop {
        self.report(diagnostics);
        Stop::Usage
    }
}

/// `diffeo run`
pub fn run(args: &RunArgs, setting: Setting) -> Result<(), Stop> {
    let mut shell = Shell::new(setting);
    let cpu = shell.cpu(&args.processor)?;
    shell.check_evaluation(&args.evaluation)?;
    let module = shell.checked(&args.file)?;
    let entry = shell.entry(module, &args.entry)?;
    let datas = &entry.program.datas;
    let ty = entry.result_type();
    // Known before the work is done, not after.
    let refused = |shell: &Shell, error: &DataError| match error.problem {
        Problem::Closed => Stop::OutputClosed,
        _ => {
            shell.report(&[error.to_diagnostic(datas)]);
            if error.is_usage() {
                Stop::Usage
            } else {
                Stop::Refused
            }
        }
    };
    plot::expected(&shell, &args.plots, ty, datas, args.evaluation.json)?;
    let outs = outputs(&args.out, &entry.name, ty).map_err(|wrong| shell.usage(&wrong))?;
    let pictures = args.plots.iter().filter_map(|to| Some(&to.file.as_ref()?.0));
    let targets: Vec<&Target> = outs.iter().map(|out| &out.place.target).chain(pictures).collect();
    spare(&args.file, &targets).map_err(|wrong| shell.usage(&[*wrong]))?;
    for out in &outs {
        check_writable(&out.place, &out.part, out.ty(ty), datas)
            .map_err(|e| refused(&shell, &e))?;
    }
    shell.phase("read", "reading the arguments".to_string());
    let arg =
        argument(&entry, &args.args, &shell.setting.limits).map_err(|refusal| match refusal {
            ArgumentRefusal::Usage(diagnostics) => shell.usage(&diagnostics),
            ArgumentRefusal::Input(diagnostics) => {
                shell.report(&diagnostics);
                Stop::Refused
            }
        })?;
    let value = shell.evaluate(&entry, arg, &args.evaluation, cpu)?;
    shell.phase("write", "writing the result".to_string());
    match &outs[..] {
        // A plot takes the place of the printed result.
        [] if plot::replaces(&args.plots, ty, datas) => {}
        [] => print::value(&value, ty, datas, args.evaluation.json)?,
        outs => {
            if outs.iter().all(|out| out.place.is_replaced()) {
                shell.tidy("writing the result".to_string());
            }
            let gives = entry.interface.ty.sides().1;
            let written: Vec<Output<'_>> =
                outs.iter().map(|out| out.output(&value, ty, gives)).collect();
            let limits = shell.setting.limits.clone();
            let check = move || limits.check().map_err(|bound| io::Error::other(bound.message()));
            write_results(&written, datas, &check).map_err(|error| {
                match shell.setting.limits.check() {
                    Err(bound) => {
                        let message = format!("{}, while writing the result", bound.message());
                        shell.report(&[Diagnostic::error(bound.code(), Span::NONE, message)]);
                        Stop::Refused
                    }
                    Ok(()) => refused(&shell, &error),
                }
            })?;
        }
    }
    plot::draw(&shell, &args.plots, &value, ty, datas)?;
    shell.tell();
    Ok(())
}

/// The text printed for an expression without a printable value, such as a function: its type.
pub fn function_text(session: &Session, module: ModuleId) -> String {
    format!("a function: {}", session.type_of(module, "it").unwrap_or_default())
}

/// `diffeo eval`
pub fn eval(args: &EvalArgs, setting: Setting) -> Result<(), Stop> {
    let mut shell = Shell::new(setting);
    let cpu = shell.cpu(&args.processor)?;
    shell.check_evaluation(&args.evaluation)?;
    let context = match &args.context {
        Some(path) => Some(shell.checked(path)?),
        None => None,
    };
    shell.phase("check", "checking the expression".to_string());
    let module = shell.session.expression(context, &args.expression);
    shell.flush()?;
    let module = module.ok_or(Stop::Refused)?;
    if !args.evaluation.json && shell.session.is_function(module, "it") {
        return print::text(&function_text(&shell.session, module));
    }
    let entry = shell.entry(module, "it")?;
    let arg = argument(&entry, &[], &shell.setting.limits).map_err(|refusal| match refusal {
        ArgumentRefusal::Usage(diagnostics) | ArgumentRefusal::Input(diagnostics) => {
            shell.report(&diagnostics);
            Stop::Refused
        }
    })?;
    let value = shell.evaluate(&entry, arg, &args.evaluation, cpu)?;
    shell.phase("write", "writing the result".to_string());
    print::value(&value, entry.result_type(), &entry.program.datas, args.evaluation.json)?;
    shell.tell();
    Ok(())
}

/// `diffeo check`
pub fn check(args: &CheckArgs, setting: Setting) -> Result<(), Stop> {
    let mut shell = Shell::new(setting);
    let mut done = Ok(());
    for file in &args.files {
        if let Err(stop) = shell.checked(file) {
            done = Err(stop);
        }
    }
    shell.tell();
    done
}
