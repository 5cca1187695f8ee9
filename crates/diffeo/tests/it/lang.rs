//! Every case of `tests/lang`: values, messages, and derivatives in every mode.

use crate::support::{corpus, judge, loaded, run_on, Case};
use diffeo::derivative_check::{self, CheckExtent};
use diffeo::differentiate::{numbers, Differentiator};
use diffeo::{Engine, Kinks, Options, RuntimeError};

#[test]
fn the_corpus_gives_what_it_says() {
    let cases = corpus();
    let mut failures = Vec::new();
    for case in &cases {
        let (session, _, outcome) =
            run_on(&case.text, case.kinks.unwrap_or(Kinks::Ignore), Engine::Reference);
        for wrong in judge(case, &session, &outcome) {
            failures.push(format!("{}:{} {}: {wrong}", case.file.display(), case.line, case.name));
        }
    }
    println!("{} cases", cases.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(cases.len() >= 300, "the corpus has only {} cases", cases.len());
}

/// Checks the derivatives of an expression, a function, at another one; gives the operations of value and
/// gradient as a multiple of the program's.
fn check(case: &Case, f: &str, at: &str, first_only: bool) -> Result<f64, String> {
    let (mut session, module) = loaded(&case.text);
    let function = session.expression(Some(module), f);
    let point = function.and_then(|_| session.expression(Some(module), at));
    let function =
        function.zip(point).and_then(|(f, x)| session.differentiable(f, "it", Some((x, "it"))));
    let Some(function) = function else { return Err(format!("{:?}", session.diagnostics())) };
    let report = (|| {
        let mut differentiator = Differentiator::new(&session, &function, Options::default())?;
        let point = differentiator.point()?.expect("the point that was asked for");
        let extent = CheckExtent { second: !first_only, ..CheckExtent::default() };
        Ok((derivative_check::check(&session, &function, &point, &extent)?, point))
    })();
    let (report, point) = report.map_err(|e: RuntimeError| format!("{:?}", e.kind))?;
    if report.values_apart > 1e-15 {
        return Err(format!("the values differ by {}", report.values_apart));
    }
    for part in std::iter::once(&report.first).chain(&report.second) {
        if !part.agrees() {
            return Err(format!("{part:#?}"));
        }
    }
    // Reverse mode costs a constant times the program, plus the sizes of point and value.
    let sizes = numbers(&point).len() + numbers(&report.value).len();
    let allowed = report.value_operations + sizes as u64 + 20;
    let ratio = report.gradient_operations as f64 / allowed as f64;
    if ratio > 25.0 {
        let [value, gradient] = [report.value_operations, report.gradient_operations];
        return Err(format!("reverse mode takes {gradient} operations, the program {value}"));
    }
    Ok(ratio)
}

#[test]
fn derivatives_agree_in_every_mode_and_with_differences() {
    let mut failures = Vec::new();
    let mut checked = 0;
    let mut worst = (0.0, String::new());
    for case in corpus() {
        for (f, x, first_only) in &case.derivatives {
            checked += 1;
            match check(&case, f, x, *first_only) {
                Ok(ratio) if ratio > worst.0 => worst = (ratio, format!("{}: {f}", case.name)),
                Ok(_) => {}
                Err(wrong) => failures.push(format!(
                    "{}:{} {}: {f} at {x}: {wrong}",
                    case.file.display(),
                    case.line,
                    case.name
                )),
            }
        }
    }
    println!(
        "{checked} functions; operations of value and gradient at most {:.1} times those of the \
         program and the sizes of point and value ({})",
        worst.0, worst.1
    );
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
