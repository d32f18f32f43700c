//! Notifications by the operating system that a followed file has changed.
//!
//! They come within microseconds, so that little is lost if a file is truncated right after a line
//! was written. They only supplement polling: a network file system sends none, and the number of
//! watches is limited (`fs.inotify.max_user_watches`). Linux has inotify(7); other platforms only
//! poll.

#[cfg(target_os = "linux")]
use std::collections::HashMap;
use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[cfg(target_os = "linux")]
use weir_sync::Lock;

use crate::file_identity::FileIdentity;

/// Waits for changes of files and directories. Without support it only waits.
#[derive(Debug)]
pub(super) struct ChangeWatcher {
    #[cfg(target_os = "linux")]
    inotify: rustix::fd::OwnedFd,
    /// The file of each watch.
    #[cfg(target_os = "linux")]
    files: Lock<HashMap<i32, FileIdentity>>,
    /// The directory of each watch, under every name that it was given.
    #[cfg(target_os = "linux")]
    directories: Lock<HashMap<i32, BTreeSet<PathBuf>>>,
}

/// What has changed since the last wait.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Files that were written or renamed.
    pub(super) files: HashSet<FileIdentity>,
    /// The paths at which files have appeared.
    pub(super) appeared: BTreeSet<PathBuf>,
    /// Whether there were more than the system could report.
    pub(super) are_incomplete: bool,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.appeared.is_empty() && !self.are_incomplete
    }
}

/// The watch of a file, which ends when it is dropped.
#[derive(Debug)]
pub(super) struct FileWatch {
    #[cfg(target_os = "linux")]
    watcher: Arc<ChangeWatcher>,
    #[cfg(target_os = "linux")]
    watch: i32,
}

#[cfg(target_os = "linux")]
impl ChangeWatcher {
    /// Creates a watcher that watches nothing yet; `None` if the system has no room for one.
    pub(super) fn new() -> Option<Arc<Self>> {
        use rustix::fs::inotify::{CreateFlags, init};
        let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        Some(Arc::new(Self { inotify, files: Lock::default(), directories: Lock::default() }))
    }

    /// Watches a directory for files that appear in it.
    pub(super) fn watch_directory(&self, path: &Path) {
        use rustix::fs::inotify::{WatchFlags, add_watch};
        let is_here = path.as_os_str().is_empty();
        let opened = if is_here { Path::new(".") } else { path };
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        // Without this watch, polling finds new files.
        if let Ok(watch) = add_watch(&self.inotify, opened, flags) {
            self.directories.lock().entry(watch).or_default().insert(path.to_owned());
        }
    }

    /// Watches an open file, even if it is renamed; `None` if that is not possible.
    pub(super) fn watch(
        self: &Arc<Self>,
        file: &File,
        identity: FileIdentity,
    ) -> Option<FileWatch> {
        use rustix::fs::inotify::{WatchFlags, add_watch};
        use std::os::fd::AsRawFd;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = WatchFlags::MODIFY | WatchFlags::MOVE_SELF;
        let watch = add_watch(&self.inotify, path, flags).ok()?;
        self.files.lock().insert(watch, identity);
        Some(FileWatch { watcher: self.clone(), watch })
    }

    /// Waits until something changes, at most for `longest`, which is below a second. Returns what
    /// has changed.
    pub(super) fn wait(&self, longest: Duration) -> Changes {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let timeout = Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
        let mut polled = [PollFd::new(&self.inotify, PollFlags::IN)];
        // An interrupted wait is a short one.
        match poll(&mut polled, Some(&timeout)) {
            Ok(ready) if ready > 0 => self.changes(),
            _ => Changes::default(),
        }
    }

    /// Takes the events that have been reported.
    fn changes(&self) -> Changes {
        use rustix::fs::inotify::{ReadFlags, Reader};
        use std::ffi::OsStr;
        use std::mem::MaybeUninit;
        use std::os::unix::ffi::OsStrExt;
        let mut changes = Changes::default();
        let mut buffer = [MaybeUninit::uninit(); 4 << 10];
        let mut events = Reader::new(&self.inotify, &mut buffer);
        let (files, mut directories) = (self.files.lock(), self.directories.lock());
        let mut taken = 0;
        // Events that the buffer has are taken in any case.
        while taken < EVENTS_MAX || !events.is_buffer_empty() {
            let Ok(event) = events.next() else { return changes };
            taken += 1;
            changes.are_incomplete |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            changes.files.extend(files.get(&event.wd()));
            let Some(names) = directories.get(&event.wd()) else { continue };
            match event.file_name().map(|name| OsStr::from_bytes(name.to_bytes())) {
                Some(name) => changes.appeared.extend(names.iter().map(|path| path.join(name))),
                // The directory was deleted, and its watch with it.
                None => drop(directories.remove(&event.wd())),
            }
        }
        changes
    }
}

/// The most events that are taken at once. The rest are taken by the next wait.
#[cfg(target_os = "linux")]
const EVENTS_MAX: usize = 4_096;

#[cfg(target_os = "linux")]
impl Drop for FileWatch {
    fn drop(&mut self) {
        self.watcher.files.lock().remove(&self.watch);
        // The watch has already ended if the file was deleted.
        let _ = rustix::fs::inotify::remove_watch(&self.watcher.inotify, self.watch);
    }
}

#[cfg(not(target_os = "linux"))]
impl ChangeWatcher {
    pub(super) fn new() -> Option<Arc<Self>> {
        None
    }

    pub(super) fn watch_directory(&self, _: &Path) {}

    pub(super) fn watch(self: &Arc<Self>, _: &File, _: FileIdentity) -> Option<FileWatch> {
        None
    }

    pub(super) fn wait(&self, _: Duration) -> Changes {
        Changes::default()
    }
}
