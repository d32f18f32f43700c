//! The threads of this process, as `/proc/self/task` lists them (`proc(5)`).

use std::fs;

/// A thread, as the system knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) id: i32,
    /// `R` runs or could, `S` waits, `D` waits for a device.
    pub(crate) state: char,
}

/// All threads.
pub(crate) fn threads() -> Vec<Thread> {
    let Ok(entries) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // One that has ended meanwhile is none.
    ids.filter_map(|id| Some(Thread { id, state: state(id)? })).collect()
}

fn state(id: i32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/self/task/{id}/stat")).ok()?;
    // The name stands before it in parentheses, and may have some itself.
    text.rsplit_once(") ")?.1.chars().next()
}

/// The name of a thread; its number if it has ended, or has none.
pub(crate) fn thread_name(id: i32) -> String {
    let name = fs::read_to_string(format!("/proc/self/task/{id}/comm")).unwrap_or_default();
    match name.trim() {
        "" => format!("thread {id}"),
        name => name.to_owned(),
    }
}

/// The number of the thread that asks: `/proc/thread-self` leads to `PROCESS/task/THREAD`.
pub(crate) fn own_thread() -> Option<i32> {
    let path = fs::read_link("/proc/thread-self").ok()?;
    path.file_name()?.to_str()?.parse().ok()
}
