//! Time zones by name.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use weir_core::{OffsetDays, Values, Zone};

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

/// Zones that many logs are written in. They are tried before the others of the database.
const USUAL: [&str; 16] = [
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Toronto",
    "America/Sao_Paulo",
    "America/Santiago",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Athens",
    "Europe/Moscow",
    "Asia/Tehran",
    "Asia/Jerusalem",
    "Australia/Sydney",
    "Pacific/Auckland",
    "Africa/Cairo",
];

/// Returns the zone of a log. If its requests have several offsets from UTC, that is the zone that has
/// all of them, or else the last offset; otherwise the offset of its first record with a time, or UTC.
pub fn log_zone(values: &Values) -> Zone {
    let of_days = values.zone_of_days(|days| {
        zone_of_offsets(days)
            .unwrap_or_else(|| days.last_offset_s().map_or_else(Zone::utc, Zone::fixed))
    });
    of_days.unwrap_or_else(|| values.first_offset_s().map_or_else(Zone::utc, Zone::fixed))
}

/// A log has a zone only if it has times this near before and after a change of its clocks. Other
/// offsets may be those of a zone by chance, as after a machine was moved.
const NEAR_S: i64 = 14 * 86_400;

/// Returns the zone of the database that has all of these offsets: the machine's own if it has.
fn zone_of_offsets(days: &OffsetDays) -> Option<Zone> {
    let has_all = |zone: &TimeZone| {
        days.are_all(|unix_s| {
            let time = Timestamp::from_second(unix_s);
            time.map_or(i32::MAX, |time| zone.to_offset(time).seconds())
        })
    };
    let own = TimeZone::system();
    if let Some(name) = own.iana_name().filter(|_| has_all(&own)) {
        return table(&own, name.to_owned());
    }
    let mut near = days.changes_s();
    near.retain(|(before_s, after_s)| after_s - before_s <= 2 * NEAR_S);
    if near.is_empty() {
        return None;
    }
    let shows_change = |zone: &TimeZone| {
        near.iter().any(|&(before_s, after_s)| {
            let Ok(before) = Timestamp::from_second(before_s) else { return false };
            let changes = zone.following(before).map(|change| change.timestamp().as_second());
            let mut own = changes.take_while(|at_s| *at_s <= after_s);
            own.any(|at_s| at_s - before_s <= NEAR_S && after_s - at_s <= NEAR_S)
        })
    };
    let mut others: Vec<String> =
        jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect();
    // Names of places before abbreviations such as EST5EDT.
    others.sort_by_key(|name| (!name.contains('/'), name.clone()));
    let usual = USUAL.into_iter().map(str::to_owned);
    usual.chain(others).find_map(|name| {
        let zone = TimeZone::get(&name).ok().filter(has_all).filter(shows_change)?;
        table(&zone, name)
    })
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
    use std::sync::Arc;

    use weir_core::{Block, BlockLimits, BlockReader, Format, OffsetDays, Values};

    use super::{find_zone, zone_of_offsets};

    fn name(times: &[&str]) -> Option<String> {
        let format = Arc::new(Format::parse("$time_iso8601").unwrap());
        let mut values = Values::new(1 << 20);
        let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
        let mut days = OffsetDays::default();
        for time in times {
            let block = Block::new(format!("{time}\n").into_bytes());
            days.add(reader.read_segment(&block, 0, &mut values).times().unwrap());
        }
        zone_of_offsets(&days).map(|zone| zone.name().to_owned())
    }

    #[test]
    fn a_zone_is_found_by_its_changes() {
        let new_york = ["2016-03-13T01:59:59-05:00", "2016-03-13T03:00:00-04:00"];
        assert_eq!(name(&new_york).as_deref(), Some("America/New_York"));
        let berlin = ["2025-03-30T01:59:59+01:00", "2025-03-30T03:00:00+02:00"];
        assert_eq!(name(&berlin).as_deref(), Some("Europe/Berlin"));
        let lord_howe = ["2024-09-24T00:00:00+10:30", "2024-10-18T00:00:00+11:00"];
        assert_eq!(name(&lord_howe).as_deref(), Some("Australia/LHI"));
        for times in [
            // The clocks of no zone were set then, or so far.
            &["2016-03-12T01:59:59-05:00", "2016-03-12T03:00:00-04:00"][..],
            &["2016-03-13T01:59:59-05:00", "2016-03-13T03:00:00+02:00"],
            &["2016-03-13T01:59:59-03:30", "2016-03-13T03:00:00+01:00"],
            &[new_york[0], new_york[1], "2016-03-20T00:00:00Z"],
            // Machines that were moved from UTC to Berlin and to Lagos: Troll and London by chance.
            &["2025-01-15T12:00:00+00:00", "2025-06-15T12:00:00+02:00"],
            &["2025-01-15T12:00:00+00:00", "2025-06-15T12:00:00+01:00"],
            // Too long before the change, and too long after it.
            &["2025-03-10T12:00:00+01:00", "2025-04-01T12:00:00+02:00"],
            &["2025-03-25T12:00:00+01:00", "2025-04-20T12:00:00+02:00"],
        ] {
            assert_eq!(name(times), None, "{times:?}");
        }
    }

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
