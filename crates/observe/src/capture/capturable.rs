//! Long subjects, such as uploads, that can be captured while they are in progress.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use weir_sync::Lock;

use super::captures::Captures;
use super::open::OpenCapture;

/// A long subject, such as an upload or a feed, that several places in the code record steps of. A
/// capture can start in the middle of it. The subject ends when this is dropped.
#[derive(Debug)]
pub struct Capturable {
    captures: Arc<Captures<Infallible>>,
    name: String,
    capture: Lock<Option<OpenCapture>>,
}

impl Capturable {
    /// Begins a subject. `name` is shown to a person, and must not contain secrets.
    pub fn new(captures: &Arc<Captures<Infallible>>, name: String) -> Self {
        Self { captures: captures.clone(), name, capture: Lock::default() }
    }

    /// Returns its capture, if one is pending.
    #[inline]
    pub fn open(&self) -> Option<OpenCapture> {
        if self.captures.is_armed() { self.follow() } else { None }
    }

    /// Returns its capture and the current time, as the start of a step, if a capture is pending.
    #[inline]
    pub fn begin(&self) -> Option<(OpenCapture, Instant)> {
        Some((self.open()?, Instant::now()))
    }

    #[cold]
    fn follow(&self) -> Option<OpenCapture> {
        let mut capture = self.capture.lock();
        self.captures.follow(&mut capture, || self.name.clone());
        capture.clone()
    }
}

impl Drop for Capturable {
    fn drop(&mut self) {
        let capture = self.capture.get_mut().take();
        if let Some(capture) = capture {
            self.captures.end(capture, &|never| match *never {});
        }
    }
}
