//! One answer for all connections with the same query.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use weir_ingest::DataSet;
use weir_query::{Evaluator, ParsedQuery, WrittenQuery};
use weir_sync::Lock;
use weir_view::{JsonError, view_message_rest};

use super::{Room, ViewMemory};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::turns::{Cancellation, Effort, SHORT_TURN};
use crate::view::{SessionState, view};

/// How long a view of older data is still shared, so that connections which ask shortly after each
/// other cause one view.
const SHARED_FOR: Duration = Duration::from_millis(50);

/// An evaluator with more regular expressions than this is dropped after each answer, because
/// compiled expressions take up to a megabyte each.
const KEPT_EXPRESSIONS_MAX: usize = 4;

/// While the texts are crowded, evaluators may take only 1/n of what they may take otherwise. More
/// views are then computed from nothing.
const CROWDED_SHARE: usize = 4;

/// The approximate maximum memory of a compiled expression, and of its caches in each thread that
/// searches with it, in bytes.
const EXPRESSION_BYTES: usize = 2 << 20;
const EXPRESSION_CACHES_BYTES: usize = 512 << 10;

/// The answers that the connections of a session currently follow.
#[derive(Debug, Default)]
pub(crate) struct SharedAnswers {
    answers: Lock<Vec<Weak<SharedAnswer>>>,
    /// Counts uses, to find the least recently used answer.
    uses: AtomicU64,
}

/// The answer to one query, for all connections that ask it.
#[derive(Debug)]
pub(crate) struct SharedAnswer {
    query: WrittenQuery,
    /// The query at its arrival, with its times as instants. Two queries are the same only if these
    /// are equal too.
    settled: Option<ParsedQuery>,
    state: Arc<tokio::sync::Mutex<AnswerState>>,
    /// Whether the last view took longer than a short turn.
    is_long: AtomicBool,
    /// The memory of the evaluator, in bytes.
    bytes: AtomicUsize,
    /// The length of the last text, in bytes.
    text_bytes: AtomicUsize,
    used: AtomicU64,
}

#[derive(Debug, Default)]
struct AnswerState {
    evaluator: Option<Evaluator<DataSet>>,
    made: Option<MadeView>,
}

/// The JSON of a view, without the start that differs between connections.
#[derive(Debug, Clone)]
pub(crate) struct MadeView {
    /// The version of the data that it shows, or an older one.
    pub(crate) version: u64,
    tail: Bytes,
    made_at: Instant,
}

impl AnswerState {
    /// Returns the last view if it shows the newest data, or if it is recent and newer than version
    /// `seen`.
    fn fresh_view(&self, data: &DataSet, seen: Option<u64>) -> Option<MadeView> {
        let version = *data.version().borrow();
        let is_fresh = |made: &&MadeView| {
            let is_newer = seen.is_none_or(|seen| made.version > seen);
            made.version == version || (is_newer && made.made_at.elapsed() < SHARED_FOR)
        };
        self.made.as_ref().filter(is_fresh).cloned()
    }
}

/// Why a view was not made.
enum NotMade {
    /// There is no room for its text. It is made again once there is.
    NoRoom,
    Refused(Refusal),
}

impl MadeView {
    /// Returns the rest of the JSON, which all connections share.
    pub(crate) fn tail(&self) -> Bytes {
        self.tail.clone()
    }
}

impl SharedAnswers {
    /// Returns the answer to a query that is valid for the data. If no connection has the same
    /// query, it is a new answer, which is computed from nothing or from the connection's previous
    /// answer.
    pub(crate) fn find(&self, query: WrittenQuery, data: &DataSet) -> Arc<SharedAnswer> {
        // The query was valid when it arrived.
        let settled = query.settled_for(data).ok();
        let mut answers = self.answers.lock();
        answers.retain(|answer| answer.strong_count() > 0);
        let same = answers
            .iter()
            .filter_map(Weak::upgrade)
            .find(|answer| answer.query.is_same(&query) && answer.settled == settled);
        same.unwrap_or_else(|| {
            let answer = Arc::new(SharedAnswer {
                query,
                settled,
                state: Arc::default(),
                is_long: AtomicBool::new(false),
                bytes: AtomicUsize::new(0),
                text_bytes: AtomicUsize::new(0),
                used: AtomicU64::new(0),
            });
            answers.push(Arc::downgrade(&answer));
            answer
        })
    }

    /// Returns the bytes that evaluators may take.
    fn evaluator_bytes_max(memory: &ViewMemory) -> usize {
        memory.bytes_max() / if memory.is_crowded() { CROWDED_SHARE } else { 1 }
    }

    /// Returns whether an evaluator of this many bytes may be kept: if it fits the limit, or if no
    /// connection has another query.
    fn may_keep(&self, bytes: usize, memory: &ViewMemory) -> bool {
        let is_only = || {
            let answers = self.answers.lock();
            answers.iter().filter(|answer| answer.strong_count() > 0).nth(1).is_none()
        };
        bytes <= Self::evaluator_bytes_max(memory) || is_only()
    }

    fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }

    /// Frees evaluators, the least recently used first, until the rest fit the limit. Their next
    /// views are computed from nothing. If the texts take too much memory, the limit is lower, and
    /// texts that no connection is sending are freed too.
    pub(crate) fn trim(&self, memory: &ViewMemory) {
        let (is_crowded, bytes_max) = (memory.is_crowded(), Self::evaluator_bytes_max(memory));
        let mut answers: Vec<Arc<SharedAnswer>> = {
            let answers = self.answers.lock();
            answers.iter().filter_map(Weak::upgrade).collect()
        };
        for answer in answers.iter().filter(|_| is_crowded) {
            if let Ok(mut state) = answer.state.try_lock() {
                state.made = None;
            }
        }
        let mut bytes: usize = answers.iter().map(|answer| answer.bytes()).sum();
        if bytes <= bytes_max {
            return;
        }
        answers.sort_by_key(|answer| answer.used.load(Ordering::Relaxed));
        for answer in answers {
            // An answer that is being computed is trimmed later.
            let Ok(mut state) = answer.state.try_lock() else { continue };
            state.evaluator = None;
            bytes = bytes.saturating_sub(answer.bytes.swap(0, Ordering::Relaxed));
            if bytes <= bytes_max {
                return;
            }
        }
    }
}

impl SharedAnswer {
    /// Returns whether another answer can be computed from this one.
    pub(crate) fn has_evaluator(&self) -> bool {
        self.state.try_lock().is_ok_and(|state| state.evaluator.is_some())
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the expected effort of the next view.
    fn effort(&self) -> Effort {
        match self.is_long.load(Ordering::Relaxed) {
            true => Effort::Long,
            false => Effort::of(self.query.expressions()),
        }
    }

    /// Returns a view of the newest data, or a recent view of data newer than version `seen`.
    /// Returns `None` if cancelled. `previous` is the connection's previous answer, from which the
    /// first view is computed.
    ///
    /// # Errors
    /// Fails if the work takes too long.
    pub(crate) async fn view(
        self: &Arc<Self>,
        session: &Arc<Session>,
        data: &Arc<DataSet>,
        seen: Option<u64>,
        previous: Option<Arc<Self>>,
        cancellation: &Arc<Cancellation>,
    ) -> Result<Option<MadeView>, Refusal> {
        self.used.store(session.answers().next_use(), Ordering::Relaxed);
        let lock = cancellation.unless_cancelled(self.state.clone().lock_owned()).await;
        let Some(state) = lock else { return Ok(None) };
        if let Some(made) = state.fresh_view(data, seen) {
            return Ok(Some(made));
        }
        drop(state);
        loop {
            // The state is not locked while this waits, so that the evaluator can be freed.
            let bytes = self.text_bytes.load(Ordering::Relaxed);
            let room = cancellation.unless_cancelled(session.view_memory().room(bytes)).await;
            let Some(room) = room else { return Ok(None) };
            let turn = session.view_memory().making_turn();
            let Some(turn) = cancellation.unless_cancelled(turn).await else { return Ok(None) };
            let lock = cancellation.unless_cancelled(self.state.clone().lock_owned()).await;
            let Some(mut state) = lock else { return Ok(None) };
            if let Some(made) = state.fresh_view(data, seen) {
                return Ok(Some(made));
            }
            state.made = None;
            // The work owns the lock, because it may outlive this future.
            let held = Lock::new((state, Some(room), turn));
            let (answer, owner, data) = (self.clone(), session.clone(), data.clone());
            let previous = previous.clone();
            let work = move |should_stop: &AtomicBool| {
                let mut held = held.lock();
                let (state, room, turn) = &mut *held;
                let started = Instant::now();
                // The work, and what others have sent or dropped meanwhile, takes memory at another
                // place than this work may find free.
                let returns = || turn.is_some() && owner.view_memory().is_crowded();
                if returns() {
                    owner.memory_return().now();
                }
                let made =
                    answer.make(state, room, &owner, &data, previous.as_deref(), should_stop);
                answer.is_long.store(started.elapsed() > SHORT_TURN, Ordering::Relaxed);
                if returns() {
                    // Each thread that made a view would keep the memory of its work.
                    owner.memory_return().now();
                }
                made.transpose()
            };
            match session.turns().answer(self.effort(), cancellation, work).await? {
                Some(Err(NotMade::NoRoom)) => {}
                Some(Err(NotMade::Refused(refusal))) => return Err(refusal),
                Some(Ok(made)) => return Ok(Some(made)),
                None => return Ok(None),
            }
        }
    }

    /// Computes a view, from the connection's previous answer if this one has no evaluator. Returns
    /// `None` if the flag was set.
    fn make(
        &self,
        state: &mut AnswerState,
        room: &mut Option<Room>,
        session: &Session,
        data: &Arc<DataSet>,
        previous: Option<&Self>,
        should_stop: &AtomicBool,
    ) -> Result<Option<MadeView>, NotMade> {
        // Read after the turn begins, so that the same view is not sent again without a change.
        let version = *data.version().borrow();
        let base = previous.and_then(|previous| previous.state.try_lock().ok());
        let base = base.as_ref().and_then(|state| state.evaluator.as_ref());
        let Some(text) = self.text(state, session, data, base, should_stop) else {
            return Ok(None);
        };
        let text = text.map_err(|error| NotMade::Refused(Refusal::internal(error)))?;
        self.text_bytes.store(text.len(), Ordering::Relaxed);
        // The work ends with the first text, so that it has not used the room yet.
        let tail = room.take().ok_or(NotMade::NoRoom)?.keep(text);
        session.answers().trim(session.view_memory());
        let made =
            MadeView { version, tail: tail.map_err(|_| NotMade::NoRoom)?, made_at: Instant::now() };
        state.made = Some(made.clone());
        Ok(Some(made))
    }

    /// Computes the JSON of a view, from `base` if this answer has no evaluator. Returns `None` if
    /// the flag was set.
    fn text(
        &self,
        state: &mut AnswerState,
        session: &Session,
        data: &Arc<DataSet>,
        base: Option<&Evaluator<DataSet>>,
        should_stop: &AtomicBool,
    ) -> Option<Result<String, JsonError>> {
        // The query was valid when it arrived.
        let settle = || self.query.settled_for(&**data).ok();
        let mut query = settle()?;
        let answer = loop {
            let evaluator = match (state.evaluator.take(), base) {
                (Some(evaluator), _) if *evaluator.query() == query => Ok(evaluator),
                (Some(evaluator), _) => evaluator.change(query.clone()),
                (None, Some(base)) => base.change(query.clone()),
                (None, None) => Evaluator::new(data.clone(), query.clone(), session.jobs()),
            };
            // This cannot fail: columns are never removed.
            let mut evaluator = evaluator.ok()?;
            let answer = evaluator.answer(should_stop);
            self.keep(state, evaluator, session);
            let answer = answer?;
            // Dates are in the zone of the log, which these records may have revealed.
            let settled = settle()?;
            if settled == query {
                break answer;
            }
            query = settled;
        };
        let state = SessionState {
            files: &session.files(),
            remedies: session.remedies(),
            created: session.created(),
        };
        let view = view(answer, data, &state);
        Some(view_message_rest(&view))
    }

    /// Keeps the evaluator for the next view, unless it or its expressions take too much memory. It is
    /// dropped before the text of the view is made.
    fn keep(&self, state: &mut AnswerState, evaluator: Evaluator<DataSet>, session: &Session) {
        let expressions = self.query.expressions();
        let bytes_of_each = EXPRESSION_BYTES + session.jobs() * EXPRESSION_CACHES_BYTES;
        let bytes = evaluator.total_memory_bytes() + expressions * bytes_of_each;
        let is_kept = expressions <= KEPT_EXPRESSIONS_MAX
            && session.answers().may_keep(bytes, session.view_memory());
        state.evaluator = is_kept.then_some(evaluator);
        let bytes = if state.evaluator.is_some() { bytes } else { 0 };
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
