//! Databases whose records say themselves what they have to be, and processes to use them in.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::reading::{check, each_row};
use lode::{Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Table, Type};

/// Set for a child only: what it shall do, and in which directory.
const CHILD: &str = "LODE_SURROUNDINGS_CHILD";

/// Little memory and short segments, so that both come to their ends soon.
pub fn options(level: Durability) -> Options {
    Options::new().memory_bytes(1 << 20).segment_bytes(1 << 13).log_bytes(1 << 18).durability(level)
}

/// The table of a database that is open; a new one if it has none.
pub fn table(db: &Database) -> Table {
    db.table("table").unwrap_or_else(|_| {
        let schema = Schema::build("table").key("key", Type::U64).column("rest", Type::Bytes(100));
        let schema = schema.finish().expect("a schema");
        db.create_table(&schema, KeyKind::Tree).expect("a new table")
    })
}

pub fn record(key: u64) -> Vec<u8> {
    let rest = (0..100u64).map(|at| (key.wrapping_mul(31) ^ at) as u8);
    key.to_le_bytes().into_iter().chain(rest).collect()
}

/// Puts records with these keys there, one by one.
pub fn put(db: &Database, keys: std::ops::Range<u64>) -> Result<(), Error> {
    let table = table(db);
    keys.into_iter().try_for_each(|key| table.upsert(&record(key)).map(drop))
}

/// The keys that are there, in order, of records that are whole.
pub fn keys(db: &Database) -> Vec<u64> {
    let mut keys = Vec::new();
    let each = &mut |bytes: &[u8]| {
        let key = u64::from_le_bytes(*bytes.first_chunk().expect("8 bytes"));
        assert!(bytes == record(key), "record {key} is whole");
        keys.push(key);
        Ok(true)
    };
    each_row(table(db).iter(), each).expect("all can be read");
    check(db).expect("all is well");
    keys
}

/// Checks that a directory has exactly the records with the keys below `count`.
pub fn expect(path: &Path, count: u64) {
    let db = options(Durability::Commit).open(path).expect("it can be opened");
    assert_eq!(keys(&db), (0..count).collect::<Vec<_>>(), "{}", path.display());
    db.close().expect("it can be closed");
}

/// The names of the files in a directory.
pub fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).expect("a directory");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<_> = entries.map(|entry| name(entry).into_string().expect("text")).collect();
    names.sort_unstable();
    names
}

/// Returns the role of this process and its place, if it is a child.
pub fn role() -> Option<(String, PathBuf)> {
    let text = std::env::var(CHILD).ok()?;
    let (role, path) = text.split_once(' ').expect("two parts");
    Some((role.into(), path.into()))
}

/// A child process that runs a test of this program in a role.
pub fn child(test: &str, role: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args([test, "--exact", "--nocapture"]);
    command.env(CHILD, format!("{role} {}", path.display()));
    command
}

/// Returns the output of a child that runs to its end.
pub fn run(test: &str, role: &str, path: &Path) -> Output {
    child(test, role, path).output().expect("this test runs again")
}

/// The process ends here, without cleaning up.
pub fn end() -> ! {
    // SIGABRT would leave a core file in some places.
    let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL);
    unreachable!("SIGKILL ends the process");
}

/// Checks that a child ended by a kill.
pub fn expect_killed(output: &Output) {
    use std::os::unix::process::ExitStatusExt;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(9), "{said}");
}
