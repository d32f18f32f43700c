//! Reads a log into memory, as the page does.

use std::fs;
use std::io::Read;
use std::sync::Arc;

use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};

/// The memory limit of the data set, in bytes.
const MEMORY_BYTES_MAX: usize = 8 << 30;

/// Reads all lines of a file on this number of threads.
pub(crate) fn load(log: &str, threads: usize) -> Result<Arc<DataSet>, Box<dyn std::error::Error>> {
    let data = DataSet::new(Retention::Segments, MEMORY_BYTES_MAX, &[]);
    let options = PipelineOptions::new(threads, Retention::Segments);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source(log, None, FormatChoice::Detect);
    let mut file = fs::File::open(log)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        writer.write_all(&buffer[..read]).map_err(|reason| format!("{reason:?}"))?;
    }
    writer.finish(SourceEnd::Done).map_err(|reason| format!("{reason:?}"))?;
    pipeline.finish();
    Ok(data)
}
