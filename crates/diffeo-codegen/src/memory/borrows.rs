//! Borrow inference: which parameters functions keep; in each function, which variable holds the reference that keeps a
//! variable alive, and where it is used last.
//!
//! References are counted as in Ullrich & de Moura, "Counting Immutable Beans" (2019): a parameter is borrowed unless
//! its function changes or keeps it; and as in Reinking et al., "Perceus" (2021): the last use moves a reference. What
//! is taken out of an array or a box is not counted while that lives: it is *borrowed* from it, and every use of it is
//! a use of its *holder*. So what is only read is not counted.

use super::scan::{BlockNumber, Scan};
use super::uses::{container, is_reference, is_view, uses, var, Use};
use diffeo_array::ir::{Atom, Block, Carried, Function, FunctionId, Module, Op, Stmt, Var};
use diffeo_base::deep;

/// For each parameter of each function, whether the function keeps it, so that the caller gives a reference away.
pub(super) struct Signatures(Vec<Box<[bool]>>);

impl Signatures {
    /// Whether a function keeps its parameter with this position.
    pub fn keeps(&self, function: FunctionId, param: usize) -> bool {
        self.0[function.0 as usize][param]
    }

    /// The smallest set of parameters that the functions have to keep.
    pub fn new(module: &Module, scans: &[Scan]) -> Signatures {
        let mut flows = Flows {
            keeps: module.functions.iter().map(|f| vec![false; f.params.len()].into()).collect(),
            into: module.functions.iter().map(|f| vec![Vec::new(); f.params.len()]).collect(),
            work: Vec::new(),
        };
        for (i, (function, scan)) in module.functions.iter().zip(scans).enumerate() {
            let mut positions = vec![None; function.vars.len()];
            for (p, param) in function.params.iter().enumerate() {
                if is_reference(&function.vars[param.0 as usize].ty) {
                    positions[param.0 as usize] = Some((i, p));
                }
            }
            flows.block(function, scan, &positions, &function.body);
        }
        while let Some((f, p)) = flows.work.pop() {
            for (f, p) in std::mem::take(&mut flows.into[f][p]) {
                flows.keep((f, p));
            }
        }
        Signatures(flows.keeps)
    }
}

/// A function and a parameter of it.
type Param = (usize, usize);

/// The parameters that become arguments, and of which parameters.
struct Flows {
    keeps: Vec<Box<[bool]>>,
    /// Of each parameter, the parameters that are given for it.
    into: Vec<Vec<Vec<Param>>>,
    work: Vec<Param>,
}

impl Flows {
    fn keep(&mut self, (f, p): Param) {
        if !std::mem::replace(&mut self.keeps[f][p], true) {
            self.work.push((f, p));
        }
    }

    fn block(
        &mut self,
        function: &Function,
        scan: &Scan,
        positions: &[Option<Param>],
        block: &Block,
    ) {
        let param = |atom: &Atom| {
            let root = scan.root[var(atom)?.0 as usize];
            positions[root.0 as usize]
        };
        for stmt in &block.stmts {
            if let Op::Call(callee, args) = &stmt.op {
                for (i, arg) in args.iter().enumerate() {
                    if let Some(param) = param(arg) {
                        self.into[callee.0 as usize][i].push(param);
                        if self.keeps[callee.0 as usize][i] {
                            self.work.push((callee.0 as usize, i));
                        }
                    }
                }
            }
            uses(
                &function.vars,
                &stmt.op,
                |_, _| false,
                |atom, how| {
                    if how != Use::Read && !walks_with(scan, &stmt.op, atom) {
                        if let Some(param) = param(atom) {
                            self.keep(param);
                        }
                    }
                },
            );
            // In a loop, a parameter cannot go over to anything: it may be needed in the next step.
            let repeats = matches!(
                stmt.op,
                Op::For { .. } | Op::While { .. } | Op::Build { .. } | Op::Reduce { .. }
            );
            if !repeats {
                super::uses::regions(&stmt.op, |region| {
                    deep(|| self.block(function, scan, positions, region));
                });
            }
        }
        for param in block.results.iter().filter_map(param) {
            self.keep(param);
        }
    }
}

/// Whether an operand is where a carried variable that walks begins.
fn walks_with(scan: &Scan, op: &Op, atom: &Atom) -> bool {
    if let Op::For { carried, .. } | Op::While { carried, .. } = op {
        // An operand can also be the beginning of something that is kept.
        carried.iter().all(|c| c.init != *atom || scan.walks[c.param.0 as usize])
    } else {
        false
    }
}

/// The holder that keeps a variable alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Holder {
    /// It is no reference, or something outside of the function holds it.
    Outside,
    /// A variable of the function, perhaps itself, that has a reference counted for it.
    Var {
        /// The variable.
        var: Var,
        /// Whether it is a reference to the same block of memory, so that it can go over to another owner.
        same: bool,
    },
}

/// The owners of the variables of a function.
pub(super) struct Owners {
    /// The holder of each variable.
    pub holder: Vec<Holder>,
    /// By block, the holders used in it, each with the position of the statement in the block that uses it last;
    /// the number of statements for the results.
    last: Vec<Vec<(Var, u32)>>,
}

impl Owners {
    /// The owners in a function.
    pub fn new(
        function: &Function,
        id: FunctionId,
        scan: &Scan,
        signatures: &Signatures,
    ) -> Owners {
        let mut finder = Finder {
            function,
            scan,
            owners: Owners {
                holder: vec![Holder::Outside; function.vars.len()],
                last: vec![Vec::new(); scan.blocks.len()],
            },
        };
        for (i, param) in function.params.iter().enumerate() {
            if signatures.keeps(id, i) {
                finder.itself(*param);
            }
        }
        finder.block(&function.body);
        finder.owners
    }

    /// The position in a block after which a holder is not used any more; `None` if the block never uses it.
    pub fn last(&self, block: BlockNumber, holder: Var) -> Option<usize> {
        let last = &self.last[block as usize];
        let found = last.binary_search_by_key(&holder, |(var, _)| *var);
        found.ok().map(|i| last[i].1 as usize)
    }

    /// The holder of an operand.
    pub fn of(&self, atom: &Atom) -> Holder {
        var(atom).map_or(Holder::Outside, |v| self.holder[v.0 as usize])
    }

    /// Whether a variable has a reference of its own.
    pub fn owns(&self, v: Var) -> bool {
        matches!(self.holder[v.0 as usize], Holder::Var { var, .. } if var == v)
    }
}

struct Finder<'a> {
    function: &'a Function,
    scan: &'a Scan<'a>,
    owners: Owners,
}

impl Finder<'_> {
    fn itself(&mut self, v: Var) {
        if is_reference(&self.function.vars[v.0 as usize].ty) {
            self.owners.holder[v.0 as usize] = Holder::Var { var: v, same: true };
        }
    }

    /// Decides for the variables of a block; gives the holders from outside that it uses.
    fn block(&mut self, block: &Block) -> Vec<Var> {
        let number = self.scan.number(block);
        let mut used: Vec<(Var, u32)> = Vec::new();
        for (i, stmt) in block.stmts.iter().enumerate() {
            let at = i as u32;
            uses(
                &self.function.vars,
                &stmt.op,
                |_, _| false,
                |atom, _| {
                    used.extend(self.held(atom).map(|v| (v, at)));
                },
            );
            let inner = self.stmt(stmt);
            used.extend(inner.into_iter().map(|v| (v, at)));
        }
        let at = block.stmts.len() as u32;
        used.extend(block.results.iter().filter_map(|atom| self.held(atom)).map(|v| (v, at)));
        // The last use of each.
        used.sort_unstable_by_key(|(v, at)| (*v, std::cmp::Reverse(*at)));
        used.dedup_by_key(|(v, _)| *v);
        let home = |v: &Var| self.scan.home[v.0 as usize];
        let outside = used.iter().map(|(v, _)| *v).filter(|v| home(v) != number).collect();
        self.owners.last[number as usize] = used;
        outside
    }

    fn held(&self, atom: &Atom) -> Option<Var> {
        match self.owners.of(atom) {
            Holder::Outside => None,
            Holder::Var { var, .. } => Some(var),
        }
    }

    /// Decides for the results of a statement and what is in its blocks; gives the holders that those use.
    fn stmt(&mut self, stmt: &Stmt) -> Vec<Var> {
        let Stmt { results, op, site: _ } = stmt;
        let vars = &self.function.vars;
        let mut inner = Vec::new();
        if let Op::If { then, otherwise, .. } = op {
            inner.extend(deep(|| self.block(then)));
            inner.extend(deep(|| self.block(otherwise)));
            self.chosen(results, &[then, otherwise]);
        } else if let Op::Switch { arms, default, .. } = op {
            let blocks: Vec<&Block> = arms.iter().map(|(_, arm)| arm).chain(default).collect();
            blocks.iter().for_each(|block| inner.extend(deep(|| self.block(block))));
            self.chosen(results, &blocks);
        } else if let Op::For { carried, body, .. } | Op::While { carried, body, .. } = op {
            self.carried(results, carried);
            if let Op::While { cond, .. } = op {
                inner.extend(deep(|| self.block(cond)));
            }
            inner.extend(deep(|| self.block(body)));
            let home = self.scan.number(body);
            inner.retain(|v| self.scan.home[v.0 as usize] != home);
        } else if let Op::Build { body, .. } | Op::Reduce { body, .. } = op {
            inner.extend(deep(|| self.block(body)));
            results.iter().for_each(|v| self.itself(*v));
        } else if let Some(atom) = container(op) {
            for v in results.iter().filter(|v| is_reference(&vars[v.0 as usize].ty)) {
                let view = is_view(op, &vars[v.0 as usize].ty);
                match self.owners.of(atom) {
                    Holder::Var { var, same } if view || self.outlives(atom, *v) => {
                        let same = same && view;
                        self.owners.holder[v.0 as usize] = Holder::Var { var, same };
                    }
                    Holder::Var { .. } => self.itself(*v),
                    Holder::Outside => {}
                }
            }
        } else if !matches!(op, Op::Text(_) | Op::Constant(_) | Op::Stop(_)) {
            results.iter().for_each(|v| self.itself(*v));
        }
        inner
    }

    /// Whether a container is used as long as what was taken out of it, whatever the uses of the latter do: or
    /// whether it has to live so long, because something walks.
    fn outlives(&self, container: &Atom, part: Var) -> bool {
        let held = var(container).into_iter().chain(self.held(container));
        self.scan.walks[part.0 as usize]
            || held.into_iter().any(|v| self.last(part) <= self.last(v))
    }

    /// The position of the last use of a variable or of what lies in the same block of memory.
    fn last(&self, v: Var) -> u32 {
        self.scan.last[self.scan.root[v.0 as usize].0 as usize]
    }

    /// Decides for the results of a choice: borrowed where every branch gives what the same holder holds.
    fn chosen(&mut self, results: &[Var], blocks: &[&Block]) {
        for (i, v) in results.iter().enumerate() {
            let (mut holder, mut outside) = (Holder::Outside, false);
            let mut borrowed = is_reference(&self.function.vars[v.0 as usize].ty);
            for block in blocks {
                let home = self.scan.number(block);
                match (self.owners.of(&block.results[i]), holder) {
                    (Holder::Outside, _) => outside = true,
                    (Holder::Var { var, .. }, _) if self.within(var, home) => borrowed = false,
                    (found, Holder::Outside) => holder = found,
                    (Holder::Var { var, same }, Holder::Var { var: other, same: all }) => {
                        borrowed &= var == other;
                        holder = Holder::Var { var, same: same && all };
                    }
                }
            }
            if let Holder::Var { var, same } = &mut holder {
                borrowed &= self.scan.walks[v.0 as usize] || self.last(*v) <= self.last(*var);
                *same &= !outside;
            }
            if borrowed {
                self.owners.holder[v.0 as usize] = holder;
            } else {
                self.itself(*v);
            }
        }
    }

    /// Whether a variable is defined in the block, whose statements are decided, and not before it.
    fn within(&self, v: Var, home: BlockNumber) -> bool {
        self.scan.home[v.0 as usize] == home
    }

    fn carried(&mut self, results: &[Var], carried: &[Carried]) {
        for (Carried { param, init }, result) in carried.iter().zip(results) {
            if self.scan.walks[param.0 as usize] {
                let holder = match self.owners.of(init) {
                    Holder::Var { var, .. } => Holder::Var { var, same: false },
                    Holder::Outside => Holder::Outside,
                };
                self.owners.holder[param.0 as usize] = holder;
                self.owners.holder[result.0 as usize] = holder;
            } else {
                self.itself(*param);
                self.itself(*result);
            }
        }
    }
}
