//! Streams that may pause: a reader gets control back after a while without bytes.

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use super::byte_counter::ByteCounter;

/// How long a read waits for bytes.
const TICK: Duration = Duration::from_millis(20);

/// Bytes that a pipe is asked to hold: fewer turns between who writes and who reads. As many as
/// Linux lets everybody have (pipe(7), `/proc/sys/fs/pipe-max-size`).
const PIPE_BYTES: usize = 1 << 20;

/// A pipe, FIFO, socket or device. Once the counter allows timeouts, a read without bytes fails
/// with `WouldBlock` after a while.
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
        let may_time_out = self.counter.may_time_out();
        if may_time_out && !brings_something(&self.stream, Some(TICK))? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            match self.stream.read(buffer) {
                // Whoever has the other end of a terminal or a socket may have made it one that
                // never waits.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !may_time_out => {
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
