//! Running Low without a machine: an interpreter over a memory that checks every access and counts blocks.

// Each test uses a part of this.
#![allow(dead_code)]

pub mod memory;
pub mod values;

use diffeo_array::ir::SiteId;
use diffeo_calculus::prim::{real, text, Rounding};
use diffeo_calculus::show;
use diffeo_codegen::low::{
    Address, Binary, Checked, Compare, Expr, For, FunctionId, Layout, LowFunction, LowModule,
    LowTy, Operand, Raise, Reg, Runtime, Stmt, Unary,
};
use memory::{AllocationKind, Bug, Memory};

/// Why a run ends early.
#[derive(Debug)]
pub enum Trouble {
    /// The program failed: why, the operands that the error names, and the place.
    Raised(Raise, Vec<u64>, SiteId),
    /// The program is wrong.
    Bug(Bug),
}

impl From<Bug> for Trouble {
    fn from(bug: Bug) -> Trouble {
        Trouble::Bug(bug)
    }
}

impl From<&str> for Trouble {
    fn from(bug: &str) -> Trouble {
        Trouble::Bug(bug.to_string())
    }
}

/// Where control goes after a statement.
enum Flow {
    Next,
    Break,
    Return(Vec<u64>),
}

type Done<T> = Result<T, Trouble>;

/// Runs the functions of a module. Words are the bits of registers.
pub struct LowMachine<'m> {
    module: &'m LowModule,
    pub memory: Memory,
    texts: Vec<u64>,
    statics: Vec<u64>,
    pub constants: u64,
    /// What was printed.
    pub lines: Vec<String>,
    /// How many statements were carried out.
    pub steps: u64,
    /// Whether loops of independent steps run backwards.
    pub backwards: bool,
}

impl<'m> LowMachine<'m> {
    pub fn new(module: &'m LowModule) -> Result<LowMachine<'m>, Bug> {
        let mut memory = Memory::new(module.layouts.clone());
        let texts: Result<_, Bug> = module.texts.iter().map(|t| memory.fixed(1, Some(t))).collect();
        let statics: Result<_, Bug> = (0..module.layouts.len())
            .map(|i| match &module.layouts[i] {
                Layout::Fields(fields) if fields.is_empty() => memory.fixed(i as i64, None),
                _ => Ok(0),
            })
            .collect();
        let constants = memory.piece(8 * module.constant_words, AllocationKind::Raw, true);
        let (texts, statics) = (texts?, statics?);
        let (lines, steps, backwards) = (Vec::new(), 0, true);
        Ok(LowMachine { module, memory, texts, statics, constants, lines, steps, backwards })
    }

    /// Calls a function.
    pub fn call(&mut self, id: FunctionId, args: &[u64]) -> Done<Vec<u64>> {
        let function = &self.module.functions[id.0 as usize];
        let mut frame = Frame { function, registers: vec![None; function.registers.len()] };
        if args.len() != function.params.len() {
            return Err("a call with other arguments".into());
        }
        for (param, arg) in function.params.iter().zip(args) {
            frame.registers[param.0 as usize] = Some(*arg);
        }
        match stacker::maybe_grow(1 << 20, 8 << 20, || self.stmts(&mut frame, &function.body))? {
            Flow::Return(results) => Ok(results),
            Flow::Next | Flow::Break => Err("a function that does not return".into()),
        }
    }

    fn operand(&self, frame: &Frame, operand: Operand) -> Done<u64> {
        Ok(match operand {
            Operand::Reg(reg) => frame.registers[reg.0 as usize]
                .ok_or_else(|| format!("{}: r{} is not set", frame.function.name, reg.0))?,
            Operand::Int(n) => n as u64,
            Operand::Real(x) => x.to_bits(),
            Operand::Bool(b) => u64::from(b),
            Operand::Null => 0,
            Operand::Text(i) => self.texts[i as usize],
            Operand::Static(i) => self.statics[i as usize],
            Operand::Constant(i) => self.constants + 8 * u64::from(i),
        })
    }

    fn operands(&self, frame: &Frame, operands: &[Operand]) -> Done<Vec<u64>> {
        operands.iter().map(|o| self.operand(frame, *o)).collect()
    }

    fn address(&self, frame: &Frame, at: &Address) -> Done<u64> {
        let (base, index) = (self.operand(frame, at.base)?, self.operand(frame, at.index)?);
        let index = index.wrapping_mul(u64::from(at.scale));
        Ok(base.wrapping_add(index).wrapping_add(at.offset as u64))
    }

    fn load(&self, ty: LowTy, address: u64) -> Done<u64> {
        Ok(match ty {
            LowTy::Bool => u64::from(self.memory.read(address, 1)?[0]),
            LowTy::Int | LowTy::Real | LowTy::Ptr => self.memory.get(address, 0)? as u64,
        })
    }

    fn store(&mut self, ty: LowTy, address: u64, word: u64) -> Done<()> {
        let bytes = if ty == LowTy::Bool { 1 } else { 8 };
        self.memory.store(address, &word.to_le_bytes()[..bytes])?;
        Ok(())
    }

    fn expr(&self, frame: &Frame, expr: &Expr) -> Done<u64> {
        let word = |operand: Operand| self.operand(frame, operand);
        let real = |operand: Operand| self.operand(frame, operand).map(f64::from_bits);
        Ok(match *expr {
            Expr::Copy(a) => word(a)?,
            Expr::Unary(op, a) => unary(op, word(a)?),
            Expr::Binary(op, a, b) => binary(op, word(a)?, word(b)?)?,
            Expr::Fma(a, b, c) => real(a)?.mul_add(real(b)?, real(c)?).to_bits(),
            Expr::Math(op, a, b) => {
                let b = if real::row(op).arity == 2 { real(b)? } else { 0.0 };
                real::eval(op, real(a)?, b).to_bits()
            }
            Expr::Compare(op, a, b) => u64::from(compare(op, word(a)?, word(b)?)),
            Expr::Select(c, a, b) => {
                let (c, a, b) = (word(c)?, word(a)?, word(b)?);
                if c != 0 {
                    a
                } else {
                    b
                }
            }
            Expr::Load(ty, at) => self.load(ty, self.address(frame, &at)?)?,
            Expr::Offset(at) => self.address(frame, &at)?,
        })
    }

    fn stmts(&mut self, frame: &mut Frame<'m>, stmts: &'m [Stmt]) -> Done<Flow> {
        for stmt in stmts {
            match self.stmt(frame, stmt)? {
                Flow::Next => {}
                flow @ (Flow::Break | Flow::Return(_)) => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn inner(&mut self, frame: &mut Frame<'m>, stmts: &'m [Stmt]) -> Done<Flow> {
        stacker::maybe_grow(1 << 20, 8 << 20, || self.stmts(frame, stmts))
    }

    fn stmt(&mut self, frame: &mut Frame<'m>, stmt: &'m Stmt) -> Done<Flow> {
        self.steps += 1;
        match stmt {
            Stmt::Set(reg, expr) => {
                let value = self.expr(frame, expr)?;
                frame.set(*reg, value);
            }
            Stmt::Checked { op, result, overflow, a, b } => {
                let (a, b) = (self.operand(frame, *a)? as i64, self.operand(frame, *b)? as i64);
                let (value, fits_not) = match op {
                    Checked::Add => a.overflowing_add(b),
                    Checked::Sub => a.overflowing_sub(b),
                    Checked::Mul => a.overflowing_mul(b),
                };
                frame.set(*result, value as u64);
                frame.set(*overflow, u64::from(fits_not));
            }
            Stmt::Store(ty, at, value) => {
                let (at, value) = (self.address(frame, at)?, self.operand(frame, *value)?);
                let offset = at & 0xFF_FFFF_FFFF;
                // Counts of shared blocks are changed, too.
                if offset == 0 {
                    self.memory.write(at, &value.to_le_bytes())?;
                } else {
                    self.store(*ty, at, value)?;
                }
            }
            Stmt::If(cond, then, otherwise) => {
                let holds = self.operand(frame, *cond)? != 0;
                return self.inner(frame, if holds { then } else { otherwise });
            }
            Stmt::Switch(on, arms, default) => {
                let on = self.operand(frame, *on)? as i64;
                let arm = arms.iter().find(|(value, _)| *value == on).map(|(_, arm)| arm);
                return self.inner(frame, arm.unwrap_or(default));
            }
            Stmt::Loop(body) => loop {
                match self.inner(frame, body)? {
                    Flow::Next => {}
                    Flow::Break => break,
                    flow @ Flow::Return(_) => return Ok(flow),
                }
            },
            Stmt::Break => return Ok(Flow::Break),
            Stmt::For(repeat) => self.repeat(frame, repeat)?,
            Stmt::Call { results, function, args, site: _ } => {
                let args = self.operands(frame, args)?;
                let values = self.call(*function, &args)?;
                results.iter().zip(values).for_each(|(reg, value)| frame.set(*reg, value));
            }
            Stmt::Runtime { results, op, args } => {
                let args = self.operands(frame, args)?;
                let values = self.runtime(*op, &args)?;
                results.iter().zip(values).for_each(|(reg, value)| frame.set(*reg, value));
            }
            Stmt::Raise { error, args, site } => {
                return Err(Trouble::Raised(error.clone(), self.operands(frame, args)?, *site));
            }
            Stmt::Return(results) => return Ok(Flow::Return(self.operands(frame, results)?)),
        }
        Ok(Flow::Next)
    }

    fn repeat(&mut self, frame: &mut Frame<'m>, repeat: &'m For) -> Done<()> {
        let from = self.operand(frame, repeat.from)? as i64;
        let to = self.operand(frame, repeat.to)? as i64;
        for step in from..to {
            let backwards = repeat.independent && self.backwards;
            let index = if backwards { from + (to - 1 - step) } else { step };
            frame.set(repeat.index, index as u64);
            if repeat.independent {
                // What a step sets is nothing to the next one.
                let before = frame.registers.clone();
                self.inner(frame, &repeat.body)?;
                let kept = |reg: usize| repeat.reductions.iter().any(|(r, _)| r.0 as usize == reg);
                for (i, old) in before.into_iter().enumerate() {
                    if !kept(i) {
                        frame.registers[i] = old;
                    }
                }
            } else {
                self.inner(frame, &repeat.body)?;
            }
        }
        Ok(())
    }

    fn runtime(&mut self, op: Runtime, args: &[u64]) -> Done<Vec<u64>> {
        let memory = &mut self.memory;
        let int = |i: usize| args[i] as i64;
        let mut results = Vec::new();
        match op {
            Runtime::Box => results.push(memory.object(int(0))?),
            Runtime::Array => results.push(memory.array(int(0), int(1), false)?),
            Runtime::Zeros => results.push(memory.array(int(0), int(1), true)?),
            Runtime::Free => {
                if memory.get(args[0], 0)? != 1 {
                    return Err("a block that is still used is freed".into());
                }
                memory.free(args[0])?;
            }
            Runtime::Copy => memory.copy(args[0], args[1], args[2] as usize)?,
            Runtime::RetainAll => {
                for i in 0..int(1) {
                    let block = memory.get(args[0], 8 * i)? as u64;
                    memory.retain(block)?;
                }
            }
            Runtime::AppendText => {
                let text = memory.text(args[0])? + &memory.text(args[1])?;
                results.push(memory.new_text(&text)?);
            }
            Runtime::CompareText => {
                results.push(memory.text(args[0])?.cmp(&memory.text(args[1])?) as i64 as u64);
            }
            Runtime::ShowReal => {
                results.push(memory.new_text(&show::real(f64::from_bits(args[0])))?);
            }
            Runtime::ShowInt => results.push(memory.new_text(&int(0).to_string())?),
            Runtime::ShowBool => results.push(memory.new_text(&(args[0] != 0).to_string())?),
            Runtime::ShowText => {
                let text = show::string(&memory.text(args[0])?);
                results.push(memory.new_text(&text)?);
            }
            Runtime::Text(of) => {
                let mut texts = Vec::new();
                for (leaf, arg) in text::signature(of).0.iter().zip(args) {
                    texts.push(match leaf {
                        text::TextType::Text => memory.text(*arg)?,
                        text::TextType::Int | text::TextType::Real => String::new(),
                    });
                }
                let leaves = text::signature(of).0.iter().zip(args).zip(&texts);
                let operands = leaves.map(|((leaf, word), read)| match leaf {
                    text::TextType::Int => text::TextOperand::Int(*word as i64),
                    text::TextType::Real => text::TextOperand::Real(f64::from_bits(*word)),
                    text::TextType::Text => text::TextOperand::Text(read),
                });
                let operands: Vec<text::TextOperand<'_>> = operands.collect();
                results.push(match text::apply(of, &operands).unwrap() {
                    text::TextResult::Int(n) => n as u64,
                    text::TextResult::Real(x) => x.to_bits(),
                    text::TextResult::Text(text) => memory.new_text(&text)?,
                });
            }
            Runtime::Trace => {
                let line = format!("{}: {}", memory.text(args[0])?, memory.text(args[1])?);
                self.lines.push(line);
            }
            Runtime::Progress => {
                memory.text(args[0])?;
            }
            Runtime::Warn => {
                let texts: Result<Vec<_>, Bug> =
                    args[..3].iter().map(|t| memory.text(*t)).collect();
                texts?;
            }
            Runtime::SortReals | Runtime::SortInts | Runtime::SortTexts => {
                let mut keys = Vec::new();
                for i in 0..int(1) {
                    keys.push(memory.get(args[0], 8 * i)? as u64);
                }
                let mut order: Vec<usize> = (0..keys.len()).collect();
                if op == Runtime::SortTexts {
                    let texts: Result<Vec<_>, Bug> = keys.iter().map(|k| memory.text(*k)).collect();
                    let texts = texts?;
                    order.sort_by(|a, b| texts[*a].cmp(&texts[*b]));
                } else if op == Runtime::SortInts {
                    order.sort_by_key(|i| keys[*i] as i64);
                } else {
                    let key = |i: usize| f64::from_bits(keys[i]);
                    order.sort_by(|a, b| {
                        let (x, y) = (key(*a), key(*b));
                        x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
                    });
                }
                for (i, at) in order.into_iter().enumerate() {
                    memory.store(args[2] + 8 * i as u64, &(at as i64).to_le_bytes())?;
                }
            }
            Runtime::Poll => results.push(0),
            Runtime::PowInt => {
                results.push(real::power(f64::from_bits(args[0]), int(1)).to_bits());
            }
            Runtime::StackNew => results.push(memory.stack(int(0))?),
            Runtime::StackGrow => {
                memory.grow(args[0])?;
                results.push(1);
            }
        }
        Ok(results)
    }
}

struct Frame<'m> {
    function: &'m LowFunction,
    registers: Vec<Option<u64>>,
}

impl Frame<'_> {
    fn set(&mut self, reg: Reg, word: u64) {
        self.registers[reg.0 as usize] = Some(word);
    }
}

fn unary(op: Unary, a: u64) -> u64 {
    let x = f64::from_bits(a);
    match op {
        Unary::Neg => (-x).to_bits(),
        Unary::Abs => x.abs().to_bits(),
        Unary::Sqrt => x.sqrt().to_bits(),
        Unary::Integral(Rounding::Floor) => x.floor().to_bits(),
        Unary::Integral(Rounding::Ceil) => x.ceil().to_bits(),
        Unary::Integral(Rounding::Round) => x.round_ties_even().to_bits(),
        Unary::Integral(Rounding::Trunc) => x.trunc().to_bits(),
        Unary::ToReal => (a as i64 as f64).to_bits(),
        Unary::ToInt => x as i64 as u64,
        Unary::Bits | Unary::FromBits | Unary::FromBool => a,
        Unary::Not => a ^ 1,
    }
}

fn binary(op: Binary, a: u64, b: u64) -> Done<u64> {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let (i, j) = (a as i64, b as i64);
    Ok(match op {
        Binary::Add => (x + y).to_bits(),
        Binary::Sub => (x - y).to_bits(),
        Binary::Mul => (x * y).to_bits(),
        Binary::Div => (x / y).to_bits(),
        Binary::IntAdd => a.wrapping_add(b),
        Binary::IntSub => a.wrapping_sub(b),
        Binary::IntMul => a.wrapping_mul(b),
        Binary::IntDiv => i.checked_div(j).ok_or("a quotient that does not exist")? as u64,
        Binary::IntRem => i.checked_rem(j).ok_or("a remainder that does not exist")? as u64,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::ShiftLeft => a << shift(b)?,
        Binary::ShiftRight => a >> shift(b)?,
        Binary::ShiftRightSigned => (i >> shift(b)?) as u64,
    })
}

fn shift(by: u64) -> Done<u32> {
    if by < 64 {
        Ok(by as u32)
    } else {
        Err("a shift too far".into())
    }
}

fn compare(op: Compare, a: u64, b: u64) -> bool {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    match op {
        Compare::IntEq => a == b,
        Compare::IntNe => a != b,
        Compare::IntLt => (a as i64) < b as i64,
        Compare::IntLe => a as i64 <= b as i64,
        Compare::Below => a < b,
        Compare::Eq => x == y,
        Compare::Ne => x != y,
        Compare::Lt => x < y,
        Compare::Le => x <= y,
    }
}
