//! Senders with wrong counts, endless lines, no TLS, and stalled handshakes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::TestFeed;
use weir_feed::{FeedOptions, Remedies};

fn tcp(options: FeedOptions) -> TestFeed {
    TestFeed::new("tcp://127.0.0.1:0", options)
}

/// Waits until the feed has closed the connection.
fn wait_for_end(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(crate::common::PATIENCE)).expect("a time-out");
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
}

#[test]
fn wrong_counts_end_the_connection_and_earlier_lines_are_kept() {
    for (sent, had, why) in [
        ("6 <1>abc4 <2>abc3 <3>", "<1>abc\n<2>a\n", "the count before it was wrong"),
        ("6 <1>abc99999999 <2>", "<1>abc\n", "a frame claims"),
    ] {
        let feed = tcp(FeedOptions::default());
        let mut stream = TcpStream::connect(feed.host()).expect("it listens");
        stream.write_all(sent.as_bytes()).expect("it is read");
        wait_for_end(&mut stream);
        feed.wait_for_message(why);
        assert_eq!(String::from_utf8(feed.lines()).expect("UTF-8"), had);
        feed.wait("counted", |feed| feed.counts().connections_dropped == 1);
    }
}

#[test]
fn a_line_without_an_end_is_one_line_and_its_memory_is_bounded() {
    let options = FeedOptions { line_bytes_max: 10_000, ..FeedOptions::default() };
    let feed = tcp(options);
    let mut stream = TcpStream::connect(feed.host()).expect("it listens");
    for _ in 0..200 {
        stream.write_all(&[b'x'; 100_000]).expect("it is read");
    }
    stream.write_all(b"\nnext\n").expect("it is read");
    feed.wait("two lines", |feed| feed.line_count() == 2);
    let lines = feed.lines();
    assert!(lines.ends_with(b"\nnext\n") && lines.len() == 10_001 + 6, "{}", lines.len());
}

#[test]
fn partial_lines_are_bounded_together() {
    let options = FeedOptions { partial_lines_bytes_max: 1 << 20, ..FeedOptions::default() };
    let feed = tcp(options);
    let mut streams: Vec<TcpStream> = Vec::new();
    for _ in 0..10 {
        let mut stream = TcpStream::connect(feed.host()).expect("it listens");
        // A sender that is dropped may see an error while it sends.
        let _ = stream.write_all(&[b'x'; 300_000]);
        streams.push(stream);
    }
    feed.wait_for_message("take too much memory");
    // Three lines of 300 kB fit into the limit. The others are dropped one after the other.
    feed.wait("seven are dropped", |feed| feed.counts().connections_dropped >= 7);
    feed.wait("some are left", |feed| (1..=3).contains(&feed.counts().connections_open));
}

#[test]
fn connections_without_tls_are_dropped() {
    let feed = TestFeed::new("tls://127.0.0.1:0", FeedOptions::default());
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 5_000], b"\x16\x03\x01\xff\xff"] {
        let mut stream = TcpStream::connect(feed.host()).expect("it listens");
        let _ = stream.write_all(garbage);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        wait_for_end(&mut stream);
    }
    feed.wait("all are dropped", |feed| feed.counts().connections_dropped == 3);
    feed.wait_for_message("the TLS handshake failed");
    let mut stream = feed.connect();
    stream.write_all(b"a line\n").expect("it is read");
    stream.flush().expect("it is read");
    feed.wait("a line", |feed| feed.lines() == b"a line\n");
}

#[test]
fn a_handshake_that_stalls_ends() {
    let handshake = Duration::from_millis(200);
    let feed = TestFeed::new("tls://127.0.0.1:0", FeedOptions { handshake, ..Default::default() });
    let mut stream = TcpStream::connect(feed.host()).expect("it listens");
    stream.write_all(b"\x16\x03\x01").expect("it is read");
    wait_for_end(&mut stream);
    feed.wait_for_message("the TLS handshake timed out");
}

#[test]
fn thousands_of_idle_connections_only_count_against_the_limit() {
    const CONNECTIONS_MAX: usize = 1_500;
    let remedies = Remedies { connections: "a flag raises it", ..Default::default() };
    let connections_max = CONNECTIONS_MAX;
    let feed = tcp(FeedOptions { connections_max, remedies, ..Default::default() });
    let connect = |_| TcpStream::connect(feed.host()).expect("it listens");
    let mut idle: Vec<TcpStream> = (0..CONNECTIONS_MAX).map(connect).collect();
    let all = CONNECTIONS_MAX as u64;
    feed.wait("all are taken", |feed| feed.counts().connections_open == all);
    let mut refused = connect(0);
    let mut sentence = String::new();
    refused.read_to_string(&mut sentence).expect("it is told");
    assert_eq!(sentence, "weir: too many connections; try again later\n");
    feed.wait_for_message(
        "is refused: 1500 connections are open, the maximum that this feed allows; a flag raises it",
    );
    idle[700].write_all(b"a line\n").expect("it is open");
    feed.wait("the line", |feed| feed.line_count() == 1);
    idle.pop();
    feed.wait("a place is free", |feed| feed.counts().connections_open == all - 1);
    connect(0).write_all(b"another\n").expect("it is open");
    feed.wait("the line", |feed| feed.line_count() == 2);
}

/// Half of a record that would parse: its size is cut from 12345 to 123.
const HALF: &[u8] = b"192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 123";

#[test]
fn the_last_line_of_a_connection_that_is_reset_is_torn() {
    for mode in ["passive", "once", "64", "unlimited"] {
        let feed = TestFeed::new(&format!("tcp://127.0.0.1:0?active={mode}"), Default::default());
        let mut stream = TcpStream::connect(feed.host()).expect("it listens");
        stream.write_all(b"a line\n").expect("it is read");
        stream.write_all(HALF).expect("it is read");
        feed.wait("it is read", |feed| feed.counts().bytes == 7 + HALF.len() as u64);
        reset(stream);
        feed.wait("it has ended", |feed| feed.counts().connections_open == 0);
        assert_eq!(feed.lines(), b"a line\n", "{mode}");
        assert_eq!(feed.counts().lines_torn, 1, "{mode}");
        // A sender that closes its connection has written all of its last line.
        let mut stream = TcpStream::connect(feed.host()).expect("it listens");
        stream.write_all(b"the last").expect("it is read");
        drop(stream);
        feed.wait("it has ended", |feed| feed.lines().ends_with(b"the last\n"));
        assert_eq!(feed.counts().lines_torn, 1, "{mode}");
    }
}

/// Closes a connection by a reset (RST).
fn reset(stream: TcpStream) {
    stream.set_nonblocking(true).expect("tokio asks for that");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let _inside = runtime.enter();
    let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
    stream.set_zero_linger().expect("a TCP socket has a linger time");
}

#[test]
fn the_last_line_of_tls_without_close_notify_is_torn() {
    let feed = TestFeed::new("tls://127.0.0.1:0", FeedOptions::default());
    let mut cut = feed.connect_tls();
    cut.write_all(b"a line\n").expect("it is read");
    cut.write_all(HALF).expect("it is read");
    cut.flush().expect("it is read");
    // Dropped without an alert.
    drop(cut);
    feed.wait("it has ended", |feed| {
        feed.counts().connections == 1 && feed.counts().connections_open == 0
    });
    assert_eq!(feed.lines(), b"a line\n");
    assert_eq!(feed.counts().lines_torn, 1);
    let heard = feed.heard();
    assert!(heard.is_empty(), "many senders end so: {heard:?}");
}

/// The two parts of a line that a container runtime has split.
const PARTS: [&str; 2] =
    ["2025-12-17T09:03:01Z stdout P one \n", "2025-12-17T09:03:02Z stdout F line\n"];

#[test]
fn split_lines_are_joined_for_each_connection() {
    let feed = tcp(FeedOptions::default());
    let connect = || TcpStream::connect(feed.host()).expect("it listens");
    let (mut first, mut second) = (connect(), connect());
    first.write_all(PARTS[0].as_bytes()).expect("it is read");
    second.write_all(PARTS[0].replace("one", "two").as_bytes()).expect("it is read");
    feed.wait("both parts", |feed| feed.counts().bytes == 2 * PARTS[0].len() as u64);
    first.write_all(PARTS[1].as_bytes()).expect("it is read");
    feed.wait("a line", |feed| feed.line_count() == 1);
    second.write_all(PARTS[1].as_bytes()).expect("it is read");
    feed.wait("two lines", |feed| feed.line_count() == 2);
    // The last part has no successor; it is written when its sender closes the connection.
    first.write_all(PARTS[0].as_bytes()).expect("it is read");
    drop(first);
    feed.wait("three lines", |feed| feed.line_count() == 3);
    let expected = "2025-12-17T09:03:01Z stdout F one line\n\
                    2025-12-17T09:03:01Z stdout F two line\n\
                    2025-12-17T09:03:01Z stdout P one \n";
    assert_eq!(String::from_utf8(feed.lines()).expect("UTF-8"), expected);
    assert_eq!(feed.counts().lines_torn, 0);
}

#[test]
fn split_lines_are_bounded_by_the_line_limit() {
    let options = FeedOptions { line_bytes_max: 10_000, ..FeedOptions::default() };
    let feed = tcp(options);
    let mut stream = TcpStream::connect(feed.host()).expect("it listens");
    let part = format!("2025-12-17T09:03:01Z stdout P {}\n", "x".repeat(9_000));
    for _ in 0..200 {
        stream.write_all(part.as_bytes()).expect("it is read");
    }
    stream.write_all(PARTS[1].as_bytes()).expect("it is read");
    feed.wait("a line", |feed| feed.line_count() == 1);
    assert_eq!(feed.lines().len(), 10_002);
}
