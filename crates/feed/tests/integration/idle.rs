//! The idle limit, by a paused clock: time advances only while every task waits.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use weir_feed::{Feed, FeedCounts, FeedOptions, RunningFeed};

use crate::common::MemorySink;

const IDLE: Duration = Duration::from_secs(60);

/// A feed on the runtime of the test, which has the paused clock.
struct PausedFeed {
    host: String,
    sink: MemorySink,
    running: RunningFeed<MemorySink>,
}

impl PausedFeed {
    async fn new(address: &str) -> Self {
        let options = FeedOptions { idle: IDLE, ..FeedOptions::default() };
        let addresses = [address.parse().expect("an address")];
        let feed = Feed::bind(options, &addresses).await.expect("a free port");
        let host = feed.names()[0].trim_start_matches("tcp://").to_owned();
        let sink = MemorySink::new();
        let running = feed.start(|_| sink.clone());
        Self { host, sink, running }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.host).await.expect("it listens")
    }

    fn counts(&self) -> FeedCounts {
        self.running.counts()[0]
    }
}

#[tokio::test(start_paused = true)]
async fn senders_that_complete_no_line_are_closed_and_their_bytes_are_no_line() {
    for mode in ["passive", "64", "unlimited"] {
        let feed = PausedFeed::new(&format!("tcp://127.0.0.1:0?active={mode}")).await;
        let start = Instant::now();
        let mut silent = feed.connect().await;
        let mut slow = feed.connect().await;
        let dribble = async {
            while slow.write_all(b"x").await.is_ok() {
                sleep(IDLE / 15).await;
            }
        };
        timeout(3 * IDLE, dribble).await.expect("the slow sender is closed");
        let end = timeout(IDLE, silent.read_u8()).await.expect("the silent sender is closed");
        assert!(end.is_err(), "{mode}: a byte came");
        assert!(start.elapsed() >= IDLE, "{mode}: closed after {:?}", start.elapsed());
        assert_eq!(feed.counts().connections_timed_out, 2, "{mode}");
        assert_eq!(feed.counts().lines_torn, 1, "{mode}");
        assert_eq!(feed.sink.lines(), b"", "{mode}: half a line is not a line");
    }
}

#[tokio::test(start_paused = true)]
async fn senders_of_lines_are_not_idle_and_neither_are_those_held_back() {
    let feed = PausedFeed::new("tcp://127.0.0.1:0").await;
    let mut stream = feed.connect().await;
    for is_paused in [false, true] {
        feed.sink.paused.send_replace(is_paused);
        for _ in 0..10 {
            stream.write_all(b"a line\n").await.expect("it is open");
            sleep(IDLE / 4).await;
        }
    }
    feed.sink.paused.send_replace(false);
    stream.write_all(b"the last\n").await.expect("it is open");
    let all_lines = async {
        while !feed.sink.lines().ends_with(b"the last\n") {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(IDLE / 2, all_lines).await.expect("all lines");
    assert_eq!(feed.sink.lines(), [&b"a line\n".repeat(20)[..], b"the last\n"].concat());
}
