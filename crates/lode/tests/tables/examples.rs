//! The examples run, and what they say of themselves is so.
//! (`after_a_crash` runs itself as another process, so it has no place here.)

#[path = "../../examples/blobs.rs"]
mod blobs;
#[path = "../../examples/changes.rs"]
mod changes;
#[path = "../../examples/documents.rs"]
mod documents;
#[path = "../../examples/first_table.rs"]
mod first_table;
#[path = "../../examples/records.rs"]
mod records;
#[path = "../../examples/scan.rs"]
mod scan;
#[path = "../../examples/session_store.rs"]
mod session_store;
#[path = "../../examples/snapshot.rs"]
mod snapshot;
#[path = "../../examples/time_series.rs"]
mod time_series;
#[path = "../../examples/transfer.rs"]
mod transfer;

#[test]
fn sessions_end_when_they_are_not_used() {
    session_store::main().expect("it runs");
}

#[test]
fn readings_are_found_by_sensor_and_time() {
    time_series::main().expect("it runs");
}

#[test]
fn documents_are_found_by_their_words() {
    documents::main().expect("it runs");
}

#[test]
fn the_shorter_examples_run() {
    blobs::main().expect("it runs");
    changes::main().expect("it runs");
    for example in [first_table::main, records::main, scan::main, snapshot::main, transfer::main] {
        example().expect("it runs");
    }
}
