//! Senders that are faster than the sink.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{TestFeed, socket_path};
use weir_feed::FeedOptions;

const LINE: &[u8] = b"192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 10\n";
const FLOOD_LINES: usize = 700_000;

/// Sends the flood, and counts the bytes that the kernel has accepted.
fn flood(mut stream: Box<dyn Write + Send>, sent: &AtomicU64) -> std::io::Result<()> {
    let block = LINE.repeat(1_000);
    for _ in 0..FLOOD_LINES / 1_000 {
        stream.write_all(&block)?;
        sent.fetch_add(block.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// Waits until the sender has made no progress for half a second; returns the bytes it has sent.
fn wait_until_blocked(sent: &AtomicU64) -> u64 {
    let (mut last, mut quiet) = (0, 0);
    while quiet < 20 {
        std::thread::sleep(Duration::from_millis(25));
        let now = sent.load(Ordering::Relaxed);
        quiet = if now == last { quiet + 1 } else { 0 };
        last = now;
    }
    last
}

#[test]
fn a_paused_pipeline_blocks_the_sender_and_loses_nothing() {
    const TOTAL: u64 = (LINE.len() * FLOOD_LINES) as u64;
    let unix = format!("unix:{}", socket_path().display());
    for address in ["tcp://127.0.0.1:0", "tls://127.0.0.1:0", &unix] {
        for (flow, reads) in [("passive", 1), ("once", 1), ("8", 8)] {
            let feed = TestFeed::new(&format!("{address}?active={flow}"), FeedOptions::default());
            feed.pause(true);
            let sent = Arc::new(AtomicU64::new(0));
            let (stream, counted) = (feed.connect(), sent.clone());
            let sender = std::thread::spawn(move || flood(stream, &counted));
            let blocked_at = wait_until_blocked(&sent);
            assert!(blocked_at < TOTAL, "{address} {flow}: the sender is not held back");
            let read_max = (reads * FeedOptions::CHUNK_BYTES) as u64;
            assert!(feed.counts().bytes <= read_max, "{address} {flow}: {:?}", feed.counts());
            feed.pause(false);
            sender.join().expect("it ends").expect("all is taken");
            feed.wait("all lines", |feed| feed.line_count() >= FLOOD_LINES);
            assert!(feed.lines() == LINE.repeat(FLOOD_LINES), "{address} {flow}");
        }
    }
}

#[test]
fn a_connection_over_the_cap_is_dropped_and_its_lines_are_kept() {
    let options = FeedOptions { cap_bytes: 1 << 20, ..FeedOptions::default() };
    let feed = TestFeed::new("tcp://127.0.0.1:0?active=unlimited", options);
    feed.pause(true);
    let sent = Arc::new(AtomicU64::new(0));
    let (stream, counted) = (feed.connect(), sent.clone());
    let sender = std::thread::spawn(move || flood(stream, &counted));
    let mut other = feed.connect();
    // A chunk takes at most about twice its bytes, so this is below the cap.
    feed.wait("it reads", |feed| feed.counts().bytes >= 400 << 10);
    // Reading is unlimited, so only the cap can stop the sender.
    wait_until_blocked(&sent);
    let read = feed.counts().bytes as usize;
    feed.pause(false);
    sender.join().expect("it ends").expect_err("it is dropped");
    feed.wait_for_message("1 MiB wait to be parsed, which is the cap");
    feed.wait("only it was dropped", |feed| feed.counts().connections_open == 1);
    other.write_all(b"still here\n").expect("it is read");
    feed.wait("the other", |feed| feed.lines().ends_with(b"still here\n"));
    // The chunk that exceeds the cap is dropped with the connection, and so is the partial last
    // line before it.
    let lines = feed.lines();
    let stands = lines.strip_suffix(b"still here\n").expect("it was waited for");
    let sent = LINE.repeat(read / LINE.len() + 1);
    assert!(sent.starts_with(stands), "not what was sent");
    assert_eq!(stands.len() % LINE.len(), 0, "only whole lines");
    let least = read - FeedOptions::CHUNK_BYTES - LINE.len();
    assert!((least..=read).contains(&stands.len()), "{} of {read} bytes", stands.len());
}

#[test]
fn datagrams_beyond_the_limit_are_dropped_and_counted() {
    for (flow, by_us) in [("passive", false), ("unlimited", true)] {
        let options = FeedOptions { cap_bytes: 1 << 20, ..FeedOptions::default() };
        let feed = TestFeed::new(&format!("udp://127.0.0.1:0?active={flow}"), options);
        feed.pause(true);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let datagram = LINE.repeat(100);
        const DATAGRAMS: u64 = 5_000;
        let mut sent = 0_u64;
        // If the kernel drops most of the datagrams, it takes more of them to reach the cap.
        let needs_more = || by_us && feed.counts().datagrams_dropped == 0;
        while sent < DATAGRAMS || (sent < 20 * DATAGRAMS && needs_more()) {
            socket.send_to(&datagram, feed.host()).expect("it is sent");
            sent += 1;
            if sent.is_multiple_of(50) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        // The kernel's count is updated every half second.
        feed.wait("every datagram is counted", |feed| {
            let counts = feed.counts();
            let waiting = if by_us { 0 } else { sent };
            counts.datagrams + counts.datagrams_dropped_by_kernel + waiting >= sent
        });
        feed.pause(false);
        feed.wait("all that was not dropped", |feed| {
            let counts = feed.counts();
            let dropped = counts.datagrams_dropped + counts.datagrams_dropped_by_kernel;
            feed.line_count() as u64 / 100 + dropped == sent
        });
        let counts = feed.counts();
        assert_eq!(counts.datagrams_dropped > 0, by_us, "{flow}: {counts:?}");
    }
}

#[cfg(unix)]
#[test]
fn tiny_datagrams_count_with_the_memory_they_take() {
    const DATAGRAMS: u64 = 100;
    // Much more than the text of all datagrams, and less than the chunks that hold it.
    let options = FeedOptions { cap_bytes: 16 << 10, ..FeedOptions::default() };
    let path = socket_path();
    let address = format!("unixgram:{}?active=unlimited", path.display());
    let feed = TestFeed::new(&address, options);
    feed.pause(true);
    let socket = std::os::unix::net::UnixDatagram::unbound().expect("a socket");
    for number in 1..=DATAGRAMS {
        socket.send_to(b"x", &path).expect("it is sent");
        // One read may return many datagrams in one chunk; this way each has its own.
        feed.wait("it is read", |feed| feed.counts().datagrams == number);
    }
    assert!(feed.counts().datagrams_dropped > 0, "{:?}", feed.counts());
    feed.pause(false);
    feed.wait("the others are lines", |feed| {
        feed.line_count() as u64 + feed.counts().datagrams_dropped == DATAGRAMS
    });
}
