//! Jobs for the Python programs of the testkit.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use weir_testkit::fixtures;

/// Jobs for a program that reads a line of JSON for each, and prints a line of JSON for each.
#[derive(Debug)]
pub(crate) struct PythonJobs {
    program: &'static str,
    arguments: Vec<&'static str>,
    python: &'static str,
    jobs: Vec<(String, Value)>,
}

impl PythonJobs {
    /// No jobs for the program of this name. `python` is the variable of the environment with the
    /// Python that has its modules.
    pub(crate) fn new(program: &'static str, python: &'static str) -> Self {
        Self { program, arguments: Vec::new(), python, jobs: Vec::new() }
    }

    /// [`Self::new`] for a program with an argument.
    pub(crate) fn with_argument(
        program: &'static str,
        argument: &'static str,
        python: &'static str,
    ) -> Self {
        Self { arguments: vec![argument], ..Self::new(program, python) }
    }

    /// Adds a job.
    pub(crate) fn push(&mut self, name: String, job: Value) {
        self.jobs.push((name, job));
    }

    /// The name and the result of each job.
    pub(crate) fn run(self) -> Vec<(String, Value)> {
        let python = std::env::var_os(self.python).unwrap_or_else(|| "python3".into());
        let mut child = Command::new(python)
            .arg(fixtures::root().join("../oracle").join(self.program))
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python runs");
        let mut input = child.stdin.take().expect("a pipe");
        let text: String = self.jobs.iter().map(|(_, job)| format!("{job}\n")).collect();
        let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
        let output = child.wait_with_output().expect("it ends");
        writer.join().expect("it ends").expect("it is written");
        let text = String::from_utf8(output.stdout).expect("it is JSON");
        let results = text.lines().map(|line| serde_json::from_str(line).expect("it is JSON"));
        let results: Vec<Value> = results.collect();
        assert_eq!(results.len(), self.jobs.len(), "{} did all jobs", self.program);
        self.jobs.into_iter().map(|(name, _)| name).zip(results).collect()
    }
}

/// All files in the folders of real logs.
pub(crate) fn real_logs() -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![fixtures::root()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
