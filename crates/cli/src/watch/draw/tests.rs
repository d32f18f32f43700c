//! Pictures of all pages, in all sizes, of a log with hostile texts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};

use super::Frame;
use crate::full_screen::{Key, Size};
use crate::terminal::{Painter, width};
use crate::watch::WatchArguments;
use crate::watch::answers::{Answers, Reply};
use crate::watch::clerk::Clerk;
use crate::watch::state::{State, Step};

/// A screen without a terminal: each key is pressed, and each question is answered at once.
struct Screen {
    state: State,
    answers: Answers,
    clerk: Clerk,
    size: Size,
}

impl Screen {
    fn new(log: &str, size: (usize, usize)) -> Self {
        let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
        let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
        let mut source = pipeline.source("a\x1b.log", None, FormatChoice::Detect);
        source.write_all(log.as_bytes()).expect("room for the lines");
        source.finish(SourceEnd::Done).expect("room for the lines");
        pipeline.finish();
        let state = State::new(&WatchArguments::of_files(&[])).expect("no condition");
        let (answers, clerk) = (Answers::default(), Clerk::new(Arc::clone(&data), 1));
        let size = Size { columns: size.0, rows: size.1 };
        let mut screen = Self { state, answers, clerk, size };
        screen.answer();
        screen
    }

    fn answer(&mut self) {
        let question = self.state.question(self.size);
        let content = self.clerk.answer(&question, &AtomicBool::new(false)).transpose();
        let content = content.expect("it was not abandoned");
        self.answers.take(Reply { number: self.answers.number + 1, question, content });
    }

    fn press(&mut self, keys: &[Key]) {
        for key in keys {
            assert_eq!(self.state.press(*key, &self.answers, self.size), Step::Draw, "{key:?}");
            self.answer();
        }
    }

    fn lines(&self, size: Size) -> Vec<String> {
        let frame = Frame {
            state: &self.state,
            answers: &self.answers,
            is_outdated: true,
            message: None,
            has_keys: true,
            size,
            painter: Painter { colour: false },
        };
        frame.lines()
    }
}

fn character(character: char) -> Key {
    Key::Character(character)
}

fn log() -> String {
    let line = |number: usize| {
        format!(
            "192.0.2.{} - - [17/Dec/2025:09:{:02}:01 +0000] \"GET /\u{1b}[2J\u{65e5}\u{672c}/{} \
             HTTP/1.1\" {} 17 \"-\" \"\u{202e}agent\u{9b}\"\n",
            number % 7,
            number % 60,
            number % 40,
            [200, 404, 503][number % 3],
        )
    };
    (0..300).map(line).collect()
}

#[test]
fn every_page_fits_every_size() {
    let pages: [&[Key]; 8] = [
        &[],
        &[Key::BackTab, character('v'), Key::Home],
        &[character('?')],
        &[character('/'), character('s'), Key::Tab, Key::Tab],
        &[character('/'), character('='), character('\u{202e}')],
        &[Key::Tab, Key::Enter],
        &[character('o'), Key::Right],
        &[character('b'), Key::Down],
    ];
    for keys in pages {
        let mut screen = Screen::new(&log(), (80, 24));
        screen.press(keys);
        for columns in (0..60).chain([79, 80, 120, 300]) {
            for rows in [0, 1, 2, 3, 4, 5, 10, 15, 16, 24, 60] {
                let lines = screen.lines(Size { columns, rows });
                assert!(lines.len() <= rows, "{keys:?} {columns}x{rows}: {lines:?}");
                for line in &lines {
                    assert!(width(line) <= columns, "{keys:?} {columns}x{rows}: {line:?}");
                    let is_unsafe = |c: char| c.is_control() || c == '\u{202e}';
                    assert!(!line.contains(is_unsafe), "{keys:?} {columns}x{rows}: {line:?}");
                }
            }
        }
    }
}

#[test]
fn keys_lead_to_a_client_and_back() {
    let mut screen = Screen::new(&log(), (100, 30));
    let shown = |screen: &Screen| screen.lines(screen.size).join("\n");
    screen.press(&[Key::Tab, Key::Down, Key::Enter]);
    assert!(shown(&screen).starts_with("Client 192.0.2.1 "), "{}", shown(&screen));
    assert!(shown(&screen).contains("\n43 requests from 2025-12-17 09:"), "{}", shown(&screen));
    screen.press(&[character('=')]);
    let filter = "filter: client=192.0.2.1 and path=";
    assert!(shown(&screen).contains(filter), "{}", shown(&screen));
    screen.press(&[Key::Escape]);
    assert!(shown(&screen).contains("no filter"), "{}", shown(&screen));
    screen.press(&[Key::Escape]);
    assert!(shown(&screen).contains("this is where it began; q quits"), "{}", shown(&screen));
}

#[test]
fn what_does_not_grow_is_not_frozen() {
    let mut screen = Screen::new(&log(), (200, 30));
    let shown = |screen: &Screen| screen.lines(screen.size).join("\n");
    assert!(shown(&screen).ends_with("! exclude"), "{}", shown(&screen));
    screen.press(&[character('f')]);
    assert!(shown(&screen).contains("all was read; start with --follow"), "{}", shown(&screen));
    screen.state.follows = true;
    screen.press(&[character('f')]);
    assert!(screen.state.is_frozen && shown(&screen).ends_with("f freeze"), "{}", shown(&screen));
    screen.press(&[character('f')]);
    assert!(!screen.state.is_frozen);
}
