//! `fjall-2`: fjall 2.11.2, the last version before 3.0, as a plugin for Assay.
//!
//! - Growth of a cache: records that are written again and again, of which few are there at a time,
//!   take ever more space ([reported with 2.11](https://github.com/fjall-rs/fjall/issues/256)).
//! - Stalls: a write sleeps 100 ms once write buffers have nine tenths of their limit, and 500 ms
//!   once journals have. Version 3.0.0 rewrote that; stalls were
//!   [reported](https://github.com/fjall-rs/fjall/issues/293) and
//!   [measured](https://github.com/fjall-rs/fjall/pull/282) again.
//! - Slow opening: all journals are read, up to 512 MiB
//!   ([reported with 3.0.2](https://github.com/fjall-rs/fjall/issues/261), by design). So do later
//!   versions, whose memtables are four times as large.

use std::ops::Bound;
use std::path::Path;

use fjall::{Config, Keyspace, PartitionCreateOptions, PartitionHandle, PersistMode};
use plugin::{Declared, Engine, Level, Result, Write};

struct Fjall {
    keyspace: Keyspace,
    records: PartitionHandle,
    level: Level,
}

plugin::export!(Fjall);

impl Engine for Fjall {
    const DECLARED: Declared = Declared {
        id: c"fjall-2",
        name: c"fjall 2",
        version: c"2.11.2",
        about: c"log-structured merge tree, of an old version",
        weaker: Level::Process,
    };

    fn open(dir: &Path, level: Level, cache_bytes: Option<u64>) -> Result<Self> {
        let mut config = Config::new(dir);
        if let Some(cache_bytes) = cache_bytes {
            config = config.cache_size(cache_bytes);
        }
        let keyspace = config.open()?;
        let records = keyspace.open_partition("records", PartitionCreateOptions::default())?;
        Ok(Self { keyspace, records, level })
    }

    fn settings(&self) -> String {
        match self.level {
            Level::Commit => "PersistMode::SyncData with every commit".into(),
            _ => "writes reach the operating system, no sync".into(),
        }
    }

    fn get(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let value = self.records.get(key)?;
        if let Some(value) = &value {
            found(value);
        }
        Ok(value.is_some())
    }

    fn write(&self, mut writes: Vec<Write>) -> Result<()> {
        let mode =
            if self.level == Level::Commit { PersistMode::SyncData } else { PersistMode::Buffer };
        if writes.len() == 1 {
            match writes.remove(0) {
                (key, Some(value)) => self.records.insert(key, value)?,
                (key, None) => self.records.remove(key)?,
            }
            if self.level == Level::Commit {
                self.keyspace.persist(mode)?;
            }
            return Ok(());
        }
        let mut batch = self.keyspace.batch().durability(Some(mode));
        for (key, value) in writes {
            match value {
                Some(value) => batch.insert(&self.records, key, value),
                None => batch.remove(&self.records, key),
            }
        }
        Ok(batch.commit()?)
    }

    fn scan(
        &self,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        row: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        for entry in self.records.range::<&[u8], _>(range) {
            let (key, value) = entry?;
            if !row(&key, &value) {
                break;
            }
        }
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(self.keyspace.persist(PersistMode::SyncAll)?)
    }
}
