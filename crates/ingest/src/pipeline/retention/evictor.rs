//! Evicts the values that left the window, on a separate thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use weir_core::LiveIds;
use weir_sync::{Condition, Lock};

use super::keep_window::KeepWindow;

/// Runs evictions on a separate thread, and blocks the parsers that have to wait for one.
#[derive(Debug, Default)]
pub(super) struct Evictor {
    state: Lock<State>,
    work: Condition,
    room: Condition,
    /// Set while the values are about to fill their memory. Parsers pause until some are evicted.
    must_pause: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    is_requested: bool,
    is_over: bool,
}

/// The number of values that are evicted at once. Parsers wait for the lock meanwhile, for a
/// fraction of a millisecond.
const SWEEP_IDS: usize = 2_048;

/// The pause between two checks whether all blocks read before the sweep have been appended, or
/// whether another eviction may free more.
const POLL: Duration = Duration::from_millis(1);

impl Evictor {
    /// Starts the thread. It ends with the window.
    pub(super) fn start(self: &Arc<Self>, window: &Arc<KeepWindow>) {
        let (own, window) = (self.clone(), Arc::downgrade(window));
        let thread = thread::Builder::new().name("weir-window".to_owned());
        if thread.spawn(move || own.run(&window)).is_err() {
            // Without the thread nothing is evicted, so parsers must not wait for that.
            self.stop();
        }
    }

    /// Requests an eviction. If the values are about to fill their memory, parsers wait for it.
    pub(super) fn request(&self, must_pause: bool) {
        let mut state = self.state.lock();
        if state.is_over {
            return;
        }
        state.is_requested = true;
        if must_pause {
            self.must_pause.store(true, Ordering::Relaxed);
        }
        self.work.notify_one();
    }

    pub(super) fn must_pause(&self) -> bool {
        self.must_pause.load(Ordering::Relaxed)
    }

    /// Waits while the values are about to fill their memory.
    pub(super) fn wait_for_room(&self) {
        if !self.must_pause() {
            return;
        }
        let state = self.state.lock();
        let is_waiting = |state: &mut State| !state.is_over && self.must_pause();
        drop(self.room.wait_while(state, is_waiting));
    }

    /// Ends the thread.
    pub(super) fn stop(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        self.must_pause.store(false, Ordering::Relaxed);
        self.work.notify_all();
        self.room.notify_all();
    }

    fn run(&self, window: &Weak<KeepWindow>) {
        while self.wait_for_request() {
            let Some(window) = window.upgrade() else { return };
            self.make_room(&window);
        }
    }

    /// Evicts once, and while parsers pause, again each time that this may free more, until there
    /// is room. Released too early, parsers would fill the memory before the next pause.
    fn make_room(&self, window: &KeepWindow) {
        let consumers = window.subscribers();
        loop {
            // Both are read before the eviction, which keeps the values of all segments that are
            // pending by then.
            let (finishes, had_pending) = (consumers.finishes(), consumers.have_pending());
            evict(window);
            if self.release(window, had_pending) {
                return;
            }
            while consumers.finishes() == finishes && !self.take_request() {
                thread::sleep(POLL);
            }
        }
    }

    /// Lets the parsers continue if there is room, or if another eviction would free nothing.
    /// Returns whether they may.
    ///
    /// The room is looked at under the lock that [`Self::request`] takes. So a block whose values
    /// fill the memory is either seen here, or pauses the parsers again.
    fn release(&self, window: &KeepWindow, had_pending: bool) -> bool {
        let mut state = self.state.lock();
        // Blocks whose values were found during the eviction were kept, and can be evicted when
        // their consumers have finished them.
        let may_free_more = had_pending || state.is_requested;
        if self.must_pause() && !state.is_over && may_free_more && !window.has_room() {
            return false;
        }
        // The next block repeats a request that came meanwhile.
        state.is_requested = false;
        self.must_pause.store(false, Ordering::Relaxed);
        self.room.notify_all();
        true
    }

    /// Whether an eviction was requested since the last one, or is no longer wanted.
    fn take_request(&self) -> bool {
        let mut state = self.state.lock();
        std::mem::take(&mut state.is_requested) || state.is_over
    }

    /// Waits for a request. Returns false at the end.
    fn wait_for_request(&self) -> bool {
        let is_waiting = |state: &mut State| !state.is_over && !state.is_requested;
        let mut state = self.work.wait_while(self.state.lock(), is_waiting);
        state.is_requested = false;
        !state.is_over
    }
}

/// Evicts the values that occur in no segment. If the remaining values still take most of the
/// memory, the segments that were read first are dropped, and then their values.
fn evict(window: &KeepWindow) {
    loop {
        let mut live = LiveIds::new(&window.values());
        let (segments, next) = window.segments_for_eviction();
        for segment in &segments {
            live.mark(segment);
        }
        drop(segments);
        // Refused for an instant while a parser that begins a block counts it in the wrong
        // generation.
        let Some(mut pending) = window.begin_sweep(live, next) else {
            thread::sleep(POLL);
            continue;
        };
        let mut sweep = loop {
            match pending.try_start() {
                Ok(sweep) => break sweep,
                Err(early) => pending = early,
            }
            thread::sleep(POLL);
        };
        while window.advance(&mut sweep, SWEEP_IDS) {
            // Threads that wait for the values come first.
            thread::yield_now();
        }
        let is_heavy = window.values().used_bytes() >= window.limits().values_bytes_heavy;
        if !is_heavy || window.is_empty() {
            return;
        }
        // Only after the first pass: this thread may have started so late that most values were
        // dead.
        window.shrink_by_a_quarter();
    }
}
