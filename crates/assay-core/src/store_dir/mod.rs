//! The directory of a store: the engine's files in `data/`, and a marker next to them. The marker
//! describes the store's content, so that a later run can open it and check every lookup.

mod files;
mod marker;

use std::fs;
use std::io;
use std::path::PathBuf;

use assay_driver::KeyKind;

pub use marker::{Difference, Marker, Part};

const MARKER: &str = "assay-store.json";
const ACKNOWLEDGED: &str = "assay-acknowledged";

/// The reason why a store's directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreDirError {
    /// The operating system reported an error.
    #[error("{path}: {source}; choose another directory with --dir")]
    Io {
        /// The path of the file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// Files that Assay did not make.
    #[error(
        "{0}: there are files here that Assay did not make; choose another directory with --dir"
    )]
    Foreign(String),
    /// The directory has no store to open.
    #[error("{0}: there is no store here; make one first: run with -i or -l and -d 0")]
    Missing(String),
    /// The directory has a store of something else.
    #[error(
        "{path}: {difference}; run with what the store was made with, or choose another directory \
         with --dir"
    )]
    Different {
        /// The path of the store.
        path: String,
        /// The first difference.
        difference: Difference,
    },
}

/// A store's directory.
#[derive(Clone, Debug)]
pub struct StoreDir {
    path: PathBuf,
}

impl StoreDir {
    /// Returns the store at `path`, which need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the directory of the engine's files.
    pub fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Returns true if the directory has a marked store.
    pub fn is_marked(&self) -> bool {
        self.path.join(MARKER).exists()
    }

    /// Returns the key kind of the store in the directory; none without a store.
    pub fn key_kind(&self) -> Option<KeyKind> {
        let text = fs::read(self.path.join(MARKER)).ok()?;
        serde_json::from_slice::<Marker>(&text).ok().map(|marker| marker.key_kind)
    }

    /// Makes an empty directory with this marker, in place of an existing store of Assay's.
    pub fn create(&self, marker: &Marker) -> Result<(), StoreDirError> {
        self.remove()?;
        fs::create_dir_all(&self.path).map_err(|e| self.io(e))?;
        self.mark(marker)?;
        fs::create_dir(self.data()).map_err(|e| self.io(e))
    }

    /// Removes the store, or the parts of an unfinished one. Other files without a marker are not a
    /// store, and stay.
    pub fn remove(&self) -> Result<(), StoreDirError> {
        let foreign = || StoreDirError::Foreign(self.path.display().to_string());
        let entries = match fs::read_dir(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(|e| self.io(e))?,
        };
        let unfinished = format!("{MARKER}.new");
        let mut is_unfinished = true;
        for entry in entries {
            let name = entry.map_err(|e| self.io(e))?.file_name();
            let ours = ["data", MARKER, ACKNOWLEDGED, &unfinished];
            if !ours.iter().any(|ours| name == *ours) {
                return Err(foreign());
            }
            is_unfinished &= name == unfinished.as_str();
        }
        // The process that makes a store may be killed before the store has its marker.
        if !is_unfinished {
            let text = fs::read(self.path.join(MARKER)).map_err(|_| foreign())?;
            serde_json::from_slice::<Marker>(&text).map_err(|_| foreign())?;
        }
        // The marker goes last, so that what a killed process has left is still a store.
        match fs::remove_dir_all(self.data()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(self.io(e)),
            _ => {}
        }
        fs::remove_dir_all(&self.path).map_err(|e| self.io(e))
    }

    /// Writes the marker, whole or not at all.
    pub fn mark(&self, marker: &Marker) -> Result<(), StoreDirError> {
        let text = serde_json::to_vec_pretty(marker).expect("a marker is plain data");
        let temporary = self.path.join(format!("{MARKER}.new"));
        fs::write(&temporary, text)
            .and_then(|()| fs::rename(&temporary, self.path.join(MARKER)))
            .map_err(|e| {
                let _ = fs::remove_file(&temporary);
                self.io(e)
            })
    }

    /// Reads the marker of a store that an earlier run left, and compares it with what this run
    /// expects (in everything but its rows).
    pub fn expect(&self, expected: &Marker) -> Result<Marker, StoreDirError> {
        let path = self.path.display().to_string();
        let text = match fs::read(self.path.join(MARKER)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(if self.path.exists() {
                    StoreDirError::Foreign(path)
                } else {
                    StoreDirError::Missing(path)
                });
            }
            other => other.map_err(|e| self.io(e))?,
        };
        let Ok(found) = serde_json::from_slice::<Marker>(&text) else {
            return Err(StoreDirError::Foreign(path));
        };
        let difference = expected.difference(&found);
        match difference {
            Some(difference) => Err(StoreDirError::Different { path, difference }),
            None => Ok(found),
        }
    }

    /// Returns the path of the file in which a process that is to be killed counts the writes that
    /// were acknowledged.
    pub fn acknowledged(&self) -> PathBuf {
        self.path.join(ACKNOWLEDGED)
    }

    /// Drops the engine's files from the page cache. None of them may be open.
    pub fn drop_from_page_cache(&self) -> Result<(), StoreDirError> {
        files::drop_from_page_cache(&self.data()).map_err(|e| self.io(e))
    }

    /// Returns the disk space that the engine's files take.
    pub fn size_bytes(&self) -> u64 {
        files::size_bytes(&self.data())
    }

    fn io(&self, source: io::Error) -> StoreDirError {
        StoreDirError::Io { path: self.path.display().to_string(), source }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn marker(engine: &str) -> Marker {
        let mut marker = Marker::new(
            engine,
            "1",
            &BTreeMap::new(),
            "crossbench",
            "route".into(),
            "dense".into(),
            KeyKind::Tree,
            1,
        );
        marker.in_progress = false;
        marker
    }

    fn store() -> (tempfile::TempDir, StoreDir) {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let store = StoreDir::new(folder.path().join("stores").join("lmdb-disk"));
        (folder, store)
    }

    #[test]
    fn a_marked_store_is_found_again() {
        let (_folder, store) = store();
        store.create(&marker("lmdb")).expect("create");
        assert_eq!(store.expect(&marker("lmdb")).expect("the same"), marker("lmdb"));
    }

    #[test]
    fn another_engines_store_is_refused_by_name() {
        let (_folder, store) = store();
        store.create(&marker("lmdb")).expect("create");
        let error = store.expect(&marker("redb")).expect_err("another engine").to_string();
        assert!(error.contains("another engine: lmdb, not redb"), "{error}");
    }

    #[test]
    fn other_engine_settings_are_refused_as_a_user_writes_them() {
        let (_folder, store) = store();
        let set = [("rowid", "yes"), ("wal", "off")].map(|(n, v)| (n.into(), v.into()));
        let mut made = marker("sqlite");
        made.engine_options = BTreeMap::from(set);
        store.create(&made).expect("create");
        let error = store.expect(&marker("sqlite")).expect_err("other settings").to_string();
        let words = "other engine settings: rowid=yes, wal=off, not the defaults";
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn a_store_left_half_changed_is_refused() {
        let (_folder, store) = store();
        let mut half = marker("lmdb");
        half.in_progress = true;
        store.create(&half).expect("create");
        let error = store.expect(&marker("lmdb")).expect_err("half-changed").to_string();
        assert!(error.contains("half-changed"), "{error}");
    }

    #[test]
    fn files_dropped_from_the_page_cache_are_read_from_the_device_again() {
        let (_folder, store) = store();
        store.create(&marker("lmdb")).expect("create");
        let kind = crate::environment::filesystem_of(&store.data()).map(|fs| fs.kind);
        if kind.as_deref() == Some("tmpfs") {
            println!("skipped: the directory for temporary files is on a RAM disk");
            return;
        }
        let file = store.data().join("file");
        fs::write(&file, vec![7; 4 << 20]).expect("write");
        // Counts this thread alone: concurrent tests read too, if only the program's own pages.
        let read_from_device = || {
            let me = nix::unistd::gettid().as_raw();
            let read_bytes = || {
                let process = procfs::process::Process::myself().expect("this process");
                let thread = process.task_from_tid(me).expect("this thread");
                thread.io().expect("its account").read_bytes
            };
            let before = read_bytes();
            assert_eq!(fs::read(&file).expect("read").len(), 4 << 20);
            read_bytes() - before
        };
        assert!(read_from_device() < 1 << 20, "it was just written");
        store.drop_from_page_cache().expect("drop");
        assert!(read_from_device() >= 4 << 20);
    }

    #[test]
    fn what_has_no_blocks_yet_counts_and_holes_do_not() {
        let (_folder, store) = store();
        store.create(&marker("lmdb")).expect("create");
        let file = fs::File::create(store.data().join("sparse")).expect("create");
        file.set_len(1 << 30).expect("a hole");
        assert_eq!(store.size_bytes(), 0);
        fs::write(store.data().join("dense"), vec![7; 1 << 20]).expect("write");
        let size = store.size_bytes();
        assert!((1 << 20..2 << 20).contains(&size), "{size}");
    }

    #[test]
    fn foreign_files_are_never_removed() {
        let (_folder, store) = store();
        store.create(&marker("lmdb")).expect("create");
        let precious = store.path.join("precious.txt");
        fs::write(&precious, "mine").expect("write");
        assert!(matches!(store.create(&marker("lmdb")), Err(StoreDirError::Foreign(_))));
        assert!(precious.exists());
    }

    #[test]
    fn a_store_that_was_being_made_is_removed() {
        let (_folder, store) = store();
        for content in [None, Some(""), Some("{")] {
            fs::create_dir_all(&store.path).expect("a directory");
            if let Some(text) = content {
                fs::write(store.path.join(format!("{MARKER}.new")), text).expect("write");
            }
            store.remove().expect("it is Assay's own");
            assert!(!store.path.exists(), "{content:?}");
        }
    }

    #[test]
    fn a_directory_without_a_marker_is_never_removed() {
        let (_folder, store) = store();
        fs::create_dir_all(store.data()).expect("a directory");
        fs::write(store.data().join("mine.txt"), "mine").expect("write");
        assert!(matches!(store.remove(), Err(StoreDirError::Foreign(_))));
        assert!(store.data().join("mine.txt").exists());
    }

    #[test]
    fn what_a_killed_marking_leaves_does_not_block_the_store() {
        let (_folder, store) = store();
        store.create(&marker("lmdb")).expect("create");
        fs::write(store.path.join(format!("{MARKER}.new")), "{").expect("write");
        store.create(&marker("lmdb")).expect("create again");
    }

    #[test]
    fn a_removed_store_is_missing() {
        let (_folder, store) = store();
        store.create(&marker("lmdb")).expect("create");
        store.remove().expect("remove");
        assert!(matches!(store.expect(&marker("lmdb")), Err(StoreDirError::Missing(_))));
    }
}
