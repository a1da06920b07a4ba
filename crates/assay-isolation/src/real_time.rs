//! The check that a serial order agrees with real time.
//!
//! Each transaction gets the earliest moment at which it can have happened: after its start, and
//! not before those that come before it. If that is after its end, there is no such order. This
//! takes one pass over the graph, which has no cycle.

use crate::collect::NONE;
use crate::graph::Graph;
use crate::history::{Outcome, Transaction};
use crate::verdict::{Dependency, Step};

/// The earliest moment of a transaction, and why.
#[derive(Clone, Copy)]
struct Earliest {
    moment: u64,
    /// The transaction before it that causes the moment.
    cause: u32,
    /// The number of transactions up to the one whose start is the moment.
    distance: u32,
}

/// Returns the shortest chain of dependencies from a transaction to one that had ended when the
/// first started, without the last step.
///
/// `component` numbers the graph's nodes so that edges lead to smaller numbers; no two nodes share
/// a number.
pub(crate) fn contradiction(
    history: &[Transaction],
    graph: &Graph,
    component: &[u32],
    keys: &[u64],
) -> Option<Vec<Step>> {
    let mut order = vec![0; component.len()];
    for (node, place) in component.iter().enumerate() {
        order[component.len() - 1 - *place as usize] = node as u32;
    }
    let start = |transaction: &Transaction| Earliest {
        moment: transaction.start,
        cause: NONE,
        distance: 0,
    };
    let mut earliest: Vec<Earliest> = history.iter().map(start).collect();
    let mut found: Option<(u32, u32)> = None;
    for node in order {
        let transaction = &history[node as usize];
        let own = earliest[node as usize];
        let has_end = transaction.outcome == Outcome::Committed;
        let is_shorter = found.is_none_or(|found| own.distance < found.1);
        if has_end && own.moment > transaction.end && is_shorter {
            found = Some((node, own.distance));
        }
        for edge in graph.from(node) {
            let next = &mut earliest[edge.to as usize];
            let distance = own.distance + 1;
            let is_later = own.moment > next.moment;
            if is_later || (own.moment == next.moment && distance < next.distance) {
                *next = Earliest { moment: own.moment, cause: node, distance };
            }
        }
    }
    let (late, _) = found?;
    let mut steps = Vec::new();
    let mut node = late;
    while earliest[node as usize].cause != NONE {
        let cause = earliest[node as usize].cause;
        let edge = graph.from(cause).iter().find(|edge| edge.to == node)?;
        steps.push(Step {
            from: cause as usize,
            to: node as usize,
            dependency: edge.dependency,
            key: keys[edge.key as usize],
        });
        node = cause;
    }
    let step =
        Step { from: late as usize, to: node as usize, dependency: Dependency::RealTime, key: 0 };
    steps.push(step);
    steps.reverse();
    Some(steps)
}
