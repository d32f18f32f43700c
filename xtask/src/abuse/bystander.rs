//! A well-behaved client, and how long it waits for answers during an attack.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::server::Server;
use crate::shell::Outcome;

/// The pause between two requests.
const PAUSE: Duration = Duration::from_millis(10);

/// The longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The most that 99 of 100 requests may take, unless the machine is busy.
const P99_MAX: Duration = Duration::from_millis(50);

/// Then they may take this many times as long as those to a server that is not attacked. On a machine
/// with load 20, of a few hundred requests, the slowest took three times as long as the slowest of others.
const CONTROL_RATIO: u32 = 10;

/// Asks for a small file again and again, each time on a new connection, in turn of the server under
/// attack and of another one. Both wait for the processors of a busy machine.
pub(super) struct Bystander {
    should_end: Arc<AtomicBool>,
    waits: JoinHandle<[Vec<Duration>; 2]>,
    _control: Server,
}

impl Bystander {
    /// Starts to ask the server under attack and another one, which runs the program `weir`.
    ///
    /// # Errors
    /// If the other one does not start.
    pub(super) fn start(weir: &Path, host: &str) -> Outcome<Self> {
        let control = Server::start(weir)?;
        let should_end = Arc::new(AtomicBool::new(false));
        let (hosts, ends) = ([host, control.host()].map(str::to_owned), should_end.clone());
        let waits = std::thread::spawn(move || {
            let mut waits = [Vec::new(), Vec::new()];
            while !ends.load(Ordering::Relaxed) {
                for (host, waits) in hosts.iter().zip(&mut waits) {
                    let start = Instant::now();
                    // A request without an answer waits for ever.
                    let is_answered = get(host, "/favicon.svg").is_some();
                    waits.push(if is_answered { start.elapsed() } else { Duration::MAX });
                }
                std::thread::sleep(PAUSE);
            }
            waits
        });
        Ok(Self { should_end, waits, _control: control })
    }

    /// Sends requests for some time, and returns a summary of the waits.
    ///
    /// # Errors
    /// If they are above the bound.
    pub(super) fn ask_for(weir: &Path, host: &str, time: Duration) -> Outcome<String> {
        let bystander = Self::start(weir, host)?;
        std::thread::sleep(time);
        bystander.end()
    }

    /// Ends, and returns a summary of the waits.
    ///
    /// # Errors
    /// If they are above the bound.
    pub(super) fn end(self) -> Outcome<String> {
        self.should_end.store(true, Ordering::Relaxed);
        let [mut waits, mut control] = self.waits.join().map_err(|_| "the bystander failed")?;
        waits.sort();
        control.sort();
        let (Some(p50), Some(p99), Some(alone)) =
            (at(&waits, 50), at(&waits, 99), at(&control, 99))
        else {
            return Err("the bystander has asked for nothing".into());
        };
        let failed = waits.iter().filter(|wait| **wait == Duration::MAX).count();
        let text = format!(
            "bystander: {} requests, {failed} without an answer, median {} ms, p99 {} ms, {} ms at a \
             server that is not attacked",
            waits.len(),
            tenths(p50),
            tenths(p99),
            tenths(alone)
        );
        let p99_max = P99_MAX.max(alone.saturating_mul(CONTROL_RATIO));
        let is_within = p99 != Duration::MAX && p99 <= p99_max;
        if is_within { Ok(text) } else { Err(text.into()) }
    }
}

/// The time within which this many of 100 sorted waits have ended.
fn at(waits: &[Duration], percent: usize) -> Option<Duration> {
    waits.get(waits.len() * percent / 100).copied()
}

/// Milliseconds with one decimal.
fn tenths(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1e3)
}

/// Requests a path on a new connection. Returns the response if its status is 200 and it is whole.
pub(super) fn get(host: &str, path: &str) -> Option<Vec<u8>> {
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    answer.starts_with(b"HTTP/1.1 200 ").then_some(answer)
}
