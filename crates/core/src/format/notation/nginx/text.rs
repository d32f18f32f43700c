//! Reads the text of an nginx format from the syntax of nginx.conf.
//!
//! A definition may be pasted with its directive, its name and the semicolon, or be the quoted
//! strings alone, or the bare format. nginx joins the strings without anything in between.
//!
//! | text | meaning |
//! |---|---|
//! | `\"` `\'` `\\` | the byte after the backslash |
//! | `\t` `\r` `\n` | a tab, CR, LF |
//! | a backslash before another byte | itself |

use crate::format::error::FormatError;
use crate::format::notation::positioned::Positioned;

/// How nginx escapes values, which decides whether a value can contain a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    Default,
    Json,
    None,
}

/// The text of the format, without the quotes and backslashes of the configuration, and the
/// `escape` parameter.
///
/// # Errors
/// If the directive has no name, if a quote is not closed, if `escape` is not one of the three, or
/// if text follows the semicolon.
pub(super) fn unquote(definition: &str) -> Result<(Vec<Positioned>, Escape), FormatError> {
    let start = start_of(definition);
    let rest = &definition[start..];
    let is_directive =
        rest.strip_prefix("log_format").is_some_and(|rest| rest.starts_with(char::is_whitespace));
    if !is_directive && !is_quoted(definition) {
        let bare = definition.trim_end();
        return Ok((bare.bytes().zip(0..).skip(start).collect(), Escape::Default));
    }
    let mut tokens = Tokens { definition, at: start };
    if is_directive {
        tokens.next()?;
        if tokens.next()?.is_none() {
            let message = "the format has no name; write it after log_format";
            return Err(FormatError::new(definition, definition.len(), message));
        }
    }
    let mut text = Vec::new();
    let mut escape = Escape::Default;
    while let Some(token) = tokens.next()? {
        match token.strip_bare(definition) {
            Some("escape=default") => {}
            Some("escape=json") => escape = Escape::Json,
            Some("escape=none") => escape = Escape::None,
            Some(bare) if bare.starts_with("escape=") => {
                let message = "this is not a valid `escape`; write default, json or none";
                return Err(FormatError::new(definition, token.start, message));
            }
            _ => text.extend(token.text),
        }
    }
    Ok((text, escape))
}

/// The offset of the definition after leading white space.
pub(super) fn start_of(definition: &str) -> usize {
    definition.len() - definition.trim_start().len()
}

/// Whether the definition is only quoted strings, as in nginx.conf.
pub(super) fn is_quoted(definition: &str) -> bool {
    let rest = definition.trim_start();
    rest.starts_with(['\'', '"']) && closes_as_configuration(rest)
}

/// Whether the text is only strings up to a semicolon, as in the configuration. A bare format
/// can begin with a quote too (`"$request" $status`).
fn closes_as_configuration(text: &str) -> bool {
    let mut tokens = Tokens { definition: text, at: 0 };
    loop {
        match tokens.next() {
            Ok(Some(token)) if token.is_quoted => {}
            Ok(Some(_)) | Err(_) => return false,
            Ok(None) => return true,
        }
    }
}

/// Splits nginx.conf into words.
struct Tokens<'a> {
    definition: &'a str,
    at: usize,
}

/// A word of the configuration.
struct Token {
    text: Vec<Positioned>,
    is_quoted: bool,
    start: usize,
}

impl Token {
    /// The word, if it is not quoted.
    fn strip_bare<'a>(&self, definition: &'a str) -> Option<&'a str> {
        let (_, last) = self.text.last()?;
        (!self.is_quoted).then(|| &definition[self.start..=*last])
    }
}

impl Tokens<'_> {
    /// The next word, or `None` at a semicolon or the end.
    fn next(&mut self) -> Result<Option<Token>, FormatError> {
        let bytes = self.definition.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        match bytes.get(self.at) {
            None => Ok(None),
            Some(b';') => self.only_space_follows(),
            Some(quote @ (b'\'' | b'"')) => self.quoted(*quote).map(Some),
            Some(_) => Ok(Some(self.bare())),
        }
    }

    /// Refuses text after the semicolon that ends the directive.
    fn only_space_follows(&self) -> Result<Option<Token>, FormatError> {
        if self.definition[self.at + 1..].trim().is_empty() {
            return Ok(None);
        }
        let message = "the directive ends at this semicolon; remove the text after it";
        Err(FormatError::new(self.definition, self.at, message))
    }

    /// Reads a word without quotes.
    fn bare(&mut self) -> Token {
        let bytes = self.definition.as_bytes();
        let start = self.at;
        while bytes.get(self.at).is_some_and(|byte| !byte.is_ascii_whitespace() && *byte != b';') {
            self.at += 1;
        }
        let text = (start..self.at).map(|at| (bytes[at], at)).collect();
        Token { text, is_quoted: false, start }
    }

    /// Reads a string up to its closing quote, without its escapes.
    fn quoted(&mut self, quote: u8) -> Result<Token, FormatError> {
        let bytes = self.definition.as_bytes();
        let start = self.at;
        let mut text = Vec::new();
        let mut at = start + 1;
        while let Some(byte) = bytes.get(at) {
            match (byte, bytes.get(at + 1)) {
                (b'\\', Some(escaped)) if escape_of(*escaped).is_some() => {
                    text.push((escape_of(*escaped).unwrap_or(*escaped), at));
                    at += 2;
                }
                (byte, _) if *byte == quote => {
                    self.at = at + 1;
                    return Ok(Token { text, is_quoted: true, start });
                }
                (byte, _) => {
                    text.push((*byte, at));
                    at += 1;
                }
            }
        }
        Err(FormatError::new(self.definition, start, "this quote is not closed"))
    }
}

/// The byte that a backslash and this byte stand for in a quoted string of nginx.conf.
fn escape_of(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\'' | b'\\' => byte,
        b't' => b'\t',
        b'r' => b'\r',
        b'n' => b'\n',
        _ => return None,
    })
}
