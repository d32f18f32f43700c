//! Escapes values that clients choose, so that they cannot forge other parts of a line.
//!
//! Source: nginx, `ngx_http_log_escape` and `ngx_escape_json`.

/// Appends a value as nginx does by default: quotes, backslashes, control characters and bytes
/// beyond ASCII become `\xHH`.
pub(super) fn push_escaped(line: &mut Vec<u8>, value: &[u8]) {
    for &byte in value {
        match byte {
            b'"' | b'\\' | 0..=0x1f | 0x7f..=0xff => push_hex(line, b"\\x", byte),
            _ => line.push(byte),
        }
    }
}

/// Appends a value that is delimited by spaces: a space in it becomes `\x20`.
pub(super) fn push_word(line: &mut Vec<u8>, value: &[u8]) {
    for (index, part) in value.split(|byte| *byte == b' ').enumerate() {
        if index > 0 {
            push_hex(line, b"\\x", b' ');
        }
        push_escaped(line, part);
    }
}

/// Appends the content of a JSON string as nginx does with `escape=json`. A byte that is not UTF-8
/// would make it no JSON, so it becomes the text `\xHH`.
pub(super) fn push_json(line: &mut Vec<u8>, value: &[u8]) {
    for chunk in value.utf8_chunks() {
        push_json_text(line, chunk.valid());
        for &byte in chunk.invalid() {
            push_hex(line, b"\\\\x", byte);
        }
    }
}

fn push_json_text(line: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', byte]),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\t' => line.extend_from_slice(b"\\t"),
            0x08 => line.extend_from_slice(b"\\b"),
            0x0c => line.extend_from_slice(b"\\f"),
            0..=0x1f => push_hex(line, b"\\u00", byte),
            _ => line.push(byte),
        }
    }
}

fn push_hex(line: &mut Vec<u8>, prefix: &[u8], byte: u8) {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    line.extend_from_slice(prefix);
    line.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::{push_escaped, push_json, push_word};

    #[test]
    fn hostile_bytes_are_escaped() {
        let value = b"a \"b\\\n\x01\x7f\xc3\xa9";
        for (push, expected) in [
            (push_escaped as fn(&mut Vec<u8>, &[u8]), &br"a \x22b\x5C\x0A\x01\x7F\xC3\xA9"[..]),
            (push_word, br"a\x20\x22b\x5C\x0A\x01\x7F\xC3\xA9"),
            (push_json, b"a \\\"b\\\\\\n\\u0001\x7f\xc3\xa9"),
        ] {
            let mut line = Vec::new();
            push(&mut line, value);
            assert_eq!(line, expected, "{}", String::from_utf8_lossy(&line));
        }
    }

    #[test]
    fn json_is_text() {
        let mut line = Vec::new();
        push_json(&mut line, b"\xff\xc3\xa9\xed\xa0\x80\xe2\x82");
        let expected = concat!(r"\\xFF", "é", r"\\xED\\xA0\\x80\\xE2\\x82");
        assert_eq!(String::from_utf8(line).expect("text"), expected);
    }
}
