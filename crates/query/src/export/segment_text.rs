//! The text of consecutive segments.

use weir_core::{Segment, Selection, Values};
use weir_export::{RowSource, SegmentRows, TextWriter};

/// The text of some rows of a segment.
#[derive(Debug, Default)]
pub(super) struct SegmentText {
    text: Vec<u8>,
    /// The line offset of each row, and the end of its text.
    rows: Vec<(u64, usize)>,
    /// The number of rows with a value that the data set did not keep.
    pub(super) unknown_rows: u64,
}

/// Pending texts of segments of one block, whose lines may interleave.
#[derive(Debug, Default)]
pub(super) struct WaitingTexts {
    texts: Vec<SegmentText>,
    /// Texts that were written, kept for reuse of their memory. New memory would cause half of the
    /// page faults of an export.
    spare: Vec<SegmentText>,
    /// The source of the rows, and the offset of its last line.
    last: Option<(u32, u64)>,
}

impl SegmentText {
    /// Overwrites the text with that of some rows of a segment, and reuses the memory.
    pub(super) fn refill(
        mut self,
        writer: &mut TextWriter,
        (source, segment): (RowSource<'_>, &Segment),
        rows: &Selection,
        values: &Values,
    ) -> Self {
        self.text.clear();
        self.rows.clear();
        self.unknown_rows = 0;
        let mut segment_rows = writer.rows(source, segment, values);
        for_each_run(rows, |run| {
            segment_rows.look_up(run.iter().copied());
            for (index, row) in run.iter().enumerate() {
                let is_known = writer.push(&segment_rows, index, &mut self.text);
                self.unknown_rows += u64::from(!is_known);
                self.rows.push((segment.line_offset(*row), self.text.len()));
            }
        });
        self
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Returns the line offset and the text of each row.
    fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = [0].into_iter().chain(self.rows.iter().map(|(_, end)| *end));
        let rows = starts.zip(&self.rows);
        rows.map(|(start, (offset, end))| (*offset, self.text.get(start..*end).unwrap_or_default()))
    }
}

/// Calls `visit` with a few rows at a time.
fn for_each_run(rows: &Selection, mut visit: impl FnMut(&[usize])) {
    let mut run = Vec::with_capacity(SegmentRows::LOOK_UP_ROWS);
    rows.for_each(|row| {
        run.push(row);
        if run.len() == SegmentRows::LOOK_UP_ROWS {
            visit(&run);
            run.clear();
        }
    });
    visit(&run);
}

impl WaitingTexts {
    /// Adds the text of the next segment. If none of its lines lies between earlier ones, the
    /// pending texts are first moved to `output`.
    pub(super) fn push(&mut self, text: SegmentText, segment: &Segment, output: &mut Vec<u8>) {
        if !self.overlaps(segment) {
            self.flush(output);
        }
        if let Some((offset, _)) = text.rows.last() {
            let last = self.last.map_or(0, |(_, last)| last);
            self.last = Some((segment.source(), last.max(*offset)));
        }
        self.texts.push(text);
    }

    /// Moves the texts to `output`, in line order.
    pub(super) fn flush(&mut self, output: &mut Vec<u8>) {
        self.last = None;
        match &self.texts[..] {
            [] => {}
            [text] => output.extend_from_slice(&text.text),
            texts => {
                let mut lines: Vec<(u64, &[u8])> =
                    texts.iter().flat_map(SegmentText::lines).collect();
                lines.sort_by_key(|(offset, _)| *offset);
                lines.iter().for_each(|(_, line)| output.extend_from_slice(line));
            }
        }
        self.spare.append(&mut self.texts);
    }

    /// Returns this many texts, with reused memory if possible.
    pub(super) fn spare(&mut self, texts: usize) -> Vec<SegmentText> {
        self.spare.resize_with(texts, SegmentText::default);
        std::mem::take(&mut self.spare)
    }

    /// Returns whether the first line of a segment lies before the last line of the pending texts.
    fn overlaps(&self, segment: &Segment) -> bool {
        let is_before = |(source, last)| {
            source == segment.source() && segment.rows() > 0 && segment.line_offset(0) < last
        };
        self.last.is_some_and(is_before)
    }
}
