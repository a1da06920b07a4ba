//! The facts that the machine states, and those that are measured.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use assay_driver::Storage;
use procfs::CurrentSI as _;

use crate::environment::{Environment, Filesystem, filesystem_of};
use crate::stats::median;

/// A directory for stores.
#[derive(Clone, Debug, PartialEq)]
pub struct DataDir {
    /// The storage mode that the directory is for.
    pub storage: Storage,
    /// The directory's filesystem, if it is known.
    pub filesystem: Option<Filesystem>,
    /// The median time of writing 4 KiB to a file and synchronising them; none if that failed.
    pub sync_latency_ns: Option<u64>,
}

/// The facts about the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The environment, as a run file keeps it.
    pub environment: Environment,
    /// True if processors may exceed their nominal frequency; none if the system does not say.
    pub turbo: Option<bool>,
    /// The share of time that a hypervisor gave to others, just now; none without a sample.
    pub steal_share: Option<f64>,
    /// The approximate size of the run's data; none if it is not known.
    pub data_bytes: Option<u64>,
    /// The directories for stores.
    pub data_dirs: Vec<DataDir>,
    /// The process ids of other measuring processes of Assay.
    pub other_runs: Vec<i32>,
    /// True if the host of a virtual machine takes back memory that is free.
    pub has_page_reporting: bool,
}

const SAMPLE: Duration = Duration::from_millis(200);
const SYNCS: usize = 15;

impl Facts {
    /// Asks the machine, which takes some tenths of a second.
    pub fn capture(data_dirs: &[(Storage, &Path)], data_bytes: Option<u64>) -> Self {
        let before = Ticks::now();
        let started = Instant::now();
        let data_dirs = data_dirs.iter().map(|(storage, dir)| DataDir {
            storage: *storage,
            filesystem: filesystem_of(dir),
            sync_latency_ns: sync_latency(dir).ok(),
        });
        let data_dirs = data_dirs.collect();
        std::thread::sleep(SAMPLE.saturating_sub(started.elapsed()));
        Self {
            environment: Environment::capture(),
            turbo: turbo(),
            steal_share: before.zip(Ticks::now()).and_then(|(before, now)| now.steal_since(before)),
            data_bytes,
            data_dirs,
            other_runs: other_runs(),
            has_page_reporting: has_page_reporting(),
        }
    }
}

/// Processor time of all processors, in the kernel's ticks.
struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    fn now() -> Option<Self> {
        let total = procfs::KernelStats::current().ok()?.total;
        let stolen = total.steal.unwrap_or(0);
        let waiting = total.idle + total.iowait.unwrap_or(0);
        let interrupts = total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
        Some(Self {
            all: total.user + total.nice + total.system + waiting + interrupts + stolen,
            stolen,
        })
    }

    fn steal_since(&self, before: Self) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|&all| all > 0)?;
        Some(self.stolen.saturating_sub(before.stolen) as f64 / all as f64)
    }
}

fn turbo() -> Option<bool> {
    let read = |path: &str| fs::read_to_string(path).ok();
    match read("/sys/devices/system/cpu/intel_pstate/no_turbo") {
        Some(text) => Some(text.trim() == "0"),
        None => read("/sys/devices/system/cpu/cpufreq/boost").map(|text| text.trim() == "1"),
    }
}

/// Returns true if the balloon device of a virtual machine reports free pages to its host. (Virtio
/// specification 1.2, section 5.5.3: bit 5, `VIRTIO_BALLOON_F_PAGE_REPORTING`.)
fn has_page_reporting() -> bool {
    let devices = fs::read_dir("/sys/bus/virtio/drivers/virtio_balloon").into_iter().flatten();
    devices.flatten().any(|device| {
        fs::read_to_string(device.path().join("features")).is_ok_and(|bits| reports_pages(&bits))
    })
}

/// Returns true if a balloon's feature bits, lowest first, say that it reports free pages.
fn reports_pages(features: &str) -> bool {
    const PAGE_REPORTING: usize = 5;
    features.as_bytes().get(PAGE_REPORTING) == Some(&b'1')
}

/// The commands of Assay that measure.
const MEASURING: [&str; 4] = ["run", "plan", "verify", "crash"];

/// Returns the processes of Assay that are measuring, except this one.
fn other_runs() -> Vec<i32> {
    let me = i32::try_from(std::process::id()).unwrap_or_default();
    let others = procfs::process::all_processes().into_iter().flatten().flatten();
    let measures = |process: &procfs::process::Process| {
        let command = process.cmdline().unwrap_or_default();
        let mut words = command.iter().map(String::as_str);
        let program = words.next().and_then(|path| path.rsplit('/').next());
        program == Some("assay") && words.any(|word| MEASURING.contains(&word))
    };
    others.filter(|process| process.pid != me && measures(process)).map(|p| p.pid).collect()
}

/// Measures the median time to write and sync a file. It has no name, so it leaves nothing.
fn sync_latency(dir: &Path) -> io::Result<u64> {
    let times = time_syncs(tempfile::tempfile_in(dir)?)?;
    Ok(median(&times).map_or(0, |median| median as u64))
}

fn time_syncs(mut file: File) -> io::Result<Vec<f64>> {
    let block = [0x5a; 4096];
    (0..SYNCS)
        .map(|_| {
            let started = Instant::now();
            file.write_all(&block)?;
            file.sync_data()?;
            Ok(started.elapsed().as_nanos() as f64)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balloon_reports_pages_by_its_sixth_bit() {
        assert!(reports_pages("0110010100000000\n"));
        assert!(!reports_pages("0110000100000000\n"));
        assert!(!reports_pages("01100\n"));
    }
}
