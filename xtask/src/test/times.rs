//! The table of the steps' times, and the file with the same.

use std::fs;

use serde_json::{Value, json};

use super::job::Ended;
use super::pool::Run;
use crate::shell::{Outcome, root, target_folder};
use crate::summary::Counts;

/// Writes `target/test-times.json`.
///
/// # Errors
/// If it cannot be written.
pub(super) fn write(run: &Run) -> Outcome {
    let steps: Vec<Value> = run.ended.iter().map(as_json).collect();
    let times = json!({
        "seconds": run.seconds,
        "processor_seconds": processor_s(run),
        "steps": steps,
    });
    let path = root().join(target_folder()).join("test-times.json");
    fs::write(path, format!("{times:#}\n"))?;
    Ok(())
}

fn as_json(step: &Ended) -> Value {
    json!({
        "name": step.name,
        "passed": step.passed && step.left_out_since.is_none(),
        "left_out_since": step.left_out_since,
        "start_seconds": step.start_s,
        "seconds": step.seconds,
        "processor_seconds": step.processor_s,
        "tests_passed": step.counts.passed,
        "tests_failed": step.counts.failed,
        "tests_skipped": step.counts.skipped,
    })
}

/// Prints the table, what was skipped, and the sums as the last line.
pub(super) fn print(run: &Run) {
    let mut steps: Vec<&Ended> = run.ended.iter().collect();
    steps.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    println!("\n{:32} {:>8} {:>8} {:>10} {:>7}", "step", "start s", "time s", "processor", "tests");
    let (left_out, ran): (Vec<&Ended>, Vec<&Ended>) =
        steps.iter().partition(|step| step.left_out_since.is_some());
    for step in &ran {
        let Ended { name, start_s, seconds, processor_s, counts, .. } = step;
        let tests = counts.passed + counts.failed;
        println!("{name:32} {start_s:8.1} {seconds:8.1} {processor_s:10.1} {tests:7}");
    }
    println!("{:32} {:8} {:8.1} {:10.1}\n", "all", "", run.seconds, processor_s(run));
    for step in &left_out {
        let since = step.left_out_since.as_deref().unwrap_or_default();
        println!("{:32} not run: nothing has changed since {since}", step.name);
    }
    for note in steps.iter().flat_map(|step| &step.notes) {
        println!("{note}");
    }
    let failed: Vec<&Ended> = steps.into_iter().filter(|step| !step.passed).collect();
    if !failed.is_empty() {
        let names: Vec<&str> = failed.iter().map(|step| &*step.name).collect();
        println!("failed steps: {}", names.join(", "));
    }
    let Counts { passed, failed, skipped } = counts(run);
    let mut sums = format!("{passed} passed, {failed} failed");
    if skipped > 0 {
        sums += &format!(", {skipped} skipped");
    }
    if !left_out.is_empty() {
        sums += &format!(", {} steps not run (unchanged; --all runs them)", left_out.len());
    }
    println!("{sums}");
}

/// The sums of all steps. A step that failed without a failed test counts as one.
fn counts(run: &Run) -> Counts {
    let of = |step: &Ended| {
        let failed = step.counts.failed.max(u64::from(!step.passed));
        Counts { failed, ..step.counts }
    };
    run.ended.iter().map(of).fold(Counts::default(), Counts::and)
}

fn processor_s(run: &Run) -> f64 {
    run.ended.iter().map(|step| step.processor_s).sum()
}
