//! Up to which byte a source may be acknowledged.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

/// Turns what is parsed into what the sender may be told.
///
/// The two are the same for a plain file. For a compressed one the sender counts compressed
/// bytes: each piece of them leaves a mark that says how far its lines reach.
#[derive(Debug)]
pub(crate) struct Marks {
    parsed: watch::Receiver<u64>,
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    is_compressed: bool,
    /// Where the lines of a piece end, and where the piece does; both never fall.
    marks: VecDeque<Mark>,
    /// The last mark that was passed, in compressed bytes.
    reached: u64,
}

#[derive(Debug)]
struct Mark {
    lines_end: u64,
    piece_end: u64,
}

impl Marks {
    pub(crate) fn new(parsed: watch::Receiver<u64>) -> Self {
        Self { parsed, state: Mutex::default(), news: Notify::new() }
    }

    /// The source is compressed.
    pub(crate) fn set_compressed(&self) {
        self.lock().is_compressed = true;
    }

    /// The compressed bytes before `piece_end` became the bytes before `lines_end`.
    pub(crate) fn mark(&self, lines_end: u64, piece_end: u64) {
        let mut state = self.lock();
        match state.marks.back_mut() {
            Some(last) if last.lines_end == lines_end => last.piece_end = piece_end,
            _ => state.marks.push_back(Mark { lines_end, piece_end }),
        }
    }

    /// Every whole line was handed on: what lies behind `handed_on` is the beginning of a
    /// line, for which nobody has to wait.
    pub(crate) fn clamp(&self, handed_on: u64) {
        let mut state = self.lock();
        while let Some(last) = state.marks.pop_back_if(|mark| mark.lines_end > handed_on) {
            let piece_end = last.piece_end;
            match state.marks.back_mut() {
                Some(before) if before.lines_end >= handed_on => {
                    before.piece_end = before.piece_end.max(piece_end);
                }
                _ => state.marks.push_back(Mark { lines_end: handed_on, piece_end }),
            }
        }
        drop(state);
        self.news.notify_waiters();
    }

    /// What was marked may be told: of an archive nothing is parsed that would say so.
    pub(crate) fn tell(&self) {
        self.news.notify_waiters();
    }

    /// The offset before which everything is parsed, in the sender's bytes.
    pub(crate) fn offset(&self) -> u64 {
        let parsed = *self.parsed.borrow();
        let mut state = self.lock();
        if !state.is_compressed {
            return parsed;
        }
        while let Some(mark) = state.marks.pop_front_if(|mark| mark.lines_end <= parsed) {
            state.reached = mark.piece_end;
        }
        state.reached
    }

    /// Waits until [`Self::offset`] is greater than `after`, and says what it is.
    pub(crate) async fn wait_past(&self, after: u64) -> u64 {
        let mut parsed = self.parsed.clone();
        loop {
            let mut news = std::pin::pin!(self.news.notified());
            news.as_mut().enable();
            parsed.mark_unchanged();
            let offset = self.offset();
            if offset > after {
                return offset;
            }
            tokio::select! {
                () = news => {}
                // An error means that the source is gone; then nothing is parsed any more.
                changed = parsed.changed() => if changed.is_err() { std::future::pending().await },
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
