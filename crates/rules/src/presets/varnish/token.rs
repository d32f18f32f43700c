//! The tokens of VCL.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name, a number or a duration.
    Word,
    /// A text.
    Text,
    /// An operator, a bracket or another sign.
    Sign,
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) range: Range<usize>,
    /// The range without quotation marks.
    pub(super) inner: Range<usize>,
}

/// The same text with spaces in place of its comments.
pub(super) fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let comment = if let Some(inner) = rest.strip_prefix("/*") {
            Some(inner.find("*/").map_or(rest.len(), |length| length + 4))
        } else if rest.starts_with('#') || rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else {
            None
        };
        match (comment, quoted(rest)) {
            (Some(length), _) => {
                let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
                kept.extend(rest[..length].bytes().map(blank));
                at += length;
            }
            (None, Some((_, length))) => {
                kept.push_str(&rest[..length]);
                at += length;
            }
            (None, None) => {
                kept.push(next);
                at += next.len_utf8();
            }
        }
    }
    kept
}

/// The text in quotation marks at the start, as a range without them, and the length with them:
/// `"..."`, `"""..."""` or `{"..."}`.
fn quoted(rest: &str) -> Option<(Range<usize>, usize)> {
    let marks = [("\"\"\"", "\"\"\""), ("{\"", "\"}"), ("\"", "\"")];
    let (open, close) = marks.into_iter().find(|(open, _)| rest.starts_with(open))?;
    let length = rest[open.len()..].find(close).unwrap_or(rest.len() - open.len());
    let inner = open.len()..open.len() + length;
    let end = (inner.end + close.len()).min(rest.len());
    Some((inner, end))
}

/// The tokens of a text without comments.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    const SIGNS: [&str; 5] = ["&&", "||", "!~", "!=", "=="];
    let is_word = |next: char| next.is_alphanumeric() || "_.-:".contains(next);
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, inner, length) = if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        } else if let Some((inner, length)) = quoted(rest) {
            (TokenKind::Text, inner, length)
        } else if is_word(next) {
            let length = rest.find(|next| !is_word(next)).unwrap_or(rest.len());
            (TokenKind::Word, 0..length, length)
        } else {
            let two = SIGNS.iter().any(|sign| rest.starts_with(sign));
            let length = if two { 2 } else { next.len_utf8() };
            (TokenKind::Sign, 0..length, length)
        };
        let inner = at + inner.start..at + inner.end;
        tokens.push(Token { kind, range: at..at + length, inner });
        at += length;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::{tokens, without_comments};

    #[test]
    fn comments_are_blank_and_texts_stay() {
        for (text, kept) in [
            ("a /* b\n */ c", "a     \n    c"),
            ("a # b\nc // d\ne", "a    \nc     \ne"),
            ("\"#a\" {\"/*b\"} \"\"\"//c\"\"\"", "\"#a\" {\"/*b\"} \"\"\"//c\"\"\""),
            ("a /* ü", "a      "),
            ("\"cut # a", "\"cut # a"),
        ] {
            let found = without_comments(text);
            assert_eq!((found.as_str(), found.len()), (kept, text.len()), "{text}");
        }
    }

    #[test]
    fn signs_have_one_or_two_characters() {
        let text = "if(!a.b-c~\"x y\"&&10s!~{\"z\"}){";
        let found: Vec<&str> = tokens(text).into_iter().map(|it| &text[it.inner]).collect();
        let expected = ["if", "(", "!", "a.b-c", "~", "x y", "&&", "10s", "!~", "z", ")", "{"];
        assert_eq!(found, expected);
    }
}
