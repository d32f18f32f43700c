//! Benchmarks of the whole program, beside peers that do the same work. Every answer is checked
//! before its time counts. `docs/performance.md` shows the result of the last recorded run.

mod answer;
mod benchmarks;
mod build;
mod curl;
mod documents;
mod input;
mod load;
mod machine;
mod measure;
mod peers;
mod process;
mod record;
mod settings;
mod statistics;
mod summary;
mod table;

use std::process::ExitCode;
use std::time::Instant;

use benchmarks::{BENCHMARKS, Benchmark};
use machine::Machine;
use record::Record;
use settings::Settings;
use table::Table;
use weir_tools::shell::Outcome;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["docs"] => documents::write(),
        ["docs", "--check"] => documents::check(),
        ref words => Settings::parse(words).and_then(|settings| run(&settings)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the benchmarks that the settings name. A failed one does not stop the others.
fn run(settings: &Settings) -> Outcome {
    let chosen = chosen(settings)?;
    let machine = Machine::current()?;
    let (mut tables, mut failed) = (Vec::new(), Vec::new());
    for benchmark in chosen {
        let start = Instant::now();
        match (benchmark.run)(settings) {
            Ok(measured) => {
                show(settings, &measured);
                tables.extend(measured);
            }
            Err(error) => {
                println!("\n{}: {error}", benchmark.names[0]);
                failed.push(benchmark.names[0]);
            }
        }
        println!("  ({} took {:.1} s)", benchmark.names[0], start.elapsed().as_secs_f64());
    }
    if settings.is_recorded {
        Record::new(machine, machine::versions(), tables)?.write()?;
        documents::write()?;
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("these benchmarks failed: {}", failed.join(", ")).into())
}

/// Prints the tables. The times of a smoke run mean nothing, so it prints only what is missing.
fn show(settings: &Settings, tables: &[Table]) {
    if !settings.is_smoke {
        return tables.iter().for_each(|table| print!("\n{}", table.to_markdown()));
    }
    let notes = tables.iter().flat_map(|table| &table.notes);
    notes.filter(|note| note.starts_with("missing")).for_each(|note| println!("  {note}"));
}

fn chosen(settings: &Settings) -> Outcome<Vec<&'static Benchmark>> {
    let names: Vec<&str> =
        BENCHMARKS.iter().flat_map(|benchmark| benchmark.names).copied().collect();
    if let Some(unknown) = settings.names.iter().find(|name| !names.contains(&name.as_str())) {
        let names = names.join(", ");
        return Err(format!("`{unknown}` is not a benchmark; choose among {names}").into());
    }
    let is_chosen = |benchmark: &&Benchmark| {
        let mut names = settings.names.iter();
        let is_named = names.any(|name| benchmark.names.contains(&name.as_str()));
        let is_skipped = settings.skips_page
            && ["upload", "page"].iter().any(|page| benchmark.names.contains(page));
        is_named || settings.names.is_empty() && !is_skipped
    };
    Ok(BENCHMARKS.iter().filter(is_chosen).collect())
}
