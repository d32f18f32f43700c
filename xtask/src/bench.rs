//! Benchmarks of the whole command. Every answer is checked before its time counts.

use std::path::Path;
use std::time::Instant;

use crate::shell::{Outcome, command, execute, output_of, target_folder};

/// Runs of each contender; they take turns, so that a slow moment hits all.
const RUNS: usize = 5;

/// What a gigabyte of combined log comes to, in mebibytes.
const SIZE_MEBIBYTES: u64 = 1_000;

pub(crate) fn run(arguments: &[&str]) -> Outcome {
    match arguments {
        ["parse"] => parse(SIZE_MEBIBYTES),
        ["parse", "--size", size] => parse(size.parse()?),
        _ => Err("usage: cargo xtask bench parse [--size MEBIBYTES]".into()),
    }
}

/// `weir report` of a generated log beside `wc -l` of the same file.
fn parse(mebibytes: u64) -> Outcome {
    run_release_build()?;
    let folder = target_folder().join("bench");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join(format!("combined-{mebibytes}.log"));
    let weir = target_folder().join("release/weir");
    let weir = weir.to_string_lossy().into_owned();
    let path = file.to_string_lossy().into_owned();
    if !file.exists() {
        let size = format!("{mebibytes}MiB");
        execute(&mut command(&weir, &["demo", "--size", &size, "--write", &path]))?;
    }
    check_answers(&weir, &folder)?;
    let bytes = std::fs::metadata(&file)?.len();
    let cores = std::thread::available_parallelism()?.get().to_string();
    let contenders: [(&str, Vec<&str>); 3] = [
        ("wc -l", vec!["wc", "-l", &path]),
        ("weir report, 1 job", vec![&weir, "report", "--json", "-j", "1", &path]),
        ("weir report, every core", vec![&weir, "report", "--json", "-j", &cores, &path]),
    ];
    let lines = line_count(&output_of(&mut command("wc", &["-l", &path]))?)?;
    let mut times = vec![Vec::new(); contenders.len()];
    for _ in 0..RUNS {
        for ((_, words), times) in contenders.iter().zip(&mut times) {
            let start = Instant::now();
            let output = output_of(&mut command(words[0], &words[1..]))?;
            times.push(start.elapsed().as_secs_f64());
            if line_count(&output)? != lines {
                return Err(format!("`{}` counts other lines than wc does", words.join(" ")).into());
            }
        }
    }
    print_table(&contenders.map(|(name, _)| name), &mut times, bytes);
    Ok(())
}

fn run_release_build() -> Outcome {
    execute(&mut command("cargo", &["build", "--release", "--quiet", "--package", "weir"]))
}

/// Holds a smaller log's report against the Python oracle, all numbers of it.
fn check_answers(weir: &str, folder: &Path) -> Outcome {
    let small = folder.join("combined-small.log");
    let path = small.to_string_lossy().into_owned();
    execute(&mut command(weir, &["demo", "--size", "8MiB", "--seed", "2", "--write", &path]))?;
    let report = output_of(&mut command(weir, &["report", "--json", "--top", "10", &path]))?;
    let step = number_after(&report, "\"step_s\":").ok_or("the report has no histogram")?;
    let script = "crates/testkit/oracle/report.py";
    let step = step.to_string();
    let oracle =
        output_of(&mut command("python3", &[script, "--top", "10", "--step", &step, &path]))?;
    let compare = "\
import json, sys
ours, oracle = (json.load(open(path)) for path in sys.argv[1:])
def plain(value):
    if isinstance(value, dict):
        drop = ('groups', 'value_hex', 'zone')
        return {key: plain(part) for key, part in value.items() if key not in drop}
    return [plain(part) for part in value] if isinstance(value, list) else value
wrong = [key for key in oracle if plain(oracle[key]) != plain(ours.get(key))]
sys.exit('differs from the oracle in ' + ', '.join(wrong) if wrong else 0)";
    let (ours, theirs) = (folder.join("ours.json"), folder.join("oracle.json"));
    std::fs::write(&ours, report)?;
    std::fs::write(&theirs, oracle)?;
    execute(command("python3", &["-c", compare]).args([ours, theirs]))?;
    println!("the report of 8 MiB agrees with the oracle in every number");
    Ok(())
}

/// The number of lines, out of what `wc -l` or `weir report --json` printed.
fn line_count(output: &str) -> Outcome<u64> {
    if let Some(lines) = number_after(output, "\"lines\":") {
        return Ok(lines);
    }
    let first = output.split_whitespace().next().ok_or("nothing was printed")?;
    Ok(first.parse()?)
}

fn number_after(text: &str, key: &str) -> Option<u64> {
    let rest = text[text.find(key)? + key.len()..].trim_start();
    let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn print_table(names: &[&str], times: &mut [Vec<f64>], bytes: u64) {
    println!(
        "\n{:<26} {:>9} {:>9} {:>9} {:>8} {:>9}",
        "", "min s", "median s", "max s", "GB/s", "x wc -l"
    );
    let mut reference = None;
    for (name, times) in names.iter().zip(times) {
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        let reference = *reference.get_or_insert(median);
        println!(
            "{name:<26} {:>9.3} {median:>9.3} {:>9.3} {:>8.2} {:>9.2}",
            times[0],
            times[times.len() - 1],
            bytes as f64 / median / 1e9,
            median / reference,
        );
    }
}
