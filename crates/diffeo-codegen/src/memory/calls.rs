//! Who calls whom: an order with callees first, and which functions can be open several times.

use super::uses::{called, statements};
use diffeo_array::ir::{FunctionId, Module, SiteId};

/// The call graph of a module.
pub(super) struct Calls {
    /// All functions, each after those that it calls, but for recursion.
    pub order: Vec<FunctionId>,
    /// For each function that can be open several times, a call that leads there again.
    pub recursive: Vec<Option<SiteId>>,
}

/// The call graph, and its strongly connected components: Tarjan, "Depth-first search and linear graph
/// algorithms" (1972), with a stack of its own.
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

    const NEW: u32 = u32::MAX;
    let count = edges.len();
    let mut number = vec![NEW; count];
    let mut low = vec![0; count];
    let mut component = vec![NEW; count];
    let mut order = Vec::with_capacity(count);
    let (mut open, mut work) = (Vec::new(), Vec::new());
    let mut next = 0;
    for root in 0..count {
        if number[root] != NEW {
            continue;
        }
        work.push((root, 0));
        while let Some((node, edge)) = work.pop() {
            if edge == 0 {
                number[node] = next;
                low[node] = next;
                next += 1;
                open.push(node);
            }
            if let Some((callee, _)) = edges[node].get(edge) {
                let callee = callee.0 as usize;
                work.push((node, edge + 1));
                if number[callee] == NEW {
                    work.push((callee, 0));
                } else if component[callee] == NEW {
                    low[node] = low[node].min(number[callee]);
                }
                continue;
            }
            if let Some((caller, _)) = work.last() {
                low[*caller] = low[*caller].min(low[node]);
            }
            if low[node] == number[node] {
                while let Some(member) = open.pop() {
                    component[member] = node as u32;
                    order.push(FunctionId(member as u32));
                    if member == node {
                        break;
                    }
                }
            }
        }
    }
    let within = |(node, edges): (usize, &Vec<(FunctionId, SiteId)>)| {
        let inside =
            |(callee, _): &&(FunctionId, SiteId)| component[callee.0 as usize] == component[node];
        edges.iter().find(inside).map(|(_, site)| *site)
    };
    let recursive = edges.iter().enumerate().map(within).collect();
    Calls { order, recursive }
}
