//! Formats that no definition describes: parts that may be missing, or texts that hold what
//! looks like the parts behind them.

mod apache_error;
mod firewall;
mod haproxy;
mod nginx_error;

use super::mismatch::{Mismatch, Reason};
use super::target::LineState;
use super::{Format, Program};
use crate::field::Field;
use crate::record::Record;

/// A format that is read by a function.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnProgram {
    parse: Parse,
    has_target: bool,
    lacks_year: bool,
}

type Parse = for<'a> fn(&'a [u8], &mut Record<'a>, &mut LineState) -> Result<(), Mismatch>;

/// What such a format is made of.
struct Own {
    name: &'static str,
    fields: &'static [Field],
    extra_fields: &'static [&'static str],
    parse: Parse,
    /// True where times have no year.
    lacks_year: bool,
}

const ALL: [&Own; 4] =
    [&haproxy::HAPROXY, &nginx_error::NGINXERROR, &apache_error::APACHEERROR, &firewall::FIREWALL];

/// The format of that name, whose lines have such a shape.
pub(super) fn by_name(name: &str, shape: &str) -> Option<Format> {
    let own = ALL.into_iter().find(|own| own.name == name)?;
    let mut fields = own.fields.to_vec();
    fields.sort_unstable();
    let program = OwnProgram {
        parse: own.parse,
        has_target: own.fields.contains(&Field::Path),
        lacks_year: own.lacks_year,
    };
    Some(Format {
        name: own.name.to_owned(),
        definition: shape.to_owned(),
        extra_fields: own.extra_fields.iter().map(|name| (*name).to_owned()).collect(),
        fields,
        program: Program::Own(program),
        year_reference_s: None,
        wrapper: None,
        takes_wrapper_time: false,
    })
}

impl OwnProgram {
    /// Reads a line into an empty record.
    pub(super) fn parse<'a>(
        self,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        (self.parse)(line, record, state)
    }

    pub(super) fn has_target(self) -> bool {
        self.has_target
    }

    pub(super) fn lacks_year(self) -> bool {
        self.lacks_year
    }
}

/// The line does not have its form at `at`.
fn misfit(at: usize, reason: &'static str) -> Mismatch {
    Mismatch::new(at, Reason::Form(reason))
}

/// Walks a line from its start.
struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        &self.line[self.at..]
    }

    /// Passes this text.
    fn pass(&mut self, text: &[u8], reason: &'static str) -> Result<(), Mismatch> {
        if !self.rest().starts_with(text) {
            return Err(misfit(self.at, reason));
        }
        self.at += text.len();
        Ok(())
    }

    /// What stands before the next such byte, which is passed over too.
    fn before(&mut self, byte: u8, reason: &'static str) -> Result<&'a [u8], Mismatch> {
        let rest = self.rest();
        let length = memchr::memchr(byte, rest).ok_or(misfit(self.at, reason))?;
        self.at += length + 1;
        Ok(&rest[..length])
    }
}
