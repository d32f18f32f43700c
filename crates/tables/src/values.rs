//! The values of a page, one after the other.

use crate::bits::bits_at;
use crate::delta::Deltas;
use crate::error::TableError;
use crate::footer::Physical;
use crate::hybrid::Hybrid;
use crate::page::Page;

/// Encodings whose values are not in the page as they stand.
const DELTA_BYTE_ARRAY: i64 = 7;
const BYTE_STREAM_SPLIT: i64 = 9;

/// A value of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'a> {
    Boolean(bool),
    /// Unsigned integers of 64 bits are the signed ones with the same bits.
    Integer(i64),
    Double(f64),
    Bytes(&'a [u8]),
}

/// The distinct values of a column in a row group.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    bytes: Vec<u8>,
    /// Where each text is, if they have different lengths.
    ranges: Vec<(u32, u32)>,
}

/// Reads the values of a page by its encoding. Nothing is decoded before it is needed, so that a page
/// of many equal values takes no memory.
#[derive(Debug)]
pub(crate) enum Values {
    /// Fixed values, and texts behind their lengths.
    Plain {
        at: usize,
    },
    /// Truth values in bits.
    Bits {
        bit: usize,
    },
    Runs(Hybrid),
    Dictionary(Hybrid),
    Deltas(Deltas),
    /// Lengths, and then the texts.
    Lengths {
        lengths: Deltas,
        at: usize,
    },
    /// How much of the text before comes first, and then the rest.
    Prefixes {
        prefixes: Deltas,
        suffixes: Deltas,
        at: usize,
        text: Vec<u8>,
    },
    /// The first bytes of all values, then the second ones, and so on.
    Streams {
        index: usize,
        at: usize,
        value: Vec<u8>,
    },
}

impl Dictionary {
    /// One without values.
    pub(crate) const EMPTY: Self = Self { bytes: Vec::new(), ranges: Vec::new() };

    /// The memory that the ranges of a dictionary's page take. Each text has a length of four bytes.
    pub(crate) fn ranges_bytes(page: &Page, physical: Physical) -> Result<usize, TableError> {
        let texts = if physical == Physical::Bytes { page.header.values as usize } else { 0 };
        match texts <= page.bytes.len() / 4 {
            true => Ok(texts * size_of::<(u32, u32)>()),
            false => Err(damaged()),
        }
    }

    /// Reads the page of a dictionary, after [`Self::ranges_bytes`].
    pub(crate) fn read(page: Page, physical: Physical) -> Result<Self, TableError> {
        let mut ranges = Vec::new();
        if physical == Physical::Bytes {
            ranges.reserve_exact(page.header.values as usize);
            let mut at = 0;
            for _ in 0..page.header.values {
                let text = take_text(&page.bytes, &mut at).ok_or_else(damaged)?;
                // Pages are smaller than 4 GiB.
                ranges.push(((at - text.len()) as u32, text.len() as u32));
            }
        }
        Ok(Self { bytes: page.bytes, ranges })
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ranges.capacity() * size_of::<(u32, u32)>()
    }

    #[inline]
    fn value(&self, index: u32, physical: Physical) -> Option<Value<'_>> {
        if physical == Physical::Bytes {
            let (start, length) = *self.ranges.get(index as usize)?;
            let text = &self.bytes[start as usize..start as usize + length as usize];
            return Some(Value::Bytes(text));
        }
        let width = physical.width()?;
        fixed(&self.bytes, (index as usize).checked_mul(width)?, physical)
    }
}

impl Values {
    /// The most memory that a page takes for values that are not in it as they stand. A text has
    /// suffixes of the page, and its buffer grows to twice of them at most.
    pub(crate) fn text_bytes_max(page: &Page) -> usize {
        match page.header.encoding {
            DELTA_BYTE_ARRAY => 2 * page.bytes.len(),
            BYTE_STREAM_SPLIT => page.bytes.len(),
            _ => 0,
        }
    }

    /// The values of a page, which begin at `at`.
    pub(crate) fn new(
        page: &Page,
        at: usize,
        physical: Physical,
        has_dictionary: bool,
    ) -> Result<Self, TableError> {
        let (bytes, end) = (&page.bytes[..], page.bytes.len());
        let is_text = physical == Physical::Bytes;
        let values_max = page.header.values;
        let is_integer = matches!(physical, Physical::Int32 | Physical::Int64);
        let values = match page.header.encoding {
            0 if physical == Physical::Boolean => Some(Self::Bits { bit: at * 8 }),
            0 => Some(Self::Plain { at }),
            2 | 8 if has_dictionary => match bytes.get(at) {
                // A page without values may have no width.
                None => Some(Self::Dictionary(Hybrid::new(at, end, 0))),
                Some(width) if *width <= 32 => {
                    Some(Self::Dictionary(Hybrid::new(at + 1, end, u32::from(*width))))
                }
                Some(_) => None,
            },
            2 | 8 => None,
            3 if physical == Physical::Boolean => {
                Some(Self::Runs(Hybrid::new((at + 4).min(end), end, 1)))
            }
            5 if is_integer => Deltas::new(bytes, at, values_max).map(Self::Deltas),
            6 if is_text => Deltas::new(bytes, at, values_max).and_then(|lengths| {
                let at = lengths.clone().place_behind(bytes)?;
                Some(Self::Lengths { lengths, at })
            }),
            DELTA_BYTE_ARRAY if is_text => Self::prefixes(bytes, at, values_max),
            BYTE_STREAM_SPLIT if physical.width().is_some() => {
                Some(Self::Streams { index: 0, at, value: Vec::new() })
            }
            encoding => {
                return Err(TableError::refused(format_args!(
                    "has the encoding {encoding} for its type, which Weir does not read; write it \
                     again with dictionaries or plain values"
                )));
            }
        };
        values.ok_or_else(damaged)
    }

    fn prefixes(bytes: &[u8], at: usize, values_max: u64) -> Option<Self> {
        let prefixes = Deltas::new(bytes, at, values_max)?;
        let suffixes = Deltas::new(bytes, prefixes.clone().place_behind(bytes)?, values_max)?;
        let at = suffixes.clone().place_behind(bytes)?;
        Some(Self::Prefixes { prefixes, suffixes, at, text: Vec::new() })
    }

    /// The next value; `None` if the page is damaged.
    #[inline]
    pub(crate) fn next<'a>(
        &'a mut self,
        page: &'a [u8],
        dictionary: &'a Dictionary,
        physical: Physical,
    ) -> Option<Value<'a>> {
        match self {
            Self::Dictionary(indices) => dictionary.value(indices.next(page)?, physical),
            Self::Plain { at } if physical == Physical::Bytes => {
                take_text(page, at).map(Value::Bytes)
            }
            Self::Plain { at } => {
                let value = fixed(page, *at, physical)?;
                *at += physical.width()?;
                Some(value)
            }
            Self::Bits { bit } => {
                *bit += 1;
                bits_at(page, *bit - 1, 1).map(|it| Value::Boolean(it == 1))
            }
            Self::Runs(runs) => runs.next(page).map(|it| Value::Boolean(it == 1)),
            Self::Deltas(deltas) => {
                let number = deltas.next(page)?;
                let is_narrow = physical == Physical::Int32;
                // Differences of 32 bits wrap.
                Some(Value::Integer(if is_narrow { i64::from(number as i32) } else { number }))
            }
            Self::Lengths { lengths, at } => {
                let text = take(page, at, lengths.next(page)?)?;
                Some(Value::Bytes(text))
            }
            Self::Prefixes { prefixes, suffixes, at, text } => {
                let prefix = usize::try_from(prefixes.next(page)?).ok()?;
                let suffix = take(page, at, suffixes.next(page)?)?;
                if prefix > text.len() {
                    return None;
                }
                text.truncate(prefix);
                text.extend_from_slice(suffix);
                Some(Value::Bytes(text))
            }
            Self::Streams { index, at, value } => {
                let width = physical.width()?;
                let count = page.len().checked_sub(*at)? / width.max(1);
                if *index >= count {
                    return None;
                }
                value.clear();
                value.extend((0..width).map(|byte| page[*at + byte * count + *index]));
                *index += 1;
                fixed(value, 0, physical)
            }
        }
    }
}

impl Physical {
    /// The bytes of a value, if all have the same number.
    fn width(self) -> Option<usize> {
        match self {
            Self::Boolean | Self::Bytes => None,
            Self::Int32 | Self::Float => Some(4),
            Self::Int64 | Self::Double => Some(8),
            Self::Int96 => Some(12),
            Self::Fixed(width) => Some(width),
        }
    }
}

/// The value of a fixed number of bytes at a place.
#[inline]
fn fixed(bytes: &[u8], at: usize, physical: Physical) -> Option<Value<'_>> {
    let rest = bytes.get(at..)?;
    Some(match physical {
        Physical::Int32 => Value::Integer(i64::from(i32::from_le_bytes(*rest.first_chunk()?))),
        Physical::Int64 => Value::Integer(i64::from_le_bytes(*rest.first_chunk()?)),
        Physical::Float => Value::Double(f64::from(f32::from_le_bytes(*rest.first_chunk()?))),
        Physical::Double => Value::Double(f64::from_le_bytes(*rest.first_chunk()?)),
        _ => Value::Bytes(rest.get(..physical.width()?)?),
    })
}

/// The text at a place, behind its length of four bytes.
fn take_text<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let length = u32::from_le_bytes(*bytes.get(*at..)?.first_chunk()?);
    *at += 4;
    take(bytes, at, i64::from(length))
}

fn take<'a>(bytes: &'a [u8], at: &mut usize, length: i64) -> Option<&'a [u8]> {
    let length = usize::try_from(length).ok()?;
    let text = bytes.get(*at..)?.get(..length)?;
    *at += length;
    Some(text)
}

pub(crate) fn damaged() -> TableError {
    TableError::damaged("a page has other values than it states")
}
