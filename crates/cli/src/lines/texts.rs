//! The texts in an input: one in a file, several in an archive.

use std::io;
use std::ops::ControlFlow;

use weir_ingest::{Input, Text};

use crate::outcome::say;
use crate::sources::{Complaint, complaints};
use crate::terminal::{safe, separated};

/// Why a text was not read to its end.
pub(crate) enum Failed {
    /// The text could not be read on.
    Input(io::Error),
    /// It makes no sense to read on, for this reason.
    Sentence(String),
    /// The output could not be written.
    Output(io::Error),
}

/// Gives every text of an input to `visit`, and what could not be read.
///
/// # Errors
/// Where the output cannot be written.
pub(crate) fn each_text(
    input: &Input,
    mut visit: impl FnMut(&mut Text<'_>) -> Result<(), Failed>,
) -> io::Result<Vec<Complaint>> {
    let mut own = Vec::new();
    let mut output = Ok(());
    let faults = input.read(&mut |text| {
        let sentence = match visit(text) {
            Ok(()) => return ControlFlow::Continue(()),
            Err(Failed::Input(error)) => text.error(&error).to_string(),
            Err(Failed::Sentence(sentence)) => sentence,
            Err(Failed::Output(error)) => {
                output = Err(error);
                return ControlFlow::Break(());
            }
        };
        own.push(Complaint { name: text.name().to_owned(), sentence });
        ControlFlow::Continue(())
    });
    output?;
    own.extend(complaints(faults));
    Ok(own)
}

/// Says how many lines of texts did not fit the format.
pub(crate) fn say_unmatched<'a>(texts: impl IntoIterator<Item = &'a (String, u64)>) {
    for (name, lines) in texts {
        let lines = match lines {
            1 => "1 line does".to_owned(),
            lines => format!("{} lines do", separated(*lines)),
        };
        say(format_args!("{}: {lines} not fit the format", safe(name)));
    }
}
