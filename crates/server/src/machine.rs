//! The memory of the machine.

use std::fs;

/// The files with the memory limit of a container, for control groups version 2 and 1.
const CONTROL_GROUPS: [&str; 2] =
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
const MACHINE: &str = "/proc/meminfo";

/// Returns the memory that this process may use, in bytes: the container's limit or the machine's
/// memory. Returns `None` if Linux's files do not state it.
pub(crate) fn memory_bytes() -> Option<u64> {
    let read = |path| fs::read_to_string(path).ok();
    let machine = read(MACHINE).and_then(|text| total_of(&text));
    let groups = CONTROL_GROUPS.into_iter().filter_map(read);
    groups.filter_map(|text| text.trim().parse().ok()).chain(machine).min()
}

/// Returns the total memory in `/proc/meminfo`, in bytes.
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
