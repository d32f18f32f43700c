//! The file of a recorded run: machine, versions, every run of every contender, and the goals.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::table::Table;
use weir_tools::shell::{Outcome, command, output_of, root};

/// A recorded run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The day, as `2026-11-22`.
    pub(crate) date: String,
    pub(crate) machine: Machine,
    /// By program or library.
    pub(crate) versions: BTreeMap<String, String>,
    #[serde(rename = "benchmarks")]
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
        Ok(Self { date, machine, versions, tables })
    }

    /// Its file in `bench/record`, without the extension.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.date, self.machine.slug())
    }

    /// Writes the record to `bench/record`.
    pub(crate) fn write(&self) -> Outcome {
        let path = folder().join(format!("{}.json", self.name()));
        fs::create_dir_all(folder())?;
        fs::write(&path, serde_json::to_string_pretty(self)? + "\n")?;
        println!("\nwritten: {}", path.display());
        Ok(())
    }

    /// The newest record in `bench/record`.
    pub(crate) fn newest() -> Outcome<Self> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            names.extend(name.ends_with(".json").then_some(name));
        }
        let name = names.into_iter().max().ok_or("bench/record has no record")?;
        let text = fs::read_to_string(folder().join(&name))?;
        serde_json::from_str(&text).map_err(|error| format!("{name}: {error}").into())
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Record;
    use crate::machine::Machine;
    use crate::measure::{Measured, Unit};
    use crate::table::{Table, Threshold};

    fn record() -> Record {
        let unit = Unit::Seconds { bytes: 1_000_000_000 };
        let row = Measured { name: "ours".to_owned(), unit, runs: vec![0.5, 0.25, 1.0] };
        let mut table = Table::new("parse", "a log", vec![row]);
        table.add_goal("speed", Some(2.0), Threshold::AtLeast(1.5));
        let machine = Machine {
            cpu: "Some CPU".to_owned(),
            cores: 2,
            kernel: "6.1".to_owned(),
            memory_bytes: 1 << 30,
            load_before: 0.5,
        };
        let date = "2026-11-23".to_owned();
        Record { date, machine, versions: BTreeMap::new(), tables: vec![table] }
    }

    #[test]
    fn a_record_has_every_run_and_goal() {
        let json = serde_json::to_value(record()).unwrap();
        let table = &json["benchmarks"][0];
        assert_eq!(table["rows"][0]["unit"], "s");
        assert_eq!(table["rows"][0]["input_bytes"], 1_000_000_000);
        assert_eq!(table["rows"][0]["runs"].as_array().map(Vec::len), Some(3));
        assert_eq!(table["goals"][0]["at_least"], 1.5);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let written = serde_json::to_string(&record()).unwrap();
        let read: Record = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), written);
        assert_eq!(read.name(), "2026-11-23-some-cpu-2-cores");
    }

    #[test]
    fn the_newest_record_of_the_repository_is_read() {
        let record = Record::newest().unwrap();
        let table = record.table("parse", "in the page cache").unwrap();
        assert!(table.row("wc -l").is_some_and(|row| row.rate().is_some()));
    }
}
