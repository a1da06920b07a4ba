//! The worker's side.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_core::counting;
use assay_core::crew;
use assay_core::plan::Cell;
use assay_core::usage;
use assay_drivers::plugin;
use assay_suites::Progress;
use assay_suites::{crash, isolate, run};
use nix::sys::prctl;
use nix::sys::signal::{Signal, raise};
use nix::unistd::{dup, dup2_stdout};
use program_support::exit::{Failure, Outcome};
use serde_json::Value;
use signal_hook::consts::SIGCONT;
use signal_hook::iterator::Signals;

use super::introduction::introduction;
use super::{Job, Message, callgrind, memory_group, program};

/// Room for a job, which is shorter as a rule.
const MOST_JOB_BYTES: usize = 1 << 16;
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The place that a worker enters before its job.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// The mount namespace of a process.
    Namespace(u32),
    /// The control group with this folder.
    MemoryGroup(PathBuf),
    /// Callgrind, which writes its counts into this folder.
    Callgrind(PathBuf),
    /// A process whose addresses are not drawn at random.
    FixedAddresses,
}

/// Does the job that standard input names; in a place, if one is named, and with the engines of
/// these plugins. A traced worker stops until its tracer is there.
pub(crate) fn work(place: Option<&Place>, is_traced: bool, plugins: &[PathBuf]) -> Outcome {
    if let Some(place) = place {
        return Err(begin_again_inside(place, plugins));
    }
    let failed =
        |what: &str, e: &dyn std::fmt::Display| Failure::Refused(format!("worker: {what}: {e}"));
    // The worker dies with its parent, however that dies.
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|e| failed("watch the parent", &e))?;
    if is_traced {
        raise(Signal::SIGSTOP).map_err(|e| failed("wait for the tracer", &e))?;
    }
    let mut replies = Replies(
        dup(io::stdout())
            .and_then(|replies| dup2_stdout(io::stderr()).map(|()| File::from(replies)))
            .map_err(|e| failed("keep standard output apart", &e))?,
    );
    // The job takes the same memory, however many pieces it comes in: counts depend on addresses.
    let mut text = String::with_capacity(MOST_JOB_BYTES);
    io::stdin().read_to_string(&mut text).map_err(|e| failed("read the job", &e))?;
    let job: Job = serde_json::from_str(&text).map_err(|e| {
        Failure::Usage(format!("worker is for the parent process, which writes it a job: {e}"))
    })?;
    note_stops().map_err(|e| failed("watch for stops", &e))?;
    panic::set_hook(Box::new(|_| ()));
    for path in plugins {
        plugin::describe(path)
            .and_then(|description| plugin::register(path, description))
            .map_err(|why| Failure::Refused(format!("{}: {why}", path.display())))?;
    }
    let message = panic::catch_unwind(AssertUnwindSafe(|| carry_out(job, &mut replies)))
        .unwrap_or_else(|payload| {
            let text = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied())
                .unwrap_or("without a message");
            Message::Panicked(text.to_string())
        });
    replies.send(&message).map_err(|e| failed("reply", &e))
}

/// Lets rounds know from now on when this process was stopped, since its clock continued.
fn note_stops() -> io::Result<()> {
    let mut continued = Signals::new([SIGCONT])?;
    std::thread::spawn(move || continued.forever().for_each(|_| usage::note_stop()));
    Ok(())
}

/// Enters a place and starts this program again there. So an engine's library sees the machine from
/// inside when it is loaded, and all memory of the program is counted there. Returns only with an
/// error.
fn begin_again_inside(place: &Place, plugins: &[PathBuf]) -> Failure {
    let again = || {
        let mut command = program::again();
        command.arg("worker");
        command
    };
    let (what, entered) = match place {
        Place::Namespace(process) => (
            "the filesystem of the power cut",
            assay_powercut::mount::enter(*process).map(|()| again()),
        ),
        Place::MemoryGroup(folder) => {
            ("the control group of its memory limit", memory_group::enter(folder).map(|()| again()))
        }
        Place::Callgrind(folder) => ("callgrind", callgrind::command(folder)),
        Place::FixedAddresses => {
            ("a process with fixed addresses", callgrind::fix_addresses().map(|()| again()))
        }
    };
    let error = match entered {
        Ok(mut command) => command.args(named(plugins)).exec(),
        Err(error) => error,
    };
    Failure::Refused(format!("worker: cannot enter {what}: {error}"))
}

/// Returns the words that name plugins.
pub(super) fn named(plugins: &[PathBuf]) -> impl Iterator<Item = &OsStr> {
    plugins.iter().flat_map(|path| [OsStr::new("--plugin"), path.as_os_str()])
}

fn carry_out(job: Job, replies: &mut Replies) -> Message {
    match job {
        Job::Introduce => Message::Introduced(introduction()),
        Job::Measure(cell) => match bind(&cell.cpus) {
            Ok(()) => measure(&cell, None, replies),
            Err(why) => Message::CannotBind(why),
        },
        Job::Resume(cell, left) => match bind(&cell.cpus) {
            Ok(()) => measure(&cell, Some(left), replies),
            Err(why) => Message::CannotBind(why),
        },
        Job::Count(cell, counter, _) => match bind(&cell.cpus) {
            Ok(()) => {
                let driver = driver(&cell.engine.id);
                // A report within a span would be counted. No worker is killed while it is counted:
                // a phase that asks for it ends with an error.
                let counted = counting::counted(counter, || {
                    run::measure(&cell, driver.as_ref(), &mut |_| (), &mut |_, _| ())
                });
                match counted {
                    Ok((measured, marks)) => Message::Counted(Box::new(measured), marks),
                    Err(error) => Message::CannotCount(format!("the processor's counter: {error}")),
                }
            }
            Err(why) => Message::CannotBind(why),
        },
        Job::Look(cell, left) => match bind(&cell.cpus) {
            Ok(()) => {
                let driver = driver(&cell.engine.id);
                Message::Looked(run::look(&cell, driver.as_ref(), left))
            }
            Err(why) => Message::CannotBind(why),
        },
        Job::Verify(job) => {
            Message::Verified(assay_suites::verify::run(&job, driver(&job.engine).as_ref()))
        }
        Job::Isolate(job) => {
            let isolated = isolate::run(&job, driver(&job.engine).as_ref());
            Message::Isolated(isolated.map_err(|error| error.to_string()))
        }
        Job::Describe(path) => Message::Described(plugin::describe(&path)),
        Job::CrashWrite(job) => {
            let mut say = |said| {
                // A parent that has ended ends this process anyway.
                let _ = replies.send(&Message::Wrote(said));
            };
            match crash::write(&job, driver(&job.engine).as_ref(), &mut say) {
                Err(error) => Message::CannotWrite(error.to_string()),
                Ok(()) => Message::CannotWrite("it ended by itself".into()),
            }
        }
        Job::CrashEndure(job, log, then) => {
            let mut say = |said| {
                let waits = said == crash::Said::Over && then == crash::Then::Waits;
                let _ = replies.send(&Message::Wrote(said));
                if waits {
                    loop {
                        std::thread::park();
                    }
                }
            };
            match crash::endure(&job, driver(&job.engine).as_ref(), &log, then, &mut say) {
                Err(error) => Message::CannotWrite(error.to_string()),
                Ok(()) => Message::Wrote(crash::Said::Over),
            }
        }
        Job::CrashReopen(job) => {
            let mut say = |said| drop(replies.send(&Message::Wrote(said)));
            match crash::reopen(&job, driver(&job.engine).as_ref(), &mut say) {
                Err(error) => Message::CannotWrite(error.to_string()),
                Ok(()) => Message::Wrote(crash::Said::Closed),
            }
        }
        Job::CrashCheck(job, log, settles) => {
            if settles {
                settle(&job.dir);
            }
            Message::Found(crash::check(&job, driver(&job.engine).as_ref(), &log))
        }
    }
}

/// Synchronises all files of a folder. An error of writing a page back is returned to the next
/// thread that synchronises its file. That holds even if the page's writer has ended and the disk
/// is healed.
fn settle(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => settle(&entry.path()),
            Ok(kind) if kind.is_file() => {
                let _ = File::open(entry.path()).and_then(|file| file.sync_all());
            }
            _ => {}
        }
    }
}

/// Binds this process to processors, if some are named.
fn bind(cpus: &[usize]) -> Result<(), String> {
    if cpus.is_empty() { Ok(()) } else { crew::bind(cpus) }
}

/// Measures a cell, or continues with what a killed worker left.
fn measure(cell: &Cell, killed: Option<Value>, replies: &mut Replies) -> Message {
    let replies = RefCell::new(replies);
    let mut last = Instant::now();
    // A parent that has ended ends this process anyway.
    let send = |message: &Message| drop(replies.borrow_mut().send(message));
    let mut report = |progress: &Progress| {
        if last.elapsed() >= PROGRESS_INTERVAL {
            last = Instant::now();
            send(&Message::Progress(progress.clone()));
        }
    };
    let mut farewell = |measured, after| send(&Message::Farewell(Box::new(measured), after));
    let driver = driver(&cell.engine.id);
    let driver = driver.as_ref();
    let measured = match killed {
        Some(left) => run::resume(cell, driver, left, &mut report, &mut farewell),
        None => run::measure(cell, driver, &mut report, &mut farewell),
    };
    Message::Measured(Box::new(measured))
}

fn driver(id: &str) -> Box<dyn assay_driver::Driver> {
    assay_drivers::find(id).expect("a parent asks only for engines that its worker has")
}

struct Replies(File);

impl Replies {
    fn send(&mut self, message: &Message) -> io::Result<()> {
        let mut line = serde_json::to_string(message)?;
        line.push('\n');
        self.0.write_all(line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_that_are_not_there_are_no_panic_of_the_engine() {
        let cell = serde_json::json!({
            "suite": "crossbench", "engine": "null", "storage": "memory", "durability": "none",
            "durability_wanted": "none", "key_kind": "hash", "key_kind_named": false, "rows": 1,
            "threads": 1, "trial": 1, "seed": 1, "variant": "", "options": {}, "revision": 1,
            "engine_options": {}, "engine_parameters": {}, "cpus": [1_000_000],
            "page_cache": "warm", "cache_named": false, "dir": null, "calibration": false,
        });
        let cell: Cell = serde_json::from_value(cell).expect("a cell");
        let null = File::options().write(true).open("/dev/null").expect("a file");
        let message = carry_out(Job::Measure(Box::new(cell)), &mut Replies(null));
        let why = message.failure().expect("it cannot run there");
        assert!(matches!(message, Message::CannotBind(_)), "{message:?}");
        assert!(why.starts_with("cannot bind to processors [1000000]: "), "{why}");
    }
}
