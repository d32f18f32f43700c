//! What is sent, and how it is recognised.

use std::time::Duration;

/// Payload of a frame in bytes: Chromium cuts messages into frames of this size.
pub const FRAME_BYTES: usize = 131_000;

/// Distinct payloads; they are sent one after the other, again and again.
pub(crate) const PAYLOADS: usize = 8;

/// Bytes of a frame that the checksum passes over for each one that it takes: enough are taken
/// to notice a wrong mask or a shift, and too few to cost time.
const STRIDE_BYTES: usize = 509;

/// What a server has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Payload in bytes.
    pub bytes: u64,
    /// See [`Checksum`]; 0 of a server that looks at no payload.
    pub checksum: u64,
    /// From the end of the handshake to the close frame.
    pub elapsed: Duration,
    /// What the receiving thread has worked, its system calls included; zero where the system
    /// does not say.
    pub worked: Duration,
}

/// Length and a sparse checksum of the payloads of messages, in pieces of any size.
#[derive(Debug, Default)]
pub struct Checksum {
    bytes: u64,
    sum: u64,
    /// Where in its message the next piece lies.
    offset: usize,
}

impl Checksum {
    /// Adds the next piece of a message, of which it may be the last.
    pub fn add(&mut self, piece: &[u8], end_of_message: bool) {
        let first = self.offset.next_multiple_of(STRIDE_BYTES) - self.offset;
        for at in (first..piece.len()).step_by(STRIDE_BYTES) {
            // The place counts as well, so that bytes that change places are noticed.
            let product = u64::from(piece[at]) * (self.offset + at + 1) as u64;
            self.sum = self.sum.wrapping_add(product);
        }
        self.bytes += piece.len() as u64;
        self.offset = if end_of_message { 0 } else { self.offset + piece.len() };
    }

    /// What was received in this time.
    pub fn received(&self, elapsed: Duration) -> Received {
        Received { bytes: self.bytes, checksum: self.sum, elapsed, worked: worked() }
    }
}

/// The time that this thread has had a core, by Linux (proc(5), `schedstat`).
pub(crate) fn worked() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Bytes that look like nothing, different for each number below [`PAYLOADS`].
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
