//! Copies of a store that is being written, file by file as `cp -r` makes them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use assay_core::random::{derive, draw};
use assay_suites::crash::Job;
use program_support::exit::{Failure, Outcome};

use super::folder::Folder;
use super::image::{copy_tree, data_after};
use super::{Pause, Round, Rounds, Subject, Writer, gave_up};

/// The sizes of the pieces that files are copied in, by turns.
const PIECE_BYTES: [usize; 3] = [4 << 10, 32 << 10, 256 << 10];

/// Copying waits for fewer commits than this between two pieces, so that it takes a while.
const WAIT_COMMITS: u64 = 4;

/// Rounds in which the store is copied, and the copy is checked. In every other round the copy goes
/// over an older store of the same history.
pub(crate) struct Copies<'c> {
    pub subject: &'c Subject<'c>,
    pub folder: &'c Folder,
}

impl Rounds for Copies<'_> {
    fn round(&mut self, number: u32) -> Outcome<Result<Round, String>> {
        self.folder.empty()?;
        let subject = self.subject;
        let job = subject.job(number, self.folder.store(), None);
        let copied = Job { dir: self.folder.copy(), ..job.clone() };
        let seed = derive(job.seed, "copy");
        let commits = u64::from(job.commits);
        if number % 2 == 1 {
            let older = 1 + draw(seed, 0, commits.div_ceil(4));
            if let Err(why) = self.make_older(&copied, older)? {
                return Ok(Err(why));
            }
        }
        let drawn = 1 + draw(seed, 1, commits.div_ceil(2));
        let at = subject.chosen.at.first().copied().unwrap_or(drawn);
        let mut writer = Writer::start(subject, &job, &mut |_| Ok(()))?;
        let pause = writer.until(u32::try_from(at).unwrap_or(u32::MAX), subject.interrupt)?;
        if pause == Pause::Gone {
            return Ok(Err(gave_up(&writer.end())));
        }
        let mut pieces = 0;
        let mut between = || {
            pieces += 1;
            let done = writer.heard.acknowledged().unwrap_or_default();
            let more = draw(derive(seed, "wait"), pieces, WAIT_COMMITS) as u32;
            let until = done.saturating_add(more).min(job.commits);
            writer.until(until, subject.interrupt).map(drop)
        };
        let piece_bytes = PIECE_BYTES[number as usize / 2 % PIECE_BYTES.len()];
        copy_live(&job.dir, &copied.dir, piece_bytes, &mut between)?;
        let mut heard = writer.end();
        let Some(log) = heard.log.take() else { return Ok(Err(gave_up(&heard))) };
        copy_tree(&copied.dir, &self.folder.kept()).map_err(|e| said(&copied.dir, &e))?;
        let found = subject.check(&copied, &log)?.found;
        let recoveries = Vec::new();
        let cut_openings = 0;
        let age = None;
        let settings = heard.settings.unwrap_or_default();
        let job = copied;
        let faulted = None;
        let prepared = 0;
        Ok(Ok(Round {
            job,
            log,
            prepared,
            at,
            recoveries,
            cut_openings,
            found,
            age,
            settings,
            faulted,
            state: None,
        }))
    }

    fn keep(&mut self, folder: &Path) -> io::Result<()> {
        copy_tree(&self.folder.kept(), folder)
    }
}

impl Copies<'_> {
    /// Makes a store with the first commits of the history where the copy will be. The inner error
    /// says why it cannot.
    fn make_older(&self, job: &Job, commits: u64) -> Outcome<Result<(), String>> {
        let interrupt = self.subject.interrupt;
        fs::create_dir_all(&job.dir).map_err(|e| said(&job.dir, &e))?;
        let mut writer = Writer::start(self.subject, job, &mut |_| Ok(()))?;
        let pause = writer.until(u32::try_from(commits).unwrap_or(u32::MAX), interrupt)?;
        let heard = writer.end();
        if pause == Pause::Gone {
            return Ok(Err(gave_up(&heard)));
        }
        // At a level that promises nothing it may be gone; then the copy is over what is there.
        let mut opener = Writer::reopen(self.subject, job, &mut |_| Ok(()))?;
        opener.listen(interrupt, |heard| heard.closed.is_some())?;
        drop(opener.end());
        Ok(Ok(()))
    }
}

fn said(path: &Path, error: &io::Error) -> Failure {
    Failure::Refused(format!("{}: {error}", path.display()))
}

/// Copies a folder while its files change: one after another in the order of the folder, over those
/// of `to`. Files that are removed during the copy are left out. Calls `between` after each piece.
fn copy_live(
    from: &Path,
    to: &Path,
    piece_bytes: usize,
    between: &mut dyn FnMut() -> Outcome,
) -> Outcome {
    fs::create_dir_all(to).map_err(|e| said(to, &e))?;
    for entry in fs::read_dir(from).map_err(|e| said(from, &e))? {
        let entry = entry.map_err(|e| said(from, &e))?;
        let target = to.join(entry.file_name());
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => copy_live(&path, &target, piece_bytes, between)?,
            Ok(kind) if kind.is_file() => copy_file(&path, &target, piece_bytes, between)?,
            // An engine's own links and pipes are no data.
            _ => {}
        }
    }
    Ok(())
}

fn copy_file(
    from: &Path,
    to: &Path,
    piece_bytes: usize,
    between: &mut dyn FnMut() -> Outcome,
) -> Outcome {
    let source = match File::open(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(|e| said(from, &e))?,
    };
    let size_bytes = source.metadata().map_err(|e| said(from, &e))?.len();
    let target = File::create(to).map_err(|e| said(to, &e))?;
    let mut piece = vec![0; piece_bytes];
    let mut at = 0;
    while let Some((start, end)) = data_after(&source, at).map_err(|e| said(from, &e))? {
        at = start;
        while at < end {
            let wanted = piece.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            let read = source.read_at(&mut piece[..wanted], at).map_err(|e| said(from, &e))?;
            if read == 0 {
                // The file was cut off during the copy.
                at = end;
                break;
            }
            target.write_all_at(&piece[..read], at).map_err(|e| said(to, &e))?;
            at += read as u64;
            between()?;
        }
    }
    // A hole at the end is copied too.
    target.set_len(at.max(size_bytes)).map_err(|e| said(to, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_goes_over_what_is_there_in_pieces() {
        let folder = tempfile::tempdir().expect("a folder");
        let from = folder.path().join("from");
        let to = folder.path().join("to");
        fs::create_dir_all(from.join("deeper")).expect("folders");
        fs::create_dir_all(&to).expect("a folder");
        fs::write(from.join("deeper/data"), vec![7; 10]).expect("write");
        fs::write(from.join("short"), "new").expect("write");
        fs::write(to.join("short"), "older and longer").expect("write");
        fs::write(to.join("other"), "stays").expect("write");
        let mut pieces = 0;
        let mut between = || {
            pieces += 1;
            // What is not copied yet is copied as it is then.
            fs::write(from.join("deeper/data"), vec![8; 10]).map_err(|e| said(&from, &e))
        };
        copy_live(&from, &to, 4, &mut between).expect("a copy");
        assert_eq!(fs::read(to.join("short")).expect("it is there"), b"new");
        assert_eq!(fs::read(to.join("other")).expect("it is there"), b"stays");
        let data = fs::read(to.join("deeper/data")).expect("it is there");
        assert_eq!((data.len(), data[9]), (10, 8), "{data:?}");
        assert_eq!(pieces, 4);
    }
}
