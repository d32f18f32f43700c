//! The note on a report whose conditions no record meets.

use weir_core::{Timestamp, Zone, format_rfc3339};
use weir_view::{Report, separated};

use crate::question::find_zone;

/// Returns a clause which states that no record of the kind meets the conditions, and the time
/// range of the records. Returns `None` if a record does, or if the kind has no records.
/// `log_ns` are the first and the last time of the records of the kind, in nanoseconds since
/// 1970.
pub fn no_match_note(report: &Report, log_ns: Option<(i64, i64)>) -> Option<String> {
    let records = report.records_of_kind();
    if report.matching > 0 || records == 0 {
        return None;
    }
    let noun = report.kind.noun(records);
    let mut note = match records {
        1 => format!("the only {noun} does not meet the conditions"),
        _ => format!("none of the {} {noun} meets the conditions", separated(records)),
    };
    if let (Some((first_ns, last_ns)), Ok(zone)) = (log_ns, find_zone(&report.time.zone)) {
        let log = match report.kinds.len() {
            1 => "the log runs".to_owned(),
            _ => format!("the log's {} run", report.kind.noun(0)),
        };
        note += &format!("; {log} {}", period_text((first_ns, last_ns), &zone));
    }
    Some(note)
}

/// Formats a period: `from 2025-12-17 09:03:01 to 2025-12-17 09:03:02, times in UTC`. Its ends are
/// in nanoseconds since 1970.
pub fn period_text((first_ns, last_ns): (i64, i64), zone: &Zone) -> String {
    let [first, last] = [first_ns, last_ns].map(|unix_ns| local_time(unix_ns, zone));
    format!("from {first} to {last}, times in {}", zone.name())
}

/// Formats a time as `2025-12-17 09:03:01`.
fn local_time(unix_ns: i64, zone: &Zone) -> String {
    let offset_s = zone.offset_s(unix_ns.div_euclid(1_000_000_000));
    let stamp = format_rfc3339(Timestamp { unix_ns, offset_s });
    stamp.get(..19).unwrap_or(&stamp).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use weir_view::{KindCount, RecordKind, Report};

    use super::no_match_note;

    #[test]
    fn the_note_names_the_time_of_the_log() {
        let count = |kind, records| KindCount { kind, records };
        let mut report = Report::default();
        report.time.zone = "+01:00".to_owned();
        let log_ns = Some((0, 86_400_500_000_000));
        assert_eq!(no_match_note(&report, log_ns), None, "there is no record");
        report.kinds = vec![count(RecordKind::Request, 1_234)];
        let period = "1970-01-01 01:00:00 to 1970-01-02 01:00:00, times in +01:00";
        let none = "none of the 1,234 requests meets the conditions";
        let note = |report: &Report, log_ns| no_match_note(report, log_ns).expect("a note");
        assert_eq!(note(&report, log_ns), format!("{none}; the log runs from {period}"));
        assert_eq!(note(&report, None), none);
        report.kinds.push(count(RecordKind::FirewallEvent, 1));
        let of_requests = format!("{none}; the log's requests run from {period}");
        assert_eq!(note(&report, log_ns), of_requests);
        report.kind = RecordKind::FirewallEvent;
        assert_eq!(note(&report, None), "the only firewall event does not meet the conditions");
        report.matching = 1;
        assert_eq!(no_match_note(&report, log_ns), None);
    }
}
