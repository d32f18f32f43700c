//! Reads Thrift's compact protocol, in which Parquet writes its footer and the headers of pages.
//!
//! The [specification](https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md)
//! has structures of numbered fields. A visitor takes the fields that it knows, and the others are
//! skipped, so nothing is allocated for them.

use crate::error::TableError;

/// The deepest nesting of what is skipped. Parquet's own structures have less than ten levels.
const DEPTH_MAX: usize = 32;

/// The types of fields.
pub(crate) mod kind {
    pub(crate) const TRUE: u8 = 1;
    pub(crate) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(crate) const STRUCT: u8 = 12;
    pub(super) const UUID: u8 = 13;
}

/// A field of a structure: its number and the type of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldHeader {
    pub(crate) id: i16,
    pub(crate) kind: u8,
}

/// Reads values one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Compact<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The number of bytes that were read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Reads a structure. `visit` reads the value of a field and returns true, or returns false for
    /// a field that is to be skipped.
    pub(crate) fn fields(
        &mut self,
        mut visit: impl FnMut(&mut Self, FieldHeader) -> Result<bool, TableError>,
    ) -> Result<(), TableError> {
        let mut id = 0;
        while let Some(field) = self.field(id)? {
            id = field.id;
            if !visit(self, field)? {
                self.skip(field.kind, 0)?;
            }
        }
        Ok(())
    }

    /// Reads a list. `visit` reads one element of the type.
    pub(crate) fn list(
        &mut self,
        mut visit: impl FnMut(&mut Self, u8) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let (length, kind) = self.list_header()?;
        (0..length).try_for_each(|_| visit(self, kind))
    }

    /// Reads a signed integer of any width but 8 bits.
    pub(crate) fn integer(&mut self) -> Result<i64, TableError> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Reads a signed integer that has to be a count or a size.
    pub(crate) fn size(&mut self) -> Result<u64, TableError> {
        u64::try_from(self.integer()?).map_err(|_| TableError::damaged("a size is negative"))
    }

    /// [`Self::size`] of 32 bits, as everything in a page is counted.
    pub(crate) fn small_size(&mut self) -> Result<u64, TableError> {
        let size = self.size()?;
        match i32::try_from(size) {
            Ok(_) => Ok(size),
            Err(_) => Err(TableError::damaged("a page states a size of more than 32 bits")),
        }
    }

    /// Reads an integer of 8 bits.
    pub(crate) fn byte(&mut self) -> Result<u8, TableError> {
        let byte = self.bytes.get(self.at).copied().ok_or_else(end)?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads a text, or bytes.
    pub(crate) fn binary(&mut self) -> Result<&'a [u8], TableError> {
        let length = self.varint()?;
        self.take(length)
    }

    fn field(&mut self, last: i16) -> Result<Option<FieldHeader>, TableError> {
        let byte = self.byte()?;
        let (delta, kind) = (byte >> 4, byte & 15);
        if kind == 0 {
            return Ok(None);
        }
        let id = match delta {
            0 => i16::try_from(self.integer()?).map_err(|_| end())?,
            delta => last.checked_add(i16::from(delta)).ok_or_else(end)?,
        };
        Ok(Some(FieldHeader { id, kind }))
    }

    /// The number and type of a list's elements. Each takes a byte at least.
    fn list_header(&mut self) -> Result<(u64, u8), TableError> {
        let byte = self.byte()?;
        let length = match byte >> 4 {
            15 => self.varint()?,
            length => u64::from(length),
        };
        if length > (self.bytes.len() - self.at) as u64 {
            return Err(end());
        }
        Ok((length, byte & 15))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), TableError> {
        if depth > DEPTH_MAX {
            return Err(TableError::damaged("its structures are nested too deeply"));
        }
        match kind {
            // The value is in the type.
            kind::TRUE | kind::FALSE => {}
            kind::BYTE => _ = self.byte()?,
            kind::I16 | kind::I32 | kind::I64 => _ = self.varint()?,
            kind::DOUBLE => _ = self.take(8)?,
            kind::UUID => _ = self.take(16)?,
            kind::BINARY => _ = self.binary()?,
            kind::LIST | kind::SET => {
                let (length, kind) = self.list_header()?;
                (0..length).try_for_each(|_| self.skip_element(kind, depth))?;
            }
            kind::MAP => self.skip_map(depth)?,
            kind::STRUCT => {
                let mut id = 0;
                while let Some(field) = self.field(id)? {
                    id = field.id;
                    self.skip(field.kind, depth + 1)?;
                }
            }
            kind => return Err(TableError::damaged(format_args!("the type {kind} is unknown"))),
        }
        Ok(())
    }

    fn skip_map(&mut self, depth: usize) -> Result<(), TableError> {
        let length = self.varint()?;
        if length == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        for _ in 0..length {
            self.skip_element(kinds >> 4, depth)?;
            self.skip_element(kinds & 15, depth)?;
        }
        Ok(())
    }

    /// Skips an element of a list or a map, in which a truth value takes a byte.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Result<(), TableError> {
        match kind {
            kind::TRUE | kind::FALSE => self.byte().map(drop),
            kind => self.skip(kind, depth + 1),
        }
    }

    fn varint(&mut self) -> Result<u64, TableError> {
        read_varint(self.bytes, &mut self.at).ok_or_else(end)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], TableError> {
        let length = usize::try_from(length).map_err(|_| end())?;
        let taken = self.bytes[self.at..].get(..length).ok_or_else(end)?;
        self.at += length;
        Ok(taken)
    }
}

/// Reads an unsigned integer of seven bits a byte, the lowest first. `None` if the bytes end before
/// it, or it has more than 64 bits.
pub(crate) fn read_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let bits = u64::from(byte & 0x7F);
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn end() -> TableError {
    TableError::damaged("its structures end too early")
}

#[cfg(test)]
mod tests {
    use super::{Compact, read_varint};

    #[test]
    fn known_fields_are_read_and_others_skipped() {
        // 1: i32 = -3, 2: binary "ab", 3: list of two structures, 20: true, 4 (long form): i64 = 300
        let bytes = [
            0x15, 0x05, 0x18, 2, b'a', b'b', 0x19, 0x2C, 0x15, 2, 0, 0, 0x01, 0x28, 0x06, 0x08,
            0xD8, 0x04, 0,
        ];
        let (mut small, mut text, mut large) = (0, &[][..], 0);
        let mut compact = Compact::new(&bytes);
        compact
            .fields(|compact, field| {
                match field.id {
                    1 => small = compact.integer()?,
                    2 => text = compact.binary()?,
                    4 => large = compact.integer()?,
                    _ => return Ok(false),
                }
                Ok(true)
            })
            .unwrap();
        assert_eq!((small, text, large), (-3, &b"ab"[..], 300));
        assert_eq!(compact.position(), bytes.len());
    }

    #[test]
    fn hostile_lengths_are_refused() {
        // A list of 2^60 structures, a text of 2^60 bytes, and nested lists without end.
        let long = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
        let list = [&[0x19, 0xFC][..], &long].concat();
        let text = [&[0x18][..], &long].concat();
        let nested = [&[0x19][..], &[0x19; 5_000]].concat();
        for bytes in [list, text, nested] {
            assert!(Compact::new(&bytes).fields(|_, _| Ok(false)).is_err());
        }
    }

    #[test]
    fn integers_have_64_bits_at_most() {
        let mut bytes = [0xFF; 10];
        bytes[9] = 1;
        assert_eq!(read_varint(&bytes, &mut 0), Some(u64::MAX));
        bytes[9] = 2;
        assert_eq!(read_varint(&bytes, &mut 0), None);
        assert_eq!(read_varint(&bytes[..9], &mut 0), None);
    }
}
