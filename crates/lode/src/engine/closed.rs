//! Tests of calls that come after closing: the directory may belong to another database by then.

use crate::io::simulated::Simulated;
use crate::{Database, Durability, Error, KeyKind, Options, Schema, Type, simulation};

const RECORDS: u32 = 2_000;

fn options() -> Options {
    Options::new().memory_bytes(64 << 20).durability(Durability::Process)
}

fn filled(disk: &Simulated) -> Database {
    let db = simulation::open(&options(), disk, 1).expect("an empty disk");
    let schema = Schema::build("t").key("id", Type::U32).column("rest", Type::Bytes(500)).finish();
    let table = db.create_table(&schema.expect("a schema"), KeyKind::Tree).expect("space");
    for id in 0..RECORDS {
        let mut record = [7; 504];
        record[..4].copy_from_slice(&id.to_le_bytes());
        table.insert(&record).expect("room");
    }
    db
}

/// Checks that giving space back, which waits for its turn during closing, touches no file.
#[test]
fn the_log_begins_no_file_in_a_directory_that_was_closed() {
    let disk = Simulated::new(1);
    let db = filled(&disk);
    db.clone().close().expect("it can be written");
    let before = disk.operations();
    assert_eq!(db.engine().begin_small_log(), Err(Error::Closed));
    assert_eq!(disk.operations(), before, "nothing was tried");
    let db = simulation::open(&options(), &disk, 2).expect("it was closed");
    assert_eq!(db.check().map(|report| report.is_sound()), Ok(true));
}

/// Checks that no page is read after closing: another database may have its slots by then.
#[test]
fn no_page_is_read_from_a_directory_that_was_closed() {
    let disk = Simulated::new(1);
    let db = filled(&disk);
    db.clone().close().expect("it can be written");
    let data = &db.engine().store().expect("a store").data;
    let mut page = vec![0; crate::pager::PAGE_BYTES];
    let pages = data.used_bytes() / page.len() as u64;
    assert!(pages > 50, "{pages}");
    for number in 0..pages as u32 {
        let number = crate::pager::PageNumber::new(number);
        assert_eq!(data.load(number, &mut page), Err(Error::Closed));
    }
}
