//! `--log` and `--log-as`: what the running binary writes on standard error.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use crate::gateway::{TIMEOUT, config};
use crate::support::{Folder, Served, run, text, weir};

/// A command that runs, such as a gateway whose backend is not there, and its lines on standard
/// error.
pub(crate) struct Logging {
    served: Served,
    lines: Receiver<String>,
}

impl Logging {
    fn start(folder: &Folder, arguments: &[&str]) -> Self {
        Self::start_with(folder, &config(nowhere()), arguments)
    }

    /// A gateway with a configuration of its own.
    pub(crate) fn start_with(folder: &Folder, config: &str, arguments: &[&str]) -> Self {
        let path = folder.path("gateway.toml");
        std::fs::write(&path, config).expect("written");
        let common = ["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&path)];
        Self::run(&[&common[..], arguments].concat())
    }

    /// A command that runs for long.
    pub(crate) fn run(arguments: &[&str]) -> Self {
        let mut command = weir(arguments);
        let started = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut served = Served(started.expect("it starts"));
        let stderr = served.0.stderr.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // The test needs no more than the first lines.
                let _ = sender.send(line);
            }
        });
        Self { served, lines }
    }

    /// Waits for a line that contains a text.
    pub(crate) fn line(&self, part: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(TIMEOUT);
            let line = line.unwrap_or_else(|error| panic!("no `{part}`: {error}"));
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Sends a request to the address in a line that announces it.
    pub(crate) fn ask(line: &str) -> String {
        ask(line, "GET / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\r\n")
    }
}

/// An address at which nothing listens. A port that was free a moment ago may be that of another
/// test by now.
pub(crate) fn nowhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1))
}

/// The answer to a request at the address in a line that announces it.
pub(crate) fn ask(line: &str, request: &str) -> String {
    let address = line.rsplit("://").next().expect("an address");
    let end = address.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
    let address = &address[..end.unwrap_or(address.len())];
    let mut stream = TcpStream::connect(address).expect("it accepts");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a time-out");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn every_line_is_json_if_that_is_asked_for() {
    let folder = Folder::new();
    let mut gateway = Logging::start(&folder, &["--log-as", "json"]);
    let parse = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let line = gateway.line("answering at");
    let announced = parse(&line);
    assert_eq!((&announced["level"], &announced["target"]), (&"info".into(), &"weir".into()));
    assert!(Logging::ask(&line).starts_with("HTTP/1.1 502"));
    let notice = parse(&gateway.line("it cannot be reached"));
    assert_eq!((&notice["level"], &notice["target"]), (&"warn".into(), &"weir_gateway".into()));
    assert!(notice["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{notice}");
    gateway.served.0.kill().expect("it runs");
    for line in gateway.lines.iter() {
        parse(&line);
    }
}

#[test]
fn the_text_has_a_time_and_a_level_and_the_filter_holds() {
    let folder = Folder::new();
    let filter = "off,weir_gateway=warn";
    let gateway = Logging::start(&folder, &["--log", filter]);
    let line = gateway.line("answering at");
    assert!(line.starts_with("weir: answering at tcp://"), "{line}");
    assert!(Logging::ask(&line).starts_with("HTTP/1.1 502"));
    let notice = gateway.line("it cannot be reached");
    assert!(notice.contains("Z warn  weir_gateway: "), "{notice}");

    let mut quiet = Logging::start(&folder, &["--log", "info,weir_gateway=off"]);
    let line = quiet.line("answering at");
    assert!(Logging::ask(&line).starts_with("HTTP/1.1 502"));
    // The answer comes after the notice would have been written.
    quiet.served.0.kill().expect("it runs");
    let rest: Vec<String> = quiet.lines.iter().collect();
    assert!(!rest.iter().any(|line| line.contains("it cannot be reached")), "{rest:?}");
}

#[test]
fn a_filter_that_is_not_valid_is_refused() {
    for (filter, reason) in [
        ("loud", "`loud` has no valid level; write off, error, warn"),
        ("weir-net=info", "`weir-net=info` has no valid name"),
    ] {
        let refused = run(["--no-open", "--log", filter]);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    }
}

#[test]
fn the_filter_changes_at_the_admin_address() {
    let folder = Folder::new();
    let admin = ["--admin", "127.0.0.1:0", "--log", "info,weir_gateway=off"];
    let gateway = Logging::start(&folder, &admin);
    // They come in any order.
    let (mut inside, mut answering) = (None, None);
    while inside.is_none() || answering.is_none() {
        let line = gateway.line("weir: ");
        if line.contains("a look inside at") {
            inside = Some(line);
        } else if line.contains("answering at") {
            answering = Some(line);
        }
    }
    let (inside, answering) = (inside.expect("found"), answering.expect("found"));
    let at_admin = |method: &str, path: &str, fields: &str, body: &str| {
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
        ask(&inside, &format!("{head}{fields}Content-Length: {length}\r\n\r\n{body}"))
    };
    let tail = |from: u64| {
        let answer = at_admin("GET", &format!("/log.json?from={from}"), "", "");
        let body = &answer[answer.find("\r\n\r\n").expect("a body")..];
        let json = &body[body.find('{').expect("an object")..=body.rfind('}').expect("its end")];
        serde_json::from_str::<Value>(json).expect("JSON")
    };
    let before = tail(0);
    assert_eq!(before["filter"], "info,weir_gateway=off");
    assert!(before["events"].as_array().is_some_and(|events| !events.is_empty()), "{before}");
    let bad = at_admin("POST", "/log/filter", "", "loud");
    assert!(bad.starts_with("HTTP/1.1 400") && bad.contains("`loud` has no valid level"), "{bad}");
    let other = at_admin("POST", "/log/filter", "Sec-Fetch-Site: cross-site\r\n", "off");
    assert!(other.starts_with("HTTP/1.1 403"), "{other}");
    let long = at_admin("POST", "/log/filter", "", &"info,".repeat(2_000));
    assert!(long.starts_with("HTTP/1.1 400"), "{long}");
    assert!(at_admin("GET", "/log/filter", "", "").starts_with("HTTP/1.1 405"));
    assert_eq!(tail(0)["filter"], "info,weir_gateway=off", "nothing has changed it");
    let good = at_admin("POST", "/log/filter", "Sec-Fetch-Site: same-origin\r\n", "warn");
    assert!(good.starts_with("HTTP/1.1 200") && good.ends_with("warn\n"), "{good}");
    assert!(Logging::ask(&answering).starts_with("HTTP/1.1 502"));
    let notice = gateway.line("it cannot be reached");
    assert!(notice.contains("weir_gateway"), "{notice}");
    let after = tail(before["next"].as_u64().expect("a number"));
    assert_eq!(after["filter"], "warn");
    let texts = after["events"].to_string();
    assert!(texts.contains("the filter of the log is changed"), "{texts}");
    assert!(texts.contains("it cannot be reached"), "{texts}");
}
