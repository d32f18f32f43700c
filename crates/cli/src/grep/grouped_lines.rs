//! Searches whole lines, and prints those around them too.

use std::io::{Read, Write};

use memchr::{memchr, memchr_iter, memrchr};
use weir_ingest::LineBlocks;

use super::Search;
use super::context::{Context, Groups};
use crate::scan::ScanError;

/// The search in one text.
pub(super) struct GroupedLines<'a> {
    search: &'a Search,
    name: &'a str,
    has_names: bool,
    groups: Groups,
    /// The number of the next line, if numbers are shown.
    number: u64,
    /// The number of lines that matched.
    lines: u64,
    /// A line as it is printed.
    printed: Vec<u8>,
}

impl<'a> GroupedLines<'a> {
    /// Creates a search in the text of that name.
    pub(super) fn new(
        search: &'a Search,
        name: &'a str,
        has_names: bool,
        context: Context,
    ) -> Self {
        let groups = Groups::new(context, search.layout.has_colour);
        Self { search, name, has_names, groups, number: 1, lines: 0, printed: Vec::new() }
    }

    /// The number of lines that matched.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Prints the lines that match, and those around them.
    pub(super) fn search(
        &mut self,
        lines: &mut LineBlocks<impl Read>,
        output: &mut impl Write,
        is_line_buffered: bool,
    ) -> Result<(), ScanError> {
        while let Some(block) = lines.next_block().map_err(ScanError::Input)? {
            self.search_block(block, output).map_err(ScanError::Output)?;
            if is_line_buffered {
                output.flush().map_err(ScanError::Output)?;
            }
            if self.is_full() && self.groups.after_left() == 0 {
                break;
            }
        }
        Ok(())
    }

    fn search_block(&mut self, block: &[u8], output: &mut impl Write) -> std::io::Result<()> {
        let search = self.search;
        let mut at = 0;
        let mut matching = search.pattern.lines(block);
        while !self.is_full()
            && let Some(line) = matching.next()
        {
            self.pass(&block[at..line.start], output)?;
            self.print(&block[line.clone()], true);
            self.groups.select(&self.printed, output)?;
            self.lines += 1;
            at = line.end;
        }
        self.pass(&block[at..], output)
    }

    /// Whether no more lines may match.
    fn is_full(&self) -> bool {
        self.search.layout.is_full(self.lines)
    }

    /// Takes lines that do not match. Only those that may stand near a match are looked at.
    fn pass(&mut self, mut lines: &[u8], output: &mut impl Write) -> std::io::Result<()> {
        while self.groups.after_left() > 0 && !lines.is_empty() {
            lines = self.pass_first(lines, output)?;
        }
        let held = last_lines(lines, self.groups.before());
        if held > 0 {
            self.groups.skip();
            if self.search.layout.has_numbers {
                self.number += memchr_iter(b'\n', &lines[..held]).count() as u64;
            }
        }
        lines = &lines[held..];
        while !lines.is_empty() {
            lines = self.pass_first(lines, output)?;
        }
        Ok(())
    }

    /// Takes the first of some lines, and returns the others.
    fn pass_first<'l>(
        &mut self,
        lines: &'l [u8],
        output: &mut impl Write,
    ) -> std::io::Result<&'l [u8]> {
        let (line, others) = lines.split_at(memchr(b'\n', lines).map_or(lines.len(), |at| at + 1));
        self.print(line, false);
        self.groups.pass(&self.printed, output)?;
        Ok(others)
    }

    /// Prints the next line to memory, which cannot fail.
    fn print(&mut self, line: &[u8], is_match: bool) {
        self.printed.clear();
        let mut printer = self.search.printer(self.name, self.has_names, &mut self.printed);
        let _ = match is_match {
            true => printer.raw(self.number, line, None),
            false => printer.context(self.number, line),
        };
        self.number += 1;
    }
}

/// Returns the start of the last `count` lines.
fn last_lines(lines: &[u8], count: usize) -> usize {
    let mut start = lines.len();
    for _ in 0..count {
        // The line feed before a line ends the one before it.
        let Some(end) = start.checked_sub(1) else { break };
        start = memrchr(b'\n', &lines[..end]).map_or(0, |line_feed| line_feed + 1);
    }
    start
}

#[cfg(test)]
mod tests {
    use super::last_lines;

    #[test]
    fn the_last_lines_may_lack_an_end() {
        for (lines, count, start) in [
            ("a\nb\nc\n", 2, 2),
            ("a\nb\nc", 2, 2),
            ("a\nb\n", 9, 0),
            ("a\n\n\n", 2, 2),
            ("", 1, 0),
            ("a\n", 0, 2),
        ] {
            assert_eq!(last_lines(lines.as_bytes(), count), start, "{lines:?} {count}");
        }
    }
}
