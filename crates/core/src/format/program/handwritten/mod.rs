//! Hand-written formats, which no notation can describe: their lines have optional parts, or
//! texts that can look like the parts after them.
//!
//! A program here costs code and tests, so it is the last resort. Each begins with the shape of a
//! line, the reason why no notation fits, and the source of the server that writes it. Texts that a
//! client chooses are read so that it cannot forge the fields after them; see for instance the
//! client of nginx's error log.

mod apache_error;
mod crowdsec;
mod cursor;
mod definition;
mod fail2ban;
mod firewall;
mod gin;
mod haproxy;
mod heroku;
mod lighttpd_error;
mod nginx_error;

use self::definition::Definition;
pub use self::nginx_error::{JoinerWait, RecordJoiner, original_lines, record_length};
use super::mismatch::Mismatch;
use super::needs::ByteSet;
use super::sink::LineState;
use crate::field::Field;
use crate::record::Record;
use crate::schema::RecordKind;

const ALL: [&Definition; 11] = [
    &haproxy::HAPROXY,
    &haproxy::HAPROXYTCP,
    &gin::GIN,
    &heroku::HEROKU,
    &nginx_error::NGINXERROR,
    &apache_error::APACHEERROR,
    &apache_error::APACHESYSLOG,
    &lighttpd_error::LIGHTTPDERROR,
    &firewall::FIREWALL,
    &fail2ban::FAIL2BAN,
    &crowdsec::CROWDSEC,
];

/// The program of a hand-written format.
#[derive(Debug, Clone, Copy)]
pub(in crate::format) struct HandwrittenProgram(&'static Definition);

impl HandwrittenProgram {
    /// The program of the format with this name.
    pub(in crate::format) fn by_name(name: &str) -> Option<Self> {
        ALL.into_iter().find(|definition| definition.name == name).map(Self)
    }

    /// The kind of the lines' records.
    pub(in crate::format) fn kind(self) -> RecordKind {
        self.0.kind
    }

    /// The fields that the format fills, sorted.
    pub(in crate::format) fn fields(self) -> Vec<Field> {
        let mut fields = self.0.fields.to_vec();
        fields.sort_unstable();
        fields
    }

    /// The names of the format's extra fields, in the order of their indexes.
    pub(in crate::format) fn extra_fields(self) -> Vec<String> {
        self.0.extra_fields.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Reads a line into an empty record.
    pub(in crate::format) fn parse<'a>(
        self,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        (self.0.parse)(line, record, state)
    }

    /// Characters that each line has.
    pub(super) fn needed_bytes(self) -> ByteSet {
        ByteSet::of(self.0.needed_bytes)
    }

    /// Whether a request target is among the values.
    pub(in crate::format) fn has_request_target(self) -> bool {
        self.0.fields.contains(&Field::Path)
    }

    /// Whether times have no year.
    pub(in crate::format) fn lacks_year(self) -> bool {
        self.0.lacks_year
    }
}
