//! Engines in shared libraries: those that the command line names, and those in folders of plugins,
//! which are loaded only when they are asked for.

pub(crate) mod folders;
pub(crate) mod known;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use assay_driver::Driver;
use assay_drivers::plugin::{self, Description};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;

use crate::cli::Plugins;
use crate::worker::parent::{self, End};
use crate::worker::patience::Patience;
use crate::worker::{Job, Message};

/// The time limit for a plugin to describe itself.
static TIMEOUT: OnceLock<Duration> = OnceLock::new();

/// The default of `--plugin-timeout`.
const TIMEOUT_S: u64 = 60;

/// Describes each library that the command line names, in a separate process. After that its engine
/// can be named.
///
/// A library that does not describe itself in time is refused.
pub(crate) fn load(plugins: &Plugins) -> Outcome {
    TIMEOUT.get_or_init(|| Duration::from_secs(plugins.plugin_timeout));
    for path in &plugins.paths {
        let refused = |why: String| Failure::Refused(format!("{}: {why}", path.display()));
        let whole = path.canonicalize().map_err(|e| refused(e.to_string()))?;
        let description = describe(&whole)?.map_err(refused)?;
        plugin::register(&whole, description).map_err(refused)?;
    }
    Ok(())
}

/// Returns the time limit for a plugin, or another build, to introduce itself.
pub(crate) fn patience() -> Patience {
    let limit = *TIMEOUT.get_or_init(|| Duration::from_secs(TIMEOUT_S));
    Patience::Whole(limit, "--plugin-timeout")
}

/// Returns a library's declaration, or why it is no plugin; the outer error is an interrupt.
pub(crate) fn describe(whole: &Path) -> Outcome<Result<Description, String>> {
    if whole.to_str().is_none() {
        return Ok(Err("not UTF-8; choose another name for it".into()));
    }
    // Opening a pipe would wait for its other end.
    if !whole.is_file() && !whole.is_dir() {
        return Ok(Err("is a device or a pipe; name a shared library".into()));
    }
    let patience = patience();
    let interrupt = Interrupt::ending_at_once();
    let end = parent::run(&Job::Describe(whole.into()), patience, &interrupt, &mut |_| ());
    Ok(match end {
        End::Replied(Message::Described(described)) => described,
        End::Replied(other) => Err(format!("its worker sent {}", other.what())),
        End::Failed(why) | End::Killed(why) => Err(why),
        End::Interrupted => return Err(Failure::Interrupted("interrupted".into())),
    })
}

/// Looks for an engine's plugin in the folders, and registers its engine. A plugin that exists and
/// cannot be used is refused.
pub(crate) fn find(id: &str) -> Outcome<Option<Box<dyn Driver>>> {
    let file = folders::file_name(id);
    for folder in folders::all() {
        let path = folder.join(&file);
        if path.symlink_metadata().is_ok() {
            take(id, &folder, &path)?.map_err(Failure::Refused)?;
            return Ok(assay_drivers::find(id));
        }
    }
    Ok(None)
}

/// Returns the file that `--plugin` names for an engine to be there again, relative to the present
/// directory if it is inside; none for an engine that is found by its name, or is no plugin's.
pub(crate) fn named_file(id: &str) -> Option<PathBuf> {
    let path = plugin::path_of(id)?;
    let is_found = folders::all().iter().any(|folder| {
        folder.join(folders::file_name(id)).canonicalize().is_ok_and(|found| found == path)
    });
    if is_found {
        return None;
    }
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let inside = here.ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf));
    Some(inside.unwrap_or(path))
}

/// Registers the engines of all plugins in the folders. Returns a line for each plugin that cannot
/// be used.
pub(crate) fn find_all() -> Outcome<Vec<String>> {
    let mut refusals = Vec::new();
    for folder in folders::all() {
        match folders::ids_in(&folder) {
            Err(why) => refusals.push(why),
            Ok(ids) => {
                // A plugin that was found before goes first, as with programs on the path.
                for id in ids.iter().filter(|id| plugin::path_of(id).is_none()) {
                    let path = folder.join(folders::file_name(id));
                    refusals.extend(take(id, &folder, &path)?.err());
                }
            }
        }
    }
    Ok(refusals)
}

/// Registers a plugin from a folder; the inner error says in one line why it cannot.
fn take(id: &str, folder: &Path, path: &Path) -> Outcome<Result<(), String>> {
    if let Err(why) = folders::is_safe(folder, path) {
        return Ok(Err(why));
    }
    let said = |why: String| format!("{}: {why}", path.display());
    let whole = match path.canonicalize() {
        Ok(whole) => whole,
        Err(error) => return Ok(Err(said(error.to_string()))),
    };
    let described = describe(&whole)?.and_then(|description| {
        if description.id == id {
            plugin::register(&whole, description)
        } else {
            Err(format!(
                "its engine is {}; in a folder of plugins its name is {}",
                description.id,
                folders::file_name(&description.id)
            ))
        }
    });
    Ok(described.map_err(said))
}
