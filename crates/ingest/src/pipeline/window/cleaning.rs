//! Gives up values that have left the window, beside everything else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use weir_core::LiveIds;

use crate::pipeline::data_set::DataSet;

/// When values are to be given up, and who waits for it.
#[derive(Debug, Default)]
pub(in crate::pipeline) struct Cleaning {
    state: Mutex<State>,
    work: Condvar,
    room: Condvar,
    /// Values are about to fill their memory: nobody is to bring more before some are given up.
    is_pressed: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    is_wanted: bool,
    is_over: bool,
}

/// Values that are given up in one go. Parsers wait meanwhile: a fraction of a millisecond.
const SWEEP_IDS: usize = 2_048;

/// How long the last blocks that were read before may take to arrive, before they are looked
/// for again.
const ARRIVAL: Duration = Duration::from_millis(1);

impl Cleaning {
    /// Starts the thread that cleans, for as long as there is the data set.
    pub(in crate::pipeline) fn start(self: &Arc<Self>, data: &Arc<DataSet>) {
        let (own, data) = (self.clone(), Arc::downgrade(data));
        let thread = thread::Builder::new().name("weir-window".to_owned());
        if thread.spawn(move || own.run(&data)).is_err() {
            // Without it values are never given up, and nobody may wait for that.
            self.end();
        }
    }

    /// Has values given up; where they are about to fill their memory, parsers wait for it.
    pub(in crate::pipeline) fn want(&self, is_pressed: bool) {
        let mut state = self.lock();
        if state.is_over {
            return;
        }
        state.is_wanted = true;
        if is_pressed {
            self.is_pressed.store(true, Ordering::Relaxed);
        }
        self.work.notify_one();
    }

    pub(in crate::pipeline) fn is_pressed(&self) -> bool {
        self.is_pressed.load(Ordering::Relaxed)
    }

    /// Waits while values are about to fill their memory.
    pub(in crate::pipeline) fn wait_for_room(&self) {
        if !self.is_pressed() {
            return;
        }
        let state = self.lock();
        let is_waiting = |state: &mut State| !state.is_over && self.is_pressed();
        drop(self.room.wait_while(state, is_waiting));
    }

    /// Ends the thread.
    pub(in crate::pipeline) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        self.is_pressed.store(false, Ordering::Relaxed);
        self.work.notify_all();
        self.room.notify_all();
    }

    fn run(&self, data: &Weak<DataSet>) {
        while self.next() {
            let Some(data) = data.upgrade() else { return };
            clean(&data);
            let mut state = self.lock();
            // What came meanwhile is looked at with the next block.
            state.is_wanted = false;
            self.is_pressed.store(false, Ordering::Relaxed);
            self.room.notify_all();
        }
    }

    /// Waits until there is something to do; false at the end.
    fn next(&self) -> bool {
        let is_waiting = |state: &mut State| !state.is_over && !state.is_wanted;
        let state = self.work.wait_while(self.lock(), is_waiting);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.is_wanted = false;
        !state.is_over
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives up the values that occur in no segment any more. Where those that are left take most of
/// the memory still, some of the segments that were read first leave, and their values with them.
fn clean(data: &DataSet) {
    let limits = data.limits();
    // Not at first: this thread may come so late that most values are such as nobody has any more.
    let mut is_heavy = false;
    loop {
        let mut live = LiveIds::new(&data.values());
        let Some((segments, next)) = data.segments_for_cleaning(is_heavy) else { return };
        for segment in &segments {
            live.mark(segment);
        }
        drop(segments);
        let read_before = data.begin_sweep(live, next);
        while !read_before.have_arrived() {
            thread::sleep(ARRIVAL);
        }
        while data.sweep(SWEEP_IDS) {
            // Who waits for the values comes first.
            thread::yield_now();
        }
        is_heavy = data.values().used_bytes() >= limits.values_bytes_heavy;
        if !is_heavy || data.window_is_empty() {
            return;
        }
    }
}
