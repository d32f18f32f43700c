//! The order in which keys were last used.

const NONE: u32 = u32::MAX;

/// Key numbers, from the least to the most recently used, as a linked list.
///
/// # Memory
///
/// 8 bytes for each number up to the highest.
#[derive(Debug)]
pub(crate) struct UseOrder {
    /// By key: the keys used before and after it. A key that is not in the order links to itself.
    links: Vec<(u32, u32)>,
    oldest: u32,
    newest: u32,
}

impl UseOrder {
    pub(crate) fn new() -> Self {
        Self { links: Vec::new(), oldest: NONE, newest: NONE }
    }

    /// Whether a key is in the order.
    pub(crate) fn contains(&self, key: u32) -> bool {
        self.links.get(key as usize).is_some_and(|(before, _)| *before != key)
    }

    /// The least recently used key.
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Moves a key to the end, as the most recently used one.
    pub(crate) fn touch(&mut self, key: u32) {
        if self.newest == key {
            return;
        }
        self.remove(key);
        let index = key as usize;
        while self.links.len() <= index {
            let own = self.links.len() as u32;
            self.links.push((own, own));
        }
        self.links[index] = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = key,
            newest => self.links[newest as usize].1 = key,
        }
        self.newest = key;
    }

    /// Removes a key from the order, if it is in it.
    pub(crate) fn remove(&mut self, key: u32) {
        let Some(&(before, after)) = self.links.get(key as usize) else { return };
        if before == key {
            return;
        }
        match before {
            NONE => self.oldest = after,
            before => self.links[before as usize].1 = after,
        }
        match after {
            NONE => self.newest = before,
            after => self.links[after as usize].0 = before,
        }
        self.links[key as usize] = (key, key);
    }

    /// The memory taken, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.links.capacity() * size_of::<(u32, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::UseOrder;

    proptest! {
        #[test]
        fn keys_come_in_the_order_of_their_last_use(
            uses in prop::collection::vec((0..6u32, any::<bool>()), 0..60),
        ) {
            let (mut order, mut naive) = (UseOrder::new(), Vec::new());
            for (key, is_use) in uses {
                naive.retain(|known| *known != key);
                if is_use {
                    naive.push(key);
                    order.touch(key);
                } else {
                    order.remove(key);
                }
                prop_assert_eq!(order.oldest(), naive.first().copied());
                for key in 0..6 {
                    prop_assert_eq!(order.contains(key), naive.contains(&key));
                }
            }
            let mut found = Vec::new();
            while let Some(key) = order.oldest() {
                order.remove(key);
                found.push(key);
            }
            prop_assert_eq!(found, naive);
        }
    }
}
