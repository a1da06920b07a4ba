//! The store of containers that are made for threads: all connections share one map, and no lock is
//! around it. Keys and payloads are as in the other maps.

use assay_driver::error::Result;
use assay_driver::schema::{ColumnType, Schema};
use assay_driver::{Cache, Connection, OpenSpec, Outcome, Scan, Store, Work};

use super::{Key, Payload, no_order};

/// The operations that the drivers need of a container that threads share.
pub(super) trait SharedMap: Default + Send + Sync + 'static {
    type Key: Key;
    type Payload: Payload;

    fn insert(&self, key: &<Self::Key as Key>::Lookup, payload: &[u8]) -> bool;
    /// Copies a payload; returns false if the map does not have the key.
    fn copy(&self, key: &<Self::Key as Key>::Lookup, payload: &mut [u8]) -> bool;
    fn upsert(&self, key: &<Self::Key as Key>::Lookup, payload: &[u8]);
    /// Changes a payload; returns false if the map does not have the key.
    fn update(&self, key: &<Self::Key as Key>::Lookup, change: impl Fn(&mut Self::Payload))
    -> bool;
    fn remove(&self, key: &<Self::Key as Key>::Lookup) -> bool;
}

pub(super) struct ConcurrentStore<M: SharedMap> {
    map: M,
    codec: <M::Key as Key>::Codec,
    schema: Schema,
    setting: &'static str,
}

impl<M: SharedMap> ConcurrentStore<M> {
    pub(super) fn boxed(
        codec: <M::Key as Key>::Codec,
        spec: &OpenSpec,
        setting: &'static str,
    ) -> Box<Self> {
        Box::new(Self { map: M::default(), codec, schema: spec.schema.clone(), setting })
    }
}

impl<M: SharedMap> Store for ConcurrentStore<M> {
    fn settings(&self) -> Vec<String> {
        vec![self.setting.into()]
    }

    fn cache(&self) -> Cache {
        Cache::InMemory
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let codec = self.codec.clone();
        work(&mut ConcurrentConnection { map: &self.map, codec, schema: &self.schema })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct ConcurrentConnection<'s, M: SharedMap> {
    map: &'s M,
    codec: <M::Key as Key>::Codec,
    schema: &'s Schema,
}

impl<M: SharedMap> Connection for ConcurrentConnection<'_, M> {
    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let (area, payload) = record.split_at(self.schema.key_size());
        let payload = &payload[..self.schema.used_payload(payload)];
        let key = M::Key::lookup(&mut self.codec, area);
        Ok(if self.map.insert(key, payload) { Outcome::Done } else { Outcome::Duplicate })
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        let (area, payload) = record.split_at(self.schema.key_size());
        let payload = &payload[..self.schema.used_payload(payload)];
        self.map.upsert(M::Key::lookup(&mut self.codec, area), payload);
        Ok(())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let found = self.map.copy(M::Key::lookup(&mut self.codec, key), payload);
        Ok(if found { Outcome::Done } else { Outcome::Missing })
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let column = &self.schema.columns()[column];
        let offset = column.offset - self.schema.key_size();
        let last = matches!(column.kind, ColumnType::VarBytes(_));
        let value = &value[..column.kind.used_bytes(value)];
        let key = M::Key::lookup(&mut self.codec, key);
        let found = self.map.update(key, |payload| payload.set(offset, value, last));
        Ok(if found { Outcome::Done } else { Outcome::Missing })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let removed = self.map.remove(M::Key::lookup(&mut self.codec, key));
        Ok(if removed { Outcome::Done } else { Outcome::Missing })
    }

    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(&[u8])) -> Result<u64> {
        Err(no_order())
    }
}
