//! The names of the files of a directory.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{Fate, History};

/// The number of a file, whatever its name.
pub(super) type Inode = u64;

/// A directory's names, each with a history: `None` while no file had that name.
#[derive(Clone, Default)]
pub(super) struct Names {
    entries: BTreeMap<String, History<Option<Inode>>>,
}

impl Names {
    /// Returns the file of a name.
    pub(super) fn get(&self, name: &str) -> Option<Inode> {
        self.entries.get(name).and_then(|history| *history.now())
    }

    /// Returns all names with their files, in the names' order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Inode)> {
        let named = |(name, history): (_, &History<_>)| Some((name, (*history.now())?));
        self.entries.iter().map(|(name, history)| (name.as_str(), history)).filter_map(named)
    }

    /// Gives a name to a file, or to none.
    pub(super) fn set(&mut self, name: &str, inode: Option<Inode>) {
        let history = self.entries.entry(name.to_owned()).or_insert_with(|| History::new(None));
        history.set(inode);
    }

    /// Gives a name to a file for good.
    pub(super) fn set_durable(&mut self, name: &str, inode: Inode) {
        self.entries.insert(name.to_owned(), History::new(Some(inode)));
    }

    /// Makes the seen names durable, except those that a failed sync has lost.
    pub(super) fn sync(&mut self) {
        self.entries.values_mut().for_each(History::sync);
        self.entries.retain(|_, history| history.versions().any(Option::is_some));
    }

    /// Loses changes that are not durable, without a trace, unless they are made again.
    pub(super) fn fail_sync(&mut self) {
        self.entries.values_mut().for_each(History::fail_sync);
    }

    /// Becomes the names that a crash leaves.
    pub(super) fn crash(&mut self, fate: &mut Fate) {
        for (name, history) in std::mem::take(&mut self.entries) {
            if let Some(inode) = fate.choose(history) {
                self.set_durable(&name, inode);
            }
        }
    }

    /// Returns all files that have a name, or can have one after a crash.
    pub(super) fn reachable(&self) -> BTreeSet<Inode> {
        self.entries.values().flat_map(History::versions).copied().flatten().collect()
    }
}
