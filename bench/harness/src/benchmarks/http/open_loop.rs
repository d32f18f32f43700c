//! A client that sends requests at fixed times, whether or not the answers to earlier ones have
//! come.
//!
//! A request that has to wait for its connection counts from the time at which it should have been
//! sent. So a server that pauses makes all requests of the pause slow, not only the one that it
//! holds (the "coordinated omission" of clients that wait).

use std::io::{BufRead, BufReader, Read, Write, copy, sink};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use super::servers::Address;
use crate::load::Load;
use weir_tools::shell::Outcome;

/// The number of connections, each with its own thread.
const CONNECTIONS: u32 = 50;
/// The pause between the times of two requests of a connection.
const INTERVAL: Duration = Duration::from_millis(50);
/// The number of requests of a connection.
const REQUESTS: u32 = 100;
/// A server that takes longer for the whole run does not keep up at all.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Requests a second of all connections.
pub(super) const RATE: usize = CONNECTIONS as usize * 1000 / INTERVAL.as_millis() as usize;

/// Requests a chunked body of this size, and measures the latencies.
pub(super) fn run(address: &Address, path: &str, body_bytes: u64) -> Outcome<Load> {
    let start = Instant::now() + INTERVAL;
    let connections = (0..CONNECTIONS).map(|number| {
        let (host, path) = (address.host(), path.to_owned());
        let first = start + INTERVAL * number / CONNECTIONS;
        thread::spawn(move || request_all(&host, &path, first, body_bytes))
    });
    // All threads start before the first one is awaited.
    let connections: Vec<_> = connections.collect();
    let (mut latencies, mut end) = (Vec::new(), start);
    for connection in connections {
        let (of_connection, ended) = connection.join().map_err(|_| "a client failed")??;
        latencies.extend(of_connection);
        end = end.max(ended);
    }
    let times_us = latencies.iter().map(|latency| latency.as_secs_f64() * 1e6).collect();
    Load::of_times(times_us, (end - start).as_secs_f64())
}

/// Sends the requests of one connection. Returns their latencies, and when the last answer came.
fn request_all(
    host: &str,
    path: &str,
    first: Instant,
    body_bytes: u64,
) -> Result<(Vec<Duration>, Instant), String> {
    let failed = |error: std::io::Error| format!("a request failed: {error}");
    let stream = TcpStream::connect(host).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
    let mut answers = BufReader::new(stream.try_clone().map_err(failed)?);
    let (mut stream, request) = (stream, format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    let (mut latencies, mut ended) = (Vec::new(), first);
    for number in 0..REQUESTS {
        let scheduled = first + INTERVAL * number;
        thread::sleep(scheduled.saturating_duration_since(Instant::now()));
        stream.write_all(request.as_bytes()).map_err(failed)?;
        let received = read_answer(&mut answers).map_err(failed)?;
        if received != body_bytes {
            return Err(format!("an answer has {received} bytes, not {body_bytes}"));
        }
        ended = Instant::now();
        latencies.push(ended - scheduled);
    }
    Ok((latencies, ended))
}

/// Reads a chunked answer with the status 200 (RFC 9112 section 7.1). Returns the bytes of its
/// body.
fn read_answer(answers: &mut impl BufRead) -> std::io::Result<u64> {
    let invalid = |what: &str| std::io::Error::other(format!("the answer has {what}"));
    let mut line = String::new();
    answers.read_line(&mut line)?;
    if line.split(' ').nth(1) != Some("200") {
        return Err(invalid("another status than 200"));
    }
    while line != "\r\n" {
        line.clear();
        if answers.read_line(&mut line)? == 0 {
            return Err(invalid("no end of its head"));
        }
    }
    let mut received = 0;
    loop {
        line.clear();
        answers.read_line(&mut line)?;
        let size = u64::from_str_radix(line.trim_end(), 16);
        let size = size.map_err(|_| invalid("a chunk without a size"))?;
        let line_end = 2;
        if copy(&mut answers.take(size + line_end), &mut sink())? != size + line_end {
            return Err(invalid("no end"));
        }
        received += size;
        if size == 0 {
            return Ok(received);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read_answer;

    #[test]
    fn chunked_answers_are_read_to_their_end() {
        let answer = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n3\r\nabc\r\n0a\r\n0123456789\r\n0\r\n\r\n";
        let mut two = answer.repeat(2);
        let mut answers = two.as_bytes();
        assert_eq!(read_answer(&mut answers).unwrap(), 13);
        assert_eq!(read_answer(&mut answers).unwrap(), 13);
        assert!(answers.is_empty());
        assert!(read_answer(&mut answer.replace("200", "503").as_bytes()).is_err());
        two.truncate(answer.len() - 1);
        assert!(read_answer(&mut two.as_bytes()).is_err());
    }
}
