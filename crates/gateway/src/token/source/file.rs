//! A key set in a file, which is read again when it changes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use weir_net::socket::FileState;
use weir_sync::Lock;

use super::error::{KeySourceError, KeySourceFault, check_usable};
use super::{CurrentKeys, KeyStatus, Keys};
use crate::token::algorithm::Algorithm;
use crate::token::key::{KeySet, KeySetOrigin, parse_key_set};
use crate::token::refusal::TokenRefusal;

/// The maximum size of a key set file in bytes. A hundred keys of 8,192 bits are smaller.
pub(super) const KEY_FILE_BYTES_MAX: u64 = 512 << 10;

/// A key set in a file. If the file is unusable after a change, the last keys stay.
#[derive(Debug)]
pub(in crate::token) struct KeySetFile {
    path: PathBuf,
    algorithms: Vec<Algorithm>,
    current: CurrentKeys,
    /// When the file was last checked, in seconds since 1970.
    checked_at_unix_s: AtomicI64,
    /// The state of the file at the last read, whether or not it was usable.
    state: Lock<Option<FileState>>,
}

impl KeySetFile {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// If the file cannot be read, is not a key set, or has no usable key.
    pub(in crate::token) fn read(
        path: PathBuf,
        algorithms: Vec<Algorithm>,
    ) -> Result<Self, KeySourceError> {
        let file = Self {
            path,
            algorithms,
            current: CurrentKeys::default(),
            checked_at_unix_s: AtomicI64::new(i64::MIN),
            state: Lock::new(None),
        };
        let (text, set) = file.parse()?;
        // No request has supplied the time yet.
        file.current.note(Ok((text, set)), None);
        *file.state.lock() = FileState::read(&file.path);
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
        let state = FileState::read(&self.path);
        let mut last = self.state.lock();
        if *last == state {
            return;
        }
        let outcome = self.parse();
        self.current.note(outcome, Some(now_unix_s));
        *last = state;
    }

    fn parse(&self) -> Result<(Vec<u8>, KeySet), KeySourceError> {
        let parse = || {
            let text = read_key_file(&self.path)?;
            let set = parse_key_set(&text, &self.algorithms, KeySetOrigin::File);
            let set = check_usable(set.map_err(KeySourceFault::Set)?)?;
            Ok((text, set))
        };
        let place = || self.path.display().to_string();
        parse().map_err(|fault| KeySourceError { place: place(), fault })
    }
}

fn read_key_file(path: &Path) -> Result<Vec<u8>, KeySourceFault> {
    let mut text = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(KEY_FILE_BYTES_MAX + 1).read_to_end(&mut text));
    match read {
        Err(error) => Err(KeySourceFault::Unreadable(error.to_string())),
        Ok(bytes) if bytes as u64 > KEY_FILE_BYTES_MAX => Err(KeySourceFault::TooLarge),
        Ok(_) => Ok(text),
    }
}
