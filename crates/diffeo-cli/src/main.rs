//! The command-line program: the only place that reads the command line, prints results and renders
//! messages.
//!
//! Results go to standard output, messages to standard error. The exit status is 0 if all went
//! well, 1 if a program was refused or stopped or an input could not be read, 2 if the command line
//! is wrong.

mod args;
mod arguments;
mod build;
mod commands;
mod doc;
mod excerpt;
mod fmt;
mod grad;
mod jupyter;
mod lsp;
mod new;
mod outputs;
mod plot;
mod print;
mod printable;
mod progress;
mod render;
mod repl;
mod sample;
mod show;
mod testing;
mod watch;

use args::{Cli, Command};
use clap::Parser;
use commands::Setting;
use diffeo::console::Refused;
use render::Messages;
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command ended early; its message is already written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The program was refused or stopped, or an input could not be read.
    Refused,
    /// The command line is wrong.
    Usage,
    /// Nobody reads the output any more, which is no failure.
    OutputClosed,
}

impl From<Refused> for Stop {
    fn from(Refused: Refused) -> Stop {
        Stop::Refused
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and versions come here too, with status 0.
            let status = error.exit_code();
            let status = match render::usage(error) {
                Ok(()) | Err(Stop::OutputClosed) => status,
                Err(Stop::Refused | Stop::Usage) => 1,
            };
            return ExitCode::from(u8::try_from(status).unwrap_or(2));
        }
    };
    let messages = Messages::new(cli.message_format, cli.color);
    // A panic that becomes a message is not shown twice.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !diffeo::data::is_guarded() {
            hook(panic);
        }
    }));
    // In a session, the time is that of each run; of the language server, that of each answer.
    let session = matches!(cli.command, Command::Repl(_) | Command::Lsp);
    let whole = cli.timeout.filter(|_| !session);
    let mut limits = watch::start(whole, cli.max_memory, messages);
    limits.threads = cli.threads;
    let data = !messages.is_human();
    let steps = match &cli.command {
        Command::Run(args) => args.time_passes.then_some(data || args.evaluation.json),
        Command::Show(args) => args.time_passes.then_some(data),
        Command::Build(args) => args.time_passes.then_some(data),
        Command::Eval(_)
        | Command::Repl(_)
        | Command::Test(_)
        | Command::Doc(_)
        | Command::New(_)
        | Command::Grad(_)
        | Command::Sample(_)
        | Command::Check(_)
        | Command::Fmt(_)
        | Command::Lsp
        | Command::Jupyter(_)
        | Command::Completions(_)
        | Command::Man(_) => None,
    };
    let setting = Setting { messages, limits, verbose: cli.verbose, steps };
    let done = match cli.command {
        Command::Run(args) => commands::run(&args, setting),
        Command::Eval(args) => commands::eval(&args, setting),
        Command::Repl(args) => repl::repl(&args, setting, cli.timeout),
        Command::Test(args) => testing::test(&args, setting),
        Command::Doc(args) => doc::doc(&args, setting),
        Command::New(args) => new::new(&args, messages),
        Command::Grad(args) => grad::grad(&args, setting),
        Command::Sample(args) => sample::sample(&args, setting),
        Command::Check(args) => commands::check(&args, setting),
        Command::Fmt(args) => fmt::fmt(&args, messages),
        Command::Show(args) => show::show(&args, setting),
        Command::Build(args) => build::build(&args, setting),
        Command::Lsp => lsp::run(&setting.limits, cli.timeout).map_err(|why| {
            let d = diffeo_base::Diagnostic::error("usage", diffeo_base::Span::NONE, why);
            messages.report(&diffeo_base::SourceMap::default(), &[d]);
            Stop::Refused
        }),
        Command::Jupyter(args) => jupyter::jupyter(&args, messages),
        Command::Completions(args) => print::completions(args.shell),
        Command::Man(args) => print::man(args.dir.as_deref()),
    };
    end(match done {
        Ok(()) if render::is_incomplete() => 1,
        Ok(()) | Err(Stop::OutputClosed) => 0,
        Err(Stop::Refused) => 1,
        Err(Stop::Usage) => 2,
    })
}

/// Ends the process at once: another thread may still be compiling, which must not see it taken apart, and nobody
/// should wait for that.
fn end(status: i32) -> ! {
    // What nobody reads any more is no failure.
    let _ = io::stdout().flush();
    signal_hook::low_level::exit(status)
}
