//! Receives one file: detects its type, decompresses it and writes it to the pipeline.

use std::io;
use std::sync::Arc;

use tokio::sync::watch;
use weir_ingest::{
    FaultKind, LayeredDecoder, MemberLimit, ReadError, SourceEnd, SourceError, SourceProgress,
    SourceWriter, StopReason, StreamDefect, StreamError, is_archive,
};

use super::ack_offsets::AckOffsets;
use super::unpacker::{MemberDestination, Unpacker};

/// The note on the source of an archive.
const ARCHIVE_NOTE: &str = "an archive: each of its files is a source of its own";

/// Receives a file's bytes in order, in pieces of any size.
///
/// Offsets are the sender's: compressed bytes if the file is compressed. If the future of a method
/// is dropped before its end, the receiver is unusable and must be dropped too.
#[derive(Debug)]
pub(crate) struct FileReceiver {
    writer: SourceWriter,
    destination: MemberDestination,
    stage: Stage,
    ack_offsets: Arc<AckOffsets>,
    bytes_received: u64,
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
    /// The first bytes, too few to detect a compression.
    Start(Vec<u8>),
    Plain(Content),
    /// Compressed, possibly in several layers, or UTF-16.
    Packed(LayeredDecoder, Content),
    /// All bytes are discarded, and count as parsed.
    Discard {
        space: Vec<u8>,
        parsed: watch::Sender<u64>,
    },
}

/// The content of a file after decompression.
#[derive(Debug)]
enum Content {
    /// The first bytes, too few to detect an archive.
    Start(Vec<u8>),
    Lines,
    Archive(Unpacker),
}

/// Why a file cannot be received further. The lines submitted before are kept.
#[derive(Debug)]
pub(crate) enum ReceiveError {
    /// The pipeline accepts no more data.
    Stopped(StopReason),
    /// The compressed data is damaged or cut short. The source has ended: the lines before the
    /// damage are parsed.
    Damaged(StreamError),
}

impl From<StopReason> for ReceiveError {
    fn from(stopped: StopReason) -> Self {
        Self::Stopped(stopped)
    }
}

impl FileReceiver {
    /// Creates a receiver that writes to a source. The members of an archive become sources at
    /// `destination`.
    pub(crate) fn new(writer: SourceWriter, destination: MemberDestination) -> Self {
        let ack_offsets = Arc::new(AckOffsets::new(writer.progress().parsed()));
        let stage = Stage::Start(Vec::new());
        Self { writer, destination, stage, ack_offsets, bytes_received: 0, is_dirty: false }
    }

    /// Creates a receiver that discards all bytes. Its source stays empty.
    pub(crate) fn discarding(writer: SourceWriter, destination: MemberDestination) -> Self {
        let (sender, parsed) = watch::channel(0);
        let ack_offsets = Arc::new(AckOffsets::new(parsed));
        let stage = Stage::Discard { space: vec![0; DISCARD_SPACE_BYTES], parsed: sender };
        Self { writer, destination, stage, ack_offsets, bytes_received: 0, is_dirty: false }
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
        self.writer.progress()
    }

    /// Returns whether there may be lines that [`Self::flush`] would submit.
    pub(crate) fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Returns whether some submitted bytes are not parsed yet.
    pub(crate) fn is_parsing(&self) -> bool {
        *self.progress().parsed().borrow() < self.writer.submitted()
    }

    /// Returns whether the lines received so far should be flushed before they fill a block.
    pub(crate) fn may_flush_early(&self) -> bool {
        self.writer.may_flush_early()
    }

    /// Receives the next bytes; waits while the queue is full.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), ReceiveError> {
        self.bytes_received += bytes.len() as u64;
        self.is_dirty = true;
        if let Stage::Discard { parsed, .. } = &self.stage {
            parsed.send_replace(self.bytes_received);
            return Ok(());
        }
        let processed = match &mut self.stage {
            Stage::Start(first) => {
                first.extend_from_slice(bytes);
                if LayeredDecoder::needs_more(first) { Ok(()) } else { self.begin().await }
            }
            _ => self.process(bytes).await,
        };
        self.end_if_damaged(processed).await
    }

    /// Returns space for the next bytes, never empty; [`Self::advance`] must follow. Returns `None`
    /// if the bytes have to be inspected first: at the start of a file, and in a compressed file.
    pub(crate) fn space(&mut self) -> Option<&mut [u8]> {
        match &mut self.stage {
            Stage::Plain(Content::Lines) => Some(self.writer.space()),
            Stage::Discard { space, .. } => Some(space),
            Stage::Start(_) | Stage::Plain(_) | Stage::Packed(..) => None,
        }
    }

    /// Receives the first `length` bytes of [`Self::space`]; waits while the queue is full.
    pub(crate) async fn advance(&mut self, length: usize) -> Result<(), ReceiveError> {
        self.bytes_received += length as u64;
        if let Stage::Discard { parsed, .. } = &self.stage {
            parsed.send_replace(self.bytes_received);
            return Ok(());
        }
        self.is_dirty = true;
        self.writer.advance(length);
        if self.writer.is_full() {
            self.writer.flush_async().await?;
        }
        Ok(())
    }

    /// Submits all whole lines to the parsers; waits while the queue is full.
    pub(crate) async fn flush(&mut self) -> Result<(), ReceiveError> {
        self.is_dirty = false;
        self.writer.flush_async().await?;
        self.ack_offsets.clamp(self.writer.submitted());
        Ok(())
    }

    /// Prepares for another connection after one was lost. Waits until all whole lines are parsed,
    /// and returns the offset from which the sender must resume. A partial line at the end of a
    /// plain file is dropped, and sent again. In a compressed file its offset is unknown, so it is
    /// kept.
    pub(crate) async fn rewind(&mut self) -> Result<u64, ReceiveError> {
        match &mut self.stage {
            Stage::Start(first) => {
                first.clear();
                self.bytes_received = 0;
            }
            Stage::Plain(Content::Lines) => self.bytes_received = self.writer.rewind().await?,
            Stage::Discard { .. } => {}
            Stage::Plain(_) | Stage::Packed(..) => {
                self.flush().await?;
                self.writer.wait_until_parsed().await;
            }
        }
        self.is_dirty = false;
        Ok(self.bytes_received)
    }

    /// Ends the file after its last byte: submits the rest, waits until it is parsed, and ends the
    /// source.
    pub(crate) async fn finish(&mut self, end: SourceEnd) -> Result<(), ReceiveError> {
        let begun = self.begin_short().await;
        self.end_if_damaged(begun).await?;
        let finished = self.finish_decoder().await;
        self.end_if_damaged(finished).await?;
        let end = match self.finish_content(None).await? {
            Some(why) if end == SourceEnd::Done => SourceEnd::Failed(SourceError::Transfer(why)),
            _ => end,
        };
        Ok(self.writer.finish_async(end).await?)
    }

    /// Ends the source if the file is damaged: submits all bytes decompressed before the damage,
    /// and waits until they are parsed. Returns `result` unchanged.
    async fn end_if_damaged(
        &mut self,
        result: Result<(), ReceiveError>,
    ) -> Result<(), ReceiveError> {
        if let Err(ReceiveError::Damaged(damage)) = &result {
            self.finish_content(Some(damage)).await?;
            let end = SourceEnd::Failed(SourceError::Stream(damage.clone()));
            self.writer.finish_async(end).await?;
        }
        result
    }

    /// Ends the decompression.
    async fn finish_decoder(&mut self) -> Result<(), ReceiveError> {
        let Stage::Packed(decoder, content) = &mut self.stage else {
            return Ok(());
        };
        let finished = decoder.finish();
        content.process(decoder.output(), &mut self.writer, &self.destination).await?;
        finished.map_err(|error| damaged(decoder.name(), self.bytes_received, &error))
    }

    /// Ends the content, after a damage of its compression if there is one. If an archive was not
    /// read completely, returns the reason as a sentence.
    async fn finish_content(
        &mut self,
        damage: Option<&StreamError>,
    ) -> Result<Option<String>, ReceiveError> {
        let (Stage::Plain(content) | Stage::Packed(_, content)) = &mut self.stage else {
            return Ok(None);
        };
        content.begin(&mut self.writer, &self.destination).await?;
        let Content::Archive(unpacker) = content else { return Ok(None) };
        let Some(read) = unpacker.finish(damage).await else {
            return Ok(Some("the archive could not be unpacked".to_owned()));
        };
        let name = self.writer.progress().name().to_owned();
        let mut why =
            (read.left_out > 0).then(|| omitted_members(read.left_out, &self.destination.limit));
        for fault in read.faults {
            match fault.kind {
                FaultKind::Error(ReadError::Stopped(stopped)) => return Err(stopped.into()),
                FaultKind::Error(error) if fault.name == name => {
                    why = Some(why.map_or_else(String::new, |why| why + "; ") + &error.to_string());
                }
                // The source of the member reports the error.
                FaultKind::Error(_) => {}
                FaultKind::Note(note) => {
                    let note = format!("{ARCHIVE_NOTE}; {note}");
                    self.writer.progress().set_note(Some(note));
                }
            }
        }
        Ok(why)
    }

    /// Detects a compression from the first bytes, and processes them.
    async fn begin(&mut self) -> Result<(), ReceiveError> {
        let Stage::Start(first) = &mut self.stage else { return Ok(()) };
        let first = std::mem::take(first);
        let content = Content::Start(Vec::new());
        let decoder = LayeredDecoder::of(&first).map_err(|error| damaged("packed", 0, &error))?;
        self.stage = match decoder {
            None if is_archive(&first) => {
                self.ack_offsets.set_compressed();
                Stage::Plain(content)
            }
            None => Stage::Plain(Content::Lines),
            Some(decoder) => {
                self.ack_offsets.set_compressed();
                Stage::Packed(decoder, content)
            }
        };
        self.process(&first).await
    }

    /// Processes a file that ended before a compression could be detected.
    async fn begin_short(&mut self) -> Result<(), ReceiveError> {
        match &self.stage {
            Stage::Start(_) => self.begin().await,
            _ => Ok(()),
        }
    }

    async fn process(&mut self, bytes: &[u8]) -> Result<(), ReceiveError> {
        let before = self.bytes_received - bytes.len() as u64;
        if let Stage::Plain(content) = &mut self.stage {
            content.process(bytes, &mut self.writer, &self.destination).await?;
            if !matches!(content, Content::Lines) {
                self.writer.progress().add_compressed(bytes.len() as u64);
                self.ack_offsets.record(0, self.bytes_received);
                self.ack_offsets.notify();
            }
            return Ok(());
        }
        let Stage::Packed(decoder, content) = &mut self.stage else {
            return Ok(());
        };
        let (mut rest, mut taken) = (bytes, before);
        while !rest.is_empty() || decoder.has_more() {
            let pushed = decoder.push_some(rest);
            let output = decoder.output();
            content.process(output, &mut self.writer, &self.destination).await?;
            output.clear();
            let length = pushed.map_err(|error| damaged(decoder.name(), taken, &error))?;
            rest = &rest[length..];
            taken += length as u64;
            self.writer.progress().add_compressed(length as u64);
            self.ack_offsets.record(self.writer.offset(), taken);
        }
        if matches!(content, Content::Archive(_)) {
            self.ack_offsets.notify();
        }
        Ok(())
    }
}

impl Content {
    /// Processes the next bytes; waits while the pipeline or the unpacker is busy.
    async fn process(
        &mut self,
        bytes: &[u8],
        writer: &mut SourceWriter,
        destination: &MemberDestination,
    ) -> Result<(), ReceiveError> {
        match self {
            Self::Start(first) => {
                first.extend_from_slice(bytes);
                if !LayeredDecoder::needs_more(first) {
                    self.begin(writer, destination).await?;
                }
            }
            Self::Lines => writer.write_all_async(bytes).await?,
            Self::Archive(unpacker) => {
                unpacker.push(bytes).await;
                if writer.progress().is_cancelled() {
                    return Err(StopReason::Cancelled.into());
                }
            }
        }
        Ok(())
    }

    /// Detects an archive from the first bytes, and processes them. Later calls do nothing.
    async fn begin(
        &mut self,
        writer: &mut SourceWriter,
        destination: &MemberDestination,
    ) -> Result<(), ReceiveError> {
        let Self::Start(first) = self else { return Ok(()) };
        let first = std::mem::take(first);
        if !is_archive(&first) {
            *self = Self::Lines;
            return Ok(writer.write_all_async(&first).await?);
        }
        writer.progress().set_note(Some(ARCHIVE_NOTE.to_owned()));
        let mut unpacker = Unpacker::start(destination.clone(), writer.progress().clone());
        unpacker.push(&first).await;
        *self = Self::Archive(unpacker);
        Ok(())
    }
}

/// Returns the message for an archive with more members than the session may have.
fn omitted_members(count: u64, limit: &MemberLimit) -> String {
    let were = if count == 1 { "was" } else { "were" };
    let limit = limit.members_max();
    format!(
        "{count} of its files {were} left out: a session reads at most {limit} files from \
         archives; open the archive in another session"
    )
}

fn damaged(packing: &'static str, at: u64, error: &io::Error) -> ReceiveError {
    let defect = StreamDefect::of(error);
    ReceiveError::Damaged(StreamError { packing: Some(packing), at, defect })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_ingest::{DataSet, FormatChoice, MemberLimit, Pipeline, PipelineOptions, Retention};

    use super::{FileReceiver, MemberDestination};

    #[tokio::test]
    async fn bytes_waiting_for_a_stalled_parser_are_bounded() {
        let options = PipelineOptions::new(1, Retention::Segments);
        let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
        let pipeline = Pipeline::start(&options, data.clone());
        let format = weir_core::format_by_name("COMMON").expect("a known format");
        let format = FormatChoice::Forced(std::sync::Arc::new(format));
        let pipeline = std::sync::Arc::new(pipeline);
        let limit = std::sync::Arc::new(MemberLimit::new(1));
        let destination =
            MemberDestination { pipeline: pipeline.clone(), format: format.clone(), limit };
        let mut receiver = FileReceiver::new(pipeline.source("a", None, format), destination);
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
