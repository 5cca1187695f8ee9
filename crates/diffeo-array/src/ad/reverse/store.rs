//! What loops keep for the backward part: an array for each number, of more dimensions for arrays whose size is the same
//! in all steps, and one of boxes for everything else.

use super::scope::Scope;
use super::{box_type, Reverser};
use crate::ir::{Atom, Block, BoxId, Carried, Elem, Op, SiteId, Stmt, Ty, Var};
use diffeo_calculus::prim::IntOp;

/// What each step of a loop keeps.
pub(super) struct Store {
    /// Elements or rows of arrays: variables of the forward and the backward part, and the rank.
    numbers: Vec<(Var, Var, Elem, u8)>,
    /// Fields of a box.
    others: Option<(BoxId, Vec<(Var, Var)>)>,
    /// The arrays, in the forward part.
    pub arrays: Vec<Var>,
}

impl<'s> Reverser<'_, 's> {
    /// What a region that was closed keeps; of a comprehension or sum, `rows` may be kept.
    pub fn store(&mut self, scope: &Scope<'_>, rows: bool) -> Store {
        let (mut numbers, mut others) = (Vec::new(), Vec::new());
        for (v, var) in &scope.stored {
            match self.vars[v.0 as usize].ty {
                Ty::Real => numbers.push((*v, *var, Elem::Real, 0)),
                Ty::Int => numbers.push((*v, *var, Elem::Int, 0)),
                Ty::Bool => numbers.push((*v, *var, Elem::Bool, 0)),
                Ty::Array(elem @ (Elem::Real | Elem::Int | Elem::Bool), 1)
                    if rows && self.has_same_size(scope, *v) =>
                {
                    numbers.push((*v, *var, elem, 1));
                }
                Ty::Text | Ty::Array(..) | Ty::Box(_) | Ty::Acc(_) | Ty::Stack(_) => {
                    others.push((*v, *var));
                }
            }
        }
        let home = self.scopes.len() - 1;
        let mut arrays: Vec<Var> = Vec::new();
        for (v, _, elem, rank) in &numbers {
            let name =
                self.vars[v.0 as usize].name.as_ref().map(|name| format!("{name}_kept").into());
            arrays.push(self.forward_var(Ty::Array(*elem, rank + 1), name, home));
        }
        let others = (!others.is_empty()).then(|| {
            let id = box_type(self.module, &"loop".into());
            let types = others.iter().map(|(v, _)| self.vars[v.0 as usize].ty.clone()).collect();
            self.module.boxes[id.0 as usize].variants[0].fields = types;
            arrays.push(self.forward_var(Ty::Array(Elem::Box(id), 1), Some("kept".into()), home));
            (id, others)
        });
        Store { numbers, others, arrays }
    }

    /// Whether an array of a region that was closed is as long in all steps.
    fn has_same_size(&self, scope: &Scope<'_>, v: Var) -> bool {
        match scope.definition(v).map(|stmt| &stmt.op) {
            Some(Op::Build { count: Atom::Var(count), .. }) => {
                self.homes[count.0 as usize] < self.scopes.len()
            }
            Some(Op::Build { .. }) => true,
            _ => false,
        }
    }

    /// Statements at the end of a step of the forward part, and what the step keeps.
    pub fn step_keeps(&mut self, store: &Store, site: SiteId) -> (Vec<Stmt>, Vec<Atom>) {
        let home = self.scopes.len();
        let mut values: Vec<Atom> = store.numbers.iter().map(|(v, ..)| Atom::Var(*v)).collect();
        let mut stmts = Vec::new();
        if let Some((id, others)) = &store.others {
            let object = self.forward_var(Ty::Box(*id), None, home);
            let op = Op::New(*id, 0, others.iter().map(|(v, _)| Atom::Var(*v)).collect());
            stmts.push(Stmt { results: vec![object], op, site });
            values.push(Atom::Var(object));
        }
        (stmts, values)
    }

    /// The types of the elements of the arrays.
    fn elements(store: &Store) -> Vec<Elem> {
        let others = store.others.iter().map(|(id, _)| Elem::Box(*id));
        store.numbers.iter().map(|(_, _, elem, _)| *elem).chain(others).collect()
    }

    /// Statements of the backward part that read what the step at an index has kept.
    pub fn unpack(&mut self, store: &Store, index: &Atom, site: SiteId) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        let mut arrays = store.arrays.iter();
        for ((_, var, ..), array) in store.numbers.iter().zip(arrays.by_ref()) {
            let array = self.primal(&Atom::Var(*array));
            let op = Op::Get(array, vec![index.clone()]);
            stmts.push(Stmt { results: vec![*var], op, site });
        }
        if let (Some((id, others)), Some(array)) = (&store.others, arrays.next()) {
            let object = self.back.var(Ty::Box(*id), None);
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
        let steps = self.forward_var(Ty::Int, None, home);
        let op = Op::Int(IntOp::Max, vec![count.clone(), Atom::Int(0)]);
        before.push(Stmt { results: vec![steps], op, site });
        for (value, elem) in values.into_iter().zip(Self::elements(store)) {
            let ty = Ty::Array(elem, 1);
            let nothing = match elem {
                Elem::Real => Atom::Real(0.0),
                Elem::Int => Atom::Int(0),
                Elem::Bool => Atom::Bool(false),
                Elem::Text => Atom::Unused(Ty::Text),
                Elem::Box(id) => {
                    let object = self.forward_var(Ty::Box(id), None, home);
                    let op = Op::New(id, 1, Vec::new());
                    before.push(Stmt { results: vec![object], op, site });
                    Atom::Var(object)
                }
            };
            let (empty, at) =
                (self.forward_var(ty.clone(), None, home), self.forward_var(Ty::Int, None, home));
            let rows = Block { stmts: Vec::new(), results: vec![nothing] };
            let op = Op::Build { count: Atom::Var(steps), index: at, body: rows };
            before.push(Stmt { results: vec![empty], op, site });
            let (param, next) = (
                self.forward_var(ty.clone(), None, home + 1),
                self.forward_var(ty, None, home + 1),
            );
            let indices = vec![Atom::Var(index)];
            let op = Op::Update { array: Atom::Var(param), indices, value };
            body.stmts.push(Stmt { results: vec![next], op, site });
            body.results.push(Atom::Var(next));
            carried.push(Carried { param, init: Atom::Var(empty) });
        }
        (before, carried)
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
        for (value, elem) in values.into_iter().zip(Self::elements(store)) {
            let ty = Ty::Array(elem, 1);
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
