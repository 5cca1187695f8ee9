//! The call graph, callees first; the types of boxes that come from outside.

use crate::ir::walk::statements;
use crate::ir::{BoxId, Elem, FlatTy, Module, Op};
use diffeo_base::Components;

/// The call graph and its strongly connected components. The use of a constant is a call of its initialiser.
pub(crate) struct CallGraph {
    /// The components, each after those that it calls.
    pub components: Vec<Vec<usize>>,
    /// Whether each function can call itself, directly or not.
    pub recursive: Vec<bool>,
    /// The callees of each function, once for each call.
    pub callees: Vec<Vec<usize>>,
}

/// The call graph of a module.
pub(crate) fn call_graph(module: &Module) -> CallGraph {
    let callees: Vec<Vec<usize>> = module
        .functions
        .iter()
        .map(|function| {
            let mut out = Vec::new();
            statements(&function.body, &mut |stmt| {
                if let Op::Call(f, _) = &stmt.op {
                    out.push(f.0 as usize);
                } else if let Op::Constant(c) = &stmt.op {
                    out.push(module.constants[c.0 as usize].init.0 as usize);
                }
            });
            out
        })
        .collect();
    let components = Components::new(callees.len(), |f, i| callees[f].get(i).copied());
    CallGraph { components: components.members, recursive: components.recursive, callees }
}

/// The types of boxes that the program is called with, directly or within others.
pub(crate) fn from_outside(module: &Module) -> Vec<BoxId> {
    let entry = &module.functions[module.entry.0 as usize];
    let mut pending: Vec<&FlatTy> =
        entry.params.iter().map(|p| &entry.vars[p.0 as usize].ty).collect();
    let mut found = vec![false; module.boxes.len()];
    let mut all = Vec::new();
    while let Some(ty) = pending.pop() {
        let (FlatTy::Box(id) | FlatTy::Array(Elem::Box(id), _)) = ty else { continue };
        if !std::mem::replace(&mut found[id.0 as usize], true) {
            pending.extend(module.boxes[id.0 as usize].variants.iter().flat_map(|v| &v.fields));
            all.push(*id);
        }
    }
    all
}
