//! Kills a process in the middle of its work: every acknowledged change is there.
//!
//! The test runs itself again as a child. The child works on a directory of the real file system
//! with four threads, at level `process` in as many lanes of the log. It reports finished work
//! through a pipe, and is killed after some of it. The directory goes from round to round, with so
//! little memory and log that pages leave and checkpoints are made while it works. `LODE_KILLS=n`
//! asks for `n` rounds, `LODE_SEED=n` starts with another seed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::effort::{effort, number};
use crate::random::mix;
use crate::reading::{check, each_row};
use lode::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type};

/// Set for the child only: the directory, the level, the round.
const CHILD: &str = "LODE_KILL_CHILD";

const THREADS: u64 = 4;

/// Keys of a thread in each table.
const KEYS: u64 = 700;

/// Returns the record that a step writes: it is its own from then on.
fn record(key: u64, step: u64) -> Vec<u8> {
    let rest = (0..100).flat_map(|at| (step.wrapping_mul(0x9e37_79b9) ^ at).to_le_bytes());
    key.to_le_bytes().into_iter().chain(step.to_le_bytes()).chain(rest).collect()
}

/// A record of one of the two tables is there with what its step wrote, or is not.
type Wanted = (usize, u64, bool);

/// Returns the writes of a thread's step, which happen at once. A thread has its own keys.
fn writes(thread: u64, step: u64) -> Vec<Wanted> {
    let random = |at: u64| mix(mix(step * THREADS + thread) + at);
    let count = if random(0).is_multiple_of(4) { 2 + random(1) % 6 } else { 1 };
    let one = |at: u64| {
        let random = random(at + 2);
        let key = random % KEYS * THREADS + thread;
        ((random >> 32) as usize % 2, key, !(random >> 40).is_multiple_of(4))
    };
    // Of several to the same record the last one counts.
    let all: BTreeMap<_, _> =
        (0..count).map(one).map(|(table, key, put)| ((table, key), put)).collect();
    all.into_iter().map(|((table, key), put)| (table, key, put)).collect()
}

type Content = BTreeMap<(usize, u64), u64>;

fn apply(content: &mut Content, thread: u64, step: u64) {
    for (table, key, put) in writes(thread, step) {
        match put {
            true => drop(content.insert((table, key), step)),
            false => drop(content.remove(&(table, key))),
        }
    }
}

fn open(path: &Path, level: Durability) -> (Database, [Table; 2]) {
    let options = Options::new()
        .memory_bytes(1 << 20)
        .log_bytes(1 << 18)
        .segment_bytes(1 << 16)
        .durability(level);
    let db = options.open(path).expect("the directory can be opened");
    let tables = [("hash", KeyKind::Hash), ("tree", KeyKind::Tree)].map(|(name, kind)| {
        let schema = Schema::build(name)
            .key("key", Type::U64)
            .column("step", Type::U64)
            .column("rest", Type::Bytes(800));
        let schema = schema.finish().expect("a schema");
        db.table(name).unwrap_or_else(|_| db.create_table(&schema, kind).expect("a new table"))
    });
    (db, tables)
}

/// Does one step after another, and says so, until it is killed.
fn child(path: &Path, level: Durability, first: u64) {
    let (db, tables) = open(path, level);
    lode::simulation::widen_log(&db, THREADS as usize).expect("space");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, tables) = (&db, &tables);
            scope.spawn(move || {
                for step in first.. {
                    let writes = writes(thread, step);
                    if let [(table, key, put)] = writes[..] {
                        let done = match put {
                            true => tables[table].upsert(&record(key, step)),
                            false => tables[table].delete(key.to_le_bytes()),
                        };
                        done.expect("it is done");
                    } else {
                        let transaction = db.begin();
                        for (table, key, put) in writes {
                            let done = match put {
                                true => transaction.upsert(&tables[table], &record(key, step)),
                                false => transaction.delete(&tables[table], key.to_le_bytes()),
                            };
                            done.expect("it is noted");
                        }
                        transaction.commit().expect("no other thread writes to these records");
                    }
                    // One write for all of it, so that lines of threads do not mix.
                    let line = format!("\ndone {thread} {step}\n");
                    if std::io::stdout().write_all(line.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

fn read(db: &Database, tables: &[Table; 2]) -> Content {
    let mut content = Content::new();
    let snapshot = db.snapshot();
    for (at, table) in tables.iter().enumerate() {
        let each = &mut |bytes: &[u8]| {
            let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("8 bytes"));
            let (key, step) = (word(0), word(8));
            assert!(bytes == record(key, step), "a record is whole");
            assert_eq!(content.insert((at, key), step), None, "a key is there once");
            Ok(true)
        };
        each_row(table.at(&snapshot).iter(), each).expect("it can be read");
    }
    content
}

/// The records of one thread.
fn of_thread(content: &Content, thread: u64) -> Content {
    let of = |((_, key), _): &(&(usize, u64), &u64)| key % THREADS == thread;
    content.iter().filter(of).map(|(place, step)| (*place, *step)).collect()
}

#[test]
fn what_a_killed_process_had_acknowledged_is_there() {
    if let Ok(text) = std::env::var(CHILD) {
        let mut parts = text.splitn(3, ' ');
        let level = parts.next().expect("the level");
        let level = if level == "commit" { Durability::Commit } else { Durability::Process };
        let first = parts.next().and_then(|text| text.parse().ok()).expect("the first step");
        return child(Path::new(parts.next().expect("the directory")), level, first);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let seed = number("LODE_SEED").unwrap_or(1);
    let mut content = Content::new();
    let mut first = 0;
    let mut acknowledged = 0;
    for round in 0..effort("LODE_KILLS", 15, 50) {
        let random = mix(mix(seed) + round);
        let (level, name) = match random % 4 {
            0 => (Durability::Commit, "commit"),
            _ => (Durability::Process, "process"),
        };
        let most = if level == Durability::Commit { 100 } else { 3_000 };
        let count = (random >> 8) % most;
        let case = format!("round {round} of LODE_SEED={seed}, {level:?}, after {count}");
        let mut process = Command::new(std::env::current_exe().expect("this test"))
            .args([
                "kill::what_a_killed_process_had_acknowledged_is_there",
                "--exact",
                "--nocapture",
            ])
            .env(CHILD, format!("{name} {first} {}", directory.path().display()))
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test runs again");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let mut last = [None; THREADS as usize];
        let note = |line: &str, last: &mut [Option<u64>]| {
            let mut parts = line.strip_prefix("done ")?.split(' ').map(str::parse::<u64>);
            let (thread, step) = (parts.next()?.ok()?, parts.next()?.ok()?);
            last[thread as usize] = Some(step);
            Some(())
        };
        let mut seen = 0;
        while seen < count {
            let line = lines.next().expect("it goes on until it is killed").expect("text");
            seen += u64::from(note(&line, &mut last).is_some());
        }
        process.kill().expect("it is there");
        process.wait().expect("it has ended");
        // What it had said before it ended.
        for line in lines.map_while(Result::ok) {
            seen += u64::from(note(&line, &mut last).is_some());
        }
        acknowledged += seen;
        let (db, tables) = open(directory.path(), level);
        check(&db).unwrap_or_else(|why| panic!("{case}: {why}"));
        let found = read(&db, &tables);
        for (thread, last) in (0..THREADS).zip(last) {
            let next = last.map_or(first, |last| last + 1);
            (first..next).for_each(|step| apply(&mut content, thread, step));
            let wanted = of_thread(&content, thread);
            // What it was at may be there too, all of it.
            let mut more = content.clone();
            apply(&mut more, thread, next);
            let more = of_thread(&more, thread);
            let found = of_thread(&found, thread);
            assert!(found == wanted || found == more, "{case}: thread {thread}, step {next}");
        }
        content = found;
        first += 1_000_000;
        if random >> 60 == 0 {
            db.close().expect("it can be closed");
        }
    }
    assert!(acknowledged > 0, "something was done");
}

/// Set for the child of the test of limits only: the directory.
const LIMITED: &str = "LODE_LIMITED_CHILD";

/// The default memory budget of a process that a shell has started after these commands.
fn budget_after(commands: &str) -> u64 {
    let folder = tempfile::tempdir().expect("a directory");
    let own = std::env::current_exe().expect("it has a path");
    let output = Command::new("sh")
        .args(["-c", &format!("{commands} && exec \"$0\" \"$@\"")])
        .arg(own)
        .args([
            "--exact",
            "kill::the_default_memory_budget_obeys_the_limits_of_the_process",
            "--nocapture",
        ])
        .env(LIMITED, folder.path())
        .output()
        .expect("there is a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let budget = text.split("memory_bytes: ").nth(1).and_then(|rest| rest.split(',').next());
    let budget = budget.and_then(|digits| digits.parse().ok());
    budget.filter(|_| output.status.success()).unwrap_or_else(|| panic!("{text}{errors}"))
}

/// A control group for memory, below that of this process.
struct Group(std::path::PathBuf);

impl Group {
    /// `None` where this process may make none.
    fn new(limit_bytes: u64) -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let of =
            |front: &str| own.lines().find_map(|line| line.split_once(front).map(|(_, at)| at));
        let name = format!("lode-test-{}", std::process::id());
        let at =
            |top: &str, own: &str| Path::new(top).join(own.trim_start_matches('/')).join(&name);
        let first =
            of(":memory:").map(|own| (at("/sys/fs/cgroup/memory", own), "memory.limit_in_bytes"));
        let unified = of("0::").map(|own| (at("/sys/fs/cgroup", own), "memory.max"));
        [first, unified].into_iter().flatten().find_map(|(folder, file)| {
            std::fs::create_dir(&folder).ok()?;
            let group = Self(folder);
            std::fs::write(group.0.join(file), limit_bytes.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn the_default_memory_budget_obeys_the_limits_of_the_process() {
    const MIB: u64 = 1 << 20;
    if let Some(folder) = std::env::var_os(LIMITED) {
        println!("{:?}", Options::new());
        let db = Database::open(Path::new(&folder)).expect("there are enough addresses");
        let schema = Schema::build("t").key("id", Type::U64).finish().expect("a schema");
        db.create_table(&schema, KeyKind::Hash).expect("a new table");
        return;
    }
    let budget = budget_after("ulimit -v 2097152");
    assert!((64 * MIB..1024 * MIB).contains(&budget), "{budget} bytes of 2 GiB of addresses");
    let Some(group) = Group::new(512 * MIB) else {
        eprintln!("not tested: this process can make no control group for memory");
        return;
    };
    let budget = budget_after(&format!("echo $$ > {}/cgroup.procs", group.0.display()));
    assert_eq!(budget, 256 * MIB, "half of the group's limit");
}
