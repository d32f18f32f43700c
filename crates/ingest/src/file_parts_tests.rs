//! How far files were read, when less was counted than read and files were truncated and copied.

use std::fs::{self, File};
use std::path::PathBuf;

use crate::file_parts::{FileContents, FileEnd, FileHandle, FileParts};
use crate::place_sums::PlaceSums;
use crate::plain_file::PlainFile;

/// Files of a test, which are deleted when they are dropped.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weir-parts-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn plain(&self, name: &str) -> PlainFile {
        let path = self.0.join(name);
        fs::write(&path, name).expect("a file");
        PlainFile::new(&path, &File::open(&path).expect("a file")).expect("its metadata")
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sums(position: u64) -> PlaceSums {
    PlaceSums::of_bytes(position, b"before", b"the head")
}

/// The names of the files, how far each was read, and whether it was truncated then.
fn found(ends: &[FileEnd]) -> Vec<(&str, u64, bool)> {
    ends.iter()
        .map(|end| {
            let name = end.file.path().file_name().and_then(|name| name.to_str());
            (name.expect("one"), end.position, end.is_truncated)
        })
        .collect()
}

#[test]
fn a_copy_was_read_as_far_as_its_original_was_counted() {
    let files = Files::new("copy");
    let [log, copy] = ["log", "copy"].map(|name| files.plain(name));
    for is_truncated in [false, true] {
        let mut parts = FileParts::default();
        parts.add(0, (&log, FileHandle::Path), 0);
        let mut contents = FileContents { file: log.clone(), truncated: None };
        if is_truncated {
            parts.truncate(&log, 100, sums(100));
            contents.truncated = Some(sums(100));
        }
        parts.add_copy(100, &copy, sums(100), contents.clone());
        if is_truncated {
            parts.forget_truncated(&contents);
        } else {
            // That comes later.
            parts.truncate(&log, 100, sums(100));
            contents.truncated = Some(sums(100));
            assert_eq!(found(&parts.ends(40)), [("log", 40, true), ("copy", 40, false)]);
            parts.forget_truncated(&contents);
        }
        // The rest of the copy, and what was written to the log then.
        parts.add(100, (&copy, FileHandle::Path), 100);
        parts.add(120, (&log, FileHandle::Path), 0);
        for (counted, position) in [(0, 0), (40, 40), (99, 99), (100, 100), (110, 110)] {
            assert_eq!(found(&parts.ends(counted)), [("copy", position, false)], "{counted}");
        }
        let both = [("copy", 120, false), ("log", 30, false)];
        assert_eq!(found(&parts.ends(150)), both);
    }
}

#[test]
fn the_end_of_a_copy_that_is_shorter_is_not_beyond_it() {
    let files = Files::new("short");
    let [log, copy] = ["log", "copy"].map(|name| files.plain(name));
    let mut parts = FileParts::default();
    parts.add(0, (&log, FileHandle::Path), 0);
    for length in [10, 60] {
        let contents = FileContents { file: log.clone(), truncated: None };
        parts.add_copy(100, &copy, sums(length), contents);
        assert_eq!(parts.len(), 2, "a longer copy replaces what was known of it");
    }
    assert_eq!(found(&parts.ends(40)), [("log", 40, false), ("copy", 40, false)]);
    assert_eq!(found(&parts.ends(80)), [("log", 80, false), ("copy", 60, false)]);
    assert_eq!(found(&parts.ends(100)), [("log", 100, false), ("copy", 60, false)]);
}

#[test]
fn every_part_of_a_truncated_file_counts() {
    let files = Files::new("truncated");
    let [log, other] = ["log", "other"].map(|name| files.plain(name));
    let mut parts = FileParts::default();
    parts.add(0, (&log, FileHandle::Path), 0);
    parts.add(50, (&other, FileHandle::Path), 0);
    parts.add(70, (&log, FileHandle::Path), 50);
    parts.truncate(&log, 100, sums(80));
    for (counted, expected) in [
        (30, &[("log", 30, true)][..]),
        (60, &[("log", 50, true), ("other", 10, false)]),
        (75, &[("other", 20, false), ("log", 55, true)]),
        (100, &[("other", 20, false), ("log", 80, true)]),
        (130, &[("other", 20, false), ("log", 80, true)]),
    ] {
        assert_eq!(found(&parts.ends(counted)), expected, "{counted}");
    }
    // The same file from its start, which is truncated again.
    parts.add(100, (&log, FileHandle::Path), 0);
    parts.truncate(&log, 140, sums(40));
    let ends = parts.ends(200);
    assert_eq!(found(&ends), [("other", 20, false), ("log", 80, true), ("log", 40, true)]);
    assert!(matches!(ends[1].handle, FileHandle::Closed(known) if known == sums(80)));
}
