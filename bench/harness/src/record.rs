//! The file of a recorded run: machine, versions, every run of every contender, and the goals.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::measure::{Measured, Unit};
use crate::table::{Goal, Table, Threshold};
use weir_tools::shell::{Outcome, command, output_of, root};

/// A recorded run.
#[derive(Debug)]
pub(crate) struct Record {
    /// Its file in `bench/record`, without the extension: date and machine.
    pub(crate) name: String,
    /// The day, as `2026-11-22`.
    pub(crate) date: String,
    pub(crate) machine: Machine,
    /// By program or library.
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) tables: Vec<Table>,
}

impl Record {
    /// A record of today.
    pub(crate) fn new(
        machine: Machine,
        versions: BTreeMap<String, String>,
        tables: Vec<Table>,
    ) -> Outcome<Self> {
        let date = output_of(&mut command("date", &["-u", "+%F"]))?.trim().to_owned();
        let name = format!("{date}-{}", machine.slug());
        Ok(Self { name, date, machine, versions, tables })
    }

    /// Writes the record as JSON and as tables to `bench/record`.
    pub(crate) fn write(&self) -> Outcome {
        let path = folder().join(format!("{}.json", self.name));
        fs::create_dir_all(folder())?;
        fs::write(&path, self.to_json()?)?;
        println!("\nwritten: {}", path.display());
        Ok(())
    }

    /// The newest record in `bench/record`, by its name.
    pub(crate) fn newest() -> Outcome<Self> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(".json").map(str::to_owned));
        }
        let name = names.into_iter().max().ok_or("bench/record has no record")?;
        let text = fs::read_to_string(folder().join(format!("{name}.json")))?;
        Self::from_json(&name, &text).map_err(|error| format!("{name}.json: {error}").into())
    }

    fn to_json(&self) -> Outcome<String> {
        let file = RecordFile {
            date: self.date.clone(),
            machine: self.machine.clone(),
            versions: self.versions.clone(),
            benchmarks: self.tables.iter().map(TableEntry::of).collect(),
        };
        Ok(serde_json::to_string_pretty(&file)? + "\n")
    }

    fn from_json(name: &str, text: &str) -> Result<Self, serde_json::Error> {
        let file: RecordFile = serde_json::from_str(text)?;
        Ok(Self {
            name: name.to_owned(),
            date: file.date,
            machine: file.machine,
            versions: file.versions,
            tables: file.benchmarks.into_iter().map(TableEntry::into_table).collect(),
        })
    }

    /// The table of a benchmark whose title has this part.
    pub(crate) fn table(&self, benchmark: &str, title_part: &str) -> Option<&Table> {
        let mut tables = self.tables.iter();
        tables.find(|table| table.name == benchmark && table.title.contains(title_part))
    }
}

fn folder() -> PathBuf {
    root().join("bench/record")
}

#[derive(Serialize, Deserialize)]
struct RecordFile {
    date: String,
    machine: Machine,
    versions: BTreeMap<String, String>,
    benchmarks: Vec<TableEntry>,
}

#[derive(Serialize, Deserialize)]
struct TableEntry {
    name: String,
    title: String,
    /// Records before 2026-11-23 do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is_compared: Option<bool>,
    rows: Vec<RowEntry>,
    goals: Vec<GoalEntry>,
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct RowEntry {
    name: String,
    unit: String,
    input_bytes: Option<u64>,
    runs: Vec<f64>,
    /// For readers of the file; computed from the runs.
    median: Option<f64>,
    gigabytes_per_second: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct GoalEntry {
    what: String,
    found: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    reached: bool,
}

/// Benchmarks whose rows have nothing to do with one another, for records that do not say so.
const LISTS: [&str; 3] = ["picture", "memory", "stages"];

impl TableEntry {
    fn of(table: &Table) -> Self {
        let rows = table.rows.iter().map(|row| RowEntry {
            name: row.name.clone(),
            unit: row.unit.name().to_owned(),
            input_bytes: row.unit.bytes(),
            runs: row.runs.clone(),
            median: Some(row.median()).filter(|median| median.is_finite()),
            gigabytes_per_second: row.rate().filter(|rate| rate.is_finite()),
        });
        Self {
            name: table.name.clone(),
            title: table.title.clone(),
            is_compared: Some(table.is_compared),
            rows: rows.collect(),
            goals: table.goals.iter().map(GoalEntry::of).collect(),
            notes: table.notes.clone(),
        }
    }

    fn into_table(self) -> Table {
        let is_list = LISTS.contains(&self.name.as_str()) || self.title.contains("query by query");
        let rows = self.rows.into_iter().map(|row| Measured {
            name: row.name,
            unit: Unit::of(&row.unit, row.input_bytes),
            runs: row.runs,
        });
        Table {
            name: self.name,
            title: self.title,
            is_compared: self.is_compared.unwrap_or(!is_list),
            rows: rows.collect(),
            goals: self.goals.into_iter().filter_map(GoalEntry::into_goal).collect(),
            notes: self.notes,
        }
    }
}

impl GoalEntry {
    fn of(goal: &Goal) -> Self {
        let (at_least, at_most) = match goal.threshold {
            Threshold::AtLeast(least) => (Some(least), None),
            Threshold::AtMost(most) => (None, Some(most)),
        };
        let (what, found) = (goal.what.clone(), goal.found);
        Self { what, found, at_least, at_most, reached: goal.is_reached() }
    }

    fn into_goal(self) -> Option<Goal> {
        let at_most = self.at_most.map(Threshold::AtMost);
        let threshold = self.at_least.map(Threshold::AtLeast).or(at_most)?;
        Some(Goal { what: self.what, found: self.found, threshold })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Record;
    use crate::machine::Machine;
    use crate::measure::{Measured, Unit};
    use crate::table::{Table, Threshold};

    fn record() -> Record {
        let row = Measured {
            name: "ours".to_owned(),
            unit: Unit::Seconds { bytes: 1_000_000_000 },
            runs: vec![0.5, 0.25, 1.0],
        };
        let mut table = Table::new("parse", "a log", vec![row]);
        table.add_goal("speed", Some(2.0), Threshold::AtLeast(1.5));
        let machine = Machine {
            cpu: "Some CPU".to_owned(),
            cores: 2,
            kernel: "6.1".to_owned(),
            memory_bytes: 1 << 30,
            load_before: 0.5,
        };
        Record {
            name: "2026-11-23-some-cpu".to_owned(),
            date: "2026-11-23".to_owned(),
            machine,
            versions: BTreeMap::new(),
            tables: vec![table],
        }
    }

    #[test]
    fn a_record_has_every_run_and_goal() {
        let json: serde_json::Value = serde_json::from_str(&record().to_json().unwrap()).unwrap();
        let table = &json["benchmarks"][0];
        assert_eq!(table["rows"][0]["runs"].as_array().map(Vec::len), Some(3));
        assert_eq!(table["rows"][0]["gigabytes_per_second"], 2.0);
        assert_eq!(table["goals"][0]["at_least"], 1.5);
        assert_eq!(table["goals"][0]["reached"], true);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let written = record();
        let read = Record::from_json(&written.name, &written.to_json().unwrap()).unwrap();
        assert_eq!(read.to_json().unwrap(), written.to_json().unwrap());
        assert_eq!(read.tables[0].to_markdown(), written.tables[0].to_markdown());
    }

    #[test]
    fn the_newest_record_of_the_repository_is_read() {
        let record = Record::newest().unwrap();
        let table = record.table("parse", "in the page cache").unwrap();
        assert!(table.row("wc -l").is_some_and(|row| row.rate().is_some()));
    }
}
