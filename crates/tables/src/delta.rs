//! Integers as differences in packed bits: the encoding `DELTA_BINARY_PACKED`.

use crate::bits::bits_at;
use crate::compact::read_varint;

/// The most numbers of a block, and of its parts. Writers have 128 in 4.
const BLOCK_MAX: u64 = 1 << 20;
const PARTS_MAX: u64 = 1 << 10;

/// Reads the integers of a page. They take no memory, however many there are.
#[derive(Debug, Clone)]
pub(crate) struct Deltas {
    part_length: u64,
    parts: usize,
    /// The integers that are left, with `next`.
    left: u64,
    next: i64,
    delta_min: i64,
    /// The place of the widths of the parts that follow in the block, and their number.
    widths: usize,
    parts_left: usize,
    /// The place of the next part, in bytes.
    part: usize,
    /// The bit of the next difference of the current part, its width, and how many are left.
    bit: usize,
    width: u32,
    in_part: u64,
}

impl Deltas {
    /// Reads the integers that begin at `at` of a page; `None` if they are damaged, or more than
    /// `values_max`.
    pub(crate) fn new(bytes: &[u8], at: usize, values_max: u64) -> Option<Self> {
        let mut at = at;
        let block = read_varint(bytes, &mut at)?;
        let parts = read_varint(bytes, &mut at)?;
        let left = read_varint(bytes, &mut at)?;
        let next = read_signed(bytes, &mut at)?;
        if !(1..=PARTS_MAX).contains(&parts) || block > BLOCK_MAX || block % (parts * 8) != 0 {
            return None;
        }
        if left > values_max {
            return None;
        }
        Some(Self {
            part_length: (block / parts).max(1),
            parts: parts as usize,
            left,
            next,
            delta_min: 0,
            widths: at,
            parts_left: 0,
            part: at,
            bit: 0,
            width: 0,
            in_part: 0,
        })
    }

    /// Returns the next integer; `None` after the last one, and if the bytes are damaged.
    #[inline]
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        let number = self.next;
        if self.left > 0 {
            if self.in_part == 0 {
                self.next_part(bytes)?;
            }
            let delta = bits_at(bytes, self.bit, self.width)? as i64;
            self.bit += self.width as usize;
            self.in_part -= 1;
            self.next = number.wrapping_add(self.delta_min).wrapping_add(delta);
        }
        Some(number)
    }

    /// Returns the place behind the integers, of which none was read. Takes time for the bytes that
    /// they have, not for their number.
    pub(crate) fn place_behind(mut self, bytes: &[u8]) -> Option<usize> {
        let mut differences = self.left.saturating_sub(1);
        while differences > 0 {
            self.next_part(bytes)?;
            differences = differences.saturating_sub(self.part_length);
        }
        Some(self.part)
    }

    fn next_part(&mut self, bytes: &[u8]) -> Option<()> {
        if self.parts_left == 0 {
            let mut at = self.part;
            self.delta_min = read_signed(bytes, &mut at)?;
            self.widths = at;
            self.parts_left = self.parts;
            self.part = at.checked_add(self.parts)?;
        }
        self.width = u32::from(*bytes.get(self.widths)?);
        if self.width > 64 {
            return None;
        }
        self.widths += 1;
        self.parts_left -= 1;
        self.bit = self.part.checked_mul(8)?;
        self.in_part = self.part_length;
        let size = self.part_length / 8 * u64::from(self.width);
        // The last part may be cut behind its last integer.
        self.part = self.part.saturating_add(size as usize).min(bytes.len());
        Some(())
    }
}

fn read_signed(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let number = read_varint(bytes, at)?;
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::Deltas;

    #[test]
    fn the_examples_of_the_specification_are_read() {
        // 1, 2, 3, 4, 5: all differences are 1, so their bits are none.
        let bytes = [0x80, 0x01, 0x04, 0x05, 0x02, 0x02, 0, 0, 0, 0];
        let mut deltas = Deltas::new(&bytes, 0, 5).unwrap();
        let all: Vec<i64> = std::iter::from_fn(|| deltas.next(&bytes)).collect();
        assert_eq!(all, [1, 2, 3, 4, 5]);
        let behind = Deltas::new(&bytes, 0, 5).unwrap().place_behind(&bytes);
        assert_eq!(behind, Some(bytes.len()));
        assert!(Deltas::new(&bytes, 0, 4).is_none());
    }

    #[test]
    fn hostile_headers_are_refused() {
        let huge = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01];
        for header in [
            [&huge[..], &[4, 5, 2]].concat(),
            [&[0x80, 0x01][..], &huge, &[5, 2]].concat(),
            vec![0x80, 0x01, 0, 5, 2],
            vec![0x80, 0x01],
        ] {
            assert!(Deltas::new(&header, 0, u64::MAX).is_none(), "{header:?}");
        }
    }
}
