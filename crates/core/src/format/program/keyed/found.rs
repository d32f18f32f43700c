//! The values of a line at the keys of a format.

use super::keys::{Keys, Place};
use super::pairs::MemberSyntax;
use super::scan::{Fault, MemberSink, ScannedObject};
use crate::format::program::span::Span;

/// The ranges of the values of a line, by the entries of a format.
///
/// A format has many more entries than a line has members, so a bit for each entry tells whether
/// there is a value: nothing else has to be cleared for the next line, or looked at.
#[derive(Debug, Clone, Default)]
pub(in crate::format) struct FoundValues {
    spans: Vec<Span>,
    /// A bit for each entry.
    present: Vec<u64>,
    /// A bit for each entry whose value is `null`.
    nulls: Vec<u64>,
    /// A bit for each entry whose key the line has several times with different values.
    repeated: Vec<u64>,
    /// From the first to the last member without an entry.
    others: Option<(usize, usize)>,
}

impl FoundValues {
    /// Scans a line. `entries` is the number of entries of `keys`. A `null` is no value.
    pub(in crate::format) fn scan(
        &mut self,
        syntax: MemberSyntax,
        line: &[u8],
        keys: &Keys,
        entries: usize,
    ) -> Result<ScannedObject, Fault> {
        self.spans.resize(entries, Span::NONE);
        for bits in [&mut self.present, &mut self.nulls, &mut self.repeated] {
            bits.clear();
            bits.resize(entries.div_ceil(64), 0);
        }
        self.others = None;
        syntax.scan(line, &mut Finder { line, keys, found: self })
    }

    /// The value of an entry.
    pub(in crate::format) fn get(&self, entry: usize) -> Option<Span> {
        self.has(entry).then(|| self.spans[entry])
    }

    pub(in crate::format) fn has(&self, entry: usize) -> bool {
        self.present.get(entry / 64).is_some_and(|bits| bits & (1 << (entry % 64)) != 0)
    }

    /// Whether the line has the key of an entry, with a value or `null`.
    pub(in crate::format) fn has_key(&self, entry: usize) -> bool {
        let is_null =
            self.nulls.get(entry / 64).is_some_and(|bits| bits & (1 << (entry % 64)) != 0);
        is_null || self.has(entry)
    }

    /// Whether the line has the key of an entry without a value: `null` or an empty string.
    pub(in crate::format) fn is_void(&self, entry: usize) -> bool {
        let is_null = self.nulls[entry / 64] & (1 << (entry % 64)) != 0;
        is_null || self.get(entry).is_some_and(Span::is_empty)
    }

    /// The entries that have a value, in their order.
    pub(in crate::format) fn entries(&self) -> impl Iterator<Item = usize> {
        ones(&self.present)
    }

    /// The entries whose key the line has several times with different values. The first counts.
    pub(in crate::format) fn repeated(&self) -> impl Iterator<Item = usize> {
        ones(&self.repeated)
    }

    /// The number of entries that have a value.
    pub(in crate::format) fn len(&self) -> usize {
        self.present.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// The text from the first to the last member that no key of the format refers to.
    pub(in crate::format) fn others<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let (start, end) = self.others?;
        // The closing quote of a string.
        let end = end + usize::from(line.get(end) == Some(&b'"'));
        line.get(start..end)
    }

    fn set(&mut self, entry: usize, span: Span, line: &[u8]) {
        let bit = 1 << (entry % 64);
        if self.present[entry / 64] & bit == 0 {
            self.spans[entry] = span;
            self.present[entry / 64] |= bit;
        } else if self.spans[entry].of(line) != span.of(line) {
            self.repeated[entry / 64] |= bit;
        }
    }
}

/// The numbers of the bits that are set.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(word, bits)| {
        let mut bits = *bits;
        std::iter::from_fn(move || {
            let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(word * 64 + bit)
        })
    })
}

/// Puts the values that a scan finds into their places.
struct Finder<'a> {
    line: &'a [u8],
    keys: &'a Keys,
    found: &'a mut FoundValues,
}

impl MemberSink for Finder<'_> {
    fn below(&mut self, object: Place, key: &[u8]) -> Place {
        self.keys.below(object, key)
    }

    fn take(&mut self, place: Place, scalar: Span, member: usize) {
        if let Some(entry) = self.keys.entry(place) {
            self.found.set(entry, scalar, self.line);
        } else if place != Place::Ignored {
            let start = self.found.others.map_or(member, |(start, _)| start);
            self.found.others = Some((start, scalar.end()));
        }
    }

    fn take_null(&mut self, place: Place) {
        if let Some(entry) = self.keys.entry(place) {
            self.found.nulls[entry / 64] |= 1 << (entry % 64);
        }
    }
}
