//! Accumulator promotion: keeps accumulators of a few numbers, touched at constant indices only, as numbers.
//!
//! What it needs: `unroll` before, for constant indices. Why it is right: all uses of such an accumulator and of its
//! views stand in one block, so the numbers in it are known at each place; each begins as 0 and is added to in the same
//! order.

use crate::ir::walk::{deep, has_regions, regions_mut, replace, uses, var};
use crate::ir::{Atom, Block, Elem, FlatTy, Function, Module, Op, SiteId, Stmt, Var, VarInfo};
use diffeo_calculus::prim::RealOp;
use hashbrown::HashMap;

/// Maximum size of an accumulator that becomes numbers.
const MOST: i64 = 16;

/// Accumulator promotion: see the head of the file.
pub fn promote(mut module: Module) -> Module {
    for function in &mut module.functions {
        if function.vars.iter().any(|info| matches!(info.ty, FlatTy::Acc(_))) {
            let uses = uses(function);
            let Function { vars, body, .. } = function;
            let (read, taken) = (HashMap::new(), HashMap::new());
            let mut cx = Promoter { uses, vars, read, taken };
            cx.block(body);
            let read = cx.read;
            replace(body, &read);
        }
    }
    module
}

struct Promoter<'f> {
    uses: Vec<u32>,
    vars: &'f mut Vec<VarInfo>,
    /// What stands for the numbers that were read.
    read: HashMap<Var, Atom>,
    /// Arrays that were taken from other accumulators, which have not changed since.
    taken: HashMap<Var, Atom>,
}

/// An accumulator or a view of one.
#[derive(Clone)]
struct View {
    /// The accumulator.
    whole: Var,
    /// Where its numbers begin.
    first: i64,
    sizes: Vec<i64>,
}

impl View {
    fn count(&self) -> i64 {
        self.sizes.iter().product()
    }

    fn new(whole: Var, sizes: &[Atom]) -> Option<View> {
        let sizes: Vec<i64> = sizes.iter().map(int).collect::<Option<_>>()?;
        let fits = sizes.iter().all(|size| (1..=MOST).contains(size));
        let count = sizes.iter().try_fold(1i64, |count, size| count.checked_mul(*size))?;
        (fits && count <= MOST).then_some(View { whole, first: 0, sizes })
    }

    /// The view at constant indices.
    fn at(&self, indices: &[Atom]) -> Option<View> {
        let mut view = self.clone();
        for index in indices {
            if view.sizes.is_empty() {
                return None;
            }
            let size = view.sizes.remove(0);
            let index = int(index).filter(|index| (0..size).contains(index))?;
            view.first += index * view.count();
        }
        Some(view)
    }

    /// The view that an operation makes of it.
    fn made(&self, op: &Op) -> Option<View> {
        match op {
            Op::AccView(_, indices) => self.at(indices),
            Op::AccReshape(_, sizes) => {
                let View { whole, first, .. } = *self;
                let view = View { first, ..View::new(whole, sizes)? };
                (view.count() == self.count()).then_some(view)
            }
            _ => None,
        }
    }

    /// The numbers of a view.
    fn of<'n>(&self, numbers: &'n mut HashMap<Var, Vec<Atom>>) -> &'n mut [Atom] {
        let range = self.first as usize..(self.first + self.count()) as usize;
        numbers.get_mut(&self.whole).and_then(|all| all.get_mut(range)).unwrap_or_default()
    }
}

fn int(atom: &Atom) -> Option<i64> {
    match atom {
        Atom::Int(n) => Some(*n),
        Atom::Var(_) | Atom::Real(_) | Atom::Bool(_) | Atom::Unused(_) => None,
    }
}

/// The accumulator that an operation changes, reads or makes a view of.
fn touched(op: &Op) -> Option<Var> {
    match op {
        Op::AccAdd(acc, ..)
        | Op::AccAddArray(acc, _)
        | Op::AccRead(acc, _)
        | Op::AccTake(acc, _)
        | Op::AccGet(acc)
        | Op::AccView(acc, _)
        | Op::AccReshape(acc, _) => var(acc),
        _ => None,
    }
}

/// Whether accumulators may have changed after an operation.
fn changes(op: &Op) -> bool {
    has_regions(op)
        || matches!(
            op,
            Op::AccAdd(..) | Op::AccAddArray(..) | Op::AccTake(..) | Op::Call(..) | Op::Constant(_)
        )
}

/// The indices of a place in an array of these sizes.
fn indices(mut place: i64, sizes: &[i64]) -> Vec<Atom> {
    let from_last = sizes.iter().rev().map(|size| {
        let index = place % size;
        place /= size;
        Atom::Int(index)
    });
    let mut indices: Vec<Atom> = from_last.collect();
    indices.reverse();
    indices
}

impl Promoter<'_> {
    fn block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |region| self.block(region)));
            }
        }
        let views = self.views(block);
        if views.is_empty() {
            return;
        }
        let zeros = |view: &View| (view.whole, vec![Atom::Real(0.0); MOST as usize]);
        let mut numbers = views.values().map(zeros).collect();
        let mut out = Vec::with_capacity(block.stmts.len());
        for stmt in std::mem::take(&mut block.stmts) {
            if stmt.results.iter().any(|v| views.contains_key(v)) {
                continue;
            }
            if let Some(view) = touched(&stmt.op).and_then(|acc| views.get(&acc)) {
                self.stmt(stmt, view, &mut numbers, &mut out);
                continue;
            }
            match (&stmt.op, &stmt.results[..]) {
                (Op::AccGet(acc), [array]) => _ = self.taken.insert(*array, acc.clone()),
                (op, _) if changes(op) => self.taken.clear(),
                _ => {}
            }
            out.push(stmt);
        }
        self.taken.clear();
        // Arrays whose elements are read from where they were taken instead.
        out.retain(|stmt| match (&stmt.op, &stmt.results[..]) {
            (Op::AccGet(_), [array]) => self.uses.get(array.0 as usize) != Some(&0),
            _ => true,
        });
        block.stmts = out;
    }

    /// The small accumulators that are made in a block, and touched there only, at constant indices; and their views.
    fn views(&self, block: &Block) -> HashMap<Var, View> {
        let mut views: HashMap<Var, View> = HashMap::new();
        // How often each accumulator is touched; whether it is at an index; whether an array is added to it.
        let mut seen: HashMap<Var, (u32, bool, bool)> = HashMap::new();
        for Stmt { op, results, .. } in &block.stmts {
            if let (Op::AccNew(sizes), [v]) = (op, &results[..]) {
                views.extend(View::new(*v, sizes).map(|new| (*v, new)));
            }
            let Some(view) = touched(op).and_then(|acc| views.get(&acc)) else { continue };
            let (times, at_index, arrays) = seen.entry(view.whole).or_default();
            let known = match op {
                Op::AccAdd(_, indices, _) | Op::AccRead(_, indices) | Op::AccTake(_, indices) => {
                    *at_index = true;
                    view.at(indices).is_some_and(|view| view.sizes.is_empty())
                }
                Op::AccGet(_) => true,
                Op::AccAddArray(..) => {
                    *arrays = true;
                    true
                }
                _ => view.made(op).is_some(),
            };
            *times += u32::from(known);
            if let (Some(view), [v]) = (view.made(op), &results[..]) {
                views.insert(*v, view);
            }
        }
        let mut uses: HashMap<Var, u32> = HashMap::new();
        for (v, view) in &views {
            *uses.entry(view.whole).or_default() += self.uses[v.0 as usize];
        }
        views.retain(|_, View { whole, .. }| {
            let (times, at_index, arrays) = seen.get(whole).copied().unwrap_or_default();
            // One by one would be longer where all is done whole.
            times == uses[whole] && (at_index || !arrays)
        });
        views
    }

    /// Does with numbers what a statement does with an accumulator.
    fn stmt(
        &mut self,
        stmt: Stmt,
        view: &View,
        numbers: &mut HashMap<Var, Vec<Atom>>,
        out: &mut Vec<Stmt>,
    ) {
        let Stmt { results, op, site } = stmt;
        match op {
            Op::AccAdd(_, indices, value) => {
                let Some(view) = view.at(&indices) else { return };
                for number in view.of(numbers) {
                    let op = Op::Real(RealOp::Add, vec![number.clone(), value.clone()]);
                    *number = self.made(op, FlatTy::Real, site, out);
                }
            }
            Op::AccAddArray(_, array) => {
                let from = var(&array).and_then(|v| self.taken.get(&v)).cloned();
                if let (Some(_), Atom::Var(v)) = (&from, &array) {
                    self.uses[v.0 as usize] -= 1;
                }
                for (place, number) in view.of(numbers).iter_mut().enumerate() {
                    let at = indices(place as i64, &view.sizes);
                    let element = match &from {
                        _ if at.is_empty() => array.clone(),
                        Some(acc) => {
                            self.made(Op::AccRead(acc.clone(), at), FlatTy::Real, site, out)
                        }
                        None => self.made(Op::Get(array.clone(), at), FlatTy::Real, site, out),
                    };
                    let op = Op::Real(RealOp::Add, vec![number.clone(), element]);
                    *number = self.made(op, FlatTy::Real, site, out);
                }
            }
            Op::AccRead(_, indices) => {
                let Some(view) = view.at(&indices) else { return };
                self.read.extend(results.into_iter().zip(view.of(numbers).iter().cloned()));
            }
            Op::AccTake(_, indices) => {
                let Some(view) = view.at(&indices) else { return };
                let taken = |number: &mut Atom| std::mem::replace(number, Atom::Real(0.0));
                self.read.extend(results.into_iter().zip(view.of(numbers).iter_mut().map(taken)));
            }
            Op::AccGet(_) => {
                let numbers = view.of(numbers).to_vec();
                let op = match view.sizes.len() {
                    0 => {
                        self.read.extend(results.into_iter().zip(numbers));
                        return;
                    }
                    1 => Op::Elements(Elem::Real, numbers),
                    _ => {
                        let op = Op::Elements(Elem::Real, numbers);
                        let all = self.made(op, FlatTy::array(Elem::Real, 1), site, out);
                        Op::Reshape(all, view.sizes.iter().map(|size| Atom::Int(*size)).collect())
                    }
                };
                out.push(Stmt { results, op, site });
            }
            _ => {}
        }
    }

    fn made(&mut self, op: Op, ty: FlatTy, site: SiteId, out: &mut Vec<Stmt>) -> Atom {
        self.vars.push(VarInfo { ty, name: None });
        let v = Var(self.vars.len() as u32 - 1);
        out.push(Stmt { results: vec![v], op, site });
        Atom::Var(v)
    }
}
