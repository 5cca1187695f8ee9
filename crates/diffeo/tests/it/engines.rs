//! Every case of `tests/lang` on the papers' systems: the same values and messages, and derivatives of first
//! and second order that are the evaluator's.

use crate::support::{all, bounded, corpus, judge, loaded, part_of, run_on, Case};
use diffeo::differentiate::numbers;
use diffeo::{Engine, Entry, Kinks, Options, Session};
use diffeo_calculus::leaves::map_leaves;
use diffeo_calculus::value::Value;

/// The error of a run beyond its bound on operations, which is that on memory; see [`bounded`].
const COSTLY: &str = "out-of-memory";

/// The most functions that a system may leave out because of what they cost: derivatives of high orders from nested ones
/// of the first, gradients of solvers pass by pass. Of cases, one of [`ONE_IN`].
const MOST_COSTLY: usize = 120;
const ONE_IN: usize = 12;

/// What a system does not do, with the reason.
const REFUSED: &[(&[Engine], &str, &str)] = &[
    (FORWARD, "second derivatives of the norm of huge and of tiny numbers", RANGE),
    (ALL, "derivatives of the correlation do not depend on the scale", RANGE),
    (&[Engine::TRACE], "a time at which a solution has no second derivative", INFINITE),
    (TRANSLATIONS, "nor forwards", BLAME),
    (TRANSLATIONS, "no derivative is needed of what f at the solution does not depend on", VARIES),
    (FORWARD, "the level of a rule is that at which its argument varies in this run", VARIES),
    (TRANSLATIONS, "a jump that has nothing to do with the variable", VARIES),
    (FORWARD, "integrate: derivatives by an exponent at a limit", VARIES),
    (TRANSLATIONS, "derivatives of equations, pairs, products and shortest solutions", VARIES),
    (FORWARD, "integrals of samples and at singular limits: derivatives in all modes", VARIES),
    (
        TRANSLATIONS,
        "bisection finds a jump, which has no derivative, whatever the sides depend on",
        SIGN,
    ),
    (TRANSLATIONS, "a solution at infinity has no derivative", SIGN),
    (
        &[Engine::TAYLOR],
        "jets of several variables, of parameters and of what f captured, and of the time of an event",
        CAPTURED,
    ),
    (&[Engine::DELTA], "histogram", WIDTHS),
    (&[Engine::DELTA], "a checkpoint with traces runs again for the pullback", CALL),
];

const ALL: &[Engine] = &[Engine::TRACE, Engine::DUAL, Engine::DELTA, Engine::TAYLOR];
const TRANSLATIONS: &[Engine] = &[Engine::DUAL, Engine::DELTA, Engine::TAYLOR];
const FORWARD: &[Engine] = &[Engine::DUAL, Engine::TAYLOR];
const RANGE: &str = "intermediate derivatives leave the range of numbers";
const INFINITE: &str = "equation (6) takes the derivative at a cotangent 0, and 0 × ∞ is nan";
const BLAME: &str = "within a rule another operation is to blame for a derivative that is nan";
const VARIES: &str = "rules are taken of numbers that do not vary, too";
const SIGN: &str = "zeros that others leave out are added: a message shows another sign of zero";
const CAPTURED: &str =
    "solvers count the derivatives that are taken of what a jet's function captured";
const WIDTHS: &str = "an array without rows forgets their size when it is translated";
const CALL: &str = "a checkpoint is a call: nothing is computed again";

fn refused(engine: Engine, name: &str) -> bool {
    REFUSED.iter().any(|(engines, case, _)| *case == name && engines.contains(&engine))
}

#[test]
fn what_is_refused_is_in_the_corpus() {
    let names: Vec<String> = corpus().into_iter().map(|case| case.name).collect();
    for (_, name, reason) in REFUSED {
        assert!(names.iter().any(|n| n == name), "{name}: {reason}");
    }
}

/// The engines share the cases between them, unless `DIFFEO_ALL` is set: each takes an eighth. Those of the
/// derivatives' folder are for two of them, one of forward mode and one of reverse mode.
fn takes(engine: Engine, case: &Case) -> bool {
    let own = match engine {
        Engine::TRACE => 0,
        Engine::DUAL => 1,
        Engine::DELTA => 3,
        _ => 2,
    };
    all()
        || part_of(&case.name, 8) == own
        || part_of(&case.name, 2) == own % 2
            && case.file.components().any(|part| part.as_os_str() == "derivatives")
}

/// The value of `main`, and messages, of every case.
fn values(engine: Engine) {
    let mut failures = Vec::new();
    let mut costly = Vec::new();
    let mut count = 0;
    for case in corpus() {
        let out = !takes(engine, &case);
        if out || refused(engine, &case.name) || case.kinks.is_some() {
            continue;
        }
        count += 1;
        let Ok((session, _, mut outcome)) =
            std::panic::catch_unwind(|| run_on(&case.text, Kinks::Ignore, engine))
        else {
            failures.push(format!("{}:{} {}: panic", case.file.display(), case.line, case.name));
            continue;
        };
        let mut case = case.clone();
        // Zeros are added that others leave out.
        case.value = case.value.map(|text| unsigned_zeros(&text));
        outcome.value = outcome.value.map(|text| unsigned_zeros(&text));
        if outcome.diagnostics.iter().any(|d| d.code == COSTLY) {
            costly.push(case.name.clone());
            continue;
        }
        for wrong in judge(&case, &session, &outcome) {
            failures.push(format!("{}:{} {}: {wrong}", case.file.display(), case.line, case.name));
        }
    }
    println!("{engine:?}: {count} cases; beyond the bound on operations: {costly:#?}");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(costly.len() <= count / ONE_IN, "{} cases take too long", costly.len());
}

/// The text with `0.0` for `-0.0`.
fn unsigned_zeros(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("-0.0") {
        let after = &rest[at + 4..];
        let zero = !after.starts_with(|c: char| c.is_ascii_digit() || c == 'e');
        out += &rest[..at];
        out += if zero { "0.0" } else { "-0.0" };
        rest = after;
    }
    out + rest
}

/// Some numbers in the place of those of a value.
fn filled(like: &Value, seed: &mut u64) -> Value {
    let mapped: Result<Value, std::convert::Infallible> = map_leaves(like, &mut |_| {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Ok(Value::Real((*seed >> 40) as f64 / (1 << 23) as f64 - 1.0))
    });
    mapped.unwrap_or_else(|never| match never {})
}

fn evaluate(
    session: &Session,
    entry: &Entry,
    arg: Option<Value>,
    engine: Engine,
) -> Result<Value, String> {
    let limits = bounded();
    let run = session.run_on(entry, arg, Options { limits, ..Options::default() }, engine);
    run.result.map_err(|d| format!("{engine:?}: {}: {}", d.code, d.message))
}

/// The derivatives of a function at a point, by a system and by the evaluator.
fn derivative(case: &Case, f: &str, x: &str, engine: Engine) -> Result<(), String> {
    let (mut session, module) = loaded(&case.text);
    let mut entry = |text: &str| {
        let module = session.expression(Some(module), text)?;
        session.callable(module, "it")
    };
    let point = entry(&format!("(fn (f, x) -> (x, f(x)))(({f}), ({x}))"));
    let all = entry(&format!(
        "fn (v, w) -> (fn (f, x) -> (rd(f, x, w), fd(f, x, v), rd(fn z -> inner(v, rd(f, z, w)), x, 1.0)))\
         (({f}), ({x}))"
    ));
    let Some((point, all)) = point.zip(all) else {
        return Err(format!("{:?}", session.diagnostics()));
    };
    let point = evaluate(&session, &point, None, Engine::Reference)?;
    let mut seed = 1;
    let (v, w) = (filled(&point.fields()[0], &mut seed), filled(&point.fields()[1], &mut seed));
    let arg = Value::tuple([v, w]);
    let expected = evaluate(&session, &all, Some(arg.clone()), Engine::Reference)?;
    let found = evaluate(&session, &all, Some(arg), engine)?;
    for (i, name) in ["rd", "fd", "rd of rd"].iter().enumerate() {
        let (a, b) = (numbers(&expected.fields()[i]), numbers(&found.fields()[i]));
        let size = numbers(&expected).iter().chain(&numbers(&point)).fold(1.0, |m: f64, x| {
            if x.is_finite() {
                m.max(x.abs())
            } else {
                m
            }
        });
        let close =
            |a: f64, b: f64| a == b || (a - b).abs() <= 1e-9 * size || a.is_nan() && b.is_nan();
        if a.len() != b.len() || !a.iter().zip(&b).all(|(a, b)| close(*a, *b)) {
            return Err(format!("{name}: {a:?} by the evaluator, {b:?} by {engine:?}"));
        }
    }
    Ok(())
}

fn derivatives(engine: Engine) {
    let mut failures = Vec::new();
    let mut costly = Vec::new();
    let mut count = 0;
    for case in corpus() {
        for (f, x, _) in &case.derivatives {
            if !takes(engine, &case) || refused(engine, &case.name) {
                continue;
            }
            count += 1;
            let outcome = std::panic::catch_unwind(|| derivative(&case, f, x, engine));
            if let Err(wrong) = outcome.unwrap_or(Err("panic".to_string())) {
                if wrong.contains(COSTLY) {
                    costly.push(format!("{}: {f}", case.name));
                    continue;
                }
                let place = format!("{}:{} {}", case.file.display(), case.line, case.name);
                failures.push(format!("{place}: {f} at {x}: {wrong}"));
            }
        }
    }
    println!("{engine:?}: {count} functions; beyond the bound on operations: {costly:#?}");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(costly.len() <= MOST_COSTLY, "{} functions take too long", costly.len());
}

macro_rules! engines {
    ($($name:ident: $engine:expr,)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn the_corpus_gives_what_it_says() {
                values($engine);
            }

            #[test]
            fn derivatives_are_the_evaluators() {
                derivatives($engine);
            }
        }
    )*};
}

engines! {
    trace: Engine::TRACE,
    dual: Engine::DUAL,
    delta: Engine::DELTA,
    taylor: Engine::TAYLOR,
}
