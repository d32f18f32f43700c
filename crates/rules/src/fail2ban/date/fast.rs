//! Finds dates of web servers without a template.
//!
//! Each function finds what the templates find, or nothing. A test compares them.

use super::value::Fields;

/// The range of a date in the line, and its time in nanoseconds since 1970.
pub(super) type FastDate = ((usize, usize), i64);

/// Finds the dates of access logs, `[17/Dec/2025:09:00:00 +0000]`. It caches the day of the last
/// line.
#[derive(Debug, Clone, Default)]
pub(in crate::fail2ban) struct BracketDates {
    /// The day and the zone as written in the last line.
    day: [u8; 12],
    zone: [u8; 7],
    /// The start of that day in that zone, in seconds since 1970.
    midnight_s: i64,
}

impl BracketDates {
    /// Finds the date in the first brackets, if no date can precede it in the line.
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
        let time_s = self.midnight_s + second_of_day(clock.first_chunk()?)?;
        Some(((bracket + 1, bracket + 27), time_s))
    }
}

/// Parses a clock time such as `09:00:00` to the second of the day. It reads all digits at once.
fn second_of_day(clock: &[u8; 8]) -> Option<i64> {
    const ZEROS: u64 = u64::from_le_bytes(*b"00:00:00");
    const DIGITS: u64 = u64::from_le_bytes([0xf0, 0xf0, 0xff, 0xf0, 0xf0, 0xff, 0xf0, 0xf0]);
    const TO_SIXTEEN: u64 = u64::from_le_bytes([6, 6, 0, 6, 6, 0, 6, 6]);
    let digits = u64::from_le_bytes(*clock) ^ ZEROS;
    if (digits | digits.wrapping_add(TO_SIXTEEN)) & DIGITS != 0 {
        return None;
    }
    let two = |at: u32| (digits >> at & 0xf) * 10 + (digits >> (at + 8) & 0xf);
    let (hour, minute, second) = (two(0), two(24), two(48));
    let is_valid = hour < 24 && minute < 60 && second < 60;
    is_valid.then_some((hour * 3_600 + minute * 60 + second) as i64)
}

/// The start of a day, `17/Dec/2025:`, in a zone, ` +0000]`, in seconds since 1970.
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

/// Finds the date of an nginx error log, `2025/12/17 09:00:00 [`, at the start of the line.
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

/// Whether the text before the bracket may contain a date: all dates have colons, except for long
/// numbers and labels.
fn may_have_date(prefix: &[u8]) -> bool {
    let after_address = &prefix[ipv6_length(prefix)..];
    is_odd(after_address) && has_date_bytes(after_address)
}

/// Whether there is a colon, an `@`, a byte that is not ASCII, or four digits at a multiple of
/// four; without them, the text contains no date. It compares eight bytes at once; the last eight
/// may overlap. Shorter texts return true.
fn is_odd(prefix: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let Some(last) = prefix.last_chunk::<8>() else { return true };
    let (words, _) = prefix.as_chunks::<8>();
    let is_odd = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        // Sets the high bit of each zero byte; also that of bytes above it, which are then checked
        // again.
        let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
        let colons = zeros(word ^ (ONES * u64::from(b':')));
        let signs = zeros(word ^ (ONES * u64::from(b'@')));
        let digits = word ^ (ONES * u64::from(b'0'));
        let others = (digits | digits.wrapping_add(ONES * 6)) & (ONES * 0xf0);
        let has_number = others as u32 == 0 || others >> 32 == 0;
        (colons | signs | word & HIGH) != 0 || has_number
    };
    words.iter().any(is_odd) || is_odd(last)
}

fn has_date_bytes(prefix: &[u8]) -> bool {
    let mut run = 0;
    for (position, byte) in prefix.iter().enumerate() {
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        let is_odd = matches!(byte, b':' | 0x80..) || run == 10;
        if is_odd || *byte == b'@' && is_label(&prefix[position + 1..]) {
            return true;
        }
    }
    false
}

/// Whether a TAI64N label, which is 24 hexadecimal digits, follows an `@`.
fn is_label(rest: &[u8]) -> bool {
    rest.first_chunk::<24>().is_some_and(|label| label.iter().all(u8::is_ascii_hexdigit))
}

/// The length of an IPv6 address at the start of a line, whose colons are not those of a time; 0 if
/// there is none.
fn ipv6_length(prefix: &[u8]) -> usize {
    let (mut run, mut first_colon) = (0, None);
    for (position, byte) in prefix.iter().enumerate() {
        match byte {
            b':' => {
                first_colon.get_or_insert(position);
                run = 0;
            }
            b' ' if first_colon.is_some_and(|first| first > 2 || first == 0) => return position,
            _ if byte.is_ascii_hexdigit() && run < 4 => run += 1,
            _ => return 0,
        }
    }
    0
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{has_date_bytes, is_odd, second_of_day};

    proptest! {
        #[test]
        fn clocks_are_read_as_their_digits(clock in prop_oneof!["[0-2][0-9]:[0-6][0-9]:[0-6][0-9]", "[ -~]{8}", "[0-9:;/]{8}"]) {
            let number = |start: usize| {
                let text = &clock[start..start + 2];
                text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i64>().expect("digits"))
            };
            let expected = match (number(0), number(3), number(6)) {
                (Some(hour @ 0..24), Some(minute @ 0..60), Some(second @ 0..60))
                    if &clock[2..3] == ":" && &clock[5..6] == ":" =>
                {
                    Some(hour * 3_600 + minute * 60 + second)
                }
                _ => None,
            };
            let bytes = clock.as_bytes().first_chunk().expect("eight bytes");
            prop_assert_eq!(second_of_day(bytes), expected);
        }

        #[test]
        fn no_prefix_with_a_date_looks_plain(prefix in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40),
            "[0-9]{0,3}[ .:@a-f]{0,9}[0-9]{0,14}[ -]{0,9}".prop_map(String::into_bytes),
        ]) {
            prop_assert!(is_odd(&prefix) || !has_date_bytes(&prefix));
        }
    }

    #[test]
    fn usual_prefixes_look_plain() {
        for prefix in ["203.0.113.255 - - ", "10.0.0.1 - alice2 ", "198.51.100.200 - - "] {
            assert!(!is_odd(prefix.as_bytes()), "{prefix}");
        }
    }
}
