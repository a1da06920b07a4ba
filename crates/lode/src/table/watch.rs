//! The keys of records that are written while a table that is to take the place of theirs gets its
//! records.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The keys, in the table's order, of the records of a table that were written since they were
/// [forgotten](Self::forget) last.
#[derive(Default)]
pub(crate) struct Watch {
    /// Changes while the gate is closed.
    is_on: AtomicBool,
    /// True if writers have to wait.
    has_to_wait: AtomicBool,
    noted: Mutex<Noted>,
    has_room: Condvar,
}

#[derive(Default)]
struct Noted {
    keys: HashSet<Box<[u8]>>,
    bytes: usize,
    /// Bytes of the keys that were forgotten here, and whose records are to be copied again.
    left_bytes: usize,
    most_bytes: usize,
    /// True from when the keys take more until they take a quarter.
    is_crowded: bool,
    /// True if the successor waits for the gate.
    is_wanted: bool,
}

impl Noted {
    fn has_to_wait(&self) -> bool {
        self.is_wanted || self.is_crowded
    }

    /// Notes if writers are far ahead. Once they are, they wait until little is left to be copied:
    /// otherwise the copy could make no headway.
    fn look(&mut self) {
        debug_assert_eq!(self.keys.is_empty(), self.bytes == 0, "each key has bytes");
        let bytes = self.bytes + self.left_bytes;
        self.is_crowded =
            bytes > if self.is_crowded { self.most_bytes / 4 } else { self.most_bytes };
    }
}

/// Returns the bytes of memory that a key takes up.
fn bytes_of(key: &[u8]) -> usize {
    key.len() + 2 * size_of::<Box<[u8]>>()
}

impl Watch {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to note keys. Writers wait from when these take more than `most_bytes`.
    pub(super) fn begin(&self, most_bytes: usize) {
        debug_assert!(!self.is_on(), "a table has one successor at a time");
        *self.noted() = Noted { most_bytes, ..Noted::default() };
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Stops noting keys, and forgets them.
    pub(super) fn end(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        let mut noted = self.noted();
        *noted = Noted::default();
        self.note_room(&mut noted);
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Notes the key of a record that is being written, inside the gate or with it closed. The
    /// write need not succeed.
    #[inline(always)]
    pub(crate) fn note(&self, key: &[u8]) {
        if self.is_on() {
            self.note_key(key);
        }
    }

    #[cold]
    fn note_key(&self, key: &[u8]) {
        let mut noted = self.noted();
        if noted.keys.contains(key) {
            return;
        }
        noted.bytes += bytes_of(key);
        noted.keys.insert(key.into());
        self.note_room(&mut noted);
    }

    /// Waits until the keys of further records have room, and while the successor waits for the
    /// gate: there may always be a writer that is quicker. The caller is outside of the gate, and
    /// holds no lock.
    #[inline(always)]
    pub(crate) fn wait_for_room(&self) {
        if self.has_to_wait.load(Ordering::Relaxed) {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        let noted = self.noted();
        let waited = self.has_room.wait_while(noted, |noted| noted.has_to_wait());
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn note_room(&self, noted: &mut Noted) {
        noted.look();
        let has_to_wait = noted.has_to_wait();
        if self.has_to_wait.swap(has_to_wait, Ordering::Relaxed) && !has_to_wait {
            self.has_room.notify_all();
        }
    }

    /// Returns true if writers wait until there are fewer keys.
    pub(crate) fn is_crowded(&self) -> bool {
        self.noted().is_crowded
    }

    /// Notes if the successor waits for the gate: writers that come now are to wait.
    pub(crate) fn want_gate(&self, is_wanted: bool) {
        let mut noted = self.noted();
        noted.is_wanted = is_wanted;
        self.note_room(&mut noted);
    }

    /// Returns up to `most` noted keys, and true if they are all.
    pub(crate) fn some(&self, most: usize) -> (Vec<Box<[u8]>>, bool) {
        let noted = self.noted();
        (noted.keys.iter().take(most).cloned().collect(), noted.keys.len() <= most)
    }

    /// Returns true if no key is noted.
    pub(crate) fn is_empty(&self) -> bool {
        self.noted().keys.is_empty()
    }

    /// Forgets keys whose records were removed from the successor.
    pub(crate) fn forget(&self, keys: &[Box<[u8]>]) {
        let mut noted = self.noted();
        for key in keys {
            if noted.keys.remove(key) {
                debug_assert!(noted.bytes >= bytes_of(key), "a noted key was counted");
                noted.bytes -= bytes_of(key);
            }
        }
        self.note_room(&mut noted);
    }

    /// Notes the keys whose records are to be copied.
    pub(crate) fn note_left(&self, left: &[Box<[u8]>]) {
        let mut noted = self.noted();
        noted.left_bytes = left.iter().map(|key| bytes_of(key)).sum();
        self.note_room(&mut noted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_noted_once_and_writers_wait_for_room() {
        let watch = Watch::default();
        watch.note(b"early");
        watch.begin(3 * bytes_of(b"a"));
        for key in ["a", "b", "a", "c", "a"] {
            watch.note(key.as_bytes());
        }
        watch.wait_for_room();
        let (some, is_all) = watch.some(2);
        assert_eq!((some.len(), is_all), (2, false));
        let (mut all, is_all) = watch.some(3);
        all.sort();
        assert_eq!((all.concat(), is_all), (b"abc".to_vec(), true));
        watch.note(b"d");
        let has_waited = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                watch.wait_for_room();
                has_waited.store(true, Ordering::Release);
            });
            let waits = || assert!(!has_waited.load(Ordering::Acquire), "there is no room yet");
            waits();
            // They are still there: only in another place.
            watch.note_left(&all);
            watch.forget(&all);
            waits();
            watch.note_left(&all[..1]);
            waits();
            // One key is more than a quarter.
            watch.forget(&[b"d".as_slice().into()]);
            waits();
            watch.note_left(&[]);
        });
        ["b", "c", "d"].into_iter().for_each(|key| watch.note(key.as_bytes()));
        let (mut all, _) = watch.some(9);
        all.sort();
        assert_eq!(all.concat(), b"bcd");
        for key in ["e", "f"] {
            watch.note(key.as_bytes());
        }
        std::thread::scope(|scope| {
            scope.spawn(|| watch.wait_for_room());
            watch.end();
        });
        watch.note(b"late");
        assert_eq!(watch.some(1), (vec![], true));
    }
}
