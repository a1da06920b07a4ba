//! `btreemap`: Rust's `std::collections::BTreeMap`.
//!
//! - Version: that of the compiler, whose standard library it is.
//! - Storage: memory, level `none`; nothing is kept. No transactions. Scans in key order.
//! - Settings: none to make.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;

use assay_driver::error::Result;
use assay_driver::schema::KeyOrder;
use assay_driver::{KeyKind, OpenSpec, Store};

use super::{Key, Map, MapDriver, MapStore, Names, Payload, Visitor, open_map, point_operations};
use crate::word_key::WordKey;

pub(crate) fn driver() -> MapDriver {
    MapDriver::new(
        Names { id: "btreemap", name: "BTreeMap", about: "Rust std::collections::BTreeMap" },
        &[KeyKind::Tree],
        env!("ASSAY_RUSTC_VERSION"),
        open,
    )
}

fn open(spec: &OpenSpec) -> Box<dyn Store> {
    open_map!(spec, true, "std::collections::BTreeMap", MapStore of BTreeMap)
}

impl<K, P> Map for BTreeMap<K, P>
where
    K: Key + Ord + Borrow<K::Lookup>,
    K::Lookup: Ord,
    P: Payload,
{
    type Key = K;
    type Payload = P;

    point_operations!();

    fn scan(
        &self,
        lower: Bound<&K::Lookup>,
        upper: Bound<&K::Lookup>,
        visit: &mut Visitor<'_, K>,
    ) -> Result<()> {
        for (key, payload) in self.range::<K::Lookup, _>((lower, upper)) {
            if !visit(key.borrow(), payload.bytes()) {
                break;
            }
        }
        Ok(())
    }
}
