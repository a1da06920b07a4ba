//! `lode export --delta s3://…` and back, by the program as its users run it. `LODE` is its path;
//! it is built with the feature `s3`.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use lode::{Database, KeyKind, Schema, Type, Value};
use lode_delta::{DeltaTable, Location};
use lode_s3_tests::{KEY, SECRET, Server, start};

/// A server with the bucket `farm`, and two databases of numbers.
struct Bench {
    folder: tempfile::TempDir,
    server: Server,
}

const ROWS: [u64; 2] = [20_000, 10_000];

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(folder.path().join("buckets/farm")).expect("a bucket");
        let server = start(&folder.path().join("buckets")).expect("a server");
        for (name, rows) in ["db", "half"].into_iter().zip(ROWS) {
            let db = Database::open(folder.path().join(name)).expect("a database");
            let schema = Schema::build("number").key("id", Type::U64).column("square", Type::U64);
            let schema = schema.finish().expect("a schema");
            let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
            let records = (0..rows).map(|id| {
                schema.pack(&[Value::Unsigned(id), Value::Unsigned(id * id)]).expect("it fits")
            });
            table.insert_all(records).expect("there is room");
            db.close().expect("it closes");
        }
        Self { folder, server }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let lode = std::env::var_os("LODE").expect("LODE is the path of the program");
        let mut command = Command::new(lode);
        command.current_dir(self.folder.path()).args(args).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
        let endpoint = format!("http://{}:{}", Ipv4Addr::LOCALHOST, self.server.port);
        command.env("AWS_ENDPOINT_URL", endpoint);
        command
    }

    fn succeeds(&self, args: &[&str]) -> String {
        let output = self.command(args).output().expect("the program runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{args:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns the objects in the buckets, with their bytes.
    fn objects(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.path("buckets/farm"), &mut found);
        found
    }

    /// The table of the bucket, which is in the server's folder as it is.
    fn table(&self) -> DeltaTable {
        let folder = self.path("buckets/farm/number");
        let location = Location::parse(folder.to_str().expect("a plain name")).expect("a folder");
        DeltaTable::open(&location).expect("there is a whole version")
    }
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, found)
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
}

fn rows_of(table: &DeltaTable) -> u64 {
    table.batches().map(|batch| batch.expect("a batch").num_rows() as u64).sum()
}

fn refused(mut command: Command, code: i32, line: &str) {
    let output = command.output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("lode: {line}\n"));
    assert_eq!(output.status.code(), Some(code));
}

const EXPORT: [&str; 5] = ["export", "db", "number", "--delta", "s3://farm/number"];

#[test]
fn a_table_goes_to_a_bucket_and_comes_back() {
    let bench = Bench::new();
    assert_eq!(bench.succeeds(&EXPORT), "20000 records exported in 1 file as version 0\n");
    let half = ["export", "half", "number", "--delta", "s3://farm/number"];
    assert_eq!(bench.succeeds(&half), "10000 records exported in 1 file as version 1\n");
    let import = ["import", "copy", "number", "--delta", "s3://farm/number"];
    assert_eq!(bench.succeeds(&import), "10000 records imported\n");
    let dumps = ["half", "copy"].map(|db| bench.succeeds(&["dump", db, "number"]));
    assert_eq!(dumps[0], dumps[1]);
}

#[test]
fn a_store_that_does_not_do_it_is_one_line() {
    let bench = Bench::new();
    let place = "s3://farm/number";
    for (name, value, line) in [
        (
            "AWS_ACCESS_KEY_ID",
            "AKIAOTHER",
            format!("{place}: the store does not allow it with these credentials"),
        ),
        (
            "AWS_SECRET_ACCESS_KEY",
            "wrong",
            format!("{place}: the store does not allow it with these credentials"),
        ),
    ] {
        let mut command = bench.command(&EXPORT);
        refused(
            {
                command.env(name, value);
                command
            },
            3,
            &line,
        );
    }
    let mut command = bench.command(&EXPORT);
    command.env_remove("AWS_SECRET_ACCESS_KEY");
    let missing = "AWS_SECRET_ACCESS_KEY is not set; the environment has the credentials";
    refused(command, 2, &format!("{place}: {missing}"));
    let nowhere = bench.command(&["export", "db", "number", "--delta", "s3://nowhere/number"]);
    refused(nowhere, 3, "s3://nowhere/number: there is no such bucket or object");
    let no_prefix = bench.command(&["export", "db", "number", "--delta", "s3://farm"]);
    let why = "write s3://BUCKET/PREFIX, with the place of the table";
    refused(no_prefix, 2, &format!("s3://farm: {why}"));
    let empty = bench.command(&["import", "new", "number", "--delta", place]);
    refused(empty, 2, &format!("{place}: there is no Delta table"));
    assert!(!bench.path("new").exists());
    assert!(bench.objects().is_empty());
}

#[test]
fn an_endpoint_that_is_down_is_one_line() {
    let bench = Bench::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    drop(listener);
    let mut command = bench.command(&EXPORT);
    command.env("AWS_ENDPOINT_URL", format!("http://{}:{port}", Ipv4Addr::LOCALHOST));
    refused(command, 3, "s3://farm/number: Connection refused (os error 111)");
    assert!(bench.objects().is_empty());
}

#[test]
fn a_store_that_fails_half_way_keeps_what_it_had() {
    let bench = Bench::new();
    bench.succeeds(&EXPORT);
    let before = bench.objects();
    // The first object is the file of the table, the second one the entry of its log.
    for healthy in 0..2 {
        bench.server.faults.fail_after(healthy);
        let line = "s3://farm/number: the store returned 500 Internal Server Error";
        refused(bench.command(&EXPORT), 3, line);
        assert_eq!(bench.objects(), before, "after {healthy}");
    }
    bench.server.faults.fail_after(2);
    assert_eq!(bench.succeeds(&EXPORT), "20000 records exported in 1 file as version 1\n");
}

#[test]
fn of_two_writers_the_second_is_refused() {
    let bench = Bench::new();
    let entry = bench.path("buckets/farm/number/_delta_log/00000000000000000000.json");
    let others = "{\"commitInfo\":{\"engineInfo\":\"another\"}}\n";
    let there = entry.clone();
    bench.server.faults.before_put(0, move || {
        fs::create_dir_all(there.parent().expect("a folder")).expect("the log");
        fs::write(&there, others).expect("the entry");
    });
    let why = "another writer committed version 0 first; nothing was written, run the export \
               again";
    refused(bench.command(&EXPORT), 3, &format!("s3://farm/number: {why}"));
    let left = bench.objects();
    let left: Vec<_> = left.iter().map(|(path, content)| (path.as_path(), &content[..])).collect();
    assert_eq!(left, [(entry.as_path(), others.as_bytes())]);
}

/// The moment at which an export is ended.
#[derive(Clone, Copy)]
enum Moment {
    /// The request that writes an object: number 0 is the file, 1 the entry of the log.
    AtPut(u64),
    /// At any time, by a seed.
    AnyTime,
    /// By itself.
    Never,
}

/// Starts an export, and kills it at `moment`. Returns whether it succeeded.
fn export_killed(bench: &Bench, db: &str, moment: Moment, after: Duration) -> bool {
    let (reached, at_put) = mpsc::channel();
    let (killed, goes_on) = mpsc::channel::<()>();
    if let Moment::AtPut(number) = moment {
        bench.server.faults.before_put(number, move || {
            if reached.send(()).is_ok() {
                // Its end, said or not, is what this waits for.
                let _ = goes_on.recv();
            }
        });
    }
    let args = [EXPORT[0], db, EXPORT[2], EXPORT[3], EXPORT[4]];
    let mut child = bench.command(&args).spawn().expect("the program starts");
    match moment {
        Moment::AtPut(_) => {
            // It may end before: one that was killed earlier may have been in its way.
            while at_put.recv_timeout(Duration::from_millis(20)).is_err() {
                if let Some(status) = child.try_wait().expect("it is ours") {
                    return status.success();
                }
            }
        }
        Moment::AnyTime => std::thread::sleep(after),
        Moment::Never => return child.wait().expect("it ends").success(),
    }
    child.kill().expect("it is ours");
    let status = child.wait().expect("it ends");
    drop(killed);
    status.success()
}

#[test]
fn a_reader_sees_a_whole_version_whenever_the_writer_is_killed() {
    use Moment::{AnyTime, AtPut, Never};
    const MOMENTS: [Moment; 5] = [AtPut(0), AnyTime, AtPut(1), AnyTime, Never];
    const ROUNDS: usize = 50;
    let bench = Bench::new();
    let begun = Instant::now();
    bench.succeeds(&EXPORT);
    let whole = begun.elapsed();
    // What was seen of each version. The server may still carry out a request of a process that is
    // killed. So the newest version may have been started some rounds ago.
    let mut seen = BTreeMap::from([(0, ROWS[0])]);
    let mut state = 22u64;
    for round in 0..ROUNDS {
        let db = ["half", "db"][round % 2];
        let moment = MOMENTS[round % MOMENTS.len()];
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        let share = (state >> 11) as f64 / (1u64 << 53) as f64;
        let mut succeeded = export_killed(&bench, db, moment, whole.mul_f64(share));
        // The version that it meant to write may be one that the server still wrote for another.
        while matches!(moment, Never) && !succeeded {
            succeeded = export_killed(&bench, db, moment, whole);
        }
        let table = bench.table();
        let version = table.version();
        let rows = rows_of(&table);
        assert_eq!((table.rows(), ROWS.contains(&rows)), (Some(rows), true), "round {round}");
        let newest = seen.last_key_value().map_or(0, |(newest, _)| *newest);
        assert!(newest <= version, "round {round}: version {version} after {newest}");
        assert_eq!(*seen.entry(version).or_insert(rows), rows, "round {round}");
        match moment {
            Never => assert_eq!((succeeded, rows), (true, ROWS[(round + 1) % 2]), "round {round}"),
            AtPut(_) => assert!(!succeeded, "round {round}"),
            AnyTime => {}
        }
    }
    bench.succeeds(&EXPORT);
    assert_eq!(rows_of(&bench.table()), ROWS[0]);
}
