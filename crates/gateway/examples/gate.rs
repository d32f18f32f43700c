//! A gateway that counts or drops its records, from which `cargo xtask bench gateway` measures the
//! cost of records.
//!
//!     gate counted|dropped CONFIG
//!
//! It prints its address, and ends with its standard input. `counted` adds the records to a data
//! set, as `weir gateway` does. With `dropped` no pipeline reads them, so the recorder drops them
//! when its buffer is full.

use std::io::Read;
use std::path::Path;

use weir_gateway::{Config, Gateway};
use weir_ingest::{DataSet, Pipeline, PipelineOptions, Retention};
use weir_net::ServeOptions;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, config] = &arguments[..] else { return Err("gate counted|dropped CONFIG".into()) };
    let is_counted = match &kind[..] {
        "counted" => true,
        "dropped" => false,
        _ => return Err(format!("`{kind}` is neither counted nor dropped").into()),
    };
    let config = Config::read(Path::new(config))?;
    let gateway = Gateway::bind(&config, ServeOptions::default()).await?;
    let _pipeline = is_counted.then(|| count(&gateway));
    for address in gateway.addresses() {
        println!("{address}");
    }
    gateway.serve(end_of_input()).await;
    Ok(())
}

/// Adds the records to a data set that keeps the newest ones.
fn count(gateway: &Gateway) -> Pipeline {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let options = PipelineOptions::new(threads, Retention::Window { width: None });
    let data = DataSet::new(options.retention, options.memory_bytes_max, &[]);
    let pipeline = Pipeline::start(&options, data);
    let recorder = gateway.recorder().clone();
    let writer = pipeline.open_records("gateway", recorder.layout());
    tokio::spawn(async move { recorder.run(writer).await });
    pipeline
}

/// Waits for the end of standard input.
async fn end_of_input() {
    let read = || std::io::stdin().read_to_end(&mut Vec::new());
    // A read error counts as the end.
    let _ = tokio::task::spawn_blocking(read).await;
}
