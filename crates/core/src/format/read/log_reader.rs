//! Reads a log line by line, whatever stands around its lines and between them.

use std::sync::Arc;

use super::followed_format::FollowedFormat;
use super::line_parser::LineParser;
use crate::format::compiled::Format;
use crate::format::program::mismatch::Mismatch;
use crate::record::Record;

/// Reads the lines of a log one after the other: unwraps them where their wrapper escapes them,
/// and follows directives that change the format. [`crate::BlockReader`] is faster, and is for
/// blocks that are cut where the format changes.
#[derive(Debug, Clone)]
pub struct LogReader {
    followed: FollowedFormat,
    parser: LineParser,
    /// The line that was unwrapped last.
    text: Vec<u8>,
}

/// What a line turned out to be.
#[derive(Debug)]
pub enum LineOutcome<'r, 'a> {
    /// A record.
    Record(&'r Record<'a>),
    /// No record and no mistake: a directive.
    Directive,
    /// A line that does not fit; [`LineParser::explain`] says why.
    Unmatched(Mismatch),
}

impl LogReader {
    /// A reader at the start of a log.
    pub fn new(format: Arc<Format>) -> Self {
        let followed = FollowedFormat::new(format.clone());
        Self { followed, parser: LineParser::new(format), text: Vec::new() }
    }

    /// The parser of the lines that come next, and its format.
    pub fn parser(&self) -> &LineParser {
        &self.parser
    }

    /// Reads the next line, without its line end, and gives it to `then`, with the format that
    /// it is in.
    pub fn read<T>(
        &mut self,
        line: &[u8],
        then: impl FnOnce(&LineParser, LineOutcome<'_, '_>) -> T,
    ) -> T {
        if self.followed.pass(line) {
            self.parser = LineParser::new(self.followed.format().clone());
        }
        if self.parser.passes_over(line) {
            return then(&self.parser, LineOutcome::Directive);
        }
        let mut record = Record::new();
        let inside = match line {
            // An empty line says so itself.
            [] => Ok(line),
            _ => self.parser.unwrap(line, &mut self.text),
        };
        match inside.and_then(|inside| self.parser.parse(inside, &mut record)) {
            Ok(()) => then(&self.parser, LineOutcome::Record(&record)),
            Err(mismatch) => then(&self.parser, LineOutcome::Unmatched(mismatch)),
        }
    }

    /// True where `line`, which was read last, said what the fields are.
    pub(in crate::format) fn is_list(&self, line: &[u8]) -> bool {
        self.followed.is_list(line)
    }
}
