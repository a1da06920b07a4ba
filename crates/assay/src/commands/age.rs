//! `assay age`

use assay_core::environment::available_bytes;
use assay_driver::{Storage, binary_size, machine};
use program_support::exit::{Failure, Outcome};

use super::run;
use crate::cli::{AgeArgs, Fill, MOST_AGEING, StorageArg};
use crate::planning::store_dirs::StoreDirs;

/// The room that a store may need while it ages, in sizes of its records.
const ROOM: u64 = 2;

/// Ages stores.
pub(crate) fn age(args: &AgeArgs) -> Outcome {
    let records = match args.fill {
        Some(fill) => Some(filling(args, fill)?),
        None => args.records,
    };
    run::run(&args.as_workload(records)?)
}

/// Returns the number of records that take a multiple of the memory that an engine may have.
fn filling(args: &AgeArgs, fill: Fill) -> Outcome<u64> {
    let refused = |why: String| Failure::Usage(format!("--fill {fill}: {why}"));
    let modes = StorageArg::modes(&args.measure.storage);
    if modes != [Storage::Disk] {
        return Err(refused("it is for stores on disk alone; leave out -s".into()));
    }
    let common = &args.measure.common;
    let limit = common.memory.cgroup.unwrap_or_else(machine::usable_memory_bytes);
    let record_bytes = args.workload(None)?.record_bytes();
    let records = records_of(fill, limit, record_bytes).map_err(refused)?;
    let dirs = StoreDirs::look(&modes, common.dir.as_deref())?;
    for (_, path) in dirs.bases() {
        let free = available_bytes(path).unwrap_or(u64::MAX);
        let shown = path.display().to_string();
        check_room(records * record_bytes, free, &shown).map_err(refused)?;
    }
    Ok(records)
}

/// Checks that a directory has room for records, and for what a store takes as it ages.
fn check_room(bytes: u64, free_bytes: u64, dir: &str) -> Result<(), String> {
    let needed = bytes.saturating_mul(ROOM);
    if free_bytes >= needed {
        return Ok(());
    }
    Err(format!(
        "{} of records need {} while they age, and {} are free at {dir}; choose another --dir, or \
         less",
        binary_size(bytes),
        binary_size(needed),
        binary_size(free_bytes),
    ))
}

/// Returns the number of records of a size that take a multiple of a limit; 0 if that is not known.
fn records_of(fill: Fill, limit_bytes: u64, record_bytes: u64) -> Result<u64, String> {
    if limit_bytes == 0 {
        return Err("no memory limit is known here; name one with --cgroup".into());
    }
    let records = (fill.of(limit_bytes) / record_bytes.max(1)).max(1);
    if records > MOST_AGEING {
        Err(format!("{records} records are more than {MOST_AGEING}; take less, or a --cgroup"))
    } else {
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_needs_twice_the_room_of_its_records() {
        assert_eq!(check_room(1 << 30, 2 << 30, "here"), Ok(()));
        let why = "1 GiB of records need 2 GiB while they age, and 2047 MiB are free at here; \
                   choose another --dir, or less";
        assert_eq!(check_room(1 << 30, (2 << 30) - 1, "here"), Err(why.into()));
    }

    #[test]
    fn records_take_a_multiple_of_the_limit() {
        let of =
            |fill: &str, limit, bytes| records_of(fill.parse().expect("a factor"), limit, bytes);
        assert_eq!(of("4x", 256 << 20, 512), Ok(2 << 20));
        assert_eq!(of("0.5x", 256 << 20, 512), Ok(256 << 10));
        assert_eq!(of("0.1x", 100, 512), Ok(1));
        let none = "no memory limit is known here; name one with --cgroup";
        assert_eq!(of("4x", 0, 512), Err(none.into()));
        let most = of("100x", u64::MAX / 8, 8).expect_err("too many");
        assert!(most.ends_with("are more than 1000000000; take less, or a --cgroup"), "{most}");
    }
}
