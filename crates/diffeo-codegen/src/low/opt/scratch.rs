//! Reuse of scratch arrays: an array that each step of a loop makes and releases is made once, and used again by the
//! next step.
//!
//! Goes from Low to Low. It applies to an array of which only the elements are read between where it is made and where
//! it is released, and whose size is the same in every step: it is released behind the loop. It is made where it was,
//! in the first step that comes there, so the program runs out of memory where it did. Why it is right: the elements of
//! a new array are not set, so nothing can depend on those that are left in it.
//!
//! An array that a step makes for the next one, which then releases it, lies in one of two blocks in turn: a released
//! block is left for the step after, if nothing else refers to it and it has the size.

use crate::low::visit::{occurrences, operands_of, returns};
use crate::low::{
    Address, Compare, Expr, For, FunctionId, LowFunction, LowModule, LowTy, Operand, Reg, Runtime,
    Stmt, BYTES, CAPACITY, COUNT, LAYOUT, NOWHERE,
};
use diffeo_base::deep;
use hashbrown::{HashMap, HashSet};

/// The layout of arrays without references.
const PLAIN: Operand = Operand::Int(0);

/// Maximum length of a chain of operations that is followed to see that a size is the same in all steps.
pub(crate) const DEPTH: u32 = 8;

/// Transforms a module. Loops for which `leave` holds stay as they are; it is given the index of the function.
pub(crate) fn reuse(module: &mut LowModule, leave: &dyn Fn(usize, &For) -> bool) {
    let Some(release) = release_of(module) else { return };
    let unused = Unused::new(module);
    for (i, function) in module.functions.iter_mut().enumerate() {
        if !function.body.iter().any(makes_in_loop) {
            continue;
        }
        let arrays = arrays(function, release, &unused);
        let copies = Copies::new(&function.body);
        let defs = definitions(function);
        let mut body = std::mem::take(&mut function.body);
        let registers = std::mem::take(&mut function.registers);
        let leave = |step: &For| leave(i, step);
        let mut cx = Reuse { arrays, copies, defs, registers, release, leave: &leave };
        cx.list(&mut body);
        function.body = body;
        function.registers = cx.registers;
    }
}

/// True of a module with an array that a loop may make at each step: others are left unread.
pub(crate) fn applies(module: &LowModule) -> bool {
    module.functions.iter().any(|function| function.body.iter().any(makes_in_loop))
}

/// The function that releases a block, if there is one.
pub(crate) fn release_of(module: &LowModule) -> Option<FunctionId> {
    helper(module, "release")
}

/// The helper function of this name, if there is one.
pub(crate) fn helper(module: &LowModule, name: &str) -> Option<FunctionId> {
    let own = module.flat.functions.len();
    let found = module.functions.iter().skip(own).position(|f| f.name == name);
    found.map(|i| FunctionId((own + i) as u32))
}

/// The operands on which alone the value of a register depends. None if it is set at several places, or depends on
/// something else.
pub(crate) type Definitions = HashMap<Reg, Option<Vec<Operand>>>;

/// The definitions of a function.
pub(crate) fn definitions(function: &LowFunction) -> Definitions {
    let mut defs = function.params.iter().map(|r| (*r, None)).collect();
    function.body.iter().for_each(|stmt| define_all(stmt, &mut defs));
    defs
}

fn define_all(stmt: &Stmt, defs: &mut Definitions) {
    let mut define = |r: Reg, from: Option<Vec<Operand>>| {
        defs.entry(r).and_modify(|known| *known = None).or_insert(from);
    };
    match stmt {
        Stmt::Set(r, Expr::Load(..)) => define(*r, None),
        Stmt::Set(r, expr) => {
            let mut from = Vec::new();
            operands_of(expr, &mut |o| from.push(o));
            define(*r, Some(from));
        }
        Stmt::Checked { op: _, result, overflow, a, b } => {
            define(*result, Some(vec![*a, *b]));
            define(*overflow, Some(vec![*a, *b]));
        }
        Stmt::For(step) => {
            define(step.index, None);
            step.reductions.iter().for_each(|(r, _)| define(*r, None));
        }
        Stmt::Call { results, .. } | Stmt::Runtime { results, .. } => {
            results.iter().for_each(|r| define(*r, None));
        }
        Stmt::Store(..)
        | Stmt::If(..)
        | Stmt::Switch(..)
        | Stmt::Loop(_)
        | Stmt::Break
        | Stmt::Raise { .. }
        | Stmt::Return(_) => {}
    }
    deep(|| stmt.blocks().into_iter().flatten().for_each(|stmt| define_all(stmt, defs)));
}

/// Whether a statement has a loop with a step that makes an array.
fn makes_in_loop(stmt: &Stmt) -> bool {
    fn makes(stmt: &Stmt) -> bool {
        matches!(stmt, Stmt::Runtime { op: Runtime::Array, .. })
            || deep(|| stmt.blocks().into_iter().flatten().any(makes))
    }
    let within = || stmt.blocks().into_iter().flatten();
    match stmt {
        Stmt::For(_) | Stmt::Loop(_) => within().any(makes),
        Stmt::If(..) | Stmt::Switch(..) => deep(|| within().any(makes_in_loop)),
        Stmt::Set(..)
        | Stmt::Checked { .. }
        | Stmt::Store(..)
        | Stmt::Break
        | Stmt::Call { .. }
        | Stmt::Runtime { .. }
        | Stmt::Raise { .. }
        | Stmt::Return(_) => false,
    }
}

/// Registers that are copies of each other, perhaps by way of others: each has a representative.
#[derive(Default)]
struct Copies(HashMap<Reg, Reg>);

impl Copies {
    fn new(stmts: &[Stmt]) -> Copies {
        let mut copies = Copies::default();
        let mut todo = vec![stmts];
        while let Some(stmts) = todo.pop() {
            for stmt in stmts {
                if let Stmt::Set(to, Expr::Copy(Operand::Reg(from))) = stmt {
                    let (to, from) = (copies.of(*to), copies.of(*from));
                    if to != from {
                        copies.0.insert(to, from);
                    }
                }
                todo.extend(stmt.blocks());
            }
        }
        copies
    }

    /// The representative of a register.
    fn of(&mut self, reg: Reg) -> Reg {
        let mut last = reg;
        while let Some(next) = self.0.get(&last) {
            last = *next;
        }
        if last != reg {
            self.0.insert(reg, last);
        }
        last
    }
}

/// The parameters of functions that are not used, except to be passed on to such parameters; by function and position.
#[derive(Default)]
pub(crate) struct Unused(HashSet<(FunctionId, usize)>);

impl Unused {
    fn new(module: &LowModule) -> Unused {
        let mut unused = HashSet::new();
        // By parameter of a callee, those that are passed there.
        let mut passed: HashMap<_, Vec<_>> = HashMap::new();
        let mut used = Vec::new();
        for (i, function) in module.functions.iter().enumerate() {
            let id = FunctionId(i as u32);
            let mut params = HashMap::new();
            for (k, reg) in function.params.iter().enumerate() {
                if function.registers[reg.0 as usize] == LowTy::Ptr {
                    params.insert(*reg, k);
                    unused.insert((id, k));
                }
            }
            let mut todo = vec![function.body.as_slice()];
            while let Some(stmts) = todo.pop() {
                for stmt in stmts {
                    if let Stmt::Call { function: callee, args, .. } = stmt {
                        for (k, arg) in args.iter().enumerate() {
                            let Operand::Reg(reg) = arg else { continue };
                            if let Some(own) = params.get(reg) {
                                passed.entry((*callee, k)).or_default().push((id, *own));
                            }
                        }
                    } else if stmt.blocks().is_empty() {
                        // Conditions and bounds of loops are no addresses.
                        let own = |reg, _| used.extend(params.get(&reg).map(|own| (id, *own)));
                        occurrences(stmt, &mut { own });
                    }
                    todo.extend(stmt.blocks());
                }
            }
        }
        // What is passed to a parameter that is used, is used.
        let nowhere = passed.keys().filter(|param| !unused.contains(*param)).copied();
        used.extend(nowhere.collect::<Vec<_>>());
        while let Some(param) = used.pop() {
            unused.remove(&param);
            used.extend(passed.remove(&param).into_iter().flatten());
        }
        Unused(unused)
    }
}

/// The registers of arrays of which only the elements are read, and that are released once.
pub(crate) fn arrays(function: &LowFunction, release: FunctionId, unused: &Unused) -> HashSet<Reg> {
    fn uses(stmts: &[Stmt], release: FunctionId, found: &mut HashMap<Reg, [u32; 2]>) {
        for stmt in stmts {
            match stmt {
                Stmt::Runtime { results, op: Runtime::Array, args } if args[0] == PLAIN => {
                    results.iter().for_each(|r| found.entry(*r).or_default()[0] += 1);
                }
                Stmt::Call { function, args, .. } if *function == release => {
                    if let [Operand::Reg(r)] = args[..] {
                        found.entry(r).or_default()[1] += 1;
                    }
                }
                _ => deep(|| stmt.blocks().into_iter().for_each(|l| uses(l, release, found))),
            }
        }
    }
    /// Whether a register occurs only as these do.
    fn other(
        stmts: &[Stmt],
        release: FunctionId,
        unused: &Unused,
        found: &mut HashMap<Reg, [u32; 2]>,
    ) {
        for stmt in stmts {
            if let Stmt::Call { function, args, .. } = stmt {
                for (i, arg) in args.iter().enumerate() {
                    if let Operand::Reg(r) = arg {
                        if *function != release && !unused.0.contains(&(*function, i)) {
                            found.remove(r);
                        }
                    }
                }
                continue;
            }
            let harmless = match stmt {
                Stmt::Runtime { op: Runtime::Array, args, .. } => args[0] == PLAIN,
                Stmt::Set(_, Expr::Compare(Compare::IntEq, _, Operand::Null)) => true,
                Stmt::Set(_, Expr::Offset(address)) => !matches!(address.index, Operand::Reg(_)),
                _ => false,
            };
            // Conditions and bounds of loops are no addresses.
            if !harmless && stmt.blocks().is_empty() {
                occurrences(stmt, &mut |r, _| _ = found.remove(&r));
            }
            deep(|| stmt.blocks().into_iter().for_each(|l| other(l, release, unused, found)));
        }
    }
    let mut found = HashMap::new();
    uses(&function.body, release, &mut found);
    found.retain(|_, counts| *counts == [1, 1]);
    function.params.iter().for_each(|r| _ = found.remove(r));
    if !found.is_empty() {
        other(&function.body, release, unused, &mut found);
    }
    found.into_keys().collect()
}

struct Reuse<'a> {
    arrays: HashSet<Reg>,
    copies: Copies,
    defs: Definitions,
    registers: Vec<LowTy>,
    release: FunctionId,
    leave: &'a dyn Fn(&For) -> bool,
}

impl Reuse<'_> {
    fn list(&mut self, stmts: &mut Vec<Stmt>) {
        let mut out = Vec::with_capacity(stmts.len());
        for mut stmt in std::mem::take(stmts) {
            if matches!(&stmt, Stmt::For(step) if (self.leave)(step)) {
                out.push(stmt);
                continue;
            }
            let mut kept = Vec::new();
            if matches!(stmt, Stmt::For(_) | Stmt::Loop(_)) && !returns(&stmt) {
                let mut set = HashSet::new();
                occurrences(&stmt, &mut |r, sets| {
                    if sets {
                        set.insert(r);
                    }
                });
                deep(|| self.take(&mut stmt, &set, &mut kept));
            }
            for block in &kept {
                out.push(Stmt::Set(*block, Expr::Copy(Operand::Null)));
            }
            deep(|| stmt.blocks_mut().into_iter().for_each(|l| self.list(l)));
            out.push(stmt);
            for block in kept {
                out.push(Stmt::Call {
                    results: Vec::new(),
                    function: self.release,
                    args: vec![Operand::Reg(block)],
                    site: NOWHERE,
                });
            }
        }
        *stmts = out;
    }

    /// Takes arrays out of the steps of a loop that sets these registers.
    fn take(&mut self, stmt: &mut Stmt, set: &HashSet<Reg>, kept: &mut Vec<Reg>) {
        let before = kept.len();
        for list in stmt.blocks_mut() {
            self.take_from(list, set, kept);
            for stmt in list {
                let left = matches!(stmt, Stmt::For(step) if (self.leave)(step));
                if !left {
                    deep(|| self.take(stmt, set, kept));
                }
            }
        }
        if let (true, Stmt::For(step)) = (kept.len() > before, stmt) {
            step.separate = false;
        }
    }

    fn take_from(&mut self, list: &mut Vec<Stmt>, set: &HashSet<Reg>, kept: &mut Vec<Reg>) {
        let mut at = 0;
        while at < list.len() {
            let found = match &list[at] {
                Stmt::Runtime { results, op: Runtime::Array, args } => match results[..] {
                    [r] if args[0] == PLAIN && is_same(&self.defs, args[1], set, DEPTH) => {
                        Some((r, args.clone()))
                    }
                    _ => None,
                },
                _ => None,
            };
            at += 1;
            let Some((r, args)) = found else { continue };
            let own = self.arrays.contains(&r);
            let (release, copies) = (self.release, &mut self.copies);
            let mut gives_up = |stmt: &Stmt| match stmt {
                Stmt::Call { function, args, .. } if *function == release => match args[..] {
                    [Operand::Reg(x)] if own => (x == r).then_some(x),
                    [Operand::Reg(x)] => (x != r && copies.of(r) == copies.of(x)).then_some(x),
                    _ => None,
                },
                _ => None,
            };
            let mut rest = list.iter().enumerate().skip(at);
            let Some((end, old)) = rest.find_map(|(i, stmt)| Some((i, gives_up(stmt)?))) else {
                continue;
            };
            let block = self.register(LowTy::Ptr);
            let none = self.register(LowTy::Bool);
            let test = Expr::Compare(Compare::IntEq, Operand::Reg(block), Operand::Null);
            if own {
                list.remove(end);
                let make = Stmt::Runtime { results: vec![block], op: Runtime::Array, args };
                let new = [
                    Stmt::Set(none, test),
                    Stmt::If(Operand::Reg(none), vec![make], Vec::new()),
                    Stmt::Set(r, Expr::Copy(Operand::Reg(block))),
                ];
                list.splice(at - 1..at, new);
                self.arrays.remove(&r);
            } else {
                let leave = self.leave_for_next(&list[end], old, block, args[1]);
                list.splice(end..=end, leave);
                let make = Stmt::Runtime { results: vec![r], op: Runtime::Array, args };
                let take = vec![
                    Stmt::Set(r, Expr::Copy(Operand::Reg(block))),
                    Stmt::Set(block, Expr::Copy(Operand::Null)),
                ];
                let new = [Stmt::Set(none, test), Stmt::If(Operand::Reg(none), vec![make], take)];
                list.splice(at - 1..at, new);
            }
            kept.push(block);
            at += 1;
        }
    }

    /// Instead of releasing a block, leaves it in a register where there is none, if it is an array of this size that
    /// nothing else refers to.
    fn leave_for_next(
        &mut self,
        release: &Stmt,
        block: Reg,
        left: Reg,
        size: Operand,
    ) -> Vec<Stmt> {
        let base = Operand::Reg(block);
        let at = |offset| Address { base, index: Operand::Int(0), scale: 1, offset };
        let mut then =
            vec![Stmt::Set(left, Expr::Copy(base)), Stmt::Store(LowTy::Int, at(BYTES), size)];
        // From the last test to the first one: of a word of the block, or that a register is null or not.
        let is_null = |reg, how| Expr::Compare(how, Operand::Reg(reg), Operand::Null);
        let tests = [
            Err(is_null(left, Compare::IntEq)),
            Ok((CAPACITY, size)),
            Ok((LAYOUT, PLAIN)),
            Ok((COUNT, Operand::Int(1))),
            Err(is_null(block, Compare::IntNe)),
        ];
        for test in tests {
            let mut list = Vec::new();
            let test = match test {
                Ok((offset, wanted)) => {
                    let word = self.register(LowTy::Int);
                    list.push(Stmt::Set(word, Expr::Load(LowTy::Int, at(offset))));
                    Expr::Compare(Compare::IntEq, Operand::Reg(word), wanted)
                }
                Err(test) => test,
            };
            let holds = self.register(LowTy::Bool);
            list.push(Stmt::Set(holds, test));
            list.push(Stmt::If(Operand::Reg(holds), then, vec![release.clone()]));
            then = list;
        }
        then
    }

    fn register(&mut self, ty: LowTy) -> Reg {
        self.registers.push(ty);
        Reg(self.registers.len() as u32 - 1)
    }
}

/// Whether an operand is the same in all steps of a loop that sets these registers.
pub(crate) fn is_same(
    defs: &Definitions,
    operand: Operand,
    set: &HashSet<Reg>,
    depth: u32,
) -> bool {
    let Operand::Reg(r) = operand else { return true };
    if !set.contains(&r) {
        return true;
    }
    let from = defs.get(&r).and_then(Option::as_ref).filter(|_| depth > 0);
    from.is_some_and(|from| from.iter().all(|o| is_same(defs, *o, set, depth - 1)))
}
