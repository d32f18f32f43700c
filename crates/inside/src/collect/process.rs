//! The metrics of the process, with the names that all Prometheus client libraries use. Systems
//! other than Linux only have the version.

use crate::metrics::Scrape;
use crate::metrics::catalog::{
    BUILD, CPU_SECONDS, OPEN_FILES, OPEN_FILES_MAX, RESIDENT_BYTES, START_SECONDS, THREADS,
};
use crate::proc_stat::ProcStat;

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
    if let Some(stat) = ProcStat::parse(&file("/proc/self/stat")) {
        scrape.add_float(&CPU_SECONDS, &[], stat.running_s());
        let boot_unix_s = field(&file("/proc/stat"), "btime");
        if let (Some(boot_unix_s), Some(start_s)) = (boot_unix_s, stat.start_s) {
            scrape.add_float(&START_SECONDS, &[], boot_unix_s as f64 + start_s);
        }
    }
}

/// Returns the first number of the line that starts with a name.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn the_files_of_the_system_are_read() {
        let status = "Name:\tweir\nVmRSS:\t  1234 kB\nThreads:\t5\n";
        assert_eq!(field(status, "VmRSS:"), Some(1_234));
        assert_eq!(field(status, "VmSwap:"), None);
        let limits = "Limit Soft Hard Units\nMax open files            1024     4096   files\n";
        assert_eq!(field(limits, "Max open files"), Some(1_024));
    }
}
