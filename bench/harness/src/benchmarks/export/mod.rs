//! Exports of rows in memory and of a log in text form, compared with those of databases.

mod engine;
mod session;

use std::time::Instant;

use crate::build;
use crate::input::{self, Log};
use crate::measure::{Contender, Unit, take_turns};
use crate::peers::{clickhouse, duckdb};
use crate::settings::{Settings, cores, folder, text};
use crate::table::{Table, Threshold, number};
use engine::{Contents, Engine};
use session::Session;
use weir_tools::shell::{Outcome, command, execute, is_installed};

const WEIR: &str = "Weir";
const WEIR_TO_NULL: &str = "Weir, to /dev/null";
const DUCKDB: &str = "DuckDB";
const CLICKHOUSE: &str = "ClickHouse";

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Parquet,
    Csv,
    JsonLines,
}

impl Form {
    const ALL: [Self; 3] = [Self::Parquet, Self::Csv, Self::JsonLines];

    /// Its name in a request to Weir and to the scripts.
    fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }
}

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    build::weir(settings)?;
    if !is_installed("curl") {
        return Err("missing: curl (Debian's package curl)".into());
    }
    let log = input::as_text(&input::combined(settings)?)?;
    let mut notes = Vec::new();
    let database = match duckdb::find(settings) {
        Ok(python) => {
            notes.push(format!("DuckDB {}", duckdb::version(&python).unwrap_or_default()));
            Engine::start(&python, "bench/duckdb/export.py")?
        }
        Err(missing) => return Ok(vec![unchecked(missing)]),
    };
    let bench = Bench { settings, log, database, notes };
    let mut tables = bench.of_rows()?;
    tables.extend(bench.of_log()?);
    Ok(tables)
}

/// The table that replaces all others if no program can check the files.
fn unchecked(missing: String) -> Table {
    let mut table = Table::list("export", "no file can be checked without DuckDB", Vec::new());
    table.notes.push(missing);
    table
}

/// The state that all measurements share.
struct Bench<'a> {
    settings: &'a Settings,
    log: Log,
    /// DuckDB, which is a contender, and checks the files of all.
    database: Engine,
    notes: Vec<String>,
}

impl Bench<'_> {
    /// Rows that are in memory, written to a file.
    fn of_rows(&self) -> Outcome<Vec<Table>> {
        let session = Session::start(self.settings, &self.log.path)?;
        let all = file("rows", Form::Parquet)?;
        session.get(Form::Parquet, &all)?;
        let rows = self.database.load(&all)?;
        let expected = self.database.contents(Form::Parquet, &all)?;
        let mut notes = self.notes.clone();
        let other = match clickhouse::find(self.settings) {
            Ok(python) => {
                notes.push(format!("chDB {}", clickhouse::version(&python).unwrap_or_default()));
                let engine = Engine::start(&python, "bench/clickhouse/export.py")?;
                engine.load(&all)?;
                Some(engine)
            }
            Err(missing) => {
                notes.push(missing);
                None
            }
        };
        let tables = Form::ALL.into_iter().map(|form| {
            let mut contenders = vec![
                self.contender(WEIR, form, &expected, |to| session.get(form, to)),
                Contender::new(WEIR_TO_NULL, self.settings.runs, || session.get(form, "/dev/null")),
                self.contender(DUCKDB, form, &expected, |to| self.database.copy(form, to)),
            ];
            if let Some(other) = &other {
                let copy = |to: &str| other.copy(form, to);
                contenders.push(self.contender(CLICKHOUSE, form, &expected, copy));
            }
            let title = format!(
                "{rows} rows in memory as {}, of a combined log of {}, {} cores",
                form.name(),
                self.log.size_text(),
                cores()?
            );
            self.table(title, rows, contenders, notes.clone())
        });
        tables.collect()
    }

    /// A log, from its text to a file.
    fn of_log(&self) -> Outcome<Vec<Table>> {
        let all = file("rows", Form::Parquet)?;
        self.export(Form::Parquet, &all)?;
        let expected = self.database.contents(Form::Parquet, &all)?;
        let tables = Form::ALL.into_iter().map(|form| {
            let copy = |to: &str| self.database.copy_log(&self.log.path, form, to);
            let contenders = vec![
                self.contender(WEIR, form, &expected, |to| self.export(form, to)),
                self.contender(DUCKDB, form, &expected, copy),
            ];
            let title = format!(
                "combined log of {} as {}, from its text, {} cores",
                self.log.size_text(),
                form.name(),
                cores()?
            );
            self.table(title, expected.0, contenders, self.notes.clone())
        });
        tables.collect()
    }

    /// Runs `weir export`. Returns the time in seconds.
    fn export(&self, form: Form, to: &str) -> Outcome<f64> {
        let weir = self.settings.weir();
        let arguments = ["export", "--to", form.name(), "--output", to, &self.log.path];
        let mut command = command(&weir, &arguments);
        self.log.touch()?;
        let start = Instant::now();
        execute(command.stderr(std::process::Stdio::null()))?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// A contender that writes a file, which is then checked.
    fn contender<'a>(
        &'a self,
        name: &'static str,
        form: Form,
        expected: &'a Contents,
        write: impl Fn(&str) -> Outcome<f64> + 'a,
    ) -> Contender<'a> {
        Contender::new(name, self.settings.runs, move || {
            let to = file(&name.to_ascii_lowercase(), form)?;
            let seconds = write(&to)?;
            let contents = self.database.contents(form, &to)?;
            if contents != *expected {
                return Err(format!("the file has {contents:?}, not {expected:?}").into());
            }
            Ok(seconds)
        })
    }

    fn table(
        &self,
        title: String,
        rows: u64,
        contenders: Vec<Contender<'_>>,
        notes: Vec<String>,
    ) -> Outcome<Table> {
        let measured = take_turns(contenders, Unit::Seconds { bytes: self.log.bytes })?;
        let mut table = Table::new("export", title, measured);
        table.add_goal("rate by DuckDB", table.rate_ratio(WEIR, DUCKDB), Threshold::AtLeast(1.0));
        let rates = table.rows.iter().map(|row| {
            format!(
                "{}: {} million rows a second",
                row.name,
                number(rows as f64 / row.median() / 1e6)
            )
        });
        let rates: Vec<String> = rates.collect();
        table.notes = [notes, rates].concat();
        Ok(table)
    }
}

/// The path of a file that every run overwrites.
fn file(name: &str, form: Form) -> Outcome<String> {
    Ok(text(&folder()?.join(format!("export-{name}.{}", form.name()))))
}
