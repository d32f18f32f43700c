//! The screen of a terminal, which is drawn again each second and after each key.

mod poll;

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use self::poll::{Answer, poll};
use super::controls::{Control, Controls, TaskOrder};
use super::keys::{KeyAction, action};
use super::layout::Frame;
use super::snapshot::{Program, Snapshot};
use crate::display::span;
use crate::full_screen::{FullScreen, Keyboard, Size, TerminalEvent, TerminalSignals};
use crate::outcome::{Exit, Failure, print};
use crate::serve::shutdown_signal;
use crate::terminal::{Painter, Screen};

/// Moves the cursor to the first cell. The old text is overwritten, so that nothing flickers.
const HOME: &str = "\x1b[H";

/// Clears the rest of a line.
const CLEAR_LINE: &str = "\x1b[K";

/// The pause after which the age of the numbers is drawn again.
const TICK: Duration = Duration::from_secs(1);

/// How long an answer may take until the screen says so.
const SILENCE: Duration = Duration::from_secs(3);

/// What is drawn, and what happened.
#[derive(Debug)]
struct Live {
    screen: FullScreen,
    controls: watch::Sender<Controls>,
    /// The last numbers.
    snapshot: Snapshot,
    /// Why there are no newer numbers.
    failure: Option<String>,
    /// The time of the last answer, or of the end of a pause.
    silent_since: Instant,
}

/// Draws until a key or a signal ends it. A program that stops answering does not end it.
pub(super) async fn run(program: &Program) -> Result<Exit, Failure> {
    let first = program.look(TaskOrder::default(), poll::TASKS_MAX).await;
    let snapshot = first.map_err(|error| Failure::new(format_args!("--admin: {error}")))?;
    let signals = TerminalSignals::new()
        .map_err(|error| Failure::new(format_args!("signals cannot be received: {error}")))?;
    let shutdown = shutdown_signal();
    let (controls, controls_now) = watch::channel(Controls::default());
    let (sender, answers) = mpsc::channel(1);
    let live = Live {
        screen: FullScreen::enter(),
        controls,
        snapshot,
        failure: None,
        silent_since: Instant::now(),
    };
    tokio::select! {
        ended = live.draw_until_end(answers, signals) => ended,
        () = shutdown => Ok(Exit::Done),
        never = poll(program, controls_now, sender) => match never {},
    }
}

impl Live {
    async fn draw_until_end(
        mut self,
        mut answers: mpsc::Receiver<Answer>,
        mut signals: TerminalSignals,
    ) -> Result<Exit, Failure> {
        let mut keyboard = Keyboard::new(self.screen.has_keys());
        loop {
            self.draw()?;
            tokio::select! {
                Some(answer) = answers.recv() => self.receive(answer),
                key = keyboard.next() => match action(key) {
                    Some(KeyAction::Quit) => return Ok(Exit::Done),
                    Some(KeyAction::Suspend) => self.screen.ask_to_stop(),
                    Some(KeyAction::Control(control)) => self.apply(control),
                    None => {}
                },
                event = signals.next() => match event {
                    TerminalEvent::Resized => {}
                    TerminalEvent::Stopping => {
                        self.screen.stop();
                        self.silent_since = Instant::now();
                    }
                    TerminalEvent::Continued => {
                        self.screen.enter_again();
                        self.silent_since = Instant::now();
                    }
                    TerminalEvent::Closed => return Ok(Exit::Done),
                },
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    fn apply(&mut self, control: Control) {
        self.controls.send_modify(|controls| controls.apply(control));
        if control == Control::Pause {
            // Nothing was requested during the pause.
            self.silent_since = Instant::now();
        }
    }

    fn receive(&mut self, answer: Answer) {
        if self.controls.borrow().is_paused {
            return;
        }
        match answer {
            Ok(snapshot) => {
                self.snapshot = snapshot;
                self.failure = None;
                self.silent_since = Instant::now();
            }
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    fn draw(&self) -> Result<(), Failure> {
        let controls = *self.controls.borrow();
        let notice = self.notice();
        let frame = Frame {
            controls,
            has_keys: self.screen.has_keys(),
            notice: notice.as_deref().filter(|_| !controls.is_paused),
            size: Size::of_terminal(),
            painter: Painter { colour: Screen::of_stdout(false).colour },
        };
        let lines = frame.lines(&self.snapshot);
        let lines: Vec<String> = lines.iter().map(|line| format!("{CLEAR_LINE}{line}")).collect();
        // The terminal in this mode needs a carriage return. A line feed in the last row would
        // scroll the screen.
        print(&format!("{HOME}{}", lines.join("\r\n")))
    }

    /// Returns what is wrong with the numbers, if something is.
    fn notice(&self) -> Option<String> {
        let silence = self.silent_since.elapsed();
        if self.failure.is_none() && silence < SILENCE {
            return None;
        }
        let reason = self.failure.iter().map(|reason| format!(": {reason}")).collect::<String>();
        Some(format!("No new numbers for {}, trying again{reason}", span(silence.as_secs())))
    }
}
