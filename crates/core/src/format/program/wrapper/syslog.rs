//! The prefix of a syslog message.
//!
//! Sources: RFC 3164 section 4, RFC 5424 section 6, and the file formats of rsyslog: RFC 3164
//! without the priority, also with a time of RFC 3339.
//!
//! ```text
//! <190>Dec 17 09:03:01 web1 nginx[12]: message          RFC 3164
//! <13>Dec 17 09:03:01 web1 192.0.2.1 - - [...            the same without a tag
//! Dec 17 09:03:01 web1 nginx: message                   a file of rsyslog
//! 2025-12-17T09:03:01.250+01:00 web1 nginx: message     its RSYSLOG_FileFormat
//! <190>1 2025-12-17T09:03:01Z web1 nginx 12 - - message RFC 5424
//! ```
//!
//! The host may be missing, as in messages of nginx with `nohostname`. A time without a year is
//! resolved later, with the reference of the format.
//!
//! The prefix is checked strictly enough that a line of an access log is not mistaken for one: a
//! month and a time, or RFC 3339 with a `T`, and a tag that ends with a colon and a space. The tag
//! may have the number of a process in brackets, which is dropped. The tag may be missing if a log line
//! follows at once, as syslog-ng sends it with `flags(no-parse)`: an address, a date, or what begins an
//! object, a list or a text in quotes.
//!
//! # The year
//!
//! RFC 3164 has none. The latest year that puts the time at most one day after the reference is
//! taken, which is right for every log of less than a year that was written before the reference;
//! the day allows for zones and wrong clocks. A 29th of February goes back to the last leap year.
//! The local time of the prefix has no zone and is taken as UTC.

use std::net::IpAddr;

use memchr::memchr;

use crate::format::program::mismatch::{Mismatch, Reason};
use crate::value::{
    Timestamp, days_of, month_by_name, parse_digits, parse_rfc3339, second_of_day_at, year_of_unix,
};

/// The text before a message.
///
/// All parts are slices of the line.
#[derive(Debug)]
pub(in crate::format) struct Prefix<'a> {
    /// The time, which is optional in RFC 5424.
    pub(in crate::format) time: Option<PrefixTime>,
    /// The host. Some programs omit it, such as nginx with `nohostname`.
    pub(in crate::format) host: Option<&'a [u8]>,
    /// The name of the program, without its process; empty if there is none.
    pub(in crate::format) tag: &'a [u8],
    /// The offset of the message.
    pub(in crate::format) body: usize,
}

/// A time that may lack its year.
///
/// RFC 3339 and RFC 5424 write complete times, RFC 3164 those without a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum PrefixTime {
    Complete(Timestamp),
    WithoutYear { month: u32, day: u32, second_of_day: i64 },
}

const DAY_S: i64 = 86_400;
/// The last second of 1972, see [`crate::Format::with_year_reference`].
const REFERENCE_S: i64 = 94_694_399;

impl PrefixTime {
    /// The instant; see [`crate::Format::with_year_reference`] for the year.
    pub(in crate::format) fn resolve(self, reference_s: Option<i64>) -> Option<Timestamp> {
        let (month, day, second_of_day) = match self {
            Self::Complete(time) => return Some(time),
            Self::WithoutYear { month, day, second_of_day } => (month, day, second_of_day),
        };
        let latest_s = reference_s.unwrap_or(REFERENCE_S).saturating_add(DAY_S);
        let year = year_of_unix(latest_s);
        // There are four or eight years between two 29ths of February.
        (year - 8..=year).rev().find_map(|year| {
            let unix_s = days_of(year, month, day)? * DAY_S + second_of_day;
            if unix_s <= latest_s { Timestamp::from_unix(unix_s, 0, 0) } else { None }
        })
    }
}

/// A mismatch of the prefix at `at`.
fn mismatch(at: usize, reason: &'static str) -> Mismatch {
    Mismatch::new(at, Reason::Form(reason))
}

/// Reads the prefix of a line.
pub(in crate::format) fn read(line: &[u8]) -> Result<Prefix<'_>, Mismatch> {
    let at = priority_length(line);
    if at > 0 && line[at..].starts_with(b"1 ") {
        return rfc5424(line, at + 2);
    }
    rfc3164(line, at)
}

/// The length of a priority such as `<190>`, or 0 if there is none.
fn priority_length(line: &[u8]) -> usize {
    let digits = line.iter().skip(1).take(4).take_while(|byte| byte.is_ascii_digit()).count();
    let is_priority = line.first() == Some(&b'<') && (1..=3).contains(&digits);
    if is_priority && line.get(digits + 1) == Some(&b'>') { digits + 2 } else { 0 }
}

/// Reads `Dec 17 09:03:01 host tag[12]: `, or the same with a time of RFC 3339.
///
/// Tried first without a host: a text that is a tag cannot be a host, because of its colon.
fn rfc3164(line: &[u8], start: usize) -> Result<Prefix<'_>, Mismatch> {
    let rest = &line[start..];
    let (time, length) = bsd_time(rest)
        .or_else(|| complete_time(rest))
        .ok_or(mismatch(start, "expected a syslog time such as Dec 17 09:03:01"))?;
    let at = start + length;
    const REASON: &str = "expected a host, and the name of a program with `:` after it";
    if let Some((tag, length)) = tag(&line[at..]) {
        return Ok(Prefix { time: Some(time), host: None, tag, body: at + length });
    }
    let length = memchr(b' ', &line[at..]).filter(|length| *length > 0);
    let length = length.ok_or(mismatch(at, REASON))?;
    let (host, tag_at) = (&line[at..at + length], at + length + 1);
    // A container runtime writes the name of a stream where a host would be.
    let is_stream = matches!(host, b"stdout" | b"stderr");
    let (tag, body) = match tag(&line[tag_at..]) {
        Some((tag, length)) => (tag, tag_at + length),
        None if !is_stream && begins_log_line(&line[tag_at..]) => (&line[..0], tag_at),
        None => return Err(mismatch(tag_at, REASON)),
    };
    Ok(Prefix { time: Some(time), host: Some(host), tag, body })
}

/// Whether a text begins as a line of a log rather than as a sentence: one of its first two words is
/// an address, or it begins with a date, a bracket or a quote.
fn begins_log_line(text: &[u8]) -> bool {
    /// An address with a port, in brackets.
    const WORD_BYTES_MAX: usize = 64;
    let is_date = |text: &[u8]| matches!(text, [a, b, c, d, b'-' | b'/', ..] if [a, b, c, d].iter().all(|it| it.is_ascii_digit()));
    let is_address = |word: &[u8]| {
        let text = std::str::from_utf8(word).ok().filter(|text| text.len() <= WORD_BYTES_MAX);
        text.is_some_and(|text| text.parse::<IpAddr>().is_ok())
    };
    matches!(text.first(), Some(b'{' | b'[' | b'"'))
        || is_date(text)
        || text.splitn(3, |byte| *byte == b' ').take(2).any(is_address)
}

/// Reads `Dec 17 09:03:01 `, whose day may be padded with a space. Returns the time and its
/// length.
fn bsd_time(text: &[u8]) -> Option<(PrefixTime, usize)> {
    const LENGTH: usize = 15;
    let text = text.get(..LENGTH + 1)?;
    if [text[3], text[6], text[LENGTH]] != *b"   " {
        return None;
    }
    let day = text[4..6].strip_prefix(b" ").unwrap_or(&text[4..6]);
    let time = PrefixTime::WithoutYear {
        month: month_by_name(&text[..3])?,
        day: parse_digits(day)? as u32,
        second_of_day: second_of_day_at(&text[7..LENGTH])?,
    };
    Some((time, LENGTH + 1))
}

/// Reads a time of RFC 3339 and a space. Returns the time and its length.
fn complete_time(text: &[u8]) -> Option<(PrefixTime, usize)> {
    const LENGTH_MAX: usize = 40;
    let length = memchr(b' ', &text[..text.len().min(LENGTH_MAX)])?;
    if text.get(10) != Some(&b'T') {
        return None;
    }
    Some((PrefixTime::Complete(parse_rfc3339(&text[..length])?), length + 1))
}

/// Reads `tag[12]: ` or `tag: `. Returns the name and the length of it all.
fn tag(text: &[u8]) -> Option<(&[u8], usize)> {
    /// RFC 3164 allows 32; some programs have longer names.
    const TAG_BYTES_MAX: usize = 64;
    let head = &text[..text.len().min(TAG_BYTES_MAX)];
    let length = head.iter().position(|byte| matches!(byte, b':' | b'[' | b' '))?;
    let mut end = length;
    if text[end] == b'[' {
        end += memchr(b']', &head[end..])? + 1;
    }
    if length == 0 || text.get(end) != Some(&b':') {
        return None;
    }
    end += 1;
    // nginx and others write a space here. Without one it is a time or an address.
    (text.get(end) == Some(&b' ')).then(|| (&text[..length], end + 1))
}

/// Reads `2025-12-17T09:03:01Z host app 12 ID [data] `.
fn rfc5424(line: &[u8], start: usize) -> Result<Prefix<'_>, Mismatch> {
    let mut at = start;
    let mut word = || {
        let rest = &line[at..];
        let length = memchr(b' ', rest).filter(|length| *length > 0)?;
        at += length + 1;
        Some(&rest[..length])
    };
    const REASON: &str = "expected time, host, program, process and message id of RFC 5424";
    let words: [Option<&[u8]>; 5] = std::array::from_fn(|_| word());
    let [Some(time), Some(host), Some(tag), Some(_), Some(_)] = words else {
        return Err(mismatch(at, REASON));
    };
    let time = match time {
        b"-" => None,
        time => Some(PrefixTime::Complete(parse_rfc3339(time).ok_or(mismatch(start, REASON))?)),
    };
    let data =
        data_length(&line[at..]).ok_or(mismatch(at, "expected RFC 5424's structured data"))?;
    let mut body = at + data;
    if line.get(body) == Some(&b' ') {
        body += 1;
    }
    // In RFC 5424 a byte order mark marks a message in UTF-8.
    if line[body..].starts_with(b"\xef\xbb\xbf") {
        body += 3;
    }
    Ok(Prefix { time, host: (host != b"-").then_some(host), tag, body })
}

/// The length of structured data: `-`, or elements in brackets with values in quotes.
///
/// `None` if it is neither, or if a bracket or quote is not closed. Inside quotes a backslash
/// escapes a quote, a backslash and a bracket (RFC 5424, section 6.3.3).
fn data_length(text: &[u8]) -> Option<usize> {
    if text.first() == Some(&b'-') {
        return matches!(text.get(1), None | Some(b' ')).then_some(1);
    }
    let mut at = 0;
    while text.get(at) == Some(&b'[') {
        let mut is_quoted = false;
        loop {
            at += 1;
            match *text.get(at)? {
                b'\\' if is_quoted => at += 1,
                b'"' => is_quoted = !is_quoted,
                b']' if !is_quoted => break,
                _ => {}
            }
        }
        at += 1;
    }
    (at > 0 && matches!(text.get(at), None | Some(b' '))).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::{PrefixTime, read};
    use crate::value::format_rfc3339;

    fn parts(line: &str) -> Option<(Option<&str>, &str, &str)> {
        let prefix = read(line.as_bytes()).ok()?;
        let text = |bytes| std::str::from_utf8(bytes).expect("UTF-8");
        Some((prefix.host.map(text), text(prefix.tag), &line[prefix.body..]))
    }

    #[test]
    fn reads_prefixes() {
        for (line, expected) in [
            ("Dec  7 09:03:01 web haproxy[7]: m", (Some("web"), "haproxy", "m")),
            ("<190>Dec 17 09:03:01 web nginx: a: b", (Some("web"), "nginx", "a: b")),
            ("<190>Dec 17 09:03:01 nginx: m", (None, "nginx", "m")),
            ("<13>Dec 17 09:03:01 web 192.0.2.1 - - [x", (Some("web"), "", "192.0.2.1 - - [x")),
            (
                "<13>Dec 17 09:03:01 web a.example 2001:db8::1 -",
                (Some("web"), "", "a.example 2001:db8::1 -"),
            ),
            ("Dec 17 09:03:01 web {\"a\":1}", (Some("web"), "", "{\"a\":1}")),
            ("<13>Dec 17 09:03:01 web 2025/12/17 09", (Some("web"), "", "2025/12/17 09")),
            ("2025-12-17T09:03:01.25+01:00 web kernel: m", (Some("web"), "kernel", "m")),
            ("<34>1 2025-12-17T09:03:01Z web su - ID47 - m", (Some("web"), "su", "m")),
            (r#"<34>1 - - su 1 - [a@1 b="]\"" c="d"][e@2] m"#, (None, "su", "m")),
            ("<34>1 - h su 1 - - \u{feff}m", (Some("h"), "su", "m")),
            ("<34>1 - h su 1 - -", (Some("h"), "su", "")),
        ] {
            assert_eq!(parts(line), Some(expected), "{line}");
        }
        for line in [
            "",
            "Dec 17 09:03:01",
            "Dec 17 09:03:01 web",
            "Dec 17 09:03:01 web message without a name",
            "Dec 17 09:03:01 192.0.2.1 - - [17/Dec/2025:09:03:01 +0000]",
            "Dec 17 09:03:01 web 12 messages from 192.0.2.1",
            "2025-12-17T09:03:01.25Z stdout F 192.0.2.1 - - [17/Dec/2025:09:03:01 +0000]",
            "Dec 17 29:03:01 web nginx: m",
            "<34>1 yesterday h su 1 - - m",
            "<34>1 - h su 1 - [a m",
            "192.0.2.1 - - [17/Dec/2025:09:03:01 +0000]",
        ] {
            assert_eq!(parts(line), None, "{line}");
        }
    }

    #[test]
    fn finds_the_year() {
        let new_year_2026 = 1_767_225_600;
        let resolved = |month, day, reference_s| {
            let time = PrefixTime::WithoutYear { month, day, second_of_day: 0 };
            time.resolve(reference_s).map(format_rfc3339).unwrap_or_default()
        };
        assert_eq!(resolved(12, 31, Some(new_year_2026)), "2025-12-31T00:00:00Z");
        assert_eq!(resolved(1, 1, Some(new_year_2026)), "2026-01-01T00:00:00Z");
        assert_eq!(resolved(1, 2, Some(new_year_2026)), "2026-01-02T00:00:00Z");
        assert_eq!(resolved(1, 3, Some(new_year_2026)), "2025-01-03T00:00:00Z");
        assert_eq!(resolved(2, 29, Some(new_year_2026)), "2024-02-29T00:00:00Z");
        assert_eq!(resolved(2, 29, None), "1972-02-29T00:00:00Z");
        assert_eq!(resolved(2, 30, None), "");
        assert_eq!(resolved(1, 1, Some(i64::MAX)), "2262-01-01T00:00:00Z");
        assert_eq!(resolved(1, 1, Some(i64::MIN)), "");
    }
}
