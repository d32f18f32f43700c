//! Reads the text of an Apache format from the syntax of httpd.conf.
//!
//! A definition may be pasted with its directive, its quotes and its escapes, or be the bare
//! format. Quotes inside a quoted string are escaped by a backslash; in a bare format the
//! backslashes may have been copied along, and are removed.

use crate::format::error::FormatError;
use crate::format::notation::positioned::Positioned;

/// The name of the directive.
const DIRECTIVE: &str = "LogFormat";

/// Whether the definition is a whole `LogFormat` directive. The names of Apache's directives
/// are not case-sensitive.
pub(in crate::format::notation) fn is_directive(definition: &str) -> bool {
    let definition = definition.trim_start();
    definition.get(..DIRECTIVE.len()).is_some_and(|name| name.eq_ignore_ascii_case(DIRECTIVE))
        && definition[DIRECTIVE.len()..].starts_with(char::is_whitespace)
}

/// The text of the format, without the quotes and backslashes of the configuration.
///
/// # Errors
/// If the directive has no format, if a quote is not closed, or if text follows the nickname.
pub(super) fn text_of(definition: &str) -> Result<Vec<Positioned>, FormatError> {
    let start = definition.len() - definition.trim_start().len();
    if is_directive(definition) {
        return directive(definition, start + DIRECTIVE.len());
    }
    let bare = definition.trim_end();
    if let Some(quote @ (b'"' | b'\'')) = bare.as_bytes().get(start) {
        let (text, end) = quoted(definition, start, *quote)?;
        if end == bare.len() {
            return Ok(text);
        }
    }
    let bare = &bare.as_bytes()[start..];
    Ok(unescape_bare(bare.iter().copied().zip(start..).collect()))
}

/// Reads the arguments of the directive: the format, and a nickname, which is ignored.
fn directive(definition: &str, after_name: usize) -> Result<Vec<Positioned>, FormatError> {
    let bytes = definition.as_bytes();
    let start = skip_space(bytes, after_name);
    let (text, end) = match bytes.get(start) {
        None => {
            let message = "the format is missing; write it in quotes after LogFormat";
            return Err(FormatError::new(definition, start, message));
        }
        Some(quote @ (b'"' | b'\'')) => quoted(definition, start, *quote)?,
        Some(_) => word(bytes, start),
    };
    let (_, end) = word(bytes, skip_space(bytes, end));
    let rest = skip_space(bytes, end);
    if rest < bytes.len() {
        let message = "a LogFormat is one string and a nickname; remove this text after them";
        return Err(FormatError::new(definition, rest, message));
    }
    Ok(text)
}

/// The offset of the first byte from `from` on that is not white space.
fn skip_space(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Reads up to the next white space. Returns the word and the offset after it.
fn word(bytes: &[u8], start: usize) -> (Vec<Positioned>, usize) {
    let length = bytes[start..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    let text = bytes[start..start + length].iter().copied().zip(start..).collect();
    (text, start + length)
}

/// Reads a quoted string (`substring_conf` in Apache's util.c). A backslash escapes the quote
/// and itself, and is literal before any other byte.
fn quoted(
    definition: &str,
    start: usize,
    quote: u8,
) -> Result<(Vec<Positioned>, usize), FormatError> {
    let bytes = definition.as_bytes();
    let mut text = Vec::new();
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match bytes.get(at + 1) {
            _ if *byte == quote => return Ok((text, at + 1)),
            Some(next) if *byte == b'\\' && (*next == quote || *next == b'\\') => {
                text.push((*next, at));
                at += 2;
            }
            _ => {
                text.push((*byte, at));
                at += 1;
            }
        }
    }
    Err(FormatError::new(definition, start, "this quote is not closed"))
}

/// Replaces `\"` by `"`, in text that was copied from inside the quotes.
fn unescape_bare(text: Vec<Positioned>) -> Vec<Positioned> {
    let mut plain: Vec<Positioned> = Vec::with_capacity(text.len());
    for (byte, at) in text {
        match plain.last_mut() {
            Some((last, _)) if *last == b'\\' && byte == b'"' => *last = b'"',
            _ => plain.push((byte, at)),
        }
    }
    plain
}
