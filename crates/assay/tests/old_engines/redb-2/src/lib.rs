//! `redb-2`: redb 2.6.3, the last version before 3.0, as a plugin for Assay.
//!
//! - A file of dead pages: commits with `Durability::None` freed no page until the next durable one
//!   ([reported with 2.1](https://github.com/cberner/redb/issues/810), mended in 3.0.0). The level
//!   `none` writes so, as that of the driver does.
//! - A file that keeps its largest size: pages that deletes free in its middle are used again, and
//!   not given back ([asked for](https://github.com/cberner/redb/issues/20): `compact`, which needs
//!   the database to itself). So do later versions.
//! - An opening that reads all of the file after a kill
//!   ([reported with 2.6.0](https://github.com/cberner/redb/issues/1055)); `quick_repair` avoids it
//!   at the price of larger commits.

use std::ops::Bound;
use std::path::Path;

use plugin::{Declared, Engine, Level, Result, Write};
use redb::{Database, Durability, TableDefinition};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("records");

struct Redb {
    database: Database,
    durability: Durability,
}

plugin::export!(Redb);

impl Redb {
    /// Carries out writes in a transaction.
    fn transaction(&self, durability: Durability, writes: Vec<Write>) -> Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability);
        let mut table = transaction.open_table(TABLE)?;
        for (key, value) in writes {
            match value {
                Some(value) => table.insert(key.as_slice(), value.as_slice())?,
                None => table.remove(key.as_slice())?,
            };
        }
        drop(table);
        Ok(transaction.commit()?)
    }
}

impl Engine for Redb {
    const DECLARED: Declared = Declared {
        id: c"redb-2",
        name: c"redb 2",
        version: c"2.6.3",
        about: c"copy-on-write B-tree, of an old version",
        weaker: Level::None,
    };

    fn open(dir: &Path, level: Level, cache_bytes: Option<u64>) -> Result<Self> {
        let mut builder = Database::builder();
        if let Some(cache_bytes) = cache_bytes {
            builder.set_cache_size(cache_bytes as usize);
        }
        let durability =
            if level == Level::Commit { Durability::Immediate } else { Durability::None };
        let database = builder.create(dir.join("store.redb"))?;
        let store = Self { database, durability };
        // Reads expect the table.
        store.transaction(Durability::Immediate, Vec::new())?;
        Ok(store)
    }

    fn settings(&self) -> String {
        format!("Durability::{:?}", self.durability)
    }

    fn get(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        let value = table.get(key)?;
        if let Some(value) = &value {
            found(value.value());
        }
        Ok(value.is_some())
    }

    fn write(&self, writes: Vec<Write>) -> Result<()> {
        self.transaction(self.durability, writes)
    }

    fn scan(
        &self,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        row: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        for entry in table.range::<&[u8]>(range)? {
            let (key, value) = entry?;
            if !row(key.value(), value.value()) {
                break;
            }
        }
        Ok(())
    }

    fn close(self) -> Result<()> {
        self.transaction(Durability::Immediate, Vec::new())
    }
}
