//! The search in one large plain file on all cores.

use weir_ingest::{FormatChoice, Input, Text};

use super::Search;
use super::arguments::Output;
use super::printer::Printer;
use crate::lines::{Failed, LineBlocks, Ordered, Pieces, in_order};
use crate::records::{Reader, steady_format};

/// What came of several pieces.
pub(super) struct Found {
    /// Lines that were chosen.
    pub(super) lines: u64,
    /// Lines that did not fit the format.
    pub(super) unmatched: u64,
    /// Lines that were longer than the limit.
    pub(super) too_long: u64,
    pub(super) result: Result<(), Failed>,
}

impl Search {
    /// The pieces of a file, and the format where records are asked about: where nothing depends
    /// on what came before in it.
    pub(super) fn divisible(
        &self,
        input: &Input,
        text: &Text<'_>,
    ) -> Option<(Pieces, Option<FormatChoice>)> {
        let depends = self.layout.numbers || self.layout.list || self.layout.output != Output::Raw;
        let pieces = Pieces::of(input, text).filter(|_| !depends)?;
        let format = match self.needs_records() {
            true => Some(steady_format(&pieces, &self.format, text.written())?),
            false => None,
        };
        Some((pieces, format))
    }

    /// As [`Self::in_lines`] or [`Self::in_records`], in pieces.
    pub(super) fn in_pieces(
        &self,
        (pieces, format): (Pieces, Option<FormatChoice>),
        name: &str,
        output: &mut Ordered<'_>,
    ) -> Found {
        let searched = in_order(self.spare_jobs, pieces.count(), output, |index, output| {
            let mut blocks = LineBlocks::new(pieces.piece(index));
            let mut printer =
                Printer::new(&self.layout, &self.pattern, name.to_owned(), false, output);
            let (unmatched, result) = match &format {
                Some(format) => {
                    self.in_records(Reader::new(format, None), &mut blocks, &mut printer)
                }
                None => (0, self.in_lines(&mut blocks, &mut printer)),
            };
            match result {
                Err(Failed::Output(error)) => Err(error),
                result => Ok((printer.lines(), unmatched, blocks.too_long(), result)),
            }
        });
        let mut found = Found { lines: 0, unmatched: 0, too_long: 0, result: Ok(()) };
        match searched {
            Err(error) => found.result = Err(Failed::Output(error)),
            Ok(searched) => {
                for (lines, unmatched, too_long, result) in searched {
                    found.lines += lines;
                    found.unmatched += unmatched;
                    found.too_long += too_long;
                    found.result = found.result.and(result);
                }
            }
        }
        found
    }
}
