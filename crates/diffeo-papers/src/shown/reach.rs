//! The part of a program that a definition needs.

use crate::splice::Renumber;
use crate::Workspace;
use diffeo_calculus::term::{each_binder, next_variable};
use diffeo_calculus::term::{Global, GlobalId, Program, Term, TermKind};
use diffeo_calculus::ty::{ConstructorDecl, DataDecl, DataId, Ty};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A program in the making, whose last definition is the one that matters.
#[derive(Debug)]
pub(crate) struct Needed {
    /// The program; it still has what became superfluous.
    pub part: Reached,
    /// The definitions that need not be kept.
    pub auxiliary: HashSet<GlobalId>,
    /// The variables that the source has a name for.
    pub sources: HashSet<u32>,
    /// Further variables that keep their `let`s.
    pub kept: HashSet<u32>,
    /// A number that no variable has.
    pub next: u32,
}

/// Variant types and definitions.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub datas: Vec<DataDecl>,
    pub globals: Vec<Rc<Global>>,
}

impl Reached {
    pub fn into_program(self) -> Program {
        Program { datas: self.datas, globals: self.globals, library: Vec::new() }
    }
}

/// What `entry` needs, and what is known of it.
pub(crate) fn needed(w: &Workspace, entry: GlobalId) -> Needed {
    let (part, kept) =
        prune(&Reached { datas: w.datas.clone(), globals: w.globals.clone() }, entry);
    let is_auxiliary = |(_, old): &(usize, &GlobalId)| **old != entry && w.is_auxiliary(**old);
    let auxiliary = kept.iter().enumerate().filter(is_auxiliary);
    let auxiliary = auxiliary.map(|(new, _)| GlobalId(new as u32)).collect();
    let mut sources = HashSet::new();
    for (global, old) in part.globals.iter().zip(&kept) {
        // The supporting functions of the papers stay as they are written.
        let written = *old != entry && !w.is_auxiliary(*old) && w.origin(*old).is_none();
        each_binder(&global.body, &mut |b| {
            if written || w.is_of_source(b.var.id) {
                sources.insert(b.var.id);
            }
        });
    }
    let next = next_variable(&part.globals);
    Needed { part, auxiliary, sources, kept: HashSet::new(), next }
}

/// What `entry` needs, each definition behind those that it needs, and the numbers that they had.
pub(crate) fn prune(program: &Reached, entry: GlobalId) -> (Reached, Vec<GlobalId>) {
    let order = reached(&program.globals, entry);
    let datas = RefCell::new(Met::default());
    let collect = Renumber {
        datas: &|id| {
            datas.borrow_mut().add(id);
            id
        },
        globals: &|id| id,
        variables: 0,
    };
    for id in &order {
        let mut global = program.globals[id.0 as usize].clone();
        let global = Rc::make_mut(&mut global);
        collect.ty(&mut global.ty);
        collect.term(&mut global.body);
    }
    // The types of the fields of variant types.
    loop {
        let next = datas.borrow_mut().pending.pop();
        let Some(id) = next else { break };
        for field in program.datas[id.0 as usize].constructors.iter().flat_map(|c| &c.fields) {
            collect.ty(&mut field.clone());
        }
    }
    let mut kept: Vec<DataId> = datas.into_inner().seen.into_iter().collect();
    kept.sort_unstable();
    let data_numbers: HashMap<DataId, DataId> =
        kept.iter().enumerate().map(|(i, id)| (*id, DataId(i as u32))).collect();
    let global_numbers: HashMap<GlobalId, GlobalId> =
        order.iter().enumerate().map(|(i, id)| (*id, GlobalId(i as u32))).collect();
    let renumber = Renumber {
        datas: &|id| data_numbers[&id],
        globals: &|id| global_numbers[&id],
        variables: 0,
    };
    let field = |ty: &Ty| {
        let mut ty = ty.clone();
        renumber.ty(&mut ty);
        ty
    };
    let declared = kept.iter().map(|id| {
        let decl = &program.datas[id.0 as usize];
        let constructor = |c: &ConstructorDecl| ConstructorDecl {
            name: c.name.clone(),
            fields: c.fields.iter().map(field).collect(),
        };
        let constructors = decl.constructors.iter().map(constructor).collect();
        DataDecl { constructors, ..decl.clone() }
    });
    let defined = order.iter().map(|id| {
        let mut global = program.globals[id.0 as usize].clone();
        let inner = Rc::make_mut(&mut global);
        renumber.ty(&mut inner.ty);
        renumber.term(&mut inner.body);
        global
    });
    (Reached { datas: declared.collect(), globals: defined.collect() }, order)
}

/// The variant types that were met.
#[derive(Default)]
struct Met {
    seen: HashSet<DataId>,
    pending: Vec<DataId>,
}

impl Met {
    fn add(&mut self, id: DataId) {
        if self.seen.insert(id) {
            self.pending.push(id);
        }
    }
}

/// The definitions that one needs, each behind those that it needs, itself last.
pub(crate) fn reached(globals: &[Rc<Global>], entry: GlobalId) -> Vec<GlobalId> {
    let mut order = Vec::new();
    let mut seen = HashSet::from([entry]);
    // With what is still to be visited of it.
    let mut path = vec![(entry, references(&globals[entry.0 as usize].body))];
    while let Some((id, pending)) = path.last_mut() {
        match pending.pop() {
            Some(next) => {
                if seen.insert(next) {
                    path.push((next, references(&globals[next.0 as usize].body)));
                }
            }
            None => {
                order.push(*id);
                path.pop();
            }
        }
    }
    order
}

/// The definitions that a term mentions, the last one first.
pub(crate) fn references(term: &Term) -> Vec<GlobalId> {
    let mut found = Vec::new();
    let mut pending = vec![term];
    while let Some(term) = pending.pop() {
        if let TermKind::Global(id) = &term.kind {
            found.push(*id);
        }
        term.each_child(|child| pending.push(child));
    }
    found
}
