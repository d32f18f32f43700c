//! The cases of `tests/http/cases.txt` through a gateway to a backend of HTTP/2. The requests that
//! arrive are in `tests/http/http2-backend.txt`. `BLESS=1` rewrites it.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use crate::gateway::{address, config};
use crate::http_cases::Case;
use crate::http2_recording_backend::{Arrived, Http2RecordingBackend};
use crate::support::{Folder, Served, text, weir};

/// Fields that belong to one connection of HTTP/1.1 (RFC 9113 section 8.2.2), and `Host`, which
/// `:authority` replaces.
const FORBIDDEN: [&str; 7] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "host",
];

const HEAD: &str = "\
# What arrives at a backend of HTTP/2 behind the gateway, for each case of cases.txt: the statuses of the
# answers, and each whole request. `next` is the request that follows a case that is not cut off.
# A test writes this file with BLESS=1 (docs/proxied-cases.md).
";

fn start(folder: &Folder, backend: SocketAddr) -> (Served, SocketAddr) {
    let config = config(backend).replace("\n[[routes]]", "\nhttp2 = true\n[[routes]]");
    let path = folder.file("gateway.toml", config.as_bytes());
    let arguments = ["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&path)];
    let mut command = weir(arguments);
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut process = Served(started.expect("it starts"));
    let gateway = address(&mut process);
    (process, gateway)
}

/// The first reason why a request may not be sent over HTTP/2.
fn fault(request: &Arrived) -> Option<String> {
    let is_fault = |(name, value): &&(String, String)| {
        FORBIDDEN.contains(&name.as_str())
            || name.bytes().any(|byte| byte.is_ascii_uppercase())
            || (name == "te" && value != "trailers")
    };
    let (name, value) = request.fields.iter().find(is_fault)?;
    Some(format!("the field {name}: {value}"))
}

#[test]
fn a_backend_of_http2_gets_whole_requests_without_fields_of_http1() {
    let folder = Folder::new();
    let backend = Http2RecordingBackend::start();
    let (_process, gateway) = start(&folder, backend.address);
    let (mut golden, mut wrong) = (HEAD.to_owned(), Vec::new());
    let mut passed = 0;
    for case in &Case::all() {
        let answers = case.ask_gateway(gateway);
        let arrived = backend.take();
        let answered = answers.split(' ').filter(|status| *status == "200").count();
        // The backend resets malformed requests, for which the gateway answers 502.
        if arrived.len() != answered || answers.contains("502") {
            wrong.push(format!("{}: answers {answers}, but {arrived:?}", case.name));
        }
        let faults = arrived.iter().filter_map(fault);
        wrong.extend(faults.map(|fault| format!("{}: {fault}", case.name)));
        passed += answered;
        let _ = writeln!(golden, "\ncase: {}\nanswers: {answers}", case.name);
        for request in &arrived {
            golden.push_str(if request.path == "/next" { "  next\n" } else { &request.text });
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(passed > 100, "only {passed} requests reached the backend");
    // The port of the backend, which stands for an absent Host, is another one each time.
    check_golden(&golden.replace(&backend.address.to_string(), "BACKEND"));
}

fn check_golden(golden: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/http2-backend.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, golden).expect("written");
        return;
    }
    let expected = std::fs::read_to_string(&path).expect("the golden file");
    for (found, expected) in golden.split("\n\n").zip(expected.split("\n\n")) {
        assert_eq!(found, expected, "BLESS=1 writes the file");
    }
    assert_eq!(golden.len(), expected.len(), "a case is missing; BLESS=1 writes the file");
}
