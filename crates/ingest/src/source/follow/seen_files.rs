//! The files that a search has seen.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file_identity::FileIdentity;

/// The files that a search has seen, with their folders. What is remembered of others is forgotten: a
/// file that is gone does not come back, and another one may get its inode.
#[derive(Debug, Default)]
pub(super) struct SeenFiles {
    files: HashMap<FileIdentity, Arc<Path>>,
    /// The folder of the last file. The next one is often beside it.
    folder: Option<Arc<Path>>,
}

impl SeenFiles {
    pub(super) fn insert(&mut self, path: &Path, file: FileIdentity) {
        let folder = path.parent().unwrap_or(path);
        let folder = match self.folder.take().filter(|last| **last == *folder) {
            Some(last) => last,
            None => folder.into(),
        };
        self.files.insert(file, folder.clone());
        self.folder = Some(folder);
    }

    pub(super) fn contains(&self, file: FileIdentity) -> bool {
        self.files.contains_key(&file)
    }

    /// Adds the files that an earlier search has seen in and below folders which could not be read.
    pub(super) fn keep(&mut self, earlier: Self, unread: &[PathBuf]) {
        if unread.is_empty() {
            return;
        }
        let is_unread = |folder: &Path| unread.iter().any(|unread| folder.starts_with(unread));
        for (file, folder) in earlier.files {
            if is_unread(&folder) {
                self.files.entry(file).or_insert(folder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::SeenFiles;
    use crate::file_identity::FileIdentity;

    #[test]
    fn files_of_folders_that_could_not_be_read_are_kept_alone() {
        let root = std::env::temp_dir().join(format!("weir-seen-{}", std::process::id()));
        let mut files = Vec::new();
        for name in ["a/one", "a/below/two", "a-b/three", "c/four"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("one")).expect("a folder");
            fs::write(&path, name).expect("a file");
            files.push((FileIdentity::at(&path).expect("it is there"), path));
        }
        let seen = |numbers: &[usize]| {
            let mut seen = SeenFiles::default();
            numbers.iter().for_each(|number| seen.insert(&files[*number].1, files[*number].0));
            seen
        };
        for (unread, kept) in [
            (&[][..], [false, false, false, true]),
            (&["a"], [true, true, false, true]),
            (&["a/below", "a-b"], [false, true, true, true]),
        ] {
            let unread: Vec<_> = unread.iter().map(|name| root.join(name)).collect();
            let mut next = seen(&[3]);
            next.keep(seen(&[0, 1, 2]), &unread);
            assert_eq!(
                files.iter().map(|(file, _)| next.contains(*file)).collect::<Vec<_>>(),
                kept
            );
        }
        fs::remove_dir_all(root).expect("it is there");
    }
}
