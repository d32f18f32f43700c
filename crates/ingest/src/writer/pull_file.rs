//! Files whose blocks the parsers read side by side.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::SourceWriter;
use super::pull::next_block;
use crate::error::{ReadError, StopReason, StreamError};
use crate::file_reads::FileReads;
use crate::queue::{Job, PullSource};

/// The bytes before the end of a block that are searched for the end of its last line. If it is
/// not there, the block is read in its turn.
const WINDOW_BYTES: usize = 16 << 10;

/// A file, and the writer of its source.
struct PulledFile {
    /// `None` after the end was reported.
    writer: Option<SourceWriter>,
    reads: Arc<FileReads>,
    window: Vec<u8>,
    end: Sender<(SourceWriter, Result<(), ReadError>)>,
}

impl SourceWriter {
    /// [`Self::pull`] for a file. In its turn, a parser only looks where its block ends, as soon as
    /// nothing else depends on the bytes in their order.
    ///
    /// # Errors
    /// If the pipeline was cancelled.
    pub(crate) fn pull_file(
        self,
        file: FileReads,
    ) -> Result<(Self, Result<(), ReadError>), StopReason> {
        let (sender, end) = channel();
        let queue = self.submitter.queue.clone();
        queue.add_pull_source(Box::new(PulledFile {
            writer: Some(self),
            reads: Arc::new(file),
            window: vec![0; WINDOW_BYTES],
            end: sender,
        }))?;
        end.recv().map_err(|_| StopReason::Cancelled)
    }
}

impl PullSource for PulledFile {
    fn pull(&mut self, mut buffer: Option<Vec<u8>>) -> Vec<Job> {
        if self.reads.has_failed() {
            self.report_end(Ok(()));
            return Vec::new();
        }
        let result = match self.next_unread(&mut buffer) {
            Ok(Some(job)) => return vec![job],
            Ok(None) => self.next_in_order(buffer),
            Err(stopped) => Err(ReadError::Stopped(stopped)),
        };
        match result {
            Ok(jobs) if !jobs.is_empty() => return jobs,
            result => self.report_end(result.map(|_| ())),
        }
        Vec::new()
    }
}

impl PulledFile {
    /// Cuts the next block without its bytes. Returns none if it has to be read in its turn.
    fn next_unread(&mut self, buffer: &mut Option<Vec<u8>>) -> Result<Option<Job>, StopReason> {
        let Some(writer) = &mut self.writer else { return Ok(None) };
        let Some(start) = writer.unread_start() else { return Ok(None) };
        let bytes_max = writer.assembler.cutter.block_bytes();
        let length = self.reads.whole_lines(start, bytes_max, &mut self.window);
        let Some(length) = length else { return Ok(None) };
        let mut job = writer.cut_unread(length, buffer.take())?;
        job.unread = Some(self.reads.unread(start));
        Ok(Some(job))
    }

    /// Reads the next block. Returns no job at the end.
    fn next_in_order(&mut self, buffer: Option<Vec<u8>>) -> Result<Vec<Job>, ReadError> {
        let Some(writer) = &mut self.writer else { return Ok(Vec::new()) };
        if let Some(buffer) = buffer {
            writer.assembler.cutter.move_to(buffer);
        }
        let mut reader = self.reads.reader(writer.offset());
        next_block(writer, &mut reader)
    }

    /// Reports the end when all blocks are read, or the first error in one of them.
    fn report_end(&mut self, result: Result<(), ReadError>) {
        let Some(writer) = self.writer.take() else { return };
        self.reads.leave_at(writer.offset());
        let end = self.end.clone();
        self.reads.when_read(move |error| {
            let result = result.and_then(|()| match error {
                Some((error, at)) => Err(ReadError::Stream(StreamError::of_read(&error, at))),
                None => Ok(()),
            });
            // The receiver is dropped if its thread has stopped waiting.
            let _ = end.send((writer, result));
        });
    }
}
