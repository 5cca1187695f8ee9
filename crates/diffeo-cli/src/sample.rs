//! `diffeo sample`: draws from the posterior distribution of a model.

use crate::args::SampleArgs;
use crate::arguments::{record, ArgumentRefusal};
use crate::commands::{Setting, Shell};
use crate::progress::ProgressLine;
use crate::{print, watch, Stop};
use diffeo::data::reason;
use diffeo::{
    Diagnostic, Entry, Exceeded, HostOptions, Message, Method, ModuleId, Names, Program,
    SampleOptions, Samples, SourceMap, Span, Step, Summary, Value,
};
use diffeo_base::{Label, Severity};
use diffeo_calculus::ty::Ty;
use serde_json::{json, Map, Value as Json};
use std::fmt::Write as _;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// How many rows the table has at most.
const ROWS: usize = 100;

/// A message as a diagnostic, with its place in the sources.
fn diagnostic(sources: &SourceMap, message: &Message) -> Diagnostic {
    let span = |place: &Option<diffeo::Place>| {
        let place = place.as_ref()?;
        Some(Span::new(sources.named(&place.file)?, place.start_byte, place.end_byte))
    };
    let at = span(&message.place);
    let mut d = Diagnostic::error(message.code, at.unwrap_or(Span::NONE), message.message.clone());
    if message.severity == "warning" {
        d.severity = Severity::Warning;
    }
    if at.is_some() {
        d.primary.message.clone_from(&message.text);
    }
    d.labels = message
        .labels
        .iter()
        .filter_map(|note| Some(Label { span: span(&note.place)?, message: note.message.clone() }))
        .collect();
    d.notes.clone_from(&message.notes);
    d.help.clone_from(&message.help);
    d
}

fn refused(shell: &Shell, error: &diffeo::Error) -> Stop {
    let sources = shell.session.sources();
    let all: Vec<Diagnostic> = error.messages.iter().map(|m| diagnostic(sources, m)).collect();
    shell.report(&all);
    Stop::Refused
}

/// The data that the definitions of a model take, from the command line.
fn data(
    shell: &mut Shell,
    module: ModuleId,
    args: &SampleArgs,
    program: &Program,
) -> Result<Value<'static>, Stop> {
    let names = Names {
        density: &args.entry,
        parameters: &args.parameters,
        predict: args.predict.as_deref(),
    };
    let (wanted, _) = program.model_data(names).map_err(|error| refused(shell, &error))?;
    let mut definitions = vec![args.entry.as_str()];
    if program.is_function(&args.parameters) == Some(true) {
        definitions.push(&args.parameters);
    }
    definitions.extend(args.predict.as_deref());
    let (mut left, mut fields) = (args.args.clone(), Vec::new());
    for (i, name) in definitions.into_iter().enumerate() {
        let entry: Entry = shell.callable(module, name)?;
        let Ty::Fun(function) = entry.ty.clone() else { continue };
        let takes = entry.interface.ty.sides().0;
        let (ty, interface) = match (&function.0, name == args.parameters) {
            (ty, true) => (Some(ty), Some(takes)),
            (Ty::Tuple(parts), false) => (parts.get(1), takes.arguments().get(1)),
            (_, false) => (None, None),
        };
        let (Some(Ty::Record(taken)), Some(interface)) = (ty, interface) else { continue };
        let mut taken = taken.to_vec();
        taken.retain(|(name, _)| {
            !fields.iter().any(|(known, _): &(String, _)| *name == known.as_str())
        });
        // What no definition takes is told once.
        let own: Vec<(String, String)> = left
            .iter()
            .filter(|(arg, _)| {
                let is_wanted = wanted.iter().any(|(name, _)| **name == **arg);
                taken.iter().any(|(name, _)| *name == arg.as_str()) || (i == 0 && !is_wanted)
            })
            .cloned()
            .collect();
        left.retain(|arg| !own.contains(arg));
        let limits = shell.setting.limits.clone();
        let value =
            record(&entry, (&taken, interface), &own, "--arg", &limits).map_err(
                |why| match why {
                    ArgumentRefusal::Usage(diagnostics) => shell.usage(&diagnostics),
                    ArgumentRefusal::Input(diagnostics) => {
                        shell.report(&diagnostics);
                        Stop::Refused
                    }
                },
            )?;
        let ty = Ty::Record(taken.into());
        if let Value::Record(found) = diffeo::from_core(&value, &ty, &entry.program.datas) {
            fields.extend(found.into_iter().map(|(name, value)| (name.into_owned(), value)));
        }
    }
    Ok(Value::Record(fields.into_iter().map(|(name, value)| (name.into(), value)).collect()))
}

/// Shows how far the chains are.
fn watched(line: ProgressLine) -> diffeo::Steps {
    let state: Mutex<(ProgressLine, Vec<Step>)> = Mutex::new((line, Vec::new()));
    Arc::new(move |step| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let (line, chains) = &mut *state;
        match chains.iter_mut().find(|known| known.chain == step.chain) {
            Some(known) => *known = *step,
            None => chains.push(*step),
        }
        line.say(|| {
            chains.sort_by_key(|step| step.chain);
            let each = chains.iter().map(|s| {
                let phase = if s.draw <= s.warmup { " warm-up" } else { "" };
                format!("chain {}: {}/{}{phase}", s.chain, s.draw, s.total)
            });
            let divergences: u64 = chains.iter().map(|s| s.divergences).sum();
            let told = match divergences {
                0 => String::new(),
                n => format!("; {n} diverged"),
            };
            format!("{}{told}", each.collect::<Vec<_>>().join(", "))
        });
    })
}

/// `diffeo sample`
pub fn sample(args: &SampleArgs, setting: Setting) -> Result<(), Stop> {
    let mut shell = Shell::new(setting);
    if let Some(out) = &args.out {
        if out.extension().is_none_or(|e| e != "csv") {
            let message = format!("`--out {}` does not end in .csv", out.display());
            let d = Diagnostic::error("argument", Span::NONE, message);
            return Err(shell
                .usage(&[d.help("draws are written as CSV files of Stan, one for each chain")]));
        }
    }
    let module = shell.checked(&args.file)?;
    let loaded = Program::from_file(&args.file);
    let program = loaded.map_err(|error| refused(&shell, &error))?;
    shell.phase("read", "reading the data".to_string());
    let data = data(&mut shell, module, args, &program)?;
    shell.phase("evaluate", format!("sampling `{}`", args.entry));
    watch::ensure(&shell.setting.limits, shell.setting.messages);
    // The end of the time keeps the draws that there are, as an interrupt does.
    let kept = watch::keep(true);
    let (limits, messages) = (shell.setting.limits.clone(), shell.setting.messages);
    let line = ProgressLine::new(messages);
    let traced = line.clone();
    let host = HostOptions {
        engine: args.engine,
        time: limits
            .deadline
            .filter(|_| !kept)
            .map(|(end, _)| end.saturating_duration_since(Instant::now())),
        memory: limits.memory,
        interrupt: limits.interrupt.clone(),
        threads: limits.threads,
        trace: Some(Arc::new(move |text| traced.suspend(|| messages.trace(text)))),
        ..HostOptions::default()
    };
    let options = SampleOptions {
        method: args.method.into(),
        keep_partial: true,
        chains: args.chains,
        warmup: args.warmup,
        draws: args.draws,
        target_accept: args.target_accept,
        max_depth: args.max_depth,
        seed: args.seed,
        radius: args.init,
        parameters: args.parameters.clone(),
        predict: args.predict.clone(),
        progress: Some(watched(line.clone())),
        host,
    };
    let sampled = program.sample(&args.entry, &data, &options);
    watch::keep(false);
    line.clear();
    let samples =
        sampled.map_err(|error| match watch::over().map_or_else(|| limits.check(), Err) {
            Err(bound) => {
                let message = format!("{}, while sampling `{}`", bound.message(), args.entry);
                let d = Diagnostic::error(bound.code(), Span::NONE, message);
                let nothing = match options.method {
                    Method::Nuts => {
                        "no chain has a draw behind its warm-up: there are none to keep"
                    }
                    Method::Laplace | Method::MeanField => "there are no draws to keep",
                };
                shell.report(&[match bound {
                    Exceeded::Interrupt | Exceeded::Time(_) => d.note(nothing),
                    Exceeded::Memory(_) => d,
                }]);
                Stop::Refused
            }
            Ok(()) => refused(&shell, &error),
        })?;
    shell.phase("write", "writing the draws".to_string());
    let mut files = Vec::new();
    if let Some(out) = &args.out {
        for chain in &samples.chains {
            let path = numbered(out, chain.number, args.chains);
            let written = std::fs::File::create(&path).and_then(|file| {
                let mut out = BufWriter::new(file);
                samples.write_csv(chain, &mut out)?;
                std::io::Write::flush(&mut out)
            });
            if let Err(error) = written {
                let message = format!("cannot write {}: {}", path.display(), reason(&error));
                shell.report(&[Diagnostic::error("output", Span::NONE, message)]);
                return Err(Stop::Refused);
            }
            files.push(path.display().to_string());
        }
    }
    let sources = shell.session.sources();
    let mut advice: Vec<Diagnostic> =
        samples.advice.iter().map(|m| diagnostic(sources, m)).collect();
    match args.json {
        true => print::text(&to_json(&samples, &files).to_string())?,
        false => {
            advice.extend(unknown(&samples, &args.show));
            print::text(&table(&samples, &args.show))?;
        }
    }
    shell.report(&advice);
    if samples.interrupted {
        let bound = watch::over().unwrap_or(Exceeded::Interrupt);
        let message = format!(
            "{}, while sampling `{}`: {} of {} draws are kept, of {} of {} chains",
            bound.message(),
            samples.entry,
            samples.draws(),
            args.draws,
            samples.chains.len(),
            args.chains
        );
        let d = Diagnostic::error(bound.code(), Span::NONE, message);
        shell.report(&[d]);
        return Err(Stop::Refused);
    }
    shell.tell();
    Ok(())
}

/// The file of a chain: `draws_2.csv` of the second one of several.
fn numbered(out: &Path, chain: usize, chains: usize) -> PathBuf {
    match chains {
        1 => out.to_path_buf(),
        _ => {
            let stem = out.file_stem().unwrap_or_default().to_string_lossy();
            out.with_file_name(format!("{stem}_{}.csv", chain + 1))
        }
    }
}

/// A number with four significant digits.
fn digits(x: f64) -> String {
    let magnitude = if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 };
    match magnitude {
        _ if !x.is_finite() => x.to_string().to_lowercase(),
        -4..=5 => format!("{x:.*}", (3 - magnitude).max(0) as usize),
        _ => format!("{x:.3e}"),
    }
}

/// Whether the number `name` is what `shown` names, or a part of it.
fn is_part(name: &str, shown: &str) -> bool {
    name.strip_prefix(shown).is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
}

/// Warnings of names to show that nothing has.
fn unknown(samples: &Samples, shown: &[String]) -> Vec<Diagnostic> {
    let all = || samples.summaries.iter().chain(&samples.predicted).map(|(name, _)| name.as_str());
    let known = || samples.parameters.iter().chain(&samples.predictions).map(|v| v.name.as_str());
    let missing = shown.iter().filter(|&shown| !all().any(|name| is_part(name, shown)));
    missing
        .map(|shown| {
            let message = format!("`--show {shown}`: no parameter or prediction has this name");
            let mut d = Diagnostic::error("argument", Span::NONE, message);
            d.severity = Severity::Warning;
            match diffeo_base::closest(shown, known()) {
                Some(near) => d.help(format!("did you mean `{near}`?")),
                None => d.help(format!("there are {}", known().collect::<Vec<_>>().join(", "))),
            }
        })
        .collect()
}

/// The summaries as a table, of what is to be shown, or of all.
fn table(samples: &Samples, shown: &[String]) -> String {
    let head = ["", "mean", "mcse", "sd", "5%", "50%", "95%", "ess_bulk", "ess_tail", "r_hat"];
    let mut rows = vec![head.map(str::to_string).to_vec()];
    let mut all: Vec<&(String, Summary)> =
        samples.summaries.iter().chain(&samples.predicted).collect();
    all.retain(|(name, _)| shown.is_empty() || shown.iter().any(|s| is_part(name, s)));
    for (name, s) in all.iter().take(ROWS) {
        let [low, median, high] = s.quantiles;
        let count = |x: f64| if x.is_nan() { "nan".to_string() } else { format!("{x:.0}") };
        let ratio = if s.r_hat < 100.0 { format!("{:.3}", s.r_hat) } else { digits(s.r_hat) };
        let diagnostics = match s.is_constant() {
            // There is nothing to estimate.
            true => ["-", "-", "-"].map(str::to_string),
            false => [count(s.ess_bulk), count(s.ess_tail), ratio],
        };
        let mut row = vec![name.clone()];
        row.extend([s.mean, s.mcse, s.sd, low, median, high].map(digits));
        row.extend(diagnostics);
        rows.push(row);
    }
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match i {
                0 => write!(text, "{cell:width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    if all.len() > ROWS {
        let _ = writeln!(text, "… and {} more, which `--json` and `--out` have", all.len() - ROWS);
    }
    let (chains, draws) = (samples.chains.len(), samples.draws());
    if let Some(found) = &samples.approximation {
        let (of, evidence) = match samples.method {
            Method::MeanField => ("independent normal distributions", "log evidence above"),
            Method::Laplace | Method::Nuts => ("Laplace's approximation", "log evidence about"),
        };
        let _ = writeln!(
            text,
            "\n{} draws of {of}, seed {}: {evidence} {}, Pareto k {:.2}",
            chains * draws,
            samples.seed,
            digits(found.log_evidence),
            found.pareto_k
        );
        return text;
    }
    let deepest = samples.chains.iter().flat_map(|c| &c.depth).max().copied().unwrap_or(0);
    let least = samples.e_bfmi.iter().copied().fold(f64::INFINITY, f64::min);
    let _ = writeln!(
        text,
        "\n{} draws of {chains} chain{}, seed {}: {} diverged, trees of depth {deepest} at most, E-BFMI {least:.2} at least",
        chains * draws,
        if chains == 1 { "" } else { "s" },
        samples.seed,
        samples.divergences()
    );
    text
}

/// A number as JSON: what is not finite as a text.
fn number(x: f64) -> Json {
    match serde_json::Number::from_f64(x) {
        Some(number) => Json::Number(number),
        None if x.is_nan() => json!("nan"),
        None => json!(if x > 0.0 { "inf" } else { "-inf" }),
    }
}

fn to_json(samples: &Samples, files: &[String]) -> Json {
    let summaries = |all: &[(String, Summary)]| -> Map<String, Json> {
        all.iter()
            .map(|(name, s)| {
                let [low, median, high] = s.quantiles.map(number);
                let value = json!({
                    "mean": number(s.mean), "mcse": number(s.mcse), "sd": number(s.sd),
                    "q5": low, "median": median, "q95": high,
                    "ess_bulk": number(s.ess_bulk), "ess_tail": number(s.ess_tail),
                    "r_hat": number(s.r_hat),
                });
                (name.clone(), value)
            })
            .collect()
    };
    let warnings: Vec<&str> = samples.advice.iter().map(|m| m.message.as_str()).collect();
    let method = match samples.method {
        Method::Nuts => "nuts",
        Method::Laplace => "laplace",
        Method::MeanField => "meanfield",
    };
    let approximation = samples.approximation.map(|found| {
        json!({
            "log_evidence": number(found.log_evidence),
            "converged": found.converged,
            "pareto_k": number(found.pareto_k),
        })
    });
    json!({
        "entry": samples.entry,
        "method": method,
        "approximation": approximation,
        "interrupted": samples.interrupted,
        "chains": samples.chains.len(),
        "draws": samples.draws(),
        "warmup": samples.warmup,
        "seed": samples.seed,
        "parameters": summaries(&samples.summaries),
        "predictions": summaries(&samples.predicted),
        "divergences": samples.divergences(),
        "at_max_depth": samples.at_depth_limit(),
        "e_bfmi": samples.e_bfmi.iter().map(|e| number(*e)).collect::<Vec<_>>(),
        "step_sizes": samples.chains.iter().map(|c| number(c.step_size)).collect::<Vec<_>>(),
        "warnings": warnings,
        "files": files,
    })
}
