//! The call graph, callees first; the types of boxes that come from outside.

use crate::ir::walk::statements;
use crate::ir::{BoxId, Elem, FlatTy, Module, Op};

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
    let (components, recursive) = components(&callees);
    CallGraph { components, recursive, callees }
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

/// The strongly connected components of a graph, each after those that it leads to, and of each node whether it
/// leads to itself. By Tarjan's algorithm (1972) with an explicit stack.
pub(crate) fn components(callees: &[Vec<usize>]) -> (Vec<Vec<usize>>, Vec<bool>) {
    let count = callees.len();
    let mut recursive = vec![false; count];
    let mut components = Vec::new();
    let (mut number, mut low) = (vec![usize::MAX; count], vec![0; count]);
    let (mut open, mut is_open) = (Vec::new(), vec![false; count]);
    let mut next = 0;
    for root in 0..count {
        if number[root] != usize::MAX {
            continue;
        }
        // A function and how many of its callees have been visited.
        let mut path = vec![(root, 0)];
        while let Some((f, done)) = path.last_mut() {
            let f = *f;
            if *done == 0 {
                number[f] = next;
                low[f] = next;
                next += 1;
                open.push(f);
                is_open[f] = true;
            }
            if let Some(&g) = callees[f].get(*done) {
                *done += 1;
                recursive[f] |= g == f;
                if number[g] == usize::MAX {
                    path.push((g, 0));
                } else if is_open[g] {
                    low[f] = low[f].min(number[g]);
                }
                continue;
            }
            path.pop();
            if let Some((caller, _)) = path.last() {
                low[*caller] = low[*caller].min(low[f]);
            }
            if low[f] == number[f] {
                let start = open.iter().rposition(|g| *g == f).unwrap_or(0);
                let component = open.split_off(start);
                for g in &component {
                    is_open[*g] = false;
                    recursive[*g] |= component.len() > 1;
                }
                components.push(component);
            }
        }
    }
    (components, recursive)
}
