//! Numbers in runs and in packed bits, as levels and indices of dictionaries are written.

use crate::bits::bits_at;
use crate::compact::read_varint;

/// Reads numbers of up to 32 bits. A run takes no memory, however long it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hybrid {
    /// The place of the next run in the page.
    at: usize,
    end: usize,
    width: u32,
    run: Run,
}

#[derive(Debug, Clone, Copy, Default)]
enum Run {
    #[default]
    None,
    /// The same number again.
    Equal { value: u32, left: u64 },
    /// Numbers in bits, from this bit of the page on.
    Packed { bit: usize, left: u64 },
}

impl Hybrid {
    /// Reads numbers of `width` bits from `at` to `end` of a page.
    pub(crate) fn new(at: usize, end: usize, width: u32) -> Self {
        Self { at, end, width, run: Run::None }
    }

    /// Returns the next number; `None` if the bytes have none, or are damaged.
    #[inline]
    pub(crate) fn next(&mut self, page: &[u8]) -> Option<u32> {
        loop {
            match &mut self.run {
                Run::Equal { value, left } if *left > 0 => {
                    *left -= 1;
                    return Some(*value);
                }
                Run::Packed { bit, left } if *left > 0 => {
                    *left -= 1;
                    let number = bits_at(page.get(..self.end)?, *bit, self.width)?;
                    *bit += self.width as usize;
                    return Some(number as u32);
                }
                _ => self.next_run(page)?,
            }
        }
    }

    fn next_run(&mut self, page: &[u8]) -> Option<()> {
        let bytes = page.get(..self.end)?;
        let header = read_varint(bytes, &mut self.at)?;
        let (length, is_packed) = (header >> 1, header & 1 == 1);
        if is_packed {
            let left = length.checked_mul(8)?;
            self.run = Run::Packed { bit: self.at.checked_mul(8)?, left };
            let size = length.checked_mul(u64::from(self.width))?;
            // The last run may be cut behind its last number.
            self.at = self.at.saturating_add(usize::try_from(size).ok()?).min(self.end);
        } else {
            let size = self.width.div_ceil(8) as usize;
            let value = bytes.get(self.at..self.at + size)?;
            let number = value.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
            self.at += size;
            self.run = Run::Equal { value: number, left: length };
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::Hybrid;

    fn all(bytes: &[u8], width: u32) -> Vec<u32> {
        let mut hybrid = Hybrid::new(0, bytes.len(), width);
        std::iter::from_fn(|| hybrid.next(bytes)).take(100).collect()
    }

    #[test]
    fn runs_and_packed_bits_follow_each_other() {
        // The example of the specification: 0 to 7 in three bits; then four times 5.
        let bytes = [0x03, 0x88, 0xC6, 0xFA, 0x08, 0x05];
        assert_eq!(all(&bytes, 3), [0, 1, 2, 3, 4, 5, 6, 7, 5, 5, 5, 5]);
        assert_eq!(all(&bytes[..3], 3), [0, 1, 2, 3, 4]);
        assert_eq!(all(&[0x06], 0), [0, 0, 0]);
        assert_eq!(all(&[0x04, 0x01, 0x02, 0x03], 17), [0x30201, 0x30201]);
    }

    #[test]
    fn long_runs_take_no_memory() {
        let bytes = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 7];
        assert_eq!(all(&bytes, 8), []);
        let bytes = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 7];
        assert_eq!(all(&bytes, 8), [7; 100]);
    }
}
