//! How much memory the machine has.

use std::fs;

/// The memory that a container may use, for control groups of version 2 and 1, and that of the machine.
const CONTROL_GROUPS: [&str; 2] =
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
const MACHINE: &str = "/proc/meminfo";

/// The memory that this process may use, in bytes: that of the machine or of its container. `None` if the
/// system does not tell in one of the files of Linux.
pub(crate) fn memory_bytes() -> Option<u64> {
    let read = |path| fs::read_to_string(path).ok();
    let machine = read(MACHINE).and_then(|text| total_of(&text));
    let groups = CONTROL_GROUPS.into_iter().filter_map(read);
    groups.filter_map(|text| text.trim().parse().ok()).chain(machine).min()
}

/// The total of `/proc/meminfo`, in bytes.
fn total_of(text: &str) -> Option<u64> {
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_total_is_read_from_meminfo() {
        let text = "MemFree:  5 kB\nMemTotal:       16281984 kB\n";
        assert_eq!(super::total_of(text), Some(16_281_984 * 1_024));
        for text in ["", "MemTotal:", "MemTotal: x kB", "MemTotal: 99999999999999999 kB"] {
            assert_eq!(super::total_of(text), None, "{text}");
        }
    }
}
