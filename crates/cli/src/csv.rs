//! CSV (RFC 4180) that is safe to open in a spreadsheet.

use std::borrow::Cow;

/// A value as a cell of a row. It is quoted if necessary, and prefixed with an apostrophe if a
/// spreadsheet would take it for a formula.
///
/// A formula begins with `=`, `+`, `-`, `@`, tab or carriage return (OWASP, CSV Injection). A
/// number such as `-5` is not a formula, nor is `-` alone, which logs write for a missing value.
pub(crate) fn value(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text: Cow<'_, str> = if is_formula(&text) { Cow::Owned(format!("'{text}")) } else { text };
    if text.contains(['"', ',', '\n', '\r', '\'', ';', '\t']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.into_owned()
}

/// A row of values, with the line end that RFC 4180 requires.
pub(crate) fn row<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> String {
    let values: Vec<String> = values.into_iter().map(value).collect();
    values.join(",") + "\r\n"
}

fn is_formula(text: &str) -> bool {
    let is_negative_number = || text.starts_with('-') && text.parse::<f64>().is_ok();
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && text != "-" && !is_negative_number()
}

#[cfg(test)]
mod tests {
    use super::{row, value};

    #[test]
    fn formulas_get_an_apostrophe() {
        assert_eq!(value(b"=1+1"), "\"'=1+1\"");
        assert_eq!(value(b"@SUM(A1)"), "\"'@SUM(A1)\"");
        assert_eq!(value(b"-1+cmd|' /C calc'!A0"), "\"'-1+cmd|' /C calc'!A0\"");
        assert_eq!(value(b"\t=1"), "\"'\t=1\"");
        assert_eq!(value(b"+49"), "\"'+49\"");
    }

    #[test]
    fn other_values_stay_unchanged() {
        for text in ["-", "-5", "-0.5", "", "/a=b", "GET", "12"] {
            assert_eq!(value(text.as_bytes()), text);
        }
    }

    #[test]
    fn separators_and_quotes_are_quoted() {
        assert_eq!(row([&b"a,b"[..], b"c\"d", b"e\nf", b"g"]), "\"a,b\",\"c\"\"d\",\"e\nf\",g\r\n");
        assert_eq!(value(b"\xff"), "\u{fffd}");
    }
}
