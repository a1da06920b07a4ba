//! Space that is asked for, kept and given back, on a simulated disk.

use super::*;
use crate::data::Superblock;
use crate::io::Disk;
use crate::io::simulated::Simulated;

const FIRST: PageNumber = PageNumber::FIRST_OF_TABLES;

fn empty() -> DataFile {
    let file = Simulated::new(0).create("data").expect("an empty disk");
    DataFile::create(file).expect("space")
}

#[test]
fn of_many_holes_some_are_made_at_a_time() {
    const PAGES: u32 = 10_000;
    let data = empty();
    let numbers: Vec<_> = FIRST.run(PAGES).collect();
    data.reserve(PAGES.into(), 0).expect("space");
    data.write(&numbers, &vec![1; numbers.len() * SLOT_BYTES]).expect("space");
    let superblock = data.publish(&[], &Superblock::default()).expect("space");
    numbers.iter().step_by(2).for_each(|page| data.remove(*page).expect("it is there"));
    data.reserve(0, 0).expect("space");
    let superblock = data.publish(&[], &superblock).expect("space");
    data.publish(&[], &superblock).expect("space");
    let slots = || data.space_bytes() / SLOT_BYTES as u64;
    let used = data.used_bytes() / SLOT_BYTES as u64;
    assert!(used < u64::from(PAGES) * 5 / 8, "{used} slots");
    let mut before = slots();
    for _ in 0..6 {
        data.reserve_only(0);
        data.give_back();
        assert_eq!(data.check(), Ok(()));
        let after = slots();
        // A run at the end is longer.
        assert!(before - after < 2_048, "{before} slots, then {after}");
        assert!(after < before || after < used + 2 * MOST_AHEAD, "{after} slots are left");
        before = after;
    }
    assert!(before < used + 2 * MOST_AHEAD, "{before} slots are left of {used}");
    assert!(numbers[1..].iter().step_by(2).all(|page| data.has(*page) == Ok(true)));
}

#[test]
fn nodes_of_the_page_map_leave_the_end_of_the_file_though_their_pages_stay() {
    let data = empty();
    // Their nodes come after all of them in the file.
    let numbers: Vec<_> = FIRST.run(400 * 1024).step_by(1024).collect();
    let bytes = vec![1; numbers.len() * SLOT_BYTES];
    data.reserve(400, 0).expect("space");
    data.write(&numbers, &bytes).expect("space");
    data.reserve(0, 0).expect("space");
    let superblock = data.publish(&[], &Superblock::default()).expect("space");
    numbers[20..].iter().for_each(|page| data.remove(*page).expect("it is there"));
    data.reserve(0, 0).expect("space");
    let superblock = data.publish(&[], &superblock).expect("space");
    assert_eq!(data.pages_beyond_need(), Ok(Vec::new()), "pages lie before their nodes");
    data.rewrite_map_beyond_need(0).expect("space");
    let superblock = data.publish(&[], &superblock).expect("space");
    data.rewind();
    data.reserve(0, 0).expect("space");
    data.publish(&[], &superblock).expect("space");
    data.shrink(0).expect("nothing is wrong");
    let size = data.length_bytes() / SLOT_BYTES as u64;
    assert!(size < 100, "{size} slots are left for 20 pages and their nodes");
    assert_eq!(data.check(), Ok(()));
    assert!(numbers[..20].iter().all(|page| data.has(*page) == Ok(true)));
    assert!(numbers[20..].iter().all(|page| data.has(*page) == Ok(false)));
}

#[test]
fn what_a_checkpoint_replaces_is_space_for_the_next_one_unless_it_is_given_up() {
    const PAGES: u32 = 300;
    let data = empty();
    let numbers: Vec<_> = FIRST.run(PAGES).collect();
    let bytes = vec![1; numbers.len() * SLOT_BYTES];
    let write = || data.write(&numbers, &bytes).expect("space");
    let mut superblock = Superblock::default();
    let mut checkpoint = |in_between: &dyn Fn()| {
        data.begin_checkpoint(PAGES.into(), 0).expect("space");
        write();
        in_between();
        superblock = data.publish(&[], &superblock).expect("space");
        data.end_checkpoint();
    };
    checkpoint(&|| {});
    let reserve = || {
        data.reserve(PAGES.into(), 0).expect("space");
    };
    checkpoint(&reserve);
    let size_bytes = data.length_bytes();
    assert!(size_bytes < u64::from(5 * PAGES / 2) * SLOT_BYTES as u64, "each page is there twice");
    // All pages changed again before the checkpoint ended.
    (0..5).for_each(|_| checkpoint(&reserve));
    assert_eq!(data.length_bytes(), size_bytes);

    data.begin_checkpoint(PAGES.into(), 0).expect("space");
    write();
    data.end_checkpoint();
    reserve();
    let with_left_over = data.length_bytes();
    assert!(with_left_over > size_bytes, "what was written is not free before the next one");
    checkpoint(&|| {});
    assert_eq!(data.length_bytes(), with_left_over, "what was reserved was enough");
    assert_eq!(data.check(), Ok(()));
}

/// Other files of the disk take the space that is given back.
#[test]
fn what_is_given_back_is_set_aside_again_before_pages_are_written_there() {
    const PAGES: u32 = 600;
    let disk = Simulated::new(0);
    let data = DataFile::create(disk.create("data").expect("an empty disk")).expect("space");
    let numbers: Vec<_> = FIRST.run(PAGES).collect();
    let bytes = vec![1; numbers.len() * SLOT_BYTES];
    let mut superblock = Superblock::default();
    let mut checkpoint = |data: &DataFile| {
        data.begin_checkpoint(PAGES.into(), 0).expect("space");
        data.write(&numbers, &bytes).expect("space");
        superblock = data.publish(&[], &superblock).expect("space");
        data.end_checkpoint();
    };
    (0..3).for_each(|_| checkpoint(&data));
    let slots = |bytes: u64| (bytes / SLOT_BYTES as u64) as u32;
    let length = data.length_bytes();
    let before = slots(data.space_bytes());
    assert!(before > 2 * PAGES, "each page is there twice: {before} slots");
    data.reserve_only(64);
    data.give_back();
    let after = slots(data.space_bytes());
    assert!(after < PAGES + PAGES / 2, "{after} slots of {before} are left");
    assert_eq!(data.length_bytes(), length);
    assert_eq!(data.check(), Ok(()));
    // The kept space is enough for the reserved pages.
    disk.set_capacity(Some(data.space_bytes()));
    assert!(data.reserve(64, 0).is_ok());
    assert!(matches!(data.reserve(PAGES.into(), 0), Err(Error::DiskFull { .. })));
    disk.set_capacity(Some(length));
    checkpoint(&data);
    assert_eq!(data.length_bytes(), length, "holes come before what is new");
    data.reserve_only(64);
    data.give_back();
    drop(data);
    // A program that opens the file does not know which slots have space.
    let open = || DataFile::open(disk.open("data").expect("it is there")).expect("whole").0;
    let data = open();
    assert_eq!(data.check(), Ok(()));
    disk.set_capacity(Some(data.used_bytes()));
    assert!(matches!(data.reserve(1, 0), Ok(_) | Err(Error::DiskFull { .. })));
    disk.set_capacity(Some(length));
    checkpoint(&data);
    assert_eq!(data.length_bytes(), length);
    // For good: all slots that are not used.
    data.shrink_to_used().expect("nothing is wrong");
    assert_eq!(data.space_bytes(), data.used_bytes());
    drop(data);
    assert!(numbers.iter().all(|page| open().load(*page, &mut [0; SLOT_BYTES]).is_ok()));
}

#[test]
fn the_file_grows_ahead_of_need_where_little_is_left() {
    let data = empty();
    data.reserve(2_000, 0).expect("space");
    data.grow_ahead().expect("space");
    assert_eq!(data.reserve(2_000, 0), Ok(Left::Enough));
    let size_bytes = data.length_bytes();
    for (more, left) in [(MOST_AHEAD / 4, Left::Enough), (MOST_AHEAD - 10, Left::Little)] {
        assert_eq!(data.reserve(2_000 + more, 0), Ok(left), "{more} more");
        assert_eq!(data.length_bytes(), size_bytes, "{more} more were there");
    }
    data.grow_ahead().expect("space");
    assert!(data.length_bytes() > size_bytes);
    assert_eq!(data.reserve(2_000 + MOST_AHEAD - 10, 0), Ok(Left::Enough));
    let size_bytes = data.length_bytes();
    data.grow_ahead().expect("space");
    assert_eq!(data.length_bytes(), size_bytes, "there is enough");
    assert_eq!(data.check(), Ok(()));
}
