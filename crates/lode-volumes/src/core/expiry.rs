//! Removes properties that have expired: in the background, or when a reader finds one.
//!
//! Readers compare the time of a property with the present one themselves. So the sweep decides
//! nothing; it gives room back. A thread that finds a property expired first writes a time as late
//! as that into the table. So the property stays expired after a crash, whatever the clock says.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use lode::{ReadTable, Transaction};

use crate::clock::Moment;
use crate::core::{Core, Mode};
use crate::error::Result;
use crate::name::path_of_names;
use crate::tables::{Id, REMOVED, ROOT, Setting, unpack_property};
use crate::watch::{Event, What};

/// The most properties that are looked up before the first of them is removed. If there
/// are watches, each time takes one look at all entries.
const MOST_DUE: u64 = 1 << 16;

/// The most properties that are removed at once.
const STEP_PROPERTIES: usize = 256;

/// Bytes of values after which no more are removed at once: a transaction holds them.
const STEP_BYTES: usize = 1 << 20;

/// A property that is due to expire.
struct Due {
    when: Moment,
    entry: Id,
    name: String,
}

impl Core {
    /// Returns true if a property that expires at `expires` is gone at a moment `now` that has
    /// come. If so, it is gone after a crash too, as far as the volume's level goes.
    #[inline]
    pub(crate) fn has_expired_at(&self, expires: Moment, now: Moment) -> bool {
        let has_expired = expires <= now;
        if has_expired && self.mode == Mode::Through && !self.kept_time.has(expires) {
            // The answer is right all the same. What cannot be written now may be later, and a
            // volume that cannot be written any more can be read.
            let _ = self.keep_time(self.time.now());
        }
        has_expired
    }

    /// Has the table store the latest time.
    pub(crate) fn keep_time(&self, now: Moment) -> Result<()> {
        let _change = self.kept_time.lock();
        if !self.kept_time.has(now) {
            self.tables.set_setting(Setting::Latest, u64::try_from(now.0).unwrap_or_default())?;
            self.kept_time.set(now);
        }
        Ok(())
    }

    /// Removes all properties that have expired, and what is left of unlinked entries. Returns how
    /// many properties those were. It ends early when the volume is closed.
    pub(crate) fn sweep(&self) -> Result<u64> {
        if self.is_read_only() {
            return Ok(0);
        }
        self.clear_all_removed()?;
        let now = self.time.now();
        if self.next_expiry.load(Ordering::SeqCst) > now.0 {
            return Ok(0);
        }
        let mut count = 0;
        loop {
            // A property set to expire from here on is earlier than this, or is found.
            self.next_expiry.store(i64::MAX, Ordering::SeqCst);
            let (due, next) = self.due(now)?;
            // Until all are removed, there are some for the next sweep.
            let next = if due.is_empty() { next } else { now };
            self.next_expiry.fetch_min(next.0, Ordering::SeqCst);
            if due.is_empty() || self.is_ending.load(Ordering::SeqCst) {
                break;
            }
            count += self.remove_all_due(&due)?;
        }
        if count > 0 {
            self.keep_time(now)?;
        }
        Ok(count)
    }

    /// Returns the first properties that are due, and the moment at which the next one is.
    fn due(&self, now: Moment) -> Result<(Vec<Due>, Moment)> {
        let mut due = Vec::new();
        let mut cursor = self.tables.expiries.iter().limit(MOST_DUE);
        while let Some(row) = cursor.next_row()? {
            let (when, entry, name) = self.tables.expiry_of(&row);
            if when > now {
                return Ok((due, when));
            }
            due.push(Due { when, entry, name: name.into() });
        }
        Ok((due, Moment::NEVER))
    }

    /// Removes properties whose time has come, a few at a time, and returns how many were there.
    fn remove_all_due(&self, mut due: &[Due]) -> Result<u64> {
        let mut paths = HashMap::new();
        let told = self.watchers.of(String::new);
        if told.is_heard() {
            paths = self.paths_of(due.iter().map(|due| due.entry).collect())?;
        }
        let mut count = 0;
        while !due.is_empty() && !self.is_ending.load(Ordering::SeqCst) {
            let step = &due[..due.len().min(STEP_PROPERTIES)];
            let removed = self.database.transact(|transaction| {
                let mut removed = Vec::new();
                let mut bytes = 0;
                for due in step {
                    if bytes >= STEP_BYTES {
                        break;
                    }
                    removed.push(self.remove_in(transaction, due, &mut bytes)?);
                }
                Ok::<_, lode::Error>(removed)
            })?;
            for (due, _) in step.iter().zip(&removed).filter(|(_, was_there)| **was_there) {
                count += 1;
                if let Some(path) = paths.get(&due.entry) {
                    let what = What::Expired { name: due.name.as_str().into() };
                    told.say(|_| Event { path: path.as_str().into(), what });
                }
            }
            due = &due[removed.len()..];
        }
        Ok(count)
    }

    /// Removes a property if it expires at this moment; returns true if it was there.
    pub(crate) fn remove_due(&self, when: Moment, entry: Id, name: &str) -> Result<bool> {
        let due = Due { when, entry, name: name.into() };
        let removed = self.database.transact(|it| self.remove_in(it, &due, &mut 0));
        Ok(removed?)
    }

    /// Removes a property in a transaction, which holds as many `bytes` more then.
    fn remove_in(
        &self,
        transaction: &Transaction,
        due: &Due,
        bytes: &mut usize,
    ) -> lode::Result<bool> {
        let Due { when, entry, name } = due;
        let properties = &self.tables.properties;
        let expiries = &self.tables.expiries;
        let key = self.tables.property_key(*entry, name)?;
        let mut payload = Vec::new();
        let found = properties.within(transaction).get_into(&key, &mut payload)?;
        let is_it = found && unpack_property(&payload).is_some_and(|it| it.expires == *when);
        if is_it {
            transaction.delete(properties, &key)?;
        }
        transaction.delete(expiries, &self.tables.expiry_key(*when, *entry, name)?)?;
        *bytes += payload.len();
        Ok(is_it)
    }

    /// Looks for the paths of entries. Those that are not open are looked for together.
    fn paths_of(&self, mut wanted: HashSet<Id>) -> Result<HashMap<Id, String>> {
        let mut paths = HashMap::new();
        for id in &wanted {
            if let Some(node) = self.registry.find(*id) {
                paths.insert(*id, self.path_of(&node));
            }
        }
        wanted.retain(|id| !paths.contains_key(id));
        let places = self.places_of(&wanted)?;
        for id in wanted {
            let mut names = Vec::new();
            let mut at = id;
            while let Some((parent, name)) = places.get(&at) {
                names.push(&name[..]);
                at = *parent;
            }
            // An unlinked entry has no path.
            if at == ROOT {
                paths.insert(id, path_of_names(names.into_iter().rev()));
            }
        }
        Ok(paths)
    }

    /// Looks for parents and names of entries, and of those above them, by looking at all entries:
    /// once, and again for as often as an entry on the way was moved below a newer one. It ends
    /// early when the volume is closed.
    fn places_of(&self, entries: &HashSet<Id>) -> Result<HashMap<Id, (Id, Box<str>)>> {
        let snapshot = self.database.snapshot();
        let mut places = HashMap::new();
        let mut wanted: HashSet<Id> = entries.iter().copied().filter(|id| *id != ROOT).collect();
        let mut has_found = true;
        while std::mem::take(&mut has_found) {
            // Backward, since most parents are older than their children.
            let mut all = self.tables.entries.at(&snapshot).iter().rev();
            while !wanted.is_empty()
                && !self.is_ending.load(Ordering::SeqCst)
                && let Some(row) = all.next_row()?
            {
                #[cfg(test)]
                crate::counted::step();
                let (name, id) = self.tables.entry_of(&row);
                if wanted.remove(&id) {
                    has_found = true;
                    let parent = self.tables.parent_of(&row);
                    places.insert(id, (parent, name.into()));
                    if parent != ROOT && parent != REMOVED && !places.contains_key(&parent) {
                        wanted.insert(parent);
                    }
                }
            }
        }
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use crate::{Clock, Options, What, counted};

    #[derive(Default)]
    struct Wound(AtomicU64);

    impl Clock for Wound {
        fn now(&self) -> SystemTime {
            UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::SeqCst))
        }
    }

    /// Expires entries in folders, of which only some are open then; one folder was moved below a
    /// newer one.
    #[test]
    fn a_sweep_looks_for_the_paths_of_all_entries_at_once() {
        const FOLDERS: u64 = 20;
        const ENTRIES: u64 = 100;
        let clock = Arc::new(Wound::default());
        let hour = Duration::from_secs(3600);
        let options = Options::new().clock(clock.clone()).sweep_interval(hour).open_entries(50);
        let volume = options.in_memory().expect("a volume");
        let mut expected = Vec::new();
        for folder in 0..FOLDERS {
            for at in 0..ENTRIES {
                let path = format!("/{folder}/{at}");
                let entry = volume.create_entry(&path).expect("a path");
                entry.set("x", at).expect("it is set");
                entry.expire_property("x", Duration::from_secs(60)).expect("a name");
                expected.push(path);
            }
        }
        let root = volume.root();
        let newest = root.link("new").expect("it is free");
        root.rename("3", &newest, "3").expect("it is free");
        for path in expected.iter_mut().filter(|path| path.starts_with("/3/")) {
            path.insert_str(0, "/new");
        }
        drop(newest);
        let watch = volume.watch("/").expect("a path");
        clock.0.store(60, Ordering::SeqCst);
        let steps = counted::steps_of(|| {
            assert_eq!(volume.sweep().expect("a sweep"), FOLDERS * ENTRIES);
        });
        let linked = FOLDERS * ENTRIES + FOLDERS + 1;
        assert!(steps <= 3 * linked, "{steps} steps for {linked} entries");
        let mut told: Vec<_> = std::iter::from_fn(|| watch.try_next())
            .map(|event| {
                assert_eq!(event.what, What::Expired { name: "x".into() });
                String::from(event.path)
            })
            .collect();
        told.sort();
        expected.sort();
        assert_eq!(told, expected);
    }

    #[test]
    fn a_volume_that_is_being_closed_looks_for_no_paths() {
        let volume = crate::Volume::in_memory().expect("a volume");
        let ids: HashSet<_> = (0..100)
            .map(|at| volume.root().link(&at.to_string()).expect("it is free").node().id)
            .collect();
        let places = || volume.core().places_of(&ids).expect("a look");
        assert_eq!(places().len(), ids.len());
        volume.core().is_ending.store(true, Ordering::SeqCst);
        let steps = counted::steps_of(|| assert!(places().is_empty()));
        assert_eq!(steps, 0);
    }
}
