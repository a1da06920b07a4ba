//! `dashmap`: a hash table in shards, each under a read-write lock of its own.
//!
//! - Version: that of the crate.
//! - Storage: memory, level `none`; nothing is kept. No transactions, no scans.
//! - Settings: none; shards (four a processor, as a power of two) and hasher (SipHash) are the
//!   crate's defaults, and nothing is reserved.
//! - An update holds its shard's lock and changes the record in place.

use std::borrow::Borrow;
use std::hash::Hash;

use assay_driver::schema::KeyOrder;
use assay_driver::{KeyKind, OpenSpec, Store};
use dashmap::{DashMap, Entry};

use super::concurrent::{ConcurrentStore, SharedMap};
use super::{Key, MapDriver, Names, Payload, open_map};
use crate::word_key::WordKey;

pub(crate) fn driver() -> MapDriver {
    MapDriver::new(
        Names { id: "dashmap", name: "dashmap", about: "Rust dashmap::DashMap" },
        &[KeyKind::Hash],
        env!("ASSAY_VERSION_DASHMAP"),
        open,
    )
    .for_threads()
}

fn open(spec: &OpenSpec) -> Box<dyn Store> {
    open_map!(spec, false, "DashMap, its default shards and hasher", ConcurrentStore of DashMap)
}

impl<K, P> SharedMap for DashMap<K, P>
where
    K: Key + Hash + Eq + Borrow<K::Lookup>,
    K::Lookup: Hash + Eq,
    P: Payload,
{
    type Key = K;
    type Payload = P;

    fn insert(&self, key: &K::Lookup, payload: &[u8]) -> bool {
        match self.entry(K::owned(key)) {
            Entry::Vacant(free) => {
                free.insert(P::new(payload));
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    fn copy(&self, key: &K::Lookup, payload: &mut [u8]) -> bool {
        let Some(found) = self.get(key) else { return false };
        let found = found.bytes();
        payload[..found.len()].copy_from_slice(found);
        true
    }

    fn upsert(&self, key: &K::Lookup, payload: &[u8]) {
        self.insert(K::owned(key), P::new(payload));
    }

    fn update(&self, key: &K::Lookup, change: impl Fn(&mut P)) -> bool {
        let found = self.get_mut(key);
        found.map(|mut payload| change(&mut payload)).is_some()
    }

    fn remove(&self, key: &K::Lookup) -> bool {
        self.remove(key).is_some()
    }
}
