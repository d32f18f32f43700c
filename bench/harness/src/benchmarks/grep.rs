//! `weir grep` and `weir count` beside ripgrep, grep, zgrep and wc: on a plain file, on packed
//! ones, and on one with a run of NULs.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::memory::peak_bytes;
use crate::build;
use crate::input::{self, Log};
use crate::measure::{Contender, Measured, Unit, take_turns};
use crate::settings::{Settings, cores};
use crate::table::{Table, Threshold};
use weir_tools::packages;
use weir_tools::shell::{Outcome, command, execute, is_installed};

/// Packed files that are searched at once.
const PACKED_FILES: u64 = 4;

/// The log with a run of NULs is so much larger than the others: 1.5 GiB by a gigabyte, as in
/// the story that is told of it.
const NUL_RUN_PART: (u64, u64) = (3, 2);

/// How often a process is asked for its memory.
const PEAK_EVERY: Duration = Duration::from_millis(2);

/// Files of `for line in f` in Python, whose lines are counted.
const PYTHON: &str = "import sys\nprint(sum(1 for line in open(sys.argv[1], 'rb')))";

/// A search, with the arguments that it has in every program.
struct Case {
    name: &'static str,
    arguments: Vec<String>,
}

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    build::weir(settings)?;
    let log = input::combined(settings)?;
    let mut tables = plain(settings, &log)?;
    tables.push(count(settings, &log)?);
    tables.extend(packed(settings)?);
    tables.extend(nul_run(settings)?);
    Ok(tables)
}

fn find_ripgrep(settings: &Settings) -> Result<(), String> {
    if !is_installed("rg") && !settings.is_smoke {
        packages::install(&["ripgrep"]).map_err(|error| format!("missing: {error}"))?;
    }
    is_installed("rg")
        .then_some(())
        .ok_or_else(|| "missing: rg (Debian's package ripgrep)".to_owned())
}

/// A run of a command to its end.
struct Run {
    seconds: f64,
    /// The length of what was printed, and its beginning.
    bytes: u64,
    printed: String,
    /// The most memory that it had, in MiB.
    peak_mebibytes: f64,
}

/// Runs a command, reads what it prints, and looks at its memory meanwhile. Searches end with
/// 1 where nothing is found.
fn measured(mut command: Command) -> Outcome<Run> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut output = child.stdout.take().ok_or("there is no output")?;
    let id = child.id();
    let reading = std::thread::spawn(move || -> std::io::Result<(u64, Vec<u8>)> {
        let (mut bytes, mut first) = (0, Vec::new());
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = output.read(&mut buffer)?;
            if length == 0 {
                return Ok((bytes, first));
            }
            bytes += length as u64;
            first.extend_from_slice(&buffer[..length.min(4096 - first.len().min(4096))]);
        }
    });
    let mut peak = 0;
    let status = loop {
        // At its end a process has no memory to tell of.
        peak = peak_bytes(id).map_or(peak, |bytes| peak.max(bytes));
        if reading.is_finished() {
            break child.wait()?;
        }
        std::thread::sleep(PEAK_EVERY);
    };
    let seconds = start.elapsed().as_secs_f64();
    let (bytes, first) = reading.join().map_err(|_| "the output could not be read")??;
    if !status.success() && status.code() != Some(1) {
        return Err(format!("{} failed", command.get_program().display()).into());
    }
    let printed = String::from_utf8_lossy(&first).into_owned();
    Ok(Run { seconds, bytes, printed, peak_mebibytes: peak as f64 / f64::from(1 << 20) })
}

/// The searches in a plain file.
fn plain(settings: &Settings, log: &Log) -> Outcome<Vec<Table>> {
    if let Err(missing) = find_ripgrep(settings) {
        let mut table = Table::new("grep", "plain file".to_owned(), Vec::new());
        table.notes.push(missing);
        return Ok(vec![table]);
    }
    cases(log)?.iter().map(|case| beside_ripgrep(settings, log, case)).collect()
}

fn cases(log: &Log) -> Outcome<Vec<Case>> {
    let rare = rare_literal(log)?;
    let case = |name, arguments: &[&str]| Case {
        name,
        arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
    };
    Ok(vec![
        case("rare literal", &["-F", &rare]),
        case("frequent literal", &["-F", " 404 "]),
        case("regular expression", &[r#""(GET|POST) /[a-z]+/[0-9]+"#]),
        case("-i", &["-i", "googlebot"]),
        case("-c", &["-c", "Firefox"]),
        case("-v", &["-v", "Mozilla"]),
    ])
}

/// What few lines have: the client of one in the middle.
fn rare_literal(log: &Log) -> Outcome<String> {
    let mut file = File::open(&log.path)?;
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(log.bytes / 2))?;
    let mut lines = BufReader::new(file).split(b'\n').skip(1);
    let line = lines.next().ok_or("the log ends in its middle")??;
    let client: Vec<u8> = line.into_iter().take_while(|byte| *byte != b' ').collect();
    Ok(String::from_utf8_lossy(&client).into_owned())
}

fn beside_ripgrep(settings: &Settings, log: &Log, case: &Case) -> Outcome<Table> {
    const RIPGREP: &str = "rg";
    const ONE: &str = "weir grep, 1 job";
    let cores = cores()?;
    let all = format!("weir grep, {cores} jobs");
    let arguments: Vec<&str> = case.arguments.iter().map(String::as_str).collect();
    let search = |program: &str, first: &[&str]| {
        command(program, &[first, &arguments, &[&log.path]].concat())
    };
    let weir = settings.weir();
    // Whatever the file holds, ripgrep is to search all of it, and count nothing but lines.
    let expected = measured(search("rg", &["--no-config", "-a", "-N"]))?;
    let ours = output_bytes(search(&weir, &["grep"]))?;
    if ours != output_bytes(search("rg", &["--no-config", "-a", "-N"]))? {
        return Err(format!("{}: weir grep and rg print different lines", case.name).into());
    }
    let contender = |name: &str, program: String, first: Vec<String>| {
        let (arguments, expected) = (arguments.clone(), expected.bytes);
        Contender::new(name.to_owned(), settings.runs, move || {
            let first: Vec<&str> = first.iter().map(String::as_str).collect();
            let run =
                measured(command(&program, &[&first, &arguments[..], &[&log.path[..]]].concat()))?;
            if run.bytes != expected {
                return Err(format!("{} bytes are printed, not {expected}", run.bytes).into());
            }
            Ok(run.seconds)
        })
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut contenders = vec![
        contender(RIPGREP, "rg".to_owned(), words(&["--no-config", "-a", "-N"])),
        contender(ONE, weir.clone(), words(&["grep", "-j", "1"])),
    ];
    if cores > 1 {
        contenders.push(contender(&all, weir, words(&["grep"])));
    }
    let rows = take_turns(contenders, Unit::Seconds { bytes: log.bytes })?;
    let title = format!("{}, plain log of {} in the page cache", case.name, log.size_text());
    let mut table = Table::new("grep", title, rows);
    let best = if cores > 1 { &all[..] } else { ONE };
    table.add_goal("speed by rg", table.ratio(RIPGREP, best), Threshold::AtLeast(0.95));
    table.notes.push(format!("one job has {} of rg's speed", ratio_text(&table, RIPGREP, ONE)));
    Ok(table)
}

fn ratio_text(table: &Table, one: &str, other: &str) -> String {
    table.ratio(one, other).map_or_else(|| "?".to_owned(), |ratio| format!("{ratio:.2}"))
}

/// What is printed, by its length and a sum that depends on the order.
fn output_bytes(mut command: Command) -> Outcome<(u64, u64)> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut output = child.stdout.take().ok_or("there is no output")?;
    let (mut bytes, mut sum) = (0u64, 0u64);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = output.read(&mut buffer)?;
        if length == 0 {
            child.wait()?;
            return Ok((bytes, sum));
        }
        bytes += length as u64;
        for byte in &buffer[..length] {
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
    }
}

/// `weir count` beside `wc -l`.
fn count(settings: &Settings, log: &Log) -> Outcome<Table> {
    const WC: &str = "wc -l";
    const WEIR: &str = "weir count";
    let weir = settings.weir();
    let contender = |name: &str, program: String, first: &'static [&'static str]| {
        let lines = log.lines;
        Contender::new(name.to_owned(), settings.runs, move || {
            let run = measured(command(&program, &[first, &[&log.path]].concat()))?;
            number_is(&run.printed, &[lines, lines + 1])?;
            Ok(run.seconds)
        })
    };
    let contenders =
        vec![contender(WC, "wc".to_owned(), &["-l"]), contender(WEIR, weir, &["count"])];
    let rows = take_turns(contenders, Unit::Seconds { bytes: log.bytes })?;
    let title = format!("lines of a plain log of {} in the page cache", log.size_text());
    let mut table = Table::new("grep", title, rows);
    table.add_goal("weir count by wc -l", table.ratio(WEIR, WC), Threshold::AtMost(1.2));
    Ok(table)
}

/// A last line without its line feed is a line to some.
fn number_is(printed: &str, expected: &[u64]) -> Outcome {
    let first = printed.split_whitespace().next().unwrap_or_default();
    let number: u64 = first.parse().map_err(|_| format!("`{first}` is no number"))?;
    if expected.contains(&number) {
        return Ok(());
    }
    Err(format!("{number} were counted, and there are {}", expected[0]).into())
}

/// `weir grep` beside `zgrep`, on one packed file and on several.
fn packed(settings: &Settings) -> Outcome<Vec<Table>> {
    if !is_installed("zgrep") {
        let mut table = Table::new("grep", "packed files".to_owned(), Vec::new());
        table.notes.push("missing: zgrep (Debian's package gzip)".to_owned());
        return Ok(vec![table]);
    }
    let part = (settings.mebibytes / PACKED_FILES).max(1);
    let log = input::generated(settings, "combined", part)?;
    let mut files = Vec::new();
    for number in 0..PACKED_FILES {
        let path = format!("{}.{number}.gz", log.path);
        if !is_newer(&path, &log.path) {
            let output = File::create(&path)?;
            execute(command("gzip", &["-c", &log.path]).stdout(output))?;
        }
        files.push(path);
    }
    let cores = cores()? as f64;
    let one = packed_table(settings, &log, &files[..1], 3.0)?;
    // Several at once gain by the cores what one gains alone.
    let several = packed_table(settings, &log, &files, 3.0 * cores.min(PACKED_FILES as f64))?;
    Ok(vec![one, several])
}

fn packed_table(settings: &Settings, log: &Log, files: &[String], wanted: f64) -> Outcome<Table> {
    const ZGREP: &str = "zgrep";
    const WEIR: &str = "weir grep";
    let rare = rare_literal(log)?;
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let zgrep = || command("zgrep", &[&["-a", "-F", &rare], &names[..]].concat());
    let ours = || command(&settings.weir(), &[&["grep", "-F", &rare], &names[..]].concat());
    let expected = output_bytes(zgrep())?;
    if output_bytes(ours())? != expected {
        return Err("weir grep and zgrep print different lines".into());
    }
    let timed = |run: Run| {
        let is_right = run.bytes == expected.0;
        is_right.then_some(run.seconds).ok_or("two runs print different lines".into())
    };
    let contenders = vec![
        Contender::new(ZGREP, settings.runs_if_slow(), || measured(zgrep()).and_then(timed)),
        Contender::new(WEIR, settings.runs, || measured(ours()).and_then(timed)),
    ];
    let bytes = log.bytes * files.len() as u64;
    let rows = take_turns(contenders, Unit::Seconds { bytes })?;
    let title = match files {
        [_] => format!("rare literal, one gzip file of {} unpacked", log.size_text()),
        _ => format!("rare literal, {} gzip files of {} each", files.len(), log.size_text()),
    };
    let mut table = Table::new("grep", title, rows);
    table.add_goal("speed by zgrep", table.ratio(ZGREP, WEIR), Threshold::AtLeast(wanted));
    Ok(table)
}

fn is_newer(path: &str, than: &str) -> bool {
    let modified = |path: &str| fs::metadata(Path::new(path)).and_then(|data| data.modified());
    matches!((modified(path), modified(than)), (Ok(own), Ok(other)) if own >= other)
}

/// Everybody on a log with a run of NULs: the time, and the memory.
fn nul_run(settings: &Settings) -> Outcome<Vec<Table>> {
    let (more, than) = NUL_RUN_PART;
    let log = input::generated(settings, "nul-run", (settings.mebibytes * more / than).max(1))?;
    let rare = rare_behind(&log)?;
    let weir = settings.weir();
    let own = |arguments: &[&str]| command(&weir, &[arguments, &[&log.path[..]]].concat());
    let expected = measured(own(&["grep", "-c", "-F", &rare]))?.printed;
    let lines = [log.lines, log.lines + 1];
    let found = [expected.trim().parse::<u64>()?; 1];
    let peaks: RefCell<Vec<(String, Vec<f64>)>> = RefCell::default();
    let contender = |name: &str, make: Box<dyn Fn() -> Command>, expected: Vec<u64>, runs| {
        let key = name.to_owned();
        let peaks = &peaks;
        Contender::new(name.to_owned(), runs, move || {
            let run = measured(make())?;
            let printed = match run.printed.strip_prefix("{\"lines\":") {
                Some(rest) => rest.split(',').next().unwrap_or_default().to_owned(),
                None => run.printed,
            };
            number_is(&printed, &expected)?;
            let mut peaks = peaks.borrow_mut();
            match peaks.iter_mut().find(|(name, _)| *name == key) {
                Some((_, runs)) => runs.push(run.peak_mebibytes),
                None => peaks.push((key.clone(), vec![run.peak_mebibytes])),
            }
            Ok(run.seconds)
        })
    };
    let programs: [(&str, &str, Vec<&str>, &[u64]); 7] = [
        ("wc -l", "wc", vec!["-l"], &lines),
        ("weir count", &weir, vec!["count"], &lines),
        ("weir report", &weir, vec!["report", "--json"], &lines),
        ("Python, for line in f", "python3", vec!["-c", PYTHON], &lines),
        ("weir grep -c", &weir, vec!["grep", "-c", "-F", &rare], &found),
        ("rg -a -c", "rg", vec!["--no-config", "-a", "-c", "-F", &rare], &found),
        ("grep -a -c", "grep", vec!["-a", "-c", "-F", &rare], &found),
    ];
    let mut notes = Vec::new();
    let mut contenders = Vec::new();
    for (name, program, arguments, expected) in programs {
        if !is_installed(program) {
            notes.push(format!("missing: {program}"));
            continue;
        }
        let arguments: Vec<String> =
            arguments.into_iter().chain([&log.path[..]]).map(str::to_owned).collect();
        let program = program.to_owned();
        let make = move || {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            command(&program, &arguments)
        };
        let runs = settings.runs_if_slow();
        contenders.push(contender(name, Box::new(make), expected.to_vec(), runs));
    }
    let rows = take_turns(contenders, Unit::Seconds { bytes: log.bytes })?;
    let title = format!("log of {} with one run of NULs, two fifths of it", log.size_text());
    let mut times = Table::new("grep", title.clone(), rows);
    times.add_goal(
        "weir count by wc -l",
        times.ratio("weir count", "wc -l"),
        Threshold::AtMost(1.2),
    );
    for other in ["rg -a -c", "grep -a -c"] {
        let ratio = times.ratio("weir grep -c", other);
        times.add_goal(&format!("weir grep by {other}"), ratio, Threshold::AtMost(1.0));
    }
    times.notes = notes;
    let rows = peaks.into_inner().into_iter().map(|(name, mut runs)| {
        // The round that is not recorded.
        runs.remove(0);
        Measured { name, unit: Unit::Mebibytes, runs }
    });
    let mut memory =
        Table::new("grep", format!("peak of resident memory, {title}"), rows.collect());
    memory.notes.push("rg maps the file; its pages count as they are touched".to_owned());
    Ok(vec![times, memory])
}

/// What few lines have, and none near the run of NULs in the middle.
fn rare_behind(log: &Log) -> Outcome<String> {
    let quarter = Log { bytes: log.bytes / 4, ..log.clone() };
    rare_literal(&quarter)
}
