//! The control group that limits the memory of this process, in version 1 or 2 of the interface
//! (the kernel's `admin-guide/cgroup-v1/memory.rst` and `admin-guide/cgroup-v2.rst`).

use std::fs;
use std::path::{Path, PathBuf};

use procfs::process::{MountInfo, Process};
use procfs::{ProcessCGroup, ProcessCGroups};

/// The version of the interface that the memory controller has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A separate hierarchy for the memory controller.
    V1,
    /// One hierarchy for all controllers.
    V2,
}

impl Version {
    /// Returns the name of a group's file with its hard limit.
    pub fn limit_file(self) -> &'static str {
        match self {
            Self::V1 => "memory.limit_in_bytes",
            Self::V2 => "memory.max",
        }
    }
}

/// A control group with the memory controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    version: Version,
    /// The directory at which the hierarchy is mounted.
    root: PathBuf,
    /// The group's folder.
    folder: PathBuf,
}

impl ControlGroup {
    /// Returns the group of this process; none without a memory controller, or if it is not
    /// mounted.
    pub fn own() -> Option<Self> {
        let process = Process::myself().ok()?;
        Self::find(&process.cgroups().ok()?, &process.mountinfo().ok()?.0)
    }

    /// Finds the group that the lines of a process name, below one of these mounts.
    fn find(groups: &ProcessCGroups, mounts: &[MountInfo]) -> Option<Self> {
        let has_memory = |group: &&ProcessCGroup| group.controllers.iter().any(|c| c == "memory");
        let of_all = |group: &&ProcessCGroup| group.hierarchy == 0;
        let (version, group) = match groups.0.iter().find(has_memory) {
            Some(group) => (Version::V1, group),
            None => (Version::V2, groups.0.iter().find(of_all)?),
        };
        let mount = mounts.iter().find(|mount| match version {
            Version::V1 => mount.fs_type == "cgroup" && mount.super_options.contains_key("memory"),
            Version::V2 => mount.fs_type == "cgroup2",
        })?;
        // A container may see its own part of the hierarchy only.
        let below = Path::new(&group.pathname).strip_prefix(&mount.root).unwrap_or(Path::new(""));
        let below = if group.pathname.contains("..") { Path::new("") } else { below };
        Some(Self::at(version, &mount.mount_point, below))
    }

    /// Returns the group at a path below the folder where its hierarchy is mounted.
    pub fn at(version: Version, root: &Path, below: &Path) -> Self {
        // Joining nothing would leave a slash at the end.
        let folder = if below == Path::new("") { root.into() } else { root.join(below) };
        Self { version, root: root.into(), folder }
    }

    /// Returns the version of the group's interface.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the folders of the group and of its ancestors, the group's first.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take_while(|folder| folder.starts_with(&self.root))
    }

    /// Returns the least hard limit of the group and its ancestors; none without a limit.
    pub fn memory_limit_bytes(&self) -> Option<u64> {
        let limit = |folder: &Path| {
            let text = fs::read_to_string(folder.join(self.version.limit_file())).ok()?;
            // Version 2 writes `max` where there is no limit, version 1 a number beyond all memory.
            text.trim().parse().ok()
        };
        self.folders().filter_map(limit).min()
    }
}

#[cfg(test)]
mod tests {
    use procfs::FromRead;

    use super::*;

    fn find(groups: &str, mounts: &str) -> Option<ControlGroup> {
        let groups = ProcessCGroups::from_read(groups.as_bytes()).expect("groups");
        let mounts = mounts.lines().map(|line| MountInfo::from_line(line).expect("a mount"));
        ControlGroup::find(&groups, &mounts.collect::<Vec<_>>())
    }

    const V1: &str = "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n\
                      36 31 0:33 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw";
    const V2: &str = "24 30 0:27 / /cg rw - cgroup2 cgroup2 rw,nsdelegate";

    #[test]
    fn the_group_is_found_in_both_versions() {
        let group = find("4:memory:/a/b\n1:cpu:/\n0::/\n", V1).expect("version 1");
        assert_eq!(group, ControlGroup::at(Version::V1, "/cg/memory".as_ref(), "a/b".as_ref()));
        let group = find("0::/user.slice/s.scope\n", V2).expect("version 2");
        let below = "user.slice/s.scope".as_ref();
        assert_eq!(group, ControlGroup::at(Version::V2, "/cg".as_ref(), below));
        assert_eq!(group.folders().count(), 3);
    }

    #[test]
    fn a_container_sees_its_part_of_the_hierarchy() {
        let part = "24 30 0:27 /docker/x /cg rw - cgroup2 cgroup2 rw";
        let group = find("0::/docker/x/y\n", part).expect("a group");
        assert_eq!(group, ControlGroup::at(Version::V2, "/cg".as_ref(), "y".as_ref()));
        let outside = find("0::/../elsewhere\n", V2).expect("a group");
        assert_eq!(outside, ControlGroup::at(Version::V2, "/cg".as_ref(), "".as_ref()));
    }

    #[test]
    fn without_a_controller_or_its_mount_there_is_no_group() {
        assert_eq!(find("1:cpu:/\n", V1), None);
        assert_eq!(find("4:memory:/a\n", V2), None);
    }

    #[test]
    fn the_least_limit_on_the_way_up_counts() {
        let root = std::env::temp_dir().join(format!("assay-limits-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).expect("folders");
        let group = ControlGroup::at(Version::V2, &root, "a/b".as_ref());
        assert_eq!(group.memory_limit_bytes(), None);
        fs::write(root.join("a/memory.max"), "1048576\n").expect("a limit");
        fs::write(root.join("a/b/memory.max"), "max\n").expect("no limit");
        assert_eq!(group.memory_limit_bytes(), Some(1 << 20));
        fs::write(root.join("a/b/memory.max"), "4096\n").expect("a limit");
        assert_eq!(group.memory_limit_bytes(), Some(4096));
        fs::remove_dir_all(&root).expect("removed");
    }
}
