//! Residuals of recursion: functions that call each other keep theirs on a tape, which the forward parts write one
//! behind the other and the backward parts read by position.
//!
//! A tape is two arrays of one size, of Ints and Reals, which the forward parts hand on, changed in place, with the
//! position up to which they are filled; and an array of boxes for residuals that are no numbers, which grows by one for
//! each. In place of its residuals a forward part gives a position: that of its *record*, or the only number that it keeps.
//! Counted loops keep their numbers on the tape, too. Callers that do not belong to the recursion begin a new tape, and the
//! arrays are residuals as any others are.
//!
//! Parameters that each call within the recursion computes from such parameters alone, without much work (itself, a slice,
//! an index and 1), are not kept: the backward part of the caller has them and passes them on ([`Recursion::inherited`]).
//!
//! The forward part is made as if the tape were one thing that changes: puts into an array that is left out, calls without
//! it. [`thread`] puts it in when the function is complete.

use super::scope::{is_simple, BackwardScope};
use super::{box_type, Reverser};
use crate::ad::helpers::{complete, declare};
use crate::ad::Deriver;
use crate::build::Builder;
use crate::ir::walk::{deep, has_regions, operands, regions_mut, statements};
use crate::ir::{
    Atom, Block, BoxId, Carried, Elem, FlatTy, FunctionId, Module, Op, Scalar, SiteId, Stmt, Var,
    VarInfo, Variant,
};
use diffeo_base::Components;
use diffeo_calculus::prim::{Comparison, IntOp};
use hashbrown::{HashMap, HashSet};

/// The number of values that a tape is: the position up to which it is filled, and its arrays.
pub(super) const PARTS: usize = 4;

/// The tape of functions that call each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ad) struct Tape {
    /// The type of boxes for residuals that are no numbers, with a variant for each function.
    others: BoxId,
    /// Makes the arrays of numbers longer, by so many elements.
    grow: FunctionId,
}

impl Tape {
    /// The types of its parts.
    pub fn types(self) -> [FlatTy; PARTS] {
        let array = |elem| FlatTy::Array(elem, 1);
        [FlatTy::Int, array(Elem::Int), array(Elem::Real), array(Elem::Box(self.others))]
    }

    /// The parts of an empty one: operations that make its arrays.
    pub fn empty(self) -> [Op; PARTS - 1] {
        [Elem::Int, Elem::Real, Elem::Box(self.others)].map(|elem| Op::Empty(elem, 1))
    }
}

/// Functions that call each other.
#[derive(Clone, Debug)]
pub(in crate::ad) struct Recursion {
    /// The first of them.
    pub of: FunctionId,
    /// The parameters that callers among them can compute from theirs that are inherited.
    pub inherited: Vec<bool>,
}

/// The tape of the recursion of this function. What is derived after boxes of a tape were derived themselves has a new one:
/// no variant may be added to theirs.
pub(super) fn tape(module: &mut Module, cache: &mut Deriver, of: FunctionId) -> Tape {
    if let Some(tape) = cache.tapes.get(&of).filter(|tape| !cache.has_shadow(tape.others)) {
        return *tape;
    }
    let name = module.functions[of.0 as usize].name.clone();
    let others = box_type(module, &name);
    module.boxes[others.0 as usize].variants.clear();
    let arrays = [Elem::Int, Elem::Real];
    let mut b = Builder::new(SiteId(0));
    let needed = b.param(FlatTy::Int, None);
    let old = arrays.map(|elem| b.param(FlatTy::Array(elem, 1), None));
    let results = arrays.iter().map(|elem| FlatTy::Array(*elem, 1)).collect();
    let grow = declare(module, &b, format!("{name}.grow").into(), results);
    let made = arrays.iter().zip(old).map(|(elem, old)| {
        let index = b.var(FlatTy::Int, None);
        let body = b.block(|_| vec![Atom::Unused(elem.ty())]);
        let more = b.one(module, Op::Build { count: needed.clone(), index, body });
        b.one(module, Op::Append(old, more))
    });
    let made = made.collect();
    complete(module, grow, b, made);
    let tape = Tape { others, grow };
    cache.tapes.insert(of, tape);
    tape
}

/// Finds the recursions that a function leads to.
pub(super) fn find_recursions(module: &Module, cache: &mut Deriver, function: FunctionId) {
    let mut ids = vec![function];
    let mut numbers: HashMap<FunctionId, usize> = HashMap::new();
    numbers.insert(function, 0);
    let mut callees: Vec<Vec<usize>> = Vec::new();
    while let Some(id) = ids.get(callees.len()) {
        let mut out = Vec::new();
        statements(&module.functions[id.0 as usize].body, &mut |stmt| {
            let Op::Call(callee, _) = &stmt.op else { return };
            // A call that is computed again has a tape of its own.
            if !cache.checkpoints.contains(callee) && !cache.detached.contains(callee) {
                out.push(*callee);
            }
        });
        let number = |callee| {
            *numbers.entry(callee).or_insert_with(|| {
                ids.push(callee);
                ids.len() - 1
            })
        };
        callees.push(out.into_iter().map(number).collect());
    }
    let components = Components::new(ids.len(), |f, i| callees[f].get(i).copied());
    for members in components.members {
        if components.recursive[members[0]] {
            let members: Vec<FunctionId> = members.into_iter().map(|f| ids[f]).collect();
            recursion(module, cache, &members);
        }
    }
}

/// Finds what the functions of a recursion inherit: at most what all calls compute, to begin with everything.
fn recursion(module: &Module, cache: &mut Deriver, members: &[FunctionId]) {
    let Some(of) = members.iter().min_by_key(|id| id.0).copied() else { return };
    let function = |id: FunctionId| &module.functions[id.0 as usize];
    let immutable = |id: FunctionId| {
        let f = function(id);
        f.params.iter().map(|v| !f.vars[v.0 as usize].ty.is_mutable()).collect()
    };
    let mut inherited: HashMap<FunctionId, Vec<bool>> =
        members.iter().map(|id| (*id, immutable(*id))).collect();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for id in members {
            let function = function(*id);
            let params = function.params.iter().zip(&inherited[id]);
            let mut known: HashSet<Var> =
                params.filter(|(_, inherited)| **inherited).map(|(v, _)| *v).collect();
            statements(&function.body, &mut |stmt| {
                match &stmt.op {
                    Op::For { index, .. } | Op::Build { index, .. } | Op::Reduce { index, .. } => {
                        known.insert(*index);
                    }
                    _ => {}
                }
                let is_known = |atom: &Atom| is_known_in(atom, &known);
                match &stmt.op {
                    Op::Call(callee, args) => {
                        let Some(params) = inherited.get_mut(callee) else { return };
                        for (param, arg) in params.iter_mut().zip(args) {
                            changed |= *param && !is_known(arg);
                            *param &= is_known(arg);
                        }
                    }
                    // A choice, for which both ways are there.
                    Op::If { cond, then, otherwise } => {
                        let cheap = |block: &Block| {
                            let stmts = block.stmts.iter();
                            let own: HashSet<Var> =
                                stmts.flat_map(|stmt| &stmt.results).copied().collect();
                            let there =
                                |atom: &Atom| is_known_in(atom, &known) || is_known_in(atom, &own);
                            block.results.iter().all(there)
                                && block.stmts.iter().all(|stmt| {
                                    let mut all = is_cheap(&stmt.op);
                                    operands(&stmt.op, |atom| all &= there(atom));
                                    all
                                })
                        };
                        if is_known(cond) && cheap(then) && cheap(otherwise) {
                            known.extend(&stmt.results);
                        }
                    }
                    op if is_cheap(op) => {
                        let mut all = true;
                        operands(op, |atom| all &= is_known(atom));
                        if all {
                            known.extend(&stmt.results);
                        }
                    }
                    _ => {}
                }
            });
        }
    }
    for (id, inherited) in inherited {
        cache.recursions.insert(id, Recursion { of, inherited });
    }
}

/// An operation takes a number, or a part of an array or box, from what is there.
pub(super) fn is_cheap(op: &Op) -> bool {
    is_simple(op)
        || matches!(
            op,
            Op::Dim(..)
                | Op::Get(..)
                | Op::Slice { .. }
                | Op::Reshape(..)
                | Op::Field { .. }
                | Op::Tag(_)
        )
}

fn is_known_in(atom: &Atom, known: &HashSet<Var>) -> bool {
    match atom {
        Atom::Var(v) => known.contains(v),
        Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => true,
    }
}

/// The numbers that a region keeps on the tape: variables of the forward and the backward part, and the first place of each in its
/// array, in units of a loop's steps.
#[derive(Default)]
pub(super) struct TapeSlots {
    numbers: Vec<(Var, Var, Elem, i64)>,
    /// The number of places.
    places: i64,
}

impl TapeSlots {
    fn of(numbers: Vec<(Var, Var, Elem)>) -> TapeSlots {
        let (mut ints, mut reals) = (0, 0);
        let place = |(v, var, elem): (Var, Var, Elem)| {
            let next = if elem == Elem::Real { &mut reals } else { &mut ints };
            *next += 1;
            (v, var, elem, *next - 1)
        };
        let numbers = numbers.into_iter().map(place).collect();
        TapeSlots { numbers, places: ints.max(reals) }
    }
}

/// The residuals that a function or a branch puts on the tape.
pub(super) struct TapeRecord {
    /// Statements at the end of the forward part, and the position that it gives.
    pub put: Vec<Stmt>,
    pub position: Atom,
    /// That position in the backward part, and the statements at the beginning of it.
    pub at: Var,
    pub get: Vec<Stmt>,
}

/// The places on the tape of the steps of a loop.
pub(super) struct LoopSlots {
    slots: TapeSlots,
    /// A variable of the forward part: the position of the first place.
    base: Var,
    count: Atom,
}

impl<'s> Reverser<'_, 's> {
    /// Takes from what a counted loop keeps the numbers, if its function has a tape.
    pub fn loop_slots(
        &mut self,
        scope: &BackwardScope<'_>,
        count: Option<&Atom>,
    ) -> Option<LoopSlots> {
        let count = count.filter(|_| scope.tape)?.clone();
        let numbers: Vec<_> = scope.stored.iter().filter_map(|pair| self.number(*pair)).collect();
        if numbers.is_empty() {
            return None;
        }
        let base = self.forward_var(FlatTy::Int, None, self.scopes.len() - 1);
        Some(LoopSlots { slots: TapeSlots::of(numbers), base, count })
    }

    /// A variable that is a number, with its type.
    pub fn number(&self, (v, var): (Var, Var)) -> Option<(Var, Var, Elem)> {
        match self.vars[v.0 as usize].ty {
            FlatTy::Real => Some((v, var, Elem::Real)),
            FlatTy::Int => Some((v, var, Elem::Int)),
            FlatTy::Bool => Some((v, var, Elem::Bool)),
            FlatTy::Text
            | FlatTy::Array(..)
            | FlatTy::Box(_)
            | FlatTy::Acc(_)
            | FlatTy::Stack(_) => None,
        }
    }

    /// Has the step of a loop at an index put its numbers on the tape; gives statements before the loop.
    pub fn put_steps(
        &mut self,
        made: &LoopSlots,
        index: Var,
        body: &mut Block,
        site: SiteId,
    ) -> Vec<Stmt> {
        let Some(tape) = self.tape else { return Vec::new() };
        let home = self.scopes.len() - 1;
        let mut before = Vec::new();
        let steps = self.at_least_0(&made.count, site, &mut before);
        let (steps, places) = (Atom::Var(steps), Atom::Int(made.slots.places));
        let room = self.int_var(home, IntOp::Mul, [steps, places], site, &mut before);
        before.push(Stmt { results: vec![made.base], op: Op::Call(tape.grow, vec![room]), site });
        for (v, _, elem, place) in &made.slots.numbers {
            let first = match place {
                0 => Atom::Var(made.base),
                place => {
                    let factors = [made.count.clone(), Atom::Int(*place)];
                    let offset = self.int_var(home, IntOp::Mul, factors, site, &mut before);
                    let sum = [Atom::Var(made.base), offset];
                    self.int_var(home, IntOp::Add, sum, site, &mut before)
                }
            };
            self.put_within(body, (Atom::Var(*v), *elem), [first, Atom::Var(index)], site);
        }
        before
    }

    /// Puts a value at a place of the tape at the end of a block: of the branches that gave it, those that did.
    fn put_within(
        &mut self,
        block: &mut Block,
        (value, elem): (Atom, Elem),
        at: [Atom; 2],
        site: SiteId,
    ) {
        let of = |(i, stmt): (usize, &Stmt)| {
            let k = stmt.results.iter().position(|v| Atom::Var(*v) == value)?;
            matches!(stmt.op, Op::If { .. } | Op::Switch { .. }).then_some((i, k))
        };
        let Some((i, k)) = block.stmts.iter().enumerate().rev().find_map(of) else {
            if !matches!(value, Atom::Unused(_)) {
                let home = self.scopes.len();
                let at = self.int_var(home, IntOp::Add, at, site, &mut block.stmts);
                self.put((value, elem), at, site, &mut block.stmts);
            }
            return;
        };
        regions_mut(&mut block.stmts[i].op, |arm| {
            let value = arm.results[k].clone();
            deep(|| self.put_within(arm, (value, elem), at.clone(), site));
        });
    }

    /// Statements of the backward part that read what the step at an index has put on the tape.
    pub fn get_steps(&mut self, made: &LoopSlots, index: &Atom, site: SiteId) -> Vec<Stmt> {
        let base = self.primal(&Atom::Var(made.base));
        let count = self.primal(&made.count);
        let mut stmts = Vec::new();
        for (_, var, elem, place) in &made.slots.numbers {
            let first = match place {
                0 => base.clone(),
                place => {
                    let offset = Op::IntFits(IntOp::Mul, vec![count.clone(), Atom::Int(*place)]);
                    let offset = self.one(offset);
                    self.one(Op::IntFits(IntOp::Add, vec![base.clone(), offset]))
                }
            };
            let from = self.place([first, index.clone()], site, &mut stmts);
            self.get(*var, *elem, from, site, &mut stmts);
        }
        stmts
    }

    /// An operation on Ints of the forward part.
    fn int_var(
        &mut self,
        home: usize,
        op: IntOp,
        args: [Atom; 2],
        site: SiteId,
        stmts: &mut Vec<Stmt>,
    ) -> Atom {
        if let (IntOp::Add, [a, Atom::Int(0)]) = (op, &args) {
            return a.clone();
        }
        let result = self.forward_var(FlatTy::Int, None, home);
        stmts.push(Stmt { results: vec![result], op: Op::IntFits(op, args.into()), site });
        Atom::Var(result)
    }

    /// Puts a value of the forward part on the tape.
    fn put(&mut self, (value, elem): (Atom, Elem), at: Atom, site: SiteId, stmts: &mut Vec<Stmt>) {
        let home = self.scopes.len();
        let (value, elem) = match elem {
            Elem::Bool => {
                let number = self.forward_var(FlatTy::Int, None, home);
                let op = Op::Select(value, Atom::Int(1), Atom::Int(0));
                stmts.push(Stmt { results: vec![number], op, site });
                (Atom::Var(number), Elem::Int)
            }
            elem => (value, elem),
        };
        let ty = FlatTy::Array(elem, 1);
        let result = self.forward_var(ty.clone(), None, home);
        let op = Op::Update { array: Atom::Unused(ty), indices: vec![at], value };
        stmts.push(Stmt { results: vec![result], op, site });
    }

    /// A place on the tape in the backward part: the sum of two numbers.
    fn place(&mut self, at: [Atom; 2], site: SiteId, stmts: &mut Vec<Stmt>) -> Atom {
        if let [at, Atom::Int(0)] = at {
            return at;
        }
        let index = self.back.var(FlatTy::Int, None);
        stmts.push(Stmt { results: vec![index], op: Op::IntFits(IntOp::Add, at.into()), site });
        Atom::Var(index)
    }

    /// Reads a variable of the backward part from the tape.
    fn get(&mut self, var: Var, elem: Elem, index: Atom, site: SiteId, stmts: &mut Vec<Stmt>) {
        let [ints, reals, boxes] = self.tape_arrays();
        let array = match elem {
            Elem::Real => reals,
            Elem::Int | Elem::Bool => ints,
            Elem::Text | Elem::Box(_) => boxes,
        };
        let op = Op::Get(Atom::Var(array), vec![index]);
        if elem == Elem::Bool {
            let number = self.back.var(FlatTy::Int, None);
            stmts.push(Stmt { results: vec![number], op, site });
            let args = (Atom::Var(number), Atom::Int(0));
            let op = Op::Compare(Comparison::Ne, Scalar::Int, args.0, args.1);
            stmts.push(Stmt { results: vec![var], op, site });
        } else {
            stmts.push(Stmt { results: vec![var], op, site });
        }
    }

    /// The arrays of the tape in the backward part.
    pub fn tape_arrays(&mut self) -> [Var; PARTS - 1] {
        if let Some(arrays) = self.tape_back {
            return arrays;
        }
        let elems = [Elem::Int, Elem::Real, self.tape.map_or(Elem::Int, |t| Elem::Box(t.others))];
        let arrays = elems.map(|elem| self.back.var(FlatTy::Array(elem, 1), None));
        self.tape_back = Some(arrays);
        arrays
    }

    /// Puts what a function, or one of its branches, keeps on the tape.
    pub fn record(&mut self, stored: &[(Var, Var)], site: SiteId) -> TapeRecord {
        let nothing = Atom::Unused(FlatTy::Int);
        let mut made =
            TapeRecord { put: Vec::new(), position: nothing, at: Var(0), get: Vec::new() };
        let Some(tape) = self.tape.filter(|_| !stored.is_empty()) else { return made };
        if let [(v, var)] = stored {
            if self.vars[v.0 as usize].ty == FlatTy::Int {
                (made.position, made.at) = (Atom::Var(*v), *var);
                return made;
            }
        }
        let at = self.back.var(FlatTy::Int, None);
        let numbers: Vec<_> = stored.iter().filter_map(|pair| self.number(*pair)).collect();
        if numbers.len() < stored.len() {
            return self.boxed_record(tape, stored, at, site);
        }
        let (mut put, mut get) = (Vec::new(), Vec::new());
        let slots = TapeSlots::of(numbers);
        let base = self.forward_var(FlatTy::Int, None, 0);
        let op = Op::Call(tape.grow, vec![Atom::Int(slots.places)]);
        put.push(Stmt { results: vec![base], op, site });
        let mut places = Vec::new();
        for place in 0..slots.places {
            let to = [Atom::Var(base), Atom::Int(place)];
            let to = self.int_var(0, IntOp::Add, to, site, &mut put);
            let from = self.place([Atom::Var(at), Atom::Int(place)], site, &mut get);
            places.push((to, from));
        }
        for (v, var, elem, place) in &slots.numbers {
            let (to, from) = places[*place as usize].clone();
            self.put((Atom::Var(*v), *elem), to, site, &mut put);
            self.get(*var, *elem, from, site, &mut get);
        }
        TapeRecord { put, position: Atom::Var(base), at, get }
    }

    /// A record that is not of numbers alone: a box.
    fn boxed_record(
        &mut self,
        tape: Tape,
        stored: &[(Var, Var)],
        at: Var,
        site: SiteId,
    ) -> TapeRecord {
        self.stale |= self.cache.has_shadow(tape.others);
        let types = stored.iter().map(|(v, _)| self.vars[v.0 as usize].ty.clone()).collect();
        let variants = &mut self.module.boxes[tape.others.0 as usize].variants;
        let tag = variants.len() as u32;
        variants.push(Variant { name: format!("Kept{tag}").into(), fields: types });
        let (elem, ty) = (Elem::Box(tape.others), FlatTy::Box(tape.others));
        let boxes = FlatTy::Array(elem, 1);
        let position = self.forward_var(FlatTy::Int, None, 0);
        let object = self.forward_var(ty.clone(), Some("kept".into()), 0);
        let [one, longer] = [(), ()].map(|()| self.forward_var(boxes.clone(), None, 0));
        let left_out = Atom::Unused(boxes);
        let fields = stored.iter().map(|(v, _)| Atom::Var(*v)).collect();
        let put = [
            (position, Op::Dim(left_out.clone(), 0)),
            (object, Op::New(tape.others, tag, fields)),
            (one, Op::Elements(elem, vec![Atom::Var(object)])),
            (longer, Op::Append(left_out, Atom::Var(one))),
        ];
        let put = put.map(|(v, op)| Stmt { results: vec![v], op, site }).into();
        let object = self.back.var(ty, Some("kept".into()));
        let mut get = Vec::new();
        self.get(object, elem, Atom::Var(at), site, &mut get);
        for (index, (_, var)) in stored.iter().enumerate() {
            let op = Op::Field { object: Atom::Var(object), tag, index: index as u32 };
            get.push(Stmt { results: vec![*var], op, site });
        }
        TapeRecord { put, position: Atom::Var(position), at, get }
    }
}

/// Hands a tape on through the forward part of a function; gives what it is at the beginning and the end.
pub(super) fn thread(
    module: &Module,
    vars: &mut Vec<VarInfo>,
    tape: Tape,
    body: &mut Block,
) -> ([Var; PARTS], [Atom; PARTS]) {
    let mut threader = Threader { module, vars, tape, now: [const { Atom::Int(0) }; PARTS] };
    let params = threader.new_parts();
    threader.now = params.map(Atom::Var);
    threader.block(body);
    (params, threader.now)
}

struct Threader<'m> {
    module: &'m Module,
    vars: &'m mut Vec<VarInfo>,
    tape: Tape,
    /// The tape at this place.
    now: [Atom; PARTS],
}

impl Threader<'_> {
    fn var(&mut self, ty: FlatTy) -> Var {
        self.vars.push(VarInfo { ty, name: None });
        Var(self.vars.len() as u32 - 1)
    }

    fn new_parts(&mut self) -> [Var; PARTS] {
        self.tape.types().map(|ty| self.var(ty))
    }

    /// The part of the tape that was left out.
    fn part(&self, array: &Atom) -> usize {
        let is = |ty: &FlatTy| matches!(array, Atom::Unused(left) if left == ty);
        self.tape.types().iter().position(is).unwrap_or_default()
    }

    fn block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            match &mut stmt.op {
                Op::Update { array: array @ Atom::Unused(_), .. }
                | Op::Append(array @ Atom::Unused(_), _) => {
                    let part = self.part(array);
                    *array = self.now[part].clone();
                    self.now[part] = Atom::Var(stmt.results[0]);
                }
                Op::Dim(array @ Atom::Unused(_), _) => *array = self.now[self.part(array)].clone(),
                Op::Call(callee, args) if *callee == self.tape.grow && args.len() == 1 => {
                    let room = args[0].clone();
                    self.reserve(stmt.results[0], room, stmt.site, block);
                    continue;
                }
                Op::Call(callee, args)
                    if args.len() + PARTS
                        == self.module.functions[callee.0 as usize].params.len() =>
                {
                    args.extend(self.now.iter().cloned());
                    let parts = self.new_parts();
                    stmt.results.extend(parts);
                    self.now = parts.map(Atom::Var);
                }
                op if has_regions(op) => deep(|| self.control(&mut stmt)),
                _ => {}
            }
            block.stmts.push(stmt);
        }
    }

    /// Makes room for so many elements, at a position.
    fn reserve(&mut self, base: Var, room: Atom, site: SiteId, block: &mut Block) {
        let [top, ints, reals, boxes] = self.now.clone();
        let fits = |op, a: &Atom, b: Atom| Op::IntFits(op, vec![a.clone(), b]);
        let mut now = |op, ty| {
            let result = self.var(ty);
            block.stmts.push(Stmt { results: vec![result], op, site });
            Atom::Var(result)
        };
        let end = now(fits(IntOp::Add, &top, room), FlatTy::Int);
        let there = now(Op::Dim(ints.clone(), 0), FlatTy::Int);
        let op = Op::Compare(Comparison::Lt, Scalar::Int, there, end.clone());
        let short = now(op, FlatTy::Bool);
        block.stmts.push(Stmt {
            results: vec![base],
            op: fits(IntOp::Add, &top, Atom::Int(0)),
            site,
        });
        let [_, grown @ .., _] = self.new_parts();
        let [_, results @ .., _] = self.new_parts();
        let args = vec![end.clone(), ints.clone(), reals.clone()];
        let call = Stmt { results: grown.into(), op: Op::Call(self.tape.grow, args), site };
        let then = Block { stmts: vec![call], results: grown.map(Atom::Var).into() };
        let otherwise = Block { stmts: Vec::new(), results: vec![ints, reals] };
        let op = Op::If { cond: short, then, otherwise };
        block.stmts.push(Stmt { results: results.into(), op, site });
        let [ints, reals] = results.map(Atom::Var);
        self.now = [end, ints, reals, boxes];
    }

    /// Hands it on through regions: of its parts those that change there.
    fn control(&mut self, stmt: &mut Stmt) {
        let before = self.now.clone();
        match &mut stmt.op {
            Op::If { then, otherwise, .. } => {
                self.branches(&mut stmt.results, vec![then, otherwise]);
            }
            Op::Switch { arms, default, .. } => {
                let arms = arms.iter_mut().map(|(_, arm)| arm).chain(default);
                self.branches(&mut stmt.results, arms.collect());
            }
            Op::For { carried, body, .. } | Op::While { carried, body, .. } => {
                let params = self.new_parts();
                self.now = params.map(Atom::Var);
                self.block(body);
                let after = std::mem::replace(&mut self.now, before.clone());
                for (i, (param, after)) in params.into_iter().zip(after).enumerate() {
                    if after != Atom::Var(param) {
                        carried.push(Carried { param, init: before[i].clone() });
                        body.results.push(after);
                        let result = self.var(self.tape.types()[i].clone());
                        stmt.results.push(result);
                        self.now[i] = Atom::Var(result);
                    }
                }
            }
            // Their steps begin tapes of their own.
            _ => {}
        }
    }

    fn branches(&mut self, results: &mut Vec<Var>, arms: Vec<&mut Block>) {
        let before = self.now.clone();
        let mut ends = Vec::new();
        let mut blocks = Vec::new();
        for arm in arms {
            self.now = before.clone();
            self.block(arm);
            ends.push(self.now.clone());
            blocks.push(arm);
        }
        self.now = before.clone();
        for i in 0..PARTS {
            if ends.iter().any(|end| end[i] != before[i]) {
                for (block, end) in blocks.iter_mut().zip(&ends) {
                    block.results.push(end[i].clone());
                }
                let result = self.var(self.tape.types()[i].clone());
                results.push(result);
                self.now[i] = Atom::Var(result);
            }
        }
    }
}
