//! What a call of the log costs, for `cargo xtask bench inside`.
//!
//!     log_calls none|disabled|counted|text|json FILE
//!
//! It prints the nanoseconds of a call: of none at all, of one that the filter leaves out, of one that repeats
//! so often that it is only counted, and of one that is written into the file as text or JSON. What is written
//! to `-` is dropped.

use std::fs::File;
use std::hint::black_box;
use std::io::{Write, sink};
use std::time::{Duration, Instant};

use tracing::subscriber::with_default;
use weir_log::{Format, Log};

/// Calls that are timed together if nothing is written.
const CALLS: u64 = 10_000_000;

/// Calls of which each repeats the one before.
const REPEATED_CALLS: u64 = 300_000;

/// Different messages that one place in the code may write before the rest is counted.
const BATCH_CALLS: u64 = 50;

/// Batches of calls that write, each with a log of its own.
const BATCHES: u64 = 1_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, file] = &arguments[..] else {
        return Err("log_calls none|disabled|counted|text|json FILE".into());
    };
    let ns = match &kind[..] {
        "none" => per_call(timed(|| no_calls(CALLS)), CALLS),
        "disabled" => {
            install("info,log_calls=off")?;
            per_call(timed(|| calls(0..CALLS)), CALLS)
        }
        "counted" => {
            install("info")?;
            let repeated = || (0..REPEATED_CALLS).for_each(|_| calls(0..1));
            per_call(timed(repeated), REPEATED_CALLS)
        }
        "text" => written(Format::Text, file)?,
        "json" => written(Format::Json, file)?,
        _ => return Err(format!("`{kind}` is none of the calls that are timed").into()),
    };
    println!("{ns}");
    Ok(())
}

/// The same loop as that of [`calls`], without the call.
fn no_calls(count: u64) {
    for bytes in 0..count {
        black_box((bytes, "192.0.2.1:514"));
    }
}

fn calls(numbers: std::ops::Range<u64>) {
    for bytes in numbers {
        let (bytes, peer) = black_box((bytes, "192.0.2.1:514"));
        tracing::info!(bytes, peer, "a message of the usual length about a sender");
    }
}

/// Receives the events of the whole program, as `weir` does.
fn install(filter: &str) -> Result<(), Box<dyn std::error::Error>> {
    let log = Log::new(filter.parse()?, Format::Text, sink());
    log.install().map_err(|_| "there is a log already")?;
    Ok(())
}

/// The time of a call that is written.
fn written(format: Format, file: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let mut time = Duration::ZERO;
    for _ in 0..BATCHES {
        let output: Box<dyn Write + Send> = match file {
            "-" => Box::new(sink()),
            path => Box::new(File::create(path)?),
        };
        let log = Log::new("info".parse()?, format, output);
        time += with_default(log.clone(), || timed(|| calls(0..BATCH_CALLS)));
        let written = log.last(0).1.len() as u64;
        if written != BATCH_CALLS {
            return Err(format!("{written} messages were written, not {BATCH_CALLS}").into());
        }
    }
    Ok(per_call(time, BATCHES * BATCH_CALLS))
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn per_call(time: Duration, calls: u64) -> f64 {
    time.as_nanos() as f64 / calls as f64
}
