//! Temporary files of tests.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file that is removed at the end of a test.
pub(crate) struct TestFile {
    pub(crate) path: PathBuf,
}

impl TestFile {
    /// Creates a file with this text.
    pub(crate) fn new(name: &str, text: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-token-{name}-{}-{number}", std::process::id());
        let file = Self { path: std::env::temp_dir().join(name) };
        file.write(text);
        file
    }

    /// Replaces the file as a whole.
    pub(crate) fn write(&self, text: &str) {
        let new = self.path.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &self.path).unwrap();
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        // A test may have removed it.
        let _removed = std::fs::remove_file(&self.path);
    }
}
