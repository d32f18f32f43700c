//! The processor time and the memory of running programs, from proc(5).

use std::fs;

use weir_tools::shell::{Outcome, command, output_of};

/// The processor time that a process and its children have used so far, in seconds. Grandchildren
/// are not counted.
pub(crate) fn processor_seconds(process: u32) -> Outcome<f64> {
    let ticks_a_second: f64 = output_of(&mut command("getconf", &["CLK_TCK"]))?.trim().parse()?;
    let mut ticks = 0;
    for entry in fs::read_dir("/proc")? {
        let Ok(stat) = fs::read_to_string(entry?.path().join("stat")) else { continue };
        let Some((parent, own)) = of_stat(&stat) else { continue };
        if parent == process || stat.starts_with(&format!("{process} ")) {
            ticks += own;
        }
    }
    Ok(ticks as f64 / ticks_a_second)
}

/// The parent and the processor time, in ticks, of a line of `/proc/PID/stat`.
fn of_stat(stat: &str) -> Option<(u32, u64)> {
    // The name of the program is in brackets and may have any character.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let user: u64 = fields.nth(9)?.parse().ok()?;
    Some((parent, user + fields.next()?.parse::<u64>().ok()?))
}

/// The peak of resident memory of a process.
pub(crate) fn peak_bytes(process: u32) -> Outcome<u64> {
    status_bytes(process, "VmHWM:")
}

/// The resident memory of a process now.
pub(crate) fn resident_bytes(process: u32) -> Outcome<u64> {
    status_bytes(process, "VmRSS:")
}

/// A size in `/proc/PID/status`.
fn status_bytes(process: u32, name: &str) -> Outcome<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    of_status(&status, name)
        .ok_or_else(|| format!("/proc has no {name} of process {process}").into())
}

fn of_status(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::{of_stat, of_status};

    #[test]
    fn processor_time_is_read_after_the_name() {
        let stat = "7 (a) b 9) S 3 7 7 0 -1 4194560 1 2 3 4 50 6 0 0 20 0 1 0 5";
        assert_eq!(of_stat(stat), Some((3, 56)));
        assert_eq!(of_stat("7 (a) S"), None);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\tweir\nVmHWM:\t     2048 kB\nVmRSS:\t     1024 kB\n";
        assert_eq!(of_status(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(of_status(status, "VmRSS:"), Some(1 << 20));
        assert_eq!(of_status(status, "VmSwap:"), None);
    }
}
