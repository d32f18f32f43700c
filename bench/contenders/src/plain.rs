//! Two limits: a receiver that only reads, and one that discards.

use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::listen;
use crate::payload::{Received, worked};

/// The size of Weir's reads.
const BUFFER_BYTES: usize = 256 << 10;

/// Counts the received bytes, frame headers included, and does nothing else: the limit of loopback.
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

/// The pause of [`discard`]: a fraction of the time in which the sender fills the socket's buffer.
const PAUSE: Duration = Duration::from_micros(200);
/// More than the sender sends in a pause.
const DISCARDED_BYTES: usize = 16 << 20;

/// Makes the kernel discard the received bytes (`MSG_TRUNC`, tcp(7)) from time to time, so that the
/// sender neither stops nor wakes a reader. The time left is that of the sender, and no receiver
/// can be faster.
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
