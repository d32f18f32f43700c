//! The periodic work of a listener: it flushes lines and reports counts.

use std::time::Duration;

use crate::sink::Sink;

use super::Listener;

/// The interval at which lines that do not fill a block are flushed, so that they show within
/// 200 ms.
const FLUSH_INTERVAL: Duration = Duration::from_millis(50);

/// The number of flushes after which the counts are updated.
const FLUSHES_PER_NOTE: u32 = 10;

impl<S: Sink> Listener<S> {
    /// Flushes the sink, reports its messages and updates its note, until the sink stops.
    pub(crate) async fn flush_all(&self) {
        let mut last_note = None;
        for flush in 0u32.. {
            tokio::time::sleep(FLUSH_INTERVAL).await;
            if let Err(stopped) = self.context.sink.flush().await {
                self.stop(stopped);
                return;
            }
            if let Some(message) = self.context.sink.take_message() {
                self.warn(None, None, &message);
            }
            if flush.is_multiple_of(FLUSHES_PER_NOTE) {
                self.note_counts(&mut last_note);
            }
        }
    }

    /// Passes the counts to the sink as a sentence, if the sentence has changed.
    fn note_counts(&self, last_note: &mut Option<String>) {
        if let Some(drops) = self.drop_counter.and_then(|counter| counter.datagrams_dropped()) {
            self.context.counters.datagrams_dropped_by_kernel.set(drops);
        }
        let note = Some(self.context.counters.snapshot().sentence(self.address.is_datagram()));
        if note != *last_note {
            self.context.sink.note(note.clone());
            *last_note = note;
        }
    }
}
