//! The machine and the build, as captured at the start of a run.
//!
//! A fact that the machine does not state is an empty text or absent, never guessed.

use std::fs;
use std::path::{Path, PathBuf};

use assay_driver::machine::{memory_bytes, usable_cpus};
use procfs::Current;
use serde::{Deserialize, Serialize};

/// The build of Assay that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The build's version.
    pub version: String,
    /// The compiler.
    pub rustc: String,
    /// The target triple.
    pub target: String,
    /// The optimisation level.
    pub opt_level: String,
    /// Engines compiled in.
    pub engines: Vec<String>,
}

/// The machine of a run and its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The processor's own name.
    pub cpu_model: String,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Memory of the machine.
    pub memory_bytes: u64,
    /// Memory that was available at the start.
    pub memory_available_bytes: u64,
    /// Operating system and kernel release.
    pub kernel: String,
    /// The distribution's name.
    pub distribution: String,
    /// Frequency governor of the first processor; absent if it has none.
    pub governor: Option<String>,
    /// The kernel's clock source.
    pub clock_source: String,
    /// The transparent-huge-page mode.
    pub transparent_huge_pages: String,
    /// Address-space randomisation (0, 1 or 2).
    pub aslr: String,
    /// Load average over the last minute, at the start.
    pub load_1min: f32,
}

/// The file system that holds a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    /// The file system's type: ext4, tmpfs, …
    pub kind: String,
    /// The directory at which the file system is mounted.
    pub mount_point: PathBuf,
    /// The file system's mount options.
    pub options: String,
}

impl Filesystem {
    /// Returns true if the file system keeps its files in memory.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.kind.as_str(), "tmpfs" | "ramfs")
    }
}

impl Environment {
    /// Captures the environment from the machine.
    pub fn capture() -> Self {
        let memory = procfs::Meminfo::current().ok();
        let line = |path: &str| read_line(Path::new(path)).unwrap_or_default();
        Self {
            cpu_model: procfs::CpuInfo::current()
                .ok()
                .and_then(|info| info.model_name(0).map(str::to_string))
                .unwrap_or_default(),
            cpus: usable_cpus().len(),
            memory_bytes: memory_bytes(),
            memory_available_bytes: memory.and_then(|m| m.mem_available).unwrap_or(0),
            kernel: format!(
                "{} {}",
                line("/proc/sys/kernel/ostype"),
                line("/proc/sys/kernel/osrelease")
            ),
            distribution: distribution(),
            governor: read_line(Path::new("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            transparent_huge_pages: bracketed(&line("/sys/kernel/mm/transparent_hugepage/enabled")),
            aslr: line("/proc/sys/kernel/randomize_va_space"),
            load_1min: procfs::LoadAverage::current().map_or(0.0, |load| load.one),
        }
    }
}

/// Returns the kind of this machine's processor: vendor and family, by which libraries choose their
/// code.
pub fn processor_kind() -> String {
    let info = procfs::CpuInfo::current().ok();
    let field = |name: &str| info.as_ref()?.get_field(0, name).map(str::to_string);
    let vendor = field("vendor_id").or_else(|| field("CPU implementer"));
    let family = field("cpu family").or_else(|| field("CPU part"));
    let words =
        [Some(std::env::consts::ARCH.to_string()), vendor, family.map(|it| format!("family {it}"))];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns the file system under `path`, which exists: the deepest of the mounts that hold it, and
/// of those at one place the last.
pub fn filesystem_of(path: &Path) -> Option<Filesystem> {
    let path = path.canonicalize().ok()?;
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?;
    mounts
        .into_iter()
        .filter(|mount| path.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.components().count())
        .map(|mount| {
            let mut options: Vec<_> = mount
                .mount_options
                .into_iter()
                .chain(mount.super_options)
                .map(|(name, value)| match value {
                    Some(value) => format!("{name}={value}"),
                    None => name,
                })
                .collect();
            options.sort();
            options.dedup();
            Filesystem {
                kind: mount.fs_type,
                mount_point: mount.mount_point,
                options: options.join(","),
            }
        })
}

/// Returns the bytes that can still be written to the file system under `path`.
pub fn available_bytes(path: &Path) -> Option<u64> {
    let stat = nix::sys::statvfs::statvfs(path).ok()?;
    Some(stat.blocks_available() * stat.fragment_size())
}

fn read_line(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

fn bracketed(text: &str) -> String {
    text.split(['[', ']']).nth(1).unwrap_or(text).to_string()
}

fn distribution() -> String {
    fs::read_to_string("/etc/os-release")
        .ok()
        .and_then(|text| {
            text.lines()
                .find_map(|line| line.strip_prefix("PRETTY_NAME="))
                .map(|name| name.trim_matches('"').to_string())
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described() {
        let environment = Environment::capture();
        assert!(!environment.kernel.trim().is_empty());
        assert!(environment.memory_bytes > 0);
        assert!(environment.cpus >= 1);
    }

    #[test]
    fn the_file_system_of_proc_is_proc() {
        let found = filesystem_of(Path::new("/proc/self")).expect("/proc is mounted");
        assert_eq!(found.kind, "proc");
    }

    #[test]
    fn the_chosen_word_is_taken_out_of_brackets() {
        assert_eq!(bracketed("always [madvise] never"), "madvise");
        assert_eq!(bracketed("2"), "2");
    }
}
