//! The calendar, computed by counting years, months and days.

const MONTHS: [(&[u8], i64); 12] = [
    (b"Jan", 31),
    (b"Feb", 28),
    (b"Mar", 31),
    (b"Apr", 30),
    (b"May", 31),
    (b"Jun", 30),
    (b"Jul", 31),
    (b"Aug", 31),
    (b"Sep", 30),
    (b"Oct", 31),
    (b"Nov", 30),
    (b"Dec", 31),
];

const DAY_S: i64 = 86_400;

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_year(year: i64) -> i64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: i64, month: usize) -> i64 {
    MONTHS[month].1 + i64::from(month == 1 && is_leap(year))
}

/// The seconds from 1970 to midnight of a date, UTC. `None` if the date does not exist.
pub(super) fn date_s(year: i64, month: &[u8], day: i64) -> Option<i64> {
    let month = MONTHS.iter().position(|(name, _)| *name == month)?;
    if day < 1 || day > days_of_month(year, month) {
        return None;
    }
    let mut days: i64 = (1970..year).map(days_of_year).sum();
    days -= (year..1970).map(days_of_year).sum::<i64>();
    days += (0..month).map(|month| days_of_month(year, month)).sum::<i64>();
    Some((days + day - 1) * DAY_S)
}

/// A second since 1970 in RFC 3339, as local time `offset_s` ahead of UTC.
pub(super) fn rfc3339(unix_s: i64, offset_s: i64) -> String {
    let local_s = unix_s + offset_s;
    let second = local_s.rem_euclid(DAY_S);
    let (mut year, mut month, mut day) = (1970, 0, local_s.div_euclid(DAY_S));
    while day < 0 {
        year -= 1;
        day += days_of_year(year);
    }
    while day >= days_of_year(year) {
        day -= days_of_year(year);
        year += 1;
    }
    while day >= days_of_month(year, month) {
        day -= days_of_month(year, month);
        month += 1;
    }
    format!(
        "{year:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}",
        month + 1,
        day + 1,
        second / 3600,
        second / 60 % 60,
        second % 60,
        offset(offset_s)
    )
}

/// `Z`, or an offset as `+hh:mm`.
fn offset(offset_s: i64) -> String {
    let sign = if offset_s < 0 { '-' } else { '+' };
    let minutes = offset_s.abs() / 60;
    match minutes {
        0 => "Z".to_owned(),
        _ => format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::{date_s, rfc3339};

    #[test]
    fn known_dates() {
        assert_eq!(date_s(1970, b"Jan", 1), Some(0));
        assert_eq!(date_s(2000, b"Feb", 29), Some(951_782_400));
        assert_eq!(date_s(1969, b"Dec", 31), Some(-86_400));
        assert_eq!(date_s(2026, b"Nov", 2), Some(1_793_577_600));
        assert_eq!(date_s(2026, b"Feb", 29), None);
        assert_eq!(date_s(2026, b"nov", 2), None);
        assert_eq!(rfc3339(1_793_577_600, 0), "2026-11-02T00:00:00Z");
        assert_eq!(rfc3339(1_793_577_600, 12_600), "2026-11-02T03:30:00+03:30");
        assert_eq!(rfc3339(-1, -3_600), "1969-12-31T22:59:59-01:00");
    }
}
