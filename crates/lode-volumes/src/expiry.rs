//! Removing properties that have expired: in the background, or when a reader comes by one.
//!
//! Readers compare the time of a property with the present one themselves. So the sweep decides
//! nothing; it gives room back.

use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use lode::ReadTable;

use crate::clock::Moment;
use crate::core::Core;
use crate::error::Result;
use crate::lock::lock;
use crate::tables::{Id, Setting, unpack_property};
use crate::watch::{Event, What};

/// The most properties that are looked up before the first of them is removed.
const STEP_PROPERTIES: u64 = 256;

/// A property whose time has come.
struct Due {
    when: Moment,
    entry: Id,
    name: String,
}

impl Core {
    /// Removes all properties that have expired, and what is left of unlinked entries. Returns how
    /// many properties those were.
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
            // What is set to expire from here on is earlier than this, or is found.
            self.next_expiry.store(i64::MAX, Ordering::SeqCst);
            let (due, next) = self.due(now)?;
            self.next_expiry.fetch_min(next.0, Ordering::SeqCst);
            if due.is_empty() || self.is_ending.load(Ordering::SeqCst) {
                break;
            }
            for Due { when, entry, name } in due {
                if self.remove_due(when, entry, &name)? {
                    count += 1;
                    self.say_expired(entry, name);
                }
            }
        }
        if count > 0 {
            let latest = u64::try_from(now.0).unwrap_or_default();
            self.tables.set_setting(Setting::Latest, latest)?;
        }
        Ok(count)
    }

    /// The first properties whose time has come, and when that of the next one comes.
    fn due(&self, now: Moment) -> Result<(Vec<Due>, Moment)> {
        let (mut due, mut next) = (Vec::new(), Moment::NEVER);
        let mut cursor = self.tables.expiries.iter().limit(STEP_PROPERTIES);
        while let Some(row) = cursor.next_row()? {
            let (when, entry, name) = self.tables.expiry_of(&row);
            if when > now {
                next = when;
                break;
            }
            due.push(Due { when, entry, name: name.into() });
        }
        if !due.is_empty() && next == Moment::NEVER {
            next = now;
        }
        Ok((due, next))
    }

    /// Removes a property if it expires at this moment; returns whether it was there.
    pub(crate) fn remove_due(&self, when: Moment, entry: Id, name: &str) -> Result<bool> {
        let (properties, expiries) = (&self.tables.properties, &self.tables.expiries);
        let key = self.tables.property_key(entry, name)?;
        let expiry = self.tables.expiry_key(when, entry, name)?;
        let removed = self.database.transact(|transaction| {
            let mut payload = Vec::new();
            let found = properties.within(transaction).get_into(&key, &mut payload)?;
            let is_it = found && unpack_property(&payload).is_some_and(|it| it.expires == when);
            if is_it {
                transaction.delete(properties, &key)?;
            }
            transaction.delete(expiries, &expiry)?;
            Ok::<_, lode::Error>(is_it)
        })?;
        Ok(removed)
    }

    /// Sends watchers the name of a property that the sweep has removed.
    fn say_expired(&self, entry: Id, name: String) {
        let told = self.watchers.of(|| match self.registry.find(entry) {
            Some(node) => self.path_of(&node),
            // No handle knows where it is.
            None => self.find_path(entry).unwrap_or_default(),
        });
        told.say(|path| Event { path: path.into(), what: What::Expired { name: name.into() } });
    }

    /// Looks for the path of an entry that is not open; `None` if there is none.
    fn find_path(&self, wanted: Id) -> Option<String> {
        let snapshot = self.snapshot().ok()?;
        let mut parents = vec![(crate::tables::ROOT, String::from("/"))];
        while let Some((parent, path)) = parents.pop() {
            if parent == wanted {
                return Some(path);
            }
            let mut children = self.tables.children(Some(&snapshot), parent, "");
            while let Ok(Some(row)) = children.next_row() {
                let (name, id) = self.tables.entry_of(&row);
                parents.push((id, crate::name::child_path(&path, name)));
            }
        }
        None
    }
}

/// Wakes the thread that sweeps.
#[derive(Default)]
pub(crate) struct Alarm {
    is_ending: Mutex<bool>,
    changed: Condvar,
}

impl Alarm {
    /// Ends the thread that waits for it.
    pub(crate) fn end(&self) {
        *lock(&self.is_ending) = true;
        self.changed.notify_all();
    }

    /// Waits for the interval; false if the thread is to end.
    pub(crate) fn wait(&self, interval: Duration) -> bool {
        let ending = lock(&self.is_ending);
        let waited = self.changed.wait_timeout_while(ending, interval, |ending| !*ending);
        let (ending, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        !*ending
    }
}
