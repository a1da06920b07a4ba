//! The folder of a site. Only files that its manifest names are replaced or removed, so no other
//! files are lost.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use program_support::exit::{Failure, Outcome};
use program_support::{given_file, whole_file};
use serde::{Deserialize, Serialize};

use crate::files;

/// The file that marks a folder as a site's.
const MANIFEST: &str = "site.json";

/// The most bytes of a manifest; a larger file is not one.
const MANIFEST_MOST_BYTES: u64 = 64 << 20;

const FORMAT: &str = "assay-site";

/// The names of the site's files in a folder.
#[derive(Serialize, Deserialize)]
struct Manifest {
    format: String,
    files: BTreeSet<String>,
}

/// A file of a site.
pub(super) struct SiteFile {
    /// The file's path from the site's folder.
    pub name: String,
    pub content: Vec<u8>,
}

/// The folder, checked before anything is written.
pub(super) struct SiteFolder {
    path: PathBuf,
    /// Files that an earlier site left in the folder.
    own: BTreeSet<String>,
}

impl SiteFolder {
    /// Checks that a site can be written to `path`.
    ///
    /// # Errors
    /// If something other than a site is there.
    pub(super) fn look(path: &Path) -> Outcome<Self> {
        let refused = |why: &str| Err(refusal(path, why));
        let own = match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return refused(&error.to_string()),
            Ok(true) => BTreeSet::new(),
            Ok(false) => match manifest(path) {
                Some(manifest) => manifest.files,
                None => return refused("there are files here that are not of a site"),
            },
        };
        Ok(Self { path: path.into(), own })
    }

    /// Writes the files of a site, each whole, and removes those of an earlier site that it no
    /// longer has.
    pub(super) fn write(self, files: Vec<SiteFile>) -> Outcome {
        let new: BTreeSet<_> = files.iter().map(|file| file.name.clone()).collect();
        for name in new.difference(&self.own) {
            if self.path.join(name).symlink_metadata().is_ok() {
                let why = format!("there is a file {name} that is not of a site");
                return Err(refusal(&self.path, &why));
            }
        }
        files::make_directory(&self.path, "--output")?;
        // Until all are written, the manifest names the old and the new files.
        self.write_manifest(new.union(&self.own).cloned().collect())?;
        for folder in new.iter().chain(&self.own).filter_map(|name| Path::new(name).parent()) {
            self.make_folder(folder)?;
        }
        for SiteFile { name, content } in &files {
            self.write_file(name, content)?;
        }
        for name in self.own.difference(&new) {
            match fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(refusal(&self.path, &format!("{name}: {error}")));
                }
                _ => {}
            }
        }
        self.write_manifest(new)
    }

    /// Makes a folder of the site. A link is refused.
    fn make_folder(&self, name: &Path) -> Outcome {
        let path = self.path.join(name);
        let shown = name.display();
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => Err(refusal(&self.path, &format!("{shown} is no folder of a site"))),
            Err(_) => {
                fs::create_dir_all(&path).map_err(|e| refusal(&self.path, &format!("{shown}: {e}")))
            }
        }
    }

    fn write_manifest(&self, files: BTreeSet<String>) -> Outcome {
        let manifest = Manifest { format: FORMAT.into(), files };
        let mut text = serde_json::to_vec_pretty(&manifest)
            .map_err(|e| refusal(&self.path, &format!("{MANIFEST}: {e}")))?;
        text.push(b'\n');
        self.write_file(MANIFEST, &text)
    }

    fn write_file(&self, name: &str, content: &[u8]) -> Outcome {
        whole_file::write(&self.path.join(name), content)
            .map_err(|e| refusal(&self.path, &format!("{name}: {e}")))
    }
}

fn refusal(path: &Path, why: &str) -> Failure {
    let shown = path.display();
    Failure::Refused(format!("{shown}: {why}; choose another folder with --output"))
}

/// Returns the manifest of a site, if it exists and all that it names is in its folder.
fn manifest(folder: &Path) -> Option<Manifest> {
    let text = given_file::read(&folder.join(MANIFEST), MANIFEST_MOST_BYTES).ok()?;
    let manifest: Manifest = serde_json::from_slice(&text).ok()?;
    let is_inside = |name: &String| {
        let mut parts = Path::new(name).components();
        !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
    };
    (manifest.format == FORMAT && manifest.files.iter().all(is_inside)).then_some(manifest)
}
