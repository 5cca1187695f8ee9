//! Strip-mining of comprehensions that read what earlier ones made (Wolfe, *More iteration space tiling*, 1989): while
//! a part of one array is still in the fastest cache, the next array is computed from it.
//!
//! ```text
//! for i in 0..n { a[i] = … }                 for part in 0..(n + 255) / 256 {
//! for i in 0..n { b[i] = … a[i - 1] … }  →     for i in start..end { a[i] = … }
//!                                              for i in start..end { b[i] = … a[i - 1] … }
//!                                            }
//! ```
//! Why it is right: the arrays are new, and only their own registers refer to them; a step reads elements of them only
//! at its own index and below (or among the very first), which the earlier loops have made by then; nothing in the
//! loops can fail. What stands between the loops makes room for the arrays, so it can stand before all of them. Where
//! each of the loops has enough to do for several threads, they stay as they are.

use crate::low::visit::{occurrences, operands_of};
use crate::low::{
    Address, Binary, Compare, Expr, For, LowFunction, LowTy, Operand, Raise, Reg, Runtime, Stmt,
    NOWHERE,
};
use diffeo_base::deep;
use hashbrown::{HashMap, HashSet};

/// How many steps of each loop are done at a time, as a power of two: some arrays of as many numbers fit into any
/// cache.
const PART: i64 = 1 << BITS;
const BITS: i64 = 8;

/// Strip-mining: see the head of the file.
pub(super) fn strip_mine(function: &mut LowFunction) {
    let mut body = std::mem::take(&mut function.body);
    StripMining { registers: &mut function.registers }.list(&mut body);
    function.body = body;
}

struct StripMining<'f> {
    registers: &'f mut Vec<LowTy>,
}

impl StripMining<'_> {
    fn list(&mut self, stmts: &mut Vec<Stmt>) {
        for stmt in stmts.iter_mut() {
            // Steps that are done at once are better off with loops that are alike in all of them.
            if matches!(stmt, Stmt::For(step) if step.independent || step.separate) {
                continue;
            }
            for inner in stmt.blocks_mut() {
                deep(|| self.list(inner));
            }
        }
        if stmts.iter().filter(|stmt| stage(stmt).is_some()).count() < 2 {
            return;
        }
        let mut out = Vec::with_capacity(stmts.len());
        let mut new = New::default();
        let mut rest = std::mem::take(stmts);
        while !rest.is_empty() {
            let end = group(&rest, &new).unwrap_or(0);
            let following = rest.split_off(end.max(1));
            rest.iter().for_each(|stmt| new.see(stmt));
            if end == 0 {
                out.append(&mut rest);
            } else {
                self.tiled(rest, &mut out);
            }
            rest = following;
        }
        *stmts = out;
    }

    fn set(&mut self, ty: LowTy, expr: Expr, out: &mut Vec<Stmt>) -> Operand {
        self.registers.push(ty);
        let reg = Reg(self.registers.len() as u32 - 1);
        out.push(Stmt::Set(reg, expr));
        Operand::Reg(reg)
    }

    /// Adds a group of loops.
    fn tiled(&mut self, group: Vec<Stmt>, out: &mut Vec<Stmt>) {
        let mut loops: Vec<For> = Vec::new();
        let mut blocks: Vec<Vec<Stmt>> = Vec::new();
        let mut larges: Vec<Operand> = Vec::new();
        for stmt in group {
            let Some(step) = stage(&stmt) else {
                out.push(stmt);
                continue;
            };
            loops.push(step.clone());
            if let Stmt::If(large, parallel, _) = stmt {
                larges.push(large);
                blocks.push(parallel);
            }
        }
        let Some(to) = loops.first().map(|step| step.to) else { return };
        let everywhere = loops.len() == blocks.len();
        let mut tiles = Vec::new();
        let up = Expr::Binary(Binary::IntAdd, to, Operand::Int(PART - 1));
        let up = self.set(LowTy::Int, up, &mut tiles);
        let parts = Expr::Binary(Binary::ShiftRightSigned, up, Operand::Int(BITS));
        let parts = self.set(LowTy::Int, parts, &mut tiles);
        self.registers.push(LowTy::Int);
        let index = Reg(self.registers.len() as u32 - 1);
        let mut body = Vec::new();
        let mut site = NOWHERE;
        let start = Expr::Binary(Binary::ShiftLeft, Operand::Reg(index), Operand::Int(BITS));
        let start = self.set(LowTy::Int, start, &mut body);
        let next = Expr::Binary(Binary::IntAdd, start, Operand::Int(PART));
        let next = self.set(LowTy::Int, next, &mut body);
        let whole = self.set(LowTy::Bool, Expr::Compare(Compare::IntLt, next, to), &mut body);
        let end = self.set(LowTy::Int, Expr::Select(whole, next, to), &mut body);
        for step in loops {
            site = step.site;
            body.push(Stmt::For(Box::new(For { from: start, to: end, most: PART, ..step })));
        }
        tiles.push(Stmt::For(Box::new(For {
            index,
            from: Operand::Int(0),
            to: parts,
            body,
            independent: false,
            separate: false,
            reductions: Vec::new(),
            most: i64::MAX,
            every: 0,
            site,
        })));
        let mut larges = larges.into_iter();
        match larges.next().filter(|_| everywhere) {
            None => out.append(&mut tiles),
            Some(first) => {
                let all = larges.fold(first, |all, large| {
                    self.set(LowTy::Bool, Expr::Binary(Binary::And, all, large), out)
                });
                out.push(Stmt::If(all, blocks.into_iter().flatten().collect(), tiles));
            }
        }
    }
}

/// The loop of a statement that is one, or is one where there is little to do.
fn stage(stmt: &Stmt) -> Option<&For> {
    let called = |stmt: &Stmt| matches!(stmt, Stmt::Set(..) | Stmt::Call { .. });
    let step = if let Stmt::For(step) = stmt {
        step
    } else if let Stmt::If(_, parallel, serial) = stmt {
        let [Stmt::For(step)] = &serial[..] else { return None };
        (!parallel.is_empty() && parallel.iter().all(called)).then_some(step)?
    } else {
        return None;
    };
    let long = !matches!(step.to, Operand::Int(..=PART));
    let plain = step.independent && step.reductions.is_empty() && step.from == Operand::Int(0);
    (long && plain && step.body.iter().all(is_simple)).then_some(step)
}

/// Whether a statement does nothing but compute and store.
fn is_simple(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Set(..) | Stmt::Store(..) => true,
        Stmt::If(..) | Stmt::Switch(..) => {
            deep(|| stmt.blocks().into_iter().flatten().all(is_simple))
        }
        Stmt::Checked { .. }
        | Stmt::Loop(_)
        | Stmt::Break
        | Stmt::For(_)
        | Stmt::Call { .. }
        | Stmt::Runtime { .. }
        | Stmt::Raise { .. }
        | Stmt::Return(_) => false,
    }
}

/// Arrays that are new: nothing else refers to them than these registers.
#[derive(Clone, Default)]
struct New {
    /// Their blocks.
    blocks: HashSet<Reg>,
    /// The addresses of their first elements, with the blocks.
    data: HashMap<Reg, Reg>,
}

impl New {
    fn has(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Reg(r) if self.blocks.contains(r) || self.data.contains_key(r))
    }

    /// Takes note of a statement.
    fn see(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Runtime { op: Runtime::Array, results, .. } => self.blocks.extend(results),
            Stmt::Set(_, Expr::Compare(Compare::IntEq, Operand::Reg(_), Operand::Null)) => {}
            Stmt::Set(
                data,
                Expr::Offset(Address { base: Operand::Reg(block), index: Operand::Int(_), .. }),
            ) if self.blocks.contains(block) => _ = self.data.insert(*data, *block),
            stmt => occurrences(stmt, &mut |reg, _| {
                let block = self.data.remove(&reg).unwrap_or(reg);
                if self.blocks.remove(&block) {
                    self.data.retain(|_, of| *of != block);
                }
            }),
        }
    }
}

/// How many statements, from the first one, are loops that are done part by part, and what stands between them.
fn group(stmts: &[Stmt], before: &New) -> Option<usize> {
    let first = stage(stmts.first()?)?;
    let mut new = before.clone();
    // The addresses of the arrays that the loops make; the registers in the loops, and whether they are set there.
    let mut made: HashSet<Reg> = HashSet::new();
    let mut within: HashMap<Reg, bool> = HashMap::new();
    let mut end = 0;
    for (at, stmt) in stmts.iter().enumerate() {
        if let Some(step) = stage(stmt) {
            let stores = stores_of(step, &new, &made);
            let follows = |of: &Stores| at == 0 || of.reads && step.to == first.to;
            let Some(stores) = stores.filter(follows) else { break };
            made.extend(stores.made);
            occurrences(stmt, &mut |reg, set| *within.entry(reg).or_default() |= set);
            end = at + 1;
        } else if makes_room(stmt, &new, &within) {
            new.see(stmt);
        } else {
            break;
        }
    }
    (end > 1).then_some(end)
}

/// Whether a statement only makes room for an array, and may stand before statements with these registers.
fn makes_room(stmt: &Stmt, new: &New, within: &HashMap<Reg, bool>) -> bool {
    let allowed = match stmt {
        Stmt::Set(_, Expr::Load(..)) => false,
        Stmt::Set(_, Expr::Offset(Address { index: Operand::Int(_), .. }))
        | Stmt::Set(_, Expr::Compare(Compare::IntEq, _, Operand::Null))
        | Stmt::Checked { .. }
        | Stmt::Runtime { op: Runtime::Array, .. } => true,
        Stmt::Set(_, expr) => {
            let mut plain = true;
            operands_of(expr, &mut |o| plain &= !new.has(&o));
            plain
        }
        Stmt::If(_, then, otherwise) => {
            matches!(then[..], [Stmt::Raise { error: Raise::Memory, .. }]) && otherwise.is_empty()
        }
        Stmt::Store(..)
        | Stmt::Switch(..)
        | Stmt::Loop(_)
        | Stmt::Break
        | Stmt::For(_)
        | Stmt::Call { .. }
        | Stmt::Runtime { .. }
        | Stmt::Raise { .. }
        | Stmt::Return(_) => false,
    };
    let mut apart = allowed;
    occurrences(stmt, &mut |reg, set| apart &= within.get(&reg).is_none_or(|own| !set && !own));
    apart
}

/// What a loop makes.
struct Stores {
    /// The addresses of its arrays.
    made: HashSet<Reg>,
    /// Whether it reads what the loops before made.
    reads: bool,
}

/// What a loop makes, if it reads only what is there when it is done part by part. `earlier` is what the loops before
/// make.
fn stores_of(step: &For, new: &New, earlier: &HashSet<Reg>) -> Option<Stores> {
    let mut cx = Access {
        index: step.index,
        shifts: HashMap::from([(step.index, 0)]),
        new,
        earlier,
        stores: Stores { made: HashSet::new(), reads: false },
    };
    let mut sets: HashMap<Reg, u32> = HashMap::new();
    for stmt in &step.body {
        occurrences(stmt, &mut |reg, set| *sets.entry(reg).or_default() += u32::from(set));
    }
    let fits = cx.list(&step.body, &sets);
    (fits && !cx.stores.made.is_empty()).then_some(cx.stores)
}

struct Access<'a> {
    index: Reg,
    /// By how much registers lie above the index.
    shifts: HashMap<Reg, i64>,
    new: &'a New,
    earlier: &'a HashSet<Reg>,
    stores: Stores,
}

impl Access<'_> {
    fn list(&mut self, stmts: &[Stmt], sets: &HashMap<Reg, u32>) -> bool {
        stmts.iter().all(|stmt| match stmt {
            Stmt::Set(_, Expr::Load(_, address)) => self.load(address),
            Stmt::Set(reg, expr) => {
                let mut plain = true;
                operands_of(expr, &mut |o| plain &= !self.new.has(&o));
                if let Expr::Binary(Binary::IntAdd, Operand::Reg(from), Operand::Int(n)) = expr {
                    if let (Some(shift), Some(1)) = (self.shifts.get(from), sets.get(reg)) {
                        self.shifts.insert(*reg, shift.saturating_add(*n));
                    }
                }
                plain
            }
            Stmt::Store(_, address, value) => self.store(address) && !self.new.has(value),
            stmt => stmt.blocks().into_iter().all(|inner| deep(|| self.list(inner, sets))),
        })
    }

    fn load(&mut self, address: &Address) -> bool {
        let Address { base, index, scale, offset } = address;
        if self.new.has(index) {
            return false;
        }
        let Operand::Reg(base) = base else { return true };
        if !self.new.has(&Operand::Reg(*base)) {
            return true;
        }
        self.stores.reads = true;
        let scale = i64::from(*scale);
        self.earlier.contains(base)
            && match index {
                Operand::Reg(reg) => self
                    .shifts
                    .get(reg)
                    .is_some_and(|shift| shift.saturating_mul(scale).saturating_add(*offset) <= 0),
                // A part is longer than that.
                Operand::Int(n) => {
                    (0..PART).contains(&n.saturating_mul(scale).saturating_add(*offset))
                }
                Operand::Real(_)
                | Operand::Bool(_)
                | Operand::Null
                | Operand::Text(_)
                | Operand::Static(_)
                | Operand::Constant(_) => false,
            }
    }

    fn store(&mut self, address: &Address) -> bool {
        let Address { base: Operand::Reg(base), index, offset: 0, .. } = address else {
            return false;
        };
        self.stores.made.insert(*base);
        *index == Operand::Reg(self.index)
            && self.new.data.contains_key(base)
            && !self.earlier.contains(base)
    }
}
