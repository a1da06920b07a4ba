//! The changes that a simulated disk loses and keeps, and the times at which it fails.

use std::collections::BTreeSet;

use super::*;

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.map(|_| ()).unwrap_err().kind()
}

/// Creates a disk with a durable file of this many sectors, all ones.
fn disk_with_ones(sectors: usize) -> (Simulated, Box<dyn File>) {
    let disk = Simulated::new(0);
    disk.put_file("data", vec![1; sectors * 512]);
    let file = disk.open("data").unwrap();
    (disk, file)
}

/// Returns the files that a scenario leaves after crashes of a hundred seeds, with their names.
fn outcomes(scenario: impl Fn() -> Simulated) -> BTreeSet<Vec<(String, Vec<u8>)>> {
    let outcome = |seed| {
        let disk = scenario();
        disk.crash(seed);
        let bytes = |name: &String| disk.file_bytes(name).unwrap();
        disk.file_names().into_iter().map(|name| (name.clone(), bytes(&name))).collect()
    };
    (0..100).map(outcome).collect()
}

/// Returns the first bytes of the sectors of the file `data` in all outcomes; `None` if it is gone.
fn sectors(scenario: impl Fn() -> Simulated) -> BTreeSet<Option<Vec<u8>>> {
    let firsts = |bytes: &Vec<u8>| bytes.chunks(512).map(|sector| sector[0]).collect();
    let data = |files: Vec<(String, Vec<u8>)>| {
        files.iter().find(|(name, _)| name == "data").map(|(_, bytes)| firsts(bytes))
    };
    outcomes(scenario).into_iter().map(data).collect()
}

fn some<const N: usize>(all: [&[u8]; N]) -> BTreeSet<Option<Vec<u8>>> {
    all.into_iter().map(|sectors| Some(sectors.to_vec())).collect()
}

#[test]
fn what_was_synced_survives_every_crash() {
    for seed in 0..1000 {
        let disk = Simulated::new(0);
        let file = disk.create("draft").unwrap();
        file.preallocate(0..4096).unwrap();
        file.write_at(100, &[1; 2000]).unwrap();
        file.map(4096).unwrap().unwrap().write(700, &[2; 100]).unwrap();
        file.sync().unwrap();
        disk.rename("draft", "data").unwrap();
        disk.sync_directory().unwrap();
        let before = disk.file_bytes("data");
        disk.crash(seed);
        assert_eq!(disk.file_names(), ["data"]);
        assert_eq!(disk.file_bytes("data"), before);
    }
}

#[test]
fn sectors_that_were_not_synced_survive_in_all_combinations() {
    let torn = sectors(|| {
        let (disk, file) = disk_with_ones(3);
        file.write_at(512, &[2; 1024]).unwrap();
        disk
    });
    assert_eq!(torn, some([&[1, 1, 1], &[1, 1, 2], &[1, 2, 1], &[1, 2, 2]]));
}

#[test]
fn what_was_written_to_a_mapping_survives_likewise() {
    let torn = sectors(|| {
        let (disk, file) = disk_with_ones(2);
        file.map(1024).unwrap().unwrap().write(0, &[2; 1024]).unwrap();
        disk
    });
    assert_eq!(torn, some([&[1, 1], &[1, 2], &[2, 1], &[2, 2]]));
}

#[test]
fn any_version_since_the_last_sync_can_survive() {
    let versions = sectors(|| {
        let (disk, file) = disk_with_ones(1);
        for byte in 2..5 {
            file.write_at(0, &[byte]).unwrap();
            if byte == 2 {
                file.sync().unwrap();
            }
        }
        disk
    });
    assert_eq!(versions, some([&[2], &[3], &[4]]));
}

#[test]
fn a_sector_is_never_torn() {
    let whole = outcomes(|| {
        let (disk, file) = disk_with_ones(1);
        file.write_at(10, &[2; 500]).unwrap();
        disk
    });
    assert_eq!(whole.len(), 2);
}

#[test]
fn a_length_can_survive_without_its_sectors() {
    let lengths = sectors(|| {
        let (disk, file) = disk_with_ones(1);
        file.write_at(512, &[2; 512]).unwrap();
        disk
    });
    assert_eq!(lengths, some([&[1], &[1, 0], &[1, 2]]));
    let lengths = sectors(|| {
        let (disk, file) = disk_with_ones(1);
        file.preallocate(0..1024).unwrap();
        file.set_size(0).unwrap();
        disk
    });
    assert_eq!(lengths, some([&[], &[0], &[0, 0], &[1], &[1, 0]]));
}

#[test]
fn a_file_whose_name_was_not_synced_is_gone_sometimes() {
    let created = sectors(|| {
        let disk = Simulated::new(0);
        let file = disk.create("data").unwrap();
        file.write_at(0, &[1]).unwrap();
        file.sync().unwrap();
        disk
    });
    assert_eq!(created, BTreeSet::from([None, Some(vec![1])]));
}

#[test]
fn a_file_whose_removal_was_not_synced_is_back_sometimes() {
    let removed = sectors(|| {
        let (disk, _) = disk_with_ones(1);
        disk.remove("data").unwrap();
        disk
    });
    assert_eq!(removed, BTreeSet::from([None, Some(vec![1])]));
}

#[test]
fn a_renamed_file_can_have_both_names_or_none() {
    let mut both = None;
    let renamed: BTreeSet<_> = (0..100)
        .map(|seed| {
            let disk = Simulated::new(0);
            disk.put_file("a", vec![1]);
            disk.rename("a", "b").unwrap();
            disk.crash(seed);
            let names = disk.file_names();
            if names.len() == 2 {
                both = Some(disk);
            }
            names.concat()
        })
        .collect();
    assert_eq!(renamed, ["", "a", "ab", "b"].map(String::from).into());

    // The names are of two files.
    let disk = both.unwrap();
    disk.open("a").unwrap().write_at(0, &[2]).unwrap();
    assert_eq!(disk.file_bytes("b").unwrap(), [1]);
    assert_eq!(disk.file_bytes("a").unwrap(), [2]);
}

#[test]
fn a_crash_is_the_same_for_the_same_seed() {
    let run = |seed| {
        let (disk, file) = disk_with_ones(64);
        disk.fail(Fault::Crash { at: disk.operations() });
        file.write_at(0, &[2; 64 * 512]).unwrap_err();
        let cut = disk.file_bytes("data");
        disk.crash(seed);
        (cut, disk.file_bytes("data"))
    };
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed));
    }
}

#[test]
fn a_crash_ends_handles_mappings_and_the_lock() {
    let (disk, file) = disk_with_ones(1);
    let mapped = file.map(512).unwrap().unwrap();
    let old_lock = disk.lock().unwrap();
    disk.fail(Fault::Crash { at: 0 });
    disk.crash(0);
    let operations = disk.operations();

    file.size_bytes().unwrap_err();
    file.read_at(0, &mut [0]).unwrap_err();
    file.write_at(0, &[2]).unwrap_err();
    file.sync().unwrap_err();
    file.set_size(0).unwrap_err();
    file.preallocate(0..1024).unwrap_err();
    assert!(file.map(512).is_err());
    mapped.write(0, &[2]).unwrap();
    assert_eq!(disk.operations(), operations + 8);
    assert_eq!(disk.file_bytes("data").unwrap(), [1; 512]);

    let _new_lock = disk.lock().unwrap();
    drop(old_lock);
    assert_eq!(kind(disk.lock()), ErrorKind::WouldBlock);
    disk.open("data").unwrap().write_at(0, &[2]).unwrap();
}

#[test]
fn what_a_failed_sync_lost_stays_lost_unless_it_is_written_again() {
    let fail_sync = |disk: &Simulated, file: &dyn File| {
        disk.fail(Fault::Error { at: 0, kind: FaultKind::SyncFails });
        assert_eq!(file.sync().unwrap_err().raw_os_error(), Some(5));
    };
    let lost = sectors(|| {
        let (disk, file) = disk_with_ones(2);
        file.write_at(0, &[2; 1024]).unwrap();
        fail_sync(&disk, &*file);
        file.write_at(512, &[2; 512]).unwrap();
        file.sync().unwrap();
        assert_eq!(disk.file_bytes("data").unwrap(), [2; 1024]);
        disk
    });
    assert_eq!(lost, some([&[1, 2], &[2, 2]]));

    let lost = sectors(|| {
        let (disk, file) = disk_with_ones(1);
        file.set_size(1024).unwrap();
        fail_sync(&disk, &*file);
        file.sync().unwrap();
        disk
    });
    assert_eq!(lost, some([&[1], &[1, 0]]));
}

#[test]
fn what_a_failed_sync_of_the_directory_lost_stays_lost_unless_it_is_done_again() {
    let names: BTreeSet<_> = outcomes(|| {
        let disk = Simulated::new(0);
        disk.create("a").unwrap();
        disk.create("b").unwrap();
        disk.fail(Fault::Error { at: 0, kind: FaultKind::SyncFails });
        disk.sync_directory().unwrap_err();
        disk.rename("b", "c").unwrap();
        disk.sync_directory().unwrap();
        disk
    })
    .into_iter()
    .map(|files| files.into_iter().map(|(name, _)| name).collect::<String>())
    .collect();
    assert_eq!(names, ["c", "ac"].map(String::from).into());
}

#[test]
fn from_the_crash_on_nothing_happens() {
    let (disk, file) = disk_with_ones(1);
    let mapped = file.map(512).unwrap().unwrap();
    disk.fail(Fault::Crash { at: disk.operations() + 1 });
    file.write_at(0, &[2]).unwrap();
    let error = file.write_at(0, &[3]).unwrap_err();
    assert_eq!(error.to_string(), "the simulated power is off");
    mapped.write(0, &[3]).unwrap();
    file.write_at(0, &[3; 2048]).unwrap_err();
    file.set_size(0).unwrap_err();
    file.sync().unwrap_err();
    file.read_at(0, &mut [0]).unwrap_err();
    disk.create("new").map(|_| ()).unwrap_err();
    disk.remove("data").unwrap_err();
    disk.rename("data", "new").unwrap_err();
    disk.sync_directory().unwrap_err();
    disk.list().unwrap_err();
    assert_eq!(disk.file_names(), ["data"]);
    assert_eq!(disk.file_bytes("data").unwrap()[..3], [2, 1, 1]);
    assert_eq!(disk.file_bytes("data").unwrap().len(), 512);
}

#[test]
fn with_the_power_on_again_nothing_was_synced_or_lost_meanwhile() {
    for seed in 0..20 {
        let (disk, file) = disk_with_ones(1);
        file.write_at(0, &[2]).unwrap();
        disk.create("new").unwrap();
        disk.fail(Fault::Crash { at: disk.operations() });
        file.sync().unwrap_err();
        disk.sync_directory().unwrap_err();
        disk.heal();
        file.sync().unwrap();
        disk.sync_directory().unwrap();
        disk.crash(seed);
        assert_eq!(disk.file_names(), ["data", "new"]);
        assert_eq!(disk.file_bytes("data").unwrap()[0], 2);
    }
}

#[test]
fn all_survives_one_crash_in_four_and_nothing_another() {
    let mut all = 0;
    let mut nothing = 0;
    let mut others = BTreeSet::new();
    for seed in 0..1000 {
        let (disk, file) = disk_with_ones(64);
        file.write_at(0, &[2; 64 * 512]).unwrap();
        file.write_at(0, &[3; 64 * 512]).unwrap();
        disk.crash(seed);
        let left = disk.file_bytes("data").unwrap();
        if left.iter().all(|&byte| byte == 3) {
            all += 1;
        } else if left.iter().all(|&byte| byte == 1) {
            nothing += 1;
        } else {
            others.insert(left);
        }
    }
    assert!((200..300).contains(&all) && (200..300).contains(&nothing), "{all} and {nothing}");
    assert!(others.len() > 400);
}

#[test]
fn a_write_at_the_crash_is_done_in_part() {
    let mut seen = BTreeSet::new();
    for seed in 0..100 {
        let disk = Simulated::new(seed);
        disk.put_file("data", vec![1; 1024]);
        let file = disk.open("data").unwrap();
        disk.fail(Fault::Crash { at: disk.operations() });
        file.write_at(0, &[2; 1536]).unwrap_err();
        seen.insert(disk.file_bytes("data").unwrap().chunks(512).map(|s| s[0]).collect());
    }
    let expected: [&[u8]; 8] =
        [&[1, 1], &[1, 2], &[2, 1], &[2, 2], &[1, 1, 2], &[1, 2, 2], &[2, 1, 2], &[2, 2, 2]];
    assert_eq!(seen, expected.map(Vec::from).into());
}

#[test]
fn what_a_cut_write_did_is_not_durable() {
    let cut = sectors(|| {
        let (disk, file) = disk_with_ones(2);
        disk.fail(Fault::Crash { at: disk.operations() });
        file.write_at(0, &[2; 1024]).unwrap_err();
        disk
    });
    assert!(cut.contains(&Some(vec![1, 1])));
}

#[test]
fn an_error_hits_the_first_operation_of_its_kind_once() {
    let (disk, file) = disk_with_ones(1);
    let at = disk.operations() + 2;
    disk.fail(Fault::Error { at, kind: FaultKind::ReadFails });
    disk.fail(Fault::Error { at, kind: FaultKind::WriteFails });
    file.read_at(0, &mut [0]).unwrap();
    file.write_at(0, &[2]).unwrap();
    file.sync().unwrap();
    assert_eq!(file.write_at(0, &[3]).unwrap_err().raw_os_error(), Some(5));
    assert_eq!(file.read_at(0, &mut [0]).unwrap_err().raw_os_error(), Some(5));
    file.write_at(1, &[3]).unwrap();
    let mut bytes = [0; 3];
    file.read_at(0, &mut bytes).unwrap();
    assert_eq!(bytes, [2, 3, 1]);
}

#[test]
fn a_lack_of_space_hits_what_needs_some() {
    let (disk, file) = disk_with_ones(1);
    let growing: [&dyn Fn() -> Result<()>; 4] = [
        &|| file.write_at(512, &[2]),
        &|| file.preallocate(0..1024),
        &|| file.set_size(1024),
        &|| disk.create("new").map(|_| ()),
    ];
    for grow in growing {
        disk.fail(Fault::Error { at: 0, kind: FaultKind::NoSpace });
        file.write_at(0, &[1; 512]).unwrap();
        file.write_at(1000, &[]).unwrap();
        file.preallocate(0..512).unwrap();
        file.set_size(512).unwrap();
        file.sync().unwrap();
        assert_eq!(kind(grow()), ErrorKind::StorageFull);
        assert_eq!(disk.file_names(), ["data"]);
        assert_eq!(disk.file_bytes("data").unwrap(), [1; 512]);
    }
}

#[test]
fn files_together_do_not_exceed_the_capacity() {
    let (disk, file) = disk_with_ones(2);
    disk.set_capacity(Some(2048));
    let other = disk.create("other").unwrap();
    assert_eq!(kind(other.preallocate(0..1025)), ErrorKind::StorageFull);
    assert_eq!(kind(other.write_at(1024, &[1])), ErrorKind::StorageFull);
    assert_eq!(other.size_bytes().unwrap(), 0);
    other.preallocate(0..1024).unwrap();
    assert_eq!(kind(file.set_size(1025)), ErrorKind::StorageFull);
    file.write_at(0, &[2; 1024]).unwrap();
    disk.remove("other").unwrap();
    file.set_size(2048).unwrap();
    disk.set_capacity(None);
    file.set_size(4096).unwrap();
    assert_eq!(kind(file.preallocate(0..u64::MAX)), ErrorKind::StorageFull);
    assert_eq!(kind(file.write_at(u64::MAX, &[1])), ErrorKind::StorageFull);
}

#[test]
fn what_is_punched_is_space_for_other_files_until_it_is_set_aside_again() {
    let (disk, file) = disk_with_ones(2);
    disk.set_capacity(Some(2048));
    assert!(file.has_space().unwrap());
    // Whole sectors only.
    assert!(file.punch(100..1024).unwrap());
    assert!(!file.has_space().unwrap());
    assert_eq!(disk.file_bytes("data").unwrap(), [[1; 512], [0; 512]].concat());
    let other = disk.create("other").unwrap();
    assert_eq!(kind(other.preallocate(0..1537)), ErrorKind::StorageFull);
    other.preallocate(0..1536).unwrap();
    assert_eq!(kind(file.preallocate(512..1024)), ErrorKind::StorageFull);
    assert_eq!(kind(file.write_at(600, &[2])), ErrorKind::StorageFull);
    file.write_at(511, &[2]).unwrap();
    other.set_size(1024).unwrap();
    disk.fail(Fault::Error { at: 0, kind: FaultKind::NoSpace });
    file.preallocate(0..512).unwrap();
    assert_eq!(kind(file.preallocate(512..1024)), ErrorKind::StorageFull);
    file.preallocate(512..1024).unwrap();
    assert!(file.has_space().unwrap());
    file.write_at(600, &[2]).unwrap();
    assert!(file.punch(512..1024).unwrap());
    file.set_size(512).unwrap();
    assert!(file.has_space().unwrap(), "what was cut off is no hole");
}

#[test]
fn a_crash_may_bring_back_what_was_punched() {
    let mut seen = [false; 2];
    for seed in 0..100 {
        let (disk, file) = disk_with_ones(1);
        assert!(file.punch(0..512).unwrap());
        disk.crash(seed);
        let bytes = disk.file_bytes("data").unwrap();
        assert!(bytes == [0; 512] || bytes == [1; 512]);
        seen[usize::from(bytes[0])] = true;
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn a_fork_is_another_disk_with_all_that_is_seen_durable() {
    let (disk, file) = disk_with_ones(1);
    file.write_at(0, &[2; 1024]).unwrap();
    disk.create("new").unwrap();
    disk.fail(Fault::Crash { at: 0 });
    let _lock = disk.lock();
    for seed in 0..20 {
        let fork = disk.fork();
        fork.crash(seed);
        assert_eq!(fork.file_names(), ["data", "new"]);
        assert_eq!(fork.file_bytes("data").unwrap(), [2; 1024]);
        assert_eq!(fork.operations(), 0);
        fork.lock().unwrap();
        fork.remove("data").unwrap();
    }
    assert_eq!(disk.clone().file_names(), ["data", "new"]);
}

#[test]
fn a_flipped_bit_stays_flipped() {
    for seed in 0..20 {
        let (disk, file) = disk_with_ones(1);
        file.write_at(0, &[1]).unwrap();
        disk.flip_bit("data", 8 * 3 + 7);
        disk.crash(seed);
        assert_eq!(disk.file_bytes("data").unwrap()[..5], [1, 1, 1, 0x81, 1]);
    }
}

#[test]
fn a_file_that_was_put_there_replaces_one_and_is_durable() {
    let (disk, _) = disk_with_ones(1);
    disk.put_file("data", vec![2]);
    assert_eq!(disk.operations(), 1);
    for seed in 0..20 {
        disk.crash(seed);
        assert_eq!(disk.file_bytes("data").unwrap(), [2]);
    }
    assert_eq!(disk.file_bytes("none"), None);
}

#[test]
fn files_cannot_be_mapped_where_that_is_switched_off() {
    let (disk, file) = disk_with_ones(1);
    disk.set_mapping(Mapping::None);
    assert!(file.map(512).unwrap().is_none());
    disk.set_mapping(Mapping::InMemory);
    assert!(file.map(512).unwrap().is_some());
}

#[test]
#[should_panic(expected = "lie in the 512 that are mapped")]
fn a_write_that_leaves_the_mapping_panics() {
    let (_, file) = disk_with_ones(2);
    file.map(512).unwrap().unwrap().write(512, &[1]).unwrap();
}

#[test]
#[should_panic(expected = "the mapped part of the file was cut off")]
fn a_write_to_what_was_cut_off_panics() {
    let (_, file) = disk_with_ones(1);
    let mapped = file.map(512).unwrap().unwrap();
    file.set_size(0).unwrap();
    mapped.write(0, &[1]).unwrap();
}

#[test]
fn a_file_is_forgotten_once_it_cannot_be_reached() {
    let (disk, file) = disk_with_ones(1);
    disk.remove("data").unwrap();
    disk.sync_directory().unwrap();
    assert_eq!(disk.state().files.len(), 1);
    drop(file);
    disk.sync_directory().unwrap();
    assert_eq!(disk.state().files.len(), 0);
}
