//! What the system tells of threads. Only Linux does.

use std::fs;
use std::path::Path;

use weir_view::{BusySource, Thread, ThreadWork};

/// Threads that are read at most: each is three files.
const THREADS_MAX: usize = 1_000;

/// The unit of times in `/proc/PID/stat`: `USER_HZ`, which is 100 on every machine that Rust builds for.
const TICKS_PER_S: f64 = 100.0;

/// The threads in the order of their numbers; `None` if the system does not tell of them.
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

/// Reads `stat` and `status` (`proc_pid_stat(5)`, `proc_pid_status(5)`) and `schedstat` (kernel documentation,
/// `scheduler/sched-stats.rst`) of a thread. A kernel may have been built without the last.
pub(super) fn parse(stat: &str, schedstat: &str, status: &str) -> Option<Thread> {
    let (id, rest) = stat.split_once(" (")?;
    // The name may hold anything, also brackets.
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The third field of the file is the first after the name.
    let field = |number: usize| fields.get(number - 3).copied();
    let ticks = |number: usize| Some(field(number)?.parse::<f64>().ok()? / TICKS_PER_S);
    // A kernel that keeps no such statistics says `0 0 0`; a thread that is read has had one turn at least.
    let schedstat = if schedstat.trim_end().ends_with(" 0") { "" } else { schedstat };
    let mut scheduler = schedstat.split_whitespace().map(|ns| Some(ns.parse::<f64>().ok()? / 1e9));
    let (running, waiting) = (scheduler.next().flatten(), scheduler.next().flatten());
    let switches = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    // A thread works while it is on a processor, and while it could be.
    let busy = running.zip(waiting).map(|(running, waiting)| running + waiting);
    Some(Thread {
        id: id.parse().ok()?,
        name: name.to_owned(),
        state: Some(field(3)?.to_owned()),
        processor: field(39).and_then(|number| number.parse().ok()),
        busy_source: busy.map(|_| BusySource::System),
        work: ThreadWork {
            running: running.or_else(|| Some(ticks(14)? + ticks(15)?)),
            system: ticks(15),
            waiting,
            busy,
            switches: switches("voluntary_ctxt_switches:"),
            preemptions: switches("nonvoluntary_ctxt_switches:"),
        },
        rates: None,
    })
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
        assert_eq!(thread.state.as_deref(), Some("R"));
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
        for broken in ["", "8 (a", "8 (a) ", "x (a) R 1"] {
            assert!(parse(broken, "", "").is_none(), "{broken}");
        }
    }
}
