//! Requests that curl makes.

use std::process::Command;

use crate::answer::line_count;
use crate::input::Log;
use weir_tools::shell::{Outcome, command, output_of};

/// A curl that fails if the answer is an error.
pub(crate) fn curl(arguments: &[&str]) -> Command {
    let mut curl = command("curl", &["-sS", "--fail", "--max-time", "120"]);
    curl.args(arguments);
    curl
}

/// The body of an answer.
pub(crate) fn body(arguments: &[&str]) -> Outcome<Vec<u8>> {
    let output = curl(arguments).output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("curl {}: {}", arguments.join(" "), message.trim()).into());
    }
    Ok(output.stdout)
}

/// The status of an answer.
pub(crate) fn status(arguments: &[&str]) -> Outcome<u16> {
    let mut curl = command("curl", &["-sS", "-o", "/dev/null", "-w", "%{http_code}"]);
    Ok(output_of(curl.args(arguments))?.trim().parse()?)
}

/// Sends a log to Weir's server at a URL. Returns the address of its session's report.
pub(crate) fn upload(log: &Log, server: &str) -> Outcome<String> {
    let answer = output_of(&mut curl(&["-T", &log.path, &format!("{server}/")]))?;
    let session = answer.rsplit("/s/").next().map(str::trim).unwrap_or_default();
    let session: String = session.chars().take_while(char::is_ascii_hexdigit).collect();
    Ok(format!("{server}/api/sessions/{session}/report"))
}

/// Checks that a report counts all lines of a log.
pub(crate) fn check_lines(report: &str, log: &Log) -> Outcome {
    let lines = line_count(&output_of(&mut curl(&[report]))?)?;
    if lines == log.lines {
        return Ok(());
    }
    Err(format!("the server counts {lines} lines, not {}", log.lines).into())
}
