//! The operations of a trace as calls of an engine.

use assay_driver::schema::Schema;

use super::line::Act;
use super::records::Records;
use super::state::State;
use super::tape::Resolved;
use crate::batch::{self, AsCall, Call, Selected, Values};

pub(super) type Batch = batch::Batch<Resolved>;

impl Values for Records {
    fn schema(&self) -> &Schema {
        self.schema()
    }

    fn value_in<'p>(&self, payload: &'p [u8]) -> &'p [u8] {
        self.value_in(payload)
    }
}

impl Resolved {
    /// Returns the state that it writes: for an absent record that of its first version.
    fn written(&self, records: &Records) -> State {
        match self.after() {
            after if after.is_there() => after,
            absent => absent.after(Act::Upsert, records.fitting(self.size)),
        }
    }
}

impl AsCall<Records> for Resolved {
    fn call(&self) -> Call {
        match self.act {
            Act::Read => Call::Read,
            Act::Insert => Call::Insert,
            Act::Update => Call::Update,
            Act::Upsert => Call::Upsert,
            Act::Delete => Call::Delete,
            Act::ReadModifyWrite => Call::ReadModifyWrite,
            Act::Scan => Call::Scan(self.size.into(), Selected::ALL),
        }
    }

    fn write_key(&self, records: &Records, area: &mut [u8]) {
        records.write_key(self.key, area);
    }

    fn packed_bytes(&self, records: &Records) -> usize {
        records.packed_bytes(self.written(records))
    }

    fn write_packed(&self, records: &Records, packed: &mut [u8]) {
        records.write_packed(self.key, self.written(records), packed);
    }
}
