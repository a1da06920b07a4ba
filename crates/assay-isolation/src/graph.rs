//! A graph of transactions, and its strongly connected components. (Tarjan, Depth-First Search and
//! Linear Graph Algorithms, SIAM Journal on Computing 1(2), 1972.)

use crate::verdict::Dependency;

/// An edge between two transactions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The number of the key.
    pub(crate) key: u32,
    pub(crate) dependency: Dependency,
}

impl Edge {
    /// Returns true if the second transaction wrote over what the first read.
    pub(crate) fn is_anti(&self) -> bool {
        matches!(self.dependency, Dependency::ReadWrite | Dependency::RangeWrite)
    }
}

/// Edges in the order of the transactions that they start from.
pub(crate) struct Graph {
    starts: Vec<usize>,
    edges: Vec<Edge>,
}

impl Graph {
    pub(crate) fn new(nodes: usize, edges: &[Edge]) -> Self {
        let mut starts = vec![0; nodes + 1];
        for edge in edges {
            starts[edge.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut free = starts.clone();
        let mut sorted = edges.to_vec();
        for edge in edges {
            let place = &mut free[edge.from as usize];
            sorted[*place] = *edge;
            *place += 1;
        }
        Self { starts, edges: sorted }
    }

    pub(crate) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    pub(crate) fn from(&self, node: u32) -> &[Edge] {
        &self.edges[self.starts[node as usize]..self.starts[node as usize + 1]]
    }

    /// Returns the component of each node, by the edges that are allowed. An edge between two
    /// components leads to the smaller number.
    pub(crate) fn components(&self, allowed: impl Fn(&Edge) -> bool) -> Vec<u32> {
        const NEW: u32 = u32::MAX;
        let nodes = self.nodes();
        let mut component = vec![NEW; nodes];
        let mut order = vec![NEW; nodes];
        let mut lowest = vec![NEW; nodes];
        let mut stack = Vec::new();
        let mut calls = Vec::new();
        let mut next_order = 0;
        let mut next_component = 0;
        for root in 0..nodes as u32 {
            if order[root as usize] != NEW {
                continue;
            }
            calls.push((root, 0));
            while let Some((node, at)) = calls.pop() {
                let own = node as usize;
                if at == 0 {
                    order[own] = next_order;
                    lowest[own] = next_order;
                    next_order += 1;
                    stack.push(node);
                }
                let mut child = None;
                for (place, edge) in self.from(node).iter().enumerate().skip(at) {
                    let to = edge.to as usize;
                    if !allowed(edge) {
                        continue;
                    }
                    if order[to] == NEW {
                        child = Some((place, edge.to));
                        break;
                    }
                    if component[to] == NEW {
                        lowest[own] = lowest[own].min(lowest[to]);
                    }
                }
                if let Some((place, child)) = child {
                    // The child passes its lowest number on when it is done.
                    calls.push((node, place + 1));
                    calls.push((child, 0));
                    continue;
                }
                if lowest[own] == order[own] {
                    while let Some(member) = stack.pop() {
                        component[member as usize] = next_component;
                        if member == node {
                            break;
                        }
                    }
                    next_component += 1;
                }
                if let Some((parent, _)) = calls.last() {
                    let parent = *parent as usize;
                    lowest[parent] = lowest[parent].min(lowest[own]);
                }
            }
        }
        component
    }
}
