//! Sparse constant propagation over the whole module (Wegman & Zadeck 1991): through calls, branches, loops, boxes and
//! arrays.
//!
//! It finds numbers that are always the same where their definition does not tell: a result of each call of a function,
//! a carried variable, a field of all boxes of a variant, the elements of an array, its sizes. Forward parts hand sizes
//! to backward parts in such ways.
//!
//! What it needs: nothing; `simplify` afterwards, which computes with the constants, and `dce`, which drops what
//! carried them. Why it is right: it begins with "nothing was seen yet" everywhere and repeats until no value that
//! flows anywhere adds anything; what comes from outside may be anything. Statements stay: only uses of variables
//! change, and a use is reached only after the definition.

use super::graph::{call_graph, from_outside};
use crate::ir::walk::{deep, replace, statements, var};
use crate::ir::{Atom, Block, BoxId, Carried, FlatTy, Function, Module, Op, Stmt, Var};
use diffeo_calculus::prim::int::apply;
use diffeo_calculus::prim::IntOp;
use hashbrown::HashMap;

/// Sparse constant propagation: see the head of the file.
pub fn constants(mut module: Module) -> Module {
    let known = ConstantPropagation::over(&module);
    for (function, values) in module.functions.iter_mut().zip(known) {
        let mut constants = HashMap::new();
        for (v, info) in function.vars.iter().enumerate() {
            if let (FlatTy::Real | FlatTy::Int | FlatTy::Bool, [seen]) = (&info.ty, values.parts(v))
            {
                constants.extend(seen.atom().map(|atom| (Var(v as u32), atom)));
            }
        }
        if !constants.is_empty() {
            replace(&mut function.body, &constants);
        }
    }
    module
}

/// What a number has been in all that was seen.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Seen {
    Nothing,
    Int(i64),
    Bool(bool),
    /// By its bits.
    Real(u64),
    Different,
}

impl Seen {
    fn with(self, other: Seen) -> Seen {
        match (self, other) {
            (Seen::Nothing, x) | (x, Seen::Nothing) => x,
            (x, y) if x == y => x,
            _ => Seen::Different,
        }
    }

    fn atom(self) -> Option<Atom> {
        match self {
            Seen::Int(n) => Some(Atom::Int(n)),
            Seen::Bool(b) => Some(Atom::Bool(b)),
            Seen::Real(bits) => Some(Atom::Real(f64::from_bits(bits))),
            Seen::Nothing | Seen::Different => None,
        }
    }
}

/// How many numbers are looked at of a value: a scalar, the sizes of an array and its elements as if they were one,
/// the sizes of an accumulator.
fn parts(ty: &FlatTy) -> usize {
    match ty {
        FlatTy::Real | FlatTy::Int | FlatTy::Bool => 1,
        FlatTy::Array(_, rank) => usize::from(*rank) + 1,
        FlatTy::Acc(rank) => usize::from(*rank),
        FlatTy::Text | FlatTy::Box(_) | FlatTy::Stack(_) => 0,
    }
}

/// The parts of several values.
struct SeenValues {
    /// Where those of each begin, and behind the last.
    first: Vec<usize>,
    seen: Vec<Seen>,
}

impl SeenValues {
    fn of<'a>(types: impl Iterator<Item = &'a FlatTy>) -> SeenValues {
        let mut first = vec![0];
        let mut next = 0;
        first.extend(types.map(|ty| {
            next += parts(ty);
            next
        }));
        SeenValues { first, seen: vec![Seen::Nothing; next] }
    }

    fn parts(&self, value: usize) -> &[Seen] {
        &self.seen[self.first[value]..self.first[value + 1]]
    }

    /// Sees one more; whether that changes anything.
    fn see(&mut self, value: usize, part: usize, seen: Seen) -> bool {
        let at = &mut self.seen[self.first[value] + part];
        let with = at.with(seen);
        std::mem::replace(at, with) != with
    }
}

/// Goes over functions again and again, until nothing more is seen.
struct ConstantPropagation<'m> {
    module: &'m Module,
    /// Of each function, its variables, and its results.
    vars: Vec<SeenValues>,
    results: Vec<SeenValues>,
    /// The fields of boxes, and the functions that read them.
    fields: HashMap<(BoxId, u32), (SeenValues, Vec<usize>)>,
    callers: Vec<Vec<usize>>,
    /// The functions that may see more than when they were gone over.
    open: Vec<bool>,
    /// The functions that the program comes to.
    reached: Vec<bool>,
    /// The one that is gone over, and whether its loops may see more.
    f: usize,
    again: bool,
}

impl<'m> ConstantPropagation<'m> {
    /// The variables of each function.
    fn over(module: &'m Module) -> Vec<SeenValues> {
        let graph = call_graph(module);
        let mut callers = vec![Vec::new(); module.functions.len()];
        for (f, callees) in graph.callees.iter().enumerate() {
            callees.iter().for_each(|callee| callers[*callee].push(f));
        }
        let of_vars = |f: &Function| SeenValues::of(f.vars.iter().map(|info| &info.ty));
        let mut walk = ConstantPropagation {
            module,
            vars: module.functions.iter().map(of_vars).collect(),
            results: module.functions.iter().map(|f| SeenValues::of(f.results.iter())).collect(),
            fields: HashMap::new(),
            callers,
            open: vec![false; module.functions.len()],
            reached: vec![false; module.functions.len()],
            f: 0,
            again: false,
        };
        walk.boxes();
        walk.outside();
        // Callers come first: what they give is known then.
        let order: Vec<usize> = graph.components.iter().rev().flatten().copied().collect();
        while walk.open.contains(&true) {
            for &f in &order {
                if std::mem::take(&mut walk.open[f]) {
                    walk.function(f);
                }
            }
        }
        walk.vars
    }

    /// The fields, and who reads them.
    fn boxes(&mut self) {
        for (id, ty) in self.module.boxes.iter().enumerate() {
            for (tag, variant) in ty.variants.iter().enumerate() {
                let values = SeenValues::of(variant.fields.iter());
                self.fields.insert((BoxId(id as u32), tag as u32), (values, Vec::new()));
            }
        }
        for (f, function) in self.module.functions.iter().enumerate() {
            statements(&function.body, &mut |stmt| {
                if let Op::Field { object, tag, .. } = &stmt.op {
                    let readers = self.variant(f, object, *tag).map(|(_, readers)| readers);
                    if let Some(readers) = readers.filter(|readers| readers.last() != Some(&f)) {
                        readers.push(f);
                    }
                }
            });
        }
    }

    /// A variant of the type of a box in a function.
    fn variant(
        &mut self,
        f: usize,
        object: &Atom,
        tag: u32,
    ) -> Option<&mut (SeenValues, Vec<usize>)> {
        match &self.module.functions[f].vars[var(object)?.0 as usize].ty {
            FlatTy::Box(id) => self.fields.get_mut(&(*id, tag)),
            _ => None,
        }
    }

    /// What the program is called with may be anything.
    fn outside(&mut self) {
        let f = self.module.entry.0 as usize;
        (self.f, self.open[f], self.reached[f]) = (f, true, true);
        for param in &self.module.functions[f].params {
            self.different(*param);
        }
        for id in from_outside(self.module) {
            for tag in 0..self.module.boxes[id.0 as usize].variants.len() {
                if let Some((values, _)) = self.fields.get_mut(&(id, tag as u32)) {
                    values.seen.fill(Seen::Different);
                }
            }
        }
    }

    /// Goes over a function until nothing more is seen in it.
    fn function(&mut self, f: usize) {
        let function = &self.module.functions[f];
        self.f = f;
        self.again = true;
        while std::mem::take(&mut self.again) {
            self.block(&function.body);
        }
        let mut changed = false;
        for (i, result) in function.body.results.iter().enumerate() {
            for part in 0..self.results[f].parts(i).len() {
                let seen = self.part(result, part);
                changed |= self.results[f].see(i, part, seen);
            }
        }
        if changed {
            for i in 0..self.callers[f].len() {
                let caller = self.callers[f][i];
                self.open[caller] |= self.reached[caller];
            }
        }
    }

    /// A part of a value; of those that have no such part it is not known.
    fn part(&self, atom: &Atom, part: usize) -> Seen {
        match atom {
            Atom::Var(v) => {
                let parts = self.vars[self.f].parts(v.0 as usize);
                parts.get(part).copied().unwrap_or(Seen::Different)
            }
            Atom::Int(n) => Seen::Int(*n),
            Atom::Bool(b) => Seen::Bool(*b),
            Atom::Real(x) => Seen::Real(x.to_bits()),
            Atom::Unused(_) => Seen::Nothing,
        }
    }

    /// The elements of an array, or a number.
    fn element(&self, atom: &Atom) -> Seen {
        let last = match atom {
            Atom::Var(v) => self.count(*v).saturating_sub(1),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => 0,
        };
        self.part(atom, last)
    }

    /// How many parts a variable has.
    fn count(&self, v: Var) -> usize {
        self.vars[self.f].parts(v.0 as usize).len()
    }

    fn see(&mut self, v: Var, part: usize, seen: Seen) -> bool {
        self.vars[self.f].see(v.0 as usize, part, seen)
    }

    /// A variable is anything.
    fn different(&mut self, v: Var) {
        for part in 0..self.count(v) {
            self.see(v, part, Seen::Different);
        }
    }

    /// A variable is a value; whether that changes anything.
    fn is(&mut self, v: Var, atom: &Atom) -> bool {
        self.from(v, 0, atom, 0)
    }

    /// The parts of a variable from one on are those of a value from another on.
    fn from(&mut self, v: Var, first: usize, atom: &Atom, from: usize) -> bool {
        let mut changed = false;
        for part in first..self.count(v) {
            let seen = self.part(atom, from + part - first);
            changed |= self.see(v, part, seen);
        }
        changed
    }

    fn all(&mut self, results: &[Var], atoms: &[Atom]) {
        for (result, atom) in results.iter().zip(atoms) {
            self.is(*result, atom);
        }
    }

    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    /// A region, and its results for those of its statement.
    fn region(&mut self, block: &Block, results: &[Var]) {
        deep(|| self.block(block));
        self.all(results, &block.results);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let results = &stmt.results[..];
        match &stmt.op {
            Op::If { cond, then, otherwise } => {
                let cond = self.part(cond, 0);
                if !matches!(cond, Seen::Nothing | Seen::Bool(false)) {
                    self.region(then, results);
                }
                if !matches!(cond, Seen::Nothing | Seen::Bool(true)) {
                    self.region(otherwise, results);
                }
            }
            Op::Switch { on, arms, default } => {
                let on = self.part(on, 0);
                let arm = |value: i64| on == Seen::Different || on == Seen::Int(value);
                for (_, block) in arms.iter().filter(|(value, _)| arm(*value)) {
                    self.region(block, results);
                }
                let chosen = arms.iter().any(|(value, _)| on == Seen::Int(*value));
                if let Some(block) = default.as_ref().filter(|_| on != Seen::Nothing && !chosen) {
                    self.region(block, results);
                }
            }
            Op::For { index, carried, body, .. } => {
                self.different(*index);
                self.loops(carried, &[body], results);
            }
            Op::While { carried, cond, body } => self.loops(carried, &[cond, body], results),
            Op::Build { count, index, body } => {
                self.different(*index);
                deep(|| self.block(body));
                let count = self.part(count, 0);
                for (result, atom) in results.iter().zip(&body.results) {
                    self.see(*result, 0, count);
                    let last = self.count(*result) - 1;
                    for part in 1..last {
                        // An array without rows has no sizes of rows.
                        let some = matches!(count, Seen::Int(1..));
                        let size = self.part(atom, part - 1);
                        self.see(*result, part, if some { size } else { Seen::Different });
                    }
                    self.see(*result, last, self.element(atom));
                }
            }
            Op::Reduce { index, body, .. } => {
                self.different(*index);
                deep(|| self.block(body));
                results.iter().for_each(|result| self.different(*result));
            }
            Op::Call(f, args) => self.call(f.0 as usize, args, results),
            Op::Constant(c) => {
                self.call(self.module.constants[c.0 as usize].init.0 as usize, &[], results)
            }
            op => {
                if let [result] = results {
                    self.leaf(op, *result);
                } else {
                    results.iter().for_each(|result| self.different(*result));
                }
            }
        }
    }

    /// A loop: the carried variables are what they begin with or what a step gives, and so are the results.
    fn loops(&mut self, carried: &[Carried], regions: &[&Block], results: &[Var]) {
        for c in carried {
            self.is(c.param, &c.init);
        }
        regions.iter().for_each(|region| deep(|| self.block(region)));
        let step = regions.last().map_or(&[][..], |body| &body.results);
        for ((c, step), result) in carried.iter().zip(step).zip(results) {
            self.again |= self.is(c.param, step);
            self.is(*result, &Atom::Var(c.param));
        }
    }

    fn call(&mut self, f: usize, args: &[Atom], results: &[Var]) {
        let mut open = !std::mem::replace(&mut self.reached[f], true);
        for (param, arg) in self.module.functions[f].params.iter().zip(args) {
            for part in 0..self.vars[f].parts(param.0 as usize).len() {
                let seen = self.part(arg, part);
                open |= self.vars[f].see(param.0 as usize, part, seen);
            }
        }
        self.open[f] |= open;
        for (i, result) in results.iter().enumerate() {
            for part in 0..self.count(*result) {
                self.see(*result, part, self.results[f].parts(i)[part]);
            }
        }
    }

    /// An operation without regions, with one result.
    fn leaf(&mut self, op: &Op, result: Var) {
        let all = self.count(result);
        match op {
            Op::Select(cond, a, b) => {
                let cond = self.part(cond, 0);
                if !matches!(cond, Seen::Nothing | Seen::Bool(false)) {
                    self.is(result, a);
                }
                if !matches!(cond, Seen::Nothing | Seen::Bool(true)) {
                    self.is(result, b);
                }
            }
            Op::Int(op, xs) | Op::IntFits(op, xs) => {
                let x = |at: usize| xs.get(at).map_or(Seen::Int(0), |x| self.part(x, 0));
                self.see(result, 0, int(*op, x(0), x(1)));
            }
            Op::Dim(array, k) => _ = self.from(result, 0, array, usize::from(*k)),
            Op::Get(from, at) | Op::AccView(from, at) => _ = self.from(result, 0, from, at.len()),
            Op::Slice { array: from, lo, hi } | Op::AccSlice { acc: from, lo, hi } => {
                let size = int(IntOp::Sub, self.part(hi, 0), self.part(lo, 0));
                self.see(result, 0, size);
                self.from(result, 1, from, 1);
            }
            Op::Update { array, value, .. } => {
                self.is(result, array);
                self.see(result, all - 1, self.element(value));
            }
            Op::Elements(_, xs) => {
                self.see(result, 0, Seen::Int(xs.len() as i64));
                for x in xs {
                    self.from(result, 1, x, 0);
                }
            }
            Op::Rows(rows) => {
                self.see(result, 0, Seen::Int(rows.len() as i64));
                for row in rows {
                    self.from(result, 1, row, 0);
                }
            }
            Op::Empty(..) => {
                self.see(result, 0, Seen::Int(0));
                for part in 1..all - 1 {
                    self.see(result, part, Seen::Different);
                }
            }
            Op::Append(a, b) => {
                self.see(result, 0, int(IntOp::Add, self.part(a, 0), self.part(b, 0)));
                for from in [a, b] {
                    self.from(result, 1, from, 1);
                }
            }
            Op::Reshape(array, sizes) => {
                self.sizes(result, sizes);
                self.see(result, all - 1, self.element(array));
            }
            Op::AccNew(sizes) | Op::AccReshape(_, sizes) => self.sizes(result, sizes),
            Op::AccGet(acc) if all > 1 => {
                self.from(result, 0, acc, 0);
            }
            Op::Field { object, tag, index } => {
                for part in 0..all {
                    let variant = self.variant(self.f, object, *tag);
                    let seen = variant.map(|(values, _)| values.parts(*index as usize)[part]);
                    self.see(result, part, seen.unwrap_or(Seen::Different));
                }
            }
            Op::New(id, tag, fields) => self.new_box(*id, *tag, fields),
            _ => self.different(result),
        }
    }

    fn sizes(&mut self, result: Var, sizes: &[Atom]) {
        for (part, size) in sizes.iter().enumerate() {
            self.see(result, part, self.part(size, 0));
        }
    }

    fn new_box(&mut self, id: BoxId, tag: u32, fields: &[Atom]) {
        let Some((mut values, readers)) = self.fields.remove(&(id, tag)) else { return };
        let mut changed = false;
        for (i, field) in fields.iter().enumerate() {
            for part in 0..values.parts(i).len() {
                changed |= values.see(i, part, self.part(field, part));
            }
        }
        if changed {
            readers.iter().for_each(|reader| self.open[*reader] |= self.reached[*reader]);
        }
        self.fields.insert((id, tag), (values, readers));
    }
}

/// An operation on Ints.
fn int(op: IntOp, a: Seen, b: Seen) -> Seen {
    match (a, b) {
        (Seen::Nothing, _) | (_, Seen::Nothing) => Seen::Nothing,
        (Seen::Int(a), Seen::Int(b)) => apply(op, a, b).map_or(Seen::Different, Seen::Int),
        _ => Seen::Different,
    }
}
