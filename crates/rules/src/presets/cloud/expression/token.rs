//! The tokens of an expression of Cloudflare.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A field, function, operator or number.
    Word(String),
    /// A text, whether in quotation marks or raw.
    Text(String),
    /// One of `(`, `)`, `{`, `}` and `,`.
    Sign(char),
}

/// A token and its place in the expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) range: Range<usize>,
}

pub(super) fn tokens(expression: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = expression.trim_start();
    while let Some(first) = rest.chars().next() {
        let (kind, length) = match first {
            '(' | ')' | '{' | '}' | ',' => (TokenKind::Sign(first), 1),
            '"' => text(rest),
            'r' if rest[1..].starts_with(['"', '#']) => raw_text(rest),
            _ => word(rest),
        };
        let start = expression.len() - rest.len();
        tokens.push(Token { kind, range: start..start + length });
        rest = rest[length..].trim_start();
    }
    tokens
}

/// A text in quotation marks. A backslash takes away the meaning of the next character; `\x` and
/// two hexadecimal digits, or three octal ones, are a byte.
fn text(rest: &str) -> (TokenKind, usize) {
    let mut value = String::new();
    let mut at = 1;
    while let Some(next) = rest[at..].chars().next() {
        let after = at + next.len_utf8();
        match next {
            '"' => return (TokenKind::Text(value), after),
            '\\' => {
                let (escaped, length) = escaped(&rest[after..]);
                value.extend(escaped);
                at = after + length;
            }
            _ => {
                value.push(next);
                at = after;
            }
        }
    }
    (TokenKind::Text(value), rest.len())
}

/// The character after a backslash, and the length of its text.
fn escaped(rest: &str) -> (Option<char>, usize) {
    let byte = |digits: Option<&str>, radix| {
        let byte = u8::from_str_radix(digits?, radix).ok()?;
        byte.is_ascii().then_some(char::from(byte))
    };
    let hexadecimal = rest.strip_prefix('x').and_then(|digits| byte(digits.get(..2), 16));
    let octal = || byte(rest.get(..3), 8);
    if let Some(character) = hexadecimal.or_else(octal) {
        return (Some(character), 3);
    }
    let next = rest.chars().next();
    (next, next.map_or(0, char::len_utf8))
}

/// A raw text: `r"..."` or `r#"..."#`.
fn raw_text(rest: &str) -> (TokenKind, usize) {
    let hashes = rest[1..].find(|next| next != '#').unwrap_or(0);
    let start = 1 + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    match rest.get(start..).and_then(|body| Some((body, body.find(&end)?))) {
        Some((body, length)) => {
            (TokenKind::Text(body[..length].to_owned()), start + length + end.len())
        }
        None => word(rest),
    }
}

fn word(rest: &str) -> (TokenKind, usize) {
    let is_end = |next: char| next.is_whitespace() || "(){},\"".contains(next);
    let length = match rest.find(is_end) {
        Some(0) => rest.chars().next().map_or(0, char::len_utf8),
        Some(length) => length,
        None => rest.len(),
    };
    (TokenKind::Word(rest[..length].to_owned()), length)
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, tokens};

    #[test]
    fn texts_have_their_escapes_undone() {
        for (written, value) in [
            (r#""a\"b""#, "a\"b"),
            (r#""a\\d""#, r"a\d"),
            (r#""\x2fa\057""#, "/a/"),
            (r#""\xzz""#, "xzz"),
            (r##"r#"a"\d"#"##, r#"a"\d"#),
            (r#"r"\d""#, r"\d"),
            (r#""cut"#, "cut"),
        ] {
            let kinds: Vec<TokenKind> = tokens(written).into_iter().map(|it| it.kind).collect();
            assert_eq!(kinds, [TokenKind::Text(value.to_owned())], "{written}");
        }
    }

    #[test]
    fn tokens_have_their_places() {
        let expression = r#"  http.host in {"ä" "b"} "#;
        for token in tokens(expression) {
            let written = &expression[token.range.clone()];
            match token.kind {
                TokenKind::Word(word) => assert_eq!(word, written),
                TokenKind::Text(text) => assert_eq!(format!("\"{text}\""), written),
                TokenKind::Sign(sign) => assert_eq!(sign.to_string(), written),
            }
        }
    }
}
