//! Measures the cost of a log call, for `cargo xtask bench inside`.
//!
//!     log_calls none|disabled|counted|text|json FILE
//!
//! It prints the nanoseconds per call. `none` is the empty loop, `disabled` a call that the filter
//! rejects, and `counted` a repeated message that is only counted. `text` and `json` are calls
//! whose message is written to FILE; the file `-` discards it.

use std::fs::File;
use std::hint::black_box;
use std::io::{Write, sink};
use std::time::{Duration, Instant};

use tracing::subscriber::with_default;
use weir_log::{Log, MessageFormat};

/// The number of timed calls if nothing is written.
const CALLS: u64 = 10_000_000;

/// The number of timed calls that repeat one message.
const REPEATED_CALLS: u64 = 300_000;

/// The number of different messages that a call site writes before the rest is counted.
const BATCH_CALLS: u64 = 50;

/// The number of timed batches of written calls, each with its own log.
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
        "text" => written(MessageFormat::Text, file)?,
        "json" => written(MessageFormat::Json, file)?,
        _ => return Err(format!("`{kind}` is not none, disabled, counted, text or json").into()),
    };
    println!("{ns}");
    Ok(())
}

/// Runs the loop of [`calls`] without the call.
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

/// Installs a global log, as `weir` does.
fn install(filter: &str) -> Result<(), Box<dyn std::error::Error>> {
    let log = Log::new(filter.parse()?, MessageFormat::Text, sink());
    log.install().map_err(|_| "there is a log already")?;
    Ok(())
}

/// Returns the nanoseconds of a call whose message is written.
fn written(format: MessageFormat, file: &str) -> Result<f64, Box<dyn std::error::Error>> {
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
