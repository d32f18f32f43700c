//! The keys of a JSON format, as a tree.
//!
//! A path of keys leads from the root to a node. An object of the line corresponds to a node, or to
//! none if no key of the format is below it; then its content is only checked. Formats have few
//! keys on each level, so the children are a list that is searched.

/// A tree of keys. They are compared without ASCII case, like header names.
///
/// Node 0 is the root; the others are in the order in which they were added.
#[derive(Debug, Clone)]
pub(in crate::format) struct Keys {
    nodes: Vec<Node>,
}

/// A node may be both the end of one path and on the way to another: a line may have a text or an
/// object there.
#[derive(Debug, Clone, Default)]
struct Node {
    children: Vec<(Box<[u8]>, usize)>,
    /// The entry whose path ends here.
    entry: Option<usize>,
}

/// The node of the whole object.
pub(in crate::format) const ROOT: usize = 0;

impl Keys {
    /// The tree of `paths` such as `a.b.c`. The index of a path is the number of its entry; of
    /// equal paths the first counts.
    pub(in crate::format) fn new<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut keys = Self { nodes: vec![Node::default()] };
        for (entry, path) in paths.enumerate() {
            let mut node = ROOT;
            for key in path.split('.') {
                node = keys.child(node, key.as_bytes()).unwrap_or_else(|| keys.add(node, key));
            }
            keys.nodes[node].entry.get_or_insert(entry);
        }
        keys
    }

    /// Adds a node for `key` below `parent`.
    fn add(&mut self, parent: usize, key: &str) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node::default());
        self.nodes[parent].children.push((key.as_bytes().into(), node));
        node
    }

    /// The node of exactly this key below `node`.
    fn child(&self, node: usize, key: &[u8]) -> Option<usize> {
        let is_key = |(name, _): &&(Box<[u8]>, usize)| name.eq_ignore_ascii_case(key);
        self.nodes[node].children.iter().find(is_key).map(|(_, child)| *child)
    }

    /// The node of `key` below `node`. A key with dots that is not in the tree is used as a path,
    /// because some encoders flatten objects.
    ///
    /// Keys are compared as they are in the line, with escapes: a key that an encoder escapes is
    /// not found.
    pub(in crate::format) fn below(&self, node: usize, key: &[u8]) -> Option<usize> {
        self.child(node, key).or_else(|| {
            memchr::memchr(b'.', key)?;
            key.split(|byte| *byte == b'.').try_fold(node, |node, part| self.child(node, part))
        })
    }

    /// The entry whose path ends at `node`.
    pub(in crate::format) fn entry(&self, node: usize) -> Option<usize> {
        self.nodes[node].entry
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, ROOT};

    #[test]
    fn finds_paths() {
        let keys = Keys::new(["a.b", "a", "C", "a.b"].into_iter());
        let a = keys.below(ROOT, b"a").unwrap();
        assert_eq!(keys.entry(a), Some(1));
        assert_eq!(keys.entry(keys.below(a, b"B").unwrap()), Some(0));
        assert_eq!(keys.below(ROOT, b"a.b"), keys.below(a, b"b"));
        assert_eq!(keys.entry(keys.below(ROOT, b"c").unwrap()), Some(2));
        assert_eq!(keys.below(ROOT, b"b"), None);
        assert_eq!(keys.below(ROOT, b"a."), None);
    }
}
