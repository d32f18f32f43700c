//! Many short byte strings in one buffer.

/// Byte strings by number, stored end to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    bytes: Vec<u8>,
    /// The end of each string in `bytes`, which is the start of the next.
    ends: Vec<u32>,
}

impl Pool {
    /// Appends a string and returns its number.
    pub(crate) fn push(&mut self, text: &[u8]) -> u32 {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u32);
        self.ends.len() as u32 - 1
    }

    /// The string with this number.
    #[inline]
    pub(crate) fn get(&self, i: u32) -> &[u8] {
        let i = i as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start as usize..self.ends[i] as usize]
    }

    /// The number of strings.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}
