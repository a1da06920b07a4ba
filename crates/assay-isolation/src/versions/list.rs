//! The versions of a list: one for each append, in the order that the longest read shows.

use std::collections::HashMap;

use super::{Base, Node, OneKey, ROOT, Tree, ValueAt, writer_of};
use crate::collect::{Directs, Malformed, NONE, View};
use crate::verdict::Anomaly;

/// Returns the versions of a list.
pub(super) fn tree(one: &OneKey<'_, '_>, directs: &mut Directs) -> Result<Tree, Malformed> {
    let values = one.by_value()?;
    let mut list = List {
        one,
        values,
        longest: &[],
        longest_view: NONE,
        nodes: vec![Node { parent: ROOT, write: NONE }],
        placed: vec![NONE; one.writes.len()],
        children: HashMap::new(),
        seen: vec![NONE; one.views.len()],
    };
    list.place_views(directs);
    list.note_orders(directs);
    list.note_missing_appends(directs);
    list.place_unread();
    list.note_aborted_reads(directs);
    let mut bases = Vec::new();
    for (place, write) in one.writes.iter().enumerate() {
        if one.is_first(place)
            && one.is_committed(place)
            && let Some(node) = list.derived(place)
        {
            bases.push(Base { node, transaction: write.transaction });
        }
    }
    Ok(Tree { nodes: list.nodes, seen: list.seen, bases })
}

struct List<'l, 'c, 'h> {
    one: &'l OneKey<'c, 'h>,
    values: Vec<ValueAt>,
    /// The longest list that was read. Its values have the first nodes.
    longest: &'h [u64],
    longest_view: u32,
    nodes: Vec<Node>,
    /// The node of each write.
    placed: Vec<u32>,
    /// The nodes that are not on the longest list, by their parents and values.
    children: HashMap<(u32, u64), Child>,
    seen: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Child {
    node: u32,
    /// The first view that shows it.
    view: u32,
}

impl List<'_, '_, '_> {
    /// Gives each view the node that it saw, the longest first.
    fn place_views(&mut self, directs: &mut Directs) {
        let one = self.one;
        let mut order: Vec<u32> = (0..one.views.len() as u32).collect();
        order.sort_by_key(|view| std::cmp::Reverse(one.views[*view as usize].seen.len()));
        for place in order {
            let view = &one.views[place as usize];
            if self.longest_view != NONE && self.longest.starts_with(view.seen) {
                self.seen[place as usize] = view.seen.len() as u32;
                continue;
            }
            if let Some(anomaly) = self.wrong(view.seen) {
                directs.note(anomaly, &[view.transaction], one.key);
                continue;
            }
            let node = if self.longest_view == NONE {
                self.longest_view = place;
                self.longest = view.seen;
                view.seen.iter().fold(ROOT, |node, value| self.push(node, *value))
            } else {
                self.branch(view.seen, place)
            };
            self.seen[place as usize] = node;
        }
    }

    /// Returns what is wrong with a list's values.
    fn wrong(&self, seen: &[u64]) -> Option<Anomaly> {
        let mut writes = Vec::with_capacity(seen.len());
        for value in seen {
            match writer_of(&self.values, *value) {
                Some(write) => writes.push(write),
                None => return Some(Anomaly::Garbage),
            }
        }
        writes.sort_unstable();
        writes.windows(2).any(|pair| pair[0] == pair[1]).then_some(Anomaly::Duplicate)
    }

    /// Adds the node of a value, and returns it.
    fn push(&mut self, parent: u32, value: u64) -> u32 {
        let Some(write) = writer_of(&self.values, value) else { return parent };
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { parent, write });
        let placed = &mut self.placed[write as usize];
        if *placed == NONE {
            *placed = node;
        }
        node
    }

    /// Returns the node of a list that is no part of the longest one.
    fn branch(&mut self, seen: &[u64], view: u32) -> u32 {
        let common = seen.iter().zip(self.longest).take_while(|pair| pair.0 == pair.1).count();
        let mut node = common as u32;
        for value in &seen[common..] {
            node = match self.children.get(&(node, *value)) {
                Some(child) => child.node,
                None => {
                    let child = Child { node: self.push(node, *value), view };
                    self.children.insert((node, *value), child);
                    child.node
                }
            };
        }
        node
    }

    /// Returns the node that a write was added to, if its transaction had read or written it.
    fn derived(&self, write: usize) -> Option<u32> {
        let node = if self.one.is_first(write) {
            self.seen[self.one.base(write)?]
        } else {
            self.placed[write - 1]
        };
        (node != NONE).then_some(node)
    }

    /// Notes nodes that two reads show at one place. Two transactions that have read the node
    /// before them lost an update there, and an aborted one left a value to read: neither is an
    /// order of its own.
    fn note_orders(&self, directs: &mut Directs) {
        let one = self.one;
        let mut branches: Vec<(u32, Child)> =
            self.children.iter().map(|(place, child)| (place.0, *child)).collect();
        branches.sort_unstable_by_key(|branch| branch.1.node);
        let mut others: HashMap<u32, Child> = HashMap::new();
        for (parent, child) in branches {
            let on_longest = (parent as usize) < self.longest.len();
            let other = if on_longest {
                Child { node: parent + 1, view: self.longest_view }
            } else {
                *others.entry(parent).or_insert(child)
            };
            if other.node == child.node {
                continue;
            }
            let writes = [other, child].map(|child| self.nodes[child.node as usize].write as usize);
            let is_explained = writes.iter().all(|write| self.derived(*write) == Some(parent))
                || writes.iter().any(|write| !one.is_committed(*write));
            if !is_explained {
                let reader = |child: Child| one.views[child.view as usize].transaction;
                let writer = |write: usize| one.writes[write].transaction;
                let all = [reader(other), reader(child), writer(writes[0]), writer(writes[1])];
                directs.note(Anomaly::IncompatibleOrder, &all, one.key);
            }
        }
    }

    /// Notes lists that show an append of a transaction without the one that it made before.
    fn note_missing_appends(&self, directs: &mut Directs) {
        let one = self.one;
        for node in &self.nodes[1..] {
            let write = node.write as usize;
            if one.is_first(write) || !one.is_committed(write) {
                continue;
            }
            let mut before = node.parent;
            while before != ROOT && self.nodes[before as usize].write as usize != write - 1 {
                before = self.nodes[before as usize].parent;
            }
            if before == ROOT {
                let shows = |view: &&View<'_>| view.seen.contains(&one.writes[write].value);
                let reader = one.views.iter().find(shows).map(|view| view.transaction);
                let writer = one.writes[write].transaction;
                let both: Vec<u32> = reader.into_iter().chain([writer]).collect();
                directs.note(Anomaly::IncompatibleOrder, &both, one.key);
                return;
            }
        }
    }

    /// Adds nodes for committed appends that no transaction has read. They come after the node that
    /// their transaction had read, if another one lost its update there or nothing follows it;
    /// otherwise at the end of the longest list.
    fn place_unread(&mut self) {
        let end = self.longest.len() as u32;
        let mut following: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut is_noted = false;
        for write in 0..self.one.writes.len() {
            if self.placed[write] != NONE || !self.one.is_committed(write) {
                continue;
            }
            if !is_noted {
                // Few keys get here.
                for node in self.nodes.iter().skip(1) {
                    following.entry(node.parent).or_default().push(node.write);
                }
                is_noted = true;
            }
            let derived = self.derived(write);
            let parent = derived.filter(|node| {
                following.get(node).is_none_or(|writes| {
                    let from_there = |write: &u32| self.derived(*write as usize) == Some(*node);
                    writes.iter().any(from_there)
                })
            });
            let parent = parent.unwrap_or(end);
            self.placed[write] = self.nodes.len() as u32;
            self.nodes.push(Node { parent, write: write as u32 });
            following.entry(parent).or_default().push(write as u32);
        }
    }

    /// Notes committed reads of lists with values of aborted transactions.
    fn note_aborted_reads(&self, directs: &mut Directs) {
        let one = self.one;
        if one.writes.iter().all(|write| one.committed[write.transaction as usize]) {
            return;
        }
        // The nearest aborted write up from each node; parents have smaller numbers.
        let mut aborted = vec![NONE; self.nodes.len()];
        for (node, at) in self.nodes.iter().enumerate().skip(1) {
            let is_committed = one.is_committed(at.write as usize);
            aborted[node] = if is_committed { aborted[at.parent as usize] } else { at.write };
        }
        for (view, seen) in one.views.iter().zip(&self.seen) {
            let write = if *seen == NONE { NONE } else { aborted[*seen as usize] };
            if write != NONE {
                let writer = one.writes[write as usize].transaction;
                directs.note(Anomaly::AbortedRead, &[writer, view.transaction], one.key);
            }
        }
    }
}
