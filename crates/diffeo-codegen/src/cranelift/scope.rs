//! The basis of SSA form: which registers a statement with inner statements changes for what follows it, or for its
//! next step.
//!
//! A register has a *home*: the innermost list of statements that contains everything that sets or uses it. A register
//! whose home lies within an arm or a body does not concern the outside. So the code has a block parameter exactly
//! where a register may have several values, and translation takes linear time.

use crate::low::{Address, Expr, LowFunction, Operand, Reg, Stmt};
use diffeo_base::deep;

/// Facts about a statement with inner statements.
#[derive(Clone, Debug, Default)]
pub(super) struct StmtFacts {
    /// The registers that its inner statements set and that live outside of them.
    pub carried: Vec<Reg>,
    /// For each list of inner statements whether its end can be reached.
    pub falls: Vec<bool>,
    /// Of a loop, whether anything leaves it by `Break`.
    pub breaks: bool,
    /// The index of the first shape in each list of inner statements; then that of the first shape behind them all.
    pub starts: Vec<usize>,
}

fn address_operands(address: &Address) -> [Operand; 2] {
    [address.base, address.index]
}

/// The operands of a statement, without those of its inner statements.
fn operands(stmt: &Stmt, each: &mut impl FnMut(Operand)) {
    match stmt {
        Stmt::Set(_, expr) => match expr {
            Expr::Copy(a) | Expr::Unary(_, a) => each(*a),
            Expr::Binary(_, a, b) | Expr::Math(_, a, b) | Expr::Compare(_, a, b) => {
                [*a, *b].into_iter().for_each(each);
            }
            Expr::Fma(a, b, c) | Expr::Select(a, b, c) => {
                [*a, *b, *c].into_iter().for_each(each);
            }
            Expr::Load(_, address) | Expr::Offset(address) => {
                address_operands(address).into_iter().for_each(each);
            }
        },
        Stmt::Checked { a, b, .. } => {
            [*a, *b].into_iter().for_each(each);
        }
        Stmt::Store(_, address, value) => {
            address_operands(address).into_iter().for_each(&mut *each);
            each(*value);
        }
        Stmt::If(on, ..) | Stmt::Switch(on, ..) => each(*on),
        Stmt::For(step) => {
            [step.from, step.to].into_iter().for_each(each);
        }
        Stmt::Call { args, .. }
        | Stmt::Runtime { args, .. }
        | Stmt::Raise { args, .. }
        | Stmt::Return(args) => args.iter().copied().for_each(each),
        Stmt::Loop(_) | Stmt::Break => {}
    }
}

/// The registers that a statement sets, without those of its inner statements.
fn sets(stmt: &Stmt) -> Vec<Reg> {
    match stmt {
        Stmt::Set(reg, _) => vec![*reg],
        Stmt::Checked { result, overflow, .. } => vec![*result, *overflow],
        Stmt::Call { results, .. } | Stmt::Runtime { results, .. } => results.clone(),
        Stmt::Store(..)
        | Stmt::If(..)
        | Stmt::Switch(..)
        | Stmt::Loop(_)
        | Stmt::Break
        | Stmt::For(_)
        | Stmt::Raise { .. }
        | Stmt::Return(_) => Vec::new(),
    }
}

/// The shapes of the statements with inner statements, in the order of the text; those that cannot be
/// reached, because they stand behind one that leaves, are left out.
pub(super) fn shapes(function: &LowFunction) -> Vec<StmtFacts> {
    let mut homes = Homes {
        home: vec![NONE; function.registers.len()],
        parent: vec![0],
        depth: vec![0],
        open: vec![true],
    };
    for reg in &function.params {
        homes.home[reg.0 as usize] = 0;
    }
    homes.list(&function.body, 0);
    let mut shapes = FactFinder {
        homes,
        next: 1,
        seen: vec![0; function.registers.len()],
        stamp: 0,
        shapes: Vec::new(),
        loops: Vec::new(),
    };
    shapes.list(&function.body, 0);
    shapes.shapes
}

const NONE: u32 = u32::MAX;

/// The first walk: finds the homes.
struct Homes {
    /// By register.
    home: Vec<u32>,
    /// By list of statements, numbered in the order of the text: the one around it.
    parent: Vec<u32>,
    /// By list: how many are around it.
    depth: Vec<u32>,
    /// By list: whether it is being walked.
    open: Vec<bool>,
}

impl Homes {
    fn list(&mut self, stmts: &[Stmt], list: u32) {
        for stmt in stmts {
            operands(stmt, &mut |operand| {
                if let Operand::Reg(reg) = operand {
                    self.occurs(reg, list);
                }
            });
            for reg in sets(stmt) {
                self.occurs(reg, list);
            }
            if let Stmt::For(step) = stmt {
                // They are combined with what they were before.
                for (reg, _) in &step.reductions {
                    self.occurs(*reg, list);
                }
            }
            for inner in stmt.blocks() {
                let number = self.parent.len() as u32;
                self.parent.push(list);
                self.depth.push(self.depth[list as usize] + 1);
                self.open.push(true);
                deep(|| self.list(inner, number));
                self.open[number as usize] = false;
            }
        }
    }

    fn occurs(&mut self, reg: Reg, list: u32) {
        let mut home = self.home[reg.0 as usize];
        if home == NONE {
            home = list;
        }
        // The lists around this one are those that are open.
        while !self.open[home as usize] {
            home = self.parent[home as usize];
        }
        self.home[reg.0 as usize] = home;
    }
}

/// The second walk: finds the shapes.
struct FactFinder {
    homes: Homes,
    /// The number of the next list of statements.
    next: u32,
    /// By register: the last set that it was put into.
    seen: Vec<u32>,
    stamp: u32,
    shapes: Vec<StmtFacts>,
    /// For each open loop whether anything leaves it.
    loops: Vec<bool>,
}

impl FactFinder {
    /// The registers that the list sets and that live outside of it, each once, and whether its end is reached.
    fn list(&mut self, stmts: &[Stmt], list: u32) -> (Vec<Reg>, bool) {
        let mut all = Vec::new();
        let mut falls = true;
        for stmt in stmts {
            let lists = stmt.blocks();
            if !falls {
                // Only the numbers go on.
                self.skip(&lists);
                continue;
            }
            all.extend(sets(stmt));
            falls = self.stmt(stmt, &lists, &mut all);
        }
        let depth = self.homes.depth[list as usize];
        let outside = |this: &FactFinder, reg: &Reg| {
            this.homes.depth[this.homes.home[reg.0 as usize] as usize] < depth
        };
        all.retain(|reg| outside(self, reg));
        (self.distinct(all), falls)
    }

    fn distinct(&mut self, mut regs: Vec<Reg>) -> Vec<Reg> {
        self.stamp += 1;
        regs.retain(|reg| {
            std::mem::replace(&mut self.seen[reg.0 as usize], self.stamp) != self.stamp
        });
        regs
    }

    fn skip(&mut self, lists: &[&[Stmt]]) {
        for list in lists {
            self.next += 1;
            for stmt in *list {
                deep(|| self.skip(&stmt.blocks()));
            }
        }
    }

    /// Adds the registers that the inner statements change to `all`; whether the end is reached.
    fn stmt(&mut self, stmt: &Stmt, lists: &[&[Stmt]], all: &mut Vec<Reg>) -> bool {
        match stmt {
            Stmt::Raise { .. } | Stmt::Return(_) => return false,
            Stmt::Break => {
                if let Some(left) = self.loops.last_mut() {
                    *left = true;
                }
                return false;
            }
            Stmt::Set(..)
            | Stmt::Checked { .. }
            | Stmt::Store(..)
            | Stmt::Call { .. }
            | Stmt::Runtime { .. } => return true,
            Stmt::If(..) | Stmt::Switch(..) | Stmt::Loop(_) | Stmt::For(_) => {}
        }
        let index = self.shapes.len();
        self.shapes.push(StmtFacts::default());
        let is_loop = matches!(stmt, Stmt::Loop(_));
        if is_loop {
            self.loops.push(false);
        }
        let mut carried = Vec::new();
        let mut falls = Vec::new();
        let mut starts = Vec::new();
        for inner in lists {
            starts.push(self.shapes.len());
            let number = self.next;
            self.next += 1;
            let (regs, end) = deep(|| self.list(inner, number));
            carried.extend(regs);
            falls.push(end);
        }
        starts.push(self.shapes.len());
        let breaks = is_loop && self.loops.pop().unwrap_or(false);
        let carried = self.distinct(carried);
        all.extend(&carried);
        let goes_on =
            if is_loop { breaks } else { matches!(stmt, Stmt::For(_)) || falls.contains(&true) };
        self.shapes[index] = StmtFacts { carried, falls, breaks, starts };
        goes_on
    }
}
