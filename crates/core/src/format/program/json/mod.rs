//! Formats whose lines are JSON objects (RFC 8259).
//!
//! A line is scanned once. The scan notes the ranges of the scalars at the keys of the format;
//! they are read after the whole object has turned out to be valid. Texts are stored as they
//! are between their quotes; those with escapes are decoded ([`escape`]).
//!
//! ```text
//! keys      client, request.path, took
//! line      {"client":"192.0.2.7","request":{"path":"\/a","size":3},"took":0.25}
//! ranges               192.0.2.7                     \/a                   0.25
//! ```
//!
//! The keys of the format are a tree, so the scan of a nested object looks only at the keys below
//! it. A key with dots in it matches a path, because some encoders flatten objects.
//!
//! # Missing and empty values
//!
//! A line needs a time and, if the format has them, a status or a request line: otherwise any JSON
//! log would be an access log. Other keys may be missing. A number, a status or a client that is
//! empty counts as missing; an empty text is a value.

mod escape;
mod keys;
mod scan;

pub(crate) use escape::DecodeBuffer;
pub(in crate::format) use escape::unescape;
pub(in crate::format) use keys::Keys;
pub(in crate::format) use scan::scan;

use memchr::memchr;

use super::line_program::LineProgram;
use super::mismatch::{Explanation, Mismatch, Reason};
use super::sink::{LineState, Sink};
use super::span::Span;
use crate::field::Field;
use crate::record::Record;
use crate::schema::RecordKind;

/// Reads lines that are JSON objects.
#[derive(Debug, Clone)]
pub(in crate::format) struct JsonProgram {
    keys: Keys,
    entries: Vec<KeyEntry>,
    /// A line must have a value for at least one entry of each list.
    requirements: Vec<Vec<usize>>,
    /// The kind of the objects' records.
    pub(in crate::format) kind: RecordKind,
}

/// A key and the meaning of its value.
#[derive(Debug, Clone)]
pub(in crate::format) struct KeyEntry {
    /// The key's path, such as `request.headers.User-Agent`.
    pub(in crate::format) path: String,
    /// The entries of a group are adjacent and alternatives: the first one in the line is read.
    pub(in crate::format) group: usize,
    pub(in crate::format) reading: Reading,
}

/// How a value is read.
#[derive(Debug, Clone)]
pub(in crate::format) enum Reading {
    Whole(Sink),
    Parts(LineProgram),
}

impl Reading {
    /// Whether an empty value counts as absent.
    fn needs_value(&self) -> bool {
        match self {
            Self::Whole(sink) => !sink.is_text(),
            Self::Parts(_) => false,
        }
    }

    /// Whether the value fills `field`.
    pub(in crate::format) fn fills(&self, field: Field) -> bool {
        match self {
            Self::Whole(sink) => sink.fields().contains(&field),
            Self::Parts(program) => {
                program.values.iter().any(|value| value.sink.fields().contains(&field))
            }
        }
    }

    /// Reads the value. The error is the offset in the value where it stops matching.
    fn read<'a>(
        &self,
        value: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), usize> {
        match self {
            Self::Whole(sink) => sink.store(value, record, state).ok_or(0),
            Self::Parts(program) => {
                program.parse(value, record, state).map_err(|mismatch| mismatch.at)
            }
        }
    }
}

impl JsonProgram {
    /// A program for `entries`, whose groups are adjacent. The groups in `required_groups` and
    /// the time are required. If the format has a status or a request line, one of them is
    /// required too, unless `may_lack_request`. Otherwise other lines of a program in JSON would be
    /// read as requests.
    pub(in crate::format) fn new(
        entries: Vec<KeyEntry>,
        mut required_groups: Vec<usize>,
        may_lack_request: bool,
    ) -> Self {
        let group_filled_with = |field| {
            entries.iter().find(|entry| entry.reading.fills(field)).map(|entry| entry.group)
        };
        required_groups.extend(group_filled_with(Field::Time));
        required_groups.sort_unstable();
        required_groups.dedup();
        let members = |group: &usize| {
            let in_group = |(_, entry): &(usize, &KeyEntry)| entry.group == *group;
            entries.iter().enumerate().filter(in_group).map(|(index, _)| index).collect()
        };
        let mut requirements: Vec<Vec<usize>> = required_groups.iter().map(members).collect();
        let one_of = [Field::Status, Field::Request].map(group_filled_with);
        let one_of: Vec<usize> = one_of.into_iter().flatten().collect();
        let is_required = one_of.iter().any(|group| required_groups.contains(group));
        if !is_required && !may_lack_request && !one_of.is_empty() {
            requirements.push(one_of.iter().flat_map(members).collect());
        }
        let keys = Keys::new(entries.iter().map(|entry| entry.path.as_str()));
        Self { keys, entries, requirements, kind: RecordKind::Request }
    }

    /// Reads a line into an empty record. Texts with escapes are decoded into `decoded`.
    pub(in crate::format) fn parse<'a>(
        &self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        let mut found = std::mem::take(&mut state.json_values);
        found.clear();
        found.resize(self.entries.len(), Span::NONE);
        let outcome = self.read(line, decoded, &mut found, record, state);
        state.json_values = found;
        outcome
    }

    /// Scans the line, checks the requirements and reads the values. `found` has one element per
    /// entry.
    fn read<'a>(
        &self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        found: &mut [Span],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        let object = scan(line, &self.keys, found)
            .map_err(|fault| Mismatch::new(fault.at, Reason::Json(fault.message)))?;
        for (entry, span) in self.entries.iter().zip(found.iter_mut()) {
            if span.is_empty() && entry.reading.needs_value() {
                *span = Span::NONE;
            }
        }
        let is_missing =
            |entries: &Vec<usize>| entries.iter().all(|index| !found[*index].is_some());
        if let Some(index) = self.requirements.iter().position(is_missing) {
            return Err(Mismatch::new(object.end, Reason::Missing(index as u16)));
        }
        let mut last_group = usize::MAX;
        for (index, (entry, span)) in self.entries.iter().zip(found.iter()).enumerate() {
            if entry.group == last_group || !span.is_some() {
                continue;
            }
            last_group = entry.group;
            let value = match span.of(line) {
                text if object.has_escapes && memchr(b'\\', text).is_some() => decoded.decode(text),
                text => text,
            };
            entry
                .reading
                .read(value, record, state)
                .map_err(|at| Mismatch::new(span.start() + at, Reason::Value(index as u16)))?;
        }
        Ok(())
    }

    /// Describes a mismatch.
    pub(in crate::format) fn explain(&self, mismatch: Mismatch) -> String {
        let (value, kind) = match mismatch.reason {
            Reason::Value(index) => {
                let entry = &self.entries[usize::from(index)];
                let kind = match &entry.reading {
                    Reading::Whole(sink) => sink.kind(),
                    Reading::Parts(_) => "a text in the format's notation",
                };
                (format!("`{}`", entry.path), kind)
            }
            Reason::Missing(index) => (self.names(&self.requirements[usize::from(index)]), ""),
            _ => (String::new(), ""),
        };
        Explanation { reason: mismatch.reason, value: &value, kind, follows: "" }.to_string()
    }

    /// The keys of a requirement in words: all of them, or the first and the number of others.
    fn names(&self, entries: &[usize]) -> String {
        let name = |index: &usize| format!("`{}`", self.entries[*index].path);
        match entries {
            [first, _, _, _, ..] => {
                format!("{} or one of {} other keys", name(first), entries.len() - 1)
            }
            _ => entries.iter().map(name).collect::<Vec<_>>().join(" or "),
        }
    }

    /// Whether a time is among the values.
    pub(in crate::format) fn has_time(&self) -> bool {
        self.entries.iter().any(|entry| entry.reading.fills(Field::Time))
    }
}
