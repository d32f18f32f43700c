//! The keys that a JSON format knows, as a tree.

/// A tree of keys. Their ASCII letters have no case, as header names have none.
#[derive(Debug, Clone)]
pub(in crate::format) struct Keys {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    children: Vec<(Box<[u8]>, usize)>,
    /// What ends here.
    entry: Option<usize>,
}

/// The whole object.
pub(in crate::format) const ROOT: usize = 0;

impl Keys {
    /// The tree of the paths `a.b.c`, whose entries are numbered in their order. Of equal
    /// paths the first counts.
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

    fn add(&mut self, parent: usize, key: &str) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node::default());
        self.nodes[parent].children.push((key.as_bytes().into(), node));
        node
    }

    fn child(&self, node: usize, key: &[u8]) -> Option<usize> {
        let is_key = |(name, _): &&(Box<[u8]>, usize)| name.eq_ignore_ascii_case(key);
        self.nodes[node].children.iter().find(is_key).map(|(_, child)| *child)
    }

    /// The node below `node`. A key with points in it that is no key itself is a path, as
    /// flattened objects write it.
    pub(in crate::format) fn below(&self, node: usize, key: &[u8]) -> Option<usize> {
        self.child(node, key).or_else(|| {
            memchr::memchr(b'.', key)?;
            key.split(|byte| *byte == b'.').try_fold(node, |node, part| self.child(node, part))
        })
    }

    /// The number of the entry that ends at `node`.
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
