//! A JSON object around a line: one member holds the line, the others are fields. The member is a text, or an
//! object that is a line itself.
//!
//! ```text
//! {"MESSAGE":"192.0.2.7 - - [...","_HOSTNAME":"web1","_SYSTEMD_UNIT":"nginx.service"}
//! {"log":"{\\"remote_addr\\":\\"192.0.2.7\\",...}\\n","kubernetes":{"pod_name":"web-5d"}}
//! {"_index":"web-2025.12","_id":"f7","_source":{"remote_addr":"192.0.2.7",...}}
//! ```
//!
//! Collectors write lines in this form: journald, docker, fluentd, Filebeat, Vector, and those of
//! clouds. The line is decoded into the buffer for decoded values, so a record borrows from there. Its own
//! time counts; that of the object only if the line has none.

use super::{JsonProgram, KeyEntry, Reading};
use crate::format::program::keyed::DecodeBuffer;
use crate::format::program::mismatch::{Mismatch, Reason};
use crate::format::program::sink::{LineState, Sink};
use crate::record::Record;
use crate::value::TimeKind;

/// The members of the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::format) struct EnvelopeShape {
    /// The path of the member that holds the line.
    pub(in crate::format) line: String,
    /// The path of the member that has a time, if there is one.
    pub(in crate::format) time: Option<String>,
    /// The names and paths of the members that are fields.
    pub(in crate::format) fields: Vec<(String, String)>,
}

/// Reads the object around a line.
#[derive(Debug, Clone)]
pub(in crate::format) struct Envelope {
    pub(in crate::format) shape: EnvelopeShape,
    program: JsonProgram,
    has_time: bool,
}

impl Envelope {
    /// The envelope of lines whose extra fields have these indices, in the order of the shape's, and
    /// another one for further members. The time is read if `takes_time`.
    pub(in crate::format) fn new(
        shape: EnvelopeShape,
        indices: &[usize],
        more: Option<usize>,
        takes_time: bool,
    ) -> Self {
        let entry = |path: &String, sink| (path.clone(), Reading::Whole(sink));
        let time = shape.time.iter().filter(|_| takes_time);
        let fields = shape.fields.iter().zip(indices);
        let readings = std::iter::once(entry(&shape.line, Sink::Skip))
            .chain(time.map(|path| entry(path, Sink::Time(TimeKind::Any))))
            .chain(fields.map(|((_, path), index)| entry(path, Sink::Extra(*index))));
        let entries = readings.enumerate();
        let entries = entries.map(|(group, (path, reading))| KeyEntry { path, group, reading });
        let mut program = JsonProgram::new(entries.collect(), vec![0], false);
        program.more = more;
        program.take_whole(0);
        let has_time = program.has_time();
        Self { shape, program, has_time }
    }

    /// Whether the time of the object is that of the record.
    pub(in crate::format) fn has_time(&self) -> bool {
        self.has_time
    }

    /// Reads the object, and returns the line in it without its line end, and its offset.
    pub(in crate::format) fn read<'a>(
        &self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(&'a [u8], usize), Mismatch> {
        self.program.parse(line, decoded, record, state).map_err(without_index)?;
        // The program requires it.
        let Some(span) = state.json_values.get(0) else { return Ok((&[], 0)) };
        let is_string = span.start().checked_sub(1).is_some_and(|quote| line[quote] == b'"');
        let inside = match span.of(line) {
            object @ [b'{', ..] if !is_string => object,
            list @ [b'[', ..] if !is_string => decoded.decode_list(list),
            text => decoded.decode(text),
        };
        let inside = inside.strip_suffix(b"\n").unwrap_or(inside);
        Ok((inside.strip_suffix(b"\r").unwrap_or(inside), span.start()))
    }
}

/// The mismatch without the numbers of the object's entries, which are not those of the line's format.
fn without_index(mismatch: Mismatch) -> Mismatch {
    let reason = match mismatch.reason {
        Reason::Missing(0) => Reason::Form("the JSON object lacks the member that holds the line"),
        Reason::Missing(_) => Reason::Form("the JSON object lacks the member that holds its time"),
        Reason::Value(_) => Reason::Form("the time of the JSON object is not a time"),
        reason => reason,
    };
    Mismatch::new(mismatch.at, reason)
}
