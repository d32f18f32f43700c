//! Reports of Weir's, and whether they are right.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::input::{self, Log};
use crate::settings::{Settings, folder, text};
use weir_tools::shell::{Outcome, command, execute, is_installed, output_of};

/// Enough of a log for the oracle, which is slow.
const CHECKED_MEBIBYTES: u64 = 8;
const SMOKE_CHECKED_MEBIBYTES: u64 = 2;

/// Runs a command to its end, and gives back what it printed and the seconds it took. Weir ends
/// with 1 where no line fits, which is an answer.
pub(crate) fn timed(command: &mut Command) -> Outcome<(String, f64)> {
    let start = Instant::now();
    let output = command.stderr(Stdio::piped()).output()?;
    let seconds = start.elapsed().as_secs_f64();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() || output.status.code() == Some(1) && !printed.is_empty() {
        return Ok((printed, seconds));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let program = command.get_program().display();
    Err(format!("{program} failed: {}", said.trim()).into())
}

/// The report of a log as JSON, by so many threads.
pub(crate) fn report_command(settings: &Settings, log: &str, jobs: usize) -> Command {
    command(&settings.weir(), &["report", "--json", "-j", &jobs.to_string(), log])
}

/// The number of lines, out of what `wc -l` or `weir report --json` printed.
pub(crate) fn line_count(printed: &str) -> Outcome<u64> {
    if printed.starts_with('{') {
        let report: Value = serde_json::from_str(printed)?;
        return report["lines"].as_u64().ok_or_else(|| "the report counts no lines".into());
    }
    let first = printed.split_whitespace().next().ok_or("nothing was printed")?;
    Ok(first.parse()?)
}

/// Holds reports of a small log of this shape against the Python oracle, all numbers of them.
pub(crate) fn check_against_oracle(settings: &Settings, shape: &str) -> Outcome {
    if settings.is_smoke && !is_installed("python3") {
        println!("missing: python3, so {shape} is not held against the oracle");
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
