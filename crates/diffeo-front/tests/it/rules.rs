//! Rules of derivatives: those of the library are all known to be linear, without a run.

use diffeo_calculus::linear::Verdict;
use diffeo_front::{library, Session};

use std::sync::OnceLock;

/// The verdicts on all rules of a library that are not "linear", each with its place.
fn doubts(mut session: Session) -> (usize, Vec<String>) {
    let modules: Vec<&str> = library::MODULES.iter().map(|(name, _)| *name).collect();
    let (uses, found) = session.library_rules(&modules);
    assert!(!found.lost && session.diagnostics().is_empty(), "{:?}", session.diagnostics());
    let place = |span| {
        let at = session.sources().line_column(span);
        format!("{}:{}:{}", session.sources().name(span.file), at.line, at.column)
    };
    let mut doubts: Vec<String> = Vec::new();
    for finding in &found.rules {
        if let Verdict::Unseen(reason) | Verdict::Nonlinear(reason) = &finding.verdict {
            let (rule, at) = (place(finding.rule.0), place(reason.span));
            let text = session.sources().slice(reason.span);
            doubts.push(format!("{rule}: {:?} at {at}: {text}", reason.why));
        }
    }
    for span in &uses {
        if !found.rules.iter().any(|finding| finding.at.0 == *span) {
            doubts.push(format!("{}: no rule was met", place(*span)));
        }
    }
    doubts.sort();
    (uses.len(), doubts)
}

#[test]
fn the_rules_of_the_library_are_linear() {
    let (uses, doubts) = doubts(Session::new());
    assert!(uses > 25 && doubts.is_empty(), "{uses} rules:\n{}", doubts.join("\n"));
}

/// The names of a program's definitions in which a rule is given that is looked at while it runs.
fn unseen(text: &str) -> Vec<String> {
    let mut session = Session::new();
    let module = session.load_text("rules.deo", text);
    session.check();
    assert!(session.diagnostics().is_empty(), "{:#?}", session.diagnostics());
    let line = |span| session.sources().line_index(session.file(module), span);
    let mut lines: Vec<usize> =
        session.unseen_rules().iter().map(|at| line(at.start as usize)).collect();
    lines.sort_unstable();
    let name = |line: usize| text.lines().nth(line).unwrap_or_default().to_string();
    lines.into_iter().map(name).collect()
}

#[test]
fn linear_rules_are_seen_to_be() {
    let unseen = unseen(include_str!("rules/linear.deo"));
    assert!(unseen.is_empty(), "{}", unseen.join("\n"));
}

/// Changes of the library: a module, a text, and what takes its place.
const CHANGES: &[(&str, &str, &str)] = &[
    (
        "linalg",
        "(xs, [substitute(f, dbs[i] - matvec(da, xs[i])) for i < m])",
        "(xs, [substitute(f, dbs[i] * dbs[i]) for i < m])",
    ),
    (
        "linalg",
        "[dot(v, matvec(da, v)) for v in rows]",
        "[dot(matvec(da, v), matvec(da, v)) for v in rows]",
    ),
    (
        "linalg",
        "let images = [matvec(da, v) for v in rows]",
        "let images = [matvec(stop_gradient(da), v) for v in rows]",
    ),
    (
        "sparse",
        "x with [place[a.rows[p]]] = change[a.entries[p]]",
        "x with [place[a.rows[p]]] = abs(change[a.entries[p]])",
    ),
    ("ode", "dot(s.l + jumps[0], dstart) +", "dot(s.l + jumps[0], sort(dstart)) +"),
    ("special", "(near_deviance(r), log1p(r) * dr)", "(near_deviance(r), log1p(r))"),
    ("stats", "let change = 0.5 * (dp - dq)", "let change = 0.5 * max(dp, dq)"),
    (
        "prelude",
        "(norm(xs), dot(direction(xs), dxs))",
        "(norm(xs) + dxs[0], dot(direction(xs), dxs))",
    ),
    ("prelude", "let along = dot(u, dxs)", "let along = dot(u, dxs) / (1.0 + dxs[0])"),
];

fn changed(name: &str) -> Option<&'static str> {
    static TEXTS: OnceLock<Vec<(&str, String)>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        let changed = |(name, text): &(&'static str, &'static str)| {
            let mut text = text.to_string();
            for (_, from, to) in CHANGES.iter().filter(|(module, ..)| module == name) {
                assert!(text.contains(from), "{name}: {from}");
                text = text.replace(from, to);
            }
            (*name, text)
        };
        library::MODULES.iter().map(changed).collect()
    });
    texts.iter().find(|(module, _)| *module == name).map(|(_, text)| text.as_str())
}

#[test]
fn rules_of_the_library_that_are_not_linear_are_found() {
    let (_, doubts) = doubts(Session::with_library(changed));
    let found = doubts.iter().filter(|doubt| !doubt.contains("no rule")).count();
    assert!(found >= CHANGES.len(), "{found}:\n{}", doubts.join("\n"));
    println!("{}", doubts.join("\n"));
}
