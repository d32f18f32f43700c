//! Clients that disconnect during a long request: the work ends, and nothing remains of it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use weir_inside::{CaptureKind, Inside, Part, Scrape};
use weir_observe::capture::{CaptureError, CaptureOutcome, Captures, PendingCapture};
use weir_view::RouteStage;

use crate::serving::{ONE_AT_A_TIME, PATIENCE, Running, exchange, start, start_with};

/// Longer than the timeout of a test, so that no request ends by itself.
const SECONDS: u64 = 60;

/// Sends a request without reading the response.
async fn ask(running: &Running, path: &str) -> TcpStream {
    let mut client = TcpStream::connect(running.address).await.expect("it accepts");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.write_all(request.as_bytes()).await.expect("it reads");
    client
}

/// Repeats a request until the response has a status.
async fn until(running: &Running, path: &str, status: &str) {
    let begun = Instant::now();
    loop {
        let answer = exchange(running.address, &format!("GET {path}"), "Host: localhost\r\n").await;
        if answer.split(' ').nth(1) == Some(status) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{path} has no answer {status}: {answer}");
    }
}

/// Sends a long request that excludes others, and checks with a short one that it has started: the
/// short one is then refused. If the short one was first, repeats both.
async fn begin(running: &Running, path: &str, other: &str) -> TcpStream {
    let begun = Instant::now();
    loop {
        let client = ask(running, path).await;
        let answer =
            exchange(running.address, &format!("GET {other}"), "Host: localhost\r\n").await;
        if answer.split(' ').nth(1) == Some("409") {
            return client;
        }
        assert!(begun.elapsed() < PATIENCE, "{other} is not refused: {answer}");
    }
}

/// Waits until a condition holds.
async fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the number of threads with this name.
#[cfg(target_os = "linux")]
fn threads(name: &str) -> usize {
    let folders = std::fs::read_dir("/proc/self/task").expect("the threads");
    let names = folders.filter_map(|it| std::fs::read_to_string(it.ok()?.path().join("comm")).ok());
    names.filter(|it| it.trim_end() == name).count()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_profile_ends_with_its_client() {
    let _turn = ONE_AT_A_TIME.lock().await;
    let running = start(None).await;
    for kind in ["processor", "waiting"] {
        let path = format!("/profile/folded?kind={kind}&seconds={SECONDS}");
        let client = begin(&running, &path, "/profile/folded?seconds=1").await;
        wait_for("there is a thread", || threads("weir-profile") == 1).await;
        drop(client);
        // The next profile can start long before the minute is over.
        until(&running, "/profile/folded?seconds=1", "200").await;
        wait_for("the thread has ended", || threads("weir-profile") == 0).await;
    }
    // Cancelled profiles are not stored; the last complete one is.
    until(&running, "/profile/folded?last", "200").await;
}

#[tokio::test]
async fn a_count_of_calls_ends_with_its_client() {
    let _turn = ONE_AT_A_TIME.lock().await;
    let running = start(None).await;
    let path = format!("/profile/calls.json?seconds={SECONDS}");
    let client = begin(&running, &path, "/profile/calls.json?seconds=1").await;
    drop(client);
    until(&running, "/profile/calls.json?seconds=1", "200").await;
}

/// A part whose feeds can be captured.
struct Feeds(Arc<Captures<Infallible>>);

impl Part for Feeds {
    fn collect(&self, _: &mut Scrape) {}

    fn stages(&self) -> Vec<RouteStage> {
        Vec::new()
    }

    fn start_capture(
        &self,
        kind: CaptureKind,
        _: Option<&str>,
    ) -> Option<Result<PendingCapture, CaptureError>> {
        (kind == CaptureKind::Feed).then(|| self.0.arm(None))
    }
}

#[tokio::test]
async fn a_capture_ends_with_its_client() {
    let (inside, captures) = (Inside::default(), Arc::<Captures<Infallible>>::default());
    inside.add(Feeds(captures.clone()));
    let running = start_with(None, inside).await;
    let path = format!("/glass.json?kind=feed&seconds={SECONDS}");
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(ask(&running, &path).await);
    }
    until(&running, "/glass.json?kind=feed&seconds=1", "503").await;
    let mut capture = None;
    captures.follow(&mut capture, || "a feed".to_owned());
    assert!(capture.is_some(), "somebody waits");
    drop(clients);
    wait_for("nobody waits", || !captures.is_armed()).await;
    captures.follow(&mut capture, || "a feed".to_owned());
    assert!(capture.is_none(), "what was noted is let go");
    // The next captures can start at once, and record the feed from then on.
    let pending = captures.arm(None).expect("a place");
    captures.follow(&mut capture, || "the same feed".to_owned());
    let capture = capture.expect("somebody waits");
    captures.end(capture, &|never| match *never {});
    let CaptureOutcome::Found(seen) = pending.wait(PATIENCE).await else {
        panic!("nothing is seen")
    };
    assert_eq!(seen.name, "the same feed");
}
