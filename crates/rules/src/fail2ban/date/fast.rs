//! The dates of web servers, read without a template.
//!
//! Each of these finds what the templates find, or nothing. A test compares them.

use super::value::Fields;

/// A date at a place.
pub(super) type FastDate = ((usize, usize), i64);

/// Finds the dates of access logs, `[17/Dec/2025:09:00:00 +0000]`. It remembers the day of the last
/// line.
#[derive(Debug, Clone, Default)]
pub(in crate::fail2ban) struct BracketDates {
    /// The day and the zone as they are written.
    day: [u8; 12],
    zone: [u8; 7],
    /// When that day begins in that zone, in seconds since 1970.
    midnight_s: i64,
}

impl BracketDates {
    /// Finds the date in the first brackets, if it is the first date of the line.
    pub(super) fn find(&mut self, line: &[u8]) -> Option<FastDate> {
        let bracket = memchr::memchr(b'[', line)?;
        let text: &[u8; 27] = line.get(bracket + 1..)?.first_chunk()?;
        if bracket < 2 || may_have_date(&line[..bracket]) {
            return None;
        }
        let (day, rest) = text.split_first_chunk()?;
        let (clock, zone) = rest.split_last_chunk()?;
        if *day != self.day || *zone != self.zone {
            let midnight_s = midnight_s(day, zone)?;
            *self = Self { day: *day, zone: *zone, midnight_s };
        }
        if (clock[2], clock[5]) != (b':', b':') {
            return None;
        }
        let [hour, minute, second] = [0, 3, 6].map(|start| digits(clock, start, 2));
        let (hour, minute, second) = (hour?, minute?, second?);
        let is_valid = hour < 24 && minute < 60 && second < 60;
        let time_s = self.midnight_s + hour * 3_600 + minute * 60 + second;
        is_valid.then_some(((bracket + 1, bracket + 27), time_s))
    }
}

/// When a day, `17/Dec/2025:`, begins in a zone, ` +0000]`, in seconds since 1970.
fn midnight_s(day: &[u8; 12], zone: &[u8; 7]) -> Option<i64> {
    let is_plain =
        (day[2], day[6], day[11]) == (b'/', b'/', b':') && (zone[0], zone[6]) == (b' ', b']');
    let sign = match zone[1] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let zone_hour = digits(zone, 2, 2).filter(|hour| is_plain && *hour < 20)?;
    let fields = Fields {
        year: digits(day, 7, 4).filter(|year| (2_000..2_100).contains(year))?,
        month: month(&day[3..6])?,
        day: digits(day, 0, 2)?,
        offset_s: sign * (zone_hour * 3_600 + digits(zone, 4, 2)? * 60),
        ..Fields::default()
    };
    fields.time()
}

/// The date of an error log of nginx, `2025/12/17 09:00:00 [`, at the start of the line.
pub(super) fn at_start(line: &[u8], offset_s: i64) -> Option<FastDate> {
    let text: &[u8; 21] = line.first_chunk()?;
    let separators = (text[4], text[7], text[10], text[13], text[16], text[19], text[20]);
    if separators != (b'/', b'/', b' ', b':', b':', b' ', b'[') {
        return None;
    }
    let fields = Fields {
        year: digits(text, 0, 4).filter(|year| (2_000..2_100).contains(year))?,
        month: digits(text, 5, 2)?,
        day: digits(text, 8, 2)?,
        hour: digits(text, 11, 2)?,
        minute: digits(text, 14, 2)?,
        second: digits(text, 17, 2)?,
        offset_s,
    };
    Some(((0, 19), fields.time()?))
}

/// Whether what comes before the bracket may hold a date: all have colons, except for long numbers.
fn may_have_date(prefix: &[u8]) -> bool {
    let mut run = 0;
    for (position, byte) in prefix.iter().enumerate() {
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        let is_odd = matches!(byte, b'@' | 0x80..) || run == 10;
        if is_odd || *byte == b':' && !is_in_address(prefix, position) {
            return true;
        }
    }
    false
}

/// Whether a colon is in an IPv6 address at the start of the line, which is not a time.
fn is_in_address(prefix: &[u8], colon: usize) -> bool {
    let end = memchr::memchr(b' ', prefix).unwrap_or(prefix.len());
    let is_address = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b':';
    let first_colon = memchr::memchr(b':', prefix);
    colon < end
        && prefix[..end].iter().all(is_address)
        && (first_colon.is_some_and(|first| first > 2 || first == 0))
}

fn digits(text: &[u8], start: usize, length: usize) -> Option<i64> {
    let mut number = 0;
    for byte in &text[start..start + length] {
        number = number * 10 + i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
    }
    Some(number)
}

fn month(name: &[u8]) -> Option<i64> {
    let name = [name[0] | 0x20, name[1] | 0x20, name[2] | 0x20];
    Some(match &name {
        b"jan" => 1,
        b"feb" => 2,
        b"mar" => 3,
        b"apr" => 4,
        b"may" => 5,
        b"jun" => 6,
        b"jul" => 7,
        b"aug" => 8,
        b"sep" => 9,
        b"oct" => 10,
        b"nov" => 11,
        b"dec" => 12,
        _ => return None,
    })
}
