//! Keeps files of any size in a database, and hands them out as streams.
//!
//! ```text
//! cargo run -p lodedb --example blobs
//! ```

use std::error::Error;
use std::io::{BufRead, Read, Seek, SeekFrom, Write};

use lode::{Durability, Options};

/// Lines of a report that is larger than the memory of the database.
const LINES: u32 = 200_000;

/// Writes a report, and reads it while another takes its place.
pub fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let options = Options::new().memory_bytes(1 << 20).durability(Durability::Process);
    let db = options.open(directory.path())?;
    let reports = db.create_blobs("reports")?;

    // The report is written piece by piece, and is there at once at its end.
    let mut writer = reports.write("2026/november")?;
    for line in 0..LINES {
        writeln!(writer, "line {line}: nothing has happened")?;
    }
    assert!(reports.read("2026/november")?.is_none());
    writer.finish()?;

    // A writer that is given up leaves nothing.
    let mut given_up = reports.write("2026/december")?;
    given_up.write_all(b"not yet")?;
    drop(given_up);

    for blob in reports.prefix("2026/") {
        let blob = blob?;
        println!("{} has {} bytes", blob.key.escape_ascii(), blob.length_bytes);
    }

    // A reader reads lines, and goes to any place without reading what is before.
    let mut reader = reports.read("2026/november")?.ok_or("it was written")?;
    let mut first = String::new();
    reader.read_line(&mut first)?;
    assert_eq!(first, "line 0: nothing has happened\n");

    // A reader that has started is not disturbed by later writes.
    reports.put("2026/november", &b"all is new"[..])?;
    reader.seek(SeekFrom::End(-9))?;
    let mut last = String::new();
    reader.read_to_string(&mut last)?;
    assert_eq!(last, "happened\n");
    assert_eq!(reports.read_range("2026/november", 7..)?.as_deref(), Some(&b"new"[..]));
    Ok(())
}
