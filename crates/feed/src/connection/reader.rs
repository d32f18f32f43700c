//! The reader of a connection: from socket to chunks.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use weir_observe::capture::{Capturable, StepDetail};
use weir_observe::mark;

use weir_observe::task;

use super::context::ConnectionContext;
use super::end::ConnectionEnd;
use super::idle::IdleClock;
use super::socket::Socket;
use crate::memory::Chunk;
use crate::sink::Sink;

/// The source of a reader's buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChunkSource {
    /// The listener's pool. The reader waits while it is empty.
    Pool,
    /// The listener's pool, or the allocator if the pool is empty.
    Unbounded,
}

/// Reads a socket into chunks.
pub(crate) struct SocketReader<S> {
    pub(crate) context: Arc<ConnectionContext<S>>,
    pub(crate) socket: Socket,
    idle: Arc<IdleClock>,
    capture: Arc<Capturable>,
    /// When the last read began and ended.
    last_read: Range<Instant>,
    /// Bytes of all reads so far.
    pub(crate) received_bytes: u64,
}

impl<S: Sink> SocketReader<S> {
    pub(crate) fn new(
        context: Arc<ConnectionContext<S>>,
        socket: Socket,
        idle: Arc<IdleClock>,
        capture: Arc<Capturable>,
    ) -> Self {
        let now = Instant::now();
        Self { context, socket, idle, capture, last_read: now..now, received_bytes: 0 }
    }

    /// Waits for the next bytes and returns them. Holds no buffer while it waits.
    pub(crate) async fn read(&mut self, source: ChunkSource) -> Result<Chunk, ConnectionEnd> {
        let pool = self.context.memory.chunks.clone();
        loop {
            let mut chunk = match source {
                ChunkSource::Pool => pool.take().await,
                ChunkSource::Unbounded => pool.take_unbounded(),
            };
            match mark!("SocketReader::try_read").poll_with(self.try_read(&mut chunk)).await {
                Some(Ok(())) if chunk.filled > 0 || chunk.datagrams > 0 => {
                    self.count(&chunk);
                    return Ok(chunk);
                }
                Some(Ok(())) => return Err(ConnectionEnd::Closed),
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Some(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(ConnectionEnd::NoCloseNotify);
                }
                Some(Err(error)) => return Err(ConnectionEnd::ReadFailed(error)),
                None => {
                    drop(chunk);
                    mark!("SocketReader::wait").poll_with(self.wait_captured()).await?;
                }
            }
        }
    }

    /// Reads once. Returns `None` if nothing is ready; the socket then wakes this task later.
    async fn try_read(&mut self, chunk: &mut Chunk) -> Option<io::Result<()>> {
        let start = Instant::now();
        let read = poll_fn(|context| {
            Poll::Ready(match self.socket.poll_fill(context, chunk) {
                Poll::Ready(result) => Some(result),
                Poll::Pending => None,
            })
        })
        .await;
        let end = Instant::now();
        self.last_read = start..end;
        self.context.counters.receiving_ns.add_time(end - start);
        read
    }

    /// Waits like [`Self::wait`], and adds the wait to the capture if one is pending.
    async fn wait_captured(&mut self) -> Result<(), ConnectionEnd> {
        let started_at = self.capture.begin();
        let woken = self.wait().await;
        if let Some((capture, started_at)) = started_at {
            capture.step("wait for the sender", started_at..Instant::now(), "");
        }
        woken
    }

    /// Waits until the socket, which had nothing to read, wakes this task. Fails if the
    /// connection has been idle for too long.
    async fn wait(&mut self) -> Result<(), ConnectionEnd> {
        let mut was_polled = false;
        let woken = poll_fn(|_| {
            if std::mem::replace(&mut was_polled, true) { Poll::Ready(()) } else { Poll::Pending }
        });
        if self.socket.is_datagram() {
            woken.await;
            return Ok(());
        }
        let time_left = self.idle.time_left(self.context.options.idle);
        if time_left.is_zero() {
            return Err(ConnectionEnd::IdleTimeout);
        }
        // A timeout is not an error yet: the caller reads once more and then calls this again,
        // and the time left is zero.
        let _ = tokio::time::timeout(time_left, woken).await;
        Ok(())
    }

    fn count(&mut self, chunk: &Chunk) {
        self.received_bytes += chunk.filled as u64;
        let counters = &self.context.counters;
        counters.reads.add(1);
        counters.bytes.add(chunk.filled as u64);
        task::add_bytes(chunk.filled);
        counters.datagrams.add(chunk.datagrams);
        counters.datagrams_cut.add(chunk.datagrams_cut);
        if let Some(capture) = self.capture.open() {
            let text = match chunk.datagrams {
                0 => String::new(),
                datagrams => format!("{datagrams} datagrams"),
            };
            let detail = StepDetail { bytes: Some(chunk.filled as u64), text };
            capture.step("read", self.last_read.clone(), detail);
        }
    }
}
