//! Benchmarks of the whole, beside others that do the same. Every answer is checked before its
//! time counts. `docs/performance.md` has what came of it.

mod answer;
mod build;
mod duckdb;
mod feed;
mod filter;
mod goaccess;
mod grep;
mod input;
mod machine;
mod measure;
mod memory;
mod parse;
mod queries;
mod receive;
mod record;
mod report;
mod scaling;
mod settings;
mod stages;
mod statistics;
mod table;
mod upload;

use std::time::Instant;

use crate::shell::Outcome;
use machine::Machine;
use settings::Settings;
use table::Table;

/// One of the benchmarks.
struct Benchmark {
    /// What it measures; any of these names runs it.
    names: &'static [&'static str],
    run: fn(&Settings) -> Outcome<Vec<Table>>,
}

/// All of them, in the order in which they run.
const BENCHMARKS: [Benchmark; 10] = [
    Benchmark { names: &["parse"], run: parse::run },
    Benchmark { names: &["scaling"], run: scaling::run },
    Benchmark { names: &["report"], run: report::run },
    Benchmark { names: &["grep"], run: grep::run },
    Benchmark { names: &["upload", "picture"], run: upload::run },
    Benchmark { names: &["receive"], run: receive::run },
    Benchmark { names: &["feed"], run: feed::run },
    Benchmark { names: &["filter"], run: filter::run },
    Benchmark { names: &["memory"], run: memory::run },
    Benchmark { names: &["stages"], run: stages::run },
];

/// Sees that all run and answer rightly, with the page and the browsers or without.
pub(crate) fn smoke(with_page: bool) -> Outcome {
    let names = BENCHMARKS.iter().map(|benchmark| benchmark.names[0]);
    let mut arguments: Vec<&str> = names.filter(|name| with_page || *name != "upload").collect();
    arguments.push("--smoke");
    run(&arguments)
}

/// Runs those that the arguments name, or all.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let settings = Settings::parse(arguments)?;
    let chosen = chosen(&settings)?;
    let machine = Machine::here()?;
    let (mut tables, mut failed) = (Vec::new(), Vec::new());
    for benchmark in chosen {
        let start = Instant::now();
        match (benchmark.run)(&settings) {
            Ok(found) => {
                show(&settings, &found);
                tables.extend(found);
            }
            Err(error) => {
                println!("\n{}: {error}", benchmark.names[0]);
                failed.push(benchmark.names[0]);
            }
        }
        println!("  ({} took {:.1} s)", benchmark.names[0], start.elapsed().as_secs_f64());
    }
    if settings.record {
        record::write(&machine, &machine::versions(), &tables)?;
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("these benchmarks failed: {}", failed.join(", ")).into())
}

/// A smoke run's times would be misleading; it only says what is missing.
fn show(settings: &Settings, tables: &[Table]) {
    if !settings.smoke {
        return tables.iter().for_each(|table| print!("{}", table.to_text()));
    }
    let notes = tables.iter().flat_map(|table| &table.notes);
    notes.filter(|note| note.starts_with("missing")).for_each(|note| println!("  {note}"));
}

fn chosen(settings: &Settings) -> Outcome<Vec<&'static Benchmark>> {
    let names: Vec<&str> =
        BENCHMARKS.iter().flat_map(|benchmark| benchmark.names).copied().collect();
    if let Some(unknown) = settings.names.iter().find(|name| !names.contains(&name.as_str())) {
        let names = names.join(", ");
        return Err(format!("there is no benchmark {unknown}; there are {names}").into());
    }
    let is_chosen = |benchmark: &&Benchmark| {
        let mut chosen = settings.names.iter();
        settings.names.is_empty() || chosen.any(|name| benchmark.names.contains(&name.as_str()))
    };
    Ok(BENCHMARKS.iter().filter(is_chosen).collect())
}
