//! Sends the bytes of an export, or counts them.
//!
//! Parts are computed on blocking threads one at a time, so that a client that does not read holds
//! no thread.

use std::ops::Range;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use weir_ingest::DataSet;
use weir_net::BodySender;
use weir_observe::task::{TaskKind, TaskName};
use weir_query::RowExport;

use crate::refusal::Refusal;
use crate::turns::ExportTurn;

/// A source of a file's parts.
pub(super) trait PartSource: Send + 'static {
    /// Returns the next part, which may be empty, or `None` at the end.
    ///
    /// # Errors
    /// Fails if the rest cannot be computed.
    fn next_part(&mut self) -> Result<Option<Vec<u8>>, Refusal>;
}

impl PartSource for Box<dyn PartSource> {
    fn next_part(&mut self) -> Result<Option<Vec<u8>>, Refusal> {
        (**self).next_part()
    }
}

impl PartSource for RowExport<DataSet> {
    fn next_part(&mut self) -> Result<Option<Vec<u8>>, Refusal> {
        Ok(self.next_part()?)
    }
}

/// An export whose client takes nothing for this time ends if another one waits for its place. The
/// client can ask for the rest.
///
/// A system tells that its reader has taken bytes once there is room for a packet, which has 64 KiB on
/// the same machine: of a client that reads 50 kB a second, this was seen every 1.0 to 1.7 s.
const UNREAD_MAX: Duration = Duration::from_secs(3);

/// How often a wait for a client looks whether others wait. If one waits for a turn, it gets it then.
const UNREAD_CHECK: Duration = Duration::from_millis(100);

/// Where an export is sent.
pub(super) struct Destination<T, C> {
    pub(super) sender: BodySender,
    pub(super) turn: ExportTurn,
    /// The bytes that the client has taken so far; `None` if only whole parts can be counted.
    pub(super) taken_bytes: T,
    /// Ends the connection to a client that leaves bytes untaken while another export wants its place.
    pub(super) cut_off: C,
}

/// Sends a range of a file's bytes until the client disconnects or is cut off. The range may end
/// beyond the file. Returns the length of the file if all of it was computed.
pub(super) async fn send(
    mut parts: impl PartSource,
    range: Range<u64>,
    destination: Destination<impl Fn() -> Option<u64>, impl Fn()>,
) -> Option<u64> {
    let Destination { sender, mut turn, taken_bytes, cut_off } = destination;
    let mut at = 0;
    while at < range.end {
        let next = async {
            turn.resume().await;
            next(parts).await
        };
        let next = tokio::select! {
            next = next => next,
            // Nothing is sent before the range begins, so a failed send cannot reveal that the
            // client has gone.
            () = sender.closed() => return None,
        };
        // Leaving here cuts the body short, which the client notices.
        let Ok((part, rest)) = next else { return None };
        parts = rest;
        let Some(part) = part else {
            // An error means that the client has gone.
            let _ = sender.finish();
            return Some(at);
        };
        let end = at + part.len() as u64;
        let wanted = range.start.clamp(at, end)..range.end.clamp(at, end);
        let bytes =
            Bytes::from(part).slice((wanted.start - at) as usize..(wanted.end - at) as usize);
        let mut sending = pin!(sender.send(bytes));
        let (mut taken, mut since) = (taken_bytes(), Instant::now());
        loop {
            if let Ok(sent) = timeout(UNREAD_CHECK, &mut sending).await {
                break sent.ok()?;
            }
            let now = taken_bytes();
            if now != taken {
                (taken, since) = (now, Instant::now());
            }
            turn.give_way();
            if since.elapsed() >= UNREAD_MAX && turn.promise_place() {
                cut_off();
                return None;
            }
        }
        at = end;
    }
    let _ = sender.finish();
    None
}

/// Computes all bytes of a file to count them. Dropping the future stops the work after the current
/// part.
///
/// # Errors
/// Fails if the file cannot be computed, or the server ends.
pub(super) async fn length(mut parts: impl PartSource) -> Result<u64, Refusal> {
    let mut bytes = 0;
    loop {
        let (part, rest) = next(parts).await?;
        parts = rest;
        let Some(part) = part else { return Ok(bytes) };
        bytes += part.len() as u64;
    }
}

/// Computes a part of an export.
static PART: TaskKind = TaskKind::short("part of an export");

/// Computes the next part on another thread.
async fn next<P: PartSource>(mut parts: P) -> Result<(Option<Vec<u8>>, P), Refusal> {
    let call = PART.observe_call(TaskName::Unnamed, move || (parts.next_part(), parts));
    let made = spawn_blocking(call).await;
    // This fails only if the work panics, or the server ends.
    let (part, parts) = made.map_err(|_| Refusal::SessionEnded)?;
    Ok((part?, parts))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use http_body_util::BodyExt;
    use tokio::time::{Instant, timeout};
    use weir_net::{Body, BodySender};

    use super::{Destination, PartSource, UNREAD_CHECK, UNREAD_MAX, length, send};
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
        send(Endless::default(), 0..u64::MAX, Destination { sender, turn, taken_bytes, cut_off })
            .await;
        let time_s = begun.elapsed().as_secs_f64();
        assert!(is_cut.into_inner() && f64::abs(time_s - 60.0) < 0.3, "{time_s}");
        drop(body);
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
}
