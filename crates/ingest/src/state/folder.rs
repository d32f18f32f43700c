//! The folder of `--state`: a lock, and one file with the data set.
//!
//! | file | content |
//! |---|---|
//! | `.lock` | the number of the process that uses the folder, which has locked it |
//! | `data.weir` | the data set, and the changes since it was written whole |
//! | `.data.weir.new` | the same while it is written whole; then it gets the other name |
//! | `data.weir.damaged`, ... | what could not be read |

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use weir_store::{Reader, StoreError, StoredData};

/// The most damaged files that are kept under names of their own.
const ASIDE_MAX: u32 = 100;

/// Why the state cannot be kept in a folder.
#[derive(Debug)]
pub enum StateError {
    /// Another process uses the folder; its number, if it is known.
    InUse(PathBuf, Option<u32>),
    /// A file cannot be read or written.
    Io(PathBuf, io::Error),
    /// What is kept in the file takes more memory than is allowed.
    Memory(PathBuf),
}

impl fmt::Display for StateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(path, process) => {
                let path = path.display();
                match process {
                    Some(process) => write!(formatter, "{path} is used by process {process}")?,
                    None => write!(formatter, "{path} is used by another process")?,
                }
                formatter.write_str("; end that process, or name another folder")
            }
            Self::Io(path, error) => {
                write!(
                    formatter,
                    "{} cannot be used: {error}; name a folder that ",
                    path.display()
                )?;
                formatter.write_str("weir may write to, on a disk with room")
            }
            Self::Memory(path) => write!(
                formatter,
                "{} has more than --memory allows; raise it, or move the file away",
                path.display()
            ),
        }
    }
}

impl std::error::Error for StateError {}

/// A folder that this process has locked.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The lock is held as long as this is open.
    _lock: File,
}

impl Folder {
    /// Creates the folder if there is none, and locks it.
    pub(super) fn lock(path: &Path) -> Result<Self, StateError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |error| StateError::Io(path, error)
        };
        fs::create_dir_all(path).map_err(fail(path))?;
        let at = path.join(".lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut lock = options.open(&at).map_err(fail(&at))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                let mut process = String::new();
                let read = lock.read_to_string(&mut process);
                let process = read.ok().and_then(|_| process.trim().parse().ok());
                return Err(StateError::InUse(path.to_owned(), process));
            }
            Err(fs::TryLockError::Error(error)) => return Err(StateError::Io(at, error)),
        }
        lock.set_len(0)
            .and_then(|()| writeln!(lock, "{}", std::process::id()))
            .map_err(fail(&at))?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    pub(super) fn data_path(&self) -> PathBuf {
        self.path.join("data.weir")
    }

    /// Reads the data set, if there is one. What cannot be read is moved aside, which the returned
    /// notes say.
    pub(super) fn read(
        &self,
        value_bytes_max: usize,
        segment_bytes_max: usize,
    ) -> Result<(Option<StoredData>, Vec<String>), StateError> {
        let path = self.data_path();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((None, Vec::new())),
            Err(error) => return Err(StateError::Io(path, error)),
        };
        let read = Reader::new(file, value_bytes_max, segment_bytes_max).and_then(Reader::read);
        let mut notes = Vec::new();
        match read {
            Ok(data) => {
                // A process that was killed leaves a record without its end.
                if let Some(reason) = data.torn.filter(|reason| !reason.starts_with("it ends")) {
                    let aside = self.aside(|aside| fs::copy(&path, aside).map(|_| ()))?;
                    notes.push(format!(
                        "{} is damaged at byte {}: {reason}; it is kept as {}, and what came after that \
                         is read again where its log still has it",
                        path.display(),
                        data.committed_bytes,
                        aside.display()
                    ));
                }
                Ok((Some(data), notes))
            }
            Err(StoreError::Io(error)) => Err(StateError::Io(path, error)),
            Err(StoreError::Memory) => Err(StateError::Memory(path)),
            Err(error) => {
                let aside = self.aside(|aside| fs::rename(&path, aside))?;
                notes.push(format!(
                    "{} {error}. It is now {}, and the logs are read from their beginning",
                    path.display(),
                    aside.display()
                ));
                Ok((None, notes))
            }
        }
    }

    /// Puts the file under a name that is free.
    fn aside(&self, put: impl Fn(&Path) -> io::Result<()>) -> Result<PathBuf, StateError> {
        let names = (0..ASIDE_MAX).map(|number| match number {
            0 => "data.weir.damaged".to_owned(),
            number => format!("data.weir.damaged.{number}"),
        });
        let mut paths = names.map(|name| self.path.join(name));
        let aside = paths.find(|path| !path.exists());
        let aside = aside.unwrap_or_else(|| self.path.join("data.weir.damaged"));
        put(&aside).map_err(|error| StateError::Io(aside.clone(), error))?;
        Ok(aside)
    }

    /// Opens the data set to append to it after this many bytes.
    pub(super) fn append(&self, bytes: u64) -> io::Result<File> {
        let mut file = OpenOptions::new().write(true).open(self.data_path())?;
        file.set_len(bytes)?;
        file.seek(SeekFrom::End(0))?;
        Ok(file)
    }

    /// Opens the file in which a data set is written whole.
    pub(super) fn begin(&self) -> io::Result<File> {
        File::create(self.path.join(".data.weir.new"))
    }

    /// Replaces the data set by the one that was written whole.
    pub(super) fn replace(&self, file: &File) -> io::Result<()> {
        file.sync_all()?;
        fs::rename(self.path.join(".data.weir.new"), self.data_path())?;
        // The name of a file is in its folder.
        File::open(&self.path)?.sync_all()
    }
}
