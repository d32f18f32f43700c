//! The lists of records in documents.

/// The paths of the lists of records in the documents that consoles and programs write.
const PATHS: [&[&[u8]]; 10] = [
    // Azure and CloudTrail.
    &[b"records"],
    // CloudWatch.
    &[b"events"],
    &[b"logEvents"],
    // Google and Azure.
    &[b"entries"],
    &[b"value"],
    // Splunk.
    &[b"results"],
    // Datadog.
    &[b"data"],
    &[b"logs"],
    // Elasticsearch and OpenSearch.
    &[b"hits", b"hits"],
    // Browsers: HTTP archives.
    &[b"log", b"entries"],
];

/// The longest path.
const PATH_KEYS_MAX: usize = 2;

/// The longest key that a path has.
const KEY_BYTES_MAX: usize = 16;

/// Follows the keys of a document to its lists of records.
#[derive(Debug, Clone)]
pub(super) struct ListPaths {
    /// The paths that begin with the keys of the open objects and lists, by their number: a bit for each.
    open: [u16; PATH_KEYS_MAX + 1],
    /// The last string, if it may be a key of a path.
    key: Vec<u8>,
}

impl ListPaths {
    /// The start of a document.
    pub(super) fn new() -> Self {
        Self { open: [u16::MAX, 0, 0], key: Vec::new() }
    }

    /// Whether a key is that of a list in the outermost object. Case does not matter.
    pub(super) fn has_outermost(key: &[u8]) -> bool {
        PATHS.iter().any(|path| matches!(path, [only] if only.eq_ignore_ascii_case(key)))
    }

    /// Begins a string.
    pub(super) fn begin_string(&mut self) {
        self.key.clear();
    }

    /// Takes a byte of a string. Of a string that is too long for a key, one byte more is kept.
    pub(super) fn take(&mut self, byte: u8) {
        if self.key.len() <= KEY_BYTES_MAX {
            self.key.push(byte);
        }
    }

    /// Takes a comma: what follows it has no key yet.
    pub(super) fn end_member(&mut self) {
        self.key.clear();
    }

    /// Opens an object or a list inside of so many others, whose key was the last string.
    pub(super) fn open(&mut self, depth: usize) {
        if let Some(keys) = depth.checked_sub(1).filter(|keys| *keys < PATH_KEYS_MAX) {
            let is_next = |(_, path): &(usize, &&[&[u8]])| {
                path.get(keys).is_some_and(|key| key.eq_ignore_ascii_case(&self.key))
            };
            let next = PATHS.iter().enumerate().filter(is_next);
            let next: u16 = next.map(|(index, _)| 1 << index).sum();
            self.open[keys + 1] = self.open[keys] & next;
        }
        self.key.clear();
    }

    /// Whether what is inside of so many objects and lists, the innermost a list, is a record.
    pub(super) fn is_list(&self, depth: usize) -> bool {
        let Some(keys) = depth.checked_sub(1).filter(|keys| (1..=PATH_KEYS_MAX).contains(keys))
        else {
            return false;
        };
        let is_whole = |index: usize| PATHS[index].len() == keys;
        (0..PATHS.len()).any(|index| self.open[keys] & (1 << index) > 0 && is_whole(index))
    }
}

#[cfg(test)]
mod tests {
    use super::{KEY_BYTES_MAX, ListPaths, PATH_KEYS_MAX, PATHS};

    #[test]
    fn paths_are_within_their_limits() {
        assert!(PATHS.iter().all(|path| (1..=PATH_KEYS_MAX).contains(&path.len())));
        assert!(PATHS.iter().flat_map(|path| path.iter()).all(|key| key.len() < KEY_BYTES_MAX));
        assert!(PATHS.len() < 16, "a bit for each");
    }

    fn open(keys: &[&str]) -> bool {
        let mut paths = ListPaths::new();
        paths.open(0);
        for (index, key) in keys.iter().enumerate() {
            paths.begin_string();
            key.bytes().for_each(|byte| paths.take(byte));
            paths.open(index + 1);
        }
        paths.is_list(keys.len() + 1)
    }

    #[test]
    fn lists_are_found_by_their_whole_path() {
        for keys in [&["Records"][..], &["logEvents"], &["hits", "hits"], &["log", "entries"]] {
            assert!(open(keys), "{keys:?}");
        }
        for keys in [
            &[][..],
            &["hits"],
            &["log"],
            &["x", "hits"],
            &["hits", "entries"],
            &["hits", "hits", "hits"],
            &["eventsandmanymore"],
        ] {
            assert!(!open(keys), "{keys:?}");
        }
    }
}
