//! The timestamp of a line, rendered once for each second.

use crate::digits::PAIRS;

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// The number of seconds in a day.
pub(crate) const DAY_S: i64 = 86_400;

/// A time, and its text in a line.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    now_s: i64,
    /// The day since the epoch of the date in `text`.
    day: i64,
    /// The timestamp and the start of the request: `[dd/Mon/yyyy:HH:MM:SS +0000] "`.
    text: [u8; 30],
}

impl Clock {
    /// A clock at `now_s` seconds since the epoch, in the years 0 to 9999.
    pub(crate) fn new(now_s: i64) -> Self {
        let text = *b"[01/Jan/1970:00:00:00 +0000] \"";
        let mut clock = Self { now_s, day: i64::MIN, text };
        clock.set(now_s);
        clock
    }

    /// Seconds since the epoch.
    pub(crate) fn now_s(&self) -> i64 {
        self.now_s
    }

    /// The timestamp in brackets, and the quote that opens the request.
    #[inline]
    pub(crate) fn text(&self) -> &[u8; 30] {
        &self.text
    }

    /// Sets the clock to `now_s` seconds since the epoch.
    pub(crate) fn set(&mut self, now_s: i64) {
        self.now_s = now_s;
        let day = now_s.div_euclid(DAY_S);
        if day != self.day {
            self.day = day;
            self.render_date();
        }
        let second = now_s.rem_euclid(DAY_S);
        self.pair(13, second / 3600);
        self.pair(16, second / 60 % 60);
        self.pair(19, second % 60);
    }

    fn render_date(&mut self) {
        let (year, month, day) = civil(self.day);
        self.pair(1, day);
        self.text[4..7].copy_from_slice(MONTHS[month as usize - 1]);
        self.pair(8, year / 100);
        self.pair(10, year % 100);
    }

    fn pair(&mut self, at: usize, number: i64) {
        self.text[at..at + 2].copy_from_slice(&PAIRS[number as usize % 100]);
    }
}

/// The year, month and day of the month of a day, counted from 1 January 1970, in the Gregorian
/// calendar: `civil_from_days` of Howard Hinnant's "chrono-Compatible Low-Level Date
/// Algorithms" (2013).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_known_instants() {
        let known = [
            (0, "01/Jan/1970:00:00:00"),
            (951_782_400, "29/Feb/2000:00:00:00"),
            (1_709_164_799, "28/Feb/2024:23:59:59"),
            (1_767_225_599, "31/Dec/2025:23:59:59"),
            (4_107_542_400, "01/Mar/2100:00:00:00"),
        ];
        for (second, text) in known {
            let stamp = Clock::new(second).text;
            assert_eq!(String::from_utf8_lossy(&stamp), format!("[{text} +0000] \""));
        }
    }

    #[test]
    fn a_clock_that_is_set_shows_what_a_new_one_shows() {
        let mut clock = Clock::new(0);
        // Forwards and backwards over the ends of days, months and years, and within a day.
        let instants = [1_767_225_599, 1_767_225_600, 1_767_225_599, 951_782_400, 951_782_401, -1];
        for second in instants {
            clock.set(second);
            assert_eq!(clock.text, Clock::new(second).text, "{second}");
        }
        clock.set(1_767_225_600);
        assert_eq!(clock.text, *b"[01/Jan/2026:00:00:00 +0000] \"");
    }
}
