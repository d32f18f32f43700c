//! Runs steps side by side: each as soon as those before it have passed and a place is free.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use super::inputs::{Digests, Files, Inputs};
use super::programs::Program;
use super::record::{self, Record};
use super::steps::{COMPILATION, Chosen, Kind, Step};
use super::{folder, programs};
use crate::shell::{IS_BUILT, Outcome, command};
use crate::summary::Counts;

/// What stands before a step's processor time, in seconds, at the end of its output.
pub(super) const PROCESSOR_TIME: &str = "processor time in seconds: ";

/// Ticks of the times in `/proc` in a second, which every platform of Linux has.
const TICKS_PER_SECOND: f64 = 100.0;

/// A run of steps.
pub(super) struct Run {
    pub(super) start: Instant,
    pub(super) seconds: f64,
    pub(super) ended: Vec<Ended>,
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

/// A step that has not been started.
struct Job {
    name: String,
    after: &'static [&'static str],
    takes_place: bool,
    builds: bool,
    depends_on: DependsOn,
    /// The digests of its inputs when it was started, if they are known.
    digests: Option<Digests>,
}

enum DependsOn {
    Inputs(Inputs),
    Program(Program),
}

struct Pool {
    run: Run,
    waiting: Vec<Job>,
    passed: HashSet<String>,
    /// Steps that are running and take a place.
    places_taken: usize,
    running: usize,
    /// Whether a step that runs cargo is running.
    is_building: bool,
    sender: Sender<(Ended, Job)>,
    /// A copy of this program, because the compilation replaces it.
    xtask: PathBuf,
    variables: [(&'static str, String); 2],
    /// `None` without git: then all steps run, and there is no record.
    files: Option<Files>,
    record: Record,
    /// The steps that have passed, with the digests of their inputs, if these are known.
    passes: Vec<(String, Digests)>,
    leaves_out: bool,
    time: String,
}

/// Runs the steps. A failed one does not stop those that are not after it.
///
/// # Errors
/// If no step can be started.
pub(super) fn run(chosen: &Chosen) -> Outcome<Run> {
    let xtask = folder().join("xtask");
    // What runs is left alone: only the name is replaced.
    let _ = fs::remove_file(&xtask);
    fs::copy(std::env::current_exe()?, &xtask)?;
    let (sender, receiver) = channel();
    let run = Run { start: Instant::now(), seconds: 0.0, ended: Vec::new() };
    let mut pool = Pool {
        run,
        waiting: chosen.steps.iter().map(|step| Job::of(step)).collect(),
        passed: HashSet::new(),
        places_taken: 0,
        running: 0,
        is_building: false,
        sender,
        xtask,
        variables: programs::compiler()?,
        files: Files::read().ok(),
        record: Record::read(),
        passes: Vec::new(),
        leaves_out: chosen.leaves_out,
        time: record::now()?,
    };
    pool.work(&receiver, chosen.has_tests)?;
    pool.write_record()?;
    pool.run.seconds = pool.run.start.elapsed().as_secs_f64();
    Ok(pool.run)
}

impl Pool {
    fn work(&mut self, receiver: &Receiver<(Ended, Job)>, has_tests: bool) -> Outcome {
        self.start_what_can();
        while self.running > 0 {
            let (ended, job) = receiver.recv()?;
            self.running -= 1;
            self.places_taken -= usize::from(job.takes_place);
            self.is_building &= !job.builds;
            if ended.passed {
                self.passed.insert(ended.name.clone());
                if ended.name == COMPILATION && has_tests {
                    self.add_programs()?;
                }
            }
            self.note(&ended, job.digests);
            self.show(&ended);
            self.run.ended.push(ended);
            self.start_what_can();
        }
        for job in std::mem::take(&mut self.waiting) {
            println!("── {}: not run, because a step before it failed", job.name);
            self.run.ended.push(Ended::not_run(job.name));
        }
        Ok(())
    }

    /// Adds the programs of the tests, the largest first: they are likely to take longest.
    fn add_programs(&mut self) -> Outcome {
        let mut programs = programs::all()?;
        programs.sort_by_key(|program| std::cmp::Reverse(program.bytes()));
        self.waiting.extend(programs.into_iter().map(Job::of_program));
        Ok(())
    }

    fn start_what_can(&mut self) {
        let mut at = 0;
        while let Some(job) = self.waiting.get(at) {
            let is_ready = job.after.iter().all(|name| self.passed.contains(*name));
            let has_place = !job.takes_place || self.places_taken < places();
            if !is_ready || !has_place || (job.builds && self.is_building) {
                at += 1;
                continue;
            }
            let mut job = self.waiting.remove(at);
            job.digests = self.digests(&job);
            match self.passed_at(&job) {
                Some(time) => {
                    self.leave_out(job.name, time);
                    // Others may have waited for it.
                    at = 0;
                }
                None => self.start(job),
            }
        }
    }

    fn digests(&mut self, job: &Job) -> Option<Digests> {
        let files = self.files.as_mut()?;
        match &job.depends_on {
            DependsOn::Inputs(inputs) => files.of_step(*inputs),
            DependsOn::Program(program) => Some(files.of_program(program)),
        }
    }

    /// When a step passed with the same inputs, if it may be left out for that.
    fn passed_at(&self, job: &Job) -> Option<String> {
        let digests = job.digests.as_ref().filter(|_| self.leaves_out)?;
        self.record.passed_at(&job.name, digests).map(str::to_owned)
    }

    fn leave_out(&mut self, name: String, since: String) {
        println!("── {name}: not run, nothing has changed since {since}");
        self.passed.insert(name.clone());
        let start_s = self.run.start.elapsed().as_secs_f64();
        let left_out_since = Some(since);
        let passed = true;
        self.run.ended.push(Ended { passed, left_out_since, start_s, ..Ended::not_run(name) });
    }

    /// Notes how a step has ended. One that skipped a test, because a program is missing, runs
    /// again.
    fn note(&mut self, ended: &Ended, digests: Option<Digests>) {
        self.record.forget(&ended.name);
        if let Some(digests) = digests.filter(|_| ended.passed && ended.counts.skipped == 0) {
            self.passes.push((ended.name.clone(), digests));
        }
    }

    /// Adds the passes to the record, unless a file was changed meanwhile: then it is not known
    /// which content the steps have read.
    fn write_record(&mut self) -> Outcome {
        let passes = std::mem::take(&mut self.passes);
        if self.files.as_ref().is_some_and(Files::are_unchanged) {
            passes.into_iter().for_each(|(step, it)| self.record.passed(&step, it, &self.time));
        } else if self.files.is_some() {
            println!("files were changed meanwhile, so every step that ran now runs next time");
        }
        self.record.write()
    }

    fn start(&mut self, job: Job) {
        self.running += 1;
        self.places_taken += usize::from(job.takes_place);
        self.is_building |= job.builds;
        println!("── {}", job.name);
        let mut step = with_default_signals(&self.xtask, &["step", &job.name]);
        step.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if self.passed.contains(COMPILATION) {
            step.env(IS_BUILT, "yes");
        }
        let (sender, run_start) = (self.sender.clone(), self.run.start);
        thread::spawn(move || {
            let ended = job.end(step, run_start);
            // The receiver lives until all have ended.
            let _ = sender.send((ended, job));
        });
    }

    /// Prints how a step has ended, and all that it has printed if it failed.
    fn show(&self, ended: &Ended) {
        let Counts { passed, failed, .. } = ended.counts;
        let verb = if ended.passed { "passed" } else { "FAILED" };
        let tests = match (passed, failed) {
            (0, 0) => String::new(),
            (passed, 0) => format!(", {passed} tests"),
            (passed, failed) => format!(", {passed} tests passed, {failed} failed"),
        };
        if !ended.passed {
            println!(
                "{}",
                fs::read_to_string(log_path(&ended.name)).unwrap_or_default().trim_end()
            );
        }
        println!("── {}: {verb} in {:.1} s{tests}", ended.name, ended.seconds);
        if ended.passed {
            ended.notes.iter().for_each(|note| println!("   {note}"));
        }
        let _ = std::io::stdout().flush();
    }
}

impl Job {
    fn of(step: &Step) -> Self {
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

    fn of_program(program: Program) -> Self {
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
    fn end(&self, mut step: Command, run_start: Instant) -> Ended {
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
    fn not_run(name: String) -> Self {
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
fn with_default_signals(program: &Path, arguments: &[&str]) -> Command {
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
fn log_path(name: &str) -> PathBuf {
    folder().join(name.replace('/', " ")).with_extension("txt")
}

/// How many steps run at a time beside the downloads: more than there are cores, because most of
/// them wait half of their time, for sockets and for other processes.
fn places() -> usize {
    2 * thread::available_parallelism().map_or(1, |cores| cores.get())
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
