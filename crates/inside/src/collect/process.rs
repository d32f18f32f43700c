//! The metrics of the process, by the names that all client libraries of Prometheus use. On other systems
//! than Linux only the version is known.

use crate::metrics::Scrape;
use crate::metrics::catalog::{
    BUILD, CPU_SECONDS, OPEN_FILES, OPEN_FILES_MAX, RESIDENT_BYTES, START_SECONDS, THREADS,
};

/// Adds what the system tells of this process.
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
        // Without the one that lists them.
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

/// The first number after a name at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Times of a process, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Times {
    /// On a processor, in the program and in the system.
    busy_s: f64,
    /// From the start of the machine to that of the process.
    since_boot_s: f64,
}

/// The unit of times in `/proc/PID/stat`: `USER_HZ`, which is 100 on every machine that Rust builds for.
const TICKS_PER_S: f64 = 100.0;

impl Times {
    /// Reads `/proc/PID/stat` (`proc_pid_stat(5)`). The name of the program, in brackets, may hold anything.
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
