//! The change feed: committed changes in their order, read from the log.

mod change;
mod tables;

pub use change::{Change, ChangedTable, Commit, RowChange};

use super::{Database, Options};
use crate::engine::CheckReport;
use crate::error::{Error, Result};
use crate::position::Position;
use crate::wal::{Feed, Place};
use tables::Tables;

/// A reader of the changes of a database, commit by commit, in the order in which they happened.
/// [`Database::changes`] returns it.
///
/// It ends when it has read all that has happened so far. Later it can continue: call
/// [`next`](Iterator::next) again. It reads the log's files, so it needs neither memory of the
/// database nor its latches, and writers do not wait for it. If it falls behind so far that what it
/// reads next is removed, it returns `ChangesGone`.
///
/// A commit can be read as soon as the log has it, which may be before it is durable. Whoever acts
/// on it calls [`sync`](Self::sync) first.
///
/// # Errors
/// An item may be an error: `ChangesGone`; `OtherPosition` when a crash of the machine has taken
/// back what was read; `Corrupt`, `Version`, `Io`. The next call tries again.
pub struct Changes {
    feed: Feed,
    tables: Tables,
}

impl Changes {
    /// Returns the position after what was read. It may be later than that of the last commit: the
    /// log also has what is no change.
    pub fn reached(&self) -> Position {
        self.feed.place().into()
    }

    /// Makes all that was read durable in the database, whatever its durability level is: then no
    /// crash of its machine can take back what a copy of it has.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&mut self) -> Result<()> {
        self.feed.sync()
    }

    fn next_commit(&mut self) -> Result<Option<Commit>> {
        let Self { feed, tables } = self;
        while let Some(changes) = feed.next(|records| tables.take(records))? {
            if !changes.is_empty() {
                return Ok(Some(Commit { position: feed.place().into(), changes }));
            }
        }
        Ok(None)
    }
}

impl Iterator for Changes {
    type Item = Result<Commit>;

    fn next(&mut self) -> Option<Result<Commit>> {
        self.next_commit().transpose()
    }
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes").field("reached", &self.reached()).finish_non_exhaustive()
    }
}

impl Database {
    /// Returns the position after all changes that ended before this call. In a database that was
    /// opened [for reading only](Options::open_read_only), it is the position of the moment that it
    /// shows: a copy of that and the [changes](Self::changes) since are the whole database. So is
    /// the position of a [backup](Self::backup) that is opened for reading only.
    ///
    /// # Errors
    /// `ChangesNotKept`; `ChangesGone` when the changes after that moment are not kept any more;
    /// `Closed`, `Forked`; `Poisoned`; `Io`.
    pub fn position(&self) -> Result<Position> {
        Ok(self.engine().log_place()?.into())
    }

    /// Returns the changes since a position in their order, or with `None` all that are kept. The
    /// database has to keep them ([`Options::keep_changes`]); it may be open for reading only.
    ///
    /// It first looks through the log from there on for tables that are dropped or altered later.
    ///
    /// ```
    /// use lode::{Change, Database, KeyKind, Options, Schema, Type, Value};
    ///
    /// let directory = std::env::temp_dir().join(format!("lode-changes-{}", std::process::id()));
    /// let db = Options::new().keep_changes(64 << 20).create_new(&directory)?;
    /// let schema = Schema::build("city").key("id", Type::U32).column("people", Type::U64);
    /// let schema = schema.finish()?;
    /// let cities = db.create_table(&schema, KeyKind::Hash)?;
    /// let city = |id, people| schema.pack(&[Value::Unsigned(id), Value::Unsigned(people)]);
    /// cities.insert(&city(7, 900)?)?;
    ///
    /// let start = db.position()?;
    /// cities.upsert(&city(7, 901)?)?;
    /// let mut changes = db.changes(start)?;
    /// let commit = changes.next().expect("there is one")?;
    /// let [Change::Row(row)] = &commit.changes[..] else { panic!("one record was written") };
    /// assert_eq!(row.table().name(), "city");
    /// let before = row.before().expect("it was there");
    /// assert_eq!(before.get("people"), Some(Value::Unsigned(900)));
    /// let after = row.after().expect("it is there");
    /// assert_eq!(after.get("people"), Some(Value::Unsigned(901)));
    /// assert!(changes.next().is_none());
    ///
    /// cities.delete(7)?;
    /// let commit = changes.next().expect("there is another one by now")?;
    /// assert_eq!(commit.position, db.position()?);
    /// # db.close()?;
    /// # std::fs::remove_dir_all(&directory).expect("it is there");
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ChangesNotKept`; `ChangesGone` when the changes after the position are not kept any more;
    /// `OtherPosition` when it is none of this database; `Closed`, `Forked`; `Corrupt`, `Version`,
    /// `Io`.
    pub fn changes(&self, since: impl Into<Option<Position>>) -> Result<Changes> {
        let (feed, defined, after) = self.engine().feed(since.into().map(Place::from))?;
        let tables = Tables::at(&feed, defined, after)?;
        Ok(Changes { feed, tables })
    }

    /// Reads the changes that are kept and end before this call, and reports the first that cannot
    /// be read: nothing leads to those after it.
    ///
    /// # Errors
    /// `Closed`, `Forked` and `MomentExpired`.
    pub(super) fn check_changes(&self, report: &mut CheckReport) -> Result<()> {
        let read = || {
            let end = self.position()?;
            for commit in self.changes(None)? {
                let reached = commit?.position;
                if reached >= end {
                    break;
                }
            }
            Ok(())
        };
        match read() {
            // Others may write, and then the oldest go.
            Ok(()) | Err(Error::ChangesNotKept | Error::ChangesGone { .. }) => {}
            Err(error @ (Error::Closed | Error::Forked | Error::MomentExpired)) => {
                return Err(error);
            }
            Err(error) => report.add(None, format!("changes that are kept: {error}")),
        }
        Ok(())
    }
}

impl Options {
    /// Keeps changes of a database in a directory for [`Database::changes`]: at least the newest
    /// `bytes` of its log, in whole MiB, and at most one segment more
    /// ([`segment_bytes`](Self::segment_bytes)). The oldest are removed first, after checkpoints.
    /// All changes since the last checkpoint are there besides. The database remembers it for
    /// later openings; 0 ends it, and so does an opening at level
    /// [`Durability::None`](crate::Durability::None), which keeps none.
    ///
    /// Changes are not kept unless this asks for it. While they are, a write of one record is a
    /// commit, next to no other write. The log has what was before each write, so it is about twice
    /// as long, and at level [`Durability::Process`](crate::Durability::Process) it has one lane.
    pub fn keep_changes(mut self, bytes: u64) -> Self {
        self.kept_changes_bytes = Some(bytes);
        self
    }
}
