//! Reading alone, and not even that.

use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::listen;
use crate::payload::{Received, worked};

/// As much as Weir reads at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Counts what comes, frame headers included, and looks at nothing: what loopback can do.
pub fn read(ready: Sender<SocketAddr>) -> io::Result<Received> {
    let (mut stream, _) = listen(&ready)?.accept()?;
    let start = Instant::now();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut bytes = 0;
    loop {
        let length = stream.read(&mut buffer)?;
        bytes += length as u64;
        if length == 0 {
            let (elapsed, worked) = (start.elapsed(), worked());
            return Ok(Received { bytes, checksum: 0, elapsed, worked });
        }
    }
}

/// How long [`discard`] leaves the sender alone: a fraction of what it needs to fill the buffer.
const PAUSE: Duration = Duration::from_micros(200);
/// More than comes in a pause.
const DISCARDED_BYTES: usize = 16 << 20;

/// Has the system throw away what comes (`MSG_TRUNC`, tcp(7)), now and then, so that the sender
/// is neither stopped nor has to wake anybody. What is left is the sender's time, and no receiver
/// can be faster than that.
pub fn discard(ready: Sender<SocketAddr>) -> io::Result<Received> {
    let (stream, _) = listen(&ready)?.accept()?;
    let start = Instant::now();
    let mut space = vec![MaybeUninit::uninit(); DISCARDED_BYTES];
    let mut bytes = 0;
    loop {
        let length = SockRef::from(&stream).recv_with_flags(&mut space, libc::MSG_TRUNC)?;
        bytes += length as u64;
        if length == 0 {
            let (elapsed, worked) = (start.elapsed(), worked());
            return Ok(Received { bytes, checksum: 0, elapsed, worked });
        }
        thread::sleep(PAUSE);
    }
}
