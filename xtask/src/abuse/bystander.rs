//! A well-behaved client, and how long it waits for answers during an attack.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::shell::Outcome;

/// The pause between two requests.
const PAUSE: Duration = Duration::from_millis(10);

/// The longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The most that 99 of 100 requests may take.
const P99_MAX: Duration = Duration::from_millis(50);

/// Asks for a small file again and again, each time on a new connection.
pub(super) struct Bystander {
    should_end: Arc<AtomicBool>,
    waits: JoinHandle<Vec<Duration>>,
}

impl Bystander {
    pub(super) fn start(host: &str) -> Self {
        let should_end = Arc::new(AtomicBool::new(false));
        let (host, ends) = (host.to_owned(), should_end.clone());
        let waits = std::thread::spawn(move || {
            let mut waits = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                let start = Instant::now();
                // A request without an answer waits for ever.
                waits.push(ask(&host).map_or(Duration::MAX, |()| start.elapsed()));
                std::thread::sleep(PAUSE);
            }
            waits
        });
        Self { should_end, waits }
    }

    /// Sends requests for some time, and returns a summary of the waits.
    ///
    /// # Errors
    /// If they are above the bound.
    pub(super) fn ask_for(host: &str, time: Duration) -> Outcome<String> {
        let bystander = Self::start(host);
        std::thread::sleep(time);
        bystander.end()
    }

    /// Ends, and returns a summary of the waits.
    ///
    /// # Errors
    /// If they are above the bound.
    pub(super) fn end(self) -> Outcome<String> {
        self.should_end.store(true, Ordering::Relaxed);
        let mut waits = self.waits.join().map_err(|_| "the bystander failed")?;
        waits.sort();
        let at = |percent: usize| waits.get(waits.len() * percent / 100).copied();
        let (Some(p50), Some(p99)) = (at(50), at(99)) else {
            return Err("the bystander has asked for nothing".into());
        };
        let failed = waits.iter().filter(|wait| **wait == Duration::MAX).count();
        let text = format!(
            "bystander: {} requests, {failed} without an answer, median {} ms, p99 {} ms",
            waits.len(),
            tenths(p50),
            tenths(p99)
        );
        if p99 > P99_MAX { Err(text.into()) } else { Ok(text) }
    }
}

/// Milliseconds with one decimal.
fn tenths(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1e3)
}

fn ask(host: &str) -> Option<()> {
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    let request = format!("GET /favicon.svg HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    answer.starts_with(b"HTTP/1.1 200 ").then_some(())
}
