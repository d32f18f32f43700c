//! The fields of several logs together. A single log may lack some of them.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use weir_core::{
    FieldAccessor, Format, FormatTracker, LineOutcome, Lines, LogReader, Record, TrackerOptions,
};
use weir_ingest::{FormatChoice, Head, Input};

/// The fields of the first lines of several files, read when one of them lacks a requested field.
/// That field is then absent from its records, unless all files lack it.
#[derive(Debug)]
pub(crate) struct LogFields {
    /// Of a pipe only the bytes that were read before, because it can be read only once.
    inputs: Vec<Input>,
    /// Whether all inputs are files.
    are_all_inputs: bool,
    choice: FormatChoice,
    records: OnceLock<FirstRecords>,
}

/// The records in the first lines of several files.
#[derive(Debug)]
pub(crate) struct FirstRecords {
    /// The formats of the records, in the order of the files.
    pub(crate) formats: Vec<Arc<Format>>,
    /// The names of the fields that some record has.
    pub(crate) filled: HashSet<String>,
    /// Whether some time has a part below a microsecond.
    pub(crate) have_nanoseconds: bool,
    /// Whether the files have no other lines.
    pub(crate) are_all: bool,
}

/// A format of the first records of a file, with the fields that no record had so far.
struct FirstFormat {
    format: Arc<Format>,
    unfilled: Vec<(String, FieldAccessor)>,
}

impl LogFields {
    /// Creates the fields of the files among the inputs, and of the bytes of standard input that were read.
    /// `choice` is the format of the command line.
    pub(crate) fn new(inputs: &[Input], choice: &FormatChoice) -> Self {
        let has_start = |input: &&Input| {
            input.is_file() || matches!(input, Input::Stdin(start) if !start.is_empty())
        };
        Self {
            are_all_inputs: inputs.iter().all(Input::is_file),
            inputs: inputs.iter().filter(has_start).cloned().collect(),
            choice: choice.clone(),
            records: OnceLock::new(),
        }
    }

    /// Whether all inputs are files.
    pub(crate) fn are_all_inputs(&self) -> bool {
        self.are_all_inputs
    }

    /// Whether a record in the first lines of a file may have this field.
    pub(crate) fn have(&self, name: &str) -> bool {
        self.formats().iter().any(|format| format.accessor(name).is_ok())
    }

    /// The formats of the records in the first lines of the files.
    pub(crate) fn formats(&self) -> &[Arc<Format>] {
        &self.records().formats
    }

    /// The records in the first lines of the files.
    pub(crate) fn records(&self) -> &FirstRecords {
        self.records.get_or_init(|| {
            let mut records = FirstRecords {
                formats: Vec::new(),
                filled: HashSet::new(),
                have_nanoseconds: false,
                are_all: true,
            };
            self.inputs.iter().for_each(|input| records.add(input, &self.choice));
            records
        })
    }
}

impl FirstRecords {
    /// Adds the first lines of an input. An error is reported when the input is scanned.
    fn add(&mut self, input: &Input, choice: &FormatChoice) {
        let is_enough = |text: &[u8]| text.len() >= FormatTracker::DETECTION_BYTES;
        let head = match input {
            Input::Stdin(start) => Head::of_stream(&start[..], is_enough),
            Input::File(_) => Head::of(input, is_enough),
        };
        let Ok(head) = head else { return };
        self.are_all &= head.is_whole;
        let mut formats: Vec<FirstFormat> = Vec::new();
        let is_table = head.for_each_row(choice, |format, record| {
            self.add_record(&mut formats, format, record);
            ControlFlow::Continue(())
        });
        if is_table {
            self.formats.extend(formats.into_iter().map(|first| first.format));
            return;
        }
        let mut tracker = FormatTracker::new(choice.clone(), TrackerOptions::default(), 0);
        let spans = tracker.track(head.lines(), 0).spans;
        let ends = spans.iter().skip(1).map(|span| span.start).chain([head.lines().len()]);
        for (span, end) in spans.iter().zip(ends) {
            let mut reader = LogReader::of_span(span.format.clone(), &span.companions);
            for line in Lines::new(head.lines().get(span.start..end).unwrap_or_default()) {
                reader.read(line.bytes, |parser, outcome| {
                    if let LineOutcome::Record(record) = outcome {
                        self.add_record(&mut formats, parser.format(), record);
                    }
                });
            }
        }
        self.formats.extend(formats.into_iter().map(|first| first.format));
    }

    fn add_record(
        &mut self,
        formats: &mut Vec<FirstFormat>,
        format: &Arc<Format>,
        record: &Record<'_>,
    ) {
        let known = formats.iter().position(|known| Arc::ptr_eq(&known.format, format));
        let index = known.unwrap_or_else(|| {
            formats.push(FirstFormat { format: format.clone(), unfilled: format.accessors() });
            formats.len() - 1
        });
        formats[index].unfilled.retain(|(name, field)| {
            let is_filled = field.value(record).is_some();
            if is_filled {
                self.filled.insert(name.clone());
            }
            !is_filled
        });
        self.have_nanoseconds |= record.time.is_some_and(|time| time.unix_ns % 1_000 != 0);
    }
}
