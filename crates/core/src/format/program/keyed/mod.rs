//! Lines that are keys and values: their scanners, the tree of a format's keys, and the values found.

mod escape;
mod found;
mod keys;
mod pairs;
mod scan;
mod string_end;

pub(crate) use self::escape::DecodeBuffer;
pub(in crate::format) use self::escape::unescape;
pub(in crate::format) use self::found::FoundValues;
pub(in crate::format) use self::keys::{Keys, Place};
pub(in crate::format) use self::pairs::MemberSyntax;
pub(in crate::format) use self::scan::{MemberSink, scan};
