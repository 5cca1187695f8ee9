//! Facts about a function by itself: where variables are defined and last used, and which array each is a view of.

use super::uses::{container, is_reference, is_view, uses, var};
use diffeo_array::ir::{Atom, Block, Carried, Function, Op, Stmt, Var};
use diffeo_base::deep;
use hashbrown::HashMap;

/// The number of a block within its function; the body of the function is 0.
pub(super) type BlockNumber = u32;

/// Facts about a function.
pub(super) struct Scan<'a> {
    /// The statement that defines a variable and the position among its results; none for parameters, indices
    /// and carried variables.
    pub def: Vec<Option<(&'a Stmt, usize)>>,
    /// The block in which a variable is defined; for the index and the carried variables of a loop, its body.
    pub home: Vec<BlockNumber>,
    /// How often a variable is an operand or a result of a block.
    pub count: Vec<u32>,
    /// The variable that has the block of memory that a variable is a view of; the variable itself, if it is no view.
    pub root: Vec<Var>,
    /// The position of the last use of a root and its views; for what is used in a loop that it was defined
    /// before, the end of the loop.
    pub last: Vec<u32>,
    /// Whether a variable is borrowed wherever it is used: carried variables that walk along a structure, such as the
    /// rest of a list, and what leads from each to the next one.
    pub walks: Vec<bool>,
    /// The numbers of the blocks, by address.
    pub blocks: HashMap<*const Block, BlockNumber>,
}

impl<'a> Scan<'a> {
    /// The facts about a function.
    pub fn new(function: &'a Function) -> Scan<'a> {
        let count = function.vars.len();
        let mut scanner = Scanner {
            function,
            scan: Scan {
                def: vec![None; count],
                home: vec![0; count],
                count: vec![0; count],
                root: (0..count as u32).map(Var).collect(),
                last: vec![0; count],
                walks: vec![false; count],
                blocks: HashMap::new(),
            },
            position: 0,
            defined: vec![0; count],
            loops: Vec::new(),
        };
        scanner.block(&function.body);
        scanner.scan
    }

    /// The number of a block.
    pub fn number(&self, block: &Block) -> BlockNumber {
        self.blocks[&(block as *const Block)]
    }
}

struct Scanner<'a> {
    function: &'a Function,
    scan: Scan<'a>,
    /// Goes up by one with each statement and each end of a block.
    position: u32,
    /// The definitions of variables.
    defined: Vec<u32>,
    /// The loops around: where each begins, and the roots used in it that were defined before.
    loops: Vec<(u32, Vec<Var>)>,
}

impl<'a> Scanner<'a> {
    fn used(&mut self, atom: &Atom) {
        let Some(v) = var(atom) else { return };
        self.scan.count[v.0 as usize] += 1;
        let root = self.scan.root[v.0 as usize];
        let defined = self.defined[root.0 as usize];
        let outer = self.loops.partition_point(|(start, _)| *start <= defined);
        match self.loops.get_mut(outer) {
            Some((_, roots)) => roots.push(root),
            None => self.scan.last[root.0 as usize] = self.position,
        }
    }

    fn define(&mut self, v: Var, home: BlockNumber) {
        self.scan.home[v.0 as usize] = home;
        self.defined[v.0 as usize] = self.position;
        self.scan.last[v.0 as usize] = self.position;
    }

    /// Gives a block its number and defines what belongs to it.
    fn block(&mut self, block: &'a Block) {
        let home = self.scan.blocks.len() as BlockNumber;
        self.scan.blocks.insert(block, home);
        if home == 0 {
            self.function.params.iter().for_each(|p| self.define(*p, 0));
        }
        for stmt in &block.stmts {
            self.position += 1;
            self.stmt(stmt, home);
        }
        self.position += 1;
        block.results.iter().for_each(|atom| self.used(atom));
    }

    fn in_loop(&mut self, within: impl FnOnce(&mut Self)) {
        self.loops.push((self.position, Vec::new()));
        deep(|| within(self));
        self.position += 1;
        for root in self.loops.pop().map(|(_, roots)| roots).unwrap_or_default() {
            self.scan.last[root.0 as usize] = self.position;
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt, home: BlockNumber) {
        let Stmt { results, op, site: _ } = stmt;
        let vars = &self.function.vars;
        uses(vars, op, |_, _| false, |atom, _| self.used(atom));
        for (i, v) in results.iter().enumerate() {
            self.scan.def[v.0 as usize] = Some((stmt, i));
        }
        if let (Some(array), [v]) = (container(op).and_then(var), &results[..]) {
            if is_view(op, &vars[v.0 as usize].ty) {
                self.scan.root[v.0 as usize] = self.scan.root[array.0 as usize];
            }
        }
        if let Op::If { then, otherwise, .. } = op {
            deep(|| self.block(then));
            deep(|| self.block(otherwise));
        } else if let Op::Switch { arms, default, .. } = op {
            for arm in arms.iter().map(|(_, arm)| arm).chain(default) {
                deep(|| self.block(arm));
            }
        } else if let Op::For { index, carried, body, .. } = op {
            self.in_loop(|this| this.body(Some(*index), carried, None, body));
        } else if let Op::While { carried, cond, body } = op {
            self.in_loop(|this| this.body(None, carried, Some(cond), body));
        } else if let Op::Build { index, body, .. } | Op::Reduce { index, body, .. } = op {
            self.in_loop(|this| this.body(Some(*index), &[], None, body));
        }
        results.iter().for_each(|v| self.define(*v, home));
        self.walks(op, results);
    }

    fn body(
        &mut self,
        index: Option<Var>,
        carried: &'a [Carried],
        cond: Option<&'a Block>,
        body: &'a Block,
    ) {
        let params = || index.into_iter().chain(carried.iter().map(|c| c.param));
        params().for_each(|v| self.define(v, 0));
        if let Some(cond) = cond {
            self.block(cond);
        }
        let home = self.scan.blocks.len() as BlockNumber;
        params().for_each(|v| self.scan.home[v.0 as usize] = home);
        self.block(body);
    }

    /// Finds the carried variables of a loop that walk.
    fn walks(&mut self, op: &'a Op, results: &[Var]) {
        let (Op::For { carried, body, .. } | Op::While { carried, body, .. }) = op else { return };
        for (i, Carried { param, init: _ }) in carried.iter().enumerate() {
            let info = &self.function.vars[param.0 as usize];
            let mut path = vec![*param, results[i]];
            if is_reference(&info.ty) && self.leads(&body.results[i], *param, &mut path) {
                path.iter().for_each(|v| self.scan.walks[v.0 as usize] = true);
            }
        }
    }

    /// Whether a value is `param` or part of it, however the branches go; collects what leads there.
    fn leads(&self, atom: &Atom, param: Var, path: &mut Vec<Var>) -> bool {
        /// Longer ways are not followed, so that the time for each loop is bounded.
        const LONGEST: usize = 100;
        let Some(v) = var(atom) else { return true };
        if v == param {
            return true;
        }
        path.push(v);
        if path.len() > LONGEST {
            return false;
        }
        let Some((stmt, i)) = self.scan.def[v.0 as usize] else { return false };
        if let Some(container) = container(&stmt.op) {
            self.leads(container, param, path)
        } else if let Op::If { then, otherwise, .. } = &stmt.op {
            [then, otherwise].iter().all(|b| self.leads(&b.results[i], param, path))
        } else if let Op::Switch { arms, default, .. } = &stmt.op {
            let mut blocks = arms.iter().map(|(_, arm)| arm).chain(default);
            blocks.all(|b| self.leads(&b.results[i], param, path))
        } else if let Op::For { carried, .. } | Op::While { carried, .. } = &stmt.op {
            self.scan.walks[v.0 as usize] && self.leads(&carried[i].init, param, path)
        } else {
            // What comes after a stop is not reached.
            matches!(stmt.op, Op::Stop(_))
        }
    }
}
