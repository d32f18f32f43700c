//! Bytes with their offset in the definition, for error messages.

/// A byte of a format's text, and its offset in the definition.
pub(super) type Positioned = (u8, usize);
