//! `hashbrown`: the crate behind Rust's `HashMap`, with the hasher that it brings (foldhash).
//!
//! - Version: that of the crate.
//! - Storage: memory, level `none`; nothing is kept. No transactions, no scans.
//! - Settings: none; nothing is reserved.

use std::borrow::Borrow;
use std::hash::Hash;
use std::ops::Bound;

use assay_driver::error::Result;
use assay_driver::schema::KeyOrder;
use assay_driver::{KeyKind, OpenSpec, Store};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::{
    Key, Map, MapDriver, MapStore, Names, Payload, Visitor, no_order, open_map, point_operations,
};
use crate::word_key::WordKey;

pub(crate) fn driver() -> MapDriver {
    MapDriver::new(
        Names { id: "hashbrown", name: "hashbrown", about: "Rust hashbrown::HashMap" },
        &[KeyKind::Hash],
        env!("ASSAY_VERSION_HASHBROWN"),
        open,
    )
}

fn open(spec: &OpenSpec) -> Box<dyn Store> {
    open_map!(spec, false, "hashbrown::HashMap, its default hasher", MapStore of HashMap)
}

impl<K, P> Map for HashMap<K, P>
where
    K: Key + Hash + Eq + Borrow<K::Lookup>,
    K::Lookup: Hash + Eq,
    P: Payload,
{
    type Key = K;
    type Payload = P;

    point_operations!();

    fn scan(
        &self,
        _: Bound<&K::Lookup>,
        _: Bound<&K::Lookup>,
        _: &mut Visitor<'_, K>,
    ) -> Result<()> {
        Err(no_order())
    }
}
