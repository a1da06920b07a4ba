//! `null`: an engine that does nothing, so that its figures are those of the instrument itself.
//!
//! It returns success for every operation and leaves the payload as it is; its results are
//! not checked. Each of its operations is a call that the compiler may not remove, as the call
//! of an engine's function is.

use assay_driver::error::Result;
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Profile, Scan, Storage, Store, Transactions, Work,
};

pub(crate) struct Null;

static PROFILE: Profile = Profile {
    id: "null",
    name: "null",
    about: "does nothing: shows what the instrument costs",
    key_kinds: &[KeyKind::Tree, KeyKind::Hash],
    levels: &[
        (Storage::Memory, &[Durability::None]),
        (Storage::Ramdisk, &[Durability::None]),
        (Storage::Disk, &[Durability::None]),
    ],
    periodic_survives_kill: false,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Replaces,
    delete_rule: DeleteRule::Silent,
    concurrency: Concurrency::Concurrent,
    parameters: &[],
    keeps_data: false,
};

impl Driver for Null {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(env!("CARGO_PKG_VERSION").into())
    }

    fn has_indexes(&self) -> bool {
        true
    }

    fn open(&self, _: &OpenSpec) -> Result<Box<dyn Store>> {
        Ok(Box::new(Self))
    }
}

impl Store for Null {
    fn settings(&self) -> Vec<String> {
        Vec::new()
    }

    fn cache(&self) -> Cache {
        Cache::NoSetting
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        work(&mut Self)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Connection for Null {
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        Ok(())
    }

    #[inline(never)]
    fn insert(&mut self, _: &[u8]) -> Result<Outcome> {
        Ok(Outcome::Done)
    }

    #[inline(never)]
    fn upsert(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    #[inline(never)]
    fn get(&mut self, _: &[u8], _: &mut [u8]) -> Result<Outcome> {
        Ok(Outcome::Done)
    }

    fn get_many(&mut self, _: &[u8], _: &mut [u8], outcomes: &mut [Outcome]) -> Result<()> {
        outcomes.fill(Outcome::Done);
        Ok(())
    }

    #[inline(never)]
    fn update(&mut self, _: &[u8], _: usize, _: &[u8]) -> Result<Outcome> {
        Ok(Outcome::Done)
    }

    #[inline(never)]
    fn delete(&mut self, _: &[u8]) -> Result<Outcome> {
        Ok(Outcome::Done)
    }

    #[inline(never)]
    fn find_by(&mut self, _: usize, _: &[u8], _: &mut dyn FnMut(&[u8])) -> Result<u64> {
        Ok(0)
    }

    #[inline(never)]
    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(&[u8])) -> Result<u64> {
        Ok(0)
    }
}
