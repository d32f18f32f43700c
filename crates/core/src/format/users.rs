//! Formats whose lines have a user that a client chooses.

use std::sync::Arc;

use super::compiled::Format;
use super::program::Program;
use super::program::line_program::LineProgram;
use super::program::mismatch::Mismatch;

impl Format {
    /// The same format for a log that is known to be in it: of a line, everything between the client's
    /// dash and the time is the user, also if it looks like other values. Otherwise a client could choose a
    /// user with which its requests are not read, or are read as those of another client. The format
    /// itself, if no client chooses a user.
    pub(super) fn with_any_user(format: &Arc<Self>) -> Arc<Self> {
        let Some(program) = line_program(format).and_then(LineProgram::with_any_user) else {
            return format.clone();
        };
        let mut format = Self::clone(format);
        format.set_program(Program::Line(program));
        Arc::new(format)
    }

    /// Whether a client chooses the user of a line, which stands between other values.
    pub(super) fn has_user(&self) -> bool {
        line_program(self).is_some_and(|program| program.with_any_user().is_some())
    }

    /// Whether the user of a line, or where it ends, may be why the line does not match.
    pub(super) fn refuses_user(&self, mismatch: Mismatch) -> bool {
        line_program(self).is_some_and(|program| program.is_about_user(mismatch))
    }
}

fn line_program(format: &Format) -> Option<&LineProgram> {
    match format.program() {
        Program::Line(program) => Some(program),
        _ => None,
    }
}
