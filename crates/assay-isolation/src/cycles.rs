//! The search for cycles. Whether there are any of a class is decided by components, in linear
//! time; examples are then searched breadth-first, so that they are short.

use std::collections::{BTreeMap, HashSet};

use crate::graph::{Edge, Graph};
use crate::verdict::{Anomaly, Dependency};

/// The most edges from which an example of one class is searched.
const MOST_STARTS: usize = 2_000;
/// The number of nodes after which no further search of one class starts.
const MOST_NODES: usize = 2_000_000;

/// The shortest cycle found of each kind.
pub(crate) type Cycles = BTreeMap<Anomaly, Vec<Edge>>;

/// Returns the part of a graph that is in cycles, or none if there is no cycle.
fn cyclic_part(graph: &Graph, component: &[u32]) -> Option<Graph> {
    let is_inside = |edge: &&Edge| component[edge.from as usize] == component[edge.to as usize];
    let edges: Vec<Edge> = graph.edges().iter().filter(is_inside).copied().collect();
    (!edges.is_empty()).then(|| Graph::new(graph.nodes(), &edges))
}

/// Searches the cycles of a graph whose components by all edges are given.
pub(crate) fn search(graph: &Graph, component: &[u32]) -> Cycles {
    let Some(whole) = cyclic_part(graph, component) else { return Cycles::new() };
    let (numbers, graph) = renumbered(&whole);
    let mut search = Search::new(&graph);
    search.writes_and_reads();
    search.mutual();
    search.one_moment();
    search.rest();
    let named = |edge: Edge| Edge {
        from: numbers[edge.from as usize],
        to: numbers[edge.to as usize],
        ..edge
    };
    let all = search.cycles.into_iter();
    all.map(|(kind, cycle)| (kind, cycle.into_iter().map(named).collect())).collect()
}

/// Returns the graph without nodes that no edge touches, and the old numbers of those it has.
fn renumbered(graph: &Graph) -> (Vec<u32>, Graph) {
    // Each node is in a cycle, so an edge starts from it.
    let mut numbers: Vec<u32> = graph.edges().iter().map(|edge| edge.from).collect();
    numbers.dedup();
    let number = |node: u32| numbers.partition_point(|other| *other < node) as u32;
    let edges = graph.edges().iter();
    let mut edges: Vec<Edge> =
        edges.map(|edge| Edge { from: number(edge.from), to: number(edge.to), ..*edge }).collect();
    // Of several edges between two nodes, a search takes the first. Where edges over reads are
    // allowed, they are wanted.
    edges.sort_by_key(|edge| !edge.is_anti());
    let graph = Graph::new(numbers.len(), &edges);
    (numbers, graph)
}

struct Search<'g> {
    graph: &'g Graph,
    cycles: Cycles,
    /// The edge by which the current search came to each node, and which search that was.
    came_by: Vec<Edge>,
    searched: Vec<u32>,
    number: u32,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph) -> Self {
        let nowhere = Edge { from: 0, to: 0, key: 0, dependency: Dependency::WriteWrite };
        // Nodes twice: the states of a walk that takes no two edges over reads in succession.
        let nodes = 2 * graph.nodes();
        let came_by = vec![nowhere; nodes];
        let searched = vec![0; nodes];
        Self { graph, cycles: Cycles::new(), came_by, searched, number: 0 }
    }

    /// Keeps a cycle, if it is the shortest of its kind.
    fn keep(&mut self, cycle: Vec<Edge>) {
        let kind = kind(&cycle);
        let is_shorter = self.cycles.get(&kind).is_none_or(|other| cycle.len() < other.len());
        if is_shorter {
            self.cycles.insert(kind, cycle);
        }
    }

    /// Searches G0 and G1c.
    fn writes_and_reads(&mut self) {
        let graph = self.graph;
        let is_write = |edge: &Edge| edge.dependency == Dependency::WriteWrite;
        let component = graph.components(is_write);
        self.close(|edge| is_write(edge) && is_within(&component, edge), is_write);
        let component = graph.components(|edge| !edge.is_anti());
        let is_read = |edge: &Edge| edge.dependency == Dependency::WriteRead;
        let starts = |edge: &Edge| is_read(edge) && is_within(&component, edge);
        self.close(starts, |edge| !edge.is_anti());
    }

    /// Searches pairs that have each missed the other's write of one key.
    fn mutual(&mut self) {
        let is_missed = |edge: &&Edge| edge.dependency == Dependency::ReadWrite;
        let missed = || self.graph.edges().iter().filter(is_missed);
        let mut known = HashSet::new();
        let pair = missed().find_map(|edge| {
            let other = known.contains(&(edge.to, edge.from, edge.key));
            known.insert((edge.from, edge.to, edge.key));
            other.then(|| vec![*edge, Edge { from: edge.to, to: edge.from, ..*edge }])
        });
        if let Some(pair) = pair {
            self.keep(pair);
        }
    }

    /// Searches cycles that snapshot isolation excludes: those with no two edges over reads in
    /// succession. (Cerone, Gotsman, Analysing Snapshot Isolation, Journal of the ACM 65(2), 2018.)
    fn one_moment(&mut self) {
        let graph = self.graph;
        let nodes = graph.nodes() as u32;
        let mut edges = Vec::with_capacity(2 * graph.edges().len());
        for edge in graph.edges() {
            if edge.is_anti() {
                edges.push(Edge { to: edge.to + nodes, ..*edge });
            } else {
                edges.push(*edge);
                edges.push(Edge { from: edge.from + nodes, ..*edge });
            }
        }
        let states = Graph::new(2 * nodes as usize, &edges);
        let component = states.components(|_| true);
        let is_inside = |edge: &Edge| {
            edge.is_anti() && component[edge.from as usize] == component[(edge.to + nodes) as usize]
        };
        self.close(is_inside, |edge| !edge.is_anti());
        if self.cycles.contains_key(&Anomaly::ReadSkew) {
            return;
        }
        if let Some(start) = graph.edges().iter().find(|edge| is_inside(edge)) {
            let whole = Edge { to: start.to + nodes, ..*start };
            if let Some(mut cycle) = self.closed(&states, &whole, &|_| true, &mut 0) {
                for edge in &mut cycle {
                    edge.from %= nodes;
                    edge.to %= nodes;
                }
                self.keep(cycle);
            }
        }
    }

    /// Searches the others.
    fn rest(&mut self) {
        let graph = self.graph;
        let is_item = |edge: &Edge| edge.dependency != Dependency::RangeWrite;
        let component = graph.components(is_item);
        self.close(|edge| edge.is_anti() && is_item(edge) && is_within(&component, edge), is_item);
        self.close(|edge| !is_item(edge), |_| true);
    }

    /// Searches cycles of one edge of `starts` and others that are allowed.
    fn close(&mut self, starts: impl Fn(&Edge) -> bool, allowed: impl Fn(&Edge) -> bool) {
        let graph = self.graph;
        let mut nodes_seen = 0;
        for start in graph.edges().iter().filter(|edge| starts(edge)).take(MOST_STARTS) {
            if let Some(cycle) = self.closed(graph, start, &allowed, &mut nodes_seen) {
                self.keep(cycle);
            }
            if nodes_seen > MOST_NODES {
                break;
            }
        }
    }

    /// Returns the shortest cycle of an edge and others that are allowed.
    fn closed(
        &mut self,
        graph: &Graph,
        start: &Edge,
        allowed: &impl Fn(&Edge) -> bool,
        nodes_seen: &mut usize,
    ) -> Option<Vec<Edge>> {
        self.number += 1;
        let mut queue = std::collections::VecDeque::from([start.to]);
        self.searched[start.to as usize] = self.number;
        while let Some(node) = queue.pop_front() {
            *nodes_seen += 1;
            for edge in graph.from(node).iter().filter(|edge| allowed(edge)) {
                if edge.to == start.from {
                    return Some(self.walked(start, *edge));
                }
                let to = edge.to as usize;
                if self.searched[to] != self.number {
                    self.searched[to] = self.number;
                    self.came_by[to] = *edge;
                    queue.push_back(edge.to);
                }
            }
        }
        None
    }

    /// Returns the cycle of the current search, from its first edge to its last.
    fn walked(&self, start: &Edge, last: Edge) -> Vec<Edge> {
        let mut cycle = vec![last];
        let mut node = last.from;
        while node != start.to {
            let edge = self.came_by[node as usize];
            cycle.push(edge);
            node = edge.from;
        }
        cycle.push(*start);
        cycle.reverse();
        cycle
    }
}

fn is_within(component: &[u32], edge: &Edge) -> bool {
    component[edge.from as usize] == component[edge.to as usize]
}

/// Returns the kind of a cycle.
fn kind(cycle: &[Edge]) -> Anomaly {
    let is_kind = |dependency| move |edge: &Edge| edge.dependency == dependency;
    let anti = cycle.iter().filter(|edge| edge.is_anti()).count();
    let follows = |at: usize| cycle[at].is_anti() && cycle[(at + 1) % cycle.len()].is_anti();
    let is_adjacent = (0..cycle.len()).any(follows);
    let missed = is_kind(Dependency::ReadWrite);
    match anti {
        0 if cycle.iter().all(is_kind(Dependency::WriteWrite)) => Anomaly::DirtyWrite,
        0 => Anomaly::CircularFlow,
        1 => Anomaly::ReadSkew,
        _ if !is_adjacent => Anomaly::LongFork,
        2 if cycle.len() == 2 && cycle[0].key == cycle[1].key && cycle.iter().all(missed) => {
            Anomaly::LostUpdate
        }
        _ if cycle.iter().any(is_kind(Dependency::RangeWrite)) => Anomaly::Phantom,
        _ => Anomaly::WriteSkew,
    }
}
