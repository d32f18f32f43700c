//! Replays of whole rules, against naive oracles.

mod crowdsec;
mod fail2ban;
mod gate;
mod limit_conn;
mod limit_req;
mod lists;
mod many_groups;
mod presets;
mod windows;

/// Whether more than half of some times have a fraction of a second, so that a log with these
/// stamps is one with milliseconds.
fn have_milliseconds(times_ms: impl ExactSizeIterator<Item = i64>) -> bool {
    let all = times_ms.len();
    times_ms.filter(|time_ms| time_ms % 1_000 != 0).count() * 2 > all
}
