//! Every case of `tests/lang`: values, messages, and derivatives in every mode.

#[path = "support/modes.rs"]
mod modes;
mod support;

use diffeo::{Kinks, Options};
use diffeo_calculus::leaves;
use diffeo_calculus::value::Value;
use modes::{direction, function, numbers, within, MODES, SECOND};
use support::{corpus, judge, run, Case};

#[test]
fn the_corpus_gives_what_it_says() {
    let cases = corpus();
    let mut failures = Vec::new();
    for case in &cases {
        let (session, _, outcome) = run(&case.text, case.kinks.unwrap_or(Kinks::Ignore));
        for wrong in judge(case, &session, &outcome) {
            failures.push(format!("{}:{} {}: {wrong}", case.file.display(), case.line, case.name));
        }
    }
    println!("{} cases", cases.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(cases.len() >= 300, "the corpus has only {} cases", cases.len());
}

/// The values on the line that differences are taken of.
const LINE: &str = "
(fn (x, v, w, t) -> let f = FUNCTION in inner(w, f(add(x, scale(t, v)))))";

const GRADIENT: &str = "(fn (x, w) -> let (y, pullback) = vjp(FUNCTION, x) in pullback(w))";

fn size(value: &Value) -> u64 {
    let mut n = 0;
    let _ = leaves::each_leaf(value, &mut |_| {
        n += 1;
        Ok::<_, String>(())
    });
    n
}

/// Central differences of `line` at 0, extrapolated twice (Richardson).
fn differences(line: &mut dyn FnMut(f64) -> Result<f64, String>) -> Result<(f64, f64), String> {
    let mut best = (f64::NAN, f64::INFINITY);
    let mut scale = 0.0f64;
    for start in [1e-1, 1e-2, 1e-3] {
        let mut rows: Vec<f64> = Vec::new();
        for k in 0..4 {
            let h = start / 2f64.powi(k);
            let (a, b) = (line(h)?, line(-h)?);
            scale = scale.max(a.abs()).max(b.abs());
            rows.push((a - b) / (2.0 * h));
        }
        let mut order = 4.0;
        while rows.len() > 1 {
            let next: Vec<f64> =
                rows.windows(2).map(|w| (order * w[1] - w[0]) / (order - 1.0)).collect();
            let error = (next[next.len() - 1] - rows[rows.len() - 1]).abs();
            if error < best.1 {
                best = (next[next.len() - 1], error);
            }
            rows = next;
            order *= 4.0;
        }
    }
    Ok((best.0, scale))
}

fn check(case: &Case, f: &str, at: &str, first_only: bool) -> Result<f64, String> {
    let of = |text: &str| function(&case.text, text, Options::default());
    let put = |template: &str| of(&template.replace("FUNCTION", &format!("({f})")));
    let mut point = of(&format!("(fn () -> {at})"))?;
    let x = point.call([Value::Unit])?;
    let mut primal = of(&format!("({f})"))?;
    let y = primal.call([x.clone()])?;
    let operations = primal.machine.operations();
    let mut seed = 42;
    // Reverse mode costs a constant times the program, plus the sizes of point and value.
    let w = direction(&y, &mut seed);
    let mut gradient = put(GRADIENT)?;
    gradient.call([x.clone(), w])?;
    let allowed = operations + size(&x) + size(&y) + 20;
    let ratio = gradient.machine.operations() as f64 / allowed as f64;
    if ratio > 25.0 {
        return Err(format!(
            "reverse mode takes {} operations, the program {operations}",
            gradient.machine.operations()
        ));
    }
    for _ in 0..2 {
        let (v, w) = (direction(&x, &mut seed), direction(&y, &mut seed));
        let result = put(MODES)?.call([x.clone(), v.clone(), w.clone()])?;
        let all = numbers(&result);
        let (modes, values) = all.split_at(6);
        let largest = all.iter().fold(1e-30f64, |m, x| m.max(x.abs()));
        for (i, d) in modes.iter().enumerate() {
            if !within(*d, modes[0], 1e-9 * largest) {
                return Err(format!("first derivatives: mode {i} differs in {modes:?}"));
            }
        }
        if values[0] != values[1] {
            return Err(format!("the values differ: {values:?}"));
        }
        let mut line = put(LINE)?;
        let (difference, scale) = differences(&mut |t| {
            let args = [x.clone(), v.clone(), w.clone(), Value::Real(t)];
            Ok(numbers(&line.call(args)?)[0])
        })?;
        if !within(difference, modes[0], 1e-6 * largest.max(scale).max(1.0)) {
            return Err(format!("differences give {difference}, the modes {modes:?}"));
        }
        if first_only {
            continue;
        }
        let second = numbers(&put(SECOND)?.call([x.clone(), v, w])?);
        let largest = second.iter().fold(largest, |m, x| m.max(x.abs()));
        for (i, d) in second.iter().enumerate() {
            if !within(*d, second[0], 1e-8 * largest) {
                return Err(format!("second derivatives: mode {i} differs in {second:?}"));
            }
        }
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
