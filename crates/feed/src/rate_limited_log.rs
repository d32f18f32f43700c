//! A rate limit on notices, because senders can cause any number of errors a second.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::notice::{Event, Notice, Report};

/// The number of notices that may be reported at once.
const BURST: u32 = 10;

/// The interval after which one more notice may be reported.
const REFILL_INTERVAL: Duration = Duration::from_secs(5);

/// A token bucket in front of a [`Report`].
pub(crate) struct RateLimitedLog {
    report: Report,
    bucket: Mutex<Bucket>,
}

struct Bucket {
    tokens: u32,
    refilled_at: Instant,
    suppressed: u64,
}

impl RateLimitedLog {
    pub(crate) fn new(report: Report) -> Self {
        let bucket = Bucket { tokens: BURST, refilled_at: Instant::now(), suppressed: 0 };
        Self { report, bucket: Mutex::new(bucket) }
    }

    /// Reports an event of a listener, or counts it as suppressed.
    pub(crate) fn report(&self, listener: Option<&str>, event: Event) {
        self.report_with_bytes(listener, event, None);
    }

    /// Like [`Self::report`], with the bytes that the connection has received, if known.
    pub(crate) fn report_with_bytes(
        &self,
        listener: Option<&str>,
        event: Event,
        received_bytes: Option<u64>,
    ) {
        let taken = self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(suppressed) = taken {
            let listener = listener.map(str::to_owned);
            (self.report)(&Notice { listener, event, received_bytes, suppressed });
        }
    }
}

impl Bucket {
    /// Takes a token. Returns the number of notices suppressed since the last token was taken, or
    /// `None` if there is no token.
    fn take(&mut self) -> Option<u64> {
        let refills = self.refilled_at.elapsed().as_secs() / REFILL_INTERVAL.as_secs();
        if refills > 0 {
            self.tokens = BURST.min(self.tokens.saturating_add(refills as u32));
            self.refilled_at = Instant::now();
        }
        if self.tokens == 0 {
            self.suppressed += 1;
            return None;
        }
        self.tokens -= 1;
        Some(std::mem::take(&mut self.suppressed))
    }
}

impl fmt::Debug for RateLimitedLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RateLimitedLog").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn notices_are_limited_and_the_others_counted() {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let log = RateLimitedLog::new({
            let reported = reported.clone();
            Arc::new(move |notice| reported.lock().expect("no panic").push(notice.to_string()))
        });
        let report = || log.report(None, Event::SinkMessage("a message".to_owned()));
        (0..1_000).for_each(|_| report());
        assert_eq!(reported.lock().expect("no panic").len(), BURST as usize);
        tokio::time::advance(REFILL_INTERVAL).await;
        (0..2).for_each(|_| report());
        let reported = reported.lock().expect("no panic");
        assert_eq!(reported.len(), BURST as usize + 1);
        assert_eq!(reported[10], "a message (990 earlier messages were suppressed)");
    }
}
