//! The threads as the program itself measures them.

use std::time::Duration;

use weir_observe::thread::ThreadBusyTime;
use weir_view::{BusySource, Thread, ThreadWork};

/// Converts the busy times to threads, for systems that do not list threads.
pub(super) fn threads(busy_times: Vec<ThreadBusyTime>) -> Vec<Thread> {
    busy_times.into_iter().map(thread).collect()
}

/// Sets the busy time of a thread, as measured by the program.
pub(super) fn set_busy(thread: &mut Thread, busy: Duration) {
    thread.work.busy = Some(busy.as_secs_f64());
    thread.busy_source = Some(BusySource::Program);
}

fn thread(seen: ThreadBusyTime) -> Thread {
    let mut thread = Thread {
        id: seen.id.unwrap_or(seen.number),
        name: seen.name,
        state: None,
        processor: None,
        busy_source: None,
        work: ThreadWork::default(),
        rates: None,
    };
    set_busy(&mut thread, seen.busy);
    thread
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_observe::thread::ThreadBusyTime;
    use weir_view::BusySource;

    use super::threads;

    #[test]
    fn threads_are_known_without_the_system() {
        let (name, busy) = ("connections-0".to_owned(), Duration::from_millis(1_500));
        let threads = threads(vec![ThreadBusyTime { number: 3, id: None, name, busy }]);
        let [thread] = &threads[..] else { panic!("{threads:?}") };
        assert_eq!((thread.id, &thread.name[..], &thread.state), (3, "connections-0", &None));
        assert_eq!(thread.work.busy, Some(1.5));
        assert_eq!(thread.busy_source, Some(BusySource::Program));
        assert_eq!(thread.work.running, None);
    }
}
