//! `weir rules` against nginx's own decisions about connections, request for request.
//!
//! nginx decides with `limit_conn_dry_run`, and logs what it decided. The client controls how long
//! a request takes: nginx counts it after the header and then asks for the body, which the client
//! sends later. The log does not show the order within one millisecond, which is not compared.

use std::fmt::Write as _;
use std::io::{BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use weir_testkit::numbers::Numbers;

use super::{Nginx, TIMEOUT, read_response};
use crate::support::{Folder, run, text};

/// The number of settings, each of which is a location.
const SETTINGS: usize = 24;

/// The requests of each setting.
const REQUESTS: usize = 120;

/// The connections of the client, and so the most requests at the same time.
const CONNECTIONS: usize = 12;

/// The largest percentage of requests that may be undecided.
const UNDECIDED_SHARE_MAX: usize = 5;

/// A connection of the client, and whether it waits to send the body of a request.
struct Connection {
    stream: UnixStream,
    responses: BufReader<UnixStream>,
    is_busy: bool,
}

/// Zones and locations.
fn settings(numbers: &mut Numbers, socket: &str) -> (String, String) {
    let (mut zones, mut locations) = (String::new(), String::new());
    for setting in 0..SETTINGS {
        let modifier = ["", "= ", "^~ ", "~ ^"][setting % 4];
        let key = ["$http_x_key", "$binary_remote_addr$http_x_key", "$request_method", "$class"]
            [setting / 2 % 4];
        let _ = writeln!(zones, "limit_conn_zone {key} zone=z{setting}:1m;");
        let _ = write!(locations, "location {modifier}/s{setting:02} {{ limit_conn_dry_run on; ");
        let _ = write!(locations, "limit_conn z{setting} {}; ", 1 + numbers.below(4));
        // The zone of the setting before, which may be in use still.
        if setting % 3 == 2 {
            let _ = write!(locations, "limit_conn z{} {}; ", setting - 1, 1 + numbers.below(8));
        }
        let _ = writeln!(locations, "proxy_pass http://unix:{socket}; }}");
    }
    (zones, locations)
}

/// Sends the requests of a setting. Some of them are left open, for the next one.
fn send(connections: &mut [Connection], setting: usize, numbers: &mut Numbers) {
    let (mut sent, start) = (0, Instant::now());
    while sent < REQUESTS {
        assert!(start.elapsed() < TIMEOUT, "only {sent} requests were sent");
        let connection = &mut connections[numbers.below(CONNECTIONS as u64) as usize];
        if connection.is_busy {
            connection.end();
        } else {
            let key = numbers.below(3);
            let request = format!(
                "POST /s{setting:02} HTTP/1.1\r\nHost: localhost\r\nX-Key: k{key}\r\n\
                 Content-Length: 1\r\nExpect: 100-continue\r\n\r\n"
            );
            connection.stream.write_all(request.as_bytes()).expect("nginx reads");
            // It answers `100 Continue` when it has counted the request.
            read_response(&mut connection.responses);
            connection.is_busy = true;
            sent += 1;
        }
        std::thread::sleep(Duration::from_micros(2_000 + numbers.below(1_000)));
    }
}

impl Connection {
    fn new(nginx: &Nginx<'_>) -> Self {
        let stream = nginx.connect();
        let responses = BufReader::new(stream.try_clone().expect("a socket"));
        Self { stream, responses, is_busy: false }
    }

    /// Sends the body, which ends the request: there is nothing at the socket that nginx passes it
    /// on to.
    fn end(&mut self) {
        self.stream.write_all(b"x").expect("nginx reads");
        read_response(&mut self.responses);
        self.is_busy = false;
    }
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn connections_are_those_of_nginx() {
    let mut numbers = Numbers::new(20_260_102);
    let folder = Folder::new();
    let path = folder.path("nginx");
    std::fs::create_dir_all(&path).expect("a folder");
    let (zones, locations) = settings(&mut numbers, text(&path.join("nothing.sock")));
    let log = path.join("access.log");
    let format =
        "$remote_addr $msec $request_time \"$request\" $status $http_x_key $limit_conn_status";
    let http = format!(
        "map $http_x_key $class {{ default \"\"; k0 one; k1 other; }}\n{zones}\n\
         log_format limits '{format}';\naccess_log {} limits;",
        text(&log)
    );
    let nginx = Nginx::new(&path, &http, &locations);
    let mut connections: Vec<Connection> =
        (0..CONNECTIONS).map(|_| Connection::new(&nginx)).collect();
    for setting in 0..SETTINGS {
        send(&mut connections, setting, &mut numbers);
    }
    for connection in connections.iter_mut().filter(|connection| connection.is_busy) {
        connection.end();
    }
    let configuration = path.join("nginx.conf");
    drop(nginx);

    let text_of_log = std::fs::read_to_string(&log).expect("a log");
    assert_eq!(text_of_log.lines().count(), SETTINGS * REQUESTS);
    // For a request with an empty key, nginx logs no status.
    let expected: Vec<(usize, &str)> = text_of_log
        .lines()
        .zip(1..)
        .map(|(line, number)| (number, line.rsplit(' ').next().expect("a status")))
        .filter(|(_, status)| *status != "-")
        .map(|(number, status)| (number, status.strip_suffix("_DRY_RUN").unwrap_or(status)))
        .collect();
    let options = ["rules", "--decisions", "--format", format, "--rule", text(&configuration)];
    let run = run(options.into_iter().chain([text(&log)]));
    assert_eq!(run.code, 3, "{}", run.stderr);
    let decided: Vec<(usize, String)> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .map(|line| {
            let number = line["line"].as_u64().expect("a number") as usize;
            (number, line["verdict"].as_str().expect("text").to_uppercase())
        })
        .collect();
    assert_eq!(decided.len(), expected.len());
    let lines: Vec<&str> = text_of_log.lines().collect();
    let mut wrong = Vec::new();
    for ((number, status), (decided_number, verdict)) in expected.iter().zip(&decided) {
        assert_eq!(number, decided_number);
        if verdict != "UNDECIDED" && status != verdict {
            wrong.push(format!("{number}: {} but {verdict}", lines[number - 1]));
        }
    }
    assert_eq!(wrong, [""; 0], "of {} requests", decided.len());
    let count = |verdict| decided.iter().filter(|(_, decided)| decided == verdict).count();
    let (passed, rejected, undecided) = (count("PASSED"), count("REJECTED"), count("UNDECIDED"));
    assert!(passed > 500 && rejected > 300, "{passed} passed, {rejected} were rejected");
    assert!(undecided * 100 < decided.len() * UNDECIDED_SHARE_MAX, "{undecided} undecided");
}
