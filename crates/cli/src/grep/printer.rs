//! Prints what was found, line by line.

use std::io::{self, Write};

use weir_core::{FieldAccessor, Record};

use super::arguments::Output;
use super::pattern::Pattern;
use super::{csv, json};
use crate::lines::Ordered;
use crate::terminal::{safe, safe_bytes, safe_rows};

/// How lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// The file's name is in front of each line.
    pub(super) names: bool,
    /// So it is in front of the lines of files in archives.
    pub(super) member_names: bool,
    /// The line's number is in front of it.
    pub(super) numbers: bool,
    /// Each match is printed alone.
    pub(super) only_matching: bool,
    /// Only the number of lines is printed.
    pub(super) count: bool,
    /// Only the file's name is printed.
    pub(super) list: bool,
    /// Lines that do not match are looked for.
    pub(super) inverted: bool,
    /// Lines, or their fields.
    pub(super) output: Output,
    /// A person reads it: nothing may be obeyed by the terminal.
    pub(super) terminal: bool,
    /// Matches are shown in colour.
    pub(super) colour: bool,
}

/// The colours of grep: names, numbers, what stands between, matches.
const NAME: &str = "35";
const NUMBER: &str = "32";
const BETWEEN: &str = "36";
const MATCH: &str = "1;31";

/// Prints the lines of one input.
pub(super) struct Printer<'a, 'b> {
    layout: &'a Layout,
    pattern: &'a Pattern,
    name: String,
    /// The name is in front of each line.
    names: bool,
    output: &'a mut Ordered<'b>,
    lines: u64,
}

/// The fields of a record, and the record.
pub(super) type Fields<'a> = Option<(&'a [(String, FieldAccessor)], &'a Record<'a>)>;

impl<'a, 'b> Printer<'a, 'b> {
    /// A printer of lines of the text of that name, which may be a file in an archive.
    pub(super) fn new(
        layout: &'a Layout,
        pattern: &'a Pattern,
        name: String,
        is_member: bool,
        output: &'a mut Ordered<'b>,
    ) -> Self {
        let names = layout.names || (is_member && layout.member_names);
        Self { layout, pattern, name, names, output, lines: 0 }
    }

    /// Lines that were taken.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Counts lines that another printer of the same text has printed.
    pub(super) fn add_lines(&mut self, lines: u64) {
        self.lines += lines;
    }

    /// True where nothing more is to be found out.
    pub(super) fn is_done(&self) -> bool {
        self.layout.list && self.lines > 0
    }

    /// Takes a line, with or without its line feed. `value` is what was looked in, where that
    /// is not the line.
    pub(super) fn raw(&mut self, number: u64, line: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        self.lines += 1;
        if self.layout.count || self.layout.list {
            return Ok(());
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if self.layout.only_matching {
            return self.matches(number, value.unwrap_or(line));
        }
        self.prefix(number)?;
        if self.layout.colour && !self.layout.inverted {
            self.coloured(line, value)?;
        } else {
            self.text(line)?;
        }
        self.output.write_all(b"\n")
    }

    /// Takes a line as a JSON object.
    pub(super) fn json(&mut self, number: u64, line: &[u8], fields: Fields<'_>) -> io::Result<()> {
        self.lines += 1;
        json::write(self.output, &self.name, number, line, fields)
    }

    /// Takes a line as a row of CSV.
    pub(super) fn csv(&mut self, number: u64, line: &[u8], fields: Fields<'_>) -> io::Result<()> {
        self.lines += 1;
        let row = csv::row_of(&self.name, number, line, fields);
        let row = if self.layout.terminal { safe_rows(&row) } else { row };
        self.output.write_all(row.as_bytes())
    }

    /// A block is done: where it came from something that is still written to, a person waits
    /// for what was found in it.
    pub(super) fn block_ends(&mut self) -> io::Result<()> {
        if self.layout.terminal { self.output.flush() } else { Ok(()) }
    }

    /// Ends the input and gives the number of lines that were taken.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        if self.layout.list {
            if self.lines > 0 {
                self.name()?;
                self.output.write_all(b"\n")?;
            }
        } else if self.layout.count {
            if self.names {
                self.name()?;
                self.between()?;
            }
            writeln!(self.output, "{}", self.lines)?;
        }
        Ok(self.lines)
    }

    /// Prints each match in a text on a line of its own.
    fn matches(&mut self, number: u64, text: &[u8]) -> io::Result<()> {
        if self.layout.inverted {
            return Ok(());
        }
        let mut places = Vec::new();
        self.pattern.each(text, |start, end| places.push((start, end)));
        for (start, end) in places {
            self.prefix(number)?;
            self.painted(MATCH, &text[start..end])?;
            self.output.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Prints a line with its matches in colour, where they are in the line: the value of a
    /// number is not.
    fn coloured(&mut self, line: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        let (start, value) = match value {
            None => (0, line),
            Some(value) => {
                let start = (value.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
                let is_within = start <= line.len() && value.len() <= line.len() - start;
                if is_within { (start, value) } else { (0, &b""[..]) }
            }
        };
        let mut places = Vec::new();
        self.pattern.each(value, |from, to| places.push((start + from, start + to)));
        let mut at = 0;
        for (from, to) in places {
            self.text(&line[at..from])?;
            self.painted(MATCH, &line[from..to])?;
            at = to;
        }
        self.text(&line[at..])
    }

    fn prefix(&mut self, number: u64) -> io::Result<()> {
        if self.names {
            self.name()?;
            self.between()?;
        }
        if self.layout.numbers {
            self.painted(NUMBER, number.to_string().as_bytes())?;
            self.between()?;
        }
        Ok(())
    }

    fn name(&mut self) -> io::Result<()> {
        let name = safe(&self.name);
        self.painted(NAME, name.as_bytes())
    }

    fn between(&mut self) -> io::Result<()> {
        self.painted(BETWEEN, b":")
    }

    /// A part of a line: its bytes, or what a terminal may be given of them.
    fn text(&mut self, text: &[u8]) -> io::Result<()> {
        match self.layout.terminal {
            true => self.output.write_all(safe_bytes(text).as_bytes()),
            false => self.output.write_all(text),
        }
    }

    fn painted(&mut self, colour: &str, text: &[u8]) -> io::Result<()> {
        if !self.layout.colour {
            return self.text(text);
        }
        write!(self.output, "\x1b[{colour}m")?;
        self.text(text)?;
        self.output.write_all(b"\x1b[0m")
    }
}
