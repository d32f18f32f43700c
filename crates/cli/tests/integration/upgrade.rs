//! `weir gateway` is replaced by a new process under load, and no request is lost.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::gateway::{TIMEOUT, backend};
use crate::support::{Folder, Served, text, weir};

/// Requests that are answered before and after each step.
pub(crate) const REQUESTS: usize = 200;

/// The processes of a test, which end with it.
pub(crate) struct Processes(pub(crate) Vec<u32>);

impl Drop for Processes {
    fn drop(&mut self) {
        for process in self.0.iter().filter(|process| is_gateway(**process)) {
            let _ = send("KILL", *process);
        }
    }
}

/// Whether a process is still a gateway. The system may have given the number to another program.
fn is_gateway(process: u32) -> bool {
    match std::fs::read(format!("/proc/{process}/cmdline")) {
        Ok(arguments) => arguments.split(|byte| *byte == 0).any(|it| it == b"gateway"),
        // Without /proc, nothing is known.
        Err(_) => !Path::new("/proc/self").exists(),
    }
}

pub(crate) fn send(signal: &str, process: u32) -> bool {
    let mut kill = Command::new("kill");
    kill.args([&format!("-{signal}"), &process.to_string()]);
    kill.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A gateway, with the lines that it and its successors print.
pub(crate) struct Gateway {
    pub(crate) first: Served,
    lines: Receiver<String>,
    pub(crate) processes: Processes,
    pub(crate) address: SocketAddr,
}

impl Gateway {
    fn start(config: &Path, notify: &Path) -> Self {
        let arguments = ["gateway", "--no-open", "--listen", "127.0.0.1:0", text(config)];
        let mut command = weir(arguments);
        command.env("NOTIFY_SOCKET", notify).stdout(Stdio::null());
        Self::start_as(command)
    }

    pub(crate) fn start_as(mut command: Command) -> Self {
        command.stderr(Stdio::piped());
        let mut first = Served(command.spawn().expect("it starts"));
        let stderr = first.0.stderr.take().expect("a pipe");
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // The test may have ended.
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines.take_while(|line| sender.send(line.clone()).is_ok()).for_each(drop);
        });
        let processes = Processes(vec![first.0.id()]);
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut gateway = Self { first, lines, processes, address };
        let line = gateway.line("answering at tcp://");
        gateway.address =
            line.rsplit('/').next().and_then(|it| it.parse().ok()).expect("an address");
        gateway
    }

    /// Waits for a line that contains this.
    pub(crate) fn line(&self, part: &str) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no `{part}` came"));
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Replaces the process by a new one.
    pub(crate) fn upgrade(&mut self) {
        let process = *self.processes.0.last().expect("one runs");
        assert!(send("USR2", process));
        let line = self.line("has taken over");
        let next = line.split(' ').nth(2).and_then(|it| it.parse().ok());
        self.processes.0.push(next.expect("its number"));
    }
}

/// Clients that send requests one after another, and never one twice.
pub(crate) struct Load {
    ends: Arc<AtomicBool>,
    pub(crate) answered: Arc<AtomicUsize>,
    failures: Arc<Mutex<Vec<String>>>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn start(address: SocketAddr) -> Self {
        let (ends, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let failures = Arc::new(Mutex::new(Vec::new()));
        let client = |keeps_alive: bool| {
            let (ends, answered, failures) = (ends.clone(), answered.clone(), failures.clone());
            std::thread::spawn(move || {
                let mut connection = None;
                while !ends.load(Ordering::SeqCst) {
                    match request(&mut connection, address, keeps_alive) {
                        Ok(()) => _ = answered.fetch_add(1, Ordering::SeqCst),
                        Err(error) => {
                            connection = None;
                            failures.lock().expect("no panic").push(error.to_string());
                        }
                    }
                }
            })
        };
        let clients = [true, true, false, false].map(client).into();
        Self { ends, answered, failures, clients }
    }

    /// Waits until this many more requests are answered.
    pub(crate) fn answer_more(&self, count: usize) {
        let (before, start) = (self.answered.load(Ordering::SeqCst), Instant::now());
        while self.answered.load(Ordering::SeqCst) < before + count {
            assert!(start.elapsed() < TIMEOUT, "{:?}", self.failures);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends the clients, and returns their errors.
    pub(crate) fn end(self) -> Vec<String> {
        self.ends.store(true, Ordering::SeqCst);
        for client in self.clients {
            client.join().expect("no panic");
        }
        std::mem::take(&mut *self.failures.lock().expect("no panic"))
    }
}

/// One request, on the connection of the one before if there is one.
pub(crate) fn request(
    connection: &mut Option<BufReader<TcpStream>>,
    address: SocketAddr,
    keeps_alive: bool,
) -> std::io::Result<()> {
    let mut stream = match connection.take() {
        Some(stream) => stream,
        None => BufReader::new(TcpStream::connect(address)?),
    };
    stream.get_ref().set_read_timeout(Some(TIMEOUT))?;
    let close = if keeps_alive { "" } else { "Connection: close\r\n" };
    stream.get_mut().write_all(format!("GET / HTTP/1.1\r\nHost: a\r\n{close}\r\n").as_bytes())?;
    let (mut head, mut body) = (String::new(), [0; 3]);
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(std::io::Error::other(format!("the connection ended after `{head}`")));
        }
    }
    stream.read_exact(&mut body)?;
    if !head.starts_with("HTTP/1.1 200 ") || body != *b"one" {
        return Err(std::io::Error::other(head));
    }
    let ends = head.to_ascii_lowercase().contains("connection: close");
    *connection = (keeps_alive && !ends).then_some(stream);
    Ok(())
}

/// Checks that a request over a Unix socket is answered.
fn assert_answers(path: &Path) {
    let mut stream = UnixStream::connect(path).expect("the file of the socket is there");
    stream.set_read_timeout(Some(TIMEOUT)).expect("set");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.ends_with("one"), "{answer}");
}

#[test]
fn no_request_is_lost_while_the_program_is_replaced() {
    let folder = Folder::new();
    let (config, unix, notify) =
        (folder.path("gateway.toml"), folder.path("gate.sock"), folder.path("notify.sock"));
    let service_manager = UnixDatagram::bind(&notify).expect("a socket");
    service_manager.set_read_timeout(Some(TIMEOUT)).expect("set");
    let good = crate::gateway::config(backend("one"));
    let listen = format!("listen = [\"127.0.0.1:0\", \"unix:{}\"]", text(&unix));
    let good = good.replace("listen = [\"127.0.0.1:0\"]", &listen);
    std::fs::write(&config, &good).expect("written");
    let mut gateway = Gateway::start(&config, &notify);
    let load = Load::start(gateway.address);
    load.answer_more(REQUESTS);

    // A process that cannot start changes nothing, even if it has already received sockets.
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let in_use = other.local_addr().expect("its address");
    let late = good.replace("gate.sock\"]", &format!("gate.sock\", \"{in_use}\"]"));
    assert_ne!(late, good);
    for bad in ["listen = []\n", &late] {
        std::fs::write(&config, bad).expect("written");
        assert!(send("USR2", gateway.processes.0[0]));
        gateway.line("the new process did not take over, so this one goes on");
        assert_answers(&unix);
    }
    std::fs::write(&config, &good).expect("written");
    load.answer_more(REQUESTS);

    gateway.upgrade();
    load.answer_more(REQUESTS);
    let start = Instant::now();
    while gateway.first.0.try_wait().expect("it is a child").is_none() {
        assert!(start.elapsed() < TIMEOUT, "the old process ends");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(gateway.first.0.wait().expect("it has ended").success());
    load.answer_more(REQUESTS);
    gateway.upgrade();
    load.answer_more(REQUESTS);
    assert_eq!(load.end(), Vec::<String>::new(), "requests were lost");

    assert_answers(&unix);

    let mut states = Vec::new();
    while states.len() < 5 {
        let mut state = [0; 100];
        let length = service_manager.recv(&mut state).expect("another state");
        states.push(String::from_utf8_lossy(&state[..length]).into_owned());
    }
    states.sort();
    let [_, second, third] = gateway.processes.0[..] else { panic!("three processes") };
    let mut expected = [format!("MAINPID={second}"), format!("MAINPID={third}")];
    expected.sort();
    assert_eq!(states[..2], expected);
    assert_eq!(states[2..], ["READY=1"; 3]);
}

#[test]
fn sockets_are_taken_over_from_a_process_only() {
    let folder = Folder::new();
    let config = folder.file("gateway.toml", crate::gateway::config(backend("one")).as_bytes());
    let run = crate::support::run(["gateway", "--take-over", "--no-open", text(&config)]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("--take-over: there is no process"), "{}", run.stderr);
}

/// The address and port of the page, as a process prints it.
fn page(output: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).expect("the page's address");
    line.split('/').nth(2).expect("an address and a port").to_owned()
}

#[test]
fn a_public_page_is_taken_over_without_a_reader_of_the_output() {
    let folder = Folder::new();
    let config = folder.file("gateway.toml", crate::gateway::config(backend("one")).as_bytes());
    let listen = ["--listen", "0.0.0.0:0", "--insecure-http"];
    let mut command = weir(["gateway", "--no-open", text(&config)]);
    command.args(listen).stdout(Stdio::piped());
    let mut gateway = Gateway::start_as(command);
    let mut output = BufReader::new(gateway.first.0.stdout.take().expect("a pipe"));
    let first = page(&mut output);
    gateway.upgrade();
    assert_eq!(page(&mut output), first, "the new process has the same socket");
    drop(output);
    gateway.upgrade();
    let start = Instant::now();
    // Only after the first process has ended does it certainly not listen.
    while gateway.first.0.try_wait().expect("it is a child").is_none() {
        assert!(start.elapsed() < TIMEOUT, "the old process ends");
        std::thread::sleep(Duration::from_millis(10));
    }
    for _ in 0..REQUESTS {
        request(&mut None, gateway.address, false).expect("an answer");
    }
    gateway.upgrade();
}

#[test]
fn a_new_process_opens_no_browser() {
    let folder = Folder::new();
    let config = folder.file("gateway.toml", crate::gateway::config(backend("one")).as_bytes());
    let (opened, program) = (folder.path("opened"), folder.path("xdg-open"));
    std::fs::write(&program, format!("#!/bin/sh\necho opened >> {}\n", text(&opened)))
        .expect("written");
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("set");
    let start = || {
        let mut command = weir(["gateway", "--listen", "127.0.0.1:0", text(&config)]);
        let path = format!("{}:/usr/bin:/bin", text(&folder.path("")));
        command.env("DISPLAY", ":0").env("PATH", path).stdout(Stdio::null());
        Gateway::start_as(command)
    };
    let count = || std::fs::read_to_string(&opened).unwrap_or_default().lines().count();
    let wait_for = |expected: usize| {
        let start = Instant::now();
        while count() < expected {
            assert!(start.elapsed() < TIMEOUT, "{} of {expected} browsers", count());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let mut gateway = start();
    wait_for(1);
    gateway.upgrade();
    gateway.upgrade();
    // A browser that an upgrade had opened would be counted before that of another gateway.
    let _other = start();
    wait_for(2);
    assert_eq!(count(), 2, "one for each gateway that was started by hand");
}

#[test]
fn a_link_may_be_switched_to_another_version() {
    let folder = Folder::new();
    let config = folder.file("gateway.toml", crate::gateway::config(backend("one")).as_bytes());
    let (link, version) = (folder.path("weir"), env!("CARGO_BIN_EXE_weir"));
    std::os::unix::fs::symlink(version, &link).expect("a link");
    let mut command = Command::new(&link);
    command.args(["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&config)]);
    command.stdout(Stdio::null());
    let mut gateway = Gateway::start_as(command);
    let next = format!("#!/bin/sh\necho the next version starts >&2\nexec {version} \"$@\"\n");
    let next = folder.file("next", next.as_bytes());
    std::fs::set_permissions(&next, Permissions::from_mode(0o755)).expect("set");
    std::fs::remove_file(&link).expect("removed");
    std::os::unix::fs::symlink(&next, &link).expect("another link");
    assert!(send("USR2", gateway.processes.0[0]));
    gateway.line("the next version starts");
    let line = gateway.line("has taken over");
    gateway.processes.0.extend(line.split(' ').nth(2).and_then(|it| it.parse::<u32>().ok()));
    request(&mut None, gateway.address, false).expect("an answer");
}
