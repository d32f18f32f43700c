//! Replaces a file in one step: a reader sees the old content or the new one, never a part, and a
//! full disk leaves the old content.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use weir_ingest::Input;

use crate::nameless_file;
use crate::outcome::Failure;

/// The number of names that are tried for the temporary file beside the target.
const NAMES_MAX: u32 = 100;

/// A file that replaces the target, or creates it, when it is complete.
///
/// The bytes are written to a temporary file in the same folder, which replaces the target at the
/// end. Until then it has no name, if the file system supports that, so nothing is left however
/// this process ends. ext4, XFS, Btrfs and tmpfs on Linux support it, NFS does not. The new file
/// has the permissions of the old one, and its owner if this process may set that. A symbolic link
/// is followed. If this is dropped before the end, the target stays unchanged.
///
/// The target is written to directly if no file can be created beside it, as in a folder that only
/// others may write to, and if it is not a regular file, such as a pipe.
#[derive(Debug)]
pub(crate) struct OutputFile {
    file: File,
    /// The target, and the name of the temporary file if it has one; `None` if the target is
    /// written to directly.
    target: Option<(PathBuf, Option<PathBuf>)>,
}

impl OutputFile {
    /// Begins to write the file with this path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let in_place = |path: &Path| Ok(Self { file: File::create(path)?, target: None });
        let Ok(target) = fs::canonicalize(path) else {
            return match fs::symlink_metadata(path) {
                // A dangling link: its target is created.
                Ok(_) => in_place(path),
                Err(_) => Self::beside(path, None).unwrap_or_else(|| in_place(path)),
            };
        };
        let old = fs::metadata(&target)?;
        if !old.is_file() {
            return in_place(&target);
        }
        // A file that may not be written to is not replaced either.
        OpenOptions::new().write(true).open(&target)?;
        Self::beside(&target, Some(&old)).unwrap_or_else(|| in_place(&target))
    }

    /// Creates the temporary file. Returns `None` if that is not possible.
    fn beside(target: &Path, old: Option<&Metadata>) -> Option<io::Result<Self>> {
        let (file, beside) = match nameless_file::create(folder_of(target), mode(old.is_some())) {
            Some(file) => (file, None),
            None => {
                let (file, beside) = create_beside(target, mode(old.is_some()))?;
                (file, Some(beside))
            }
        };
        let output = Self { file, target: Some((target.to_owned(), beside)) };
        Some(copy_owner(&output.file, old).map(|()| output))
    }

    /// Whether the target is as it was until [`Self::finish`], not written to directly.
    pub(crate) fn is_replacement(&self) -> bool {
        self.target.is_some()
    }

    /// Drops what was written so far.
    ///
    /// # Errors
    /// If the file cannot be written to.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()
    }

    /// Replaces the target by the file.
    ///
    /// # Errors
    /// If it cannot be written to its end.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let Some((target, beside)) = &mut self.target else { return Ok(()) };
        self.file.sync_all()?;
        let beside = match beside {
            Some(beside) => beside,
            None => beside.insert(name_beside(&self.file, target)?),
        };
        if fs::rename(&*beside, &*target).is_err() {
            fs::copy(beside, target)?;
            return Ok(());
        }
        self.target = None;
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((_, Some(beside))) = &self.target {
            // Another error is reported already.
            let _ = fs::remove_file(beside);
        }
    }
}

/// Writes `bytes` to the file with this path, in one step.
///
/// # Errors
/// If the file cannot be written. It is then unchanged, unless it was written to directly.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut output = OutputFile::create(path)?;
    output.write_all(bytes)?;
    output.finish()
}

/// Refuses to overwrite one of the logs. `option` names the option with the file.
///
/// # Errors
/// If the file is one of the inputs.
pub(crate) fn refuse_input(option: &str, file: &Path, inputs: &[Input]) -> Result<(), Failure> {
    let is_same = |path: &Path| -> io::Result<bool> {
        Ok(fs::canonicalize(path)? == fs::canonicalize(file)?)
    };
    let is_named = |input: &Input| match input {
        Input::File(path) => is_same(path).unwrap_or(false),
        _ => false,
    };
    // The file may be an input under another name, or standard input.
    let metadata = fs::metadata(file).ok();
    let is_input =
        |input: &Input| metadata.as_ref().is_some_and(|metadata| input.is_same(metadata));
    if inputs.iter().any(|input| is_named(input) || is_input(input)) {
        let name = file.to_string_lossy();
        return Err(Failure::new(format_args!(
            "{option}: {name} is one of the logs and would be overwritten; name another file"
        )));
    }
    Ok(())
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the permissions of a new file before the umask. A file that replaces another one is
/// readable by its owner alone until it has the permissions of the old one.
fn mode(is_replacement: bool) -> u32 {
    if is_replacement { 0o600 } else { 0o666 }
}

/// Returns names for the temporary file.
fn names_beside(path: &Path) -> impl Iterator<Item = PathBuf> {
    let process = std::process::id();
    (0..NAMES_MAX).map(move |number| path.with_file_name(format!(".weir-{process}-{number}.tmp")))
}

/// Creates a temporary file with a name in the same folder.
fn create_beside(path: &Path, mode: u32) -> Option<(File, PathBuf)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    names_beside(path).find_map(|beside| Some((options.open(&beside).ok()?, beside)))
}

/// Links a nameless file to a name beside the target.
fn name_beside(file: &File, target: &Path) -> io::Result<PathBuf> {
    let mut error = io::ErrorKind::AlreadyExists.into();
    for beside in names_beside(target) {
        match nameless_file::link(file, &beside) {
            Ok(()) => return Ok(beside),
            Err(found) => error = found,
        }
    }
    Err(error)
}

/// Gives a file the owner and the permissions of another one, before there is anything to read.
fn copy_owner(file: &File, old: Option<&Metadata>) -> io::Result<()> {
    let Some(old) = old else { return Ok(()) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Only root may change the owner. For other users the new file is their own.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(old.permissions())
}
