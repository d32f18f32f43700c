//! The keys of a JSON format, as a tree.
//!
//! A path of keys leads from the root to a node. An object of the line corresponds to a node, or to
//! none if no key of the format is below it; then its content is only checked.
//!
//! Formats know up to a hundred names on the first level, and most members of a line are found there or
//! nowhere. So the nodes stand in a table by the length and the ends of their keys: a member costs a
//! look at a few of them.

use memchr::memchr;

use super::string_end::string_end;
use crate::line::is_equal;

/// A tree of keys. A key that is not in it stands for one that differs in ASCII case only, like the names of
/// headers.
///
/// Node 0 is the root; the others are in the order in which they were added.
#[derive(Debug, Clone)]
pub(in crate::format) struct Keys {
    nodes: Vec<Node>,
    /// The last node of each slot; 0 for none.
    slots: Vec<usize>,
    /// The entry whose value may be an object as a whole.
    whole: Option<usize>,
}

/// A node may be both the end of one path and on the way to another: a line may have a text or an
/// object there.
#[derive(Debug, Clone, Default)]
struct Node {
    parent: usize,
    key: Box<[u8]>,
    /// Another node of the same slot, which was added before; 0 for none.
    next: usize,
    /// The first node of this key in another case; 0 for none. What is not below one may be below the other.
    twin: usize,
    /// The entry whose path ends here.
    entry: Option<usize>,
    /// Whether the key stands in a line as it is, without escapes. Not so for the root.
    is_plain: bool,
}

/// The place of a value in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Place {
    /// At this node.
    Node(usize),
    /// At this node, by keys in another case.
    Like(usize),
    /// Below the tree: no key of the format leads there.
    Unknown,
    /// In an array, after its first element.
    Ignored,
}

impl Place {
    /// The whole object.
    pub(in crate::format) const ROOT: Self = Self::Node(0);
}

const SLOTS: usize = 512;

/// The slot of a key below a node.
fn slot(parent: usize, key: &[u8]) -> usize {
    let lower = |byte: Option<&u8>| byte.map_or(0, |byte| usize::from(byte | 0x20));
    (parent * 31 + key.len() * 7 + lower(key.first()) * 5 + lower(key.last()) * 61) % SLOTS
}

impl Keys {
    /// The tree of `paths` such as `a.b.c`. The index of a path is the number of its entry; of
    /// equal paths the first counts.
    pub(in crate::format) fn new<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut keys = Self { nodes: vec![Node::default()], slots: vec![0; SLOTS], whole: None };
        for (entry, path) in paths.enumerate() {
            let node = keys.add_path(path);
            keys.nodes[node].entry.get_or_insert(entry);
        }
        keys
    }

    /// The same tree. The value of an entry may be an object or a list of numbers, which is taken as it is.
    pub(in crate::format) fn taking_whole(self, entry: usize) -> Self {
        Self { whole: Some(entry), ..self }
    }

    /// Whether an object or a list at a place is taken as it is.
    pub(in crate::format) fn takes_whole(&self, place: Place) -> bool {
        self.whole.is_some() && self.entry(place) == self.whole
    }

    /// The node of a path, which is added if it is new.
    fn add_path(&mut self, path: &str) -> usize {
        path.split('.').fold(0, |node, key| match self.step(Place::Node(node), key.as_bytes()) {
            Some(Place::Node(known)) => known,
            Some(Place::Like(twin)) => self.add(node, key, twin),
            _ => self.add(node, key, 0),
        })
    }

    /// Adds a node for `key` below `parent`.
    fn add(&mut self, parent: usize, key: &str, twin: usize) -> usize {
        let node = self.nodes.len();
        let slot = &mut self.slots[slot(parent, key.as_bytes())];
        let next = std::mem::replace(slot, node);
        let is_plain = string_end(key.as_bytes()) == key.len();
        let key = key.as_bytes().into();
        self.nodes.push(Node { parent, key, next, twin, entry: None, is_plain });
        node
    }

    /// The place of a key without dots: its node, or the first one of the key in another case.
    fn step(&self, place: Place, key: &[u8]) -> Option<Place> {
        let (Place::Node(parent) | Place::Like(parent)) = place else { return None };
        let found = match self.child(parent, key) {
            None if self.nodes[parent].twin > 0 => {
                let (Place::Node(node) | Place::Like(node)) =
                    self.child(self.nodes[parent].twin, key)?
                else {
                    return None;
                };
                Place::Like(node)
            }
            found => found?,
        };
        match (place, found) {
            (Place::Like(_), Place::Node(node)) => Some(Place::Like(node)),
            _ => Some(found),
        }
    }

    /// The place of a key directly below `parent`.
    fn child(&self, parent: usize, key: &[u8]) -> Option<Place> {
        let (mut at, mut like) = (self.slots[slot(parent, key)], None);
        while at > 0 {
            let node = &self.nodes[at];
            if node.parent == parent && node.key.len() == key.len() {
                if is_equal(&node.key, key) {
                    return Some(Place::Node(at));
                }
                if node.key.eq_ignore_ascii_case(key) {
                    like = Some(Place::Like(at));
                }
            }
            at = node.next;
        }
        like
    }

    /// The place of `key` below another. A key with dots that is not in the tree is used as a path,
    /// because some encoders flatten objects.
    ///
    /// Keys are compared as they are in the line, with escapes: a key that an encoder escapes is
    /// not found.
    pub(in crate::format) fn below(&self, place: Place, key: &[u8]) -> Place {
        if matches!(place, Place::Unknown | Place::Ignored) {
            return place;
        }
        let found = self.step(place, key).or_else(|| {
            memchr(b'.', key)?;
            key.split(|byte| *byte == b'.').try_fold(place, |place, part| self.step(place, part))
        });
        found.unwrap_or(Place::Unknown)
    }

    /// The number of nodes.
    pub(in crate::format) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The length of a node's key, if the node is directly below `place` and a text begins with the key
    /// and a quote. No other node below the place has this key.
    #[inline]
    pub(in crate::format) fn length_at_start(
        &self,
        node: usize,
        place: Place,
        text: &[u8],
    ) -> Option<usize> {
        let Node { parent, key, is_plain, .. } = self.nodes.get(node)?;
        let length = key.len();
        let is_it = *is_plain
            && place == Place::Node(*parent)
            && text.get(length) == Some(&b'"')
            && is_equal(&text[..length], key);
        is_it.then_some(length)
    }

    /// The entry whose path ends at a place.
    pub(in crate::format) fn entry(&self, place: Place) -> Option<usize> {
        match place {
            Place::Node(node) | Place::Like(node) => self.nodes[node].entry,
            Place::Unknown | Place::Ignored => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, Place};

    #[test]
    fn finds_paths() {
        let keys = Keys::new(["a.b", "a", "C", "a.b"].into_iter());
        let a = keys.below(Place::ROOT, b"a");
        assert_eq!(keys.entry(a), Some(1));
        assert_eq!(keys.entry(keys.below(a, b"B")), Some(0));
        assert_eq!(keys.below(Place::ROOT, b"a.b"), keys.below(a, b"b"));
        assert_eq!(keys.entry(keys.below(Place::ROOT, b"c")), Some(2));
        for key in [&b"b"[..], b"a.", b"", b"ab"] {
            assert_eq!(keys.below(Place::ROOT, key), Place::Unknown);
        }
        assert_eq!(keys.below(Place::Ignored, b"a"), Place::Ignored);
    }

    #[test]
    fn the_spelling_of_a_key_comes_before_its_letters() {
        let keys = Keys::new(["a.b", "A.c", "host", "Host"].into_iter());
        let find = |path: &[u8]| match keys.below(Place::ROOT, path) {
            place @ Place::Node(_) => keys.entry(place).map(|entry| (entry, true)),
            place => keys.entry(place).map(|entry| (entry, false)),
        };
        for (path, found) in [
            ("host", Some((2, true))),
            ("Host", Some((3, true))),
            ("HOST", Some((2, false))),
            ("a.b", Some((0, true))),
            ("A.c", Some((1, true))),
            ("A.b", Some((0, false))),
            ("A.B", Some((0, false))),
            ("A.d", None),
        ] {
            assert_eq!(find(path.as_bytes()), found, "{path}");
        }
    }

    #[test]
    fn finds_each_of_many_keys() {
        let paths: Vec<String> = (0..2_000).map(|number| format!("key{number}.k")).collect();
        let keys = Keys::new(paths.iter().map(String::as_str));
        for (entry, path) in paths.iter().enumerate() {
            assert_eq!(keys.entry(keys.below(Place::ROOT, path.as_bytes())), Some(entry));
        }
    }
}
