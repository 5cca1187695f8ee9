//! Dead-code elimination: drops statements without effects whose results are not used, results of branches and loops,
//! carried variables that only feed themselves, parameters and results of functions, functions and constants that are
//! not reached. Numbers variables anew, in the order of their definitions.
//!
//! What it needs: nothing. Why it is right: what has effects is needed, and so is what it depends on, and nothing else
//! is; effects are those of [`super::effects`], for a call those of the function called. What is needed is found over
//! the whole module at once, so a parameter that a recursive function only hands on is not needed.

use super::effects::Effects;
use super::shapes::Shapes;
use crate::ir::walk::{deep, operands, regions};
use crate::ir::{Atom, Block, Constant, FlatTy, Function, Module, Op, Stmt, Var};

/// Dead-code elimination: see the head of the file.
pub fn dce(module: Module) -> Module {
    let needed = Needs::of(&module, false);
    sweep::sweep(module, &needed)
}

/// As [`dce`], but all functions stay, with their parameters and results, and all constants.
pub(super) fn dce_within(module: Module) -> Module {
    let needed = Needs::of(&module, true);
    sweep::sweep(module, &needed)
}

/// A variable, a statement or a result of a function of the module, numbered.
type NodeId = u32;

/// What is needed.
struct Needs {
    live: Vec<bool>,
    /// The first node of each function: its variables; then come its results, then its statements, in the order
    /// of the text.
    first: Vec<NodeId>,
    results: Vec<NodeId>,
    stmts: Vec<NodeId>,
    functions: Vec<bool>,
    constants: Vec<bool>,
}

/// A call, for its arguments.
struct CallSite {
    stmt: NodeId,
    callee: usize,
    args: Vec<Option<NodeId>>,
}

struct Graph<'a> {
    module: &'a Module,
    effects: &'a Effects,
    /// Who needs whom.
    edges: Vec<(NodeId, NodeId)>,
    roots: Vec<NodeId>,
    calls: Vec<CallSite>,
    /// The function or constant's function that a statement reaches.
    reaches: Vec<(NodeId, usize)>,
    uses: Vec<(NodeId, usize)>,
    first: Vec<NodeId>,
    results: Vec<NodeId>,
    stmts: Vec<NodeId>,
    next: NodeId,
}

impl Needs {
    fn of(module: &Module, all: bool) -> Needs {
        let effects = Effects::of(module);
        let mut graph = Graph {
            module,
            effects: &effects,
            edges: Vec::new(),
            roots: Vec::new(),
            calls: Vec::new(),
            reaches: Vec::new(),
            uses: Vec::new(),
            first: Vec::new(),
            results: Vec::new(),
            stmts: Vec::new(),
            next: 0,
        };
        // Variables and results of all functions come first, because calls refer to them.
        for function in &module.functions {
            graph.first.push(graph.next);
            graph.next += function.vars.len() as NodeId;
            graph.results.push(graph.next);
            graph.next += function.results.len() as NodeId;
        }
        let bodies = graph.next;
        for (f, function) in module.functions.iter().enumerate() {
            graph.stmts.push(graph.next);
            let shapes = Shapes::of_rows(function);
            graph.block(f, function, &shapes, &function.body, None);
            for (i, atom) in function.body.results.iter().enumerate() {
                graph.edge_to(graph.results[f] + i as NodeId, f, atom);
            }
        }
        graph.mark(bodies, all)
    }
}

impl Graph<'_> {
    fn node(&self, f: usize, v: Var) -> NodeId {
        self.first[f] + v.0
    }

    fn edge_to(&mut self, from: NodeId, f: usize, atom: &Atom) {
        if let Atom::Var(v) = atom {
            let to = self.node(f, *v);
            self.edges.push((from, to));
        }
    }

    fn block(
        &mut self,
        f: usize,
        function: &Function,
        shapes: &Shapes,
        block: &Block,
        parent: Option<NodeId>,
    ) {
        for stmt in &block.stmts {
            let node = self.next;
            self.next += 1;
            if let Some(parent) = parent {
                self.edges.push((node, parent));
            }
            for v in &stmt.results {
                let from = self.node(f, *v);
                self.edges.push((from, node));
            }
            let effect = self.effects.own(stmt, shapes, &function.vars);
            if effect.any() {
                self.roots.push(node);
            }
            self.stmt(f, stmt, node);
            if let (Op::Build { .. }, true) = (&stmt.op, effect.stops) {
                // Rows are compared, so they are needed.
                for v in &stmt.results {
                    if matches!(function.vars[v.0 as usize].ty, FlatTy::Array(_, rank) if rank > 1)
                    {
                        self.roots.push(self.node(f, *v));
                    }
                }
            }
            deep(|| {
                regions(&stmt.op, |r| self.block(f, function, shapes, r, Some(node)));
            });
        }
    }

    fn stmt(&mut self, f: usize, stmt: &Stmt, node: NodeId) {
        match &stmt.op {
            Op::For { count, carried, body, index } => {
                self.edge_to(node, f, count);
                let index = self.node(f, *index);
                self.edges.push((index, node));
                self.carried(f, stmt, node, carried, body);
            }
            Op::While { carried, cond, body } => {
                cond.results.iter().for_each(|a| self.edge_to(node, f, a));
                self.carried(f, stmt, node, carried, body);
            }
            Op::Build { index, body, .. } | Op::Reduce { index, body, .. } => {
                operands(&stmt.op, |a| self.edge_to(node, f, a));
                let index = self.node(f, *index);
                self.edges.push((index, node));
                self.ends(f, stmt, [body]);
            }
            Op::If { then, otherwise, .. } => {
                operands(&stmt.op, |a| self.edge_to(node, f, a));
                self.ends(f, stmt, [then, otherwise]);
            }
            Op::Switch { arms, default, .. } => {
                operands(&stmt.op, |a| self.edge_to(node, f, a));
                self.ends(f, stmt, arms.iter().map(|(_, arm)| arm).chain(default));
            }
            _ => self.leaf(f, stmt, node),
        }
    }

    fn leaf(&mut self, f: usize, stmt: &Stmt, node: NodeId) {
        if let Op::Call(callee, args) = &stmt.op {
            let callee = callee.0 as usize;
            self.reaches.push((node, callee));
            for (i, v) in stmt.results.iter().enumerate() {
                let from = self.node(f, *v);
                self.edges.push((from, self.results[callee] + i as NodeId));
            }
            let args =
                args.iter().map(|a| crate::ir::walk::var(a).map(|v| self.node(f, v))).collect();
            self.calls.push(CallSite { stmt: node, callee, args });
        } else if let Op::Constant(c) = &stmt.op {
            let init = self.module.constants[c.0 as usize].init.0 as usize;
            self.uses.push((node, c.0 as usize));
            self.reaches.push((node, init));
            for i in 0..self.module.functions[init].results.len() {
                self.edges.push((node, self.results[init] + i as NodeId));
            }
        } else {
            operands(&stmt.op, |a| self.edge_to(node, f, a));
        }
    }

    /// A result needs the results of the blocks at its position.
    fn ends<'b>(&mut self, f: usize, stmt: &Stmt, blocks: impl IntoIterator<Item = &'b Block>) {
        for block in blocks {
            for (v, atom) in stmt.results.iter().zip(&block.results) {
                let from = self.node(f, *v);
                self.edge_to(from, f, atom);
            }
        }
    }

    /// The parameter stands for the carried variable: the result needs it, it needs its first and next values.
    fn carried(
        &mut self,
        f: usize,
        stmt: &Stmt,
        node: NodeId,
        carried: &[crate::ir::Carried],
        body: &Block,
    ) {
        for ((c, next), v) in carried.iter().zip(&body.results).zip(&stmt.results) {
            let (param, result) = (self.node(f, c.param), self.node(f, *v));
            self.edges.push((result, param));
            self.edges.push((param, node));
            self.edge_to(param, f, &c.init);
            self.edge_to(param, f, next);
        }
    }

    /// Marks what the roots need; all functions and constants are, if so.
    fn mark(self, bodies: NodeId, all: bool) -> Needs {
        let Graph {
            module, edges, roots, calls, reaches, uses, first, results, stmts, next, ..
        } = self;
        let count = next as usize;
        let (offsets, targets) = adjacency(count, &edges);
        // By statement, the call; by function, its calls.
        let mut call_of = vec![usize::MAX; count - bodies as usize];
        let mut calls_of = vec![Vec::new(); module.functions.len()];
        for (i, call) in calls.iter().enumerate() {
            call_of[(call.stmt - bodies) as usize] = i;
            calls_of[call.callee].push(i);
        }
        let mut param_of = vec![None; bodies as usize];
        for (f, function) in module.functions.iter().enumerate() {
            for (i, p) in function.params.iter().enumerate() {
                param_of[(first[f] + p.0) as usize] = Some((f, i));
            }
        }
        let mut reach_of = vec![usize::MAX; count - bodies as usize];
        for (stmt, f) in &reaches {
            reach_of[(stmt - bodies) as usize] = *f;
        }
        let mut effects_of: Vec<Vec<NodeId>> = vec![Vec::new(); module.functions.len()];
        for root in roots {
            let f = match root < bodies {
                true => first.partition_point(|n| *n <= root) - 1,
                false => stmts.partition_point(|n| *n <= root) - 1,
            };
            effects_of[f].push(root);
        }
        let mut live = vec![false; count];
        let mut functions = vec![false; module.functions.len()];
        let mut work: Vec<NodeId> = Vec::new();
        let entry = module.entry.0 as usize;
        let mut reached: Vec<usize> =
            (0..module.functions.len()).filter(|f| all || *f == entry).collect();
        for f in &reached {
            let function = &module.functions[*f];
            work.extend(function.params.iter().map(|p| first[*f] + p.0));
            work.extend((0..function.results.len()).map(|i| results[*f] + i as NodeId));
        }
        loop {
            // The effects of a function are needed once it can be called.
            while let Some(f) = reached.pop() {
                if !std::mem::replace(&mut functions[f], true) {
                    work.append(&mut effects_of[f]);
                }
            }
            let Some(node) = work.pop() else { break };
            if std::mem::replace(&mut live[node as usize], true) {
                continue;
            }
            work.extend(&targets[offsets[node as usize]..offsets[node as usize + 1]]);
            if node >= bodies {
                let stmt = (node - bodies) as usize;
                if reach_of[stmt] != usize::MAX {
                    reached.push(reach_of[stmt]);
                }
                if let Some(call) = calls.get(call_of[stmt]) {
                    let params = &module.functions[call.callee].params;
                    for (p, arg) in params.iter().zip(&call.args) {
                        if live[(first[call.callee] + p.0) as usize] {
                            work.extend(arg);
                        }
                    }
                }
            } else if let Some((f, i)) = param_of[node as usize] {
                for call in &calls_of[f] {
                    if live[calls[*call].stmt as usize] {
                        work.extend(calls[*call].args.get(i).copied().flatten());
                    }
                }
            }
        }
        let mut constants = vec![all; module.constants.len()];
        for (stmt, c) in uses {
            constants[c] |= live[stmt as usize];
        }
        Needs { live, first, results, stmts, functions, constants }
    }
}

/// The edges by their origin.
fn adjacency(count: usize, edges: &[(NodeId, NodeId)]) -> (Vec<usize>, Vec<NodeId>) {
    let mut offsets = vec![0; count + 2];
    for (from, _) in edges {
        offsets[*from as usize + 2] += 1;
    }
    for i in 2..offsets.len() {
        offsets[i] += offsets[i - 1];
    }
    let mut targets = vec![0; edges.len()];
    for (from, to) in edges {
        let at = &mut offsets[*from as usize + 1];
        targets[*at] = *to;
        *at += 1;
    }
    (offsets, targets)
}

/// Rebuilding the module from what is needed.
mod sweep {
    use super::{Constant, Function, Module, Needs, NodeId, Op, Stmt, Var};
    use crate::ir::walk::deep;
    use crate::ir::{Atom, Block, ConstantId, FunctionId, VarInfo};

    pub(super) fn sweep(mut module: Module, needs: &Needs) -> Module {
        let numbers = |kept: &[bool]| -> Vec<u32> {
            let mut next = 0;
            let number = |kept: &bool| {
                next += u32::from(*kept);
                next - u32::from(*kept)
            };
            kept.iter().map(number).collect()
        };
        let functions = numbers(&needs.functions);
        let constants = numbers(&needs.constants);
        let entry = module.entry.0 as usize;
        // Which parameters and results of functions stay.
        let signatures: Vec<(Vec<bool>, Vec<bool>)> = module
            .functions
            .iter()
            .enumerate()
            .map(|(f, function)| {
                let live = |node: NodeId| needs.live[node as usize];
                let params =
                    function.params.iter().map(|p| f == entry || live(needs.first[f] + p.0));
                let results =
                    (0..function.results.len()).map(|i| live(needs.results[f] + i as NodeId));
                (params.collect(), results.collect())
            })
            .collect();
        let mut kept = Vec::with_capacity(module.functions.len());
        for (f, function) in std::mem::take(&mut module.functions).into_iter().enumerate() {
            if !needs.functions[f] {
                continue;
            }
            let mut cx = DeadCodeSweep {
                needs,
                f,
                node: needs.stmts[f],
                functions: &functions,
                constants: &constants,
                signatures: &signatures,
                old: function.vars,
                vars: Vec::new(),
                map: Vec::new(),
            };
            cx.map = vec![u32::MAX; cx.old.len()];
            let (params, results) = &signatures[f];
            let params =
                select(function.params, params).into_iter().map(|p| cx.define(p)).collect();
            let body = Block { results: select(function.body.results, results), ..function.body };
            let body = cx.block(body);
            kept.push(Function {
                params,
                results: select(function.results, results),
                body,
                vars: cx.vars,
                ..function
            });
        }
        let renumbered = |(i, c): (usize, Constant)| {
            let init = FunctionId(functions[c.init.0 as usize]);
            needs.constants[i].then_some(Constant { init, ..c })
        };
        module.functions = kept;
        let old = std::mem::take(&mut module.constants);
        module.constants = old.into_iter().enumerate().filter_map(renumbered).collect();
        module.entry = FunctionId(functions.get(entry).copied().unwrap_or(0));
        module
    }

    fn select<T>(all: Vec<T>, kept: &[bool]) -> Vec<T> {
        all.into_iter().zip(kept).filter_map(|(x, kept)| kept.then_some(x)).collect()
    }

    struct DeadCodeSweep<'a> {
        needs: &'a Needs,
        f: usize,
        /// The node of the next statement.
        node: NodeId,
        functions: &'a [u32],
        constants: &'a [u32],
        signatures: &'a [(Vec<bool>, Vec<bool>)],
        old: Vec<VarInfo>,
        vars: Vec<VarInfo>,
        map: Vec<u32>,
    }

    impl DeadCodeSweep<'_> {
        fn is_live(&self, v: Var) -> bool {
            self.needs.live[(self.needs.first[self.f] + v.0) as usize]
        }

        fn define(&mut self, v: Var) -> Var {
            let new = self.vars.len() as u32;
            let i = v.0 as usize;
            self.vars.push(self.old[i].clone());
            self.map[i] = new;
            Var(new)
        }

        fn atom(&self, atom: &mut Atom) {
            if let Atom::Var(v) = atom {
                match self.map[v.0 as usize] {
                    // Where it stands, nothing looks at it.
                    u32::MAX => *atom = Atom::Unused(self.old[v.0 as usize].ty.clone()),
                    new => *v = Var(new),
                }
            }
        }

        fn block(&mut self, block: Block) -> Block {
            let mut stmts = Vec::with_capacity(block.stmts.len());
            for stmt in block.stmts {
                let node = self.node;
                self.node += 1;
                if self.needs.live[node as usize] {
                    let stmt = deep(|| self.stmt(stmt));
                    stmts.push(stmt);
                } else {
                    let mut inner = 0;
                    crate::ir::walk::regions(&stmt.op, |r| {
                        inner += crate::ir::walk::size(r, usize::MAX);
                    });
                    self.node += inner as NodeId;
                }
            }
            let mut results = block.results;
            results.iter_mut().for_each(|a| self.atom(a));
            Block { stmts, results }
        }

        fn stmt(&mut self, stmt: Stmt) -> Stmt {
            let Stmt { mut results, mut op, site } = stmt;
            let signatures = self.signatures;
            if let Op::Call(f, args) = &mut op {
                let (params, kept) = &signatures[f.0 as usize];
                *args = select(std::mem::take(args), params);
                results = select(results, kept);
                f.0 = self.functions[f.0 as usize];
            } else if let Op::Constant(ConstantId(c)) = &mut op {
                *c = self.constants[*c as usize];
            }
            match &mut op {
                Op::For { carried, body, .. } | Op::While { carried, body, .. } => {
                    let kept: Vec<bool> = carried.iter().map(|c| self.is_live(c.param)).collect();
                    *carried = select(std::mem::take(carried), &kept);
                    body.results = select(std::mem::take(&mut body.results), &kept);
                    results = select(results, &kept);
                }
                Op::If { then, otherwise, .. } => {
                    let kept: Vec<bool> = results.iter().map(|v| self.is_live(*v)).collect();
                    for block in [then, otherwise] {
                        block.results = select(std::mem::take(&mut block.results), &kept);
                    }
                    results = select(results, &kept);
                }
                Op::Switch { arms, default, .. } => {
                    let kept: Vec<bool> = results.iter().map(|v| self.is_live(*v)).collect();
                    for block in arms.iter_mut().map(|(_, arm)| arm).chain(default) {
                        block.results = select(std::mem::take(&mut block.results), &kept);
                    }
                    results = select(results, &kept);
                }
                Op::Build { body, .. } => {
                    let kept: Vec<bool> = results.iter().map(|v| self.is_live(*v)).collect();
                    body.results = select(std::mem::take(&mut body.results), &kept);
                    results = select(results, &kept);
                }
                Op::Reduce { how, body, .. } => {
                    let kept: Vec<bool> = results.iter().map(|v| self.is_live(*v)).collect();
                    *how = select(std::mem::take(how), &kept);
                    body.results = select(std::mem::take(&mut body.results), &kept);
                    results = select(results, &kept);
                }
                _ => {}
            }
            crate::ir::walk::operands_mut(&mut op, |a| self.atom(a));
            crate::ir::walk::binders_mut(&mut op, |v| *v = self.define(*v));
            crate::ir::walk::regions_mut(&mut op, |r| *r = self.block(std::mem::take(r)));
            let results = results.into_iter().map(|v| self.define(v)).collect();
            Stmt { results, op, site }
        }
    }
}
