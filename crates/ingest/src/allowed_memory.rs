//! The memory that this process may take.

use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The memory that this process may take, and what limits it.
///
/// A process that takes more than its control group allows is killed, and one that takes more than
/// its limit of address space cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedMemory {
    /// The memory in bytes.
    pub bytes: u64,
    /// What limits it.
    pub limiter: MemoryLimiter,
}

/// What limits the memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLimiter {
    /// The machine has no more.
    Machine,
    /// A control group of Linux, such as that of a container or of a service of systemd.
    ControlGroup,
    /// The limit of address space, `ulimit -v`.
    AddressSpace,
}

impl fmt::Display for MemoryLimiter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Machine => "the machine",
            Self::ControlGroup => "the container or service (its control group)",
            Self::AddressSpace => "the limit of address space (ulimit -v)",
        })
    }
}

/// What a process takes besides its data: code, threads, the blocks that are being parsed by a few
/// cores, and answers to a page or two.
const BESIDE_DATA_BYTES: u64 = 64 << 20;

/// The least memory for data: with less, the values of a few blocks do not fit.
const DATA_BYTES_MIN: u64 = 16 << 20;

/// The memory for each thread that parses: its blocks, and what it needs to parse one.
const THREAD_BYTES: u64 = 64 << 20;

/// The share of the limit of address space that can be used: the stacks and heaps of threads reserve
/// addresses that they do not use.
const ADDRESS_SPACE_DIVISOR: u64 = 2;

impl AllowedMemory {
    /// Reads what this process may take now: the least of what the machine has, what its control
    /// groups allow, and the limit of address space. `None` if the system states none of them.
    pub fn read() -> Option<Self> {
        let text = |path: &str| fs::read_to_string(path).ok();
        let with = |limiter| move |bytes| Self { bytes, limiter };
        let machine = text("/proc/meminfo").and_then(|text| total_of(&text));
        let groups = text("/proc/self/cgroup").zip(text("/proc/self/mountinfo"));
        let group = groups.and_then(|(groups, mounts)| {
            group_bytes(&groups, &mounts, |path| fs::read_to_string(path).ok())
        });
        [
            machine.map(with(MemoryLimiter::Machine)),
            group.map(with(MemoryLimiter::ControlGroup)),
            address_space_bytes().map(with(MemoryLimiter::AddressSpace)),
        ]
        .into_iter()
        .flatten()
        .min_by_key(|allowed| allowed.bytes)
    }

    /// The memory that data sets may take together, in bytes: half of what is beyond 64 MiB, and at
    /// least 16 MiB.
    pub fn for_data(&self) -> usize {
        let half = self.usable_bytes().saturating_sub(BESIDE_DATA_BYTES) / 2;
        usize::try_from(half.max(DATA_BYTES_MIN)).unwrap_or(usize::MAX)
    }

    /// The number of threads that may parse, one for each 64 MiB.
    pub fn threads_max(&self) -> usize {
        usize::try_from(self.usable_bytes() / THREAD_BYTES).unwrap_or(usize::MAX).max(1)
    }

    fn usable_bytes(&self) -> u64 {
        match self.limiter {
            MemoryLimiter::AddressSpace => self.bytes / ADDRESS_SPACE_DIVISOR,
            MemoryLimiter::Machine | MemoryLimiter::ControlGroup => self.bytes,
        }
    }
}

/// Returns the total memory in `/proc/meminfo`, in bytes.
fn total_of(text: &str) -> Option<u64> {
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
}

#[cfg(unix)]
fn address_space_bytes() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

#[cfg(not(unix))]
fn address_space_bytes() -> Option<u64> {
    None
}

/// Returns the least limit of the control groups of a process, and of those around them, in bytes.
/// `groups` and `mounts` are the texts of its files `cgroup` and `mountinfo` in /proc.
///
/// Source: cgroups(7) and proc_pid_mountinfo(5). Version 2 has one tree, version 1 has one for
/// memory; a system may have both.
fn group_bytes(groups: &str, mounts: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let limit = |group: &str| {
        let mut fields = group.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let is_second = controllers.is_empty();
        if !is_second && !controllers.split(',').any(|name| name == "memory") {
            return None;
        }
        let names: &[&str] =
            if is_second { &["memory.max", "memory.high"] } else { &["memory.limit_in_bytes"] };
        let mounts = mounts.lines().filter_map(Mount::parse);
        let mount = mounts.into_iter().find(|mount| mount.has_memory(is_second))?;
        let folders = mount.folders(path);
        let files = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
        // Without a limit, version 2 says `max`, and version 1 a number that is never reached.
        files.filter_map(|file| read(&file)?.trim().parse::<u64>().ok()).min()
    };
    groups.lines().filter_map(limit).min()
}

/// A mounted tree of control groups.
struct Mount<'a> {
    /// The group that is at the mount point.
    root: String,
    point: String,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    /// Parses a line of `mountinfo`.
    fn parse(line: &'a str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (unescaped(mount.next()?), unescaped(mount.next()?));
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1)?);
        Some(Self { root, point, kind, options })
    }

    /// Whether groups here limit memory.
    fn has_memory(&self, is_second: bool) -> bool {
        match is_second {
            true => self.kind == "cgroup2",
            false => self.kind == "cgroup" && self.options.split(',').any(|it| it == "memory"),
        }
    }

    /// Returns the folders of a group and of those around it. A group outside of the mounted tree is
    /// at the mount point, as a container sees it.
    fn folders(&self, group: &str) -> Vec<PathBuf> {
        let point = Path::new(&self.point);
        let inside = Path::new(group).strip_prefix(&self.root).unwrap_or(Path::new(""));
        let is_plain = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let inside: PathBuf = inside.components().take_while(is_plain).collect();
        inside.ancestors().map(|part| point.join(part)).collect()
    }
}

/// Replaces the escapes of `mountinfo` for white space and backslashes.
fn unescaped(text: &str) -> String {
    [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const FIRST: &str = "32 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                         35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                         41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    /// The limit with these files.
    fn bytes(groups: &str, mounts: &str, files: &[(&str, &str)]) -> Option<u64> {
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| format!("{text}\n"))
        };
        group_bytes(groups, mounts, read)
    }

    #[test]
    fn the_total_is_read_from_meminfo() {
        let text = "MemFree:  5 kB\nMemTotal:       16281984 kB\n";
        assert_eq!(total_of(text), Some(16_281_984 * 1_024));
        for text in ["", "MemTotal:", "MemTotal: x kB", "MemTotal: 99999999999999999 kB"] {
            assert_eq!(total_of(text), None, "{text}");
        }
    }

    #[test]
    fn the_least_limit_around_a_group_of_version_2_holds() {
        let group = "0::/system.slice/weir.service\n";
        let (own, slice) = (
            "/sys/fs/cgroup/system.slice/weir.service/memory.max",
            "/sys/fs/cgroup/system.slice/memory.max",
        );
        let high = "/sys/fs/cgroup/system.slice/weir.service/memory.high";
        for (files, expected) in [
            (vec![(own, "268435456")], Some(268_435_456)),
            (vec![(own, "max"), (slice, "1000")], Some(1_000)),
            (vec![(own, "2000"), (slice, "3000"), (high, "1500")], Some(1_500)),
            (vec![(own, "max"), (slice, "max")], None),
            (vec![("/sys/fs/cgroup/other/memory.max", "5")], None),
            (vec![(own, "not a number")], None),
        ] {
            assert_eq!(bytes(group, SECOND, &files), expected, "{files:?}");
        }
    }

    #[test]
    fn groups_of_both_versions_are_read_side_by_side() {
        let groups = "5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n";
        let own = "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes";
        let root = "/sys/fs/cgroup/memory/memory.limit_in_bytes";
        let unified = "/sys/fs/cgroup/unified/memory.max";
        let cpu = "/sys/fs/cgroup/cpu/a/memory.limit_in_bytes";
        let without = "9223372036854771712";
        assert_eq!(bytes(groups, FIRST, &[(own, "900"), (root, without)]), Some(900));
        assert_eq!(bytes(groups, FIRST, &[(own, "900"), (unified, "800")]), Some(800));
        assert_eq!(bytes(groups, FIRST, &[(own, "900"), (cpu, "1")]), Some(900));
    }

    #[test]
    fn a_container_sees_its_group_at_the_mount_point() {
        let mount = "35 31 0:32 /docker/1a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let at_point = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "700");
        let below = ("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "600");
        assert_eq!(bytes("4:memory:/docker/1a\n", mount, &[at_point]), Some(700));
        assert_eq!(bytes("4:memory:/docker/1a/job\n", mount, &[at_point, below]), Some(600));
        // With a name space of its own, the path leads out of what is mounted.
        for path in ["/../../other", "/elsewhere"] {
            assert_eq!(bytes(&format!("4:memory:{path}\n"), mount, &[at_point]), Some(700));
        }
    }

    #[test]
    fn hostile_texts_have_no_limit() {
        for (groups, mounts) in [
            ("", ""),
            ("4:memory", FIRST),
            ("::::\n0::/\n", "a b c\n1 2 3 - \n - cgroup2\n"),
            ("0::/a b/c\n", SECOND),
        ] {
            assert_eq!(bytes(groups, mounts, &[]), None, "{groups:?}");
        }
        assert_eq!(unescaped(r"/a\040b\134c"), r"/a b\c");
    }

    #[test]
    fn the_share_for_data_leaves_room_for_the_rest() {
        let of = |mebibytes: u64, limiter| AllowedMemory { bytes: mebibytes << 20, limiter };
        for (allowed, data_mebibytes, threads) in [
            (of(256, MemoryLimiter::ControlGroup), 96, 4),
            (of(16, MemoryLimiter::ControlGroup), 16, 1),
            (of(1_024, MemoryLimiter::Machine), 480, 16),
            (of(1_024, MemoryLimiter::AddressSpace), 224, 8),
        ] {
            assert_eq!(allowed.for_data(), data_mebibytes << 20, "{allowed:?}");
            assert_eq!(allowed.threads_max(), threads, "{allowed:?}");
        }
        assert!(AllowedMemory::read().is_none_or(|allowed| allowed.bytes > 0));
    }
}
