//! Receives one file: detects whether it is packed, and writes it to the pipeline.

use std::sync::Arc;

use tokio::sync::watch;
use weir_ingest::{
    ReadError, ReadUpload, SourceEnd, SourceError, SourceProgress, SourceWriter, StopReason,
    StreamError, is_identified, is_packed,
};

use super::ack_offsets::AckOffsets;
use super::unpacker::{UnpackDestination, UnpackLimits, Unpacker};

/// Receives a file's bytes in order, in pieces of any size.
///
/// Offsets are the sender's: packed bytes if the file is packed. If the future of a method is
/// dropped before its end, the receiver is unusable and must be dropped too.
#[derive(Debug)]
pub(crate) struct FileReceiver {
    progress: Arc<SourceProgress>,
    destination: UnpackDestination,
    stage: Stage,
    ack_offsets: Arc<AckOffsets>,
    bytes_received: u64,
    /// The sources of the files in an archive, after its end.
    members: Vec<Arc<SourceProgress>>,
    /// Whether bytes arrived since the last [`Self::flush`].
    is_dirty: bool,
}

/// The destination of an uploaded file's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Parse,
    /// Its bytes are discarded, to measure only the transfer.
    Discard,
}

/// The size of the buffer for discarded bytes, the same as a block.
const DISCARD_SPACE_BYTES: usize = 1 << 20;

#[derive(Debug)]
enum Stage {
    /// The first bytes, too few to tell whether the file is packed.
    Start(Vec<u8>, SourceWriter),
    Plain(SourceWriter),
    /// Compressed, an archive, UTF-16, or lines of a container runtime.
    Packed(Unpacker),
    /// All bytes are discarded, and count as parsed.
    Discard {
        space: Vec<u8>,
        parsed: watch::Sender<u64>,
        writer: SourceWriter,
    },
    /// The source has ended, or is about to.
    Ended,
}

/// Why a file cannot be received further. The lines submitted before are kept.
#[derive(Debug)]
pub(crate) enum ReceiveError {
    /// The pipeline accepts no more data.
    Stopped(StopReason),
    /// The packed data is damaged or cut short. The source has ended: the lines before the damage
    /// are parsed.
    Damaged(StreamError),
    /// The file is packed in a way that is not read. The source has ended. The text is a clause.
    Refused(String),
}

impl From<StopReason> for ReceiveError {
    fn from(stopped: StopReason) -> Self {
        Self::Stopped(stopped)
    }
}

impl FileReceiver {
    /// Creates a receiver that writes to a source. The members of an archive become sources at
    /// `destination`.
    pub(crate) fn new(
        writer: SourceWriter,
        destination: UnpackDestination,
        purpose: Purpose,
    ) -> Self {
        let progress = writer.progress().clone();
        let (stage, parsed) = match purpose {
            Purpose::Parse => (Stage::Start(Vec::new(), writer), progress.parsed()),
            Purpose::Discard => {
                let (sender, parsed) = watch::channel(0);
                let space = vec![0; DISCARD_SPACE_BYTES];
                (Stage::Discard { space, parsed: sender, writer }, parsed)
            }
        };
        let ack_offsets = Arc::new(AckOffsets::new(parsed));
        let (bytes_received, members, is_dirty) = (0, Vec::new(), false);
        Self { progress, destination, stage, ack_offsets, bytes_received, members, is_dirty }
    }

    /// Returns the number of bytes received so far.
    pub(crate) fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// Returns the offsets that may be acknowledged.
    pub(crate) fn ack_offsets(&self) -> &Arc<AckOffsets> {
        &self.ack_offsets
    }

    pub(crate) fn progress(&self) -> &Arc<SourceProgress> {
        &self.progress
    }

    /// Returns the sources of the files in an archive, after its end.
    pub(crate) fn take_members(&mut self) -> Vec<Arc<SourceProgress>> {
        std::mem::take(&mut self.members)
    }

    /// Returns whether there may be lines that [`Self::flush`] would submit.
    pub(crate) fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Returns whether some bytes are being unpacked or parsed.
    pub(crate) fn is_parsing(&self) -> bool {
        match &self.stage {
            Stage::Packed(_) => self.ack_offsets.offset() < self.bytes_received,
            _ => *self.progress.parsed().borrow() < self.progress.submitted(),
        }
    }

    /// Returns whether the lines received so far should be flushed before they fill a block.
    pub(crate) fn may_flush_early(&self) -> bool {
        matches!(&self.stage, Stage::Plain(writer) if writer.may_flush_early())
    }

    /// Receives the next bytes; waits while the queue is full.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), ReceiveError> {
        self.bytes_received += bytes.len() as u64;
        self.is_dirty = true;
        match &mut self.stage {
            Stage::Start(first, _) => {
                first.extend_from_slice(bytes);
                if is_identified(first) { self.begin().await } else { Ok(()) }
            }
            Stage::Plain(writer) => Ok(writer.write_all_async(bytes).await?),
            Stage::Packed(unpacker) => {
                let has_ended = !unpacker.push(bytes).await;
                if self.progress.is_cancelled() {
                    return Err(StopReason::Cancelled.into());
                }
                if has_ended { self.finish(SourceEnd::Done).await } else { Ok(()) }
            }
            Stage::Discard { parsed, .. } => {
                parsed.send_replace(self.bytes_received);
                Ok(())
            }
            Stage::Ended => Ok(()),
        }
    }

    /// Returns space for the next bytes, never empty; [`Self::advance`] must follow. Returns `None`
    /// if the bytes have to be inspected first: at the start of a file, and in a packed file.
    pub(crate) fn space(&mut self) -> Option<&mut [u8]> {
        match &mut self.stage {
            Stage::Plain(writer) => Some(writer.space()),
            Stage::Discard { space, .. } => Some(space),
            Stage::Start(..) | Stage::Packed(_) | Stage::Ended => None,
        }
    }

    /// Receives the first `length` bytes of [`Self::space`]; waits while the queue is full.
    pub(crate) async fn advance(&mut self, length: usize) -> Result<(), ReceiveError> {
        self.bytes_received += length as u64;
        match &mut self.stage {
            Stage::Discard { parsed, .. } => _ = parsed.send_replace(self.bytes_received),
            Stage::Plain(writer) => {
                self.is_dirty = true;
                writer.advance(length);
                if writer.is_full() {
                    writer.flush_async().await?;
                }
            }
            Stage::Start(..) | Stage::Packed(_) | Stage::Ended => {}
        }
        Ok(())
    }

    /// Submits all whole lines to the parsers. Waits while the queue is full, unless the file is
    /// packed.
    pub(crate) async fn flush(&mut self) -> Result<(), ReceiveError> {
        self.is_dirty = false;
        match &mut self.stage {
            Stage::Plain(writer) => writer.flush_async().await?,
            Stage::Packed(unpacker) => self.is_dirty = !unpacker.submit_lines(),
            Stage::Start(..) | Stage::Discard { .. } | Stage::Ended => {}
        }
        Ok(())
    }

    /// Prepares for another connection after one was lost, and returns the offset from which the
    /// sender must resume. A partial line at the end of a plain file is dropped, and sent again; all
    /// lines before it are parsed. In a packed file its offset is unknown, so it is kept.
    pub(crate) async fn rewind(&mut self) -> Result<u64, ReceiveError> {
        match &mut self.stage {
            Stage::Start(first, _) => {
                first.clear();
                self.bytes_received = 0;
            }
            Stage::Plain(writer) => self.bytes_received = writer.rewind().await?,
            Stage::Packed(_) => self.flush().await?,
            Stage::Discard { .. } | Stage::Ended => {}
        }
        self.is_dirty = false;
        Ok(self.bytes_received)
    }

    /// Waits until all whole lines are parsed, before the file is given up.
    pub(crate) async fn settle(&mut self) -> Result<(), ReceiveError> {
        match &self.stage {
            Stage::Packed(unpacker) => unpacker.wait_until_parsed().await,
            _ => _ = self.rewind().await?,
        }
        Ok(())
    }

    /// Ends the file after its last byte: submits the rest, waits until it is parsed, and ends the
    /// source.
    pub(crate) async fn finish(&mut self, end: SourceEnd) -> Result<(), ReceiveError> {
        self.begin().await?;
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Plain(mut writer) | Stage::Discard { mut writer, .. } => {
                Ok(writer.finish_async(end).await?)
            }
            Stage::Packed(unpacker) => match unpacker.finish().await {
                Some(read) => self.finish_unpacked(read, end).await,
                None => {
                    let why = SourceError::Transfer("the file could not be unpacked".to_owned());
                    self.progress.set_end(SourceEnd::Failed(why));
                    Ok(())
                }
            },
            Stage::Start(..) | Stage::Ended => Ok(()),
        }
    }

    /// Ends the source of a packed file, with the reason if not everything was read.
    async fn finish_unpacked(
        &mut self,
        mut read: ReadUpload,
        end: SourceEnd,
    ) -> Result<(), ReceiveError> {
        self.members = std::mem::take(&mut read.sources);
        let error = match read.result {
            Ok(()) => {
                let end = match omission(&read.errors, read.left_out, &self.destination.limits) {
                    Some(why) if end == SourceEnd::Done => {
                        SourceEnd::Failed(SourceError::Transfer(why))
                    }
                    _ => end,
                };
                return Ok(read.writer.finish_async(end).await?);
            }
            Err(error) => error,
        };
        let end = SourceEnd::from(&error);
        let error = match error {
            ReadError::Stopped(reason) => return Err(reason.into()),
            ReadError::Stream(damage) => ReceiveError::Damaged(damage),
            ReadError::Refused(why) => ReceiveError::Refused(why),
            error @ ReadError::Open(_) => ReceiveError::Refused(error.to_string()),
        };
        read.writer.finish_async(end).await?;
        Err(error)
    }

    /// Decides from the first bytes whether the file is packed, and processes them. Later calls do
    /// nothing.
    async fn begin(&mut self) -> Result<(), ReceiveError> {
        let (first, mut writer) = match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Start(first, writer) => (first, writer),
            stage => {
                self.stage = stage;
                return Ok(());
            }
        };
        if !is_packed(&first) {
            writer.write_all_async(&first).await?;
            self.stage = Stage::Plain(writer);
            return Ok(());
        }
        self.ack_offsets.set_packed();
        let (destination, ack_offsets) = (self.destination.clone(), self.ack_offsets.clone());
        let mut unpacker = Unpacker::start(destination, writer, ack_offsets).await?;
        unpacker.push(&first).await;
        self.stage = Stage::Packed(unpacker);
        Ok(())
    }
}

/// Returns why parts of an archive were not read, as a sentence.
fn omission(errors: &[ReadError], left_out: u64, limits: &UnpackLimits) -> Option<String> {
    let were = if left_out == 1 { "was" } else { "were" };
    let members_max = limits.members.members_max();
    let left_out = (left_out > 0).then(|| {
        format!(
            "{left_out} of its files {were} left out: a session reads at most {members_max} files \
             from archives; open the archive in another session"
        )
    });
    let reasons: Vec<String> =
        left_out.into_iter().chain(errors.iter().map(ToString::to_string)).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention};

    use super::{FileReceiver, Purpose, UnpackDestination, UnpackLimits};

    #[tokio::test]
    async fn bytes_waiting_for_a_stalled_parser_are_bounded() {
        let options = PipelineOptions::new(1, Retention::Segments);
        let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
        let pipeline = Pipeline::start(&options, data.clone());
        let format = weir_core::format_by_name("COMMON").expect("a known format");
        let format = FormatChoice::Forced(std::sync::Arc::new(format));
        let pipeline = std::sync::Arc::new(pipeline);
        let limits = std::sync::Arc::new(UnpackLimits::new(1));
        let destination =
            UnpackDestination { intake: pipeline.clone(), format: format.clone(), limits };
        let source = pipeline.source("a", None, format);
        let mut receiver = FileReceiver::new(source, destination, Purpose::Parse);
        let line = b"1.2.3.4 - - [02/Nov/2026:00:00:00 +0000] \"-\" 200 7\n";
        receiver.write(line).await.expect("the queue has room");
        receiver.rewind().await.expect("the parsers run");

        let release = stop_parsers(data);
        // Only new values make a parser wait for the lock.
        let mut number = 0;
        let mut piece = || {
            let lines = (0..1_000).map(|_| {
                number += 1;
                format!("1.2.3.4 - - [02/Nov/2026:00:00:00 +0000] \"GET /{number}\" 200 7\n")
            });
            lines.collect::<String>()
        };
        let bound = options.queue_bytes_max
            + 2 * (options.limits.block_bytes + options.limits.line_bytes_max);
        // A write that takes longer than this waits for the queue.
        let patience = Duration::from_millis(300);
        while tokio::time::timeout(patience, receiver.write(piece().as_bytes())).await.is_ok() {
            assert!(
                receiver.bytes_received() < bound as u64,
                "more bytes were received than may wait"
            );
        }
        assert_eq!(
            receiver.ack_offsets().offset(),
            line.len() as u64,
            "only parsed bytes are acknowledged"
        );
        drop(release);
    }

    /// Locks the values until the returned value is dropped, so that parsers stop.
    fn stop_parsers(data: std::sync::Arc<DataSet>) -> std::sync::mpsc::Sender<()> {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _values = data.values();
            ready.send(()).expect("the test waits");
            let _ = released.recv();
        });
        is_ready.recv().expect("the thread runs");
        release
    }
}
