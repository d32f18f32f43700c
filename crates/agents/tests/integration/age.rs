//! The embedded lists are renewed within a year.

use std::time::{SystemTime, UNIX_EPOCH};

use weir_agents::AgentLists;
use weir_core::parse_rfc3339;

const YEAR_S: i64 = 366 * 86_400;

#[test]
fn the_lists_are_not_older_than_a_year() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    let now_s = i64::try_from(now.as_secs()).expect("it is before the end of time");
    for list in AgentLists::embedded().summaries() {
        let origin = list.origin;
        let time = parse_rfc3339(format!("{}T00:00:00Z", origin.taken).as_bytes());
        let taken_s = time.expect("a day").unix_ns / 1_000_000_000;
        assert!(
            now_s - taken_s < YEAR_S,
            "the list of {} was taken from {} on {}; run `cargo xtask lists` with the newest version",
            list.subject,
            origin.source,
            origin.taken
        );
        assert!(!origin.licence.is_empty() && origin.published <= origin.taken, "{origin:?}");
    }
}
