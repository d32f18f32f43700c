//! How a source reports that its format has changed. Core tests the detection itself.

use weir_ingest::{
    DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceOptions, SourceSnapshot,
    SourceWriter,
};

fn combined(number: usize) -> String {
    format!(
        "192.0.2.{} - - [17/Dec/2025:09:03:01 +0000] \"GET /{number} HTTP/1.1\" 200 10 \"-\" \
         \"curl/8.0\"\n",
        number % 250
    )
}

fn caddy(number: usize) -> String {
    format!(
        "{{\"level\":\"info\",\"ts\":1765962181.5,\"logger\":\"http.log.access\",\"msg\":\"handled \
         request\",\"request\":{{\"remote_ip\":\"192.0.2.9\",\"remote_port\":\"1\",\"proto\":\
         \"HTTP/1.1\",\"method\":\"GET\",\"host\":\"x\",\"uri\":\"/{number}\",\"headers\":{{}}}},\
         \"duration\":0.001,\"size\":10,\"status\":200}}\n"
    )
}

fn many(line: fn(usize) -> String, lines: usize) -> String {
    (0..lines).map(line).collect()
}

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
    let place = caddy(0).len();
    let note =
        format!("its lines no longer fit CADDY; from byte {place} on it is read as COMBINED");
    assert_eq!(seen.note.as_deref(), Some(&*note));
    let news = feed.writer.progress().take_news();
    assert_eq!(news.as_deref(), Some(&*note));
    assert_eq!(feed.writer.progress().take_news(), None, "it is told once");
}

#[test]
fn files_keep_their_format() {
    let mut feed = Feed::new(false);
    feed.send(&many(combined, 100));
    let seen = feed.send(&many(caddy, 1_000));
    assert_eq!((seen.records, seen.unparsed_lines), (100, 1_000));
}
