//! The metrics of the process, with the names that all Prometheus client libraries use. Systems other than Linux
//! only have the version.

use crate::metrics::Scrape;
use crate::metrics::catalog::{
    BUILD, CPU_SECONDS, OPEN_FILES, OPEN_FILES_MAX, RESIDENT_BYTES, START_SECONDS, THREADS,
};

/// Adds the metrics of this process.
pub(crate) fn process(scrape: &mut Scrape) {
    scrape.add(&BUILD, &[env!("CARGO_PKG_VERSION")], 1);
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let status = file("/proc/self/status");
    if let Some(kib) = field(&status, "VmRSS:") {
        scrape.add(&RESIDENT_BYTES, &[], kib * 1_024);
    }
    if let Some(threads) = field(&status, "Threads:") {
        scrape.add(&THREADS, &[], threads);
    }
    if let Some(open_max) = field(&file("/proc/self/limits"), "Max open files") {
        scrape.add(&OPEN_FILES_MAX, &[], open_max);
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        // Does not count the descriptor of the listed folder itself.
        scrape.add(&OPEN_FILES, &[], (files.count() as u64).saturating_sub(1));
    }
    let times = Times::read(&file("/proc/self/stat"));
    if let Some(Times { busy_s, since_boot_s }) = times {
        scrape.add_float(&CPU_SECONDS, &[], busy_s);
        if let Some(boot_unix_s) = field(&file("/proc/stat"), "btime") {
            scrape.add_float(&START_SECONDS, &[], boot_unix_s as f64 + since_boot_s);
        }
    }
}

/// Returns the first number of the line that starts with a name.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Times of a process, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Times {
    /// Processor time, in user mode and in the kernel.
    busy_s: f64,
    /// From the boot of the system to the start of the process.
    since_boot_s: f64,
}

/// The unit of times in `/proc/PID/stat`: `USER_HZ`, which is 100 on every Linux target of Rust.
const TICKS_PER_S: f64 = 100.0;

impl Times {
    /// Parses `/proc/PID/stat` (`proc_pid_stat(5)`). The program's name, in parentheses, may contain any character.
    fn read(stat: &str) -> Option<Self> {
        let (_, after_name) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        // The third field of the file is the first after the name.
        let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
        Some(Self {
            busy_s: (ticks(14)? + ticks(15)?) / TICKS_PER_S,
            since_boot_s: ticks(22)? / TICKS_PER_S,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Times, field};

    #[test]
    fn the_files_of_the_system_are_read() {
        let stat = "7 (a ) R 1) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 3 0 123456 1000 10";
        assert_eq!(Times::read(stat), Some(Times { busy_s: 2.0, since_boot_s: 1_234.56 }));
        assert_eq!(Times::read("7 (a"), None);
        assert_eq!(Times::read("7 (a) S 1"), None);
        let status = "Name:\tweir\nVmRSS:\t  1234 kB\nThreads:\t5\n";
        assert_eq!(field(status, "VmRSS:"), Some(1_234));
        assert_eq!(field(status, "VmSwap:"), None);
        let limits = "Limit Soft Hard Units\nMax open files            1024     4096   files\n";
        assert_eq!(field(limits, "Max open files"), Some(1_024));
    }
}
