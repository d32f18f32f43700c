//! A backend that parses requests as strictly as RFC 9112 is written, and reports what it received.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// How long a connection may be in the middle of a request.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The bytes that a backend has received, as requests and faults.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Each request: `GET /`, or with a body `POST / 5` or `POST / 5 chunked`.
    pub(crate) requests: Vec<String>,
    /// The defect of bytes that are not a request.
    pub(crate) faults: Vec<String>,
    /// Connections that have sent a part of a request.
    unfinished: usize,
}

/// A backend that answers each request with 200. It ends with the test.
pub(crate) struct RecordingBackend {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl RecordingBackend {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = shared.clone();
                std::thread::spawn(move || serve(stream, &seen));
            }
        });
        Self { address, seen }
    }

    /// Returns what has arrived since the last call. Waits until no request is unfinished.
    pub(crate) fn take(&self) -> Seen {
        let start = Instant::now();
        loop {
            let mut seen = lock(&self.seen);
            if seen.unfinished == 0 {
                return std::mem::take(&mut seen);
            }
            drop(seen);
            assert!(start.elapsed() < TIMEOUT, "a proxy ends the requests that it begins");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().expect("no panic")
}

fn serve(mut stream: TcpStream, seen: &Mutex<Seen>) {
    let (mut bytes, mut part) = (Vec::new(), [0; 4_096]);
    let mut is_unfinished = false;
    while let Ok(read) = stream.read(&mut part) {
        if read == 0 {
            break;
        }
        bytes.extend_from_slice(&part[..read]);
        let mut answers = 0;
        let mut seen = lock(seen);
        let fault = loop {
            match request(&bytes) {
                Ok(Some((description, length))) => {
                    seen.requests.push(description);
                    bytes.drain(..length);
                    answers += 1;
                }
                Ok(None) => break None,
                Err(fault) => break Some(fault),
            }
        };
        let was_unfinished = std::mem::replace(&mut is_unfinished, !bytes.is_empty());
        seen.unfinished =
            seen.unfinished + usize::from(is_unfinished) - usize::from(was_unfinished);
        if let Some(fault) = fault {
            seen.faults.push(format!("{fault}: {:?}", String::from_utf8_lossy(&bytes)));
            break;
        }
        drop(seen);
        if stream.write_all(&ANSWER.repeat(answers)).is_err() {
            break;
        }
    }
    lock(seen).unfinished -= usize::from(is_unfinished);
}

/// The first request of these bytes with its length, if it is whole.
fn request(bytes: &[u8]) -> Result<Option<(String, usize)>, String> {
    let Some(end) = find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default();
    let (method, target) = request_line(line).ok_or("the request line is malformed")?;
    let (mut lengths, mut codings, mut hosts) = (Vec::new(), Vec::new(), 0);
    for line in lines {
        let (name, value) = line.split_once(':').ok_or("a field has no colon")?;
        if !is_token(name) || value.chars().any(|it| it.is_control() && it != '\t') {
            return Err("a field is malformed".to_owned());
        }
        match name.to_ascii_lowercase().as_str() {
            "content-length" => lengths.push(value.trim().to_owned()),
            "transfer-encoding" => codings.push(value.trim().to_ascii_lowercase()),
            "host" => hosts += 1,
            _ => {}
        }
    }
    if hosts != 1 {
        return Err(format!("{hosts} fields are named Host"));
    }
    let (body, rest) = (end + 4, &bytes[end + 4..]);
    match (&lengths[..], &codings[..]) {
        ([], []) => Ok(Some((format!("{method} {target}"), body))),
        ([length], []) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            let length: usize = length.parse().map_err(|_| "the length is malformed")?;
            let is_whole = rest.len() >= length;
            Ok(is_whole.then(|| (format!("{method} {target} {length}"), body + length)))
        }
        ([], [coding]) if coding == "chunked" => {
            let whole = chunked(rest)?;
            Ok(whole.map(|(content, length)| {
                (format!("{method} {target} {content} chunked"), body + length)
            }))
        }
        _ => Err("the framing is ambiguous".to_owned()),
    }
}

fn request_line(line: &str) -> Option<(&str, &str)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else { return None };
    let is_target = !target.is_empty() && !target.chars().any(char::is_control);
    (is_token(method) && is_target).then_some((method, target))
}

/// RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token)
}

/// The length of the content of a chunked body and of the body itself, if it is whole.
fn chunked(bytes: &[u8]) -> Result<Option<(usize, usize)>, String> {
    let (mut content, mut at) = (0, 0);
    loop {
        let Some(end) = find(&bytes[at..], b"\r\n") else { return Ok(None) };
        let size = std::str::from_utf8(&bytes[at..at + end]).map_err(|_| "a chunk has no size")?;
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("the size of a chunk is malformed".to_owned());
        }
        let size = usize::from_str_radix(size, 16).map_err(|_| "a chunk is too large")?;
        at += end + 2;
        if size == 0 {
            return Ok(trailer(&bytes[at..]).map(|length| (content, at + length)));
        }
        let Some(after) = bytes.get(at + size..at + size + 2) else { return Ok(None) };
        if after != b"\r\n" {
            return Err("a chunk is longer than its size".to_owned());
        }
        (content, at) = (content + size, at + size + 2);
    }
}

/// The length of the trailer section with the line that ends it, if it is whole.
fn trailer(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(b"\r\n") {
        return Some(2);
    }
    find(bytes, b"\r\n\r\n").map(|end| end + 4)
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[test]
fn a_strict_backend_knows_requests_from_other_bytes() {
    let whole = |text: &str| request(text.as_bytes()).map(|it| it.map(|(request, _)| request));
    let head = "POST /a HTTP/1.1\r\nHost: a\r\n";
    for (rest, expected) in [
        ("\r\n", Ok(Some("POST /a"))),
        ("Content-Length: 2\r\n\r\nab", Ok(Some("POST /a 2"))),
        ("Content-Length: 2\r\n\r\na", Ok(None)),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", Ok(Some("POST /a 2 chunked"))),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n", Ok(None)),
        ("Transfer-Encoding: chunked\r\n\r\n2;a\r\n", Err("the size of a chunk is malformed")),
        (
            "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
            Err("the framing is ambiguous"),
        ),
        ("Content-Length: +2\r\n\r\nab", Err("the framing is ambiguous")),
        ("Host: b\r\n\r\n", Err("2 fields are named Host")),
        ("X : y\r\n\r\n", Err("a field is malformed")),
        ("X: a\nb\r\n\r\n", Err("a field is malformed")),
    ] {
        let expected = expected.map(|it| it.map(str::to_owned)).map_err(str::to_owned);
        assert_eq!(whole(&format!("{head}{rest}")), expected, "{rest:?}");
    }
    assert!(whole("GET  / HTTP/1.1\r\nHost: a\r\n\r\n").is_err());
}
