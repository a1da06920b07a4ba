//! The search for anomalies, from operations to cycles.

use crate::collect::{Collected, Direct, Malformed, collect};
use crate::cycles;
use crate::graph::{Edge, Graph};
use crate::history::Transaction;
use crate::real_time::contradiction;
use crate::verdict::{Anomaly, Step};
use crate::versions;

/// An anomaly in the whole history.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub(crate) anomaly: Anomaly,
    /// The transactions that show it.
    pub(crate) transactions: Vec<usize>,
    /// The keys by which they depend.
    pub(crate) keys: Vec<u64>,
    pub(crate) steps: Vec<Step>,
}

impl Raw {
    fn of_cycle(anomaly: Anomaly, steps: Vec<Step>) -> Self {
        let transactions = steps.iter().map(|step| step.from).collect();
        let keys = steps.iter().map(|step| step.key).collect();
        Self { anomaly, transactions, keys, steps }
    }
}

/// Finds the anomalies of a history, each kind once.
pub(crate) fn examine(history: &[Transaction]) -> Result<Vec<Raw>, Malformed> {
    let mut collected = collect(history)?;
    let edges = versions::edges(&mut collected)?;
    let Collected { keys, directs, writes, views, committed } = collected;
    // The graph needs their memory.
    drop((writes, views, committed));
    let of_direct = |direct: Direct| Raw {
        anomaly: direct.anomaly,
        transactions: direct.transactions.iter().map(|number| *number as usize).collect(),
        keys: vec![direct.key],
        steps: Vec::new(),
    };
    let mut found: Vec<Raw> = directs.found.into_iter().map(of_direct).collect();
    let graph = Graph::new(history.len(), &edges);
    drop(edges);
    let component = graph.components(|_| true);
    let step = |edge: Edge| Step {
        from: edge.from as usize,
        to: edge.to as usize,
        dependency: edge.dependency,
        key: keys[edge.key as usize],
    };
    let cycles = cycles::search(&graph, &component);
    let is_acyclic = cycles.is_empty();
    for (anomaly, cycle) in cycles {
        // What two transactions read before they wrote says more than the cycle.
        if found.iter().all(|raw| raw.anomaly != anomaly) {
            found.push(Raw::of_cycle(anomaly, cycle.into_iter().map(step).collect()));
        }
    }
    if is_acyclic && let Some(steps) = contradiction(history, &graph, &component, &keys) {
        found.push(Raw::of_cycle(Anomaly::RealTime, steps));
    }
    Ok(found)
}
