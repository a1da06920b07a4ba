//! Imports that are killed: what a database says afterwards.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Bench, Ended, end, expect_success, start};

/// The rows of the file that is imported.
const ROWS: u64 = 60_000;

/// Imports that are killed at most, until one is in the middle.
const MOST_ATTEMPTS: usize = 60;

fn write_rows(bench: &Bench) {
    let mut text = String::from("id,square\n");
    for id in 0..ROWS {
        text += &format!("{id},{}\n", id * id);
    }
    bench.write("rows.csv", &text);
}

/// Starts an import, and kills it when its log has grown by some bytes; returns how it ended.
fn killed(bench: &Bench, args: &[&str], grown_bytes: u64) -> Ended {
    let size = || {
        let entries = std::fs::read_dir(bench.path("db")).into_iter().flatten().flatten();
        let sizes = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("log-"));
        sizes.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum::<u64>()
    };
    let before = size();
    let mut child = start(&mut bench.command(args));
    let process = Pid::from_raw(child.id().try_into().expect("a process id"));
    while size() < before + grown_bytes && child.try_wait().expect("it is ours").is_none() {
        std::thread::yield_now();
    }
    // It may have ended, and not been waited for.
    let _ = kill(process, Signal::SIGKILL);
    end(child)
}

#[test]
fn a_new_table_is_whole_or_not_there() {
    let bench = Bench::with_animals();
    write_rows(&bench);
    let args = ["import", "db", "number", "rows.csv", "--key", "id"];
    let dropped = "lode: table number was not whole, since its import was killed; it is dropped\n";
    let not_whole = "lode: table number is not whole: its import was killed; the next command that \
                     writes drops it\n";
    let mut was_partly_there = false;
    for attempt in 0..MOST_ATTEMPTS {
        bench.feeds(&["load", "db", "animal", "--schema", "id:u8 key", "--skip"], "{\"id\":1}\n");
        let ended = killed(&bench, &args, 4_096 << (attempt % 9));
        if ended.code == Some(0) {
            expect_success(&args, bench.lode(&["check", "db"]));
            std::fs::remove_dir_all(bench.path("db")).expect("it is there");
            continue;
        }
        let said = bench.lode(&["dump", "db", "number"]);
        match said.code {
            // The table was not made yet.
            Some(2) => assert!(said.stderr.contains("there is no table number"), "{said:?}"),
            Some(0) => assert_eq!(said.stdout.lines().count() as u64, ROWS),
            _ => {
                let line = "lode: table number cannot be read; import it again\n";
                assert_eq!((said.code, said.stderr), (Some(1), format!("{not_whole}{line}")));
                was_partly_there = true;
                for command in ["check", "stat", "schema"] {
                    let ended = bench.lode(&[command, "db"]);
                    assert_eq!((ended.code, &ended.stderr[..]), (Some(0), not_whole));
                    assert!(ended.stdout.contains("animal"), "{ended:?}");
                }
            }
        }
        if was_partly_there {
            let ended = bench.lode(&args);
            assert_eq!((ended.code, &ended.stderr[..]), (Some(0), dropped), "{ended:?}");
            assert_eq!(bench.succeeds(&["dump", "db", "number"]).lines().count() as u64, ROWS);
            break;
        }
        std::fs::remove_dir_all(bench.path("db")).expect("it is there");
    }
    assert!(was_partly_there, "no import was killed in the middle of {MOST_ATTEMPTS}");
    let schemas = bench.succeeds(&["schema", "db"]);
    assert_eq!(schemas.lines().count(), 2, "nothing else is left: {schemas}");
}

#[test]
fn rows_that_were_added_by_half_are_said() {
    let bench = Bench::new();
    write_rows(&bench);
    let said = "lode: an import into table number was killed: some of its rows may be there; \
                import the rest with --skip or --replace\n";
    let args = ["import", "db", "number", "rows.csv"];
    for attempt in 0..MOST_ATTEMPTS {
        let first = "{\"id\":7,\"square\":49}\n";
        bench.feeds(&["load", "db", "number", "--schema", "id:u64 key, square:u64"], first);
        let skipping = [&args[..], &["--skip"]].concat();
        let ended = killed(&bench, &skipping, 4_096 << (attempt % 9));
        let shown = bench.lode(&["dump", "db", "number"]);
        if ended.code != Some(0) && shown.stderr == said {
            assert_eq!(shown.code, Some(0));
            let ended = bench.lode(&skipping);
            assert_eq!((ended.code, &ended.stderr[..]), (Some(0), said), "{ended:?}");
            assert_eq!(bench.succeeds(&["dump", "db", "number"]).lines().count() as u64, ROWS);
            return;
        }
        assert_eq!((shown.code, &shown.stderr[..]), (Some(0), ""));
        std::fs::remove_dir_all(bench.path("db")).expect("it is there");
    }
    panic!("no import was killed in the middle of {MOST_ATTEMPTS}");
}
