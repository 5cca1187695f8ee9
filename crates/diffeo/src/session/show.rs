//! What an entry becomes behind Core, as text: Flat, Low, code for a processor.

use super::Session;
use super::Unsupported;
use crate::pipeline::{self, CodeForm, Timing};
use diffeo_array::ir::Module;
use diffeo_base::{Diagnostic, Span};
use diffeo_codegen::engine::Cpu;
use diffeo_front::Entry;

impl Session {
    /// The program of Flat that an entry becomes, as text; after this pass if one is named.
    ///
    /// # Errors
    /// The reason that the program has no Flat, as a message.
    pub fn show_flat(
        &self,
        entry: &Entry,
        pass: Option<&str>,
        times: &mut Vec<Timing>,
    ) -> Result<String, Box<Diagnostic>> {
        let mut shown = None;
        let lowered = pipeline::flat(&entry.program, entry.global, &mut |step| {
            times.push(Timing::of(step, true));
            // Of passes that run for each order of derivatives, the first run.
            if Some(step.pass) == pass && shown.is_none() {
                shown = Some(diffeo_array::print::print(step.module));
            }
        });
        let last = match lowered {
            Ok(lowered) => diffeo_array::print::print(&lowered.module),
            Err(unsupported) => return Err(Box::new(unsupported.to_diagnostic(entry.span))),
        };
        match (pass, shown) {
            (None, _) => Ok(last),
            (Some(_), Some(shown)) => Ok(shown),
            (Some(pass), None) if pipeline::passes().any(|name| name == pass) => {
                let message = format!(
                    "`{pass}` runs before derivatives are taken, and `{}` takes none",
                    entry.name
                );
                let d = Diagnostic::error("argument", entry.span, message);
                Err(Box::new(d.help("show a definition that takes one: `def d = grad(f)(…)`")))
            }
            (Some(pass), None) => {
                let passes: Vec<String> =
                    pipeline::passes().map(|name| format!("`flat:{name}`")).collect();
                let message = format!("there is no pass `{pass}`");
                let d = Diagnostic::error("argument", Span::NONE, message)
                    .help(format!("one of {}", passes.join(", ")));
                Err(Box::new(d))
            }
        }
    }

    /// The program of Low that an entry becomes, as text, after this pass.
    ///
    /// # Errors
    /// What there is no code for, as a message.
    pub fn show_low(
        &self,
        entry: &Entry,
        pass: &str,
        times: &mut Vec<Timing>,
    ) -> Result<String, Box<Diagnostic>> {
        let module = lowered(entry, times)?;
        let mut shown = String::new();
        let options = CodeForm::Low.lowering();
        pipeline::low_seeing(module, options, &mut |name, module| {
            if name == pass {
                shown = diffeo_codegen::low::print::print(module);
            }
        });
        Ok(shown)
    }

    /// The code for a processor that an entry becomes, as text.
    ///
    /// # Errors
    /// What there is no code for, as a message.
    pub fn show_code(
        &self,
        entry: &Entry,
        code: CodeForm,
        cpu: Cpu,
        times: &mut Vec<Timing>,
    ) -> Result<String, Box<Diagnostic>> {
        let module = lowered(entry, times)?;
        let low = pipeline::timed_low(module, code.lowering(), times);
        let text = pipeline::timed(code.name(), times, || code.text(&low, cpu));
        text.map_err(|error| Box::new(Unsupported::from(error).to_diagnostic(entry.span)))
    }
}

/// The program of Flat that an entry becomes.
fn lowered(entry: &Entry, times: &mut Vec<Timing>) -> Result<Module, Box<Diagnostic>> {
    let mut see = |step: &pipeline::PassRun<'_>| times.push(Timing::of(step, true));
    let lowered = pipeline::flat(&entry.program, entry.global, &mut see);
    let message = |refusal| Box::new(Unsupported::from(refusal).to_diagnostic(entry.span));
    lowered.map(|lowered| lowered.module).map_err(message)
}
