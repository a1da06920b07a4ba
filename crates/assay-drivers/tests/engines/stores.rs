//! Parts that the tests of whole stores share: a schema, and opening.

use std::collections::BTreeMap;
use std::path::Path;

use assay_driver::error::Result;
use assay_driver::schema::{ColumnType, Schema};
use assay_driver::{Driver, Durability, Endpoint, OpenSpec, Storage, Store};

/// Threads that work at once, each with a column of its own.
pub const THREADS: usize = 8;

/// A key and a column for each thread, all of them numbers.
pub fn schema() -> Schema {
    let mut columns = vec![("id", ColumnType::U64)];
    columns.extend(["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"].map(|c| (c, ColumnType::U64)));
    Schema::new("records", &columns, 1)
}

/// A packed record.
pub fn record(id: u64, columns: [u64; THREADS]) -> Vec<u8> {
    let numbers = std::iter::once(id).chain(columns);
    numbers.flat_map(u64::to_le_bytes).collect()
}

/// The columns of a payload area.
pub fn columns(payload: &[u8]) -> Vec<u64> {
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    payload.chunks_exact(8).map(number).collect()
}

/// Bytes of a payload area.
pub const PAYLOAD_SIZE: usize = 8 * THREADS;

/// Opens a store of a driver; every option has its default.
pub fn open(
    driver: &dyn Driver,
    dir: &Path,
    storage: Storage,
    durability: Durability,
    create: bool,
) -> Result<Box<dyn Store>> {
    driver.open(&spec(driver, dir, storage, durability, create))
}

/// Returns a store to open, with the default of every option.
pub fn spec(
    driver: &dyn Driver,
    dir: &Path,
    storage: Storage,
    durability: Durability,
    create: bool,
) -> OpenSpec {
    let profile = driver.profile();
    OpenSpec {
        endpoint: Endpoint::Directory(dir.to_path_buf()),
        create,
        storage,
        durability,
        key_kind: profile.key_kinds[0],
        schema: schema(),
        expected_rows: 100_000,
        threads: THREADS as u32,
        cache_bytes: None,
        volumes: None,
        parameters: BTreeMap::new(),
    }
}

/// The engines that a test can drive: not those that need a server, which is the program itself.
pub fn drivers() -> impl Iterator<Item = Box<dyn Driver>> {
    let needs_none = |driver: &dyn Driver| driver.profile().parameter("s3-endpoint").is_none();
    assay_drivers::all().into_iter().filter(move |driver| needs_none(driver.as_ref()))
}
