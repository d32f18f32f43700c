//! Observations of a connection: its reads, its waits and its writes to the sink.

use std::time::Duration;

use weir_feed::FeedOptions;
use weir_observe::capture::{Capture, CaptureOutcome};

use crate::common::{PATIENCE, TestFeed};

/// Waits for an capture for at most this long.
fn outcome(feed: &TestFeed, patience: Duration, meanwhile: impl FnOnce()) -> Capture {
    let pending = feed.captures().arm(None).expect("nobody else waits");
    meanwhile();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    match runtime.expect("a runtime").block_on(pending.wait(patience)) {
        CaptureOutcome::Found(capture) => *capture,
        CaptureOutcome::Nothing { .. } => panic!("nothing was read"),
    }
}

/// Returns the number, the bytes and the time of the steps with one name.
fn sum(capture: &Capture, name: &str) -> (u64, u64, Duration) {
    let total = capture.totals.iter().find(|total| total.name == name);
    total.map_or((0, 0, Duration::ZERO), |total| {
        (total.count, total.bytes.unwrap_or_default(), Duration::from_nanos(total.duration_ns))
    })
}

#[test]
fn the_reads_of_a_connection_and_its_waits_are_steps() {
    const PAUSE: Duration = Duration::from_millis(60);
    for active in ["passive", "once", "64", "unlimited"] {
        let address = format!("tcp://127.0.0.1:0?active={active}");
        let feed = TestFeed::new(&address, FeedOptions::default());
        let capture = outcome(&feed, PATIENCE, || {
            let mut stream = feed.connect();
            stream.write_all(b"one\ntwo\n").expect("it is read");
            // The sink has a receiver of `paused` during each write.
            let is_writing = |feed: &TestFeed| feed.sink.paused.receiver_count() > 0;
            feed.wait("the first", |feed| feed.line_count() == 2 && !is_writing(feed));
            feed.pause(true);
            stream.write_all(b"three\nfo").expect("it is read");
            feed.wait("the sink waits", is_writing);
            std::thread::sleep(PAUSE);
            feed.pause(false);
        });
        assert!(capture.has_ended, "{active}: {capture:?}");
        assert!(capture.name.starts_with("127.0.0.1"), "{}", capture.name);
        let (reads, bytes, _) = sum(&capture, "read");
        assert_eq!((reads, bytes), (2, 16), "{active}: {capture:?}");
        let (handed, bytes, took) = sum(&capture, "submit");
        assert_eq!((handed, bytes), (2, 14), "{active}: {capture:?}");
        assert!(took >= PAUSE, "the sink took no lines for a while: {capture:?}");
        let details: Vec<&str> = capture.steps.iter().map(|step| &*step.detail).collect();
        assert!(details.contains(&"2 lines, with the wait for room"), "{details:?}");
        assert!(sum(&capture, "wait for the sender").0 >= 1, "{active}: {capture:?}");
    }
}

#[test]
fn a_connection_that_is_open_already_is_seen_from_then_on() {
    let feed = TestFeed::new("tcp://127.0.0.1:0", FeedOptions::default());
    let mut stream = feed.connect();
    stream.write_all(b"before\n").expect("it is read");
    feed.wait("the first", |feed| feed.line_count() == 1);
    let capture = outcome(&feed, Duration::from_millis(1), || {
        stream.write_all(b"after\n").expect("it is read");
        feed.wait("the second", |feed| feed.line_count() == 2);
    });
    assert!(!capture.has_ended);
    let (reads, bytes, _) = sum(&capture, "read");
    assert_eq!((reads, bytes), (1, 6), "{capture:?}");
}
