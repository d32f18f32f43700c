//! The search in one large plain file on all cores.

use std::path::Path;

use weir_ingest::{Input, Text};

use super::Search;
use super::printer::Printer;
use crate::lines::{Failed, LineBlocks, Ordered, Piece, in_order};

/// A piece of a file that is searched at once: large enough that to begin costs nothing,
/// small enough that all cores have something to do to the end.
const PIECE_BYTES: u64 = 4 << 20;

/// A smaller file is searched as it is.
const FILE_BYTES_MIN: u64 = 16 << 20;

impl Search {
    /// The file and its size, where it can be searched in pieces: nothing depends on what came
    /// before in it, and nobody else wants the cores.
    pub(super) fn divisible<'a>(
        &self,
        input: &'a Input,
        text: &Text<'_>,
    ) -> Option<(&'a Path, u64)> {
        let Input::File(path) = input else { return None };
        let is_plain = !text.is_packed() && !text.is_member() && input.is_file();
        let depends = self.layout.numbers || self.layout.list;
        let bytes = input.bytes_total().filter(|bytes| *bytes >= FILE_BYTES_MIN)?;
        (is_plain && !depends && self.spare_jobs > 1).then_some((path.as_path(), bytes))
    }

    /// As [`Self::in_lines`], in pieces; gives how many lines were longer than the limit as
    /// well.
    pub(super) fn in_pieces(
        &self,
        (path, bytes): (&Path, u64),
        name: &str,
        output: &mut Ordered<'_>,
    ) -> (u64, u64, Result<(), Failed>) {
        let count = bytes.div_ceil(PIECE_BYTES);
        let searched = in_order(self.spare_jobs, count as usize, output, |index, output| {
            let start = index as u64 * PIECE_BYTES;
            // What is written meanwhile belongs to the last.
            let end = if index as u64 + 1 == count { u64::MAX } else { start + PIECE_BYTES };
            let piece = match Piece::open(path, start, end) {
                Ok(piece) => piece,
                Err(error) => return Ok((0, 0, Some(error))),
            };
            let mut blocks = LineBlocks::new(piece);
            let mut printer =
                Printer::new(&self.layout, &self.pattern, name.to_owned(), false, output);
            let failed = match self.in_lines(&mut blocks, &mut printer) {
                Err(Failed::Output(error)) => return Err(error),
                Err(Failed::Input(error)) => Some(error),
                Err(Failed::Sentence(_)) | Ok(()) => None,
            };
            Ok((printer.lines(), blocks.too_long(), failed))
        });
        let pieces = match searched {
            Ok(pieces) => pieces,
            Err(error) => return (0, 0, Err(Failed::Output(error))),
        };
        let lines = pieces.iter().map(|(lines, ..)| lines).sum();
        let too_long = pieces.iter().map(|(_, too_long, _)| too_long).sum();
        let failed = pieces.into_iter().find_map(|(.., failed)| failed);
        (lines, too_long, failed.map_or(Ok(()), |error| Err(Failed::Input(error))))
    }
}
