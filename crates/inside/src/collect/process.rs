//! The metrics of the process, with the names that all Prometheus client libraries use. Systems
//! other than Linux only have the version.

use weir_view::{ServiceLimit, ServiceLimitKind};

use crate::metrics::Scrape;
use crate::metrics::catalog::{
    ALLOWED_BYTES, BUILD, CPU_SECONDS, OPEN_FILES, OPEN_FILES_MAX, RESIDENT_BYTES, START_SECONDS,
    THREADS,
};
use crate::proc_stat::ProcStat;

/// Adds the metrics of this process.
pub(crate) fn process(scrape: &mut Scrape) {
    scrape.add(&BUILD, &[env!("CARGO_PKG_VERSION")], 1);
    for limit in process_limits() {
        let (used, used_max) = match limit.limit {
            ServiceLimitKind::Memory => (&RESIDENT_BYTES, &ALLOWED_BYTES),
            _ => (&OPEN_FILES, &OPEN_FILES_MAX),
        };
        scrape.add(used, &[], limit.used);
        if let Some(number) = limit.used_max {
            scrape.add(used_max, &[], number);
        }
    }
    if let Some(threads) = field(&file("/proc/self/status"), "Threads:") {
        scrape.add(&THREADS, &[], threads);
    }
    if let Some(stat) = ProcStat::parse(&file("/proc/self/stat")) {
        scrape.add_float(&CPU_SECONDS, &[], stat.running_s());
        let boot_unix_s = field(&file("/proc/stat"), "btime");
        if let (Some(boot_unix_s), Some(start_s)) = (boot_unix_s, stat.start_s) {
            scrape.add_float(&START_SECONDS, &[], boot_unix_s as f64 + start_s);
        }
    }
}

/// Returns what the process uses of its memory and its file descriptors.
pub(crate) fn process_limits() -> Vec<ServiceLimit> {
    let resident = field(&file("/proc/self/status"), "VmRSS:").map(|kib| ServiceLimit {
        limit: ServiceLimitKind::Memory,
        used: kib * 1_024,
        used_max: weir_server::allowed_memory_bytes(),
    });
    let files = std::fs::read_dir("/proc/self/fd").ok().map(|files| ServiceLimit {
        limit: ServiceLimitKind::Files,
        // Does not count the descriptor of the listed folder itself.
        used: (files.count() as u64).saturating_sub(1),
        used_max: field(&file("/proc/self/limits"), "Max open files"),
    });
    resident.into_iter().chain(files).collect()
}

/// Returns a file of the system; nothing, if it has none.
fn file(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
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
