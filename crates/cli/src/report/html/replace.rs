//! Replaces a file in one step, so that a reader sees the old page or the new one, never a part,
//! and a full disk leaves the old one.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How many names are tried for the file beside the page.
const NAMES_MAX: u32 = 100;

/// Writes `bytes` to a file beside `path`, and renames it to `path`. The new file has the owner,
/// if this process may set it, and the permissions of the old one. A symbolic link is followed.
///
/// Where no file can be created or renamed, as in a folder that only others may write to, and for
/// what is not a regular file, such as a pipe, `path` is written to directly.
///
/// # Errors
/// If the file cannot be written. Unless it was written to directly, it is then as it was.
pub(super) fn file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let in_place = |path: &Path| File::create(path)?.write_all(bytes);
    let Ok(target) = fs::canonicalize(path) else {
        return match fs::symlink_metadata(path) {
            // A link to nothing: its target is created.
            Ok(_) => in_place(path),
            Err(_) => replace(path, bytes, None).unwrap_or_else(|| in_place(path)),
        };
    };
    let old = fs::metadata(&target)?;
    if !old.is_file() {
        return in_place(&target);
    }
    // A page that may not be written to is not replaced either.
    OpenOptions::new().write(true).open(&target)?;
    replace(&target, bytes, Some(&old)).unwrap_or_else(|| in_place(&target))
}

/// Replaces `path`. `None` if a file beside it can be neither created nor renamed.
fn replace(path: &Path, bytes: &[u8], old: Option<&Metadata>) -> Option<io::Result<()>> {
    let (mut file, beside) = create_beside(path, old.is_some())?;
    let written =
        copy_owner(&file, old).and_then(|()| file.write_all(bytes)).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // The first error is the one to report.
        let _ = fs::remove_file(&beside);
        return Some(Err(error));
    }
    if fs::rename(&beside, path).is_err() {
        let _ = fs::remove_file(&beside);
        return None;
    }
    Some(Ok(()))
}

/// A new file in the same folder. A private one can be read by its owner alone until it has the
/// permissions of the page that it replaces.
fn create_beside(path: &Path, is_private: bool) -> Option<(File, PathBuf)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let process = std::process::id();
    (0..NAMES_MAX).find_map(|number| {
        let beside = path.with_file_name(format!(".weir-{process}-{number}.tmp"));
        Some((options.open(&beside).ok()?, beside))
    })
}

/// Gives a file the owner and the permissions of another one, before there is anything to read.
fn copy_owner(file: &File, old: Option<&Metadata>) -> io::Result<()> {
    let Some(old) = old else { return Ok(()) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Only root may give a file away; anybody else replaces it by a file of their own.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(old.permissions())
}
