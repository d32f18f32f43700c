//! Values that are several fields at once.

use crate::field::Field;
use crate::value::{RequestLine, split_target};

/// A value that is several fields at once, and how it is divided among them. Any text can be
/// divided, so that it may be done late, and once for each distinct value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    /// A whole request line; what is none stays whole, as [`Field::Request`].
    RequestLine,
    /// A request target: path, and query behind `?`.
    PathAndQuery,
}

/// The parts of a value, in the order of [`Split::fields`].
pub(crate) type Parts<'a> = [Option<&'a [u8]>; Split::PARTS_MAX];

impl Split {
    /// The most parts there are.
    pub(crate) const PARTS_MAX: usize = 5;

    /// The fields of the parts.
    pub(crate) const fn fields(self) -> &'static [Field] {
        match self {
            Self::RequestLine => {
                &[Field::Path, Field::Query, Field::Method, Field::Protocol, Field::Request]
            }
            Self::PathAndQuery => &[Field::Path, Field::Query],
        }
    }

    /// Divides a value.
    #[inline]
    pub(crate) fn parts(self, value: &[u8]) -> Parts<'_> {
        let target = |target, method, protocol| {
            let (path, query) = split_target(target);
            [Some(path), query, method, protocol, None]
        };
        match self {
            Self::PathAndQuery => target(value, None, None),
            Self::RequestLine => match RequestLine::parse(value) {
                Some(line) => target(line.target, Some(line.method), Some(line.protocol)),
                None => [None, None, None, None, Some(value)],
            },
        }
    }
}
