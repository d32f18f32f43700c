//! A collector of traces that accepts everything and keeps nothing.

use std::io::{BufRead, BufReader, Read, Write, copy, sink};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use weir_tools::shell::Outcome;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

/// A collector. Its threads end with the program.
pub(super) struct Collector {
    /// The URL to which spans are sent.
    pub(super) endpoint: String,
    received: Arc<AtomicU64>,
}

impl Collector {
    pub(super) fn start() -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let endpoint = format!("http://{}/v1/traces", listener.local_addr()?);
        let received = Arc::<AtomicU64>::default();
        let counted = received.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let counted = counted.clone();
                // A connection that breaks is opened again by the gateway.
                thread::spawn(move || serve(&stream, &counted));
            }
        });
        Ok(Self { endpoint, received })
    }

    /// The bytes of all requests so far.
    pub(super) fn received_bytes(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

/// Answers the requests of a connection until it ends.
fn serve(mut stream: &TcpStream, received: &AtomicU64) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line.trim_end().is_empty() {
                break;
            }
        }
        let taken = copy(&mut reader.by_ref().take(length), &mut sink())?;
        received.fetch_add(taken, Ordering::Relaxed);
        stream.write_all(ANSWER)?;
    }
}
