//! Reports of Weir and their check against the oracle.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::input::{self, Log};
use crate::settings::{Settings, folder, text};
use weir_tools::shell::{Outcome, command, execute, is_installed, output_of};

/// The oracle is slow, so it gets a small log.
const CHECKED_MEBIBYTES: u64 = 8;
const SMOKE_CHECKED_MEBIBYTES: u64 = 2;

/// Runs a command and returns its output and its time in seconds. Exit code 1 with an output is an
/// answer: Weir ends with it if no line can be parsed.
pub(crate) fn timed(command: &mut Command) -> Outcome<(String, f64)> {
    let start = Instant::now();
    let output = command.stderr(Stdio::piped()).output()?;
    let seconds = start.elapsed().as_secs_f64();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() || output.status.code() == Some(1) && !printed.is_empty() {
        return Ok((printed, seconds));
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let program = command.get_program().display();
    Err(format!("{program} failed: {}", message.trim()).into())
}

/// The command for the report of a log as JSON, with `jobs` threads.
pub(crate) fn report_command(settings: &Settings, log: &str, jobs: usize) -> Command {
    command(&settings.weir(), &["report", "--json", "-j", &jobs.to_string(), log])
}

/// The number of lines in the output of `wc -l` or `weir report --json`.
pub(crate) fn line_count(printed: &str) -> Outcome<u64> {
    if printed.starts_with('{') {
        let report: Value = serde_json::from_str(printed)?;
        return report["lines"].as_u64().ok_or_else(|| "the report counts no lines".into());
    }
    let first = printed.split_whitespace().next().ok_or("nothing was printed")?;
    Ok(first.parse()?)
}

/// Compares every number of the report of a small log of this shape with the Python oracle.
pub(crate) fn check_against_oracle(settings: &Settings, shape: &str) -> Outcome {
    if settings.is_smoke && !is_installed("python3") {
        println!("missing: python3, so {shape} is not compared with the oracle");
        return Ok(());
    }
    let most = if settings.is_smoke { SMOKE_CHECKED_MEBIBYTES } else { CHECKED_MEBIBYTES };
    let log = input::generated(settings, shape, settings.mebibytes.min(most))?;
    let arguments = ["report", "--json", "--top", "10", &log.path];
    let (report, _) = timed(&mut command(&settings.weir(), &arguments))?;
    let parsed: Value = serde_json::from_str(&report)?;
    let step = parsed["histogram"]["step_s"].as_u64().unwrap_or(3600).to_string();
    let oracle = oracle(&log, &step)?;
    let (ours, theirs) = (folder()?.join("ours.json"), folder()?.join("oracle.json"));
    std::fs::write(&ours, report)?;
    std::fs::write(&theirs, oracle)?;
    let compare = ["bench/oracle/compare.py", &text(&ours), &text(&theirs)];
    execute(&mut command("python3", &compare))
}

fn oracle(log: &Log, step: &str) -> Outcome<String> {
    let script = "crates/testkit/oracle/report.py";
    output_of(&mut command("python3", &[script, "--top", "10", "--step", step, &log.path]))
}

#[cfg(test)]
mod tests {
    use super::line_count;

    #[test]
    fn lines_are_counted_by_both() {
        assert_eq!(line_count("12 access.log\n").unwrap(), 12);
        assert_eq!(line_count(r#"{"lines":7,"records":6}"#).unwrap(), 7);
        assert!(line_count("").is_err());
        assert!(line_count("{}").is_err());
    }
}
