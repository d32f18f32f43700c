//! Formats the times of consecutive rows.

use weir_core::{Timestamp, Zone, format_rfc3339};

/// Writes times as [`format_rfc3339`] does. Most rows have the same minute as the row before, so
/// the text of the last minute is kept.
#[derive(Debug)]
pub(super) struct TimeText {
    /// The zone of the times; `None` keeps the offset of the log.
    zone: Option<Zone>,
    minute: Option<Minute>,
}

/// The text that all times of a minute share.
#[derive(Debug)]
struct Minute {
    /// In nanoseconds since 1970.
    start_ns: i64,
    /// In seconds east of UTC.
    offset_s: i32,
    /// The text before the seconds, such as `2025-12-17T09:03:`.
    before: String,
    /// The text after the fraction, such as `+01:00`.
    after: String,
}

const SECOND_NS: i64 = 1_000_000_000;
const MINUTE_NS: i64 = 60 * SECOND_NS;

/// The length of the text before the seconds, and of the seconds.
const BEFORE_BYTES: usize = 17;
const SECOND_BYTES: usize = 2;

impl TimeText {
    pub(super) fn new(zone: Option<Zone>) -> Self {
        Self { zone, minute: None }
    }

    /// Adds a time to a text.
    pub(super) fn push(&mut self, mut time: Timestamp, output: &mut Vec<u8>) {
        if let Some(zone) = &self.zone {
            time.offset_s = zone.offset_s(time.unix_ns.div_euclid(SECOND_NS));
        }
        let rest_ns = time.unix_ns.rem_euclid(MINUTE_NS);
        // The first representable instant has no representable start of its minute.
        let Some(start_ns) = time.unix_ns.checked_sub(rest_ns) else {
            return output.extend_from_slice(format_rfc3339(time).as_bytes());
        };
        let is_it = |it: &Minute| it.start_ns == start_ns && it.offset_s == time.offset_s;
        let known = self.minute.take().filter(is_it);
        let minute = known.unwrap_or_else(|| Minute::new(start_ns, time.offset_s));
        output.extend_from_slice(minute.before.as_bytes());
        push_second(rest_ns, output);
        output.extend_from_slice(minute.after.as_bytes());
        self.minute = Some(minute);
    }
}

impl Minute {
    fn new(start_ns: i64, offset_s: i32) -> Self {
        let text = format_rfc3339(Timestamp { unix_ns: start_ns, offset_s });
        let (before, rest) = text.split_at_checked(BEFORE_BYTES).unwrap_or_default();
        let after = rest.get(SECOND_BYTES..).unwrap_or_default();
        Self { start_ns, offset_s, before: before.to_owned(), after: after.to_owned() }
    }
}

/// Adds the second and its fraction of 0, 3, 6 or 9 digits.
fn push_second(rest_ns: i64, output: &mut Vec<u8>) {
    let (second, mut fraction) = (rest_ns / SECOND_NS, rest_ns % SECOND_NS);
    push_digits(second, 2, output);
    if fraction == 0 {
        return;
    }
    let mut digits = 9;
    while fraction % 1_000 == 0 {
        fraction /= 1_000;
        digits -= 3;
    }
    output.push(b'.');
    push_digits(fraction, digits, output);
}

/// Adds the last `digits` digits of a number.
fn push_digits(number: i64, digits: u32, output: &mut Vec<u8>) {
    for power in (0..digits).rev() {
        output.push(b'0' + (number / 10_i64.pow(power) % 10) as u8);
    }
}

#[cfg(test)]
mod tests {
    use weir_core::{Timestamp, Zone, format_rfc3339};

    use super::{MINUTE_NS, SECOND_NS, TimeText};

    fn instants() -> Vec<i64> {
        let mut instants = vec![i64::MIN + 1, i64::MIN + MINUTE_NS, i64::MAX - 1, -1, 0, 1];
        let start = 1_761_440_400 * SECOND_NS;
        for step_ns in [1, 1_000, 1_000_000, 250_000_000, SECOND_NS, 59 * SECOND_NS, 3 * MINUTE_NS]
        {
            instants.extend((-70..70).map(|step| start + step * step_ns));
        }
        instants
    }

    #[test]
    fn times_of_the_log_are_those_of_the_slow_way() {
        let mut times = TimeText::new(None);
        for unix_ns in instants() {
            for offset_s in [0, 0, 3_600, -5_400, -(44 * 60 + 30)] {
                let (time, mut text) = (Timestamp { unix_ns, offset_s }, b"=".to_vec());
                times.push(time, &mut text);
                assert_eq!(text, format!("={}", format_rfc3339(time)).as_bytes());
            }
        }
    }

    #[test]
    fn times_in_a_zone_have_its_offset() {
        // The end of summer time in Central Europe in 2025.
        let zone = Zone::from_transitions("CET", 7_200, [(1_761_440_400, 3_600)]).expect("a zone");
        let mut times = TimeText::new(Some(zone.clone()));
        for unix_ns in instants() {
            let mut text = Vec::new();
            times.push(Timestamp { unix_ns, offset_s: 19_800 }, &mut text);
            let offset_s = zone.offset_s(unix_ns.div_euclid(SECOND_NS));
            assert_eq!(text, format_rfc3339(Timestamp { unix_ns, offset_s }).as_bytes());
        }
    }
}
