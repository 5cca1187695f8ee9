//! Random modules of Flat on engine `c`, many of them compiled as one file.

use crate::random;
use crate::random::program;
use diffeo_array_generate::GeneratedProgram;
use diffeo_codegen::c::compiler::{COptions, Compiler};
use diffeo_codegen::c::engine::compile_all;
use diffeo_codegen::low;
use diffeo_codegen::memory::{self, Splitting};
use std::sync::Arc;

/// How many programs are a file.
const FILE: u64 = 64;

fn check_all(seeds: std::ops::Range<u64>) {
    if Compiler::find().path().is_none() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    for first in seeds.clone().step_by(FILE as usize) {
        let programs: Vec<(u64, GeneratedProgram)> =
            (first..seeds.end.min(first + FILE)).map(|seed| (seed, program(seed, false))).collect();
        let modules: Vec<Arc<low::LowModule>> = programs
            .iter()
            .map(|(seed, program)| {
                // Every other program with its loops done block by block.
                let always = seed.is_multiple_of(2);
                let splitting = if always { Splitting::ALWAYS } else { Splitting::NEVER };
                let mut options =
                    memory::MemoryOptions { splitting, ..memory::MemoryOptions::default() };
                if always {
                    options.long = 8;
                }
                Arc::new(memory::lower_with(Arc::new(program.module.clone()), options))
            })
            .collect();
        // Every other file with all optimisations.
        let options = COptions { quick: (first / FILE).is_multiple_of(2), ..COptions::default() };
        let compiled = compile_all(&modules, &options).unwrap_or_else(|e| panic!("{e}"));
        for ((seed, program), compiled) in programs.iter().zip(compiled) {
            random::check(*seed, program, compiled);
        }
    }
}

#[test]
fn random_modules() {
    check_all(0..256);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_modules() {
    check_all(256..20_000);
}
