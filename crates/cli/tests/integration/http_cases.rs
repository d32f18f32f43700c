//! Requests that are hard to read: `tests/http/cases.txt`, whose head describes its form.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::support::{Served, page, weir};

/// The request after each case that is not cut: its status is known, and it ends the connection.
const NEXT: &str = "GET /next HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// The cases that are not cut, but whose body is longer than all bytes that follow. The server
/// waits for its end.
const LONG_BODIES: [&str; 2] = ["a length of 2^63", "a size of 2^64 - 1"];

/// How long a client waits for a byte of an answer before it closes its sending side.
const PATIENCE: Duration = Duration::from_secs(5);

/// One case of the file.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The section of a standard that the case tests.
    pub(crate) rule: String,
    /// The statuses of Weir's answers.
    pub(crate) want: String,
    /// The judgement, if nginx answers differently.
    pub(crate) judgement: Option<String>,
    /// The judgement, if the gateway passes on more requests than nginx does.
    pub(crate) proxied: Option<String>,
    bytes: Vec<u8>,
    /// Whether the server waits for more bytes at the end.
    is_unfinished: bool,
}

impl Case {
    /// All cases of the file.
    pub(crate) fn all() -> Vec<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/cases.txt");
        let text = std::fs::read_to_string(path).expect("the cases");
        let blocks = text
            .split("\n\n")
            .map(|block| block.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>());
        blocks.filter(|lines| !lines.is_empty()).map(|lines| Self::parse(&lines)).collect()
    }

    fn parse(lines: &[&str]) -> Self {
        let find =
            |key: &str| lines.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        let field = |key| find(key).unwrap_or_else(|| panic!("no `{key}` in {lines:?}")).to_owned();
        let bytes = match find("send") {
            Some(text) => [unescape(text), NEXT.as_bytes().to_vec()].concat(),
            None => unescape(&field("cut")),
        };
        let judgement = find("nginx").map(str::to_owned);
        let proxied = find("proxied").map(str::to_owned);
        let (name, rule, want) = (field("case"), field("rule"), field("want"));
        let is_unfinished = find("send").is_none() || LONG_BODIES.contains(&name.as_str());
        Self { name, rule, want, judgement, proxied, bytes, is_unfinished }
    }

    /// Sends the bytes and closes the sending side. Returns the statuses of the answers up to the
    /// end of the connection.
    pub(crate) fn ask<S: Read + Write>(&self, mut stream: S, shutdown: impl Fn(&S)) -> String {
        // A server may have answered and closed before it has read everything.
        let _ = stream.write_all(&self.bytes);
        shutdown(&stream);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        statuses(&answer)
    }

    /// Like [`ask`](Self::ask), but closes the sending side only if the gateway waits for more
    /// bytes. From then on a pause of a second would end the request: the gateway takes the client
    /// for one that has gone.
    pub(crate) fn ask_gateway(&self, address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let _ = stream.write_all(&self.bytes);
        let mut answer = Vec::new();
        if !self.is_unfinished {
            stream.set_read_timeout(Some(PATIENCE)).expect("set");
            if stream.read_to_end(&mut answer).is_ok() {
                return statuses(&answer);
            }
            stream.set_read_timeout(None).expect("set");
        }
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut answer);
        statuses(&answer)
    }
}

/// The statuses of the answers on a connection.
fn statuses(answers: &[u8]) -> String {
    let answers = String::from_utf8_lossy(answers);
    let statuses = answers.split("HTTP/1.").skip(1).filter_map(|rest| {
        let status = rest.get(1..6)?.strip_prefix(' ')?.strip_suffix(' ')?;
        status.parse::<u16>().ok().map(|status| status.to_string())
    });
    match statuses.collect::<Vec<_>>().join(" ") {
        none if none.is_empty() && answers.is_empty() => "closed".to_owned(),
        none if none.is_empty() => "no status".to_owned(),
        statuses => statuses,
    }
}

/// The bytes of an escaped text.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '{' => {
                let (inside, _) = rest[1..].split_once('}').expect("a closing brace");
                let (times, repeated) = inside.split_once(' ').expect("a number and a text");
                bytes.extend(unescape(repeated).repeat(times.parse().expect("a number")));
                inside.len() + 2
            }
            '\\' => {
                let (byte, length) = escape(&rest[1..]);
                bytes.push(byte);
                1 + length
            }
            _ => {
                bytes.extend(first.to_string().as_bytes());
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    bytes
}

/// The byte of an escape after its backslash, and the length of the escape.
fn escape(text: &str) -> (u8, usize) {
    match text.as_bytes() {
        [b'r', ..] => (b'\r', 1),
        [b'n', ..] => (b'\n', 1),
        [b't', ..] => (b'\t', 1),
        [b'0', ..] => (0, 1),
        [b'x', ..] => (u8::from_str_radix(&text[1..3], 16).expect("two digits"), 3),
        _ => panic!("not an escape: {text}"),
    }
}

/// A server without a log.
pub(crate) struct WeirServer {
    _process: Served,
    address: String,
}

impl WeirServer {
    pub(crate) fn start() -> Self {
        let mut command = weir(["--no-open", "--listen", "127.0.0.1:0"]);
        let mut process = Served(command.stdout(Stdio::piped()).spawn().expect("the binary runs"));
        let page = page(&mut process.0);
        let address = page.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { _process: process, address }
    }

    pub(crate) fn ask(&self, case: &Case) -> String {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        case.ask(stream, |stream| _ = stream.shutdown(Shutdown::Write))
    }
}

#[test]
fn requests_that_are_hard_to_read_are_answered_as_the_cases_state() {
    let (cases, server) = (Case::all(), WeirServer::start());
    assert!(cases.len() > 200, "{} cases", cases.len());
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "names are unique");
    let mut wrong = Vec::new();
    for case in &cases {
        let answers = server.ask(case);
        if answers != case.want {
            wrong.push(format!("{}: {answers}, not {}", case.name, case.want));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
