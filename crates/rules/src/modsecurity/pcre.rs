//! Writes expressions of PCRE in the syntax of the engines that run them.

/// The engine that an expression is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The crate `regex` over bytes.
    Bytes,
    /// The crate `fancy-regex` over characters, each of which stands for a byte; see [`character`].
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
            _ if !next.is_ascii() => writer.bytes_of(&rest[next.len_utf8()..], next),
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
                _ if !next.is_ascii() => self.bytes_of(&rest[next.len_utf8()..], next),
                _ => self.keep(rest, next),
            };
        }
        rest
    }

    /// Writes an escape, which `rest` begins with, and returns the text after it.
    fn escape<'t>(&mut self, rest: &'t str, is_in_class: bool) -> &'t str {
        let Some(letter) = rest.chars().nth(1) else { return self.keep(rest, '\\') };
        let after = &rest[1 + letter.len_utf8()..];
        if let Some((byte, after)) = escaped_byte(letter, after) {
            self.byte(byte);
            return after;
        }
        match letter {
            'h' => self.members("", b"\t \xa0"),
            'H' => self.members("^", b"\t \xa0"),
            'v' => self.members("", b"\n\x0b\x0c\r\x85"),
            'V' => self.members("^", b"\n\x0b\x0c\r\x85"),
            'N' if !is_in_class => self.members("^", b"\n"),
            'b' if is_in_class => self.byte(0x08),
            'e' => self.byte(0x1b),
            // They are the ends of a word in the engines.
            '<' | '>' | '/' | '"' | '\'' | ' ' | '%' | '@' | '`' | ',' | ';' | ':' | '=' | '!' => {
                self.output.push(letter);
            }
            _ if !letter.is_ascii() => return self.bytes_of(after, letter),
            _ => {
                self.output.push('\\');
                self.output.push(letter);
            }
        }
        after
    }

    /// Writes a class, which may be inside of another one.
    fn members(&mut self, negation: &str, members: &[u8]) {
        self.output.push('[');
        self.output += negation;
        members.iter().for_each(|byte| self.byte(*byte));
        self.output.push(']');
    }

    /// Writes the bytes of a character that is not ASCII, and returns the text after it, `after`.
    fn bytes_of<'t>(&mut self, after: &'t str, character: char) -> &'t str {
        character.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| self.byte(byte));
        after
    }

    /// Writes a byte.
    fn byte(&mut self, byte: u8) {
        self.output += &match self.dialect {
            Dialect::Characters if !byte.is_ascii() => {
                format!("\\x{{{:x}}}", u32::from(character(byte)))
            }
            Dialect::Characters | Dialect::Bytes => format!("\\x{byte:02x}"),
        };
    }
}

/// The character that stands for a byte. Those that are not ASCII have one for private use, which is
/// neither a letter nor another form of one.
pub(super) fn character(byte: u8) -> char {
    if byte.is_ascii() {
        return char::from(byte);
    }
    char::from_u32(PRIVATE_USE + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The byte that a character stands for.
pub(super) fn byte_of(character: char) -> u8 {
    (u32::from(character) & 0xff) as u8
}

/// The first character for private use.
const PRIVATE_USE: u32 = 0xe000;

/// The byte of the escape of a number, such as `\xhh`, `\x{hh}`, `\0` or `\377`, and the text after it.
/// `after` is the text after its letter.
fn escaped_byte(letter: char, after: &str) -> Option<(u8, &str)> {
    let run = |text: &str, max: usize, radix: u32| {
        text.chars().take(max).take_while(|next| next.is_digit(radix)).count()
    };
    match letter {
        'x' => {
            if let Some((digits, after)) = after.strip_prefix('{').and_then(|it| it.split_once('}'))
            {
                return Some((u8::from_str_radix(digits, 16).ok()?, after));
            }
            let (digits, after) = after.split_at(run(after, 2, 16));
            // Without digits it is a zero.
            Some((u8::from_str_radix(digits, 16).unwrap_or(0), after))
        }
        '0' => {
            let (digits, after) = after.split_at(run(after, 2, 8));
            Some((u8::from_str_radix(digits, 8).unwrap_or(0), after))
        }
        // Fewer digits are the number of a group.
        '1'..='3' if run(after, 2, 8) == 2 => {
            let (digits, after) = after.split_at(2);
            Some((u8::from_str_radix(&format!("{letter}{digits}"), 8).ok()?, after))
        }
        _ => None,
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

/// The translated expression with no more than so many groups; the others only bracket.
pub(super) fn without_groups(translated: &str, groups_max: usize) -> String {
    let mut output = String::with_capacity(translated.len());
    let (mut is_escaped, mut class_depth, mut groups) = (false, 0usize, 0);
    let mut rest = translated;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        output.push(next);
        match next {
            '(' if !is_escaped && class_depth == 0 => {
                let name = ["?P<", "?<"].iter().find_map(|start| rest.strip_prefix(start));
                let is_group = name.is_some() || !rest.starts_with('?');
                groups += usize::from(is_group);
                if is_group && groups > groups_max {
                    output += "?:";
                    rest = name.and_then(|name| name.split_once('>')).map_or(rest, |it| it.1);
                }
            }
            '[' if !is_escaped => class_depth += 1,
            ']' if !is_escaped => class_depth = class_depth.saturating_sub(1),
            _ => {}
        }
        is_escaped = !is_escaped && next == '\\';
    }
    output
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
    use super::{Dialect, has_possessive, translated, without_groups};

    #[test]
    fn possessive_repetitions_are_found() {
        for (text, expected) in
            [("a++", true), ("a{2}+", true), ("(a)?+", true), (r"a\++", false), ("[*+]+?", false)]
        {
            assert_eq!(has_possessive(text), expected, "{text}");
        }
    }

    #[test]
    fn groups_beyond_the_last_only_bracket() {
        for (text, expected) in [
            (r"(a)(?:b)\((c)[(](?<d>e)(f)", r"(a)(?:b)\((c)[(](?:e)(?:f)"),
            ("(a)(b)[[:alpha:](](c)", "(a)(b)[[:alpha:](](?:c)"),
            ("(?i)(?P<a>b)((c)(?s:d))", "(?i)(?P<a>b)((?:c)(?s:d))"),
        ] {
            assert_eq!(without_groups(text, 2), expected, "{text}");
        }
    }

    #[test]
    fn what_only_the_engines_read_is_escaped() {
        for (text, bytes, characters) in [
            (r"a{2,}b{,3}c{", r"a{2,}b\{,3}c\{", r"a{2,}b\{,3}c\{"),
            (r"[a[b&&c--d~~e][^]x][[:alnum:]_]", r"[a\[b\&\&c\--d\~\~e][^\]x][[:alnum:]_]", ""),
            (r"\<a\>\/\-\.", r"<a>/\-\.", ""),
            (r"\w[\w-]\W\s[\b]", r"\w[\w-]\W\s[\x08]", ""),
            (
                r"a\h[b\h]",
                r"a[\x09\x20\xa0][b[\x09\x20\xa0]]",
                r"a[\x09\x20\x{e0a0}][b[\x09\x20\x{e0a0}]]",
            ),
            (r"\x{bc}[\x7f-\xff]\x9z", r"\xbc[\x7f-\xff]\x09z", r"\x{e0bc}[\x7f-\x{e0ff}]\x09z"),
            (r"\0\012\377\1", r"\x00\x0a\xff\1", r"\x00\x0a\x{e0ff}\1"),
            ("é+[é]", r"\xc3\xa9+[\xc3\xa9]", r"\x{e0c3}\x{e0a9}+[\x{e0c3}\x{e0a9}]"),
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
