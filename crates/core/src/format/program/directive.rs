//! The directives of the W3C extended log format: lines that describe the lines after them.
//!
//! Source: the working draft WD-logfile-960323 (<https://www.w3.org/TR/WD-logfile.html>).
//!
//! | directive | effect |
//! |---|---|
//! | `#Fields: date time c-ip` | names the values of the lines after it |
//! | `#Date: 2025-12-17 09:03:01` | the day of lines with only a time of day |
//! | `#Time Format: Local` | times are local to the machine that wrote them (Windows firewall) |
//! | `#Version:`, `#Software:`, `#Remark:` and others | none |
//!
//! Directives are read by the same function where they are followed and where a line parser only
//! notices them, so that both agree.

use crate::value::parse_day;

/// The directive that names the values.
pub(in crate::format) const FIELDS: &str = "#Fields:";
/// The directive with the date of lines that have only a time of day.
pub(in crate::format) const DATE: &str = "#Date:";
/// The byte order mark that some servers begin files with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The line without a byte order mark at its start.
pub(in crate::format) fn without_byte_order_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
}

/// The names of a `#Fields:` list.
pub(in crate::format) fn field_names(list: &str) -> impl Iterator<Item = &str> {
    list.split([' ', '\t', ','])
}

/// The date of a `#Date:` in the lines of a definition before its `#Fields:`.
pub(in crate::format) fn date_of(lines: &str) -> Option<&str> {
    lines.lines().find_map(|line| line.trim().strip_prefix(DATE)).map(str::trim)
}

/// Whether a `#Fields:` list has a date, so that `#Date:` does not matter.
///
/// In any case of letters; `date-local` counts too.
pub(in crate::format) fn has_date(list: &str) -> bool {
    field_names(list).any(|word| word.to_ascii_lowercase().starts_with("date"))
}

/// The directive of the Windows firewall about the zone of times.
const TIME_FORMAT: &str = "#Time Format:";
/// The line with which a definition says that times are local.
pub(in crate::format) const LOCAL_TIMES: &str = "#Time Format: Local
";

/// The list of a `#Fields:` line, the date of a `#Date:` line, or what a `#Time Format:` line says.
///
/// Other directives are not read, and neither is one whose text is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Directive<'a> {
    /// The list, trimmed, as in the log.
    Fields(&'a str),
    /// Ten bytes, a day that exists. The time after it is not used.
    Date(&'a str),
    /// Whether times are local to the machine that wrote them.
    LocalTimes(bool),
}

impl<'a> Directive<'a> {
    /// Reads a line, if it is one of these directives.
    pub(in crate::format) fn read(line: &'a [u8]) -> Option<Self> {
        let line = without_byte_order_mark(line);
        if let Some(list) = line.strip_prefix(FIELDS.as_bytes()) {
            return Some(Self::Fields(std::str::from_utf8(list).ok()?.trim()));
        }
        if let Some(zone) = line.strip_prefix(TIME_FORMAT.as_bytes()) {
            return Some(Self::LocalTimes(zone.trim_ascii().eq_ignore_ascii_case(b"local")));
        }
        let date = line.strip_prefix(DATE.as_bytes())?.trim_ascii_start();
        let date = std::str::from_utf8(date.get(..10)?).ok()?;
        parse_day(date.as_bytes())?;
        Some(Self::Date(date))
    }
}
