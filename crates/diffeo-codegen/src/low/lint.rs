//! The lint of Low: a module comes in, its violations go out.
//!
//! - Operands have the types that the statements want; calls and `Return` have as many as they should.
//! - A register is set before it is used, on every path; a `For` sets nothing for what comes after it.
//! - `Break` stands in a `Loop`, and in no `For` within it; no statement follows one that leaves; a function ends only
//!   by leaving.
//! - What can fail says so: `Raise`, loops that poll, and calls of functions that can fail.
//! - A `For` sets neither its index nor, if its steps are independent, anything that outlives a step, except its
//!   reductions.

use super::assigned::Assigned;
use super::{
    Address, Binary, Blocks, Compare, Expr, For, LowFunction, LowModule, LowTy, Operand, Raise,
    Reg, Runtime, Stmt,
};
use diffeo_base::deep;
use diffeo_calculus::prim::{real, TextOp};

/// The violations in a module, one line each: the function and the statement.
pub fn lint(module: &LowModule) -> Vec<String> {
    let mut errors = Vec::new();
    let mut names: Vec<&str> = module.functions.iter().map(|f| f.name.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).filter(|pair| pair[0] == pair[1]);
    errors.extend(twice.map(|pair| format!("two functions are called {}", pair[0])));
    if module.constant_references.len() != module.constant_words {
        errors.push("the words of the constants and their kinds differ in number".to_string());
    }
    match module.functions.get(module.entry.0 as usize) {
        Some(f) if f.params.len() == 2 && f.results.is_empty() => {}
        Some(_) => errors.push("the entry has not two parameters".to_string()),
        None => errors.push("there is no entry".to_string()),
    }
    for function in &module.functions {
        Lint::function(module, function, &mut errors);
    }
    errors
}

impl Runtime {
    /// The types of its operands and results.
    pub fn signature(self) -> (&'static [LowTy], &'static [LowTy]) {
        use LowTy::{Bool, Int, Ptr, Real};
        match self {
            Runtime::Box | Runtime::StackNew => (&[Int], &[Ptr]),
            Runtime::Array | Runtime::Zeros => (&[Int, Int], &[Ptr]),
            Runtime::Free => (&[Ptr], &[]),
            Runtime::Copy => (&[Ptr, Ptr, Int], &[]),
            Runtime::RetainAll => (&[Ptr, Int], &[]),
            Runtime::AppendText => (&[Ptr, Ptr], &[Ptr]),
            Runtime::CompareText => (&[Ptr, Ptr], &[Int]),
            Runtime::ShowReal => (&[Real], &[Ptr]),
            Runtime::ShowInt => (&[Int], &[Ptr]),
            Runtime::ShowBool => (&[Bool], &[Ptr]),
            Runtime::ShowText => (&[Ptr], &[Ptr]),
            Runtime::Text(op) => match op {
                TextOp::Size => (&[Ptr], &[Int]),
                TextOp::Byte => (&[Ptr, Int], &[Int]),
                TextOp::Slice => (&[Ptr, Int, Int], &[Ptr]),
                TextOp::Find => (&[Ptr, Ptr, Int], &[Int]),
                TextOp::Character => (&[Int], &[Ptr]),
                TextOp::Lower | TextOp::Upper => (&[Ptr], &[Ptr]),
                TextOp::Digits => (&[Int, Real], &[Ptr]),
                TextOp::Number => (&[Ptr], &[Real]),
            },
            Runtime::Trace => (&[Ptr, Ptr], &[]),
            Runtime::Progress => (&[Ptr, Int, Real], &[]),
            Runtime::Warn => (&[Ptr, Ptr, Ptr, Int], &[]),
            Runtime::SortReals | Runtime::SortInts | Runtime::SortTexts => (&[Ptr, Int, Ptr], &[]),
            Runtime::Poll => (&[], &[Bool]),
            Runtime::PowInt => (&[Real, Int], &[Real]),
            Runtime::StackGrow => (&[Ptr], &[Bool]),
        }
    }
}

impl Raise {
    /// The types of its operands.
    pub fn operands(&self) -> &'static [LowTy] {
        use LowTy::{Int, Ptr, Real};
        match self {
            Raise::Int(_) | Raise::Index | Raise::Size(_) | Raise::Rows => &[Int, Int],
            Raise::Round(_) => &[Real],
            Raise::Slice => &[Int, Int, Int],
            Raise::Count => &[Int],
            Raise::Fail | Raise::Shape(_) => &[Ptr],
            Raise::Nan | Raise::Order | Raise::Cycle(_) | Raise::Memory | Raise::Stopped => &[],
        }
    }
}

/// Whether what follows is reached.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    Goes,
    Leaves,
}

struct Lint<'a> {
    module: &'a LowModule,
    function: &'a LowFunction,
    errors: &'a mut Vec<String>,
    /// Which registers are set.
    assigned: Assigned,
    /// Of each `Loop` around, innermost last: the place before it, and what was set in it at each `Break`. `None`
    /// for a `For`.
    loops: Vec<Option<(usize, Vec<Vec<Reg>>)>>,
    /// Indices of the `For`s around.
    indices: Vec<Reg>,
    fails: bool,
}

impl<'a> Lint<'a> {
    fn function(module: &'a LowModule, function: &'a LowFunction, errors: &'a mut Vec<String>) {
        let mut lint = Lint {
            module,
            function,
            errors,
            assigned: Assigned::new(function.registers.len()),
            loops: Vec::new(),
            indices: Vec::new(),
            fails: function.recursive.is_some(),
        };
        for param in &function.params {
            lint.define(*param, None);
        }
        if lint.block(&function.body) == Flow::Goes {
            lint.error("the end of the body is reached");
        }
        if lint.fails != function.fallible {
            lint.error(format!("fallible is {}", function.fallible));
        }
        lint.blocks();
    }

    /// Checks that a function with blocks has the parameters and results for them, and its task, too.
    fn blocks(&mut self) {
        let Some(Blocks { task, shared, constants: _, how, site: _ }) = &self.function.blocks
        else {
            return;
        };
        let types = |f: &LowFunction| -> Vec<Option<LowTy>> {
            f.params.iter().map(|p| f.registers.get(p.0 as usize).copied()).collect()
        };
        let params = types(self.function);
        let captured = params.strip_suffix(&[Some(LowTy::Int); 2]);
        if captured.is_none_or(|all| all.len() < *shared) {
            self.error("the parameters are not those of blocks");
        }
        if params.iter().take(*shared).any(|ty| *ty != Some(LowTy::Ptr)) {
            self.error("what is shared is no block");
        }
        if self.function.results != vec![LowTy::Real; how.len()] {
            self.error("the results are not those of blocks");
        }
        let task_params = [LowTy::Ptr, LowTy::Int, LowTy::Int, LowTy::Ptr].map(Some);
        match self.module.functions.get(task.0 as usize) {
            Some(task) if types(task) == task_params && task.results.is_empty() => {
                if task.fallible && !self.function.fallible {
                    self.error("the task can fail");
                }
            }
            Some(_) | None => self.error("the task is none"),
        }
    }

    fn error(&mut self, what: impl std::fmt::Display) {
        self.errors.push(format!("{}: {what}", self.function.name));
    }

    fn ty(&self, reg: Reg) -> Option<LowTy> {
        self.function.registers.get(reg.0 as usize).copied()
    }

    fn define(&mut self, reg: Reg, ty: Option<LowTy>) {
        match self.ty(reg) {
            None => self.error(format!("there is no register r{}", reg.0)),
            Some(found) => {
                if ty.is_some_and(|ty| ty != found) {
                    self.error(format!("r{} is {found:?} and set to {ty:?}", reg.0));
                }
                if self.indices.contains(&reg) {
                    self.error(format!("the index r{} is set", reg.0));
                }
                self.assigned.define(reg);
            }
        }
    }

    fn operand(&mut self, operand: Operand, wanted: LowTy) {
        let found = match operand {
            Operand::Reg(reg) => {
                if !self.assigned.contains(reg) {
                    self.error(format!("r{} is used and not set", reg.0));
                }
                self.ty(reg)
            }
            Operand::Int(_) => Some(LowTy::Int),
            Operand::Real(_) => Some(LowTy::Real),
            Operand::Bool(_) => Some(LowTy::Bool),
            Operand::Text(i) if i as usize >= self.module.texts.len() => None,
            Operand::Static(i) if i as usize >= self.module.layouts.len() => None,
            Operand::Constant(i) if i as usize >= self.module.constant_words => None,
            Operand::Null | Operand::Text(_) | Operand::Static(_) | Operand::Constant(_) => {
                Some(LowTy::Ptr)
            }
        };
        if found != Some(wanted) {
            self.error(format!("{operand:?} is {found:?} and should be {wanted:?}"));
        }
    }

    fn operands(&mut self, operands: &[Operand], wanted: &[LowTy]) {
        if operands.len() != wanted.len() {
            self.error(format!("{} operands, not {}", operands.len(), wanted.len()));
        }
        for (operand, ty) in operands.iter().zip(wanted) {
            self.operand(*operand, *ty);
        }
    }

    fn results(&mut self, results: &[Reg], types: &[LowTy]) {
        if results.len() != types.len() {
            self.error(format!("{} results, not {}", results.len(), types.len()));
        }
        for (reg, ty) in results.iter().zip(types) {
            self.define(*reg, Some(*ty));
        }
    }

    fn address(&mut self, at: &Address) {
        self.operand(at.base, LowTy::Ptr);
        self.operand(at.index, LowTy::Int);
        if !matches!(at.scale, 1 | 8) {
            self.error(format!("a scale of {}", at.scale));
        }
    }

    /// Checks an expression against the type of the register that takes it.
    fn expr(&mut self, expr: &Expr, result: Option<LowTy>) -> Option<LowTy> {
        match *expr {
            Expr::Copy(a) => {
                if let Some(ty) = result {
                    self.operand(a, ty);
                }
                result
            }
            Expr::Unary(op, a) => {
                let (from, to) = op.types();
                self.operand(a, from);
                Some(to)
            }
            Expr::Binary(op, a, b) => {
                let ty = match op {
                    Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => LowTy::Real,
                    Binary::And | Binary::Or | Binary::Xor if result == Some(LowTy::Bool) => {
                        LowTy::Bool
                    }
                    Binary::And
                    | Binary::Or
                    | Binary::Xor
                    | Binary::IntAdd
                    | Binary::IntSub
                    | Binary::IntMul
                    | Binary::IntDiv
                    | Binary::IntRem
                    | Binary::ShiftLeft
                    | Binary::ShiftRight
                    | Binary::ShiftRightSigned => LowTy::Int,
                };
                self.operands(&[a, b], &[ty, ty]);
                Some(ty)
            }
            Expr::Fma(a, b, c) => {
                self.operands(&[a, b, c], &[LowTy::Real; 3]);
                Some(LowTy::Real)
            }
            Expr::Math(op, a, b) => {
                self.operand(a, LowTy::Real);
                if real::row(op).arity == 2 {
                    self.operand(b, LowTy::Real);
                }
                Some(LowTy::Real)
            }
            Expr::Compare(op, a, b) => {
                let ty = match op {
                    Compare::IntEq | Compare::IntNe => self.compared(a),
                    Compare::IntLt | Compare::IntLe | Compare::Below => LowTy::Int,
                    Compare::Eq | Compare::Ne | Compare::Lt | Compare::Le => LowTy::Real,
                };
                self.operands(&[a, b], &[ty, ty]);
                Some(LowTy::Bool)
            }
            Expr::Select(c, a, b) => {
                self.operand(c, LowTy::Bool);
                if let Some(ty) = result {
                    self.operands(&[a, b], &[ty, ty]);
                }
                result
            }
            Expr::Load(ty, at) => {
                self.address(&at);
                Some(ty)
            }
            Expr::Offset(at) => {
                self.address(&at);
                Some(LowTy::Ptr)
            }
        }
    }

    /// The type at which an equality compares.
    fn compared(&self, a: Operand) -> LowTy {
        match a {
            Operand::Reg(reg) => self.ty(reg).unwrap_or(LowTy::Int),
            Operand::Int(_) | Operand::Real(_) => LowTy::Int,
            Operand::Bool(_) => LowTy::Bool,
            Operand::Null | Operand::Text(_) | Operand::Static(_) | Operand::Constant(_) => {
                LowTy::Ptr
            }
        }
    }

    fn block(&mut self, stmts: &[Stmt]) -> Flow {
        let mut flow = Flow::Goes;
        for stmt in stmts {
            if flow == Flow::Leaves {
                self.error("a statement is never reached");
                break;
            }
            flow = deep(|| self.stmt(stmt));
        }
        flow
    }

    fn branches<'s>(&mut self, bodies: impl Iterator<Item = &'s [Stmt]>) -> Flow {
        let mut paths = Vec::new();
        for body in bodies {
            let place = self.assigned.here();
            let flow = self.block(body);
            let set = self.assigned.undo(place);
            if flow == Flow::Goes {
                paths.push(set);
            }
        }
        if paths.is_empty() {
            return Flow::Leaves;
        }
        self.assigned.join(paths);
        Flow::Goes
    }

    fn stmt(&mut self, stmt: &Stmt) -> Flow {
        match stmt {
            Stmt::Set(reg, expr) => {
                let ty = self.ty(*reg);
                let ty = self.expr(expr, ty);
                self.define(*reg, ty);
            }
            Stmt::Checked { op: _, result, overflow, a, b } => {
                self.operands(&[*a, *b], &[LowTy::Int, LowTy::Int]);
                self.results(&[*result, *overflow], &[LowTy::Int, LowTy::Bool]);
            }
            Stmt::Store(ty, at, value) => {
                self.address(at);
                self.operand(*value, *ty);
            }
            Stmt::If(cond, then, otherwise) => {
                self.operand(*cond, LowTy::Bool);
                return self.branches([&then[..], otherwise].into_iter());
            }
            Stmt::Switch(on, arms, default) => {
                self.operand(*on, LowTy::Int);
                let arms = arms.iter().map(|(_, body)| &body[..]);
                return self.branches(arms.chain([&default[..]]));
            }
            Stmt::Loop(body) => {
                let place = self.assigned.here();
                self.loops.push(Some((place, Vec::new())));
                self.block(body);
                self.assigned.undo(place);
                let Some(Some((_, paths))) = self.loops.pop() else { return Flow::Leaves };
                if paths.is_empty() {
                    return Flow::Leaves;
                }
                self.assigned.join(paths);
            }
            Stmt::Break => {
                match self.loops.last_mut() {
                    Some(Some((place, paths))) => paths.push(self.assigned.since(*place)),
                    Some(None) | None => self.error("a break without a loop"),
                }
                return Flow::Leaves;
            }
            Stmt::For(repeat) => self.repeat(repeat),
            Stmt::Call { results, function, args, site: _ } => {
                let Some(callee) = self.module.functions.get(function.0 as usize) else {
                    self.error("there is no such function");
                    return Flow::Goes;
                };
                let types: Vec<LowTy> =
                    callee.params.iter().map(|p| callee.registers[p.0 as usize]).collect();
                self.operands(args, &types);
                self.results(results, &callee.results);
                self.fails |= callee.fallible;
            }
            Stmt::Runtime { results, op, args } => {
                let (from, to) = op.signature();
                self.operands(args, from);
                self.results(results, to);
            }
            Stmt::Raise { error, args, site: _ } => {
                self.operands(args, error.operands());
                self.fails = true;
                return Flow::Leaves;
            }
            Stmt::Return(results) => {
                let types = &self.function.results;
                self.operands(results, types);
                if !self.loops.is_empty() {
                    self.error("a return within a loop");
                }
                return Flow::Leaves;
            }
        }
        Flow::Goes
    }

    fn repeat(&mut self, repeat: &For) {
        self.fails |= repeat.every > 0;
        self.operands(&[repeat.from, repeat.to], &[LowTy::Int, LowTy::Int]);
        for (reg, _) in &repeat.reductions {
            self.operand(Operand::Reg(*reg), LowTy::Real);
        }
        let place = self.assigned.here();
        self.define(repeat.index, Some(LowTy::Int));
        self.indices.push(repeat.index);
        self.loops.push(None);
        // What is set before the loop and set in it outlives a step.
        let before = repeat.independent.then(|| self.assigned.all());
        self.block(&repeat.body);
        if let Some(before) = before {
            let mut carried = Vec::new();
            sets(&repeat.body, &mut carried);
            let reduced = |reg: &Reg| repeat.reductions.iter().any(|(r, _)| r == reg);
            for reg in carried {
                if before.get(reg.0 as usize) == Some(&true) && !reduced(&reg) {
                    self.error(format!("r{} is carried by independent steps", reg.0));
                }
            }
        }
        self.loops.pop();
        self.indices.pop();
        self.assigned.undo(place);
    }
}

/// The registers that statements set.
fn sets(stmts: &[Stmt], out: &mut Vec<Reg>) {
    for stmt in stmts {
        match stmt {
            Stmt::Set(reg, _) => out.push(*reg),
            Stmt::Checked { result, overflow, .. } => out.extend([*result, *overflow]),
            Stmt::Call { results, .. } | Stmt::Runtime { results, .. } => out.extend(results),
            Stmt::If(_, then, otherwise) => deep(|| {
                sets(then, out);
                sets(otherwise, out);
            }),
            Stmt::Switch(_, arms, default) => deep(|| {
                arms.iter().for_each(|(_, body)| sets(body, out));
                sets(default, out);
            }),
            Stmt::Loop(body) => deep(|| sets(body, out)),
            Stmt::For(repeat) => deep(|| sets(&repeat.body, out)),
            Stmt::Store(..) | Stmt::Break | Stmt::Raise { .. } | Stmt::Return(_) => {}
        }
    }
}
