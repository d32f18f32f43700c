//! The loop: keys, answers, signals and changes of the size, and a picture after each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::WatchArguments;
use super::answers::{Answers, Reply};
use super::clerk::Clerk;
use super::desk::Desk;
use super::draw::Frame;
use super::question::Question;
use super::reading::Log;
use super::state::{State, Step};
use super::waiting::WaitingKeys;
use crate::full_screen::{
    FullScreen, Key, Keyboard, Picture, Size, TerminalEvent, TerminalSignals, last_held,
};
use crate::outcome::{Exit, Failure, print};
use crate::rules::load_rules;
use crate::serve::shutdown_signal;
use crate::terminal::{Painter, Screen};

/// The pause after which the screen is drawn again, whatever happens.
const TICK: Duration = Duration::from_secs(1);

/// How long a message covers the keys, if none is pressed.
const MESSAGE: Duration = Duration::from_secs(5);

struct Live {
    screen: FullScreen,
    picture: Picture,
    painter: Painter,
    desk: Arc<Desk>,
    state: State,
    answers: Answers,
    /// The last question, with its number.
    asked: Option<(u64, Question)>,
    waiting: WaitingKeys,
    /// When the last key was pressed. Older messages were seen.
    last_key: Instant,
}

/// Draws until a key or a signal ends it.
pub(super) async fn run(arguments: &WatchArguments, log: Log) -> Result<Exit, Failure> {
    let state = State::new(arguments)?;
    let rules = load_rules(&arguments.rule_files, &arguments.rule_texts)?;
    let signals = TerminalSignals::new()
        .map_err(|error| Failure::new(format_args!("signals cannot be received: {error}")))?;
    let shutdown = shutdown_signal();
    let (data, jobs) = log.begin(arguments)?;
    let (sender, replies) = mpsc::channel(1);
    let desk = Arc::<Desk>::default();
    let clerk = Clerk::new(data, jobs).with_rules(rules);
    desk.open(clerk, sender).map_err(|error| {
        Failure::new(format_args!("the thread that answers cannot be started: {error}"))
    })?;
    let live = Live {
        screen: FullScreen::enter(),
        picture: Picture::default(),
        painter: Painter { colour: Screen::of_stdout(false).colour },
        desk,
        state,
        answers: Answers::default(),
        asked: None,
        waiting: WaitingKeys::default(),
        last_key: Instant::now(),
    };
    tokio::select! {
        ended = live.draw_until_end(replies, signals) => ended,
        () = shutdown => Ok(Exit::Done),
    }
}

impl Live {
    async fn draw_until_end(
        mut self,
        mut replies: mpsc::Receiver<Reply>,
        mut signals: TerminalSignals,
    ) -> Result<Exit, Failure> {
        let mut keyboard = Keyboard::new(self.screen.has_keys());
        loop {
            self.ask();
            let step = self.press_waiting();
            if let Some(end) = self.follow(step) {
                return Ok(end);
            }
            self.draw()?;
            tokio::select! {
                reply = replies.recv() => match reply {
                    Some(reply) => self.answers.take(reply),
                    None => return Err(Failure::new("the thread that answers has ended")),
                },
                key = keyboard.next() => {
                    let step = self.press(key);
                    if let Some(end) = self.follow(step) {
                        return Ok(end);
                    }
                }
                event = signals.next() => match event {
                    // The terminal may have moved what stood on it.
                    TerminalEvent::Resized => self.picture.forget(),
                    TerminalEvent::Stopping => {
                        self.screen.stop();
                        self.picture.forget();
                    }
                    TerminalEvent::Continued => {
                        self.screen.enter_again();
                        self.picture.forget();
                    }
                    TerminalEvent::Closed => return Ok(Exit::Done),
                },
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// Does what follows a key. Returns how the program ends, if it does.
    fn follow(&mut self, step: Step) -> Option<Exit> {
        match step {
            Step::Draw => {}
            Step::Redraw => self.picture.forget(),
            Step::Suspend => self.screen.ask_to_stop(),
            Step::Quit => return Some(Exit::Done),
        }
        None
    }

    fn press(&mut self, key: Key) -> Step {
        self.last_key = Instant::now();
        let is_typing = self.state.entry.is_some();
        match self.waiting.hold(key, self.is_answered(), is_typing) {
            Some(key) => self.state.press(key, &self.answers, Size::of_terminal()),
            None => Step::Draw,
        }
    }

    /// Presses the keys that waited for this answer, until one asks another question.
    fn press_waiting(&mut self) -> Step {
        while self.is_answered() || self.state.entry.is_some() {
            let Some(key) = self.waiting.next() else { break };
            let step = self.state.press(key, &self.answers, Size::of_terminal());
            if step != Step::Draw {
                return step;
            }
            self.ask();
        }
        Step::Draw
    }

    /// Whether the screen shows the answer to the newest question.
    fn is_answered(&self) -> bool {
        self.asked.as_ref().is_some_and(|(number, _)| *number == self.answers.number)
    }

    /// Asks the question of the state, unless it was the last.
    fn ask(&mut self) {
        let question = self.state.question(Size::of_terminal());
        if self.asked.as_ref().is_none_or(|(_, asked)| *asked != question) {
            self.asked = Some((self.desk.ask(question.clone()), question));
        }
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let size = Size::of_terminal();
        let now = Instant::now();
        let recently = now.checked_sub(MESSAGE).unwrap_or(now);
        let frame = Frame {
            state: &self.state,
            answers: &self.answers,
            is_outdated: !self.is_answered(),
            message: last_held(self.last_key.max(recently)),
            has_keys: self.screen.has_keys(),
            size,
            painter: self.painter,
        };
        let changes = self.picture.changes(size, frame.lines());
        if changes.is_empty() { Ok(()) } else { print(&changes) }
    }
}
