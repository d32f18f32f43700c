//! A step as a process: what starts it, what it prints, how it has ended.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::folder;
use super::inputs::{Digests, Inputs};
use super::programs::Program;
use super::steps::{Kind, Step};
use crate::shell::{Outcome, command};
use crate::summary::Counts;

/// What stands before a step's processor time, in seconds, at the end of its output.
pub(super) const PROCESSOR_TIME: &str = "processor time in seconds: ";

/// Ticks of the times in `/proc` in a second, which every platform of Linux has.
const TICKS_PER_SECOND: f64 = 100.0;

/// A step that has not been started.
pub(super) struct Job {
    pub(super) name: String,
    pub(super) after: &'static [&'static str],
    pub(super) takes_place: bool,
    pub(super) builds: bool,
    pub(super) depends_on: DependsOn,
    /// The digests of its inputs when it was started, if they are known.
    pub(super) digests: Option<Digests>,
}

pub(super) enum DependsOn {
    Inputs(Inputs),
    Program(Program),
}

/// A step that has ended, or has not been started because it is left out or one before it failed.
pub(super) struct Ended {
    pub(super) name: String,
    pub(super) passed: bool,
    /// When it passed with the same inputs, if it is left out for that.
    pub(super) left_out_since: Option<String>,
    /// When it was started, from the start of the run.
    pub(super) start_s: f64,
    pub(super) seconds: f64,
    pub(super) processor_s: f64,
    pub(super) counts: Counts,
    /// Lines that a person should see also if all passed.
    pub(super) notes: Vec<String>,
}

impl Job {
    pub(super) fn of(step: &Step) -> Self {
        let takes_place = step.kind != Kind::Download;
        Self {
            name: step.name.to_owned(),
            after: step.after,
            takes_place,
            builds: step.builds,
            depends_on: DependsOn::Inputs(step.inputs),
            digests: None,
        }
    }

    pub(super) fn of_program(program: Program) -> Self {
        Self {
            name: program.name(),
            after: &[],
            takes_place: true,
            builds: false,
            depends_on: DependsOn::Program(program),
            digests: None,
        }
    }

    /// Runs the process of a step until it ends.
    pub(super) fn end(&self, mut step: Command, run_start: Instant) -> Ended {
        let (start, path) = (Instant::now(), log_path(&self.name));
        let status = File::create(&path)
            .and_then(|log| Ok((log.try_clone()?, log)))
            .and_then(|(copy, log)| step.stdin(Stdio::null()).stdout(copy).stderr(log).status());
        let output = fs::read(&path).unwrap_or_default();
        let mut ended = Ended {
            passed: status.is_ok_and(|status| status.success()),
            start_s: (start - run_start).as_secs_f64(),
            seconds: start.elapsed().as_secs_f64(),
            ..Ended::not_run(self.name.clone())
        };
        String::from_utf8_lossy(&output).lines().for_each(|line| ended.add_line(line));
        ended
    }
}

impl Ended {
    pub(super) fn not_run(name: String) -> Self {
        Self {
            name,
            passed: false,
            left_out_since: None,
            start_s: 0.0,
            seconds: 0.0,
            processor_s: 0.0,
            counts: Counts::default(),
            notes: Vec::new(),
        }
    }

    fn add_line(&mut self, line: &str) {
        self.counts.add_line(line);
        if let Some(seconds) = line.strip_prefix(PROCESSOR_TIME) {
            self.processor_s = seconds.parse().unwrap_or(0.0);
        }
        if line.starts_with("skipped: ") || line.starts_with("note: ") {
            self.notes.push(line.to_owned());
        }
    }
}

/// A command for which no signal is ignored. A shell lets what it starts in the background ignore
/// SIGINT, and then a test that interrupts a program would wait for ever.
pub(super) fn with_default_signals(program: &Path, arguments: &[&str]) -> Command {
    let program = program.to_string_lossy();
    let resets = command("env", &["--default-signal", "true"]).stderr(Stdio::null()).status();
    if !resets.is_ok_and(|status| status.success()) {
        return command(&program, arguments);
    }
    let mut env = command("env", &["--default-signal", &program]);
    env.args(arguments);
    env
}

/// The file of what a step prints.
pub(super) fn log_path(name: &str) -> PathBuf {
    folder().join(name.replace('/', " ")).with_extension("txt")
}

/// The processor time of this process and of those that it has waited for, in seconds.
///
/// # Errors
/// If `/proc` cannot be read.
pub(super) fn processor_time() -> Outcome<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name of the program, in parentheses, may contain blanks.
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/self/stat has no name")?;
    let times = fields.split_whitespace().skip(11).take(4);
    let ticks: f64 = times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    Ok(ticks / TICKS_PER_SECOND)
}
