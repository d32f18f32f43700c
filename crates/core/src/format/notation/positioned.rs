//! Bytes with their offset in the definition, for error messages.
//!
//! Quotes, escapes and line breaks of a configuration file are removed before a format is compiled,
//! so an offset in the text is not one in the definition. Each byte therefore carries its own.

/// A byte of a format's text, and its offset in the definition.
pub(super) type Positioned = (u8, usize);
