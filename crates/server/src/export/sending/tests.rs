use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::BodyExt;
use tokio::time::{Instant, sleep, timeout};
use weir_net::{Body, BodySender};

use super::reader::{SLOW_TURN_MAX, UNREAD_CHECK, UNREAD_MAX};
use super::{Destination, PartSource, length, send};
use crate::refusal::Refusal;
use crate::turns::{ExportTurn, ExportTurns};

/// A file of parts of different lengths, including empty ones.
struct Parts(std::vec::IntoIter<Vec<u8>>);

impl Parts {
    fn new() -> Self {
        let lengths = [3, 0, 7, 1, 10];
        let mut next = 0..;
        let parts = lengths.map(|length| next.by_ref().take(length).collect());
        Self(Vec::from(parts).into_iter())
    }
}

impl PartSource for Parts {
    fn next_part(&mut self) -> Result<Option<Vec<u8>>, Refusal> {
        Ok(self.0.next())
    }
}

const PART_BYTES: usize = 1_000;

/// A file without an end, and the number of parts computed so far.
#[derive(Clone, Default)]
struct Endless(Arc<AtomicUsize>);

impl PartSource for Endless {
    fn next_part(&mut self) -> Result<Option<Vec<u8>>, Refusal> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Some(vec![b'x'; PART_BYTES]))
    }
}

async fn alone(sender: BodySender) -> Destination<impl Fn() -> Option<u64>, impl Fn()> {
    let cut_off = || unreachable!("nobody waits");
    Destination { sender, turn: turn_wanted_by(0).await, taken_bytes: || None, cut_off }
}

/// The turn and the place of an export, of which the place is wanted by others.
async fn turn_wanted_by(waiting: usize) -> ExportTurn {
    ExportTurns::contested(1, waiting).await.remove(0)
}

impl Endless {
    /// Waits until the work has ended and dropped its copy of the count.
    async fn ended(self) {
        while Arc::strong_count(&self.0) > 1 {
            tokio::task::yield_now().await;
        }
    }

    async fn made(&self, parts: usize) {
        while self.0.load(Ordering::SeqCst) < parts {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn every_range_has_its_bytes() {
    let whole: Vec<u8> = (0..21).collect();
    assert_eq!(length(Parts::new()).await, Ok(21));
    for start in 0..21 {
        for end in start + 1..=21 {
            let (sender, body) = Body::channel(1 << 10);
            let sent = send(Parts::new(), start..end, alone(sender).await).await;
            assert_eq!(sent, None, "the rest was not made");
            let bytes = body.collect().await.expect("it is whole").to_bytes();
            assert_eq!(bytes, whole[start as usize..end as usize], "{start}..{end}");
        }
    }
    let (sender, body) = Body::channel(1 << 10);
    assert_eq!(send(Parts::new(), 0..u64::MAX, alone(sender).await).await, Some(21));
    assert_eq!(body.collect().await.expect("it is whole").to_bytes(), whole);
}

#[tokio::test]
async fn a_client_that_goes_ends_the_work() {
    let parts = Endless::default();
    let (sender, body) = Body::channel(1 << 10);
    let alone = alone(sender).await;
    let skipping = tokio::spawn(send(parts.clone(), u64::MAX - 1..u64::MAX, alone));
    parts.made(9).await;
    drop(body);
    assert_eq!(skipping.await.expect("no panic"), None);
    parts.ended().await;

    let parts = Endless::default();
    let counting = tokio::spawn(length(parts.clone()));
    parts.made(9).await;
    counting.abort();
    parts.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_makes_room_for_another_export() {
    for (waiting, expected_s) in [(0, None), (1, Some(3.0)), (50, Some(3.0))] {
        let (sender, body) = Body::channel(1 << 10);
        let is_cut = AtomicBool::new(false);
        let cut_off = || is_cut.store(true, Ordering::SeqCst);
        let turn = turn_wanted_by(waiting).await;
        let destination = Destination { sender, turn, taken_bytes: || None, cut_off };
        let sending = send(Endless::default(), 0..u64::MAX, destination);
        let begun = Instant::now();
        let ended = timeout(30 * UNREAD_MAX, sending).await;
        let time_s = ended.is_ok().then(|| begun.elapsed().as_secs_f64());
        let is_expected = match (time_s, expected_s) {
            (Some(time_s), Some(expected_s)) => f64::abs(time_s - expected_s) < 0.15,
            (time_s, expected_s) => time_s == expected_s,
        };
        assert!(is_expected, "{waiting} wait: {time_s:?}");
        assert_eq!(is_cut.into_inner(), expected_s.is_some());
        let cut = body.collect().await;
        assert!(cut.is_err(), "the client notices that bytes are missing");
    }
}

/// It goes on when the other export has ended, and its client reads.
#[tokio::test(start_paused = true)]
async fn an_export_waits_only_until_another_is_not_read() {
    let (turn, next) = ExportTurns::with_one_turn().await;
    let (sender, mut body) = Body::channel(1 << 10);
    let cut_off = || unreachable!("nobody waits for its place");
    let destination = Destination { sender, turn, taken_bytes: || None, cut_off };
    let parts = Endless::default();
    let begun = Instant::now();
    let sending = tokio::spawn(send(parts.clone(), 0..u64::MAX, destination));
    let next = next.await.expect("no panic");
    let waited = begun.elapsed();
    assert!((UNREAD_CHECK..2 * UNREAD_CHECK).contains(&waited), "{waited:?}");
    // What was made is taken, but no more is made.
    let made = parts.0.load(Ordering::SeqCst);
    while timeout(Duration::from_secs(1), body.frame()).await.is_ok() {}
    assert_eq!(parts.0.load(Ordering::SeqCst), made);
    drop(next);
    assert!(body.frame().await.is_some_and(|frame| frame.is_ok()));
    drop(body);
    assert_eq!(sending.await.expect("no panic"), None);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_a_part_in_pieces_is_not_cut_off() {
    let (sender, body) = Body::channel(1 << 10);
    let turn = turn_wanted_by(1).await;
    let begun = Instant::now();
    // A piece every 1.9 s, for a minute.
    let taken_bytes = || Some((begun.elapsed().as_secs_f64() / 1.9).min(30.0) as u64);
    let is_cut = AtomicBool::new(false);
    let cut_off = || is_cut.store(true, Ordering::SeqCst);
    let destination = Destination { sender, turn, taken_bytes, cut_off };
    send(Endless::default(), 0..u64::MAX, destination).await;
    let time_s = begun.elapsed().as_secs_f64();
    assert!(is_cut.into_inner() && f64::abs(time_s - 60.0) < 0.3, "{time_s}");
    drop(body);
}

/// A client that takes something between any two looks keeps its turn for a second, in which
/// others would otherwise go first at every look.
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_steadily_keeps_its_turn_for_a_second() {
    let (turn, next) = ExportTurns::with_one_turn().await;
    let (sender, body) = Body::channel(1 << 10);
    let begun = Instant::now();
    let taken_bytes = move || Some(begun.elapsed().as_millis() as u64);
    let cut_off = || unreachable!("nobody waits for its place");
    let destination = Destination { sender, turn, taken_bytes, cut_off };
    let sending = tokio::spawn(send(Endless::default(), 0..u64::MAX, destination));
    drop(next.await.expect("no panic"));
    let waited = begun.elapsed();
    assert!((SLOW_TURN_MAX..SLOW_TURN_MAX + 2 * UNREAD_CHECK).contains(&waited), "{waited:?}");
    drop(body);
    assert_eq!(sending.await.expect("no panic"), None);
}

/// Otherwise each of many clients that never read costs as many parts as its connection holds.
#[tokio::test(start_paused = true)]
async fn while_others_wait_a_part_is_made_after_the_last_was_taken() {
    let taken = Arc::new(AtomicUsize::new(500));
    let (turn, next) = ExportTurns::with_one_turn().await;
    let (sender, body) = Body::channel(1 << 20);
    let taken_bytes = {
        let taken = taken.clone();
        move || Some(taken.load(Ordering::SeqCst) as u64)
    };
    let cut_off = || unreachable!("nobody waits for its place");
    let destination = Destination { sender, turn, taken_bytes, cut_off };
    let parts = Endless::default();
    let sending = tokio::spawn(send(parts.clone(), 0..u64::MAX, destination));
    // Its turn goes to the other export, although there is room in the queue.
    drop(next.await.expect("no panic"));
    for parts_taken in 1..5 {
        // It does not ask for its turn before its client has read.
        sleep(Duration::from_secs(60)).await;
        assert_eq!(parts.0.load(Ordering::SeqCst), 1);
        taken.store(500 + PART_BYTES - parts_taken, Ordering::SeqCst);
    }
    taken.store(500 + PART_BYTES, Ordering::SeqCst);
    // Nobody waits any more, and parts are made in advance.
    parts.made(9).await;
    drop(body);
    assert_eq!(sending.await.expect("no panic"), None);
}

#[tokio::test]
async fn a_client_that_reads_slowly_costs_a_queue_and_two_parts() {
    const QUEUE_BYTES: usize = 10 * PART_BYTES;
    let parts = Endless::default();
    let (sender, mut body) = Body::channel(QUEUE_BYTES);
    let sending = tokio::spawn(send(parts.clone(), 0..u64::MAX, alone(sender).await));
    let mut taken = 0;
    for _ in 0..200 {
        // While the client does not read, the work continues until the queue is full.
        parts.made(taken / PART_BYTES + QUEUE_BYTES / (PART_BYTES + 64)).await;
        let waiting = parts.0.load(Ordering::SeqCst) * PART_BYTES - taken;
        assert!(waiting <= QUEUE_BYTES + 2 * PART_BYTES, "{waiting} bytes");
        let frame = body.frame().await.expect("no end").expect("no error");
        taken += bytes::Buf::remaining(&frame.into_data().expect("bytes"));
    }
    drop(body);
    assert_eq!(sending.await.expect("no panic"), None);
    parts.ended().await;
}

/// Over HTTP/2 only whole parts can be counted.
#[tokio::test(start_paused = true)]
async fn while_others_wait_a_part_is_made_after_the_connection_took_the_last() {
    let (turn, next) = ExportTurns::with_one_turn().await;
    let (sender, mut body) = Body::channel(2 * PART_BYTES);
    let cut_off = || unreachable!("nobody waits for its place");
    let destination = Destination { sender, turn, taken_bytes: || None, cut_off };
    let parts = Endless::default();
    let sending = tokio::spawn(send(parts.clone(), 0..u64::MAX, destination));
    let _next = next.await.expect("no panic");
    assert_eq!(parts.0.load(Ordering::SeqCst), 1, "there is room for another one in the queue");
    assert!(body.frame().await.is_some_and(|frame| frame.is_ok()));
    drop(body);
    assert_eq!(sending.await.expect("no panic"), None);
}
