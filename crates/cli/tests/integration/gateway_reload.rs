//! Reloads of the configuration of `weir gateway`, by signal and by changes of its files.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::gateway::{TIMEOUT, config};
use crate::support::{Folder, Served, text, weir};

/// A gateway, whose messages are kept.
struct Gateway {
    served: Served,
    address: SocketAddr,
    file: PathBuf,
    said: Arc<Mutex<Vec<String>>>,
}

impl Gateway {
    fn start(folder: &Folder, content: &str) -> Self {
        let file = folder.file("gateway.toml", content.as_bytes());
        let arguments = ["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&file)];
        let mut command = weir(arguments);
        let started = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut served = Served(started.expect("it starts"));
        let stderr = served.0.stderr.take().expect("a pipe");
        let said = Arc::new(Mutex::new(Vec::new()));
        let says = said.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                says.lock().expect("no panic").push(line);
            }
        });
        let mut address = None;
        wait_until("it listens", || {
            let lines = said.lock().expect("no panic");
            address = lines
                .iter()
                .find_map(|line| line.split("answering at tcp://").nth(1)?.parse().ok());
            address.is_some()
        });
        Self { served, address: address.expect("it listens"), file, said }
    }

    fn write(&self, content: &str) {
        replace(&self.file, content);
    }

    fn hang_up(&self) {
        let process = self.served.0.id().to_string();
        let sent = std::process::Command::new("kill").args(["-HUP", &process]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// The number of messages with this text.
    fn count(&self, part: &str) -> usize {
        let lines = self.said.lock().expect("no panic");
        lines.iter().filter(|line| line.contains(part)).count()
    }

    /// Waits until this many messages have this text.
    fn wait_for(&self, count: usize, part: &str) {
        wait_until(part, || self.count(part) >= count);
        assert_eq!(self.count(part), count, "{part}: {:?}", self.said);
    }

    /// The status of an answer to a request on a new connection.
    fn status(&self) -> String {
        let mut client = TcpStream::connect(self.address).expect("it accepts");
        let request = "GET / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\r\n";
        client.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("it answers");
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

/// Replaces a file as a whole, as an editor does, so that it is never read while it is being
/// written.
fn replace(file: &Path, content: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, content).expect("written");
    std::fs::rename(new, file).expect("renamed");
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Reads a message with its body, whose length is in the head. `None` at the end of the connection.
fn read_message(reader: &mut impl BufRead) -> Option<(String, String)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        let line = head[start..].trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().expect("a length");
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).expect("UTF-8")))
}

/// A backend that answers each request with its name after a few milliseconds, and keeps
/// connections open.
fn backend(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut writer = stream.try_clone().expect("a copy");
                let mut reader = BufReader::new(stream);
                while read_message(&mut reader).is_some() {
                    std::thread::sleep(Duration::from_millis(3));
                    let length = name.len();
                    let answer =
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{name}");
                    if writer.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn no_request_is_lost_while_the_configuration_changes() {
    const CLIENTS: usize = 8;
    let folder = Folder::new();
    let (one, another) = (config(backend("one")), config(backend("another")));
    let gateway = Gateway::start(&folder, &one);
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let address = gateway.address;
    let seen: [AtomicUsize; CLIENTS] = Default::default();
    // Each client keeps its connection to the end, and counts the configurations that it has seen.
    let client = |seen: &AtomicUsize| {
        let stream = TcpStream::connect(address).expect("it accepts");
        let mut writer = stream.try_clone().expect("a copy");
        let mut reader = BufReader::new(stream);
        let mut names = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            writer.write_all(b"GET / HTTP/1.1\r\nHost: gate\r\n\r\n").expect("it stays open");
            let (head, body) = read_message(&mut reader).expect("an answer");
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            answered.fetch_add(1, Ordering::Relaxed);
            if names.last() != Some(&body) {
                names.push(body);
                seen.store(names.len(), Ordering::Relaxed);
            }
        }
        names
    };
    let turns = std::thread::scope(|scope| {
        let clients: Vec<_> = seen.iter().map(|seen| scope.spawn(|| client(seen))).collect();
        let have_seen = |count| seen.iter().all(|seen| seen.load(Ordering::Relaxed) == count);
        wait_until("the first one is used", || have_seen(1));
        for turn in 0..6 {
            let before = answered.load(Ordering::Relaxed);
            gateway.write(if turn % 2 == 0 { &another } else { &one });
            if turn < 4 {
                gateway.hang_up();
            }
            // Messages are not counted: repeated ones are merged, and a changed file may be read
            // twice.
            wait_until("it is used", || have_seen(turn + 2));
            wait_until("more are answered", || {
                answered.load(Ordering::Relaxed) > before + 20 * CLIENTS
            });
        }
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().map(|it| it.join().expect("no panic")).collect::<Vec<_>>()
    });
    for names in turns {
        let expected = ["one", "another", "one", "another", "one", "another", "one"];
        assert_eq!(names, expected, "each configuration was used in its turn");
    }
}

#[test]
fn the_files_that_the_configuration_names_are_watched() {
    let folder = Folder::new();
    let rule = folder.file("limits.conf", b"limit 1000 requests in 1h by host\n");
    let limits = "[[limits]]\nrule_file = \"limits.conf\"\nmode = \"enforce\"\n";
    let gateway = Gateway::start(&folder, &format!("{}{limits}", config(backend("one"))));
    for _ in 0..3 {
        assert_eq!(gateway.status(), "200");
    }
    replace(&rule, "limit 1 request in 1h by host\n");
    gateway.wait_for(1, "the configuration was read again");
    assert_eq!([gateway.status(), gateway.status()], ["200", "429"]);
    // A file with a mistake changes nothing, and is read again when it changes.
    replace(&rule, "nonsense\n");
    gateway.wait_for(1, "the gateway goes on with the configuration before");
    assert_eq!(gateway.status(), "429");
    replace(&rule, "limit 500 requests in 1h by host\n");
    gateway.wait_for(2, "the configuration was read again");
    assert_eq!(gateway.status(), "200");
    std::fs::remove_file(&gateway.file).expect("removed");
    gateway.wait_for(1, "weir_gateway: the configuration file has vanished");
    std::thread::sleep(Duration::from_millis(2_500));
    gateway.wait_for(1, "the configuration file has vanished");
    assert_eq!(gateway.status(), "200");
}

#[test]
fn a_warning_about_listen_ends_when_it_is_reverted() {
    let folder = Folder::new();
    let content = config(backend("one"));
    let gateway = Gateway::start(&folder, &content);
    for (turn, (listen, warnings)) in
        [("127.0.0.1:0", 0), ("127.0.0.2:0", 1), ("127.0.0.1:0", 1)].into_iter().enumerate()
    {
        // No SIGHUP, because the watch may notice the file as well, which would then be read twice.
        gateway.write(&content.replace("127.0.0.1:0", listen));
        gateway.wait_for(turn + 1, "the configuration was read again");
        assert_eq!(gateway.count("listen, tls and threads stay as they were"), warnings, "{turn}");
    }
}

#[test]
fn mistakes_come_from_the_gateway() {
    let folder = Folder::new();
    let gateway = Gateway::start(&folder, &config(backend("one")));
    gateway.write("lisen = []\n");
    gateway.hang_up();
    wait_until("a mistake", || gateway.count("lisen: this key is not known") > 0);
    assert!(gateway.count("weir_gateway: ") > 0 && gateway.count("weir::logging") == 0);
}
