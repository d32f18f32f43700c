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
    /// The last value of each of these entries.
    last: Vec<Span>,
    /// The values of keys in another case.
    alike: Vec<Alike>,
    /// Where the first text starts that a client chooses, if that matters for the line.
    client_text: Option<usize>,
    /// From the first to the last member without an entry.
    others: Option<(usize, usize)>,
    /// For each node of the keys the one that came after it in an earlier line. The objects of a log mostly
    /// have the same members in the same order.
    next_nodes: Vec<u32>,
}

/// The value of a key that is that of an entry in another case.
#[derive(Debug, Clone, Copy)]
struct Alike {
    entry: usize,
    /// The offset of the key.
    member: usize,
    span: Span,
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
        self.alike.clear();
        self.client_text = None;
        self.others = None;
        let bits = [&mut self.present, &mut self.nulls, &mut self.repeated];
        bits.into_iter().for_each(Vec::clear);
        // Detection tries every format with every line. Those of texts need no room for values.
        syntax.check_start(line)?;
        for bits in [&mut self.present, &mut self.nulls, &mut self.repeated] {
            bits.resize(entries.div_ceil(64), 0);
        }
        self.spans.resize(entries, Span::NONE);
        self.last.resize(entries, Span::NONE);
        self.next_nodes.resize(keys.len(), 0);
        syntax.scan(line, &mut Finder { line, keys, last: 0, found: self })
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

    /// Gives the values of keys in another case to the entries that have none, and finds where a client's
    /// text starts. Few lines have such a key, or one several times.
    pub(in crate::format) fn settle(
        &mut self,
        line: &[u8],
        is_client_text: impl Fn(usize) -> bool,
    ) {
        if self.alike.is_empty() && self.repeated.iter().all(|bits| *bits == 0) {
            return;
        }
        let alike = self.alike.iter().map(|alike| (alike.entry, alike.span));
        let values = self.entries().map(|entry| (entry, self.spans[entry])).chain(alike);
        let texts = values.filter(|(entry, _)| is_client_text(*entry));
        self.client_text = texts.map(|(_, span)| span.start()).min();
        let mut alike = std::mem::take(&mut self.alike);
        alike.sort_unstable_by_key(|alike| (alike.entry, alike.member));
        for same in alike.chunk_by(|one, other| one.entry == other.entry) {
            self.settle_entry(same, line, is_client_text(same[0].entry));
        }
        self.alike = alike;
    }

    /// Settles the values of an entry's key in other cases. Its own spelling counts before the others, unless
    /// a client may have written it behind one of them, and not only its value; of the others only the first
    /// does.
    fn settle_entry(&mut self, same: &[Alike], line: &[u8], is_client_text: bool) {
        let Some(first) = same.first() else { return };
        let (entry, is_before) = (first.entry, !is_client_text && !self.is_after_text(first.span));
        let replaced = self.get(entry).filter(|own| is_before && self.is_after_text(*own));
        let is_first = !self.has(entry) || replaced.is_some();
        if is_first {
            self.present[entry / 64] &= !(1 << (entry % 64));
            self.set(entry, first.span, line);
        }
        if let Some(replaced) = replaced {
            self.set(entry, replaced, line);
        }
        let is_spelled = |other: &Alike| key_at(line, other.member) == key_at(line, first.member);
        for other in same {
            if is_first && is_spelled(other) {
                self.set(entry, other.span, line);
            } else {
                self.add_other(other.member, other.span.end());
            }
        }
    }

    /// Takes the next of the entries whose key the line has several times with different values. The first
    /// value is the entry's.
    pub(in crate::format) fn take_repeated(&mut self) -> Option<usize> {
        let entry = ones(&self.repeated).next()?;
        self.repeated[entry / 64] &= !(1 << (entry % 64));
        Some(entry)
    }

    /// Whether the value of an entry stands after the start of a text that a client chooses.
    pub(in crate::format) fn is_after_client(&self, entry: usize) -> bool {
        self.get(entry).is_some_and(|span| self.is_after_text(span))
    }

    fn is_after_text(&self, span: Span) -> bool {
        self.client_text.is_some_and(|text| span.start() > text)
    }

    /// Takes the value of an entry away.
    pub(in crate::format) fn remove(&mut self, entry: usize) {
        self.present[entry / 64] &= !(1 << (entry % 64));
    }

    /// Takes the last value of a repeated entry for its first.
    pub(in crate::format) fn use_last(&mut self, entry: usize) {
        self.spans[entry] = self.last[entry];
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
            self.last[entry] = span;
        }
    }

    /// Adds a member without an entry.
    fn add_other(&mut self, member: usize, end: usize) {
        let (start, last) = self.others.unwrap_or((member, end));
        self.others = Some((start.min(member), last.max(end)));
    }
}

/// The key at an offset of a line, with its quotes if it has some.
fn key_at(line: &[u8], member: usize) -> &[u8] {
    let key = &line[member..];
    let is_end = |byte: u8| matches!(byte, b'"' | b':' | b'=');
    let end = key.iter().skip(1).position(|byte| is_end(*byte));
    end.map_or(key, |end| &key[..=end])
}

/// Whether the first element of a list is a number.
fn is_list_of_numbers(list: &[u8]) -> bool {
    list.strip_prefix(b"[")
        .is_some_and(|list| list.trim_ascii_start().first().is_some_and(u8::is_ascii_digit))
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
    /// The node of the last member that has one.
    last: usize,
    found: &'a mut FoundValues,
}

impl MemberSink for Finder<'_> {
    fn below(&mut self, object: Place, key: &[u8]) -> Place {
        let place = match self.keys.takes_whole(object) {
            true => Place::Ignored,
            false => self.keys.below(object, key),
        };
        if let Place::Node(node) = place {
            self.found.next_nodes[self.last] = node as u32;
            self.last = node;
        }
        place
    }

    #[inline]
    fn expected(&mut self, object: Place, text: &[u8]) -> Option<(Place, usize)> {
        let node = self.found.next_nodes[self.last] as usize;
        let length = self.keys.length_at_start(node, object, text)?;
        self.last = node;
        Some((Place::Node(node), length))
    }

    fn take(&mut self, place: Place, scalar: Span, member: usize) {
        match (self.keys.entry(place), place) {
            (Some(entry), Place::Like(_)) => {
                self.found.alike.push(Alike { entry, member, span: scalar });
            }
            (Some(entry), _) => self.found.set(entry, scalar, self.line),
            (None, Place::Ignored) => {}
            (None, _) => self.found.add_other(member, scalar.end()),
        }
    }

    fn take_nested(&mut self, place: Place, text: Span) {
        if !self.keys.takes_whole(place) {
            return;
        }
        let Some(entry) = self.keys.entry(place) else { return };
        match text.of(self.line) {
            [b'{', ..] => self.found.set(entry, text, self.line),
            // Its first element was taken.
            list if is_list_of_numbers(list) && self.found.has(entry) => {
                self.found.spans[entry] = text;
            }
            _ => {}
        }
    }

    fn take_null(&mut self, place: Place) {
        if let Some(entry) = self.keys.entry(place) {
            self.found.nulls[entry / 64] |= 1 << (entry % 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::FoundValues;
    use crate::format::program::keyed::{Keys, MemberSyntax};

    const PATHS: [&str; 8] = ["a", "ab", "a.b", "b", "B", "long_key_of_a_log", "c.d.e", "\""];

    const KEYS: [&str; 11] =
        ["a", "ab", "b", "B", "A", "c", "d", "e", "a.b", "c.d.e", "long_key_of_a_log"];

    /// An object whose keys are like those of [`PATHS`], some with escapes, in any order.
    fn object() -> impl Strategy<Value = String> {
        let key = prop_oneof![
            8 => prop::sample::select(&KEYS[..]),
            1 => prop::sample::select(&["\\u0061", "a\\u0062", "\\\"", ""][..]),
        ];
        let scalar =
            prop_oneof![Just("1".to_owned()), Just("\"x\"".to_owned()), Just("null".to_owned())];
        let members = |value: BoxedStrategy<String>| {
            prop::collection::vec((key.clone(), value), 0..6).prop_map(|members| {
                let member = |(key, value): &(&str, String)| format!("\"{key}\":{value}");
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            })
        };
        let inner = members(scalar.clone().boxed()).boxed();
        let middle = members(prop_oneof![scalar.clone(), inner].boxed()).boxed();
        members(prop_oneof![scalar, middle].boxed())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_was_read_before_changes_nothing(lines in prop::collection::vec(object(), 1..8)) {
            let keys = Keys::new(PATHS.into_iter());
            let mut reused = FoundValues::default();
            for line in &lines {
                let mut fresh = FoundValues::default();
                let of = |found: &mut FoundValues| {
                    let scanned =
                        found.scan(MemberSyntax::Json, line.as_bytes(), &keys, PATHS.len());
                    let end = scanned.expect("an object").end;
                    found.settle(line.as_bytes(), |entry| entry == 1);
                    let values: Vec<_> = (0..PATHS.len())
                        .map(|entry| (found.get(entry), found.has_key(entry)))
                        .collect();
                    let repeated: Vec<_> = std::iter::from_fn(|| found.take_repeated()).collect();
                    let others = found.others(line.as_bytes()).map(<[u8]>::to_vec);
                    (end, values, repeated, others)
                };
                prop_assert_eq!(of(&mut reused), of(&mut fresh));
            }
        }
    }
}
