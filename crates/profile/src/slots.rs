//! Where interrupted threads leave their stacks: a fixed table, whose parts are claimed without a lock.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Functions of a stack; those further out are left out.
pub(crate) const FRAMES_MAX: usize = 128;

/// Stacks that can wait to be taken. They are taken some ten times a second.
const SLOTS: usize = 4_096;

/// Slots that are tried before a stack is given up.
const TRIES: usize = 16;

/// The states of a slot.
const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const FULL: u32 = 2;

/// The table.
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

/// A slot that a thread writes. When this is dropped, it can be taken.
#[derive(Debug)]
pub(crate) struct ClaimedSlot<'a> {
    slot: &'a Slot,
    length: usize,
}

/// The stack of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawStack {
    /// The number by which the system knows the thread.
    pub(crate) thread: i32,
    /// The address in the function that was interrupted, and then those to which each one returns.
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

    /// A slot for a stack; none if too many wait, which is counted.
    pub(crate) fn claim(&self) -> Option<ClaimedSlot<'_>> {
        for _ in 0..TRIES {
            let index = self.next.fetch_add(1, Ordering::Relaxed) % SLOTS;
            let slot = self.slots.get(index)?;
            let (free, claimed) = (Ordering::Acquire, Ordering::Relaxed);
            if slot.state.compare_exchange(FREE, CLAIMED, free, claimed).is_ok() {
                return Some(ClaimedSlot { slot, length: 0 });
            }
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Hands over all stacks that wait.
    pub(crate) fn take_all(&self, mut each: impl FnMut(RawStack)) {
        for slot in &self.slots {
            if slot.state.load(Ordering::Acquire) == FULL {
                let stack = slot.stack();
                slot.state.store(FREE, Ordering::Release);
                each(stack);
            }
        }
    }

    /// How many stacks found no slot since the last time.
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

    /// Adds an address, and returns whether there is room for another one.
    pub(crate) fn push(&mut self, address: usize) -> bool {
        let Some(place) = self.slot.addresses.get(self.length) else { return false };
        place.store(address, Ordering::Relaxed);
        self.length += 1;
        self.length < FRAMES_MAX
    }
}

impl Drop for ClaimedSlot<'_> {
    fn drop(&mut self) {
        self.slot.length.store(self.length, Ordering::Relaxed);
        // Whoever sees that it is full sees what was written before.
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
        slots.take_all(|stack| found.push((stack.thread, stack.addresses.len())));
        assert_eq!(found, [(1, 3), (2, FRAMES_MAX), (3, 0)]);
        slots.take_all(|stack| panic!("{stack:?} is taken twice"));
    }

    #[test]
    fn what_finds_no_slot_is_counted() {
        let slots = Slots::new();
        let claimed = (0..SLOTS + 10).filter(|_| push(&slots, 1, 1)).count();
        assert_eq!((claimed, slots.take_lost()), (SLOTS, 10));
        let mut taken = 0;
        slots.take_all(|_| taken += 1);
        assert_eq!((taken, slots.take_lost()), (SLOTS, 0));
        assert!(push(&slots, 1, 1), "they are free again");
    }

    #[test]
    fn stacks_that_are_written_meanwhile_are_whole() {
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
                    slots.take_all(|stack| {
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
