//! Notifications by the operating system that a followed file has changed.
//!
//! They come within microseconds, so that little is lost if a file is truncated right after a line
//! was written. They only supplement polling: a network file system sends none, and the number of
//! watches is limited (`fs.inotify.max_user_watches`). Linux has inotify(7); other platforms only
//! poll.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Waits for changes of files and directories. Without support it only waits.
#[derive(Debug)]
pub(super) struct ChangeWatcher {
    #[cfg(target_os = "linux")]
    inotify: rustix::fd::OwnedFd,
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
        Some(Arc::new(Self { inotify }))
    }

    /// Watches a directory for files that appear in it.
    pub(super) fn watch_directory(&self, path: &Path) {
        use rustix::fs::inotify::{WatchFlags, add_watch};
        // Without this watch, polling finds new files.
        let _ = add_watch(&self.inotify, path, WatchFlags::CREATE | WatchFlags::MOVED_TO);
    }

    /// Watches an open file, even if it is renamed; `None` if that is not possible.
    pub(super) fn watch(self: &Arc<Self>, file: &File) -> Option<FileWatch> {
        use rustix::fs::inotify::{WatchFlags, add_watch};
        use std::os::fd::AsRawFd;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = WatchFlags::MODIFY | WatchFlags::MOVE_SELF;
        let watch = add_watch(&self.inotify, path, flags).ok()?;
        Some(FileWatch { watcher: self.clone(), watch })
    }

    /// Waits until something changes, at most for `longest`, which is below a second. Returns
    /// whether something has changed.
    pub(super) fn wait(&self, longest: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let timeout = Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
        let mut polled = [PollFd::new(&self.inotify, PollFlags::IN)];
        // An interrupted wait is a short one.
        let has_changed = poll(&mut polled, Some(&timeout)).is_ok_and(|ready| ready > 0);
        // All files are read after a change, so the events themselves do not matter.
        let mut events = [0; 4 << 10];
        while has_changed && rustix::io::read(&self.inotify, &mut events).is_ok_and(|read| read > 0)
        {
        }
        has_changed
    }
}

#[cfg(target_os = "linux")]
impl Drop for FileWatch {
    fn drop(&mut self) {
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

    pub(super) fn watch(self: &Arc<Self>, _: &File) -> Option<FileWatch> {
        None
    }

    pub(super) fn wait(&self, _: Duration) -> bool {
        false
    }
}
