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

/// A rule that a few clients of the log-in attack in the default traffic trip.
const RULE: &str = "\
limit_req_zone $binary_remote_addr zone=login:10m rate=3r/m;
server {
    location = /wp-login.php { limit_req zone=login burst=25; }
}
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
    let page = Page::open(&arguments.page)?.with_rule(RULE);
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
