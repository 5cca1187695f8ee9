//! Large programs: what they are compiled to grows as they do, and takes no more of the stack.

use crate::compiled::agree::on;
use diffeo::pipeline::{self, Backend};
use diffeo::{Limits, Session};
use diffeo_array::ir::{Block, Module};
use diffeo_codegen::engine::Cpu;
use std::time::Instant;

/// The engines that compile fast.
const FAST: [&str; 2] = ["flat", "jit"];

/// A program of so many definitions of different kinds. Each uses the one before it and one in the middle of
/// those before.
fn definitions(count: usize) -> String {
    let mut text =
        "type Shape = Dot | Disc(Real) | Box(Real, Real)\ndef d0(x: Real) -> Real = x + 1.0\n"
            .to_string();
    for i in 1..count {
        let (last, middle) = (i - 1, i / 2);
        text += &match i % 6 {
            0 => format!("def d{i}(x: Real) -> Real = d{last}(x * 1.0001) + {i}.0\n"),
            1 => format!("def d{i}(x: Real) -> Real = if x < -1e300 then d{middle}(x) else d{last}(sin(x))\n"),
            2 => format!(
                "def d{i}(x: Real) -> Real = let xs = [x * real(j) for j < 3] in if xs[1] > 1e300 then sum(map(d{middle}, xs)) else d{last}(sum(xs))\n"
            ),
            3 => format!(
                "def d{i}(x: Real) -> Real = let s = if x > 0.0 then Disc(x) else if x < -1.0 then Box(x, 2.0) else Dot in\n\
                 case s of {{ Dot -> d{last}(0.5) | Disc(r) -> 0.5 + d{last}(r) | Box(a, b) -> d{last}(a / b) }}\n"
            ),
            4 => format!("def d{i}(x: Real) -> Real = (loop (a, b) = (x, 1.0) for j < 2 do (b * 0.5, a + real(j))).0 + d{last}(x / 2.0)\n"),
            _ => format!("def c{i} = {i}.0 / 3.0\ndef d{i}(x: Real) -> Real = d{last}(x) * 0.999 + c{i}\n"),
        };
    }
    text + &format!("def main = d{}(1.0)\n", count - 1)
}

/// How many statements there are, those of regions, too.
fn statements(module: &Module) -> usize {
    fn of(block: &Block) -> usize {
        let regions = |stmt| {
            let mut count = 1;
            diffeo_array::ir::walk::regions(stmt, |region| count += of(region));
            count
        };
        block.stmts.iter().map(|stmt| regions(&stmt.op)).sum()
    }
    module.functions.iter().map(|function| of(&function.body)).sum()
}

/// From text to machine code: how many statements each pass gave.
fn compiled(text: &str) -> Vec<(&'static str, usize)> {
    let start = Instant::now();
    let mut session = Session::new();
    let module = session.load_text("large.deo", text);
    session.check();
    let entry = session.entry(module, "main");
    let entry = entry.unwrap_or_else(|| panic!("{:.2000?}", session.diagnostics()));
    let mut sizes = Vec::new();
    let mut see = |step: &pipeline::PassRun<'_>| sizes.push((step.pass, statements(step.module)));
    let lowered = pipeline::flat(&entry.program, entry.global, &mut see);
    let lowered = lowered.unwrap_or_else(|why| panic!("{why:?}"));
    let low = pipeline::low(lowered.module, Backend::Jit.lowering());
    pipeline::compile(&low, Backend::Jit, Cpu::default(), &Limits::default())
        .unwrap_or_else(|error| panic!("{error}"));
    println!("{} bytes of text: {:?} to machine code; {sizes:?}", text.len(), start.elapsed());
    sizes
}

#[test]
fn what_definitions_become_grows_as_they_do() {
    let (small, large) = (compiled(&definitions(500)), compiled(&definitions(5_000)));
    for ((pass, small), (_, large)) in small.iter().zip(&large) {
        assert!(*large < small * 11, "{pass}: {small} statements, then {large}");
    }
    on(&FAST, &definitions(5_000), None);
}

#[test]
fn long_functions_are_compiled() {
    let lets = (1..50_000).map(|i| format!("let a{i} = a{} * 0.5 + x in ", i - 1));
    let text = format!(
        "def f(x: Real) = let a0 = x in {}a49999\ndef main = f(2.0)\n",
        lets.collect::<String>()
    );
    compiled(&text);
    on(&FAST, &text, None);
}

#[test]
fn deeply_nested_programs_are_compiled() {
    let chain: String =
        (0..2900).map(|i| format!("if x < {i}.5 then sin(x + {i}.0) else ")).collect();
    let lets: String = (0..1450)
        .map(|i| format!("if x < {i}.5 then (x, y) else let y = y * x + {i}.0 in "))
        .collect();
    let text = format!(
        "def f(x: Real) -> Real = {chain}x\n\
         def g(x: Real, y: Real) -> (Real, Real) = {lets}(x, y)\n\
         def main = (f(7.0), f(1e9), g(7.0, 1.0), g(1e9, 2.0))\n"
    );
    compiled(&text);
    on(&FAST, &text, None);
}
