//! Writes expressions of PCRE in the syntax of the engines that run them.

/// The engine that an expression is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The crate `regex` over bytes.
    Bytes,
    /// The crate `fancy-regex` over characters, each of which stands for a byte.
    Characters,
}

/// The expression in a dialect. What PCRE takes literally and the engine does not is escaped.
pub(super) fn translated(text: &str, dialect: Dialect) -> String {
    let mut writer = Writer { output: String::new(), dialect };
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        rest = match next {
            '\\' => writer.escape(rest, false),
            '[' => writer.class(rest),
            '{' if !is_repetition(rest) => writer.literal(rest, next),
            _ => writer.keep(rest, next),
        };
    }
    writer.output
}

struct Writer {
    output: String,
    dialect: Dialect,
}

impl Writer {
    /// Writes a character as it is, and returns the text after it.
    fn keep<'t>(&mut self, rest: &'t str, next: char) -> &'t str {
        self.output.push(next);
        &rest[next.len_utf8()..]
    }

    /// Writes a character so that it has no other meaning, and returns the text after it.
    fn literal<'t>(&mut self, rest: &'t str, next: char) -> &'t str {
        self.output.push('\\');
        self.keep(rest, next)
    }

    /// Writes a class, which `rest` begins with, and returns the text after it.
    fn class<'t>(&mut self, rest: &'t str) -> &'t str {
        let mut rest = self.keep(rest, '[');
        if rest.starts_with('^') {
            rest = self.keep(rest, '^');
        }
        if rest.starts_with(']') {
            rest = self.literal(rest, ']');
        }
        while let Some(next) = rest.chars().next() {
            let posix = rest.strip_prefix("[:").and_then(posix_name);
            rest = match (next, posix) {
                (']', _) => return self.keep(rest, next),
                ('[', Some(length)) => {
                    let (name, after) = rest.split_at(length + 4);
                    self.output += name;
                    after
                }
                ('\\', _) => self.escape(rest, true),
                ('[' | '&' | '~', _) => self.literal(rest, next),
                // Two of them would be a difference.
                ('-', _) if rest.starts_with("--") => self.literal(rest, next),
                _ => self.keep(rest, next),
            };
        }
        rest
    }

    /// Writes an escape, which `rest` begins with, and returns the text after it.
    fn escape<'t>(&mut self, rest: &'t str, is_in_class: bool) -> &'t str {
        let Some(letter) = rest.chars().nth(1) else { return self.keep(rest, '\\') };
        let after = &rest[1 + letter.len_utf8()..];
        let bytes = self.dialect == Dialect::Bytes;
        let members = match letter {
            'w' if !bytes => Some("0-9A-Za-z_"),
            'd' if !bytes => Some("0-9"),
            's' if !bytes => Some("\\t-\\r "),
            'h' => Some("\\t "),
            'b' if is_in_class => Some("\\x08"),
            'e' => Some("\\x1b"),
            _ => None,
        };
        match (letter, members) {
            (_, Some(members)) if is_in_class => self.output += members,
            (_, Some(members)) => self.output += &format!("[{members}]"),
            // They are the ends of a word in the engines.
            (
                '<' | '>' | '/' | '"' | '\'' | ' ' | '%' | '@' | '`' | ',' | ';' | ':' | '=' | '!',
                _,
            ) => {
                self.output.push(letter);
            }
            _ => {
                self.output.push('\\');
                self.output.push(letter);
            }
        }
        after
    }
}

/// Whether a repetition gives nothing back, such as `a++`, which the crate `regex` reads as `(a+)+`.
pub(super) fn has_possessive(translated: &str) -> bool {
    let (mut is_in_class, mut is_escaped, mut was_repetition) = (false, false, false);
    for next in translated.chars() {
        let is_plain = !is_escaped && !is_in_class;
        if is_plain && was_repetition && next == '+' {
            return true;
        }
        was_repetition = is_plain && matches!(next, '*' | '+' | '?' | '}');
        match next {
            '[' if is_plain => is_in_class = true,
            ']' if !is_escaped => is_in_class = false,
            _ => {}
        }
        is_escaped = !is_escaped && next == '\\';
    }
    false
}

/// The length of the name of a class such as `[:alnum:]`, after its `[:`.
fn posix_name(text: &str) -> Option<usize> {
    let is_other = |byte: u8| !byte.is_ascii_lowercase() && byte != b'^';
    let length = text.bytes().position(is_other)?;
    text[length..].starts_with(":]").then_some(length)
}

/// Whether a text begins with a repetition such as `{2,3}`.
fn is_repetition(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let min = digits(&text[1..]);
    let rest = &text[1 + min..];
    let rest = rest.strip_prefix(',').map_or(rest, |max| &max[digits(max)..]);
    min > 0 && rest.starts_with('}')
}

#[cfg(test)]
mod tests {
    use super::{Dialect, has_possessive, translated};

    #[test]
    fn possessive_repetitions_are_found() {
        for (text, expected) in
            [("a++", true), ("a{2}+", true), ("(a)?+", true), (r"a\++", false), ("[*+]+?", false)]
        {
            assert_eq!(has_possessive(text), expected, "{text}");
        }
    }

    #[test]
    fn what_only_the_engines_read_is_escaped() {
        for (text, bytes, characters) in [
            (r"a{2,}b{,3}c{", r"a{2,}b\{,3}c\{", r"a{2,}b\{,3}c\{"),
            (r"[a[b&&c--d~~e][^]x][[:alnum:]_]", r"[a\[b\&\&c\--d\~\~e][^\]x][[:alnum:]_]", ""),
            (r"\<a\>\/\-\.\h", r"<a>/\-\.[\t ]", r"<a>/\-\.[\t ]"),
            (
                r"\w[\w-]\d\s[\b]",
                r"\w[\w-]\d\s[\x08]",
                r"[0-9A-Za-z_][0-9A-Za-z_-][0-9][\t-\r ][\x08]",
            ),
            (r"\\[\\", r"\\[\\", r"\\[\\"),
            (r"a{,}b{2}c{2,3}d{2x}", r"a\{,}b{2}c{2,3}d\{2x}", ""),
            (r"[[:^a:][:a b:]]", r"[[:^a:]\[:a b:]]", ""),
        ] {
            assert_eq!(translated(text, Dialect::Bytes), bytes, "{text}");
            let expected = if characters.is_empty() { bytes } else { characters };
            assert_eq!(translated(text, Dialect::Characters), expected, "{text}");
        }
    }
}
