//! nginx behind the gateway: each answer equals the one that nginx itself sends.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use flate2::read::GzDecoder;

use super::{Nginx, TIMEOUT};
use crate::gateway::{address, config};
use crate::support::{Folder, Served, generated, text, weir};

/// The fields that have to be the same, with or without the gateway. Those of the framing differ:
/// see [`Answer::body`].
const FIELDS: [&str; 8] = [
    "accept-ranges",
    "content-encoding",
    "content-range",
    "content-type",
    "etag",
    "last-modified",
    "location",
    "allow",
];

/// How often nginx is started, in case another program takes its port.
const STARTS_MAX: usize = 5;

/// A connection that stays open, and another one after an answer that ends it.
struct Client(BufReader<TcpStream>);

/// An answer as its client understands it.
#[derive(Debug, PartialEq)]
struct Answer {
    status: String,
    /// Those of [`FIELDS`].
    fields: BTreeMap<String, String>,
    /// Without its framing.
    body: Vec<u8>,
    /// All fields.
    head: BTreeMap<String, String>,
}

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("set");
        Self(BufReader::new(stream))
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("it reads");
    }

    /// Sends a request with these fields, and with a body if it is not empty. Returns its answer.
    fn ask(&mut self, line: &str, fields: &str, body: &[u8]) -> Answer {
        self.send(format!("{line} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n").as_bytes());
        if fields.contains("100-continue") {
            assert_eq!(self.head().0, "100", "{line}: it waits for the body");
        }
        self.send(body);
        self.answer(line.starts_with("HEAD "))
    }

    /// The status and the fields of an answer.
    fn head(&mut self) -> (String, BTreeMap<String, String>) {
        let mut line = || {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).expect("text") > 0, "the connection has ended");
            line.trim_end().to_owned()
        };
        let status = line().split(' ').nth(1).unwrap_or_default().to_owned();
        let lines = std::iter::from_fn(|| Some(line()).filter(|line| !line.is_empty()));
        let field = |line: String| {
            let (name, value) = line.split_once(':').expect("a field");
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        (status, lines.map(field).collect())
    }

    fn answer(&mut self, is_to_head: bool) -> Answer {
        let (status, head) = self.head();
        let has_body = !is_to_head && !["204", "304"].contains(&status.as_str());
        let mut body = Vec::new();
        if has_body && head.get("transfer-encoding").is_some_and(|it| it == "chunked") {
            while self.chunk(&mut body) {}
        } else if has_body {
            let length = head.get("content-length").expect("a length").parse().expect("a number");
            body = vec![0; length];
            self.0.read_exact(&mut body).expect("the body");
        }
        let fields = FIELDS.iter().filter_map(|name| head.get_key_value(*name));
        let fields = fields.map(|(name, value)| (name.clone(), value.clone())).collect();
        if head.get("connection").is_some_and(|it| it.eq_ignore_ascii_case("close")) {
            *self = Self::connect(self.0.get_ref().peer_addr().expect("an address"));
        }
        Answer { status, fields, body, head }
    }

    /// Reads a chunk. Returns whether another one follows.
    fn chunk(&mut self, body: &mut Vec<u8>) -> bool {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a size");
        let length = usize::from_str_radix(line.trim_end(), 16).expect("a size");
        let (begin, mut end) = (body.len(), [0; 2]);
        body.resize(begin + length, 0);
        self.0.read_exact(&mut body[begin..]).expect("a chunk");
        self.0.read_exact(&mut end).expect("the end of a chunk");
        assert_eq!(&end, b"\r\n");
        length > 0
    }
}

/// nginx with some files, and the gateway before it.
struct NginxBehindGateway<'a> {
    _nginx: Nginx<'a>,
    _gateway: Served,
    direct: Client,
    through: Client,
}

impl<'a> NginxBehindGateway<'a> {
    fn start(folder: &'a Folder, path: &'a std::path::Path) -> Self {
        let (nginx, port) = start_nginx(path);
        let file = folder.file("gateway.toml", config(port).as_bytes());
        let arguments = ["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&file)];
        let mut command = weir(arguments);
        let started = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut gateway = Served(started.expect("it starts"));
        let through = Client::connect(address(&mut gateway));
        Self { _nginx: nginx, _gateway: gateway, direct: Client::connect(port), through }
    }

    /// Sends a request on both connections. Returns the answer, which is the same on both.
    fn ask(&mut self, line: &str, fields: &str, body: &[u8]) -> Answer {
        let direct = self.direct.ask(line, fields, body);
        let through = self.through.ask(line, fields, body);
        assert_eq!(through.status, direct.status, "{line} {fields}");
        assert_eq!(through.fields, direct.fields, "{line} {fields}");
        assert!(through.body == direct.body, "{line} {fields}: the bodies differ");
        through
    }
}

/// Starts nginx at a port that was free a moment ago, and at another one if it is taken by then.
fn start_nginx(path: &std::path::Path) -> (Nginx<'_>, SocketAddr) {
    let mut errors = String::new();
    for _ in 0..STARTS_MAX {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let port = free.expect("a port");
        let server = format!(
            "listen {port}; root {}; client_max_body_size 8m;\n\
             add_header X-Connection $connection always;\n\
             location / {{ dav_methods PUT DELETE; create_full_put_path on; }}\n\
             location /small/ {{ client_max_body_size 10; dav_methods PUT; }}\n\
             location /packed/ {{ gzip on; gzip_types *; gzip_min_length 1; }}\n\
             location /moved {{ return 301 /a.txt; }}",
            text(path)
        );
        match Nginx::try_new(path, "types { text/plain txt; }", &server) {
            Ok(nginx) => return (nginx, port),
            Err(found) => errors = found,
        }
    }
    panic!("nginx does not start: {errors}")
}

/// A folder for nginx with two files.
fn files(folder: &Folder) -> std::path::PathBuf {
    let path = folder.path("nginx");
    std::fs::create_dir_all(path.join("packed")).expect("a folder");
    std::fs::create_dir_all(path.join("small")).expect("a folder");
    // nginx stores what is put there as another user, if it is started by root.
    std::fs::set_permissions(&path, Permissions::from_mode(0o777)).expect("set");
    std::fs::write(path.join("a.txt"), "0123456789".repeat(10)).expect("a file");
    std::fs::write(path.join("packed/b.txt"), generated(1 << 20)).expect("a file");
    path
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn answers_of_nginx_come_through_unchanged() {
    let folder = Folder::new();
    let path = files(&folder);
    let mut both = NginxBehindGateway::start(&folder, &path);
    let whole = both.ask("GET /a.txt", "", b"");
    assert_eq!((whole.status.as_str(), whole.body.len()), ("200", 100));
    let head = both.ask("HEAD /a.txt", "", b"");
    assert_eq!(head.head.get("content-length").map(String::as_str), Some("100"));
    let (tag, date) = (&whole.fields["etag"], &whole.fields["last-modified"]);
    for (line, fields, status, body) in [
        ("GET /a.txt", &*format!("If-None-Match: {tag}\r\n"), "304", &b""[..]),
        ("GET /a.txt", &*format!("If-Modified-Since: {date}\r\n"), "304", b""),
        ("HEAD /a.txt", &*format!("If-None-Match: {tag}\r\n"), "304", b""),
        ("GET /a.txt", "Range: bytes=10-19\r\n", "206", b"0123456789"),
        ("GET /a.txt", "Range: bytes=-3\r\n", "206", b"789"),
        ("GET /a.txt", &*format!("Range: bytes=0-0\r\nIf-Range: {tag}\r\n"), "206", b"0"),
        ("GET /a.txt", "Range: bytes=100-\r\n", "416", b""),
        ("HEAD /a.txt", "Range: bytes=10-19\r\n", "206", b""),
        ("GET /none.txt", "", "404", b""),
        ("GET /moved", "", "301", b""),
        ("DELETE /none.txt", "", "404", b""),
        // nginx does not speak WebSocket, and answers as if the fields were not there.
        (
            "GET /a.txt",
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nRange: bytes=0-1\r\n",
            "206",
            b"01",
        ),
        ("GET /a.txt", "Range: bytes=0-0\r\n", "206", b"0"),
    ] {
        let answer = both.ask(line, fields, b"");
        assert_eq!(answer.status, status, "{line} {fields}");
        if !body.is_empty() {
            assert_eq!(answer.body, body, "{line} {fields}");
        }
    }
    let parts = both.through.ask("GET /a.txt", "Range: bytes=0-1,5-6\r\n", b"");
    let kind = &parts.fields["content-type"];
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect("several parts");
    let parts = String::from_utf8_lossy(&parts.body).into_owned();
    assert_eq!(parts.matches(boundary).count(), 3, "{parts}");
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn large_bodies_pass_both_ways() {
    let folder = Folder::new();
    let path = files(&folder);
    let mut both = NginxBehindGateway::start(&folder, &path);
    let large = generated(1 << 20);
    let (begin, rest) = large.split_at(123_456);
    let chunk = |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
    let chunked = [chunk(begin), chunk(rest), b"0\r\n\r\n".to_vec()].concat();
    let length = format!("Content-Length: {}\r\n", large.len());
    for (fields, body) in [
        (&*length, &large),
        ("Transfer-Encoding: chunked\r\n", &chunked),
        (&*format!("{length}Expect: 100-continue\r\n"), &large),
    ] {
        let stored = both.through.ask("PUT /stored.txt", fields, body);
        assert!(["201", "204"].contains(&stored.status.as_str()), "{fields} {}", stored.status);
        let answer = both.ask("GET /stored.txt", "", b"");
        assert!(answer.body == large, "{fields}: another body was stored");
        assert_eq!(both.through.ask("DELETE /stored.txt", "", b"").status, "204", "{fields}");
    }
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn a_chunked_answer_of_nginx_is_whole() {
    let folder = Folder::new();
    let path = files(&folder);
    let mut both = NginxBehindGateway::start(&folder, &path);
    let answer = both.ask("GET /packed/b.txt", "Accept-Encoding: gzip\r\n", b"");
    assert_eq!(answer.head.get("transfer-encoding").map(String::as_str), Some("chunked"));
    let mut unpacked = Vec::new();
    GzDecoder::new(&answer.body[..]).read_to_end(&mut unpacked).expect("gzip");
    assert!(unpacked == generated(1 << 20));
    // The next answer begins where this one has ended.
    assert_eq!(both.ask("GET /a.txt", "", b"").status, "200");
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn an_upload_that_nginx_refuses_early_is_answered() {
    let folder = Folder::new();
    let path = files(&folder);
    let mut both = NginxBehindGateway::start(&folder, &path);
    let body = [b'x'; 1 << 20];
    both.through.send(
        format!(
            "PUT /small/a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .as_bytes(),
    );
    // The gateway may close before it has read all of it.
    let _ = both.through.0.get_mut().write_all(&body);
    assert_eq!(both.through.answer(false).status, "413");
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn connections_to_nginx_are_used_again() {
    let folder = Folder::new();
    let path = files(&folder);
    let mut both = NginxBehindGateway::start(&folder, &path);
    let mut connections = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let mut answer = both.through.ask("GET /a.txt", "", b"");
        connections.extend(answer.head.remove("x-connection"));
    }
    assert_eq!(connections.len(), 1, "{connections:?}");
}
