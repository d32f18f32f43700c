//! Delays between attempts to accept a connection while the system cannot accept.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::time::Instant;

const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Delays the next accept after a failure: 5 ms after the first one, doubled after each further one
/// up to 1 s.
///
/// If the system is out of descriptors or memory, accept(2) fails at once and the socket stays
/// readable. Without a delay the accept loop would use a whole core until a descriptor is free.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    pause: Duration,
    /// When the next attempt may start. It is kept here, so that dropping the future does not skip
    /// the delay.
    resume: Option<Instant>,
}

impl Backoff {
    /// Waits for the end of the delay, if there is one, and then for `accept` to return. Skips
    /// errors that concern only the connection that was being accepted.
    pub(crate) async fn accept<T, F>(&mut self, mut accept: impl FnMut() -> F) -> io::Result<T>
    where
        F: Future<Output = io::Result<T>>,
    {
        if let Some(resume) = self.resume {
            tokio::time::sleep_until(resume).await;
            self.resume = None;
        }
        loop {
            match accept().await {
                Ok(accepted) => {
                    self.pause = Duration::ZERO;
                    return Ok(accepted);
                }
                Err(error) if is_connection_error(&error) => {}
                Err(error) => {
                    self.pause = (self.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
                    self.resume = Some(Instant::now() + self.pause);
                    return Err(error);
                }
            }
        }
    }
}

/// Whether the error ends only the connection that was being accepted.
fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_descriptors() -> io::Error {
        io::Error::other("too many open files")
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_for_lasting_errors_only() {
        let mut backoff = Backoff::default();
        let mut previous = Duration::ZERO;
        for expected_ms in [5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000] {
            let start = Instant::now();
            backoff.accept(async || Err::<(), _>(no_descriptors())).await.unwrap_err();
            assert_eq!(start.elapsed(), previous);
            previous = Duration::from_millis(expected_ms);
        }
        backoff.accept(async || Ok(())).await.unwrap();
        let start = Instant::now();
        let mut results = vec![Ok(()), Err(io::ErrorKind::ConnectionAborted.into())];
        backoff.accept(|| std::future::ready(results.pop().unwrap())).await.unwrap();
        assert!(results.is_empty());
        assert_eq!(start.elapsed(), Duration::ZERO, "the pause ended with a success");
    }

    #[tokio::test(start_paused = true)]
    async fn accept_errors_do_not_spin() {
        let (mut backoff, mut attempts) = (Backoff::default(), 0);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            let failed = backoff.accept(|| {
                attempts += 1;
                std::future::ready(Err::<(), _>(no_descriptors()))
            });
            failed.await.unwrap_err();
        }
        assert!((60..80).contains(&attempts), "{attempts} attempts in a minute");
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_attempt_keeps_the_pace() {
        let mut backoff = Backoff::default();
        backoff.accept(async || Err::<(), _>(no_descriptors())).await.unwrap_err();
        let mut attempts = 0;
        for _ in 0..4 {
            let attempt = backoff.accept(|| {
                attempts += 1;
                std::future::ready(Ok(()))
            });
            let _ = tokio::time::timeout(Duration::from_millis(2), attempt).await;
        }
        assert_eq!(attempts, 2, "attempts at 5 ms and at once after the success");
    }
}
