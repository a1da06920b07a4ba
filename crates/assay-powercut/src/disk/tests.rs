use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::image::Image;

const PLAIN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };

fn file(disk: &mut Disk, name: &str) -> Ino {
    disk.create(ROOT, OsStr::new(name), Kind::File(Image::default()), PLAIN).expect("a file")
}

fn write(disk: &mut Disk, ino: Ino, offset: u64, bytes: &[u8]) {
    disk.change(Change::Write { ino, offset, bytes: bytes.into() }).expect("a write");
}

fn after(disk: &mut Disk, loss: Loss) -> BTreeMap<String, Vec<u8>> {
    disk.cut(loss, 1);
    disk.live().files()
}

#[test]
fn what_was_synchronised_survives_and_nothing_else() {
    let mut disk = Disk::new(Directories::Journal);
    let a = file(&mut disk, "a");
    let b = file(&mut disk, "b");
    write(&mut disk, a, 0, b"one");
    write(&mut disk, b, 0, b"two");
    disk.synchronise(a);
    write(&mut disk, a, 0, b"ONE");
    let left = after(&mut disk, Loss::Everything);
    // The name of b was in the journal that a's synchronisation wrote; its data was not.
    let expected = [("/a", b"one".to_vec()), ("/b", Vec::new())];
    assert_eq!(left, expected.map(|(name, bytes)| (name.to_string(), bytes)).into());
}

#[test]
fn a_restored_disk_is_as_the_cut_left_it() {
    let mut disk = Disk::new(Directories::Journal);
    let a = file(&mut disk, "a");
    write(&mut disk, a, 0, b"one");
    disk.synchronise(a);
    let left = after(&mut disk, Loss::Everything);
    let mut restored = Disk::holding(disk.live().clone(), Directories::Journal);
    let b = file(&mut restored, "b");
    assert_ne!(a, b, "a new file gets a number of its own");
    write(&mut restored, a, 0, b"TWO");
    assert_eq!(after(&mut restored, Loss::Everything), left, "all of it was synchronised");
}

#[test]
fn strict_directories_lose_names_that_were_not_synchronised() {
    let mut disk = Disk::new(Directories::Strict);
    let a = file(&mut disk, "a");
    write(&mut disk, a, 0, b"one");
    disk.synchronise(a);
    let b = file(&mut disk, "b");
    disk.synchronise(ROOT);
    write(&mut disk, b, 0, b"two");
    disk.synchronise(b);
    file(&mut disk, "c");
    let left = after(&mut disk, Loss::Everything);
    // The root was synchronised after a and b were entered, and before c was.
    assert_eq!(left["/a"], b"one");
    assert_eq!(left["/b"], b"two");
    assert!(!left.contains_key("/c"));
    let mut disk = Disk::new(Directories::Strict);
    let a = file(&mut disk, "a");
    write(&mut disk, a, 0, b"one");
    disk.synchronise(a);
    assert!(after(&mut disk, Loss::Everything).is_empty());
}

#[test]
fn a_name_moves_whole_or_not_at_all() {
    for (loss, expected) in [(Loss::Everything, "old"), (Loss::Nothing, "new")] {
        let mut disk = Disk::new(Directories::Journal);
        for (name, bytes) in [("target", b"old"), ("temporary", b"new")] {
            let ino = file(&mut disk, name);
            write(&mut disk, ino, 0, bytes);
            disk.synchronise(ino);
        }
        let from = OsStr::new("temporary");
        let to = OsStr::new("target");
        let name = |name| Name { parent: ROOT, name };
        disk.rename(name(from), name(to), false).expect("a rename");
        assert_eq!(after(&mut disk, loss)["/target"], expected.as_bytes());
    }
}

#[test]
fn a_name_that_moved_needs_only_its_new_directory() {
    let mut disk = Disk::new(Directories::Strict);
    let folder = Kind::Directory(BTreeMap::new());
    let folder = disk.create(ROOT, OsStr::new("folder"), folder, PLAIN).expect("a directory");
    disk.synchronise(ROOT);
    let ino = file(&mut disk, "a");
    write(&mut disk, ino, 0, b"one");
    disk.synchronise(ino);
    let from = Name { parent: ROOT, name: OsStr::new("a") };
    let to = Name { parent: folder, name: OsStr::new("b") };
    disk.rename(from, to, false).expect("a rename");
    disk.synchronise(folder);
    let left = after(&mut disk, Loss::Everything);
    assert_eq!(left, [("/folder/b".to_string(), b"one".to_vec())].into());
}

#[test]
fn data_cut_off_does_not_come_back() {
    let mut disk = Disk::new(Directories::Journal);
    let a = file(&mut disk, "a");
    let b = file(&mut disk, "b");
    write(&mut disk, a, 0, b"one and two");
    disk.resize(a, 3).expect("a size");
    // The size is in the journal that b's synchronisation writes.
    disk.synchronise(b);
    assert_eq!(after(&mut disk, Loss::Nothing)["/a"], b"one");
}

#[test]
fn a_full_log_becomes_durable_from_its_old_end() {
    let mut disk = Disk::new(Directories::Journal);
    let a = file(&mut disk, "a");
    let big = vec![1; PENDING_BYTES_MAX / 4];
    (0..5).for_each(|at| write(&mut disk, a, at * big.len() as u64, &big));
    let left = after(&mut disk, Loss::Everything)["/a"].len();
    assert!(left >= big.len() && left < 5 * big.len(), "{left}");
}

#[test]
fn what_a_failed_synchronisation_lost_can_be_read_until_the_power_goes() {
    let mut disk = Disk::new(Directories::Journal);
    let a = file(&mut disk, "a");
    let b = file(&mut disk, "b");
    write(&mut disk, a, 0, b"one");
    disk.synchronise(a);
    write(&mut disk, a, 0, b"TWO");
    write(&mut disk, b, 0, b"three");
    disk.fail_to_synchronise(a, WHOLE_FILE);
    assert_eq!(disk.live().files()["/a"], b"TWO");
    // A later synchronisation has nothing to write, and succeeds.
    disk.synchronise(a);
    let left = after(&mut disk, Loss::Nothing);
    assert_eq!(left["/a"], b"one", "even if all that waited survives");
    assert_eq!(left["/b"], b"three", "the other file has still waited");
}

#[test]
fn a_page_that_is_changed_again_is_written_whole() {
    let mut disk = Disk::new(Directories::Journal);
    let a = file(&mut disk, "a");
    write(&mut disk, a, 0, &[1; 2 * PAGE_BYTES + 10]);
    disk.fail_to_synchronise(a, WHOLE_FILE);
    write(&mut disk, a, PAGE_BYTES as u64 + 5, b"again");
    disk.synchronise(a);
    let left = &after(&mut disk, Loss::Everything)["/a"];
    let mut expected = vec![0; PAGE_BYTES];
    expected.extend([1; PAGE_BYTES]);
    expected[PAGE_BYTES + 5..][..5].copy_from_slice(b"again");
    assert!(*left == expected, "{} bytes", left.len());
    // After a truncation there is nothing more of the page to write.
    let mut disk = Disk::new(Directories::Journal);
    let a = file(&mut disk, "a");
    write(&mut disk, a, 0, b"one and two");
    disk.fail_to_synchronise(a, WHOLE_FILE);
    disk.resize(a, 0).expect("a size");
    write(&mut disk, a, 4, b"new");
    disk.synchronise(a);
    assert_eq!(after(&mut disk, Loss::Everything)["/a"], b"\0\0\0\0new");
}

#[test]
fn a_failed_synchronisation_of_a_range_loses_only_its_pages() {
    let page = PAGE_BYTES as u64;
    let mut disk = Disk::new(Directories::Journal);
    let a = file(&mut disk, "a");
    write(&mut disk, a, 0, &[1; 4 * PAGE_BYTES]);
    write(&mut disk, a, 2 * page, b"again");
    disk.fail_to_synchronise(a, page + 7..page + 8);
    disk.synchronise(a);
    let mut expected = vec![1; 4 * PAGE_BYTES];
    expected[PAGE_BYTES..2 * PAGE_BYTES].fill(0);
    expected[2 * PAGE_BYTES..][..5].copy_from_slice(b"again");
    let left = &after(&mut disk, Loss::Everything)["/a"];
    assert!(*left == expected, "{} bytes", left.len());
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize, u64, Vec<u8>),
    Size(usize, u64),
    Synchronise(usize),
    Remove(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..3usize;
    prop::collection::vec(
        prop_oneof![
            4 => (name.clone(), 0..3000u64, prop::collection::vec(any::<u8>(), 1..2000))
                .prop_map(|(name, offset, bytes)| Step::Write(name, offset, bytes)),
            1 => (name.clone(), 0..3000u64).prop_map(|(name, size)| Step::Size(name, size)),
            2 => name.clone().prop_map(Step::Synchronise),
            1 => name.prop_map(Step::Remove),
        ],
        1..40,
    )
}

/// Returns the states that a disk went through, as its files, and the index of the first that a
/// cut may leave.
fn replay(disk: &mut Disk, steps: &[Step]) -> (Vec<BTreeMap<String, Vec<u8>>>, usize) {
    let mut states = vec![disk.live().files()];
    let mut synchronised = 0;
    let names = ["a", "b", "c"];
    for step in steps {
        let (Step::Write(at, ..) | Step::Size(at, _) | Step::Synchronise(at) | Step::Remove(at)) =
            step;
        let ino = match disk.live().lookup(ROOT, OsStr::new(names[*at])) {
            Ok(ino) => ino,
            Err(_) => {
                let ino = file(disk, names[*at]);
                states.push(disk.live().files());
                ino
            }
        };
        match step {
            Step::Write(_, offset, bytes) => write(disk, ino, *offset, bytes),
            Step::Size(_, size_bytes) => {
                disk.resize(ino, *size_bytes).expect("a size");
            }
            Step::Synchronise(_) => {
                for name in names {
                    if let Ok(ino) = disk.live().lookup(ROOT, OsStr::new(name)) {
                        disk.synchronise(ino);
                    }
                }
                synchronised = states.len() - 1;
            }
            Step::Remove(_) => {
                let name = names[*at].into();
                disk.change(Change::Leave { parent: ROOT, name }).expect("a removal");
            }
        }
        states.push(disk.live().files());
    }
    (states, synchronised)
}

proptest! {
    #[test]
    fn a_prefix_is_a_moment_after_the_last_synchronisation(steps in steps(), seed: u64) {
        let mut disk = Disk::new(Directories::Journal);
        let (states, synchronised) = replay(&mut disk, &steps);
        disk.cut(Loss::Prefix, seed);
        prop_assert!(states[synchronised..].contains(&disk.live().files()));
    }

    #[test]
    fn losing_nothing_leaves_all(steps in steps(), seed: u64) {
        let mut disk = Disk::new(Directories::Journal);
        let (states, _) = replay(&mut disk, &steps);
        disk.cut(Loss::Nothing, seed);
        prop_assert_eq!(&disk.live().files(), states.last().expect("a state"));
    }

    #[test]
    fn losing_everything_leaves_the_last_synchronisation(steps in steps(), seed: u64) {
        let mut disk = Disk::new(Directories::Journal);
        let (states, synchronised) = replay(&mut disk, &steps);
        disk.cut(Loss::Everything, seed);
        prop_assert_eq!(&disk.live().files(), &states[synchronised]);
    }

    #[test]
    fn the_same_cut_leaves_the_same(steps in steps(), seed: u64) {
        for loss in Loss::ALL {
            let left = [0, 1].map(|_| {
                let mut disk = Disk::new(Directories::Journal);
                replay(&mut disk, &steps);
                disk.cut(loss, seed);
                disk.live().files()
            });
            prop_assert_eq!(&left[0], &left[1]);
        }
    }
}
