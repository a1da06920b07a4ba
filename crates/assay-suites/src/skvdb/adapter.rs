//! Volumes over the record level: a property or a link is a record whose key is the owner's number,
//! the sort, and the name; its value is a tag of one byte and the bytes of the value.

use assay_driver::error::{Error, Result};
use assay_driver::schema::{ColumnType, Schema, Value};
use assay_driver::volume::{Property, Volume};
use assay_driver::{Connection, InsertRule, Outcome};

/// The most bytes of a name and of a value.
const MOST_NAME_BYTES: u32 = 16;
const MOST_VALUE_BYTES: u32 = 1 + 1024;

const PROPERTY: u8 = 0;
const LINK: u8 = 1;

/// Returns the shape of the records.
pub(super) fn schema() -> Schema {
    Schema::new(
        "properties",
        &[
            ("owner", ColumnType::U64),
            ("sort", ColumnType::U8),
            ("name", ColumnType::Text(MOST_NAME_BYTES)),
            ("value", ColumnType::VarBytes(MOST_VALUE_BYTES)),
        ],
        3,
    )
}

/// A volume over a connection.
pub(super) struct RecordVolume<'c> {
    connection: &'c mut dyn Connection,
    schema: Schema,
    insert_rule: InsertRule,
    record: Vec<u8>,
    answer: Vec<u8>,
}

impl<'c> RecordVolume<'c> {
    pub(super) fn new(connection: &'c mut dyn Connection, insert_rule: InsertRule) -> Self {
        let schema = schema();
        Self {
            connection,
            insert_rule,
            record: vec![0; schema.record_size()],
            answer: vec![0; schema.record_size()],
            schema,
        }
    }

    /// Packs a key; its area is the front of `record`.
    fn key(&mut self, owner: u64, sort: u8, name: &str) -> Result<usize> {
        let [owner_column, sort_column, name_column, _] = self.schema.columns() else {
            unreachable!("the schema has four columns")
        };
        let place = name_column.slice_mut(&mut self.record);
        if name.len() > place.len() {
            return Err(Error::engine("pack", format!("the name {name} is too long")));
        }
        place.fill(0);
        place[..name.len()].copy_from_slice(name.as_bytes());
        owner_column.slice_mut(&mut self.record).copy_from_slice(&owner.to_le_bytes());
        sort_column.slice_mut(&mut self.record)[0] = sort;
        Ok(self.schema.key_size())
    }

    /// Packs a value after the key: its length, its tag, its bytes.
    fn value(&mut self, tag: u8, bytes: &[u8]) -> Result<()> {
        let slot = self.schema.columns()[3].slice_mut(&mut self.record);
        if bytes.len() + 5 > slot.len() {
            return Err(Error::engine("pack", format!("{} bytes are too many", bytes.len())));
        }
        slot[..4].copy_from_slice(&(bytes.len() as u32 + 1).to_le_bytes());
        slot[4] = tag;
        slot[5..5 + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

impl Volume for RecordVolume<'_> {
    fn set(&mut self, record: u64, name: &str, value: Property<'_>) -> Result<()> {
        self.key(record, PROPERTY, name)?;
        match value {
            Property::U8(number) => self.value(0, &[number]),
            Property::U32(number) => self.value(1, &number.to_le_bytes()),
            Property::U64(number) => self.value(2, &number.to_le_bytes()),
            Property::F32(number) => self.value(3, &number.to_le_bytes()),
            Property::F64(number) => self.value(4, &number.to_le_bytes()),
            Property::Text(text) => self.value(5, text.as_bytes()),
            Property::Blob(bytes) => self.value(6, bytes),
        }?;
        self.connection.upsert(&self.record)
    }

    fn get(
        &mut self,
        record: u64,
        name: &str,
        found: &mut dyn FnMut(Property<'_>),
    ) -> Result<Outcome> {
        let key_size = self.key(record, PROPERTY, name)?;
        let payload = &mut self.answer[key_size..];
        let outcome = self.connection.get(&self.record[..key_size], payload)?;
        if outcome == Outcome::Done {
            let property = match self.schema.columns()[3].value(&self.answer) {
                Value::Bytes([tag, bytes @ ..]) => typed(*tag, bytes),
                _ => None,
            };
            // Bytes that are no property give no result.
            property.into_iter().for_each(found);
        }
        Ok(outcome)
    }

    fn remove(&mut self, record: u64, name: &str) -> Result<Outcome> {
        let key_size = self.key(record, PROPERTY, name)?;
        self.connection.delete(&self.record[..key_size])
    }

    /// Adds a link. An engine whose insert replaces is asked first: an existing name must stay.
    fn link(&mut self, parent: u64, name: &str, child: u64) -> Result<Outcome> {
        let key_size = self.key(parent, LINK, name)?;
        self.value(2, &child.to_le_bytes())?;
        if self.insert_rule == InsertRule::Replaces {
            let payload = &mut self.answer[key_size..];
            if self.connection.get(&self.record[..key_size], payload)? == Outcome::Done {
                return Ok(Outcome::Duplicate);
            }
        }
        self.connection.insert(&self.record)
    }

    fn unlink(&mut self, parent: u64, name: &str) -> Result<Outcome> {
        let key_size = self.key(parent, LINK, name)?;
        self.connection.delete(&self.record[..key_size])
    }
}

fn typed(tag: u8, bytes: &[u8]) -> Option<Property<'_>> {
    Some(match tag {
        0 => Property::U8(*bytes.first()?),
        1 => Property::U32(u32::from_le_bytes(bytes.try_into().ok()?)),
        2 => Property::U64(u64::from_le_bytes(bytes.try_into().ok()?)),
        3 => Property::F32(f32::from_le_bytes(bytes.try_into().ok()?)),
        4 => Property::F64(f64::from_le_bytes(bytes.try_into().ok()?)),
        5 => Property::Text(std::str::from_utf8(bytes).ok()?),
        6 => Property::Blob(bytes),
        _ => return None,
    })
}
