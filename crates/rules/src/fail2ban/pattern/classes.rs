//! Sets of characters, and escaped characters.

use crate::error::{Reason, RuleError};
use std::fmt::Write;

/// The most characters of a set that are enumerated.
const FEW: usize = 8;

/// The engine's text for the set of an escape such as `\d`.
pub(super) fn class(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => r"\d",
        'D' => r"\D",
        'w' => r"\w",
        'W' => r"\W",
        's' => r"\s",
        'S' => r"\S",
        _ => return None,
    })
}

/// Writes a character so that the engine takes it literally, in a set or outside.
pub(super) fn write_char(char: char, text: &mut String) {
    if char.is_ascii_alphanumeric() || char == '_' || char == ' ' {
        text.push(char);
    } else {
        _ = write!(text, r"\x{{{:x}}}", u32::from(char));
    }
}

/// Reads the escape of one character after its backslash. Returns its length and the character.
pub(super) fn escaped_char(rest: &str) -> Result<(usize, char), Reason> {
    let next = rest.chars().next().ok_or("the pattern ends in a backslash")?;
    let hex = |digits: usize| {
        let code = rest.get(1..1 + digits).and_then(|code| u32::from_str_radix(code, 16).ok());
        let char = code.and_then(char::from_u32).ok_or("this is not a valid character code")?;
        Ok((1 + digits, char))
    };
    Ok(match next {
        'n' => (1, '\n'),
        't' => (1, '\t'),
        'r' => (1, '\r'),
        'f' => (1, '\x0c'),
        'v' => (1, '\x0b'),
        'a' => (1, '\x07'),
        'x' => return hex(2),
        'u' => return hex(4),
        'U' => return hex(8),
        '0' => {
            let digits: String =
                rest.chars().take(3).take_while(|digit| ('0'..='7').contains(digit)).collect();
            let code = u32::from_str_radix(&digits, 8).unwrap_or(0);
            (digits.len(), char::from_u32(code).unwrap_or('\0'))
        }
        letter if letter.is_ascii_alphanumeric() => {
            return Err(format!("`\\{letter}` is not an escape that Python knows").into());
        }
        char => (char.len_utf8(), char),
    })
}

/// An item of a set.
enum Item {
    Char(char),
    Class(&'static str),
}

/// Reads a set, which begins with `[`. Returns its length in bytes, its text for the engine, and
/// its characters if they are few. An error has its position in the set.
pub(super) fn set(pattern: &str) -> Result<(usize, String, Option<Vec<char>>), RuleError> {
    let is_negated = pattern[1..].starts_with('^');
    let mut text = String::from(if is_negated { "[^" } else { "[" });
    let mut position = text.len();
    let first = position;
    let mut few = (!is_negated).then(Vec::new);
    loop {
        let start = position;
        let item = match pattern[position..].chars().next() {
            None => return Err(RuleError::new(0..1, "this set is not closed")),
            Some(']') if position > first => break,
            Some(_) => item(pattern, &mut position)?,
        };
        let is_range = pattern[position..].starts_with('-')
            && !pattern[position + 1..].starts_with(']')
            && position + 1 < pattern.len();
        match item {
            Item::Char(from) if is_range => {
                position += 1;
                let to = match item_char(pattern, &mut position)? {
                    Some(to) if to >= from => to,
                    _ => {
                        return Err(RuleError::new(start..start + 1, "this range is not in order"));
                    }
                };
                write_char(from, &mut text);
                text.push('-');
                write_char(to, &mut text);
                few = None;
            }
            Item::Char(char) => {
                write_char(char, &mut text);
                if let Some(few) = &mut few {
                    few.push(char);
                }
            }
            Item::Class(class) => {
                text += class;
                few = None;
            }
        }
    }
    text.push(']');
    Ok((position + 1, text, few.filter(|few| few.len() <= FEW)))
}

fn item(pattern: &str, position: &mut usize) -> Result<Item, RuleError> {
    let rest = &pattern[*position..];
    let Some(escaped) = rest.strip_prefix('\\') else {
        let char = rest.chars().next().unwrap_or_default();
        *position += char.len_utf8();
        return Ok(Item::Char(char));
    };
    let next = escaped.chars().next().unwrap_or_default();
    if let Some(class) = class(next) {
        *position += 2;
        return Ok(Item::Class(class));
    }
    if next == 'b' {
        *position += 2;
        return Ok(Item::Char('\x08'));
    }
    let (length, char) =
        escaped_char(escaped).map_err(|reason| reason.at(*position..*position + 1))?;
    *position += 1 + length;
    Ok(Item::Char(char))
}

fn item_char(pattern: &str, position: &mut usize) -> Result<Option<char>, RuleError> {
    Ok(match item(pattern, position)? {
        Item::Char(char) => Some(char),
        Item::Class(_) => None,
    })
}
