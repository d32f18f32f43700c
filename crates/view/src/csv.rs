//! Writes CSV (RFC 4180) that is safe to open in a spreadsheet.

/// Appends a value to a row of CSV as a cell (RFC 4180, section 2). It is quoted if necessary. It
/// gets an apostrophe as prefix if a spreadsheet would interpret it as a formula. Bytes that are
/// not UTF-8 become U+FFFD.
///
/// A formula begins with `=`, `+`, `-`, `@`, tab or carriage return (OWASP, CSV Injection). A
/// number such as `-5` is not a formula, nor is `-` alone, which logs write for a missing value.
///
/// ```
/// let mut row = b"a,".to_vec();
/// weir_view::push_csv_value(&mut row, b"b;c");
/// assert_eq!(row, b"a,\"b;c\"");
/// ```
pub fn push_csv_value(row: &mut Vec<u8>, value: &[u8]) {
    let (is_formula, marks) = (is_formula(value), marks_of(value));
    if !is_formula && marks == 0 {
        return row.extend_from_slice(value);
    }
    if marks & NOT_ASCII > 0 && std::str::from_utf8(value).is_err() {
        return push_csv_value(row, String::from_utf8_lossy(value).as_bytes());
    }
    if !is_formula && marks == NOT_ASCII {
        return row.extend_from_slice(value);
    }
    row.push(b'"');
    if is_formula {
        row.push(b'\'');
    }
    for (index, part) in value.split(|byte| *byte == b'"').enumerate() {
        if index > 0 {
            row.extend_from_slice(b"\"\"");
        }
        row.extend_from_slice(part);
    }
    row.push(b'"');
}

/// The byte is a separator or quote in some program. All of these are ASCII.
const RESERVED: u8 = 1;
/// The byte is not ASCII.
const NOT_ASCII: u8 = 2;

/// Returns the marks of all bytes of a value.
///
/// It has no branches for each byte, so that the compiler generates vector instructions.
fn marks_of(value: &[u8]) -> u8 {
    let (chunks, rest) = value.as_chunks::<16>();
    let of_chunk = |chunk: &[u8; 16]| chunk.iter().fold(0, |all, byte| all | mark(*byte));
    let of_chunks = chunks.iter().fold(0, |all, chunk| all | of_chunk(chunk));
    rest.iter().fold(of_chunks, |all, byte| all | MARKS[usize::from(*byte)])
}

const fn mark(byte: u8) -> u8 {
    let is_reserved = (byte == b'"')
        | (byte == b',')
        | (byte == b'\n')
        | (byte == b'\r')
        | (byte == b';')
        | (byte == b'\'')
        | (byte == b'\t');
    (is_reserved as u8 * RESERVED) | ((byte >= 0x80) as u8 * NOT_ASCII)
}

/// The mark of each byte.
const MARKS: [u8; 256] = {
    let mut marks = [0; 256];
    let mut byte = 0;
    while byte < marks.len() {
        marks[byte] = mark(byte as u8);
        byte += 1;
    }
    marks
};

/// Returns a row of values, with the line end that RFC 4180 requires. Bytes that are not UTF-8
/// become U+FFFD.
///
/// Control characters are kept. A program that prints the row on a terminal has to remove them.
///
/// ```
/// let row = weir_view::csv_row([b"/a,b".as_slice(), b"=1+1"]);
/// assert_eq!(row, "\"/a,b\",\"'=1+1\"\r\n");
/// ```
pub fn csv_row<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut row = Vec::with_capacity(ROW_BYTES);
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            row.push(b',');
        }
        push_csv_value(&mut row, value);
    }
    row.extend_from_slice(b"\r\n");
    // All cells are UTF-8.
    String::from_utf8(row).unwrap_or_default()
}

/// The initial capacity. Most rows of a log are shorter.
const ROW_BYTES: usize = 512;

fn is_formula(value: &[u8]) -> bool {
    let is_number = || std::str::from_utf8(value).is_ok_and(|text| text.parse::<f64>().is_ok());
    match value {
        [] | [b'-'] => false,
        [b'-', ..] => !is_number(),
        [first, ..] => matches!(first, b'=' | b'+' | b'@' | b'\t' | b'\r' | b'\n'),
    }
}

#[cfg(test)]
mod tests {
    use super::{csv_row, push_csv_value};

    fn csv_value(text: &str) -> String {
        let mut row = Vec::new();
        push_csv_value(&mut row, text.as_bytes());
        String::from_utf8(row).expect("UTF-8")
    }

    #[test]
    fn formulas_get_an_apostrophe() {
        assert_eq!(csv_value("=1+1"), "\"'=1+1\"");
        assert_eq!(csv_value("@SUM(A1)"), "\"'@SUM(A1)\"");
        assert_eq!(csv_value("-1+cmd|' /C calc'!A0"), "\"'-1+cmd|' /C calc'!A0\"");
        assert_eq!(csv_value("\t=1"), "\"'\t=1\"");
        assert_eq!(csv_value("+49"), "\"'+49\"");
    }

    #[test]
    fn other_values_stay_unchanged() {
        for text in ["-", "-5", "-0.5", "", "/a=b", "GET", "12"] {
            assert_eq!(csv_value(text), text);
        }
    }

    #[test]
    fn separators_and_quotes_are_quoted() {
        assert_eq!(
            csv_row([&b"a,b"[..], b"c\"d", b"e\nf", b"g"]),
            "\"a,b\",\"c\"\"d\",\"e\nf\",g\r\n"
        );
        assert_eq!(csv_row([&b"\xff"[..], b"\xc3\xa4,"]), "\u{fffd},\"\u{e4},\"\r\n");
    }

    #[test]
    fn a_reserved_byte_is_found_at_every_place() {
        for length in 1..70 {
            for place in 0..length {
                for byte in (1..=0x7E).map(char::from) {
                    let text: String =
                        (0..length).map(|at| if at == place { byte } else { 'a' }).collect();
                    let is_quoted = "\",\n\r';\t".contains(byte)
                        || place == 0 && "=+-@".contains(byte) && text != "-";
                    assert_eq!(csv_value(&text).starts_with('"'), is_quoted, "{text:?}");
                    assert_eq!(csv_value(&text).contains("\"\""), byte == '"', "{text:?}");
                }
            }
        }
    }
}
