//! CSV (RFC 4180) that is safe to open in a spreadsheet.

use std::borrow::Cow;

/// A value as it stands in a row: in quotes where it has to be, and with an apostrophe in
/// front where a spreadsheet would take it for a formula.
///
/// What begins a formula is `=`, `+`, `-`, `@`, tab and carriage return (OWASP, CSV
/// Injection). A plain number such as `-5`, and `-` alone, which logs write for nothing, begin
/// none.
pub(crate) fn value(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text: Cow<'_, str> = if is_formula(&text) { Cow::Owned(format!("'{text}")) } else { text };
    if text.contains(['"', ',', '\n', '\r', '\'', ';', '\t']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.into_owned()
}

/// A row of values, with the line end that RFC 4180 wants.
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
    fn formulas_are_defused() {
        assert_eq!(value(b"=1+1"), "\"'=1+1\"");
        assert_eq!(value(b"@SUM(A1)"), "\"'@SUM(A1)\"");
        assert_eq!(value(b"-1+cmd|' /C calc'!A0"), "\"'-1+cmd|' /C calc'!A0\"");
        assert_eq!(value(b"\t=1"), "\"'\t=1\"");
        assert_eq!(value(b"+49"), "\"'+49\"");
    }

    #[test]
    fn what_is_none_stays() {
        for text in ["-", "-5", "-0.5", "", "/a=b", "GET", "12"] {
            assert_eq!(value(text.as_bytes()), text);
        }
    }

    #[test]
    fn quotes_where_they_have_to_be() {
        assert_eq!(row([&b"a,b"[..], b"c\"d", b"e\nf", b"g"]), "\"a,b\",\"c\"\"d\",\"e\nf\",g\r\n");
        assert_eq!(value(b"\xff"), "\u{fffd}");
    }
}
