//! The way of one file's bytes from a connection into the pipeline, decompressed where they
//! are compressed.

use std::io;
use std::sync::Arc;

use tokio::sync::watch;
use weir_ingest::{
    ARCHIVE_HEAD_BYTES, Compression, FaultKind, MemberLimit, PushDecoder, ReadError, SourceEnd,
    SourceError, SourceProgress, SourceWriter, StopReason, compression_of, is_archive,
};

use super::marks::Marks;
use super::unpacker::{Place, Unpacker};

/// Said of an archive while it is read, and after.
const ARCHIVE_NOTE: &str = "an archive: its files are listed each by itself";

/// Takes a file's bytes in order, in pieces of any size.
///
/// Its offsets are those of the sender: compressed bytes, where the file is compressed. Its
/// futures are to be awaited to their ends, or the intake is to be dropped with them.
#[derive(Debug)]
pub(crate) struct Intake {
    writer: SourceWriter,
    place: Place,
    stage: Stage,
    marks: Arc<Marks>,
    received: u64,
    /// Something came since all whole lines were handed on.
    is_dirty: bool,
}

/// What becomes of an uploaded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Parse,
    /// It is dropped as it comes, to measure the way here.
    Discard,
}

/// Bytes that are discarded at once: as many as a block has.
const DISCARDED_BYTES: usize = 1 << 20;

#[derive(Debug)]
enum Stage {
    /// Too few bytes came to tell what it is: these.
    Start(Vec<u8>),
    Plain(Content),
    Compressed(Compression, PushDecoder, Content),
    /// Nothing is kept: the bytes that came count as parsed.
    Discarded {
        space: Vec<u8>,
        done: watch::Sender<u64>,
    },
}

/// What a file is when it is decompressed.
#[derive(Debug)]
enum Content {
    /// Too few bytes came to tell: these.
    Start(Vec<u8>),
    Lines,
    Archive(Unpacker),
}

/// Why a file cannot be taken on. What was handed on before stands.
#[derive(Debug)]
pub(crate) enum IntakeError {
    /// The pipeline takes no more.
    Stopped(StopReason),
    /// The compressed data is damaged or cut short.
    Damaged {
        /// In compressed bytes.
        at: u64,
        what: String,
    },
}

impl From<StopReason> for IntakeError {
    fn from(stopped: StopReason) -> Self {
        Self::Stopped(stopped)
    }
}

impl Intake {
    /// An intake for a source; what an archive holds becomes sources at `place`.
    pub(crate) fn new(writer: SourceWriter, place: Place) -> Self {
        let marks = Arc::new(Marks::new(writer.progress().parsed()));
        let stage = Stage::Start(Vec::new());
        Self { writer, place, stage, marks, received: 0, is_dirty: false }
    }

    /// An intake that drops what it takes. Its source stays empty.
    pub(crate) fn discarding(writer: SourceWriter, place: Place) -> Self {
        let (done, parsed) = watch::channel(0);
        let marks = Arc::new(Marks::new(parsed));
        let stage = Stage::Discarded { space: vec![0; DISCARDED_BYTES], done };
        Self { writer, place, stage, marks, received: 0, is_dirty: false }
    }

    /// Bytes taken so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// How far the file may be acknowledged.
    pub(crate) fn marks(&self) -> &Arc<Marks> {
        &self.marks
    }

    pub(crate) fn progress(&self) -> &Arc<SourceProgress> {
        self.writer.progress()
    }

    /// True where lines may be waiting that were not handed on.
    pub(crate) fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// True where something that was handed on is not parsed yet.
    pub(crate) fn is_parsing(&self) -> bool {
        *self.progress().parsed().borrow() < self.writer.submitted()
    }

    /// True where what there is should be handed on before there is a whole block.
    pub(crate) fn may_flush_early(&self) -> bool {
        self.writer.may_flush_early()
    }

    /// Takes the next bytes; waits while the queue is full.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), IntakeError> {
        self.received += bytes.len() as u64;
        self.is_dirty = true;
        if let Stage::Discarded { done, .. } = &self.stage {
            done.send_replace(self.received);
            return Ok(());
        }
        let Stage::Start(first) = &mut self.stage else { return self.pass(bytes).await };
        first.extend_from_slice(bytes);
        match is_told(first) {
            true => self.begin().await,
            false => Ok(()),
        }
    }

    /// Room to which the next bytes may be written straight, never empty; `None` where they
    /// have to be looked at first, at the start and of a compressed file.
    pub(crate) fn space(&mut self) -> Option<&mut [u8]> {
        match &mut self.stage {
            Stage::Plain(Content::Lines) => Some(self.writer.space()),
            Stage::Discarded { space, .. } => Some(space),
            Stage::Start(_) | Stage::Plain(_) | Stage::Compressed(..) => None,
        }
    }

    /// Takes the first `length` bytes of [`Self::space`]; waits while the queue is full.
    pub(crate) async fn advance(&mut self, length: usize) -> Result<(), IntakeError> {
        self.received += length as u64;
        if let Stage::Discarded { done, .. } = &self.stage {
            done.send_replace(self.received);
            return Ok(());
        }
        self.is_dirty = true;
        self.writer.advance(length);
        if self.writer.is_full() {
            self.writer.flush_async().await?;
        }
        Ok(())
    }

    /// Hands on all whole lines; waits while the queue is full.
    pub(crate) async fn hand_on(&mut self) -> Result<(), IntakeError> {
        self.is_dirty = false;
        self.writer.flush_async().await?;
        self.marks.clamp(self.writer.submitted());
        Ok(())
    }

    /// The connection is lost: waits until all whole lines are parsed, and gives the offset
    /// from which the file can be taken up again. The torn line at the end of a plain file is
    /// forgotten; of a packed one it is kept, for its bytes lie anywhere.
    pub(crate) async fn rewind(&mut self) -> Result<u64, IntakeError> {
        match &mut self.stage {
            Stage::Start(first) => {
                first.clear();
                self.received = 0;
            }
            Stage::Plain(Content::Lines) => self.received = self.writer.rewind().await?,
            Stage::Discarded { .. } => {}
            Stage::Plain(_) | Stage::Compressed(..) => {
                self.hand_on().await?;
                self.writer.wait_until_parsed().await;
            }
        }
        self.is_dirty = false;
        Ok(self.received)
    }

    /// Every byte has come: hands on the rest, waits until it is parsed, and ends the source.
    pub(crate) async fn finish(&mut self, end: SourceEnd) -> Result<(), IntakeError> {
        self.begin_short().await?;
        let cut_short = self.finish_decoder().await?;
        let end = match self.finish_content().await? {
            Some(why) if end == SourceEnd::Done => SourceEnd::Failed(SourceError::Transfer(why)),
            _ => end,
        };
        let end = match &cut_short {
            Some(IntakeError::Damaged { at, what }) => SourceEnd::Failed(SourceError::Transfer(
                format!("the {what} at byte {at}; what was read before it stands"),
            )),
            _ => end,
        };
        self.writer.finish_async(end).await?;
        cut_short.map_or(Ok(()), Err)
    }

    /// Ends the decompression; gives why it is cut short.
    async fn finish_decoder(&mut self) -> Result<Option<IntakeError>, IntakeError> {
        let Stage::Compressed(compression, decoder, content) = &mut self.stage else {
            return Ok(None);
        };
        let finished = decoder.finish();
        content.take(decoder.output(), &mut self.writer, &self.place).await?;
        Ok(finished.map_err(|error| damaged(*compression, self.received, &error)).err())
    }

    /// Ends what the file holds; gives the sentence on what is wrong with an archive.
    async fn finish_content(&mut self) -> Result<Option<String>, IntakeError> {
        let (Stage::Plain(content) | Stage::Compressed(_, _, content)) = &mut self.stage else {
            return Ok(None);
        };
        content.begin(&mut self.writer, &self.place).await?;
        let Content::Archive(unpacker) = content else { return Ok(None) };
        let Some(read) = unpacker.finish().await else {
            return Ok(Some("the archive could not be unpacked".to_owned()));
        };
        let name = self.writer.progress().name().to_owned();
        let mut why = (read.left_out > 0).then(|| left_out(read.left_out, &self.place.limit));
        for fault in read.faults {
            match fault.kind {
                FaultKind::Error(ReadError::Stopped(stopped)) => return Err(stopped.into()),
                FaultKind::Error(error) if fault.name == name => {
                    why = Some(why.map_or_else(String::new, |why| why + "; ") + &error.to_string());
                }
                // A source of its own says so.
                FaultKind::Error(_) => {}
                FaultKind::Note(note) => {
                    let note = format!("{ARCHIVE_NOTE}; {note}");
                    self.writer.progress().set_note(Some(note));
                }
            }
        }
        Ok(why)
    }

    /// Tells what the file is by its first bytes, and passes them on.
    async fn begin(&mut self) -> Result<(), IntakeError> {
        let Stage::Start(first) = &mut self.stage else { return Ok(()) };
        let first = std::mem::take(first);
        let content = Content::Start(Vec::new());
        self.stage = match compression_of(&first) {
            None if is_archive(&first) => {
                self.marks.set_compressed();
                Stage::Plain(content)
            }
            None => Stage::Plain(Content::Lines),
            Some(compression) => {
                let decoder = PushDecoder::new(compression);
                let decoder = decoder.map_err(|error| damaged(compression, 0, &error))?;
                self.marks.set_compressed();
                Stage::Compressed(compression, decoder, content)
            }
        };
        self.pass(&first).await
    }

    /// A file that ends before it was told what it is.
    async fn begin_short(&mut self) -> Result<(), IntakeError> {
        match &self.stage {
            Stage::Start(_) => self.begin().await,
            _ => Ok(()),
        }
    }

    async fn pass(&mut self, bytes: &[u8]) -> Result<(), IntakeError> {
        let before = self.received - bytes.len() as u64;
        if let Stage::Plain(content) = &mut self.stage {
            content.take(bytes, &mut self.writer, &self.place).await?;
            if !matches!(content, Content::Lines) {
                self.writer.progress().take_compressed(bytes.len() as u64);
                self.marks.mark(0, self.received);
                self.marks.tell();
            }
            return Ok(());
        }
        let Stage::Compressed(compression, decoder, content) = &mut self.stage else {
            return Ok(());
        };
        let (mut rest, mut taken) = (bytes, before);
        while !rest.is_empty() || decoder.has_more() {
            let pushed = decoder.push_some(rest);
            let output = decoder.output();
            content.take(output, &mut self.writer, &self.place).await?;
            output.clear();
            let length = pushed.map_err(|error| damaged(*compression, taken, &error))?;
            rest = &rest[length..];
            taken += length as u64;
            self.writer.progress().take_compressed(length as u64);
            self.marks.mark(self.writer.offset(), taken);
        }
        if matches!(content, Content::Archive(_)) {
            self.marks.tell();
        }
        Ok(())
    }
}

impl Content {
    /// Takes the next bytes; waits while as many wait as may.
    async fn take(
        &mut self,
        bytes: &[u8],
        writer: &mut SourceWriter,
        place: &Place,
    ) -> Result<(), IntakeError> {
        match self {
            Self::Start(first) => {
                first.extend_from_slice(bytes);
                if is_told(first) {
                    self.begin(writer, place).await?;
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

    /// Tells what it is by the first bytes, and passes them on; nothing where that is known.
    async fn begin(&mut self, writer: &mut SourceWriter, place: &Place) -> Result<(), IntakeError> {
        let Self::Start(first) = self else { return Ok(()) };
        let first = std::mem::take(first);
        if !is_archive(&first) {
            *self = Self::Lines;
            return Ok(writer.write_all_async(&first).await?);
        }
        writer.progress().set_note(Some(ARCHIVE_NOTE.to_owned()));
        let mut unpacker = Unpacker::start(place.clone(), writer.progress().clone());
        unpacker.push(&first).await;
        *self = Self::Archive(unpacker);
        Ok(())
    }
}

/// True where the first bytes of a file tell what it is: a line that has ended is no header of
/// an archive.
fn is_told(first: &[u8]) -> bool {
    first.len() >= ARCHIVE_HEAD_BYTES
        || first.contains(&b'\n')
        || compression_of(first).is_some()
        || is_archive(first)
}

/// The sentence on an archive for whose files there was no room.
fn left_out(files: u64, limit: &MemberLimit) -> String {
    let were = if files == 1 { "file of it was" } else { "files of it were" };
    let limit = limit.members_max();
    format!(
        "{files} {were} left out: a session has up to {limit} files of archives; open it in \
         another session"
    )
}

fn damaged(compression: Compression, at: u64, error: &io::Error) -> IntakeError {
    let name = compression.name();
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("{name} data is cut short"),
        _ => format!("{name} data is damaged ({error})"),
    };
    IntakeError::Damaged { at, what }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_ingest::{DataSet, FormatChoice, Keep, MemberLimit, Pipeline, PipelineOptions};

    use super::{Intake, Place};

    #[tokio::test]
    async fn what_waits_for_a_stalled_parser_is_bounded() {
        let options = PipelineOptions::new(1, Keep::Segments);
        let data = DataSet::new(Keep::Segments, 1 << 30, &[]);
        let pipeline = Pipeline::start(&options, data.clone());
        let format = weir_core::format_by_name("COMMON").expect("a known format");
        let format = FormatChoice::Forced(std::sync::Arc::new(format));
        let pipeline = std::sync::Arc::new(pipeline);
        let limit = std::sync::Arc::new(MemberLimit::new(1));
        let place = Place { pipeline: pipeline.clone(), format: format.clone(), limit };
        let mut intake = Intake::new(pipeline.source("a", None, format), place);
        let line = b"1.2.3.4 - - [02/Nov/2026:00:00:00 +0000] \"-\" 200 7\n";
        intake.write(line).await.expect("there is room");
        intake.rewind().await.expect("the parsers run");

        let release = stop_parsers(data);
        // Values that nobody has met yet: only these bring a parser to a halt.
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
        // A write that does not end is a source that has to wait.
        let patience = Duration::from_millis(300);
        while tokio::time::timeout(patience, intake.write(piece().as_bytes())).await.is_ok() {
            assert!(intake.received() < bound as u64, "more was taken than may wait");
        }
        assert_eq!(intake.marks().offset(), line.len() as u64, "nothing more is acknowledged");
        drop(release);
    }

    /// Holds the values until the result is dropped, so that no parser can get on.
    fn stop_parsers(data: std::sync::Arc<DataSet>) -> std::sync::mpsc::Sender<()> {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _values = data.values();
            ready.send(()).expect("somebody waits");
            let _ = released.recv();
        });
        is_ready.recv().expect("the thread runs");
        release
    }
}
