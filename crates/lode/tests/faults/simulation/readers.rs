//! Readers of the database of the run, as other processes have them.

use lode::simulation;
use lode::{Database, Durability, Error};

use super::run::Run;
use super::tables::{Model, read};

/// The most readers at a time.
const MOST: usize = 3;

/// A database that is only read, and what it shows.
pub struct Reader {
    db: Database,
    model: Model,
}

/// Returns true if a reader may meet an error: one of the disk, or a log too long for its memory.
fn is_expected(error: &Error) -> bool {
    matches!(error, Error::Io { .. } | Error::Full { .. })
}

impl Run {
    /// Opens a reader, or has one read again, shows one what is there now, or drops one. No write
    /// is under way.
    pub(super) fn use_readers(&mut self) {
        let count = self.readers.len() as u64;
        let action = self.random.below(4);
        if action == 0 && self.readers.len() < MOST {
            return self.open_reader();
        }
        if count == 0 {
            return;
        }
        let mut reader = self.readers.swap_remove(self.random.below(count) as usize);
        match action {
            0 | 1 => self.refresh(reader),
            2 => match read(&reader.db) {
                Ok(found) => {
                    assert_eq!(found, reader.model, "a reader stays at its moment");
                    self.readers.push(reader);
                }
                Err(Error::MomentExpired) => match reader.db.refresh() {
                    Ok(_) => self.refresh(reader),
                    Err(error) => assert!(is_expected(&error), "{error}"),
                },
                Err(error) => assert!(is_expected(&error), "{error}"),
            },
            _ => {}
        }
    }

    fn open_reader(&mut self) {
        let memory_bytes = if self.random.one_in(2) { 1 << 20 } else { 16 << 20 };
        let options = self.options.clone().memory_bytes(memory_bytes);
        match simulation::open_read_only(&options, &self.disk, self.random.next()) {
            Ok(db) => self.keep_reader(db),
            Err(error) => assert!(is_expected(&error), "{error}"),
        }
    }

    fn refresh(&mut self, mut reader: Reader) {
        match reader.db.refresh() {
            Ok(_) => self.keep_reader(reader.db),
            Err(error) => assert!(is_expected(&error), "{error}"),
        }
    }

    /// Compares what a reader shows with what is there.
    fn keep_reader(&mut self, db: Database) {
        match read(&db) {
            Ok(model) => {
                let is_of_checkpoint = || {
                    let mut states = self.states.iter().filter(|state| state.checkpointed);
                    states.any(|state| state.model == model)
                };
                let is_shown = match self.level {
                    Durability::None => is_of_checkpoint(),
                    _ => model == self.model,
                };
                assert!(is_shown, "level {:?}: a reader shows another state", self.level);
                self.reads += 1;
                self.readers.push(Reader { db, model });
            }
            Err(error) => assert!(is_expected(&error), "{error}"),
        }
    }
}
