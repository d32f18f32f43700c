//! Streams that bring bytes when they like: whoever waits for more can do something meanwhile
//! with what came.

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use super::byte_counter::ByteCounter;

/// How long nothing may come before that is said.
const TICK: Duration = Duration::from_millis(20);

/// Bytes that a pipe is asked to hold: fewer turns between who writes and who reads. As many as
/// Linux lets everybody have (pipe(7), `/proc/sys/fs/pipe-max-size`).
const PIPE_BYTES: usize = 1 << 20;

/// A pipe, FIFO, socket or device that says `WouldBlock` where it brings nothing for now, once
/// the counter may tick.
pub(super) struct Timed {
    stream: File,
    counter: ByteCounter,
}

impl Timed {
    pub(super) fn new(stream: File, counter: &ByteCounter) -> Self {
        enlarge(&stream);
        Self { stream, counter: counter.clone() }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let may_tick = self.counter.may_time_out();
        if may_tick && !brings_something(&self.stream, Some(TICK))? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            match self.stream.read(buffer) {
                // Whoever has the other end of a terminal or a socket may have made it one that
                // never waits.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !may_tick => {
                    brings_something(&self.stream, None)?;
                }
                result => return result,
            }
        }
    }
}

/// Waits until there is something to read, or the end, but no longer than that.
#[cfg(unix)]
fn brings_something(stream: &File, longest: Option<Duration>) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let longest =
        longest.map(|longest| Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() });
    let mut streams = [PollFd::new(stream, PollFlags::IN)];
    Ok(poll(&mut streams, longest.as_ref())? > 0)
}

/// Elsewhere nobody is told that nothing comes: what came is shown with what comes next.
#[cfg(not(unix))]
fn brings_something(_: &File, _: Option<Duration>) -> io::Result<bool> {
    Ok(true)
}

/// A pipe that cannot be made larger is as good, only slower.
#[cfg(target_os = "linux")]
fn enlarge(stream: &File) {
    let _ = rustix::pipe::fcntl_setpipe_size(stream, PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn enlarge(_: &File) {}
