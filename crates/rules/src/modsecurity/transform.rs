//! Transformations of ModSecurity, by name.
//!
//! Follows the reference manual of ModSecurity 2.9, "Transformation functions".

use super::decode;

/// A transformation of a value.
pub(super) type Transform = fn(&[u8]) -> Vec<u8>;

/// The transformations that are known, by their names in lower case.
const TRANSFORMS: [(&str, Transform); 28] = [
    ("lowercase", |value| value.to_ascii_lowercase()),
    ("uppercase", |value| value.to_ascii_uppercase()),
    ("urldecode", |value| url_decode(value, false)),
    ("urldecodeuni", |value| url_decode(value, true)),
    ("removenulls", |value| without(value, |byte| byte == 0)),
    ("removewhitespace", |value| without(value, is_space)),
    ("compresswhitespace", compress_whitespace),
    ("trim", |value| trim(value, true, true)),
    ("trimleft", |value| trim(value, true, false)),
    ("trimright", |value| trim(value, false, true)),
    ("normalizepath", normalize_path),
    ("normalisepath", normalize_path),
    ("normalizepathwin", |value| normalize_path(&with_slashes(value))),
    ("normalisepathwin", |value| normalize_path(&with_slashes(value))),
    ("cmdline", command_line),
    ("utf8tounicode", utf8_to_unicode),
    ("htmlentitydecode", html_entity_decode),
    ("length", |value| value.len().to_string().into_bytes()),
    ("jsdecode", decode::js_decode),
    ("cssdecode", decode::css_decode),
    ("escapeseqdecode", decode::escape_sequence_decode),
    ("base64decode", decode::base64_decode),
    ("hexencode", decode::hex_encode),
    ("hexdecode", decode::hex_decode),
    ("sqlhexdecode", decode::sql_hex_decode),
    ("replacecomments", decode::replace_comments),
    ("removecommentschar", decode::remove_comment_characters),
    ("replacenulls", replace_nulls),
];

/// The transformation with a name; `None` if it is not known.
pub(super) fn transform(name: &str) -> Option<Transform> {
    let name = name.to_ascii_lowercase();
    TRANSFORMS.iter().find(|(known, _)| *known == name).map(|(_, transform)| *transform)
}

pub(super) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b || byte == 0xa0
}

fn without(value: &[u8], is_removed: impl Fn(u8) -> bool) -> Vec<u8> {
    value.iter().copied().filter(|byte| !is_removed(*byte)).collect()
}

fn replace_nulls(value: &[u8]) -> Vec<u8> {
    value.iter().map(|byte| if *byte == 0 { b' ' } else { *byte }).collect()
}

fn compress_whitespace(value: &[u8]) -> Vec<u8> {
    let mut compressed: Vec<u8> = Vec::with_capacity(value.len());
    let mut was_space = false;
    for byte in value {
        let space = is_space(*byte);
        if !space {
            compressed.push(*byte);
        } else if !was_space {
            compressed.push(b' ');
        }
        was_space = space;
    }
    compressed
}

fn trim(value: &[u8], at_start: bool, at_end: bool) -> Vec<u8> {
    let is_kept = |byte: &u8| !is_space(*byte);
    let first = value.iter().position(is_kept).unwrap_or(value.len());
    let end = value.iter().rposition(is_kept).map_or(first, |last| last + 1);
    let (first, end) = (if at_start { first } else { 0 }, if at_end { end } else { value.len() });
    value[first.min(end)..end].to_vec()
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let [high, low] = digits else { return None };
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// Decodes `%xx` and `+`, and `%uxxxx` to its lower byte. Invalid escapes are unchanged.
pub(super) fn url_decode(value: &[u8], is_unicode: bool) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(byte) = value.get(at) {
        let wide = value.get(at + 1).is_some_and(|next| matches!(next, b'u' | b'U'));
        let (text, length) = match byte {
            b'+' => (Some(b' '), 1),
            b'%' if wide && is_unicode => (value.get(at + 2..at + 6).and_then(unicode), 6),
            b'%' => (value.get(at + 1..at + 3).and_then(hex), 3),
            _ => (None, 1),
        };
        decoded.push(text.unwrap_or(*byte));
        at += if text.is_some() { length } else { 1 };
    }
    decoded
}

/// Decodes `%xx`, as in a path. Invalid escapes are unchanged.
pub(super) fn percent_decode(value: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((byte, after)) = rest.split_first() {
        let character = after.get(..2).and_then(hex).filter(|_| *byte == b'%');
        decoded.push(character.unwrap_or(*byte));
        rest = if character.is_some() { &after[2..] } else { after };
    }
    decoded
}

/// The byte of four hexadecimal digits: full-width forms of ASCII are that character.
fn unicode(digits: &[u8]) -> Option<u8> {
    let (high, low) = (hex(digits.get(..2)?)?, hex(digits.get(2..)?)?);
    let is_full_width = high == 0xff && (0x01..=0x5e).contains(&low);
    Some(if is_full_width { low + 0x20 } else { low })
}

fn with_slashes(value: &[u8]) -> Vec<u8> {
    value.iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect()
}

/// Normalises a shell command: removes backslashes, quotation marks, carets, and space before `/`
/// and `(`; replaces commas, semicolons and runs of space by one space; and converts letters to
/// lower case.
fn command_line(value: &[u8]) -> Vec<u8> {
    let mut line: Vec<u8> = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'"' | b'\'' | b'\\' | b'^' => {}
            b' ' | b',' | b';' | b'\t' | b'\r' | b'\n' => {
                if line.last() != Some(&b' ') {
                    line.push(b' ');
                }
            }
            b'/' | b'(' => {
                line.pop_if(|last| *last == b' ');
                line.push(*byte);
            }
            byte => line.push(byte.to_ascii_lowercase()),
        }
    }
    line
}

/// Writes characters that are not ASCII as `%uxxxx`; bytes that are not UTF-8 are left as they are.
fn utf8_to_unicode(value: &[u8]) -> Vec<u8> {
    let mut unicode = Vec::with_capacity(value.len());
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_ascii() {
                unicode.push(character as u8);
            } else {
                unicode.extend(format!("%u{:04x}", u32::from(character)).bytes());
            }
        }
        unicode.extend_from_slice(chunk.invalid());
    }
    unicode
}

/// Decodes `&#xhh;`, `&#dd;`, `&quot;`, `&nbsp;`, `&lt;`, `&gt;` and `&amp;` to a byte, also without
/// the semicolon.
fn html_entity_decode(value: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((byte, after)) = rest.split_first() {
        let entity = if *byte == b'&' { entity(after) } else { None };
        let (character, after) = entity.unwrap_or((*byte, after));
        decoded.push(character);
        rest = after;
    }
    decoded
}

/// The byte of an entity, of which the text after `&` is given, and the text after it. Of a larger
/// number it is the lowest byte.
fn entity(text: &[u8]) -> Option<(u8, &[u8])> {
    let (length, byte) = match text {
        [b'#', b'x' | b'X', digits @ ..] => {
            let (length, value) = leading_number(digits, 16);
            (2 + length, (length > 0).then_some(value))
        }
        [b'#', digits @ ..] => {
            let (length, value) = leading_number(digits, 10);
            (1 + length, (length > 0).then_some(value))
        }
        _ => {
            let length = text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            let is = |(name, _): &&(&[u8], u8)| text[..length].eq_ignore_ascii_case(name);
            (length, ENTITIES.iter().find(is).map(|(_, byte)| *byte))
        }
    };
    let after = &text[length..];
    Some((byte?, after.strip_prefix(b";").unwrap_or(after)))
}

/// The entities that are known by name.
const ENTITIES: [(&[u8], u8); 5] =
    [(b"quot", b'"'), (b"amp", b'&'), (b"lt", b'<'), (b"gt", b'>'), (b"nbsp", 0xa0)];

/// The number of digits at the start of a text, and the lowest byte of their value.
fn leading_number(text: &[u8], radix: u32) -> (usize, u8) {
    let digit = |byte: &u8| char::from(*byte).to_digit(radix);
    let digits = text.iter().map_while(digit);
    let add =
        |value: i64, digit: u32| value.saturating_mul(radix.into()).saturating_add(digit.into());
    (digits.clone().count(), digits.fold(0, add) as u8)
}

/// Removes `.`, `..` and repeated slashes from a path.
pub(super) fn normalize_path(value: &[u8]) -> Vec<u8> {
    let is_absolute = value.starts_with(b"/");
    let ends_in_slash = value.ends_with(b"/");
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in value.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|last| *last != b"..") => {
                parts.pop();
            }
            b".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let mut path = if is_absolute { b"/".to_vec() } else { Vec::new() };
    path.extend(parts.join(&b'/'));
    if ends_in_slash && !path.is_empty() && !path.ends_with(b"/") {
        path.push(b'/');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::transform;

    #[test]
    fn values_are_transformed() {
        for (name, value, expected) in [
            ("lowercase", "aBc", "abc"),
            ("urlDecode", "a%2fb+%zz%4", "a/b %zz%4"),
            ("urlDecodeUni", "%u002f%uff0f%uzz00", "//%uzz00"),
            ("removeWhitespace", " a\t b ", "ab"),
            ("compressWhitespace", " a\t b ", " a b "),
            ("trim", "  a b ", "a b"),
            ("trimLeft", "  a ", "a "),
            ("trimRight", "  a ", "  a"),
            ("normalizePath", "/a/./b//../c/", "/a/c/"),
            ("normalisePath", "../a/../../b", "../../b"),
            ("normalizePath", "/../../etc", "/etc"),
            ("normalizePath", "./", ""),
            ("normalizePath", "x/../", ""),
            ("normalizePath", ".././", "../"),
            ("normalizePath", "dir/./.././../../foo/bar/../", "../../foo/"),
            ("normalizePathWin", "\\a\\..\\b", "/b"),
            ("cmdLine", "C^at  \"/etc\\/x\"; ,y (", "cat/etc/x y("),
            ("utf8toUnicode", "a\u{ff0f}é", "a%uff0f%u00e9"),
            ("htmlEntityDecode", "&lt;a&#x2f;&#46;&amp;b&x;&", "<a/.&b&x;&"),
            (
                "htmlEntityDecode",
                "&#x3c&#X3C&#x20&#X20&#60&#32\0&#100&quot&amp&LT&gt&",
                "<<  < \0d\"&<>&",
            ),
            (
                "htmlEntityDecode",
                "&#xg;&#Xg;&#xg0;&#X2g;&#a;\0&#a2;&#3a&#a00;&#1a0;&#10a;&foo;",
                "&#xg;&#Xg;&#xg0;\x02g;&#a;\0&#a2;\x03a&#a00;\x01a0;\na;&foo;",
            ),
            ("htmlEntityDecode", "&#0000000000000000060;&#x13c;&ltx&&#;&#x", "<<&ltx&&#;&#x"),
            ("length", "abcd", "4"),
            ("jsDecode", r"\u0061\uff1c\x3c\74\477\n\q\", "a<<<'7\nq\\"),
            ("jsDecode", r"\u00zz\x4", "u00zzx4"),
            ("cssDecode", "\\61 b\\00003cx\\ff1c\\\n\\z\\", "ab<x<z"),
            ("escapeSeqDecode", r"\x41\101\n\q\?", "AA\nq?"),
            ("escapeSeqDecode", r"\8\9\466\xag\xga\0123\x\x0", "896xagxga\n3xx0"),
            ("base64Decode", "YWJj-ZGVm", "abc"),
            ("hexEncode", "aZ", "615a"),
            ("hexDecode", "615a", "aZ"),
            ("hexDecode", "0123456761790a0z0123", "\x01#Egay\n#\x01#"),
            ("hexDecode", "01234567610", "\x01#Ega"),
            ("sqlHexDecode", "a0x414x0x", "aA4x0x"),
            ("replaceComments", "a/* b */c*//*d", "a c*/ "),
            ("removeCommentsChar", "a/*b*/--c#<!--d-->", "abcd"),
            ("replaceNulls", "a\0b", "a b"),
        ] {
            let found = transform(name).expect(name)(value.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), expected, "{name} {value}");
        }
        assert!(transform("sha1").is_none());
    }
}
