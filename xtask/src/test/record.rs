//! What the steps depended on when they passed last: `target/test-record.json`. A step whose inputs
//! are still the same can be left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::inputs::Digests;
use crate::shell::{Outcome, command, output_of, root, target_folder};

/// The last pass of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pass {
    inputs: Digests,
    /// When the run began.
    at: String,
}

/// The last passes of the steps, by their names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    passes: BTreeMap<String, Pass>,
}

impl Record {
    /// Reads the record of the build folder. It is empty if there is none, or none that can be read.
    pub(super) fn read() -> Self {
        let text = fs::read(path()).unwrap_or_default();
        serde_json::from_slice(&text).map_or_else(|_| Self::default(), |json| Self::of(&json))
    }

    /// When a step passed with these inputs, if it did so when it ran last.
    pub(super) fn passed_at(&self, step: &str, inputs: &Digests) -> Option<&str> {
        let pass = self.passes.get(step)?;
        (pass.inputs == *inputs).then_some(&*pass.at)
    }

    /// Notes a pass.
    pub(super) fn passed(&mut self, step: &str, inputs: Digests, at: &str) {
        self.passes.insert(step.to_owned(), Pass { inputs, at: at.to_owned() });
    }

    /// Forgets the last pass of a step, which has been run again.
    pub(super) fn forget(&mut self, step: &str) {
        self.passes.remove(step);
    }

    /// Replaces the record of the build folder.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn write(&self) -> Outcome {
        let new = path().with_extension("new");
        fs::write(&new, format!("{:#}\n", self.as_json()))?;
        fs::rename(new, path())?;
        Ok(())
    }

    fn as_json(&self) -> Value {
        let pass = |pass: &Pass| json!({ "passed_at": pass.at, "inputs": pass.inputs });
        let steps = self.passes.iter().map(|(step, it)| (step.clone(), pass(it)));
        Value::Object(steps.collect())
    }

    fn of(json: &Value) -> Self {
        let pass = |pass: &Value| {
            let inputs = pass["inputs"].as_object()?.iter();
            let inputs = inputs.map(|(name, it)| Some((name.clone(), it.as_str()?.to_owned())));
            Some(Pass {
                inputs: inputs.collect::<Option<_>>()?,
                at: pass["passed_at"].as_str()?.to_owned(),
            })
        };
        let steps = json.as_object().into_iter().flatten();
        let passes = steps.filter_map(|(step, it)| Some((step.clone(), pass(it)?)));
        Self { passes: passes.collect() }
    }
}

/// The present time for people.
///
/// # Errors
/// If `date` cannot be started.
pub(super) fn now() -> Outcome<String> {
    Ok(output_of(&mut command("date", &["--utc", "+%Y-%m-%d %H:%M:%S UTC"]))?.trim().to_owned())
}

fn path() -> PathBuf {
    root().join(target_folder()).join("test-record.json")
}

#[cfg(test)]
mod tests {
    use super::{Digests, Record};

    const TIME: &str = "2026-11-26 19:00:00 UTC";

    fn inputs(files: &str, programs: &str) -> Digests {
        let digest = |(name, digest): (&str, &str)| (name.to_owned(), digest.to_owned());
        [("files", files), ("programs", programs)].map(digest).into()
    }

    #[test]
    fn a_step_is_left_out_only_while_every_input_is_the_same() {
        let mut record = Record::default();
        assert_eq!(record.passed_at("nginx", &inputs("a", "b")), None, "it never ran");
        record.passed("nginx", inputs("a", "b"), TIME);
        assert_eq!(record.passed_at("nginx", &inputs("a", "b")), Some(TIME));
        assert_eq!(record.passed_at("nginx", &inputs("A", "b")), None, "a file changed");
        assert_eq!(record.passed_at("nginx", &inputs("a", "B")), None, "a program changed");
        let mut more = inputs("a", "b");
        more.insert("machine".to_owned(), "c".to_owned());
        assert_eq!(record.passed_at("nginx", &more), None, "an input is new");
        assert_eq!(record.passed_at("DuckDB", &inputs("a", "b")), None, "another step");
    }

    #[test]
    fn a_step_runs_after_it_failed_whatever_passed_before() {
        let mut record = Record::default();
        record.passed("nginx", inputs("a", "b"), TIME);
        record.forget("nginx");
        assert_eq!(record.passed_at("nginx", &inputs("a", "b")), None);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut record = Record::default();
        record.passed("nginx", inputs("a", "b"), TIME);
        assert_eq!(Record::of(&record.as_json()), record);
    }

    #[test]
    fn a_damaged_record_leaves_nothing_out() {
        for text in ["[]", "{\"nginx\": 1}", "{\"nginx\": {\"inputs\": {\"files\": 1}}}"] {
            assert_eq!(
                Record::of(&serde_json::from_str(text).unwrap()),
                Record::default(),
                "{text}"
            );
        }
    }
}
