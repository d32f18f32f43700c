//! The answers of the proxies, compared byte for byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::proxies::Program;
use weir_tools::shell::Outcome;

/// Requests on one connection.
const REPEATS: usize = 10;

/// How long an answer, or the count of all records, may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Asks for a path several times on one connection, and compares each answer.
pub(in crate::benchmarks) fn answers(
    proxy: &Program,
    path: &str,
    token: &str,
    expected: &[u8],
) -> Outcome {
    let mut connection = Connection::open(proxy.port)?;
    for _ in 0..REPEATS {
        let (status, body) = connection.ask(path, token)?;
        if status != 200 || body != expected {
            let bytes = body.len();
            return Err(format!("{path}: status {status} and {bytes} bytes, not the file").into());
        }
    }
    Ok(())
}

/// Checks that requests without a token and with a wrong one are refused.
pub(super) fn refusals(proxy: &Program, path: &str, token: &str) -> Outcome {
    let (signed, signature) = token.rsplit_once('.').ok_or("a token has a signature")?;
    let reversed: String = signature.chars().rev().collect();
    for wrong in ["", &format!("{signed}.{reversed}")] {
        let (status, _) = Connection::open(proxy.port)?.ask(path, wrong)?;
        if status != 401 {
            return Err(format!("{path}: a request without a valid token gets {status}").into());
        }
    }
    Ok(())
}

/// Sends the first tokens of a file twice, to a gateway that has seen none of them, and checks that
/// its records count each as new and then as known.
pub(super) fn caching(weir: &Program, path: &str, tokens: &Path) -> Outcome {
    const COUNT: usize = 100;
    let tokens = std::fs::read_to_string(tokens)?;
    let mut connection = Connection::open(weir.port)?;
    for _ in 0..2 {
        for token in tokens.lines().take(COUNT) {
            let (status, _) = connection.ask(path, token)?;
            if status != 200 {
                return Err(format!("{path}: a good token gets {status}").into());
            }
        }
    }
    let prefix = path.rsplit_once('/').map_or(path, |(prefix, _)| prefix);
    for state in ["miss", "hit"] {
        let condition = format!("token_cache={state} and route={prefix}");
        expect_records(weir, &condition, COUNT as u64)?;
    }
    Ok(())
}

/// Waits until this many records meet a condition. A record appears shortly after its answer.
fn expect_records(weir: &Program, condition: &str, expected: u64) -> Outcome {
    let end = Instant::now() + TIMEOUT;
    loop {
        let report = weir.report(condition)?;
        let count = report["matching"].as_u64();
        if count == Some(expected) {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("{condition}: not {expected} records in {report}").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A connection of a client.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn open(port: u16) -> Outcome<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends a request, with a token unless it is empty. Returns the status and the body.
    fn ask(&mut self, path: &str, token: &str) -> Outcome<(u16, Vec<u8>)> {
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n");
        if !token.is_empty() {
            request += &format!("Authorization: Bearer {token}\r\n");
        }
        self.stream.get_mut().write_all(format!("{request}\r\n").as_bytes())?;
        let (mut status, mut length) = (None, None);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.split(' ').next().and_then(|text| text.parse().ok());
            } else if let Some(text) = line.strip_prefix("content-length:") {
                length = text.trim().parse().ok();
            }
        }
        let mut body = vec![0; length.ok_or("the answer has no length")?];
        self.stream.read_exact(&mut body)?;
        Ok((status.ok_or("the answer has no status")?, body))
    }
}
