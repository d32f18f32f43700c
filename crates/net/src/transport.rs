//! An open connection with its limits: a connection permit, and a deadline for writes.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use weir_observe::capture::is_any_armed;
use weir_observe::task;

use crate::client::ClientWatch;
use crate::file_queue::{FileQueue, WriteStart};
use crate::head_cutter::HeadCutter;
use crate::head_refusal::{HeadProblem, HeadRefusal, TextedAnswer};
use crate::idle::Activity;
use crate::linger::Linger;
use crate::socket::{BytesAhead, ConnectionEnd, ConnectionPermit, Peer, SocketStream};

/// One open connection of a [`Server`](crate::Server). It counts towards
/// [`connections_max`](crate::ServeOptions::connections_max) until it is dropped, even after an
/// upgrade to another protocol. A write fails with [`io::ErrorKind::TimedOut`] if the client reads
/// nothing for [`write_timeout`](crate::ServeOptions::write_timeout).
#[derive(Debug)]
pub struct Transport {
    stream: SocketStream,
    peer: Peer,
    deadline: WriteDeadline,
    watch: ClientWatch,
    files: FileQueue,
    activity: Arc<Activity>,
    final_response: FinalResponse,
    heads: HeadCutter,
    /// The answer that is being sent in place of one of hyper's.
    refusal: Option<Box<TextedAnswer>>,
    /// The rest of the interim responses that are being sent. They come before all other bytes.
    interim: Bytes,
    linger: Linger,
    /// What the socket took in advance, while it takes few bytes.
    usual_bytes_ahead: Option<BytesAhead>,
    /// Whether bytes were received after the last bytes were sent.
    is_unanswered: bool,
    /// Whether a write failed because the client does not read.
    is_unread: bool,
    _permit: ConnectionPermit,
}

/// The response that is sent when the transport is dropped, to a request whose head is incomplete.
/// hyper drops such a connection without a response.
#[derive(Clone, Debug, Default)]
pub(crate) struct FinalResponse(Arc<OnceLock<&'static str>>);

impl FinalResponse {
    /// Sets the response. It is sent only if the client has begun a request.
    pub(crate) fn set(&self, text: &'static str) {
        let _is_first = self.0.set(text);
    }
}

/// If a deadline passed this long ago and its write was not polled since, the write was abandoned.
const ABANDONED_AFTER: Duration = Duration::from_secs(1);

/// The time limit of a write during which the client reads nothing.
#[derive(Debug)]
struct WriteDeadline {
    timeout: Duration,
    /// The end of the wait; `None` while no write waits.
    end: Option<Pin<Box<Sleep>>>,
}

impl WriteDeadline {
    /// Returns the result of a write, or an error if the deadline has passed.
    fn check<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.end = None;
            return written;
        }
        // A live write is polled when its deadline passes. If it was not, the future of that write
        // was dropped, and this write starts a new deadline.
        let is_abandoned =
            |end: &mut Pin<Box<Sleep>>| end.deadline() + ABANDONED_AFTER < Instant::now();
        self.end.take_if(is_abandoned);
        let end = self.end.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.timeout)));
        ready!(end.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl Transport {
    pub(crate) fn new(
        stream: SocketStream,
        peer: Peer,
        permit: ConnectionPermit,
        write_timeout: Duration,
        activity: Arc<Activity>,
    ) -> Self {
        let deadline = WriteDeadline { timeout: write_timeout, end: None };
        let (watch, files) = (ClientWatch::new(activity.clone()), FileQueue::default());
        Self {
            stream,
            peer,
            deadline,
            watch,
            files,
            activity,
            final_response: FinalResponse::default(),
            heads: HeadCutter::default(),
            refusal: None,
            interim: Bytes::new(),
            linger: Linger::default(),
            usual_bytes_ahead: None,
            is_unanswered: false,
            is_unread: false,
            _permit: permit,
        }
    }

    /// Passes all bytes as they are, because they are those of HTTP/2.
    pub(crate) fn set_http2(&mut self) {
        self.heads = HeadCutter::off();
    }

    /// Returns the response that is sent when the transport is dropped, to be set later.
    pub(crate) fn final_response(&self) -> FinalResponse {
        self.final_response.clone()
    }

    /// Returns the watch that tells handlers that the client has gone.
    pub(crate) fn watch(&self) -> ClientWatch {
        self.watch.clone()
    }

    /// Returns the queue of files that the kernel copies into the socket; `None` if it cannot,
    /// because the bytes must be encrypted.
    pub(crate) fn files(&self) -> Option<FileQueue> {
        self.stream.supports_sendfile().then(|| self.files.clone())
    }

    /// Returns the underlying TCP socket, to read or set its options; `None` for a Unix socket.
    pub fn tcp(&self) -> Option<&TcpStream> {
        self.stream.tcp()
    }

    /// Starts to replace an answer of hyper's to a head that it could not read.
    fn begin_refusal(&mut self, slices: &[IoSlice<'_>]) {
        // Before a request, and after the whole answer to the latest one, only hyper itself writes.
        // One that waits for room in the socket has begun.
        let has_begun = self.refusal.is_some();
        if has_begun || !may_be_refusal(slices) || !self.activity.is_waiting() {
            return;
        }
        let Some(answer) = TextedAnswer::new(slices) else { return };
        self.note_refusal(answer.problem);
        self.refusal = Some(Box::new(answer));
    }

    fn note_refusal(&self, problem: HeadProblem) {
        let bytes = problem.text().len();
        self.activity.note_refusal(HeadRefusal { peer: self.peer, problem, bytes, request: None });
    }

    /// Writes the answer that replaces one of hyper's. Returns the size of that one.
    fn poll_refusal(
        &mut self,
        context: &mut Context<'_>,
        mut answer: Box<TextedAnswer>,
    ) -> Poll<io::Result<usize>> {
        loop {
            match Pin::new(&mut self.stream).poll_write(context, answer.rest()) {
                Poll::Ready(Ok(bytes)) => {
                    self.activity.count_written(bytes);
                    if let Some(replaced_bytes) = answer.advance(bytes)? {
                        return Poll::Ready(Ok(replaced_bytes));
                    }
                }
                other => {
                    self.refusal = Some(answer);
                    return other;
                }
            }
        }
    }

    /// Writes the rest of the interim responses that have begun.
    fn poll_interim(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.interim.is_empty() {
            let written = Pin::new(&mut self.stream).poll_write(context, &self.interim);
            let bytes = ready!(self.check_write(context, written))?;
            if bytes == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.activity.count_written(bytes);
            task::add_bytes(bytes);
            self.interim.advance(bytes);
        }
        Poll::Ready(Ok(()))
    }

    /// Sets what the socket takes in advance, if that has changed.
    fn set_bytes_ahead(&mut self) {
        self.usual_bytes_ahead =
            match (self.activity.wants_few_bytes_ahead(), self.usual_bytes_ahead) {
                (true, None) => self.stream.replace_bytes_ahead(BytesAhead::FEW),
                (false, Some(usual)) => {
                    self.stream.replace_bytes_ahead(usual);
                    None
                }
                (_, unchanged) => unchanged,
            };
    }

    /// Applies the deadline to the result of a write, and counts a client that does not read.
    fn check_write<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = self.deadline.check(context, written);
        self.note_timeout(&written);
        written
    }

    /// Counts and reports a client that reads nothing. Over TLS it is the kernel that notices, also
    /// during a read.
    fn note_timeout<T>(&mut self, result: &Poll<io::Result<T>>) {
        let Poll::Ready(Err(error)) = result else { return };
        if error.kind() != io::ErrorKind::TimedOut || std::mem::replace(&mut self.is_unread, true) {
            return;
        }
        self.activity.count_end(ConnectionEnd::Unread);
        let timeout_s = self.deadline.timeout.as_secs_f64();
        tracing::warn!(peer = %self.peer, timeout_s, "a client is cut off: it does not read");
    }
}

/// Whether a write may be an answer of hyper's to a head that it could not read. A quick check: most
/// writes are not.
fn may_be_refusal(slices: &[IoSlice<'_>]) -> bool {
    slices
        .iter()
        .find(|slice| !slice.is_empty())
        .is_some_and(|slice| slice.starts_with(b"HTTP/1.1 4"))
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = this.heads.poll_read(context, &mut this.stream, &this.activity, buffer);
        let received = buffer.filled().len() - before;
        // The body of a request that was answered early may come after the answer.
        let is_of_head = received > 0 && !this.heads.is_in_body();
        if is_of_head && !std::mem::replace(&mut this.is_unanswered, true) && is_any_armed() {
            this.activity.note_head();
        }
        task::add_bytes(received);
        if let SocketStream::Tls(_) = this.stream {
            this.note_timeout(&read);
        }
        read
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.is_unanswered = false;
        this.set_bytes_ahead();
        ready!(this.poll_interim(context))?;
        this.begin_refusal(&[IoSlice::new(bytes)]);
        if let Some(answer) = this.refusal.take() {
            let written = this.poll_refusal(context, answer);
            return this.check_write(context, written);
        }
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(bytes)) = written {
            this.activity.count_written(bytes);
            task::add_bytes(bytes);
        }
        this.check_write(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.is_unanswered = false;
        this.set_bytes_ahead();
        ready!(this.poll_interim(context))?;
        this.begin_refusal(slices);
        if let Some(answer) = this.refusal.take() {
            let written = this.poll_refusal(context, answer);
            return this.check_write(context, written);
        }
        let written = match this.files.write_start(slices) {
            WriteStart::Bytes { is_before_file: false, .. } => {
                Pin::new(&mut this.stream).poll_write_vectored(context, slices)
            }
            WriteStart::Bytes { slices: count, is_before_file: true } => {
                this.stream.poll_write_more(context, &slices[..count])
            }
            WriteStart::File(span) => this.stream.poll_send_file(context, &span).map_ok(|sent| {
                this.files.advance(sent);
                sent
            }),
        };
        if let Poll::Ready(Ok(bytes)) = written {
            this.activity.count_written(bytes);
            task::add_bytes(bytes);
        }
        this.check_write(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes after it has polled the handler, even if there is nothing to write.
        self.watch.check(&self.stream, context);
        let this = self.get_mut();
        // hyper flushes only if its own buffer is empty.
        if this.interim.is_empty() {
            this.interim = this.activity.interim.take(context);
        }
        ready!(this.poll_interim(context))?;
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            this.activity.note_all_written();
            if this.heads.take_unblocked(&this.activity) {
                context.waker().wake_by_ref();
            }
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.linger.poll(context, &mut this.stream, &this.activity)
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        if self.activity.is_aborted() {
            self.stream.reset_on_close();
        }
        let Some(response) = self.final_response.0.get().filter(|_| self.is_unanswered) else {
            return;
        };
        self.note_refusal(HeadProblem::Late);
        // If the send buffer has no room for a few bytes, the connection just closes.
        let mut context = Context::from_waker(Waker::noop());
        let stream = &mut self.stream;
        let _sent = Pin::new(&mut *stream).poll_write(&mut context, response.as_bytes());
        let _flushed = Pin::new(&mut *stream).poll_flush(&mut context);
    }
}
