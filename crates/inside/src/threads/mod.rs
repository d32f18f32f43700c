//! The threads of the process, with times from the system if available, and otherwise from the
//! program.
//!
//! | subject | file |
//! |---|---|
//! | the threads as Linux reports them | `system.rs` |
//! | the threads as the program measures them | `program.rs` |
//! | rates for pages | `history.rs` |
//! | sums that never decrease, for metrics | `totals.rs` |

mod history;
mod program;
mod system;
mod totals;

use std::collections::HashMap;
use std::time::Duration;

use weir_observe::thread::thread_busy_times;
use weir_view::Thread;

pub(crate) use self::history::ThreadHistory;
pub(crate) use self::totals::ThreadTotals;

/// Returns the current threads, without rates.
fn threads() -> Vec<Thread> {
    let busy_times = thread_busy_times();
    match system::threads() {
        Some(mut threads) => {
            let busy = busy_times.iter().filter_map(|it| Some((it.id?, it.busy))).collect();
            add_busy_times(&mut threads, &busy);
            threads
        }
        None => program::threads(busy_times),
    }
}

/// Adds the busy times that the program measures to threads without one from the system.
fn add_busy_times(threads: &mut [Thread], busy: &HashMap<u64, Duration>) {
    for thread in threads.iter_mut().filter(|thread| thread.work.busy.is_none()) {
        if let Some(busy) = busy.get(&thread.id) {
            program::set_busy(thread, *busy);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::time::Duration;

    use weir_view::BusySource;

    use super::add_busy_times;
    use super::system::parse;

    #[test]
    fn the_system_is_believed_before_the_program() {
        let stat = "8 (a) R 1 7 7 0 -1 4194304 100 0 0 0 150 50 0";
        let busy = HashMap::from([(8, Duration::from_secs(7))]);
        let seen = |schedstat: &str| {
            let mut threads = vec![parse(stat, schedstat, "").expect("a thread")];
            add_busy_times(&mut threads, &busy);
            (threads[0].work.busy, threads[0].busy_source)
        };
        assert_eq!(seen("2500000000 500000000 40\n"), (Some(3.0), Some(BusySource::System)));
        // This kernel was built without `schedstat`.
        assert_eq!(seen(""), (Some(7.0), Some(BusySource::Program)));
    }
}
