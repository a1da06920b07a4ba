//! The folders of plugins: those of `ASSAY_PLUGINS`, or the user's own.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};

/// The variable that names folders, with colons between them.
pub(crate) const VARIABLE: &str = "ASSAY_PLUGINS";

/// Returns the folders, in the order in which they are searched; none if both the variable and a
/// home directory are missing.
pub(crate) fn all() -> Vec<PathBuf> {
    chosen(env::var_os(VARIABLE), env::var_os("XDG_DATA_HOME"), env::var_os("HOME"))
}

fn chosen(
    variable: Option<OsString>,
    data_home: Option<OsString>,
    home: Option<OsString>,
) -> Vec<PathBuf> {
    if let Some(folders) = variable {
        // An empty name would be the current directory.
        return env::split_paths(&folders).filter(|path| !path.as_os_str().is_empty()).collect();
    }
    // The XDG Base Directory Specification wants relative paths to be ignored.
    let absolute = |path: Option<OsString>| path.map(PathBuf::from).filter(|p| p.is_absolute());
    let data = absolute(data_home).or_else(|| Some(absolute(home)?.join(".local/share")));
    data.map(|data| data.join("assay/plugins")).into_iter().collect()
}

/// Returns the file name of an engine's plugin.
pub(crate) fn file_name(id: &str) -> String {
    format!("lib{id}.so")
}

/// Returns the id of the engine whose plugin has this file name.
fn id_in(name: &str) -> Option<&str> {
    name.strip_prefix("lib")?.strip_suffix(".so").filter(|id| !id.is_empty())
}

/// Returns the engines that a folder has plugins for, in the order of their ids. A missing folder
/// has none.
///
/// # Errors
/// Why the folder cannot be read.
pub(crate) fn ids_in(folder: &Path) -> Result<Vec<String>, String> {
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(said)?,
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry.map_err(said)?.file_name();
        ids.extend(name.to_str().and_then(id_in).map(str::to_string));
    }
    ids.sort_unstable();
    Ok(ids)
}

/// Checks that only this user and root can change the folder and the file that would be loaded.
///
/// # Errors
/// Who else can, in one line.
pub(crate) fn is_safe(folder: &Path, file: &Path) -> Result<(), String> {
    [folder, file].into_iter().try_for_each(|path| {
        let shown = path.display();
        let found = fs::metadata(path).map_err(|error| format!("{shown}: {error}"))?;
        let owner = found.uid();
        if owner != 0 && owner != geteuid().as_raw() {
            return Err(format!(
                "{shown}: belongs to user {owner}, so no plugin is loaded from it; chown it, or \
                 name the plugin with --plugin"
            ));
        }
        let others = found.mode() & 0o002 != 0;
        let group = found.mode() & 0o020 != 0 && found.gid() != getegid().as_raw();
        if others || group {
            Err(format!(
                "{shown}: others may write to it, so no plugin is loaded from it; \
                 chmod go-w {shown}"
            ))
        } else {
            Ok(())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_the_named_ones_or_the_users_own() {
        let os = |text: &str| Some(OsString::from(text));
        let of = |variable, data, home| {
            chosen(variable, data, home)
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(os("/a:b::/c"), os("/data"), os("/home")), ["/a", "b", "/c"]);
        assert_eq!(of(os(""), os("/data"), os("/home")), [""; 0], "set and empty: none");
        assert_eq!(of(None, os("/data"), os("/home")), ["/data/assay/plugins"]);
        assert_eq!(of(None, os("data"), os("/home")), ["/home/.local/share/assay/plugins"]);
        assert_eq!(of(None, None, None), [""; 0]);
    }

    #[test]
    fn a_plugin_is_named_after_its_engine() {
        assert_eq!(id_in(&file_name("my-engine")), Some("my-engine"));
        for other in ["nudb.so", "libnudb.so.1", "lib.so", "libnudb.a", ".libnudb.so"] {
            assert_eq!(id_in(other), None, "{other}");
        }
    }
}
