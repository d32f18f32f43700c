//! The directives of a configuration of nginx, as `ngx_conf_read_token` splits them.

use std::ops::Range;

use crate::error::RuleError;

/// The deepest nesting of blocks.
const DEPTH_MAX: usize = 64;

/// A directive with its arguments, and the directives of its block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directive {
    pub(crate) name: Word,
    pub(crate) arguments: Vec<Word>,
    pub(crate) block: Option<Vec<Directive>>,
}

impl Directive {
    /// The directive as a line of a configuration, without its block.
    pub(super) fn line(&self) -> String {
        let words = std::iter::once(&self.name).chain(&self.arguments);
        words.map(|word| word.quoted()).collect::<Vec<_>>().join(" ") + ";"
    }
}

/// A word, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// Its range in the configuration, in bytes, including quotes.
    pub(crate) range: Range<usize>,
}

impl Word {
    /// The word as it may be written.
    fn quoted(&self) -> String {
        let needs_quotes = self.text.is_empty()
            || self.text.contains(|next| is_space(next) || ";{}\"'\\".contains(next));
        match needs_quotes {
            true => format!("\"{}\"", self.text.replace('\\', "\\\\").replace('"', "\\\"")),
            false => self.text.clone(),
        }
    }

    /// Makes an error at the word.
    pub(crate) fn error(&self, message: impl std::fmt::Display) -> RuleError {
        RuleError::new(self.range.clone(), message)
    }
}

/// The directives of a configuration.
#[derive(Debug)]
pub(crate) struct Directives {
    pub(crate) list: Vec<Directive>,
    /// Names the innermost block that the text does not end, if there is one.
    pub(crate) unclosed: Option<RuleError>,
}

/// Splits a configuration into directives. Blocks without a `}` end with the text, which may be cut
/// off.
///
/// # Errors
/// The first position at which the text is not well formed.
pub(crate) fn directives(text: &str) -> Result<Directives, RuleError> {
    let mut cursor = Cursor { text, at: 0, unclosed: None };
    let list = cursor.block(0)?;
    match cursor.peek() {
        None => Ok(Directives { list, unclosed: cursor.unclosed }),
        Some(_) => Err(RuleError::new(cursor.at..cursor.at + 1, "there is no block that `}` ends")),
    }
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
    unclosed: Option<RuleError>,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip_space(&mut self) {
        while let Some(next) = self.peek() {
            match next {
                '#' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                next if is_space(next) => self.at += 1,
                _ => return,
            }
        }
    }

    /// Reads directives up to the end of a block, or of the text.
    fn block(&mut self, depth: usize) -> Result<Vec<Directive>, RuleError> {
        let mut directives = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                None | Some('}') => return Ok(directives),
                Some(_) => directives.push(self.directive(depth)?),
            }
        }
    }

    fn directive(&mut self, depth: usize) -> Result<Directive, RuleError> {
        let start = self.at;
        let mut words = Vec::new();
        loop {
            self.skip_space();
            let at = self.at;
            let end = match self.peek() {
                Some(end @ (';' | '{')) => end,
                None | Some('}') => {
                    return Err(RuleError::new(
                        start..at.max(start + 1),
                        "the directive has no end: `;` or a block in braces is missing",
                    ));
                }
                Some(_) => {
                    words.push(self.word()?);
                    continue;
                }
            };
            self.at += 1;
            if words.is_empty() {
                let message = format!("`{end}` stands where a directive should begin");
                return Err(RuleError::new(at..self.at, message));
            }
            let name = words.remove(0);
            let block = match end {
                '{' if name.text.ends_with("_by_lua_block") => Some(self.lua_block(at)),
                '{' => Some(self.inner_block(at, depth)?),
                _ => None,
            };
            return Ok(Directive { name, arguments: words, block });
        }
    }

    /// Reads the directives of a block whose opening brace is at `open`.
    fn inner_block(&mut self, open: usize, depth: usize) -> Result<Vec<Directive>, RuleError> {
        if depth >= DEPTH_MAX {
            let message = format!("blocks are nested more than {DEPTH_MAX} deep");
            return Err(RuleError::new(open..open + 1, message));
        }
        let block = self.block(depth + 1)?;
        if self.next().is_none() {
            self.note_unclosed(open);
        }
        Ok(block)
    }

    /// Passes over a block of Lua, as OpenResty has them. It has no directives.
    fn lua_block(&mut self, open: usize) -> Vec<Directive> {
        let mut depth = 1_usize;
        while let Some(next) = self.next() {
            match next {
                '{' => depth += 1,
                '}' if depth == 1 => return Vec::new(),
                '}' => depth -= 1,
                '"' | '\'' => self.lua_text(next),
                '-' if self.peek() == Some('-') => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => {}
            }
        }
        self.note_unclosed(open);
        Vec::new()
    }

    /// Passes over a text of Lua, whose opening quotation mark has been read.
    fn lua_text(&mut self, quote: char) {
        while let Some(next) = self.next() {
            match next {
                '\\' => {
                    self.next();
                }
                '\n' => return,
                next if next == quote => return,
                _ => {}
            }
        }
    }

    fn note_unclosed(&mut self, open: usize) {
        let message = "the text ends before this block: its `}` is taken to be at the end";
        self.unclosed.get_or_insert_with(|| RuleError::new(open..open + 1, message));
    }

    fn word(&mut self) -> Result<Word, RuleError> {
        let start = self.at;
        let text = match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted_word(quote)?,
            _ => self.plain_word(),
        };
        Ok(Word { text, range: start..self.at })
    }

    fn quoted_word(&mut self, quote: char) -> Result<String, RuleError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(next) = self.next() {
            match next {
                '\\' => self.escape(&mut text),
                next if next == quote => {
                    let follows = self.peek();
                    if follows.is_none_or(|next| is_space(next) || ";{)".contains(next)) {
                        return Ok(text);
                    }
                    let message = "a space or `;` must follow the closing quote";
                    return Err(RuleError::new(self.at..self.at + 1, message));
                }
                next => text.push(next),
            }
        }
        Err(RuleError::new(start..start + 1, "the quote is not closed"))
    }

    fn plain_word(&mut self) -> String {
        let mut text = String::new();
        while let Some(next) = self.peek() {
            if is_space(next) || next == ';' || next == '{' && !text.ends_with('$') {
                break;
            }
            self.at += next.len_utf8();
            match next {
                '\\' => self.escape(&mut text),
                next => text.push(next),
            }
        }
        text
    }

    /// Reads the character after a backslash. Before most characters, the backslash is kept.
    fn escape(&mut self, text: &mut String) {
        match self.next() {
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('n') => text.push('\n'),
            Some(next @ ('"' | '\'' | '\\')) => text.push(next),
            Some(next) => text.extend(['\\', next]),
            None => text.push('\\'),
        }
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Directive, directives};

    /// Directives in one line, words separated by `|`.
    fn shown(directives: &[Directive]) -> String {
        let words = |directive: &Directive| {
            let words = std::iter::once(&directive.name).chain(&directive.arguments);
            let words: Vec<&str> = words.map(|word| &*word.text).collect();
            let block = directive.block.as_ref().map(|block| format!("{{{}}}", shown(block)));
            format!("{}{};", words.join("|"), block.unwrap_or_default())
        };
        directives.iter().map(words).collect()
    }

    #[test]
    fn blocks_of_lua_have_no_directives() {
        let text = "location / {\n  access_by_lua_block {\n    local t = {a = \"}\", b = '\\'}'} -- }\n    \
                    if t then return end\n  }\n  limit_req zone=one;\n}";
        let read = directives(text).expect(text);
        let block = read.list[0].block.as_deref().expect("a block");
        let names: Vec<&str> = block.iter().map(|it| &*it.name.text).collect();
        assert_eq!(names, ["access_by_lua_block", "limit_req"]);
        assert!(read.unclosed.is_none() && block[0].block.as_deref() == Some(&[]));
        assert!(directives("content_by_lua_block { a = {").expect("cut off").unclosed.is_some());
    }

    #[test]
    fn words_are_those_of_nginx() {
        for (text, expected) in [
            ("a b;c{d;}", "a|b;c{d;};"),
            ("a 'b c' \"d\\\"e\" f\\ g h\\.i; # no;", "a|b c|d\"e|f\\ g|h\\.i;"),
            ("location ~ \\.php$ {x;}", "location|~|\\.php${x;};"),
            ("key ${a}b; k a#b;", "key|${a}b;k|a#b;"),
            ("map $a $b { default \"\"; ~^/x 1; }", "map|$a|$b{default|;~^/x|1;};"),
        ] {
            assert_eq!(shown(&directives(text).expect(text).list), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_well_formed_is_refused_at_its_place() {
        for (text, range) in
            [("a b", 0..3), ("a; }", 3..4), (";", 0..1), ("a 'b", 2..3), ("a 'b'c;", 5..6)]
        {
            assert_eq!(directives(text).expect_err(text).range, range, "{text}");
        }
        directives(&"a{".repeat(100_000)).expect_err("too deep");
    }

    #[test]
    fn a_text_that_is_cut_off_is_closed() {
        for (text, expected, open) in [
            ("a { b;", "a{b;};", Some(2)),
            ("a { b { c; } # }", "a{b{c;};};", Some(2)),
            ("a { b { c;", "a{b{c;};};", Some(6)),
            ("a {", "a{};", Some(2)),
            ("a { b; }", "a{b;};", None),
        ] {
            let directives = directives(text).expect(text);
            assert_eq!(shown(&directives.list), expected, "{text}");
            assert_eq!(directives.unclosed.map(|note| note.range.start), open, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_split_or_refused(text in "[a-z$ {};#'\"\\\\é\n]{0,40}") {
            if let Err(error) = directives(&text) {
                prop_assert!(error.range.start <= text.len());
                error.excerpt(&text);
            }
        }
    }
}
