//! Programs of Low written by hand.
#![allow(dead_code)]

use diffeo_array::ir::SiteId;
use diffeo_codegen::engine::{Compiled, Cpu, Instance, RunOptions, Stopped};
use diffeo_codegen::low::{
    Address, Expr, FunctionId, Layout, LowFunction, LowModule, LowTy, Operand, Reg, Stmt, NOWHERE,
};
use std::sync::Arc;

/// A function in the making.
pub struct Build {
    pub function: LowFunction,
}

impl Build {
    pub fn new(name: &str, params: &[LowTy], results: &[LowTy]) -> Build {
        let registers = params.to_vec();
        Build {
            function: LowFunction {
                name: name.to_string(),
                registers,
                params: (0..params.len() as u32).map(Reg).collect(),
                results: results.to_vec(),
                fallible: false,
                recursive: None,
                blocks: None,
                apart: false,
                body: Vec::new(),
            },
        }
    }

    pub fn fallible(mut self) -> Build {
        self.function.fallible = true;
        self
    }

    pub fn recursive(mut self, site: u32) -> Build {
        self.function.fallible = true;
        self.function.recursive = Some(SiteId(site));
        self
    }

    pub fn reg(&mut self, ty: LowTy) -> Reg {
        self.function.registers.push(ty);
        Reg(self.function.registers.len() as u32 - 1)
    }

    pub fn body(mut self, body: Vec<Stmt>) -> LowFunction {
        self.function.body = body;
        self.function
    }
}

pub fn r(reg: Reg) -> Operand {
    Operand::Reg(reg)
}

pub fn set(reg: Reg, expr: Expr) -> Stmt {
    Stmt::Set(reg, expr)
}

pub fn at(base: Reg, index: i64) -> Address {
    Address { base: r(base), index: Operand::Int(index), scale: 8, offset: 0 }
}

pub fn call(results: &[Reg], function: u32, args: &[Operand], site: u32) -> Stmt {
    Stmt::Call {
        results: results.to_vec(),
        function: FunctionId(function),
        args: args.to_vec(),
        site: SiteId(site),
    }
}

/// The module of these functions, called by the first.
pub fn module(mut functions: Vec<LowFunction>, layouts: Vec<Layout>) -> LowModule {
    let main = &functions[0];
    let mut b = Build::new("entry", &[LowTy::Ptr, LowTy::Ptr], &[]);
    b.function.fallible = main.fallible;
    let mut body = Vec::new();
    let mut args = Vec::new();
    for (i, param) in main.params.iter().enumerate() {
        let ty = main.registers[param.0 as usize];
        let reg = b.reg(ty);
        body.push(set(reg, Expr::Load(ty, at(Reg(0), i as i64))));
        args.push(r(reg));
    }
    let results: Vec<Reg> = main.results.iter().map(|ty| b.reg(*ty)).collect();
    body.push(Stmt::Call {
        results: results.clone(),
        function: FunctionId(0),
        args,
        site: NOWHERE,
    });
    for (i, (reg, ty)) in results.iter().zip(&main.results).enumerate() {
        body.push(Stmt::Store(*ty, at(Reg(1), i as i64), r(*reg)));
    }
    body.push(Stmt::Return(Vec::new()));
    functions.push(b.body(body));
    let entry = FunctionId(functions.len() as u32 - 1);
    let layouts =
        [Layout::Plain, Layout::Text, Layout::References].into_iter().chain(layouts).collect();
    LowModule {
        functions,
        layouts,
        texts: Vec::new(),
        constant_words: 0,
        constant_references: Vec::new(),
        entry,
        flat: Arc::default(),
    }
}

/// Compiled by the engine that the test is of.
pub fn compiled(module: LowModule) -> Arc<Compiled> {
    Arc::new(super::super::compile_for(&Arc::new(module), Cpu::Host))
}

pub fn instance(module: LowModule) -> Instance {
    Instance::new(compiled(module), RunOptions::default())
}

/// Calls with words, and gives so many words.
pub fn run(
    instance: &mut Instance,
    args: &[u64],
    results: usize,
) -> Result<Vec<u64>, Box<Stopped>> {
    let mut words = vec![0; results];
    // SAFETY: the tests give the words that their programs have parameters for.
    unsafe { instance.call_words(args, &mut words) }?;
    Ok(words)
}

pub fn ints(args: &[i64]) -> Vec<u64> {
    args.iter().map(|n| *n as u64).collect()
}

pub fn reals(args: &[f64]) -> Vec<u64> {
    args.iter().map(|x| x.to_bits()).collect()
}

/// The value of an expression of two parameters of a type.
pub fn value(param: LowTy, result: LowTy, expr: Expr, a: u64, b: u64) -> u64 {
    let mut f = Build::new("f", &[param, param], &[result]);
    let y = f.reg(result);
    let body = vec![set(y, expr), Stmt::Return(vec![r(y)])];
    run(&mut instance(module(vec![f.body(body)], Vec::new())), &[a, b], 1).unwrap()[0]
}
