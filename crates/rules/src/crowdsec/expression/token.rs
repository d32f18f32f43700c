//! The tokens of an expression.

use std::ops::Range;

use crate::error::RuleError;

/// A token, with its position in the expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) range: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Name(String),
    Integer(i64),
    Float(f64),
    Text(Vec<u8>),
    /// An operator or a bracket.
    Symbol(&'static str),
    End,
}

/// Longer symbols come before their own prefixes.
const SYMBOLS: [&str; 34] = [
    "&&", "||", "==", "!=", "<=", ">=", "?.", "??", "**", "..", "<", ">", "!", "+", "-", "*", "/",
    "%", "^", "?", ":", ";", ",", ".", "(", ")", "[", "]", "{", "}", "#", "=", "|", "&",
];

/// Splits an expression into tokens; the last one is [`TokenKind::End`].
///
/// # Errors
/// If a string is not terminated, or a character is not part of any token.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, RuleError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at = skip_space(text, at);
        let Some(first) = text[at..].chars().next() else { break };
        let start = at;
        let kind;
        (kind, at) = match first {
            '\'' | '"' | '`' => quoted(text, at)?,
            '0'..='9' => number(text, at)?,
            'a'..='z' | 'A'..='Z' | '_' | '$' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
                let length = text[at..].find(|c| !is_part(c)).unwrap_or(text.len() - at);
                (TokenKind::Name(text[at..at + length].to_owned()), at + length)
            }
            _ => match SYMBOLS.iter().find(|symbol| text[at..].starts_with(**symbol)) {
                Some(symbol) => (TokenKind::Symbol(symbol), at + symbol.len()),
                None => {
                    let range = at..at + first.len_utf8();
                    let shown = first.escape_debug();
                    return Err(RuleError::new(
                        range,
                        format_args!("`{shown}` has no meaning in an expression; remove it"),
                    ));
                }
            },
        };
        tokens.push(Token { kind, range: start..at });
    }
    tokens.push(Token { kind: TokenKind::End, range: text.len()..text.len() });
    Ok(tokens)
}

/// Skips white space and comments.
fn skip_space(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        let length = if trimmed.starts_with("//") {
            trimmed.find('\n').unwrap_or(trimmed.len())
        } else if trimmed.starts_with("/*") {
            trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
        } else {
            return at;
        };
        at += length;
    }
}

fn number(text: &str, start: usize) -> Result<(TokenKind, usize), RuleError> {
    let rest = &text[start..];
    let (is_hexadecimal, digits) = match rest.strip_prefix("0x").or(rest.strip_prefix("0X")) {
        Some(digits) => (true, digits),
        None => (false, rest),
    };
    let is_part = |c: char| {
        if is_hexadecimal {
            c.is_ascii_hexdigit() || c == '_'
        } else {
            c.is_ascii_digit() || c == '_'
        }
    };
    let mut length = digits.find(|c| !is_part(c)).unwrap_or(digits.len());
    let mut is_float = false;
    // Two dots are the range operator.
    if !is_hexadecimal && digits[length..].starts_with('.') && !digits[length..].starts_with("..") {
        is_float = true;
        let fraction = &digits[length + 1..];
        length += 1 + fraction.find(|c| !is_part(c)).unwrap_or(fraction.len());
    }
    let end = start + (rest.len() - digits.len()) + length;
    let plain = digits[..length].replace('_', "");
    let kind = match (is_float, is_hexadecimal) {
        (true, _) => plain.parse().ok().map(TokenKind::Float),
        (false, true) => i64::from_str_radix(&plain, 16).ok().map(TokenKind::Integer),
        (false, false) => plain.parse().ok().map(TokenKind::Integer),
    };
    let error = || {
        let shown = &text[start..end];
        RuleError::new(
            start..end,
            format_args!("`{shown}` is not a valid number; write digits, up to 2^63"),
        )
    };
    kind.map(|kind| (kind, end)).ok_or_else(error)
}

/// Reads a quoted string with Go's escapes, or a backquoted one without escapes.
fn quoted(text: &str, start: usize) -> Result<(TokenKind, usize), RuleError> {
    let quote = text.as_bytes()[start];
    let mut value = Vec::new();
    let mut at = start + 1;
    loop {
        let rest = &text.as_bytes()[at..];
        match rest {
            [byte, ..] if *byte == quote => return Ok((TokenKind::Text(value), at + 1)),
            [b'\\', ..] if quote != b'`' => {
                let (character, length) = escape(&text[at + 1..]).ok_or_else(|| {
                    let next = text[at + 1..].chars().next().map_or(0, char::len_utf8);
                    let range = at..at + 1 + next;
                    let shown = &text[range.clone()];
                    RuleError::new(
                        range,
                        format_args!(
                            "`{shown}` is not a valid escape; write `\\\\` for a backslash"
                        ),
                    )
                })?;
                match character {
                    Escape::Byte(byte) => value.push(byte),
                    Escape::Character(c) => {
                        value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                }
                at += 1 + length;
            }
            [byte, ..] => {
                value.push(*byte);
                at += 1;
            }
            [] => {
                let message = "the text does not end; add the closing quote";
                return Err(RuleError::new(start..text.len(), message));
            }
        }
    }
}

enum Escape {
    Byte(u8),
    Character(char),
}

/// Decodes an escape, which begins after the backslash. Returns it and its length.
fn escape(text: &str) -> Option<(Escape, usize)> {
    let digits = |start: usize, length: usize, radix| {
        let digits = text.get(start..start + length)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u32::from_str_radix(digits, radix).ok()
    };
    let character =
        |value: Option<u32>, length| Some((Escape::Character(char::from_u32(value?)?), length));
    let byte = |value: u8| Some((Escape::Byte(value), 1));
    match text.bytes().next()? {
        b'n' => byte(b'\n'),
        b't' => byte(b'\t'),
        b'r' => byte(b'\r'),
        b'a' => byte(7),
        b'b' => byte(8),
        b'f' => byte(12),
        b'v' => byte(11),
        quote @ (b'\\' | b'\'' | b'"' | b'`') => byte(quote),
        b'x' => Some((Escape::Byte(u8::try_from(digits(1, 2, 16)?).ok()?), 3)),
        b'u' => character(digits(1, 4, 16), 5),
        b'U' => character(digits(1, 8, 16), 9),
        b'0'..=b'3' => Some((Escape::Byte(u8::try_from(digits(0, 3, 8)?).ok()?), 3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, tokens};

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut tokens = tokens(text).expect(text);
        assert_eq!(tokens.pop().map(|token| token.kind), Some(TokenKind::End));
        tokens.into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn numbers_texts_and_symbols_are_divided() {
        let text = |text: &[u8]| TokenKind::Text(text.to_vec());
        assert_eq!(
            kinds(r#"'a\\.b' "\x41\u00e9" `\d`"#),
            [text(b"a\\.b"), text("Aé".as_bytes()), text(b"\\d"),]
        );
        assert_eq!(
            kinds("0x1F 1_000 2.5 1..3"),
            [
                TokenKind::Integer(31),
                TokenKind::Integer(1_000),
                TokenKind::Float(2.5),
                TokenKind::Integer(1),
                TokenKind::Symbol(".."),
                TokenKind::Integer(3),
            ]
        );
        assert_eq!(
            kinds("// all\n#?.a /* b */"),
            [TokenKind::Symbol("#"), TokenKind::Symbol("?."), TokenKind::Name("a".to_owned()),]
        );
    }

    #[test]
    fn mistakes_have_their_place() {
        for (text, at, part) in [
            ("a == 'b", 5, "does not end"),
            (r"'a\d'", 2, "not a valid escape"),
            ("a @ b", 2, "no meaning"),
            ("99999999999999999999", 0, "not a valid number"),
        ] {
            let error = tokens(text).expect_err(text);
            assert_eq!(error.range.start, at, "{text}");
            assert!(error.message.contains(part), "{error}");
        }
    }
}
