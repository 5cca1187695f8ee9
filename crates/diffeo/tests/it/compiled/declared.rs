//! Declared types by chance, with values: as constants, as arguments, as gradients, on every engine, through JSON and
//! through the Rust API. What they have to give is known without any engine.
//!
//! `FUZZ_SEED=n FUZZ_PROGRAMS=m` choose them.

use crate::compiled::agree::{program, Made, SourceProgram, UNBOUNDED};
use crate::compiled::targets::{differences, targets, TargetProgram};
use crate::fuzzing::declared::{declared, Declared};
use crate::fuzzing::generate::Random;
use crate::fuzzing::probe;
use diffeo::data::{read_argument, to_json, Field};
use diffeo::differentiate::Differentiator;
use diffeo::{Engine, HostOptions, How, Kinks, Options, Program, Value};
use diffeo_calculus::show::show;
use diffeo_calculus::value::Value as Core;
use diffeo_calculus::Ty;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// How many types a C compiler gets at a time; each is three programs.
const FILE: usize = 16;

fn source(place: &str, text: String) -> SourceProgram {
    SourceProgram { place: place.to_string(), text, tolerance: 0.0, scaled: false, lines: true }
}

/// The value of the parameter `x` of a program that JSON is.
fn argument(text: &str, json: &str) -> Result<Core, String> {
    let (mut session, module) = probe::load(text);
    let entry =
        session.entry(module, "main").ok_or_else(|| format!("{:?}", session.diagnostics()))?;
    let Ty::Fun(sides) = &entry.ty else { return Err("it takes nothing".into()) };
    let Ty::Record(fields) = &sides.0 else { return Err("it takes no record".into()) };
    let field = Field { name: "x", ty: &fields[0].1, written: None, interface: None };
    let datas = &entry.program.datas;
    let read = read_argument(json, &field, datas, &|| Ok(()));
    // A record of one field is the tuple of one.
    read.map(|value| Core::tuple([value])).map_err(|e| format!("{:?}", e.to_diagnostic(datas)))
}

/// What a value of a host is, with lists as arrays.
fn host(value: Value<'static>, out: &mut String) {
    let all = |values: Vec<Value<'static>>, open: &str, close: &str, out: &mut String| {
        *out += open;
        for (i, value) in values.into_iter().enumerate() {
            *out += if i == 0 { "" } else { ", " };
            host(value, out);
        }
        *out += close;
    };
    match value {
        Value::Unit => *out += "()",
        Value::Real(x) => *out += &format!("{x:?}"),
        Value::Interval(lo, hi) => *out += &format!("{lo:?}..{hi:?}"),
        Value::Int(n) => *out += &n.to_string(),
        Value::Bool(b) => *out += &b.to_string(),
        Value::String(text) => *out += &format!("{text:?}"),
        Value::Tuple(parts) => all(parts, "(", ")", out),
        Value::Record(mut fields) => {
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            *out += "{";
            for (i, (name, value)) in fields.into_iter().enumerate() {
                *out += if i == 0 { "" } else { ", " };
                *out += &format!("{name} = ");
                host(value, out);
            }
            *out += "}";
        }
        Value::Variant(name, fields) if fields.is_empty() => *out += &name,
        Value::Variant(name, fields) => all(fields, &format!("{name}("), ")", out),
        Value::Reals(_) | Value::Ints(_) | Value::Bools(_) | Value::Array(_) => {
            all(value.elements().expect("an array"), "[", "]", out);
        }
    }
}

/// A gradient from outside the program, as `diffeo grad` takes it.
fn from_outside(text: &str, at: Core, engine: Engine) -> Result<String, String> {
    let (mut session, module) = probe::load(text);
    let function = session
        .differentiable(module, "f", None)
        .ok_or_else(|| format!("{:?}", session.diagnostics()))?;
    if function.without_reals().is_some() {
        return Err("without Reals".into());
    }
    let how = engine.is_compiled().then(|| (How::from(engine), Kinks::Ignore));
    let mut differentiator = Differentiator::on(&session, &function, Options::default(), how);
    let found = differentiator.gradient(&at).map_err(|error| format!("{error:?}"))?;
    Ok(show(&found.rows[0].1, &function.from, &function.entry.program.datas))
}

/// What goes in comes out: by JSON, on the evaluator and in machine code, and through the Rust API; the gradient from
/// outside.
fn in_and_out(i: usize, d: &Declared, text: &str, given: &Core) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut session, module) = probe::load(text);
    let Some(entry) = session.entry(module, "main") else { return vec!["no entry".into()] };
    let Ty::Fun(sides) = &entry.ty else { return vec!["no function".into()] };
    for engine in [Engine::Reference, Engine::JIT] {
        let run = session.run_on(&entry, Some(given.clone()), Options::default(), engine);
        let mut json = Vec::new();
        match run.result {
            Ok(value) => {
                to_json(&mut json, &value, &sides.1, &entry.program.datas).expect("memory")
            }
            Err(error) => wrong.push(format!("{engine:?}: {error:?}")),
        }
        let json = String::from_utf8_lossy(&json);
        if json != d.json {
            wrong.push(format!("{engine:?}: expected {}, found {json}", d.json));
        }
    }
    let options = HostOptions { engine: Engine::JIT, ..HostOptions::default() };
    let definitions = &d.definitions;
    let value =
        format!("{definitions}def given: {} = {}\ndef same(x: {}) = x\n", d.ty, d.value, d.ty);
    let hosted = Program::from_text("p.deo", &value).and_then(|program| {
        let given: Value = program.value("given")?;
        program.function_with("same", options)?.call::<Value>(given)
    });
    match hosted {
        Ok(value) => {
            let mut shown = String::new();
            host(value, &mut shown);
            if shown != d.host {
                wrong.push(format!("a host: expected {}, found {shown}", d.host));
            }
        }
        Err(error) => wrong.push(format!("a host: {error}")),
    }
    let function = format!("{definitions}def f(x: {}) -> Real = {}\n", d.ty, d.norm);
    let engine = if i.is_multiple_of(2) { Engine::JIT } else { Engine::Reference };
    match from_outside(&function, given.fields()[0].clone(), engine) {
        Ok(gradient) if gradient == d.doubled => {}
        Ok(gradient) => wrong.push(format!("grad: expected {}, found {gradient}", d.doubled)),
        Err(why) if why == "without Reals" => {}
        Err(error) => wrong.push(format!("grad: {error}")),
    }
    wrong
}

/// A number in a variable of the environment.
fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

fn nth(i: usize) -> Declared {
    declared(&mut Random((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// The programs of types number `seeds`, with what each has to give; what is wrong already.
fn made(seeds: std::ops::Range<usize>) -> (Vec<(TargetProgram, String)>, Vec<String>, usize) {
    let (mut programs, mut wrong, mut refused) = (Vec::new(), Vec::new(), 0);
    for i in seeds {
        let d = nth(i);
        let definitions = &d.definitions;
        let constant = format!("{definitions}def main: {} = {}\n", d.ty, d.value);
        let passed = format!("{definitions}def main({{x}}: {{x: {}}}) = x\n", d.ty);
        let gradient = format!(
            "{definitions}def main: {} = grad(fn (x: {}) -> {})({})\n",
            d.ty, d.ty, d.norm, d.value
        );
        let errors = probe::load(&constant).0.diagnostics();
        if !errors.is_empty() {
            refused += 1;
            // Arrays of different lengths cannot be written side by side, whatever is around them.
            if errors.iter().any(|d| d.code != "size-mismatch") {
                wrong.push(format!("type {i}\n{constant}: {errors:?}"));
            }
            continue;
        }
        let given = match argument(&passed, &d.json) {
            Ok(given) => given,
            Err(error) => {
                wrong.push(format!("type {i}\n{passed}{}: {error}", d.json));
                continue;
            }
        };
        let found = in_and_out(i, &d, &passed, &given);
        wrong.extend(found.into_iter().map(|what| format!("type {i}\n{passed}{}: {what}", d.json)));
        let all = [
            (constant, None, &d.value),
            (passed, Some(given), &d.value),
            (gradient, None, &d.doubled),
        ];
        for (text, argument, expected) in all {
            let place = format!("type {i}\n{text}");
            match program(&source(&place, text), argument, UNBOUNDED, &mut |_| {}) {
                Made::Program(program) => programs.push((*program, expected.clone())),
                Made::Not(why) => wrong.push(format!("{place}: {why}")),
                Made::Wrong(what) => wrong.push(format!("{place}: {what}")),
            }
        }
    }
    (programs, wrong, refused)
}

fn check(first: usize, count: usize) {
    let first = number("FUZZ_SEED").unwrap_or(first);
    let count = number("FUZZ_PROGRAMS").unwrap_or(count);
    let (next, refusals) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = Mutex::new(Vec::new());
    let work = || loop {
        let batch = next.fetch_add(1, Ordering::Relaxed);
        let from = first + batch * FILE;
        if from >= first + count || failures.lock().expect("no panic").len() >= 20 {
            break;
        }
        let (programs, mut wrong, refused) = made(from..(from + FILE).min(first + count));
        refusals.fetch_add(refused, Ordering::Relaxed);
        let (programs, expected): (Vec<TargetProgram>, Vec<String>) = programs.into_iter().unzip();
        for (program, expected) in programs.iter().zip(&expected) {
            match &program.expected.result {
                Ok(found) if found == expected => {}
                found => {
                    wrong.push(format!("{}: expected {expected}, found {found:?}", program.place))
                }
            }
        }
        for target in targets().filter(|target| target.takes(batch, false)) {
            for (program, ran) in programs.iter().zip((target.run)(&programs)) {
                let found = differences(program, &ran);
                wrong.extend(
                    found
                        .iter()
                        .map(|what| format!("{} on {}: {what}", program.place, target.name)),
                );
            }
        }
        failures.lock().expect("no panic").extend(wrong);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
    let refused = refusals.into_inner();
    println!("{count} types from {first}, {refused} with arrays of different lengths side by side");
    assert!(refused <= count / 10, "{refused} of {count} are refused");
}

#[test]
fn values_of_declared_types() {
    check(0, 96);
}

#[test]
#[ignore = "takes minutes"]
fn many_values_of_declared_types() {
    check(1_000_000, 10_000);
}

#[test]
#[ignore = "writes a file for python/tests/test_declared.py"]
fn declared_types_as_lines() {
    let to = std::env::var("DIFFEO_DECLARED").expect("the file to write is in DIFFEO_DECLARED");
    let (first, count) = (number("FUZZ_SEED").unwrap_or(0), number("FUZZ_PROGRAMS").unwrap_or(96));
    let mut lines = String::new();
    for i in first..first + count {
        let d = nth(i);
        let line = serde_json::json!({
            "seed": i, "definitions": d.definitions, "type": d.ty, "value": d.value, "norm": d.norm, "doubled": d.doubled,
        });
        lines += &format!("{line}\n");
    }
    std::fs::write(&to, lines).expect("the file can be written");
}
