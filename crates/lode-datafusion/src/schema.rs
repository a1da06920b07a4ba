//! All tables of a database as a schema of DataFusion.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::not_impl_err;
use datafusion::error::Result;
use lode::{Database, Error, Snapshot};

use crate::error::external;
use crate::table::LodeTable;

/// The tables of a database, as a schema of DataFusion: those that are there when a query is
/// planned.
#[derive(Clone)]
pub struct LodeSchema {
    db: Database,
    snapshot: Option<Snapshot>,
}

impl LodeSchema {
    /// Makes the schema of the tables as each is when a query starts to read it.
    pub fn new(db: Database) -> Self {
        Self { db, snapshot: None }
    }

    /// Makes the schema of the tables as they all were at the moment of a snapshot. So queries that
    /// read several tables, or one several times, find what was there together. Names are looked up
    /// as they are now: a table that was dropped is not found, and one that is newer has no rows to
    /// read.
    ///
    /// ```
    /// use lode::Database;
    /// use lode_datafusion::LodeSchema;
    ///
    /// let db = Database::in_memory()?;
    /// let now = LodeSchema::new(db.clone()).at(db.snapshot());
    /// # Ok::<(), lode::Error>(())
    /// ```
    #[must_use]
    pub fn at(self, snapshot: Snapshot) -> Self {
        Self { snapshot: Some(snapshot), ..self }
    }

    /// Returns the table of a name, if it is there.
    pub(crate) fn find(&self, name: &str) -> Result<Option<LodeTable>> {
        let table = match LodeTable::new(&self.db, name) {
            Ok(table) => table,
            Err(Error::NoTable { .. }) => return Ok(None),
            Err(error) => return Err(external(error)),
        };
        Ok(Some(match &self.snapshot {
            Some(snapshot) => table.at(snapshot.clone()),
            None => table,
        }))
    }
}

impl std::fmt::Debug for LodeSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LodeSchema").field("tables", &self.db.table_names()).finish()
    }
}

#[async_trait]
impl SchemaProvider for LodeSchema {
    fn table_names(&self) -> Vec<String> {
        self.db.table_names()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(self.find(name)?.map(|table| Arc::new(table) as Arc<dyn TableProvider>))
    }

    fn register_table(
        &self,
        name: String,
        _: Arc<dyn TableProvider>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        not_impl_err!(
            "CREATE of {name}: DataFusion only reads tables of Lode; create tables with \
             `lode sql`, or with Lode's own functions"
        )
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        not_impl_err!(
            "DROP of {name}: DataFusion only reads tables of Lode; drop tables with `lode sql`, or \
             with Lode's own functions"
        )
    }

    fn table_exist(&self, name: &str) -> bool {
        self.db.table_names().iter().any(|table| table == name)
    }
}
