//! Programs: the compiled definitions, which read lines.
//!
//! | program | lines | notations |
//! |---|---|---|
//! | [`LineProgram`] | literal text and values | nginx, Apache |
//! | [`JsonProgram`] | a JSON object (RFC 8259) | `json:`, nginx with `escape=json` |
//! | [`DelimitedProgram`] | values and a separator | `spaces:`, `tabs:`, `csv:`, W3C |
//! | [`HandwrittenProgram`] | optional parts | none: code in `handwritten` |
//! | [`PackedProgram`] | no lines: records that a program has packed | none: a layout |
//! | [`StoredProgram`] | none: the records are in a file of columns | none: a description |
//!
//! All read a line into a [`Record`] that borrows from it, and return a [`Mismatch`] if the line is
//! not in the format. None allocates, and none fails in another way.
//!
//! # How to read a program
//!
//! A program is data, not code: lists of values, each with a sink ([`sink::Sink`]) that knows the
//! form of the value and the field it fills. How a value is found in the line differs between
//! programs; what is done with it does not.
//!
//! Values are numbered from 0 in the order of the definition. Mismatches refer to these numbers, so
//! that creating one costs nothing, and `explain` turns them into names.
//!
//! # Hostile lines
//!
//! A client chooses much of a line: the request, its headers, the user name. So every program reads
//! a line in time linear in its length, with recursion bounded ([`json`]) or none, and a value that
//! could end in two places ends where the server's escaping says, never where a client could have
//! put the end.

pub(super) mod delimited;
pub(super) mod directive;
pub(super) mod handwritten;
pub(super) mod head;
pub(super) mod json;
pub(super) mod keyed;
pub(super) mod line_program;
mod long_user;
pub(super) mod mismatch;
pub(super) mod needs;
pub(super) mod packed;
pub(super) mod quoted_line;
mod raw_quotes;
pub(in crate::format) mod request_end;
pub(super) mod sink;
pub(super) mod span;
pub(super) mod stored;
pub(super) mod tail;
mod value_end;
pub(super) mod wrapper;

use self::delimited::DelimitedProgram;
use self::handwritten::HandwrittenProgram;
use self::json::JsonProgram;
use self::keyed::DecodeBuffer;
use self::keyed::MemberSyntax;
use self::line_program::LineProgram;
use self::mismatch::{Explanation, Mismatch};
use self::needs::{ByteSet, Needs};
use self::packed::PackedProgram;
use self::sink::{LineState, Sink};
use self::stored::StoredProgram;
use crate::record::Record;
use crate::schema::RecordKind;

/// Reads the lines of one format.
///
/// The variants are matched once for each line. A fast path for the usual text lines comes before
/// ([`quoted_line::QuotedLine`]).
#[derive(Debug, Clone)]
pub(super) enum Program {
    /// Literal text and values in a fixed order.
    Line(LineProgram),
    /// A JSON object with known keys.
    Json(JsonProgram),
    /// Values with a separator between them.
    Delimited(DelimitedProgram),
    /// Lines that no definition can describe.
    Handwritten(HandwrittenProgram),
    /// Records that were never text.
    Packed(PackedProgram),
    Stored(StoredProgram),
}

impl Program {
    /// Reads a line into an empty record. Values that are not bytes of the line are put into
    /// `decoded`.
    ///
    /// # Errors
    /// If the line does not match. The record's content is then unspecified.
    #[inline]
    pub(super) fn parse<'a>(
        &self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        match self {
            Self::Line(program) => program.parse(line, record, state),
            Self::Json(program) => program.parse(line, decoded, record, state),
            Self::Delimited(program) => program.parse(line, record, state),
            Self::Handwritten(program) => program.parse(line, record, state),
            Self::Packed(program) => program.parse(line, record, state.keeps_target),
            Self::Stored(program) => program.parse(),
        }
    }

    /// What each line has that is no directive.
    pub(super) fn needs(&self) -> Needs<'_> {
        let bytes = match self {
            Self::Line(program) => program.needed_bytes(),
            Self::Json(program) => return program.needs(),
            Self::Delimited(program) => program.needed_bytes(),
            Self::Handwritten(program) => program.needed_bytes(),
            Self::Packed(_) | Self::Stored(_) => ByteSet::default(),
        };
        Needs { bytes, keys: &[] }
    }

    /// Whether lines leave the parts of their time in [`LineState::time`]. A hand-written
    /// program sets the record's time itself.
    pub(super) fn has_time_parts(&self) -> bool {
        match self {
            Self::Line(program) => program.has_time(),
            Self::Json(program) => program.has_time(),
            Self::Delimited(program) => program.has_time(),
            Self::Handwritten(_) | Self::Packed(_) | Self::Stored(_) => false,
        }
    }

    /// Whether each line begins with the client. `false` if it is not known.
    pub(super) fn begins_with_client(&self) -> bool {
        matches!(self, Self::Line(program) if program.begins_with_client())
    }

    /// The extra field with the header that the client is taken from, if the lines have no address
    /// of their own.
    pub(in crate::format) fn client_header(&self) -> Option<usize> {
        let Self::Line(program) = self else { return None };
        program.values.iter().find_map(|value| match value.sink {
            Sink::ForwardedFor { extra } => Some(extra),
            _ => None,
        })
    }

    /// Whether the client is that of a header.
    pub(in crate::format) fn has_client_of_header(&self) -> bool {
        self.client_header().is_some()
    }

    /// Whether path and query come from one value, the request target, in every line.
    ///
    /// If so, a reader of blocks interns the target instead of its parts. JSON formats may have the
    /// parts under keys of their own, which differ from line to line.
    pub(super) fn has_request_target(&self) -> bool {
        match self {
            Self::Line(program) => program.has_request_target(),
            Self::Json(_) => false,
            Self::Delimited(program) => program.has_request_target(),
            Self::Handwritten(program) => program.has_request_target(),
            Self::Packed(program) => program.has_request_target(),
            Self::Stored(program) => program.traits.has_request_target,
        }
    }

    /// The kind of the lines' records.
    pub(super) fn kind(&self) -> RecordKind {
        match self {
            Self::Handwritten(program) => program.kind(),
            Self::Delimited(program) => program.kind,
            Self::Json(program) => program.kind,
            Self::Stored(program) => program.kind,
            Self::Packed(program) => program.kind,
            Self::Line(_) => RecordKind::Request,
        }
    }

    /// Whether times have no year.
    ///
    /// Then [`LineState::year_reference_s`] decides it.
    pub(super) fn lacks_year(&self) -> bool {
        match self {
            Self::Handwritten(program) => program.lacks_year(),
            Self::Stored(program) => program.traits.lacks_year,
            _ => false,
        }
    }

    /// Whether a wrapper may stand around the lines: not if directives stand between them, and
    /// not if the program reads a syslog prefix itself.
    pub(super) fn can_be_wrapped(&self) -> bool {
        match self {
            Self::Delimited(program) => !program.has_directives(),
            Self::Packed(_) | Self::Stored(_) => false,
            _ => !self.lacks_year(),
        }
    }

    /// Whether the lines may stand in a member of JSON objects: not if directives stand between them.
    pub(super) fn can_be_quoted(&self) -> bool {
        match self {
            Self::Delimited(program) => !program.has_directives(),
            Self::Packed(_) | Self::Stored(_) => false,
            _ => true,
        }
    }

    /// Whether a value that was read before the mismatch has a form, such as a time: it cannot be
    /// any text. `has_address` tells whether the line begins with an address, so that a client
    /// counts.
    pub(super) fn has_checked(&self, mismatch: Mismatch, has_address: impl Fn() -> bool) -> bool {
        let is_checked = |sink: &Sink| sink.has_form() || sink.is_client() && has_address();
        let values = mismatch.reason.values_before();
        match self {
            Self::Line(program) => {
                program.values.iter().take(values).any(|value| is_checked(&value.sink))
            }
            Self::Delimited(program) => {
                program.parts().take(values).any(|part| is_checked(&part.sink))
            }
            // Any text with a colon or an equals sign has a label and a value.
            Self::Json(program) => program.syntax == MemberSyntax::Json,
            Self::Packed(_) | Self::Stored(_) => true,
            // The others begin with a client, or the time of syslog.
            Self::Handwritten(program) => program.kind() != RecordKind::Request || has_address(),
        }
    }

    /// Describes a mismatch: what was expected at its place.
    pub(super) fn explain(&self, mismatch: Mismatch) -> String {
        match self {
            Self::Line(program) => program.explain(mismatch),
            Self::Json(program) => program.explain(mismatch),
            Self::Delimited(program) => program.explain(mismatch),
            Self::Handwritten(_) | Self::Packed(_) | Self::Stored(_) => {
                Explanation { reason: mismatch.reason, value: "", kind: "", follows: "" }
                    .to_string()
            }
        }
    }
}
