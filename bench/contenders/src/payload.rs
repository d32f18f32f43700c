//! The payload and its checksum.

use std::time::Duration;

/// Payload of a frame in bytes: Chromium cuts messages into frames of this size.
pub const FRAME_BYTES: usize = 131_000;

/// Distinct payloads, which are sent in turn.
pub(crate) const PAYLOADS: usize = 8;

/// The checksum reads one byte in this many: enough to notice a wrong mask or a shift, and too few
/// to cost time.
const STRIDE_BYTES: usize = 509;

/// The payload that a server received, and its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Payload in bytes.
    pub bytes: u64,
    /// See [`Checksum`]; 0 for a server that does not read the payload.
    pub checksum: u64,
    /// From the end of the handshake to the close frame.
    pub elapsed: Duration,
    /// Processor time of the receiving thread, system calls included; zero if the system does not
    /// report it.
    pub worked: Duration,
}

/// Length and a sparse checksum of the payloads of messages, in pieces of any size.
#[derive(Debug, Default)]
pub struct Checksum {
    bytes: u64,
    sum: u64,
    /// Offset of the next piece in its message.
    offset: usize,
}

impl Checksum {
    /// Adds the next piece of a message.
    pub fn add(&mut self, piece: &[u8], end_of_message: bool) {
        let first = self.offset.next_multiple_of(STRIDE_BYTES) - self.offset;
        for at in (first..piece.len()).step_by(STRIDE_BYTES) {
            // The product contains the offset, so that swapped bytes are noticed.
            let product = u64::from(piece[at]) * (self.offset + at + 1) as u64;
            self.sum = self.sum.wrapping_add(product);
        }
        self.bytes += piece.len() as u64;
        self.offset = if end_of_message { 0 } else { self.offset + piece.len() };
    }

    /// The sums so far, with the elapsed time.
    pub fn received(&self, elapsed: Duration) -> Received {
        Received { bytes: self.bytes, checksum: self.sum, elapsed, worked: worked() }
    }
}

/// Processor time of this thread (proc(5), `schedstat`).
pub(crate) fn worked() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Pseudo-random bytes, different for each payload.
pub(crate) fn payloads() -> Vec<Vec<u8>> {
    let payload = |number: usize| {
        let bytes = (number * FRAME_BYTES) as u64..((number + 1) * FRAME_BYTES) as u64;
        bytes.map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
    };
    (0..PAYLOADS).map(payload).collect()
}

#[cfg(test)]
mod tests {
    use super::{Checksum, payloads};
    use std::time::Duration;

    #[test]
    fn pieces_make_no_difference_and_a_wrong_byte_does() {
        let payload = &payloads()[1];
        let whole = |payload: &[u8]| {
            let mut checksum = Checksum::default();
            checksum.add(payload, true);
            checksum.received(Duration::ZERO)
        };
        for size in [1, 508, 509, 510, 4096] {
            let mut checksum = Checksum::default();
            for piece in payload.chunks(size) {
                checksum.add(piece, false);
            }
            checksum.add(&[], true);
            assert_eq!(checksum.received(Duration::ZERO), whole(payload), "{size}");
        }
        let mut shifted = payload.clone();
        shifted.rotate_left(1);
        assert_ne!(whole(&shifted), whole(payload));
    }
}
