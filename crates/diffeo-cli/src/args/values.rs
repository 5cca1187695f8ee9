//! Values of options: processors, times, sizes, named arguments.

use crate::arguments;
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use diffeo::pipeline::Backend;
use diffeo::{Cpu, Engine, PapersEngine};
use std::time::Duration;

/// Reads a processor, and names them for completions.
#[derive(Clone)]
pub(super) struct CpuParser;

impl TypedValueParser for CpuParser {
    type Value = Cpu;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Cpu, clap::Error> {
        let parser = StringValueParser::new().try_map(|text| text.parse::<Cpu>());
        parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Cpu::all().map(|cpu| PossibleValue::new(cpu.name()))))
    }
}

/// Reads an engine, and says in the help what each is.
#[derive(Clone)]
pub(super) struct EngineParser;

impl TypedValueParser for EngineParser {
    type Value = Engine;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Engine, clap::Error> {
        let names = PossibleValuesParser::new(Engine::ALL.map(Engine::name));
        let parser = names.map(|name| Engine::named(&name).unwrap_or_default());
        parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = Engine::ALL.into_iter();
        Some(Box::new(values.map(|engine| PossibleValue::new(engine.name()).help(summary(engine)))))
    }
}

fn summary(engine: Engine) -> &'static str {
    match engine {
        Engine::Auto => "jit at first; llvm, where there is one, if the run lasts",
        Engine::Reference => "The evaluator of the calculus",
        Engine::Papers(PapersEngine::Trace) => {
            "Evaluation by contexts and redexes, with derivatives of traces (Abadi & Plotkin)"
        }
        Engine::Papers(PapersEngine::Dual) => {
            "The evaluator, with derivatives by dual numbers (Krawiec et al., section 4)"
        }
        Engine::Papers(PapersEngine::Delta) => {
            "The evaluator, with derivatives by the monadic translation (Krawiec et al., section 7)"
        }
        Engine::Papers(PapersEngine::Taylor) => {
            "The evaluator, with derivatives by the Taylor macro (Huot et al.)"
        }
        Engine::Flat => "The evaluator of Flat, with derivatives made on Flat",
        Engine::Compiled(Backend::Jit) => "Machine code by Cranelift, derivatives too",
        Engine::Compiled(Backend::Llvm) => {
            "Machine code by LLVM, where there is one, derivatives too"
        }
        Engine::Compiled(Backend::C) => "Machine code by the system's C compiler, derivatives too",
    }
}

/// Reads `NAME=SIZES`.
pub(super) fn shape(text: &str) -> Result<(String, Vec<i64>), String> {
    let wrong = || "the sizes of an array are written `xs=1000x3`".to_string();
    let (name, sizes) = text.split_once('=').ok_or_else(wrong)?;
    let size = |text: &str| text.trim().parse::<i64>().ok().filter(|n| *n >= 0);
    let sizes = sizes.split('x').map(size).collect::<Option<_>>().ok_or_else(wrong)?;
    Ok((name.trim().to_string(), sizes))
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|s| *s > 0.0);
    seconds
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .ok_or_else(|| "a time is a positive number of seconds, such as 10 or 0.5".to_string())
}

pub(super) fn size(text: &str) -> Result<usize, String> {
    let upper = text.to_uppercase();
    let digits = upper.trim_end_matches("IB").trim_end_matches('B');
    let (digits, unit) = match digits.char_indices().last() {
        Some((at, 'K')) => (&digits[..at], 1e3),
        Some((at, 'M')) => (&digits[..at], 1e6),
        Some((at, 'G')) => (&digits[..at], 1e9),
        Some((at, 'T')) => (&digits[..at], 1e12),
        _ => (digits, 1.0),
    };
    match digits.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok((number * unit) as usize),
        _ => {
            Err("a size is a positive number of bytes, or one with K, M or G, such as 500M".into())
        }
    }
}

pub(super) fn name_and_value(text: &str) -> Result<(String, String), String> {
    match arguments::name_and_value(text) {
        Some((name, value)) if !text.starts_with('=') => Ok((name, value)),
        _ => Err("an argument is written NAME=VALUE".to_string()),
    }
}
