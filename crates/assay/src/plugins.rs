//! Engines in shared libraries that the command line names.

use std::path::PathBuf;

use assay_drivers::plugin;

use crate::Outcome;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::worker::parent::{self, End};
use crate::worker::{Job, Message};

/// Has each library looked at in a process of its own, and makes its engine one of those that can
/// be asked for.
pub fn load(paths: &[PathBuf]) -> Outcome {
    if paths.is_empty() {
        return Ok(());
    }
    let interrupt = Interrupt::watch()?;
    for path in paths {
        let refused = |why: String| Failure::Refused(format!("{}: {why}", path.display()));
        let whole = path.canonicalize().map_err(|e| refused(e.to_string()))?;
        let end = parent::run(&Job::Describe(whole.clone()), None, &interrupt, &mut |_| ());
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
