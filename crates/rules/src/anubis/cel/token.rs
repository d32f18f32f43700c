//! The words of an expression.

use crate::error::Reason;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Integer(i64),
    Float(f64),
    Text(Vec<u8>),
    /// An operator or a bracket.
    Mark(&'static str),
}

/// The operators and brackets, the longest first.
const MARKS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", "[", "]",
    ".", ",", "?", ":", "{", "}",
];

/// Splits an expression.
///
/// # Errors
/// If it has a character that begins nothing, or a text without its end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Reason> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
            continue;
        }
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let quoted = rest.strip_prefix(['r', 'R']).filter(|text| text.starts_with(['"', '\'']));
        let (token, after) = if first == '"' || first == '\'' {
            quoted_text(rest, false)?
        } else if let Some(raw) = quoted {
            quoted_text(raw, true)?
        } else if first.is_ascii_digit() {
            number(rest)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let is_part = |next: char| next.is_ascii_alphanumeric() || next == '_';
            let end = rest.find(|next| !is_part(next)).unwrap_or(rest.len());
            (Token::Name(rest[..end].to_owned()), &rest[end..])
        } else if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            (Token::Mark(mark), &rest[mark.len()..])
        } else {
            return Err(format!("`{first}` is not an operator").into());
        };
        tokens.push(token);
        rest = after;
    }
}

fn number(text: &str) -> Result<(Token, &str), Reason> {
    let is_part = |next: char| next.is_ascii_alphanumeric() || next == '.';
    let end = text.find(|next| !is_part(next)).unwrap_or(text.len());
    let (number, after) = text.split_at(end);
    let hexadecimal = number.strip_prefix("0x").map(|digits| i64::from_str_radix(digits, 16));
    let integer = hexadecimal.unwrap_or_else(|| number.trim_end_matches('u').parse());
    let token = match integer {
        Ok(integer) => Token::Integer(integer),
        Err(_) if !number.contains('.') => {
            return Err(format!("`{number}` is not a number").into());
        }
        Err(_) => Token::Float(
            number.parse().map_err(|_| Reason::from(format!("`{number}` is not a number")))?,
        ),
    };
    Ok((token, after))
}

/// A text in quotation marks, of which three may stand together.
fn quoted_text(text: &str, is_raw: bool) -> Result<(Token, &str), Reason> {
    let mark = &text[..1];
    let triple = mark.repeat(3);
    let quote = if text.starts_with(&triple) { &*triple } else { mark };
    let mut value = Vec::new();
    let mut rest = &text[quote.len()..];
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            return Ok((Token::Text(value), after));
        }
        let mut characters = rest.chars();
        match characters.next() {
            None => return Err(format!("the quote `{mark}` is not closed").into()),
            Some('\\') if !is_raw => {
                let (bytes, after) = escape(characters.as_str())?;
                value.extend(bytes);
                rest = after;
            }
            Some(next) => {
                value.extend(next.encode_utf8(&mut [0; 4]).bytes());
                rest = characters.as_str();
            }
        }
    }
}

/// What stands for an escape, without its backslash, and the text after it.
fn escape(text: &str) -> Result<(Vec<u8>, &str), Reason> {
    let mut characters = text.chars();
    let letter = characters.next().unwrap_or('\0');
    let after = characters.as_str();
    let simple = |byte: u8| Ok((vec![byte], after));
    let digits = match letter {
        'n' => return simple(b'\n'),
        'r' => return simple(b'\r'),
        't' => return simple(b'\t'),
        '\\' | '"' | '\'' | '`' | '?' => return simple(letter as u8),
        'x' | 'X' => 2,
        'u' => 4,
        'U' => 8,
        _ => return Err(format!("`\\{letter}` is not an escape").into()),
    };
    let code = after.get(..digits).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let character = code.and_then(char::from_u32);
    let character =
        character.ok_or_else(|| format!("`\\{letter}` needs {digits} hexadecimal digits"))?;
    Ok((character.to_string().into_bytes(), &after[digits..]))
}
