//! The copy of what is left: the records of each table, the changes of the log, the indexes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use super::loss::{fault, range_shown};
use super::{Loss, Repaired, RepairedTable};
use crate::api::{Database, ReadTable, Table};
use crate::codec::Reader;
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::schema::Schema;
use crate::store::Remnant;
use crate::table::{Definition, IndexOf, Left};
use crate::wal::{LogRecord, TableId};

/// The most records that are written together.
const MOST_TOGETHER: usize = 4096;

/// The most bytes of records that are written together, unless one has more.
const MOST_BYTES: usize = 4 << 20;

/// An index that is to be created again.
struct Index {
    id: TableId,
    of: IndexOf,
    is_ready: bool,
}

/// The new database, while it is written.
pub(super) struct Rescue<'r> {
    db: &'r Database,
    report: &'r mut dyn FnMut(&Loss),
    losses: u64,
    /// The tables by the numbers that they have in the damaged database.
    tables: HashMap<TableId, Table>,
    indexes: Vec<Index>,
    /// The names that successors of tables are to have; until then they have others.
    successors: HashMap<TableId, String>,
    /// The tables that the log has changes of, and that are in no list of tables.
    unknown: HashSet<TableId>,
    /// The time up to which records had expired for good.
    horizon_us: Option<i64>,
    /// Set to true when all records are copied: from then on they expire.
    is_whole: &'r AtomicBool,
}

impl<'r> Rescue<'r> {
    pub(super) fn new(
        db: &'r Database,
        is_whole: &'r AtomicBool,
        report: &'r mut dyn FnMut(&Loss),
    ) -> Self {
        let (tables, indexes, successors, unknown) = Default::default();
        let losses = 0;
        let horizon_us = None;
        Self { db, report, losses, tables, indexes, successors, unknown, horizon_us, is_whole }
    }

    /// Notes that something is lost.
    pub(super) fn lose(&mut self, loss: Loss) {
        self.losses += 1;
        (self.report)(&loss);
    }

    /// Copies all that is left.
    pub(super) fn take_all(mut self, remnant: &Remnant, disk: &dyn Disk) -> Result<Repaired> {
        self.horizon_us = remnant.horizon.get_us();
        for found in &remnant.tables {
            if let Some(table) = self.define(&found.0)? {
                let mut copied = Copied { rescue: &mut self, table, records: Vec::new(), bytes: 0 };
                remnant.read(found, &mut |left| copied.take(left))?;
                copied.write()?;
            }
        }
        let mut log_losses = Vec::new();
        remnant.replay(disk, &mut |record| self.apply(record), &mut |why| {
            log_losses.push(Loss::Log { why });
        })?;
        log_losses.into_iter().for_each(|loss| self.lose(loss));
        self.drop_successors()?;
        self.is_whole.store(true, Ordering::Release);
        self.horizon_us.into_iter().for_each(|at_us| self.db.engine().leave_out(at_us));
        self.create_indexes()?;
        let db = self.db;
        db.mend_blobs(&mut |loss| self.lose(loss))?;
        let records = |name: String| {
            let records = self.db.table(&name)?.len()?;
            Ok(RepairedTable { name, records })
        };
        let tables = self.db.table_names().into_iter().map(records);
        Ok(Repaired { tables: tables.collect::<Result<_>>()?, losses: self.losses })
    }

    /// Creates the table of a definition, and returns it; or notes that it is of an index.
    fn define(&mut self, definition: &Definition) -> Result<Option<Table>> {
        if let Some(of) = &definition.index {
            let id = definition.id;
            let of = of.clone();
            let is_ready = of.is_ready();
            self.indexes.push(Index { id, of, is_ready });
            return Ok(None);
        }
        let mut schema = Cow::Borrowed(&definition.schema);
        if definition.predecessor().is_some() {
            self.successors.insert(definition.id, schema.name().into());
            schema = Cow::Owned(schema.renamed(&format!("\0successor {}", definition.id.0)));
        }
        match self.db.create_table(&schema, definition.kind) {
            Ok(table) => {
                self.tables.insert(definition.id, table.clone());
                Ok(Some(table))
            }
            Err(error @ Error::TableExists { .. }) => {
                self.lose(Loss::Changes { why: fault(&error) });
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Repeats a change of the log.
    fn apply(&mut self, record: &LogRecord<'_>) -> Result<()> {
        match *record {
            LogRecord::CreateTable { definition } => {
                let mut reader = Reader::new(definition, "the definition of a table in the log");
                self.define(&Definition::restore(&mut reader)?).map(drop)
            }
            LogRecord::DropTable { table: id } => {
                self.indexes.retain(|index| index.id != id && index.of.owner != id);
                match self.tables.remove(&id) {
                    Some(table) => self.db.drop_table(table.schema().name()),
                    None => Ok(()),
                }
            }
            LogRecord::IndexReady { index: id } => {
                let index = self.indexes.iter_mut().find(|index| index.id == id);
                index.into_iter().for_each(|index| index.is_ready = true);
                Ok(())
            }
            LogRecord::TakePlace { successor } => self.take_place(successor),
            LogRecord::Redefine { table: id, schema } => {
                let mut reader = Reader::new(schema, "a schema in the log");
                self.redefine(id, &Schema::restore(&mut reader)?)
            }
            LogRecord::Expired { until_us } => {
                self.horizon_us = self.horizon_us.max(Some(until_us));
                Ok(())
            }
            LogRecord::Before { .. } | LogRecord::Definition { .. } => Ok(()),
            LogRecord::Put { table, .. }
            | LogRecord::Patch { table, .. }
            | LogRecord::Delete { table, .. } => self.change(table, record),
        }
    }

    /// Gives a successor the name of its table.
    fn take_place(&mut self, id: TableId) -> Result<()> {
        let Some(table) = self.tables.get(&id) else { return Ok(()) };
        let Some(name) = self.successors.remove(&id) else { return Ok(()) };
        let schema = table.schema().renamed(&name);
        self.redefine(id, &schema)
    }

    /// Gives a table another schema, under which its records stay as they are.
    fn redefine(&mut self, id: TableId, schema: &Schema) -> Result<()> {
        // The schema of an index follows from that of its table.
        let Some(table) = self.tables.get(&id) else { return Ok(()) };
        if !schema.suits_records_of(table.schema()) {
            let name = table.schema().name();
            let why = format!("table {name} gets a schema that its records do not suit");
            self.lose(Loss::Changes { why });
            return Ok(());
        }
        let redefined = match table.redefine(schema) {
            Err(error @ Error::TableExists { .. }) => {
                let other = format!("{} (altered {})", schema.name(), id.0);
                let redefined = table.redefine(&schema.renamed(&other))?;
                let why = format!("{}; the later one is table {other}", fault(&error));
                self.lose(Loss::Changes { why });
                redefined
            }
            redefined => redefined?,
        };
        self.tables.insert(id, redefined);
        Ok(())
    }

    /// Drops the successors that have not taken their places: their tables are there.
    fn drop_successors(&mut self) -> Result<()> {
        for id in std::mem::take(&mut self.successors).into_keys() {
            if let Some(table) = self.tables.remove(&id) {
                self.db.drop_table(table.schema().name())?;
            }
        }
        Ok(())
    }

    /// Repeats a change of a table; one that cannot be is a loss.
    fn change(&mut self, id: TableId, record: &LogRecord<'_>) -> Result<()> {
        match self.change_table(id, record) {
            Err(error) if !is_of_the_machine(&error) => {
                self.lose(Loss::Changes { why: fault(&error) });
                Ok(())
            }
            done => done,
        }
    }

    fn change_table(&mut self, id: TableId, record: &LogRecord<'_>) -> Result<()> {
        let Some(table) = self.tables.get(&id).cloned() else {
            if !self.indexes.iter().any(|index| index.id == id) && self.unknown.insert(id) {
                let why = format!("it changes table {}, which is lost", id.0);
                self.lose(Loss::Changes { why });
            }
            return Ok(());
        };
        let core = table.core();
        let split = |bytes| core.order.split(core.schema(), bytes);
        let mut packed = Vec::new();
        match *record {
            LogRecord::Put { record, .. } => {
                let (key, payload) = record.split(split)?;
                core.pack(key, payload, &mut packed)?;
                table.upsert(&packed).map(drop)
            }
            LogRecord::Delete { key, .. } => {
                core.unpack_key(key.split(split)?.0, &mut packed)?;
                table.delete(&packed).map(drop)
            }
            LogRecord::Patch { at, bytes, .. } => {
                let (key, bytes) = bytes.split(split)?;
                core.unpack_key(key, &mut packed)?;
                let mut payload = Vec::new();
                let is_there = table.read_into(&packed, &mut payload)?;
                let at = at as usize;
                match payload.get_mut(at..at + bytes.len()) {
                    Some(own) if is_there => own.copy_from_slice(bytes),
                    _ => {
                        let why = "the log has only a part of it";
                        self.lose_record(&table, Some(packed), why.into());
                        return Ok(());
                    }
                }
                packed.extend_from_slice(&payload);
                table.upsert(&packed).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn lose_record(&mut self, table: &Table, key: Option<Vec<u8>>, why: String) {
        let schema = table.schema();
        let shown = key.as_ref().map_or_else(String::new, |key| schema.shown_key(key));
        self.lose(Loss::Record { table: schema.name().into(), key, shown, why });
    }

    /// Creates the indexes again.
    fn create_indexes(&mut self) -> Result<()> {
        for Index { of, is_ready, .. } in std::mem::take(&mut self.indexes) {
            let Some(table) = self.tables.get(&of.owner).cloned().filter(|_| is_ready) else {
                continue;
            };
            let created = of.described(table.schema()).and_then(|index| table.create_index(&index));
            match created {
                Ok(()) => {}
                Err(error) if is_of_the_machine(&error) => return Err(error),
                Err(error) => {
                    let table = table.schema().name().into();
                    let why = fault(&error);
                    self.lose(Loss::Index { table, index: of.name, why });
                }
            }
        }
        Ok(())
    }
}

/// Returns true if an error comes from the machine, and not from what is repaired.
fn is_of_the_machine(error: &Error) -> bool {
    use Error::{DiskFull, Full, Io, Poisoned};
    matches!(error, DiskFull { .. } | Full { .. } | Io { .. } | Poisoned { .. })
}

/// A table that is being copied.
struct Copied<'c, 'r> {
    rescue: &'c mut Rescue<'r>,
    table: Table,
    /// Packed records that are not written yet.
    records: Vec<Vec<u8>>,
    bytes: usize,
}

impl Copied<'_, '_> {
    /// Takes a part of the damaged table.
    fn take(&mut self, left: Left<'_>) -> Result<()> {
        let name = || self.table.schema().name().to_string();
        match left {
            Left::Record(record) => {
                self.bytes += record.len();
                self.records.push(record.to_vec());
                if self.records.len() >= MOST_TOGETHER || self.bytes >= MOST_BYTES {
                    self.write()?;
                }
            }
            Left::Page { why, .. } => {
                let loss = Loss::Page { table: name(), why: fault(&why) };
                self.rescue.lose(loss);
            }
            Left::Keys { from, before } => {
                let shown = range_shown(self.table.schema(), from.as_deref(), before.as_deref());
                let loss = Loss::Keys { table: name(), from, before, shown };
                self.rescue.lose(loss);
            }
            Left::Damaged { key, why } => self.rescue.lose_record(&self.table, key, fault(&why)),
        }
        Ok(())
    }

    /// Writes the records that were taken.
    fn write(&mut self) -> Result<()> {
        let records = std::mem::take(&mut self.records);
        self.bytes = 0;
        self.write_some(&records)
    }

    /// Writes records together; if there is no room for that, in halves.
    fn write_some(&mut self, records: &[Vec<u8>]) -> Result<()> {
        match self.table.insert_all(records) {
            Err(Error::TxnTooLarge { .. } | Error::Full { .. }) if records.len() > 1 => {
                let (first, second) = records.split_at(records.len() / 2);
                self.write_some(first)?;
                self.write_some(second)
            }
            Err(Error::TxnTooLarge { .. } | Error::Full { .. }) => {
                // By itself it needs less.
                let is_new = self.table.insert(&records[0])?;
                self.expect_new(u64::from(is_new), 1);
                Ok(())
            }
            Ok(new) => {
                self.expect_new(new, records.len() as u64);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Notes that of `count` records only `new` ones were written.
    fn expect_new(&mut self, new: u64, count: u64) {
        debug_assert!(new <= count, "no more than all records are new");
        for _ in new..count {
            let why = "its key is in two places; the record that was met first is kept";
            self.rescue.lose_record(&self.table, None, why.into());
        }
    }
}
