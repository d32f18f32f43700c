//! The four ways of reading a connection, by [`ActiveMode`].

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use weir_ingest::StopReason;
use weir_observe::capture::Capturable;
use weir_observe::task::{TaskKind, TaskName};

use super::context::ConnectionContext;
use super::end::ConnectionEnd;
use super::idle::IdleClock;
use super::queue::QueuedChunk;
use super::reader::{ChunkSource, SocketReader};
use super::socket::Socket;
use super::worker::Worker;
use crate::options::ActiveMode;
use crate::sink::Sink;

/// The tasks that write the chunks which connections have read ahead.
static WRITER: TaskKind = TaskKind::new("feed writer");

/// Reads a connection to its end. `sender` describes the sender in a capture. The lines
/// read before an error are kept. Returns the reason of the end and the number of bytes received.
pub(crate) async fn run<S: Sink>(
    context: Arc<ConnectionContext<S>>,
    socket: Socket,
    sender: String,
) -> (ConnectionEnd, u64) {
    let idle = Arc::new(IdleClock::new());
    let capture = Arc::new(Capturable::new(&context.captures, sender));
    let is_datagram = socket.is_datagram();
    let worker = Worker::new(context.clone(), idle.clone(), capture.clone(), is_datagram);
    let mode = context.options.active;
    let mut reader = SocketReader::new(context, socket, idle, capture);
    let end = match mode {
        ActiveMode::Passive => read_passive(&mut reader, worker).await,
        ActiveMode::Once => read_ahead(&mut reader, worker, 1).await,
        ActiveMode::Count(reads) => read_ahead(&mut reader, worker, reads.get()).await,
        ActiveMode::Unlimited => read_unlimited(&mut reader, worker).await,
    };
    (end, reader.received_bytes)
}

/// Reads again after the sink has accepted the lines of the last read.
async fn read_passive<S: Sink>(
    reader: &mut SocketReader<S>,
    mut worker: Worker<S>,
) -> ConnectionEnd {
    loop {
        let written = match reader.read(ChunkSource::Pool).await {
            Ok(chunk) => worker.write(chunk).await,
            Err(end) => Err(end),
        };
        if let Err(end) = written {
            return worker.finish(end).await;
        }
    }
}

/// Keeps up to `reads` reads ahead of the sink.
async fn read_ahead<S: Sink>(
    reader: &mut SocketReader<S>,
    worker: Worker<S>,
    reads: usize,
) -> ConnectionEnd {
    let permits = Arc::new(Semaphore::new(reads.min(Semaphore::MAX_PERMITS)));
    let (sender, queue) = mpsc::unbounded_channel();
    let writing = tokio::spawn(WRITER.observe(TaskName::Unnamed, worker.write_queued(queue)));
    let reading = async {
        loop {
            // The semaphore is never closed.
            let permit = permits.clone().acquire_owned().await.ok();
            match reader.read(ChunkSource::Pool).await {
                Ok(chunk) => {
                    if sender.send(QueuedChunk { chunk, permit }).is_err() {
                        return ConnectionEnd::Closed;
                    }
                }
                Err(end) => return end,
            }
        }
    };
    let end = tokio::select! {
        end = reading => end,
        () = sender.closed() => ConnectionEnd::Closed,
    };
    drop(sender);
    join(writing, end).await
}

/// Reads everything as it arrives, while the waiting chunks are below the cap.
async fn read_unlimited<S: Sink>(reader: &mut SocketReader<S>, worker: Worker<S>) -> ConnectionEnd {
    let (sender, queue) = mpsc::unbounded_channel();
    let writing = tokio::spawn(WRITER.observe(TaskName::Unnamed, worker.write_queued(queue)));
    let is_datagram = reader.socket.is_datagram();
    let context = reader.context.clone();
    let reading = async {
        loop {
            let mut chunk = match reader.read(ChunkSource::Unbounded).await {
                Ok(chunk) => chunk,
                Err(end) => return end,
            };
            chunk.shrink();
            if !context.memory.reserve_ahead(chunk.memory_bytes(), context.options.cap_bytes) {
                if !is_datagram {
                    return ConnectionEnd::CapReached;
                }
                context.counters.datagrams_dropped.add(chunk.datagrams);
                // The worker may be waiting for this thread.
                tokio::task::yield_now().await;
                continue;
            }
            if sender.send(QueuedChunk { chunk, permit: None }).is_err() {
                return ConnectionEnd::Closed;
            }
        }
    };
    let end = tokio::select! {
        end = reading => end,
        () = sender.closed() => ConnectionEnd::Closed,
    };
    drop(sender);
    join(writing, end).await
}

/// Waits until the worker has written all chunks. An error of the worker takes precedence over
/// `end`.
async fn join<S: Sink>(
    writing: JoinHandle<(Result<(), ConnectionEnd>, Worker<S>)>,
    end: ConnectionEnd,
) -> ConnectionEnd {
    match writing.await {
        Ok((Ok(()), worker)) => worker.finish(end).await,
        Ok((Err(error), worker)) => worker.finish(error).await,
        Err(_) => ConnectionEnd::SinkStopped(StopReason::Cancelled),
    }
}
