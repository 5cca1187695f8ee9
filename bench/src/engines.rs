//! The engines of Diffeo, as far as they take a program whole and can be called again and again.

mod compiled;
mod evaluator;
mod flat;

use crate::c::CCompiler;
use crate::case::Kernel;
use crate::case::OwnedValue;
use crate::run::{Prepared, Runner};
use diffeo::{Diagnostic, Entry, ModuleId, Session};
use diffeo_calculus::value::Value as Core;
use diffeo_calculus::Ty;
use std::path::Path;
use std::time::{Duration, Instant};

/// An engine.
pub trait BenchEngine {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Whether it is there to be compared, not to be fast: then it is measured on large data only where it is asked for.
    fn for_tests(&self) -> bool {
        false
    }

    /// An entry point compiled; the argument is converted afterwards.
    ///
    /// # Errors
    /// Why the engine cannot compile it.
    fn compile<'a>(
        &self,
        session: &'a Session,
        entry: &'a Entry,
    ) -> Result<Box<dyn CompiledEntry + 'a>, String>;
}

/// An entry point compiled.
pub trait CompiledEntry {
    /// The entry point with its argument in the engine's own form.
    ///
    /// # Errors
    /// The argument does not fit.
    fn prepare(self: Box<Self>, argument: &OwnedValue) -> Result<Box<dyn Prepared>, String>;
}

/// All engines that are there. A new one is added here.
pub fn all() -> Vec<Box<dyn BenchEngine>> {
    let mut all: Vec<Box<dyn BenchEngine>> =
        vec![Box::new(evaluator::EvaluatorEngine), Box::new(flat::Flat), Box::new(compiled::JIT)];
    if diffeo_codegen::llvm::library().is_ok() {
        all.push(Box::new(compiled::LLVM));
    }
    if CCompiler::find().is_ok() {
        all.push(Box::new(compiled::C));
    }
    all
}

/// Where the text of a program is.
enum ProgramSource<'a> {
    Kernel(&'a Kernel),
    Text(&'a str),
}

/// A program checked: what all engines start from.
pub struct CheckedProgram {
    session: Session,
    entry: Entry,
    /// How long it took from the text to Core, the standard library aside.
    front_end: Duration,
}

fn messages(session: &Session, diagnostics: &[Diagnostic]) -> String {
    let one = |d: &Diagnostic| diffeo::Message::new(session.sources(), d).to_string();
    diagnostics.iter().map(one).collect::<Vec<String>>().join("\n")
}

/// The argument of an entry as the evaluator has it.
fn argument(entry: &Entry, argument: &OwnedValue) -> Result<Core, String> {
    let Ty::Fun(types) = &entry.ty else {
        return Err(format!("`{}` takes no argument", entry.name));
    };
    let datas = &entry.program.datas;
    diffeo::to_core(argument, &types.0, datas)
}

/// The numbers in the result of an entry, in order; none where it is no data.
fn numbers(entry: &Entry, result: &Core) -> Vec<f64> {
    fn leaves(value: &OwnedValue, out: &mut Vec<f64>) {
        match value {
            OwnedValue::Unit | OwnedValue::String(_) => {}
            OwnedValue::Real(x) => out.push(*x),
            OwnedValue::Interval(lo, hi) => out.extend([lo, hi]),
            OwnedValue::Int(n) => out.push(*n as f64),
            OwnedValue::Bool(b) => out.push(f64::from(u8::from(*b))),
            OwnedValue::Tuple(values)
            | OwnedValue::Array(values)
            | OwnedValue::Variant(_, values) => {
                values.iter().for_each(|v| leaves(v, out));
            }
            OwnedValue::Reals(array) => out.extend_from_slice(&array.data),
            OwnedValue::Ints(array) => out.extend(array.data.iter().map(|n| *n as f64)),
            OwnedValue::Bools(array) => {
                out.extend(array.data.iter().map(|b| f64::from(u8::from(*b))))
            }
            OwnedValue::Record(fields) => fields.iter().for_each(|(_, v)| leaves(v, out)),
        }
    }
    let mut out = Vec::new();
    if let Ty::Fun(types) = &entry.ty {
        leaves(&diffeo::from_core(result, &types.1, &entry.program.datas), &mut out);
    }
    out
}

impl CheckedProgram {
    /// The program of a kernel.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(kernel: &Kernel) -> Result<CheckedProgram, String> {
        CheckedProgram::new(&ProgramSource::Kernel(kernel), |session, module| {
            session.entry(module, kernel.entry)
        })
    }

    /// The value of a kernel's program with the pullback of the value to its parameters.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn pullback(kernel: &Kernel) -> Result<CheckedProgram, String> {
        CheckedProgram::new(&ProgramSource::Kernel(kernel), |session, module| {
            let list = |text: &dyn Fn(usize, &str) -> String| {
                let texts = kernel.parameters.iter().enumerate().map(|(i, name)| text(i, name));
                texts.collect::<Vec<String>>().join(", ")
            };
            let (names, given) =
                (list(&|i, _| format!("v{i}")), list(&|_, name| format!("args.{name}")));
            let changed = list(&|i, name| format!("{name} = v{i}"));
            let entry = kernel.entry;
            let pulled = format!(
                "fn args -> let (y, back) = vjp(fn ({names}) -> {entry}({{args with {changed}}}), ({given})) \
                 in (y, back(y))"
            );
            let it = session.expression(Some(module), &pulled)?;
            session.function(it, "it")
        })
    }

    /// The program of a text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn text(text: &str) -> Result<CheckedProgram, String> {
        CheckedProgram::new(&ProgramSource::Text(text), |session, module| {
            session.entry(module, "main")
        })
    }

    fn new(
        source: &ProgramSource<'_>,
        entry: impl FnOnce(&mut Session, ModuleId) -> Option<Entry>,
    ) -> Result<CheckedProgram, String> {
        let mut session = Session::new();
        let start = Instant::now();
        let module = match source {
            ProgramSource::Kernel(kernel) => {
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
                let module = session.load_file(&root.join(kernel.program));
                module.map_err(|e| messages(&session, &[e.to_diagnostic()]))?
            }
            ProgramSource::Text(text) => session.load_text("text.deo", text),
        };
        session.check();
        let entry = entry(&mut session, module);
        let front_end = start.elapsed();
        let entry = entry.ok_or_else(|| messages(&session, &session.diagnostics()))?;
        Ok(CheckedProgram { session, entry, front_end })
    }

    /// The program on an engine, ready for an argument; compiled several times if that is timed.
    ///
    /// # Errors
    /// Why the engine cannot run it.
    pub fn prepare(
        &self,
        engine: &dyn BenchEngine,
        argument: &OwnedValue,
        timed: bool,
    ) -> Result<Runner<'static>, String> {
        let compile = || {
            let start = Instant::now();
            let compiled = engine.compile(&self.session, &self.entry)?;
            Ok::<_, String>((start.elapsed(), compiled))
        };
        // The machine may do something else meanwhile: the median of three where the time matters.
        let (mut times, mut compiled) = (Vec::new(), compile()?);
        for _ in 0..2 * usize::from(timed) {
            times.push(compiled.0);
            compiled = compile()?;
        }
        times.push(compiled.0);
        times.sort_unstable();
        let prepared = compiled.1.prepare(argument)?;
        Ok(Runner {
            name: engine.name().into(),
            compile: self.front_end + times[times.len() / 2],
            prepared,
        })
    }
}
