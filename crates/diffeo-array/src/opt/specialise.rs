//! Shape specialisation: copies functions of small arrays for the sizes that they are called with, and writes down
//! sizes that are known.
//!
//! A matrix product that is called for 4×4 matrices gets a copy for those: the loops of the copy have constant counts,
//! so `unroll` writes them out. Sizes are known from where arrays are made (`Shapes`), from checks before ("the size 4
//! of a type"), and from the results of functions. A known size is written down as a `reshape` to it, which is a view,
//! so that other passes, and derivatives, know it, too.
//!
//! What it needs: `inline` before, because small functions need no copies. Why it is right: a copy does the same as the
//! function, of which at most [`COPIES`] are made, and the size of an array never changes.

use super::graph::call_graph;
use super::shapes::{Shapes, Size};
use super::simplify::simplify_function;
use crate::ir::walk::{
    deep, has_regions, operands_mut, regions, regions_mut, size, statements, var,
};
use crate::ir::{Atom, Block, Check, FlatTy, Function, FunctionId, Module, Op, Stmt, Var, VarInfo};
use diffeo_base::Name;
use diffeo_calculus::prim::Comparison;
use hashbrown::{HashMap, HashSet};

/// Maximum number of copies of a function.
const COPIES: usize = 4;

/// Maximum number of statements of a function that is copied.
const LARGE: usize = 200;

/// Maximum number of elements of an array, or row, for which there are copies.
const ELEMENTS: i64 = 16;

/// Maximum number of rounds over a function, while each finds more sizes.
const ROUNDS: usize = 3;

/// The sizes of an array as far as they are known, those of rows where there are rows; none of other values.
type StaticSizes = Vec<Option<i64>>;

/// Shape specialisation: see the head of the file.
pub fn specialise(module: Module) -> Module {
    copies(module, &HashSet::new(), false)
}

/// As [`specialise`], before derivatives are taken; of functions that `stay`, no copies are made.
pub(super) fn specialise_early(module: Module, stay: &HashSet<FunctionId>) -> Module {
    copies(module, stay, true)
}

fn copies(mut module: Module, stay: &HashSet<FunctionId>, early: bool) -> Module {
    let graph = call_graph(&module);
    let mut stays = graph.recursive;
    stays[module.entry.0 as usize] = true;
    for id in stay.iter().copied().chain(module.constants.iter().map(|constant| constant.init)) {
        stays[id.0 as usize] = true;
    }
    let functions = std::mem::take(&mut module.functions);
    let mut copies = Copies {
        names: functions.iter().map(|function| function.name.clone()).collect(),
        results: vec![Vec::new(); functions.len()],
        made: HashMap::new(),
        counts: vec![0; functions.len()],
        functions: functions.into_iter().map(Some).collect(),
        stays,
        early,
    };
    for f in graph.components.iter().flatten() {
        copies.function(*f, &[]);
    }
    module.functions = copies.functions.into_iter().flatten().collect();
    module
}

struct Copies {
    /// The functions of the module, and copies behind them; none that is being looked at.
    functions: Vec<Option<Function>>,
    names: HashSet<Name>,
    /// The functions that are not copied.
    stays: Vec<bool>,
    /// By function, what is known of the sizes of its results.
    results: Vec<Vec<StaticSizes>>,
    /// The copies, by function and what is known of its arguments.
    made: HashMap<(usize, Vec<StaticSizes>), usize>,
    /// How many there are of a function.
    counts: Vec<usize>,
    early: bool,
}

impl Copies {
    /// Looks at a function whose parameters have these sizes.
    fn function(&mut self, f: usize, params: &[StaticSizes]) {
        let Some(mut function) = self.functions[f].take() else { return };
        if function.vars.iter().any(|v| matches!(v.ty, FlatTy::Array(..))) {
            let mut written = HashSet::new();
            for _ in 0..ROUNDS {
                let mut walk = Specialiser::new(self, &mut function, &mut written);
                walk.params(params);
                walk.function();
                if !walk.changed {
                    break;
                }
                if !params.is_empty() {
                    simplify_function(&mut function, self.early);
                }
            }
            let walk = Specialiser::new(self, &mut function, &mut written);
            let known = walk.function.body.results.iter().map(|atom| walk.known(atom)).collect();
            self.results[f] = known;
        }
        self.functions[f] = Some(function);
    }

    /// The function to call with arguments of these sizes.
    fn copy(&mut self, f: usize, args: Vec<StaticSizes>) -> usize {
        let small = |known: &StaticSizes| {
            let rows = known.get(1..).filter(|rows| !rows.is_empty());
            rows.and_then(product).is_some_and(|n| n <= ELEMENTS)
                && known[0].is_none_or(|n| (1..=ELEMENTS).contains(&n))
                && product(known).is_none_or(|n| n <= ELEMENTS)
        };
        if self.stays[f] || !args.iter().any(small) {
            return f;
        }
        let args: Vec<StaticSizes> = args
            .into_iter()
            .map(|known| if small(&known) { known } else { vec![None; known.len()] })
            .collect();
        if let Some(copy) = self.made.get(&(f, args.clone())) {
            return *copy;
        }
        let Some(function) = &self.functions[f] else { return f };
        if self.counts[f] == COPIES || size(&function.body, LARGE) >= LARGE {
            return f;
        }
        let mut copy = function.clone();
        let text = |known: &StaticSizes| {
            let size = |n: &Option<i64>| n.map_or("_".into(), |n| n.to_string());
            known.iter().map(size).collect::<Vec<_>>().join("x")
        };
        let shown: Vec<String> = args.iter().filter(|known| !known.is_empty()).map(text).collect();
        let mut name = Name::from(format!("{}.{}", copy.name, shown.join(".")));
        while self.names.contains(&name) {
            name = Name::from(format!("{name}.again"));
        }
        copy.name = name.clone();
        self.names.insert(name);
        let id = self.functions.len();
        self.functions.push(Some(copy));
        self.results.push(Vec::new());
        self.stays.push(true);
        self.counts.push(0);
        self.counts[f] += 1;
        self.made.insert((f, args.clone()), id);
        deep(|| self.function(id, &args));
        id
    }
}

/// How many elements there are, if all sizes are known and none is 0.
fn product(known: &[Option<i64>]) -> Option<i64> {
    known.iter().try_fold(1i64, |product, n| product.checked_mul((*n)?)).filter(|n| *n > 0)
}

/// A walk over a function.
struct Specialiser<'a> {
    copies: &'a mut Copies,
    function: &'a mut Function,
    /// The arrays whose sizes are written down.
    written: &'a mut HashSet<Var>,
    shapes: Shapes,
    /// Sizes beside those in `shapes`; those of rows where there are rows.
    sizes: HashMap<(Var, u8), i64>,
    /// The arrays of the open blocks that are rows of others, behind so many indices.
    rows: Vec<(Var, usize, Var)>,
    /// Which of `sizes` are to be forgotten at the end of a block.
    learnt: Vec<(Var, u8)>,
    /// What stands for a variable.
    instead: HashMap<Var, Atom>,
    /// Which of `instead` are to be forgotten at the end of a block.
    replaced: Vec<Var>,
    /// The sizes that were looked up, and those with a number where they are not determined.
    dims: HashMap<Var, (Var, u8, Option<i64>)>,
    /// The comparisons of sizes with 0: whether they are not determined.
    open: HashMap<Var, Var>,
    /// What may be nothing, where nobody looks at it: its sizes are not written down where it may be.
    unused: HashSet<Var>,
    changed: bool,
}

/// The variables that hold [`Atom::Unused`] on some way; there, their sizes are not those of the other ways.
pub(super) fn unused(function: &Function) -> HashSet<Var> {
    let mut found = HashSet::new();
    loop {
        let before = found.len();
        statements(&function.body, &mut |stmt| {
            let mut carried = Vec::new();
            if let Op::For { carried: all, .. } | Op::While { carried: all, .. } = &stmt.op {
                carried = all.iter().map(|c| (c.param, c.init.clone())).collect();
            }
            let nothing = |atom: &Atom, found: &HashSet<Var>| match atom {
                Atom::Unused(_) => true,
                Atom::Var(v) => found.contains(v),
                Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) => false,
            };
            for (i, result) in stmt.results.iter().enumerate() {
                let mut any = carried.get(i).is_some_and(|(_, init)| nothing(init, &found));
                regions(&stmt.op, |region| {
                    any |= region.results.get(i).is_some_and(|atom| nothing(atom, &found));
                });
                if any {
                    found.insert(*result);
                    found.extend(carried.get(i).map(|(param, _)| *param));
                }
            }
        });
        if found.len() == before {
            return found;
        }
    }
}

impl<'a> Specialiser<'a> {
    fn new(
        copies: &'a mut Copies,
        function: &'a mut Function,
        written: &'a mut HashSet<Var>,
    ) -> Specialiser<'a> {
        Specialiser {
            copies,
            shapes: Shapes::of(function),
            unused: unused(function),
            function,
            written,
            sizes: HashMap::new(),
            rows: Vec::new(),
            learnt: Vec::new(),
            instead: HashMap::new(),
            replaced: Vec::new(),
            dims: HashMap::new(),
            open: HashMap::new(),
            changed: false,
        }
    }

    fn rank(&self, v: Var) -> usize {
        match self.function.vars[v.0 as usize].ty {
            FlatTy::Array(_, rank) => rank.into(),
            FlatTy::Real
            | FlatTy::Int
            | FlatTy::Bool
            | FlatTy::Text
            | FlatTy::Box(_)
            | FlatTy::Acc(_)
            | FlatTy::Stack(_) => 0,
        }
    }

    /// What is known of a size.
    fn size(&self, v: Var, k: usize) -> Option<i64> {
        if let Some(n) = self.sizes.get(&(v, k as u8)) {
            return Some(*n);
        }
        match self.shapes.extent(v, k as u8)?.size {
            Size::Is(Atom::Int(n)) => Some(n),
            // The same, or not determined.
            Size::Of(w, j) if w != v => self.size(w, j.into()),
            Size::Is(_) | Size::Of(..) => None,
        }
    }

    /// What is known of the sizes of a value wherever it is given to somebody.
    fn known(&self, atom: &Atom) -> StaticSizes {
        let Some(v) = var(atom) else { return Vec::new() };
        let size = |k| if self.unused.contains(&v) { None } else { self.size(v, k) };
        (0..self.rank(v)).map(size).collect()
    }

    /// The sizes of an array, if all are known whether it has rows or not, and not all of them by `shapes`.
    fn news(&self, v: Var) -> Option<Vec<i64>> {
        let rank = self.rank(v);
        let sizes: Vec<i64> = (0..rank).map(|k| self.size(v, k)).collect::<Option<_>>()?;
        let (_, before) = sizes.split_last()?;
        let old = (0..rank).all(|k| {
            let extent = self.shapes.extent(v, k as u8);
            extent.is_some_and(|e| e.always && matches!(e.size, Size::Is(Atom::Int(_))))
        });
        (rank > 1 && !old && before.iter().all(|n| *n > 0)).then_some(sizes)
    }

    fn learn(&mut self, v: Var, k: usize, n: Option<i64>) {
        if let (Some(n @ 0..), None) = (n, self.size(v, k)) {
            self.sizes.insert((v, k as u8), n);
            self.learnt.push((v, k as u8));
        }
    }

    /// Notes a size that a check found, of an array and its rows.
    fn checked(&mut self, v: Var, k: usize, n: i64, check: &Stmt, out: &mut Vec<Stmt>) {
        self.learn(v, k, Some(n));
        self.write(v, check, out);
        for i in 0..self.rows.len() {
            let (array, from, row) = self.rows[i];
            if array == v && from <= k && !self.instead.contains_key(&row) {
                self.checked(row, k - from, n, check, out);
            }
        }
    }

    fn replace(&mut self, v: Var, atom: Atom) {
        self.instead.insert(v, atom);
        self.replaced.push(v);
        self.changed = true;
    }

    /// Writes down what is known of an array, for the rest of the block.
    fn write(&mut self, v: Var, like: &Stmt, out: &mut Vec<Stmt>) {
        let Some(sizes) = self.news(v).filter(|_| self.written.insert(v)) else { return };
        let new = Var(self.function.vars.len() as u32);
        let ty = self.function.vars[v.0 as usize].ty.clone();
        self.function.vars.push(VarInfo { ty, name: None });
        for (k, n) in sizes.iter().enumerate() {
            self.sizes.insert((new, k as u8), *n);
        }
        let sizes = sizes.into_iter().map(Atom::Int).collect();
        let op = Op::Reshape(Atom::Var(v), sizes);
        out.push(Stmt { results: vec![new], op, site: like.site });
        self.replace(v, Atom::Var(new));
    }

    /// Notes the sizes of parameters.
    fn params(&mut self, params: &[StaticSizes]) {
        for (v, known) in self.function.params.clone().into_iter().zip(params) {
            for (k, n) in known.iter().enumerate() {
                self.learn(v, k, *n);
            }
        }
    }

    fn function(&mut self) {
        let body = std::mem::take(&mut self.function.body);
        let mut start = Vec::new();
        if let Some(first) = body.stmts.first() {
            for v in self.function.params.clone() {
                self.write(v, first, &mut start);
            }
        }
        self.function.body = self.block(body, start);
    }

    fn resolve(&self, atom: &mut Atom) {
        while let Some(new) = var(atom).and_then(|v| self.instead.get(&v)) {
            *atom = new.clone();
        }
    }

    fn block(&mut self, block: Block, mut out: Vec<Stmt>) -> Block {
        let (learnt, replaced, rows) = (self.learnt.len(), self.replaced.len(), self.rows.len());
        for mut stmt in block.stmts {
            operands_mut(&mut stmt.op, |a| self.resolve(a));
            if has_regions(&stmt.op) {
                deep(|| {
                    regions_mut(&mut stmt.op, |r| {
                        *r = self.block(std::mem::take(r), Vec::new());
                    });
                });
                out.push(stmt);
            } else {
                self.stmt(stmt, &mut out);
            }
        }
        let mut results = block.results;
        results.iter_mut().for_each(|a| self.resolve(a));
        self.rows.truncate(rows);
        for key in self.learnt.drain(learnt..) {
            self.sizes.remove(&key);
        }
        for v in self.replaced.drain(replaced..) {
            self.instead.remove(&v);
        }
        Block { stmts: out, results }
    }

    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        if let Op::Dim(Atom::Var(array), k) = stmt.op {
            let sure = (0..k).all(|j| self.size(array, j.into()).is_some_and(|n| n > 0));
            if let Some(n) = self.size(array, k.into()).filter(|_| sure) {
                self.replace(stmt.results[0], Atom::Int(n));
                return;
            }
            self.dims.insert(stmt.results[0], (array, k, None));
        } else if let Op::Compare(Comparison::Lt, _, Atom::Var(dim), Atom::Int(0)) = stmt.op {
            self.open.insert(stmt.results[0], dim);
        } else if let Op::Select(Atom::Var(open), Atom::Int(n), Atom::Var(dim)) = stmt.op {
            let found = self.dims.get(&dim).filter(|_| self.open.get(&open) == Some(&dim));
            if let Some((array, k, None)) = found {
                self.dims.insert(stmt.results[0], (*array, *k, Some(n)));
            }
        } else if let Op::Call(callee, args) = &mut stmt.op {
            let known = args.iter().map(|arg| self.known(arg)).collect();
            let copy = self.copies.copy(callee.0 as usize, known);
            self.changed |= copy != callee.0 as usize;
            *callee = FunctionId(copy as u32);
        }
        out.push(stmt.clone());
        if let Op::Check(Check::Size { expected, found, .. }) = &stmt.op {
            let ((Atom::Int(n), Atom::Var(v)) | (Atom::Var(v), Atom::Int(n))) = (expected, found)
            else {
                return;
            };
            let Some((array, k, open)) = self.dims.get(v).copied() else { return };
            if open.is_none_or(|open| open == *n) {
                self.checked(array, k.into(), *n, &stmt, out);
            }
        } else if let Op::Get(Atom::Var(array), indices) = &stmt.op {
            let row = stmt.results[0];
            if self.rank(row) > 0 {
                self.rows.push((*array, indices.len(), row));
            }
            for k in 0..self.rank(row) {
                self.learn(row, k, self.size(*array, indices.len() + k));
            }
            self.write(row, &stmt, out);
        } else if let Op::Call(callee, _) = &stmt.op {
            let results = self.copies.results[callee.0 as usize].clone();
            for (v, known) in stmt.results.iter().zip(results) {
                known.into_iter().enumerate().for_each(|(k, n)| self.learn(*v, k, n));
                self.write(*v, &stmt, out);
            }
        }
    }
}
