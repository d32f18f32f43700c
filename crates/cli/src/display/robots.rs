//! The robots of a report, in words.

use weir_view::{RobotClient, RobotSums, Robots};

use super::{bytes, separated};

/// The heads of what clients cost.
pub(crate) const ROBOT_COLUMNS: [&str; 3] = ["requests", "bytes", "errors"];

/// `12 clients, 3,400 requests, 56.7 MB, 80 errors`.
pub(crate) fn robot_sums(sums: &RobotSums) -> String {
    let noun = if sums.clients == 1 { "client" } else { "clients" };
    let [requests, bytes, errors] = robot_cells(sums);
    format!("{} {noun}, {requests} requests, {bytes}, {errors} errors", separated(sums.clients))
}

/// What clients cost, in the order of [`ROBOT_COLUMNS`].
pub(crate) fn robot_cells(sums: &RobotSums) -> [String; 3] {
    [separated(sums.requests), bytes(sums.bytes_sent), separated(sums.errors)]
}

/// Why a client is like a robot: `no assets, no referrer`.
pub(crate) fn robot_reasons(client: &RobotClient) -> String {
    let words: Vec<&str> = client.reasons.iter().map(|reason| reason.words()).collect();
    words.join(", ")
}

/// What the lists do not show.
pub(crate) fn robot_remarks(robots: &Robots) -> Vec<String> {
    let mut remarks = Vec::new();
    if robots.declared.clients > 0 {
        remarks.push(format!(
            "{} call themselves robots; --group crawler lists them.",
            robot_sums(&robots.declared)
        ));
    }
    if !robots.has_assets {
        remarks.push(
            "No client asked for a file that pages embed, so the lack of such requests says nothing, \
             and there are no cohorts."
                .to_owned(),
        );
    }
    if !robots.has_referers {
        remarks.push("No request has a referrer, so the lack of one says nothing.".to_owned());
    }
    if robots.sampled > 0 {
        remarks.push(format!(
            "There are too many clients: one in {} is judged, and the sums of all are estimates.",
            separated(robots.sampled)
        ));
    }
    if robots.unattributed > 0 {
        remarks.push(format!(
            "{} requests have no client that is known.",
            separated(robots.unattributed)
        ));
    }
    remarks
}
