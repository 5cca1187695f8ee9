//! The texts of programs on their way to code, for refactorings that must not change them: Flat after every pass, Low,
//! Cranelift's form, LLVM's and C, of the corpus, the benchmarks and the examples.
//!
//! `tests/texts.sh FILE` writes a line for each text: the program, the step and a number that stands for the text. The
//! files of before and after a change are compared by `diff`.

use crate::support::{corpus, loaded, root};
use diffeo::pipeline::{self, CodeForm};
use diffeo::{Cpu, Entry, Session};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};

/// The number of a text.
fn number(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Adds the lines of a program.
fn lines(out: &mut String, name: &str, entry: &Entry) {
    let mut flat = String::new();
    let mut step = 0;
    let lowered = pipeline::flat(&entry.program, entry.global, &mut |done| {
        let text = diffeo_array::print::print(done.module);
        let _ = writeln!(flat, "{name}\t{step:02} {}\t{:016x}", done.pass, number(&text));
        step += 1;
    });
    let Ok(lowered) = lowered else { return };
    out.push_str(&flat);
    let module = std::sync::Arc::new(lowered.module);
    for code in CodeForm::ALL {
        let low = pipeline::low(module.clone(), code.lowering());
        // Code for one kind of processor, so that files of several machines can be compared.
        if let Ok(text) = code.text(&low, Cpu::X86V3) {
            let _ = writeln!(out, "{name}\t{}\t{:016x}", code.name(), number(&text));
        }
    }
}

#[test]
#[ignore = "writes a file for a comparison: tests/texts.sh"]
fn texts_of_all_programs() {
    let to = std::env::var("DIFFEO_TEXTS").expect("the file to write is in DIFFEO_TEXTS");
    let mut out = String::new();
    let fresh = Session::new();
    for case in corpus() {
        let (mut session, module) = loaded(&case.text);
        if let Some(entry) = session.entry(module, "main") {
            lines(&mut out, &case.name, &entry);
        }
    }
    for folder in ["bench/programs", "examples", "examples/gradbench"] {
        let entries = std::fs::read_dir(root().join(folder)).expect("a folder of programs");
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == "deo"));
        files.sort();
        for file in files {
            let mut session = fresh.clone();
            let module = session.load_file(&file).expect("a readable program");
            session.check();
            for definition in session.definitions(module) {
                if let Some(entry) = session.callable(module, &definition) {
                    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
                    lines(&mut out, &format!("{folder}/{stem} {definition}"), &entry);
                }
                session.take_diagnostics();
            }
        }
    }
    assert!(out.lines().count() > 10_000, "too few programs were compiled");
    std::fs::write(&to, out).expect("the file can be written");
}
