//! The operations of a workload as calls of an engine.

use assay_core::tape;
use assay_driver::schema::Schema;

use super::model::State;
use super::records::Records;
use super::spec::Kind;
use super::tape::Operation;
use crate::batch::{self, AsCall, Call, Selected, Values};

pub(super) type Batch = batch::Batch<Operation>;

impl Values for Records {
    fn schema(&self) -> &Schema {
        tape::Records::schema(self)
    }

    fn columns_digest(&self, payload: &[u8], selected: Selected) -> u64 {
        self.columns().digest(payload, selected)
    }

    fn value_in<'p>(&self, payload: &'p [u8]) -> &'p [u8] {
        self.value_in(payload)
    }
}

impl Operation {
    /// Returns the version that it writes; of what it writes on an absent record, nothing stays.
    fn version(&self) -> u32 {
        self.after.map_or(0, State::version)
    }
}

impl AsCall<Records> for Operation {
    fn call(&self) -> Call {
        match self.kind {
            Kind::Read | Kind::Missing => Call::Read,
            Kind::Update => Call::Update,
            Kind::Insert => Call::Insert,
            Kind::Delete => Call::Delete,
            Kind::Upsert => Call::Upsert,
            Kind::ReadModifyWrite => Call::ReadModifyWrite,
            Kind::Increment => Call::Increment,
            Kind::Scan => Call::Scan(self.wanted, self.selected),
            Kind::Find => Call::Find(self.by),
        }
    }

    fn write_key(&self, records: &Records, area: &mut [u8]) {
        match self.kind {
            Kind::Missing => records.keys().write_absent(self.row, area),
            _ => records.keys().write(self.row, area),
        }
    }

    fn write_columns(&self, records: &Records, area: &mut [u8]) {
        records.columns().write(self.row, area);
    }

    fn packed_bytes(&self, records: &Records) -> usize {
        match self.kind {
            Kind::Find => records.columns().packed_bytes(self.by),
            _ => records.packed_bytes(self.row, self.version()),
        }
    }

    fn write_packed(&self, records: &Records, packed: &mut [u8]) {
        match self.kind {
            Kind::Find => records.columns().write_packed(self.by, self.row, packed),
            _ => records.write_packed(self.row, self.version(), packed),
        }
    }
}
