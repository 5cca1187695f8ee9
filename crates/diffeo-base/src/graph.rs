//! Strongly connected components of graphs: Tarjan, "Depth-first search and linear graph algorithms" (1972), with an
//! explicit stack, because call graphs are as deep as programs are long.

/// The strongly connected components of a graph.
#[derive(Debug, PartialEq, Eq)]
pub struct Components {
    /// The nodes of each component. A component stands after those that it leads to.
    pub members: Vec<Vec<usize>>,
    /// Whether each node leads to itself.
    pub recursive: Vec<bool>,
}

impl Components {
    /// The components of the graph with the nodes `0..count`. `edge(node, i)` is the node at the end of the `i`-th edge, and
    /// none behind the last edge.
    pub fn new(count: usize, edge: impl Fn(usize, usize) -> Option<usize>) -> Components {
        const NEW: usize = usize::MAX;
        let (mut members, mut recursive) = (Vec::new(), vec![false; count]);
        let (mut number, mut low) = (vec![NEW; count], vec![0; count]);
        let (mut open, mut is_open) = (Vec::new(), vec![false; count]);
        let mut next = 0;
        for root in 0..count {
            if number[root] != NEW {
                continue;
            }
            // Nodes, and how many of their edges were followed.
            let mut path = vec![(root, 0)];
            while let Some((node, done)) = path.last_mut() {
                let node = *node;
                if *done == 0 {
                    (number[node], low[node]) = (next, next);
                    next += 1;
                    open.push(node);
                    is_open[node] = true;
                }
                if let Some(to) = edge(node, *done) {
                    *done += 1;
                    recursive[node] |= to == node;
                    if number[to] == NEW {
                        path.push((to, 0));
                    } else if is_open[to] {
                        low[node] = low[node].min(number[to]);
                    }
                    continue;
                }
                path.pop();
                if let Some((from, _)) = path.last() {
                    low[*from] = low[*from].min(low[node]);
                }
                if low[node] == number[node] {
                    let start = open.iter().rposition(|other| *other == node).unwrap_or(0);
                    let component = open.split_off(start);
                    for member in &component {
                        is_open[*member] = false;
                        recursive[*member] |= component.len() > 1;
                    }
                    members.push(component);
                }
            }
        }
        Components { members, recursive }
    }
}

#[cfg(test)]
mod tests {
    use super::Components;

    #[test]
    fn components_stand_after_those_that_they_lead_to() {
        let edges: [&[usize]; 6] = [&[1], &[2, 3], &[1], &[3], &[0, 5], &[]];
        let found = Components::new(edges.len(), |node, i| edges[node].get(i).copied());
        assert_eq!(found.members, [vec![3], vec![1, 2], vec![0], vec![5], vec![4]]);
        assert_eq!(found.recursive, [false, true, true, true, false, false]);
    }

    #[test]
    fn a_path_of_a_million_nodes_takes_no_stack() {
        const COUNT: usize = 1_000_000;
        let found =
            Components::new(COUNT, |node, i| (i == 0 && node + 1 < COUNT).then(|| node + 1));
        assert_eq!(found.members.len(), COUNT);
        assert_eq!(found.members[0], [COUNT - 1]);
    }
}
