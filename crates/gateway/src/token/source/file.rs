//! A key set in a file, which is read again when it changes.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::{CurrentKeys, KeyStatus, Keys};
use crate::token::algorithm::Algorithm;
use crate::token::key::{KeySet, KeySetOrigin, parse_key_set};
use crate::token::refusal::TokenRefusal;

/// The maximum size of a key set file in bytes. A hundred keys of 8,192 bits are smaller.
pub(in crate::token) const KEY_FILE_BYTES_MAX: u64 = 512 << 10;

/// A key set in a file. If the file is unusable after a change, the last keys stay.
#[derive(Debug)]
pub(in crate::token) struct KeySetFile {
    path: PathBuf,
    algorithms: Vec<Algorithm>,
    current: CurrentKeys,
    /// When the file was last checked, in seconds since 1970.
    checked_at_unix_s: AtomicI64,
    /// The state of the file at the last read, whether or not it was usable.
    state: Mutex<Option<FileState>>,
}

/// Metadata that change if a file is replaced or written to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    bytes: u64,
    /// The inode, and the change time in seconds and nanoseconds.
    #[cfg(unix)]
    identity: (u64, i64, i64),
}

impl FileState {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            modified: metadata.modified().ok(),
            bytes: metadata.len(),
            #[cfg(unix)]
            identity: (metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl KeySetFile {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// A sentence, if the file cannot be read, is not a key set, or has no usable key.
    pub(in crate::token) fn read(
        path: PathBuf,
        algorithms: Vec<Algorithm>,
    ) -> Result<Self, String> {
        let file = Self {
            path,
            algorithms,
            current: CurrentKeys::default(),
            checked_at_unix_s: AtomicI64::new(i64::MIN),
            state: Mutex::new(None),
        };
        let (text, set) = file.parse()?;
        // No request has supplied the time yet.
        file.current.note(Ok((&text, set)), None);
        *file.state.lock().unwrap_or_else(PoisonError::into_inner) = file.file_state();
        Ok(file)
    }

    pub(super) fn generation(&self, now_unix_s: i64) -> u64 {
        self.check(now_unix_s);
        self.current.generation()
    }

    pub(super) fn keys(&self, now_unix_s: i64) -> Result<Arc<Keys>, TokenRefusal> {
        self.check(now_unix_s);
        self.current.keys().ok_or(TokenRefusal::KeysUnavailable)
    }

    pub(super) fn status(&self) -> KeyStatus {
        self.current.status()
    }

    /// Reads the file again if it has changed. Checks it at most once a second.
    fn check(&self, now_unix_s: i64) {
        if self.checked_at_unix_s.swap(now_unix_s, Ordering::AcqRel) == now_unix_s {
            return;
        }
        let state = self.file_state();
        let mut last = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *last == state {
            return;
        }
        let outcome = self.parse();
        let outcome = outcome.as_ref().map(|(text, set)| (&text[..], set.clone()));
        self.current.note(outcome.map_err(Clone::clone), Some(now_unix_s));
        *last = state;
    }

    fn file_state(&self) -> Option<FileState> {
        std::fs::metadata(&self.path).ok().map(|metadata| FileState::of(&metadata))
    }

    fn parse(&self) -> Result<(Vec<u8>, KeySet), String> {
        let text = read_key_file(&self.path)?;
        let set = parse_key_set(&text, &self.algorithms, KeySetOrigin::File)
            .map_err(|problem| format!("{}: {problem}", self.path.display()))?;
        if set.len() == 0 {
            return Err(format!("{}: {}", self.path.display(), no_usable_key(&set)));
        }
        Ok((text, set))
    }
}

/// Reads a key set file.
///
/// # Errors
/// A sentence, if the file cannot be read or is too large.
pub(in crate::token) fn read_key_file(path: &Path) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(KEY_FILE_BYTES_MAX + 1).read_to_end(&mut text));
    match read {
        Err(error) => Err(format!("{}: cannot be read: {error}", path.display())),
        Ok(bytes) if bytes as u64 > KEY_FILE_BYTES_MAX => Err(format!(
            "{}: larger than {} KiB, too large for keys",
            path.display(),
            KEY_FILE_BYTES_MAX >> 10
        )),
        Ok(_) => Ok(text),
    }
}

/// Returns a sentence about a set without usable keys.
pub(super) fn no_usable_key(set: &KeySet) -> String {
    match set.skipped.first() {
        None => "the key set is empty".to_owned(),
        Some(skipped) => format!(
            "none of the {} keys can be used; the first one: {}",
            set.skipped.len(),
            skipped.problem
        ),
    }
}
