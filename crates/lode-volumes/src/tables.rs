//! The tables of a volume:
//!
//! | table | key | columns |
//! |---|---|---|
//! | `entries` | parent, name | id |
//! | `properties` | entry, name | type, when it expires, value |
//! | `expiries` | when, entry, name | |
//! | `volume` | name of a setting | number |
//!
//! The root has id [`ROOT`]. Below [`REMOVED`] is what `unlink` has taken out of the tree, until
//! all of it is deleted.

use std::ops::Bound;

use lode::{ColumnId, Cursor, Database, KeyKind, ReadTable, RowRef, Schema, Snapshot, Table, Type};

use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::name::MOST_NAME_BYTES;
use crate::value::{MOST_VALUE_BYTES, ValueRef};

/// The id of an entry. None is used twice.
pub(crate) type Id = u64;

/// The parent of entries that are being deleted.
pub(crate) const REMOVED: Id = 0;
/// The root.
pub(crate) const ROOT: Id = 1;
/// The first id of other entries.
const FIRST: Id = 2;

/// The version of this layout.
const LAYOUT: u64 = 1;

const ENTRIES: &str = "entries";
const PROPERTIES: &str = "properties";
const EXPIRIES: &str = "expiries";
const SETTINGS: &str = "volume";

const NAME: Type = Type::VarText(MOST_NAME_BYTES as u32);

/// Bytes of a property's payload before its value: type, when it expires, how long the value is.
const FRONT_BYTES: usize = 1 + 8 + 4;

/// The tables.
pub(crate) struct Tables {
    pub entries: Table,
    pub properties: Table,
    pub expiries: Table,
    pub settings: Table,
    pub expires_at: ColumnId,
    child: ColumnId,
    number: ColumnId,
}

/// A setting of a volume.
#[derive(Clone, Copy)]
pub(crate) enum Setting {
    /// The version of the layout.
    Layout,
    /// Ids from this one on are unused.
    NextId,
    /// The latest time that was seen.
    Latest,
}

impl Setting {
    fn name(self) -> &'static str {
        match self {
            Self::Layout => "layout",
            Self::NextId => "next_id",
            Self::Latest => "latest",
        }
    }
}

/// A property, as a table has it.
pub(crate) struct Stored<'r> {
    pub value: ValueRef<'r>,
    pub expires: Moment,
}

fn schemas() -> lode::Result<[Schema; 4]> {
    Ok([
        Schema::build(ENTRIES)
            .key("parent", Type::U64)
            .key("name", NAME)
            .column("id", Type::U64)
            .finish()?,
        Schema::build(PROPERTIES)
            .key("entry", Type::U64)
            .key("name", NAME)
            .column("type", Type::U8)
            .column("expires_at", Type::Timestamp)
            .column("value", Type::VarBytes(MOST_VALUE_BYTES as u32))
            .finish()?,
        Schema::build(EXPIRIES)
            .key("expires_at", Type::Timestamp)
            .key("entry", Type::U64)
            .key("name", NAME)
            .finish()?,
        Schema::build(SETTINGS).key("name", Type::Text(16)).column("number", Type::U64).finish()?,
    ])
}

/// Refuses a database with tables of others.
fn expect_volume(database: &Database, volume: &str) -> Result<()> {
    let ours = [ENTRIES, PROPERTIES, EXPIRIES, SETTINGS];
    match database.table_names().into_iter().find(|table| !ours.contains(&&table[..])) {
        Some(table) => Err(Error::NotAVolume { volume: volume.into(), table }),
        None => Ok(()),
    }
}

impl Tables {
    /// Opens the tables of a volume, and creates those that are missing.
    pub(crate) fn create(database: &Database, volume: &str) -> Result<Self> {
        expect_volume(database, volume)?;
        let there = database.table_names();
        for schema in schemas()? {
            if !there.iter().any(|name| name == schema.name()) {
                database.create_table(&schema, KeyKind::Tree)?;
            }
        }
        let tables = Self::of(database)?;
        if tables.setting(Setting::Layout)?.is_none() {
            tables.set_setting(Setting::NextId, FIRST)?;
            tables.set_setting(Setting::Layout, LAYOUT)?;
        }
        tables.expect_layout(volume)?;
        Ok(tables)
    }

    /// Opens the tables of a volume that is there.
    pub(crate) fn open(database: &Database, volume: &str) -> Result<Self> {
        expect_volume(database, volume)?;
        let tables = Self::of(database).map_err(|error| match error {
            lode::Error::NoTable { .. } => Error::NoVolume { volume: volume.into() },
            other => other.into(),
        })?;
        tables.expect_layout(volume)?;
        Ok(tables)
    }

    fn of(database: &Database) -> lode::Result<Self> {
        let [entries, properties, expiries, settings] =
            [ENTRIES, PROPERTIES, EXPIRIES, SETTINGS].map(|name| database.table(name));
        let entries = entries?;
        let properties = properties?;
        let settings = settings?;
        Ok(Self {
            child: entries.schema().column("id")?,
            expires_at: properties.schema().column("expires_at")?,
            number: settings.schema().column("number")?,
            expiries: expiries?,
            entries,
            properties,
            settings,
        })
    }

    fn expect_layout(&self, volume: &str) -> Result<()> {
        match self.setting(Setting::Layout)? {
            Some(LAYOUT) => Ok(()),
            None => Err(Error::NoVolume { volume: volume.into() }),
            Some(found) => Err(Error::Layout { volume: volume.into(), found, known: LAYOUT }),
        }
    }

    pub(crate) fn setting(&self, setting: Setting) -> lode::Result<Option<u64>> {
        let row = self.settings.get(setting.name())?;
        Ok(row.map(|row| number(row.at(self.number))))
    }

    pub(crate) fn set_setting(&self, setting: Setting, to: u64) -> lode::Result<()> {
        let values = [lode::Value::Text(setting.name()), lode::Value::Unsigned(to)];
        self.settings.upsert(&self.settings.schema().pack(&values)?).map(drop)
    }

    pub(crate) fn entry_key(&self, parent: Id, name: &str) -> lode::Result<Vec<u8>> {
        let values = [lode::Value::Unsigned(parent), lode::Value::Text(name)];
        self.entries.schema().pack_key(&values)
    }

    pub(crate) fn entry_record(&self, parent: Id, name: &str, id: Id) -> lode::Result<Vec<u8>> {
        let mut record = self.entry_key(parent, name)?;
        record.extend(id.to_le_bytes());
        Ok(record)
    }

    /// Returns the id of a child in a view of the entries.
    pub(crate) fn child(
        &self,
        entries: &impl ReadTable,
        parent: Id,
        name: &str,
    ) -> lode::Result<Option<Id>> {
        let mut payload = Vec::new();
        let found = entries.get_into(&self.entry_key(parent, name)?, &mut payload)?;
        let id = payload.first_chunk().copied().map(u64::from_le_bytes);
        Ok(id.filter(|_| found))
    }

    /// Returns name and id of a row of the entries.
    pub(crate) fn entry_of<'r>(&self, row: &RowRef<'r>) -> (&'r str, Id) {
        let name = row.at(self.entries.schema().columns()[1].id());
        (text(name), number(row.at(self.child)))
    }

    /// Returns the parent that a row of the entries has.
    pub(crate) fn parent_of(&self, row: &RowRef<'_>) -> Id {
        number(row.at(self.entries.schema().columns()[0].id()))
    }

    /// Returns the children of an entry from the name `from` on: now, or at a snapshot.
    pub(crate) fn children(&self, at: Option<&Snapshot>, parent: Id, from: &str) -> Cursor {
        range(&self.entries, at, parent, from)
    }

    /// Returns the properties of an entry from a name on: now, or at a snapshot.
    pub(crate) fn properties_of(&self, at: Option<&Snapshot>, entry: Id, from: &str) -> Cursor {
        range(&self.properties, at, entry, from)
    }

    /// Returns the entry of the first row of a table that is of `entry`, or of one with a greater
    /// id.
    pub(crate) fn first_from(table: &Table, entry: Id) -> lode::Result<Option<Id>> {
        #[cfg(test)]
        crate::counted::step();
        let schema = table.schema();
        let (lowest, _) = schema.pack_prefix(&[lode::Value::Unsigned(entry)])?;
        let id = schema.columns()[0].id();
        let rows = table.range_packed(Bound::Included(&lowest), Bound::Unbounded);
        let mut first = rows.columns([id]).limit(1);
        Ok(first.next_row()?.map(|row| number(row.at(id))))
    }

    pub(crate) fn property_key(&self, entry: Id, name: &str) -> lode::Result<Vec<u8>> {
        let values = [lode::Value::Unsigned(entry), lode::Value::Text(name)];
        self.properties.schema().pack_key(&values)
    }

    pub(crate) fn expiry_key(&self, when: Moment, entry: Id, name: &str) -> lode::Result<Vec<u8>> {
        let values =
            [lode::Value::Timestamp(when.0), lode::Value::Unsigned(entry), lode::Value::Text(name)];
        self.expiries.schema().pack_key(&values)
    }

    /// Returns the moment, the entry and the name of the property of a row of the expiries.
    pub(crate) fn expiry_of<'r>(&self, row: &RowRef<'r>) -> (Moment, Id, &'r str) {
        let columns = self.expiries.schema().columns();
        let when = match row.at(columns[0].id()) {
            lode::Value::Timestamp(when) => Moment(when),
            _ => Moment::NEVER,
        };
        (when, number(row.at(columns[1].id())), text(row.at(columns[2].id())))
    }
}

/// Returns rows of a table whose keys are an entry and a name, from that name on.
fn range(table: &Table, at: Option<&Snapshot>, entry: Id, from: &str) -> Cursor {
    #[cfg(test)]
    crate::counted::step();
    let schema = table.schema();
    let bounds =
        schema.pack_prefix(&[lode::Value::Unsigned(entry)]).and_then(|(lowest, highest)| {
            let named = [lode::Value::Unsigned(entry), lode::Value::Text(from)];
            Ok((if from.is_empty() { lowest } else { schema.pack_key(&named)? }, highest))
        });
    // Names that come from here are no longer than a key can be.
    let (lower, upper) = bounds.unwrap_or_default();
    let lower = Bound::Included(&lower[..]);
    let upper = Bound::Included(&upper[..]);
    match at {
        None => table.range_packed(lower, upper),
        Some(snapshot) => table.at(snapshot).range_packed(lower, upper),
    }
}

fn number(value: lode::Value<'_>) -> u64 {
    match value {
        lode::Value::Unsigned(number) => number,
        _ => 0,
    }
}

fn text(value: lode::Value<'_>) -> &str {
    match value {
        lode::Value::Text(text) => text,
        _ => "",
    }
}

/// Packs a property behind its key, in place of what is in `record`.
pub(crate) fn pack_property(key: &[u8], property: &Stored<'_>, record: &mut Vec<u8>) {
    record.clear();
    record.extend_from_slice(key);
    record.push(property.value.kind() as u8);
    record.extend(property.expires.0.to_le_bytes());
    property.value.with_bytes(|bytes| {
        record.extend((bytes.len() as u32).to_le_bytes());
        record.extend_from_slice(bytes);
    });
}

/// Returns the property of a payload; `None` if the payload is not valid.
pub(crate) fn unpack_property(payload: &[u8]) -> Option<Stored<'_>> {
    let (front, bytes) = payload.split_at_checked(FRONT_BYTES)?;
    let kind = Kind::of_tag(front[0])?;
    let expires = Moment(i64::from_le_bytes(*front[1..].first_chunk()?));
    Some(Stored { value: ValueRef::of_bytes(kind, bytes)?, expires })
}
