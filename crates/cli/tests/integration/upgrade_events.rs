//! Events while one process of `weir gateway` replaces another: both write the access log, and
//! signals arrive.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::gateway::{TIMEOUT, backend, config};
use crate::support::{Folder, text, weir};
use crate::upgrade::{Gateway, Load, REQUESTS, request, send};

/// Waits until something holds.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a process has ended. It may not be a child of this one.
fn wait_for_end(process: u32) {
    // A zombie process, which has ended and was not waited for, has no program.
    let program = format!("/proc/{process}/exe");
    wait_until(&format!("{process} ends"), || std::fs::read_link(&program).is_err());
}

#[test]
fn both_processes_write_whole_lines_into_one_log() {
    let folder = Folder::new();
    let log = "access_log = { file = \"access.log\", format = \"json\" }\n[backends.one]";
    let with_log = config(backend("one")).replacen("[backends.one]", log, 1);
    let file = folder.file("gateway.toml", with_log.as_bytes());
    let mut command = weir(["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&file)]);
    command.stdout(Stdio::null());
    let mut gateway = Gateway::start_as(command);
    let load = Load::start(gateway.address);
    load.answer_more(REQUESTS);
    for _ in 0..3 {
        gateway.upgrade();
        load.answer_more(REQUESTS);
    }
    let answered = load.answered.clone();
    assert_eq!(load.end(), Vec::<String>::new(), "requests were lost");
    let [first, others @ ..] = &gateway.processes.0[..] else { panic!("one was started") };
    assert!(send("TERM", *others.last().expect("one has taken over")));
    assert!(gateway.first.0.wait().expect("it ends").success(), "{first}");
    others.iter().copied().for_each(wait_for_end);

    let log = std::fs::read_to_string(folder.path("access.log")).expect("a log");
    for line in log.lines() {
        let record: Value = serde_json::from_str(line).unwrap_or_else(|error| {
            panic!("{error}: {line}");
        });
        assert_eq!(record["status"].to_string().trim_matches('"'), "200", "{line}");
    }
    assert_eq!(log.lines().count(), answered.load(Ordering::SeqCst), "a line for each request");
}

/// The time at which the process began that answers at the address of `--admin`.
fn start_time(admin: &str) -> Option<String> {
    let mut stream = TcpStream::connect(admin).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let value = answer.lines().find_map(|line| line.strip_prefix("process_start_time_seconds "));
    value.map(str::to_owned)
}

/// The old process goes on, because the backend does not answer a request.
#[test]
fn the_admin_address_shows_only_the_new_process() {
    let folder = Folder::new();
    let backend = TcpListener::bind("127.0.0.1:0").expect("a port");
    let timeouts = "timeouts = { first_byte = \"1h\" }\n[[routes]]";
    let config = config(backend.local_addr().expect("an address"));
    let file = folder.file("gateway.toml", config.replace("[[routes]]", timeouts).as_bytes());
    let mut command = weir(["gateway", "--no-open", "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0", text(&file)]).stdout(Stdio::null());
    let mut gateway = Gateway::start_as(command);
    let line = gateway.line("a look inside at http://");
    let admin = line.rsplit("http://").next().expect("an address").trim().to_owned();
    let before = start_time(&admin).expect("an answer");
    let mut client = TcpStream::connect(gateway.address).expect("it accepts");
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").expect("it reads");
    let _unanswered = backend.accept().expect("the gateway connects");
    // The system reports the start time of a process in hundredths of a second, and the two times
    // must differ.
    std::thread::sleep(Duration::from_millis(50));
    gateway.upgrade();
    wait_until("only the new process answers", || {
        (0..60).all(|_| {
            // Lets the process that answered fall asleep, or it would accept the next one too.
            std::thread::sleep(Duration::from_millis(5));
            start_time(&admin).is_some_and(|time| time != before)
        })
    });
    let process = gateway.processes.0[0];
    assert!(std::fs::read_link(format!("/proc/{process}/exe")).is_ok(), "the old one has ended");
}

/// A gateway whose next version starts after a file exists.
struct Waiting {
    gateway: Gateway,
    go: PathBuf,
    _folder: Folder,
}

impl Waiting {
    /// Starts to replace a gateway. The script of the next version waits, and then runs `last`.
    fn start(last: &str) -> Self {
        let folder = Folder::new();
        let config = folder.file("gateway.toml", config(backend("one")).as_bytes());
        let (link, version, go) =
            (folder.path("weir"), env!("CARGO_BIN_EXE_weir"), folder.path("go"));
        std::os::unix::fs::symlink(version, &link).expect("a link");
        let mut command = Command::new(&link);
        command.args(["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&config)]);
        command.stdout(Stdio::null());
        let gateway = Gateway::start_as(command);
        let script = format!(
            "#!/bin/sh\necho the next version waits >&2\n\
             for second in $(seq 60); do for part in $(seq 100); do\n\
             if [ -e {} ]; then {last}; fi; sleep 0.01; done; done\n",
            text(&go)
        );
        let next = folder.file("next", script.as_bytes());
        std::fs::set_permissions(&next, Permissions::from_mode(0o755)).expect("set");
        std::fs::remove_file(&link).expect("removed");
        std::os::unix::fs::symlink(&next, &link).expect("another link");
        assert!(send("USR2", gateway.processes.0[0]));
        gateway.line("the next version waits");
        Self { gateway, go, _folder: folder }
    }

    /// Lets the next version start.
    fn go(&self) {
        std::fs::write(&self.go, "").expect("written");
    }

    /// Waits until it has taken over and answers.
    fn taken_over(&mut self) {
        let line = self.gateway.line(" has taken over");
        let next = line.split(' ').nth(2).and_then(|it| it.parse::<u32>().ok());
        self.gateway.processes.0.push(next.expect("its number"));
        request(&mut None, self.gateway.address, false).expect("an answer");
    }
}

/// Starts the program that is tested.
fn starting() -> String {
    format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_weir"))
}

/// Sends SIGUSR1 to each thread of a process, again and again for a while, so that it comes in the
/// middle of every call that waits. kill(1) leaves the choice of a thread to the system, which
/// chooses the first one.
#[cfg(target_arch = "x86_64")]
fn interrupt_threads(process: u32) {
    const TGKILL_TO_ALL: &str = "for (1..20) { for (glob \"/proc/$ARGV[0]/task/*\") { m{(\\d+)$}; \
                                 syscall(234, $ARGV[0] + 0, $1 + 0, 10); } select(undef, undef, undef, 0.005); }";
    let status = Command::new("perl").args(["-e", TGKILL_TO_ALL, &process.to_string()]).status();
    assert!(status.expect("perl is installed").success());
}

#[test]
#[cfg(target_arch = "x86_64")]
fn interrupted_calls_do_not_end_a_handover() {
    let mut waiting = Waiting::start(&starting());
    interrupt_threads(waiting.gateway.processes.0[0]);
    waiting.go();
    waiting.taken_over();
}

#[test]
fn a_stop_during_the_start_waits_for_the_next_process() {
    let mut waiting = Waiting::start(&starting());
    assert!(send("TERM", waiting.gateway.processes.0[0]));
    // Meanwhile, requests are still answered.
    request(&mut None, waiting.gateway.address, false).expect("an answer");
    waiting.go();
    waiting.taken_over();
    assert!(waiting.gateway.first.0.wait().expect("it ends").success());
    request(&mut None, waiting.gateway.address, false).expect("an answer of the next process");
}

#[test]
fn a_stop_counts_if_the_next_process_fails() {
    let mut waiting = Waiting::start("exit 1");
    assert!(send("TERM", waiting.gateway.processes.0[0]));
    waiting.go();
    waiting.gateway.line("the new process did not take over");
    assert!(waiting.gateway.first.0.wait().expect("it ends").success());
}
