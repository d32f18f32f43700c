//! Reads inputs and streams into a pipeline.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use weir_core::FormatChoice;
use weir_sync::{Condition, Lock};

use super::byte_counter::ByteCounter;
use super::input::{Input, PlainBytes, PlainInput};
use super::read_before::{KnownTexts, ReadBefore};
use super::table::{Table, open_table};
use super::unpack::{Text, Unpacked, unpack};
use super::upload::MemberLimit;
use crate::clock::{Clock, SystemClock};
use crate::error::{Fault, FaultKind, ReadError};
use crate::file_parts::FileHandle;
use crate::log_year::LastTime;
use crate::packed_file::PackedFile;
use crate::plain_file::ReadBackError;
use crate::progress::{SourceEnd, SourceProgress};
use crate::writer::{Intake, SourceOptions, SourceWriter};

/// The time after which the format of a live stream is detected even from fewer lines than
/// detection usually examines, because a person is waiting to see them.
const DETECTION_PATIENCE: Duration = Duration::from_millis(500);

/// Reads a stream to its end and unpacks it if it is packed. Each file of an archive becomes a
/// source.
///
/// # Errors
/// The first error, if a part cannot be read. The states of the sources have the other errors too.
pub fn read_stream(
    intake: &dyn Intake,
    name: &str,
    bytes_total: Option<u64>,
    stream: impl Read,
    format: FormatChoice,
) -> Result<(), ReadError> {
    let counter = ByteCounter::default();
    let mut reader = TextReader::new(intake, &format, bytes_total, None);
    let Unpacked { faults, .. } = unpack(name, stream, &counter, &mut |text| reader.read(text));
    let errors = reader.end(name, faults).into_iter().filter_map(|fault| match fault.kind {
        FaultKind::Error(error) => Some(error),
        FaultKind::Note(_) => None,
    });
    errors.into_iter().next().map_or(Ok(()), Err)
}

/// Reads inputs to their ends. Returns the errors and notes about them, in the order of the
/// inputs.
///
/// Up to `parallel_max` packed inputs are read at the same time, because decompression takes a core
/// each. Plain files are read one after the other, because parallel reads of a disk are not faster.
pub fn read_inputs(
    intake: &dyn Intake,
    inputs: &[Input],
    format: &FormatChoice,
    parallel_max: usize,
) -> Vec<Fault> {
    let order = InputOrder { known: KnownTexts::new(intake), ..InputOrder::default() };
    let next = AtomicUsize::new(0);
    let faults = Lock::new(Vec::new());
    let work = || {
        while let Some((index, input)) = take(inputs, &next) {
            let found = order.read(intake, index, input, format);
            let mut faults = faults.lock();
            faults.extend(found.into_iter().map(|fault| (index, fault)));
        }
    };
    thread::scope(|scope| {
        for _ in 1..parallel_max.min(inputs.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut faults = faults.into_inner();
    faults.sort_by_key(|(index, _)| *index);
    faults.into_iter().map(|(_, fault)| fault).collect()
}

fn take<'a>(inputs: &'a [Input], next: &AtomicUsize) -> Option<(usize, &'a Input)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    inputs.get(index).map(|input| (index, input))
}

/// Reads a packed file again, into sources with the same names as before. Damaged parts end their
/// sources as they did then.
///
/// # Errors
/// If the file cannot be opened, or another one is at its path.
pub fn read_packed_file(
    intake: &dyn Intake,
    packed: &PackedFile,
    format: &FormatChoice,
) -> Result<(), ReadBackError> {
    let (name, file) = (packed.name(), packed.reopen()?);
    let counter = ByteCounter::of_file(file.metadata()?.modified().ok().map(LastTime::from));
    let order = InputOrder::default();
    let position = InputPosition { order: &order, index: 0, is_live: false };
    let mut reader = TextReader::new(intake, format, None, Some(position));
    let Unpacked { faults, .. } = unpack(name, file, &counter, &mut |text| reader.read(text));
    reader.end(name, faults);
    Ok(())
}

/// Coordinates inputs that are read at the same time.
#[derive(Debug, Default)]
struct InputOrder {
    /// The number of inputs, from the first one on, that have opened their first source or will
    /// have none. Sources are listed in the order of their inputs.
    begun: Lock<usize>,
    more_begun: Condition,
    /// Held while a plain file is read, so that only one is read at a time.
    plain: Lock<()>,
    /// What another process has read.
    known: KnownTexts,
}

impl InputOrder {
    fn read(
        &self,
        intake: &dyn Intake,
        index: usize,
        input: &Input,
        format: &FormatChoice,
    ) -> Vec<Fault> {
        let is_live = input.is_live();
        if is_live {
            // A live input may begin at any time, so the others do not wait for it.
            self.begin(index);
        }
        let position = InputPosition { order: self, index, is_live };
        // If it cannot be opened, the reason is found below.
        if let Ok(Some(file)) = open_table(input) {
            let mut reader = TextReader::new(intake, format, input.bytes_total(), Some(position));
            let faults = reader.read_table(&input.name(), file);
            return reader.end(&input.name(), faults);
        }
        let plain = input.open_plain();
        let before = match &plain {
            Ok(None) => self.known.part_of(input),
            _ => ReadBefore::Nothing,
        };
        let format = match &before {
            // What told the format, such as the header of a W3C log, may be in the part that is skipped.
            ReadBefore::UpTo(_, source) => Cow::Owned(intake.format_after(source, format.clone())),
            _ => Cow::Borrowed(format),
        };
        let mut reader = TextReader::new(intake, &format, input.bytes_total(), Some(position));
        let faults = match (plain, before) {
            (Ok(Some(plain)), _) => {
                reader.pull(input, plain);
                Vec::new()
            }
            (Ok(None), ReadBefore::Everything) => {
                self.begin(index);
                return Vec::new();
            }
            (Ok(None), before) => {
                match before {
                    // Its lines are not those of the file any more, so they are not read back.
                    ReadBefore::UpTo(bytes, _) => reader.skipped_bytes = bytes,
                    _ => reader.packed = input.packed_file().map(Arc::new),
                }
                input.read(&mut |text| reader.read(text))
            }
            (Err(error), _) => vec![Fault::new(&input.name(), ReadError::Open(error))],
        };
        reader.end(&input.name(), faults)
    }

    fn wait(&self, index: usize) {
        let begun = self.begun.lock();
        drop(self.more_begun.wait_while(begun, |begun| *begun < index));
    }

    /// Marks input `index` as begun, after all inputs before it.
    fn begin(&self, index: usize) {
        self.wait(index);
        let mut begun = self.begun.lock();
        *begun = (*begun).max(index + 1);
        self.more_begun.notify_all();
    }
}

/// The position of one input in the order.
struct InputPosition<'a> {
    order: &'a InputOrder,
    index: usize,
    is_live: bool,
}

/// Reads the texts of one input.
pub(super) struct TextReader<'a> {
    intake: &'a dyn Intake,
    format: &'a FormatChoice,
    bytes_total: Option<u64>,
    position: Option<InputPosition<'a>>,
    /// The file on the disk, if the input is one and is packed.
    packed: Option<Arc<PackedFile>>,
    /// The bytes at the beginning of each text that are not read, because another process has.
    skipped_bytes: u64,
    /// The number of input bytes that are already counted for a source.
    counted: u64,
    /// All sources that were opened.
    pub(super) sources: Vec<Arc<SourceProgress>>,
    /// The limit on sources; `None` if there is none.
    limit: Option<&'a MemberLimit>,
    /// The number of texts and faults for which the limit allowed no source.
    pub(super) left_out: u64,
    pub(super) faults: Vec<Fault>,
    clock: Arc<dyn Clock>,
}

impl<'a> TextReader<'a> {
    /// A reader of the files in an archive.
    pub(super) fn of_members(
        intake: &'a dyn Intake,
        format: &'a FormatChoice,
        limit: &'a MemberLimit,
    ) -> Self {
        Self { limit: Some(limit), ..Self::new(intake, format, None, None) }
    }

    fn new(
        intake: &'a dyn Intake,
        format: &'a FormatChoice,
        bytes_total: Option<u64>,
        position: Option<InputPosition<'a>>,
    ) -> Self {
        Self {
            intake,
            format,
            bytes_total,
            position,
            packed: None,
            skipped_bytes: 0,
            counted: 0,
            sources: Vec::new(),
            limit: None,
            left_out: 0,
            faults: Vec::new(),
            clock: Arc::new(SystemClock::default()),
        }
    }

    pub(super) fn read(&mut self, text: &mut Text<'_>) -> ControlFlow<()> {
        if self.exceeds_limit() {
            return ControlFlow::Continue(());
        }
        // The packed size of a file in an archive is unknown.
        let bytes_total = self.bytes_total.filter(|_| !text.is_member());
        let mut options = self.options(text.name(), bytes_total).last_time(text.last_time());
        if self.position.as_ref().is_some_and(|position| position.is_live) {
            options = options.watch_drift();
        }
        let mut writer = self.open(options);
        let order =
            self.position.as_ref().filter(|position| !position.is_live && !text.is_packed());
        let plain_guard = order.map(|position| position.order.plain.lock());
        let result = self.copy(&mut writer, text);
        drop(plain_guard);
        self.finish(text.name(), writer, result)
    }

    /// Reads the rows of a table. Returns the error if it cannot be read as one.
    fn read_table(&mut self, name: &str, file: File) -> Vec<Fault> {
        let table = match Table::open(file, self.format) {
            Ok(table) => table,
            Err(error) => return vec![Fault::new(name, error)],
        };
        let mut options = self.options(name, self.bytes_total);
        options.format = FormatChoice::Forced(table.format().clone());
        let mut writer = self.open(options).into_records();
        let progress = writer.progress().clone();
        progress.set_note(table.note());
        let read = table.write(&mut writer);
        let pushed = match &read {
            Err(ReadError::Stopped(reason)) => Err(*reason),
            _ => Ok(()),
        };
        let end = read.as_ref().err().map_or(SourceEnd::Done, SourceEnd::from);
        writer.finish(end, &pushed);
        self.faults.extend(table.note().map(|note| Fault::note(name, note)));
        if let Err(error) = read
            && !progress.is_satisfied()
        {
            self.faults.push(Fault::new(name, error));
        }
        Vec::new()
    }

    /// Lets the parsers read a plain file themselves.
    fn pull(&mut self, input: &Input, PlainInput { bytes, file }: PlainInput) {
        let name = input.name();
        let writer = self.open(self.options(&name, self.bytes_total).last_time(input.last_time()));
        if let Some(file) = file {
            writer.progress().add_part(0, (&file, FileHandle::Path), 0);
        }
        let plain_guard = self.position.as_ref().map(|position| position.order.plain.lock());
        let pulled = match bytes {
            PlainBytes::Stream(stream) => writer.pull(stream),
            PlainBytes::File(file) => writer.pull_file(file),
        };
        drop(plain_guard);
        match pulled {
            Ok((writer, result)) => drop(self.finish(&name, writer, result)),
            Err(stopped) => self.faults.push(Fault::new(&name, ReadError::Stopped(stopped))),
        }
    }

    /// Ends a source with the result of reading it. Breaks if no further source can be read.
    fn finish(
        &mut self,
        name: &str,
        writer: SourceWriter,
        result: Result<(), ReadError>,
    ) -> ControlFlow<()> {
        let end = match &result {
            Ok(()) => SourceEnd::Done,
            Err(error) => SourceEnd::from(error),
        };
        let progress = writer.progress().clone();
        // All lines before an error are kept, including an incomplete last one.
        let finished = writer.finish(end);
        self.faults.extend(progress.take_news().map(|news| Fault::note(name, news)));
        match result.and(finished.map_err(ReadError::Stopped)) {
            _ if progress.is_satisfied() => ControlFlow::Continue(()),
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                let may_continue = !matches!(error, ReadError::Stopped(_));
                self.faults.push(Fault::new(name, error));
                if may_continue { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            }
        }
    }

    /// Counts a source against the limit. If the limit is reached, counts the source as left out
    /// and returns true.
    fn exceeds_limit(&mut self) -> bool {
        let is_full = self.limit.is_some_and(|limit| !limit.take());
        self.left_out += u64::from(is_full);
        is_full
    }

    fn options(&self, name: &str, bytes_total: Option<u64>) -> SourceOptions {
        let options = SourceOptions::new(name, self.format.clone()).clock(self.clock.clone());
        options.bytes_total(bytes_total)
    }

    /// Opens a source. The first one of an input waits for the inputs before it.
    fn open(&mut self, options: SourceOptions) -> SourceWriter {
        let position =
            self.position.as_ref().filter(|position| self.sources.is_empty() && !position.is_live);
        if let Some(position) = position {
            position.order.wait(position.index);
        }
        let writer = self.intake.open(options);
        if let Some(packed) = &self.packed {
            writer.progress().set_packed_file(packed);
        }
        if let Some(position) = position {
            position.order.begin(position.index);
        }
        self.sources.push(writer.progress().clone());
        writer
    }

    /// Copies a text to its end, in reads as large as the room in the writer.
    fn copy(&mut self, writer: &mut SourceWriter, text: &mut Text<'_>) -> Result<(), ReadError> {
        let start = self.clock.elapsed();
        io::copy(&mut text.take(self.skipped_bytes), &mut io::sink())
            .map_err(|error| text.error(&error))?;
        // The format of a file must not depend on how fast it is read.
        let may_pause = self.position.as_ref().is_none_or(|position| position.is_live);
        let flushes_early = may_pause || self.intake.is_watched();
        loop {
            let space = writer.space();
            let room = space.len();
            let result = text.read(space);
            self.count(writer, text);
            // A short read means that a pipe is empty for now, or that a file ends. A stream with
            // a timeout may also report that nothing arrived.
            let (length, is_waiting) = match result {
                Ok(0) => return Ok(()),
                Ok(length) => (length, false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (0, true),
                Err(error) => return Err(text.error(&error)),
            };
            writer.advance(length);
            let is_slow = may_pause && self.clock.elapsed() - start > DETECTION_PATIENCE;
            // If the parsers are idle, submits the lines read so far at once, otherwise after a
            // pause of the stream.
            let may_submit = match writer.is_format_decided() {
                true => is_waiting || (flushes_early && writer.may_flush_early()),
                false => is_slow,
            };
            if writer.is_full() || (length < room && may_submit) {
                writer.flush()?;
            }
        }
    }

    /// Counts the consumed bytes of a packed input, which differ from those of the text.
    fn count(&mut self, writer: &SourceWriter, text: &Text<'_>) {
        let taken = text.input_bytes();
        if text.is_packed() {
            writer.progress().add_compressed(taken - self.counted);
        }
        self.counted = taken;
    }

    /// Returns the faults of the input. An input without sources and faults gets an empty source.
    fn end(mut self, name: &str, faults: Vec<Fault>) -> Vec<Fault> {
        self.note(faults);
        if self.faults.is_empty() && self.sources.is_empty() {
            let writer = self.open(self.options(name, None));
            let _ = writer.finish(SourceEnd::Done);
        }
        if let Some(position) = &self.position {
            position.order.begin(position.index);
        }
        self.faults
    }

    /// Adds faults, and opens a failed source for each error that no source reports yet.
    pub(super) fn note(&mut self, faults: Vec<Fault>) {
        let is_open = |fault: &Fault| matches!(fault.error(), Some(ReadError::Open(_)));
        for fault in &faults {
            if let Some(error) = fault.error().filter(|_| !is_open(fault) && !self.exceeds_limit())
            {
                let writer = self.open(self.options(&fault.name, None));
                // The fault is returned in any case, so a failure to end the source adds nothing.
                let _ = writer.finish(SourceEnd::from(error));
            }
        }
        self.faults.extend(faults);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use weir_core::FormatChoice;
    use weir_demo::{Traffic, TrafficOptions};

    use super::{ByteCounter, DETECTION_PATIENCE, TextReader, unpack};
    use crate::clock::{Clock, ManualClock};
    use crate::pipeline::{DataSet, Pipeline, PipelineOptions, Retention};
    use crate::progress::SourceSnapshot;

    const LINE: &[u8] = b"192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 1\n";

    /// A stream that delivers a line every 200 ms, and ends after some of them are visible.
    struct SlowStream {
        clock: Arc<ManualClock>,
        data: Arc<DataSet>,
    }

    impl Read for SlowStream {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.clock.elapsed() > 2 * DETECTION_PATIENCE {
                self.wait_until_visible();
                return Ok(0);
            }
            self.clock.sleep(Duration::from_millis(200));
            buffer[..LINE.len()].copy_from_slice(LINE);
            Ok(LINE.len())
        }
    }

    impl SlowStream {
        /// Waits for the parser threads, which the clock does not control.
        fn wait_until_visible(&self) {
            let start = Instant::now();
            while self.data.snapshot().segments.is_empty() {
                assert!(start.elapsed() < Duration::from_secs(60), "no line is visible");
                thread::yield_now();
            }
        }
    }

    #[test]
    fn lines_of_a_slow_stream_are_visible_before_it_ends() {
        let clock = Arc::new(ManualClock::default());
        let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
        let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
        let mut reader = TextReader::new(&pipeline, &FormatChoice::Detect, None, None);
        reader.clock = clock.clone();
        let stream = SlowStream { clock, data };
        let unpacked =
            unpack("pipe", stream, &ByteCounter::default(), &mut |text| reader.read(text));
        assert!(reader.end("pipe", unpacked.faults).is_empty());
    }

    /// Returns one line per read, as a pipe may.
    struct LineByLine<'a>(&'a [u8]);

    impl Read for LineByLine<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let line_feed = self.0.iter().position(|byte| *byte == b'\n');
            let length = line_feed.map_or(self.0.len(), |at| at + 1).min(buffer.len());
            self.0.read(&mut buffer[..length])
        }
    }

    /// Reads a stream while the clock stands still. Returns the source in its final state.
    fn read(stream: impl Read) -> SourceSnapshot {
        let data = DataSet::new(Retention::ValuesOnly, 1 << 30, &[]);
        let options = PipelineOptions::new(2, Retention::ValuesOnly);
        let pipeline = Pipeline::start(&options, data.clone());
        let mut reader = TextReader::new(&pipeline, &FormatChoice::Detect, None, None);
        reader.clock = Arc::new(ManualClock::default());
        let unpacked =
            unpack("pipe", stream, &ByteCounter::default(), &mut |text| reader.read(text));
        let faults = reader.end("pipe", unpacked.faults);
        assert!(faults.iter().all(|fault| fault.error().is_none()), "{faults:?}");
        pipeline.finish();
        data.sources()[0].snapshot()
    }

    #[test]
    fn the_detected_format_does_not_depend_on_the_pieces() {
        let mut log = LINE.to_vec();
        let mut combined =
            Traffic::new(TrafficOptions { bytes: Some(1 << 20), ..TrafficOptions::default() });
        while combined.fill(&mut log, 1 << 16) > 0 {}
        let (whole, by_line) = (read(&log[..]), read(LineByLine(&log)));
        for source in [&whole, &by_line] {
            let format = source.format.as_ref().map(|format| format.name());
            assert_eq!(format, Some("COMBINED"));
        }
        assert_eq!((by_line.lines, by_line.records), (whole.lines, whole.records));
        assert_eq!(by_line.parsed_share, whole.parsed_share);
    }
}
