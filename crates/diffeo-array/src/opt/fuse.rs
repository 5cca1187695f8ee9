//! Vertical fusion: computes the elements of a comprehension where they are read, so that the array is never made.
//!
//! What it needs: `simplify` before, which takes sizes from where they come from, so that only reads of elements are
//! left; `ranges`, because only what cannot fail is moved freely. A comprehension is fused
//! - into one loop over as many steps that reads it at its index (at the start of a step, shared by all reads);
//! - into the one place that reads it, if no element is read twice there: outside of loops, or at indices that are
//!   different in each step of all the loops around;
//! - into a few places, if an element is as cheap as reading it, or if the places are certain to read different ones
//!   (the first element, and in a loop the others).
//!
//! Why it is right: the body has no effects and sees only what does not change, so it gives the same wherever it is
//! evaluated for an index below the count, and every read has such an index. A body that can stop the program is fused
//! only into a loop over the same indices that does nothing else of that kind and whose effects come next: then the
//! same index fails first.

use super::effects::{speculative_cost, Effect, Effects};
use super::shapes::Shapes;
use crate::ir::walk::{
    binders, deep, has_regions, operands, operands_mut, regions, regions_mut, same, size, var,
    Copier,
};
use crate::ir::{Atom, Block, Function, Module, Op, Stmt, Var, VarInfo};
use diffeo_calculus::prim::IntOp;
use hashbrown::{HashMap, HashSet};

/// Maximum cost of an element, in additions, to be computed at several places.
const CHEAP: u32 = 6;

/// Maximum cost of an element, if one place reads an element more than once.
const FREE: u32 = 2;

/// Maximum number of places into which an element may be duplicated.
const PLACES: usize = 4;

/// Maximum size of a body that is duplicated where each element is still computed once.
const APART: usize = 60;

/// Maximum size of a body that is fused, so that none is moved on again and again.
const LARGE: usize = 1000;

/// How many statements the search for the next loop covers.
const NEAR: usize = 40;

/// Vertical fusion: see the head of the file.
pub fn fuse(mut module: Module) -> Module {
    let effects = Effects::of(&module);
    for function in &mut module.functions {
        let mut survey = Survey::of(function, &effects);
        if !survey.fusable {
            continue;
        }
        let body = std::mem::take(&mut function.body);
        let mut cx = Fuse {
            vars: std::mem::take(&mut function.vars),
            survey: &mut survey,
            at_loop: HashMap::new(),
            at_reads: HashMap::new(),
            next: 0,
            subst: HashMap::new(),
            rows: HashMap::new(),
            made_here: HashSet::new(),
        };
        function.body = cx.block(body);
        function.vars = cx.vars;
    }
    module
}

/// How an array is used.
#[derive(Clone, Default)]
struct Uses {
    /// Otherwise than by reading elements.
    other: bool,
    reads: usize,
    /// The loop at whose index all reads are, of which there is one.
    loops: Option<Option<Var>>,
    /// Whether all reads are outside of loops, seen from the array.
    straight: bool,
    /// Whether there are reads of elements of rows.
    within_rows: bool,
    /// The constants at which reads outside of loops are.
    constants: Vec<i64>,
    /// By how much the indices of reads in a loop lie above the loop's index.
    shifts: Vec<i64>,
    /// Whether each read is at other indices in each step of the loops around it.
    distinct: bool,
}

impl Uses {
    /// Whether the reads are at a few constants and, in one loop, above them, so that none meets another.
    fn are_apart(&self) -> bool {
        let mut constants = self.constants.clone();
        constants.sort_unstable();
        constants.dedup();
        let above = |n: &i64| self.shifts.iter().all(|shift| n < shift);
        !self.within_rows
            && self.constants.len() == constants.len()
            && self.constants.len() + self.shifts.len() == self.reads
            && constants.iter().all(above)
    }
}

/// What is known before anything is changed.
struct Survey {
    uses: Vec<Uses>,
    /// How many loops there are around the definition of a variable.
    depth: Vec<u32>,
    /// The Int operations `x + y`, `x - y` that give a variable.
    sums: Vec<Option<(IntOp, Atom, Atom)>>,
    /// The counts of the loops with these indices.
    counts: HashMap<Var, Atom>,
    /// Of statements, in the order of the text: the effects with the regions, whether there are others than
    /// those of the regions, and how many statements there are.
    stmts: Vec<(Effect, bool, u32)>,
    /// Of the loops with these indices, the effects of the body.
    bodies: HashMap<Var, Effect>,
    fusable: bool,
}

impl Survey {
    fn of(function: &Function, effects: &Effects) -> Survey {
        let count = function.vars.len();
        let mut survey = Survey {
            uses: vec![Uses { straight: true, distinct: true, ..Uses::default() }; count],
            depth: vec![0; count],
            sums: vec![None; count],
            counts: HashMap::new(),
            stmts: Vec::new(),
            bodies: HashMap::new(),
            fusable: false,
        };
        let shapes = Shapes::of_rows(function);
        survey.block(function, effects, &shapes, &function.body, &mut Vec::new());
        survey
    }

    fn block(
        &mut self,
        function: &Function,
        effects: &Effects,
        shapes: &Shapes,
        block: &Block,
        path: &mut Vec<Option<Var>>,
    ) -> Effect {
        let mut all = Effect::NONE;
        for stmt in &block.stmts {
            let number = self.stmts.len();
            self.stmts.push((Effect::NONE, false, 0));
            let own = effects.own(stmt, shapes, &function.vars);
            let mut effect = own;
            self.uses_of(&stmt.op, path);
            for v in &stmt.results {
                self.depth[v.0 as usize] = path.len() as u32;
            }
            if let (Op::Int(op, xs) | Op::IntFits(op, xs), [v]) = (&stmt.op, &stmt.results[..]) {
                if let (IntOp::Add | IntOp::Sub, [x, y]) = (op, &xs[..]) {
                    self.sums[v.0 as usize] = Some((*op, x.clone(), y.clone()));
                }
            }
            if has_regions(&stmt.op) {
                let index = match &stmt.op {
                    Op::For { index, count, .. }
                    | Op::Build { index, count, .. }
                    | Op::Reduce { index, count, .. } => {
                        self.counts.insert(*index, count.clone());
                        Some(Some(*index))
                    }
                    Op::While { .. } => Some(None),
                    _ => None,
                };
                self.fusable |= matches!(stmt.op, Op::Build { .. });
                path.extend(index);
                binders(&stmt.op, |v| self.depth[v.0 as usize] = path.len() as u32);
                let mut inner = Effect::NONE;
                deep(|| {
                    regions(&stmt.op, |r| {
                        inner = inner.and(self.block(function, effects, shapes, r, path));
                    });
                });
                if let Some(index) = index {
                    path.pop();
                    if let Some(index) = index {
                        self.bodies.insert(index, inner);
                    }
                }
                effect = effect.and(inner);
            }
            self.stmts[number] = (effect, own.any(), (self.stmts.len() - number) as u32);
            all = all.and(effect);
        }
        for atom in &block.results {
            if let Atom::Var(v) = atom {
                self.uses[v.0 as usize].other = true;
            }
        }
        all
    }

    fn uses_of(&mut self, op: &Op, path: &[Option<Var>]) {
        let Op::Get(Atom::Var(array), indices) = op else {
            operands(op, |a| {
                if let Atom::Var(v) = a {
                    self.uses[v.0 as usize].other = true;
                }
            });
            return;
        };
        for index in indices {
            if let Atom::Var(v) = index {
                self.uses[v.0 as usize].other = true;
            }
        }
        let inner = path.get(self.depth[array.0 as usize] as usize..).unwrap_or_default();
        let outermost = inner.first().copied().flatten();
        let at = outermost.filter(|i| indices[0] == Atom::Var(*i));
        let covered = {
            let mut left: Vec<Option<Var>> = inner.to_vec();
            for index in indices {
                if let Some(i) = self.moves_with(index, inner, self.depth[array.0 as usize]) {
                    left.retain(|j| *j != Some(i));
                }
            }
            left.is_empty()
        };
        let shift = match inner {
            [Some(i)] => self.shift(&indices[0], *i),
            _ => None,
        };
        let uses = &mut self.uses[array.0 as usize];
        match (&indices[0], shift) {
            (Atom::Int(n), _) if inner.is_empty() && uses.constants.len() < PLACES => {
                uses.constants.push(*n);
            }
            (_, Some(n)) if uses.shifts.is_empty() => uses.shifts.push(n),
            (_, _) => {}
        }
        uses.loops = match uses.loops {
            None => Some(at),
            Some(before) => Some(before.filter(|b| Some(*b) == at)),
        };
        uses.reads += 1;
        uses.within_rows |= indices.len() > 1;
        uses.straight &= inner.is_empty();
        uses.distinct &= covered;
    }

    /// By how much an Int lies above the index of a loop.
    fn shift(&self, index: &Atom, i: Var) -> Option<i64> {
        match self.sums[var(index)?.0 as usize].as_ref()? {
            (IntOp::Add, x, Atom::Int(n)) if var(x) == Some(i) => Some(*n),
            (_, _, _) => None,
        }
    }

    /// The loop in each step of which an Int is another one, while nothing else changes it.
    fn moves_with(&self, index: &Atom, inner: &[Option<Var>], depth: u32) -> Option<Var> {
        let is_index = |a: &Atom| var(a).filter(|v| inner.contains(&Some(*v)));
        let fixed = |a: &Atom| var(a).is_none_or(|v| self.depth[v.0 as usize] <= depth);
        if let Some(i) = is_index(index) {
            return Some(i);
        }
        match self.sums[var(index)?.0 as usize].as_ref()? {
            (_, x, y) if fixed(y) => is_index(x),
            (_, x, y) if fixed(x) => is_index(y),
            (_, _, _) => None,
        }
    }
}

/// A comprehension that is not made.
struct Producer {
    index: Var,
    body: Block,
    results: Vec<Var>,
    /// Whether the body may be used up by the first place that needs it.
    once: bool,
}

struct Fuse<'a> {
    vars: Vec<VarInfo>,
    survey: &'a mut Survey,
    /// What is to be computed at the start of the steps of the loop with this index.
    at_loop: HashMap<Var, Vec<Producer>>,
    /// By result, the producer that is computed where it is read.
    at_reads: HashMap<Var, std::rc::Rc<std::cell::RefCell<Producer>>>,
    /// The number of the next statement of the survey.
    next: usize,
    subst: HashMap<Var, Atom>,
    /// The elements at the index of the loop that an array went into.
    rows: HashMap<Var, Atom>,
    /// Elements that were computed for one read.
    made_here: HashSet<Var>,
}

enum ProducerPlace {
    Loop(Var),
    Reads { once: bool },
}

impl Fuse<'_> {
    fn resolve(&self, atom: &Atom) -> Atom {
        let mut atom = atom;
        while let Some(new) = var(atom).and_then(|v| self.subst.get(&v)) {
            atom = new;
        }
        atom.clone()
    }

    fn block(&mut self, block: Block) -> Block {
        let mut out = Vec::with_capacity(block.stmts.len());
        let mut stmts = block.stmts.into_iter();
        while let Some(stmt) = stmts.next() {
            let number = self.next;
            self.next += 1;
            self.stmt(stmt, number, stmts.as_slice(), &mut out);
        }
        Block { stmts: out, results: block.results.iter().map(|a| self.resolve(a)).collect() }
    }

    fn stmt(&mut self, mut stmt: Stmt, number: usize, following: &[Stmt], out: &mut Vec<Stmt>) {
        operands_mut(&mut stmt.op, |a| *a = self.resolve(a));
        if let (Op::Get(Atom::Var(array), indices), [v]) = (&stmt.op, &stmt.results[..]) {
            let element = match self.rows.get(array) {
                Some(row) => Some(row.clone()),
                None => match self.at_reads.get(array).cloned() {
                    Some(producer) => self.read(*array, &producer, &indices[0], out),
                    None => None,
                },
            };
            if let Some(mut element) = element {
                let mut rest = indices[1..].to_vec();
                while let Some(inner) = rest.first().and_then(|i| self.within_row(&element, i, out))
                {
                    element = inner;
                    rest.remove(0);
                }
                if rest.is_empty() {
                    self.subst.insert(*v, element);
                    return;
                }
                stmt.op = Op::Get(element, rest);
            }
            out.push(stmt);
            return;
        }
        if !has_regions(&stmt.op) {
            out.push(stmt);
            return;
        }
        let index = match &stmt.op {
            Op::For { index, .. } | Op::Build { index, .. } | Op::Reduce { index, .. } => {
                Some(*index)
            }
            _ => None,
        };
        deep(|| {
            regions_mut(&mut stmt.op, |r| {
                let start = self.start(index);
                let mut block = self.block(std::mem::take(r));
                if !start.is_empty() {
                    block.stmts.splice(0..0, start);
                }
                *r = block;
            });
        });
        if let Op::Build { count, index, body } = &mut stmt.op {
            match self.place(&stmt.results, count, body, number, following) {
                None => {}
                Some(place) => {
                    let producer = Producer {
                        index: *index,
                        body: std::mem::take(body),
                        results: stmt.results,
                        once: matches!(place, ProducerPlace::Reads { once: true }),
                    };
                    if let ProducerPlace::Loop(index) = place {
                        // What can stop the program is in that loop now; nothing else of the kind goes there.
                        let effect = self.survey.stmts[number].0;
                        let inner = self.survey.bodies.entry(index).or_default();
                        *inner = inner.and(effect);
                    }
                    self.keep(producer, &place);
                    return;
                }
            }
        }
        out.push(stmt);
    }

    /// What is computed at the start of a step of a loop.
    fn start(&mut self, index: Option<Var>) -> Vec<Stmt> {
        let mut start = Vec::new();
        let Some(index) = index else { return start };
        for producer in self.at_loop.remove(&index).unwrap_or_default() {
            self.subst.insert(producer.index, Atom::Var(index));
            let mut body = producer.body;
            self.rename(&mut body);
            for (array, element) in producer.results.iter().zip(&body.results) {
                self.rows.insert(*array, element.clone());
            }
            start.append(&mut body.stmts);
        }
        start
    }

    /// Replaces variables in a block that is done but for them.
    fn rename(&self, block: &mut Block) {
        for stmt in &mut block.stmts {
            operands_mut(&mut stmt.op, |a| *a = self.resolve(a));
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |r| self.rename(r)));
            }
        }
        block.results.iter_mut().for_each(|a| *a = self.resolve(a));
    }

    /// The element of an array at an index, computed here.
    fn read(
        &mut self,
        array: Var,
        producer: &std::cell::RefCell<Producer>,
        index: &Atom,
        out: &mut Vec<Stmt>,
    ) -> Option<Atom> {
        let mut producer = producer.borrow_mut();
        let which = producer.results.iter().position(|v| *v == array)?;
        let body = if producer.once {
            self.subst.insert(producer.index, index.clone());
            let mut body = std::mem::take(&mut producer.body);
            self.rename(&mut body);
            body
        } else {
            let map = HashMap::from([(producer.index, index.clone())]);
            let mut copier = Copier { source: None, vars: &mut self.vars, map, site: |site| site };
            copier.block(&producer.body)
        };
        self.element(body, which, out)
    }

    /// One of the results of a body that is put here.
    fn element(&mut self, body: Block, which: usize, out: &mut Vec<Stmt>) -> Option<Atom> {
        let element = body.results.into_iter().nth(which)?;
        // What is only named there was made elsewhere, perhaps for others, too.
        let mut made = body.stmts.iter().flat_map(|stmt| &stmt.results);
        self.made_here.extend(var(&element).filter(|v| made.any(|made| made == v)));
        out.extend(body.stmts);
        Some(element)
    }

    /// The element of a row that was just made here for it: the row is not made.
    fn within_row(&mut self, row: &Atom, index: &Atom, out: &mut Vec<Stmt>) -> Option<Atom> {
        let row = var(row)?;
        // Rows that are made at the start of a step are not here.
        let tail = out.len().saturating_sub(NEAR);
        let at = tail + out[tail..].iter().position(|stmt| stmt.results.contains(&row))?;
        let Op::Build { index: i, .. } = &out[at].op else { return None };
        let (i, which) = (*i, out[at].results.iter().position(|v| *v == row)?);
        let mut used = self.rows.values().any(|a| var(a) == Some(row));
        for stmt in &out[at + 1..] {
            used |= has_regions(&stmt.op);
            operands(&stmt.op, |a| used |= var(a).is_some_and(|v| out[at].results.contains(&v)));
        }
        if used || !self.made_here.remove(&row) {
            return None;
        }
        let Stmt { op: Op::Build { mut body, .. }, .. } = out.remove(at) else { return None };
        self.subst.insert(i, index.clone());
        self.rename(&mut body);
        self.element(body, which, out)
    }

    fn keep(&mut self, producer: Producer, place: &ProducerPlace) {
        match place {
            ProducerPlace::Loop(index) => self.at_loop.entry(*index).or_default().push(producer),
            ProducerPlace::Reads { .. } => {
                let results = producer.results.clone();
                let producer = std::rc::Rc::new(std::cell::RefCell::new(producer));
                for v in results {
                    self.at_reads.insert(v, std::rc::Rc::clone(&producer));
                }
            }
        }
    }

    /// Where the elements of a comprehension are computed, if not here.
    fn place(
        &self,
        results: &[Var],
        count: &Atom,
        body: &Block,
        number: usize,
        following: &[Stmt],
    ) -> Option<ProducerPlace> {
        let uses = || results.iter().map(|v| &self.survey.uses[v.0 as usize]);
        let reads: usize = uses().map(|u| u.reads).sum();
        if reads == 0 || uses().any(|u| u.other) || size(body, LARGE) > LARGE {
            return None;
        }
        let (effect, own, _) = self.survey.stmts[number];
        let read = || uses().filter(|u| u.reads > 0);
        let mut loops = read().map(|u| u.loops.flatten());
        let first = loops.next().flatten();
        let common = first.filter(|_| loops.all(|l| l == first));
        let common = common
            .filter(|l| self.survey.counts.get(l).is_some_and(|n| same(&self.resolve(n), count)));
        if !effect.any() {
            if let Some(index) = common {
                return Some(ProducerPlace::Loop(index));
            }
            let whole = read().all(|u| !u.within_rows || u.straight);
            if reads == 1 && read().all(|u| u.distinct) && (whole || has_cheap_start(body)) {
                return Some(ProducerPlace::Reads { once: true });
            }
            // Read again and again in an inner loop, hardly anything is as cheap as reading it.
            let limit = if read().all(|u| u.distinct) { CHEAP } else { FREE };
            let few = reads <= PLACES && cost(body) <= limit;
            let straight = read().all(|u| u.straight) && reads <= PLACES && cost(body) <= 4 * CHEAP;
            let apart = size(body, APART) <= APART && read().all(Uses::are_apart);
            return (few || straight || apart).then_some(ProducerPlace::Reads { once: false });
        }
        // The body may stop the program, the rows fit.
        let stops_only = Effect { stops: true, ..Effect::NONE };
        let index = common.filter(|_| effect == stops_only && !own)?;
        if self.survey.bodies.get(&index)?.any() {
            return None;
        }
        let mut at = number + self.survey.stmts[number].2 as usize;
        for stmt in following.iter().take(NEAR) {
            let mut is_loop = false;
            binders(&stmt.op, |v| is_loop |= v == index);
            if is_loop {
                // Comparing rows would be an effect of the loop itself.
                return (!self.survey.stmts[at].0.any()).then_some(ProducerPlace::Loop(index));
            }
            if self.survey.stmts[at].0.any() {
                return None;
            }
            at += self.survey.stmts[at].2 as usize;
        }
        None
    }
}

/// What an element costs.
fn cost(body: &Block) -> u32 {
    body.stmts.iter().fold(0, |sum: u32, stmt| {
        let cost = match &stmt.op {
            Op::Get(..) | Op::IntFits(..) => Some(1),
            op => speculative_cost(op),
        };
        sum.saturating_add(cost.unwrap_or(1 << 20))
    })
}

/// Whether an element of a row costs little besides itself: the row is a comprehension, which is fused next, and
/// what else belongs to it is cheap.
fn has_cheap_start(body: &Block) -> bool {
    let (loops, start): (Vec<&Stmt>, Vec<&Stmt>) =
        body.stmts.iter().partition(|stmt| matches!(stmt.op, Op::Build { .. }));
    let is_row = |atom: &Atom| var(atom).is_some_and(|v| loops[0].results.contains(&v));
    let start = Block { stmts: start.into_iter().cloned().collect(), results: Vec::new() };
    loops.len() == 1 && body.results.iter().all(is_row) && cost(&start) <= CHEAP
}
