//! The threads as the operating system reports them; Linux only.

use std::fs;
use std::path::Path;

use weir_view::{BusySource, Thread, ThreadWork};

use crate::proc_stat::ProcStat;

/// The most threads that are read. Each takes three files.
const THREADS_MAX: usize = 1_000;

/// Returns the threads ordered by number; `None` if the system does not list them.
pub(super) fn threads() -> Option<Vec<Thread>> {
    let folders = fs::read_dir("/proc/self/task").ok()?;
    let folders = folders.filter_map(Result::ok).take(THREADS_MAX);
    let mut threads: Vec<Thread> = folders.filter_map(|folder| read(&folder.path())).collect();
    threads.sort_unstable_by_key(|thread| thread.id);
    Some(threads)
}

/// Reads a folder of `/proc/PID/task`; `None` if the thread has ended.
fn read(folder: &Path) -> Option<Thread> {
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    parse(&file("stat"), &file("schedstat"), &file("status"))
}

/// Parses the files `stat`, `status` (`proc_pid_status(5)`) and `schedstat` (kernel documentation,
/// `scheduler/sched-stats.rst`) of a thread. The last may be empty: it is a build option of the
/// kernel.
pub(super) fn parse(stat: &str, schedstat: &str, status: &str) -> Option<Thread> {
    let stat = ProcStat::parse(stat)?;
    // A kernel without these statistics writes `0 0 0`. Otherwise the third number, of time slices,
    // is positive.
    let schedstat = if schedstat.trim_end().ends_with(" 0") { "" } else { schedstat };
    let mut scheduler = schedstat.split_whitespace().map(|ns| Some(ns.parse::<f64>().ok()? / 1e9));
    let (running, waiting) = (scheduler.next().flatten(), scheduler.next().flatten());
    let switches = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    // A thread is busy while it runs, and while it waits for a processor.
    let busy = running.zip(waiting).map(|(running, waiting)| running + waiting);
    Some(Thread {
        id: stat.id,
        name: stat.name.to_owned(),
        state: Some(state(stat.state).to_owned()),
        processor: stat.processor,
        busy_source: busy.map(|_| BusySource::System),
        work: ThreadWork {
            running: running.or_else(|| Some(stat.running_s())),
            system: Some(stat.system_s),
            waiting,
            busy,
            switches: switches("voluntary_ctxt_switches:"),
            preemptions: switches("nonvoluntary_ctxt_switches:"),
        },
        rates: None,
    })
}

/// Returns the word for a state of proc(5). A letter that later kernels add is its own word.
fn state(letter: &str) -> &str {
    match letter {
        "R" => "running",
        "S" => "sleeping",
        "D" => "waiting for a disk",
        "T" => "stopped",
        "t" => "stopped by a debugger",
        "Z" | "X" => "ended",
        "I" => "idle",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{ThreadWork, parse};

    const STAT: &str = "8 (a) b) R 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 3 0 123456 1000 10 0 0 0 0 0 0 \
                        0 0 0 0 0 0 0 17 1 0 0 0 0 0";

    #[test]
    fn the_files_of_the_system_are_read() {
        let status = "Name:\ta\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        let thread = parse(STAT, "2500000000 100000000 40\n", status).expect("a thread");
        assert_eq!((thread.id, &thread.name[..]), (8, "a) b"));
        assert_eq!(thread.state.as_deref(), Some("running"));
        assert_eq!(thread.processor, Some(1));
        let work = ThreadWork {
            running: Some(2.5),
            system: Some(0.5),
            waiting: Some(0.1),
            busy: Some(2.6),
            switches: Some(12.0),
            preemptions: Some(3.0),
        };
        assert_eq!(thread.work, work);
        for none in ["", "0 0 0\n"] {
            let work = parse(STAT, none, "").expect("a thread").work;
            assert_eq!((work.running, work.waiting, work.busy), (Some(2.0), None, None), "{none}");
        }
        for (letter, word) in [
            ("S", "sleeping"),
            ("D", "waiting for a disk"),
            ("t", "stopped by a debugger"),
            ("?", "?"),
        ] {
            let stat = STAT.replace(" R ", &format!(" {letter} "));
            let thread = parse(&stat, "", "").expect("a thread");
            assert_eq!(thread.state.as_deref(), Some(word), "{letter}");
        }
        assert!(parse("8 (a", "", "").is_none());
    }
}
