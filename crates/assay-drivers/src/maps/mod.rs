//! Containers of Rust in memory: `btreemap` and `hashbrown`, and `dashmap` and `papaya`, which are
//! made for threads ([`concurrent`]).
//!
//! Of the first two, a single connection owns the map while it lasts, so that no lock is taken for
//! an operation; several share it under a read-write lock. Keys of at most eight bytes are one
//! word, others bytes in the order of the key; payloads of at most 64 bytes are in the map's own
//! slots.

pub(crate) mod btreemap;
mod concurrent;
pub(crate) mod dashmap;
pub(crate) mod hashbrown;
pub(crate) mod papaya;

use std::ops::Bound;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use crate::word_key::WordKey;

/// The driver of a container: its profile, and the function that makes its store.
pub(crate) struct MapDriver {
    profile: Profile,
    version: &'static str,
    open: fn(&OpenSpec) -> Box<dyn Store>,
}

/// The words that present a container to users.
struct Names {
    id: &'static str,
    name: &'static str,
    about: &'static str,
}

impl MapDriver {
    fn new(
        names: Names,
        key_kinds: &'static [KeyKind],
        version: &'static str,
        open: fn(&OpenSpec) -> Box<dyn Store>,
    ) -> Self {
        Self {
            profile: Profile {
                id: names.id,
                name: names.name,
                about: names.about,
                key_kinds,
                levels: &[(Storage::Memory, &[Durability::None])],
                periodic_survives_kill: false,
                transactions: Transactions::None,
                insert_rule: InsertRule::Refuses,
                delete_rule: DeleteRule::Reports,
                concurrency: Concurrency::OneWriter,
                parameters: &[],
                keeps_data: true,
            },
            version,
            open,
        }
    }

    /// Returns the driver of a container that threads read and write at once.
    fn for_threads(mut self) -> Self {
        self.profile.concurrency = Concurrency::Concurrent;
        self
    }
}

impl Driver for MapDriver {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(self.version.into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        Ok((self.open)(spec))
    }
}

/// A key as a container keeps it.
trait Key: Sized + Send + Sync + 'static {
    /// The form in which keys are looked up.
    type Lookup: ?Sized;
    /// The codec that turns key areas into lookups and back.
    type Codec: Send + Sync + Clone;

    fn lookup<'c>(codec: &'c mut Self::Codec, area: &[u8]) -> &'c Self::Lookup;
    fn owned(lookup: &Self::Lookup) -> Self;
    fn write_area(codec: &Self::Codec, lookup: &Self::Lookup, area: &mut [u8]);
}

/// Word keys: in key order, or as they are if no order is needed.
#[derive(Clone)]
struct WordCodec {
    words: WordKey,
    ordered: bool,
    current: u64,
}

impl Key for u64 {
    type Lookup = u64;
    type Codec = WordCodec;

    #[inline(always)]
    fn lookup<'c>(codec: &'c mut WordCodec, area: &[u8]) -> &'c u64 {
        codec.current = if codec.ordered { codec.words.ordered(area) } else { WordKey::raw(area) };
        &codec.current
    }

    fn owned(lookup: &u64) -> Self {
        *lookup
    }

    fn write_area(codec: &WordCodec, lookup: &u64, area: &mut [u8]) {
        let raw = if codec.ordered { codec.words.raw_from_ordered(*lookup) } else { *lookup };
        area.copy_from_slice(&raw.to_le_bytes());
    }
}

/// Keys of any other shape.
#[derive(Clone)]
struct BytesCodec {
    order: KeyOrder,
    current: Vec<u8>,
}

impl Key for Box<[u8]> {
    type Lookup = [u8];
    type Codec = BytesCodec;

    fn lookup<'c>(codec: &'c mut BytesCodec, area: &[u8]) -> &'c [u8] {
        codec.order.encode(area, &mut codec.current);
        &codec.current
    }

    fn owned(lookup: &[u8]) -> Self {
        lookup.into()
    }

    fn write_area(codec: &BytesCodec, lookup: &[u8], area: &mut [u8]) {
        codec.order.decode(lookup, area);
    }
}

/// A payload as a container keeps it.
trait Payload: Send + Sync + 'static {
    fn new(bytes: &[u8]) -> Self;
    fn bytes(&self) -> &[u8];
    /// Sets the bytes from `offset` on; a payload that can grow or shrink then ends with them if
    /// `last`.
    fn set(&mut self, offset: usize, bytes: &[u8], last: bool);
}

impl<const WORDS: usize> Payload for [[u8; 8]; WORDS] {
    #[inline(always)]
    fn new(bytes: &[u8]) -> Self {
        let mut words = [[0; 8]; WORDS];
        words.as_flattened_mut().copy_from_slice(bytes);
        words
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.as_flattened()
    }

    #[inline(always)]
    fn set(&mut self, offset: usize, bytes: &[u8], _: bool) {
        self.as_flattened_mut()[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
}

impl Payload for Box<[u8]> {
    fn new(bytes: &[u8]) -> Self {
        bytes.into()
    }

    fn bytes(&self) -> &[u8] {
        self
    }

    fn set(&mut self, offset: usize, bytes: &[u8], last: bool) {
        let end = offset + bytes.len();
        if last && end != self.len() {
            *self = [&self[..offset], bytes].concat().into();
        } else {
            self[offset..end].copy_from_slice(bytes);
        }
    }
}

/// Called with each key and payload of a scan; false ends it.
type Visitor<'v, K> = dyn FnMut(&<K as Key>::Lookup, &[u8]) -> bool + 'v;

/// The operations that the drivers need of a container.
trait Map: Default + Send + Sync + 'static {
    type Key: Key;
    type Payload: Payload;

    fn insert(&mut self, key: &<Self::Key as Key>::Lookup, payload: &[u8]) -> bool;
    fn get(&self, key: &<Self::Key as Key>::Lookup) -> Option<&[u8]>;
    fn upsert(&mut self, key: &<Self::Key as Key>::Lookup, payload: &[u8]);
    fn get_mut(&mut self, key: &<Self::Key as Key>::Lookup) -> Option<&mut Self::Payload>;
    fn remove(&mut self, key: &<Self::Key as Key>::Lookup) -> bool;
    fn scan(
        &self,
        lower: Bound<&<Self::Key as Key>::Lookup>,
        upper: Bound<&<Self::Key as Key>::Lookup>,
        visit: &mut Visitor<'_, Self::Key>,
    ) -> Result<()>;
}

struct MapStore<M: Map> {
    map: RwLock<M>,
    shared: bool,
    codec: <M::Key as Key>::Codec,
    schema: Schema,
    setting: String,
}

impl<M: Map> MapStore<M> {
    fn boxed(codec: <M::Key as Key>::Codec, spec: &OpenSpec, name: &str) -> Box<Self> {
        Box::new(Self {
            map: RwLock::new(M::default()),
            shared: spec.threads > 1,
            codec,
            schema: spec.schema.clone(),
            setting: match spec.threads {
                1 => format!("{name}, no lock"),
                _ => format!("{name}, one read-write lock"),
            },
        })
    }
}

impl<M: Map> Store for MapStore<M> {
    fn settings(&self) -> Vec<String> {
        vec![self.setting.clone()]
    }

    fn cache(&self) -> Cache {
        Cache::InMemory
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let codec = self.codec.clone();
        let schema = &self.schema;
        if self.shared {
            work(&mut MapConnection { map: Shared(&self.map), codec, schema })
        } else {
            let map = self.map.write().unwrap_or_else(PoisonError::into_inner);
            work(&mut MapConnection { map: Owned(map), codec, schema })
        }
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// The way in which a connection gets its map.
trait Access {
    type Map: Map;

    fn read<T>(&self, look: impl FnOnce(&Self::Map) -> T) -> T;
    fn write<T>(&mut self, change: impl FnOnce(&mut Self::Map) -> T) -> T;
}

/// The only connection.
struct Owned<'s, M>(RwLockWriteGuard<'s, M>);

impl<M: Map> Access for Owned<'_, M> {
    type Map = M;

    #[inline(always)]
    fn read<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        look(&self.0)
    }

    #[inline(always)]
    fn write<T>(&mut self, change: impl FnOnce(&mut M) -> T) -> T {
        change(&mut self.0)
    }
}

/// A connection among several, which takes the lock for each operation.
struct Shared<'s, M>(&'s RwLock<M>);

impl<M: Map> Access for Shared<'_, M> {
    type Map = M;

    fn read<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&mut self, change: impl FnOnce(&mut M) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

type KeyOf<A> = <<A as Access>::Map as Map>::Key;

struct MapConnection<'s, A: Access> {
    map: A,
    codec: <KeyOf<A> as Key>::Codec,
    schema: &'s Schema,
}

impl<A: Access> Connection for MapConnection<'_, A> {
    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let (area, payload) = record.split_at(self.schema.key_size());
        let payload = &payload[..self.schema.used_payload(payload)];
        let key = KeyOf::<A>::lookup(&mut self.codec, area);
        let inserted = self.map.write(|map| map.insert(key, payload));
        Ok(if inserted { Outcome::Done } else { Outcome::Duplicate })
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        let (area, payload) = record.split_at(self.schema.key_size());
        let payload = &payload[..self.schema.used_payload(payload)];
        let key = KeyOf::<A>::lookup(&mut self.codec, area);
        self.map.write(|map| map.upsert(key, payload));
        Ok(())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let key = KeyOf::<A>::lookup(&mut self.codec, key);
        self.map.read(|map| match map.get(key) {
            Some(found) => {
                payload[..found.len()].copy_from_slice(found);
                Ok(Outcome::Done)
            }
            None => Ok(Outcome::Missing),
        })
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let column = &self.schema.columns()[column];
        let offset = column.offset - self.schema.key_size();
        let last = matches!(column.kind, ColumnType::VarBytes(_));
        let value = &value[..column.kind.used_bytes(value)];
        let key = KeyOf::<A>::lookup(&mut self.codec, key);
        self.map.write(|map| match map.get_mut(key) {
            Some(found) => {
                found.set(offset, value, last);
                Ok(Outcome::Done)
            }
            None => Ok(Outcome::Missing),
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let key = KeyOf::<A>::lookup(&mut self.codec, key);
        let removed = self.map.write(|map| map.remove(key));
        Ok(if removed { Outcome::Done } else { Outcome::Missing })
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let mut lower = self.codec.clone();
        let mut upper = self.codec.clone();
        let lower = scan.lower.map(|key| KeyOf::<A>::lookup(&mut lower, key));
        let upper = scan.upper.map(|key| KeyOf::<A>::lookup(&mut upper, key));
        let mut record = vec![0; self.schema.record_size()];
        let mut count = 0;
        self.map.read(|map| {
            map.scan(lower, upper, &mut |key, payload| {
                if count == scan.limit {
                    return false;
                }
                let (area, rest) = record.split_at_mut(self.schema.key_size());
                KeyOf::<A>::write_area(&self.codec, key, area);
                rest[..payload.len()].copy_from_slice(payload);
                row(&record);
                count += 1;
                true
            })
        })?;
        Ok(count)
    }
}

/// The functions of [`Map`] for single keys: the containers have methods of the same names, but no
/// trait for them.
macro_rules! point_operations {
    () => {
        fn insert(&mut self, key: &K::Lookup, payload: &[u8]) -> bool {
            match self.entry(K::owned(key)) {
                Entry::Vacant(free) => {
                    free.insert(P::new(payload));
                    true
                }
                Entry::Occupied(_) => false,
            }
        }

        fn get(&self, key: &K::Lookup) -> Option<&[u8]> {
            self.get(key).map(P::bytes)
        }

        fn upsert(&mut self, key: &K::Lookup, payload: &[u8]) {
            self.insert(K::owned(key), P::new(payload));
        }

        fn get_mut(&mut self, key: &K::Lookup) -> Option<&mut P> {
            self.get_mut(key)
        }

        fn remove(&mut self, key: &K::Lookup) -> bool {
            self.remove(key).is_some()
        }
    };
}
pub(crate) use point_operations;

/// Makes the store with the narrowest types that fit a schema.
macro_rules! open_map {
    ($spec:expr, $ordered:expr, $setting:expr, $store:ident of $map:ident) => {{
        let spec: &OpenSpec = $spec;
        let words = WordKey::new(&spec.schema).map(|words| $crate::maps::WordCodec {
            words,
            ordered: $ordered,
            current: 0,
        });
        match (words, spec.schema.payload_size() / 8) {
            (Some(codec), 1) => $store::<$map<u64, [[u8; 8]; 1]>>::boxed(codec, spec, $setting),
            (Some(codec), 2) => $store::<$map<u64, [[u8; 8]; 2]>>::boxed(codec, spec, $setting),
            (Some(codec), 3) => $store::<$map<u64, [[u8; 8]; 3]>>::boxed(codec, spec, $setting),
            (Some(codec), 4) => $store::<$map<u64, [[u8; 8]; 4]>>::boxed(codec, spec, $setting),
            (Some(codec), 5) => $store::<$map<u64, [[u8; 8]; 5]>>::boxed(codec, spec, $setting),
            (Some(codec), 6) => $store::<$map<u64, [[u8; 8]; 6]>>::boxed(codec, spec, $setting),
            (Some(codec), 7) => $store::<$map<u64, [[u8; 8]; 7]>>::boxed(codec, spec, $setting),
            (Some(codec), 8) => $store::<$map<u64, [[u8; 8]; 8]>>::boxed(codec, spec, $setting),
            (Some(codec), _) => $store::<$map<u64, Box<[u8]>>>::boxed(codec, spec, $setting),
            (None, _) => {
                let order = KeyOrder::new(&spec.schema);
                let current = vec![0; order.size()];
                let codec = $crate::maps::BytesCodec { order, current };
                $store::<$map<Box<[u8]>, Box<[u8]>>>::boxed(codec, spec, $setting) as Box<dyn Store>
            }
        }
    }};
}
use assay_driver::error::{Error, Result};
use assay_driver::schema::{ColumnType, KeyOrder, Schema};
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Profile, Scan, Storage, Store, Transactions, Work,
};
use open_map;

fn no_order() -> Error {
    Error::unsupported("ordered scans")
}
