//! The body of an Arrow message: a sequence of buffers.

/// Every buffer begins at a multiple of this number of bytes.
const ALIGNMENT_BYTES: usize = 8;

/// The values of some columns, and the metadata that describes them.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// For each column the number of values, and of NULLs among them.
    pub(super) columns: Vec<(i64, i64)>,
    /// The position of each buffer in the body, and its length without padding, in bytes.
    pub(super) buffers: Vec<(i64, i64)>,
}

impl Body {
    /// Adds a column of numbers: a validity bitmap if there are NULLs, and the numbers.
    pub(super) fn push_column<T: Copy + Default, const N: usize>(
        &mut self,
        cells: &[Option<T>],
        bytes_of: impl Fn(T) -> [u8; N],
    ) {
        let nulls = cells.iter().filter(|cell| cell.is_none()).count();
        self.columns.push((cells.len() as i64, nulls as i64));
        self.push_buffer(|bytes| {
            if nulls > 0 {
                bytes.extend(cells.chunks(8).map(validity));
            }
        });
        self.push_buffer(|bytes| {
            bytes.reserve(cells.len() * N);
            for cell in cells {
                bytes.extend_from_slice(&bytes_of(cell.unwrap_or_default()));
            }
        });
    }

    /// Adds a column of texts without NULLs as large UTF-8: the offsets, which include the end of
    /// the last text, and the texts.
    pub(super) fn push_texts(&mut self, texts: &[&[u8]]) {
        self.columns.push((texts.len() as i64, 0));
        self.push_buffer(|_| {});
        self.push_buffer(|bytes| {
            let mut end = 0i64;
            bytes.extend_from_slice(&end.to_le_bytes());
            for text in texts {
                end += text.len() as i64;
                bytes.extend_from_slice(&end.to_le_bytes());
            }
        });
        self.push_buffer(|bytes| texts.iter().for_each(|text| bytes.extend_from_slice(text)));
    }

    fn push_buffer(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.buffers.push((start as i64, (self.bytes.len() - start) as i64));
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT_BYTES), 0);
    }
}

/// Returns the validity bits of up to eight cells, the first in the lowest bit. A bit is 1 if the
/// cell is not NULL.
fn validity<T>(cells: &[Option<T>]) -> u8 {
    cells.iter().enumerate().fold(0, |bits, (at, cell)| bits | u8::from(cell.is_some()) << at)
}
