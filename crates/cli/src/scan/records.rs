//! Reads the records of one input.

use std::ops::ControlFlow;

use weir_ingest::{
    FormatChoice, Input, LineSink, Records, SourceEnd, SourceSnapshot, VisitedBlock, read_inputs,
};

use super::UnparsedLines;
use crate::display::separated;
use crate::sources::{Complaint, complaints};

/// An input whose lines were read.
#[derive(Debug, Default)]
pub(crate) struct ReadInput {
    /// The texts that could be read, or the beginning of them: one of a file, several of an archive.
    pub(crate) texts: Vec<SourceSnapshot>,
    /// The parts that could not be read.
    pub(crate) complaints: Vec<Complaint>,
}

impl ReadInput {
    /// Whether some of it could be read, even if it is empty.
    pub(crate) fn was_read(&self) -> bool {
        !self.texts.is_empty()
    }

    /// The lines that are not records, by text.
    pub(crate) fn unparsed(&self) -> impl Iterator<Item = UnparsedLines> {
        self.texts.iter().filter_map(UnparsedLines::of_source)
    }
}

/// Reads an input to its end. Each thread has a sink of its own; `consume` gets their outputs in the
/// order of the lines.
pub(crate) fn read_lines<S: LineSink>(
    records: &Records,
    input: &Input,
    format: &FormatChoice,
    sink: impl Fn() -> S + Sync,
    consume: impl FnMut(VisitedBlock<'_, S::Output>) -> ControlFlow<()> + Send,
) -> ReadInput {
    let read = || read_inputs(records, std::slice::from_ref(input), format, 1);
    let mut complaints = complaints(records.run(sink, consume, read));
    let mut texts: Vec<SourceSnapshot> =
        records.sources().iter().map(|source| source.snapshot()).filter(was_read).collect();
    if matches!(format, FormatChoice::Unread) {
        complaints.extend(texts.iter_mut().filter_map(take_long_lines));
    }
    ReadInput { texts, complaints }
}

/// Takes the lines that were too long from the counts of a text, and returns a complaint about them.
fn take_long_lines(text: &mut SourceSnapshot) -> Option<Complaint> {
    let lines = std::mem::take(&mut text.too_long_lines);
    let sentence = format!("{} lines are longer than 1 MiB and were not read", separated(lines));
    (lines > 0).then(|| Complaint { name: text.name.clone(), sentence })
}

/// Whether some of a text could be read, even if it is empty.
fn was_read(text: &SourceSnapshot) -> bool {
    text.bytes_parsed > 0 || text.end == Some(SourceEnd::Done)
}
