//! Engines in shared libraries that the command line names.

use std::time::Duration;

use assay_drivers::plugin;

use crate::Outcome;
use crate::cli::Plugins;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::worker::parent::{self, End};
use crate::worker::patience::Patience;
use crate::worker::{Job, Message};

/// Has each library looked at in a process of its own, and makes its engine one of those that can
/// be asked for.
///
/// A library that does not describe itself in time is refused.
pub fn load(plugins: &Plugins) -> Outcome {
    let limit = Duration::from_secs(plugins.plugin_timeout);
    let patience = Patience::Whole(limit, "--plugin-timeout");
    let interrupt = Interrupt::ending_at_once();
    for path in &plugins.paths {
        let refused = |why: String| Failure::Refused(format!("{}: {why}", path.display()));
        let whole = path.canonicalize().map_err(|e| refused(e.to_string()))?;
        if whole.to_str().is_none() {
            return Err(refused("not UTF-8; choose another name for it".into()));
        }
        let end = parent::run(&Job::Describe(whole.clone()), patience, &interrupt, &mut |_| ());
        let description = match end {
            End::Answered(Message::Described(Ok(description))) => description,
            End::Answered(Message::Described(Err(why))) | End::Failed(why) => {
                return Err(refused(why));
            }
            End::Answered(other) => return Err(refused(format!("its worker answered {other:?}"))),
            End::Interrupted => return Err(Failure::Interrupted("interrupted".into())),
        };
        plugin::register(&whole, description).map_err(refused)?;
    }
    Ok(())
}
