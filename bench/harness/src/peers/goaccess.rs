//! GoAccess from Debian, which makes a report like `weir report`.

use std::process::Command;

use serde_json::Value;

use crate::settings::{Settings, folder, text};
use weir_tools::packages;
use weir_tools::shell::{Outcome, command};

/// Installs GoAccess, except in a smoke run. Returns a note if it is still missing.
pub(crate) fn missing(settings: &Settings) -> Vec<String> {
    packages::missing(&[("goaccess", "goaccess")], !settings.is_smoke)
}

/// The command that writes a report as JSON to a file, with clients named as in the log.
pub(crate) fn report_command(log: &str) -> Outcome<Command> {
    let output = text(&folder()?.join("goaccess.json"));
    let output = format!("--output={output}");
    Ok(command(
        "goaccess",
        &[
            log,
            "--log-format=COMBINED",
            "--no-global-config",
            "--no-progress",
            "--no-ip-validation",
            &output,
        ],
    ))
}

/// Compares the file of [`report_command`] with Weir's report of the same log: the number of
/// requests, the status codes and the top clients. Each may differ by the number of unparsed lines,
/// because GoAccess accepts some of them.
pub(crate) fn check(ours: &Value) -> Outcome {
    let written = std::fs::read_to_string(folder()?.join("goaccess.json"))?;
    let theirs: Value = serde_json::from_str(&written)?;
    let general = &theirs["general"];
    let unparsed =
        ours["unparsed_lines"].as_u64().ok_or("Weir's report does not count its lines")?;
    let is_near = |ours: &Value, theirs: Option<u64>| {
        let (Some(ours), Some(theirs)) = (ours.as_u64(), theirs) else { return false };
        theirs.abs_diff(ours) <= unparsed
    };
    if !is_near(&ours["matching"], general["valid_requests"].as_u64()) {
        return Err(format!(
            "GoAccess counts {}, Weir {}",
            general["valid_requests"], ours["matching"]
        )
        .into());
    }
    for (field, panel) in [("status", "status_codes"), ("client", "hosts")] {
        for row in ours["top"][field].as_array().ok_or("Weir's report has no lists")? {
            let value = row["value"].as_str().unwrap_or_default();
            if !is_near(&row["count"], hits(&theirs[panel]["data"], value)) {
                return Err(format!("GoAccess and Weir count {field} {value} differently").into());
            }
        }
    }
    Ok(())
}

/// The hits of a value. A status is followed by its meaning, and is one level deeper.
fn hits(panel: &Value, value: &str) -> Option<u64> {
    panel.as_array()?.iter().find_map(|row| {
        let name = row["data"].as_str()?;
        if name.split(' ').next() == Some(value) {
            return row["hits"]["count"].as_u64();
        }
        hits(&row["items"], value)
    })
}

#[cfg(test)]
mod tests {
    use super::hits;
    use serde_json::json;

    #[test]
    fn hits_are_found_at_both_levels() {
        let panel = json!([
            {"data": "2xx Success", "hits": {"count": 9}, "items": [
                {"data": "200 - OK: it went well", "hits": {"count": 7}},
            ]},
            {"data": "192.0.2.1", "hits": {"count": 3}},
        ]);
        assert_eq!(hits(&panel, "200"), Some(7));
        assert_eq!(hits(&panel, "192.0.2.1"), Some(3));
        assert_eq!(hits(&panel, "404"), None);
    }
}
