//! What is known of keys, within the bounds of a gate.

use super::{GateOptions, GateUsage, KeySlots, UseOrder};

/// How many keys that are like new are forgotten when one comes, as nginx does it: enough to keep up,
/// and little work for one request.
const FORGOTTEN_MAX: usize = 2;

/// The memory of a key besides its state and its text: its places in the table, in the texts and in the
/// order of use, and that of the allocator.
const KEY_BYTES: usize = 64;

/// What is known of a key. Its default is that of a key without requests.
pub(crate) trait KeyState: Default + Send {
    /// The memory taken besides the state itself, in bytes. It does not shrink.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// The states of keys, of which those that were not used for longest are forgotten when there are too
/// many.
///
/// # Memory
///
/// At most twice [`GateOptions::bytes_max`], because arrays double their size when they are full.
#[derive(Debug)]
pub(crate) struct KeyStates<S> {
    keys: KeySlots,
    order: UseOrder,
    /// By the number of a key.
    states: Vec<S>,
    /// The memory of all states besides themselves.
    heap_bytes: usize,
    options: GateOptions,
    evicted: u64,
}

impl<S: KeyState> KeyStates<S> {
    pub(crate) fn new(options: GateOptions) -> Self {
        let (keys, order) = (KeySlots::default(), UseOrder::new());
        Self { keys, order, states: Vec::new(), heap_bytes: 0, options, evicted: 0 }
    }

    /// Forgets all keys.
    pub(crate) fn clear(&mut self) {
        *self = Self { evicted: self.evicted, ..Self::new(self.options) };
    }

    /// The number of a key, which is the most recently used one now. If it is new, a few of the keys
    /// that were not used for longest are forgotten if they are like new.
    pub(crate) fn number(&mut self, key: &[u8], is_like_new: impl Fn(&S) -> bool) -> u32 {
        let number = match self.keys.find(key) {
            Some(number) => number,
            None => {
                self.forget_idle(is_like_new);
                let number = self.keys.insert(key);
                if number as usize >= self.states.len() {
                    self.states.push(S::default());
                }
                number
            }
        };
        self.order.touch(number);
        number
    }

    /// Changes the state of a key that was given a number, and forgets other keys if they do not fit
    /// any more.
    pub(crate) fn update<T>(&mut self, number: u32, update: impl FnOnce(&mut S) -> T) -> T {
        let state = &mut self.states[number as usize];
        let bytes_before = state.heap_bytes();
        let result = update(state);
        self.heap_bytes += state.heap_bytes() - bytes_before;
        self.evict(number);
        result
    }

    /// The text of a key that has a number.
    pub(crate) fn text(&self, number: u32) -> &[u8] {
        self.keys.text(number)
    }

    pub(crate) fn usage(&self) -> GateUsage {
        let arrays_bytes = self.states.capacity() * size_of::<S>() + self.order.memory_bytes();
        GateUsage {
            keys: self.keys.len(),
            memory_bytes: self.keys.memory_bytes() + arrays_bytes + self.heap_bytes,
            evicted: self.evicted,
            ..GateUsage::default()
        }
    }

    /// The bytes that count for [`GateOptions::bytes_max`].
    fn bytes(&self) -> usize {
        self.keys.len() * (KEY_BYTES + size_of::<S>()) + self.keys.text_bytes() + self.heap_bytes
    }

    fn forget(&mut self, number: u32) {
        self.keys.remove(number);
        self.order.remove(number);
        if let Some(state) = self.states.get_mut(number as usize) {
            self.heap_bytes -= state.heap_bytes();
            *state = S::default();
        }
    }

    fn forget_idle(&mut self, is_like_new: impl Fn(&S) -> bool) {
        for _ in 0..FORGOTTEN_MAX {
            let Some(oldest) = self.order.oldest() else { return };
            if !self.states.get(oldest as usize).is_some_and(&is_like_new) {
                return;
            }
            self.forget(oldest);
        }
    }

    /// Forgets the keys that were not used for longest until the others fit, but not this one.
    fn evict(&mut self, number: u32) {
        while self.keys.len() > self.options.keys_max as usize
            || self.bytes() > self.options.bytes_max
        {
            let Some(oldest) = self.order.oldest().filter(|oldest| *oldest != number) else {
                return;
            };
            self.forget(oldest);
            self.evicted += 1;
        }
    }
}
