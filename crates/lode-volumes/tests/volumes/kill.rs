//! A process that changes a volume is killed in the middle of it, again and again.
//!
//! The child does the steps of a history one after another, and prints a line when each has ended.
//! What is found afterwards has to be what the steps that have ended make, or those and the one
//! that was under way. Of entries on a path, which are linked one by one, only the first may be
//! there. The same steps in a volume in memory say what that is.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lode_volumes::{Durability, Error, Options, Value, Volume};

use super::support::{Draw, Wound, expect_consistent, exported};

const DIRECTORY: &str = "LODE_VOLUMES_KILLED_DIRECTORY";
const LEVEL: &str = "LODE_VOLUMES_KILLED_LEVEL";
const FROM: &str = "LODE_VOLUMES_KILLED_FROM";

const LEVELS: [Durability; 4] =
    [Durability::None, Durability::Process, Durability::Periodic, Durability::Commit];

fn options(level: Durability) -> Options {
    let database = lode::Options::new().memory_bytes(16 << 20).log_bytes(1 << 20);
    Options::new().database(database).durability(level).clock(Wound::at(1_000))
}

/// Takes one step of the history, which depends on its number and on what is there.
fn step(volume: &Volume, number: u64) {
    step_in_parts(volume, number, &mut || ());
}

/// Takes a step, and calls `look` after each entry on a path.
fn step_in_parts(volume: &Volume, number: u64, look: &mut dyn FnMut()) {
    let mut draw = Draw(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let path: String = (0..draw.below(4)).map(|_| format!("/{}", draw.name())).collect();
    let name = ["p", "q", "r"][draw.below(3) as usize];
    let outcome = match draw.below(12) {
        0 => {
            let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
            ends.map(|end| &path[..end]).try_for_each(|path| {
                volume.create_entry(path)?;
                look();
                Ok(())
            })
        }
        1 => on(volume, &path, |entry| entry.unlink(draw.name())),
        2 => on(volume, &path, |entry| entry.unlink_all(draw.name())),
        3 => on(volume, &path, |entry| entry.rename("a", &volume.root(), draw.name())),
        4 => on(volume, &path, |entry| entry.remove_property(name).map(drop)),
        5 => on(volume, &path, |entry| entry.set(name, &vec![number as u8; 40_000])),
        6 => on(volume, &path, |entry| entry.link(draw.name()).map(drop)),
        7 => on(volume, &path, |entry| {
            entry.expire_property(name, Duration::from_secs(draw.below(3))).map(drop)
        }),
        8 => on(volume, &path, |entry| {
            entry.update(|batch| {
                batch.set("p", number)?;
                batch.set("q", "both")?;
                batch.remove_property("r").map(drop)
            })
        }),
        _ => on(volume, &path, |entry| entry.set(name, number)),
    };
    match outcome {
        Ok(())
        | Err(
            Error::NoEntry { .. }
            | Error::NotEmpty { .. }
            | Error::NameTaken { .. }
            | Error::IntoItself { .. },
        ) => {}
        Err(error) => panic!("step {number}: {error}"),
    }
}

fn on(
    volume: &Volume,
    path: &str,
    work: impl FnOnce(&lode_volumes::Entry) -> lode_volumes::Result<()>,
) -> lode_volumes::Result<()> {
    volume.entry(path)?.map_or(Ok(()), |entry| work(&entry))
}

/// Not a test, but what the others start.
#[test]
#[ignore = "the other tests start it"]
fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let number =
        |name| -> u64 { std::env::var(name).expect("it is set").parse().expect("a number") };
    let level = LEVELS[number(LEVEL) as usize];
    let volume = options(level).open(directory).expect("a volume");
    let mut out = std::io::stdout().lock();
    for at in number(FROM).. {
        step(&volume, at);
        writeln!(out, "done {at}").and_then(|()| out.flush()).expect("the parent reads");
    }
}

/// Runs the child from a step on and kills it after `steps` more; returns how many have ended.
fn killed_after(directory: &Path, level: usize, from: u64, steps: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "kill::child", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(LEVEL, level.to_string())
        .env(FROM, from.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut ended = from;
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    for line in lines {
        let line = line.expect("a line");
        if let Some(at) = line.split("done ").nth(1) {
            ended = at.parse::<u64>().expect("a number") + 1;
            if ended == from + steps {
                child.kill().expect("it is running");
            }
        }
    }
    let status = child.wait().expect("it ends");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{status}");
    ended
}

fn kill_again_and_again(level: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let model = options(Durability::None).in_memory().expect("a volume");
    let mut ended = 0;
    let mut draw = Draw(level as u64);
    for _ in 0..12 {
        let before = ended;
        ended = killed_after(folder.path(), level, before, 1 + draw.below(150));
        (before..ended).for_each(|at| step(&model, at));
        let volume = options(LEVELS[level]).open(folder.path()).expect("it opens");
        let found = exported(&volume);
        if found != exported(&model) {
            let mut is_on_the_way = false;
            let mut look = || is_on_the_way |= found == exported(&model);
            step_in_parts(&model, ended, &mut look);
            // The next child does the rest of it.
            if !is_on_the_way {
                ended += 1;
                assert_eq!(found, exported(&model), "after {ended} steps");
            }
        }
        volume.sweep().expect("a sweep");
        volume.close().expect("it closes");
        expect_consistent(folder.path());
    }
    assert!(ended > 100);
}

#[test]
fn nothing_is_lost_at_level_process() {
    kill_again_and_again(1);
}

#[test]
fn nothing_is_lost_at_level_periodic() {
    kill_again_and_again(2);
}

#[test]
fn nothing_is_lost_at_level_commit() {
    kill_again_and_again(3);
}

/// Nothing is promised, but what is there is a volume.
#[test]
fn at_level_none_a_volume_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let volume = options(Durability::None).open(folder.path()).expect("a volume");
    volume.root().set("kept", 1u8).expect("it is set");
    volume.close().expect("it closes");
    for round in 0..5 {
        killed_after(folder.path(), 0, round * 1_000, 200);
        let volume = options(Durability::None).open(folder.path()).expect("it opens");
        assert_eq!(volume.root().property("kept").expect("a name"), Some(Value::U8(1)));
        volume.sweep().expect("a sweep");
        volume.close().expect("it closes");
        expect_consistent(folder.path());
    }
}

/// Kills operations of many steps between them, also while one continues after a kill.
#[test]
fn a_large_removal_goes_on_after_each_kill() {
    const REMOVAL: &str = "LODE_VOLUMES_KILLED_REMOVAL";
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(directory) = std::env::var_os(REMOVAL) {
        let volume = options(Durability::Process).open(directory).expect("a volume");
        if volume.entry("/big").expect("a path").is_some() {
            volume.root().unlink_all("big").expect("it is there");
        }
        volume.sweep().expect("a sweep");
        return;
    }
    let volume = options(Durability::Process).open(folder.path()).expect("a volume");
    for at in 0..3_000u64 {
        let path = format!("/big/{}/{}", at % 50, at);
        let entry = volume.create_entry(&path).expect("a path");
        entry.set("x", at).expect("it is set");
        entry.set("y", at).expect("it is set");
        entry.expire_property("y", Duration::from_secs(at + 1)).expect("a name");
    }
    volume.create_entry("/stays").expect("a path").set("x", 1u8).expect("it is set");
    volume.close().expect("it closes");
    for round in 0..20u64 {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "kill::a_large_removal_goes_on_after_each_kill"])
            .env(REMOVAL, folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(5 + 3 * round));
        // It may have ended by itself.
        drop(child.kill());
        child.wait().expect("it ends");
        let volume = options(Durability::Process).open(folder.path()).expect("it opens");
        let whole = volume.entry("/big").expect("a path").is_some();
        let lines = exported(&volume).lines().count();
        assert_eq!(lines, if whole { 3_000 + 50 + 3 } else { 2 }, "all of it or nothing");
        drop(volume);
    }
    let volume = options(Durability::Process).open(folder.path()).expect("it opens");
    if volume.entry("/big").expect("a path").is_some() {
        volume.root().unlink_all("big").expect("it is there");
    }
    volume.sweep().expect("a sweep");
    volume.close().expect("it closes");
    expect_consistent(folder.path());
}
