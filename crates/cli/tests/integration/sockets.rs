//! Sockets that a service manager passes, and the files of Unix sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Folder, Served, line, page, report, run, text, weir};

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

const GET: &[u8] = b"GET /favicon.svg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// Starts `weir` with a socket as its descriptor 3, as systemd does.
fn activated(socket: OwnedFd, name: &str, arguments: &[&str]) -> Served {
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(env!("CARGO_BIN_EXE_weir")).args(arguments);
    command.env("LISTEN_FDNAMES", name).stdin(socket);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Served(piped.spawn().expect("sh runs"))
}

fn status(mut stream: impl Read + Write) -> String {
    stream.write_all(GET).expect("the server reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the server answers");
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_passed_tcp_socket_serves_the_page() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    // It waits in the kernel's queue from before the server runs.
    let early = TcpStream::connect(address).expect("the socket listens");
    let mut served = activated(
        listener.into(),
        "weir.socket",
        &["--no-open", "--listen", "systemd:weir.socket"],
    );
    assert!(page(&mut served.0).starts_with(&format!("http://{address}/")));
    assert_eq!(status(early), "HTTP/1.1 200 OK");
}

#[test]
fn the_file_of_a_passed_unix_socket_stays() {
    let folder = Folder::new();
    let path = folder.path("weir.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let mut served = activated(listener.into(), "", &["--no-open", "--listen", "systemd:"]);
    assert_eq!(page(&mut served.0), format!("unix:{}", text(&path)));
    assert_eq!(status(UnixStream::connect(&path).expect("it listens")), "HTTP/1.1 200 OK");
    let killed = Command::new("kill").args(["-TERM", &served.0.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    assert!(served.0.wait().expect("it ends").success());
    assert!(path.exists(), "systemd bound it, and uses it again");
}

#[test]
fn a_passed_socket_answers_for_the_gateway() {
    let folder = Folder::new();
    let config = crate::gateway::config(crate::gateway::backend("one"));
    let config = config.replace("127.0.0.1:0", "systemd:https");
    let config = folder.file("gateway.toml", config.as_bytes());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let early = TcpStream::connect(address).expect("the socket listens");
    let arguments = ["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&config)];
    let _served = activated(listener.into(), "https", &arguments);
    assert_eq!(status(early), "HTTP/1.1 200 OK");
}

#[test]
fn a_passed_socket_of_datagrams_receives_lines() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address");
    let arguments = ["listen", "--no-open", "--listen", "127.0.0.1:0", "systemd:lines"];
    let mut served = activated(socket.into(), "lines", &arguments);
    let page = page(&mut served.0);
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let sent = line("192.0.2.1", "23/Nov/2026:10:00:00 +0000", "GET / HTTP/1.1", 200, "a");
    sender.send_to(sent.as_bytes(), address).expect("sent");
    let start = Instant::now();
    while report(&page)["lines"] != 1 {
        assert!(start.elapsed() < TIMEOUT, "{}", report(&page)["lines"]);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sockets_that_were_not_passed_are_named() {
    let refused = run(["--no-open", "--listen", "systemd:"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("no further socket was passed"), "{}", refused.stderr);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut served =
        activated(listener.into(), "page", &["--no-open", "--listen", "systemd:pages"]);
    let mut stderr = String::new();
    served.0.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("UTF-8");
    assert!(stderr.contains("systemd:pages: no socket with this name"), "{stderr}");
    assert!(stderr.contains("left are: page"), "{stderr}");
}

#[test]
fn a_passed_socket_that_nothing_uses_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let arguments = ["--no-open", "--listen", "127.0.0.1:0"];
    let mut served = activated(listener.into(), "web", &arguments);
    page(&mut served.0);
    served.0.kill().expect("it runs");
    let mut stderr = String::new();
    served.0.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("UTF-8");
    assert!(stderr.contains("systemd:web: systemd has passed this socket"), "{stderr}");
    assert!(stderr.contains("add --listen systemd:web"), "{stderr}");
}

#[test]
fn the_owner_of_a_socket_is_set() {
    let folder = Folder::new();
    let (path, file) = (folder.path("weir.sock"), folder.file("file", b""));
    let me = std::fs::metadata(&file).expect("a file");
    // Only root may give a file away.
    let owner = if me.uid() == 0 { (12_345, 23_456) } else { (me.uid(), me.gid()) };
    let names = format!("{}:{}", owner.0, owner.1);
    let listen = format!("unix:{}", text(&path));
    let mut command = weir(["--no-open", "--listen", &listen, "--page-socket-owner", &names]);
    let mut served = Served(command.stdout(Stdio::piped()).spawn().expect("the binary runs"));
    page(&mut served.0);
    let socket = std::fs::metadata(&path).expect("the socket");
    assert_eq!((socket.uid(), socket.gid()), owner);
}

#[test]
fn paths_that_cannot_be_sockets_are_named() {
    let folder = Folder::new();
    let long = folder.path(&"x".repeat(120));
    let (target, link) = (folder.file("access.log", b""), folder.path("link"));
    std::os::unix::fs::symlink(&target, &link).expect("a link");
    let dangling = folder.path("dangling");
    std::os::unix::fs::symlink(folder.path("nothing"), &dangling).expect("a link");
    for (path, sentence) in [
        (&long, "the path is longer than the "),
        (&target, "the file is not a socket"),
        (&link, "the file is a symbolic link, which is not followed"),
        (&dangling, "the file is a symbolic link, which is not followed"),
        (&folder.path("none/weir.sock"), "the folder does not exist; create it, or check the path"),
    ] {
        let refused = run(["--no-open", "--listen", &format!("unix:{}", text(path))]);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(sentence), "{}", refused.stderr);
        assert!(refused.stderr.contains(text(path)), "{}", refused.stderr);
    }
    assert!(target.exists() && !folder.path("nothing").exists());
    let unknown = run(["--listen", "unix:x", "--page-socket-owner", "nobody-has-this-name"]);
    assert!(unknown.stderr.contains("/etc/passwd"), "{}", unknown.stderr);
}
