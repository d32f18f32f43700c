//! Files of addresses, written by the testkit or published by others.

mod damaged;
mod files;
mod lookups;
mod published;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use weir_geo::{Database, GeoField, Geography};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-geo-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("it is written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn open(paths: &[&Path]) -> Geography {
    let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).to_owned()).collect();
    Geography::open(&paths).expect("they can be used")
}

/// The sentence of the error for a file.
fn refusal(path: &Path) -> String {
    let error = Database::open(path).expect_err("it cannot be used").to_string();
    let start = format!("{}: ", path.display());
    error.strip_prefix(&start).expect("it begins with the file").to_owned()
}

fn value(geography: &Geography, field: GeoField, address: &str) -> Option<String> {
    let mut value = b"before ".to_vec();
    let is_found = geography.append(field, address.parse().expect("an address"), &mut value);
    let text = String::from_utf8(value).expect("text");
    let appended = text.strip_prefix("before ").expect("what was there stays").to_owned();
    assert_eq!(is_found, !appended.is_empty());
    is_found.then_some(appended)
}
