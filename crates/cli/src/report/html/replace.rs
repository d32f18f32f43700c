//! Replaces a file in one step, so that a reader sees the old page or the new one, never a part,
//! and a full disk leaves the old one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` to a file beside `path`, and renames it to `path`. A symbolic link is followed;
/// what is not a regular file, such as a pipe, is written to directly.
///
/// # Errors
/// If a file cannot be written in the folder; the file at `path` is then as it was.
pub(super) fn file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return File::create(&path)?.write_all(bytes);
    }
    let beside = beside(&path)?;
    let written = write(&beside, bytes, old.map(|old| old.permissions()))
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// A name in the same folder that no other process uses.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    Ok(path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id())))
}

fn write(path: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}
