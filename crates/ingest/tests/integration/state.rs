//! Data sets that are kept in a folder.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weir_core::{Field, Selection};
use weir_ingest::{
    DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd, SourceOptions, State,
};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weir-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const WINDOW: Retention = Retention::Window { width: Some(Duration::from_secs(600)) };

fn line(second: u64, path: &str) -> String {
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!(
        "192.0.2.1 - - [17/Dec/2025:{hour:02}:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 1 \"-\" \"agent\"\n"
    )
}

fn open(folder: &Folder, retention: Retention, memory: usize) -> (Arc<DataSet>, State) {
    let data = DataSet::new(retention, memory, &[]);
    let (state, notes) =
        State::open(&folder.0, data.clone(), |error| panic!("{error}")).expect("a folder");
    assert_eq!(notes, [""; 0]);
    (data, state)
}

/// The paths of all rows that count, in their order.
fn paths(data: &DataSet) -> Vec<Vec<u8>> {
    let (snapshot, values) = (data.snapshot(), data.values());
    let dictionary = values.dictionary(Field::Path.column());
    let mut paths = Vec::new();
    for kept in snapshot.segments.iter() {
        let codes = kept.segment.text(Field::Path.column()).expect("each line has a path");
        let rows: Selection = kept.bounds.rows(&kept.segment).selection();
        rows.for_each(|row| {
            let id = codes.get(row) as u32;
            paths.push(dictionary.value(id).expect("it is not evicted").to_vec());
        });
    }
    paths
}

#[test]
fn nothing_of_an_upload_is_written() {
    let folder = Folder::new("state-upload");
    let (data, state) = open(&folder, WINDOW, 64 << 20);
    let pipeline = Pipeline::start(&PipelineOptions::new(2, WINDOW), data.clone());
    let mut kept = pipeline.open(SourceOptions::new("kept.log", FormatChoice::Detect).keep());
    let mut upload = pipeline.source("hidden-name.log", None, FormatChoice::Detect);
    for round in 0..5 {
        for number in 0..200 {
            let kept_line = line(round * 10, &format!("/kept/{round}/{number}"));
            kept.write_all(kept_line.as_bytes()).expect("room");
            let hidden = format!(
                "{{\"time\":\"2025-12-17T00:00:{:02}Z\",\"status\":200,\"remote_addr\":\"192.0.2.2\",\
                  \"request_uri\":\"/hidden-path/{number}\",\"request_method\":\"GET\",\
                  \"hidden_member\":\"hidden-value-{number}\"}}\n",
                number % 60
            );
            upload.write_all(hidden.as_bytes()).expect("room");
        }
        kept.flush().expect("room");
        upload.flush().expect("room");
        std::thread::sleep(Duration::from_millis(150));
    }
    kept.finish(SourceEnd::Done).expect("room");
    upload.finish(SourceEnd::Done).expect("room");
    pipeline.finish();
    let hidden = data.snapshot().sources[1].records;
    assert_eq!((data.snapshot().sources[0].records, hidden), (1_000, 1_000));
    drop(state);
    let written = fs::read(folder.0.join("data.weir")).expect("a file");
    let has = |text: &str| written.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("/kept/4/199") && has("kept.log"));
    assert!(!has("hidden"), "of an upload");

    let (again, _state) = open(&folder, WINDOW, 64 << 20);
    let sources = again.snapshot().sources;
    assert_eq!((sources.len(), sources[0].records), (1, 1_000));
    assert_eq!(paths(&again).len(), 1_000);
}

#[test]
fn a_window_that_slides_and_evicts_is_the_same_after_each_restart() {
    let folder = Folder::new("state-window");
    let mut second = 0;
    for restart in 0..4 {
        let (data, state) = open(&folder, WINDOW, 24 << 20);
        let pipeline = Pipeline::start(&PipelineOptions::new(2, WINDOW), data.clone());
        let mut log = pipeline.open(SourceOptions::new("a.log", FormatChoice::Detect).keep());
        let before = log.offset();
        assert_eq!(before > 0, restart > 0, "it goes on");
        for _ in 0..60 {
            // Long values, so that those of rows that have expired are evicted.
            let lines = (0..200)
                .map(|number| line(second, &format!("/{second}/{number}/{}", "x".repeat(200))));
            log.write_all(lines.collect::<String>().as_bytes()).expect("room");
            log.flush().expect("room");
            second += 15;
            std::thread::sleep(Duration::from_millis(10));
        }
        log.finish(SourceEnd::Done).expect("room");
        pipeline.finish();
        let (lines, expected) = (data.snapshot().sources[0].lines, paths(&data));
        assert_eq!(lines, (restart + 1) * 12_000);
        assert!(expected.len() < 10_000, "the window slides: {}", expected.len());
        drop(state);
        drop(data);
        let (again, _state) = open(&folder, WINDOW, 24 << 20);
        assert_eq!(again.snapshot().sources[0].lines, lines);
        assert_eq!(paths(&again), expected);
    }
}
