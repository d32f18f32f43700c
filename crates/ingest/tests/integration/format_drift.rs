//! How a source reports that its format has changed. Core tests the detection itself.

use weir_ingest::{
    DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceOptions, SourceSnapshot,
    SourceWriter,
};
use weir_testkit::lines::{caddy, combined, many};

/// A pipeline with one source, which is parsed after each piece.
struct Feed {
    _pipeline: Pipeline,
    writer: SourceWriter,
    runtime: tokio::runtime::Runtime,
}

impl Feed {
    fn new(watch: bool) -> Self {
        let options = PipelineOptions::new(1, Retention::Segments);
        let data = DataSet::new(options.retention, options.memory_bytes_max, &[]);
        let pipeline = Pipeline::start(&options, data);
        let mut source = SourceOptions::new("feed", FormatChoice::Detect);
        if watch {
            source = source.watch_drift();
        }
        let writer = pipeline.open(source);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        Self { _pipeline: pipeline, writer, runtime }
    }

    /// Submits these lines as a block.
    fn send(&mut self, lines: &str) -> SourceSnapshot {
        self.runtime.block_on(async {
            self.writer.write_all_async(lines.as_bytes()).await.expect("there is room");
            self.writer.flush_async().await.expect("there is room");
            self.writer.wait_until_parsed().await;
        });
        self.writer.progress().snapshot()
    }

    fn format(&self) -> String {
        let snapshot = self.writer.progress().snapshot();
        snapshot.format.map_or_else(String::new, |format| format.name().to_owned())
    }
}

#[test]
fn a_stray_first_line_does_not_determine_the_format() {
    let mut feed = Feed::new(true);
    feed.send(&caddy(0));
    assert_eq!(feed.format(), "CADDY");
    let seen = feed.send(&many(combined, 1_000));
    assert_eq!((seen.lines, seen.records, seen.unparsed_lines), (1_001, 1_001, 0));
    assert_eq!(feed.format(), "COMBINED");
    let offset = caddy(0).len();
    let note =
        format!("its lines no longer fit CADDY; from byte {offset} on it is read as COMBINED");
    assert_eq!(seen.note.as_deref(), Some(&*note));
    let news = feed.writer.progress().take_news();
    assert_eq!(news.as_deref(), Some(&*note));
    assert_eq!(feed.writer.progress().take_news(), None, "it is reported once");
}

#[test]
fn files_keep_their_format() {
    let mut feed = Feed::new(false);
    feed.send(&many(combined, 100));
    let seen = feed.send(&many(caddy, 1_000));
    assert_eq!((seen.records, seen.unparsed_lines), (1_100, 0));
    assert_eq!(feed.format(), "COMBINED", "the lines of the other are counted under its name");
    let by_format: Vec<(&str, u64)> =
        seen.by_format.iter().map(|(format, records)| (format.name(), *records)).collect();
    assert_eq!(by_format, [("COMBINED", 100), ("CADDY", 1_000)]);
}
