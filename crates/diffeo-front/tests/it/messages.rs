//! The corpus without an engine: what is said before anything runs, and the Core that comes of the rest.

use crate::corpus::corpus;
use diffeo_calculus::lint::lint;
use diffeo_front::Session;

#[test]
fn the_corpus_is_refused_or_elaborated_as_it_says() {
    let (mut wrong, mut refused, mut elaborated) = (Vec::new(), 0, 0);
    let mut fresh = Session::new();
    for case in corpus() {
        fresh.preload(&case.text);
        let mut session = fresh.clone();
        let module = session.load_text("case.deo", &case.text);
        session.check();
        let has_main = session.definitions(module).iter().any(|name| *name == "main");
        let entry = match has_main && !session.has_errors() {
            true => session.entry(module, "main"),
            false => None,
        };
        let (found, sources) = (session.diagnostics(), session.sources());
        let mut all = case.unexpected(&found, sources);
        if session.has_errors() {
            refused += 1;
            all.extend(case.missing(&found, sources));
        }
        if let Some(entry) = entry {
            elaborated += 1;
            all.extend(lint(&entry.program));
        }
        let place = format!("{}:{} {}", case.file.display(), case.line, case.name);
        wrong.extend(all.into_iter().map(|what| format!("{place}: {what}")));
    }
    assert!(wrong.is_empty(), "{} failures:\n{}", wrong.len(), wrong.join("\n"));
    assert!(refused > 300 && elaborated > 1000, "{refused} refused, {elaborated} elaborated");
}
