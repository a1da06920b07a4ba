//! The memory that a process may take up: the machine's, or less if a control group or a resource
//! limit says so.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that are assumed if the system does not say.
const ASSUMED_BYTES: u64 = 1 << 30;

/// Bytes of addresses that a process takes up without a database, about: threads, and the memory
/// that the allocator sets aside for each.
const PROCESS_BYTES: u64 = 256 << 20;

/// Returns the memory that a limit of addresses leaves: pages have their addresses, page images
/// have as many, and transactions half as many; and half of this is the default budget.
fn memory_within(address_bytes: u64) -> u64 {
    (address_bytes.saturating_sub(PROCESS_BYTES) / 3).max(address_bytes / 8)
}

/// Returns the bytes of memory that this process may take up.
pub(crate) fn available_bytes() -> u64 {
    available_in(Path::new("/"))
}

/// Returns the bytes of memory that this process may take up, by the system's files below `root`.
fn available_in(root: &Path) -> u64 {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let machine = total_bytes(&read("proc/meminfo")).unwrap_or(ASSUMED_BYTES);
    let groups = read("proc/self/cgroup");
    let mounts = read("proc/self/mountinfo");
    let in_groups = group_limit(root, &groups, &mounts);
    let addresses = limit_of_addresses(&read("proc/self/limits"));
    let addresses = addresses.map(memory_within);
    [in_groups, addresses].into_iter().flatten().fold(machine, u64::min)
}

/// Returns the bytes of all memory in `meminfo`.
fn total_bytes(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the bytes of addresses that this process may have; `None` without a limit.
pub(crate) fn most_address_bytes() -> Option<u64> {
    limit_of_addresses(&fs::read_to_string("/proc/self/limits").ok()?)
}

/// Returns the soft limit of the process's addresses or data, whichever is less.
fn limit_of_addresses(limits: &str) -> Option<u64> {
    let soft = |line: &str| {
        let rest = ["Max address space", "Max data size"]
            .into_iter()
            .find_map(|name| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    limits.lines().filter_map(soft).min()
}

/// A mounted hierarchy of control groups.
struct Mount<'m> {
    /// The group that is seen at its top.
    top: &'m str,
    at: PathBuf,
    is_unified: bool,
}

impl<'m> Mount<'m> {
    /// Parses a line of `mountinfo`; `None` if the mount does not concern memory.
    fn of_line(line: &'m str) -> Option<Self> {
        let (front, back) = line.split_once(" - ")?;
        let mut front = front.split(' ').skip(3);
        let top = front.next()?;
        let at = front.next()?;
        let mut back = back.split(' ');
        let kind = back.next()?;
        let options = back.nth(1)?;
        let is_unified = kind == "cgroup2";
        let is_of_memory = kind == "cgroup" && options.split(',').any(|option| option == "memory");
        (is_unified || is_of_memory).then(|| Self { top, at: unescaped(at), is_unified })
    }

    /// Returns the folders of a group and of all groups above it, up to the top of the mount.
    fn folders(&self, root: &Path, group: &str) -> Vec<PathBuf> {
        let top = root.join(self.at.strip_prefix("/").unwrap_or(&self.at));
        // A group that is not visible there has its limits at the top, as in a container.
        let below = Path::new(group).strip_prefix(self.top).unwrap_or(Path::new(""));
        let inside = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let own = if inside { top.join(below) } else { top.clone() };
        own.ancestors().take_while(|path| path.starts_with(&top)).map(Path::to_path_buf).collect()
    }
}

/// Reads a path of `mountinfo`, in which some characters are a backslash and three octal digits.
fn unescaped(text: &str) -> PathBuf {
    let mut plain = text.to_string();
    for (escape, character) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        plain = plain.replace(escape, character);
    }
    plain.into()
}

/// Returns the least limit of the groups that the process is in, of either version.
fn group_limit(root: &Path, groups: &str, mounts: &str) -> Option<u64> {
    let mounts: Vec<_> = mounts.lines().filter_map(Mount::of_line).collect();
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        let group = parts.next()?;
        let is_unified = controllers.is_empty();
        let is_of_memory = controllers.split(',').any(|name| name == "memory");
        if !is_unified && !is_of_memory {
            return None;
        }
        let files: &[&str] =
            if is_unified { &["memory.max", "memory.high"] } else { &["memory.limit_in_bytes"] };
        let mounts = mounts.iter().filter(|mount| mount.is_unified == is_unified);
        let folders = mounts.flat_map(|mount| mount.folders(root, group));
        // Any other text than a number, such as `max`, is no limit.
        let limit = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        folders
            .flat_map(|folder| files.iter().map(move |file| folder.join(file)))
            .filter_map(limit)
            .min()
    };
    groups.lines().filter_map(of_line).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Makes files in a new directory, by their paths from the root on.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        let more = [("proc/meminfo", "MemTotal:  8388608 kB\nMemFree: 1 kB\n")];
        for (path, text) in more.iter().chain(files) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("it is in the root")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
        root
    }

    fn mebibytes(files: &[(&str, &str)]) -> u64 {
        available_in(system(files).path()) / MIB
    }

    const UNIFIED: (&str, &str) = (
        "proc/self/mountinfo",
        "24 30 0:22 / /proc rw - proc proc rw\n\
         35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
    );

    const BY_CONTROLLER: (&str, &str) = (
        "proc/self/mountinfo",
        "33 32 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
         34 32 0:29 /docker/4f /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory\n",
    );

    #[test]
    fn without_limits_it_is_the_machines_memory() {
        assert_eq!(mebibytes(&[]), 8192);
        let none =
            [UNIFIED, ("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", "max\n")];
        assert_eq!(mebibytes(&none), 8192);
        assert_eq!(available_in(Path::new("/there/is/nothing")), ASSUMED_BYTES);
    }

    #[test]
    fn the_least_limit_up_the_hierarchy_counts() {
        let group = ("proc/self/cgroup", "0::/a/b/c\n");
        let own = ("sys/fs/cgroup/a/b/c/memory.max", "3221225472\n");
        assert_eq!(mebibytes(&[UNIFIED, group, own]), 3072);
        let above = ("sys/fs/cgroup/a/memory.max", "2147483648\n");
        assert_eq!(mebibytes(&[UNIFIED, group, own, above]), 2048);
        let high = ("sys/fs/cgroup/a/b/memory.high", "1073741824\n");
        assert_eq!(mebibytes(&[UNIFIED, group, own, above, high]), 1024);
        let beside = ("sys/fs/cgroup/x/memory.max", "4096\n");
        assert_eq!(mebibytes(&[UNIFIED, group, own, above, high, beside]), 1024);
    }

    #[test]
    fn groups_of_the_first_version_count_too_and_those_seen_from_a_container() {
        let none = "9223372036854771712\n";
        let groups = ("proc/self/cgroup", "5:cpu:/docker/4f\n4:memory:/docker/4f/job\n0::/\n");
        let limit = "sys/fs/cgroup/my memory/job/memory.limit_in_bytes";
        assert_eq!(mebibytes(&[BY_CONTROLLER, groups, (limit, none)]), 8192);
        assert_eq!(mebibytes(&[BY_CONTROLLER, groups, (limit, "536870912\n")]), 512);
        let top = ("sys/fs/cgroup/my memory/memory.limit_in_bytes", "268435456\n");
        assert_eq!(mebibytes(&[BY_CONTROLLER, groups, (limit, "536870912\n"), top]), 256);
        // The path is that of the machine, and only the top is visible here.
        let elsewhere = ("proc/self/cgroup", "4:memory:/elsewhere\n");
        assert_eq!(mebibytes(&[BY_CONTROLLER, elsewhere, top]), 256);
        let outside = ("proc/self/cgroup", "4:memory:/docker/4f/../../..\n");
        assert_eq!(mebibytes(&[BY_CONTROLLER, outside, top]), 256);
    }

    #[test]
    fn limits_of_addresses_and_data_leave_room_for_what_is_no_page() {
        let limits = |addresses: &str, data: &str| {
            let text = format!(
                "Limit                     Soft Limit           Hard Limit           Units\n\
                 Max cpu time              unlimited            unlimited            seconds\n\
                 Max data size             {data}            unlimited            bytes\n\
                 Max address space         {addresses}           unlimited            bytes\n"
            );
            mebibytes(&[("proc/self/limits", &text)])
        };
        assert_eq!(limits("unlimited", "unlimited"), 8192);
        assert_eq!(limits("4294967296", "unlimited"), (4096 - 256) / 3);
        assert_eq!(limits("4294967296", "2147483648"), (2048 - 256) / 3);
        assert_eq!(limits("268435456", "unlimited"), 32);
    }

    #[test]
    fn nonsense_is_no_limit() {
        for text in ["", ":", "::", "0::", "memory", "0::/\u{0}", "4:memory", "\n\n"] {
            let files = [
                ("proc/self/cgroup", text),
                ("proc/self/mountinfo", text),
                ("proc/self/limits", text),
            ];
            assert_eq!(mebibytes(&files), 8192, "{text:?}");
        }
        assert_eq!(mebibytes(&[("proc/meminfo", "MemTotal: many kB")]), ASSUMED_BYTES / MIB);
    }
}
