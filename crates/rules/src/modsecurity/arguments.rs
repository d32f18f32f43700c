//! Splits the lines of a configuration into arguments.

use std::ops::Range;

use crate::error::RuleError;

/// An argument of a line, without its quotation marks, and its place.
pub(super) struct Argument {
    pub(super) text: String,
    pub(super) range: Range<usize>,
}

/// The arguments of the line at `at`, which is moved after it. A backslash at its end continues it.
/// The first argument is the name of the directive; a line with only blanks or a comment has none.
///
/// # Errors
/// If a quotation mark is not closed.
pub(super) fn arguments(text: &str, at: &mut usize) -> Result<Vec<Argument>, RuleError> {
    let mut arguments: Vec<Argument> = Vec::new();
    let mut current: Option<(String, usize, Option<char>)> = None;
    let mut characters = text[*at..].char_indices().peekable();
    let start = *at;
    *at = text.len();
    while let Some((offset, next)) = characters.next() {
        let position = start + offset;
        let follows = characters.peek().map(|(_, next)| *next);
        let is_continued =
            next == '\\' && (follows == Some('\n') || text[position + 1..].starts_with("\r\n"));
        if is_continued {
            characters.next_if(|(_, next)| *next == '\r');
            characters.next();
            continue;
        }
        let (end, quote) = match &current {
            Some((_, begin, Some(quote))) if next == '\n' => {
                return Err(unclosed(*quote, *begin));
            }
            Some((.., quote)) => (next.is_whitespace() && quote.is_none(), *quote),
            None => (false, None),
        };
        if end || quote == Some(next) {
            if let Some((text, begin, _)) = current.take() {
                arguments.push(Argument { text, range: begin..position });
            }
        } else if let Some((word, ..)) = &mut current {
            match (next, follows) {
                // As in Apache, whose parser ModSecurity 2.9 uses.
                ('\\', Some(follows)) if follows == '\\' || Some(follows) == quote => {
                    word.push(follows);
                    characters.next();
                }
                _ => word.push(next),
            }
        } else if next == '#' && arguments.is_empty() {
            let rest = &text[position..];
            *at = position + rest.find('\n').map_or(rest.len(), |length| length + 1);
            return Ok(arguments);
        } else if matches!(next, '"' | '\'') {
            current = Some((String::new(), position, Some(next)));
        } else if !next.is_whitespace() {
            current = Some((next.to_string(), position, None));
        }
        if next == '\n' && current.is_none() {
            *at = position + 1;
            return Ok(arguments);
        }
    }
    match current {
        Some((_, begin, Some(quote))) => Err(unclosed(quote, begin)),
        Some((word, begin, None)) => {
            arguments.push(Argument { text: word, range: begin..text.len() });
            Ok(arguments)
        }
        None => Ok(arguments),
    }
}

fn unclosed(quote: char, begin: usize) -> RuleError {
    RuleError::new(begin..begin + 1, format_args!("the quote `{quote}` is not closed"))
}
