//! Messages that wait until the terminal is given back. Between the lines of a picture, nobody
//! could read them.

use std::io::{Write, stderr};
use std::time::Instant;

use weir_sync::Lock;

use super::console::if_taken;

/// The most messages that are kept.
const HELD_MAX: usize = 100;

/// The messages that wait, the oldest first. The first member is the number of those left out.
static HELD: Lock<(u64, Vec<(Instant, String)>)> = Lock::new((0, Vec::new()));

/// Keeps a message, which ends in a line feed, until the terminal is given back. Returns false if
/// the program does not draw, so that the message can be written at once.
pub(crate) fn hold(message: &str) -> bool {
    if_taken(|| {
        let mut held = HELD.lock();
        if held.1.len() == HELD_MAX {
            held.1.remove(0);
            held.0 += 1;
        }
        held.1.push((Instant::now(), message.to_owned()));
    })
}

/// Returns the last message that waits, if it came after this time.
pub(crate) fn last_held(after: Instant) -> Option<String> {
    let held = HELD.lock();
    held.1.last().filter(|(at, _)| *at > after).map(|(_, message)| message.clone())
}

/// Writes the messages that wait.
pub(super) fn write_held() {
    let (left_out, messages) = std::mem::take(&mut *HELD.lock());
    let mut stderr = stderr().lock();
    // If standard error is closed, they cannot be reported anywhere.
    if left_out > 0 {
        let _ = writeln!(stderr, "weir: {left_out} earlier messages were left out");
    }
    for (_, message) in messages {
        let _ = stderr.write_all(message.as_bytes());
    }
}
