//! Runs steps side by side: each as soon as those before it have passed and a place is free.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use super::inputs::{Digests, Files};
use super::job::{DependsOn, Ended, Job, log_path, with_default_signals};
use super::record::{self, Record};
use super::steps::{COMPILATION, Chosen};
use super::{folder, programs};
use crate::shell::{IS_BUILT, Outcome};
use crate::summary::Counts;

/// A run of steps.
pub(super) struct Run {
    pub(super) start: Instant,
    pub(super) seconds: f64,
    pub(super) ended: Vec<Ended>,
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

    /// Writes the record, with the passes unless a file was changed meanwhile: then it is not known
    /// which content the steps have read.
    fn write_record(&mut self) -> Outcome {
        if self.files.as_ref().is_some_and(Files::are_unchanged) {
            self.record_passes();
        } else if self.files.is_some() {
            println!("files were changed meanwhile, so every step that ran now runs next time");
        }
        self.record.write()
    }

    fn record_passes(&mut self) {
        let passes = std::mem::take(&mut self.passes);
        passes.into_iter().for_each(|(step, it)| self.record.passed(&step, it, &self.time));
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

/// How many steps run at a time beside the downloads: more than there are cores, because most of
/// them wait half of their time, for sockets and for other processes.
fn places() -> usize {
    2 * thread::available_parallelism().map_or(1, |cores| cores.get())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::PathBuf;
    use std::sync::mpsc::channel;
    use std::time::Instant;

    use super::super::inputs::{Files, Inputs};
    use super::super::job::{DependsOn, Ended, Job};
    use super::super::record::Record;
    use super::{Pool, Run};
    use crate::summary::Counts;

    const TREE: [(&str, &str); 2] = [("README.md", "a"), ("web/main.ts", "b")];

    /// A pool over these files, after a run of a step with these inputs, which ended like this.
    fn after(files: &[(&str, &str)], inputs: Inputs, how: fn(Ended) -> Ended) -> Pool {
        let mut pool = Pool {
            run: Run { start: Instant::now(), seconds: 0.0, ended: Vec::new() },
            waiting: Vec::new(),
            passed: HashSet::new(),
            places_taken: 0,
            running: 0,
            is_building: false,
            sender: channel().0,
            xtask: PathBuf::new(),
            variables: [("A", String::new()), ("B", String::new())],
            files: Some(Files::of(files)),
            record: Record::default(),
            passes: Vec::new(),
            leaves_out: true,
            time: "today".to_owned(),
        };
        let digests = pool.digests(&job(inputs));
        pool.note(&how(Ended { passed: true, ..Ended::not_run("it".to_owned()) }), digests);
        pool.record_passes();
        pool
    }

    fn job(inputs: Inputs) -> Job {
        Job {
            name: "it".to_owned(),
            after: &[],
            takes_place: true,
            builds: false,
            depends_on: DependsOn::Inputs(inputs),
            digests: None,
        }
    }

    /// Whether the next run leaves the step out, over these files.
    fn is_left_out(pool: &mut Pool, files: &[(&str, &str)], inputs: Inputs) -> bool {
        pool.files = Some(Files::of(files));
        let mut job = job(inputs);
        job.digests = pool.digests(&job);
        pool.passed_at(&job).is_some()
    }

    #[test]
    fn a_step_that_passed_runs_again_when_an_input_changes() {
        let mut pool = after(&TREE, Inputs::Tree, |ended| ended);
        assert!(is_left_out(&mut pool, &TREE, Inputs::Tree));
        for at in 0..TREE.len() {
            let mut changed = TREE;
            changed[at].1 = "changed";
            assert!(!is_left_out(&mut pool, &changed, Inputs::Tree), "{}", TREE[at].0);
        }
        assert!(is_left_out(&mut pool, &TREE, Inputs::Tree), "as it was");
        pool.leaves_out = false;
        assert!(!is_left_out(&mut pool, &TREE, Inputs::Tree), "with --all");
    }

    #[test]
    fn a_step_that_failed_or_skipped_a_test_or_has_unknown_inputs_runs_again() {
        let failed = |ended| Ended { passed: false, ..ended };
        let skipped = |ended| Ended { counts: Counts { skipped: 1, ..Counts::default() }, ..ended };
        for how in [failed as fn(Ended) -> Ended, skipped] {
            let mut pool = after(&TREE, Inputs::Tree, how);
            assert!(!is_left_out(&mut pool, &TREE, Inputs::Tree));
        }
        let mut pool = after(&TREE, Inputs::Outside, |ended| ended);
        assert!(!is_left_out(&mut pool, &TREE, Inputs::Outside));
        let mut pool = after(&TREE, Inputs::Tree, |ended| ended);
        pool.files = None;
        let mut job = job(Inputs::Tree);
        job.digests = pool.digests(&job);
        assert!(pool.passed_at(&job).is_none(), "without git");
    }
}
