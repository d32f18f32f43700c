//! `weir demo`: made-up traffic, on the page or written to a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use weir_demo::{Shape, Traffic, TrafficOptions};
use weir_ingest::{FormatChoice, Pipeline, SourceEnd, StopReason};

use crate::display::separated;
use crate::options::{PageArguments, size_bytes};
use crate::outcome::{Exit, Failure, say};
use crate::serve::{self, Page};
use crate::terminal::Progress;

/// Show made-up traffic on the page, or write it to a file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArguments {
    /// How much traffic, in bytes of log
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    size: String,

    /// The same seed makes the same traffic
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The kind of log: combined, or one that is hard on parsers: many-agents, empty-lines,
    /// one-line, long-lines, nul-run, every-second
    #[arg(long, value_name = "NAME", default_value = "combined")]
    shape: String,

    /// Write the log to this file instead; `-` is standard output
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,

    #[command(flatten)]
    page: PageArguments,
}

const EXAMPLES: &str = "\
Examples:
  weir demo
  weir demo --size 100MiB --write access.log
  weir demo --size 1GiB --write - | weir report";

/// The sizes from which on the attack on the log-in has the intensity for a burst, which some of its
/// clients exceed. It does not grow with the size: of 500 MB fewer clients come often than of 300 MB.
const BURSTS: [(u64, &str); 3] = [(24_000_000, " burst=5"), (4_000_000, " burst=1"), (500_000, "")];

/// A limit of all requests together, for traffic in which no client comes twice in a minute.
const RULE_FOR_ALL: &str = "\
limit_req_zone $request_method zone=site:10m rate=1r/m;
limit_req zone=site;
";

/// The number of bytes that are generated at once.
const PIECE_BYTES: usize = 1 << 20;

/// Runs the command.
pub(crate) fn run(arguments: &DemoArguments) -> Result<Exit, Failure> {
    let (traffic, bytes) = traffic(arguments)?;
    match &arguments.write {
        Some(path) => write(path, traffic, bytes),
        None => show(arguments, traffic, bytes),
    }
}

/// A rule that some of the default traffic trips. An earlier part of the traffic has fewer requests of
/// each client, so it needs a lower limit.
fn rule(bytes: u64) -> String {
    let Some((_, burst)) = BURSTS.into_iter().find(|(least, _)| bytes >= *least) else {
        return RULE_FOR_ALL.to_owned();
    };
    format!(
        "limit_req_zone $binary_remote_addr zone=login:10m rate=3r/m;\n\
         server {{\n    location = /wp-login.php {{ limit_req zone=login{burst}; }}\n}}\n"
    )
}

fn traffic(arguments: &DemoArguments) -> Result<(Traffic, u64), Failure> {
    let bytes = size_bytes("--size", &arguments.size)?;
    let shape = Shape::parse(&arguments.shape).ok_or_else(|| {
        let names = Shape::ALL.map(Shape::name).join(", ");
        let shape = &arguments.shape;
        Failure::new(format_args!("--shape: `{shape}` is not a known shape; use one of {names}"))
    })?;
    let options = TrafficOptions {
        seed: arguments.seed,
        bytes: Some(bytes),
        shape,
        ..TrafficOptions::default()
    };
    Ok((Traffic::new(options), bytes))
}

/// Serves the page, and fills its session at the same time.
fn show(arguments: &DemoArguments, traffic: Traffic, bytes: u64) -> Result<Exit, Failure> {
    let page = Page::open(&arguments.page)?.with_rule(&rule(bytes));
    let name = format!("demo traffic, seed {}", arguments.seed);
    page.serve(move |pipeline| {
        let progress = Progress::of_reading(pipeline.data().clone(), Some(bytes));
        let result = fill(pipeline, &name, traffic, bytes);
        progress.end();
        match result {
            Err(StopReason::MemoryFull) => {
                say(
                    "the demo ends early: the memory limit is reached; raise it with --memory, or lower --size",
                );
                Exit::Failed
            }
            Ok(()) | Err(StopReason::Cancelled) => Exit::Done,
        }
    })
}

fn fill(
    pipeline: &Pipeline,
    name: &str,
    mut traffic: Traffic,
    bytes: u64,
) -> Result<(), StopReason> {
    let mut writer = pipeline.source(name, Some(bytes), FormatChoice::Detect);
    let mut piece = Vec::new();
    while traffic.fill(&mut piece, PIECE_BYTES) > 0 {
        if let Err(reason) = writer.write_all(&piece) {
            writer.progress().set_end(reason.into());
            return Err(reason);
        }
        piece.clear();
    }
    writer.finish(SourceEnd::Done)
}

/// Writes the traffic to a file, or to standard output.
fn write(path: &Path, mut traffic: Traffic, bytes: u64) -> Result<Exit, Failure> {
    let name = serve::path_name(path);
    let failed = |error: io::Error| Failure::output(&name, &error);
    let is_stdout = path.as_os_str() == "-";
    let mut out: Box<dyn Write> = match is_stdout {
        true => Box::new(io::stdout().lock()),
        false => Box::new(File::create(path).map_err(failed)?),
    };
    let done = Arc::new(AtomicU64::new(0));
    let progress = Progress::of_writing(name.clone(), done.clone(), bytes);
    let mut piece = Vec::new();
    let mut write_all = || {
        while traffic.fill(&mut piece, PIECE_BYTES) > 0 {
            out.write_all(&piece)?;
            done.fetch_add(piece.len() as u64, Ordering::Relaxed);
            piece.clear();
        }
        out.flush()
    };
    let result = write_all();
    progress.end();
    result.map_err(failed)?;
    if !is_stdout {
        say(format_args!("{name}: {} bytes written", separated(done.load(Ordering::Relaxed))));
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use weir_demo::{Traffic, TrafficOptions};
    use weir_ingest::{DataSet, Pipeline, PipelineOptions, Retention};
    use weir_query::{ParsedQuery, replay_rule};
    use weir_rules::{RuleFiles, parse_rules};
    use weir_view::Query;

    use super::{BURSTS, fill, rule};

    /// The keys that trip the rule for so much traffic.
    fn tripped(seed: u64, bytes: u64) -> u64 {
        let options = TrafficOptions { seed, bytes: Some(bytes), ..TrafficOptions::default() };
        let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
        let pipeline = Pipeline::start(&PipelineOptions::new(2, Retention::Segments), data.clone());
        fill(&pipeline, "demo", Traffic::new(options), bytes).expect("there is memory");
        pipeline.finish();
        let rules = parse_rules(&rule(bytes), "demo", None, &RuleFiles::default()).expect("a rule");
        let query = ParsedQuery::parse(&Query::default()).expect("a query");
        let answer = replay_rule(&data, &query, &*rules[0], 2, &AtomicBool::new(false));
        answer.expect("it has the fields").expect("it is not abandoned").rule.keys.tripped
    }

    #[test]
    fn the_rule_of_the_demo_trips_at_every_size() {
        let sizes = BURSTS.map(|(least, _)| least);
        let most = |bytes: &u64| *bytes <= 24_000_000;
        for bytes in sizes.into_iter().chain([10_000, 100_000, 3_900_000]).filter(most) {
            for seed in 1..3 {
                assert!(tripped(seed, bytes) > 0, "{bytes} bytes, seed {seed}");
            }
        }
    }
}
