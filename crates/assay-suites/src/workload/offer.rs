//! The offer of an engine to do a phase. A phase that it cannot do is left out, with the reason;
//! none of its operations is replaced by others.

use std::ops::Bound;

use assay_core::tape::Records as _;
use assay_driver::error::{ErrorKind, Result};
use assay_driver::{
    Change, Concurrency, Connection, Driver, InsertRule, KeyKind, Profile, Scan, Transactions,
};

use super::model::Model;
use super::records::Records;
use super::spec::{Kind, Phase, Spec};

/// The engine's answer to whether it can do a phase.
pub(super) enum Offer {
    /// The engine can; true if its insert replaces and is its way to upsert.
    Can { inserts_replace: bool },
    /// The engine cannot, for this reason.
    Cannot(String),
}

/// Returns why an engine cannot do a phase by a number of threads, as far as what it declares says
/// that.
pub fn refusal(
    driver: &dyn Driver,
    phase: &Phase,
    key_kind: KeyKind,
    threads: u32,
) -> Option<&'static str> {
    let is_alone = driver.profile().concurrency == Concurrency::OneConnection;
    let most = if phase.background.is_some() { 0 } else { 1 };
    let lacks = |change| driver.lacks().contains(&change);
    let reads = |kind: Kind| !matches!(kind, Kind::Insert | Kind::Delete | Kind::Upsert);
    let transactions = driver.profile().transactions;
    let why = [
        (threads > most && is_alone, "it has one connection at a time"),
        (phase.does(Kind::updates) && lacks(Change::Update), "it has no update"),
        (phase.does(|kind| kind == Kind::Delete) && lacks(Change::Delete), "it has no delete"),
        (phase.together > 1 && transactions == Transactions::None, "it has no transactions"),
        (
            phase.together > 1 && transactions == Transactions::Batches && phase.any(reads),
            "its transactions do not read",
        ),
        (
            phase.does(|kind| kind == Kind::Find) && !driver.has_indexes(),
            "it has no secondary indexes",
        ),
        (
            phase.does(|kind| kind == Kind::Scan) && key_kind == KeyKind::Hash,
            "its keys have no order",
        ),
    ];
    why.into_iter().find_map(|(is_so, why)| is_so.then_some(why))
}

/// Returns why an engine cannot keep the records of a workload; none if it can.
pub fn records_refusal(driver: &dyn Driver, spec: &Spec) -> Option<String> {
    driver.refusal(Records::new(spec, 0).schema())
}

/// Asks an engine if it can do a phase that it does not [refuse](refusal), by doing what changes
/// nothing.
pub(super) fn offer(
    connection: &mut dyn Connection,
    profile: &Profile,
    phase: &Phase,
    records: &Records,
    model: &Model,
) -> Result<Offer> {
    let cannot = |why: &str| Ok(Offer::Cannot(why.into()));
    if phase.does(|kind| kind == Kind::Scan) {
        let all = Bound::Unbounded;
        let scan = Scan { lower: all, upper: all, columns: records.schema().positions(), limit: 1 };
        match connection.scan(&scan, &mut |_| ()) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                return cannot(&format!("it has no {error}"));
            }
            other => drop(other?),
        }
    }
    let mut inserts_replace = false;
    let upserts = phase.does(|kind| kind == Kind::Upsert);
    let there = (0..model.rows()).find(|row| model.state(*row).is_there());
    if let Some(row) = there.filter(|_| upserts && profile.keeps_data) {
        // The record that is there, once more.
        let mut record = vec![0; records.schema().record_size()];
        let (key, payload) = record.split_at_mut(records.schema().key_size());
        records.keys().write(row, key);
        records.write_payload(row, model.state(row).version(), payload);
        match connection.upsert(&record) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                if profile.insert_rule != InsertRule::Replaces {
                    return cannot("it has no upsert");
                }
                inserts_replace = true;
            }
            other => other?,
        }
    }
    Ok(Offer::Can { inserts_replace })
}
