//! The specification of a workload, once its file was read and checked.

use assay_core::latency::Rates;
use assay_driver::Durability;

pub use super::choice::Choice;
use super::sizes::Sizes;

/// The most threads of a phase.
pub(super) const MOST_THREADS: u64 = 256;
/// The most records that are loaded, and the most operations of a phase.
pub(super) const MOST_COUNT: u64 = 1_000_000_000;
/// The fewest bytes of a value: a number in it says which write it is of.
pub(super) const LEAST_VALUE_BYTES: u64 = 8;
/// The most bytes of a value.
pub(super) const MOST_VALUE_BYTES: u64 = 4_000_000;
/// The most records that a scan asks for.
pub(super) const MOST_SCANNED: u64 = 100_000;
/// The most operations of a transaction.
pub(super) const MOST_TOGETHER: u64 = 1_000;
/// The longest time of a phase, in seconds.
pub(super) const MOST_SECONDS: u64 = 86_400;
/// The most leading columns of a key.
pub(super) const MOST_LEADING: usize = 3;
/// The fewest and the most bytes of a key that is a text or bytes.
pub(super) const TEXT_KEY_BYTES: (u64, u64) = (16, 256);
pub(super) const BYTES_KEY_BYTES: (u64, u64) = (8, 256);

/// A workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The title, for readers.
    pub title: String,
    /// The event that acknowledged writes must survive; none: the command decides.
    pub survives: Option<Durability>,
    /// The records, and how they are loaded.
    pub records: Records,
    /// The phases after the load, in their order.
    pub phases: Vec<Phase>,
}

/// The records of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// The number of records to load.
    pub count: u64,
    /// True to load records in the order of their numbers, false in a random one.
    pub in_order: bool,
    /// True to load all records in one transaction.
    pub bulk: bool,
    /// The keys.
    pub key: Key,
    /// The bytes of values.
    pub value: Sizes,
    /// The share of a value's bytes that repeat.
    pub compressible: f64,
    /// The columns between key and value.
    pub columns: Vec<Column>,
}

/// A column of few values: between key and value, or one of a key's leading columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name that the file gives it.
    pub name: String,
    /// The type.
    pub kind: ColumnKind,
    /// The number of values, each of which about as many records have.
    pub distinct: u64,
    /// True if engines are asked for a secondary index of it.
    pub is_indexed: bool,
}

/// The type of a column between key and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A number of 32 bits.
    U32,
    /// A number of 64 bits.
    U64,
    /// A text of this many bytes.
    Text(u32),
}

impl Records {
    /// Returns the names of columns that engines are asked for a secondary index of.
    pub fn indexed(&self) -> Vec<&str> {
        let indexed = self.columns.iter().filter(|column| column.is_indexed);
        indexed.map(|column| &column.name[..]).collect()
    }
}

impl ColumnKind {
    /// Returns the bytes of a value.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::U32 => 4,
            Self::U64 => 8,
            Self::Text(size) => size.into(),
        }
    }

    /// Returns the largest number of a value, which every engine's signed numbers reach.
    pub(super) fn most_number(self) -> u64 {
        match self {
            Self::U32 => i32::MAX as u64,
            Self::U64 | Self::Text(_) => i64::MAX as u64,
        }
    }
}

/// The keys of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The columns before the number.
    pub leading: Vec<Column>,
    /// The type of the number.
    pub kind: KeyType,
    /// The way in which numbers become keys.
    pub made: Made,
}

/// The type of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// A number of 64 bits.
    U64,
    /// A text of this many bytes: one prefix for all, then sixteen hexadecimal digits.
    Text(u32),
    /// Bytes, as many as given: a number of 64 bits, the highest byte first, then zeros.
    Bytes(u32),
}

impl Key {
    /// Returns the bytes of a key.
    pub(crate) fn bytes(&self) -> u64 {
        let leading: u64 = self.leading.iter().map(|column| column.kind.bytes()).sum();
        leading
            + match self.kind {
                KeyType::U64 => 8,
                KeyType::Text(size) | KeyType::Bytes(size) => size.into(),
            }
    }

    /// Returns the number of fronts: of combinations of values in the leading columns.
    pub(super) fn fronts(&self) -> u64 {
        self.leading.iter().fold(1, |fronts: u64, column| fronts.saturating_mul(column.distinct))
    }
}

/// The way in which the number of a record becomes its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// 0, 1, 2, …
    Dense,
    /// Ascending with gaps of random width.
    Sparse,
    /// Spread over the range of all keys.
    Hashed,
    /// Moments in nanoseconds, about a millisecond apart.
    Time,
}

/// A phase: threads that do operations of several kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// The name, which no other phase has.
    pub name: String,
    /// Numbers of threads; several make several cells.
    pub threads: Vec<u32>,
    /// The task of the phase.
    pub task: Task,
    /// The end of the phase.
    pub until: Until,
    /// The share of each kind of operation, in the order of [`Kind::ALL`]; they add up to 1.
    pub mix: [f64; Kind::ALL.len()],
    /// The choice of records by operations.
    pub choose: Choice,
    /// The number of records that a scan asks for.
    pub scanned: Sizes,
    /// The columns that a scan reads besides the key, by their places in the records: the value
    /// follows the last of them. None: all.
    pub scanned_columns: Option<Vec<usize>>,
    /// The column that records are found by; none if none are.
    pub found_by: Option<usize>,
    /// The number of operations in a transaction.
    pub together: u64,
    /// Operations that arrive a second; none: an operation follows another.
    pub rates: Option<Rates>,
    /// The work of another thread during the phase.
    pub background: Option<Background>,
}

/// The operations of one more thread, for as long as a phase lasts.
#[derive(Clone, Debug, PartialEq)]
pub struct Background {
    /// The share of each kind of operation, as in a phase.
    pub mix: [f64; Kind::ALL.len()],
    /// The choice of records by operations, as in a phase.
    pub choose: Choice,
    /// The number of records that a scan asks for, as in a phase.
    pub scanned: Sizes,
    /// The columns that a scan reads, as in a phase.
    pub scanned_columns: Option<Vec<usize>>,
    /// The column that records are found by, as in a phase.
    pub found_by: Option<usize>,
    /// Operations that arrive a second.
    pub rate: u64,
}

/// The task of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Operations of a mix.
    Operations,
    /// Closes the store and opens it again.
    Reopen,
    /// Writes until the process is killed, and opens the store by another one.
    Recover,
    /// Deletes half of the records, at random.
    DeleteHalf,
}

/// The end of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this number of operations of all threads together.
    Operations(u64),
    /// After this number of seconds on the clock.
    Seconds(u64),
    /// Once windows of this many seconds are steady, or after the limit.
    Steady {
        /// The seconds of a window.
        window: u64,
        /// The most seconds of all windows.
        limit: u64,
    },
    /// After as many operations as half of the records that are there.
    Half {
        /// The seconds for which the space of the store is looked at afterwards.
        looks: u64,
    },
}

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads a record.
    Read,
    /// Reads a record that is absent.
    Missing,
    /// Replaces the value of a record.
    Update,
    /// Inserts a new record.
    Insert,
    /// Deletes a record.
    Delete,
    /// Writes a record, whether or not it is there.
    Upsert,
    /// Reads a record, and replaces its value.
    ReadModifyWrite,
    /// Reads a record that is a number, and writes that number plus one.
    Increment,
    /// Reads a number of records in the order of keys.
    Scan,
    /// Reads all records that have a column in common with one, by a secondary index.
    Find,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Read,
        Self::Missing,
        Self::Update,
        Self::Insert,
        Self::Delete,
        Self::Upsert,
        Self::ReadModifyWrite,
        Self::Increment,
        Self::Scan,
        Self::Find,
    ];

    /// Returns the name that files give the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Missing => "missing",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Upsert => "upsert",
            Self::ReadModifyWrite => "read_modify_write",
            Self::Increment => "increment",
            Self::Scan => "scan",
            Self::Find => "find",
        }
    }

    /// Returns true if it writes.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Missing | Self::Scan | Self::Find)
    }

    /// Returns true if it may add a record.
    pub(super) fn may_insert(self) -> bool {
        matches!(self, Self::Insert | Self::Upsert)
    }

    /// Returns true if it sets the value of a record that is there.
    pub(super) fn updates(self) -> bool {
        matches!(self, Self::Update | Self::ReadModifyWrite | Self::Increment)
    }
}

impl Phase {
    /// Returns true if some of its operations are of a kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.mix[kind as usize] > 0.0
    }

    /// Returns true if some of its operations are of a kind with a property.
    pub(super) fn any(&self, property: impl Fn(Kind) -> bool) -> bool {
        Kind::ALL.into_iter().any(|kind| self.has(kind) && property(kind))
    }

    /// Returns true if some of its operations, or of those in its background, are of kinds with a
    /// property.
    pub(super) fn does(&self, property: impl Fn(Kind) -> bool) -> bool {
        let background = self.background.as_ref();
        let behind = |kind: Kind| background.is_some_and(|it| it.mix[kind as usize] > 0.0);
        Kind::ALL.into_iter().any(|kind| (self.has(kind) || behind(kind)) && property(kind))
    }

    /// Returns what its background does, as a phase of one thread.
    pub(super) fn behind(&self) -> Option<Self> {
        let Background { mix, choose, scanned, scanned_columns, found_by, rate } =
            self.background.clone()?;
        let seconds = match self.until {
            Until::Seconds(seconds) | Until::Steady { limit: seconds, .. } => seconds,
            Until::Operations(count) => count.div_ceil(GUESSED_RATE),
            Until::Half { .. } => 0,
        };
        Some(Self {
            name: self.name.clone(),
            threads: vec![1],
            task: Task::Operations,
            until: Until::Seconds(seconds),
            mix,
            choose,
            scanned,
            scanned_columns,
            found_by,
            together: 1,
            rates: Some(Rates::constant(rate)),
            background: None,
        })
    }

    /// Returns the number of threads in the cell whose lists have `threads`.
    pub(super) fn threads_in(&self, threads: u32) -> u32 {
        match self.threads[..] {
            [one] => one,
            _ => threads,
        }
    }

    /// Returns about how many of its operations are of a kind; for a phase that lasts a time, if an
    /// engine does [`GUESSED_RATE`].
    pub(super) fn expected(&self, kind: Kind) -> u64 {
        (self.expected_operations() as f64 * self.mix[kind as usize]) as u64
    }

    /// Returns about how many operations it has.
    pub fn expected_operations(&self) -> u64 {
        match self.until {
            Until::Operations(count) => count,
            Until::Seconds(seconds) | Until::Steady { limit: seconds, .. } => match &self.rates {
                Some(rates) => rates.operations_in(seconds) as u64,
                None => seconds * GUESSED_RATE,
            },
            Until::Half { .. } => 0,
        }
    }

    /// Returns the phase with the end of its first window, or of each, if `live` records are there.
    pub(super) fn one_window(&self, live: u64) -> Self {
        let until = match self.until {
            Until::Steady { window, .. } => Until::Seconds(window),
            Until::Half { .. } => Until::Operations(live / 2),
            other => other,
        };
        Self { until, ..self.clone() }
    }

    /// Returns true if it has operations that a trace can have.
    pub(super) fn is_listed(&self) -> bool {
        self.task != Task::Recover && self.any(|_| true)
    }

    /// Returns true if its end depends on the clock.
    pub(super) fn is_timed(&self) -> bool {
        self.background.is_some() || matches!(self.until, Until::Seconds(_) | Until::Steady { .. })
    }
}

/// The operations a second that sizes are guessed by in advance, if a phase lasts a time.
const GUESSED_RATE: u64 = 10_000;

impl Spec {
    /// Returns the list of numbers of threads that its phases have; one number if none has a list.
    pub(super) fn thread_counts(&self) -> Vec<u32> {
        let list = self.phases.iter().find(|phase| phase.threads.len() > 1);
        list.or(self.phases.iter().max_by_key(|phase| phase.threads[0]))
            .map_or_else(|| vec![1], |phase| phase.threads.clone())
    }

    /// Returns the most threads at once in the cell whose lists have `threads`.
    pub(super) fn most_threads(&self, threads: u32) -> u32 {
        self.phases.iter().map(|phase| phase.threads_in(threads)).max().unwrap_or(1)
    }

    /// Returns about how many records have a value of a column, at the store's fullest.
    pub(super) fn alike(&self, column: &Column) -> u64 {
        self.expected_rows().div_ceil(column.distinct)
    }

    /// Returns the column that a phase finds records by.
    pub(super) fn found_by(&self, phase: &Phase) -> Option<&Column> {
        phase.found_by.and_then(|place| self.records.columns.get(place))
    }

    /// Returns true if a phase, or its background, reads ranges.
    pub fn scans(&self) -> bool {
        self.phases.iter().any(|phase| phase.does(|kind| kind == Kind::Scan))
    }

    /// Returns about how many records are in the store at its fullest.
    pub(super) fn expected_rows(&self) -> u64 {
        let mut now = self.records.count;
        let mut most = now;
        for phase in &self.phases {
            for part in [Some(phase.clone()), phase.behind()].into_iter().flatten() {
                let inserts = part.expected(Kind::Insert);
                now = (now + inserts).saturating_sub(part.expected(Kind::Delete));
            }
            most = most.max(now);
        }
        most
    }

    /// Returns the number of records that there can be in all, with those that were deleted; none
    /// if a phase that inserts lasts a time.
    pub(super) fn most_rows(&self) -> Option<u64> {
        self.phases.iter().try_fold(self.records.count, |rows, phase| {
            // A list of the command line may replace one of the file.
            let most = match phase.threads[..] {
                [one] => u64::from(one),
                _ => MOST_THREADS,
            };
            let behind = phase.behind();
            let is_behind = u64::from(behind.is_some());
            // Threads take turns in numbers, and one may insert more than another.
            let rows = rows + 2 * (most + is_behind);
            match phase.until {
                _ if !phase.does(Kind::may_insert) => Some(rows),
                _ if behind.is_some_and(|behind| behind.any(Kind::may_insert)) => None,
                // The turns of one in the background are left out.
                Until::Operations(count) if phase.background.is_some() => {
                    let numbers = |threads: u64| count.div_ceil(threads) * (threads + 1);
                    let least = if phase.threads.len() > 1 { 1 } else { most };
                    Some(rows + numbers(least).max(numbers(most)))
                }
                Until::Operations(count) => Some(rows + count),
                Until::Half { .. } => Some(rows),
                Until::Seconds(_) | Until::Steady { .. } => None,
            }
        })
    }
}
