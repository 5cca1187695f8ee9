//! Every case of `tests/lang` on engine `c`: the same values, messages, places and traces as on the evaluator, and
//! nothing is left in memory. Many programs are compiled as one file, without the optimisations that take long.

mod support;

use diffeo::lower::value::Interface;
use diffeo::{pipeline, Entry, Session};
use diffeo_codegen::c::compiler::{Compiler, Options};
use diffeo_codegen::c::engine::compile_all;
use diffeo_codegen::engine::{Callbacks, Compiled, Instance, RunOptions};
use diffeo_codegen::{low, memory};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use support::{corpus, judge, Case, Outcome};

/// How many programs are a file.
const FILE: usize = 48;

/// At least so many cases have a `main` that takes no derivatives.
const LEAST: usize = 700;

/// A case with its program.
struct Program {
    case: Case,
    session: Session,
    entry: Entry,
    interface: Interface,
    low: Arc<low::Module>,
}

/// The program of a case, if it has one that is Flat.
fn program(case: Case) -> Option<Program> {
    let mut session = Session::new();
    let module = session.load_text("case.deo", &case.text);
    session.check();
    let has_main = session.definitions(module).iter().any(|d| *d == "main");
    if !has_main || session.has_errors() || case.kinks.is_some() {
        return None;
    }
    let entry = session.entry(module, "main")?;
    let lowered = pipeline::flat(&entry.program, entry.global, &mut |_| {}).ok()?;
    let low = Arc::new(memory::lower(Arc::new(lowered.module)));
    Some(Program { case, session, entry, interface: lowered.interface, low })
}

fn wrong_with(program: &Program, compiled: Compiled) -> Vec<String> {
    let Program { case, session, entry, interface, low: _ } = program;
    let lines = Rc::new(RefCell::new(Vec::new()));
    let sink = lines.clone();
    let callbacks = Callbacks {
        trace: Box::new(move |line| sink.borrow_mut().push(line.to_string())),
        ..Callbacks::default()
    };
    let options = RunOptions { callbacks, ..RunOptions::default() };
    let mut instance = Instance::new(Arc::new(compiled), options);
    let mut outcome = Outcome::default();
    match instance.call(&[]) {
        Ok(results) => {
            let value = interface.result(results);
            outcome.value =
                Some(diffeo_calculus::show::show(&value, &entry.ty, &entry.program.datas));
        }
        Err(error) => outcome.diagnostics.push(error.to_diagnostic()),
    }
    outcome.diagnostics.extend(session.diagnostics());
    outcome.trace = lines.borrow().clone();
    instance.release_constants();
    let mut wrong = judge(case, session, &outcome);
    if instance.live_blocks() != 0 {
        wrong.push(format!("{} blocks are left", instance.live_blocks()));
    }
    wrong
}

#[test]
fn the_corpus_gives_what_it_says() {
    if Compiler::find().path().is_none() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    let only = std::env::var("DIFFEO_CASE").ok();
    let chosen = |case: &Case| only.as_ref().is_none_or(|name| case.name.contains(name));
    let mut cases = corpus().into_iter().filter(chosen).filter_map(program).peekable();
    let (mut count, mut failures) = (0, Vec::new());
    while cases.peek().is_some() {
        let programs: Vec<Program> = cases.by_ref().take(FILE).collect();
        let modules: Vec<Arc<low::Module>> = programs.iter().map(|p| p.low.clone()).collect();
        let options = Options { quick: true, ..Options::default() };
        let compiled = compile_all(&modules, &options).unwrap_or_else(|e| panic!("{e}"));
        for (program, compiled) in programs.iter().zip(compiled) {
            count += 1;
            let case = &program.case;
            let place = format!("{}:{} {}", case.file.display(), case.line, case.name);
            if std::env::var("DIFFEO_TELL").is_ok() {
                eprintln!("{place}");
            }
            for wrong in wrong_with(program, compiled) {
                failures.push(format!("{place}: {wrong}"));
            }
        }
    }
    println!("{count} cases");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(only.is_some() || count >= LEAST, "{count} cases");
}
