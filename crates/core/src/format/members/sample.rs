//! The members of some objects.

use std::collections::HashMap;

use crate::format::program::keyed::{MemberSink, MemberSyntax, Place, unescape};
use crate::format::program::span::Span;
use crate::format::surroundings::Evidence;

/// The most members that are looked at: more than become fields, so that a log with ever new keys is
/// noticed and costs little.
const PATHS_MAX: usize = 512;

/// The longest path of a member that is looked at, and becomes a field.
const PATH_BYTES_MAX: usize = 120;

/// The members of some objects, in the order in which they first appear.
#[derive(Debug, Default)]
pub(super) struct MemberSample {
    pub(super) members: Vec<Member>,
    /// The objects.
    pub(super) lines: u64,
    by_path: HashMap<String, usize>,
}

/// A value of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum MemberValue<'a> {
    /// A scalar, without escapes.
    Text(&'a [u8]),
    /// An object in the line's object itself, as it is in the line.
    Object(&'a [u8]),
}

/// A member.
#[derive(Debug, Default)]
pub(super) struct Member {
    pub(super) path: String,
    /// The numbers of the objects that have a value for it.
    pub(super) in_lines: Vec<u64>,
    pub(super) evidence: Evidence,
    /// Whether it is a member of the line's object itself.
    is_outermost: bool,
    /// Whether one of its values was a scalar: not only objects and lists.
    is_scalar: bool,
}

impl MemberSample {
    /// Adds the members of a line, which may have other text before a JSON object. Returns whether it has
    /// some. `each` gets the members' indices and values.
    pub(super) fn add(
        &mut self,
        syntax: MemberSyntax,
        line: &[u8],
        mut each: impl FnMut(usize, MemberValue<'_>),
    ) -> bool {
        let start = match syntax {
            MemberSyntax::Json => memchr::memchr(b'{', line),
            _ => Some(0),
        };
        let Some(line) = start.map(|start| &line[start..]) else { return false };
        let mut found = Found { sample: self, values: Vec::new(), objects: Vec::new(), line };
        if syntax.scan(line, &mut found).is_err() {
            return false;
        }
        let Found { values, objects, .. } = found;
        for (index, object) in objects {
            each(index, MemberValue::Object(object.of(line)));
        }
        let mut text = Vec::new();
        for (index, value) in values {
            let member = &mut self.members[index];
            member.is_scalar = true;
            let Some(span) = value else { continue };
            text.clear();
            unescape(span.of(line), |part| text.extend_from_slice(part));
            member.evidence.add(&text);
            if member.in_lines.last() != Some(&self.lines) {
                member.in_lines.push(self.lines);
            }
            each(index, MemberValue::Text(&text));
        }
        self.lines += 1;
        true
    }

    /// The members that have values of their own and can be named in a definition, in their order.
    pub(super) fn scalars(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_scalar && is_writable(&member.path))
    }

    /// The member at a path, or else the first one at the path in another case.
    pub(super) fn get(&self, path: &str) -> Option<&Member> {
        let is_like = |member: &&Member| member.path.eq_ignore_ascii_case(path);
        let index = self.by_path.get(path);
        index.map_or_else(|| self.members.iter().find(is_like), |index| self.members.get(*index))
    }

    /// Whether an object has a value at a path.
    pub(super) fn has_values(&self, path: &str) -> bool {
        self.get(path).is_some_and(|member| !member.in_lines.is_empty())
    }
}

/// Whether a definition can have a path.
fn is_writable(path: &str) -> bool {
    let is_special = |letter: char| letter.is_control() || ",|=!?()\\\"".contains(letter);
    !path.contains(is_special) && !path.split('.').any(str::is_empty)
}

/// Collects the values of one object. Place 0 is the object, and place `n + 1` its member `n`.
struct Found<'a> {
    sample: &'a mut MemberSample,
    values: Vec<(usize, Option<Span>)>,
    /// The objects in the object of the line.
    objects: Vec<(usize, Span)>,
    line: &'a [u8],
}

impl Found<'_> {
    fn put(&mut self, place: Place, value: Option<Span>) {
        if let Place::Node(node) = place
            && let Some(index) = node.checked_sub(1)
        {
            self.values.push((index, value));
        }
    }
}

impl MemberSink for Found<'_> {
    fn below(&mut self, object: Place, key: &[u8]) -> Place {
        let (Place::Node(node), Ok(key)) = (object, std::str::from_utf8(key)) else {
            return Place::Unknown;
        };
        let parent_bytes =
            node.checked_sub(1).map_or(0, |parent| self.sample.members[parent].path.len() + 1);
        if parent_bytes + key.len() > PATH_BYTES_MAX {
            return Place::Unknown;
        }
        let path = match node.checked_sub(1) {
            Some(parent) => [&self.sample.members[parent].path, ".", key].concat(),
            None => key.to_owned(),
        };
        if let Some(index) = self.sample.by_path.get(&path) {
            return Place::Node(index + 1);
        }
        if self.sample.members.len() == PATHS_MAX {
            return Place::Unknown;
        }
        let is_outermost = node == 0;
        self.sample.members.push(Member { path: path.clone(), is_outermost, ..Member::default() });
        self.sample.by_path.insert(path, self.sample.members.len() - 1);
        Place::Node(self.sample.members.len())
    }

    fn take(&mut self, place: Place, scalar: Span, _member: usize) {
        self.put(place, Some(scalar));
    }

    fn take_null(&mut self, place: Place) {
        self.put(place, None);
    }

    fn take_nested(&mut self, place: Place, text: Span) {
        if let Place::Node(node) = place
            && let Some(index) = node.checked_sub(1)
            && self.sample.members[index].is_outermost
            && text.of(self.line).starts_with(b"{")
        {
            self.objects.push((index, text));
        }
    }
}
