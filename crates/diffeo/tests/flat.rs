//! Every case of `tests/lang` on Flat: the same values, messages, places and traces as on the evaluator.

mod support;

use diffeo::lower::Unsupported;
use diffeo::{Engine, Kinks};
use support::{corpus, judge, run_on};

/// At least so many cases take no derivatives and run on Flat.
const LEAST: usize = 1000;

#[test]
fn the_corpus_gives_what_it_says() {
    let mut failures = Vec::new();
    let (mut count, mut derivatives, mut bugs) = (0, 0, 0);
    let only = std::env::var("DIFFEO_CASE").ok();
    for case in corpus() {
        if case.kinks.is_some() || only.as_ref().is_some_and(|name| !case.name.contains(name)) {
            continue;
        }
        count += 1;
        let place = format!("{}:{} {}", case.file.display(), case.line, case.name);
        let ran = std::panic::catch_unwind(|| run_on(&case.text, Kinks::Ignore, Engine::Flat));
        let Ok((session, _, outcome)) = ran else {
            failures.push(format!("{place}: panic"));
            continue;
        };
        match &outcome.unsupported {
            None => {}
            Some(Unsupported::Derivative(_)) => derivatives += 1,
            Some(Unsupported::Entry) => failures.push(format!("{place}: an entry of functions")),
            Some(Unsupported::Bug(what)) => {
                bugs += 1;
                failures.push(format!("{place}: {what}"));
            }
        }
        for wrong in judge(&case, &session, &outcome) {
            failures.push(format!("{place}: {wrong}"));
        }
    }
    println!(
        "{count} cases, {derivatives} of them on the evaluator because of derivatives, {bugs} bugs"
    );
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(
        only.is_some() || count - derivatives >= LEAST,
        "{} cases on Flat",
        count - derivatives
    );
}
