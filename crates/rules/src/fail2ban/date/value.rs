//! Converts the fields of a date to a time.

use fancy_regex::Captures;
use weir_core::Date;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The year of dates without one, which fail2ban completes by the present. It is a leap year.
pub(in crate::fail2ban) const YEAR_OF_NONE: i64 = 1972;

/// Whether a time in nanoseconds since 1970 is of a date without a year.
pub(in crate::fail2ban) fn is_without_year(time_ns: i64) -> bool {
    let day = |year| Date::new(year as i32, 1, 1).map_or(0, |date| date.days());
    (day(YEAR_OF_NONE)..day(YEAR_OF_NONE + 1)).contains(&time_ns.div_euclid(86_400_000_000_000))
}

/// The value of a date's fields.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum DateValue {
    /// In seconds since 1970.
    Time(f64),
    /// A time without a date, which fail2ban completes by the present date; or not a valid date.
    Unknown,
}

/// The fields of a date as written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fields {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    /// The zone's offset, in seconds east of Greenwich.
    pub(super) offset_s: i64,
}

impl Fields {
    /// The time in seconds since 1970; `None` if the date does not exist.
    pub(super) fn time(&self) -> Option<i64> {
        let Self { year, month, day, hour, minute, second, offset_s } = *self;
        let [month, day] = [month, day].map(u32::try_from);
        let date = Date::new(i32::try_from(year).ok()?, month.ok()?, day.ok()?)?;
        let is_valid = hour < 24 && minute < 60 && second < 60;
        let clock = hour * 3_600 + minute * 60 + second - offset_s;
        is_valid.then(|| date.days() * 86_400 + clock)
    }
}

/// Reads the named groups of a date. `default_offset_s` applies to dates without a zone.
pub(super) fn of_groups(groups: &Captures<'_, str>, default_offset_s: i64) -> DateValue {
    let fields = fields(groups, default_offset_s);
    match fields.and_then(|fields| fields.time()) {
        Some(time) => DateValue::Time(time as f64),
        None => DateValue::Unknown,
    }
}

fn fields(groups: &Captures<'_, str>, default_offset_s: i64) -> Option<Fields> {
    let text = |name: &str| groups.name(name).map(|group| group.as_str());
    let number = |name: &str| text(name).map(|text| text.trim().parse::<i64>().ok());
    let year = match (number("Y"), number("y")) {
        (Some(year), _) => year?,
        // fail2ban assumes the present century.
        (None, Some(year)) => year.map(|year| if year <= 2_000 { year + 2_000 } else { year })?,
        (None, None) => YEAR_OF_NONE,
    };
    let named = |name: &str| {
        let name = name.to_lowercase();
        let position = MONTHS.iter().position(|month| *month == name || month[..3] == name);
        position.map(|position| position as i64 + 1)
    };
    let month = match (number("m"), text("b").or_else(|| text("B"))) {
        (Some(month), _) => month?,
        (None, Some(name)) => named(name)?,
        (None, None) => return None,
    };
    let zone = text("z").or_else(|| text("Z"));
    Some(Fields {
        year,
        month,
        day: number("d")??,
        hour: match (number("H"), number("I")) {
            (Some(hour), _) => hour?,
            (None, Some(hour)) => {
                let is_pm = text("p").is_some_and(|half| half.eq_ignore_ascii_case("pm"));
                hour? % 12 + if is_pm { 12 } else { 0 }
            }
            (None, None) => 0,
        },
        minute: number("M").unwrap_or(Some(0))?,
        second: number("S").unwrap_or(Some(0))?,
        offset_s: match zone {
            Some(zone) => offset_s(zone)?,
            None => default_offset_s,
        },
    })
}

/// Parses an offset or `UTC` to seconds east of Greenwich; `None` for names of other zones.
pub(in crate::fail2ban) fn offset_s(zone: &str) -> Option<i64> {
    let offset = ["UTC", "GMT", "Z"].iter().find_map(|name| zone.strip_prefix(name));
    let offset = offset.unwrap_or(zone);
    if offset.is_empty() {
        return Some(0);
    }
    let sign = match offset.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: Vec<i64> = offset[1..]
        .bytes()
        .filter(|byte| *byte != b':')
        .map(|byte| byte.is_ascii_digit().then(|| i64::from(byte - b'0')))
        .collect::<Option<_>>()?;
    match digits[..] {
        [hour, hours] => Some(sign * (hour * 10 + hours) * 3_600),
        [hour, hours, minute, minutes] => {
            Some(sign * ((hour * 10 + hours) * 3_600 + (minute * 10 + minutes) * 60))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, is_without_year, offset_s};

    #[test]
    fn the_year_of_dates_without_one_is_known() {
        for (year, month, day, expected) in
            [(1972, 1, 1, true), (1972, 12, 31, true), (1971, 12, 31, false), (1973, 1, 1, false)]
        {
            let time = Fields { year, month, day, hour: 23, ..Fields::default() }.time();
            let time_ns = time.expect("a date") * 1_000_000_000;
            assert_eq!(is_without_year(time_ns), expected, "{year}-{month}-{day}");
        }
    }

    #[test]
    fn dates_are_instants() {
        let time =
            |year, month, day, hour| Fields { year, month, day, hour, ..Fields::default() }.time();
        assert_eq!(time(1970, 1, 1, 0), Some(0));
        assert_eq!(time(2000, 2, 29, 12), Some(951_825_600));
        assert_eq!(time(2026, 11, 22, 0), Some(1_795_305_600));
        assert_eq!(time(2001, 2, 29, 0), None);
        assert_eq!(time(2001, 13, 1, 0), None);
    }

    #[test]
    fn zones_are_offsets() {
        for (zone, offset) in
            [("Z", 0), ("+0130", 5_400), ("-01:30", -5_400), ("UTC+02", 7_200), ("GMT", 0)]
        {
            assert_eq!(offset_s(zone), Some(offset), "{zone}");
        }
        assert_eq!(offset_s("CET"), None);
        assert_eq!(offset_s("+1"), None);
    }
}
