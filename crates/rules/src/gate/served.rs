//! The requests in progress.

use super::{GateOptions, GateUsage, Place};
use crate::keys::KeySlots;

/// The number of requests in progress, by key. A key is stored as long as it has one.
///
/// # Memory
///
/// About 70 bytes and the text for each key that has a request.
#[derive(Debug)]
pub(crate) struct RequestsInProgress {
    keys: KeySlots,
    /// The counts by key number.
    counts: Vec<u64>,
    /// The memory of the keys' nodes, as measured by the caller.
    bytes: usize,
    options: GateOptions,
    no_room: u64,
}

impl RequestsInProgress {
    pub(crate) fn new(options: GateOptions) -> Self {
        Self { keys: KeySlots::default(), counts: Vec::new(), bytes: 0, options, no_room: 0 }
    }

    /// The number of requests of a key in progress.
    pub(crate) fn count(&self, key: &[u8]) -> u64 {
        let number = self.keys.find(key);
        number.and_then(|number| self.counts.get(number as usize)).copied().unwrap_or(0)
    }

    /// Whether there is room for a key. Its node takes `node_bytes` if it is new. If there is no
    /// room, counts a rejected request.
    pub(crate) fn has_room(&mut self, key: &[u8], node_bytes: usize) -> bool {
        let has_room = self.keys.find(key).is_some()
            || self.keys.len() < self.options.keys_max as usize
                && self.bytes.saturating_add(node_bytes) <= self.options.bytes_max;
        self.no_room += u64::from(!has_room);
        has_room
    }

    /// Counts a request of a key that has room, and returns the number of the key.
    pub(crate) fn enter(&mut self, key: &[u8], node_bytes: usize) -> u32 {
        let number = match self.keys.find(key) {
            Some(number) => number,
            None => {
                self.bytes += node_bytes;
                let number = self.keys.insert(key);
                let index = number as usize;
                self.counts.resize(self.counts.len().max(index + 1), 0);
                number
            }
        };
        self.counts[number as usize] += 1;
        number
    }

    /// Ends a request of the key with a number. `node_bytes` computes the size of its node.
    pub(crate) fn leave(&mut self, number: u32, node_bytes: impl Fn(usize) -> usize) {
        let Some(count) = self.counts.get_mut(number as usize).filter(|count| **count > 0) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.bytes -= node_bytes(self.keys.remove(number));
        }
    }

    pub(crate) fn usage(&self) -> GateUsage {
        GateUsage {
            keys: self.keys.len(),
            memory_bytes: self.keys.memory_bytes() + self.counts.capacity() * size_of::<u64>(),
            no_room: self.no_room,
            ..GateUsage::default()
        }
    }
}

/// The places that requests occupy. Each place has the zones and the numbers of its keys there.
#[derive(Debug, Default)]
pub(crate) struct HeldPlaces {
    /// The keys by place; empty if the place is free.
    taken: Vec<Vec<(usize, u32)>>,
    free: Vec<u32>,
}

impl HeldPlaces {
    /// Takes a place, with at least one key.
    pub(crate) fn take(&mut self, keys: impl Iterator<Item = (usize, u32)>) -> Place {
        let number = self.free.pop().unwrap_or_else(|| {
            self.taken.push(Vec::new());
            (self.taken.len() - 1) as u32
        });
        if let Some(taken) = self.taken.get_mut(number as usize) {
            taken.extend(keys);
        }
        Place(number)
    }

    /// Frees a place, and calls `each` with its keys.
    pub(crate) fn release(&mut self, place: Place, mut each: impl FnMut(usize, u32)) {
        let Some(taken) = self.taken.get_mut(place.0 as usize).filter(|keys| !keys.is_empty())
        else {
            return;
        };
        taken.drain(..).for_each(|(zone, key)| each(zone, key));
        self.free.push(place.0);
    }

    /// The memory taken, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let keys: usize = self.taken.iter().map(Vec::capacity).sum();
        self.taken.capacity() * size_of::<Vec<(usize, u32)>>()
            + keys * size_of::<(usize, u32)>()
            + self.free.capacity() * size_of::<u32>()
    }
}
