//! Transformations of ModSecurity that undo the escapes of languages, and remove comments.
//!
//! Follows `apache2/msc_util.c` and `apache2/re_tfns.c` of ModSecurity 2.9. An escape that stands
//! for a character outside of one byte is its lower byte, and full-width forms of ASCII are that
//! character.

/// The byte of hexadecimal digits: that of the last two.
fn last_byte(digits: &[u8]) -> u8 {
    let last = &digits[digits.len().saturating_sub(2)..];
    last.iter().fold(0, |byte, digit| byte << 4 | hex_digit(*digit).unwrap_or(0))
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// The length of the run of bytes of a kind at the start of a text, at most `max`.
fn run(text: &[u8], max: usize, is_of_kind: impl Fn(&u8) -> bool) -> usize {
    text.iter().take(max).take_while(|byte| is_of_kind(byte)).count()
}

/// A character by its hexadecimal digits, of which the last four may be a full-width form.
fn wide(digits: &[u8]) -> u8 {
    let byte = last_byte(digits);
    let [.., third, fourth, _, _] = digits else { return byte };
    let is_full_width = [third, fourth].iter().all(|digit| digit.eq_ignore_ascii_case(&b'f'));
    if is_full_width && (0x01..0x5f).contains(&byte) { byte + 0x20 } else { byte }
}

/// The value of up to three octal digits at the start of a text that fit a byte, and their number.
fn octal(text: &[u8]) -> (u8, usize) {
    let length = run(text, 3, |byte| (b'0'..=b'7').contains(byte));
    let length = if length == 3 && text[0] > b'3' { 2 } else { length };
    (text[..length].iter().fold(0, |value, digit| value << 3 | (digit - b'0')), length)
}

/// The character that a letter after a backslash stands for in C.
fn c_escape(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        _ => return None,
    })
}

/// Replaces each escape after a backslash. `escape` returns what the text after a backslash stands
/// for, and its length.
fn unescape(value: &[u8], escape: impl Fn(&[u8]) -> (Option<u8>, usize)) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            decoded.push(*byte);
            continue;
        }
        let (character, length) = escape(after);
        decoded.extend(character);
        rest = after.get(length..).unwrap_or_default();
    }
    decoded
}

/// Decodes `\uhhhh`, `\xhh`, `\ooo` and the letters of JavaScript.
pub(super) fn js_decode(value: &[u8]) -> Vec<u8> {
    unescape(value, |after| {
        let digits = |count| after.get(1..=count).filter(|it| it.iter().all(u8::is_ascii_hexdigit));
        match (after.first(), digits(4), digits(2)) {
            (None, ..) => (Some(b'\\'), 0),
            (Some(b'u'), Some(digits), _) => (Some(wide(digits)), 5),
            (Some(b'x'), _, Some(digits)) => (Some(last_byte(digits)), 3),
            (Some(b'0'..=b'7'), ..) => {
                let (value, length) = octal(after);
                (Some(value), length)
            }
            (Some(letter), ..) => (Some(c_escape(*letter).unwrap_or(*letter)), 1),
        }
    })
}

/// Decodes the escapes of ANSI C.
pub(super) fn escape_sequence_decode(value: &[u8]) -> Vec<u8> {
    unescape(value, |after| {
        let digits = after.get(1..3).filter(|it| it.iter().all(u8::is_ascii_hexdigit));
        match (after.first(), digits) {
            (None, _) => (Some(b'\\'), 0),
            (Some(b'x' | b'X'), Some(digits)) => (Some(last_byte(digits)), 3),
            (Some(b'0'..=b'7'), _) => {
                // Three digits that do not fit a byte are its lowest bits.
                let length = run(after, 3, |byte| (b'0'..=b'7').contains(byte));
                let value =
                    after[..length].iter().fold(0, |value, digit| value << 3 | (digit - b'0'));
                (Some(value), length)
            }
            (Some(letter), _) => (Some(c_escape(*letter).unwrap_or(*letter)), 1),
        }
    })
}

/// Decodes up to six hexadecimal digits after a backslash, with one space after them, as in CSS.
pub(super) fn css_decode(value: &[u8]) -> Vec<u8> {
    unescape(value, |after| {
        let length = run(after, 6, u8::is_ascii_hexdigit);
        match (length, after.first()) {
            (0, None) => (None, 0),
            (0, Some(b'\n')) => (None, 1),
            (0, Some(other)) => (Some(*other), 1),
            _ => {
                let digits = &after[..length];
                // Beyond four digits, a full-width form begins with zeros.
                let is_wide = digits[..length.saturating_sub(4)].iter().all(|digit| *digit == b'0');
                let byte = if is_wide { wide(digits) } else { last_byte(digits) };
                let space = after.get(length).is_some_and(|next| super::transform::is_space(*next));
                (Some(byte), length + usize::from(space))
            }
        }
    })
}

/// Decodes Base64 up to the first byte that is not in its alphabet.
pub(crate) fn base64_decode(value: &[u8]) -> Vec<u8> {
    let (mut decoded, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for byte in value {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        (bits, count) = (bits << 6 | u32::from(digit), count + 6);
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
        }
    }
    decoded
}

/// Writes each byte as two hexadecimal digits.
pub(super) fn hex_encode(value: &[u8]) -> Vec<u8> {
    value.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

/// Decodes pairs of hexadecimal digits. A single byte at the end is left out. Like ModSecurity, it reads
/// other bytes as digits too: letters go on after `f`.
pub(super) fn hex_decode(value: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'.. => (byte & 0xdf).wrapping_sub(b'A').wrapping_add(10),
        _ => byte.wrapping_sub(b'0'),
    };
    let pairs = value.as_chunks::<2>().0.iter();
    pairs.map(|[high, low]| digit(*high).wrapping_mul(16).wrapping_add(digit(*low))).collect()
}

/// Decodes `0x` and pairs of hexadecimal digits, as in SQL.
pub(super) fn sql_hex_decode(value: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((byte, after)) = rest.split_first() {
        let digits = match after.split_first() {
            Some((b'x' | b'X', digits)) if *byte == b'0' => digits,
            _ => &[],
        };
        let length = run(digits, usize::MAX, u8::is_ascii_hexdigit) & !1;
        if length == 0 {
            decoded.push(*byte);
            rest = after;
        } else {
            decoded.extend(hex_decode(&digits[..length]));
            rest = &digits[length..];
        }
    }
    decoded
}

/// Replaces each comment of C, also one that does not end, with a space.
pub(super) fn replace_comments(value: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(start) = rest.windows(2).position(|pair| pair == b"/*") {
        replaced.extend_from_slice(&rest[..start]);
        replaced.push(b' ');
        let comment = &rest[start + 2..];
        let end = comment.windows(2).position(|pair| pair == b"*/");
        rest = end.map_or(&[], |end| &comment[end + 2..]);
    }
    replaced.extend_from_slice(rest);
    replaced
}

/// Removes the characters that begin and end comments.
pub(super) fn remove_comment_characters(value: &[u8]) -> Vec<u8> {
    const MARKS: [&[u8]; 6] = [b"<!--", b"-->", b"/*", b"*/", b"--", b"#"];
    let mut removed = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((byte, after)) = rest.split_first() {
        match MARKS.iter().find_map(|mark| rest.strip_prefix(*mark)) {
            Some(after_mark) => rest = after_mark,
            None => {
                removed.push(*byte);
                rest = after;
            }
        }
    }
    removed
}
