//! The benchmarks of single stages, which are in the crates.

use std::process::Stdio;

use crate::measure::{Measured, Unit};
use crate::settings::Settings;
use crate::table::Table;
use weir_tools::shell::{FEATURES, Outcome, command, execute, is_built, output_of};

/// The packages, and the benchmark that each has.
const BENCHES: [(&str, &str); 3] =
    [("weir-core", "stages"), ("weir-ingest", "streams"), ("weir-net", "receiving")];

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    if settings.is_smoke {
        return smoke();
    }
    let mut tables = Vec::new();
    for (package, bench) in BENCHES {
        let arguments = ["bench", "--quiet", "--workspace", "--bench", bench];
        let printed = output_of(&mut command("cargo", &arguments))?;
        let rows = rows(&printed);
        if rows.is_empty() {
            return Err(format!("the output of {bench} has no rates").into());
        }
        let mut table = Table::list("stages", format!("{package}, one stage alone"), rows);
        table.notes.push("ten to a hundred samples: slowest, median, fastest".to_owned());
        tables.push(table);
    }
    Ok(tables)
}

/// Runs each benchmark once, in the build of the tests.
fn smoke() -> Outcome<Vec<Table>> {
    let mut cargo = command("cargo", &["test", "--quiet", "--workspace"]);
    if is_built() {
        cargo.args(FEATURES);
    }
    for (_, bench) in BENCHES {
        cargo.args(["--bench", bench]);
    }
    execute(cargo.args(["--", "--test"]).stdout(Stdio::null()))?;
    Ok(Vec::new())
}

/// Reads the tree that divan prints. The line after a name has its rates: those of the fastest, the
/// slowest and the median sample come first.
fn rows(printed: &str) -> Vec<Measured> {
    let mut rows = Vec::new();
    // The names from the root to the present one, with their columns of text.
    let mut path: Vec<(usize, &str)> = Vec::new();
    for line in printed.lines() {
        if let Some((before, rest)) = line.split_once("─ ") {
            let column = before.chars().count();
            path.retain(|(parent, _)| *parent < column);
            path.push((column, rest.split("  ").next().unwrap_or(rest)));
        } else if let [fastest, slowest, median, ..] = rates(line)[..] {
            let names: Vec<&str> = path.iter().map(|(_, name)| *name).collect();
            rows.push(Measured {
                name: names.join(", "),
                unit: Unit::GigabytesPerSecond,
                runs: vec![slowest, median, fastest],
            });
        }
    }
    rows
}

/// The rates in a line, in GB/s.
fn rates(line: &str) -> Vec<f64> {
    let cells = line.split('│').map(|cell| cell.split_whitespace().collect::<Vec<_>>());
    cells
        .filter_map(|words| {
            let [number, unit] = words[..] else { return None };
            let factor = match unit {
                "B/s" => 1e-9,
                "KB/s" => 1e-6,
                "MB/s" => 1e-3,
                "GB/s" => 1.0,
                "TB/s" => 1e3,
                _ => return None,
            };
            Some(number.parse::<f64>().ok()? * factor)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn rates_are_read_out_of_the_tree() {
        let printed = "\
stages                 fastest       │ slowest       │ median        │ mean          │ samples
├─ aggregates                        │               │               │               │
│  ├─ method != GET    622.6 µs      │ 2.022 ms      │ 645.7 µs      │ 726.9 µs      │ 20
│  │                   26.94 GB/s    │ 8.294 GB/s    │ 25.98 GB/s    │ 23.07 GB/s    │
│  ╰─ none             1.67 ms       │ 1.985 ms      │ 1.694 ms      │ 1.713 ms      │ 20
│                      10.04 GB/s    │ 8.449 GB/s    │ 9.903 GB/s    │ 9.792 GB/s    │
╰─ lines               1.067 ms      │ 1.326 ms      │ 1.084 ms      │ 1.104 ms      │ 100
                       900 MB/s      │ 12.64 MB/s    │ 15.47 MB/s    │ 15.19 MB/s    │
";
        let rows = rows(printed);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["aggregates, method != GET", "aggregates, none", "lines"]);
        assert_eq!(rows[0].median(), 25.98);
        assert_eq!(rows[1].runs, [8.449, 9.903, 10.04]);
        assert!((rows[2].runs[2] - 0.9).abs() < 1e-9, "{:?}", rows[2].runs);
    }
}
