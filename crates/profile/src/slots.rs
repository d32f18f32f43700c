//! A fixed, lock-free table into which interrupted threads write their stacks.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The most frames of a stack. Outer frames beyond it are dropped.
pub(crate) const FRAMES_MAX: usize = 128;

/// The capacity in stacks. The collector empties the table every 50 ms.
const SLOTS: usize = 4_096;

/// How many slots a thread tries before its stack is lost.
const TRIES: usize = 16;

// The states of a slot.
const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const FULL: u32 = 2;

/// A table of stacks that wait for the collector.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    next: AtomicUsize,
    lost: AtomicU64,
}

#[derive(Debug)]
struct Slot {
    state: AtomicU32,
    thread: AtomicI32,
    length: AtomicUsize,
    addresses: [AtomicUsize; FRAMES_MAX],
}

/// A slot that one thread fills. Dropping it publishes the stack.
#[derive(Debug)]
pub(crate) struct ClaimedSlot<'a> {
    slot: &'a Slot,
    length: usize,
}

/// The stack of a thread as addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawStack {
    /// The thread's number in the operating system.
    pub(crate) thread: i32,
    /// The interrupted instruction's address, then the return addresses, innermost first.
    pub(crate) addresses: Box<[usize]>,
}

impl Slots {
    pub(crate) fn new() -> Self {
        let slot = |_| Slot {
            state: AtomicU32::new(FREE),
            thread: AtomicI32::new(0),
            length: AtomicUsize::new(0),
            addresses: [const { AtomicUsize::new(0) }; FRAMES_MAX],
        };
        let slots = (0..SLOTS).map(slot).collect();
        Self { slots, next: AtomicUsize::new(0), lost: AtomicU64::new(0) }
    }

    /// Claims a free slot. Returns `None`, and counts a lost stack, if it finds none.
    pub(crate) fn claim(&self) -> Option<ClaimedSlot<'_>> {
        for _ in 0..TRIES {
            let index = self.next.fetch_add(1, Ordering::Relaxed) % SLOTS;
            let slot = self.slots.get(index)?;
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            if slot.state.compare_exchange(FREE, CLAIMED, success, failure).is_ok() {
                return Some(ClaimedSlot { slot, length: 0 });
            }
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Removes all published stacks, and calls a function with each.
    pub(crate) fn drain(&self, mut each: impl FnMut(RawStack)) {
        for slot in &self.slots {
            if slot.state.load(Ordering::Acquire) == FULL {
                let stack = slot.stack();
                slot.state.store(FREE, Ordering::Release);
                each(stack);
            }
        }
    }

    /// Returns the number of stacks lost since the last call.
    pub(crate) fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }
}

impl Slot {
    fn stack(&self) -> RawStack {
        let length = self.length.load(Ordering::Relaxed);
        let addresses = self.addresses.iter().take(length);
        RawStack {
            thread: self.thread.load(Ordering::Relaxed),
            addresses: addresses.map(|address| address.load(Ordering::Relaxed)).collect(),
        }
    }
}

impl ClaimedSlot<'_> {
    pub(crate) fn set_thread(&mut self, thread: i32) {
        self.slot.thread.store(thread, Ordering::Relaxed);
    }

    /// Adds an address. Returns whether there is room for another.
    pub(crate) fn push(&mut self, address: usize) -> bool {
        let Some(entry) = self.slot.addresses.get(self.length) else { return false };
        entry.store(address, Ordering::Relaxed);
        self.length += 1;
        self.length < FRAMES_MAX
    }
}

impl Drop for ClaimedSlot<'_> {
    fn drop(&mut self) {
        self.slot.length.store(self.length, Ordering::Relaxed);
        // `Release`: a reader that sees `FULL` also sees the addresses.
        self.slot.state.store(FULL, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    fn push(slots: &Slots, thread: i32, addresses: usize) -> bool {
        let Some(mut slot) = slots.claim() else { return false };
        slot.set_thread(thread);
        for address in 1..=addresses {
            let has_room = slot.push(address);
            assert_eq!(has_room, address < FRAMES_MAX, "{address}");
        }
        true
    }

    #[test]
    fn stacks_are_taken_once_and_long_ones_cut() {
        let slots = Slots::new();
        for (thread, addresses) in [(1, 3), (2, FRAMES_MAX + 5), (3, 0)] {
            assert!(push(&slots, thread, addresses));
        }
        let mut found = Vec::new();
        slots.drain(|stack| found.push((stack.thread, stack.addresses.len())));
        assert_eq!(found, [(1, 3), (2, FRAMES_MAX), (3, 0)]);
        slots.drain(|stack| panic!("{stack:?} is taken twice"));
    }

    #[test]
    fn stacks_without_a_slot_are_counted_as_lost() {
        let slots = Slots::new();
        let claimed = (0..SLOTS + 10).filter(|_| push(&slots, 1, 1)).count();
        assert_eq!((claimed, slots.take_lost()), (SLOTS, 10));
        let mut taken = 0;
        slots.drain(|_| taken += 1);
        assert_eq!((taken, slots.take_lost()), (SLOTS, 0));
        assert!(push(&slots, 1, 1), "they are free again");
    }

    #[test]
    fn concurrent_drains_get_whole_stacks() {
        const STACKS: u64 = 20_000;
        let slots = Slots::new();
        let ended = AtomicBool::new(false);
        let mut taken = 0;
        thread::scope(|scope| {
            let writers = [1, 2].map(|thread| {
                let slots = &slots;
                scope.spawn(move || {
                    (0..STACKS).filter(|round| push(slots, thread, *round as usize % 9)).count()
                })
            });
            let slots = &slots;
            let taker = scope.spawn(|| {
                let mut taken = 0;
                loop {
                    let was_last = ended.load(Ordering::Acquire);
                    slots.drain(|stack| {
                        let expected = 1..=stack.addresses.len();
                        assert!(stack.addresses.iter().copied().eq(expected), "{stack:?}");
                        taken += 1;
                    });
                    if was_last {
                        return taken;
                    }
                }
            });
            let written: usize = writers.into_iter().map(|it| it.join().expect("no panic")).sum();
            ended.store(true, Ordering::Release);
            taken = taker.join().expect("no panic");
            assert_eq!(taken, written);
        });
        assert_eq!(taken as u64 + slots.take_lost(), 2 * STACKS);
    }
}
