//! Residuals of loops: an array for each number and each box, of higher rank for arrays whose sizes are the same in all
//! steps, and an array of boxes for everything else. In a recursion the numbers are on its tape.

use super::prepare::added;
use super::scope::BackwardScope;
use super::tape::LoopSlots;
use super::{box_type, Reverser};
use crate::ad::Residuals;
use crate::ir::{Atom, Block, BoxId, Carried, Elem, FlatTy, Op, Scalar, SiteId, Stmt, Stop, Var};
use crate::opt::shapes::Size;
use diffeo_calculus::prim::{Comparison, IntOp, RealOp};
use hashbrown::HashMap;

/// The residuals of each step of a loop.
pub(super) struct Store {
    /// Numbers on the tape of a recursion.
    slots: Option<LoopSlots>,
    /// Elements of arrays, or rows of these sizes: variables of the forward and the backward part.
    elements: Vec<(Var, Var, Elem, Vec<Atom>)>,
    /// Fields of a box.
    others: Option<(BoxId, Vec<(Var, Var)>)>,
    /// The arrays, in the forward part.
    pub arrays: Vec<Var>,
}

impl<'s> Reverser<'_, 's> {
    /// Chooses the arrays for the residuals of a region that was closed. With the number of steps of its loop, known before it
    /// runs, arrays of one size become rows; else each step keeps a box.
    pub fn store(&mut self, scope: &BackwardScope<'_>, count: Option<&Atom>) -> Store {
        let (mut elements, mut others) = (Vec::new(), Vec::new());
        let slots = self.loop_slots(scope, count);
        for (v, var) in &scope.stored {
            if slots.is_some() && self.number((*v, *var)).is_some() {
                continue;
            }
            match self.vars[v.0 as usize].ty {
                FlatTy::Real => elements.push((*v, *var, Elem::Real, Vec::new())),
                FlatTy::Int => elements.push((*v, *var, Elem::Int, Vec::new())),
                FlatTy::Bool => elements.push((*v, *var, Elem::Bool, Vec::new())),
                FlatTy::Box(id) => elements.push((*v, *var, Elem::Box(id), Vec::new())),
                FlatTy::Array(elem @ (Elem::Real | Elem::Int | Elem::Bool), rank)
                    if count.is_some() =>
                {
                    match (0..rank).map(|k| self.same_size(scope, *v, k)).collect() {
                        Some(sizes) => elements.push((*v, *var, elem, sizes)),
                        None => others.push((*v, *var)),
                    }
                }
                FlatTy::Text | FlatTy::Array(..) | FlatTy::Acc(_) | FlatTy::Stack(_) => {
                    others.push((*v, *var))
                }
            }
        }
        let home = self.scopes.len() - 1;
        let mut arrays: Vec<Var> = Vec::new();
        for (v, _, elem, sizes) in &elements {
            let rank = 1 + sizes.len() as u8;
            let name =
                self.vars[v.0 as usize].name.as_ref().map(|name| format!("{name}_kept").into());
            let array = self.forward_var(FlatTy::Array(*elem, rank), name, home);
            arrays.push(array);
            if let Some(count) = count {
                self.kept_sizes.insert(array, [std::slice::from_ref(count), &sizes[..]].concat());
            }
        }
        let others = (!others.is_empty()).then(|| {
            let id = box_type(self.module, &"loop".into());
            let types = others.iter().map(|(v, _)| self.vars[v.0 as usize].ty.clone()).collect();
            self.module.boxes[id.0 as usize].variants[0].fields = types;
            arrays.push(self.forward_var(
                FlatTy::Array(Elem::Box(id), 1),
                Some("kept".into()),
                home,
            ));
            (id, others)
        });
        Store { slots, elements, others, arrays }
    }

    /// The size in a dimension of an array of a region that was closed, if it is the same in all steps: what knows it
    /// is the array's definition, what is known of sizes, or a check that stops every step where it differs.
    fn same_size(&mut self, scope: &BackwardScope<'_>, v: Var, k: u8) -> Option<Atom> {
        let of_definition = match scope.definition(v).map(|stmt| &stmt.op) {
            Some(Op::Build { count, .. }) if k == 0 => Some(count),
            _ => self.kept_sizes.get(&v).and_then(|sizes| sizes.get(usize::from(k))),
        };
        if let Some(size) = of_definition.filter(|size| self.is_outside(size)) {
            return Some(size.clone());
        }
        match self.shapes.extent(v, k).filter(|extent| extent.always).map(|extent| extent.size) {
            Some(Size::Is(size)) if self.is_outside(&size) => return Some(size),
            Some(Size::Of(other, k)) if self.is_outside(&Atom::Var(other)) => {
                return Some(Atom::Var(self.size_variable(other, k)))
            }
            Some(_) | None => {}
        }
        scope.checked_size(v, k, |size| self.is_outside(size))
    }

    /// Whether an operand is known before the region that was closed.
    fn is_outside(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Var(v) => self.homes[v.0 as usize] < self.scopes.len(),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => true,
        }
    }

    /// Statements at the end of a step of the forward part, and what the step keeps.
    pub fn step_keeps(&mut self, store: &Store, site: SiteId) -> (Vec<Stmt>, Vec<Atom>) {
        let home = self.scopes.len();
        let mut values: Vec<Atom> = store.elements.iter().map(|(v, ..)| Atom::Var(*v)).collect();
        let mut stmts = Vec::new();
        if let Some((id, others)) = &store.others {
            let object = self.forward_var(FlatTy::Box(*id), None, home);
            let op = Op::New(*id, 0, others.iter().map(|(v, _)| Atom::Var(*v)).collect());
            stmts.push(Stmt { results: vec![object], op, site });
            values.push(Atom::Var(object));
        }
        (stmts, values)
    }

    /// The types of the elements of the arrays, and the sizes of rows.
    fn elements(store: &Store) -> Vec<(Elem, Vec<Atom>)> {
        let others = store.others.iter().map(|(id, _)| (Elem::Box(*id), Vec::new()));
        let elements = store.elements.iter().map(|(_, _, elem, sizes)| (*elem, sizes.clone()));
        elements.chain(others).collect()
    }

    /// Statements of the backward part that read what the step at an index has kept.
    pub fn unpack(&mut self, store: &Store, index: &Atom, site: SiteId) -> Vec<Stmt> {
        let mut stmts = match &store.slots {
            Some(slots) => self.get_steps(slots, index, site),
            None => Vec::new(),
        };
        let mut arrays = store.arrays.iter();
        for ((_, var, ..), array) in store.elements.iter().zip(arrays.by_ref()) {
            let array = self.primal(&Atom::Var(*array));
            let op = Op::Get(array, vec![index.clone()]);
            stmts.push(Stmt { results: vec![*var], op, site });
        }
        if let (Some((id, others)), Some(array)) = (&store.others, arrays.next()) {
            let object = self.back.var(FlatTy::Box(*id), None);
            let array = self.primal(&Atom::Var(*array));
            let op = Op::Get(array, vec![index.clone()]);
            stmts.push(Stmt { results: vec![object], op, site });
            for (index, (_, var)) in others.iter().enumerate() {
                let op = Op::Field { object: Atom::Var(object), tag: 0, index: index as u32 };
                stmts.push(Stmt { results: vec![*var], op, site });
            }
        }
        stmts
    }

    /// Has a counted loop of the forward part fill the arrays: statements before it, and what it carries more.
    pub fn fill(
        &mut self,
        store: &Store,
        count: &Atom,
        index: Var,
        body: &mut Block,
        site: SiteId,
    ) -> (Vec<Stmt>, Vec<Carried>) {
        let home = self.scopes.len() - 1;
        let (mut before, mut carried) = (Vec::new(), Vec::new());
        let (stmts, values) = self.step_keeps(store, site);
        body.stmts.extend(stmts);
        if let Some(slots) = &store.slots {
            before.extend(self.put_steps(slots, index, body, site));
        }
        if values.is_empty() {
            return (before, carried);
        }
        let loops = filled(body);
        let steps = self.at_least_0(count, site, &mut before);
        self.check_room(store, steps, site, &mut before);
        for (value, (elem, sizes)) in values.into_iter().zip(Self::elements(store)) {
            let rank = 1 + sizes.len() as u8;
            let ty = FlatTy::Array(elem, rank);
            let made = match &value {
                Atom::Var(v) if self.kept_sizes.contains_key(v) => loops.get(v).copied(),
                _ => None,
            };
            let mut all = vec![Atom::Var(steps)];
            all.extend(
                sizes.iter().map(|size| Atom::Var(self.at_least_0(size, site, &mut before))),
            );
            // Each place is filled before it is read.
            let nothing = Atom::Unused(elem.ty());
            let empty = self.forward_var(ty.clone(), None, home);
            let mut rows = Block { stmts: Vec::new(), results: vec![nothing] };
            for depth in (1..rank).rev() {
                let inner = home + usize::from(depth);
                let row = self.forward_var(FlatTy::Array(elem, rank - depth), None, inner);
                let index = self.forward_var(FlatTy::Int, None, inner);
                let count = all[usize::from(depth)].clone();
                let op = Op::Build { count, index, body: rows };
                let stmts = vec![Stmt { results: vec![row], op, site }];
                rows = Block { stmts, results: vec![Atom::Var(row)] };
            }
            let at = self.forward_var(FlatTy::Int, None, home);
            let op = Op::Build { count: Atom::Var(steps), index: at, body: rows };
            before.push(Stmt { results: vec![empty], op, site });
            carried.push(self.carry_rows((ty, empty), (index, value), made, body, site));
        }
        (before, carried)
    }

    /// Stops the program before a loop that stands in no other if the arrays take more than the residuals of a loop may.
    fn check_room(&mut self, store: &Store, steps: Var, site: SiteId, before: &mut Vec<Stmt>) {
        let Residuals::Most(most) = self.cache.residuals else { return };
        if self.scopes.iter().any(|scope| scope.steps.is_some()) {
            return;
        }
        let rows: Vec<Vec<Atom>> =
            Self::elements(store).into_iter().map(|(_, sizes)| sizes).collect();
        let module = &*self.module;
        let (stmts, _) = added(&mut self.vars, site, |b| {
            let mut step = Atom::Real(0.0);
            for sizes in rows {
                let mut bytes = Atom::Real(8.0);
                for size in sizes {
                    let size = b.one(module, Op::ToReal(size));
                    bytes = b.one(module, Op::Real(RealOp::Mul, vec![bytes, size]));
                }
                step = b.one(module, Op::Real(RealOp::Add, vec![step, bytes]));
            }
            let all = b.one(module, Op::ToReal(Atom::Var(steps)));
            let all = b.one(module, Op::Real(RealOp::Mul, vec![all, step]));
            let fits = Op::Compare(Comparison::Le, Scalar::Real, all, Atom::Real(most as f64));
            let cond = b.one(module, fits);
            let otherwise = b.block(|b| {
                b.emit(module, Op::Stop(Stop::Room));
                Vec::new()
            });
            b.emit(module, Op::If { cond, then: Block::default(), otherwise });
        });
        before.extend(stmts);
        self.homes.resize(self.vars.len(), self.scopes.len() - 1);
    }

    /// Has the steps of a loop carry an array, into which each puts a value at its index. Where an inner loop `made`
    /// the value, row by row, that loop carries the array in place of its own.
    fn carry_rows(
        &mut self,
        (ty, empty): (FlatTy, Var),
        (index, value): (Var, Atom),
        made: Option<(usize, usize)>,
        body: &mut Block,
        site: SiteId,
    ) -> Carried {
        let home = self.scopes.len();
        let param = self.forward_var(ty.clone(), None, home);
        if let Some((at, i)) = made {
            self.deepen(&mut body.stmts[at], i, (param, &ty), index);
            body.results.push(value);
        } else {
            let next = self.forward_var(ty, None, home);
            let op = Op::Update { array: Atom::Var(param), indices: vec![Atom::Var(index)], value };
            body.stmts.push(Stmt { results: vec![next], op, site });
            body.results.push(Atom::Var(next));
        }
        Carried { param, init: Atom::Var(empty) }
    }

    /// Has a loop fill an array of higher rank at an index of a loop around it, instead of the array that it made.
    fn deepen(&mut self, stmt: &mut Stmt, i: usize, (from, ty): (Var, &FlatTy), index: Var) {
        self.vars[stmt.results[i].0 as usize].ty = ty.clone();
        match &mut stmt.op {
            Op::For { carried, body, .. } => {
                let param = carried[i].param;
                carried[i].init = Atom::Var(from);
                self.vars[param.0 as usize].ty = ty.clone();
                let Atom::Var(last) = &body.results[i] else { return };
                // What fills arrays stands at the end.
                for stmt in body.stmts.iter_mut().rev() {
                    if let Some(i) = stmt.results.iter().position(|v| v == last) {
                        return self.deepen(stmt, i, (param, ty), index);
                    }
                }
            }
            Op::Update { indices, .. } => indices.insert(0, Atom::Var(index)),
            _ => {}
        }
    }

    /// A variable before a loop of the forward part: a number, 0 if it is less.
    pub fn at_least_0(&mut self, number: &Atom, site: SiteId, before: &mut Vec<Stmt>) -> Var {
        let result = self.forward_var(FlatTy::Int, None, self.scopes.len() - 1);
        let op = Op::Int(IntOp::Max, vec![number.clone(), Atom::Int(0)]);
        before.push(Stmt { results: vec![result], op, site });
        result
    }

    /// Has a conditional loop of the forward part make the arrays longer with each step.
    pub fn grow(
        &mut self,
        store: &Store,
        body: &mut Block,
        site: SiteId,
    ) -> (Vec<Stmt>, Vec<Carried>) {
        let home = self.scopes.len() - 1;
        let (mut before, mut carried) = (Vec::new(), Vec::new());
        let (stmts, values) = self.step_keeps(store, site);
        body.stmts.extend(stmts);
        for (value, (elem, _)) in values.into_iter().zip(Self::elements(store)) {
            let ty = FlatTy::Array(elem, 1);
            let empty = self.forward_var(ty.clone(), None, home);
            before.push(Stmt { results: vec![empty], op: Op::Empty(elem, 1), site });
            let [param, one, next] =
                [(), (), ()].map(|()| self.forward_var(ty.clone(), None, home + 1));
            let op = Op::Elements(elem, vec![value]);
            body.stmts.push(Stmt { results: vec![one], op, site });
            let op = Op::Append(Atom::Var(param), Atom::Var(one));
            body.stmts.push(Stmt { results: vec![next], op, site });
            body.results.push(Atom::Var(next));
            carried.push(Carried { param, init: Atom::Var(empty) });
        }
        (before, carried)
    }
}

/// The results of the counted loops in a body: which statement each comes from, and its place there.
fn filled(body: &Block) -> HashMap<Var, (usize, usize)> {
    let loops = body.stmts.iter().enumerate().filter(|(_, stmt)| matches!(stmt.op, Op::For { .. }));
    let results = |(at, stmt): (usize, &Stmt)| {
        let results = stmt.results.clone().into_iter().enumerate();
        results.map(move |(i, v)| (v, (at, i)))
    };
    loops.flat_map(results).collect()
}
