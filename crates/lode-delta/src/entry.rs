//! The lines of an entry of the log, or of a checkpoint that has lines.

use crate::actions::Action;
use crate::error::Result;
use crate::files::Files;

/// The folder of the log.
pub(crate) const LOG: &str = "_delta_log";

/// Reads the actions of an entry, or of a checkpoint of lines.
pub(crate) fn actions_in(files: &Files, name: &str, content: Vec<u8>) -> Result<Vec<Action>> {
    let content =
        String::from_utf8(content).map_err(|_| files.damaged(format!("{name} is no UTF-8")))?;
    let actions = content.lines().filter(|line| !line.trim().is_empty());
    let actions = actions.map(|line| {
        serde_json::from_str(line).map_err(|error| files.damaged(format!("{name}: {error}")))
    });
    actions.collect()
}
