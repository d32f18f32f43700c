//! The threads of this process, as `/proc/self/task` lists them (`proc(5)`).

use std::fs;

/// A thread of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) id: i32,
    /// The state: `R` is running or runnable, `S` waits, `D` waits for a device.
    pub(crate) state: char,
}

/// Lists all threads; empty if `/proc` cannot be read.
pub(crate) fn threads() -> Vec<Thread> {
    let Ok(entries) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // Skips threads that have ended since the folder was read.
    ids.filter_map(|id| Some(Thread { id, state: state(id)? })).collect()
}

fn state(id: i32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/self/task/{id}/stat")).ok()?;
    // The name precedes the state in parentheses, and may itself contain parentheses.
    text.rsplit_once(") ")?.1.chars().next()
}

/// Returns the name of a thread, or `thread ID` if it has ended or has no name.
pub(crate) fn thread_name(id: i32) -> String {
    let name = fs::read_to_string(format!("/proc/self/task/{id}/comm")).unwrap_or_default();
    match name.trim() {
        "" => format!("thread {id}"),
        name => name.to_owned(),
    }
}

/// Returns the number of the calling thread: `/proc/thread-self` is a link to
/// `PROCESS/task/THREAD`.
pub(crate) fn own_thread() -> Option<i32> {
    let path = fs::read_link("/proc/thread-self").ok()?;
    path.file_name()?.to_str()?.parse().ok()
}
