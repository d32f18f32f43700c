//! An open-loop load generator for `cargo xtask bench gateway`: sends requests at a fixed rate,
//! whether or not earlier ones have been answered.
//!
//!     pace HOST PATH RATE SECONDS TOKEN
//!
//! A thread sleeps until a request is due, then passes it to a free connection. Latency is measured
//! from the time when the request was due, so that waiting for a free connection is included (no
//! coordinated omission). It prints `measured REQUESTS FAILURES SECONDS` and the 50th, 75th, 90th,
//! 95th and 99th percentiles of the latency in microseconds.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The number of connections: many times what a server at 70 % of its rate uses.
const CONNECTIONS: usize = 64;

const PERCENTS: [usize; 5] = [50, 75, 90, 95, 99];

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [host, path, rate, seconds, token] = &arguments[..] else {
        return Err("pace HOST PATH RATE SECONDS TOKEN".into());
    };
    let (rate, seconds): (f64, f64) = (rate.parse()?, seconds.parse()?);
    let count = (rate * seconds) as u32;
    if count == 0 {
        return Err("no request is due: use a higher rate or more seconds".into());
    }
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
    let (free, free_ones) = channel();
    let (measured, mut latencies) = unbounded_channel();
    for _ in 0..CONNECTIONS {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (due, due_times) = unbounded_channel();
        free.send(due.clone())?;
        let connection = Connection { stream, due, due_times, free: free.clone() };
        tokio::spawn(connection.run(request.clone().into_bytes(), measured.clone()));
    }
    drop((free, measured));
    let start = Instant::now();
    thread::spawn(move || dispatch(&free_ones, start, rate, count));
    let mut times_us = Vec::new();
    // Fewer arrive only if every connection has failed.
    for _ in 0..count {
        let Some(time) = latencies.recv().await else { break };
        times_us.extend(time.map(|time: Duration| time.as_micros()));
    }
    let took = start.elapsed().as_secs_f64();
    let failures = count as usize - times_us.len();
    times_us.sort_unstable();
    let percentile = |percent: usize| {
        let index = times_us.len() * percent / 100;
        times_us.get(index.min(times_us.len().saturating_sub(1))).copied().unwrap_or(0).to_string()
    };
    println!("measured {count} {failures} {took} {}", PERCENTS.map(percentile).join(" "));
    Ok(())
}

/// Passes each request to a free connection when it is due.
fn dispatch(free: &Receiver<UnboundedSender<Instant>>, start: Instant, rate: f64, count: u32) {
    for number in 0..count {
        let due = start + Duration::from_secs_f64(f64::from(number) / rate);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // If all connections have failed, none becomes free again.
        let Ok(connection) = free.recv_timeout(TIMEOUT) else { return };
        if connection.send(due).is_err() {
            return;
        }
    }
}

/// A connection, and the channel of the times when its requests are due.
struct Connection {
    stream: TcpStream,
    due: UnboundedSender<Instant>,
    due_times: UnboundedReceiver<Instant>,
    free: Sender<UnboundedSender<Instant>>,
}

impl Connection {
    /// Sends a request whenever one is due, and reports its latency; `None` if it failed.
    async fn run(mut self, request: Vec<u8>, measured: UnboundedSender<Option<Duration>>) {
        let mut buffer = vec![0; 256 << 10];
        while let Some(due) = self.due_times.recv().await {
            let exchange = exchange(&mut self.stream, &request, &mut buffer);
            let is_answered =
                tokio::time::timeout(TIMEOUT, exchange).await.is_ok_and(|outcome| outcome.is_ok());
            let latency = is_answered.then(|| due.elapsed());
            // The run ends when either channel is closed.
            if measured.send(latency).is_err() || latency.is_none() {
                return;
            }
            let _ = self.free.send(self.due.clone());
        }
    }
}

/// Sends a request, and reads its answer to the end.
async fn exchange(stream: &mut TcpStream, request: &[u8], buffer: &mut [u8]) -> Outcome {
    stream.write_all(request).await?;
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..]).await?;
        if read == 0 {
            return Err("the answer is cut off, or too large".into());
        }
        filled += read;
        if let Some(length) = length_of(&buffer[..filled])?
            && filled >= length
        {
            return Ok(());
        }
    }
}

/// Returns the length of an answer including its head, if the head has arrived.
fn length_of(answer: &[u8]) -> Outcome<Option<usize>> {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&answer[..end])?.to_ascii_lowercase();
    if !head.starts_with("http/1.1 200 ") {
        return Err("the status is not 200".into());
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    Ok(Some(end + 4 + length.ok_or("the answer has no length")?.trim().parse::<usize>()?))
}
