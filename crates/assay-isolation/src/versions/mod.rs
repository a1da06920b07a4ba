//! The order of each key's versions as far as reads show it, and what follows for transactions.
//!
//! Each version is a node of a tree, and its parent is a version that came before it. A list's read
//! shows all of its versions in order. A register's version follows the one that its writer had
//! read; if it had read none, it follows the state without a value only. (Elle: Kingsbury, Alvaro,
//! VLDB 14(3), 2020, sections 4 and 5.)

mod list;
mod register;

use crate::collect::{Collected, Directs, Kind, Malformed, NONE, View, Write};
use crate::graph::Edge;
use crate::verdict::{Anomaly, Dependency};

/// The most versions after the one that was read for which a reader gets an edge. There are
/// several only after lost updates, or where no transaction has read what was written.
const MOST_SUCCESSORS: usize = 16;

/// The node for a key without a value.
const ROOT: u32 = 0;

/// A version: what a write made of a key.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    /// The place of the write among those of the key.
    write: u32,
}

/// The versions of a key.
struct Tree {
    /// The first node is the root.
    nodes: Vec<Node>,
    /// The node that each view saw, or none if that is not known.
    seen: Vec<u32>,
    /// The node that each first write of a transaction was based on.
    bases: Vec<Base>,
}

/// A transaction that has read a node and then written the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Base {
    node: u32,
    transaction: u32,
}

/// A key with all that happened to it.
struct OneKey<'c, 'h> {
    key: u64,
    committed: &'c [bool],
    /// In the order of the history; those of one transaction follow one another.
    writes: &'c [Write],
    views: Vec<View<'h>>,
    /// The first view's number; none has a smaller one.
    numbers: &'c [u32],
}

impl OneKey<'_, '_> {
    /// Returns true if the transaction of a write was committed.
    fn is_committed(&self, write: usize) -> bool {
        self.committed[self.writes[write].transaction as usize]
    }

    /// Returns true if its transaction has written the key again.
    fn is_intermediate(&self, write: usize) -> bool {
        let next = self.writes.get(write + 1);
        next.is_some_and(|next| next.transaction == self.writes[write].transaction)
    }

    /// Returns true if its transaction had not written the key before.
    fn is_first(&self, write: usize) -> bool {
        write == 0 || self.writes[write - 1].transaction != self.writes[write].transaction
    }

    /// Returns the place among the key's views of the one that a write was based on.
    fn base(&self, write: usize) -> Option<usize> {
        let base = self.writes[write].base;
        (base != NONE).then(|| self.numbers.binary_search(&base).ok()).flatten()
    }

    /// Returns the writes in the order of their values, each with its place.
    fn by_value(&self) -> Result<Vec<ValueAt>, Malformed> {
        let mut values: Vec<ValueAt> = Vec::with_capacity(self.writes.len());
        for (place, write) in self.writes.iter().enumerate() {
            if write.kind != Kind::Delete {
                values.push(ValueAt { value: write.value, write: place as u32 });
            }
        }
        values.sort_unstable_by_key(|at| at.value);
        let twice = values.windows(2).find(|pair| pair[0].value == pair[1].value);
        match twice {
            Some(pair) => Err(Malformed::WrittenTwice { key: self.key, value: pair[0].value }),
            None => Ok(values),
        }
    }
}

/// A value, and the place of the write that wrote it.
#[derive(Clone, Copy)]
struct ValueAt {
    value: u64,
    write: u32,
}

/// Returns the place of the write of a value.
fn writer_of(values: &[ValueAt], value: u64) -> Option<u32> {
    values.binary_search_by_key(&value, |at| at.value).ok().map(|at| values[at].write)
}

/// Finds the order of all keys' versions, and adds the edges that follow from it.
pub(crate) fn edges(collected: &mut Collected<'_>) -> Result<Vec<Edge>, Malformed> {
    let Collected { keys, committed, writes, views, directs } = collected;
    // Stable, so those of one transaction stay together.
    writes.sort_by_key(|write| write.key);
    let mut order: Vec<u32> = (0..views.len() as u32).collect();
    order.sort_by_key(|view| views[*view as usize].key);
    let mut edges = Vec::new();
    let mut writes = &writes[..];
    let mut order = &order[..];
    for (id, key) in keys.iter().enumerate() {
        let of_key = writes.partition_point(|write| write.key as usize <= id);
        let (own, rest) = writes.split_at(of_key);
        writes = rest;
        let of_key = order.partition_point(|view| views[*view as usize].key as usize <= id);
        let (numbers, rest) = order.split_at(of_key);
        order = rest;
        let own_views = numbers.iter().map(|view| views[*view as usize]).collect();
        let one = OneKey { key: *key, committed, writes: own, views: own_views, numbers };
        let appends = own.iter().filter(|write| write.kind == Kind::Append).count();
        let tree = match appends {
            0 => register::tree(&one, directs)?,
            _ if appends == own.len() => list::tree(&one, directs)?,
            _ => return Err(Malformed::MixedKey { key: *key }),
        };
        note_lost_updates(&one, &tree, directs);
        note_intermediate_reads(&one, &tree, directs);
        add_edges(&one, &tree, id as u32, &mut edges);
    }
    Ok(edges)
}

/// Notes two transactions that have read one version and written the next.
fn note_lost_updates(one: &OneKey<'_, '_>, tree: &Tree, directs: &mut Directs) {
    let mut bases = tree.bases.clone();
    bases.sort_unstable();
    bases.dedup();
    let pair = bases.windows(2).find(|pair| pair[0].node == pair[1].node);
    if let Some(pair) = pair {
        let both = [pair[0].transaction, pair[1].transaction];
        directs.note(Anomaly::LostUpdate, &both, one.key);
    }
}

/// Notes reads of what another transaction has written over itself.
fn note_intermediate_reads(one: &OneKey<'_, '_>, tree: &Tree, directs: &mut Directs) {
    for (view, node) in one.views.iter().zip(&tree.seen) {
        if *node == ROOT || *node == NONE {
            continue;
        }
        let write = tree.nodes[*node as usize].write as usize;
        let writer = one.writes[write].transaction;
        if writer != view.transaction && one.is_committed(write) && one.is_intermediate(write) {
            directs.note(Anomaly::IntermediateRead, &[writer, view.transaction], one.key);
        }
    }
}

/// Adds the edges of a key.
fn add_edges(one: &OneKey<'_, '_>, tree: &Tree, key: u32, edges: &mut Vec<Edge>) {
    let nodes = &tree.nodes;
    let writer = |node: u32| one.writes[nodes[node as usize].write as usize].transaction;
    let installed: Vec<u32> =
        (0..nodes.len() as u32).map(|node| installed(one, tree, node)).collect();
    let mut add = |from: u32, to: u32, dependency: Dependency| {
        if from != to {
            edges.push(Edge { from, to, key, dependency });
        }
    };
    // The list of those that follow a node.
    let mut first = vec![NONE; nodes.len()];
    let mut next = vec![NONE; nodes.len()];
    for node in (1..nodes.len() as u32).rev() {
        if installed[node as usize] != node {
            continue;
        }
        let parent = installed[nodes[node as usize].parent as usize];
        next[node as usize] = std::mem::replace(&mut first[parent as usize], node);
        if parent != ROOT {
            add(writer(parent), writer(node), Dependency::WriteWrite);
        }
    }
    for (view, seen) in one.views.iter().zip(&tree.seen) {
        if *seen == NONE {
            continue;
        }
        let node = installed[*seen as usize];
        if node != ROOT {
            add(writer(node), view.transaction, Dependency::WriteRead);
        }
        let dependency = if view.is_gap { Dependency::RangeWrite } else { Dependency::ReadWrite };
        let mut successor = first[node as usize];
        for _ in 0..MOST_SUCCESSORS {
            if successor == NONE {
                break;
            }
            add(view.transaction, writer(successor), dependency);
            successor = next[successor as usize];
        }
    }
}

/// Returns the node that stands for a version: of several that one transaction made in succession
/// the first, and of those of aborted transactions the committed one before them.
fn installed(one: &OneKey<'_, '_>, tree: &Tree, node: u32) -> u32 {
    let mut node = node;
    // Registers may have circles.
    for _ in 0..tree.nodes.len() {
        if node == ROOT {
            break;
        }
        let Node { parent, write } = tree.nodes[node as usize];
        let own = write as usize;
        if one.is_committed(own) {
            let before = tree.nodes[parent as usize].write as usize;
            let transaction = one.writes[own].transaction;
            if parent == ROOT || one.writes[before].transaction != transaction {
                break;
            }
        }
        node = parent;
    }
    node
}
