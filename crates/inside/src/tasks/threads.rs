//! The threads of the process, as the system and the program itself see them. Only Linux tells of them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use weir_observe::thread::busy_threads;
use weir_view::{Thread, ThreadWork};

/// Threads that are read at most: each is three files.
const THREADS_MAX: usize = 1_000;

/// Earlier numbers than these are not compared with.
const SPAN_MAX: Duration = Duration::from_secs(5);

/// The unit of times in `/proc/PID/stat`: `USER_HZ`, which is 100 on every machine that Rust builds for.
const TICKS_PER_S: f64 = 100.0;

/// The threads at the last look.
#[derive(Debug, Default)]
pub(super) struct ThreadHistory(Option<(Instant, HashMap<u64, ThreadWork>)>);

impl ThreadHistory {
    /// The threads at this moment, with what they did since the last look.
    pub(super) fn look(&mut self, now: Instant) -> Vec<Thread> {
        let mut threads = threads();
        let works = threads.iter().map(|thread| (thread.id, thread.work)).collect();
        let before = self.0.replace((now, works));
        let Some((then, before)) = before else { return threads };
        let span = now.saturating_duration_since(then);
        if span > SPAN_MAX || span.is_zero() {
            return threads;
        }
        for thread in &mut threads {
            let before = before.get(&thread.id).copied().unwrap_or_default();
            thread.rates = Some(thread.work.rates_since(&before, span.as_secs_f64()));
        }
        threads
    }
}

fn threads() -> Vec<Thread> {
    let busy: HashMap<u64, Duration> = busy_threads().into_iter().collect();
    let Ok(folders) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let folders = folders.filter_map(Result::ok).take(THREADS_MAX);
    let mut threads: Vec<Thread> = folders.filter_map(|folder| read(&folder.path())).collect();
    for thread in &mut threads {
        thread.work.busy = busy.get(&thread.id).map(Duration::as_secs_f64);
    }
    threads.sort_unstable_by_key(|thread| thread.id);
    threads
}

/// Reads a folder of `/proc/PID/task`; `None` if the thread has ended.
fn read(folder: &Path) -> Option<Thread> {
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    parse(&file("stat"), &file("schedstat"), &file("status"))
}

/// Reads `stat` and `status` (`proc_pid_stat(5)`, `proc_pid_status(5)`) and `schedstat` (kernel documentation,
/// `scheduler/sched-stats.rst`) of a thread. A kernel may have been built without the last.
fn parse(stat: &str, schedstat: &str, status: &str) -> Option<Thread> {
    let (id, rest) = stat.split_once(" (")?;
    // The name may hold anything, also brackets.
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The third field of the file is the first after the name.
    let field = |number: usize| fields.get(number - 3).copied();
    let ticks = |number: usize| Some(field(number)?.parse::<f64>().ok()? / TICKS_PER_S);
    let mut scheduler = schedstat.split_whitespace().map(|ns| Some(ns.parse::<f64>().ok()? / 1e9));
    let (running, waiting) = (scheduler.next().flatten(), scheduler.next().flatten());
    let switches = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(Thread {
        id: id.parse().ok()?,
        name: name.to_owned(),
        state: field(3)?.to_owned(),
        processor: field(39).and_then(|number| number.parse().ok()),
        work: ThreadWork {
            running: running.or_else(|| Some(ticks(14)? + ticks(15)?)),
            system: ticks(15),
            waiting,
            busy: None,
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
        assert_eq!((thread.id, &thread.name[..], &thread.state[..]), (8, "a) b", "R"));
        assert_eq!(thread.processor, Some(1));
        let work = ThreadWork {
            running: Some(2.5),
            system: Some(0.5),
            waiting: Some(0.1),
            busy: None,
            switches: Some(12.0),
            preemptions: Some(3.0),
        };
        assert_eq!(thread.work, work);
        let without = parse(STAT, "", "").expect("a thread").work;
        assert_eq!((without.running, without.waiting), (Some(2.0), None));
        for broken in ["", "8 (a", "8 (a) ", "x (a) R 1"] {
            assert!(parse(broken, "", "").is_none(), "{broken}");
        }
    }
}
