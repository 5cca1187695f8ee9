//! Outlining: large parts of long functions become functions, because compilers take time that grows faster than a
//! function, and compile several functions at the same time.
//!
//! What comes in: a module; what goes out: the same, in which such parts (loops and branches that stand directly in the
//! body) are calls. Their parameters are the registers that they read before they set them, their results those that
//! are read behind them. What always holds: references are counted as before, because registers only move; a part that
//! fails leaves its function as before, and notes no place.

use crate::low::assigned::Assigned;
use crate::low::visit::{fails, occurrences, own_occurrences, registers, returns, size};
use crate::low::{FunctionId, LowFunction, LowModule, LowTy, Operand, Reg, Stmt, NOWHERE};
use diffeo_base::deep;
use hashbrown::HashMap;
use std::slice;

/// Parts have so many parameters and results together at most.
const WORDS: usize = 200;

/// Outlining: see the head of the file. The first `program` functions are those of the program; the others are called
/// in loops. Functions of fewer statements than `long` stay whole; each part, and what is left, has at least a quarter
/// of that.
pub(super) fn outline(module: &mut LowModule, program: usize, long: usize) {
    let fallible: Vec<bool> = module.functions.iter().map(|f| f.fallible).collect();
    let mut parts = Vec::new();
    let first = module.functions.len();
    for function in &mut module.functions[..program] {
        if function.recursive.is_none() && function.blocks.is_none() {
            parts_of(function, &fallible, (long, first), &mut parts);
        }
    }
    module.functions.append(&mut parts);
}

/// Takes the parts out of a long function; the first one of all has the index `first`.
fn parts_of(
    function: &mut LowFunction,
    fallible: &[bool],
    (long, first): (usize, usize),
    parts: &mut Vec<LowFunction>,
) {
    let sizes: Vec<usize> = function.body.iter().map(|stmt| size(slice::from_ref(stmt))).collect();
    let mut left: usize = sizes.iter().sum();
    if left < long {
        return;
    }
    let least = (long / 4).max(2);
    let mut last_read: HashMap<Reg, usize> = HashMap::new();
    for (i, stmt) in function.body.iter().enumerate() {
        occurrences(stmt, &mut |reg, set| {
            if !set {
                last_read.insert(reg, i);
            }
        });
    }
    let mut flow = DataFlow::new(function);
    function.params.iter().for_each(|reg| flow.assigned.define(*reg));
    let mut count = 0;
    for (i, size) in sizes.into_iter().enumerate() {
        let large = size >= least && left - size >= least;
        let before = if large { flow.assigned.all() } else { Vec::new() };
        let goes = flow.stmt(&function.body[i]);
        if !goes || !large || returns(&function.body[i]) {
            continue;
        }
        let needed = |reg: Reg| {
            flow.assigned.contains(reg) && last_read.get(&reg).is_some_and(|last| *last > i)
        };
        let Some((mut made, call)) = part(function, i, &before, &needed) else { continue };
        made.name = format!("{}_part{count}", function.name);
        made.fallible = fails(&made.body, &|function| fallible[function.0 as usize]);
        let id = FunctionId((first + parts.len()) as u32);
        function.body[i] = call(id);
        parts.push(made);
        count += 1;
        left -= size;
    }
}

/// Makes a function of a statement; gives its call, too, but for which function it is. Some registers are set before
/// it, and some that are set then are needed.
fn part(
    function: &mut LowFunction,
    i: usize,
    before: &[bool],
    needed: &dyn Fn(Reg) -> bool,
) -> Option<(LowFunction, impl FnOnce(FunctionId) -> Stmt)> {
    let stmt = &function.body[i];
    let mut own = DataFlow::new(function);
    own.stmt(stmt);
    let (mut params, mut results) = (own.wanted, Vec::new());
    occurrences(stmt, &mut |reg, set| results.extend((set && needed(reg)).then_some(reg)));
    // Where it is not set on every way, it stays what it was.
    params.extend(results.iter().copied().filter(|reg| before[reg.0 as usize]));
    for regs in [&mut params, &mut results] {
        regs.sort_unstable();
        regs.dedup();
    }
    if params.len() + results.len() > WORDS {
        return None;
    }
    let stmt = std::mem::replace(&mut function.body[i], Stmt::Break);
    let returned = results.iter().copied().map(Operand::Reg).collect();
    let mut made = LowFunction {
        name: String::new(),
        registers: Vec::new(),
        params: params.clone(),
        results: results.iter().map(|reg| function.registers[reg.0 as usize]).collect(),
        fallible: false,
        recursive: None,
        blocks: None,
        apart: true,
        body: vec![stmt, Stmt::Return(returned)],
    };
    renumber(&mut made, &function.registers);
    let args = params.into_iter().map(Operand::Reg).collect();
    Some((made, |function| Stmt::Call { results, function, args, site: NOWHERE }))
}

/// Gives a function registers of its own.
fn renumber(function: &mut LowFunction, types: &[LowTy]) {
    let mut new: HashMap<Reg, Reg> = HashMap::new();
    let mut own = Vec::new();
    let mut rename = |reg: &mut Reg| {
        *reg = *new.entry(*reg).or_insert_with(|| {
            own.push(types[reg.0 as usize]);
            Reg(own.len() as u32 - 1)
        });
    };
    function.params.iter_mut().for_each(&mut rename);
    registers(&mut function.body, &mut |reg, _| rename(reg));
    function.registers = own;
}

/// What statements set, on every way, and read.
struct DataFlow {
    assigned: Assigned,
    /// Those that were read and not set.
    wanted: Vec<Reg>,
    /// Of each `Loop` around, innermost last: the place before it, and what was set in it at each `Break`.
    loops: Vec<(usize, Vec<Vec<Reg>>)>,
}

impl DataFlow {
    fn new(function: &LowFunction) -> DataFlow {
        let assigned = Assigned::new(function.registers.len());
        DataFlow { assigned, wanted: Vec::new(), loops: Vec::new() }
    }

    /// Whether what follows is reached.
    fn block(&mut self, stmts: &[Stmt]) -> bool {
        stmts.iter().all(|stmt| deep(|| self.stmt(stmt)))
    }

    fn stmt(&mut self, stmt: &Stmt) -> bool {
        let place = self.assigned.here();
        own_occurrences(stmt, &mut |reg, set| {
            if set {
                self.assigned.define(reg);
            } else if !self.assigned.contains(reg) {
                self.wanted.push(reg);
            }
        });
        match stmt {
            Stmt::If(..) | Stmt::Switch(..) => {
                let mut ways = Vec::new();
                for block in stmt.blocks() {
                    let goes = self.block(block);
                    let set = self.assigned.undo(place);
                    ways.extend(goes.then_some(set));
                }
                let goes = !ways.is_empty();
                self.assigned.join(ways);
                goes
            }
            Stmt::Loop(body) => {
                self.loops.push((place, Vec::new()));
                self.block(body);
                self.assigned.undo(place);
                let ways = self.loops.pop().map(|(_, ways)| ways).unwrap_or_default();
                let goes = !ways.is_empty();
                self.assigned.join(ways);
                goes
            }
            Stmt::For(step) => {
                self.block(&step.body);
                self.assigned.undo(place);
                true
            }
            Stmt::Break => {
                if let Some((place, ways)) = self.loops.last_mut() {
                    ways.push(self.assigned.since(*place));
                }
                false
            }
            Stmt::Raise { .. } | Stmt::Return(_) => false,
            Stmt::Set(..)
            | Stmt::Checked { .. }
            | Stmt::Store(..)
            | Stmt::Call { .. }
            | Stmt::Runtime { .. } => true,
        }
    }
}
