//! Machine settings that make figures worse or less steady, and advice about them.
//!
//! [`Facts`] are captured from the machine; [`findings`] judges them, and knows no machine.

mod facts;

use assay_driver::Storage;
use serde::{Deserialize, Serialize};

pub use facts::{DataDir, Facts};

/// The gravity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gravity {
    /// The subject is as it should be.
    Good,
    /// The subject is worth knowing; figures may be less steady.
    Note,
    /// The figures are wrong for their purpose, or not to be trusted.
    Warning,
}

/// One thing about the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The part of the machine that was examined.
    pub subject: String,
    /// The finding's gravity.
    pub gravity: Gravity,
    /// The state that was found, in words.
    pub found: String,
    /// The advice; empty if nothing is to be done.
    pub advice: String,
    /// The storage mode that the finding affects; none: all of them.
    pub storage: Option<Storage>,
}

/// Judges the facts about a machine.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![
        governor(facts),
        turbo_boost(facts),
        steal(facts),
        load(facts),
        other_work(facts),
        huge_pages(facts),
        memory(facts),
        free_memory(facts),
        clock(facts),
        randomisation(facts),
    ];
    for dir in &facts.data_dirs {
        findings.push(filesystem(dir));
        findings.extend(syncs(dir));
    }
    findings
}

/// Returns a finding about the whole machine.
fn finding(
    subject: &str,
    gravity: Gravity,
    found: impl Into<String>,
    advice: impl Into<String>,
) -> Finding {
    Finding {
        subject: subject.into(),
        gravity,
        found: found.into(),
        advice: advice.into(),
        storage: None,
    }
}

fn governor(facts: &Facts) -> Finding {
    match facts.environment.governor.as_deref() {
        None => finding("governor", Gravity::Good, "none visible, as in most virtual machines", ""),
        Some("performance") => finding("governor", Gravity::Good, "performance", ""),
        Some(other) => finding(
            "governor",
            Gravity::Warning,
            format!("{other}: the frequency follows the load, and figures follow the frequency"),
            "cpupower frequency-set -g performance",
        ),
    }
}

fn turbo_boost(facts: &Facts) -> Finding {
    match facts.turbo {
        None => finding("turbo", Gravity::Good, "not known, as in most virtual machines", ""),
        Some(false) => finding("turbo", Gravity::Good, "off", ""),
        Some(true) => finding(
            "turbo",
            Gravity::Note,
            "on: the frequency depends on temperature and on what else runs",
            "to compare closely, switch it off: echo 1 > \
             /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > \
             /sys/devices/system/cpu/cpufreq/boost",
        ),
    }
}

fn steal(facts: &Facts) -> Finding {
    let Some(share) = facts.steal_share else {
        return finding("steal time", Gravity::Note, "the kernel does not say", "");
    };
    let found = format!("{:.1} % of processor time went to other machines", share * 100.0);
    let advice = "measure on a machine of your own, or repeat with --trials and look at intervals";
    match share {
        share if share < 0.005 => finding("steal time", Gravity::Good, found, ""),
        share if share < 0.05 => finding("steal time", Gravity::Note, found, advice),
        _ => finding("steal time", Gravity::Warning, found, advice),
    }
}

fn load(facts: &Facts) -> Finding {
    let environment = &facts.environment;
    let busy = f64::from(environment.load_1min) / environment.cpus.max(1) as f64;
    let found = format!(
        "{:.2} over the last minute, on {} processors",
        environment.load_1min, environment.cpus
    );
    let advice = "wait until other work is done, or stop it";
    match busy {
        busy if busy < 0.3 => finding("load", Gravity::Good, found, ""),
        busy if busy < 0.8 => finding("load", Gravity::Note, found, advice),
        _ => finding("load", Gravity::Warning, found, advice),
    }
}

fn other_work(facts: &Facts) -> Finding {
    let subject = "other runs";
    match facts.other_runs.as_slice() {
        [] => finding(subject, Gravity::Good, "none", ""),
        processes => {
            let list: Vec<_> = processes.iter().map(ToString::to_string).collect();
            finding(
                subject,
                Gravity::Warning,
                format!("another assay is measuring (process {})", list.join(", ")),
                "wait for it: the figures of both are disturbed",
            )
        }
    }
}

fn huge_pages(facts: &Facts) -> Finding {
    match facts.environment.transparent_huge_pages.as_str() {
        mode @ ("madvise" | "never") => finding("huge pages", Gravity::Good, mode, ""),
        "" => finding("huge pages", Gravity::Good, "the kernel has none", ""),
        mode => finding(
            "huge pages",
            Gravity::Note,
            format!("{mode}: memory grows in steps, and some engines' documents advise against it"),
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
    }
}

fn memory(facts: &Facts) -> Finding {
    let environment = &facts.environment;
    let available = environment.memory_available_bytes;
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let found =
        format!("{:.1} GiB available of {:.1} GiB", gib(available), gib(environment.memory_bytes));
    match facts.data_bytes {
        Some(data) if data > available => finding(
            "memory",
            Gravity::Warning,
            format!("{found}, for about {:.1} GiB of data", gib(data)),
            "take fewer rows; in memory this will swap or be killed, on disk it measures the disk",
        ),
        Some(data) if data * 2 > available => finding(
            "memory",
            Gravity::Note,
            format!("{found}, for about {:.1} GiB of data", gib(data)),
            "engines that need twice the space of their data will not fit",
        ),
        _ if available * 10 < environment.memory_bytes => finding(
            "memory",
            Gravity::Note,
            found,
            "stop other programs: the page cache of files on disk has no room",
        ),
        _ => finding("memory", Gravity::Good, found, ""),
    }
}

fn free_memory(facts: &Facts) -> Finding {
    if facts.has_page_reporting {
        finding(
            "free memory",
            Gravity::Note,
            "goes back to the host (page reporting): inserts wait while it comes again",
            "compare inserts in memory by turns, and with --trials; or measure on a machine that \
             keeps its memory",
        )
    } else {
        finding("free memory", Gravity::Good, "stays with this machine", "")
    }
}

fn clock(facts: &Facts) -> Finding {
    let source = &facts.environment.clock_source;
    match source.as_str() {
        "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page" => {
            finding("clock", Gravity::Good, source.clone(), "")
        }
        "" => finding("clock", Gravity::Note, "the kernel does not name its clock source", ""),
        other => finding(
            "clock",
            Gravity::Warning,
            format!("{other}: reading the time is a system call, which latencies pay for"),
            "boot with clocksource=tsc, if the processor's is stable",
        ),
    }
}

fn randomisation(facts: &Facts) -> Finding {
    match facts.environment.aslr.as_str() {
        "0" => finding("address randomisation", Gravity::Good, "off", ""),
        "" => finding("address randomisation", Gravity::Good, "the kernel does not say", ""),
        _ => finding(
            "address randomisation",
            Gravity::Note,
            "on: the place of data in caches differs from process to process",
            "repeat with --trials, so that it is in the interval; setarch -R switches it off",
        ),
    }
}

fn of_dir(dir: &DataDir, finding: Finding) -> Finding {
    Finding { storage: Some(dir.storage), ..finding }
}

fn filesystem(dir: &DataDir) -> Finding {
    let storage = dir.storage;
    let Some(filesystem) = &dir.filesystem else {
        let found = "not known";
        return of_dir(dir, finding("filesystem", Gravity::Note, found, ""));
    };
    let found = format!(
        "{} on {} ({})",
        filesystem.kind,
        filesystem.mount_point.display(),
        filesystem.options
    );
    let has = |option: &str| filesystem.options.split(',').any(|word| word == option);
    let in_memory = filesystem.is_in_memory();
    let (gravity, advice) = match (storage, filesystem.kind.as_str()) {
        (Storage::Disk, _) if in_memory => {
            (Gravity::Warning, "it is a RAM disk; name a directory on a disk with --dir")
        }
        (Storage::Ramdisk, _) if !in_memory => {
            (Gravity::Warning, "it is no RAM disk; name one with --dir, such as /dev/shm")
        }
        (_, "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "virtiofs" | "fuse" | "fuseblk") => {
            (Gravity::Warning, "it is on the other side of a protocol; name a local one with --dir")
        }
        (_, "overlay") => {
            (Gravity::Note, "a container's layers copy files at first write; use a volume")
        }
        (Storage::Disk, "btrfs" | "zfs" | "bcachefs") => {
            (Gravity::Note, "it copies on write: engines that write in place pay twice")
        }
        (Storage::Disk, _) if has("nobarrier") || has("barrier=0") => {
            (Gravity::Warning, "mounted without barriers: syncs do not reach the device")
        }
        _ => (Gravity::Good, ""),
    };
    of_dir(dir, finding("filesystem", gravity, found, advice))
}

/// A device that syncs in less time than this has not synced.
const SYNC_LEAST_NS: u64 = 15_000;
const SYNC_SLOW_NS: u64 = 10_000_000;

fn syncs(dir: &DataDir) -> Option<Finding> {
    if dir.storage != Storage::Disk {
        return None;
    }
    let Some(latency_ns) = dir.sync_latency_ns else {
        let advice = "choose a directory that can be written with --dir";
        let none = finding("sync", Gravity::Warning, "a file could not be synchronised", advice);
        return Some(of_dir(dir, none));
    };
    let found = format!("4 KiB take {:.3} ms", latency_ns as f64 / 1e6);
    let (gravity, advice) = match latency_ns {
        ..SYNC_LEAST_NS => (
            Gravity::Warning,
            "too fast for a device: a cache that may lose its content is in between, so figures \
             at periodic and commit are too good",
        ),
        SYNC_SLOW_NS.. => {
            (Gravity::Note, "a slow device: figures at commit are its figures, not the engines'")
        }
        _ => (Gravity::Good, ""),
    };
    Some(of_dir(dir, finding("sync", gravity, found, advice)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::environment::{Environment, Filesystem};

    /// Returns the facts of a machine on which everything is as it should be.
    fn good() -> Facts {
        Facts {
            environment: Environment {
                cpu_model: "model".into(),
                cpus: 4,
                memory_bytes: 16 << 30,
                memory_available_bytes: 12 << 30,
                kernel: "Linux".into(),
                distribution: "some".into(),
                governor: Some("performance".into()),
                clock_source: "tsc".into(),
                transparent_huge_pages: "madvise".into(),
                aslr: "0".into(),
                load_1min: 0.1,
            },
            turbo: Some(false),
            steal_share: Some(0.0),
            data_bytes: Some(1 << 30),
            data_dirs: vec![DataDir {
                storage: Storage::Disk,
                filesystem: Some(Filesystem {
                    kind: "ext4".into(),
                    mount_point: "/".into(),
                    options: "rw,relatime".into(),
                }),
                sync_latency_ns: Some(1_000_000),
            }],
            other_runs: Vec::new(),
            has_page_reporting: false,
        }
    }

    /// Returns the subject and gravity of each finding that is not good.
    fn troubles(facts: &Facts) -> Vec<(String, Gravity)> {
        let bad = findings(facts).into_iter().filter(|found| found.gravity != Gravity::Good);
        bad.map(|found| {
            assert!(!found.advice.is_empty(), "{found:?} says what to do");
            (found.subject, found.gravity)
        })
        .collect()
    }

    fn trouble(change: impl FnOnce(&mut Facts)) -> Vec<(String, Gravity)> {
        let mut facts = good();
        change(&mut facts);
        troubles(&facts)
    }

    #[test]
    fn a_good_machine_has_no_trouble() {
        assert_eq!(troubles(&good()), []);
        assert_eq!(findings(&good()).len(), 12, "everything was looked at");
    }

    #[test]
    fn each_trouble_is_found_and_no_other() {
        use Gravity::{Note, Warning};
        let is = |found: Vec<(String, Gravity)>, subject: &str, gravity| {
            assert_eq!(found, [(subject.to_string(), gravity)]);
        };
        is(trouble(|f| f.environment.governor = Some("powersave".into())), "governor", Warning);
        is(trouble(|f| f.turbo = Some(true)), "turbo", Note);
        is(trouble(|f| f.steal_share = Some(0.02)), "steal time", Note);
        is(trouble(|f| f.steal_share = Some(0.2)), "steal time", Warning);
        is(trouble(|f| f.environment.load_1min = 2.0), "load", Note);
        is(trouble(|f| f.environment.load_1min = 9.0), "load", Warning);
        is(trouble(|f| f.other_runs = vec![7]), "other runs", Warning);
        let always = |f: &mut Facts| f.environment.transparent_huge_pages = "always".into();
        is(trouble(always), "huge pages", Note);
        is(trouble(|f| f.data_bytes = Some(20 << 30)), "memory", Warning);
        is(trouble(|f| f.data_bytes = Some(8 << 30)), "memory", Note);
        is(trouble(|f| f.has_page_reporting = true), "free memory", Note);
        is(trouble(|f| f.environment.clock_source = "hpet".into()), "clock", Warning);
        is(trouble(|f| f.environment.aslr = "2".into()), "address randomisation", Note);
        is(trouble(|f| f.data_dirs[0].sync_latency_ns = Some(2_000)), "sync", Warning);
        is(trouble(|f| f.data_dirs[0].sync_latency_ns = Some(30_000_000)), "sync", Note);
        is(trouble(|f| f.data_dirs[0].sync_latency_ns = None), "sync", Warning);
        let kind = |f: &mut Facts, kind: &str| {
            f.data_dirs[0].filesystem.as_mut().expect("there is one").kind = kind.into();
        };
        is(trouble(|f| kind(f, "tmpfs")), "filesystem", Warning);
        is(trouble(|f| kind(f, "nfs4")), "filesystem", Warning);
        is(trouble(|f| kind(f, "btrfs")), "filesystem", Note);
    }

    #[test]
    fn this_machine_can_be_asked() {
        let folder = tempfile::tempdir().expect("a directory");
        let facts = Facts::capture(&[(Storage::Disk, folder.path())], None);
        assert!(facts.data_dirs[0].filesystem.is_some());
        assert!(facts.data_dirs[0].sync_latency_ns.is_some());
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 0);
    }
}
