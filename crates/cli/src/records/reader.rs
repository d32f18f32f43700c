//! Reads the lines of one text with the format that they are in.

use std::sync::Arc;
use std::time::SystemTime;

use weir_core::{FollowedFormat, Format, LineParser, Record, detect};
use weir_ingest::{FormatChoice, with_year};

use crate::lines::{LineBlocks, Pieces};

/// Reads lines with a format, which is looked for in the first of them.
#[derive(Debug)]
pub(crate) struct Reader {
    known: Option<Known>,
    written: Option<SystemTime>,
    /// How often the format became another.
    version: u64,
    /// Lines that did not fit, or came before any format was found.
    unmatched: u64,
}

#[derive(Debug)]
struct Known {
    parser: LineParser,
    /// What directives in the log make of the format.
    followed: FollowedFormat,
}

impl Known {
    fn new(format: Arc<Format>) -> Self {
        let parser = LineParser::new(format.clone());
        Self { parser, followed: FollowedFormat::new(format) }
    }
}

/// The format of a file's lines where each piece of it can be read by itself: it is known from
/// the first lines, and nothing in the log changes it.
pub(crate) fn steady_format(
    pieces: &Pieces,
    choice: &FormatChoice,
    written: Option<SystemTime>,
) -> Option<FormatChoice> {
    let mut reader = Reader::new(choice, written);
    if reader.known.is_none() {
        // What cannot be read is said when it is read for good.
        let mut blocks = LineBlocks::new(pieces.piece(0));
        reader.learn(blocks.next_block().ok()??);
    }
    let known = reader.known?;
    let is_steady = !known.followed.may_change();
    is_steady.then(|| FormatChoice::Forced(known.parser.format().clone()))
}

impl Reader {
    /// A reader at the start of a text that was last written to then.
    pub(crate) fn new(choice: &FormatChoice, written: Option<SystemTime>) -> Self {
        let known = match choice {
            FormatChoice::Forced(format) => Some(Known::new(with_year(format.clone(), written))),
            FormatChoice::Detect => None,
        };
        Self { version: u64::from(known.is_some()), known, written, unmatched: 0 }
    }

    /// Looks for the format in a block of lines, where it is not known yet.
    pub(crate) fn learn(&mut self, block: &[u8]) {
        if self.known.is_none()
            && let Some(best) = detect(block).best()
        {
            self.known = Some(Known::new(with_year(best.format.clone(), self.written)));
            self.version += 1;
        }
    }

    /// The format of the lines that come next, once it is known. That of a log with lists of
    /// fields is not before the first of them.
    pub(crate) fn format(&self) -> Option<&Arc<Format>> {
        let format = self.known.as_ref().map(|known| known.parser.format());
        format.filter(|format| !format.fields().is_empty() || !format.extra_fields().is_empty())
    }

    /// Changes whenever the format does.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Reads a line, without its line feed; false where it does not fit, which is counted for
    /// lines that are neither empty nor directives. `text` is room for a line that has to be
    /// written anew.
    pub(crate) fn read<'a>(
        &mut self,
        line: &'a [u8],
        text: &'a mut Vec<u8>,
        record: &mut Record<'a>,
    ) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(known) = &mut self.known {
            if known.followed.may_change() && known.parser.passes_over(line) {
                if known.followed.pass(line) {
                    known.parser = LineParser::new(known.followed.format().clone());
                    self.version += 1;
                }
                return false;
            }
            let Known { parser, .. } = known;
            let fits = match parser.is_escaped() {
                false => parser.parse(line, record).is_ok(),
                true => match parser.unwrap(line, text) {
                    Ok(line) => parser.parse(line, record).is_ok(),
                    Err(_) => false,
                },
            };
            if fits {
                return true;
            }
        }
        self.unmatched += u64::from(!line.is_empty());
        false
    }

    /// Lines that did not fit; empty ones and directives are not counted.
    pub(crate) fn unmatched(&self) -> u64 {
        self.unmatched
    }
}
