//! Who calls whom: an order with callees first, and which functions can be open several times.

use super::uses::{called, statements};
use diffeo_array::ir::{FunctionId, Module, SiteId};
use diffeo_base::Components;

/// The call graph of a module.
pub(super) struct Calls {
    /// All functions, each after those that it calls, but for recursion.
    pub order: Vec<FunctionId>,
    /// For each function that can be open several times, a call that leads there again.
    pub recursive: Vec<Option<SiteId>>,
}

/// The call graph.
pub(super) fn calls(module: &Module) -> Calls {
    let edges: Vec<Vec<(FunctionId, SiteId)>> = module
        .functions
        .iter()
        .map(|function| {
            let mut edges = Vec::new();
            statements(&function.body, &mut |stmt| {
                edges.extend(called(module, &stmt.op).map(|callee| (callee, stmt.site)));
            });
            edges
        })
        .collect();

    let callee = |f: usize, i: usize| edges[f].get(i).map(|(callee, _)| callee.0 as usize);
    let components = Components::new(edges.len(), callee).members;
    let mut component = vec![0; edges.len()];
    for (number, members) in components.iter().enumerate() {
        members.iter().for_each(|member| component[*member] = number);
    }
    let order = components.iter().flat_map(|members| members.iter().rev());
    let order = order.map(|member| FunctionId(*member as u32)).collect();
    let within = |(node, edges): (usize, &Vec<(FunctionId, SiteId)>)| {
        let inside =
            |(callee, _): &&(FunctionId, SiteId)| component[callee.0 as usize] == component[node];
        edges.iter().find(inside).map(|(_, site)| *site)
    };
    let recursive = edges.iter().enumerate().map(within).collect();
    Calls { order, recursive }
}
