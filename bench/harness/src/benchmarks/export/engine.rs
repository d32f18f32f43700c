//! Databases that hold the rows, and write them when they are asked to.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::Form;
use crate::settings::cores;
use weir_tools::shell::{Outcome, command};

/// A script in `bench` that answers one request per line, see `bench/duckdb/export.py`.
pub(super) struct Engine {
    process: RefCell<Process>,
}

struct Process {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// What a file contains: the number of rows, the sum of the sizes, and the number of distinct
/// paths.
pub(super) type Contents = (u64, String, u64);

impl Engine {
    /// Starts a script with a Python.
    pub(super) fn start(python: &str, script: &str) -> Outcome<Self> {
        let threads = cores()?.to_string();
        let mut command = command(python, &["-B", script, &threads]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (requests, answers) = (child.stdin.take(), child.stdout.take());
        let requests = requests.ok_or("the script has no input")?;
        let answers = BufReader::new(answers.ok_or("the script has no output")?);
        Ok(Self { process: RefCell::new(Process { child, requests, answers }) })
    }

    /// Loads a Parquet file as the table of rows. Returns their number.
    pub(super) fn load(&self, parquet: &str) -> Outcome<u64> {
        let rows = self.ask(&json!({ "load": parquet }))?;
        rows.as_u64().ok_or_else(|| format!("`{rows}` is not a number of rows").into())
    }

    /// Writes the table to a file. Returns the time in seconds.
    pub(super) fn copy(&self, form: Form, to: &str) -> Outcome<f64> {
        seconds(&self.ask(&json!({ "copy": form.name(), "to": to }))?)
    }

    /// Writes the rows of a log to a file. Returns the time in seconds.
    pub(super) fn copy_log(&self, log: &str, form: Form, to: &str) -> Outcome<f64> {
        seconds(&self.ask(&json!({ "log": log, "copy": form.name(), "to": to }))?)
    }

    /// Returns the contents of a file.
    pub(super) fn contents(&self, form: Form, of: &str) -> Outcome<Contents> {
        Ok(serde_json::from_value(self.ask(&json!({ "check": form.name(), "of": of }))?)?)
    }

    fn ask(&self, request: &Value) -> Outcome<Value> {
        let process = &mut *self.process.borrow_mut();
        writeln!(process.requests, "{request}")?;
        let mut answer = String::new();
        process.answers.read_line(&mut answer)?;
        serde_json::from_str(&answer).map_err(|_| format!("no answer to {request}").into())
    }
}

fn seconds(answer: &Value) -> Outcome<f64> {
    answer.as_f64().ok_or_else(|| format!("`{answer}` is not a time").into())
}

impl Drop for Engine {
    fn drop(&mut self) {
        // This fails if the process has already ended.
        let child = &mut self.process.get_mut().child;
        let _ = child.kill();
        let _ = child.wait();
    }
}
