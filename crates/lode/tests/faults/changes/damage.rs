//! Damaged segments of the history: what is read of them is what was written, or an error.

use lode::simulation::{self, Simulated};
use lode::{Change, Database, Durability, Error, Options, Position};

use super::work::{End, Work};
use crate::random::mix;

const FRAMES_AT: usize = 8192;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("four bytes"))
}

/// Makes the checksums of all frames of a segment right again, as far as they follow each other.
fn mend(segment: &mut [u8]) {
    let (salt, mut chain) = (word(segment, 28), word(segment, 80));
    let mut at = FRAMES_AT;
    while at + 16 <= segment.len() {
        let (size, flags) = (word(segment, at + 8) as usize, word(segment, at + 12));
        let head = 16 + (flags >> 8 & 1) as usize * 16 + (flags >> 16 & 15) as usize * 8;
        let end = at + (head + size).next_multiple_of(8);
        let Some(frame) = segment.get_mut(at..end).filter(|_| flags != 0) else { return };
        frame[4..8].copy_from_slice(&chain.to_le_bytes());
        chain = crc32c::crc32c_append(salt, &frame[4..]);
        frame[..4].copy_from_slice(&chain.to_le_bytes());
        at = end;
    }
}

/// Returns a disk with a database whose log needs no replay, and all of its changes.
fn closed() -> (Simulated, Vec<Vec<String>>) {
    let mut work = Work::new(5, Durability::Commit);
    (0..300).for_each(|_| work.step());
    work.reopen(End::Closed);
    // Of these, only the database's own place says that they were there.
    (0..100).for_each(|_| work.step());
    let changes = read(&work.db).0;
    work.db.close().expect("nothing is wrong with the disk");
    (work.disk.fork(), changes)
}

/// Returns all changes that can be read, commit by commit, and the error after them.
fn read(db: &Database) -> (Vec<Vec<String>>, Option<Error>) {
    let mut commits = Vec::new();
    let changes = match db.changes(None) {
        Ok(changes) => changes,
        Err(error) => return (commits, Some(error)),
    };
    for commit in changes {
        match commit {
            Ok(commit) => {
                let shown = |change: &Change| format!("{change:?}");
                commits.push(commit.changes.iter().map(shown).collect());
            }
            Err(error) => return (commits, Some(error)),
        }
    }
    (commits, None)
}

/// Damages a byte of the frames of a segment; returns what can be read then.
fn damaged(
    disk: &Simulated,
    random: u64,
    is_mended: bool,
) -> Option<(Vec<Vec<String>>, Option<Error>)> {
    let disk = disk.fork();
    let logs: Vec<_> =
        disk.file_names().into_iter().filter(|name| name.starts_with("log-")).collect();
    let name = &logs[random as usize % logs.len()];
    let mut bytes = disk.file_bytes(name).expect("it is there");
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0).saturating_sub(FRAMES_AT);
    if used == 0 {
        return None;
    }
    let at = FRAMES_AT + (random >> 16) as usize % used;
    bytes[at] ^= 1 << (random >> 8 & 7);
    if is_mended {
        mend(&mut bytes);
    }
    disk.put_file(name, bytes);
    let options = Options::new().memory_bytes(2 << 20);
    let db = simulation::open_read_only(&options, &disk, 1).ok()?;
    Some(read(&db))
}

#[test]
fn damaged_frames_are_not_read_and_forged_ones_are_errors_or_other_changes() {
    let (disk, whole) = closed();
    assert!(whole.len() > 100, "{} commits", whole.len());
    let (mut shorter, mut errors) = (0, 0);
    for seed in 0..400 {
        let random = mix(seed);
        if let Some((commits, error)) = damaged(&disk, random, false) {
            assert!(whole.starts_with(&commits), "seed {seed}: other changes than were made");
            let is_shorter = commits.len() < whole.len();
            assert!(error.is_some() || !is_shorter, "seed {seed}: {} commits", commits.len());
            shorter += usize::from(is_shorter);
        }
        let forged = damaged(&disk, random, true);
        errors += usize::from(forged.is_some_and(|(_, error)| error.is_some()));
    }
    assert!(shorter > 50, "{shorter} were damaged where it matters");
    assert!(errors > 20, "{errors} forged logs were refused");
}

#[test]
fn a_reader_that_continues_tells_damage_from_the_end() {
    let mut work = Work::new(6, Durability::Commit);
    let mut changes = work.db.changes(None).expect("they are kept");
    let known = changes.by_ref().count();
    (0..2_000).for_each(|_| work.step());
    let all = work.db.changes(None).expect("they are kept");
    let ends: Vec<_> = all.map(|commit| commit.expect("it is whole").position).collect();
    assert!(work.db.check().is_ok_and(|report| report.is_sound()), "nothing is wrong yet");
    let position = ends[known + 20].to_string();
    let mut parts = position.split('-').map(|part| part.parse::<u64>().unwrap_or(0));
    let (segment, at) = (parts.next().expect("a segment"), parts.next().expect("a byte"));
    work.disk.flip_bit(&format!("log-{segment:012}"), at * 8 - 1);
    let first = changes.by_ref().take_while(Result::is_ok).count();
    assert_eq!(first, 20, "those before the damage are read");
    let error = changes.next().expect("it is not the end").expect_err("it is damaged");
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    // No frame leads to a later position of that segment, which is still one of this database.
    let is_of_segment = |end: &Position| end.to_string().starts_with(&format!("{segment}-"));
    let later = ends.iter().rfind(|end| is_of_segment(end)).expect("the damaged one ends there");
    assert_eq!(work.db.changes(*later).map(drop), Err(error.clone()));
    let at_fault = format!("changes that are kept: {error}");
    let report = work.db.check().expect("it is open");
    assert_eq!(report.faults.iter().map(|fault| &fault.why).collect::<Vec<_>>(), [&at_fault]);
}
