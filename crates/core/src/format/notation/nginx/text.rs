//! Takes the text of an nginx format out of the configuration's syntax.

use crate::format::error::FormatError;
use crate::format::notation::positioned::Positioned;

/// How nginx escapes the values: decides whether a quote can stand inside one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    Default,
    Json,
    None,
}

/// Takes the text of the format out of the configuration's syntax.
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
            return Err(FormatError::new(definition, definition.len(), "the format has no name"));
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
                let message = "escape is one of default, json and none";
                return Err(FormatError::new(definition, token.start, message));
            }
            _ => text.extend(token.text),
        }
    }
    Ok((text, escape))
}

/// Where the definition starts, behind white space.
pub(super) fn start_of(definition: &str) -> usize {
    definition.len() - definition.trim_start().len()
}

/// True for quoted strings alone, as they stand in nginx.conf.
pub(super) fn is_quoted(definition: &str) -> bool {
    let rest = definition.trim_start();
    rest.starts_with(['\'', '"']) && closes_as_configuration(rest)
}

/// Bare formats can start with a quote too (`"$request" $status`). The configuration's
/// notation is strings and nothing else, up to a semicolon.
fn closes_as_configuration(text: &str) -> bool {
    let mut tokens = Tokens { definition: text, at: 0 };
    loop {
        match tokens.next() {
            Ok(Some(token)) if token.quoted => {}
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

struct Token {
    text: Vec<Positioned>,
    quoted: bool,
    start: usize,
}

impl Token {
    /// The word, where it is not quoted.
    fn strip_bare<'a>(&self, definition: &'a str) -> Option<&'a str> {
        let (_, last) = self.text.last()?;
        (!self.quoted).then(|| &definition[self.start..=*last])
    }
}

impl Tokens<'_> {
    /// The next word; `None` at a semicolon or the end.
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

    fn only_space_follows(&self) -> Result<Option<Token>, FormatError> {
        if self.definition[self.at + 1..].trim().is_empty() {
            return Ok(None);
        }
        let message = "the directive ends at this semicolon, but more follows; give one log_format";
        Err(FormatError::new(self.definition, self.at, message))
    }

    fn bare(&mut self) -> Token {
        let bytes = self.definition.as_bytes();
        let start = self.at;
        while bytes.get(self.at).is_some_and(|byte| !byte.is_ascii_whitespace() && *byte != b';') {
            self.at += 1;
        }
        let text = (start..self.at).map(|at| (bytes[at], at)).collect();
        Token { text, quoted: false, start }
    }

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
                    return Ok(Token { text, quoted: true, start });
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

/// What a backslash makes of the byte behind it, in a quoted string of nginx.conf.
fn escape_of(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\'' | b'\\' => byte,
        b't' => b'\t',
        b'r' => b'\r',
        b'n' => b'\n',
        _ => return None,
    })
}
