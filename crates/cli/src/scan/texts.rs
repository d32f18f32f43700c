//! The texts in an input: one in a file, several in an archive.

use std::io;
use std::ops::ControlFlow;

use weir_ingest::{Input, Text};

use crate::display::{safe, separated};
use crate::messages::{MESSAGES_MAX, files, no_known_format};
use crate::outcome::say;
use crate::sources::{Complaint, complaints};

/// Why a text was not scanned to its end.
#[derive(Debug)]
pub(crate) enum ScanError {
    /// The text could not be read further.
    Input(io::Error),
    /// The text lacks a field that was asked for; a sentence.
    Field(String),
    /// The output could not be written.
    Output(io::Error),
}

/// The lines of a text that could not be parsed.
#[derive(Debug)]
pub(crate) struct UnparsedLines {
    pub(crate) text: String,
    pub(crate) lines: u64,
    /// Whether the text has a known format. If not, these are all of its lines.
    pub(crate) is_format_known: bool,
}

/// Calls `visit` for every text of an input. Returns what could not be read.
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
            Err(ScanError::Field(sentence)) => sentence,
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

/// Prints the number of lines of each text that could not be parsed, and those of the last texts
/// together if there are many.
pub(crate) fn report_unparsed<'a>(texts: impl IntoIterator<Item = &'a UnparsedLines>) {
    let (mut others, mut others_lines) = (0, 0);
    for (index, UnparsedLines { text, lines, is_format_known }) in texts.into_iter().enumerate() {
        if index < MESSAGES_MAX && !is_format_known {
            say(format_args!("{}: {}", safe(text), no_known_format(*lines)));
        } else if index < MESSAGES_MAX {
            say_unparsed(&safe(text), *lines);
        } else {
            (others, others_lines) = (others + 1, others_lines + lines);
        }
    }
    if others > 0 {
        say_unparsed(&files(others, "more"), others_lines);
    }
}

fn say_unparsed(text: &str, lines: u64) {
    let lines = match lines {
        1 => "1 line does".to_owned(),
        lines => format!("{} lines do", separated(lines)),
    };
    say(format_args!("{text}: {lines} not match the format"));
}
