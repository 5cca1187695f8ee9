//! Where a function's registers are declared in C: in the innermost block that contains all their uses, unless they
//! have to keep their values from step to step.
//!
//! A register that is declared in the body of a loop does not keep its value for the next step. So it is declared there
//! only if its first use sets it, directly in that block, or if the loop says that nothing is carried from step to
//! step.

use crate::low::{Address, Expr, For, LowFunction, Operand, Reg, Stmt};

/// The declarations of a function.
#[derive(Debug, Default)]
pub struct Scopes {
    /// For each block, in the order in which their texts begin, the registers declared at its beginning.
    pub declared: Vec<Vec<Reg>>,
    /// For each register whether it is declared by the first statement that sets it.
    pub by_first: Vec<bool>,
    /// For each register how often it is set, parameters not counted.
    pub sets: Vec<u32>,
    /// How many statements there are.
    pub statements: usize,
}

/// No block.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq)]
enum ScopeKind {
    Plain,
    /// The body of a loop that may carry registers.
    Loop,
    /// The body of a loop that carries none.
    Independent,
}

struct BlockInfo {
    parent: u32,
    depth: u32,
    kind: ScopeKind,
}

struct Analysis {
    blocks: Vec<BlockInfo>,
    /// The open blocks, outermost first.
    path: Vec<u32>,
    /// For each register the innermost block that has its uses so far.
    scope: Vec<u32>,
    /// For each register the block of its first use, if that sets it.
    first: Vec<u32>,
    sets: Vec<u32>,
    statements: usize,
}

/// Where the registers are declared.
pub fn scopes(function: &LowFunction) -> Scopes {
    let n = function.registers.len();
    let mut analysis = Analysis {
        blocks: Vec::new(),
        path: Vec::new(),
        scope: vec![NONE; n],
        first: vec![NONE; n],
        sets: vec![0; n],
        statements: 0,
    };
    analysis.block(&function.body, ScopeKind::Plain, None);
    let mut scopes = Scopes {
        declared: vec![Vec::new(); analysis.blocks.len()],
        by_first: vec![false; n],
        sets: analysis.sets,
        statements: analysis.statements,
    };
    let mut declared_elsewhere = vec![false; n];
    for param in &function.params {
        declared_elsewhere[param.0 as usize] = true;
    }
    for (reg, elsewhere) in declared_elsewhere.into_iter().enumerate() {
        let mut block = analysis.scope[reg];
        if block == NONE || elsewhere {
            continue;
        }
        loop {
            if analysis.first[reg] == block {
                scopes.by_first[reg] = true;
                break;
            }
            // The innermost loop around the block.
            let mut body = block;
            while body != NONE && analysis.blocks[body as usize].kind == ScopeKind::Plain {
                body = analysis.blocks[body as usize].parent;
            }
            if body == NONE || analysis.blocks[body as usize].kind == ScopeKind::Independent {
                scopes.declared[block as usize].push(Reg(reg as u32));
                break;
            }
            block = analysis.blocks[body as usize].parent;
        }
    }
    scopes
}

impl Analysis {
    fn block(&mut self, stmts: &[Stmt], kind: ScopeKind, index: Option<Reg>) {
        let parent = self.path.last().copied().unwrap_or(NONE);
        let id = self.blocks.len() as u32;
        self.blocks.push(BlockInfo { parent, depth: self.path.len() as u32, kind });
        self.path.push(id);
        if let Some(index) = index {
            self.set(index);
        }
        for stmt in stmts {
            self.stmt(stmt);
        }
        self.path.pop();
    }

    fn touch(&mut self, reg: Reg, sets: bool) {
        let (reg, here) = (reg.0 as usize, self.path[self.path.len() - 1]);
        if self.scope[reg] == NONE {
            self.scope[reg] = here;
            if sets {
                self.first[reg] = here;
            }
            return;
        }
        // Up to the first block that is open. Each step makes the scope larger for good.
        loop {
            let scope = self.scope[reg];
            let info = &self.blocks[scope as usize];
            if self.path.get(info.depth as usize) == Some(&scope) {
                return;
            }
            self.scope[reg] = info.parent;
        }
    }

    fn set(&mut self, reg: Reg) {
        self.sets[reg.0 as usize] += 1;
        self.touch(reg, true);
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Reg(reg) => self.touch(*reg, false),
            Operand::Int(_)
            | Operand::Real(_)
            | Operand::Bool(_)
            | Operand::Null
            | Operand::Text(_)
            | Operand::Static(_)
            | Operand::Constant(_) => {}
        }
    }

    fn address(&mut self, address: &Address) {
        self.operand(&address.base);
        self.operand(&address.index);
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Copy(a) | Expr::Unary(_, a) => self.operand(a),
            Expr::Binary(_, a, b) | Expr::Math(_, a, b) | Expr::Compare(_, a, b) => {
                self.operand(a);
                self.operand(b);
            }
            Expr::Fma(a, b, c) | Expr::Select(a, b, c) => {
                self.operand(a);
                self.operand(b);
                self.operand(c);
            }
            Expr::Load(_, address) | Expr::Offset(address) => self.address(address),
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.statements += 1;
        match stmt {
            Stmt::Set(reg, expr) => {
                self.expr(expr);
                self.set(*reg);
            }
            Stmt::Checked { op: _, result, overflow, a, b } => {
                self.operand(a);
                self.operand(b);
                self.set(*result);
                self.set(*overflow);
            }
            Stmt::Store(_, address, value) => {
                self.address(address);
                self.operand(value);
            }
            Stmt::If(condition, then, otherwise) => {
                self.operand(condition);
                self.block(then, ScopeKind::Plain, None);
                self.block(otherwise, ScopeKind::Plain, None);
            }
            Stmt::Switch(on, arms, default) => {
                self.operand(on);
                for (_, arm) in arms {
                    self.block(arm, ScopeKind::Plain, None);
                }
                self.block(default, ScopeKind::Plain, None);
            }
            Stmt::Loop(body) => self.block(body, ScopeKind::Loop, None),
            Stmt::Break => {}
            Stmt::For(f) => {
                let For { index, from, to, body, independent, reductions, .. } = &**f;
                self.operand(from);
                self.operand(to);
                for (reg, _) in reductions {
                    self.touch(*reg, false);
                }
                let kind = if *independent { ScopeKind::Independent } else { ScopeKind::Loop };
                self.block(body, kind, Some(*index));
            }
            Stmt::Call { results, function: _, args, site: _ }
            | Stmt::Runtime { results, op: _, args } => {
                args.iter().for_each(|a| self.operand(a));
                results.iter().for_each(|r| self.set(*r));
            }
            Stmt::Raise { error: _, args, site: _ } | Stmt::Return(args) => {
                args.iter().for_each(|a| self.operand(a));
            }
        }
    }
}
