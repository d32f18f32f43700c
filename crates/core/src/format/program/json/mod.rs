//! Formats whose lines are JSON objects (RFC 8259).
//!
//! A line is walked once; the scalars at the keys that the format knows are remembered as
//! places in the line, and read when the whole object has turned out to be sound. Texts are
//! kept as they stand between their quotes, escapes included.

mod keys;
mod scan;

pub(in crate::format) use keys::Keys;
pub(in crate::format) use scan::scan;

use super::line_program::LineProgram;
use super::mismatch::{Explanation, Mismatch, Reason};
use super::sink::{LineState, Sink};
use super::span::Span;
use crate::field::Field;
use crate::record::Record;

/// The keys of a format and what to do with their values.
#[derive(Debug, Clone)]
pub(in crate::format) struct JsonProgram {
    keys: Keys,
    entries: Vec<Entry>,
    /// Of each of these lists of entries, one has to be there.
    requirements: Vec<Vec<usize>>,
}

/// A key and its value's meaning.
#[derive(Debug, Clone)]
pub(in crate::format) struct Entry {
    /// The key's path, such as `request.headers.User-Agent`.
    pub(in crate::format) path: String,
    /// Entries of one group, which stand together, are alternatives: the first that the
    /// line has is read.
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
    /// True where an empty value means that there is none.
    fn needs_value(&self) -> bool {
        match self {
            Self::Whole(Sink::Client | Sink::ClientWithPort) => true,
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

    /// Reads the value; where it is not of its kind, says where in it.
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
    /// A program for `entries`, whose groups stand together. The time is always required,
    /// and so are the groups named; where the format has a status or a request line, one of
    /// them is.
    pub(in crate::format) fn new(entries: Vec<Entry>, mut required_groups: Vec<usize>) -> Self {
        let group_filled_with = |field| {
            entries.iter().find(|entry| entry.reading.fills(field)).map(|entry| entry.group)
        };
        required_groups.extend(group_filled_with(Field::Time));
        required_groups.sort_unstable();
        required_groups.dedup();
        let members = |group: &usize| {
            let in_group = |(_, entry): &(usize, &Entry)| entry.group == *group;
            entries.iter().enumerate().filter(in_group).map(|(index, _)| index).collect()
        };
        let mut requirements: Vec<Vec<usize>> = required_groups.iter().map(members).collect();
        let telling = [Field::Status, Field::Request].map(group_filled_with);
        let telling: Vec<usize> = telling.into_iter().flatten().collect();
        if !telling.iter().any(|group| required_groups.contains(group)) && !telling.is_empty() {
            requirements.push(telling.iter().flat_map(members).collect());
        }
        let keys = Keys::new(entries.iter().map(|entry| entry.path.as_str()));
        Self { keys, entries, requirements }
    }

    /// Reads a line into an empty record.
    pub(in crate::format) fn parse<'a>(
        &self,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        let mut found = std::mem::take(&mut state.json_values);
        found.clear();
        found.resize(self.entries.len(), Span::NONE);
        let outcome = self.read(line, &mut found, record, state);
        state.json_values = found;
        outcome
    }

    fn read<'a>(
        &self,
        line: &'a [u8],
        found: &mut [Span],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        let end = scan(line, &self.keys, found)
            .map_err(|fault| Mismatch::new(fault.at, Reason::Json(fault.message)))?;
        for (entry, span) in self.entries.iter().zip(found.iter_mut()) {
            if span.is_empty() && entry.reading.needs_value() {
                *span = Span::NONE;
            }
        }
        let is_missing =
            |entries: &Vec<usize>| entries.iter().all(|index| !found[*index].is_some());
        if let Some(index) = self.requirements.iter().position(is_missing) {
            return Err(Mismatch::new(end, Reason::Missing(index as u16)));
        }
        let mut last_group = usize::MAX;
        for (index, (entry, span)) in self.entries.iter().zip(found.iter()).enumerate() {
            if entry.group == last_group || !span.is_some() {
                continue;
            }
            last_group = entry.group;
            entry
                .reading
                .read(span.of(line), record, state)
                .map_err(|at| Mismatch::new(span.start() + at, Reason::Value(index as u16)))?;
        }
        Ok(())
    }

    /// Puts a mismatch into words.
    pub(in crate::format) fn explain(&self, mismatch: Mismatch) -> String {
        let (value, kind) = match mismatch.reason {
            Reason::Value(index) => {
                let entry = &self.entries[usize::from(index)];
                let kind = match &entry.reading {
                    Reading::Whole(sink) => sink.kind(),
                    Reading::Parts(_) => "a text of the format's form",
                };
                (format!("`{}`", entry.path), kind)
            }
            Reason::Missing(index) => (self.names(&self.requirements[usize::from(index)]), ""),
            _ => (String::new(), ""),
        };
        Explanation { reason: mismatch.reason, value: &value, kind, follows: "" }.to_string()
    }

    /// The first of the keys, and that there are others.
    fn names(&self, entries: &[usize]) -> String {
        let name = |index: &usize| format!("`{}`", self.entries[*index].path);
        match entries {
            [first, _, _, _, ..] => {
                format!("{}, by this or one of {} other names", name(first), entries.len() - 1)
            }
            _ => entries.iter().map(name).collect::<Vec<_>>().join(" or "),
        }
    }

    /// True where a time is among the values.
    pub(in crate::format) fn has_time(&self) -> bool {
        self.entries.iter().any(|entry| entry.reading.fills(Field::Time))
    }
}
