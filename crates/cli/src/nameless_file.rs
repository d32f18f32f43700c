//! Files that have no name until they are complete, so that a killed process leaves nothing behind.

#[cfg(target_os = "linux")]
pub(crate) use linux::{create, link};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags};

    /// Creates a file without a name in a folder, with these permissions before the umask. Returns
    /// `None` if the file system has no such files, or if the file could not be named later.
    pub(crate) fn create(folder: &Path, mode: u32) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open(folder, flags, Mode::from_raw_mode(mode)).ok()?;
        let file = File::from(file);
        path_of(&file).exists().then_some(file)
    }

    /// Gives such a file a name.
    ///
    /// # Errors
    /// If the name is taken, or no file can be made there.
    pub(crate) fn link(file: &File, path: &Path) -> io::Result<()> {
        rustix::fs::linkat(CWD, path_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?;
        Ok(())
    }

    /// Returns the only path to a file without a name; see `O_TMPFILE` in open(2).
    fn path_of(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }
}

/// Other systems have no such files.
#[cfg(not(target_os = "linux"))]
mod others {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(crate) fn create(_folder: &Path, _mode: u32) -> Option<File> {
        None
    }

    pub(crate) fn link(_file: &File, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use others::{create, link};
