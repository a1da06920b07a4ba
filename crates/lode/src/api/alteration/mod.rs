//! Changes of the columns of a table that is in use, of its name, and of how it finds its records.

mod conversion;
mod copying;

use std::sync::Arc;

use super::{Database, Table};
use crate::error::{Error, Result};
use crate::schema::{Schema, Type, Value};
use crate::table::KeyKind;
use conversion::Conversion;
use copying::Copying;

/// One change of a table.
#[derive(Clone, Debug)]
enum Change<'v> {
    AddColumn { name: String, kind: Type, nullable: bool, value: Value<'v> },
    DropColumn { name: String },
    RenameColumn { from: String, to: String },
    Retype { name: String, kind: Type },
    SetNullable { name: String, nullable: bool },
    RenameTable { name: String },
    FindBy { kind: KeyKind },
    ExpireBy { name: Option<String> },
}

/// Changes of a table, for [`Database::alter_table`]: each refers to the table as the ones before
/// leave it.
///
/// ```
/// use lode::{Alteration, Database, KeyKind, ReadTable, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("city").key("id", Type::U32).column("people", Type::U16);
/// let cities = db.create_table(&schema.finish()?, KeyKind::Hash)?;
/// cities.insert(&cities.schema().pack(&[Value::Unsigned(7), Value::Unsigned(900)])?)?;
///
/// let changes = Alteration::new()
///     .add_column("name", Type::VarText(99), Value::Text("?"))
///     .add_nullable("mayor", Type::VarText(99))
///     .change_type("people", Type::U64)
///     .rename_table("town")
///     .change_kind(KeyKind::Tree);
/// let towns = db.alter_table("city", &changes)?;
/// let town = towns.get(7)?.expect("it is there as before");
/// assert_eq!(town.get("people"), Some(Value::Unsigned(900)));
/// assert_eq!(town.get("name"), Some(Value::Text("?")));
/// assert_eq!(town.get("mayor"), Some(Value::Null));
/// assert!(cities.get(7).is_err(), "the table before is no more");
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Alteration<'v> {
    changes: Vec<Change<'v>>,
}

impl<'v> Alteration<'v> {
    /// Makes a list without changes.
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, change: Change<'v>) -> Self {
        self.changes.push(change);
        self
    }

    /// Adds a column after all others. The records that exist have `value` in it.
    #[must_use]
    pub fn add_column(self, name: &str, kind: Type, value: Value<'v>) -> Self {
        self.with(Change::AddColumn { name: name.into(), kind, nullable: false, value })
    }

    /// Adds a column that can be null after all others. The records that exist have null in it.
    #[must_use]
    pub fn add_nullable(self, name: &str, kind: Type) -> Self {
        let value = Value::Null;
        self.with(Change::AddColumn { name: name.into(), kind, nullable: true, value })
    }

    /// Drops a column with its values. Those of the key stay, and those of an index.
    #[must_use]
    pub fn drop_column(self, name: &str) -> Self {
        self.with(Change::DropColumn { name: name.into() })
    }

    /// Renames a column, in the indexes of the table too.
    #[must_use]
    pub fn rename_column(self, from: &str, to: &str) -> Self {
        self.with(Change::RenameColumn { from: from.into(), to: to.into() })
    }

    /// Changes the type of a column. Each value has to be one of the new type: whole numbers become
    /// floats, decimals, timestamps or whole numbers of another size; texts become bytes and bytes
    /// texts. A column of the key becomes another whole number, or a longer or shorter text.
    #[must_use]
    pub fn change_type(self, name: &str, kind: Type) -> Self {
        self.with(Change::Retype { name: name.into(), kind })
    }

    /// Changes if a column can be null. If it cannot any more, no record may have null in it.
    #[must_use]
    pub fn change_nullable(self, name: &str, nullable: bool) -> Self {
        self.with(Change::SetNullable { name: name.into(), nullable })
    }

    /// Renames the table.
    #[must_use]
    pub fn rename_table(self, name: &str) -> Self {
        self.with(Change::RenameTable { name: name.into() })
    }

    /// Changes the column by which records [expire](crate::Builder::expires); `None` has
    /// those stay that have not expired when they are copied. Dropping that column, and changing
    /// its type, are refused unless this comes first.
    #[must_use]
    pub fn expire_by(self, name: Option<&str>) -> Self {
        self.with(Change::ExpireBy { name: name.map(Into::into) })
    }

    /// Changes how the table finds its records.
    #[must_use]
    pub fn change_kind(self, kind: KeyKind) -> Self {
        self.with(Change::FindBy { kind })
    }
}

impl Database {
    /// Changes a table: all of the [`Alteration`], or nothing, also after a crash. Returns the
    /// table as it is then. Handles of the table before find none from then on; snapshots that were
    /// taken before still see it as it was.
    ///
    /// If records stay as they are, the alteration is one short step, however many there are: other
    /// names of the table and its columns; and more room in columns of variable length that neither
    /// the key nor an index has, also for bytes instead of texts.
    ///
    /// Otherwise records are written anew in small commits. Others read and write the table in the
    /// meantime, and records that they write are written again. Then the new table takes the place
    /// of the one before, in one step. So such an alteration needs space for both, and writes to
    /// the table take longer while it lasts: writers wait if they are far ahead.
    ///
    /// Transactions that have written in the table when an alteration starts or ends return
    /// `Conflict`.
    ///
    /// # Errors
    /// `NoTable`, `TableExists`, `NoColumn`; `KeyColumn` for a change that columns of a key cannot
    /// have; `ColumnInUse`; `InvalidSchema`, `SchemaTooLong`; `ValueMisfit` and `ValueTooLong` of
    /// the value of a new column; `RecordMisfit` for the first record that does not fit; `Conflict`
    /// when an index was dropped in the meantime; `CatalogueFull`; and those of
    /// [writing](Table#errors). The table stays as it was then.
    pub fn alter_table(&self, name: &str, alteration: &Alteration<'_>) -> Result<Table> {
        loop {
            let table = self.table(name)?;
            let core = Arc::clone(table.core());
            let _turn = core.turn_to_build();
            // While this waited for its turn, another table may have taken the place.
            match core.ensure_open() {
                Ok(()) => return self.alter(table, alteration),
                Err(Error::NoTable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn alter(&self, table: Table, Alteration { changes }: &Alteration<'_>) -> Result<Table> {
        if changes.is_empty() {
            return Ok(table);
        }
        let indexes = table.indexes()?;
        let conversion = Conversion::new(table.schema(), table.key_kind(), &indexes, changes)?;
        let db = table.database().clone();
        let core = table.core().clone();
        if conversion.keeps_records(&table) {
            return table.redefine(&conversion.schema);
        }
        let Conversion { schema, kind, indexes, .. } = &conversion;
        let successor = db.begin_successor(&core, schema, *kind, indexes)?;
        let successor = Table::new(db.clone(), successor);
        let making = Making { table: &table, successor: &successor };
        let made = Copying::new(&table, &successor, &conversion).run();
        drop(making);
        made.map(|()| successor)
    }
}

impl Table {
    /// Gives the table another schema, under which its records stay as they are. Returns the table
    /// as it is then.
    pub(super) fn redefine(&self, schema: &Schema) -> Result<Self> {
        let redefined = self.database().redefine_table(self.core(), schema)?;
        Ok(Self::new(self.database().clone(), redefined))
    }
}

/// The making of a successor, which is given up unless it takes its place.
struct Making<'m> {
    table: &'m Table,
    successor: &'m Table,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        if self.successor.core().definition().predecessor().is_some() {
            self.table.database().give_up_successor(self.table.core(), self.successor.core());
        }
    }
}
