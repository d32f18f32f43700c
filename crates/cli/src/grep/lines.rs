//! Searches whole lines, which needs no format.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;

use memchr::memchr_iter;
use weir_ingest::{Input, LineBlocks, OrderedOutput, Text, scan_text};

use super::grouped_lines::GroupedLines;
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
        let is_line_buffered = self.is_line_buffered(input);
        let threads = self.is_divisible().then_some(self.threads_per_input);
        let scanned = scan_text(input, text, threads, output, |lines, output| {
            let (found, searched) = match self.layout.context {
                Some(context) => {
                    let mut grouped = GroupedLines::new(self, &name, has_names, context);
                    let searched = grouped.search(lines, output, is_line_buffered);
                    (grouped.lines(), searched)
                }
                None => self.search_part(lines, &name, has_names, output, is_line_buffered),
            };
            match searched {
                Err(ScanError::Output(error)) => Err(error),
                searched => Ok((found, lines.too_long_lines(), searched)),
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
        !self.layout.has_numbers && !self.layout.is_list && !self.layout.depends_on_others()
    }

    /// Prints the lines of a part that match. Returns how many there are, and whether all were read.
    fn search_part(
        &self,
        lines: &mut LineBlocks<impl Read>,
        name: &str,
        has_names: bool,
        output: &mut impl Write,
        is_line_buffered: bool,
    ) -> (u64, Result<(), ScanError>) {
        let mut numbers = LineNumbers { is_counted: self.layout.has_numbers, before: 0 };
        let mut found = 0;
        let mut search_blocks = || {
            while !self.is_over()
                && let Some(block) = lines.next_block().map_err(ScanError::Input)?
            {
                let mut printer = self.printer(name, has_names, output).after(found);
                let searched = self.search_block(block, &mut numbers, &mut printer);
                found = printer.lines();
                if searched.map_err(ScanError::Output)?.is_break() {
                    break;
                }
                if is_line_buffered {
                    output.flush().map_err(ScanError::Output)?;
                }
            }
            Ok(())
        };
        let searched = search_blocks();
        (found, searched)
    }

    /// Prints the lines of a block that match, up to the last that is needed.
    fn search_block(
        &self,
        block: &[u8],
        numbers: &mut LineNumbers,
        printer: &mut Printer<'_, impl Write>,
    ) -> io::Result<ControlFlow<()>> {
        let mut counted = 0;
        for line in self.pattern.lines(block) {
            let number = numbers.count(&block[counted..line.start]) + 1;
            counted = line.start;
            printer.raw(number, &block[line], None)?;
            if printer.is_done() {
                self.note_found();
                return Ok(ControlFlow::Break(()));
            }
        }
        numbers.count(&block[counted..]);
        Ok(ControlFlow::Continue(()))
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
