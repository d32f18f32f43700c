//! Tests that `tracing` events become lines.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::subscriber::with_default;
use weir_log::{Log, MessageFormat};
use weir_view::{LogEvent, LogLevel, LogValue, from_json};

/// A sink that collects the written bytes.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn lines(&self) -> Vec<String> {
        let written = self.0.lock().expect("no panic").clone();
        String::from_utf8(written).expect("text").lines().map(str::to_owned).collect()
    }

    fn events(&self) -> Vec<LogEvent> {
        self.lines().iter().map(|line| from_json(line).expect("JSON")).collect()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits for its turn. The levels that are enabled are cached for the whole process, so a test that
/// changes a filter could switch off the events of another.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn log(filter: &str, format: MessageFormat) -> (Log, Sink) {
    let sink = Sink::default();
    (Log::new(filter.parse().expect("a filter"), format, sink.clone()), sink)
}

#[test]
fn an_event_keeps_its_level_and_its_fields() {
    let _turn = turn();
    let (log, sink) = log("info", MessageFormat::Json);
    with_default(log, || {
        let error = io::Error::other("red \x1b[31m");
        tracing::warn!(target: "weir_net", %error, bytes = 12_u64, less = -1_i64, is_new = true, "it \u{202e}fails");
    });
    let lines = sink.lines();
    assert!(lines.len() == 1 && lines[0].is_ascii(), "{lines:?}");
    let event = &sink.events()[0];
    assert_eq!((event.level, event.target.as_str()), (LogLevel::Warn, "weir_net"));
    assert_eq!(event.message, "it \u{202e}fails");
    let fields = [
        ("bytes", LogValue::Unsigned(12)),
        ("error", LogValue::Text("red \x1b[31m".to_owned())),
        ("is_new", LogValue::Flag(true)),
        ("less", LogValue::Signed(-1)),
    ];
    let expected = fields.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(event.fields, expected.into());
    assert!(event.time.ends_with('Z') && event.time.len() == "2026-01-02T03:04:05.678Z".len());
}

/// Logs from the same call sites each time, so that an outdated cache of a call site would be
/// noticed.
fn emit() {
    tracing::info!(target: "weir_gateway::backend", "info of the backend");
    tracing::debug!(target: "weir_gateway::backend", "debug of the backend");
    tracing::warn!(target: "weir_gatewayed", "warning of another");
}

#[test]
fn the_filter_changes_while_the_program_runs() {
    let _turn = turn();
    let (log, _) = log("info", MessageFormat::Text);
    let mut from = 0;
    let mut messages = |filter: &str| {
        log.set_filter(filter.parse().expect("a filter"));
        assert_eq!(log.filter().to_string(), filter);
        with_default(log.clone(), emit);
        let (next, events) = log.last(from);
        from = next;
        events.into_iter().map(|event| event.message).collect::<Vec<_>>()
    };
    let (info, debug) = ("info of the backend", "debug of the backend");
    let other = "warning of another";
    assert_eq!(messages("info"), [info, other]);
    assert_eq!(messages("off,weir_gateway=debug"), [info, debug]);
    assert_eq!(messages("debug,weir_gateway::backend=off"), [other]);
    assert_eq!(messages("off"), [""; 0]);
    assert_eq!(messages("debug,weir_gateway=error"), [other]);
    assert_eq!(messages("error,weir_gateway=info"), [info]);
}

#[test]
fn repeats_are_written_once_more_with_their_number() {
    let _turn = turn();
    let (log, sink) = log("info", MessageFormat::Text);
    with_default(log.clone(), || {
        for _ in 0..42 {
            tracing::info!("the same");
        }
        tracing::info!("another");
    });
    assert_eq!(sink.lines().iter().filter(|line| line.contains("the same")).count(), 5);
    log.flush();
    let lines = sink.lines();
    assert_eq!(lines.len(), 7, "{lines:?}");
    assert!(lines[6].ends_with("the same (repeated 37 times)"), "{lines:?}");
}

#[test]
fn what_the_command_says_is_a_line_of_the_same_format() {
    let (text, text_sink) = log("off", MessageFormat::Text);
    let (json, json_sink) = log("off", MessageFormat::Json);
    for log in [&text, &json] {
        log.announce(LogLevel::Info, "weir", "answering", "weir: answering\n");
    }
    assert_eq!(text_sink.lines(), ["weir: answering"]);
    let event = &json_sink.events()[0];
    assert_eq!((event.target.as_str(), event.message.as_str()), ("weir", "answering"));
    assert_eq!(text.last(0).1[0].message, "answering");
}
