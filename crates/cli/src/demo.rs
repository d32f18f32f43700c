//! `weir demo`: made-up traffic, on the page or written to a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_demo::{Options, Shape, Traffic};
use weir_ingest::{FormatChoice, Pipeline, SourceEnd, StopReason};

use crate::arguments::DemoArguments;
use crate::options::parse_size;
use crate::outcome::{Exit, Failure, say};
use crate::serve::{self, Page};
use crate::terminal::{Progress, separated};

/// What is generated at once.
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
    let size = &arguments.size;
    let bytes = parse_size(size).ok_or_else(|| {
        Failure::new(format_args!("--size: `{size}` is not a size; write it as 512MiB or 2G"))
    })?;
    let shape = Shape::parse(&arguments.shape).ok_or_else(|| {
        let names = Shape::ALL.map(Shape::name).join(", ");
        let shape = &arguments.shape;
        Failure::new(format_args!("--shape: there is no shape `{shape}`; there are {names}"))
    })?;
    let options = Options { seed: arguments.seed, bytes: Some(bytes), shape, ..Options::default() };
    Ok((Traffic::new(options), bytes))
}

/// Serves the page, and fills its session meanwhile.
fn show(arguments: &DemoArguments, traffic: Traffic, bytes: u64) -> Result<Exit, Failure> {
    let page = Page::open(&arguments.serve)?;
    let name = format!("demo traffic, seed {}", arguments.seed);
    page.serve(move |pipeline| {
        let progress = Progress::of_reading(pipeline.data().clone(), Some(bytes));
        let result = fill(pipeline, &name, traffic, bytes);
        progress.end();
        match result {
            Err(StopReason::MemoryFull) => {
                say(
                    "the demo stops early, its memory is full; give more with --memory, or a smaller --size",
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
        if let Err(stopped) = writer.write_all(&piece) {
            writer.progress().set_end(stopped.into());
            return Err(stopped);
        }
        piece.clear();
    }
    writer.finish(SourceEnd::Done)
}

/// Writes the traffic to a file, or to standard output.
fn write(path: &Path, mut traffic: Traffic, bytes: u64) -> Result<Exit, Failure> {
    let name = serve::shown(path);
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
