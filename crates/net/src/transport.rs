//! An open connection with its limits: a permit, and a deadline for writes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use weir_observe::glass::is_any_armed;
use weir_observe::task;

use crate::client::ClientWatch;
use crate::file_queue::{FileQueue, WriteStart};
use crate::idle::Activity;
use crate::socket::{ConnectionPermit, SocketStream};

/// One open connection of a [`Server`](crate::Server). It counts against
/// [`connections_max`](crate::ServeOptions::connections_max) until it is dropped, also after an
/// upgrade has taken it away from HTTP. A write fails with [`io::ErrorKind::TimedOut`] if the
/// client takes nothing for [`write_timeout`](crate::ServeOptions::write_timeout).
#[derive(Debug)]
pub struct Transport {
    stream: SocketStream,
    deadline: WriteDeadline,
    watch: ClientWatch,
    files: FileQueue,
    activity: Arc<Activity>,
    last_words: LastWords,
    /// Whether bytes were received after those that were sent last.
    is_unanswered: bool,
    _permit: ConnectionPermit,
}

/// The answer to a request whose head did not become complete. hyper has none: it drops the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastWords(Arc<OnceLock<&'static str>>);

impl LastWords {
    /// Sets what is sent when the transport is dropped, if the client has begun a request.
    pub(crate) fn set(&self, text: &'static str) {
        let _is_first = self.0.set(text);
    }
}

/// A deadline that passed this long ago unnoticed belongs to a write that was abandoned.
const ABANDONED_AFTER: Duration = Duration::from_secs(1);

/// How long a client may take none of the bytes that are written to it.
#[derive(Debug)]
struct WriteDeadline {
    timeout: Duration,
    /// The end of the wait; `None` while no write waits.
    end: Option<Pin<Box<Sleep>>>,
}

impl WriteDeadline {
    /// Returns the result of a write, or the error that the deadline has passed.
    fn check<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.end = None;
            return written;
        }
        // A live write is polled when its deadline passes. If none was, the deadline is of a
        // write whose future was dropped, and this write starts a new one.
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
        permit: ConnectionPermit,
        write_timeout: Duration,
        activity: Arc<Activity>,
    ) -> Self {
        let deadline = WriteDeadline { timeout: write_timeout, end: None };
        let (watch, files) = (ClientWatch::new(activity.clone()), FileQueue::default());
        Self {
            stream,
            deadline,
            watch,
            files,
            activity,
            last_words: LastWords::default(),
            is_unanswered: false,
            _permit: permit,
        }
    }

    /// What is sent when the transport is dropped.
    pub(crate) fn last_words(&self) -> LastWords {
        self.last_words.clone()
    }

    /// What tells handlers that the client has gone.
    pub(crate) fn watch(&self) -> ClientWatch {
        self.watch.clone()
    }

    /// The queue of files that the kernel copies into the socket; `None` if it cannot, because the
    /// bytes have to be encrypted.
    pub(crate) fn files(&self) -> Option<FileQueue> {
        self.stream.takes_files().then(|| self.files.clone())
    }

    /// The TCP socket underneath, to read or set its options; `None` for a Unix socket.
    pub fn tcp(&self) -> Option<&TcpStream> {
        self.stream.tcp()
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut SocketStream> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let received = buffer.filled().len() - before;
        if received > 0 && !std::mem::replace(&mut this.is_unanswered, true) && is_any_armed() {
            this.activity.note_head();
        }
        task::add_bytes(received);
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
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(bytes)) = written {
            this.activity.count_written(bytes);
            task::add_bytes(bytes);
        }
        this.deadline.check(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.is_unanswered = false;
        let written = match this.files.start_of(slices) {
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
        this.deadline.check(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes after it has polled the handler, also if there is nothing to write.
        self.watch.look(self.tcp(), context);
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            this.activity.all_written();
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        if self.activity.is_aborted() {
            self.stream.reset_on_close();
        }
        let Some(words) = self.last_words.0.get().filter(|_| self.is_unanswered) else { return };
        // A client that cannot take a few bytes at once sees the connection close.
        let mut context = Context::from_waker(Waker::noop());
        let stream = &mut self.stream;
        let _sent = Pin::new(&mut *stream).poll_write(&mut context, words.as_bytes());
        let _flushed = Pin::new(&mut *stream).poll_flush(&mut context);
    }
}
