//! The fields of several logs together. A single log may lack some of them.

use std::sync::{Arc, OnceLock};

use weir_core::{Format, FormatTracker, LineOutcome, Lines, LogReader, TrackerOptions};
use weir_ingest::{FormatChoice, Head, Input};

/// The fields of the first lines of several files, read when one of them lacks a requested field.
/// That field is then absent from its records, unless all files lack it.
#[derive(Debug)]
pub(crate) struct LogFields {
    /// Without pipes, because those can be read only once.
    files: Vec<Input>,
    choice: FormatChoice,
    /// The formats of the records in the first lines.
    formats: OnceLock<Vec<Arc<Format>>>,
}

impl LogFields {
    /// Creates the fields of the files among the inputs. `choice` is the format of the command
    /// line.
    pub(crate) fn new(inputs: &[Input], choice: &FormatChoice) -> Self {
        let files = inputs.iter().filter(|input| input.is_file()).cloned().collect();
        Self { files, choice: choice.clone(), formats: OnceLock::new() }
    }

    /// Whether a record in the first lines of a file may have this field.
    pub(crate) fn have(&self, name: &str) -> bool {
        self.formats().iter().any(|format| format.accessor(name).is_ok())
    }

    /// The formats of the records in the first lines of the files.
    pub(crate) fn formats(&self) -> &[Arc<Format>] {
        self.formats.get_or_init(|| {
            self.files.iter().flat_map(|file| formats_of(file, &self.choice)).collect()
        })
    }
}

/// The formats of the records in the first lines of a file. An error is reported when the file is
/// scanned.
fn formats_of(file: &Input, choice: &FormatChoice) -> Vec<Arc<Format>> {
    let is_enough = |text: &[u8]| text.len() >= FormatTracker::DETECTION_BYTES;
    let Ok(head) = Head::of(file, is_enough) else { return Vec::new() };
    let mut tracker = FormatTracker::new(choice.clone(), TrackerOptions::default(), 0);
    let spans = tracker.track(head.lines(), 0).spans;
    let ends = spans.iter().skip(1).map(|span| span.start).chain([head.lines().len()]);
    let mut formats: Vec<Arc<Format>> = Vec::new();
    for (span, end) in spans.iter().zip(ends) {
        let mut reader = LogReader::of_span(span.format.clone(), &span.companions);
        for line in Lines::new(head.lines().get(span.start..end).unwrap_or_default()) {
            reader.read(line.bytes, |parser, outcome| {
                let is_record = matches!(outcome, LineOutcome::Record(_));
                let is_known = || formats.iter().any(|known| Arc::ptr_eq(known, parser.format()));
                if is_record && !is_known() {
                    formats.push(parser.format().clone());
                }
            });
        }
    }
    formats
}
