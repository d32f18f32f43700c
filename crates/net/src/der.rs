//! The subset of DER (X.690) that public keys and names in certificates need.

/// A whole number.
pub const INTEGER: u8 = 0x02;
/// A string of bits.
pub const BIT_STRING: u8 = 0x03;
/// The name of an algorithm or an attribute.
pub const OBJECT_IDENTIFIER: u8 = 0x06;
/// A list of elements.
pub const SEQUENCE: u8 = 0x30;
/// A set of elements.
pub const SET: u8 = 0x31;

/// Reads DER elements in sequence.
#[derive(Debug, Clone, Copy)]
pub struct DerReader<'a>(&'a [u8]);

/// An element with its tag.
#[derive(Debug, Clone, Copy)]
pub struct DerElement<'a> {
    /// The type of the content.
    pub tag: u8,
    /// The content.
    pub content: &'a [u8],
    /// The content with its tag and its length.
    pub whole: &'a [u8],
}

impl<'a> DerReader<'a> {
    /// Creates a reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether all elements have been read.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the next element, whatever its tag is.
    pub fn any_element(&mut self) -> Option<DerElement<'a>> {
        let (before, tag) = (self.0, *self.0.first()?);
        let content = self.element(tag)?;
        Some(DerElement { tag, content, whole: &before[..before.len() - self.0.len()] })
    }

    /// Returns the content of the next element, if it has this tag. Lengths must have the shortest
    /// form and be below 64 KiB.
    pub fn element(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (length, rest) = match self.0 {
            [found, length @ 0..=0x7f, rest @ ..] if *found == tag => (usize::from(*length), rest),
            [found, 0x81, length @ 0x80..=0xff, rest @ ..] if *found == tag => {
                (usize::from(*length), rest)
            }
            [found, 0x82, high @ 1..=0xff, low, rest @ ..] if *found == tag => {
                (usize::from(*high) << 8 | usize::from(*low), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(content)
    }

    /// Returns the next element as a positive integer, without leading zeros.
    pub fn unsigned(&mut self) -> Option<&'a [u8]> {
        match self.element(INTEGER)? {
            [0, digits @ ..] if matches!(digits, [0x80..=0xff, ..]) => Some(digits),
            digits @ [1..=0x7f, ..] => Some(digits),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DerReader, INTEGER, SEQUENCE};

    #[test]
    fn lengths_have_one_form() {
        let read = |bytes: &[u8]| DerReader::new(bytes).element(SEQUENCE).map(<[u8]>::len);
        assert_eq!(read(&[0x30, 0]), Some(0));
        assert_eq!(read(&[0x30, 2, 1, 1]), Some(2));
        assert_eq!(read(&[&[0x30, 0x81, 0x80][..], &[0; 128]].concat()), Some(128));
        assert_eq!(read(&[&[0x30, 0x82, 1, 0][..], &[0; 256]].concat()), Some(256));
        assert_eq!(read(&[&[0x30, 0x81, 0x7f][..], &[0; 127]].concat()), None);
        assert_eq!(read(&[&[0x30, 0x82, 0, 0xff][..], &[0; 255]].concat()), None);
        for bytes in [&[][..], &[0x30], &[0x31, 0], &[0x30, 1], &[0x30, 0x80, 0, 0], &[0x30, 0x81]]
        {
            assert_eq!(read(bytes), None, "{bytes:x?}");
        }
    }

    #[test]
    fn integers_are_positive_and_short() {
        let read = |bytes: &[u8]| {
            let element = [&[INTEGER, bytes.len() as u8][..], bytes].concat();
            DerReader::new(&element).unsigned().map(<[u8]>::to_vec)
        };
        assert_eq!(read(&[1, 0, 1]), Some(vec![1, 0, 1]));
        assert_eq!(read(&[0, 0x80]), Some(vec![0x80]));
        for bytes in [&[][..], &[0], &[0x80], &[0, 0x7f], &[0, 0, 0x80]] {
            assert_eq!(read(bytes), None, "{bytes:x?}");
        }
    }
}
