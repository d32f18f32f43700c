//! Numbers, texts and arrays as bytes.

use weir_core::{Codes, Numbers};

/// What is being written.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    pub(crate) bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn u8(&mut self, number: u8) {
        self.bytes.push(number);
    }

    pub(crate) fn bool(&mut self, is_set: bool) {
        self.u8(u8::from(is_set));
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, number: i64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// A number of things that follow.
    pub(crate) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(crate) fn text(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(crate) fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.count(items.len());
        items.for_each(|item| write(self, item));
    }

    pub(crate) fn codes(&mut self, codes: &Codes) {
        let width = match codes {
            Codes::Constant { .. } => 0,
            Codes::U8(_) => 1,
            Codes::U16(_) => 2,
            Codes::U32(_) => 4,
            Codes::U64(_) => 8,
        };
        self.u8(width);
        self.count(codes.rows());
        match codes {
            Codes::Constant { code, .. } => self.u64(*code),
            Codes::U8(codes) => self.bytes.extend_from_slice(codes),
            Codes::U16(codes) => self.array(codes, |code| code.to_le_bytes()),
            Codes::U32(codes) => self.array(codes, |code| code.to_le_bytes()),
            Codes::U64(codes) => self.array(codes, |code| code.to_le_bytes()),
        }
    }

    fn array<T: Copy, const N: usize>(&mut self, items: &[T], bytes: impl Fn(T) -> [u8; N]) {
        let start = self.bytes.len();
        self.bytes.resize(start + items.len() * N, 0);
        let (places, _) = self.bytes[start..].as_chunks_mut::<N>();
        places.iter_mut().zip(items).for_each(|(place, item)| *place = bytes(*item));
    }

    pub(crate) fn numbers(&mut self, numbers: &Numbers) {
        self.u64(numbers.base());
        self.u64(numbers.unit());
        self.codes(numbers.codes());
    }
}

/// Bytes that are being read. Every method returns `None` if they are not what it reads.
#[derive(Debug, Clone)]
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*bytes)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn bool(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// A number of things that follow, each of at least one byte.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.u32()?).ok()?;
        (count <= self.rest.len()).then_some(count)
    }

    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        self.bytes(length)
    }

    pub(crate) fn string(&mut self) -> Option<String> {
        String::from_utf8(self.text()?.to_vec()).ok()
    }

    /// The outer option is a failure, the inner one the value.
    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.bool()? { read(self).map(Some) } else { Some(None) }
    }

    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = self.count()?;
        // An item in memory is larger than its bytes, so room is made as they are read.
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(read(self)?);
        }
        Some(items)
    }

    pub(crate) fn codes(&mut self) -> Option<Codes> {
        let width = usize::from(self.u8()?);
        let rows = usize::try_from(self.u32()?).ok()?;
        if width == 0 {
            return Some(Codes::Constant { code: self.u64()?, rows });
        }
        let bytes = self.bytes(rows.checked_mul(width)?)?;
        Some(match width {
            1 => Codes::U8(bytes.into()),
            2 => Codes::U16(items(bytes, u16::from_le_bytes)),
            4 => Codes::U32(items(bytes, u32::from_le_bytes)),
            8 => Codes::U64(items(bytes, u64::from_le_bytes)),
            _ => return None,
        })
    }

    pub(crate) fn numbers(&mut self) -> Option<Numbers> {
        let (base, unit) = (self.u64()?, self.u64()?);
        Numbers::of_parts(base, unit, self.codes()?)
    }
}

fn items<T, const N: usize>(bytes: &[u8], item: impl Fn([u8; N]) -> T) -> Box<[T]> {
    bytes.as_chunks::<N>().0.iter().map(|bytes| item(*bytes)).collect()
}

#[cfg(test)]
mod tests {
    use weir_core::Codes;

    use super::{Decoder, Encoder};

    #[test]
    fn codes_of_each_width_are_read_as_they_were_written() {
        for last in [7, 200, 40_000, 3_000_000_000, u64::MAX] {
            let codes = Codes::pack([7, last, 7].into_iter());
            let mut encoder = Encoder::default();
            encoder.codes(&codes);
            let mut decoder = Decoder::new(&encoder.bytes);
            assert_eq!((decoder.codes(), decoder.is_empty()), (Some(codes), true));
            for length in 0..encoder.bytes.len() {
                assert_eq!(Decoder::new(&encoder.bytes[..length]).codes(), None, "{length}");
            }
        }
    }

    #[test]
    fn a_count_beyond_the_bytes_is_refused() {
        let mut encoder = Encoder::default();
        encoder.u32(u32::MAX);
        assert_eq!(Decoder::new(&encoder.bytes).text(), None);
        assert_eq!(Decoder::new(&encoder.bytes).list(Decoder::u8), None);
    }
}
