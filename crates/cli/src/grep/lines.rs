//! Searches whole lines, which needs no format.

use std::io::{self, Read, Write};

use memchr::memchr_iter;
use weir_ingest::{Input, LineBlocks, OrderedOutput, Text, scan_text};

use super::printer::Printer;
use super::{InputResult, Search};
use crate::display::separated;
use crate::scan::{ScanError, for_each_text};
use crate::sources::Complaint;

impl Search {
    /// Searches the lines of an input. An error is one of the output; errors of the input are in the
    /// result.
    pub(super) fn search_lines(
        &self,
        input: &Input,
        output: &mut OrderedOutput<'_>,
    ) -> io::Result<InputResult> {
        let mut result = InputResult::default();
        let search = |text: &mut Text<'_>| self.search_text(input, text, output, &mut result);
        let complaints = for_each_text(input, search)?;
        result.complaints.extend(complaints);
        Ok(result)
    }

    /// Searches one text of an input. Lines that were printed before an error count.
    fn search_text(
        &self,
        input: &Input,
        text: &mut Text<'_>,
        output: &mut OrderedOutput<'_>,
        result: &mut InputResult,
    ) -> Result<(), ScanError> {
        let name = text.name().to_owned();
        let has_names = self.has_names(input, &name);
        let threads = self.is_divisible().then_some(self.threads_per_input);
        let scanned = scan_text(input, text, threads, output, |lines, output| {
            let mut printer = self.printer(&name, has_names, output);
            match self.search_part(lines, &mut printer) {
                Err(ScanError::Output(error)) => Err(error),
                searched => Ok((printer.lines(), lines.too_long_lines(), searched)),
            }
        });
        let parts = scanned.map_err(ScanError::Output)?;
        let too_long = parts.iter().map(|(_, too_long, _)| too_long).sum();
        result.add_too_long(&name, too_long);
        let lines = parts.iter().map(|(lines, ..)| lines).sum();
        result.lines += lines;
        let ended = self.printer(&name, has_names, output).end_text(lines);
        ended.map_err(ScanError::Output)?;
        parts.into_iter().try_for_each(|(.., searched)| searched)
    }

    /// Whether the parts of a text can be searched at the same time, because the output for a line
    /// does not depend on earlier lines.
    fn is_divisible(&self) -> bool {
        !self.layout.has_numbers && !self.layout.is_list
    }

    /// Prints the lines of a part that match.
    fn search_part(
        &self,
        lines: &mut LineBlocks<impl Read>,
        printer: &mut Printer<'_, impl Write>,
    ) -> Result<(), ScanError> {
        let mut numbers = LineNumbers { is_counted: self.layout.has_numbers, before: 0 };
        while let Some(block) = lines.next_block().map_err(ScanError::Input)? {
            let mut counted = 0;
            for line in self.pattern.lines(block) {
                let number = numbers.count(&block[counted..line.start]) + 1;
                counted = line.start;
                printer.raw(number, &block[line], None).map_err(ScanError::Output)?;
                if printer.is_done() {
                    return Ok(());
                }
            }
            numbers.count(&block[counted..]);
            printer.end_block().map_err(ScanError::Output)?;
        }
        Ok(())
    }
}

impl InputResult {
    /// Adds a complaint about the lines of a text that were too long to be searched.
    fn add_too_long(&mut self, name: &str, too_long_lines: u64) {
        if too_long_lines > 0 {
            let lines = separated(too_long_lines);
            let sentence = format!("{lines} lines are longer than 256 MiB and were not searched");
            self.complaints.push(Complaint { name: name.to_owned(), sentence });
        }
    }
}

/// Counts lines, if their numbers are shown.
struct LineNumbers {
    is_counted: bool,
    /// The number of lines before the position that was counted up to.
    before: u64,
}

impl LineNumbers {
    /// Counts the lines of `bytes`; returns the number of all lines so far, 0 if they are not
    /// counted.
    fn count(&mut self, bytes: &[u8]) -> u64 {
        if self.is_counted {
            self.before += memchr_iter(b'\n', bytes).count() as u64;
        }
        self.before
    }
}
