//! Reading a part of a table, batch after batch, apart from the threads that run queries.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use lode::{Snapshot, Table, TableAt};
use lode_arrow::{Batches, Scan};

use crate::error::external;
use crate::pushdown::{KeyRange, Target};

/// The records that are looked up for one batch: as few as may be large.
const LOOKUP_ROWS: usize = 64;

/// The part of a table that is read.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) table: Table,
    pub(crate) snapshot: Snapshot,
    /// The names of the columns.
    pub(crate) columns: Arc<[String]>,
    pub(crate) target: Target,
    /// The most rows.
    pub(crate) limit: u64,
    /// The most rows of a batch.
    pub(crate) batch_rows: usize,
}

/// Reads batch after batch.
pub(crate) struct Reader {
    wanted: Wanted,
    /// The parts of the target that were not started.
    ahead: VecDeque<Part>,
    range: Option<Batches>,
    metrics: BaselineMetrics,
}

/// A range or a list of keys that is read at a time.
enum Part {
    Range(KeyRange),
    Keys(Vec<Vec<u8>>),
}

impl Reader {
    pub(crate) fn new(mut wanted: Wanted, metrics: BaselineMetrics) -> Self {
        let target = std::mem::replace(&mut wanted.target, Target::Keys(Vec::new()));
        let ahead = match target {
            Target::Ranges(ranges) => ranges.into_iter().map(Part::Range).collect(),
            Target::Keys(keys) => {
                keys.chunks(LOOKUP_ROWS).map(|keys| Part::Keys(keys.to_vec())).collect()
            }
        };
        Self { wanted, ahead, range: None, metrics }
    }

    /// Returns all batches as a stream. While one is being used, the next one is read by a thread
    /// for work that blocks, which then waits for nothing: so few such threads are enough for any
    /// query.
    pub(crate) fn stream(self, schema: SchemaRef) -> SendableRecordBatchStream {
        let batches = futures_util::stream::try_unfold(
            Progress::NotBegun(Box::new(self)),
            |progress| async {
                let task = match progress {
                    Progress::NotBegun(reader) => reader.read(),
                    Progress::Reading(task) => task,
                };
                let (reader, batch) = match task.join_unwind().await {
                    Ok(read) => read?,
                    Err(error) => return Err(DataFusionError::ExecutionJoin(Box::new(error))),
                };
                Ok(batch.map(|batch| (batch, Progress::Reading(reader.read()))))
            },
        );
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }

    fn read(mut self) -> SpawnedTask<Read> {
        SpawnedTask::spawn_blocking(move || {
            let batch = self.next_batch()?;
            Ok((self, batch))
        })
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let time = self.metrics.elapsed_compute().clone();
        let _timer = time.timer();
        while self.wanted.limit > 0 {
            let batch = match &mut self.range {
                Some(batches) => batches.next().transpose().map_err(external)?,
                None => match self.ahead.pop_front() {
                    None => return Ok(None),
                    Some(Part::Range(range)) => {
                        self.range = Some(self.scan_range(range)?);
                        continue;
                    }
                    Some(Part::Keys(keys)) => Some(self.look_up(&keys)?),
                },
            };
            match batch {
                None => self.range = None,
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => {
                    self.wanted.limit -= batch.num_rows() as u64;
                    return Ok(Some(batch.record_output(&self.metrics)));
                }
            }
        }
        Ok(None)
    }

    fn scan(&self) -> Result<Scan<TableAt<'_>>> {
        let wanted = &self.wanted;
        let scan = Scan::of(wanted.table.at(&wanted.snapshot)).columns(wanted.columns.iter());
        Ok(scan.map_err(external)?.limit(wanted.limit).batch_rows(wanted.batch_rows))
    }

    fn scan_range(&self, range: KeyRange) -> Result<Batches> {
        let scan = self.scan()?;
        Ok(if range == KeyRange::ALL {
            // Hashed keys have no other range.
            scan.read()
        } else {
            scan.packed_keys(range.lower, range.upper).read()
        })
    }

    fn look_up(&self, keys: &[Vec<u8>]) -> Result<RecordBatch> {
        let batch = self.scan()?.lookup(keys).map_err(external)?;
        let rows = usize::try_from(self.wanted.limit).unwrap_or(usize::MAX);
        Ok(batch.slice(0, batch.num_rows().min(rows)))
    }
}

/// A reader, and what it has read.
type Read = Result<(Reader, Option<RecordBatch>)>;

/// The progress of a stream.
enum Progress {
    NotBegun(Box<Reader>),
    /// The next batch is being read.
    Reading(SpawnedTask<Read>),
}
