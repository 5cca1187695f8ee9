//! Every case of `tests/lang` in machine code by Cranelift: the same values, messages, places and traces as on
//! the evaluator, and no memory is left.

mod support;

use diffeo::lower::Unsupported;
use diffeo::{Engine, Kinks, Options, Session};
use support::{corpus, judge, run_on};

/// At least so many cases take no derivatives and run in machine code.
const LEAST: usize = 1000;

/// How many blocks of memory an entry leaves behind; none where it is not compiled.
fn left(text: &str) -> usize {
    let mut session = Session::new();
    let module = session.load_text("case.deo", text);
    session.check();
    if session.has_errors() || !session.definitions(module).iter().any(|d| *d == "main") {
        return 0;
    }
    let Some(entry) = session.entry(module, "main") else { return 0 };
    let Ok(mut program) = session.prepare(&entry, Options::default(), Engine::Jit) else {
        return 0;
    };
    let args = program.arguments(&diffeo_calculus::value::Value::Unit);
    // The results are values of ours; whether it is an error is another test's business.
    let _ = program.call(&args);
    program.live_blocks()
}

#[test]
fn the_corpus_gives_what_it_says() {
    let mut failures = Vec::new();
    let (mut count, mut derivatives) = (0, 0);
    let only = std::env::var("DIFFEO_CASE").ok();
    for case in corpus() {
        if case.kinks.is_some() || only.as_ref().is_some_and(|name| !case.name.contains(name)) {
            continue;
        }
        count += 1;
        let place = format!("{}:{} {}", case.file.display(), case.line, case.name);
        let (session, _, outcome) = run_on(&case.text, Kinks::Ignore, Engine::Jit);
        match &outcome.unsupported {
            None => {}
            Some(Unsupported::Derivative(_)) => derivatives += 1,
            Some(other) => failures.push(format!("{place}: {other:?}")),
        }
        for wrong in judge(&case, &session, &outcome) {
            failures.push(format!("{place}: {wrong}"));
        }
        let blocks = left(&case.text);
        if blocks > 0 {
            failures.push(format!("{place}: {blocks} blocks are left"));
        }
    }
    println!("{count} cases, {derivatives} of them on the evaluator because of derivatives");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(
        only.is_some() || count - derivatives >= LEAST,
        "{} in machine code",
        count - derivatives
    );
}
