//! The activity of one connection, as its socket, its requests and their bodies record it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};

use atomic_waker::AtomicWaker;
use tokio::sync::watch;
use weir_observe::capture::OpenCapture;
use weir_sync::Lock;

use super::IdleConnections;
use super::interim_queue::InterimQueue;
use crate::close_reason::CloseReason;
use crate::framing::Framing;
use crate::head_refusal::HeadRefusal;
use crate::history::{ConnectionHistory, Detail, History};
use crate::socket::{ConnectionEnd, SendingSide};

/// The activity of a connection: it waits, answers requests, or sends the end of a response.
#[derive(Debug)]
pub(crate) struct Activity {
    pub(super) idle: Arc<IdleConnections>,
    state: Lock<ActivityState>,
    /// Whether the client has closed its sending side, from the first time that something waits for
    /// it. Few connections need this channel, which takes 350 bytes.
    sending_closed: OnceLock<watch::Sender<bool>>,
    /// Whether the connection waits for its client to leave.
    pub(super) watches_client: AtomicBool,
    /// Whether the end of a response may still be unwritten. The connection is not idle until then.
    is_unsent: AtomicBool,
    pub(super) written_bytes: AtomicU64,
    /// Whether the socket is to take few bytes in advance, until the end of the response.
    wants_few_bytes_ahead: AtomicBool,
    /// Whether each write of the response is observed.
    notes_writes: AtomicBool,
    /// Whether the client must not mistake the end of the connection for the end of a body.
    is_aborted: AtomicBool,
    pub(super) is_http2: AtomicBool,
    /// Whether the latest request of HTTP/1 has a body.
    may_send_body: AtomicBool,
    /// How the body of the latest request of HTTP/1 is delimited, until the socket has asked for it.
    framing: Lock<Option<Framing>>,
    /// The number of requests of HTTP/1 so far.
    heads: AtomicU64,
    /// The interim responses to the request in progress.
    pub(crate) interim: InterimQueue,
    /// Whether the connection now speaks another protocol.
    is_upgraded: AtomicBool,
    /// The number of the first [`CloseReason`]; 0 if the connection is not asked to close.
    pub(super) close_reason: AtomicU8,
    pub(super) waker: AtomicWaker,
}

#[derive(Debug, Default)]
pub(super) struct ActivityState {
    /// The number of the current wait; 0 during a request.
    pub(super) waiting: u64,
    /// The requests in progress. A request ends with the body of its response.
    pub(super) requests: usize,
    pub(super) has_served: bool,
    /// The client's sending side, when it was last checked.
    sending_side: SendingSide,
    history: History,
}

impl Activity {
    /// The activity of a new connection, which neither waits nor has a request.
    pub(super) fn new(idle: Arc<IdleConnections>) -> Self {
        Self {
            idle,
            state: Lock::default(),
            sending_closed: OnceLock::new(),
            watches_client: AtomicBool::new(false),
            is_unsent: AtomicBool::new(false),
            written_bytes: AtomicU64::new(0),
            wants_few_bytes_ahead: AtomicBool::new(false),
            notes_writes: AtomicBool::new(false),
            is_aborted: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            may_send_body: AtomicBool::new(false),
            framing: Lock::default(),
            heads: AtomicU64::new(0),
            interim: InterimQueue::default(),
            is_upgraded: AtomicBool::new(false),
            close_reason: AtomicU8::new(0),
            waker: AtomicWaker::new(),
        }
    }

    /// Records that a request has arrived. It is in progress until the guard is dropped. After
    /// that, the connection is idle as soon as everything [is written](Self::note_all_written).
    pub(crate) fn begin_request(self: &Arc<Self>) -> RequestInProgress {
        let mut state = self.state();
        state.requests += 1;
        state.waiting = 0;
        state.has_served = true;
        state.history.begin_request();
        drop(state);
        RequestInProgress(self.clone())
    }

    /// Records that the system has accepted everything sent so far.
    pub(crate) fn note_all_written(&self) {
        // Fast path: most writes are not the last of a response.
        if !self.is_unsent.load(Ordering::SeqCst) {
            return;
        }
        let mut state = self.state();
        if state.requests == 0 && self.is_unsent.swap(false, Ordering::SeqCst) {
            state.history.end_request();
            if self.notes_writes.load(Ordering::Relaxed) {
                self.notes_writes.store(false, Ordering::Relaxed);
            }
            self.begin_wait(&mut state);
        }
    }

    /// Records that the TLS handshake is complete and the PROXY header read.
    pub(crate) fn note_open(&self) {
        self.state().history.note_open();
    }

    /// Records that the first bytes of a request have arrived. Called only while there are
    /// captures.
    pub(crate) fn note_head(&self) {
        self.state().history.note_head();
    }

    /// Notes the end of the response in progress in `capture`, and its parts if `detail` asks for
    /// them. Does nothing over HTTP/2.
    pub(crate) fn observe(&self, capture: OpenCapture, detail: Detail) {
        if self.is_http2.load(Ordering::SeqCst) {
            return;
        }
        self.notes_writes.store(detail == Detail::Writes, Ordering::Relaxed);
        self.state().history.observe(capture);
    }

    /// Returns what happened on the connection before its latest request.
    pub(crate) fn history(&self) -> ConnectionHistory {
        let history = self.state().history.before_latest_request();
        // Over HTTP/2 it is not known which bytes belong to which request.
        let is_http2 = self.is_http2.load(Ordering::SeqCst);
        ConnectionHistory { head_begun: history.head_begun.filter(|_| !is_http2), ..history }
    }

    /// Counts bytes that the system has accepted.
    pub(crate) fn count_written(&self, bytes: usize) {
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.notes_writes.load(Ordering::Relaxed) {
            self.state().history.note_write(bytes);
        }
    }

    /// Returns the bytes that the system has accepted.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// Asks for a socket that takes few bytes in advance, until the connection waits for a request.
    pub(crate) fn limit_bytes_ahead(&self) {
        self.wants_few_bytes_ahead.store(true, Ordering::Relaxed);
    }

    /// Whether the socket is to take few bytes in advance.
    pub(crate) fn wants_few_bytes_ahead(&self) -> bool {
        self.wants_few_bytes_ahead.load(Ordering::Relaxed)
    }

    /// Whether the connection ends after its next response.
    pub(crate) fn is_ending(&self) -> bool {
        self.idle.is_ending.load(Ordering::Relaxed)
    }

    /// Whether a body was aborted that only the end of the connection delimits.
    pub(crate) fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::Relaxed)
    }

    /// Whether anything waits for the client to close its sending side.
    pub(crate) fn watches_client(&self) -> bool {
        let is_awaited = self.sending_closed.get().is_some_and(|it| it.receiver_count() > 0);
        is_awaited || (self.watches_client.load(Ordering::SeqCst) && self.state().requests > 0)
    }

    /// Records the client's sending side.
    pub(crate) fn note_sending_side(&self, side: SendingSide) {
        self.state().sending_side = side;
        if side.is_closed()
            && let Some(sender) = self.sending_closed.get()
        {
            sender.send_replace(true);
        }
    }

    /// Waits until the client has closed its sending side.
    pub(crate) async fn wait_sending_closed(&self) {
        let sender = self.sending_closed.get_or_init(watch::Sender::default);
        let mut receiver = sender.subscribe();
        // The side may have been recorded before there was a channel.
        let is_closed = self.state().sending_side.is_closed();
        if !is_closed {
            // This cannot fail, because the sender lives in `self`.
            let _ = receiver.wait_for(|is_closed| *is_closed).await;
        }
    }

    /// Returns the client's sending side if a request is in progress.
    pub(super) fn sending_side_of_request(&self) -> Option<SendingSide> {
        let state = self.state();
        (state.requests > 0).then_some(state.sending_side)
    }

    /// Records how the body of the next request of HTTP/1 is delimited. If there is one, the client
    /// may still be sending the rest when the connection closes.
    pub(crate) fn set_framing(&self, framing: Framing) {
        self.heads.fetch_add(1, Ordering::Relaxed);
        self.may_send_body.store(framing != Framing::Empty, Ordering::Relaxed);
        *self.framing.lock() = Some(framing);
    }

    /// Returns how the body of the latest request is delimited, the first time that it is asked.
    pub(crate) fn take_framing(&self) -> Option<Framing> {
        self.framing.lock().take()
    }

    /// Accepts interim responses to the latest request of HTTP/1, whose handler runs. Returns the number
    /// of the request.
    pub(crate) fn open_interim(&self) -> u64 {
        let number = self.heads.load(Ordering::Relaxed);
        self.interim.open(number);
        number
    }

    /// Whether the connection speaks HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::SeqCst)
    }

    /// Whether the latest request of HTTP/1 has a body.
    pub(crate) fn may_send_body(&self) -> bool {
        self.may_send_body.load(Ordering::Relaxed)
    }

    /// Records that the connection speaks another protocol after the latest response.
    pub(crate) fn note_upgrade(&self) {
        self.is_upgraded.store(true, Ordering::Relaxed);
    }

    /// Whether the connection speaks another protocol after the latest response.
    pub(crate) fn is_upgraded(&self) -> bool {
        self.is_upgraded.load(Ordering::Relaxed)
    }

    /// Whether bytes that arrive after the end of the responses may be discarded. After an upgrade
    /// they belong to the other protocol. An HTTP/2 connection ends with `GOAWAY` only after a
    /// violation or when it is idle, and a client that floods it must not be read any longer.
    pub(crate) fn may_linger(&self) -> bool {
        let is_other = [&self.is_upgraded, &self.is_http2];
        !is_other.iter().any(|flag| flag.load(Ordering::Relaxed))
    }

    /// Counts the end of the connection.
    pub(crate) fn count_end(&self, end: ConnectionEnd) {
        self.idle.ends.count(end);
    }

    /// Whether no request is in progress and all responses are written.
    pub(crate) fn is_waiting(&self) -> bool {
        self.state().waiting > 0
    }

    /// Whether a request is in progress, or the end of a response may be unwritten.
    pub(crate) fn has_unwritten_response(&self) -> bool {
        self.state().requests > 0 || self.is_unsent.load(Ordering::SeqCst)
    }

    /// Counts and reports the refusal of a request that no handler sees.
    pub(crate) fn note_refusal(&self, refusal: HeadRefusal<'_>) {
        let (peer, reason) = (refusal.peer, refusal.problem.name());
        tracing::debug!(%peer, reason, "a request is refused before it is handled");
        if let Some(end) = refusal.problem.connection_end().filter(|_| refusal.request.is_none()) {
            self.count_end(end);
        }
        self.idle.refusal_observer.observe(refusal);
    }

    /// Whether the connection is asked to make room for another one.
    pub(crate) fn makes_room(&self) -> bool {
        self.close_reason.load(Ordering::SeqCst) == CloseReason::MakeRoom.number()
    }

    pub(super) fn begin_wait(&self, state: &mut ActivityState) {
        state.waiting = self.idle.waits.fetch_add(1, Ordering::SeqCst) + 1;
        self.wants_few_bytes_ahead.store(false, Ordering::Relaxed);
    }

    /// Returns the number of the current wait; `None` if the connection does not wait, or is
    /// already asked to close.
    pub(super) fn wait_number(&self) -> Option<u64> {
        let number = self.state().waiting;
        (number > 0 && self.close_reason.load(Ordering::SeqCst) == 0).then_some(number)
    }

    pub(super) fn is_http2_wait(&self) -> bool {
        self.is_http2.load(Ordering::SeqCst) && self.state().has_served
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock()
    }

    /// Closes a connection of HTTP/1 whose client does not take the response in progress.
    pub(crate) fn cut_off(&self) {
        if !self.is_http2.load(Ordering::SeqCst) {
            self.is_aborted.store(true, Ordering::Relaxed);
            self.count_end(ConnectionEnd::Unread);
            self.close(CloseReason::Unread);
        }
    }

    /// Asks the connection to close. The first reason stays, so a late head is answered even if the
    /// server stops before the connection has read the reason.
    pub(super) fn close(&self, reason: CloseReason) {
        let order = Ordering::SeqCst;
        let _before = self.close_reason.compare_exchange(0, reason.number(), order, order);
        self.waker.wake();
    }
}

/// A request whose response is not complete.
#[derive(Debug)]
pub(crate) struct RequestInProgress(Arc<Activity>);

impl RequestInProgress {
    /// Records that the body of the response ends prematurely.
    pub(crate) fn abort(&self) {
        self.0.is_aborted.store(true, Ordering::Relaxed);
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests -= 1;
        self.0.is_unsent.store(true, Ordering::SeqCst);
    }
}
