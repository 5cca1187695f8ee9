//! Rewrites before reverse mode, of the largest and smallest of numbers, and of loops that go on with a part of an
//! array.
//!
//! The derivative of a largest number is that of the first number that is as large. So the numbers become an array, and
//! the reduction one over its elements, whose backward part looks for that element ([`chosen`]).
//!
//! A loop that carries an array, of which each step leaves a slice to the next, carries the bounds of the slice in the
//! first array instead. So all steps have views of one accumulator.

use crate::ad::Deriver;
use crate::build::Builder;
use crate::ir::walk::{deep, has_regions, operands_mut, regions_mut, statements};
use crate::ir::{
    Atom, Block, Carried, Elem, FlatTy, Function, FunctionId, Module, Op, Reduction, Scalar,
    SiteId, Stmt, Var, VarInfo,
};
use diffeo_calculus::prim::{Comparison, IntOp, Rounding};

/// Makes arrays of the numbers of whose largest or smallest a function looks for; and slices of one array of those that
/// a loop makes shorter.
pub(super) fn prepare(module: &mut Module, cache: &mut Deriver, id: FunctionId) {
    let function = &mut module.functions[id.0 as usize];
    let mut found = false;
    statements(&function.body, &mut |stmt| {
        found |= is_extremum(&stmt.op) && array(&stmt.op).is_none();
        if let Op::For { carried, body, .. } | Op::While { carried, body, .. } = &stmt.op {
            found |= (0..carried.len()).any(|i| part(carried, body, i).is_some());
        }
    });
    if found {
        cache.activities.retain(|key, _| key.0 != id);
        let vars = &mut function.vars;
        block(vars, &mut function.body);
    }
}

/// Whether an operation looks for the largest or smallest number.
pub(super) fn is_extremum(op: &Op) -> bool {
    match op {
        Op::Reduce { how, .. } => {
            how.iter().any(|how| matches!(how, Reduction::Max | Reduction::Min))
        }
        _ => false,
    }
}

/// The array of whose elements an operation gives the largest or smallest.
pub(super) fn array(op: &Op) -> Option<Var> {
    let Op::Reduce { how, index, body, .. } = op else { return None };
    match (&how[..], &body.stmts[..], &body.results[..]) {
        ([Reduction::Max | Reduction::Min], [stmt], [Atom::Var(result)]) => match &stmt.op {
            Op::Get(Atom::Var(array), indices)
                if indices[..] == [Atom::Var(*index)] && stmt.results[..] == [*result] =>
            {
                Some(*array)
            }
            _ => None,
        },
        _ => None,
    }
}

fn block(vars: &mut Vec<VarInfo>, at: &mut Block) {
    for mut stmt in std::mem::take(&mut at.stmts) {
        if has_regions(&stmt.op) {
            deep(|| regions_mut(&mut stmt.op, |region| block(vars, region)));
        }
        if let Op::For { .. } | Op::While { .. } = &stmt.op {
            parts(vars, at, stmt);
            continue;
        }
        if !is_extremum(&stmt.op) || array(&stmt.op).is_some() {
            at.stmts.push(stmt);
            continue;
        }
        let site = stmt.site;
        let Op::Reduce { how, count, index, body } = stmt.op else { continue };
        let mut var = |ty: FlatTy| {
            vars.push(VarInfo { ty, name: None });
            Var(vars.len() as u32 - 1)
        };
        let steps = var(FlatTy::Int);
        let op = Op::Int(IntOp::Max, vec![count, Atom::Int(0)]);
        at.stmts.push(Stmt { results: vec![steps], op, site });
        let count = Atom::Var(steps);
        let arrays: Vec<Var> = how.iter().map(|_| var(FlatTy::Array(Elem::Real, 1))).collect();
        let op = Op::Build { count: count.clone(), index, body };
        at.stmts.push(Stmt { results: arrays.clone(), op, site });
        for ((how, array), result) in how.into_iter().zip(arrays).zip(stmt.results) {
            let (index, x) = (var(FlatTy::Int), var(FlatTy::Real));
            let op = Op::Get(Atom::Var(array), vec![Atom::Var(index)]);
            let stmts = vec![Stmt { results: vec![x], op, site }];
            let body = Block { stmts, results: vec![Atom::Var(x)] };
            let op = Op::Reduce { how: vec![how], count: count.clone(), index, body };
            at.stmts.push(Stmt { results: vec![result], op, site });
        }
    }
}

/// Of a loop that carries a slice of an array on, the array at first, and where the slice begins and ends.
fn part(carried: &[Carried], body: &Block, i: usize) -> Option<(Var, Atom, Atom)> {
    let (Atom::Var(first), Atom::Var(last)) = (&carried[i].init, &body.results[i]) else {
        return None;
    };
    let stmt = body.stmts.iter().find(|stmt| stmt.results[..] == [*last])?;
    match &stmt.op {
        Op::Slice { array: Atom::Var(v), lo, hi } if *v == carried[i].param => {
            Some((*first, lo.clone(), hi.clone()))
        }
        _ => None,
    }
}

/// Adds a loop; where it carries a slice of an array on, it carries where that is.
fn parts(vars: &mut Vec<VarInfo>, at: &mut Block, mut stmt: Stmt) {
    let site = stmt.site;
    let mut after = Vec::new();
    let (loops, mut cond) = match &mut stmt.op {
        Op::For { carried, body, .. } => (Some((carried, body)), None),
        Op::While { carried, cond, body } => (Some((carried, body)), Some(cond)),
        _ => (None, None),
    };
    if let Some((carried, body)) = loops {
        let ints = |vars: &mut Vec<VarInfo>, count: usize| -> Vec<Var> {
            let first = vars.len() as u32;
            vars.extend((0..count).map(|_| VarInfo { ty: FlatTy::Int, name: None }));
            (first..first + count as u32).map(Var).collect()
        };
        for i in 0..carried.len() {
            let Some((first, lo, hi)) = part(carried, body, i) else { continue };
            let new = ints(vars, 7);
            let [size, from, to, next_from, next_to, last_from, last_to] = new[..] else {
                continue;
            };
            let slice = |result: Var, lo: Var, hi: Var| {
                let (array, lo, hi) = (Atom::Var(first), Atom::Var(lo), Atom::Var(hi));
                Stmt { results: vec![result], op: Op::Slice { array, lo, hi }, site }
            };
            let op = Op::Dim(Atom::Var(first), 0);
            at.stmts.push(Stmt { results: vec![size], op, site });
            let array = carried[i].param;
            if let Some(cond) = &mut cond {
                let ty = vars[array.0 as usize].clone();
                vars.push(ty);
                let seen = Var(vars.len() as u32 - 1);
                rename(cond, array, seen);
                cond.stmts.insert(0, slice(seen, from, to));
            }
            carried[i] = Carried { param: from, init: Atom::Int(0) };
            carried.push(Carried { param: to, init: Atom::Var(size) });
            body.stmts.insert(0, slice(array, from, to));
            for (result, by) in [(next_from, lo), (next_to, hi)] {
                let op = Op::IntFits(IntOp::Add, vec![Atom::Var(from), by]);
                body.stmts.push(Stmt { results: vec![result], op, site });
            }
            body.results[i] = Atom::Var(next_from);
            body.results.push(Atom::Var(next_to));
            after.push(slice(stmt.results[i], last_from, last_to));
            stmt.results[i] = last_from;
            stmt.results.push(last_to);
        }
    }
    at.stmts.push(stmt);
    at.stmts.extend(after);
}

/// Puts a variable in the place of another one that a block uses.
fn rename(block: &mut Block, old: Var, new: Var) {
    let put = |atom: &mut Atom| {
        if *atom == Atom::Var(old) {
            *atom = Atom::Var(new);
        }
    };
    for stmt in &mut block.stmts {
        operands_mut(&mut stmt.op, put);
        deep(|| regions_mut(&mut stmt.op, |region| rename(region, old, new)));
    }
    block.results.iter_mut().for_each(put);
}

/// Statements added to a function of which only the variables are known.
pub(super) fn added<T>(
    vars: &mut Vec<VarInfo>,
    site: SiteId,
    add: impl FnOnce(&mut Builder) -> T,
) -> (Vec<Stmt>, T) {
    let function = Function {
        name: "".into(),
        shown: "".into(),
        library: false,
        span: diffeo_base::Span::NONE,
        vars: std::mem::take(vars),
        params: Vec::new(),
        results: Vec::new(),
        body: Block::default(),
    };
    let mut b = Builder::resume(&function, site);
    b.open();
    let made = add(&mut b);
    let stmts = b.close(Vec::new()).stmts;
    // Nothing is wrong with the operands.
    *vars = b.finish("", Vec::new()).map_or(function.vars, |made| made.vars);
    (stmts, made)
}

/// Statements that look for the first of so many elements of an array that is this number; -1 if there is none.
pub(super) fn chosen(
    vars: &mut Vec<VarInfo>,
    module: &Module,
    [count, array, number]: [Atom; 3],
    site: SiteId,
) -> (Vec<Stmt>, Atom) {
    added(vars, site, |b| {
        let index = b.var(FlatTy::Int, Some("i".into()));
        b.open();
        let x = b.one(module, Op::Get(array, vec![Atom::Var(index)]));
        let same = Op::Compare(Comparison::Eq, Scalar::Real, x.clone(), number.clone());
        let same = b.one(module, same);
        let nan = b.one(module, Op::IsNan(x));
        let nans = b.one(module, Op::IsNan(number));
        let nans = b.one(module, Op::And(nan, nans));
        let same = b.one(module, Op::Or(same, nans));
        // Indices are below 2^53, so that they are Reals, of which there are reductions.
        let at = b.one(module, Op::ToReal(Atom::Var(index)));
        let none = Atom::Real(f64::INFINITY);
        let at = b.one(module, Op::Select(same, at, none.clone()));
        let body = b.close(vec![at]);
        let least = Op::Reduce { count, index, how: vec![Reduction::Min], body };
        let least = b.one(module, least);
        let missing = Op::Compare(Comparison::Eq, Scalar::Real, least.clone(), none);
        let missing = b.one(module, missing);
        let at = b.one(module, Op::Select(missing, Atom::Real(-1.0), least));
        b.one(module, Op::RoundFits(Rounding::Trunc, at))
    })
}
