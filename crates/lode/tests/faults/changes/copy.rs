//! A copy of a database that only its changes make.

use std::collections::BTreeMap;

use lode::{
    Change, ChangedTable, Changes, Commit, Database, Error, IndexSchema, KeyKind, Position,
    ReadTable, RowChange, Schema, Value,
};

use crate::reading::each_row;

/// The value that records get in a column which an alteration adds.
pub const ADDED: u64 = 7;

/// A table of the copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Copied {
    schema: Schema,
    kind: KeyKind,
    /// The packed records, by their packed keys.
    records: BTreeMap<Vec<u8>, Vec<u8>>,
    indexes: BTreeMap<String, IndexSchema>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Copy {
    pub tables: BTreeMap<String, Copied>,
}

impl Copied {
    fn new(table: &ChangedTable) -> Self {
        let (schema, kind) = (table.schema().clone(), table.key_kind());
        Self { schema, kind, records: BTreeMap::new(), indexes: BTreeMap::new() }
    }

    /// Converts the records as the alterations of these tests do: columns are added.
    fn converted(self, to: &ChangedTable) -> Self {
        let mut after = Self::new(to);
        for (key, record) in self.records {
            let row = self.schema.row(&record).expect("a record");
            let own = self.schema.columns().iter().map(|column| row.at(column.id()));
            let added = to.schema().columns().len() - self.schema.columns().len();
            let values: Vec<_> = own.chain((0..added).map(|_| Value::Unsigned(ADDED))).collect();
            after.records.insert(key, to.schema().pack(&values).expect("it fits"));
        }
        after
    }

    fn apply(&mut self, row: &RowChange) {
        assert_eq!(row.table().schema(), &self.schema, "rows are those of the table of then");
        let key = row.key().to_vec();
        let before = match row.after_bytes() {
            Some(record) => self.records.insert(key, record.to_vec()),
            None => self.records.remove(&key),
        };
        assert_eq!(before.as_deref(), row.before_bytes(), "{row:?} says how it was");
    }
}

impl Copy {
    /// Applies a commit.
    pub fn apply(&mut self, commit: &Commit) {
        assert!(!commit.changes.is_empty(), "a commit changes something");
        commit.changes.iter().for_each(|change| self.apply_one(change));
    }

    fn table(&mut self, table: &ChangedTable) -> &mut Copied {
        self.tables.get_mut(table.name()).expect("a change is of a table that was created")
    }

    fn apply_one(&mut self, change: &Change) {
        match change {
            Change::Row(row) => self.table(row.table()).apply(row),
            Change::CreateTable { table } => {
                let before = self.tables.insert(table.name().into(), Copied::new(table));
                assert_eq!(before, None, "it was not there");
            }
            Change::DropTable { table } => {
                self.tables.remove(table.name()).expect("it was there");
            }
            Change::AlterTable { before, after } => {
                let altered = self.tables.remove(before.name()).expect("it was there");
                self.tables.insert(after.name().into(), altered.converted(after));
            }
            Change::CreateIndex { table, index } => {
                let before = self.table(table).indexes.insert(index.name().into(), index.clone());
                assert_eq!(before, None, "it was not there");
            }
            Change::DropIndex { table, index } => {
                self.table(table).indexes.remove(index.name()).expect("it was there");
            }
            other => panic!("{other:?} is not known"),
        }
    }

    /// Applies all changes that there are. Returns the position after them.
    pub fn follow(&mut self, changes: &mut Changes) -> Result<Position, Error> {
        for commit in changes.by_ref() {
            self.apply(&commit?);
        }
        Ok(changes.reached())
    }

    /// Reads a whole database. No record of it may have expired.
    pub fn of(db: &Database) -> Self {
        let mut copy = Self::default();
        for name in db.table_names() {
            let table = db.table(&name).expect("it is there");
            let mut records = BTreeMap::new();
            each_row(table.iter(), &mut |record| {
                let row = table.schema().row(record)?;
                records.insert(row.key().to_vec(), record.to_vec());
                Ok(true)
            })
            .expect("it can be read");
            let indexes = table.indexes().expect("they are known").into_iter();
            let indexes = indexes.map(|index| (index.name().to_string(), index)).collect();
            let (schema, kind) = (table.schema().clone(), table.key_kind());
            copy.tables.insert(name, Copied { schema, kind, records, indexes });
        }
        copy
    }
}
