//! Notes of reports about the times of a log.

/// The note about a log whose times only bound the arrivals.
const WHOLE_SECONDS: &str =
    "the log's times are whole seconds; with $msec and $request_time in log_format";

/// The note about times in whole seconds. `verdicts` says which verdicts would be exact otherwise.
pub(crate) fn whole_seconds(verdicts: &str) -> String {
    format!("{WHOLE_SECONDS} {verdicts} exact")
}

/// The note about requests that lack something, such as `no time`; `None` if there are none.
pub(crate) fn not_replayed(requests: u64, lack: &str) -> Option<String> {
    (requests > 0).then(|| format!("{requests} requests have {lack} and were not replayed"))
}
