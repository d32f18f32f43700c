//! Time zones by name.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use weir_core::{Values, Zone};

/// A zone that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownZone {
    name: String,
}

impl fmt::Display for UnknownZone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is not a known time zone; use an IANA name such as Europe/Zurich, UTC, local, or an offset such as +02:00",
            self.name
        )
    }
}

impl std::error::Error for UnknownZone {}

/// Offsets are looked up from 1970 on, because the database is less reliable before. Earlier times
/// have the first offset.
const FIRST_YEAR_S: i64 = 0;

/// Offsets are looked up until the year 2200. Today's rules are unlikely to last longer.
const LAST_YEAR_S: i64 = 7_258_118_400;

/// Returns the zone of an IANA name, `UTC`, `local` for the machine's own, or an offset `+hh:mm`.
///
/// # Errors
/// Fails if there is no zone with this name.
pub fn find_zone(name: &str) -> Result<Zone, UnknownZone> {
    let unknown = || UnknownZone { name: name.to_owned() };
    if name.eq_ignore_ascii_case("utc") || name == "Z" {
        return Ok(Zone::utc());
    }
    if name.starts_with(['+', '-']) {
        return offset_zone(name).ok_or_else(unknown);
    }
    let zone = if name.eq_ignore_ascii_case("local") {
        TimeZone::system()
    } else {
        TimeZone::get(name).map_err(|_| unknown())?
    };
    let title = zone.iana_name().unwrap_or(name).to_owned();
    table(&zone, title).ok_or_else(unknown)
}

/// Returns the zone of a log: the offset of its first record with a time, or UTC.
pub fn log_zone(values: &Values) -> Zone {
    values.first_offset_s().map_or_else(Zone::utc, Zone::fixed)
}

fn table(zone: &TimeZone, title: String) -> Option<Zone> {
    let first = Timestamp::from_second(FIRST_YEAR_S).ok()?;
    let transitions = zone
        .following(first)
        .map(|change| (change.timestamp().as_second(), change.offset().seconds()))
        .take_while(|(unix_s, _)| *unix_s < LAST_YEAR_S);
    Zone::from_transitions(title, zone.to_offset(first).seconds(), transitions)
}

/// Parses `+hh:mm`, `+hhmm` or `+hh`.
fn offset_zone(text: &str) -> Option<Zone> {
    let stamp = format!("2000-01-01T00:00:00{text}");
    Some(Zone::fixed(weir_core::parse_rfc3339(stamp.as_bytes())?.offset_s))
}

#[cfg(test)]
mod tests {
    use super::find_zone;

    #[test]
    fn zones_are_found_by_name_and_offset() {
        let zurich = find_zone("Europe/Zurich").unwrap();
        assert_eq!(zurich.name(), "Europe/Zurich");
        assert_eq!(zurich.offset_s(1_750_000_000), 7200);
        assert_eq!(zurich.offset_s(1_765_949_581), 3600);
        assert_eq!(zurich.offset_s(4_102_444_800 + 180 * 86_400), 7200, "summer of 2100");
        assert_eq!(find_zone("+0330").unwrap().offset_s(0), 12_600);
        assert_eq!(find_zone("utc").unwrap().name(), "UTC");
        assert!(find_zone("Europe/Atlantis").is_err());
        assert!(find_zone("+99").is_err());
        assert!(find_zone("").is_err());
    }
}
