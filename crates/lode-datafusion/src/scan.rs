//! A scan of a table as a part of a query's plan.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use lode::{KeyKind, Snapshot, Table, Type};

use crate::pushdown::Target;
use crate::reader::{Reader, Wanted};

/// A scan of a table: some columns of the records at some keys, in parts.
#[derive(Clone, Debug)]
pub(crate) struct LodeScan {
    table: Table,
    snapshot: Snapshot,
    columns: Arc<[String]>,
    /// The records that each partition reads.
    parts: Vec<Target>,
    /// The most rows of each partition.
    limit: Option<usize>,
    /// The conditions on keys, in words.
    found_by: String,
    /// About how many rows there are.
    rows: u64,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// The parts of a scan, and their order.
pub(crate) struct Found {
    /// The records that each partition reads.
    pub(crate) parts: Vec<Target>,
    /// The number of the first columns of the key that have the same value in all rows.
    pub(crate) fixed: usize,
    /// The conditions on keys that are fulfilled, in words.
    pub(crate) found_by: String,
    /// About how many rows there are.
    pub(crate) rows: u64,
}

impl LodeScan {
    /// Makes a scan of the columns of `schema`, which are some of the table's.
    pub(crate) fn new(
        table: Table,
        snapshot: Snapshot,
        schema: &SchemaRef,
        found: Found,
        limit: Option<usize>,
    ) -> Self {
        let orderings = [0, found.fixed].map(|from| order(&table, from, schema));
        let orderings = orderings.into_iter().filter(|order| !order.is_empty());
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(Arc::clone(schema), orderings),
            Partitioning::UnknownPartitioning(found.parts.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            table,
            snapshot,
            columns: schema.fields().iter().map(|field| field.name().clone()).collect(),
            parts: found.parts,
            limit,
            found_by: found.found_by,
            rows: found.rows,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

/// Returns the order of the rows of each partition: the columns of the key from one on, as far as
/// they are read. It ends before floats, whose zeros may be one to a query.
fn order(table: &Table, from: usize, read: &SchemaRef) -> Vec<PhysicalSortExpr> {
    if table.key_kind() == KeyKind::Hash {
        return Vec::new();
    }
    let schema = table.schema();
    let columns = schema.columns()[..schema.key_columns()].iter().skip(from);
    let order = columns.map_while(|column| {
        let is_float = matches!(column.kind, Type::F32 | Type::F64);
        let at = read.index_of(&column.name).ok().filter(|_| !is_float)?;
        let options = SortOptions { descending: false, nulls_first: false };
        Some(PhysicalSortExpr { expr: Arc::new(Column::new(&column.name, at)), options })
    });
    order.collect()
}

impl DisplayAs for LodeScan {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.table.schema().name();
        let columns = self.columns.join(", ");
        let limit = self.limit.map(|rows| rows.to_string());
        if let DisplayFormatType::TreeRender = kind {
            writeln!(f, "table={name}")?;
            writeln!(f, "columns={columns}")?;
            if !self.found_by.is_empty() {
                writeln!(f, "key={}", self.found_by)?;
            }
            return limit.map_or(Ok(()), |rows| writeln!(f, "limit={rows}"));
        }
        write!(f, "LodeScan: table={name}, columns=[{columns}]")?;
        if !self.found_by.is_empty() {
            write!(f, ", key=[{}]", self.found_by)?;
        }
        if let Some(rows) = limit {
            write!(f, ", limit={rows}")?;
        }
        write!(f, ", partitions={}", self.parts.len())
    }
}

impl ExecutionPlan for LodeScan {
    fn name(&self) -> &'static str {
        "LodeScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a LodeScan has no children") }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a LodeScan has no children") }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(target) = self.parts.get(partition) else {
            return internal_err!("a LodeScan of {} has no part {partition}", self.parts.len());
        };
        let wanted = Wanted {
            table: self.table.clone(),
            snapshot: self.snapshot.clone(),
            columns: Arc::clone(&self.columns),
            target: target.clone(),
            limit: self.limit.map_or(u64::MAX, |rows| rows as u64),
            batch_rows: context.session_config().batch_size(),
        };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        Ok(Reader::new(wanted, metrics).stream(self.schema()))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let parts = if args.partition().is_some() { self.parts.len() as u64 } else { 1 };
        let most = self.limit.map_or(u64::MAX, |rows| rows as u64);
        let rows = (self.rows / parts).min(most.saturating_mul(self.parts.len() as u64 / parts));
        let statistics = Statistics::new_unknown(&self.schema());
        let rows = Precision::Inexact(usize::try_from(rows).unwrap_or(usize::MAX));
        Ok(Arc::new(statistics.with_num_rows(rows)))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let metrics = ExecutionPlanMetricsSet::new();
        Some(Arc::new(Self { limit, metrics, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}
