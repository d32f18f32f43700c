//! Call sites, which mark functions.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use pin_project_lite::pin_project;

use super::recording::generation;
use super::thread;

/// The mark of a function: a `static` with the function's name.
#[derive(Debug)]
pub struct CallSite {
    name: &'static str,
}

/// A call of a marked function, which ends when this is dropped. It is not `Send`: use
/// [`CallSite::poll_with`] in asynchronous functions.
#[derive(Debug)]
#[must_use = "the call ends when this is dropped"]
pub struct Call {
    /// The number of open calls around this one on the thread; `None` if this call is not recorded.
    depth: Option<usize>,
    not_send: PhantomData<*const ()>,
}

pin_project! {
    /// A marked future. Its time is the time of its polls, without waits.
    #[derive(Debug)]
    pub struct MarkedFuture<F> {
        site: &'static CallSite,
        // The number of the last recording that counted this call; 0 before the first.
        counted_in: u64,
        #[pin]
        future: F,
    }
}

/// Declares a static [`CallSite`] with a name, and returns a reference to it.
#[macro_export]
macro_rules! mark {
    ($name:literal) => {{
        static SITE: $crate::call::CallSite = $crate::call::CallSite::new($name);
        &SITE
    }};
}

impl CallSite {
    /// Makes a call site with a name.
    pub const fn new(name: &'static str) -> Self {
        Self { name }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Begins a call.
    #[inline]
    pub fn enter(&'static self) -> Call {
        self.enter_with(&mut 0)
    }

    /// Marks a future. Its first poll in a recording counts as the call, and the time of all its
    /// polls counts.
    pub fn poll_with<F: Future>(&'static self, future: F) -> MarkedFuture<F> {
        MarkedFuture { site: self, counted_in: 0, future }
    }

    /// Begins a call. It adds to the number of calls only if `counted_in` is not the current
    /// recording.
    #[inline]
    fn enter_with(&'static self, counted_in: &mut u64) -> Call {
        let depth = match generation() {
            None => None,
            Some(generation) => {
                let calls = u64::from(*counted_in != generation);
                *counted_in = generation;
                thread::begin(self.name, generation, calls, Instant::now())
            }
        };
        Call { depth, not_send: PhantomData }
    }
}

impl Drop for Call {
    #[inline]
    fn drop(&mut self) {
        if let Some(depth) = self.depth {
            thread::end(depth, Instant::now());
        }
    }
}

impl<F: Future> Future for MarkedFuture<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _call = this.site.enter_with(this.counted_in);
        this.future.poll(context)
    }
}
