//! Formats whose lines are JSON objects (RFC 8259), or keys and values in another syntax.
//!
//! A line is scanned once. The scan notes the ranges of the scalars at the keys of the format;
//! they are read after the whole object has turned out to be valid. Texts are stored as they
//! are between their quotes; those with escapes are decoded ([`super::keyed`]).
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
//! # Missing, empty and wrong values
//!
//! A line needs a time and, if the format has them, a status or a request line: otherwise any JSON
//! log would be an access log. Other keys may be missing. A number, a status or a client that is
//! empty counts as missing; an empty text is a value.
//!
//! The values of an object cannot shift as those of a text line can. So a value of the wrong form, such
//! as a size of -1, is absent, and its key is named in a field ([`UNREAD_MEMBERS`]); the request stays.
//!
//! # Repeated keys
//!
//! Where texts are not escaped, a client can end the one that it sends and write members after it. Such a
//! line must not be lost, or a client could leave the log; and no other value may take the place of what
//! the server wrote first. So the first value of a repeated key counts if it stands before all texts of
//! clients. Behind one nobody can tell whose it is, and the field is absent.
//!
//! A client can also write another key for the same field, of a higher rank than the server's. So the keys
//! that the first lines of a log have before all texts of clients come before the others
//! ([`JsonProgram::rank_keys`]).

mod envelope;
mod reading;

pub(in crate::format) use envelope::{Envelope, EnvelopeShape};
pub(in crate::format) use reading::Reading;

use memchr::memchr;

use super::keyed::{DecodeBuffer, FoundValues, Keys, MemberSyntax};
use super::line_program::LineProgram;
use super::mismatch::{Explanation, Mismatch, Reason};
use super::needs::{AnyKey, ByteSet, Needs};
use super::sink::{LineState, Sink};
use crate::field::Field;
use crate::record::Record;
use crate::schema::RecordKind;

/// The extra field that names the members whose values have the wrong form.
pub(in crate::format) const UNREAD_MEMBERS: &str = "unread_members";

/// Reads lines that are JSON objects.
#[derive(Debug, Clone)]
pub(in crate::format) struct JsonProgram {
    pub(in crate::format) syntax: MemberSyntax,
    keys: Keys,
    entries: Vec<KeyEntry>,
    /// The extra field that the value of an entry is as well, by entry.
    copies: Vec<Option<usize>>,
    /// A line must have a value for at least one entry of each list.
    requirements: Vec<Requirement>,
    /// The keys of the requirements.
    required_keys: Vec<AnyKey>,
    /// The extra field for the members that have no entry.
    pub(in crate::format) more: Option<usize>,
    /// The extra field for the names of members whose values have the wrong form.
    pub(in crate::format) unread: Option<usize>,
    /// The kind of the objects' records.
    pub(in crate::format) kind: RecordKind,
}

/// The group of keys that have no alternatives.
const ALONE: usize = usize::MAX;

/// A path that no line has: a key has no control characters.
const NO_KEY: &str = "\0";

/// A key and the meaning of its value.
#[derive(Debug, Clone)]
pub(in crate::format) struct KeyEntry {
    /// The key's path, such as `request.headers.User-Agent`.
    pub(in crate::format) path: String,
    /// The entries of a group are adjacent and alternatives: the first one in the line is read.
    /// [`ALONE`] is no group.
    pub(in crate::format) group: usize,
    pub(in crate::format) reading: Reading,
}

impl KeyEntry {
    /// Whether the value is a text that a client chooses: nginx names those of headers `http_` and their name.
    /// A client sends the user too, and the host.
    pub(in crate::format) fn is_client_text(&self) -> bool {
        const FIELDS: [Field; 7] = [
            Field::User,
            Field::Host,
            Field::UserAgent,
            Field::Referer,
            Field::Request,
            Field::Path,
            Field::Query,
        ];
        let key = self.path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        FIELDS.iter().any(|field| self.reading.fills(*field))
            || key.contains("forwarded")
            || key == "xff"
            || key.starts_with("http_") && self.reading.is_text()
    }
}

/// Entries of which a line must have one.
#[derive(Debug, Clone)]
struct Requirement {
    entries: Vec<usize>,
    /// Whether they are those of a request, for which a method and a path are enough if the line has a
    /// status without a value.
    is_request: bool,
}

impl JsonProgram {
    /// A program for `entries`, whose groups are adjacent. The groups in `required_groups` and
    /// the time are required. If the format has a status or a request line, one of them is
    /// required too, unless `may_lack_request`. Otherwise other lines of a program in JSON would be
    /// read as requests.
    ///
    /// A key that is an extra field, and another field too, is read as both.
    pub(in crate::format) fn new(
        entries: Vec<KeyEntry>,
        mut required_groups: Vec<usize>,
        may_lack_request: bool,
    ) -> Self {
        let (entries, copies) = split_copies(entries);
        let group_filled_with = |field| {
            entries.iter().find(|entry| entry.reading.fills(field)).map(|entry| entry.group)
        };
        required_groups.extend(group_filled_with(Field::Time));
        required_groups.sort_unstable();
        required_groups.dedup();
        let members = |group: &usize| {
            let in_group = |(_, entry): &(usize, &KeyEntry)| entry.group == *group;
            entries.iter().enumerate().filter(in_group).map(|(index, _)| index).collect::<Vec<_>>()
        };
        let requirement = |group| Requirement { entries: members(group), is_request: false };
        let mut requirements: Vec<_> = required_groups.iter().map(requirement).collect();
        requirements.retain(|requirement| !requirement.entries.is_empty());
        let one_of = [Field::Status, Field::Request].map(group_filled_with);
        let one_of: Vec<usize> = one_of.into_iter().flatten().collect();
        let is_required = one_of.iter().any(|group| required_groups.contains(group));
        if !is_required && !may_lack_request && !one_of.is_empty() {
            let entries = one_of.iter().flat_map(members).collect();
            requirements.push(Requirement { entries, is_request: true });
        }
        let keys = Keys::new(entries.iter().map(|entry| entry.path.as_str()));
        let path = |index: &usize| entries[*index].path.as_str();
        let any = |one: &Requirement| AnyKey::of(one.entries.iter().map(path));
        Self {
            syntax: MemberSyntax::Json,
            keys,
            required_keys: requirements.iter().map(any).collect(),
            entries,
            copies,
            requirements,
            more: None,
            unread: None,
            kind: RecordKind::Request,
        }
    }

    /// What each line has.
    pub(in crate::format) fn needs(&self) -> Needs<'_> {
        let (bytes, keys): (&[u8], _) = match self.syntax {
            MemberSyntax::Json => (b"{}", &self.required_keys[..]),
            MemberSyntax::Ltsv => (b":", &[][..]),
            MemberSyntax::Logfmt => (b"=", &[][..]),
        };
        Needs { bytes: ByteSet::of(bytes), keys }
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
        let outcome = self.read(line, decoded, &mut found, record, state);
        state.json_values = found;
        outcome
    }

    /// Scans the line, checks the requirements and reads the values.
    fn read<'a>(
        &self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        found: &mut FoundValues,
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        let object = found
            .scan(self.syntax, line, &self.keys, self.entries.len())
            .map_err(|fault| Mismatch::new(fault.at, Reason::Json(fault.message)))?;
        found.settle(line, |index| self.entries[index].is_client_text());
        if let Some(index) = self.requirements.iter().position(|one| !self.has(one, line, found)) {
            return Err(Mismatch::new(object.end, Reason::Missing(index as u16)));
        }
        self.choose_repeated(decoded, found, record);
        let mut last_group = None;
        for index in found.entries() {
            let (entry, Some(span)) = (&self.entries[index], found.get(index)) else { continue };
            let is_first = Some(entry.group) != last_group;
            let copy = self.copies[index];
            let has_escapes = |text: &[u8]| object.has_escapes && memchr(b'\\', text).is_some();
            // Most members are fields of their own, whose values have no form.
            if let Reading::Whole(Sink::Extra(extra)) = entry.reading
                && copy.is_none()
            {
                if is_first {
                    let text = span.of(line);
                    let value = if has_escapes(text) { decoded.decode(text) } else { text };
                    record.set_extra(extra, value);
                    last_group = (entry.group != ALONE).then_some(entry.group).or(last_group);
                }
                continue;
            }
            let is_void = span.is_empty() && entry.reading.needs_value();
            let is_skipped = matches!(entry.reading, Reading::Whole(Sink::Skip));
            let is_read = is_first && !is_void && !is_skipped;
            if !is_read && copy.is_none() {
                continue;
            }
            let value = match span.of(line) {
                text if has_escapes(text) => decoded.decode(text),
                text => text,
            };
            if let Some(extra) = copy {
                record.set_extra(extra, value);
            }
            if !is_read {
                continue;
            }
            match entry.reading.read(value, record, state, || self.has_path(found)) {
                Ok(()) if entry.group == ALONE => {}
                Ok(()) => last_group = Some(entry.group),
                Err(_) if self.may_lack(entry, value, found) => {
                    self.note_unread(&entry.path, decoded, record);
                }
                Err(at) => {
                    return Err(Mismatch::new(span.start() + at, Reason::Value(index as u16)));
                }
            }
        }
        if let (Some(index), Some(text)) = (self.more, found.others(line)) {
            record.set_extra(index, text);
        }
        Ok(())
    }

    /// Leaves repeated keys the value that the server has surely written, or none, and names them. Of a
    /// time behind a client's text the last value counts, because a record needs one and servers write it
    /// last.
    fn choose_repeated<'a>(
        &self,
        decoded: &mut DecodeBuffer<'a>,
        found: &mut FoundValues,
        record: &mut Record<'a>,
    ) {
        while let Some(index) = found.take_repeated() {
            let entry = &self.entries[index];
            let before =
                (0..index).rev().take_while(|other| self.entries[*other].group == entry.group);
            if entry.group != ALONE && before.into_iter().any(|other| found.has(other)) {
                continue;
            }
            if found.is_after_client(index) {
                if entry.reading.fills(Field::Time) {
                    found.use_last(index);
                } else if entry.reading.fills_any() {
                    // An alternative behind the text is no better.
                    let is_alternative = |other: &usize| {
                        *other == index
                            || entry.group != ALONE && self.entries[*other].group == entry.group
                    };
                    for other in (index..self.entries.len()).take_while(is_alternative) {
                        if found.is_after_client(other) {
                            found.remove(other);
                        }
                    }
                }
            }
            self.note_unread(&entry.path, decoded, record);
        }
    }

    /// Whether a line has a path beside its request.
    fn has_path(&self, found: &FoundValues) -> bool {
        found.entries().any(|index| {
            let reading = &self.entries[index].reading;
            reading.fills(Field::Path) && !reading.fills(Field::Request)
        })
    }

    /// Whether a line has what is required.
    fn has(&self, required: &Requirement, line: &[u8], found: &FoundValues) -> bool {
        let has_value = |index: &usize| {
            let Some(span) = found.get(*index) else { return false };
            let has_form = match &self.entries[*index].reading {
                // Collectors call a path a request, and the status something else.
                Reading::Whole(Sink::RequestLine | Sink::UrlRequestLine) => {
                    !span.of(line).starts_with(b"/")
                }
                _ => true,
            };
            has_form && (!span.is_empty() || !self.entries[*index].reading.needs_value())
        };
        required.entries.iter().any(has_value)
            || required.is_request
                && required.entries.iter().any(|index| found.is_void(*index))
                && self.has_method_and_path(found)
    }

    fn has_method_and_path(&self, found: &FoundValues) -> bool {
        let fills = |field| found.entries().any(|index| self.entries[index].reading.fills(field));
        fills(Field::Method) && fills(Field::Path)
    }

    /// Whether a line may have a value of the wrong form for an entry. A time is always needed; and so is
    /// a status, in a word or without a request: another kind of line has it.
    fn may_lack(&self, entry: &KeyEntry, value: &[u8], found: &FoundValues) -> bool {
        let is_number = matches!(value.first(), Some(b'-' | b'0'..=b'9'));
        !entry.reading.fills(Field::Time)
            && (!entry.reading.fills(Field::Status) || is_number && self.has_method_and_path(found))
    }

    /// Names a member whose value has the wrong form. The names of a line have room where its keys had.
    #[cold]
    fn note_unread<'a>(&self, path: &str, decoded: &mut DecodeBuffer<'a>, record: &mut Record<'a>) {
        let Some(index) = self.unread else { return };
        let before = record.extra(index).unwrap_or_default();
        let separator: &[u8] = if before.is_empty() { b"" } else { b" " };
        if let Some(names) = decoded.join([before, separator, path.as_bytes()]) {
            record.set_extra(index, names);
        }
    }

    /// Adds a key whose value is the extra field `extra`. A number that needs a unit is only that; another
    /// key of the program is read as before, and is that field too.
    pub(in crate::format) fn add_member(&mut self, path: &str, extra: usize) {
        let reading = Reading::Whole(Sink::Extra(extra));
        let entry = KeyEntry { path: path.to_owned(), group: ALONE, reading };
        match self.entry_of(path) {
            Some(index) if self.entries[index].reading.needs_unit() => self.entries[index] = entry,
            Some(index) if self.entries[index].path == path => self.copies[index] = Some(extra),
            _ => {
                self.entries.push(entry);
                self.copies.push(None);
            }
        }
    }

    /// Puts the alternative keys of each group in the order of their ranks, by their number.
    pub(in crate::format) fn rank_keys(&mut self, ranks: &[impl Ord]) {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        for group in order.chunk_by_mut(|one, other| self.are_alternatives(*one, *other)) {
            group.sort_by(|one, other| ranks[*one].cmp(&ranks[*other]));
        }
        self.entries = order.iter().map(|index| self.entries[*index].clone()).collect();
        self.copies = order.iter().map(|index| self.copies[*index]).collect();
    }

    /// Whether a line with these entries has what every line must have.
    pub(in crate::format) fn has_required(&self, has: impl Fn(usize) -> bool) -> bool {
        self.requirements.iter().all(|it| it.entries.iter().any(|entry| has(*entry)))
    }

    /// Whether two entries are alternatives.
    pub(in crate::format) fn are_alternatives(&self, one: usize, other: usize) -> bool {
        let group = self.entries[one].group;
        group != ALONE && group == self.entries[other].group
    }

    /// Forgets the keys of a field: their members are further ones.
    pub(in crate::format) fn forget_field(&mut self, field: Field) {
        let entries = self.entries.iter_mut().filter(|entry| entry.reading.fills(field));
        entries.for_each(|entry| NO_KEY.clone_into(&mut entry.path));
    }

    /// Takes an object at the key of an entry as it is.
    pub(in crate::format) fn take_whole(&mut self, entry: usize) {
        self.keys = Keys::new(self.paths()).taking_whole(entry);
    }

    /// Ends the addition of keys.
    pub(in crate::format) fn index_keys(&mut self) {
        self.keys = Keys::new(self.paths());
    }

    /// The entry of this path, or the first one of the path in another case.
    pub(in crate::format) fn entry_of(&self, path: &str) -> Option<usize> {
        let is_like = |known: &str| known.eq_ignore_ascii_case(path);
        self.paths().position(|known| known == path).or_else(|| self.paths().position(is_like))
    }

    /// The entries.
    pub(in crate::format) fn entries(&self) -> &[KeyEntry] {
        &self.entries
    }

    /// The paths of the keys.
    fn paths(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.path.as_str())
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
            Reason::Missing(index) => {
                (self.names(&self.requirements[usize::from(index)].entries), "")
            }
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

/// The entries without those of extra fields whose key another entry has, and these fields by entry.
fn split_copies(entries: Vec<KeyEntry>) -> (Vec<KeyEntry>, Vec<Option<usize>>) {
    let (mut kept, mut copies) = (Vec::<KeyEntry>::new(), Vec::new());
    for entry in entries {
        let same = kept.iter().position(|other| other.path == entry.path);
        match (same, &entry.reading) {
            (Some(index), Reading::Whole(Sink::Extra(extra))) => copies[index] = Some(*extra),
            _ => {
                kept.push(entry);
                copies.push(None);
            }
        }
    }
    (kept, copies)
}
