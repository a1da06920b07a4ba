//! `papaya`: a hash table without locks, made for many readers.
//!
//! - Version: that of the crate.
//! - Storage: memory, level `none`; nothing is kept. No transactions, no scans.
//! - Settings: none; the hasher (SipHash) and the steps in which the table grows are the crate's
//!   defaults, and nothing is reserved.
//! - Each operation pins the map, as its documentation recommends for single ones. An update
//!   replaces the record by a changed copy.

use std::borrow::Borrow;
use std::hash::Hash;

use assay_driver::schema::KeyOrder;
use assay_driver::{KeyKind, OpenSpec, Store};
use papaya::HashMap;

use super::concurrent::{ConcurrentStore, SharedMap};
use super::{Key, MapDriver, Names, Payload, open_map};
use crate::word_key::WordKey;

pub(crate) fn driver() -> MapDriver {
    MapDriver::new(
        Names { id: "papaya", name: "papaya", about: "Rust papaya::HashMap" },
        &[KeyKind::Hash],
        env!("ASSAY_VERSION_PAPAYA"),
        open,
    )
    .for_threads()
}

fn open(spec: &OpenSpec) -> Box<dyn Store> {
    open_map!(spec, false, "papaya::HashMap, its default hasher", ConcurrentStore of HashMap)
}

impl<K, P> SharedMap for HashMap<K, P>
where
    K: Key + Hash + Eq + Borrow<K::Lookup>,
    K::Lookup: Hash + Eq,
    P: Payload + Clone,
{
    type Key = K;
    type Payload = P;

    fn insert(&self, key: &K::Lookup, payload: &[u8]) -> bool {
        self.pin().try_insert(K::owned(key), P::new(payload)).is_ok()
    }

    fn copy(&self, key: &K::Lookup, payload: &mut [u8]) -> bool {
        let map = self.pin();
        let Some(found) = map.get(key) else { return false };
        let found = found.bytes();
        payload[..found.len()].copy_from_slice(found);
        true
    }

    fn upsert(&self, key: &K::Lookup, payload: &[u8]) {
        self.pin().insert(K::owned(key), P::new(payload));
    }

    fn update(&self, key: &K::Lookup, change: impl Fn(&mut P)) -> bool {
        let changed = |found: &P| {
            let mut payload = found.clone();
            change(&mut payload);
            payload
        };
        self.pin().update(K::owned(key), changed).is_some()
    }

    fn remove(&self, key: &K::Lookup) -> bool {
        self.pin().remove(key).is_some()
    }
}
