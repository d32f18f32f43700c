//! One connection, read in one of four ways.

use std::future::{Future, poll_fn};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use weir_ingest::StopReason;

use crate::feed::Listener;
use crate::framing::{FrameError, Framer};
use crate::medium::Medium;
use crate::options::{Active, Framing};
use crate::partials::Partial;
use crate::pool::Chunk;
use crate::sink::Sink;

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The sender has closed it.
    Closed,
    /// No line was completed for too long.
    TimedOut,
    /// Its frames cannot be read.
    Frame(FrameError),
    /// All lines that have begun take too much memory, and this one has the last straw.
    LinesBegun,
    /// Reading is unlimited, and the cap is reached.
    Cap,
    /// Reading failed.
    Failed(io::Error),
    /// The sink takes no more.
    Stopped(StopReason),
}

/// Reads a connection to its end. What was read of it stands, however it ends.
pub(crate) async fn run<S: Sink>(listener: Arc<Listener<S>>, medium: Medium) -> End {
    let progress = Arc::new(Progress::new());
    let mut reader = Reader { listener: listener.clone(), medium, progress: progress.clone() };
    let worker = Worker::new(listener.clone(), progress, reader.medium.is_datagram());
    match listener.active {
        Active::Passive => passive(&mut reader, worker).await,
        Active::Once => ahead(&mut reader, worker, 1).await,
        Active::Times(reads) => ahead(&mut reader, worker, reads.get()).await,
        Active::Unlimited => unlimited(&mut reader, worker).await,
    }
}

/// Reads when what was read before is done with.
async fn passive<S: Sink>(reader: &mut Reader<S>, mut worker: Worker<S>) -> End {
    loop {
        let read = match reader.read(Buffers::Pool).await {
            Ok(chunk) => worker.work(chunk).await,
            Err(end) => Err(end),
        };
        if let Err(end) = read {
            return worker.finish(end).await;
        }
    }
}

/// What was read, on its way to the work.
struct Mail {
    chunk: Chunk,
    /// Dropped when the work is done, which arms the next read.
    armed: Option<OwnedSemaphorePermit>,
}

/// Keeps up to so many reads armed.
async fn ahead<S: Sink>(reader: &mut Reader<S>, worker: Worker<S>, reads: usize) -> End {
    let armed = Arc::new(Semaphore::new(reads.min(Semaphore::MAX_PERMITS)));
    let (sender, mailbox) = mpsc::unbounded_channel();
    let work = tokio::spawn(worker.work_off(mailbox));
    let reading = async {
        loop {
            // The semaphore is never closed.
            let armed = armed.clone().acquire_owned().await.ok();
            match reader.read(Buffers::Pool).await {
                Ok(chunk) => {
                    if sender.send(Mail { chunk, armed }).is_err() {
                        return End::Closed;
                    }
                }
                Err(end) => return end,
            }
        }
    };
    let end = tokio::select! {
        end = reading => end,
        () = sender.closed() => End::Closed,
    };
    drop(sender);
    worked_off(work, end).await
}

/// Reads whatever comes, as long as what waits is below the cap.
async fn unlimited<S: Sink>(reader: &mut Reader<S>, worker: Worker<S>) -> End {
    let (sender, mailbox) = mpsc::unbounded_channel();
    let work = tokio::spawn(worker.work_off(mailbox));
    let is_datagram = reader.medium.is_datagram();
    let listener = reader.listener.clone();
    let reading = async {
        loop {
            let mut chunk = match reader.read(Buffers::Unbounded).await {
                Ok(chunk) => chunk,
                Err(end) => return end,
            };
            chunk.shrink();
            let waiting = &listener.waiting_bytes;
            let bytes = chunk.memory_bytes();
            if waiting.fetch_add(bytes, Ordering::Relaxed) + bytes > listener.cap_bytes {
                waiting.fetch_sub(bytes, Ordering::Relaxed);
                if !is_datagram {
                    return End::Cap;
                }
                listener.counters.datagrams_dropped.add(chunk.datagrams);
                // What works may be on this very thread.
                tokio::task::yield_now().await;
                continue;
            }
            if sender.send(Mail { chunk, armed: None }).is_err() {
                return End::Closed;
            }
        }
    };
    let end = tokio::select! {
        end = reading => end,
        () = sender.closed() => End::Closed,
    };
    drop(sender);
    worked_off(work, end).await
}

/// Waits until what was read is worked off; the work's own reason to end goes before.
async fn worked_off(work: tokio::task::JoinHandle<(Result<(), End>, impl Last)>, end: End) -> End {
    match work.await {
        Ok((Ok(()), last)) => last.finish(end).await,
        Ok((Err(own), last)) => last.finish(own).await,
        Err(_) => End::Stopped(StopReason::Cancelled),
    }
}

/// What is to be done when a connection has ended.
trait Last: Send {
    /// Hands on the line that had begun, and gives the reason.
    fn finish(self, end: End) -> impl Future<Output = End> + Send;
}

/// How far a connection is, for the reader to know whether it is idle.
#[derive(Debug)]
struct Progress {
    start: Instant,
    /// When a line was completed last, or the work was done, in milliseconds from the start.
    last_line_ms: AtomicU64,
    /// Lines wait for room: it is not the sender that is slow.
    is_held_back: AtomicBool,
}

impl Progress {
    fn new() -> Self {
        let (last_line_ms, is_held_back) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { start: Instant::now(), last_line_ms, is_held_back }
    }

    /// Lines are being handed on.
    fn hold_back(&self) {
        self.is_held_back.store(true, Ordering::Relaxed);
    }

    /// They are.
    fn line_completed(&self) {
        self.last_line_ms.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.is_held_back.store(false, Ordering::Release);
    }

    /// How much longer it may go without a line; zero where it has been too long.
    fn patience(&self, idle: Duration) -> Duration {
        if self.is_held_back.load(Ordering::Acquire) {
            return idle;
        }
        let last_line = Duration::from_millis(self.last_line_ms.load(Ordering::Relaxed));
        (last_line + idle).saturating_sub(self.start.elapsed())
    }
}

/// Where buffers come from.
#[derive(Debug, Clone, Copy)]
enum Buffers {
    Pool,
    Unbounded,
}

/// The side of the socket.
struct Reader<S> {
    listener: Arc<Listener<S>>,
    medium: Medium,
    progress: Arc<Progress>,
}

impl<S: Sink> Reader<S> {
    /// The next bytes. While nothing comes it holds no buffer.
    async fn read(&mut self, buffers: Buffers) -> Result<Chunk, End> {
        loop {
            let mut chunk = match buffers {
                Buffers::Pool => self.listener.pool.take().await,
                Buffers::Unbounded => self.listener.pool.take_unbounded(),
            };
            match self.try_read(&mut chunk).await {
                Some(Ok(())) if chunk.filled > 0 || chunk.datagrams > 0 => {
                    self.count(&chunk);
                    return Ok(chunk);
                }
                Some(Ok(())) => return Err(End::Closed),
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Some(Err(error)) => return Err(End::Failed(error)),
                None => {
                    drop(chunk);
                    self.wait().await?;
                }
            }
        }
    }

    /// One read; `None` where nothing is there. The task is then woken when there is.
    async fn try_read(&mut self, chunk: &mut Chunk) -> Option<io::Result<()>> {
        let start = Instant::now();
        let read = poll_fn(|context| {
            Poll::Ready(match self.medium.poll_fill(context, chunk) {
                Poll::Ready(result) => Some(result),
                Poll::Pending => None,
            })
        })
        .await;
        self.listener.counters.receiving_ns.add_time(start.elapsed());
        read
    }

    /// Waits to be woken by the socket that was just read in vain.
    async fn wait(&mut self) -> Result<(), End> {
        let mut was_polled = false;
        let woken = poll_fn(|_| match std::mem::replace(&mut was_polled, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        if self.medium.is_datagram() {
            woken.await;
            return Ok(());
        }
        let patience = self.progress.patience(self.listener.idle);
        if patience.is_zero() {
            return Err(End::TimedOut);
        }
        // The timer wakes the task as the socket does. It is read once more, and then it is here
        // again.
        let _ = tokio::time::timeout(patience, woken).await;
        Ok(())
    }

    fn count(&self, chunk: &Chunk) {
        let counters = &self.listener.counters;
        counters.reads.add(1);
        counters.bytes.add(chunk.filled as u64);
        counters.datagrams.add(chunk.datagrams);
        counters.datagrams_cut.add(chunk.datagrams_cut);
    }
}

/// The side of the work: tells lines and hands them on.
struct Worker<S> {
    listener: Arc<Listener<S>>,
    progress: Arc<Progress>,
    framer: Framer,
    partial: Partial,
}

impl<S: Sink> Worker<S> {
    fn new(listener: Arc<Listener<S>>, progress: Arc<Progress>, is_datagram: bool) -> Self {
        let framing = if is_datagram { Framing::Newline } else { listener.framing };
        let framer = Framer::new(framing, listener.line_bytes_max);
        let partial = listener.partials.partial();
        Self { listener, progress, framer, partial }
    }

    /// Hands on the lines of a chunk.
    async fn work(&mut self, chunk: Chunk) -> Result<(), End> {
        let start = Instant::now();
        let (lines, error) = self.framer.take(chunk.bytes());
        if !lines.is_empty() {
            self.progress.hold_back();
            let written = self.listener.sink.write([lines.first, lines.rest]).await;
            self.progress.line_completed();
            written.map_err(End::Stopped)?;
        }
        self.framer.release();
        self.listener.counters.working_ns.add_time(start.elapsed());
        if let Some(error) = error {
            return Err(End::Frame(error));
        }
        match self.partial.hold(self.framer.held_bytes()) {
            true => Ok(()),
            false => Err(End::LinesBegun),
        }
    }

    /// Works off what is read ahead.
    async fn work_off(
        mut self,
        mut mailbox: mpsc::UnboundedReceiver<Mail>,
    ) -> (Result<(), End>, Self) {
        while let Some(Mail { chunk, armed }) = mailbox.recv().await {
            let is_capped = armed.is_none();
            let bytes = chunk.memory_bytes();
            let result = self.work(chunk).await;
            if is_capped {
                self.listener.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            }
            if result.is_err() {
                self.give_up(mailbox, is_capped);
                return (result, self);
            }
        }
        (Ok(()), self)
    }

    /// Drops what comes behind an error.
    fn give_up(&self, mut mailbox: mpsc::UnboundedReceiver<Mail>, is_capped: bool) {
        mailbox.close();
        while let Ok(mail) = mailbox.try_recv() {
            if is_capped {
                let bytes = mail.chunk.memory_bytes();
                self.listener.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            }
        }
    }
}

impl<S: Sink> Last for Worker<S> {
    async fn finish(mut self, end: End) -> End {
        if matches!(end, End::Stopped(_) | End::Frame(_)) {
            return end;
        }
        let last = self.framer.finish();
        if last.is_empty() {
            return end;
        }
        match self.listener.sink.write([last, &[]]).await {
            Ok(()) => end,
            Err(stopped) => End::Stopped(stopped),
        }
    }
}
