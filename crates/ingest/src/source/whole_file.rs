//! Notices that a file became shorter while it was read, as by a rotation that truncates it.

use std::fs::File;
use std::io::{self, Read, Seek};

use crate::first_length::FirstLength;

/// Reads a file from its position on. The end is an error if the file had more bytes at first: then
/// lines are missing. A file that is truncated and has grown to that length again is not noticed. A
/// writer that reserves space and then truncates the unused rest causes the error although no line
/// is lost.
#[derive(Debug)]
pub(super) struct WholeFile {
    file: File,
    length: FirstLength,
    position: u64,
}

impl WholeFile {
    /// Continues to read a file that had this length when it was opened.
    pub(super) fn new(mut file: File, length: FirstLength) -> io::Result<Self> {
        let position = if length.bytes() > 0 { file.stream_position()? } else { 0 };
        Ok(Self { file, length, position })
    }
}

impl Read for WholeFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            self.length.check_end(&self.file, self.position)?;
        }
        self.position += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::path::PathBuf;

    use super::{FirstLength, WholeFile};

    /// The path of a file with three lines, and the file.
    fn file(name: &str) -> (PathBuf, WholeFile) {
        let name = format!("weir-whole-file-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "one\ntwo\nthree\n").expect("it is written");
        let file = File::open(&path).expect("it is there");
        let length = FirstLength::of(&file).expect("its length");
        (path, WholeFile::new(file, length).expect("its position"))
    }

    #[test]
    fn a_truncation_is_an_error_at_the_end() {
        let (path, mut file) = file("truncated");
        let mut start = [0; 8];
        file.read_exact(&mut start).expect("two lines");
        let writer = File::options().append(true).open(&path).expect("it is there");
        writer.set_len(4).expect("it is truncated");
        let error = file.read(&mut start).expect_err("it is shorter than what was read");
        assert_eq!(error.to_string(), "the file had 14 bytes and was truncated while it was read");
        std::fs::remove_file(&path).expect("it was there");
    }

    #[test]
    fn a_file_that_grows_or_is_read_whole_has_no_error() {
        let (path, mut file) = file("growing");
        let mut writer = File::options().append(true).open(&path).expect("it is there");
        writer.write_all(b"four\n").expect("it is written");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("it is read");
        assert_eq!(text, "one\ntwo\nthree\nfour\n");
        writer.set_len(0).expect("it is truncated");
        assert_eq!(file.read(&mut [0; 8]).expect("everything was read before"), 0);
        std::fs::remove_file(&path).expect("it was there");
    }
}
