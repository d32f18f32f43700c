//! `weir gateway`: requests through the binary, and its configuration.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Folder, Served, page, report, text, weir};

/// A step of a test fails after this time. It allows for a slow and busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(180);

/// A backend that answers every request with its name, one request for each connection.
pub(crate) fn backend(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = BufReader::new(stream.try_clone().expect("a copy"));
            let mut line = String::new();
            while request.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                line.clear();
            }
            let answer = format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{name}",
                name.len()
            );
            // A disconnected client is not a failure of the backend.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

pub(crate) fn config(backend: SocketAddr) -> String {
    format!(
        "listen = [\"127.0.0.1:0\"]\n[backends.one]\ninstances = [\"http://{backend}\"]\n\
         [[routes]]\npath = \"/\"\nbackend = \"one\"\n"
    )
}

/// Returns the address that the gateway prints.
pub(crate) fn address(served: &mut Served) -> SocketAddr {
    let stderr = served.0.stderr.take().expect("a pipe");
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some(address) = line.strip_prefix("weir: answering at tcp://") {
                sender.send(address.parse().expect("an address")).expect("the test waits");
            }
        }
    });
    receiver.recv_timeout(TIMEOUT).expect("the gateway listens")
}

fn get(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("it accepts");
    let request = "GET /a HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned()
}

#[test]
fn requests_are_on_the_page_and_a_changed_configuration_is_used() {
    let folder = Folder::new();
    let path = folder.path("gateway.toml");
    std::fs::write(&path, config(backend("one"))).expect("written");
    let arguments = ["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&path)];
    let mut command = weir(arguments);
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut served = Served(started.expect("it starts"));
    let gateway = address(&mut served);
    let page = page(&mut served.0);
    for _ in 0..3 {
        assert_eq!(get(gateway), "one");
    }
    let start = Instant::now();
    while report(&page)["records"] != 3 {
        assert!(start.elapsed() < TIMEOUT, "{}", report(&page)["records"]);
        std::thread::sleep(Duration::from_millis(20));
    }
    // An invalid configuration changes nothing; a valid one is used without a restart.
    std::fs::write(&path, "listen = []\n").expect("written");
    assert_eq!(get(gateway), "one");
    std::fs::write(&path, config(backend("another"))).expect("written");
    while get(gateway) != "another" {
        assert!(start.elapsed() < TIMEOUT, "the configuration is read again");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed =
        std::process::Command::new("kill").args(["-TERM", &served.0.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    assert!(served.0.wait().expect("it ends").success());
}

#[test]
fn check_names_every_mistake() {
    let folder = Folder::new();
    let path = folder.path("gateway.toml");
    for (content, code, expected) in [
        (
            config("127.0.0.1:1".parse().expect("an address")),
            0,
            "the configuration has no mistakes",
        ),
        (
            "lisen = []\n[[routes]]\n".to_owned(),
            2,
            "gateway.toml: line 1: lisen: this key is not known",
        ),
        (
            "lisen = []\n[[routes]]\n".to_owned(),
            2,
            "gateway.toml: line 2: routes[1]: `path` is missing",
        ),
    ] {
        std::fs::write(&path, content).expect("written");
        let output = weir(["gateway", "--check", text(&path)]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn the_gateway_does_not_listen_at_the_addresses_of_its_pages() {
    let folder = Folder::new();
    let path = folder.path("gateway.toml");
    let good = config("127.0.0.1:1".parse().expect("an address"));
    let listen = r#"listen = ["127.0.0.1:0", "0.0.0.0:7913"]"#;
    std::fs::write(&path, good.replacen(r#"listen = ["127.0.0.1:0"]"#, listen, 1))
        .expect("written");
    for (options, expected) in [
        (
            vec!["--listen", "127.0.0.1:7913"],
            Some("tcp://127.0.0.1:7913, the address of the page (--listen)"),
        ),
        (vec!["--admin", "localhost:7913"], Some("tcp://127.0.0.1:7913, the address of --admin")),
        (vec!["--listen", "127.0.0.1:7914", "--admin", "7915"], None),
    ] {
        for check in [true, false] {
            if !check && expected.is_none() {
                continue;
            }
            let mut arguments = vec!["gateway", "--no-open"];
            arguments.extend(check.then_some("--check"));
            arguments.extend(&options);
            arguments.push(text(&path));
            let output = weir(arguments).output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(if expected.is_some() { 2 } else { 0 }),
                "{said}"
            );
            if let Some(expected) = expected {
                let start =
                    "gateway.toml: line 1: listen: tcp://0.0.0.0:7913 cannot be listened at beside";
                assert!(said.contains(&format!("{start} {expected}")), "{said}");
            }
        }
    }
}
