//! A table of Lode as DataFusion knows tables.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{Constraint, Constraints, DFSchemaRef, not_impl_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::dml::{InsertOp, MergeIntoClause};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use lode::{Database, Schema, Snapshot, Table, Type};
use lode_arrow::arrow_schema;

use crate::error::external;
use crate::partitions::{Division, divide};
use crate::pushdown::Pushdown;
use crate::scan::{Found, LodeScan};

/// A table of Lode that DataFusion reads. What can be pushed down is in the documentation of the
/// [crate](crate).
///
/// ```
/// use std::sync::Arc;
///
/// use datafusion::prelude::SessionContext;
/// use lode::{Database, KeyKind, Schema, Type};
/// use lode_datafusion::LodeTable;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let db = Database::in_memory()?;
/// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
/// let bytes = db.create_table(&schema, KeyKind::Tree)?;
/// for id in 0..=255 {
///     bytes.insert(&[id, id.count_ones() as u8])?;
/// }
///
/// let context = SessionContext::new();
/// context.register_table("bytes", Arc::new(LodeTable::new(&db, "byte")?))?;
/// # let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
/// # runtime.block_on(async {
/// let odd = context.sql("SELECT count(*) FROM bytes WHERE id < 100 AND bits % 2 = 1").await?;
/// println!("{}", odd.to_string().await?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })
/// # }
/// ```
#[derive(Clone)]
pub struct LodeTable {
    db: Database,
    table: Table,
    schema: SchemaRef,
    constraints: Constraints,
    snapshot: Option<Snapshot>,
}

impl LodeTable {
    /// Opens the table of a name, as it is when a query is planned. A query that reads it twice may
    /// find it changed in between; [`at`](Self::at) keeps it as it was.
    ///
    /// # Errors
    /// `NoTable`; `Corrupt` when it cannot be read, though others can.
    pub fn new(db: &Database, name: &str) -> lode::Result<Self> {
        let table = db.table(name)?;
        let constraints = Constraints::new_unverified(primary_key(table.schema()));
        let db = db.clone();
        let schema = arrow_schema(table.schema());
        Ok(Self { db, table, schema, constraints, snapshot: None })
    }

    /// Returns the table as it was at the moment of a snapshot, for all queries, even if it is
    /// dropped later. While it is kept, that costs what
    /// [`Database::snapshot`](lode::Database::snapshot) says.
    #[must_use]
    pub fn at(self, snapshot: Snapshot) -> Self {
        Self { snapshot: Some(snapshot), ..self }
    }

    fn name(&self) -> &str {
        self.table.schema().name()
    }

    /// Plans to read what filters leave. That reads a few pages.
    fn find(
        &self,
        snapshot: &Snapshot,
        filters: &[Expr],
        most_parts: usize,
    ) -> lode::Result<Found> {
        let table = &self.table;
        let schema = self.table.schema();
        let pushdown = Pushdown::of(filters, schema, table.key_kind());
        let rows = pushdown.estimate(table.at(snapshot).len_estimate()?);
        let division = Division { most_parts, rows };
        let parts = divide(table.at(snapshot), &pushdown, pushdown.target()?, &division)?;
        let fixed = pushdown.fixed().len();
        Ok(Found { parts, fixed, found_by: pushdown.to_string(), rows })
    }

    fn refuse(&self, what: &str) -> Result<Arc<dyn ExecutionPlan>> {
        not_impl_err!(
            "{what} table {}: DataFusion only reads tables of Lode; write with `lode sql`, or with \
             Lode's own functions",
            self.name()
        )
    }
}

/// Returns the key, if it is one to DataFusion, too. Zero and its negative are two keys in Lode,
/// and one value to DataFusion, which leaves out what a key makes needless.
fn primary_key(schema: &Schema) -> Vec<Constraint> {
    let key = &schema.columns()[..schema.key_columns()];
    if key.iter().any(|column| matches!(column.kind, Type::F32 | Type::F64)) {
        return Vec::new();
    }
    vec![Constraint::PrimaryKey((0..key.len()).collect())]
}

impl std::fmt::Debug for LodeTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LodeTable").field("name", &self.name()).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for LodeTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(columns) => Arc::new(self.schema.project(columns)?),
            None => self.schema(),
        };
        // A few rows are not worth several threads.
        let options = state.config();
        let is_short = limit.is_some_and(|rows| rows <= options.batch_size());
        let most_parts = if is_short { 1 } else { options.target_partitions() };
        let table = self.clone();
        let filters = filters.to_vec();
        let task = SpawnedTask::spawn_blocking(move || {
            let snapshot = match &table.snapshot {
                Some(snapshot) => snapshot.clone(),
                None => table.db.snapshot(),
            };
            let found = table.find(&snapshot, &filters, most_parts).map_err(external)?;
            Ok::<_, DataFusionError>((snapshot, found))
        });
        let (snapshot, found) = match task.join_unwind().await {
            Ok(planned) => planned?,
            Err(error) => return Err(DataFusionError::ExecutionJoin(Box::new(error))),
        };
        Ok(Arc::new(LodeScan::new(self.table.clone(), snapshot, &schema, found, limit)))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let schema = self.table.schema();
        let kind = self.table.key_kind();
        Ok(filters.iter().map(|filter| Pushdown::support(filter, schema, kind)).collect())
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.refuse("INSERT into")
    }

    async fn delete_from(&self, _: &dyn Session, _: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        self.refuse("DELETE from")
    }

    async fn update(
        &self,
        _: &dyn Session,
        _: Vec<(String, Expr)>,
        _: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.refuse("UPDATE of")
    }

    async fn truncate(&self, _: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        self.refuse("TRUNCATE of")
    }

    async fn merge_into(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: DFSchemaRef,
        _: Expr,
        _: Vec<MergeIntoClause>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.refuse("MERGE into")
    }
}
