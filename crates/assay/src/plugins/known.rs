//! The plugins whose sources this program carries: engines that no package has, built against the
//! user's copy of their headers or sources.

use std::path::{Path, PathBuf};

/// A plugin that `assay plugin build` knows.
#[derive(Debug)]
pub(crate) struct Known {
    /// The engine's id.
    pub id: &'static str,
    /// The thing that `--with` names.
    pub what: &'static str,
    /// The Makefile's variable for the path of `--with`.
    pub variable: &'static str,
    /// The plugin's own files.
    pub files: [(&'static str, &'static str); 2],
    /// The subfolders in which the needed files may be.
    subfolders: [&'static str; 2],
    /// The files that must exist.
    needs: &'static [&'static str],
}

/// All plugins that `assay plugin build` knows.
pub(crate) const KNOWN: [Known; 2] = [
    Known {
        id: "nudb",
        what: "NuDB's headers",
        variable: "NUDB",
        files: [
            ("nudb.cpp", include_str!("../../templates/plugins/nudb/nudb.cpp")),
            ("Makefile", include_str!("../../templates/plugins/nudb/Makefile")),
        ],
        subfolders: [".", "include"],
        needs: &["nudb/nudb.hpp", "nudb/version.hpp", "nudb/impl/basic_store.ipp"],
    },
    Known {
        id: "skvdb",
        what: "SKVDB's sources",
        variable: "SKVDB",
        files: [
            ("skvdb.cpp", include_str!("../../templates/plugins/skvdb/skvdb.cpp")),
            ("Makefile", include_str!("../../templates/plugins/skvdb/Makefile")),
        ],
        subfolders: [".", "lib"],
        needs: &["vfs/Storage.hpp", "vfs/Storage.cpp", "ondisk/Volume.hpp", "ondisk/Volume.cpp"],
    },
];

impl Known {
    /// Returns the plugin with this id.
    pub(crate) fn find(id: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.id == id)
    }

    /// Returns the command that builds the plugin.
    pub(crate) fn command(&self) -> String {
        format!("assay plugin build {} --with <folder of {}>", self.id, self.what)
    }

    /// Looks for the needed files in a folder.
    ///
    /// # Errors
    /// Which files are missing.
    pub(crate) fn look(&self, folder: &Path) -> Result<(), String> {
        let first = self.needs[0];
        let subfolder = |subfolder: &&&str| folder.join(**subfolder).join(first).is_file();
        let Some(subfolder) = self.subfolders.iter().find(subfolder) else {
            return Err(format!(
                "there is no {first} in it, nor in its folder {}; name the folder of {}",
                self.subfolders[1], self.what
            ));
        };
        let path = |name: &&&str| -> PathBuf { folder.join(subfolder).join(**name) };
        match self.needs.iter().find(|name| !path(name).is_file()) {
            Some(missing) => Err(format!("{missing} is missing; it is not all of {}", self.what)),
            None => Ok(()),
        }
    }
}
