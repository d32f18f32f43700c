//! The lines around matches, for `-A`, `-B` and `-C`.

use std::collections::VecDeque;
use std::io::{self, Write};

/// The number of lines that are printed around each match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context {
    /// The lines before a match.
    pub(crate) before: usize,
    /// The lines after a match.
    pub(crate) after: usize,
}

/// Prints the matches of one text with the lines around them.
///
/// Lines that follow one another are a group. A separator is printed before each group, also before
/// the first one of the text, since earlier texts may have printed some; [`WithoutFirst`] takes away
/// the very first.
#[derive(Debug)]
pub(super) struct Groups {
    context: Context,
    separator: &'static [u8],
    /// The last lines without a match, as they would be printed; no more than are printed before a
    /// match.
    held: VecDeque<Vec<u8>>,
    /// The number of the next lines that are printed even if they do not match.
    after_left: usize,
    /// Whether a line was left out since the last printed one.
    is_apart: bool,
}

impl Groups {
    /// Creates the groups of a text.
    pub(super) fn new(context: Context, has_colour: bool) -> Self {
        let separator = separator(has_colour);
        Self { context, separator, held: VecDeque::new(), after_left: 0, is_apart: true }
    }

    /// The number of lines to hold: those that may be printed before a match.
    pub(super) fn before(&self) -> usize {
        self.context.before
    }

    /// The number of the next lines that are printed even if they do not match.
    pub(super) fn after_left(&self) -> usize {
        self.after_left
    }

    /// Prints a line with a match, given as it is printed, after the lines before it.
    pub(super) fn select(&mut self, printed: &[u8], output: &mut impl Write) -> io::Result<()> {
        if self.is_apart {
            output.write_all(self.separator)?;
            self.is_apart = false;
        }
        for line in self.held.drain(..) {
            output.write_all(&line)?;
        }
        self.after_left = self.context.after;
        output.write_all(printed)
    }

    /// Takes a line without a match, given as it is printed beside one.
    pub(super) fn pass(&mut self, printed: &[u8], output: &mut impl Write) -> io::Result<()> {
        if self.after_left > 0 {
            self.after_left -= 1;
            return output.write_all(printed);
        }
        self.held.push_back(printed.to_vec());
        if self.held.len() > self.context.before {
            self.held.pop_front();
            self.is_apart = true;
        }
        Ok(())
    }

    /// Takes some lines without a match that are not printed.
    pub(super) fn skip(&mut self) {
        self.held.clear();
        self.is_apart = true;
    }
}

/// The line between two groups.
fn separator(has_colour: bool) -> &'static [u8] {
    if has_colour { b"\x1b[36m--\x1b[0m\n" } else { b"--\n" }
}

/// The output without the separator of the first group, which stands at its beginning.
#[derive(Debug)]
pub(super) struct WithoutFirst<W> {
    output: W,
    /// What is taken away from the beginning of the next write.
    separator: &'static [u8],
}

impl<W: Write> WithoutFirst<W> {
    /// Wraps the output of all groups; `has_groups` is false if there are none, and so no separator.
    pub(super) fn new(output: W, has_groups: bool, has_colour: bool) -> Self {
        let separator = if has_groups { separator(has_colour) } else { b"" };
        Self { output, separator }
    }
}

impl<W: Write> Write for WithoutFirst<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let separator = std::mem::take(&mut self.separator);
        match bytes.strip_prefix(separator) {
            Some(rest) if !separator.is_empty() => {
                self.output.write_all(rest)?;
                Ok(bytes.len())
            }
            _ => self.output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::{Context, Groups, WithoutFirst};

    /// The lines that are printed: those close to a match, and a separator between those that do not
    /// follow one another.
    fn naive(matches: &[bool], Context { before, after }: Context) -> String {
        let is_printed = |line: usize| {
            let (from, to) = (line.saturating_sub(after), (line + before + 1).min(matches.len()));
            matches[from..to].contains(&true)
        };
        let (mut text, mut last) = (String::new(), None);
        for line in (0..matches.len()).filter(|line| is_printed(*line)) {
            if last.is_some_and(|last| last + 1 < line) {
                text += "--\n";
            }
            text += &format!("{line}\n");
            last = Some(line);
        }
        text
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn groups_are_the_lines_near_matches(
            matches in prop::collection::vec(prop::bool::weighted(0.2), 0..60),
            before in 0usize..4,
            after in 0usize..4,
        ) {
            let context = Context { before, after };
            let mut printed = Vec::new();
            let mut output = WithoutFirst::new(&mut printed, true, false);
            let mut groups = Groups::new(context, false);
            for (line, is_match) in matches.iter().enumerate() {
                let line = format!("{line}\n");
                match is_match {
                    true => groups.select(line.as_bytes(), &mut output).expect("memory"),
                    false => groups.pass(line.as_bytes(), &mut output).expect("memory"),
                }
            }
            output.flush().expect("memory");
            prop_assert_eq!(String::from_utf8_lossy(&printed), naive(&matches, context));
        }
    }
}
