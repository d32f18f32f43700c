//! Streams that may pause: a read returns after a while without bytes.

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use super::byte_counter::ByteCounter;

/// How long a read waits for bytes.
const TICK: Duration = Duration::from_millis(20);

/// The capacity that a pipe is asked to have, so that writer and reader alternate less often. It
/// is the largest that Linux allows an unprivileged process (pipe(7),
/// `/proc/sys/fs/pipe-max-size`).
const PIPE_BYTES: usize = 1 << 20;

/// A pipe, FIFO, socket or device. Once the counter allows timeouts, a read without bytes fails
/// with `WouldBlock` after a while.
pub(super) struct TimeoutReader {
    stream: File,
    counter: ByteCounter,
}

impl TimeoutReader {
    pub(super) fn new(stream: File, counter: &ByteCounter) -> Self {
        enlarge(&stream);
        Self { stream, counter: counter.clone() }
    }
}

impl Read for TimeoutReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let may_time_out = self.counter.may_time_out();
        if may_time_out && !wait_until_readable(&self.stream, Some(TICK))? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            match self.stream.read(buffer) {
                // The process at the other end of a terminal or socket may have made it
                // non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !may_time_out => {
                    wait_until_readable(&self.stream, None)?;
                }
                result => return result,
            }
        }
    }
}

/// Waits until the stream is readable, with bytes or its end, or until the timeout. Returns whether
/// it is readable.
#[cfg(unix)]
fn wait_until_readable(stream: &File, timeout: Option<Duration>) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let timeout =
        timeout.map(|timeout| Timespec { tv_sec: 0, tv_nsec: timeout.subsec_nanos().into() });
    let mut streams = [PollFd::new(stream, PollFlags::IN)];
    Ok(poll(&mut streams, timeout.as_ref())? > 0)
}

/// Other platforms have no timeout: buffered lines are shown when more bytes arrive.
#[cfg(not(unix))]
fn wait_until_readable(_: &File, _: Option<Duration>) -> io::Result<bool> {
    Ok(true)
}

/// Failing to enlarge a pipe only makes it slower.
#[cfg(target_os = "linux")]
fn enlarge(stream: &File) {
    let _ = rustix::pipe::fcntl_setpipe_size(stream, PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn enlarge(_: &File) {}
