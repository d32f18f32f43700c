//! The texts in an input: one in a file, several in an archive.

use std::io;
use std::ops::ControlFlow;

use weir_ingest::{Input, SourceSnapshot, Text};

use crate::display::{safe, separated};
use crate::messages::{MESSAGES_MAX, files};
use crate::outcome::say;
use crate::sources::{Complaint, complaints};
use crate::unmatched::no_known_format;

/// Why a text was not scanned to its end.
#[derive(Debug)]
pub(crate) enum ScanError {
    /// The text could not be read further.
    Input(io::Error),
    /// The output could not be written.
    Output(io::Error),
}

/// The lines of a text that are not records.
#[derive(Debug)]
pub(crate) struct UnparsedLines {
    pub(crate) text: String,
    /// Those that do not match the format.
    pub(crate) unparsed: u64,
    /// Those over 1 MiB, which are not parsed.
    pub(crate) too_long: u64,
    /// Why no line is a record, if the text has no known format.
    pub(crate) unread: Option<String>,
}

impl UnparsedLines {
    /// Returns those of a source; `None` if there are none.
    pub(crate) fn of_source(source: &SourceSnapshot) -> Option<Self> {
        let lines = Self {
            text: source.name.clone(),
            unparsed: source.unparsed_lines,
            too_long: source.too_long_lines,
            unread: source.format.is_none().then(|| no_known_format(source)),
        };
        lines.if_any()
    }

    /// Returns the number of lines.
    pub(crate) fn count(&self) -> u64 {
        self.unparsed + self.too_long
    }

    fn if_any(self) -> Option<Self> {
        (self.count() > 0).then_some(self)
    }

    /// Returns why the lines are not records.
    fn sentence(&self) -> String {
        match &self.unread {
            Some(why) => why.clone(),
            None => left_out(self.unparsed, self.too_long),
        }
    }
}

/// Calls `visit` for every text of an input. Returns complaints about the parts that could not be
/// read.
///
/// # Errors
/// If the output cannot be written.
pub(crate) fn for_each_text(
    input: &Input,
    mut visit: impl FnMut(&mut Text<'_>) -> Result<(), ScanError>,
) -> io::Result<Vec<Complaint>> {
    let mut visit_complaints = Vec::new();
    let mut output = Ok(());
    let faults = input.read(&mut |text| {
        let sentence = match visit(text) {
            Ok(()) => return ControlFlow::Continue(()),
            Err(ScanError::Input(error)) => text.error(&error).to_string(),
            Err(ScanError::Output(error)) => {
                output = Err(error);
                return ControlFlow::Break(());
            }
        };
        visit_complaints.push(Complaint { name: text.name().to_owned(), sentence });
        ControlFlow::Continue(())
    });
    output?;
    visit_complaints.extend(complaints(faults));
    Ok(visit_complaints)
}

/// Prints the number of lines of each text that are not records. If there are many texts, the last
/// ones are summed up.
pub(crate) fn report_unparsed<'a>(texts: impl IntoIterator<Item = &'a UnparsedLines>) {
    let (mut others, mut unparsed, mut too_long) = (0, 0, 0);
    for (index, lines) in texts.into_iter().enumerate() {
        if index < MESSAGES_MAX {
            say(format_args!("{}: {}", safe(&lines.text), lines.sentence()));
        } else {
            others += 1;
            unparsed += lines.unparsed;
            too_long += lines.too_long;
        }
    }
    if others > 0 {
        say(format_args!("{}: {}", files(others, "more"), left_out(unparsed, too_long)));
    }
}

/// Returns how many lines are not records, and why.
fn left_out(unparsed: u64, too_long: u64) -> String {
    let unparsed = match unparsed {
        0 => None,
        1 => Some("1 line does not match the format".to_owned()),
        lines => Some(format!("{} lines do not match the format", separated(lines))),
    };
    let too_long = match too_long {
        0 => None,
        1 => Some("1 line is over 1 MiB long and was left out".to_owned()),
        lines => Some(format!("{} lines are over 1 MiB long and were left out", separated(lines))),
    };
    unparsed.into_iter().chain(too_long).collect::<Vec<_>>().join("; ")
}
