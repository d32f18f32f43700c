//! The keys of a JSON format, as a tree.
//!
//! A path of keys leads from the root to a node. An object of the line corresponds to a node, or to
//! none if no key of the format is below it; then its content is only checked.
//!
//! Formats know up to a hundred names on the first level, and most members of a line are found there or
//! nowhere. So the nodes stand in a table by the length and the ends of their keys: a member costs a
//! look at a few of them.

use memchr::memchr;

/// A tree of keys. They are compared without ASCII case, like header names.
///
/// Node 0 is the root; the others are in the order in which they were added.
#[derive(Debug, Clone)]
pub(in crate::format) struct Keys {
    nodes: Vec<Node>,
    /// The last node of each slot; 0 for none.
    slots: Vec<usize>,
}

/// A node may be both the end of one path and on the way to another: a line may have a text or an
/// object there.
#[derive(Debug, Clone, Default)]
struct Node {
    parent: usize,
    key: Box<[u8]>,
    /// Another node of the same slot; 0 for none.
    next: usize,
    /// The entry whose path ends here.
    entry: Option<usize>,
}

/// The place of a value in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Place {
    /// At this node.
    Node(usize),
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
        let mut keys = Self { nodes: vec![Node::default()], slots: vec![0; SLOTS] };
        for (entry, path) in paths.enumerate() {
            let node = keys.add_path(path);
            keys.nodes[node].entry.get_or_insert(entry);
        }
        keys
    }

    /// The node of a path, which is added if it is new.
    fn add_path(&mut self, path: &str) -> usize {
        path.split('.').fold(0, |node, key| {
            self.child(node, key.as_bytes()).unwrap_or_else(|| self.add(node, key))
        })
    }

    /// Adds a node for `key` below `parent`.
    fn add(&mut self, parent: usize, key: &str) -> usize {
        let node = self.nodes.len();
        let slot = &mut self.slots[slot(parent, key.as_bytes())];
        let next = std::mem::replace(slot, node);
        self.nodes.push(Node { parent, key: key.as_bytes().into(), next, entry: None });
        node
    }

    /// The node of exactly this key below `parent`.
    fn child(&self, parent: usize, key: &[u8]) -> Option<usize> {
        let mut at = self.slots[slot(parent, key)];
        while at > 0 {
            let node = &self.nodes[at];
            if node.parent == parent && node.key.eq_ignore_ascii_case(key) {
                return Some(at);
            }
            at = node.next;
        }
        None
    }

    /// The place of `key` below another. A key with dots that is not in the tree is used as a path,
    /// because some encoders flatten objects.
    ///
    /// Keys are compared as they are in the line, with escapes: a key that an encoder escapes is
    /// not found.
    pub(in crate::format) fn below(&self, place: Place, key: &[u8]) -> Place {
        let Place::Node(node) = place else { return place };
        let found = self.child(node, key).or_else(|| {
            memchr(b'.', key)?;
            key.split(|byte| *byte == b'.').try_fold(node, |node, part| self.child(node, part))
        });
        found.map_or(Place::Unknown, Place::Node)
    }

    /// The entry whose path ends at a place.
    pub(in crate::format) fn entry(&self, place: Place) -> Option<usize> {
        match place {
            Place::Node(node) => self.nodes[node].entry,
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
    fn finds_each_of_many_keys() {
        let paths: Vec<String> = (0..2_000).map(|number| format!("key{number}.k")).collect();
        let keys = Keys::new(paths.iter().map(String::as_str));
        for (entry, path) in paths.iter().enumerate() {
            assert_eq!(keys.entry(keys.below(Place::ROOT, path.as_bytes())), Some(entry));
        }
    }
}
