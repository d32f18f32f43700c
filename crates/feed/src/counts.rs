//! The counts of a listener.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The counts of a listener since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeedCounts {
    /// Connections that are open now.
    pub connections_open: u64,
    /// Connections that were accepted, open or closed.
    pub connections: u64,
    /// Connections that were refused because the limit was reached.
    pub connections_refused: u64,
    /// Connections that were closed because they completed no line, or no TLS handshake, in time.
    pub connections_timed_out: u64,
    /// Connections that were dropped for their input: wrong counts, no TLS, or too much input.
    pub connections_dropped: u64,
    /// Partial lines that were discarded because their connection failed or was dropped.
    pub lines_torn: u64,
    /// Datagrams that were received, dropped ones included.
    pub datagrams: u64,
    /// Datagrams over 64 KiB. They lost the line that crosses that limit, and the rest.
    pub datagrams_cut: u64,
    /// Datagrams that the feed dropped because the cap of unlimited reading was reached.
    pub datagrams_dropped: u64,
    /// Datagrams that the kernel dropped because its buffer was full.
    pub datagrams_dropped_by_kernel: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Reads that returned bytes.
    pub reads: u64,
    /// Time spent reading, in nanoseconds, summed over all threads.
    pub receiving_ns: u64,
    /// Time spent splitting and writing lines, in nanoseconds, summed over all threads. It includes
    /// the waits for room in the sink.
    pub working_ns: u64,
}

macro_rules! counters {
    ($($name:ident),*) => {
        /// The same counts, for concurrent updates.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter),*
        }

        impl Counters {
            pub(crate) fn snapshot(&self) -> FeedCounts {
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
    lines_torn,
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
    /// Returns the counts that matter to a person, as a sentence. Zero counts are left out.
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
        for (number, noun, event) in [
            (self.connections_refused, "connection", " refused at the limit"),
            (self.connections_timed_out, "connection", " timed out"),
            (self.connections_dropped, "connection", " dropped for invalid input"),
            (self.lines_torn, "line", " torn by the end of a connection"),
            (self.datagrams_cut, "datagram", " cut at 64 KiB"),
            (self.datagrams_dropped, "datagram", " dropped at the cap"),
            (self.datagrams_dropped_by_kernel, "datagram", " dropped by the kernel"),
        ] {
            if number > 0 {
                parts.push(amount(number, noun, event));
            }
        }
        parts.join(", ")
    }
}

fn amount(number: u64, noun: &str, event: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}{event}")
}

#[cfg(test)]
mod tests {
    use super::FeedCounts;

    #[test]
    fn counts_become_a_sentence() {
        let mut counts = FeedCounts { connections_open: 1, connections: 3, ..Default::default() };
        assert_eq!(counts.sentence(false), "1 connection open, 3 so far");
        counts.datagrams_dropped_by_kernel = 7;
        assert_eq!(counts.sentence(true), "0 datagrams, 7 datagrams dropped by the kernel");
        (counts.datagrams, counts.datagrams_cut) = (9, 1);
        let sentence = "9 datagrams, 1 datagram cut at 64 KiB, 7 datagrams dropped by the kernel";
        assert_eq!(counts.sentence(true), sentence);
    }
}
