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
        let Some(mut writer) = self.writer.take() else { return };
        let end = self.end.clone();
        self.reads.when_read(writer.offset(), move |error| {
            let result = match (result, error) {
                (Err(ReadError::Stopped(reason)), _) => Err(ReadError::Stopped(reason)),
                // It is before any error in the order of the source.
                (_, Some((error, at))) => {
                    writer.assembler.cutter.forget_tail();
                    Err(ReadError::Stream(StreamError::of_read(&error, at)))
                }
                (result, None) => result,
            };
            // The receiver is dropped if its thread has stopped waiting.
            let _ = end.send((writer, result));
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};

    use weir_core::{BlockLimits, Format, FormatChoice};

    use super::{PulledFile, ReadError, WINDOW_BYTES};
    use crate::file_reads::FileReads;
    use crate::first_length::FirstLength;
    use crate::queue::{Job, PullSource};
    use crate::writer::{Intake, SourceOptions, SourceWriter};
    use crate::{Records, StopReason};

    const LIMITS: BlockLimits = BlockLimits { block_bytes: 1_000, line_bytes_max: 500 };

    struct Pulled {
        path: PathBuf,
        file: File,
        source: PulledFile,
        end: Receiver<(SourceWriter, Result<(), ReadError>)>,
        records: Records,
    }

    impl Pulled {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let name = format!("weir-pull-file-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let mut file =
                File::options().read(true).write(true).create(true).truncate(true).open(&path);
            let file = file.as_mut().expect("a writable folder");
            file.write_all(bytes).expect("there is room");
            let format = Format::parse("COMBINED").expect("a known format");
            let records = Records::with_limits(1, LIMITS);
            let options = SourceOptions::new("a", FormatChoice::Forced(Arc::new(format)));
            let (sender, end) = channel();
            let opened = File::open(&path).expect("the file");
            let length = FirstLength::of(&opened).expect("its length");
            let source = PulledFile {
                writer: Some(records.open(options)),
                reads: Arc::new(FileReads::new(opened, length).expect("a position")),
                window: vec![0; WINDOW_BYTES],
                end: sender,
            };
            Self { path, file: file.try_clone().expect("a file"), source, end, records }
        }

        /// The next block without its bytes.
        fn unread(&mut self) -> Job {
            let mut jobs = self.source.pull(None);
            let job = jobs.pop().expect("a block");
            assert!(jobs.is_empty() && job.unread.is_some());
            job
        }

        fn error(&self) -> String {
            let (writer, result) = self.end.try_recv().expect("all blocks are read");
            assert_eq!(writer.assembler.cutter.pending_bytes(), 0);
            result.expect_err("it fails").to_string()
        }
    }

    impl Drop for Pulled {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    fn lines(count: usize) -> Vec<u8> {
        (0..count).flat_map(|number| format!("line {number:04}\n").into_bytes()).collect()
    }

    #[test]
    fn blocks_are_handed_on_unread_and_the_end_waits_for_them() {
        let bytes = lines(450);
        let mut pulled = Pulled::new("unread", &bytes);
        let mut jobs: Vec<Job> = (0..4).map(|_| pulled.unread()).collect();
        // The rest of the file is less than a block, and stays with the writer.
        assert!(pulled.source.pull(None).is_empty());
        jobs.reverse();
        for job in &mut jobs {
            assert!(pulled.end.try_recv().is_err(), "a block is unread");
            assert!(job.read() && !job.read());
        }
        let (mut writer, result) = pulled.end.try_recv().expect("all are read");
        assert!(result.is_ok());
        let rest = writer.assembler.finish().expect("a block");
        let blocks = jobs.iter().rev().map(|job| &job.block).chain([&rest]);
        let read: Vec<u8> = blocks.flat_map(|block| block.bytes()).copied().collect();
        assert!(read == bytes);
    }

    #[test]
    fn the_first_error_in_the_order_of_the_file_counts() {
        let mut pulled = Pulled::new("errors", &lines(450));
        let [mut first, mut second, mut third] = [(); 3].map(|()| pulled.unread());
        pulled.file.set_len(1_505).expect("it is truncated");
        assert!(third.read() && first.read() && second.read());
        assert!(first.block.bytes().len() == 1_000 && third.block.bytes().is_empty());
        assert_eq!(second.block.bytes().len(), 500, "whole lines are kept");
        assert!(pulled.source.pull(None).is_empty());
        let expected = "reading failed at byte 1505: the file had 4500 bytes and was truncated while \
                        it was read";
        assert_eq!(pulled.error(), expected);
        // A consumer gets nothing after the gap.
        let counts = crate::progress::BlockCounts::default();
        let progress = first.source.clone();
        for (job, has_gap) in [(&first, false), (&second, true), (&third, true)] {
            progress.count(&counts, job.block.offset_end);
            assert_eq!(progress.has_gap(), has_gap);
        }
        assert_eq!(pulled.records.sources()[0].read_counts().bytes_read, 1_500);
    }

    #[test]
    fn a_file_that_is_written_again_is_noticed_at_the_ends_of_a_block() {
        for place in [999, 1_999] {
            let mut pulled = Pulled::new(&format!("again-{place}"), &lines(450));
            let [_first, mut second] = [(); 2].map(|()| pulled.unread());
            let mut other = lines(450);
            other[place] = b'x';
            let mut file = File::options().write(true).open(&pulled.path).expect("the file");
            file.write_all(&other).expect("there is room");
            assert!(second.read());
            drop(_first);
            assert!(pulled.source.pull(None).is_empty());
            let error = pulled.error();
            assert!(error.ends_with("the file was written again while it was read"), "{error}");
        }
    }

    #[test]
    fn blocks_that_are_dropped_unread_end_the_wait_too() {
        let mut pulled = Pulled::new("dropped", &lines(450));
        let jobs = [(); 3].map(|()| pulled.unread());
        jobs[0].source.cancel();
        assert!(pulled.source.pull(None).is_empty());
        assert!(pulled.end.try_recv().is_err());
        drop(jobs);
        let (_, result) = pulled.end.try_recv().expect("none is unread");
        assert!(matches!(result, Err(ReadError::Stopped(StopReason::Cancelled))));
    }
}
