//! CSV (RFC 4180) that is safe to open in a spreadsheet.

/// Adds a value to a row as a cell. It is quoted if necessary, and prefixed with an apostrophe if a
/// spreadsheet would take it for a formula.
///
/// A formula begins with `=`, `+`, `-`, `@`, tab or carriage return (OWASP, CSV Injection). A
/// number such as `-5` is not a formula, nor is `-` alone, which logs write for a missing value.
fn push_value(row: &mut String, bytes: &[u8]) {
    // Checking a whole text is faster than looking for its first byte that is not UTF-8.
    match std::str::from_utf8(bytes) {
        Ok(text) => push_text(row, text),
        Err(_) => push_text(row, &String::from_utf8_lossy(bytes)),
    }
}

fn push_text(row: &mut String, text: &str) {
    let is_formula = is_formula(text);
    if !is_formula && !text.bytes().any(|byte| NEEDS_QUOTES[usize::from(byte)]) {
        return row.push_str(text);
    }
    row.push('"');
    if is_formula {
        row.push('\'');
    }
    for (index, part) in text.split('"').enumerate() {
        if index > 0 {
            row.push_str("\"\"");
        }
        row.push_str(part);
    }
    row.push('"');
}

/// The bytes that are separators or quotes to some program. All are ASCII.
const NEEDS_QUOTES: [bool; 256] = {
    let bytes = b"\",\n\r';\t";
    let mut table = [false; 256];
    let mut index = 0;
    while index < bytes.len() {
        table[bytes[index] as usize] = true;
        index += 1;
    }
    table
};

/// A row of values, with the line end that RFC 4180 requires.
///
/// A program that shows it in a terminal has to remove control characters.
///
/// ```
/// let row = weir_view::csv_row([b"/a,b".as_slice(), b"=1+1"]);
/// assert_eq!(row, "\"/a,b\",\"'=1+1\"\r\n");
/// ```
pub fn csv_row<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut row = String::with_capacity(ROW_BYTES);
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            row.push(',');
        }
        push_value(&mut row, value);
    }
    row.push_str("\r\n");
    row
}

/// Most rows of a log have fewer bytes.
const ROW_BYTES: usize = 512;

fn is_formula(text: &str) -> bool {
    let is_negative_number = || text.starts_with('-') && text.parse::<f64>().is_ok();
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && text != "-" && !is_negative_number()
}

#[cfg(test)]
mod tests {
    use super::{csv_row, push_value};

    fn csv_value(bytes: &[u8]) -> String {
        let mut row = String::new();
        push_value(&mut row, bytes);
        row
    }

    #[test]
    fn formulas_get_an_apostrophe() {
        assert_eq!(csv_value(b"=1+1"), "\"'=1+1\"");
        assert_eq!(csv_value(b"@SUM(A1)"), "\"'@SUM(A1)\"");
        assert_eq!(csv_value(b"-1+cmd|' /C calc'!A0"), "\"'-1+cmd|' /C calc'!A0\"");
        assert_eq!(csv_value(b"\t=1"), "\"'\t=1\"");
        assert_eq!(csv_value(b"+49"), "\"'+49\"");
    }

    #[test]
    fn other_values_stay_unchanged() {
        for text in ["-", "-5", "-0.5", "", "/a=b", "GET", "12"] {
            assert_eq!(csv_value(text.as_bytes()), text);
        }
    }

    #[test]
    fn separators_and_quotes_are_quoted() {
        assert_eq!(
            csv_row([&b"a,b"[..], b"c\"d", b"e\nf", b"g"]),
            "\"a,b\",\"c\"\"d\",\"e\nf\",g\r\n"
        );
        assert_eq!(csv_value(b"\xff"), "\u{fffd}");
    }
}
