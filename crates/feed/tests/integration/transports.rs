//! Every transport, framing, active mode and chunking, compared with the lines sent.

use std::collections::BTreeMap;

use crate::common::{TestFeed, expected, framed, numbered, socket_path};
use weir_feed::{BindOptions, FeedOptions};

const MODES: [&str; 4] = ["passive", "once", "64", "unlimited"];

fn streams() -> [String; 3] {
    ["tcp://127.0.0.1:0".into(), "tls://127.0.0.1:0".into(), unix()]
}

fn unix() -> String {
    format!("unix:{}", socket_path().display())
}

#[test]
fn received_lines_are_the_lines_sent() {
    let lines = numbered(1, 20);
    for address in streams() {
        for framing in ["newline", "octets"] {
            let sent = framed(&lines, framing);
            let had = expected(&lines, framing);
            let feed = TestFeed::new(&address, FeedOptions::default());
            for size in [1, 2, 3, 7, 100, 1_000, sent.len()] {
                feed.sink.lines.lock().expect("no thread panicked").clear();
                let mut stream = feed.connect();
                for piece in sent.chunks(size) {
                    stream.write_all(piece).expect("it is read");
                    stream.flush().expect("it is read");
                }
                drop(stream);
                feed.wait("all lines", |feed| feed.lines().len() >= had.len());
                assert_eq!(feed.lines(), had, "{address} {framing} in pieces of {size}");
            }
        }
    }
}

#[test]
fn lines_of_many_senders_are_whole_and_in_the_order_of_each() {
    const SENDERS: usize = 40;
    const LINES: usize = 400;
    for (number, flow) in MODES.iter().enumerate() {
        let address = format!("{}?active={flow}", streams()[number % 3]);
        let feed = TestFeed::new(&address, FeedOptions::default());
        std::thread::scope(|scope| {
            for sender in 0..SENDERS {
                let feed = &feed;
                scope.spawn(move || {
                    let mut stream = feed.connect();
                    let framing = ["newline", "octets"][sender % 2];
                    let sent = framed(&numbered(sender, LINES), framing);
                    for piece in sent.chunks(1 + sender * 997) {
                        stream.write_all(piece).expect("it is read");
                    }
                });
            }
        });
        feed.wait("all lines", |feed| feed.line_count() >= SENDERS * LINES);
        let all = String::from_utf8(feed.lines()).expect("UTF-8");
        let mut by_sender: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for line in all.lines().map(|line| line.trim_start_matches("<13>")) {
            let sender = line.split(' ').next().expect("a word");
            by_sender.entry(sender).or_default().push(line.to_owned());
        }
        for sender in 0..SENDERS {
            let had = &by_sender[format!("192.0.2.{sender}").as_str()];
            assert!(*had == numbered(sender, LINES), "{flow}: sender {sender}");
        }
        assert_eq!(feed.counts().connections, SENDERS as u64);
        feed.wait("all are closed", |feed| feed.counts().connections_open == 0);
    }
}

#[test]
fn datagrams_are_lines() {
    let lines = numbered(3, 300);
    for flow in MODES {
        let feed =
            TestFeed::new(&format!("udp://127.0.0.1:0?active={flow}"), FeedOptions::default());
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        for line in &lines {
            socket.send_to(format!("<13>{line}").as_bytes(), feed.host()).expect("it is sent");
        }
        let all_counted = |feed: &TestFeed| {
            let counts = feed.counts();
            let dropped = counts.datagrams_dropped + counts.datagrams_dropped_by_kernel;
            counts.datagrams + counts.datagrams_dropped_by_kernel == lines.len() as u64
                && feed.line_count() as u64 + dropped == lines.len() as u64
        };
        feed.wait("every datagram is a line or counted as dropped", all_counted);
    }
}

#[cfg(unix)]
#[test]
fn unix_datagrams_are_lines() {
    let lines = numbered(4, 300);
    let path = socket_path();
    for flow in MODES {
        let address = format!("unixgram:{}?active={flow}", path.display());
        let feed = TestFeed::new(&address, FeedOptions::default());
        let socket = std::os::unix::net::UnixDatagram::unbound().expect("a socket");
        for line in &lines {
            // Blocks while the receiver is slower.
            socket.send_to(format!("{line}\n").as_bytes(), &path).expect("it is sent");
        }
        feed.wait("all lines", |feed| feed.line_count() == lines.len());
        assert_eq!(feed.lines(), expected(&lines, "newline"));
        drop(feed);
        let start = std::time::Instant::now();
        while path.exists() {
            assert!(start.elapsed() < crate::common::PATIENCE, "the socket's file stays");
        }
    }
}

#[cfg(unix)]
#[test]
fn datagrams_that_are_too_long_are_cut_at_a_line_and_counted() {
    let path = socket_path();
    for flow in MODES {
        let address = format!("unixgram:{}?active={flow}", path.display());
        let feed = TestFeed::new(&address, FeedOptions::default());
        let socket = std::os::unix::net::UnixDatagram::unbound().expect("a socket");
        let line = format!("{}\n", "x".repeat(999));
        for (datagram, lines, cut) in [
            (line.repeat(65), 65, 0),
            (line.repeat(66), 65, 1),
            ("y".repeat(64 << 10), 1, 0),
            ("y".repeat((64 << 10) + 1), 0, 1),
            ("y".repeat(100_000), 0, 1),
            (format!("<13>{}", line.repeat(66)), 0, 1),
            ("z".to_owned(), 1, 0),
        ] {
            let (before, counts) = (feed.line_count(), feed.counts());
            socket.send_to(datagram.as_bytes(), &path).expect("it is sent");
            feed.wait("it is counted", |feed| {
                feed.counts().datagrams_cut == counts.datagrams_cut + cut
                    && feed.counts().datagrams > counts.datagrams
                    && feed.line_count() >= before + lines
            });
            assert_eq!(feed.line_count(), before + lines, "{flow}: {}", datagram.len());
        }
        drop(feed);
        let start = std::time::Instant::now();
        while path.exists() {
            assert!(start.elapsed() < crate::common::PATIENCE, "the socket's file stays");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn senders_that_connect_all_at_once_need_no_retry() {
    use weir_feed::Feed;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let addresses = ["tcp://127.0.0.1:0".parse().expect("an address")];
    // The feed does not accept yet.
    let feed = runtime.block_on(Feed::bind(FeedOptions::default(), &addresses)).expect("a port");
    let address = feed.names()[0].trim_start_matches("tcp://").parse().expect("an address");
    let connect = |_| {
        let patience = std::time::Duration::from_secs(20);
        std::net::TcpStream::connect_timeout(&address, patience).expect("there is room")
    };
    let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("Linux has it");
    let room: usize = allowed.trim().parse().expect("a number");
    let senders: Vec<_> = (0..room.min(250)).map(connect).collect();
    assert!(!senders.is_empty());
}

#[cfg(unix)]
#[test]
fn sockets_have_the_requested_permissions() {
    use std::os::unix::fs::PermissionsExt;
    for scheme in ["unix", "unixgram"] {
        for mode in ["0600", "0660", "666", "0777"] {
            let path = socket_path();
            let options = FeedOptions {
                bind: BindOptions {
                    socket_mode: Some(mode.parse().expect("a mode")),
                    ..<_>::default()
                },
                ..FeedOptions::default()
            };
            let feed = TestFeed::new(&format!("{scheme}:{}", path.display()), options);
            let metadata = std::fs::symlink_metadata(&path).expect("it is there");
            let had = metadata.permissions().mode() & 0o7777;
            assert_eq!(had, u32::from_str_radix(mode, 8).expect("octal"), "{scheme} {mode}");
            let sent = b"192.0.2.1\n";
            if scheme == "unix" {
                feed.connect().write_all(sent).expect("it is read");
            } else {
                let socket = std::os::unix::net::UnixDatagram::unbound().expect("a socket");
                socket.send_to(sent, &path).expect("it is sent");
            }
            feed.wait("the line", |feed| feed.lines() == sent);
        }
    }
}

#[cfg(unix)]
#[test]
fn the_socket_of_a_later_program_stays() {
    use std::os::unix::net::UnixListener;
    let path = socket_path();
    let feed = TestFeed::new(&format!("unix:{}", path.display()), FeedOptions::default());
    std::fs::remove_file(&path).expect("it is there");
    let after = UnixListener::bind(&path).expect("a path");
    drop(feed);
    assert!(path.exists(), "it is not the feed's");
    drop(after);
    std::fs::remove_file(&path).expect("it is still there");
}

#[cfg(unix)]
#[test]
fn sockets_of_programs_that_ended_are_replaced_and_others_are_not() {
    use weir_feed::{BindError, Feed};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let bind = |address: String| {
        let addresses = [address.parse().expect("an address")];
        runtime.block_on(Feed::bind(FeedOptions::default(), &addresses))
    };
    for scheme in ["unix", "unixgram"] {
        let path = socket_path();
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a path"));
        assert!(path.exists(), "it was left behind");
        let address = format!("{scheme}:{}", path.display());
        let feed = bind(address.clone()).expect("it is replaced");
        let error = bind(address.clone()).expect_err("it is in use");
        assert!(matches!(error, BindError::InUse(_)), "{error}");
        drop(feed);
        assert!(!path.exists());
        std::fs::write(&path, "precious").expect("a file");
        let error = bind(address).expect_err("it is not a socket");
        assert!(matches!(error, BindError::NotSocket(_)), "{error}");
        std::fs::remove_file(&path).expect("it is still there");
    }
    let feed = bind("tcp://127.0.0.1:0".to_owned()).expect("a port");
    let error = bind(feed.names()[0].clone()).expect_err("it is in use");
    assert!(error.to_string().contains("in use by another program"), "{error}");
}
