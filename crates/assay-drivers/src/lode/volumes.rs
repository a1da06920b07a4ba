//! Volumes of `lode-volumes`, all mounted at one point of one storage.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::volume::Property;
use assay_driver::{Cache, Connection, OpenSpec, Outcome, Storage as Place, Store, Work};
use lode_volumes::{Mount, Options, Storage, StorageEntry, ValueRef, Volume};

use super::{cache_of, level_of, settings_of};

/// Opens `count` volumes, the first with the highest priority.
pub(super) fn open(spec: &OpenSpec, database: lode::Options, count: u32) -> Result<Box<dyn Store>> {
    let options = Options::new().database(database).durability(level_of(spec.durability));
    let storage = Storage::new();
    let mut volumes = Vec::new();
    for number in 1..=count {
        let options = options.clone().name(format!("volume {number}"));
        let volume = match spec.storage {
            Place::Memory => options.in_memory(),
            Place::Ramdisk | Place::Disk => {
                options.open(spec.dir().join(format!("volume-{number}")))
            }
        };
        let volume = volume.map_err(said("open a volume"))?;
        let mount = Mount::new(&volume).priority(-(number as i32));
        storage.mount("/", mount).map_err(said("mount a volume"))?;
        volumes.push(volume);
    }
    let mut settings = settings_of(spec);
    settings.push(match count {
        1 => "1 volume of lode-volumes, ordered tables".into(),
        count => format!("{count} volumes of lode-volumes at one point, ordered tables"),
    });
    Ok(Box::new(VolumeStore { storage, volumes, settings, cache: cache_of(spec) }))
}

fn said(what: &'static str) -> impl Fn(lode_volumes::Error) -> Error {
    move |error| match error {
        lode_volumes::Error::Database(error) => super::said(what)(error),
        _ => Error::engine(what, error),
    }
}

struct VolumeStore {
    storage: Storage,
    volumes: Vec<Volume>,
    settings: Vec<String>,
    cache: Cache,
}

impl Store for VolumeStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        work(&mut VolumeConnection { storage: &self.storage, entries: HashMap::new(), last: None })
    }

    fn close(self: Box<Self>) -> Result<()> {
        drop(self.storage);
        self.volumes.into_iter().try_for_each(|volume| volume.close().map_err(said("close")))
    }
}

/// A thread's handles of entries. The record with a number is the entry of that name below the
/// root.
struct VolumeConnection<'s> {
    storage: &'s Storage,
    entries: HashMap<u64, StorageEntry>,
    /// The entry that was used last.
    last: Option<(u64, StorageEntry)>,
}

impl VolumeConnection<'_> {
    #[inline]
    fn entry(&mut self, record: u64) -> Result<&StorageEntry> {
        if self.last.as_ref().is_none_or(|(number, _)| *number != record) {
            let found = self.open(record)?;
            self.last = Some((record, found));
        }
        match &self.last {
            Some((_, entry)) => Ok(entry),
            None => Err(Error::engine("open an entry", "it is not there")),
        }
    }

    /// Returns the entry of a record; makes it if it is missing.
    fn open(&mut self, record: u64) -> Result<StorageEntry> {
        match self.entries.entry(record) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(free) => {
                let made = self.storage.create_entry(&format!("/{record}"));
                Ok(free.insert(made.map_err(said("make an entry"))?).clone())
            }
        }
    }
}

fn value_of<'p>(property: Property<'p>) -> ValueRef<'p> {
    match property {
        Property::U8(number) => number.into(),
        Property::U32(number) => number.into(),
        Property::U64(number) => number.into(),
        Property::F32(number) => number.into(),
        Property::F64(number) => number.into(),
        Property::Text(text) => text.into(),
        Property::Blob(bytes) => bytes.into(),
    }
}

/// Returns the property of a value; none if it is of a type that no suite sets.
fn property_of(value: ValueRef<'_>) -> Option<Property<'_>> {
    Some(match value {
        ValueRef::U8(number) => Property::U8(number),
        ValueRef::U32(number) => Property::U32(number),
        ValueRef::U64(number) => Property::U64(number),
        ValueRef::F32(number) => Property::F32(number),
        ValueRef::F64(number) => Property::F64(number),
        ValueRef::Text(text) => Property::Text(text),
        ValueRef::Blob(bytes) => Property::Blob(bytes),
        _ => return None,
    })
}

impl assay_driver::volume::Volume for VolumeConnection<'_> {
    fn set(&mut self, record: u64, name: &str, value: Property<'_>) -> Result<()> {
        self.entry(record)?.set(name, value_of(value)).map_err(said("set a property"))
    }

    fn get(
        &mut self,
        record: u64,
        name: &str,
        found: &mut dyn FnMut(Property<'_>),
    ) -> Result<Outcome> {
        let read = |value: ValueRef<'_>| property_of(value).into_iter().for_each(found);
        let there = self.entry(record)?.with_property(name, read);
        Ok(super::found(there.map_err(said("get a property"))?.is_some()))
    }

    fn remove(&mut self, record: u64, name: &str) -> Result<Outcome> {
        let removed = self.entry(record)?.remove_property(name);
        removed.map(super::found).map_err(said("remove a property"))
    }

    fn link(&mut self, parent: u64, name: &str, _: u64) -> Result<Outcome> {
        match self.entry(parent)?.link(name) {
            Ok(()) => Ok(Outcome::Done),
            Err(lode_volumes::Error::NameTaken { .. }) => Ok(Outcome::Duplicate),
            Err(error) => Err(said("link")(error)),
        }
    }

    fn unlink(&mut self, parent: u64, name: &str) -> Result<Outcome> {
        match self.entry(parent)?.unlink(name) {
            Ok(()) => Ok(Outcome::Done),
            Err(lode_volumes::Error::NoEntry { .. }) => Ok(Outcome::Missing),
            Err(error) => Err(said("unlink")(error)),
        }
    }
}

fn no_records<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, "volumes have entries, and no records"))
}

impl Connection for VolumeConnection<'_> {
    fn insert(&mut self, _: &[u8]) -> Result<Outcome> {
        no_records()
    }

    fn get(&mut self, _: &[u8], _: &mut [u8]) -> Result<Outcome> {
        no_records()
    }

    fn update(&mut self, _: &[u8], _: usize, _: &[u8]) -> Result<Outcome> {
        no_records()
    }

    fn delete(&mut self, _: &[u8]) -> Result<Outcome> {
        no_records()
    }

    fn volume(&mut self) -> Option<&mut dyn assay_driver::volume::Volume> {
        Some(self)
    }
}
