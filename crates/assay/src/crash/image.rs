//! The image of a store: its files as a crash left them, before anything opened them. One is kept
//! of each round that broke a promise, so that the round can be examined again.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::durability::{Crash, Found, Promise};
use assay_suites::crash::{Job, Log};
use nix::errno::Errno;
use nix::unistd::{Whence, lseek};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::{given_file, printable};
use serde::{Deserialize, Serialize};

use super::folder::removed;
use super::{Chosen, Subject};

const FORMAT: &str = "assay-broken-store";
const SCHEMA_VERSION: u32 = 3;

/// The file that describes an image.
const DESCRIPTION: &str = "round.json";

/// The most bytes of a description; a larger file is not one.
const DESCRIPTION_MOST_BYTES: u64 = 128 << 20;
/// The folder of the store's files.
const STORE: &str = "store";

/// The description of an image. The files are in the folder `store` next to this description.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Image {
    format: String,
    schema_version: u32,
    /// The writer's job.
    pub job: Job,
    /// The way in which the writer was ended.
    pub crash: Crash,
    /// The promise of the level for such a crash.
    pub promise: Promise,
    /// The commits that were acknowledged.
    pub log: Log,
    /// The check's finding.
    pub found: Found,
    /// The command line that repeats the round.
    pub command: String,
    #[serde(skip)]
    folder: PathBuf,
}

/// The fields that descriptions of every schema version have.
#[derive(Deserialize)]
struct Front {
    format: String,
    schema_version: u32,
}

impl Image {
    /// Returns the description of an image that is not written yet.
    pub(crate) fn of(
        job: Job,
        crash: Crash,
        promise: Promise,
        log: Log,
        found: Found,
        command: String,
    ) -> Self {
        let folder = PathBuf::new();
        let format = FORMAT.into();
        let schema_version = SCHEMA_VERSION;
        Self { format, schema_version, job, crash, promise, log, found, command, folder }
    }

    /// Writes the image to `folder`, in place of an earlier image of that name: whole or not at
    /// all. `fill` writes the store's files into a folder that does not exist yet.
    pub(crate) fn keep(
        &self,
        folder: &Path,
        fill: &mut dyn FnMut(&Path) -> io::Result<()>,
    ) -> Outcome {
        let refused = |e: io::Error| {
            let shown = folder.display();
            Failure::Refused(format!("{shown}: {e}; choose another folder with --images"))
        };
        if folder.exists() && !folder.join(DESCRIPTION).exists() {
            return Err(refused(io::Error::other("it is there, and no image of a store")));
        }
        let unfinished = folder.with_extension("unfinished");
        let whole = removed(&unfinished)
            .and_then(|()| fs::create_dir_all(&unfinished))
            .and_then(|()| fill(&unfinished.join(STORE)))
            .and_then(|()| Ok(serde_json::to_vec_pretty(self)?))
            .and_then(|text| fs::write(unfinished.join(DESCRIPTION), text))
            .and_then(|()| removed(folder))
            .and_then(|()| fs::rename(&unfinished, folder));
        whole.map_err(|e| {
            // The rest of an unfinished image is of no use.
            let _ = removed(&unfinished);
            refused(e)
        })
    }

    /// Reads the description of the image in a folder.
    ///
    /// # Errors
    /// If it is missing, or another version's.
    pub(crate) fn load(folder: &Path) -> Outcome<Self> {
        let refused = |why: String| {
            let shown = folder.display();
            Failure::Refused(format!("{shown}: {why}; name a folder that `assay crash` kept"))
        };
        let text = given_file::read(&folder.join(DESCRIPTION), DESCRIPTION_MOST_BYTES)
            .map_err(|e| refused(format!("there is no image of a store ({DESCRIPTION}: {e})")))?;
        let no_image = |e: serde_json::Error| {
            let why = e.to_string();
            let why = printable::excerpt(&why);
            refused(format!("no image of a store ({DESCRIPTION}: {why})"))
        };
        let front: Front = serde_json::from_slice(&text).map_err(no_image)?;
        if front.format != FORMAT || front.schema_version != SCHEMA_VERSION {
            let found = front.schema_version;
            return Err(refused(format!(
                "an image of schema version {found}, this Assay reads version {SCHEMA_VERSION}"
            )));
        }
        let mut image: Self = serde_json::from_slice(&text).map_err(no_image)?;
        image.folder = folder.into();
        Ok(image)
    }

    /// Checks a copy of the store, made at `at`, as it was after the crash.
    pub(crate) fn look(
        &self,
        at: &Path,
        patience: Duration,
        interrupt: &Interrupt,
    ) -> Outcome<Found> {
        let store = self.folder.join(STORE);
        removed(at)
            .and_then(|()| copy_tree(&store, at))
            .map_err(|e| Failure::Refused(format!("{}: {e}", store.display())))?;
        let job = Job { dir: at.into(), namespace: None, ..self.job.clone() };
        let seed = job.seed;
        let subject = Subject {
            job: job.clone(),
            seed,
            patience,
            interrupt,
            crashes: 1,
            chosen: Chosen::default(),
        };
        subject.check(&job, &self.log).map(|checked| checked.found)
    }
}

/// Copies a folder with its content; holes in files stay holes.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() {
            copy_file(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Bytes that are copied at once.
const PIECE_BYTES: usize = 1 << 20;

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let target = File::create_new(to)?;
    let size_bytes = source.metadata()?.len();
    target.set_len(size_bytes)?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut at = 0;
    while let Some((start, end)) = data_after(&source, at)? {
        let mut place = start;
        while place < end {
            let wanted = usize::try_from(end - place).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let read = source.read_at(&mut piece[..wanted], place)?;
            if read == 0 {
                break;
            }
            target.write_all_at(&piece[..read], place)?;
            place += read as u64;
        }
        at = end;
    }
    Ok(())
}

/// Returns the next range of a file that is not a hole, from `at` on.
pub(super) fn data_after(file: &File, at: u64) -> io::Result<Option<(u64, u64)>> {
    let seek = |at: u64, whence| {
        let at = i64::try_from(at).map_err(io::Error::other)?;
        match lseek(file, at, whence) {
            Ok(found) => Ok(Some(found.cast_unsigned())),
            Err(Errno::ENXIO) => Ok(None),
            Err(error) => Err(io::Error::from(error)),
        }
    };
    let Some(start) = seek(at, Whence::SeekData)? else { return Ok(None) };
    let end = seek(start, Whence::SeekHole)?.unwrap_or(start);
    Ok((end > start).then_some((start, end)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_copy_has_the_same_bytes_and_the_same_holes() {
        let folder = tempfile::tempdir().expect("a folder");
        let from = folder.path().join("from");
        let to = folder.path().join("to");
        fs::create_dir_all(from.join("deeper")).expect("folders");
        let sparse = File::create(from.join("deeper/sparse")).expect("a file");
        sparse.write_all_at(b"near", 5).expect("write");
        sparse.write_all_at(&vec![7; 3 * PIECE_BYTES], 1 << 30).expect("write");
        sparse.set_len(2 << 30).expect("a hole at the end");
        fs::write(from.join("empty"), "").expect("write");
        std::os::unix::fs::symlink("empty", from.join("link")).expect("a link");
        copy_tree(&from, &to).expect("a copy");
        let copy = File::open(to.join("deeper/sparse")).expect("its copy");
        let found = copy.metadata().expect("it is there");
        assert_eq!(found.len(), 2 << 30);
        assert!(found.blocks() * 512 < 64 << 20, "{} blocks", found.blocks());
        let read = |at: u64, len: usize| {
            let mut bytes = vec![0; len];
            copy.read_exact_at(&mut bytes, at).expect("it has them");
            bytes
        };
        assert_eq!(read(4, 6), b"\0near\0");
        assert_eq!(read((1 << 30) - 1, 2), [0, 7]);
        assert_eq!(read((1 << 30) + 3 * PIECE_BYTES as u64 - 1, 2), [7, 0]);
        assert_eq!(fs::metadata(to.join("empty")).expect("it is there").len(), 0);
        assert_eq!(fs::read_link(to.join("link")).expect("a link"), Path::new("empty"));
    }
}
