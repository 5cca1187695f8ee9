//! Residuals of loops: an array for each number and each box, of higher rank for arrays whose size is the same in all
//! steps, and an array of boxes for everything else.

use super::scope::BackwardScope;
use super::{box_type, Reverser};
use crate::ir::{Atom, Block, BoxId, Carried, Elem, FlatTy, Op, SiteId, Stmt, Var};
use diffeo_calculus::prim::IntOp;

/// What each step of a loop keeps.
pub(super) struct Store {
    /// Elements of arrays, or rows of this length: variables of the forward and the backward part.
    elements: Vec<(Var, Var, Elem, Option<Atom>)>,
    /// Fields of a box.
    others: Option<(BoxId, Vec<(Var, Var)>)>,
    /// The arrays, in the forward part.
    pub arrays: Vec<Var>,
}

impl<'s> Reverser<'_, 's> {
    /// What a region that was closed keeps, of a loop with so many steps, if that is known before.
    pub fn store(&mut self, scope: &BackwardScope<'_>, count: Option<&Atom>) -> Store {
        let (mut elements, mut others) = (Vec::new(), Vec::new());
        for (v, var) in &scope.stored {
            match self.vars[v.0 as usize].ty {
                FlatTy::Real => elements.push((*v, *var, Elem::Real, None)),
                FlatTy::Int => elements.push((*v, *var, Elem::Int, None)),
                FlatTy::Bool => elements.push((*v, *var, Elem::Bool, None)),
                FlatTy::Box(id) => elements.push((*v, *var, Elem::Box(id), None)),
                FlatTy::Array(elem @ (Elem::Real | Elem::Int | Elem::Bool), 1) => {
                    match self.same_length(scope, *v).filter(|_| count.is_some()) {
                        Some(length) => elements.push((*v, *var, elem, Some(length))),
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
        for (v, _, elem, length) in &elements {
            let rank = 1 + u8::from(length.is_some());
            let name =
                self.vars[v.0 as usize].name.as_ref().map(|name| format!("{name}_kept").into());
            let array = self.forward_var(FlatTy::Array(*elem, rank), name, home);
            arrays.push(array);
            if let (Some(count), None) = (count, length) {
                self.lengths.insert(array, count.clone());
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
        Store { elements, others, arrays }
    }

    /// The length of an array of a region that was closed, if it is the same in all steps.
    fn same_length(&self, scope: &BackwardScope<'_>, v: Var) -> Option<Atom> {
        let count = match scope.definition(v).map(|stmt| &stmt.op) {
            Some(Op::Build { count, .. }) => Some(count),
            _ => self.lengths.get(&v),
        };
        let same = |count: &&Atom| match count {
            Atom::Var(count) => self.homes[count.0 as usize] < self.scopes.len(),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => true,
        };
        count.filter(same).cloned()
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

    /// The types of the elements of the arrays, and the lengths of rows.
    fn elements(store: &Store) -> Vec<(Elem, Option<Atom>)> {
        let others = store.others.iter().map(|(id, _)| (Elem::Box(*id), None));
        let elements = store.elements.iter().map(|(_, _, elem, length)| (*elem, length.clone()));
        elements.chain(others).collect()
    }

    /// Statements of the backward part that read what the step at an index has kept.
    pub fn unpack(&mut self, store: &Store, index: &Atom, site: SiteId) -> Vec<Stmt> {
        let mut stmts = Vec::new();
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
        if values.is_empty() {
            return (before, carried);
        }
        let steps = self.at_least_0(count, site, &mut before);
        for (value, (elem, length)) in values.into_iter().zip(Self::elements(store)) {
            let rank = 1 + u8::from(length.is_some());
            let ty = FlatTy::Array(elem, rank);
            if let (Elem::Real, Some(length)) = (elem, &length) {
                // Zeros at once, and not row by row.
                let length = Atom::Var(self.at_least_0(length, site, &mut before));
                let sizes = vec![Atom::Var(steps), length];
                let acc = self.forward_var(FlatTy::Acc(rank), None, home);
                before.push(Stmt { results: vec![acc], op: Op::AccNew(sizes), site });
                let empty = self.forward_var(ty.clone(), None, home);
                before.push(Stmt { results: vec![empty], op: Op::AccGet(Atom::Var(acc)), site });
                self.carry_rows((ty, empty), (index, value), body, &mut carried, site);
                continue;
            }
            // Each place is filled before it is read.
            let nothing = Atom::Unused(elem.ty());
            let (empty, at) = (
                self.forward_var(ty.clone(), None, home),
                self.forward_var(FlatTy::Int, None, home),
            );
            let mut rows = Block { stmts: Vec::new(), results: vec![nothing] };
            if let Some(length) = length {
                let length = self.at_least_0(&length, site, &mut before);
                let (row, at) = (
                    self.forward_var(FlatTy::Array(elem, 1), None, home + 1),
                    self.forward_var(FlatTy::Int, None, home + 1),
                );
                let op = Op::Build { count: Atom::Var(length), index: at, body: rows };
                let stmts = vec![Stmt { results: vec![row], op, site }];
                rows = Block { stmts, results: vec![Atom::Var(row)] };
            }
            let op = Op::Build { count: Atom::Var(steps), index: at, body: rows };
            before.push(Stmt { results: vec![empty], op, site });
            self.carry_rows((ty, empty), (index, value), body, &mut carried, site);
        }
        (before, carried)
    }

    /// Has the steps of a loop carry an array, into which each puts a value at its index.
    fn carry_rows(
        &mut self,
        (ty, empty): (FlatTy, Var),
        (index, value): (Var, Atom),
        body: &mut Block,
        carried: &mut Vec<Carried>,
        site: SiteId,
    ) {
        let home = self.scopes.len();
        let (param, next) =
            (self.forward_var(ty.clone(), None, home), self.forward_var(ty, None, home));
        let op = Op::Update { array: Atom::Var(param), indices: vec![Atom::Var(index)], value };
        body.stmts.push(Stmt { results: vec![next], op, site });
        body.results.push(Atom::Var(next));
        carried.push(Carried { param, init: Atom::Var(empty) });
    }

    /// A variable before a loop of the forward part: a number, 0 if it is less.
    fn at_least_0(&mut self, number: &Atom, site: SiteId, before: &mut Vec<Stmt>) -> Var {
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
