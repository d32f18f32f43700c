//! Batches: parts of a body that are sent together, as one frame.
//!
//! hyper writes every frame as a separate chunk, with a chunk head before it and a line end after
//! it, and queues at most 16 frames for a write. A body of a hundred parts of 1 kB would be a
//! hundred chunks in seven system calls. As frames of many slices it is two chunks, and writev(2)
//! reads the parts from where they are. Copying them together costs more than the slices, unless
//! they are very small.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes, BytesMut};

/// The maximum number of slices of a batch. hyper passes writev(2) up to 64, and needs some of them
/// for the head of the response and for chunk heads.
const SLICES_MAX: usize = 60;

/// The maximum size of a batch of several parts. A single part may be larger.
pub(super) const BATCH_BYTES_MAX: usize = 64 << 10;

/// Adjacent parts of at most this size are copied into one slice.
const COPIED_BYTES_MAX: usize = 256;

/// Consecutive parts of a body that are sent together.
#[derive(Debug)]
pub struct Batch {
    slices: Slices,
    bytes: usize,
}

#[derive(Debug)]
enum Slices {
    One(Bytes),
    Several(std::vec::IntoIter<Bytes>),
}

impl Batch {
    /// Takes the next batch from a queue of parts. Returns `None` if the queue is empty. The queue
    /// must not contain empty parts, because an empty chunk ends a body.
    pub(super) fn take(queue: &mut VecDeque<Bytes>) -> Option<Self> {
        if let Some(whole) = Self::take_all(queue) {
            return Some(whole);
        }
        let first = queue.pop_front()?;
        if queue.front().is_none_or(|next| first.len() + next.len() > BATCH_BYTES_MAX) {
            return Some(first.into());
        }
        let mut bytes = first.len();
        let mut slices = Vec::with_capacity(SLICES_MAX.min(1 + queue.len()));
        let mut copied = BytesMut::new();
        let mut next = Some(first);
        while let Some(part) = next {
            if part.len() <= COPIED_BYTES_MAX {
                copied.extend_from_slice(&part);
            } else {
                if !copied.is_empty() {
                    slices.push(copied.split().freeze());
                }
                slices.push(part);
            }
            // One slice is reserved for copied parts.
            let is_full = slices.len() + 1 >= SLICES_MAX;
            next = queue.pop_front_if(|part| !is_full && bytes + part.len() <= BATCH_BYTES_MAX);
            bytes += next.as_ref().map_or(0, Bytes::len);
        }
        if !copied.is_empty() {
            slices.push(copied.freeze());
        }
        Some(Self { slices: Slices::Several(slices.into_iter()), bytes })
    }

    /// Takes the whole queue if it makes one batch without copies. The memory of the queue is
    /// reused.
    fn take_all(queue: &mut VecDeque<Bytes>) -> Option<Self> {
        let is_batch = (2..SLICES_MAX).contains(&queue.len())
            && queue.iter().all(|part| part.len() > COPIED_BYTES_MAX);
        let bytes = queue.iter().map(Bytes::len).sum();
        if !is_batch || bytes > BATCH_BYTES_MAX {
            return None;
        }
        let parts = Vec::from(std::mem::take(queue));
        Some(Self { slices: Slices::Several(parts.into_iter()), bytes })
    }

    /// Splits off up to `bytes_max` bytes of the first part.
    pub(crate) fn split_to(&mut self, bytes_max: usize) -> Self {
        let first = match &mut self.slices {
            Slices::One(part) => part,
            Slices::Several(parts) => match parts.as_mut_slice().first_mut() {
                Some(part) => part,
                None => return Bytes::new().into(),
            },
        };
        let first = first.slice(..bytes_max.min(first.len()));
        self.advance(first.len());
        first.into()
    }
}

impl From<Bytes> for Batch {
    fn from(part: Bytes) -> Self {
        Self { bytes: part.len(), slices: Slices::One(part) }
    }
}

impl Buf for Batch {
    fn remaining(&self) -> usize {
        self.bytes
    }

    fn chunk(&self) -> &[u8] {
        match &self.slices {
            Slices::One(part) => part,
            Slices::Several(parts) => parts.as_slice().first().map_or(&[], |part| part),
        }
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let parts = match &self.slices {
            Slices::One(part) => std::slice::from_ref(part),
            Slices::Several(parts) => parts.as_slice(),
        };
        let parts = parts.iter().filter(|part| !part.is_empty());
        parts.zip(slices).map(|(part, slice)| *slice = IoSlice::new(part)).count()
    }

    /// More bytes than remain are all of them.
    fn advance(&mut self, bytes: usize) {
        let mut left = bytes.min(self.bytes);
        self.bytes -= left;
        match &mut self.slices {
            Slices::One(part) => part.advance(left),
            Slices::Several(parts) => {
                while let Some(first) = parts.as_mut_slice().first_mut() {
                    if left < first.len() {
                        first.advance(left);
                        return;
                    }
                    left -= first.len();
                    parts.next();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::IoSlice;

    use bytes::{Buf, Bytes};
    use proptest::prelude::*;

    use super::{BATCH_BYTES_MAX, Batch, COPIED_BYTES_MAX, SLICES_MAX};

    /// The bytes of each slice of all batches of a queue.
    fn batches(sizes: &[usize]) -> Vec<Vec<usize>> {
        let part = |size: &usize| Bytes::from(vec![b'x'; *size]);
        let mut queue: VecDeque<Bytes> = sizes.iter().map(part).collect();
        let mut found = Vec::new();
        while let Some(batch) = Batch::take(&mut queue) {
            let mut slices = [IoSlice::new(&[]); 64];
            let count = batch.chunks_vectored(&mut slices);
            found.push(slices[..count].iter().map(|slice| slice.len()).collect());
        }
        found
    }

    #[test]
    fn parts_that_fit_leave_together() {
        let max = BATCH_BYTES_MAX;
        assert_eq!(batches(&[]), [[0; 0]; 0]);
        assert_eq!(batches(&[7]), [[7]]);
        assert_eq!(batches(&[max * 9, 7]), [[max * 9], [7]]);
        assert_eq!(batches(&[1000, 2000, max]), [vec![1000, 2000], vec![max]]);
        assert_eq!(batches(&[1000; 100]).iter().map(Vec::len).collect::<Vec<_>>(), [59, 41]);
    }

    #[test]
    fn very_small_neighbours_are_copied() {
        let small = COPIED_BYTES_MAX;
        assert_eq!(batches(&[7, 8, 9]), [[24]]);
        assert_eq!(batches(&[7, 8, 1000, 9, 2000, 1]), [[15, 1000, 9, 2000, 1]]);
        assert_eq!(batches(&[small; 3]), [[3 * small]]);
    }

    /// The address and the length of each part that is too large to be copied.
    fn large<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<(*const u8, usize)> {
        let parts = parts.into_iter().filter(|part| part.len() > COPIED_BYTES_MAX);
        parts.map(|part| (part.as_ptr(), part.len())).collect()
    }

    #[test]
    fn large_parts_leave_from_where_they_are() {
        let max = BATCH_BYTES_MAX;
        let least = COPIED_BYTES_MAX + 1;
        for (sizes, slices) in [
            (&[max * 9][..], 1),
            (&[least, 1000, 2000], 3),
            (&[7, 8, 1000, 9, least, 1], 5),
            (&[1000; 100], 100),
            (&[100, max, 7, 8, max - 15, 9, 10, max * 9], 6),
        ] {
            let parts: Vec<Bytes> = sizes.iter().map(|size| vec![b'x'; *size].into()).collect();
            let mut queue = VecDeque::from(parts.clone());
            let mut left = Vec::new();
            while let Some(batch) = Batch::take(&mut queue) {
                let mut slices = [IoSlice::new(&[]); 64];
                let count = batch.chunks_vectored(&mut slices);
                assert_eq!(slices[0].as_ptr(), batch.chunk().as_ptr());
                left.extend(slices[..count].iter().map(|slice| (slice.as_ptr(), slice.len())));
            }
            assert_eq!(
                left.len(),
                slices,
                "neighbours of at most 256 bytes are one slice: {sizes:?}"
            );
            left.retain(|(_, bytes)| *bytes > COPIED_BYTES_MAX);
            assert_eq!(left, large(parts.iter().map(|part| &part[..])), "{sizes:?}");
        }
    }

    #[test]
    fn a_part_is_split_without_a_copy() {
        let part = Bytes::from(vec![b'x'; 100_000]);
        let mut batch = Batch::from(part.clone());
        let first = batch.split_to(30_000);
        let expected = large([&part[..30_000], &part[30_000..]]);
        assert_eq!(large([first.chunk(), batch.chunk()]), expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn nothing_is_lost_and_the_order_stays(
            parts in prop::collection::vec(
                prop_oneof![
                    8 => 1..3_000usize,
                    4 => 1..300usize,
                    1 => 15_000..70_000usize,
                ],
                0..120,
            ),
            steps in prop::collection::vec(1..5_000usize, 1..10),
        ) {
            let mut next = 0_u8;
            let mut part = |size: usize| -> Bytes {
                (0..size).map(|_| { next = next.wrapping_add(1); next }).collect()
            };
            let mut queue: VecDeque<Bytes> = parts.iter().map(|size| part(*size)).collect();
            let whole: Vec<u8> = queue.iter().flatten().copied().collect();
            let (mut found, mut steps) = (Vec::new(), steps.into_iter().cycle());
            while let Some(mut batch) = Batch::take(&mut queue) {
                while batch.has_remaining() {
                    let mut slices = [IoSlice::new(&[]); 64];
                    let count = batch.chunks_vectored(&mut slices);
                    prop_assert!(count <= SLICES_MAX);
                    let bytes: Vec<u8> = slices[..count].iter().flat_map(|it| it.to_vec()).collect();
                    prop_assert_eq!(bytes.len(), batch.remaining());
                    prop_assert!(bytes.starts_with(batch.chunk()));
                    let taken = steps.next().unwrap_or(1).min(bytes.len());
                    found.extend_from_slice(&bytes[..taken]);
                    batch.advance(taken);
                }
            }
            prop_assert_eq!(found, whole);
        }
    }
}
