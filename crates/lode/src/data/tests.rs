//! Tests of the data file on a simulated disk.

use super::*;
use crate::io::Disk;
use crate::io::simulated::{Fault, FaultKind, Simulated};

/// Pages in two nodes of the page map.
const FIRST: PageNumber = PageNumber::FIRST_OF_TABLES;
const PAGES: [PageNumber; 2] = [FIRST, PageNumber::new(FIRST.get() + 1024)];

#[test]
fn a_catalogue_that_has_too_many_pages_is_refused_before_anything_is_written() {
    let disk = Simulated::new(0);
    let file = disk.create("data").expect("an empty disk");
    let data = DataFile::create(file).expect("space");
    let before = disk.operations();
    let catalogue = vec![0; PageNumber::FIRST_OF_TABLES.index() * SLOT_BYTES];
    let refused = data.publish(&catalogue, &Superblock::default());
    assert!(matches!(refused, Err(Error::CatalogueFull { .. })), "{refused:?}");
    assert_eq!(disk.operations(), before);
}

#[test]
fn a_node_that_cannot_be_read_takes_no_slots_along() {
    let disk = Simulated::new(0);
    let file = disk.create("data").expect("an empty disk");
    let data = DataFile::create(file).expect("space");
    let bytes = vec![1; 2 * SLOT_BYTES];
    data.reserve(2, 0).expect("space");
    data.write(&PAGES, &bytes).expect("slots");
    data.publish(&[], &Superblock::default()).expect("slots");
    let file = disk.open("data").expect("it is there");
    let (data, superblock, _) = DataFile::open(file).expect("whole");
    data.make_sure(&superblock).expect("it can be written");
    assert_eq!(data.has(PAGES[0]), Ok(true));
    data.reserve(2, 0).expect("space");
    // The first node has been read before, the second one has not.
    for copy in 0..2 {
        disk.fail(Fault::Error { at: disk.operations() + copy, kind: FaultKind::ReadFails });
    }
    assert!(data.write(&PAGES, &bytes).is_err());
    assert_eq!(data.check(), Ok(()));
    data.write(&PAGES, &bytes).expect("it can be read again");
    assert_eq!(data.check(), Ok(()));
}
