//! Prints matching lines.

use std::io::{self, Write};

use weir_view::LogLine;

use super::context::Context;
use super::pattern::Pattern;
use crate::display::{safe, safe_bytes, safe_rows};
use crate::options::OutputKind;

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Whether the name of the file is printed before each line.
    pub(super) has_names: bool,
    /// Whether it is printed before the lines of files in archives.
    pub(super) has_member_names: bool,
    /// Whether the number of the line is printed before it.
    pub(super) has_numbers: bool,
    /// Whether each match is printed alone.
    pub(super) is_only_matching: bool,
    /// Whether only the number of lines is printed.
    pub(super) is_count: bool,
    /// Whether only the names of files with a match are printed.
    pub(super) is_list: bool,
    /// Whether nothing is printed.
    pub(super) is_quiet: bool,
    /// Whether the lines that do not match are selected.
    pub(super) is_inverted: bool,
    /// The number of matching lines after which a text is not searched further.
    pub(super) lines_max: Option<u64>,
    /// The lines around matches; `None` if only matches are printed.
    pub(super) context: Option<Context>,
    /// Whether the lines of a block are written at once, because the next may come much later.
    pub(super) is_line_buffered: bool,
    /// Whether lines are printed, or their fields.
    pub(super) output: OutputKind,
    /// Whether the output is a terminal, which must not interpret control characters of the log.
    pub(super) is_terminal: bool,
    /// Whether matches are shown in colour.
    pub(super) has_colour: bool,
}

impl Layout {
    /// Whether a line may be printed or not by how many others were.
    pub(super) fn depends_on_others(&self) -> bool {
        self.context.is_some() || self.lines_max.is_some()
    }

    /// Whether this many matching lines are all that are printed of a text.
    pub(super) fn is_full(&self, lines: u64) -> bool {
        self.lines_max.is_some_and(|max| lines >= max)
            || (self.is_list || self.is_quiet) && lines > 0
    }
}

/// What stands after the name and the number of a line.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Match,
    Context,
}

/// The colours of grep.
const NAME: &str = "35";
const NUMBER: &str = "32";
const SEPARATOR: &str = "36";
const MATCH: &str = "1;31";

/// Prints the lines of one part of a text.
pub(super) struct Printer<'a, W> {
    layout: &'a Layout,
    pattern: &'a Pattern,
    name: &'a str,
    /// Whether the name is printed before each line.
    has_names: bool,
    output: &'a mut W,
    lines: u64,
}

impl<'a, W: Write> Printer<'a, W> {
    /// Creates a printer for the text of that name, which is printed before each line if it
    /// `has_names`.
    pub(super) fn new(
        layout: &'a Layout,
        pattern: &'a Pattern,
        name: &'a str,
        has_names: bool,
        output: &'a mut W,
    ) -> Self {
        Self { layout, pattern, name, has_names, output, lines: 0 }
    }

    /// The same printer for a text of which this many lines have matched already.
    pub(super) fn after(self, lines: u64) -> Self {
        Self { lines, ..self }
    }

    /// The number of lines that matched.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Whether further lines cannot change the output.
    pub(super) fn is_done(&self) -> bool {
        self.layout.is_full(self.lines)
    }

    /// Prints a matching line, given with or without its line feed. `value` is the value of the
    /// field that was searched instead of the line.
    pub(super) fn raw(&mut self, number: u64, line: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        self.lines += 1;
        if self.layout.is_count || self.layout.is_list || self.layout.is_quiet {
            return Ok(());
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if self.layout.is_only_matching {
            return self.print_matches(number, value.unwrap_or(line));
        }
        self.print_prefix(number, Mark::Match)?;
        if self.layout.has_colour && !self.layout.is_inverted {
            self.print_coloured(line, value)?;
        } else {
            self.print_text(line)?;
        }
        self.output.write_all(b"\n")
    }

    /// Prints a line that stands near a matching one.
    pub(super) fn context(&mut self, number: u64, line: &[u8]) -> io::Result<()> {
        if self.layout.is_only_matching {
            return Ok(());
        }
        self.print_prefix(number, Mark::Context)?;
        self.print_text(line.strip_suffix(b"\n").unwrap_or(line))?;
        self.output.write_all(b"\n")
    }

    /// Prints a matching line as a JSON object.
    pub(super) fn json(&mut self, line: &LogLine<'_>) -> io::Result<()> {
        self.lines += 1;
        line.write_json(self.output)
    }

    /// Prints a matching line as a row of CSV.
    pub(super) fn csv(&mut self, line: &LogLine<'_>) -> io::Result<()> {
        self.lines += 1;
        let row = line.csv_row();
        let row = if self.layout.is_terminal { safe_rows(&row) } else { row };
        self.output.write_all(row.as_bytes())
    }

    /// Ends the text. `lines` is the number of lines that matched in all parts.
    pub(super) fn end_text(mut self, lines: u64) -> io::Result<()> {
        if self.layout.is_quiet {
            return Ok(());
        }
        if self.layout.is_list {
            if lines > 0 {
                self.print_name()?;
                self.output.write_all(b"\n")?;
            }
        } else if self.layout.is_count {
            if self.has_names {
                self.print_name()?;
                self.print_mark(Mark::Match)?;
            }
            writeln!(self.output, "{lines}")?;
        }
        Ok(())
    }

    /// Prints each match in a text on a line of its own.
    fn print_matches(&mut self, number: u64, text: &[u8]) -> io::Result<()> {
        if self.layout.is_inverted {
            return Ok(());
        }
        for (start, end) in self.pattern.matches(text) {
            self.print_prefix(number, Mark::Match)?;
            self.print_painted(MATCH, &text[start..end])?;
            self.output.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Prints a line with its matches in colour. The value of a number is not a part of the line,
    /// so it is not coloured.
    fn print_coloured(&mut self, line: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        let (start, value) = match value {
            None => (0, line),
            Some(value) => {
                // A text value is borrowed from the line; its offset follows from the addresses.
                let start = (value.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
                let is_within = start <= line.len() && value.len() <= line.len() - start;
                if is_within { (start, value) } else { (0, &b""[..]) }
            }
        };
        let mut at = 0;
        for (from, to) in self.pattern.matches(value) {
            let (from, to) = (start + from, start + to);
            self.print_text(&line[at..from])?;
            self.print_painted(MATCH, &line[from..to])?;
            at = to;
        }
        self.print_text(&line[at..])
    }

    fn print_prefix(&mut self, number: u64, mark: Mark) -> io::Result<()> {
        if self.has_names {
            self.print_name()?;
            self.print_mark(mark)?;
        }
        if self.layout.has_numbers {
            self.print_painted(NUMBER, number.to_string().as_bytes())?;
            self.print_mark(mark)?;
        }
        Ok(())
    }

    fn print_name(&mut self) -> io::Result<()> {
        let name = safe(self.name);
        self.print_painted(NAME, name.as_bytes())
    }

    fn print_mark(&mut self, mark: Mark) -> io::Result<()> {
        let text = match mark {
            Mark::Match => b":",
            Mark::Context => b"-",
        };
        self.print_painted(SEPARATOR, text)
    }

    /// Prints a part of a line: its bytes, or in a terminal their escaped form.
    fn print_text(&mut self, text: &[u8]) -> io::Result<()> {
        match self.layout.is_terminal {
            true => self.output.write_all(safe_bytes(text).as_bytes()),
            false => self.output.write_all(text),
        }
    }

    fn print_painted(&mut self, colour: &str, text: &[u8]) -> io::Result<()> {
        if !self.layout.has_colour {
            return self.print_text(text);
        }
        write!(self.output, "\x1b[{colour}m")?;
        self.print_text(text)?;
        self.output.write_all(b"\x1b[0m")
    }
}
