//! Marks of functions.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use pin_project_lite::pin_project;

use super::recording::generation;
use super::thread;

/// The mark of a function. Each is a `static`, and its name is that of the function.
#[derive(Debug)]
pub struct CallSite {
    name: &'static str,
}

/// A call of a marked function, until this is dropped. It stays on its thread: an asynchronous function is
/// marked with [`CallSite::poll_with`].
#[derive(Debug)]
#[must_use = "the call ends when this is dropped"]
pub struct Call {
    /// How many calls of the thread this one stands in; none if it is not recorded.
    depth: Option<usize>,
    not_send: PhantomData<*const ()>,
}

pin_project! {
    /// An asynchronous function that is marked. Its time is that of its polls: waiting is not counted.
    #[derive(Debug)]
    pub struct MarkedFuture<F> {
        site: &'static CallSite,
        // The recording in which it has been counted; 0 before the first.
        counted_in: u64,
        #[pin]
        future: F,
    }
}

/// The [`CallSite`] of the place where this stands, with a name.
#[macro_export]
macro_rules! mark {
    ($name:literal) => {{
        static SITE: $crate::call::CallSite = $crate::call::CallSite::new($name);
        &SITE
    }};
}

impl CallSite {
    /// A mark with a name.
    pub const fn new(name: &'static str) -> Self {
        Self { name }
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Begins a call.
    #[inline]
    pub fn enter(&'static self) -> Call {
        self.enter_with(&mut 0)
    }

    /// Marks a future: its first poll of a recording counts as a call, and the time of all polls as its time.
    pub fn poll_with<F: Future>(&'static self, future: F) -> MarkedFuture<F> {
        MarkedFuture { site: self, counted_in: 0, future }
    }

    /// Begins a call, which counts unless it was counted in this recording.
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
