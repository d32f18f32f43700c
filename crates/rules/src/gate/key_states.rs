//! The states of keys, within the bounds of a gate.

use super::{GateOptions, GateUsage};
use crate::keys::{KeySlots, UseOrder};

/// The most idle keys that are removed when a key is added, as in nginx: enough to keep up, and
/// little work for one request.
const FORGOTTEN_MAX: usize = 2;

/// The memory of a key without its state and its text, in bytes: its entries in the table, in the
/// texts and in the order of use, and the allocator's overhead.
const KEY_BYTES: usize = 64;

/// The state of a key. The default is the state of a key without requests.
pub(crate) trait KeyState: Default + Send {
    /// The heap memory of the state, in bytes. It never shrinks.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// The states of keys. If there are too many keys, the least recently used ones are evicted.
///
/// # Memory
///
/// At most twice [`GateOptions::bytes_max`], because arrays double their size when they are full.
#[derive(Debug)]
pub(crate) struct KeyStates<S> {
    keys: KeySlots,
    order: UseOrder,
    /// The states by key number.
    states: Vec<S>,
    /// The heap memory of all states.
    heap_bytes: usize,
    options: GateOptions,
    evicted: u64,
}

impl<S: KeyState> KeyStates<S> {
    pub(crate) fn new(options: GateOptions) -> Self {
        let (keys, order) = (KeySlots::default(), UseOrder::new());
        Self { keys, order, states: Vec::new(), heap_bytes: 0, options, evicted: 0 }
    }

    /// Removes all keys.
    pub(crate) fn clear(&mut self) {
        *self = Self { evicted: self.evicted, ..Self::new(self.options) };
    }

    /// Returns the number of a key, and makes it the most recently used. If the key is new, removes
    /// a few of the least recently used keys if their states are like new.
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

    /// Changes the state of a key with a number, and evicts other keys if they no longer fit.
    pub(crate) fn update<T>(&mut self, number: u32, update: impl FnOnce(&mut S) -> T) -> T {
        let state = &mut self.states[number as usize];
        let bytes_before = state.heap_bytes();
        let result = update(state);
        self.heap_bytes += state.heap_bytes() - bytes_before;
        self.evict(number);
        result
    }

    /// Returns the text of a key with a number.
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

    /// The memory that is compared with [`GateOptions::bytes_max`].
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

    /// Evicts the least recently used keys, except this one, until the others fit.
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
