//! A function of Low under construction: registers, statements, small expressions.

use crate::low::opt::MOST_POLLED;
use crate::low::{
    Address, Binary, Checked, Compare, Expr, For, FunctionId, LowFunction, LowTy, Operand, Raise,
    Reg, Runtime, Stmt, COUNT, DATA, NOWHERE,
};
use diffeo_array::ir::{Elem, Reduction, SiteId};
use diffeo_calculus::prim::RealOp;

/// The index of [`crate::low::Layout::Plain`].
pub(super) const PLAIN: i64 = 0;
/// The index of [`crate::low::Layout::References`].
pub(super) const REFERENCES: i64 = 2;

/// Registers and statements.
pub(super) struct CodeBuilder {
    /// The types of the registers.
    pub registers: Vec<LowTy>,
    /// The statements of the innermost open list.
    pub out: Vec<Stmt>,
    /// Whether it can fail.
    pub fails: bool,
    /// The number of statements so far that cannot be done in any order: they fail, allocate, count references, or
    /// access memory that others write.
    pub effects: u64,
    /// The place of what is being translated.
    pub site: SiteId,
}

/// An array or accumulator: what it is made of.
#[derive(Clone, Debug)]
pub(super) struct ArrayParts {
    /// The block that it lies in.
    pub block: Operand,
    /// The address of the first element.
    pub data: Operand,
    /// The sizes.
    pub sizes: Vec<Operand>,
}

impl ArrayParts {
    /// Its words, in the order of the registers of an array.
    pub fn words(self) -> Vec<Operand> {
        let mut words = vec![self.block, self.data];
        words.extend(self.sizes);
        words
    }

    /// The array of these words.
    pub fn of(words: &[Operand]) -> ArrayParts {
        let mut words = words.iter().copied();
        let mut next = || words.next().unwrap_or(Operand::Null);
        let (block, data) = (next(), next());
        ArrayParts { block, data, sizes: words.collect() }
    }
}

/// The type of an element in registers and in memory.
pub(super) fn elem_ty(elem: Elem) -> LowTy {
    match elem {
        Elem::Real => LowTy::Real,
        Elem::Int => LowTy::Int,
        Elem::Bool => LowTy::Bool,
        Elem::Text | Elem::Box(_) => LowTy::Ptr,
    }
}

/// How many bytes an element takes.
pub(super) fn width(elem: Elem) -> i64 {
    match elem {
        Elem::Bool => 1,
        Elem::Real | Elem::Int | Elem::Text | Elem::Box(_) => 8,
    }
}

/// Whether elements are counted.
pub(super) fn counted(elem: Elem) -> bool {
    matches!(elem, Elem::Text | Elem::Box(_))
}

/// The layout of arrays of such elements.
pub(super) fn layout(elem: Elem) -> Operand {
    Operand::Int(if counted(elem) { REFERENCES } else { PLAIN })
}

/// The address `base + offset`.
pub(super) fn at(base: Operand, offset: i64) -> Address {
    Address { base, index: Operand::Int(0), scale: 1, offset }
}

/// The address of an element.
pub(super) fn element(data: Operand, index: Operand, width: i64) -> Address {
    match index {
        Operand::Int(i) => at(data, i.wrapping_mul(width)),
        _ => Address { base: data, index, scale: width as u8, offset: 0 },
    }
}

impl CodeBuilder {
    /// An empty function.
    pub fn new() -> CodeBuilder {
        CodeBuilder {
            registers: Vec::new(),
            out: Vec::new(),
            fails: false,
            effects: 0,
            site: NOWHERE,
        }
    }

    /// A new register.
    pub fn reg(&mut self, ty: LowTy) -> Reg {
        self.registers.push(ty);
        Reg(self.registers.len() as u32 - 1)
    }

    /// New registers.
    pub fn regs(&mut self, types: impl IntoIterator<Item = LowTy>) -> Vec<Reg> {
        types.into_iter().map(|ty| self.reg(ty)).collect()
    }

    /// Adds a statement.
    pub fn push(&mut self, stmt: Stmt) {
        self.out.push(stmt);
    }

    /// Begins a list of statements; [`CodeBuilder::end`] takes the outer list, which it gives.
    pub fn begin(&mut self) -> Vec<Stmt> {
        std::mem::take(&mut self.out)
    }

    /// Ends a list of statements and gives it.
    pub fn end(&mut self, outer: Vec<Stmt>) -> Vec<Stmt> {
        std::mem::replace(&mut self.out, outer)
    }

    /// The statements that `fill` adds.
    pub fn list(&mut self, fill: impl FnOnce(&mut CodeBuilder)) -> Vec<Stmt> {
        let outer = self.begin();
        fill(self);
        self.end(outer)
    }

    /// A new register with this value.
    pub fn set(&mut self, ty: LowTy, expr: Expr) -> Operand {
        let reg = self.reg(ty);
        self.push(Stmt::Set(reg, expr));
        Operand::Reg(reg)
    }

    /// Sets a register to an operand, unless it is that.
    pub fn assign(&mut self, reg: Reg, value: Operand) {
        if value != Operand::Reg(reg) {
            self.push(Stmt::Set(reg, Expr::Copy(value)));
        }
    }

    /// Sets registers at once: each value is the one before.
    pub fn assign_all(&mut self, regs: &[Reg], values: &[Operand]) {
        let mut sources = values.to_vec();
        for (i, value) in values.iter().enumerate() {
            if let Operand::Reg(source) = value {
                // Only what was set before this one is gone.
                if regs[..i].contains(source) && regs[i] != *source {
                    let ty = self.registers[source.0 as usize];
                    sources[i] = Operand::Reg(self.reg(ty));
                }
            }
        }
        for (source, value) in sources.iter().zip(values) {
            if let (Operand::Reg(copy), true) = (source, source != value) {
                self.assign(*copy, *value);
            }
        }
        for (reg, source) in regs.iter().zip(sources) {
            self.assign(*reg, source);
        }
    }

    /// `a + b` of Ints.
    pub fn add(&mut self, a: Operand, b: Operand) -> Operand {
        match (a, b) {
            (Operand::Int(a), Operand::Int(b)) => Operand::Int(a.wrapping_add(b)),
            (a, Operand::Int(0)) | (Operand::Int(0), a) => a,
            (a, b) => self.set(LowTy::Int, Expr::Binary(Binary::IntAdd, a, b)),
        }
    }

    /// `a - b` of Ints.
    pub fn sub(&mut self, a: Operand, b: Operand) -> Operand {
        match (a, b) {
            (Operand::Int(a), Operand::Int(b)) => Operand::Int(a.wrapping_sub(b)),
            (a, Operand::Int(0)) => a,
            (a, b) => self.set(LowTy::Int, Expr::Binary(Binary::IntSub, a, b)),
        }
    }

    /// `a * b` of Ints, wrapping.
    pub fn mul(&mut self, a: Operand, b: Operand) -> Operand {
        match (a, b) {
            (Operand::Int(a), Operand::Int(b)) => Operand::Int(a.wrapping_mul(b)),
            (Operand::Int(0), _) | (_, Operand::Int(0)) => Operand::Int(0),
            (a, Operand::Int(1)) | (Operand::Int(1), a) => a,
            (a, b) => self.set(LowTy::Int, Expr::Binary(Binary::IntMul, a, b)),
        }
    }

    /// The product of sizes.
    pub fn product(&mut self, sizes: &[Operand]) -> Operand {
        let mut product = Operand::Int(1);
        for size in sizes {
            product = self.mul(product, *size);
        }
        product
    }

    /// A comparison.
    pub fn compare(&mut self, op: Compare, a: Operand, b: Operand) -> Operand {
        self.set(LowTy::Bool, Expr::Compare(op, a, b))
    }

    /// A choice.
    pub fn select(&mut self, ty: LowTy, c: Operand, a: Operand, b: Operand) -> Operand {
        self.set(ty, Expr::Select(c, a, b))
    }

    /// Loads a value.
    pub fn load(&mut self, ty: LowTy, address: Address) -> Operand {
        self.set(ty, Expr::Load(ty, address))
    }

    /// An address.
    pub fn offset(&mut self, address: Address) -> Operand {
        if address.index == Operand::Int(0) && address.offset == 0 {
            return address.base;
        }
        self.set(LowTy::Ptr, Expr::Offset(address))
    }

    /// Stores a value.
    pub fn store(&mut self, ty: LowTy, address: Address, value: Operand) {
        self.push(Stmt::Store(ty, address, value));
    }

    /// An operation of the runtime.
    pub fn runtime(&mut self, op: Runtime, args: Vec<Operand>) -> Vec<Operand> {
        let results = self.regs(op.signature().1.iter().copied());
        self.push(Stmt::Runtime { results: results.clone(), op, args });
        results.into_iter().map(Operand::Reg).collect()
    }

    /// An operation of the runtime with one result.
    pub fn runtime_one(&mut self, op: Runtime, args: Vec<Operand>) -> Operand {
        self.runtime(op, args).pop().unwrap_or(Operand::Null)
    }

    /// A call of a function that does not fail.
    pub fn call(
        &mut self,
        id: FunctionId,
        args: Vec<Operand>,
        results: Vec<LowTy>,
    ) -> Vec<Operand> {
        let results = self.regs(results);
        let site = NOWHERE;
        self.push(Stmt::Call { results: results.clone(), function: id, args, site });
        results.into_iter().map(Operand::Reg).collect()
    }

    /// Fails.
    pub fn raise(&mut self, error: Raise, args: Vec<Operand>) {
        self.fails = true;
        self.effects += 1;
        let site = self.site;
        self.push(Stmt::Raise { error, args, site });
    }

    /// Fails unless the condition holds.
    pub fn check(&mut self, holds: Operand, error: Raise, args: Vec<Operand>) {
        let raise = self.list(|code| code.raise(error, args));
        self.push(Stmt::If(holds, Vec::new(), raise));
    }

    /// Fails if the condition holds.
    pub fn refuse(&mut self, cond: Operand, error: Raise, args: Vec<Operand>) {
        let raise = self.list(|code| code.raise(error, args));
        self.push(Stmt::If(cond, raise, Vec::new()));
    }

    /// Fails if a block is null.
    pub fn check_memory(&mut self, block: Operand) {
        let null = self.compare(Compare::IntEq, block, Operand::Null);
        self.refuse(null, Raise::Memory, Vec::new());
    }

    /// A new block from an operation of the runtime; fails if there is no memory.
    pub fn fresh(&mut self, op: Runtime, args: Vec<Operand>) -> Operand {
        let block = self.runtime_one(op, args);
        self.check_memory(block);
        block
    }

    /// The block and address of a new array of so many bytes.
    pub fn allocate(&mut self, layout: Operand, bytes: Operand) -> (Operand, Operand) {
        let block = self.fresh(Runtime::Array, vec![layout, bytes]);
        (block, self.offset(at(block, DATA)))
    }

    /// The product of sizes, none of them negative; fails if it is beyond any memory.
    pub fn total(&mut self, sizes: &[Operand]) -> Operand {
        let mut product = Operand::Int(1);
        for size in sizes {
            if let (Operand::Int(a), Operand::Int(b)) = (product, *size) {
                if let Some(c) = a.checked_mul(b) {
                    product = Operand::Int(c);
                    continue;
                }
            }
            if product == Operand::Int(1) {
                product = *size;
                continue;
            }
            if *size == Operand::Int(1) {
                continue;
            }
            let (result, overflow) = (self.reg(LowTy::Int), self.reg(LowTy::Bool));
            let op = Checked::Mul;
            self.push(Stmt::Checked { op, result, overflow, a: product, b: *size });
            self.refuse(Operand::Reg(overflow), Raise::Memory, Vec::new());
            product = Operand::Reg(result);
        }
        product
    }

    /// Whether a block has one reference; of null, false.
    pub fn unshared(&mut self, block: Operand) -> Operand {
        let only = self.reg(LowTy::Bool);
        self.assign(only, Operand::Bool(false));
        let some = self.compare(Compare::IntNe, block, Operand::Null);
        let test = self.list(|code| {
            let count = code.load(LowTy::Int, at(block, COUNT));
            code.push(Stmt::Set(only, Expr::Compare(Compare::IntEq, count, Operand::Int(1))));
        });
        self.push(Stmt::If(some, test, Vec::new()));
        Operand::Reg(only)
    }

    /// A loop over so many steps whose steps do not depend on each other.
    pub fn each(
        &mut self,
        count: Operand,
        independent: bool,
        step: impl FnOnce(&mut CodeBuilder, Operand),
    ) {
        let index = self.reg(LowTy::Int);
        let body = self.list(|code| step(code, Operand::Reg(index)));
        let (from, to) = (Operand::Int(0), count);
        self.push(Stmt::For(Box::new(For {
            index,
            from,
            to,
            body,
            independent,
            separate: independent,
            reductions: Vec::new(),
            most: i64::MAX,
            every: 0,
            site: self.site,
        })));
    }

    /// `min` or `max`; where one operand is known, one comparison says which it is.
    pub fn extremum(&mut self, op: RealOp, a: Operand, b: Operand) -> Operand {
        let (known, other) = match (a, b) {
            (Operand::Real(x), other) | (other, Operand::Real(x)) if !x.is_nan() => (x, other),
            _ => return self.set(LowTy::Real, Expr::Math(op, a, b)),
        };
        let least = op == RealOp::Min;
        // Which zero the other one is decides if that of the other sign would not be the result.
        let how = match known == 0.0 && known.is_sign_positive() == least {
            true => Compare::Lt,
            false => Compare::Le,
        };
        let known = Operand::Real(known);
        let (low, high) = if least { (known, other) } else { (other, known) };
        let is_known = self.compare(how, low, high);
        self.select(LowTy::Real, is_known, known, other)
    }

    /// Fails if the run is to end.
    pub fn poll(&mut self) {
        let stop = self.runtime_one(Runtime::Poll, Vec::new());
        self.refuse(stop, Raise::Stopped, Vec::new());
    }

    /// The same whenever the last bits of a number are ones; the pass `polls` decides how many bits.
    pub fn poll_at(&mut self, step: Operand) {
        let last = Operand::Int(MOST_POLLED - 1);
        let bits = self.set(LowTy::Int, Expr::Binary(Binary::And, step, last));
        let due = self.compare(Compare::IntEq, bits, last);
        let ask = self.list(CodeBuilder::poll);
        self.push(Stmt::If(due, ask, Vec::new()));
    }

    /// The combination of a reduction's value so far with the next one.
    pub fn combine(&mut self, how: Reduction, so_far: Operand, value: Operand) -> Expr {
        match how {
            Reduction::Add => Expr::Binary(Binary::Add, so_far, value),
            Reduction::Max => Expr::Math(RealOp::Max, so_far, value),
            Reduction::Min => Expr::Math(RealOp::Min, so_far, value),
        }
    }

    /// The finished function.
    pub fn finish(self, name: String, params: Vec<Reg>, results: Vec<LowTy>) -> LowFunction {
        LowFunction {
            name,
            registers: self.registers,
            params,
            results,
            fallible: self.fails,
            recursive: None,
            blocks: None,
            apart: false,
            body: self.out,
        }
    }
}
