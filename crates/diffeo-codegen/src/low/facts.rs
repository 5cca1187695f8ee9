//! Facts about a function: which registers are set once, before everything that reads them; which are used.

use crate::low::{Address, Expr, LowFunction, Operand, Reg, Stmt};
use diffeo_base::deep;

/// Facts about a function.
pub(crate) struct Facts {
    /// Whether each register is set once, and everything that reads it comes later in the same block or within it.
    pub once: Vec<bool>,
    /// Whether each register occurs.
    pub used: Vec<bool>,
    /// How many statements there are.
    pub statements: usize,
}

/// The facts about a function.
pub(crate) fn facts(function: &LowFunction) -> Facts {
    let n = function.registers.len();
    let facts = Facts { once: vec![true; n], used: vec![false; n], statements: 0 };
    let mut walk =
        ScopeWalk { facts, set: vec![false; n], visible: vec![false; n], defined: Vec::new() };
    function.params.iter().for_each(|param| walk.set(*param));
    walk.list(&function.body);
    walk.facts
}

struct ScopeWalk {
    facts: Facts,
    /// By register: it has been set.
    set: Vec<bool>,
    /// By register: it has been set in an open block.
    visible: Vec<bool>,
    /// The registers set in the open blocks.
    defined: Vec<Reg>,
}

impl ScopeWalk {
    fn set(&mut self, register: Reg) {
        let i = register.0 as usize;
        self.facts.used[i] = true;
        if std::mem::replace(&mut self.set[i], true) {
            self.facts.once[i] = false;
        }
        self.visible[i] = true;
        self.defined.push(register);
    }

    fn read(&mut self, operand: Operand) {
        if let Operand::Reg(register) = operand {
            let i = register.0 as usize;
            self.facts.used[i] = true;
            if !self.visible[i] {
                self.facts.once[i] = false;
            }
        }
    }

    fn read_all(&mut self, operands: &[Operand]) {
        operands.iter().for_each(|operand| self.read(*operand));
    }

    fn address(&mut self, address: &Address) {
        self.read_all(&[address.base, address.index]);
    }

    /// Statements whose registers are not seen behind them.
    fn list(&mut self, stmts: &[Stmt]) {
        let outside = self.defined.len();
        self.facts.statements += stmts.len();
        deep(|| stmts.iter().for_each(|stmt| self.stmt(stmt)));
        self.close(outside);
    }

    /// Ends a block: what it has set is not seen any more.
    fn close(&mut self, outside: usize) {
        for register in self.defined.drain(outside..) {
            self.visible[register.0 as usize] = false;
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Set(register, expr) => {
                self.expr(expr);
                self.set(*register);
            }
            Stmt::Checked { op: _, result, overflow, a, b } => {
                self.read_all(&[*a, *b]);
                self.set(*result);
                self.set(*overflow);
            }
            Stmt::Store(_, address, value) => {
                self.address(address);
                self.read(*value);
            }
            Stmt::If(condition, then, otherwise) => {
                self.read(*condition);
                self.list(then);
                self.list(otherwise);
            }
            Stmt::Switch(on, arms, default) => {
                self.read(*on);
                arms.iter().for_each(|(_, arm)| self.list(arm));
                self.list(default);
            }
            Stmt::Loop(body) => self.list(body),
            Stmt::Break => {}
            Stmt::For(step) => {
                self.read_all(&[step.from, step.to]);
                let outside = self.defined.len();
                self.set(step.index);
                self.list(&step.body);
                self.close(outside);
            }
            Stmt::Call { results, function: _, args, site: _ }
            | Stmt::Runtime { results, op: _, args } => {
                self.read_all(args);
                results.iter().for_each(|register| self.set(*register));
            }
            Stmt::Raise { error: _, args, site: _ } => self.read_all(args),
            Stmt::Return(values) => self.read_all(values),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Copy(a) | Expr::Unary(_, a) => self.read(*a),
            Expr::Binary(_, a, b) | Expr::Math(_, a, b) | Expr::Compare(_, a, b) => {
                self.read_all(&[*a, *b]);
            }
            Expr::Fma(a, b, c) | Expr::Select(a, b, c) => self.read_all(&[*a, *b, *c]),
            Expr::Load(_, address) | Expr::Offset(address) => self.address(address),
        }
    }
}
