//! The worker of a connection: from chunks to lines in the sink.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use weir_ingest::{LineJoiner, StopReason};
use weir_observe::capture::{Capturable, OpenCapture, StepDetail};
use weir_observe::mark;

use super::context::ConnectionContext;
use super::end::ConnectionEnd;
use super::idle::IdleClock;
use super::queue::QueuedChunk;
use crate::framing::{Framer, Framing};
use crate::memory::{Chunk, LineMemoryShare};
use crate::sink::Sink;

/// Splits chunks into lines and writes them to the sink.
pub(crate) struct Worker<S> {
    context: Arc<ConnectionContext<S>>,
    idle: Arc<IdleClock>,
    capture: Arc<Capturable>,
    framer: Framer,
    /// Joins the lines that a container runtime has split. `None` for datagrams: they come from
    /// many senders, whose parts cannot be told apart.
    joiner: Option<LineJoiner>,
    line_memory: LineMemoryShare,
}

impl<S: Sink> Worker<S> {
    pub(crate) fn new(
        context: Arc<ConnectionContext<S>>,
        idle: Arc<IdleClock>,
        capture: Arc<Capturable>,
        is_datagram: bool,
    ) -> Self {
        let options = &context.options;
        // The reader has already converted datagrams to lines.
        let framing = if is_datagram { Framing::Newline } else { options.framing };
        let framer = Framer::new(framing, options.line_bytes_max);
        let joiner = (!is_datagram).then(|| LineJoiner::new(options.line_bytes_max));
        let line_memory = context.memory.lines.share();
        Self { context, idle, capture, framer, joiner, line_memory }
    }

    /// Writes the lines that a chunk completes.
    pub(crate) async fn write(&mut self, chunk: Chunk) -> Result<(), ConnectionEnd> {
        let start = Instant::now();
        let (lines, error) = {
            let _call = mark!("Framer::push").enter();
            self.framer.push(chunk.bytes())
        };
        if !lines.is_empty() {
            self.idle.hold_back();
            let parts = [lines.first, lines.rest];
            let parts = self.joiner.as_mut().map_or(parts, |joiner| joiner.join(parts));
            let started_at = self.capture.begin();
            let writing = write_some(&self.context.sink, parts);
            let written = mark!("Sink::write").poll_with(writing).await;
            self.idle.complete_line();
            if let Some((capture, started_at)) = started_at {
                note_lines(&capture, started_at, parts);
            }
            written.map_err(ConnectionEnd::SinkStopped)?;
        }
        self.framer.release();
        if let Some(joiner) = &mut self.joiner {
            joiner.release();
        }
        self.context.counters.working_ns.add_time(start.elapsed());
        if let Some(error) = error {
            return Err(ConnectionEnd::MalformedFrame(error));
        }
        let split_bytes = self.joiner.as_ref().map_or(0, LineJoiner::memory_bytes);
        if self.line_memory.resize(self.framer.partial_bytes() + split_bytes) {
            Ok(())
        } else {
            Err(ConnectionEnd::LineMemoryFull)
        }
    }

    /// Writes the lines of all queued chunks. Returns the worker, which is to be finished.
    pub(crate) async fn write_queued(
        mut self,
        mut queue: mpsc::UnboundedReceiver<QueuedChunk>,
    ) -> (Result<(), ConnectionEnd>, Self) {
        while let Some(QueuedChunk { chunk, permit }) = queue.recv().await {
            let is_capped = permit.is_none();
            let bytes = chunk.memory_bytes();
            let result = self.write(chunk).await;
            if is_capped {
                self.context.memory.release_ahead(bytes);
            }
            drop(permit);
            if result.is_err() {
                self.discard(queue, is_capped);
                return (result, self);
            }
        }
        (Ok(()), self)
    }

    /// Drops the chunks that are queued after an error.
    fn discard(&self, mut queue: mpsc::UnboundedReceiver<QueuedChunk>, is_capped: bool) {
        queue.close();
        while let Ok(queued) = queue.try_recv() {
            if is_capped {
                self.context.memory.release_ahead(queued.chunk.memory_bytes());
            }
        }
    }

    /// Writes the partial line and the parts of split lines, if the sender has closed the
    /// connection. After any other end they are only counted as torn, because half a line may parse
    /// as a record that was never written. Returns the final reason of the end.
    pub(crate) async fn finish(mut self, end: ConnectionEnd) -> ConnectionEnd {
        if !matches!(end, ConnectionEnd::Closed) {
            let lines_split = self.joiner.as_ref().map_or(0, LineJoiner::open_lines);
            let lines_torn = u64::from(self.framer.has_partial()) + lines_split;
            self.context.counters.lines_torn.add(lines_torn);
            return end;
        }
        match self.write_rest().await {
            Ok(()) => end,
            Err(stopped) => ConnectionEnd::SinkStopped(stopped),
        }
    }

    async fn write_rest(&mut self) -> Result<(), StopReason> {
        let sink = &self.context.sink;
        let parts = [self.framer.finish(), &[]];
        let Some(joiner) = &mut self.joiner else { return write_some(sink, parts).await };
        if !parts[0].is_empty() {
            write_some(sink, joiner.join(parts)).await?;
        }
        write_some(sink, [joiner.finish(), &[]]).await
    }
}

/// Adds the write of lines to a capture.
#[cold]
fn note_lines(capture: &OpenCapture, started_at: Instant, parts: [&[u8]; 2]) {
    let lines = parts.into_iter().flatten().filter(|byte| **byte == b'\n').count();
    let bytes = parts.iter().map(|part| part.len() as u64).sum();
    let text = format!("{lines} lines, with the wait for room");
    capture.step("submit", started_at..Instant::now(), StepDetail { bytes: Some(bytes), text });
}

/// Writes lines, if there are any.
async fn write_some(sink: &impl Sink, parts: [&[u8]; 2]) -> Result<(), StopReason> {
    match parts.iter().all(|part| part.is_empty()) {
        true => Ok(()),
        false => sink.write(parts).await,
    }
}
