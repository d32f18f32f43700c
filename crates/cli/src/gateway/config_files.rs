//! The files of a configuration, and whether they have changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A configuration file, and the files that it names.
pub(super) struct ConfigFiles {
    pub(super) path: PathBuf,
    /// The state of each file when it was read; `None` if there was none.
    seen: HashMap<PathBuf, Option<Stamp>>,
    /// The number of looks in a row at which the configuration file was absent.
    absences: u32,
}

/// The modification time and length of a file, which change when it is written or replaced.
type Stamp = (SystemTime, u64);

impl ConfigFiles {
    pub(super) fn new(path: PathBuf, sources: Vec<PathBuf>) -> Self {
        let mut files = Self { path, seen: HashMap::new(), absences: 0 };
        files.note_sources(sources);
        files
    }

    /// Whether a file was written or replaced since it was read. A file that is absent has not
    /// changed: one that is being replaced is not there for a moment.
    pub(super) fn have_changed(&self) -> bool {
        self.seen.iter().any(|(path, seen)| {
            let now = stamp(path);
            now.is_some() && now != *seen
        })
    }

    /// Looks for the configuration file. Returns true at the second look in a row that misses it.
    pub(super) fn note_absence(&mut self) -> bool {
        self.absences = match stamp(&self.path) {
            Some(_) => 0,
            None => self.absences.saturating_add(1),
        };
        self.absences == 2
    }

    /// Notes the states of the files, which are about to be read.
    pub(super) fn note_states(&mut self) {
        for (path, seen) in &mut self.seen {
            *seen = stamp(path);
        }
    }

    /// Notes the files that the configuration names now. Those that are new have just been read.
    pub(super) fn note_sources(&mut self, sources: Vec<PathBuf>) {
        self.seen.retain(|path, _| *path == self.path || sources.contains(path));
        for path in sources.into_iter().chain([self.path.clone()]) {
            self.seen.entry(path).or_insert_with_key(|path| stamp(path));
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::ConfigFiles;

    /// An empty folder, removed when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            let path =
                std::env::temp_dir().join(format!("weir-config-files-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            // A leftover folder does no harm.
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_change_of_any_file_is_noticed_once() {
        let folder = Folder::new();
        let [main, rules, secret] = ["a.toml", "rules", "secret"].map(|name| folder.0.join(name));
        std::fs::write(&main, "1").expect("written");
        std::fs::write(&rules, "1").expect("written");
        let mut files = ConfigFiles::new(main.clone(), vec![rules.clone(), secret.clone()]);
        assert!(!files.have_changed());
        for path in [&main, &rules, &secret] {
            std::fs::write(path, "longer").expect("written");
            assert!(files.have_changed(), "{}", path.display());
            files.note_states();
            files.note_sources(vec![rules.clone(), secret.clone()]);
            assert!(!files.have_changed(), "{}", path.display());
        }
        files.note_sources(vec![secret.clone()]);
        std::fs::write(&rules, "").expect("written");
        assert!(!files.have_changed(), "it is not named any more");
        std::fs::remove_file(&secret).expect("removed");
        assert!(!files.have_changed(), "it may be replaced soon");
        assert!(!files.note_absence());
        std::fs::remove_file(&main).expect("removed");
        let absences: Vec<bool> = (0..4).map(|_| files.note_absence()).collect();
        assert_eq!(absences, [false, true, false, false]);
        std::fs::write(&main, "longer again").expect("written");
        assert!(!files.note_absence() && files.have_changed());
    }
}
