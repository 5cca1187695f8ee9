//! The analysis for outer-loop vectorisation: which loops run in lanes, and what each of their registers becomes.

mod memory;
mod registers;

use crate::low::visit::{occurrences, operands_of as operands, size};
use crate::low::{
    Address, Binary, Checked, Expr, For, LowFunction, LowModule, LowTy, Operand, Raise, Reg,
    Runtime, Stmt,
};
use diffeo_array::ir::Reduction;
use diffeo_base::deep;
use diffeo_calculus::prim::RealOp;
use hashbrown::{HashMap, HashSet};
use registers::{defined_first, sums_once};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Innermost loops of so many statements run in lanes even where nothing is summed: LLVM leaves the last steps, which
/// may be all of them, to a loop without vectors.
const HEAVY: usize = 24;

/// Loops of at most so many steps, if that is known, LLVM writes out.
const FEW: i64 = 4;

/// Number of statements of a long loop, which has half as many lanes where code is to be short.
const LONG: usize = 40;

/// Maximum number of elements of a row that is copied.
pub(crate) const ROW: i64 = 64;

/// Maximum number of bytes of a block that a step makes, if the loop runs in lanes: all lanes have theirs at once.
pub(crate) const BLOCK: i64 = 1 << 14;

/// Elements that do not lie together pay where each is used in so many operations.
const GATHER: usize = 4;

/// The lanes of a back end.
pub(crate) struct LaneTarget {
    /// The number of partial sums of an outer loop, the same on every processor. There are as many lanes, several vectors
    /// to hide the latency of an addition; or twice as many, if vectors are wide.
    pub sums: u32,
    /// The same of an innermost loop, whose next steps can begin before these are finished.
    pub inner_sums: u32,
    /// The factor by which innermost loops of few operations have more.
    pub parts: u32,
    /// Code is to be short, and the last steps are done one by one: loops that are known to have few steps stay as they are,
    /// and so do loops in others; long ones have half as many lanes.
    pub short: bool,
    /// Vectors have 512 bits.
    pub wide: bool,
    /// Loops run in lanes even where that does not pay: for tests.
    pub eager: bool,
    /// The operations that there is code for.
    pub has: fn(RealOp) -> bool,
    /// The innermost loops that become vectors elsewhere, if that is not LLVM's choice.
    pub elsewhere: Option<fn(&For) -> bool>,
}

/// What a register becomes in the lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneClass {
    /// The same in all.
    Uniform,
    /// An Int or an address that grows from lane to lane; the register has that of the first lane.
    Linear(Stride),
    /// A number of its own in each.
    Varying,
    /// A block that the loop makes, with room for the data of all lanes.
    Block,
    /// An address in such a block: of the numbers of all lanes, one after the other.
    Inside,
}

/// The stride of a value from lane to lane, in Ints, or in elements of 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stride {
    By(i64),
    /// By what a register from before the loop has.
    Times(Reg),
}

/// A row of elements of the array at `base` that each step reads again and again: `count` elements for each step,
/// `stride` apart from step to step. It is copied first, so that the elements of all lanes lie together.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CopiedRow {
    pub base: Operand,
    pub stride: Reg,
    pub offset: i64,
    pub count: Operand,
    pub ty: LowTy,
    /// The counts of the loops that read it: it is read where all of these are positive.
    pub loops: Vec<Operand>,
}

/// How a loop is run in lanes.
#[derive(Debug, Default)]
pub(crate) struct LanePlan {
    /// The number of lanes; what is computed does not depend on it.
    pub width: u32,
    /// The number of partial sums: the lanes are a multiple of it.
    pub sums: u32,
    /// Whole blocks of so many times the lanes are done without a mask, each part with sums of its own.
    pub parts: u32,
    /// The least number of steps for which it pays.
    pub least: u32,
    /// What the loop reduces.
    pub reduced: Vec<Reg>,
    /// The class of each register that the body sets.
    pub classes: HashMap<Reg, LaneClass>,
    /// The rows that are copied first.
    pub rows: Vec<CopiedRow>,
    /// The registers that are loaded from such copies.
    pub copied: HashMap<Reg, (usize, Operand)>,
    /// By the register of the sum, what is added to an element of an accumulator from before the loop; by that of the
    /// element's old value, nothing.
    pub added: HashMap<Reg, Option<Operand>>,
    /// Whether lanes add to elements that may lie apart.
    pub scatters: bool,
    /// The blocks that are made once, and used again.
    pub kept: Vec<Reg>,
    /// The sizes of blocks, as far as they are known before the loop: numbers to be multiplied.
    pub sizes: Vec<Vec<Operand>>,
    /// The number of the plan in its function.
    pub number: usize,
}

impl LanePlan {
    pub fn class(&self, operand: Operand) -> LaneClass {
        match operand {
            Operand::Reg(register) => {
                self.classes.get(&register).copied().unwrap_or(LaneClass::Uniform)
            }
            Operand::Int(_)
            | Operand::Real(_)
            | Operand::Bool(_)
            | Operand::Null
            | Operand::Text(_)
            | Operand::Static(_)
            | Operand::Constant(_) => LaneClass::Uniform,
        }
    }
}

/// The plans of a function, by the address of the loop, with its index.
pub(crate) type Plans = BTreeMap<*const For, (Reg, Rc<LanePlan>)>;

/// Plans the loops of a function. `once` has the registers that are set once, before they are read.
pub(crate) fn plans(
    module: &LowModule,
    function: &LowFunction,
    once: &[bool],
    target: &LaneTarget,
) -> Plans {
    let mut plans = Plans::new();
    if function.body.iter().any(loops) {
        let mut uses = vec![0; function.registers.len()];
        function
            .body
            .iter()
            .for_each(|stmt| occurrences(stmt, &mut |r, _| uses[r.0 as usize] += 1));
        let cx = PlanCx { module, function, once, uses: &uses, target };
        cx.list(&function.body, &mut plans);
    }
    plans
}

/// Whether a statement is or has a counted loop.
fn loops(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For(_)) || deep(|| stmt.blocks().into_iter().any(|l| l.iter().any(loops)))
}

/// What planning looks at.
struct PlanCx<'m> {
    module: &'m LowModule,
    function: &'m LowFunction,
    once: &'m [bool],
    /// How often registers occur in the function.
    uses: &'m [u32],
    target: &'m LaneTarget,
}

impl PlanCx<'_> {
    fn list(&self, stmts: &[Stmt], plans: &mut Plans) {
        for stmt in stmts {
            if let Stmt::For(step) = stmt {
                if let Some(mut plan) = self.plan(step) {
                    plan.number = plans.len();
                    let least = plan.least;
                    plans.insert(&raw const **step, (step.index, Rc::new(plan)));
                    if least == 1 {
                        continue;
                    }
                }
            }
            deep(|| stmt.blocks().into_iter().for_each(|list| self.list(list, plans)));
        }
    }

    fn plan(&self, step: &For) -> Option<LanePlan> {
        let innermost = !step.body.iter().any(loops);
        // What adds to places that steps may share, LLVM does step by step.
        let light = innermost && step.independent && step.body.len() < HEAVY;
        let adds = step.reductions.iter().any(|(_, how)| *how == Reduction::Add);
        let written_out = match (step.from, step.to) {
            (Operand::Int(from), Operand::Int(to)) => to.saturating_sub(from) <= FEW,
            (_, _) => false,
        };
        let eager = self.target.eager;
        let left = match self.target.elsewhere {
            Some(elsewhere) => innermost && elsewhere(step),
            None => light && !eager && (!adds || written_out),
        };
        let mut sums = if innermost { self.target.inner_sums } else { self.target.sums };
        if self.target.short && size(&step.body) > LONG {
            sums /= 2;
        }
        let few = self.target.short && step.most < i64::from(sums);
        if !step.separate || left || few || !self.is_closed(step) {
            return None;
        }
        let least = if innermost || eager || self.target.short { 1 } else { sums / 2 };
        let parts = if light && adds { self.target.parts } else { 1 };
        let mut walk = LaneAnalysis {
            cx: self,
            plan: LanePlan { width: sums, sums, parts, least, ..LanePlan::default() },
            set: HashSet::new(),
            exprs: HashMap::new(),
            products: HashMap::new(),
            changed: true,
            bad: false,
            divergent: false,
            loops: Vec::new(),
            conditional: false,
            stops: false,
            judge: false,
            repeated: false,
            additions: Vec::new(),
            scattered: 0,
            deepest: 0,
            costs: BTreeMap::new(),
        };
        let body = &step.body[..];
        body.iter().for_each(|stmt| {
            occurrences(stmt, &mut |r, set| {
                if set {
                    walk.set.insert(r);
                }
            });
        });
        let reduced: Vec<Reg> = step.reductions.iter().map(|(r, _)| *r).collect();
        walk.plan.classes.insert(step.index, LaneClass::Linear(Stride::By(1)));
        walk.set.insert(step.index);
        walk.plan.classes.extend(reduced.iter().map(|r| (*r, LaneClass::Varying)));
        walk.plan.reduced = reduced;
        while walk.changed && !walk.bad {
            walk.changed = false;
            walk.stmts(body);
        }
        walk.judge = true;
        walk.stmts(body);
        let (gathers, work) = walk.costs.get(&walk.deepest).copied().unwrap_or_default();
        let few = walk.deepest > 0 && gathers * GATHER <= work;
        let pays = parts > 1 || walk.scattered < walk.deepest.max(1) || few || eager;
        let worth = !walk.bad && pays;
        walk.keep(body);
        if self.target.wide && !innermost && sums_once(step, body) && walk.adds_once() {
            walk.plan.width *= 2;
        }
        worth.then_some(walk.plan)
    }

    /// Whether no step sees what another one has set, and nothing behind the loop does, reductions aside.
    fn is_closed(&self, step: &For) -> bool {
        let mut counts: HashMap<Reg, (u32, bool)> = HashMap::new();
        for stmt in &step.body {
            occurrences(stmt, &mut |r, set| {
                let entry = counts.entry(r).or_default();
                entry.0 += 1;
                entry.1 |= set;
            });
        }
        let reduced = |r: Reg| step.reductions.iter().any(|(reduced, _)| *reduced == r);
        let own: HashSet<Reg> =
            counts.iter().filter(|(_, (_, set))| *set).map(|(r, _)| *r).collect();
        let inner = own.iter().all(|r| reduced(*r) || self.uses[r.0 as usize] == counts[r].0);
        let mut seen: HashSet<Reg> = step.reductions.iter().map(|(r, _)| *r).collect();
        inner && self.once[step.index.0 as usize] && defined_first(&step.body, &own, &mut seen)
    }
}

/// An addition to an element in memory.
struct Addition {
    address: Address,
    /// The register of its old value.
    old: Reg,
    /// The register of its new value.
    sum: Reg,
    value: Operand,
}

/// The addition that the first three statements are: a load, a sum, a store of it to the same place.
fn addition(stmts: &[Stmt]) -> Option<Addition> {
    let [first, second, third, ..] = stmts else {
        return None;
    };
    let Stmt::Set(old, Expr::Load(LowTy::Real, from)) = first else {
        return None;
    };
    let Stmt::Set(sum, Expr::Binary(Binary::Add, Operand::Reg(a), value)) = second else {
        return None;
    };
    let Stmt::Store(LowTy::Real, to, Operand::Reg(stored)) = third else {
        return None;
    };
    let same = from == to && a == old && stored == sum && *value != Operand::Reg(*old);
    same.then_some(Addition { address: *to, old: *old, sum: *sum, value: *value })
}

/// A walk over the body of a loop, again and again until the classes stay.
struct LaneAnalysis<'c, 'm> {
    cx: &'c PlanCx<'m>,
    plan: LanePlan,
    /// What the body sets.
    set: HashSet<Reg>,
    /// What registers that are set once are.
    exprs: HashMap<Reg, Expr>,
    /// Those that are products with a test whether they fit.
    products: HashMap<Reg, (Operand, Operand)>,
    changed: bool,
    /// There is something that is not done in lanes.
    bad: bool,
    /// Only some lanes are here.
    divergent: bool,
    /// The counted loops around: index and count.
    loops: Vec<(Reg, Operand)>,
    /// In a branch, or in a loop that is not counted.
    conditional: bool,
    /// The program can be stopped by more than a lack of memory.
    stops: bool,
    /// In a loop that is not counted.
    repeated: bool,
    /// For each addition to an accumulator from before the loop, whether a step adds to an element of it once at most.
    additions: Vec<bool>,
    /// The last walk: whether it is worth it.
    judge: bool,
    /// The deepest level, counted from 1, with accesses to memory that is not contiguous.
    scattered: usize,
    deepest: usize,
    /// By level, how many such accesses there are, and how many operations.
    costs: BTreeMap<usize, (usize, usize)>,
}

impl LaneAnalysis<'_, '_> {
    /// None: not known yet.
    fn class(&self, operand: Operand) -> Option<LaneClass> {
        match operand {
            Operand::Reg(r) if self.set.contains(&r) => self.plan.classes.get(&r).copied(),
            _ => Some(LaneClass::Uniform),
        }
    }

    fn is(&self, operand: Operand, class: LaneClass) -> bool {
        self.class(operand).is_none_or(|c| c == class)
    }

    fn ty(&self, r: Reg) -> LowTy {
        self.cx.function.registers[r.0 as usize]
    }

    fn update(&mut self, r: Reg, class: LaneClass) {
        let once = self.cx.once[r.0 as usize];
        let class = match class {
            LaneClass::Linear(_) if !once => LaneClass::Varying,
            LaneClass::Uniform if !once && self.divergent => LaneClass::Varying,
            class => class,
        };
        let old = self.plan.classes.get(&r).copied();
        let class = match old {
            None => class,
            Some(old) if old == class => return,
            Some(LaneClass::Block | LaneClass::Inside) => return self.bad = true,
            Some(_) if matches!(class, LaneClass::Block | LaneClass::Inside) => {
                return self.bad = true
            }
            Some(_) => LaneClass::Varying,
        };
        if class == LaneClass::Varying && self.ty(r) == LowTy::Ptr {
            self.bad = true;
        }
        if old != Some(class) {
            self.plan.classes.insert(r, class);
            self.changed = true;
        }
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        let mut rest = stmts;
        while let [first, after @ ..] = rest {
            if self.bad {
                return;
            }
            match addition(rest).filter(|added| self.is_outside(added)) {
                Some(added) => {
                    self.add(&added);
                    rest = &rest[3..];
                }
                None => {
                    self.stmt(first);
                    rest = after;
                }
            }
        }
    }

    /// Whether what is added to is no accumulator of the step's own.
    fn is_outside(&self, added: &Addition) -> bool {
        let once = |r: Reg| self.cx.once[r.0 as usize] && self.cx.uses[r.0 as usize] == 2;
        matches!(self.class(added.address.base), Some(LaneClass::Uniform | LaneClass::Linear(_)))
            && once(added.old)
            && once(added.sum)
    }

    /// Takes note of an addition to an element of an accumulator from before the loop.
    fn add(&mut self, added: &Addition) {
        let (Some(index), Some(value)) = (self.class(added.address.index), self.class(added.value))
        else {
            return;
        };
        self.bad |= matches!(index, LaneClass::Block | LaneClass::Inside);
        self.bad |= matches!(value, LaneClass::Block | LaneClass::Inside);
        self.plan.added.insert(added.old, None);
        self.plan.added.insert(added.sum, Some(added.value));
        if self.judge {
            let outer = |o: Operand| !matches!(o, Operand::Reg(r) if self.set.contains(&r));
            let along = |j: Reg| match (added.address.index, Operand::Reg(j)) {
                (index, j) if index == j => true,
                (Operand::Reg(index), j) => match self.exprs.get(&index) {
                    Some(Expr::Binary(Binary::IntAdd, a, b)) => {
                        *a == j && outer(*b) || *b == j && outer(*a)
                    }
                    Some(_) | None => false,
                },
                (_, _) => false,
            };
            let once = match self.loops[..] {
                [] => true,
                [(j, _)] => along(j),
                _ => false,
            };
            self.additions.push(once && !self.repeated && outer(added.address.base));
        }
        let base = self.class(added.address.base);
        if (base, index) == (Some(LaneClass::Uniform), LaneClass::Uniform) {
            if self.judge {
                self.costs.entry(self.loops.len() + 1).or_default().1 += 1;
            }
        } else {
            self.plan.scatters = true;
            self.access(LowTy::Real, &added.address);
        }
    }

    /// Whether a step adds to each element of an accumulator once at most: then the sums are the same in more lanes.
    /// (What two statements add to may be the same.)
    fn adds_once(&self) -> bool {
        matches!(self.additions[..], [] | [true])
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Set(r, expr) => {
                if self.cx.once[r.0 as usize] {
                    self.exprs.insert(*r, *expr);
                }
                if let Some(class) = self.expr(*r, expr) {
                    self.update(*r, class);
                }
            }
            Stmt::Checked { op, result, overflow, a, b } => {
                if *op == Checked::Mul && self.cx.once[result.0 as usize] {
                    self.products.insert(*result, (*a, *b));
                }
                self.bad |= self.divergent;
                self.bad |= !self.is(*a, LaneClass::Uniform) || !self.is(*b, LaneClass::Uniform);
                self.update(*result, LaneClass::Uniform);
                self.update(*overflow, LaneClass::Uniform);
            }
            Stmt::Store(ty, address, value) => {
                let (Some(base), Some(index), Some(value)) =
                    (self.class(address.base), self.class(address.index), self.class(*value))
                else {
                    return;
                };
                self.bad |=
                    *ty == LowTy::Ptr || matches!(value, LaneClass::Block | LaneClass::Inside);
                match (base, index) {
                    (LaneClass::Inside, _) => {}
                    (LaneClass::Uniform, LaneClass::Uniform)
                    | (LaneClass::Varying | LaneClass::Block, _) => {
                        self.bad = true;
                    }
                    (LaneClass::Uniform | LaneClass::Linear(_), _) => self.access(*ty, address),
                }
            }
            Stmt::If(on, then, otherwise) => {
                let around = (self.divergent, self.conditional);
                self.divergent |= !self.is(*on, LaneClass::Uniform);
                self.conditional = true;
                deep(|| {
                    self.stmts(then);
                    self.stmts(otherwise);
                });
                (self.divergent, self.conditional) = around;
            }
            Stmt::Switch(on, arms, default) => {
                self.bad |= self.divergent || !self.is(*on, LaneClass::Uniform);
                let around = std::mem::replace(&mut self.conditional, true);
                deep(|| {
                    arms.iter().for_each(|(_, arm)| self.stmts(arm));
                    self.stmts(default);
                });
                self.conditional = around;
            }
            Stmt::Loop(body) => {
                self.bad |= self.divergent;
                let around = (self.conditional, self.repeated);
                (self.conditional, self.repeated) = (true, true);
                deep(|| self.stmts(body));
                (self.conditional, self.repeated) = around;
            }
            Stmt::Break => self.bad |= self.divergent,
            Stmt::For(step) => {
                self.bad |= self.divergent;
                self.bad |= !self.is(step.from, LaneClass::Uniform)
                    || !self.is(step.to, LaneClass::Uniform);
                self.update(step.index, LaneClass::Uniform);
                let around = self.conditional;
                self.conditional |= step.from != Operand::Int(0);
                self.loops.push((step.index, step.to));
                self.deepest = self.deepest.max(self.loops.len() + 1);
                deep(|| self.stmts(&step.body));
                self.loops.pop();
                self.conditional = around;
            }
            Stmt::Call { results, function, args, site: _ } => {
                let callee = &self.cx.module.functions[function.0 as usize];
                let helper = function.0 as usize >= self.cx.module.flat.functions.len();
                let releases = helper && callee.name == "release";
                let own = args.iter().all(|a| self.is(*a, LaneClass::Block));
                self.bad |= !releases || !results.is_empty() || self.divergent || !own;
            }
            Stmt::Runtime { results, op, args } => {
                let uniform = args.iter().all(|a| self.is(*a, LaneClass::Uniform));
                self.bad |= self.divergent || !uniform;
                match op {
                    Runtime::Array => {
                        results.iter().for_each(|r| self.update(*r, LaneClass::Block))
                    }
                    Runtime::Poll => {
                        results.iter().for_each(|r| self.update(*r, LaneClass::Uniform))
                    }
                    _ => self.bad = true,
                }
            }
            Stmt::Raise { error, args, site: _ } => {
                self.stops |= !matches!(error, Raise::Memory | Raise::Stopped);
                self.bad |= self.divergent || !args.iter().all(|a| self.is(*a, LaneClass::Uniform));
            }
            Stmt::Return(_) => self.bad = true,
        }
    }

    fn expr(&mut self, r: Reg, expr: &Expr) -> Option<LaneClass> {
        let mut classes = Vec::new();
        let mut known = true;
        operands(expr, &mut |o| match self.class(o) {
            Some(class) => classes.push(class),
            None => known = false,
        });
        if !known {
            return None;
        }
        let uniform = classes.iter().all(|c| *c == LaneClass::Uniform);
        let own = classes.iter().any(|c| matches!(c, LaneClass::Block | LaneClass::Inside));
        match expr {
            Expr::Copy(_) => match classes[0] {
                LaneClass::Block => self.bad = true,
                class => return Some(class),
            },
            Expr::Offset(address) => return self.offset(address),
            Expr::Load(ty, address) => {
                return match (classes[0], classes[1]) {
                    (LaneClass::Uniform, LaneClass::Uniform) if !self.divergent => {
                        Some(LaneClass::Uniform)
                    }
                    (LaneClass::Block, _) => {
                        self.bad = true;
                        None
                    }
                    (LaneClass::Inside, _) => Some(LaneClass::Varying),
                    (LaneClass::Uniform | LaneClass::Linear(_) | LaneClass::Varying, _) => {
                        if !self.copied(r, *ty, address) {
                            self.access(*ty, address);
                        }
                        Some(LaneClass::Varying)
                    }
                };
            }
            // The test whether there was memory.
            Expr::Compare(..) if own && classes.contains(&LaneClass::Uniform) => {
                return Some(LaneClass::Uniform)
            }
            _ if own => self.bad = true,
            Expr::Binary(Binary::IntDiv | Binary::IntRem, ..) if self.divergent => {}
            _ if uniform => return Some(LaneClass::Uniform),
            Expr::Binary(op, a, b) => {
                if let Some(stride) = self.stride(*op, (*a, classes[0]), (*b, classes[1])) {
                    return Some(LaneClass::Linear(stride));
                }
            }
            Expr::Math(op, ..) => self.bad |= !(self.cx.target.has)(*op),
            Expr::Unary(..) | Expr::Fma(..) | Expr::Compare(..) | Expr::Select(..) => {}
        }
        if self.judge {
            self.costs.entry(self.loops.len() + 1).or_default().1 += 1;
        }
        Some(LaneClass::Varying)
    }
}

/// Operations with instructions for vectors.
pub(crate) fn has_instruction(op: RealOp) -> bool {
    matches!(
        op,
        RealOp::Add
            | RealOp::Sub
            | RealOp::Mul
            | RealOp::Div
            | RealOp::Neg
            | RealOp::Sqrt
            | RealOp::Abs
            | RealOp::Sign
            | RealOp::Min
            | RealOp::Max
            | RealOp::Sin
            | RealOp::Cos
    )
}
