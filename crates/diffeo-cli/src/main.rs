//! The command-line program: the only place that reads the command line, prints results and renders
//! messages.
//!
//! Results go to standard output, messages to standard error. The exit status is 0 if all went
//! well, 1 if a program was refused or stopped or an input could not be read, 2 if the command line
//! is wrong.

mod args;
mod arguments;
mod commands;
mod excerpt;
mod grad;
mod print;
mod render;

use args::{Cli, Command};
use clap::Parser;
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

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and versions come here too, with status 0. Nothing is left to say if printing
            // fails.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let colored = render::is_colored(cli.color);
    let done = match cli.command {
        Command::Run(args) => commands::run(&args, colored),
        Command::Eval(args) => commands::eval(&args, colored),
        Command::Grad(args) => grad::grad(&args, colored),
        Command::Check(args) => commands::check(&args, colored),
        Command::Show(args) => commands::show(&args, colored),
    };
    match done {
        Ok(()) | Err(Stop::OutputClosed) => ExitCode::SUCCESS,
        Err(Stop::Refused) => ExitCode::from(1),
        Err(Stop::Usage) => ExitCode::from(2),
    }
}
