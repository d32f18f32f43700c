//! CSV (RFC 4180) that is safe to open in a spreadsheet.

use std::borrow::Cow;

/// A value as a cell of a row. It is quoted if necessary, and prefixed with an apostrophe if a
/// spreadsheet would take it for a formula.
///
/// A formula begins with `=`, `+`, `-`, `@`, tab or carriage return (OWASP, CSV Injection). A
/// number such as `-5` is not a formula, nor is `-` alone, which logs write for a missing value.
pub(crate) fn csv_value(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text: Cow<'_, str> = if is_formula(&text) { Cow::Owned(format!("'{text}")) } else { text };
    if text.contains(['"', ',', '\n', '\r', '\'', ';', '\t']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.into_owned()
}

/// A row of values, with the line end that RFC 4180 requires.
///
/// A program that shows it in a terminal has to remove control characters.
///
/// ```
/// let row = weir_view::csv_row([b"/a,b".as_slice(), b"=1+1"]);
/// assert_eq!(row, "\"/a,b\",\"'=1+1\"\r\n");
/// ```
pub fn csv_row<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> String {
    let values: Vec<String> = values.into_iter().map(csv_value).collect();
    values.join(",") + "\r\n"
}

fn is_formula(text: &str) -> bool {
    let is_negative_number = || text.starts_with('-') && text.parse::<f64>().is_ok();
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && text != "-" && !is_negative_number()
}

#[cfg(test)]
mod tests {
    use super::{csv_row, csv_value};

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
