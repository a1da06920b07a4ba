//! A connection to a store of Tonbo.

use std::collections::Bound;
use std::pin::pin;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use assay_driver::error::{Error, Result};
use assay_driver::{Connection, Outcome, Scan};
use futures_util::StreamExt;
use tonbo::Projection;
use tonbo::transaction::{CommitError, Transaction};

use super::background::one_line;
use super::layout::Layout;
use super::rows::{KeyOf, Row};
use super::store::TonboStore;

/// The number of attempts of an update if other writers come between.
const ATTEMPTS_MAX: usize = 1_000;

/// An open transaction.
struct Open<'s, R: Row> {
    inner: Transaction<'s, R>,
    /// The locks of all keys, if several connections write. They are taken before the transaction
    /// starts: a transaction holds a lock of Tonbo's that a commit of another may wait for, so no
    /// thread waits for these while it holds one.
    held: Vec<MutexGuard<'s, ()>>,
    /// True if the transaction has deleted: its own deletes are hidden from `Transaction::get`, not
    /// from its scans.
    deleted: bool,
}

pub(super) struct TonboConnection<'s, R: Row> {
    store: &'s TonboStore<R>,
    transaction: Option<Open<'s, R>>,
    record: Vec<u8>,
}

/// Reads a record's payload area with a transaction.
async fn find<R: Row>(
    store: &TonboStore<R>,
    open: &Open<'_, R>,
    key: &KeyOf<R>,
    payload: &mut [u8],
) -> Result<Outcome> {
    let layout = &store.layout;
    let (columns, base) = payload_columns(layout);
    if !open.deleted {
        let entry = store.patiently("get", open.inner.get(key, Projection::All)).await?;
        return Ok(match entry {
            Some(entry) => {
                R::unpack(layout, &entry.get(), columns, base, payload);
                Outcome::Done
            }
            None => Outcome::Missing,
        });
    }
    let range = (Bound::Included(key), Bound::Included(key));
    let mut entries = pin!(store.patiently("get", open.inner.scan(range).take()).await?);
    while let Some(entry) = entries.next().await {
        let entry = entry.map_err(|e| Error::engine("get", one_line(e)))?;
        if let Some(found) = entry.value() {
            R::unpack(layout, &found, columns, base, payload);
            return Ok(Outcome::Done);
        }
    }
    Ok(Outcome::Missing)
}

/// Returns the columns of the payload area, and its offset in a record.
fn payload_columns(layout: &Layout) -> (std::ops::Range<usize>, usize) {
    let schema = &layout.schema;
    (schema.key_columns().len()..schema.columns().len(), schema.key_size())
}

impl<'s, R: Row> TonboConnection<'s, R> {
    pub(super) fn new(store: &'s TonboStore<R>) -> Self {
        let record = vec![0; store.layout.schema.record_size()];
        Self { store, transaction: None, record }
    }

    async fn put(&mut self, packed: &[u8]) -> Result<Outcome> {
        let store = self.store;
        store.background.check("insert")?;
        let record = R::pack(&store.layout, packed)?;
        if !store.logged {
            store.written.fetch_add(record.size(), Ordering::Relaxed);
        }
        match &mut self.transaction {
            Some(open) => open.inner.insert(record),
            None => {
                let _held = store.key_locks.lock(&packed[..store.layout.schema.key_size()]);
                store.patiently("insert", store.database.insert(record)).await?;
                store.acknowledge("insert").await?;
            }
        }
        Ok(Outcome::Done)
    }

    async fn find(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let store = self.store;
        let key = <R as Row>::key(&store.layout, key);
        if let Some(open) = &self.transaction {
            return find(store, open, &key, payload).await;
        }
        let (columns, base) = payload_columns(&store.layout);
        let found = store.database.get(&key, |entry| {
            R::unpack(&store.layout, &entry.get(), columns.clone(), base, payload);
            Some(())
        });
        Ok(match store.patiently("get", found).await? {
            Some(()) => Outcome::Done,
            None => Outcome::Missing,
        })
    }

    async fn change(&mut self, area: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let store = self.store;
        store.background.check("update")?;
        let key = <R as Row>::key(&store.layout, area);
        let column = &store.layout.schema.columns()[column];
        let (head, payload) = self.record.split_at_mut(area.len());
        head.copy_from_slice(area);
        if let Some(open) = &mut self.transaction {
            if find(store, open, &key, payload).await? == Outcome::Missing {
                return Ok(Outcome::Missing);
            }
            column.slice_mut(&mut self.record).copy_from_slice(value);
            open.inner.insert(R::pack(&store.layout, &self.record)?);
            return Ok(Outcome::Done);
        }
        let _held = store.key_locks.lock(area);
        for _ in 0..ATTEMPTS_MAX {
            let (_, payload) = self.record.split_at_mut(area.len());
            let mut open = Open {
                inner: store.database.transaction().await,
                held: Vec::new(),
                deleted: false,
            };
            if find(store, &open, &key, payload).await? == Outcome::Missing {
                return Ok(Outcome::Missing);
            }
            column.slice_mut(&mut self.record).copy_from_slice(value);
            let record = R::pack(&store.layout, &self.record)?;
            if !store.logged {
                store.written.fetch_add(record.size(), Ordering::Relaxed);
            }
            open.inner.insert(record);
            match open.inner.commit().await {
                Ok(()) => {
                    store.acknowledge("update").await?;
                    return Ok(Outcome::Done);
                }
                Err(CommitError::WriteConflict(_)) => {}
                Err(error) => return Err(Error::engine("update", one_line(error))),
            }
        }
        Err(Error::engine("update", "it met other writers again and again"))
    }

    async fn remove(&mut self, key: &[u8]) -> Result<Outcome> {
        let store = self.store;
        store.background.check("delete")?;
        let _held = match self.transaction {
            Some(_) => None,
            None => store.key_locks.lock(key),
        };
        let key = <R as Row>::key(&store.layout, key);
        match &mut self.transaction {
            Some(open) => {
                open.inner.remove(key);
                open.deleted = true;
            }
            // The result does not show if the key existed.
            None => {
                store.patiently("delete", store.database.remove(key)).await?;
                store.acknowledge("delete").await?;
            }
        }
        Ok(Outcome::Done)
    }

    async fn walk(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let store = self.store;
        let layout = &store.layout;
        if is_empty(layout, scan) {
            return Ok(0);
        }
        let lower = scan.lower.map(|area| <R as Row>::key(layout, area));
        let upper = scan.upper.map(|area| <R as Row>::key(layout, area));
        let range = (lower.as_ref(), upper.as_ref());
        let snapshot;
        let mut query = match &self.transaction {
            Some(open) => open.inner.scan(range),
            None => {
                snapshot = store.database.snapshot().await;
                snapshot.scan(range)
            }
        };
        let key_len = layout.schema.key_columns().len();
        let payload = scan.columns.iter().filter(|&&at| at >= key_len);
        let names: Vec<_> = payload.map(|at| layout.names[at - key_len + 1].as_str()).collect();
        if names.len() < layout.names.len() - 1 {
            query = query.projection(&names);
        }
        let mut entries = pin!(store.patiently("scan", query.take()).await?);
        let mut count = 0;
        while count < scan.limit {
            let next = async { entries.next().await.transpose() };
            let Some(entry) = store.patiently("scan", next).await? else {
                break;
            };
            let Some(found) = entry.value() else {
                continue;
            };
            R::unpack(layout, &found, scan.columns.iter().copied(), 0, &mut self.record);
            row(&self.record);
            count += 1;
        }
        Ok(count)
    }
}

/// Returns true if no key can be in a range. (Tonbo asks maps for it that panic then.)
fn is_empty(layout: &Layout, scan: &Scan<'_>) -> bool {
    use Bound::{Excluded, Included, Unbounded};
    let lower = scan.lower.map(|area| layout.encoded_key(area));
    let upper = scan.upper.map(|area| layout.encoded_key(area));
    match (&lower, &upper) {
        (Unbounded, _) | (_, Unbounded) => false,
        (Included(lower), Included(upper)) => lower > upper,
        (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower >= upper,
    }
}

impl<R: Row> Connection for TonboConnection<'_, R> {
    fn begin(&mut self) -> Result<()> {
        let store = self.store;
        let held = store.key_locks.lock_all();
        let inner = store.runtime.block_on(store.database.transaction());
        self.transaction = Some(Open { inner, held, deleted: false });
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let store = self.store;
        let open = self.transaction.take();
        let open = open.ok_or_else(|| Error::engine("commit", "no transaction is open"))?;
        let Open { inner, held: _held, .. } = open;
        store.runtime.block_on(async {
            store.patiently("commit", inner.commit()).await?;
            store.acknowledge("commit").await
        })
    }

    fn rollback(&mut self) -> Result<()> {
        self.transaction = None;
        Ok(())
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        self.store.runtime.block_on(self.put(record))
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        self.store.runtime.block_on(self.put(record)).map(|_| ())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        self.store.runtime.block_on(self.find(key, payload))
    }

    fn get_many(
        &mut self,
        keys: &[u8],
        payloads: &mut [u8],
        outcomes: &mut [Outcome],
    ) -> Result<()> {
        let schema = &self.store.layout.schema;
        let keys = keys.chunks_exact(schema.key_size());
        let payloads = payloads.chunks_exact_mut(schema.payload_size());
        self.store.runtime.block_on(async {
            let own = match self.transaction {
                Some(_) => None,
                None => {
                    let inner = self.store.database.transaction().await;
                    Some(Open { inner, held: Vec::new(), deleted: false })
                }
            };
            let open = self.transaction.as_ref().or(own.as_ref());
            let Some(open) = open else {
                return Ok(());
            };
            for ((key, payload), outcome) in keys.zip(payloads).zip(outcomes) {
                let key = <R as Row>::key(&self.store.layout, key);
                *outcome = find(self.store, open, &key, payload).await?;
            }
            Ok(())
        })
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        self.store.runtime.block_on(self.change(key, column, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.store.runtime.block_on(self.remove(key))
    }

    fn replay_inserts(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        self.store.runtime.block_on(async {
            let mut done = 0;
            for record in records.chunks_exact(record_size) {
                done += u64::from(self.put(record).await? == Outcome::Done);
            }
            Ok(done)
        })
    }

    fn replay_gets(
        &mut self,
        keys: &[u8],
        key_size: usize,
        payloads: &mut [u8],
        payload_size: usize,
    ) -> Result<u64> {
        self.store.runtime.block_on(async {
            let mut done = 0;
            let payloads = payloads.chunks_exact_mut(payload_size);
            for (key, payload) in keys.chunks_exact(key_size).zip(payloads) {
                done += u64::from(self.find(key, payload).await? == Outcome::Done);
            }
            Ok(done)
        })
    }

    fn replay_updates(
        &mut self,
        keys: &[u8],
        key_size: usize,
        column: usize,
        values: &[u8],
        value_size: usize,
    ) -> Result<u64> {
        self.store.runtime.block_on(async {
            let mut done = 0;
            let values = values.chunks_exact(value_size);
            for (key, value) in keys.chunks_exact(key_size).zip(values) {
                done += u64::from(self.change(key, column, value).await? == Outcome::Done);
            }
            Ok(done)
        })
    }

    fn replay_deletes(&mut self, keys: &[u8], key_size: usize) -> Result<u64> {
        self.store.runtime.block_on(async {
            let mut done = 0;
            for key in keys.chunks_exact(key_size) {
                done += u64::from(self.remove(key).await? == Outcome::Done);
            }
            Ok(done)
        })
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        self.store.runtime.block_on(self.walk(scan, row))
    }
}
