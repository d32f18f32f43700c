//! What happened at a listener, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What happened at a listener so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeedCounts {
    /// Connections that are open now.
    pub connections_open: u64,
    /// Connections that were taken, whether or not they are still open.
    pub connections: u64,
    /// Connections that were refused, as there were as many as may be.
    pub connections_refused: u64,
    /// Connections that were closed for having completed no line for too long, or no TLS
    /// handshake.
    pub connections_timed_out: u64,
    /// Connections that were dropped for what they sent: lying counts, no TLS, too much.
    pub connections_dropped: u64,
    /// Datagrams that were received, those that we dropped among them.
    pub datagrams: u64,
    /// Datagrams that were longer than 64 KiB, of which the line was dropped that did not fit.
    pub datagrams_cut: u64,
    /// Datagrams that we dropped, where reading was unlimited and the cap was reached.
    pub datagrams_dropped: u64,
    /// Datagrams that the kernel dropped, as its buffer was full.
    pub datagrams_dropped_by_kernel: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Reads that brought something.
    pub reads: u64,
    /// Time in reads, in nanoseconds of all threads together.
    pub receiving_ns: u64,
    /// Time in telling lines and handing them on, waiting for room included.
    pub working_ns: u64,
}

macro_rules! counters {
    ($($name:ident),*) => {
        /// The same, for many to count at once.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter),*
        }

        impl Counters {
            pub(crate) fn now(&self) -> FeedCounts {
                FeedCounts { $($name: self.$name.get()),* }
            }
        }
    };
}

counters!(
    connections_open,
    connections,
    connections_refused,
    connections_timed_out,
    connections_dropped,
    datagrams,
    datagrams_cut,
    datagrams_dropped,
    datagrams_dropped_by_kernel,
    bytes,
    reads,
    receiving_ns,
    working_ns
);

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, number: u64) {
        self.0.fetch_sub(number, Ordering::Relaxed);
    }

    pub(crate) fn add_time(&self, time: Duration) {
        self.add(time.as_nanos() as u64);
    }

    pub(crate) fn set(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl FeedCounts {
    /// The counts that a person wants to see, as a sentence; what did not happen is left out.
    pub fn sentence(&self, is_datagram: bool) -> String {
        let mut parts = Vec::new();
        if is_datagram {
            parts.push(amount(self.datagrams, "datagram", ""));
        } else {
            parts.push(amount(self.connections_open, "connection", " open"));
            if self.connections > self.connections_open {
                parts.push(format!("{} so far", self.connections));
            }
        }
        for (number, noun, what) in [
            (self.connections_refused, "connection", " refused, as there were too many"),
            (self.connections_timed_out, "connection", " timed out"),
            (self.connections_dropped, "connection", " dropped for what they sent"),
            (self.datagrams_cut, "datagram", " cut at 64 KiB"),
            (self.datagrams_dropped, "datagram", " dropped at the cap"),
            (self.datagrams_dropped_by_kernel, "datagram", " dropped by the kernel"),
        ] {
            if number > 0 {
                parts.push(amount(number, noun, what));
            }
        }
        parts.join(", ")
    }
}

fn amount(number: u64, noun: &str, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}{what}")
}

#[cfg(test)]
mod tests {
    use super::FeedCounts;

    #[test]
    fn says_what_happened() {
        let mut counts = FeedCounts { connections_open: 1, connections: 3, ..Default::default() };
        assert_eq!(counts.sentence(false), "1 connection open, 3 so far");
        counts.datagrams_dropped_by_kernel = 7;
        assert_eq!(counts.sentence(true), "0 datagrams, 7 datagrams dropped by the kernel");
        (counts.datagrams, counts.datagrams_cut) = (9, 1);
        let sentence = "9 datagrams, 1 datagram cut at 64 KiB, 7 datagrams dropped by the kernel";
        assert_eq!(counts.sentence(true), sentence);
    }
}
